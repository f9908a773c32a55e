"""TensorFlow's own Python on the sequences that `make bench` gives to Millrace.

Windows follow one another and never cross files; lists are padded to the longest
of their batch. Each way is tried with TensorFlow's autotuner and with fixed
settings, and the fastest counts. One JSON object goes to stdout.

    bench_python_sequences.py slide DATA       windows that are slid over single samples
    bench_python_sequences.py chunks DATA      windows that are cut from whole chunks
    bench_python_sequences.py per_record DATA  parse each SequenceExample, then pad
    bench_python_sequences.py batched DATA     parse whole batches of SequenceExamples
    bench_python_sequences.py dump DATA        the first batches of every way
    bench_python_sequences.py jobs JSON        several of the measurements, as an array
"""

import argparse
import functools
import itertools
import json

import bench_python_common as common
import tensorflow as tf
from bench_python_common import finish, kind, settings

CHUNK = 10_000
LISTS = {
    "tokens": tf.io.FixedLenSequenceFeature([], tf.int64),
    "frames": tf.io.FixedLenSequenceFeature([8], tf.float32),
}
WINDOW_BATCH = 32
LISTS_BATCH = 64


def float_chunk(record):
    return tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([CHUNK], tf.float32)})["x"]


def raw_chunk(record):
    x = tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([], tf.string)})["x"]
    return tf.reshape(tf.io.decode_raw(x, tf.float32), [CHUNK])


PARSERS = {"float": float_chunk, "raw": raw_chunk}


def windows(cut):
    """Returns a way that cuts each file's chunks, a dataset, into windows."""

    def way(flags, tuned):
        def of_file(path):
            ds = tf.data.TFRecordDataset(path, buffer_size=common.READ_BUFFER)
            if flags.records:
                ds = ds.take(flags.records)
            ds = ds.map(PARSERS[flags.form], num_parallel_calls=settings(tuned)[0])
            return cut(ds, flags.size)

        paths = common.files(flags.folder)
        ds = tf.data.Dataset.from_tensor_slices(paths[:1] if flags.records else paths)
        ds = ds.flat_map(of_file).batch(WINDOW_BATCH)
        return finish(ds.map(lambda x: {"x": x}), tuned)

    return way


def window(ds, size):
    ds = ds.unbatch().window(size, drop_remainder=True)
    return ds.flat_map(lambda w: w.batch(size, drop_remainder=True))


def sliding_window_batch(ds, size):
    """What tf.contrib.data.sliding_window_batch was: the operation is still there."""
    slid = tf.raw_ops.SlidingWindowDataset(
        input_dataset=tf.data.experimental.to_variant(ds.unbatch()),
        window_size=size,
        window_shift=size,
        window_stride=1,
        output_types=[tf.float32],
        output_shapes=[[size]],
    )
    return tf.data.experimental.from_variant(slid, tf.TensorSpec([size], tf.float32))


def rebatch(ds, size):
    return ds.rebatch(size, drop_remainder=True)


def lists(flags):
    return common.records(flags.folder)


def per_record(flags, tuned):
    def parse(record):
        return tf.io.parse_single_sequence_example(record, sequence_features=LISTS)[1]

    ds = lists(flags).map(parse, num_parallel_calls=settings(tuned)[0])
    return finish(ds.padded_batch(LISTS_BATCH), tuned)


def batched(flags, tuned):
    def parse(batch):
        return tf.io.parse_sequence_example(batch, sequence_features=LISTS)[1]

    ds = lists(flags).batch(LISTS_BATCH)
    return finish(ds.map(parse, num_parallel_calls=settings(tuned)[0]), tuned)


WAYS = {
    "slide": {"window": windows(window), "sliding_window_batch": windows(sliding_window_batch)},
    "chunks": {"rebatch": windows(rebatch)},
    "per_record": {"per_record": per_record},
    "batched": {"batched": batched},
}


def units(flags):
    """Returns what a pass has: samples, or SequenceExamples."""
    if flags.mode in ("per_record", "batched"):
        return sum(1 for _ in lists(flags))
    records = flags.records or sum(1 for _ in tf.data.TFRecordDataset(common.files(flags.folder)))
    return records * CHUNK


def rates(flags):
    """Returns each way's rate."""
    if flags.mode == "slide":
        flags.records = flags.records or 32  # of 10,000 samples: this is slow
    if flags.mode == "chunks":
        flags.records = flags.records or 500
    return common.rates(units(flags), ways(flags), flags.passes)


def ways(flags):
    """Gives the ways of a measurement, with their names."""
    for (name, way), tuned in itertools.product(WAYS[flags.mode].items(), (True, False)):
        full = f"{name}, {kind(tuned)}"
        if flags.way in (None, full):
            yield full, functools.partial(common.count, way(flags, tuned))


def dump(flags):
    """Returns the first batches of every way, in the form of `millrace dump`."""
    modes = ("per_record", "batched") if flags.form == "lists" else ("slide", "chunks")
    dumped = {}
    for name, way in itertools.chain.from_iterable(WAYS[m].items() for m in modes):
        dumped[name] = [common.dumped(batch) for batch in way(flags, False).take(flags.take)]
    return dumped


def jobs(flags):
    """Returns the rates of each job in turn."""
    done = []
    for job in json.loads(flags.folder):
        done.append(rates(argparse.Namespace(**{**vars(flags), **job})))
    return done


MODES = {**dict.fromkeys(WAYS, rates), "dump": dump, "jobs": jobs}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("folder")
    parser.add_argument("--form", choices=[*PARSERS, "lists"], default="float")
    parser.add_argument("--size", type=int, default=100, help="samples of a window")
    parser.add_argument("--records", type=int, help="of the first file only; all files by default")
    parser.add_argument("--way", help="measure this way only")
    parser.add_argument("--passes", type=int, default=2, help="passes to take the best of")
    parser.add_argument("--take", type=int, default=2, help="batches to dump")
    flags = parser.parse_args()
    print(json.dumps(MODES[flags.mode](flags)))


if __name__ == "__main__":
    main()
