"""Elements a second out of tf.data.Dataset.from_generator, in batches.

    bench_python_fromseq.py BATCH WARM BATCHES

One JSON object with a figure for each kind of element goes to stdout.
"""

import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


def forever(value):
    def generator():
        while True:
            yield value

    return generator


def rate(value, spec, batch, warm, batches):
    data = tf.data.Dataset.from_generator(forever(value), output_signature=spec)
    it = iter(data.batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE))
    for _ in range(warm):
        next(it)
    begun = time.perf_counter()
    for _ in range(batches):
        next(it)
    return batch * batches / (time.perf_counter() - begun)


def main(*args):
    numbers = [int(a) for a in args]
    json.dump(
        {
            "scalars": rate(1, tf.TensorSpec((), tf.int64), *numbers),
            "vectors": rate(np.zeros(128, np.float32), tf.TensorSpec((128,), tf.float32), *numbers),
            "strings": rate(b"a line of text", tf.TensorSpec((), tf.string), *numbers),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
