"""Records what Keras's optimizers do with tf.IndexedSlices: record_rows.py > rows.json. It needs tensorflow 2.21 and keras 3."""
import json
import sys

import keras
import numpy as np
import tensorflow as tf

O = keras.optimizers
ROWS, SIZE = 6, 2
# Rows that are there twice, in one step only, and never.
INDICES = [[1, 3, 1], [0, 3], [1], [2, 2, 2, 0]]
CASES = {
    "sgd": lambda: O.SGD(0.1),
    "sgd_decay": lambda: O.SGD(0.1, weight_decay=0.05),
    "sgd_clip": lambda: O.SGD(0.1, global_clipnorm=0.5),
    "momentum": lambda: O.SGD(0.1, momentum=0.9),
    "nesterov": lambda: O.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: O.Adam(0.1),
    "adam_amsgrad": lambda: O.Adam(0.1, beta_1=0.8, beta_2=0.9, amsgrad=True),
    "adamw": lambda: O.AdamW(0.1),
    "adagrad": lambda: O.Adagrad(0.1),
    "rmsprop": lambda: O.RMSprop(0.1),
    "rmsprop_centered": lambda: O.RMSprop(0.1, centered=True),
    "rmsprop_momentum": lambda: O.RMSprop(0.1, momentum=0.5),
    "lion": lambda: O.Lion(0.1),
    "adadelta": lambda: O.Adadelta(0.5, epsilon=0.01),
    "adamax": lambda: O.Adamax(0.1),
    "accumulate": lambda: O.SGD(0.1, gradient_accumulation_steps=2),
    "clipvalue": lambda: O.SGD(0.1, clipvalue=0.4),
    "rmsprop_both": lambda: O.RMSprop(0.1, momentum=0.5, centered=True),
}


def flat(x):
    return [float(v) for v in np.ravel(x)]


random = np.random.default_rng(11)
initial = random.normal(size=(ROWS, SIZE)).astype("float32")
steps = [(i, random.normal(size=(len(i), SIZE)).astype("float32")) for i in INDICES]
out = {"rows": ROWS, "size": SIZE, "initial": flat(initial), "steps": [{"indices": i, "values": flat(v)} for i, v in steps], "cases": {}}
for name, make in CASES.items():
    optimizer = make()
    variable = keras.Variable(initial, name="embeddings")
    after = []
    for indices, values in steps:
        slices = tf.IndexedSlices(tf.constant(values), tf.constant(indices, tf.int64), tf.constant([ROWS, SIZE], tf.int64))
        optimizer.apply([slices], [variable])
        after.append(flat(variable.numpy()))
    out["cases"][name] = after
json.dump(out, sys.stdout, separators=(",", ":"))
print()
