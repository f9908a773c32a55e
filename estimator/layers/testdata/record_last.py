"""Records what transposed convolutions, activations and layers of text of Keras give: record_last.py > last.json. It needs tensorflow 2.21 and keras 3."""
import json
import sys

import keras
import numpy as np

L = keras.layers
random = np.random.default_rng(11)
WORDS = ["a", "river", "runs"]


def floats(*shape):
    return np.round(random.normal(size=shape), 2).astype("float32")


def same(layer, x):
    return layer(x)


def cases():
    steps, rows, volumes = floats(2, 4, 3), floats(3, 4), floats(1, 2, 3, 2, 2)
    padded = floats(2, 4, 2)
    padded[0, 2:] = padded[1, 1] = 0.5
    padded[1, 2, 0] = 0.5
    texts = np.array(["A river runs, past!", "", "runs   (a) mill's Runs a\triver"], dtype=object)
    yield "conv1d_transpose", L.Conv1DTranspose(3, 3, strides=2, activation="relu"), steps, same
    yield "conv1d_transpose_same", L.Conv1DTranspose(2, 2, strides=3, padding="same", use_bias=False), steps, same
    yield "conv3d_transpose", L.Conv3DTranspose(2, (2, 3, 1), strides=(1, 2, 2)), volumes, same
    yield "conv3d_transpose_same", L.Conv3DTranspose(2, 2, strides=(2, 1, 2), padding="same"), volumes, same
    yield "relu", L.ReLU(max_value=1.2, negative_slope=0.1, threshold=0.3), 2 * rows, same
    yield "relu_max", L.ReLU(max_value=0.5), 2 * rows, same
    yield "relu_threshold", L.ReLU(threshold=0.4), 2 * rows, same
    yield "leaky_relu", L.LeakyReLU(negative_slope=0.3), rows, same
    yield "elu", L.ELU(alpha=0.7), rows, same
    yield "masking", L.Masking(0.5), padded, same
    yield "mask", L.Masking(0.5), padded, lambda layer, x: layer.compute_mask(x)
    yield "text", L.TextVectorization(vocabulary=WORDS), texts, same
    yield "text_cut", L.TextVectorization(vocabulary=WORDS, output_sequence_length=2), texts, same
    yield "text_long", L.TextVectorization(vocabulary=WORDS, output_sequence_length=9, standardize="lower"), texts, same
    yield "text_cased", L.TextVectorization(vocabulary=WORDS, standardize="strip_punctuation"), texts, same


def tensor(x):
    x = np.asarray(x)
    if x.dtype == object:
        return {"shape": list(x.shape), "strings": list(x)}
    return {"shape": list(x.shape), "integers": x.dtype.kind == "i", "values": [float(f"{v:.8g}") for v in np.ravel(x)]}


out = {"lengths": [], "cases": {}}
for name, layer, x, call in cases():
    call(layer, x)  # builds it
    weights = layer.weights
    for w in weights:
        w.assign(np.round(random.normal(size=w.shape) * 0.5, 2))
    path = lambda w: w.path.partition("/")[2]
    out["cases"][name] = {"x": tensor(x), "weights": {path(w): tensor(w.numpy()) for w in weights}, "y": tensor(call(layer, x)), "after": {}}
json.dump(out, sys.stdout, separators=(",", ":"))
print()
