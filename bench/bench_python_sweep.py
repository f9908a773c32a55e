"""TensorFlow's own Python for the settings that `go run ./bench -only sweep` gives to Millrace.

A job says what a setting does; it is carried out in every way that a careful user of tf.data
would try, with TensorFlow's autotuner and with fixed settings, and the fastest counts.

    bench_python_sweep.py rates JOBS   the rates of jobs, as an array
    bench_python_sweep.py dump JOB     the first two batches of every way
"""

import functools
import itertools
import json
import sys

import bench_python_common as common
import tensorflow as tf
from bench_python_common import AUTOTUNE, kind, settings

PASSES = 2
DTYPES = {"float": tf.float32, "int": tf.int64, "string": tf.string}


def fixed(f):
    """Returns how TensorFlow's parsers read a feature that every record has once."""
    if f["kind"] == "raw":
        return tf.io.FixedLenFeature([], tf.string)
    return tf.io.FixedLenFeature(f["shape"], DTYPES[f["kind"]])


def parse(job, batch):
    """Parses a batch of records to dense tensors; lists are padded to the longest."""
    context = {n: fixed(f) for n, f in job["features"].items() if not f.get("list")}
    lists = {n: f for n, f in job["features"].items() if f.get("list")}
    if job.get("sequence"):
        specs = {n: tf.io.FixedLenSequenceFeature(f["shape"], DTYPES[f["kind"]]) for n, f in lists.items()}
        once, values, lengths = tf.io.parse_sequence_example(batch, context, specs)
        made = {**once, **values}
    else:
        specs = {n: tf.io.RaggedFeature(DTYPES[f["kind"]]) for n, f in lists.items()}
        made = tf.io.parse_example(batch, {**context, **specs})
        lengths = {n: made[n].row_lengths() for n in lists}
        if cut := job.get("slice"):
            made.update({n: made[n][:, :cut] for n in lists})
        made.update({n: made[n].to_tensor() for n in lists})
    return complete(job, made, lengths)


def complete(job, made, lengths):
    """Decodes raw features, and adds what the config adds."""
    for n, f in job["features"].items():
        if f["kind"] == "raw":
            size = tf.reduce_prod(f["shape"])
            made[n] = tf.reshape(tf.io.decode_raw(made[n], tf.uint8, fixed_length=size), [-1, *f["shape"]])
    if job.get("finite"):
        with tf.control_dependencies([tf.debugging.assert_all_finite(made[n], n) for n in job["finite"]]):
            made = {n: tf.identity(x) for n, x in made.items()}
    if of := job.get("measured"):
        made["n"] = lengths[of]
        made["has"] = tf.sequence_mask(lengths[of])
    return made


def single(job, record):
    """Parses one record."""
    made = parse(job, tf.expand_dims(record, 0))
    return {n: tf.squeeze(x, 0) for n, x in made.items()}


def shuffled(job, ds):
    return ds.shuffle(job["buffer"], seed=1) if job.get("buffer") else ds


def records(job):
    """Reads the records of all files, in the order of the job."""
    names = tf.data.Dataset.from_tensor_slices(common.files(job["folder"]))
    read = functools.partial(
        tf.data.TFRecordDataset, compression_type=job.get("compression", ""), buffer_size=common.READ_BUFFER
    )
    if mixed := job.get("mixed"):
        return names.shuffle(16, seed=1).interleave(read, cycle_length=mixed, num_parallel_calls=AUTOTUNE)
    if job.get("compression"):  # several files at once, in their order
        return names.interleave(read, cycle_length=1, num_parallel_calls=AUTOTUNE)
    return read(common.files(job["folder"]))


def part(job, ds):
    """Takes a shard or a range of the records."""
    if shards := job.get("shards"):
        ds = ds.shard(shards, 0)
    if job.get("skip"):
        ds = ds.skip(job["skip"])
    return ds.take(job["take"]) if job.get("take") else ds


def batched(job, tuned):
    ds = shuffled(job, part(job, records(job))).batch(job["batch"])
    return ds.map(functools.partial(parse, job), num_parallel_calls=settings(tuned)[0])


def regrouped(job, tuned):
    ds = shuffled(job, part(job, records(job))).batch(job["batch"] * common.WIDER)
    return ds.map(functools.partial(parse, job), num_parallel_calls=settings(tuned)[0]).rebatch(job["batch"])


def one_by_one(job, tuned):
    ds = shuffled(job, part(job, records(job))).map(functools.partial(single, job), num_parallel_calls=settings(tuned)[0])
    padded = any(f.get("list") for f in job["features"].values())
    return ds.padded_batch(job["batch"]) if padded else ds.batch(job["batch"])


def bucketed(job, tuned):
    length = job["bucket_by"]
    ds = shuffled(job, records(job)).map(functools.partial(single, job), num_parallel_calls=settings(tuned)[0])
    return ds.bucket_by_sequence_length(
        lambda x: tf.shape(x[length])[0], job["boundaries"], [job["batch"]] * (len(job["boundaries"]) + 1)
    )


def windows(job, tuned):
    """Cuts the frames of each file into windows, which do not overlap."""
    size = job["window"]

    def of_file(name):
        ds = tf.data.TFRecordDataset(name, buffer_size=common.READ_BUFFER)
        ds = ds.map(functools.partial(single, job), num_parallel_calls=settings(tuned)[0])
        return ds.batch(size, drop_remainder=True) if job.get("records") else ds.rebatch(size, drop_remainder=True)

    ds = tf.data.Dataset.from_tensor_slices(common.files(job["folder"])).flat_map(of_file)
    return shuffled(job, ds).batch(job["batch"])


WAYS = {
    "records": {"batched": batched, "regrouped": regrouped, "single": one_by_one},
    "lists": {"batched": batched, "single": one_by_one},
    "buckets": {"buckets": bucketed},
    "windows": {"windows": windows},
}


def finish(ds, tuned, job):
    options = tf.data.Options()
    options.autotune.enabled = tuned
    options.deterministic = not job.get("sloppy", False)
    return ds.prefetch(settings(tuned)[1]).with_options(options)


def ways(job):
    for (name, make), tuned in itertools.product(WAYS[job["ways"]].items(), (True, False)):
        full = f"{name}, {kind(tuned)}"
        if job.get("way") in (None, "", full):
            yield full, functools.partial(common.count, finish(make(job, tuned), tuned, job))


def dump(job):
    return {name: [common.dumped(b) for b in make(job, False).take(2)] for name, make in WAYS[job["ways"]].items()}


def main(mode, text):
    given = json.loads(text)
    made = dump(given) if mode == "dump" else [common.rates(job["units"], ways(job), PASSES) for job in given]
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
