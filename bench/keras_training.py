"""Trains models of Keras with Millrace and with Keras's own step, and compares them: keras_training.py MILLRACE [MODEL ...].

MILLRACE is the program. It needs tensorflow 2.21 and keras 3. Each model is exported in training mode with random weights, its
batches are written as TFRecords, and `millrace train` reads both. For each model a line says how far apart the losses of all
steps are, the moving statistics after the last one, and whether frozen variables kept their bits. --steps N (default 20),
--batch N (default 4); --json prints a list of objects instead.

--control tells errors from rounding. It trains Keras a second time, with each weight of the first layer changed by one unit in the
last place, and says how far apart Keras and Keras are. --float64 builds the models in float64, where rounding is 5e8 times smaller.

--memory trains Keras in a process without the export and the other side, and compares the most memory that each process had. Ours
reads its records and writes a checkpoint after the last step; Keras's has its batches in memory and writes nothing.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_DETERMINISTIC_OPS"] = "1"

import keras
import numpy as np
import tensorflow as tf

L, A = keras.layers, keras.applications
CLASSES = 5


def application(build, size, frozen=False):
    def make():
        inputs = keras.Input((size, size, 3), name="x")
        base = build(include_top=False, weights=None, input_shape=(size, size, 3), pooling="avg")
        base.trainable = not frozen
        x = L.Dropout(0.2, seed=1, name="top_dropout")(base(inputs))
        return keras.Model(inputs, L.Dense(CLASSES, name="head")(x))

    return make


def transformer():
    tokens = keras.Input((12,), dtype="int64", name="x")
    x = L.Embedding(50, 16, name="tokens")(tokens) + L.Embedding(12, 16, name="positions")(keras.ops.arange(12))
    for i in range(2):
        y = L.MultiHeadAttention(2, 8, dropout=0.1, seed=i, name=f"attention{i}")(x, x, use_causal_mask=True)
        x = L.LayerNormalization(name=f"norm{i}a")(x + y)
        y = L.Dense(16, name=f"down{i}")(L.Dense(32, "gelu", name=f"up{i}")(x))
        x = L.LayerNormalization(name=f"norm{i}b")(x + L.Dropout(0.1, seed=i, name=f"drop{i}")(y))
    return keras.Model(tokens, L.Dense(CLASSES, name="head")(L.GlobalAveragePooling1D()(x)))


def unet():
    inputs = keras.Input((16, 16, 3), name="x")
    x, skips = inputs, []
    for i, n in enumerate([8, 16]):
        x = L.BatchNormalization(name=f"norm{i}")(L.Conv2D(n, 3, padding="same", activation="relu", name=f"in{i}")(x))
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = L.SpatialDropout2D(0.2, seed=3, name="middle")(L.Conv2D(32, 3, padding="same", activation="relu", name="bottom")(x))
    for i, n in enumerate([16, 8]):
        x = L.Conv2DTranspose(n, 2, strides=2, padding="same", name=f"up{i}")(x)
        x = L.Conv2D(n, 3, padding="same", activation="relu", name=f"out{i}")(L.Concatenate()([x, skips.pop()]))
    return keras.Model(inputs, L.Dense(CLASSES, name="head")(L.GlobalMaxPooling2D()(L.UpSampling2D(interpolation="bilinear")(x))))


def recommender():
    pair = keras.Input((2,), dtype="int64", name="x")
    user, item = L.Embedding(40, 8, name="users")(pair[:, 0]), L.Embedding(60, 8, name="items")(pair[:, 1])
    x = L.Dense(16, "relu", name="deep")(L.Concatenate()([user, item, user * item]))
    return keras.Model(pair, L.Dense(CLASSES, name="head")(L.Dropout(0.3, seed=2, name="drop")(x)))


WORDS = "a small river runs past the old mill where grain is ground".split()


def text():
    inputs = keras.Input((), dtype="string", name="x")
    vectorize = L.TextVectorization(vocabulary=WORDS, output_sequence_length=6, name="words")
    x = L.Embedding(len(WORDS) + 2, 8, name="embedding")(vectorize(inputs))
    return keras.Model(inputs, L.Dense(CLASSES, name="head")(L.GlobalAveragePooling1D()(x)))


def recurrent(cell):
    def make():
        inputs = keras.Input((8, 6), name="x")
        x = L.Bidirectional(cell(8, return_sequences=True, dropout=0.1, seed=4), name="both")(inputs)
        return keras.Model(inputs, L.Dense(CLASSES, name="head")(cell(8, name="last")(x)))

    return make


def spectral():
    inputs = keras.Input((8, 8, 3), name="x")
    x = L.SpectralNormalization(L.Conv2D(4, 3, activation="relu"), name="first")(inputs)
    x = L.SpectralNormalization(L.Conv2D(4, 3, activation="relu"), name="second")(x)
    return keras.Model(inputs, L.SpectralNormalization(L.Dense(CLASSES), power_iterations=2, name="head")(L.Flatten()(x)))


def mixed(policy):
    def make():
        inputs = keras.Input((8, 8, 3), name="x")
        x = L.Conv2D(4, 3, activation="relu", dtype=policy, name="conv")(inputs)
        x = L.BatchNormalization(dtype=policy, name="norm")(x)
        return keras.Model(inputs, L.Dense(CLASSES, dtype=policy, name="head")(L.Flatten(dtype=policy)(x)))

    return make


def mixed_transformer(policy):
    def make():
        keras.config.set_dtype_policy(policy)
        try:
            return transformer()
        finally:
            keras.config.set_dtype_policy("float32")

    return make


MODELS = {
    "MobileNetV2": application(A.MobileNetV2, 32), "MobileNetV2, frozen": application(A.MobileNetV2, 32, True),
    "MobileNetV3Small": application(A.MobileNetV3Small, 32), "ResNet50": application(A.ResNet50, 32),
    "ResNet50V2": application(A.ResNet50V2, 32), "EfficientNetB0": application(A.EfficientNetB0, 32),
    "EfficientNetV2B0": application(A.EfficientNetV2B0, 32), "DenseNet121": application(A.DenseNet121, 32),
    "ConvNeXtTiny": application(A.ConvNeXtTiny, 32), "Xception": application(A.Xception, 71), "VGG16": application(A.VGG16, 32),
    "InceptionV3": application(A.InceptionV3, 75), "NASNetMobile": application(A.NASNetMobile, 32),
    "Transformer": transformer, "U-Net": unet, "recommender": recommender, "text classifier": text,
    "LSTM": recurrent(L.LSTM), "GRU": recurrent(L.GRU), "SpectralNormalization": spectral,
    "mixed_float16": mixed("mixed_float16"), "mixed_bfloat16": mixed("mixed_bfloat16"),
    "Transformer in mixed_float16": mixed_transformer("mixed_float16"), "Transformer in mixed_bfloat16": mixed_transformer("mixed_bfloat16"),
}


def batches(model, steps, batch):
    random = np.random.default_rng(1)
    t = model.inputs[0]
    shape = (steps * batch,) + tuple(t.shape[1:])
    if t.dtype == "string":
        x = np.array([" ".join(random.choice(WORDS, 5)) for _ in range(steps * batch)], dtype=object)
    elif t.dtype == "int64":
        x = random.integers(0, 40, shape)
    else:
        x = random.uniform(-1, 1, shape).astype("float32")
    return x, random.integers(0, CLASSES, steps * batch)


def write_data(folder, x, y):
    os.makedirs(folder)
    dtype, kind = {"f": ("float32", "float"), "i": ("int64", "int"), "O": ("string", "string")}[x.dtype.kind]
    manifest = {"compression": None, "allow_var_len": False, "features": [
        {"name": "x", "dtype": dtype, "shape": list(x.shape[1:]), "deserialize_type": kind},
        {"name": "y", "dtype": "int64", "shape": [], "deserialize_type": "int"}]}
    with open(os.path.join(folder, "__manifest__.json"), "w") as f:
        json.dump(manifest, f)
    with tf.io.TFRecordWriter(os.path.join(folder, "data.tfrecords")) as out:
        for row, label in zip(x, y):
            flat = np.asarray(row).ravel().tolist()
            if kind == "string":
                feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[row.encode()]))
            elif kind == "int":
                feature = tf.train.Feature(int64_list=tf.train.Int64List(value=flat))
            else:
                feature = tf.train.Feature(float_list=tf.train.FloatList(value=flat))
            label = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)]))
            out.write(tf.train.Example(features=tf.train.Features(feature={"x": feature, "y": label})).SerializeToString())


def write_configs(folder, steps, batch):
    config = {
        "model": {"saved_model": "model", "train": {
            "signature": "train", "loss": {"type": "sparse_softmax_cross_entropy", "predictions": "output_0", "labels": "y"},
            "optimizer": {"type": "sgd", "learning_rate": 0.01}}},
        "train": {"loader": {"type": "independent", "args": {
            "dataset": {"type": "dir", "args": {"data_dir": "data"}}, "target_batch_size": batch, "drop_remainder": True, "epochs": 1,
            "num_read_buffer_bytes": 262144, "num_prefetch": 2,
            "primary_features": [{"from_name": "x", "to_name": "x"}, {"from_name": "y", "to_name": "y"}]}},
            "steps": steps, "log_every": 1},
        "checkpoints": {"every_steps": steps}, "seed": 1}
    with open(os.path.join(folder, "run.json"), "w") as f:
        json.dump(config, f)


def export(model, folder):
    archive = keras.export.ExportArchive()
    archive.track(model)
    t = model.inputs[0]
    dtype = "float32" if t.dtype == "float64" else t.dtype  # records have no float64; the model casts
    signature = [keras.InputSpec(shape=t.shape, dtype=dtype, name="x")]
    archive.add_endpoint("serve", lambda x: model(x, training=False), signature)
    archive.add_endpoint("train", lambda x: model(x, training=True), signature)
    archive.write_out(folder, verbose=False)


def keras_losses(model, x, y, steps, batch):
    optimizer = keras.optimizers.SGD(float(np.float32(0.01)))  # ours has a learning rate of float32 with --float64, too
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, [v.value for v in variables]), variables))
        return loss

    optimizer.build(model.trainable_variables)
    if x.dtype.kind == "O":
        x = x.astype("S")
    found, seconds = [], []
    for i in range(steps):
        began = time.perf_counter()
        found.append(float(step(tf.constant(x[i * batch:(i + 1) * batch]), tf.constant(y[i * batch:(i + 1) * batch]))))
        seconds.append(time.perf_counter() - began)
    return np.array(found), 1 / np.median(seconds[1:])  # as ours: without the first step, which prepares the graph


def alone(name, steps, batch):
    """Trains a model with Keras and prints the most memory that the process had, in bytes."""
    keras.utils.set_random_seed(1)
    model = MODELS[name]()
    keras_losses(model, *batches(model, steps, batch), steps, batch)
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


def run(command):
    """Runs a command and returns its exit code, what it wrote to stdout and stderr, and the most memory that it had."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        return child.returncode, out.read().decode(), err.read().decode(), usage.ru_maxrss * 1024


def control(model, begin, x, y, steps, batch):
    """Keras's losses from weights of which the first layer's differ in the last place."""
    for variable, value in zip(model.variables, begin):
        variable.assign(value)
    first = next(v for v in model.trainable_variables if v.dtype.startswith("float"))
    first.assign(np.nextafter(np.asarray(first), np.inf))
    return keras_losses(model, x, y, steps, batch)[0]


def compare(name, millrace, steps, batch, controlled=False, weighed=False):
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    model = MODELS[name]()
    with tempfile.TemporaryDirectory() as folder:
        x, y = batches(model, steps, batch)
        export(model, os.path.join(folder, "model"))
        write_data(os.path.join(folder, "data"), x, y)
        write_configs(folder, steps, batch)
        before = [np.asarray(v) for v in model.variables]
        dir = os.path.join(folder, "run")
        code, _, err, memory = run([millrace, "train", os.path.join(folder, "run.json"), "--dir", dir])
        if code:
            return {"model": name, "error": (err.strip().splitlines() or ["exit code %d" % code])[-1][:300]}
        theirs_memory = 0
        if weighed:
            code, text, err, _ = run([sys.executable, os.path.abspath(__file__), millrace, name, "--alone", "--steps", str(steps), "--batch", str(batch)])
            if code:
                return {"model": name, "error": "Keras alone: " + (err.strip().splitlines() or ["exit code %d" % code])[-1][:300]}
            theirs_memory = json.loads(text.splitlines()[-1])
        want, theirs = keras_losses(model, x, y, steps, batch)
        lines = [json.loads(line) for line in open(os.path.join(dir, "log.ndjson"))]
        got = np.array([line["loss"] for line in lines if "loss" in line])
        ours = np.median([line["steps_per_s"] for line in lines[1:] if "steps_per_s" in line])
        checkpoint = tf.train.load_checkpoint(tf.train.latest_checkpoint(os.path.join(dir, "checkpoints")))
        moved, frozen, weights = 0.0, 0, 0.0
        for i, v in enumerate(model.variables):
            after = checkpoint.get_tensor(f"variables/{i}/.ATTRIBUTES/VARIABLE_VALUE")
            trained = any(v is t for t in model.trainable_variables)
            if trained:
                weights = max(weights, np.abs(after - np.asarray(v)).max())
            elif np.array_equal(before[i], np.asarray(v)):
                frozen += not np.array_equal(after, before[i])
            elif v.dtype == "float32":
                moved = max(moved, (np.abs(after - np.asarray(v)) / np.maximum(1, np.abs(np.asarray(v)))).max())
        apart = np.abs(got - want)
        keras_apart = None
        if controlled:
            keras_apart = [float(d) for d in np.abs(control(model, before, x, y, steps, batch) - want)]
        return {"memory": memory, "keras_memory": theirs_memory, "apart": [float(d) for d in apart], "keras_apart": keras_apart, "model": name, "parameters": int(model.count_params()), "first": float(apart[0]), "worst": float(apart.max()), "worst_50": float(apart[:50].max()), "worst_step": int(apart.argmax()) + 1,
                "statistics": float(moved), "weights": float(weights), "frozen_changed": int(frozen), "steps_per_s": float(ours), "keras_steps_per_s": float(theirs)}


CONTROL = [1, 3, 10, 50]  # steps whose worst difference --control prints


def line(r):
    if "error" in r:
        return f"| {r['model']} | {r['error']} |"
    if r["keras_apart"]:
        return f"| {r['model']} | " + " | ".join(f"{max(r[k][:n]):.1e}" for n in CONTROL for k in ("apart", "keras_apart") if n <= len(r[k])) + " |"
    return (f"| {r['model']} | {r['parameters']:,} | {r['first']:.1e} | {r['worst']:.1e} (step {r['worst_step']}) | {r['statistics']:.1e} | {r['weights']:.1e} | "
            f"{r['frozen_changed']} | {r['steps_per_s']:.3g} | {r['keras_steps_per_s']:.3g} |")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("millrace")
    p.add_argument("models", nargs="*")
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--json", action="store_true")
    p.add_argument("--control", action="store_true")
    p.add_argument("--float64", action="store_true")
    p.add_argument("--memory", action="store_true")
    p.add_argument("--alone", action="store_true")  # what --memory runs
    o = p.parse_args()
    tf.config.experimental.enable_op_determinism()
    if o.float64:
        keras.config.set_floatx("float64")
    if o.alone:
        alone(o.models[0], o.steps, o.batch)
        return
    millrace = shutil.which(o.millrace) or o.millrace
    if o.json:
        print(json.dumps([compare(name, millrace, o.steps, o.batch, o.control, o.memory) for name in o.models or MODELS]))
        return
    if o.memory:
        print("| model | Millrace's memory, MiB | Keras's |\n|---|--:|--:|")
        for name in o.models or MODELS:
            r = compare(name, millrace, o.steps, o.batch, weighed=True)
            print(line(r) if "error" in r else f"| {name} | {r['memory'] >> 20:,} | {r['keras_memory'] >> 20:,} |", flush=True)
        return
    if o.control:
        steps = [n for n in CONTROL if n <= o.steps]
        print("| model | " + " | ".join(f"Millrace, {n} steps | Keras, {n} steps" for n in steps) + " |\n|---|" + "--:|" * 2 * len(steps))
        for name in o.models or MODELS:
            print(line(compare(name, millrace, o.steps, o.batch, True)), flush=True)
        return
    print("| model | parameters | loss, step 1 | loss, worst | moving statistics | weights | frozen that changed | steps/s | Keras's |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in o.models or MODELS:
        print(line(compare(name, millrace, o.steps, o.batch)), flush=True)


main()
