"""Writes parity.json: what tf.lookup gives, and the files that it reads.

    python make.py        with TensorFlow 2.21
"""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf  # noqa: E402

lookup = tf.lookup
Index = lookup.TextFileIndex

with open("vocab.txt", "w") as f:
    f.write("mill\nrace\nstone wheel\nwater\n")
with open("prices.csv", "w") as f:
    f.write("7,mill,0.5\n8,race,2.25\n9,water,-1\n")

text = tf.constant([["mill", "sea"], ["water", ""]])
numbers = tf.constant([7, 8, 1 << 40, -3], tf.int64)
words = lookup.KeyValueTensorInitializer(["mill", "race", "water"], tf.constant([0, 1, 2], tf.int64))
names = lookup.KeyValueTensorInitializer(tf.constant([7, 8], tf.int64), ["seven", "eight"])
ids = lookup.KeyValueTensorInitializer(tf.constant([7, 8], tf.int64), tf.constant([0, 1], tf.int64))
lines = lookup.TextFileInitializer("vocab.txt", tf.string, Index.WHOLE_LINE, tf.int64, Index.LINE_NUMBER)
back = lookup.TextFileInitializer("vocab.txt", tf.int64, Index.LINE_NUMBER, tf.string, Index.WHOLE_LINE)
first = lookup.TextFileInitializer("vocab.txt", tf.string, Index.WHOLE_LINE, tf.int64, Index.LINE_NUMBER, vocab_size=2)
offset = lookup.TextFileInitializer(
    "vocab.txt", tf.string, Index.WHOLE_LINE, tf.int64, Index.LINE_NUMBER, value_index_offset=100
)
prices = lookup.TextFileInitializer("prices.csv", tf.string, 1, tf.float32, 2, delimiter=",")

cases = {}


def record(name, table, keys):
    found = table.lookup(keys)
    cases[name] = {
        "values": [v.decode() if isinstance(v, bytes) else v for v in found.numpy().flatten().tolist()],
        "shape": found.shape.as_list(),
        "size": int(table.size().numpy()),
    }


record("strings", lookup.StaticHashTable(words, -1), text)
record("numbers", lookup.StaticHashTable(names, "none"), numbers)
record("lines", lookup.StaticHashTable(lines, -7), text)
record("line numbers", lookup.StaticHashTable(back, "none"), tf.constant([3, 2, 4], tf.int64))
record("first lines", lookup.StaticHashTable(first, -7), text)
record("offset", lookup.StaticHashTable(offset, -7), text)
record("columns", lookup.StaticHashTable(prices, 0.0), text)
record("vocabulary", lookup.StaticVocabularyTable(words, 5), text)
record("vocabulary of lines", lookup.StaticVocabularyTable(lines, 1000), text)
record("vocabulary of numbers", lookup.StaticVocabularyTable(ids, 10), numbers)
record("vocabulary of int32", lookup.StaticVocabularyTable(ids, 10, lookup_key_dtype=tf.int32), tf.constant([7, 8, 9, -3]))
numbered = tf.data.TextLineDataset("vocab.txt").enumerate().map(lambda i, word: (word, i))
record("dataset", tf.data.experimental.table_from_dataset(numbered, default_value=-7, key_dtype=tf.string), text)
words = tf.data.TextLineDataset("vocab.txt")
record("vocabulary of a dataset", tf.data.experimental.index_table_from_dataset(words, num_oov_buckets=5), text)
record("hashes", lookup.StaticVocabularyTable(None, 1000), text)

with open("parity.json", "w") as f:
    json.dump(cases, f, indent=1, sort_keys=True)
    f.write("\n")
