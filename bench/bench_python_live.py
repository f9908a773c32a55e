"""One small live prediction at a time, through a signature of a SavedModel.

    bench_python_live.py MODEL KEY INPUT WARM CALLS DIM...

The input is fed from NumPy and the output read back, as a service would. One
JSON object with the median goes to stdout.
"""

import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


def main(model, key, name, warm, calls, *dims):
    # The model must stay referenced while its signature is used.
    loaded = tf.saved_model.load(model)
    call = loaded.signatures[key]
    data = np.zeros([int(d) for d in dims], np.float32)
    times = []
    for i in range(int(warm) + int(calls)):
        begin = time.perf_counter()
        out = call(**{name: tf.constant(data)})
        for value in out.values():
            value.numpy()
        if i >= int(warm):
            times.append(time.perf_counter() - begin)
    print(json.dumps({"p50_s": sorted(times)[len(times) // 2]}))


main(*sys.argv[1:])
