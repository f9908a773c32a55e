"""One small live prediction at a time, through a signature of a SavedModel.

    bench_python_live.py MODEL KEY INPUT TURNS WARM CALLS DIM...

The input is fed from NumPy and the output read back, as a service would. One
JSON object with the median goes to stdout, the best turn's of several.
"""

import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


def main(model, key, name, turns, warm, calls, *dims):
    # The model must stay referenced while its signature is used.
    loaded = tf.saved_model.load(model)
    call = loaded.signatures[key]
    data = np.zeros([int(d) for d in dims], np.float32)
    medians = [turn(call, name, data, int(warm), int(calls)) for _ in range(int(turns))]
    print(json.dumps({"p50_s": min(medians)}))


def turn(call, name, data, warm, calls):
    times = []
    for i in range(warm + calls):
        begin = time.perf_counter()
        out = call(**{name: tf.constant(data)})
        for value in out.values():
            value.numpy()
        if i >= warm:
            times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


main(*sys.argv[1:])
