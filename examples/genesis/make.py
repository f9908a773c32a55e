"""Makes what is in this folder: the book of Genesis as TFRecords.

    apt-get install bible-kjv=4.38   # Debian's; the text comes with it
    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make.py          # data/; byte for byte the same each time

A file holds a chapter, a record one verse.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

HERE = pathlib.Path(__file__).resolve().parent
TEXT_SHA256 = "8ef1ea7af55ec27d3361f73349c86dfd6bcd04d3f5d9415983a28252b68f7ed7"
CHAPTERS = {"train": range(1, 41), "heldback": range(41, 51)}

MANIFEST = {
    "compression": "gzip",
    "allow_var_len": True,
    "features": [
        {
            "name": "verse",
            "dtype": "string",
            "shape": [1],
            "var_len": False,
            "deserialize_type": "string",
        },
        {
            "name": "text",
            "dtype": "uint8",
            "shape": [],
            "var_len": True,
            "deserialize_type": "int",
        },
        {
            "name": "words",
            "dtype": "string",
            "shape": [],
            "var_len": True,
            "deserialize_type": "string",
        },
    ],
}


def read_source():
    """Returns {chapter: verses}, as Debian's program prints them."""
    # Lines as long as a verse may be; folders for its data if it is not installed.
    command = [os.environ.get("BIBLE", "bible"), "-l100000", "-f", "gen1:1-50:26"]
    if "BIBLE_DATA" in os.environ:
        command[1:1] = ["-p", os.environ["BIBLE_DATA"]]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    assert hashlib.sha256(done.stdout).hexdigest() == TEXT_SHA256, "another release of bible-kjv"
    chapters = {}
    for line in done.stdout.decode("ascii").splitlines():
        chapter, verse, text = re.fullmatch(r"Ge(\d+):(\d+) (.+)", line).groups()
        verses = chapters.setdefault(int(chapter), [])
        verses.append(text)
        assert len(verses) == int(verse)
    assert sorted(chapters) == list(range(1, 51))
    return chapters


def example(chapter, verse, text):
    """Returns a verse as serialized SequenceExample."""

    def ints(value):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

    def data(value):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    characters = [ints(c) for c in text.encode("ascii") + b"\n"]
    words = [data(w.encode("ascii")) for w in re.findall(r"[a-z]+", text.lower().replace("'", ""))]
    message = tf.train.SequenceExample(
        context=tf.train.Features(feature={"verse": data(b"Genesis %d:%d" % (chapter, verse))}),
        feature_lists=tf.train.FeatureLists(
            feature_list={
                "text": tf.train.FeatureList(feature=characters),
                "words": tf.train.FeatureList(feature=words),
            }
        ),
    )
    return message.SerializeToString(deterministic=True)


def write_part(name, chapters):
    """Writes one part as TFRecord files with their manifest."""
    folder = HERE / "data" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "__manifest__.json").write_text(json.dumps(MANIFEST, indent=2) + "\n")
    options = tf.io.TFRecordOptions(compression_type="GZIP")
    for chapter in CHAPTERS[name]:
        path = folder / f"genesis-{chapter:02d}.tfrecords"
        with tf.io.TFRecordWriter(str(path), options) as out:
            for i, text in enumerate(chapters[chapter]):
                out.write(example(chapter, i + 1, text))


def main():
    chapters = read_source()
    for name in CHAPTERS:
        write_part(name, chapters)
        verses = [v for c in CHAPTERS[name] for v in chapters[c]]
        print(f"{name}: {len(verses)} verses, {sum(map(len, verses)) + len(verses)} characters")


if __name__ == "__main__":
    main()
