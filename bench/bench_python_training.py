"""Training with TensorFlow's own Python, on the records that `make bench` trains Millrace on.

    bench_python_training.py model KIND FOLDER         make the SavedModel, with a signature that trains
    bench_python_training.py loop KIND DATA STEPS WARM   `for batch in data: train(**batch)`, and the arithmetic alone
    bench_python_training.py fit KIND DATA STEPS WARM    Keras's fit, one step and several steps a call

KIND is dense, wide, cnn, convolution or lstm. Every mode begins with the same weights, and
Python's variables are Keras's own. The input pipeline parses whole batches and
prefetches. It is tried with TensorFlow's autotuner and with fixed settings, and
the faster one counts. WARM steps come before those that are timed. One JSON
object goes to stdout.
"""

import argparse
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_DETERMINISTIC_OPS", "1")  # as millrace train has it

import keras
import tensorflow as tf

from bench_python import FEATURES, finish, records, settings

SEVERAL = 50  # steps that fit makes in one call


def layers(kind):
    """Returns the layers of a model of 64 floats and 10 classes."""
    if kind == "dense":
        return [keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)]
    if kind == "wide":  # a million weights
        return [*(keras.layers.Dense(960, activation="relu") for _ in range(2)), keras.layers.Dense(10)]
    if kind == "cnn":  # half a millisecond a row, in batches too, for servers
        convolutions = (keras.layers.Conv2D(n, 3, padding="same", activation="relu") for n in (64, 256, 128))
        return [keras.layers.Reshape((8, 8, 1)), *convolutions, keras.layers.Flatten(), keras.layers.Dense(10)]
    if kind == "convolution":
        return [
            keras.layers.Reshape((8, 8, 1)),
            keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    return [keras.layers.Reshape((8, 8)), keras.layers.LSTM(32), keras.layers.Dense(10)]


class Trained(tf.Module):
    """A Keras model with its optimizer, and a step that trains it."""

    def __init__(self, kind):
        super().__init__()
        keras.utils.set_random_seed(1)
        self.keras = [keras.Sequential([keras.Input((64,)), *layers(kind)]), keras.optimizers.Adam()]
        model, optimizer = self.keras
        optimizer.build(model.trainable_variables)
        self.kept = [v.value for v in model.variables + optimizer.variables]

    def predict(self, x):
        return {"logits": self.keras[0](x, training=False)}

    def step(self, x, y):
        model, optimizer = self.keras
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}


def model(flags):
    trained = Trained(flags.kind)
    x = tf.TensorSpec([None, 64], tf.float32, name="x")
    y = tf.TensorSpec([None], tf.int64, name="y")
    saved = tf.Module()  # Keras would put functions of its own beside the signatures
    saved.variables_of_keras = trained.kept
    signatures = {
        "train": tf.function(trained.step, input_signature=[x, y]),
        "serving_default": tf.function(trained.predict, input_signature=[x]),
    }
    tf.saved_model.save(saved, flags.folder, signatures=signatures)
    return {"model": flags.folder}


def batches(flags, tuned, form=dict):
    """Returns the batches of all epochs, without end, each as form makes it of a dict."""

    def parse(batch):
        return form(tf.io.parse_example(batch, FEATURES))

    ds = records(flags).repeat().batch(flags.batch, drop_remainder=True)
    return finish(ds.map(parse, num_parallel_calls=settings(tuned)[0]), tuned)


def loop(flags, tuned):
    """Returns the steps/s of a loop and the loss of its last step."""
    train = tf.function(Trained(flags.kind).step)
    begin, n = 0.0, 0
    for batch in batches(flags, tuned):
        loss = train(**batch)["loss"]
        n += 1
        if n == flags.warm:
            begin = time.perf_counter()
        elif n == flags.steps:
            break
    seconds = time.perf_counter() - begin
    return {"steps_per_s": (flags.steps - flags.warm) / seconds, "loss": float(loss)}


def arithmetic(flags):
    """Returns the steps/s on one batch again and again, inside one function."""
    trained = Trained(flags.kind)
    batch = next(iter(batches(flags, False)))

    @tf.function
    def steps(n, x, y):
        loss = tf.constant(0.0)
        for _ in tf.range(n):
            loss = trained.step(x, y)["loss"]
        return loss

    n = flags.steps - flags.warm
    steps(tf.constant(flags.warm), **batch).numpy()
    begin = time.perf_counter()
    steps(tf.constant(n), **batch).numpy()
    return n / (time.perf_counter() - begin)


class Clock(keras.callbacks.Callback):
    """Times all epochs but the first."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.begin = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.end = time.perf_counter()


def fit(flags, tuned, several):
    """Returns the steps/s of fit, and the loss of the step after its last one.

    An epoch is WARM steps, and fit makes STEPS - 1 of them.
    """
    model, optimizer = Trained(flags.kind).keras
    model.compile(
        optimizer,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        steps_per_execution=several,
    )
    ds = batches(flags, tuned, lambda batch: (batch["x"], batch["y"]))
    clock, done = Clock(), flags.steps - 1
    model.fit(
        ds,
        epochs=done // flags.warm,
        steps_per_epoch=flags.warm,
        callbacks=[clock],
        verbose=0,
    )
    ((x, y),) = ds.skip(done).take(1)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x))
    return {
        "steps_per_s": (done - flags.warm) / (clock.end - clock.begin),
        "loss": float(tf.reduce_mean(loss)),
    }


def fastest(measure):
    """Returns the faster of both settings of the input pipeline."""
    return max((measure(tuned) for tuned in (True, False)), key=lambda r: r["steps_per_s"])


MODES = {
    "model": model,
    "loop": lambda f: {
        "loop": fastest(lambda tuned: loop(f, tuned)),
        "arithmetic": {"steps_per_s": arithmetic(f)},
    },
    "fit": lambda f: {
        "fit": fastest(lambda tuned: fit(f, tuned, 1)),
        "fit_several": fastest(lambda tuned: fit(f, tuned, SEVERAL)),
    },
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("kind", choices=["dense", "wide", "cnn", "convolution", "lstm"])
    parser.add_argument("folder")
    parser.add_argument("steps", type=int, nargs="?", default=1)
    parser.add_argument("warm", type=int, nargs="?", default=1)
    parser.add_argument("--batch", type=int, default=128)
    flags = parser.parse_args()
    if flags.mode == "fit" and (flags.warm % SEVERAL or flags.steps % flags.warm != 1):
        parser.error(f"fit needs WARM in multiples of {SEVERAL}, and STEPS one more than a multiple of WARM")
    print(json.dumps(MODES[flags.mode](flags)))


if __name__ == "__main__":
    main()
