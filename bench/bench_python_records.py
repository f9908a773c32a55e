"""TensorFlow's own Python on the records that `go run ./bench -only records` reads.

Each kind is read in several ways, with TensorFlow's autotuner and with fixed settings,
and the fastest counts. JSON goes to stdout.

    bench_python_records.py rates JOBS    records/s of each job: [{"kind", "folder", "batch", "way"}]
    bench_python_records.py dump KIND FOLDER BATCH   the first two batches of every way
    bench_python_records.py state FOLDER  bytes of the saved state of a shuffled dataset
"""

import glob
import json
import os
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

READ_BUFFER = 256 << 10
PREFETCH = 4
WIDER = 8  # batches that are parsed together where whole batches are regrouped
PASSES = 3
AUTOTUNE = tf.data.AUTOTUNE

NUMBER = tf.io.FixedLenFeature([], tf.int64)
FLOATS = {"x": tf.io.FixedLenFeature([64], tf.float32), "y": NUMBER}
IMAGES = {"x": tf.io.FixedLenFeature([], tf.string), "y": NUMBER}
STEPS = {"x": tf.io.FixedLenSequenceFeature([40], tf.float32)}


def settings(tuned):
    """Returns (parallel calls, prefetched batches)."""
    return (AUTOTUNE, AUTOTUNE) if tuned else (os.cpu_count(), PREFETCH)


def finish(ds, tuned):
    options = tf.data.Options()
    options.autotune.enabled = tuned
    return ds.prefetch(settings(tuned)[1]).with_options(options)


def records(folder):
    files = sorted(glob.glob(os.path.join(folder, "*.tfrecords")))
    return tf.data.TFRecordDataset(files, buffer_size=READ_BUFFER)


def parse_floats(batch):
    return tf.io.parse_example(batch, FLOATS)


def parse_images(batch):
    parsed = tf.io.parse_example(batch, IMAGES)
    pixels = tf.io.decode_raw(parsed["x"], tf.uint8, fixed_length=784)
    return {"x": tf.reshape(pixels, [-1, 28, 28]), "y": parsed["y"]}


def parse_steps(batch):
    return tf.io.parse_sequence_example(batch, sequence_features=STEPS)[1]


def one_step(record):
    return tf.io.parse_single_sequence_example(record, sequence_features=STEPS)[1]


def one_image(record):
    parsed = tf.io.parse_single_example(record, {"x": IMAGES["x"]})
    image = tf.io.decode_jpeg(parsed["x"], channels=3)
    image = tf.image.resize(image, [160, 160])
    return {"x": tf.image.flip_left_right(image)}


def batched(parse):
    def way(folder, batch, tuned):
        ds = records(folder).batch(batch)
        return finish(ds.map(parse, num_parallel_calls=settings(tuned)[0]), tuned)

    return way


def regrouped(parse):
    def way(folder, batch, tuned):
        ds = records(folder).batch(batch * WIDER)
        ds = ds.map(parse, num_parallel_calls=settings(tuned)[0])
        return finish(ds.rebatch(batch), tuned)

    return way


def single(parse, padded):
    def way(folder, batch, tuned):
        ds = records(folder).map(parse, num_parallel_calls=settings(tuned)[0])
        return finish(ds.padded_batch(batch) if padded else ds.batch(batch), tuned)

    return way


WAYS = {
    "floats": {"batched": batched(parse_floats), "regrouped": regrouped(parse_floats)},
    "images": {"batched": batched(parse_images), "regrouped": regrouped(parse_images)},
    "steps": {"batched": batched(parse_steps), "single": single(one_step, True)},
    "jpegs": {"single": single(one_image, False)},
}


def one_pass(ds):
    n = 0
    for _ in ds:
        n += 1
    return n


def rate(kind, folder, batch, way=None):
    n, best = sum(1 for _ in records(folder)), {}
    for name, make in WAYS[kind].items():
        for tuned in (True, False):
            full = f"{name}, {'autotuned' if tuned else 'fixed'}"
            if way and way != full:
                continue
            ds = make(folder, batch, tuned)
            batches, seconds = one_pass(ds), float("inf")
            for _ in range(PASSES):
                begin = time.perf_counter()
                assert one_pass(ds) == batches
                seconds = min(seconds, time.perf_counter() - begin)
            best[full] = n / seconds
    fastest = max(best, key=best.get)
    return {"records_per_s": best[fastest], "way": fastest, "ways": best}


def dumped(t):
    return {"dtype": t.dtype.name, "shape": t.shape.as_list(), "values": t.numpy().flatten().tolist()}


def dump(kind, folder, batch):
    return {
        name: [{k: dumped(t) for k, t in b.items()} for b in make(folder, int(batch), False).take(2)]
        for name, make in WAYS[kind].items()
    }


def state(folder):
    """Saves the state of an iterator in the middle of a shuffled epoch."""
    it = iter(records(folder).shuffle(1000, seed=1).batch(10))
    next(it)
    with tempfile.TemporaryDirectory() as to:
        tf.train.Checkpoint(it=it).write(os.path.join(to, "state"))
        return {"bytes": sum(os.path.getsize(f) for f in glob.glob(os.path.join(to, "*")))}


def main(mode, *args):
    modes = {"rates": lambda jobs: [rate(**job) for job in json.loads(jobs)], "dump": dump, "state": state}
    json.dump(modes[mode](*args), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
