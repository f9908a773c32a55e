"""Records what the input pipelines of tf.compat.v1.train give: record.py FILE.

It needs tensorflow 2.21. FILE gets one JSON object: for each case the batches, as lists of rows, the code at the end of the data, and
the code of the error that Coordinator.join raises. The rows of a tensor are written as text. Names of cases that a Go test compares in
any order say so there.
"""
import json
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.logging.set_verbosity(tf1.logging.ERROR)

FILES = {"a": 5, "b": 3, "c": 4}
ROWS = np.arange(14, dtype=np.int64).reshape(7, 2)
cases = {}


def case(name, **arguments):
    def add(build):
        cases[name] = (build, arguments)
        return build
    return add


def write(folder):
    for name, count in FILES.items():
        with tf.io.TFRecordWriter(os.path.join(folder, name)) as w:
            for i in range(count):
                w.write(f"{name}{i}".encode())
    with open(os.path.join(folder, "a"), "rb") as f:
        data = bytearray(f.read())
    data[2 * 18 + 12] ^= 1  # the first byte of the third record
    with open(os.path.join(folder, "damaged"), "wb") as f:
        f.write(data)


def paths(folder, names="abc"):
    return [os.path.join(folder, n) for n in names]


def values(folder, names="abc", epochs=1, shuffle=False):
    """One record, read from the files in order."""
    queue = tf1.train.string_input_producer(paths(folder, names), num_epochs=epochs, shuffle=shuffle)
    return tf1.TFRecordReader().read(queue)[1]


def letters(value):
    """The characters of a record, as rows."""
    return tf.reshape(tf.io.decode_raw(value, tf.uint8), [-1])


def is_even(value):
    return tf.equal(tf.strings.to_number(tf1.substr(value, 1, 1), tf.int32) % 2, 0)


# Producers.

case("string_input_producer")(lambda d: tf1.train.string_input_producer(["x", "y", "z"], num_epochs=2, shuffle=False).dequeue())
case("string_input_producer, seed")(lambda d: tf1.train.string_input_producer(["x", "y", "z", "u", "v"], num_epochs=3, seed=7).dequeue())
case("range_input_producer")(lambda d: tf1.train.range_input_producer(4, num_epochs=2, shuffle=False).dequeue())
case("range_input_producer, seed")(lambda d: tf1.train.range_input_producer(9, num_epochs=2, seed=3, capacity=4).dequeue())
case("input_producer")(lambda d: tf1.train.input_producer(ROWS, num_epochs=2, shuffle=False).dequeue())
case("input_producer, seed")(lambda d: tf1.train.input_producer(ROWS, num_epochs=2, seed=11).dequeue())
case("slice_input_producer")(lambda d: tf1.train.slice_input_producer([ROWS, ROWS[:, 0]], num_epochs=2, shuffle=False)[0])
case("slice_input_producer, seed")(lambda d: tf1.train.slice_input_producer([ROWS, ROWS[:, 0]], num_epochs=2, seed=5)[1])
case("limit_epochs")(lambda d: tf1.train.limit_epochs(tf.constant("x"), 3))


@case("match_filenames_once")
def _(folder):
    files = tf.identity(tf1.train.match_filenames_once(os.path.join(folder, "[a-c]")))
    queue = tf1.train.string_input_producer(files, num_epochs=2, shuffle=False)
    return tf1.string_split([queue.dequeue()], "/").values[-1]


# Batching functions. Those of one thread keep the order.

for threads in 1, 4:
    for smaller in False, True:
        case(f"batch, {threads} threads, smaller final {smaller}")(
            lambda d, threads=threads, smaller=smaller: tf1.train.batch(
                [values(d, epochs=2)], 5, num_threads=threads, allow_smaller_final_batch=smaller))
        case(f"shuffle_batch, {threads} threads, smaller final {smaller}")(
            lambda d, threads=threads, smaller=smaller: tf1.train.shuffle_batch(
                [values(d, epochs=2)], 5, 20, 6, num_threads=threads, allow_smaller_final_batch=smaller))
    case(f"batch_join, {threads} readers")(
        lambda d, threads=threads: tf1.train.batch_join(readers(d, threads), 5, allow_smaller_final_batch=True))
    case(f"shuffle_batch_join, {threads} readers")(
        lambda d, threads=threads: tf1.train.shuffle_batch_join(readers(d, threads), 5, 20, 6, allow_smaller_final_batch=True))
    case(f"maybe_batch, {threads} threads")(lambda d, threads=threads: maybe(d, tf1.train.maybe_batch, num_threads=threads))
    case(f"maybe_shuffle_batch, {threads} threads")(
        lambda d, threads=threads: maybe(d, tf1.train.maybe_shuffle_batch, capacity=20, min_after_dequeue=6, num_threads=threads))
    case(f"maybe_batch_join, {threads} readers")(lambda d, threads=threads: maybe_join(d, tf1.train.maybe_batch_join, threads))
    case(f"maybe_shuffle_batch_join, {threads} readers")(
        lambda d, threads=threads: maybe_join(d, tf1.train.maybe_shuffle_batch_join, threads, capacity=20, min_after_dequeue=6))
    case(f"batch, enqueue_many, {threads} threads")(
        lambda d, threads=threads: tf1.train.batch(
            [letters(values(d))], 7, num_threads=threads, enqueue_many=True, shapes=[[]], allow_smaller_final_batch=True))
    case(f"maybe_batch, enqueue_many, {threads} threads")(
        lambda d, threads=threads: keep_letters(d, threads))


def readers(folder, n):
    queue = tf1.train.string_input_producer(paths(folder), num_epochs=2, shuffle=False)
    return [[tf1.TFRecordReader().read(queue)[1]] for _ in range(n)]


def maybe(folder, function, **arguments):
    value = values(folder, epochs=2)
    return function([value], keep_input=is_even(value), batch_size=5, allow_smaller_final_batch=True, **arguments)


def maybe_join(folder, function, n, **arguments):
    # One keep_input is for all sources, so it cannot depend on their records.
    return function(readers(folder, n), keep_input=tf.constant(1) > 0, batch_size=5, allow_smaller_final_batch=True, **arguments)


def keep_letters(folder, threads):
    rows = letters(values(folder))
    return tf1.train.maybe_batch(
        [rows], rows > ord("9"), 7, num_threads=threads, enqueue_many=True, shapes=[[]], allow_smaller_final_batch=True)


@case("batch, dynamic_pad")
def _(folder):
    n = tf1.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
    return tf1.train.batch([tf.fill([n, 2], n)], 4, dynamic_pad=True, allow_smaller_final_batch=True)


def sparse(n):
    return tf.SparseTensor(tf.cast(tf.reshape(tf.range(n), [-1, 1]), tf.int64), tf.fill([n], n), tf.cast([n + 1], tf.int64))


@case("batch, sparse")
def _(folder):
    n = tf1.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    batch = tf1.train.batch([sparse(n)], 2, allow_smaller_final_batch=True)
    return tf.concat([batch.indices, tf.cast(batch.values, tf.int64)[:, None], 0 * batch.indices[:, :1] + batch.dense_shape[1]], 1)


@case("batch, sparse, enqueue_many")
def _(folder):
    n = tf1.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    rows = tf.SparseTensor(
        tf.stack([tf.zeros([n], tf.int64), tf.cast(tf.range(n), tf.int64)], 1), tf.fill([n], n), tf.cast([2, n + 1], tf.int64))
    batch = tf1.train.batch([rows], 3, enqueue_many=True, allow_smaller_final_batch=True)
    return tf.concat([batch.indices, tf.cast(batch.values, tf.int64)[:, None], 0 * batch.indices[:, :1] + batch.dense_shape[1]], 1)


# Errors.

case("error: no strings")(lambda d: tf1.train.string_input_producer(tf.identity(tf1.train.match_filenames_once(os.path.join(d, "none*")))).dequeue())
case("error: damaged record")(lambda d: tf1.train.batch([values(d, ["a", "damaged"])], 100, allow_smaller_final_batch=True))
case("error: damaged record, 4 readers")(lambda d: tf1.train.shuffle_batch_join(damaged_readers(d), 100, 300, 100, allow_smaller_final_batch=True))
case("error: missing file")(lambda d: tf1.train.batch([values(d, ["missing"])], 5))
case("error: uninitialized", initialize=False)(lambda d: tf1.train.string_input_producer(["x"], num_epochs=1).dequeue())
case("error: a cast fails")(lambda d: tf1.train.batch([tf.strings.to_number(values(d))], 5))


def damaged_readers(folder):
    queue = tf1.train.string_input_producer(paths(folder, ["a", "b", "damaged", "c"]), num_epochs=2, shuffle=False)
    return [[tf1.TFRecordReader().read(queue)[1]] for _ in range(4)]


def code(error):
    return error.error_code


def text(row):
    return row.decode() if isinstance(row, bytes) else " ".join(str(x) for x in np.ravel(row))


def run(build, folder, initialize=True):
    result = {"batches": [], "end": None, "join": 0}
    with tf1.Graph().as_default():
        out = build(folder)
        with tf1.Session() as session:
            if initialize:
                session.run(tf1.local_variables_initializer())
            coordinator = tf1.train.Coordinator()
            threads = tf1.train.start_queue_runners(session, coordinator)
            try:
                while True:
                    batch = session.run(out)
                    result["batches"].append([text(r) for r in batch] if np.ndim(batch) > 0 and build_is_batch(out) else [text(batch)])
            except tf.errors.OpError as e:
                result["end"] = code(e)
            coordinator.request_stop()
            try:
                coordinator.join(threads)
            except tf.errors.OpError as e:
                result["join"] = code(e)
    return result


def build_is_batch(out):
    return "batch" in out.name or "concat" in out.name


def main():
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        results = {name: run(build, folder, **arguments) for name, (build, arguments) in cases.items()}
    with open(sys.argv[1], "w") as f:
        f.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(r)}" for name, r in results.items()) + "\n}\n")


main()
