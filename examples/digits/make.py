"""Makes what is in this folder: the digits as TFRecords and a model of them.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make.py              # data/ and model/
    venv/bin/python make.py --data-only  # data/ alone; byte for byte the same each time

The pictures come with scikit-learn's package (see README.md). A fixed
permutation deals them into a part to train on and a part held back; the model
sees the first alone.
"""

import argparse
import json
import os
import pathlib
import shutil
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import sklearn.datasets
import tensorflow as tf

HERE = pathlib.Path(__file__).resolve().parent
SEED = 1797
HELD_BACK = 360  # of 1,797: a fifth
FILES = {"train": 4, "heldback": 2}

MANIFEST = {
    "compression": None,
    "allow_var_len": False,
    "features": [
        {"name": "image", "dtype": "float32", "shape": [8, 8], "deserialize_type": "int"},
        {
            "name": "pixels",
            "dtype": "uint8",
            "shape": [8, 8],
            "deserialize_type": "raw",
            "deserialize_args": {"endian": "little"},
        },
        {"name": "label", "dtype": "int64", "shape": [], "deserialize_type": "int"},
        {"name": "id", "dtype": "string", "shape": [], "deserialize_type": "string"},
    ],
}


def split():
    """Returns {part: (rows, images, labels)}; images are uint8 of 0 to 16."""
    digits = sklearn.datasets.load_digits()
    images = digits.images.astype(np.uint8)
    assert images.shape == (1797, 8, 8) and (images == digits.images).all()
    labels = digits.target.astype(np.int64)
    rows = np.random.Generator(np.random.PCG64(SEED)).permutation(len(labels))
    parts = {"heldback": rows[:HELD_BACK], "train": rows[HELD_BACK:]}
    return {name: (r, images[r], labels[r]) for name, r in parts.items()}


def example(row, image, label):
    """Returns one picture as serialized Example, its keys in order."""

    def ints(values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def text(value):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    feature = {
        "image": ints(image.flatten().tolist()),
        "pixels": text(image.tobytes()),
        "label": ints([int(label)]),
        "id": text(b"digits.csv:%d" % (row + 1)),
    }
    message = tf.train.Example(features=tf.train.Features(feature=feature))
    return message.SerializeToString(deterministic=True)


def write_part(name, rows, images, labels):
    """Writes one part as TFRecord files with their manifest."""
    folder = HERE / "data" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "__manifest__.json").write_text(json.dumps(MANIFEST, indent=2) + "\n")
    n = FILES[name]
    for i, chunk in enumerate(np.array_split(np.arange(len(rows)), n)):
        path = folder / f"{name}-{i:05d}-of-{n:05d}.tfrecords"
        with tf.io.TFRecordWriter(str(path)) as out:
            for k in chunk:
                out.write(example(int(rows[k]), images[k], labels[k]))


class Digits(tf.Module):
    """Two small convolutions and one dense layer."""

    def __init__(self):
        super().__init__()
        rng = tf.random.Generator.from_seed(SEED)

        def weights(*shape):
            fan_in = int(np.prod(shape[:-1]))
            return tf.Variable(rng.normal(shape, stddev=(2 / fan_in) ** 0.5))

        self.k1, self.b1 = weights(3, 3, 1, 16), tf.Variable(tf.zeros([16]))
        self.k2, self.b2 = weights(3, 3, 16, 32), tf.Variable(tf.zeros([32]))
        self.w, self.b = weights(4 * 4 * 32, 10), tf.Variable(tf.zeros([10]))

    def logits(self, image):
        x = image[..., tf.newaxis] / 16
        x = tf.nn.relu(tf.nn.conv2d(x, self.k1, 1, "SAME") + self.b1)
        x = tf.nn.relu(tf.nn.conv2d(x, self.k2, 1, "SAME") + self.b2)
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        return tf.reshape(x, [-1, 4 * 4 * 32]) @ self.w + self.b

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8], tf.float32, name="image")])
    def serve(self, image):
        logits = self.logits(image)
        return {"digit": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}


def train(model, images, labels, epochs=40, batch=32, peak=3e-3):
    """Fits the model by Adam with decoupled weight decay and a cosine schedule."""
    images, labels = tf.constant(images, tf.float32), tf.constant(labels)
    variables = model.trainable_variables
    moments = [(tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v))) for v in variables]

    @tf.function
    def step(rows, rate, t):
        with tf.GradientTape() as tape:
            logits = model.logits(tf.gather(images, rows))
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather(labels, rows), logits)
            )
        for v, (m, s), g in zip(variables, moments, tape.gradient(loss, variables)):
            m.assign(0.9 * m + 0.1 * g)
            s.assign(0.999 * s + 0.001 * g * g)
            update = (m / (1 - 0.9**t)) / (tf.sqrt(s / (1 - 0.999**t)) + 1e-8)
            v.assign_sub(rate * (update + 1e-2 * v))

    order = np.random.Generator(np.random.PCG64(SEED))
    per_epoch = len(labels) // batch
    total, t = epochs * per_epoch, 0
    for _ in range(epochs):
        rows = order.permutation(len(labels))
        for i in range(per_epoch):
            t += 1
            rate = peak * 0.5 * (1 + np.cos(np.pi * t / total))
            chosen = tf.constant(rows[i * batch : (i + 1) * batch])
            step(chosen, tf.constant(rate, tf.float32), tf.constant(t, tf.float32))


def accuracy(model, images, labels):
    return float(np.mean(model.serve(tf.constant(images, tf.float32))["digit"].numpy() == labels))


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


def main():
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--data-only", action="store_true", help="leave model/ as it is")
    only_data = flags.parse_args().data_only

    parts = split()
    for name, part in parts.items():
        write_part(name, *part)
    if only_data:
        return
    tf.random.set_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    model = Digits()
    train(model, *parts["train"][1:])
    save(model)
    for name, (_, images, labels) in parts.items():
        print(f"{name}: {len(labels)} digits, accuracy {accuracy(model, images, labels):.4f}")


if __name__ == "__main__":
    main()
