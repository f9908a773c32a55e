"""Writes small Keras models in training mode and what Keras's own training steps make of them: record_keras.py FOLDER.

It needs tensorflow 2.21 and keras 3. The folder gets keras.tar.gz: for each model the SavedModel, which has the endpoints
"serve" and "train", and training.json with the batches, the loss of each step, and the variables before and after.
"""
import gzip
import io
import json
import os
import sys
import tarfile
import tempfile

import keras
import numpy as np
import tensorflow as tf

L = keras.layers
STEPS = 12


def cnn():
    """Moving statistics, a layer that is frozen and one that only moves, dropout."""
    inputs = keras.Input((6, 6, 2), name="x")
    x = L.Conv2D(4, 3, name="stem", trainable=False)(inputs)
    x = L.BatchNormalization(name="frozen_norm", trainable=False)(x)
    x = L.Conv2D(4, 3, name="conv", use_bias=False)(x)
    x = L.BatchNormalization(name="norm", momentum=0.9)(x)
    x = L.ReLU()(x)
    x = L.Dropout(0.3, seed=5, name="drop")(x)
    x = L.Flatten()(x)
    return keras.Model(inputs, L.Dense(3, name="head")(x)), keras.optimizers.SGD(0.1, momentum=0.9)


def shared():
    """One normalization and one dropout that are called twice: each call sees the state that the one before left."""
    inputs = keras.Input((6,), name="x")
    dense, norm, drop = L.Dense(6, name="dense", use_bias=False), L.BatchNormalization(name="norm", momentum=0.8), L.Dropout(0.2, seed=3, name="drop")
    x = drop(norm(dense(inputs)))
    x = drop(norm(dense(x)))
    return keras.Model(inputs, L.Dense(3, name="head")(x)), keras.optimizers.Adam(0.01)


class Noisy(L.Layer):
    """tf.nn.dropout, whose state no variable has, noise, and a variable that counts."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 3), name="kernel")
        self.calls = self.add_weight(shape=(), name="calls", trainable=False, initializer="zeros")

    def call(self, x, training=False):
        if training:
            self.calls.assign_add(1.0)
            x = tf.nn.dropout(x, 0.4, seed=7) + tf.random.normal(tf.shape(x), stddev=0.1, seed=9)
            x = tf.where(tf.random.uniform(tf.shape(x)[:1], 0, 9, dtype=tf.int32, seed=2)[:, None] > 2, x, -x)
        return x @ tf.convert_to_tensor(self.kernel)


def noisy():
    inputs = keras.Input((6,), name="x")
    return keras.Model(inputs, Noisy(name="noisy")(L.Dense(6, name="dense")(inputs))), keras.optimizers.SGD(0.05)


def regularized():
    """Penalties of kernels, a bias and an output, which Keras adds to the loss."""
    inputs = keras.Input((6,), name="x")
    x = L.Dense(5, "tanh", kernel_regularizer=keras.regularizers.L1L2(0.01, 0.02), bias_regularizer="l2", name="first")(inputs)
    x = L.Dense(5, kernel_regularizer=keras.regularizers.L2(0.1), activity_regularizer=keras.regularizers.L1(0.003), name="second")(x)
    return keras.Model(inputs, L.Dense(3, name="head")(x)), keras.optimizers.SGD(0.1)


def spectral():
    """The layer assigns its kernel, which the optimizer trains; one of them twice."""
    inputs = keras.Input((6,), name="x")
    twice = L.SpectralNormalization(L.Dense(6, name="inner"), name="twice")
    x = twice(L.ReLU()(twice(inputs)))
    return keras.Model(inputs, L.SpectralNormalization(L.Dense(3, name="last"), power_iterations=2, name="head")(x)), keras.optimizers.SGD(0.1, momentum=0.9)


MODELS = {"cnn": cnn, "shared": shared, "noisy": noisy, "regularized": regularized, "spectral": spectral}


def with_penalty(model, x):
    """What a model with penalties exports: model.export leaves them out."""
    y = model(x, training=True)
    return {"output_0": y, "penalty": tf.add_n(model.losses)} if model.losses else y


def export(model, folder):
    archive = keras.export.ExportArchive()
    archive.track(model)
    signature = [keras.InputSpec(shape=model.input_shape, dtype="float32", name="x")]
    archive.add_endpoint("serve", lambda x: model(x, training=False), signature)
    archive.add_endpoint("train", lambda x: with_penalty(model, x), signature)
    archive.write_out(folder, verbose=False)


def values(model):
    return {v.path: {"shape": list(v.shape), "values": np.asarray(v).astype("float64").ravel().tolist(), "trainable": any(v is t for t in model.trainable_variables)}
            for v in model.variables if v.dtype == "float32"}


def record(make, number, folder):
    random = np.random.default_rng(number)
    keras.utils.set_random_seed(number)
    model, optimizer = make()
    export(model, os.path.join(folder, "model"))
    shape = (STEPS, 4) + model.input_shape[1:]
    x = random.normal(size=shape).astype("float32").round(2)
    y = random.integers(0, 3, size=(STEPS, 4)).astype("int32")
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True)) + sum(model.losses)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, [v.value for v in variables]), variables))
        return loss

    optimizer.build(model.trainable_variables)
    found = {"x": {"shape": list(shape), "values": x.astype("float64").ravel().tolist()}, "y": y.ravel().tolist(), "before": values(model)}
    tf.random.set_seed(number)
    found["losses"] = [float(step(x[i], y[i])) for i in range(STEPS)]
    found["after"] = values(model)
    with open(os.path.join(folder, "training.json"), "w") as f:
        json.dump(found, f, separators=(",", ":"))


def pack(folder, name):
    with open(name, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, compresslevel=9) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for root, folders, files in os.walk(folder):
            folders.sort()
            for f in sorted(files):
                path = os.path.join(root, f)
                info = tarfile.TarInfo(os.path.relpath(path, folder))
                data = open(path, "rb").read()
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


with tempfile.TemporaryDirectory() as top:
    tf.config.experimental.enable_op_determinism()
    for number, (name, make) in enumerate(MODELS.items()):
        os.makedirs(os.path.join(top, name))
        record(make, number + 1, os.path.join(top, name))
        print(name, file=sys.stderr)
    pack(top, os.path.join(sys.argv[1], "keras.tar.gz"))
