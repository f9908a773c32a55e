"""What the pipelines of TensorFlow's own Python have in common."""

import glob
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

READ_BUFFER = 256 << 10
PREFETCH = 4
WIDER = 8  # batches that are parsed together where whole batches are regrouped
AUTOTUNE = tf.data.AUTOTUNE


def settings(tuned):
    """Returns (parallel calls, prefetched batches)."""
    return (AUTOTUNE, AUTOTUNE) if tuned else (os.cpu_count(), PREFETCH)


def kind(tuned):
    """Returns what a way is called for its settings."""
    return "autotuned" if tuned else "fixed"


def finish(ds, tuned):
    options = tf.data.Options()
    options.autotune.enabled = tuned
    return ds.prefetch(settings(tuned)[1]).with_options(options)


def files(folder):
    return sorted(glob.glob(os.path.join(folder, "*.tfrecords")))


def records(folder):
    return tf.data.TFRecordDataset(files(folder), buffer_size=READ_BUFFER)


def count(ds):
    """Takes every batch and looks at none; returns how many there are."""
    n = 0
    for _ in ds:
        n += 1
    return n


def rates(units, ways, passes):
    """Returns the rates of some ways, functions that make a pass and count its batches.

    The best of some passes counts, after one more.
    """
    best = {}
    for name, one_pass in ways:
        batches = one_pass()
        seconds = float("inf")
        for _ in range(passes):
            begin = time.perf_counter()
            assert one_pass() == batches
            seconds = min(seconds, time.perf_counter() - begin)
        best[name] = units / seconds
    fastest = max(best, key=best.get)
    return {"records_per_s": best[fastest], "way": fastest, "ways": best}


def dumped(batch):
    """Returns a batch in the form of `millrace dump`."""
    return {
        name: {"dtype": t.dtype.name, "shape": t.shape.as_list(), "values": t.numpy().flatten().tolist()}
        for name, t in batch.items()
    }
