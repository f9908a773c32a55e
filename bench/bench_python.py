"""TensorFlow's own Python on the files that `make bench` gives to Millrace.

The pipelines are tuned by hand and honest: the same files, features and batches
in the same order, and each way is tried with TensorFlow's autotuner and with
fixed settings. The fastest counts. One JSON object goes to stdout.

    bench_python.py per_record DATA   parse each Example, then batch
    bench_python.py vectorised DATA   batch, then parse whole batches
    bench_python.py compressed DATA   the same of gzip files
    bench_python.py predict DATA --model DIR   run a SavedModel's signature as well
    bench_python.py start DATA        one pass: time to first batch, peak memory
    bench_python.py dump DATA         the first batches, in the form of `millrace dump`
    bench_python.py model DIR         make the SavedModel
"""

import argparse
import functools
import json
import os
import time

import bench_python_common as common
import tensorflow as tf
from bench_python_common import finish, kind, settings

FEATURES = {
    "x": tf.io.FixedLenFeature([64], tf.float32),
    "y": tf.io.FixedLenFeature([], tf.int64),
}


def records(flags):
    return common.records(flags.folder)


def inflated(flags, mixed):
    """Records of gzip files, in order or, if mixed, of several files in turns."""
    threads = os.cpu_count() if mixed else None
    return tf.data.TFRecordDataset(common.files(flags.folder), "GZIP", common.READ_BUFFER, threads)


def compressed(flags, names, tuned, mixed):
    def parse(batch):
        return tf.io.parse_example(batch, features(names))

    ds = inflated(flags, mixed).batch(flags.batch)
    return finish(ds.map(parse, num_parallel_calls=settings(tuned)[0]), tuned)


def compressed_readers(flags):
    return {
        f"{'files in turns' if mixed else 'in order'}, {kind(tuned)}":
        read_through(compressed(flags, list(FEATURES), tuned, mixed))
        for mixed in (False, True)
        for tuned in (True, False)
    }


def features(names):
    return {name: FEATURES[name] for name in names}


def per_record(flags, names, tuned):
    def parse(record):
        return tf.io.parse_single_example(record, features(names))

    ds = records(flags).map(parse, num_parallel_calls=settings(tuned)[0])
    return finish(ds.batch(flags.batch), tuned)


def vectorised(flags, names, tuned):
    def parse(batch):
        return tf.io.parse_example(batch, features(names))

    ds = records(flags).batch(flags.batch)
    return finish(ds.map(parse, num_parallel_calls=settings(tuned)[0]), tuned)


def parse_dataset(flags, names, tuned):
    parse = tf.data.experimental.parse_example_dataset(features(names), settings(tuned)[0])
    return finish(records(flags).batch(flags.batch).apply(parse), tuned)


def regrouped(flags, names, tuned):
    def parse(batch):
        return tf.io.parse_example(batch, features(names))

    ds = records(flags).batch(flags.batch * common.WIDER)
    ds = ds.map(parse, num_parallel_calls=settings(tuned)[0]).rebatch(flags.batch)
    return finish(ds, tuned)


def read_through(ds):
    """Returns a pass that takes every batch and looks at none."""
    return functools.partial(common.count, ds)


def readers(flags, makers):
    names = list(FEATURES)
    return {
        f"{make.__name__}, {kind(tuned)}": read_through(
            make(flags, names, tuned)
        )
        for make in makers
        for tuned in (True, False)
    }


def predictors(flags):
    """Returns passes that run the signature over the data.

    The last kind keeps its results in the graph; the others bring them to Python.
    """
    loaded = tf.saved_model.load(flags.model)
    serve = loaded.signatures["serving_default"]
    serve.loaded = loaded  # it owns the variables

    def loop(ds):
        def one_pass():
            n = 0
            for batch in ds:
                for result in serve(**batch).values():
                    result.numpy()
                n += 1
            return n

        return one_pass

    def mapped(ds, tuned):
        ds = finish(ds.map(lambda b: serve(**b), num_parallel_calls=settings(tuned)[0]), tuned)

        def one_pass():
            n = 0
            for results in ds:
                for result in results.values():
                    result.numpy()
                n += 1
            return n

        return one_pass

    def traced(ds):
        @tf.function
        def whole(ds):
            n, total = tf.constant(0), tf.constant(0.0)
            for batch in ds:
                for result in serve(**batch).values():
                    total += tf.cast(tf.reduce_max(result), tf.float32)
                n += 1
            return n, total

        return lambda: int(whole(ds)[0])

    passes = {}
    for tuned in (True, False):
        ds = vectorised(flags, ["x"], tuned)
        passes[f"loop, {kind(tuned)}"] = loop(ds)
        passes[f"inside map, {kind(tuned)}"] = mapped(ds, tuned)
        passes[f"tf.function, {kind(tuned)}"] = traced(ds)
    return passes


def rates(flags, passes):
    """Returns the records/s of each way."""
    return common.rates(flags.records, passes.items(), flags.passes)


def peak_rss():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    raise RuntimeError("no VmHWM in /proc/self/status")


def start(flags):
    """Reads one pass; --begun is when the process was started."""
    if flags.model:
        loaded = tf.saved_model.load(flags.model)
        serve = loaded.signatures["serving_default"]
        ds = vectorised(flags, ["x"], True)
    else:
        serve = dict
        ds = vectorised(flags, list(FEATURES), True)
    first, n = None, 0
    for batch in ds:
        results = [t.numpy() for t in serve(**batch).values()]
        if first is None:
            first = time.time() - flags.begun
        n += len(results[0])
    return {"records": n, "first_batch_s": first, "peak_rss_bytes": peak_rss()}


def dump(flags):
    batches = vectorised(flags, list(FEATURES), False).take(flags.take)
    return {"batches": [common.dumped(batch) for batch in batches]}


class Classifier(tf.Module):
    """64 floats, 128 hidden units, 10 classes; its weights say nothing."""

    def __init__(self):
        super().__init__()
        rng = tf.random.Generator.from_seed(1)
        self.w1, self.b1 = tf.Variable(rng.normal([64, 128], stddev=0.1)), tf.Variable(tf.zeros([128]))
        self.w2, self.b2 = tf.Variable(rng.normal([128, 10], stddev=0.1)), tf.Variable(tf.zeros([10]))

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def serve(self, x):
        logits = tf.nn.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2
        return {"class": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}


def model(flags):
    made = Classifier()
    tf.saved_model.save(made, flags.folder, signatures={"serving_default": made.serve})
    return {"model": flags.folder}


MODES = {
    "per_record": lambda f: rates(f, readers(f, [per_record])),
    "vectorised": lambda f: rates(f, readers(f, [vectorised, parse_dataset])),
    "compressed": lambda f: rates(f, compressed_readers(f)),
    "regrouped": lambda f: rates(f, readers(f, [regrouped])),
    "predict": lambda f: rates(f, predictors(f)),
    "start": start,
    "dump": dump,
    "model": model,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("folder")
    parser.add_argument("--model", help="a SavedModel")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--records", type=int, default=100_000, help="records in the folder")
    parser.add_argument("--passes", type=int, default=5, help="passes to take the best of")
    parser.add_argument("--take", type=int, default=3, help="batches to dump")
    parser.add_argument("--begun", type=float, default=time.time(), help="Unix time of the start")
    flags = parser.parse_args()
    print(json.dumps(MODES[flags.mode](flags)))


if __name__ == "__main__":
    main()
