"""Records what Python's make_batched_features_dataset gives, for batched_features_test.go.

    python batched_features.py batched_features.json
"""
import json
import os
import sys
import tempfile

import tensorflow as tf

feature = tf.train.Feature
ints = lambda values: feature(int64_list=tf.train.Int64List(value=values))
floats = lambda values: feature(float_list=tf.train.FloatList(value=values))
texts = lambda values: feature(bytes_list=tf.train.BytesList(value=[v.encode() for v in values]))


def example(i):
    """The Example number i; batched_features_test.go makes the same."""
    features = {
        "id": ints([i]),
        "words": texts(["w%d" % k for k in range(i % 3)]),
        "tags": ints(list(range(i % 4))),
        "steps": floats([k / 2 for k in range(i % 5)]),
    }
    if i % 3:
        features["weight"] = floats([i, i + 0.5])
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


folder = tempfile.mkdtemp()
for file, size in enumerate([4, 3, 5]):
    with tf.io.TFRecordWriter(os.path.join(folder, "%d.tfrecord" % file)) as w:
        for i in range(size):
            w.write(example(10 * file + i))

features = {
    "id": tf.io.FixedLenFeature([], tf.int64),
    "weight": tf.io.FixedLenFeature([2], tf.float32, default_value=[-1, -2]),
    "steps": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    "words": tf.io.VarLenFeature(tf.string),
    "tags": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64),
}
only_id = {"id": features["id"]}


def plain(x):
    if isinstance(x, tf.SparseTensor):
        return {"indices": plain(x.indices), "values": plain(x.values), "shape": plain(x.dense_shape)}
    if isinstance(x, tf.RaggedTensor):
        return x.to_list()
    if isinstance(x, tf.Tensor):
        return plain(x.numpy().tolist())
    if isinstance(x, bytes):
        return x.decode()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in sorted(x.items())}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x


out = {}


def record(name, features, size, take=None, **options):
    d = tf.data.experimental.make_batched_features_dataset(
        os.path.join(folder, "*.tfrecord"), size, features, **options)
    out[name] = [plain(e) for e in (d.take(take) if take else d)]


def keyed(filename):
    return tf.data.TFRecordDataset(filename).map(lambda r: (tf.constant("key"), r))


record("all kinds", features, 4, num_epochs=1, shuffle=False)
record("label", features, 5, num_epochs=1, shuffle=False, label_key="id")
record("sparse label", features, 12, num_epochs=1, shuffle=False, label_key="words")
record("final batch dropped", only_id, 5, num_epochs=1, shuffle=False, drop_final_batch=True)
record("without end", only_id, 5, take=6, shuffle=False)
record("shuffled", only_id, 5, num_epochs=2, shuffle_seed=7)
record("small buffer", only_id, 3, num_epochs=2, shuffle_buffer_size=4, shuffle_seed=3)
record("two readers", only_id, 12, num_epochs=1, shuffle=False, reader_num_threads=2)
record("keys", only_id, 12, num_epochs=1, shuffle=False, reader=keyed)
json.dump(out, open(sys.argv[1], "w"), separators=(",", ":"), sort_keys=True)
