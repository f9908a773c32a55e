"""TensorFlow's own Python for the processing steps that `go run ./bench -only steps` measures.

A job says which steps; they are carried out in every way that a careful user of tf.data would try,
with TensorFlow's autotuner and with fixed settings, and the fastest counts.

    bench_python_steps.py rates JOBS   the rates of jobs, as an array
"""

import functools
import itertools
import json
import sys

import bench_python_common as common
import tensorflow as tf
from bench_python_common import kind, settings

PASSES = 2
CROP = 224
TEXT = {"x": tf.io.FixedLenFeature([], tf.string), "y": tf.io.FixedLenFeature([], tf.int64)}
TABLE = {"x": tf.io.FixedLenFeature([64], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}


def box(shape, seed):
    begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
        shape, [[[0.0, 0.0, 1.0, 1.0]]], seed, min_object_covered=0.0, area_range=(0.08, 1.0),
        aspect_ratio_range=(0.75, 4 / 3), use_image_if_no_bounding_boxes=True,
    )
    return begin, size


def photo(in_part, number, record):
    made = tf.io.parse_single_example(record, TEXT)
    seed = tf.stack([tf.constant(1, tf.int64), number])
    if in_part:
        begin, size = box(tf.io.extract_jpeg_shape(made["x"]), seed)
        part = tf.io.decode_and_crop_jpeg(made["x"], tf.concat([begin[:2], size[:2]], 0), channels=3)
    else:
        image = tf.io.decode_jpeg(made["x"], channels=3)
        part = tf.slice(image, *box(tf.shape(image), seed))
    image = tf.image.resize(part, [CROP, CROP])
    image = tf.image.stateless_random_flip_left_right(image, seed)
    return (image - [124.0, 116.0, 104.0]) / [58.0, 57.0, 57.0], made["y"]


def photos(job, tuned, in_part=False):
    ds = common.records(job["folder"]).enumerate()
    return ds.map(functools.partial(photo, in_part), num_parallel_calls=settings(tuned)[0]).batch(job["batch"])


def photos_in_part(job, tuned):
    return photos(job, tuned, True)


def masked(frames, axis, seed):
    """Covers a stretch of the frames or of the bins."""
    n = tf.shape(frames)[axis]
    draw = tf.random.stateless_uniform([2], seed)
    length = tf.cast(draw[0] * (40.0 if axis == 0 else 15.0), tf.int32)
    begin = tf.cast(draw[1] * tf.cast(n - length, tf.float32), tf.int32)
    at = tf.range(n)
    keep = tf.cast((at < begin) | (at >= begin + length), tf.float32)
    return frames * (keep[:, None] if axis == 0 else keep[None, :])


def sound(mel, number, record):
    made = tf.io.parse_single_example(record, TEXT)
    wave = tf.audio.decode_wav(made["x"], desired_channels=1).audio[:, 0]
    frames = tf.abs(tf.signal.stft(wave, 400, 160, 512))
    frames = tf.math.log(tf.matmul(frames, mel) + 1e-6)
    for i in range(2):
        frames = masked(frames, 0, tf.stack([tf.constant(i, tf.int64), number]))
        frames = masked(frames, 1, tf.stack([tf.constant(2 + i, tf.int64), number]))
    return frames, made["y"]


def sounds(job, tuned):
    mel = tf.signal.linear_to_mel_weight_matrix(80, 257, 16_000, 125.0, 3800.0)
    ds = common.records(job["folder"]).enumerate()
    return ds.map(functools.partial(sound, mel), num_parallel_calls=settings(tuned)[0]).batch(job["batch"])


@functools.cache
def table(words):
    names = tf.constant([f"word{i}" for i in range(words)])
    init = tf.lookup.KeyValueTensorInitializer(names, tf.range(words, dtype=tf.int64))
    return tf.lookup.StaticVocabularyTable(init, 1)


def texts(job, tuned):
    vocabulary = table(job["words"])

    def batch(records):
        made = tf.io.parse_example(records, TEXT)
        words = tf.strings.split(tf.strings.lower(made["x"]))[:, :64]
        return tf.ragged.map_flat_values(vocabulary.lookup, words).to_tensor(), made["y"]

    return common.records(job["folder"]).batch(job["batch"]).map(batch, num_parallel_calls=settings(tuned)[0])


def of_tables(change, job, tuned):
    def batch(records):
        made = tf.io.parse_example(records, TABLE)
        return change(made["x"]), made["y"]

    return common.records(job["folder"]).batch(job["batch"]).map(batch, num_parallel_calls=settings(tuned)[0])


def regrouped(change, job, tuned):
    return of_tables(change, {**job, "batch": job["batch"] * common.WIDER}, tuned).rebatch(job["batch"])


def kept(job, tuned):
    """Drops what is not kept from wide batches."""

    def batch(records):
        made = tf.io.parse_example(records, TABLE)
        keep = made["y"] < 10
        return tf.boolean_mask(made["x"], keep), tf.boolean_mask(made["y"], keep)

    ds = common.records(job["folder"]).batch(job["batch"] * common.WIDER)
    return ds.map(batch, num_parallel_calls=settings(tuned)[0]).rebatch(job["batch"])


def kept_singly(job, tuned):
    ds = common.records(job["folder"]).map(
        lambda r: tf.io.parse_single_example(r, TABLE), num_parallel_calls=settings(tuned)[0]
    )
    return ds.filter(lambda made: made["y"] < 10).batch(job["batch"])


def both(change):
    return {"batched": functools.partial(of_tables, change), "regrouped": functools.partial(regrouped, change)}


WAYS = {
    "photos": {"whole": photos},
    "photos_in_part": {"in part": photos_in_part},
    "sounds": {"single": sounds},
    "texts": {"batched": texts},
    "tables": both(lambda x: tf.cast((x - 0.5) / 0.25, tf.float16)),
    "logarithms": both(lambda x: tf.math.log1p(tf.abs(x))),
    "filtered": {"masked": kept, "filter": kept_singly},
}


def ways(job):
    for (name, make), tuned in itertools.product(WAYS[job["ways"]].items(), (True, False)):
        full = f"{name}, {kind(tuned)}"
        if job.get("way") in (None, "", full):
            yield full, functools.partial(common.count, common.finish(make(job, tuned), tuned))


def main(mode, text):
    assert mode == "rates"
    json.dump([common.rates(job["units"], ways(job), PASSES) for job in json.loads(text)], sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
