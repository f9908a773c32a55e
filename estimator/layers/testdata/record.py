"""Records what Keras's layers give for the same weights: record.py > keras.json. It needs tensorflow 2.21 and keras 3."""
import json
import re
import sys

import keras
import numpy as np

L = keras.layers
random = np.random.default_rng(5)


def floats(*shape):
    return random.normal(size=shape).astype("float32")


LENGTHS = np.array([4, 1, 3], "int32")


def cases():
    images, steps, rows, words = floats(2, 7, 6, 3), floats(3, 4, 5), floats(4, 5), np.array([[1, 4, 0], [2, 2, 5]], "int32")
    yield "dense", L.Dense(4, activation="relu"), rows, {}
    yield "dense_3d", L.Dense(4, activation="gelu"), steps, {}
    yield "conv2d", L.Conv2D(4, (3, 2), activation="tanh"), images, {}
    yield "conv2d_same", L.Conv2D(4, 3, strides=2, padding="same"), images, {}
    yield "conv2d_dilated", L.Conv2D(2, 2, dilation_rate=2, use_bias=False), images, {}
    yield "max_pool", L.MaxPooling2D(2), images, {}
    yield "average_pool", L.AveragePooling2D((3, 2), strides=1, padding="same"), images, {}
    yield "global_pool", L.GlobalAveragePooling2D(), images, {}
    yield "embedding", L.Embedding(6, 4), words, {}
    yield "batch_norm", L.BatchNormalization(), images, {}
    yield "batch_norm_train", L.BatchNormalization(momentum=0.9), images, {"training": True}
    yield "layer_norm", L.LayerNormalization(epsilon=1e-5), steps, {}
    yield "lstm", L.LSTM(3), steps, {}
    yield "lstm_lengths", L.LSTM(3, return_sequences=True), steps, {"mask": np.arange(4)[None] < LENGTHS[:, None]}
    yield "gru", L.GRU(3, return_sequences=True), steps, {}
    yield "gru_lengths", L.GRU(3), steps, {"mask": np.arange(4)[None] < LENGTHS[:, None]}
    yield "attention", L.MultiHeadAttention(2, 3), steps, {}
    yield "attention_causal", L.MultiHeadAttention(2, 3), steps, {"use_causal_mask": True}
    yield "attention_lengths", L.MultiHeadAttention(2, 3), steps, {"attention_mask": np.repeat((np.arange(4)[None] < LENGTHS[:, None])[:, None], 4, 1)}
    # The cases above keep their numbers: new ones draw after them.
    yield "conv1d", L.Conv1D(4, 3, strides=2, activation="relu"), steps, {}
    yield "conv1d_causal", L.Conv1D(3, 2, dilation_rate=2, padding="causal"), steps, {}
    yield "conv2d_transpose", L.Conv2DTranspose(2, (3, 2), strides=2), images, {}
    yield "conv2d_transpose_same", L.Conv2DTranspose(2, 3, strides=(2, 1), padding="same", use_bias=False), images, {}
    yield "depthwise", L.DepthwiseConv2D(3, strides=2, depth_multiplier=2, activation="tanh"), images, {}
    yield "separable", L.SeparableConv2D(5, (3, 2), padding="same", depth_multiplier=2), images, {}
    yield "max_pool_1d", L.MaxPooling1D(2), steps, {}
    yield "average_pool_1d", L.AveragePooling1D(3, strides=1, padding="same"), steps, {}
    yield "global_average_1d", L.GlobalAveragePooling1D(), steps, {}
    yield "global_max_1d", L.GlobalMaxPooling1D(), steps, {}
    yield "global_max", L.GlobalMaxPooling2D(), images, {}
    yield "upsampling", L.UpSampling2D((2, 3)), images, {}
    yield "zero_padding", L.ZeroPadding2D(((1, 0), (2, 1))), images, {}
    yield "simple_rnn", L.SimpleRNN(3, return_sequences=True), steps, {}
    yield "bidirectional", L.Bidirectional(L.LSTM(3)), steps, {}
    mask = {"mask": np.arange(4)[None] < LENGTHS[:, None]}
    yield "bidirectional_sequences", L.Bidirectional(L.LSTM(3, return_sequences=True)), steps, {}
    yield "bidirectional_lengths", L.Bidirectional(L.GRU(3)), steps, mask
    yield "bidirectional_sum", L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum"), steps, {}
    yield "bidirectional_ave", L.Bidirectional(L.SimpleRNN(3), merge_mode="ave"), steps, {}
    yield "bidirectional_mul", L.Bidirectional(L.SimpleRNN(3), merge_mode="mul"), steps, {}
    for name in "relu6", "leaky_relu", "selu", "softplus", "softsign", "exponential", "log_softmax", "elu", "swish", "softmax":
        yield name, L.Activation(name), rows, {}


def tensor(x):
    x = np.asarray(x)
    return {"shape": list(x.shape), "integers": x.dtype.kind == "i", "values": [float(str(v)) for v in np.ravel(x)]}


def path(w):
    """Returns the path of a weight within its layer, without the number that Keras gives the second layer of a type."""
    return re.sub(r"(ward_(?:lstm|gru|simple_rnn))_\d+", r"\1", w.path.partition("/")[2])


out = {"lengths": LENGTHS.tolist(), "cases": {}}
for name, layer, x, call in cases():
    inputs = (x, x) if isinstance(layer, L.MultiHeadAttention) else (x,)
    layer(*inputs)  # builds it
    for w in layer.weights:
        value = floats(*w.shape) * 0.5
        w.assign(np.abs(value) + 0.5 if "variance" in w.path else value)
    weights = {path(w): tensor(w.numpy()) for w in layer.weights}
    y = layer(*inputs, **call)
    after = {path(w): tensor(w.numpy()) for w in layer.weights if not w.trainable}
    out["cases"][name] = {"x": tensor(x), "weights": weights, "y": tensor(y), "after": after}
json.dump(out, sys.stdout, separators=(",", ":"))
print()
