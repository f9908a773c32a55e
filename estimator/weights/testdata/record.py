"""Writes the weights of a small Keras model in each of the forms that are read: record.py FOLDER. It needs tensorflow 2.21, keras 3 and safetensors."""
import json
import sys

import keras
import numpy as np
import safetensors.numpy
import tensorflow as tf

folder = sys.argv[1]
x = keras.Input((6, 5, 3))
y = keras.layers.Conv2D(2, 2, name="conv")(x)
y = keras.layers.BatchNormalization(name="norm")(y)
y = keras.layers.Flatten()(y)
y = keras.layers.Dense(4, activation="relu", name="hidden")(y)
model = keras.Model(x, keras.layers.Dense(3, name="head")(y))
for w in model.weights:
    w.assign(np.round(np.random.default_rng(len(w.path)).normal(size=w.shape), 2))
model.save_weights(folder + "/small.weights.h5")
model.save(folder + "/small.keras")
tf.train.Checkpoint(model=model).write(folder + "/objects")
safetensors.numpy.save_file({w.path: w.numpy() for w in model.weights}, folder + "/small.safetensors")
with open(folder + "/values.json", "w") as f:
    json.dump({w.path: [float(str(v)) for v in np.ravel(w.numpy())] for w in model.weights}, f)
    f.write("\n")
if len(sys.argv) > 2:
    model.export(folder + "/small_model", verbose=False)
