"""Makes what is in this folder: monthly sunspot numbers as TFRecords and a model of them.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make.py              # data/ and model/
    venv/bin/python make.py --data-only  # data/ alone; byte for byte the same each time

The numbers come with statsmodels' package (see README.md). A file holds a span
of years, a record one year. The model sees the years before 1949 alone.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = "datasets/sunspots/src/sunspots_monthly.dat"
SOURCE_SHA256 = "cc303d26340b6d599bc2878899f8c50c12323dc04b52a26ad047965ea2b9d2a3"
SEED = 1749
HISTORY = 48  # months that the model looks at

# First year and first year after the last, by part.
SPANS = {
    "train": [(1749, 1799), (1799, 1849), (1849, 1899), (1899, 1949)],
    "heldback": [(1949, 1979), (1979, 2009)],
}

MANIFEST = {
    "compression": None,
    "allow_var_len": False,
    "features": [
        {"name": "sunspots", "dtype": "float32", "shape": [12], "deserialize_type": "float"},
        {"name": "month", "dtype": "int32", "shape": [12], "deserialize_type": "int"},
    ],
}


def read_source():
    """Returns {year: 12 monthly means} of the years 1749 to 2008."""
    (package,) = importlib.util.find_spec("statsmodels").submodule_search_locations
    data = (pathlib.Path(package) / SOURCE).read_bytes()
    assert hashlib.sha256(data).hexdigest() == SOURCE_SHA256, "another release of statsmodels"
    years = {}
    for line in data.decode("ascii").splitlines():
        words = line.split()
        if len(words) == 13 and words[0].isdigit():
            years[int(words[0])] = np.array(words[1:], np.float32)
    assert sorted(years) == list(range(1749, 2009))
    return years


def example(year, values):
    """Returns a year as serialized Example; month is YYYYMM."""
    months = [100 * year + m for m in range(1, 13)]
    feature = {
        "sunspots": tf.train.Feature(float_list=tf.train.FloatList(value=values.tolist())),
        "month": tf.train.Feature(int64_list=tf.train.Int64List(value=months)),
    }
    message = tf.train.Example(features=tf.train.Features(feature=feature))
    return message.SerializeToString(deterministic=True)


def write_part(name, years):
    """Writes one part as TFRecord files with their manifest."""
    folder = HERE / "data" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "__manifest__.json").write_text(json.dumps(MANIFEST, indent=2) + "\n")
    for begin, end in SPANS[name]:
        path = folder / f"{begin}-{end - 1}.tfrecords"
        with tf.io.TFRecordWriter(str(path)) as out:
            for year in range(begin, end):
                out.write(example(year, years[year]))


def windows(name, years):
    """Returns (history, next month) of every window of a part, none across files."""
    x, y = [], []
    for begin, end in SPANS[name]:
        series = np.concatenate([years[year] for year in range(begin, end)])
        for i in range(len(series) - HISTORY):
            x.append(series[i : i + HISTORY])
            y.append(series[i + HISTORY])
    return np.array(x), np.array(y)


class Sunspots(tf.Module):
    """An autoregressive model: one hidden layer, added to the mean of the last months.

    It works on square roots, in which the scatter is about as large at the
    maximum of a cycle as at its minimum.
    """

    def __init__(self, hidden=16):
        super().__init__()
        rng = tf.random.Generator.from_seed(SEED)
        self.w1 = tf.Variable(rng.normal([HISTORY, hidden], stddev=HISTORY**-0.5))
        self.b1 = tf.Variable(tf.zeros([hidden]))
        self.w2 = tf.Variable(tf.zeros([hidden, 1]))
        self.b2 = tf.Variable(tf.zeros([1]))

    def root(self, history):
        """Returns the square root of the next month's number."""
        x = tf.sqrt(tf.maximum(history, 0.0))
        level = tf.reduce_mean(x[:, -6:], axis=1, keepdims=True)
        h = tf.tanh((x - level) / 3 @ self.w1 + self.b1)
        return (level + h @ self.w2 + self.b2)[:, 0]

    @tf.function(input_signature=[tf.TensorSpec([None, HISTORY], tf.float32, name="history")])
    def serve(self, history):
        return {"next": tf.square(tf.maximum(self.root(history), 0.0))}


def train(model, x, y, epochs=60, batch=64, peak=3e-3):
    """Fits the model by Adam with decoupled weight decay and a cosine schedule."""
    x, y = tf.constant(x), tf.sqrt(tf.constant(y))
    variables = model.trainable_variables
    moments = [(tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v))) for v in variables]

    @tf.function
    def step(rows, rate, t):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model.root(tf.gather(x, rows)) - tf.gather(y, rows)))
        for v, (m, s), g in zip(variables, moments, tape.gradient(loss, variables)):
            m.assign(0.9 * m + 0.1 * g)
            s.assign(0.999 * s + 0.001 * g * g)
            update = (m / (1 - 0.9**t)) / (tf.sqrt(s / (1 - 0.999**t)) + 1e-8)
            v.assign_sub(rate * (update + 3e-2 * v))

    order = np.random.Generator(np.random.PCG64(SEED))
    per_epoch = len(y) // batch
    total, t = epochs * per_epoch, 0
    for _ in range(epochs):
        rows = order.permutation(len(y))
        for i in range(per_epoch):
            t += 1
            rate = peak * 0.5 * (1 + np.cos(np.pi * t / total))
            chosen = tf.constant(rows[i * batch : (i + 1) * batch])
            step(chosen, tf.constant(rate, tf.float32), tf.constant(t, tf.float32))


def save(model):
    """Writes model/, whole or not at all."""
    target = HERE / "model"
    with tempfile.TemporaryDirectory(dir=HERE) as scratch:
        tf.saved_model.save(
            model,
            os.path.join(scratch, "model"),
            signatures={"serving_default": model.serve},
            options=tf.saved_model.SaveOptions(save_debug_info=False),
        )
        shutil.rmtree(target, ignore_errors=True)
        os.replace(os.path.join(scratch, "model"), target)
    for empty in target.iterdir():
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()  # Git keeps no empty folders, and loading needs none


def report(name, model, x, y):
    """Prints the errors that the Go program prints for the held-back part."""

    def rms(guess):
        return float(np.sqrt(np.mean(np.square(guess - y))))

    guess = model.serve(tf.constant(x))["next"].numpy()
    year = x[:, -12:].mean(axis=1)
    print(f"{name}: {len(y)} windows, model {rms(guess):.2f}, last month {rms(x[:, -1]):.2f}, mean of a year {rms(year):.2f}")


def main():
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--data-only", action="store_true", help="leave model/ as it is")
    only_data = flags.parse_args().data_only

    years = read_source()
    for name in SPANS:
        write_part(name, years)
    if only_data:
        return
    tf.random.set_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    model = Sunspots()
    train(model, *windows("train", years))
    save(model)
    for name in SPANS:
        report(name, model, *windows(name, years))


if __name__ == "__main__":
    main()
