"""Records what more of Keras's layers give: record_more.py > more.json. It needs tensorflow 2.21 and keras 3."""
import json
import sys

import keras
import numpy as np

L = keras.layers
random = np.random.default_rng(9)


def floats(*shape):
    return np.round(random.normal(size=shape), 2).astype("float32")


def same(layer, x):
    return layer(x)


def pair(layer, x):
    return layer([x, x * 0.5 - 0.1])


def cases():
    images, steps, rows, volumes = floats(2, 4, 5, 4), floats(2, 5, 4), floats(3, 4), floats(1, 3, 4, 4, 2)
    words = np.array([[1, 4, 0], [2, 2, 5]], "int32")
    yield "group_norm", L.GroupNormalization(2), images, same
    yield "instance_norm", L.GroupNormalization(-1, epsilon=0.01), steps, same
    yield "rms_norm", L.RMSNormalization(), steps, same
    yield "unit_norm", L.UnitNormalization(), rows, same
    yield "normalization", L.Normalization(mean=[0.1, 0.2, 0.3, 0.4], variance=[1.0, 2.0, 0.5, 0.0]), rows, same
    yield "rescaling", L.Rescaling(0.5, -1.0), rows, same
    yield "discretization", L.Discretization([-0.5, 0.0, 0.7]), rows, same
    yield "multi_hot", L.CategoryEncoding(6), words, same
    yield "count", L.CategoryEncoding(6, output_mode="count"), words, same
    yield "integer_lookup", L.IntegerLookup(vocabulary=[2, 5, 1]), words, same
    yield "hashing", L.Hashing(100), words, same
    for name in "add", "multiply", "maximum", "minimum", "average", "subtract", "concatenate":
        yield name, getattr(L, name.capitalize())(), rows, pair
    yield "dot", L.Dot(1), rows, pair
    yield "dot_normalized", L.Dot(1, normalize=True), rows, pair
    yield "dot_batches", L.Dot((2, 2)), steps, pair
    yield "dot_positions", L.Dot((1, 1)), steps, pair
    yield "attention", L.Attention(), steps, pair
    yield "additive_attention", L.AdditiveAttention(), steps, pair
    yield "grouped_query", L.GroupQueryAttention(3, 4, 2), steps, lambda layer, x: layer(x, x)
    yield "conv3d", L.Conv3D(2, (2, 2, 3), strides=(1, 2, 1), padding="same", activation="relu"), volumes, same
    yield "max_pool_3d", L.MaxPooling3D((2, 2, 2)), volumes, same
    yield "average_pool_3d", L.AveragePooling3D((1, 2, 2), strides=1, padding="same"), volumes, same
    yield "global_average_3d", L.GlobalAveragePooling3D(), volumes, same
    yield "global_max_3d", L.GlobalMaxPooling3D(), volumes, same
    yield "up_sampling_1d", L.UpSampling1D(2), steps, same
    yield "up_sampling_3d", L.UpSampling3D((1, 2, 1)), volumes, same
    yield "zero_padding_1d", L.ZeroPadding1D((1, 2)), steps, same
    yield "zero_padding_3d", L.ZeroPadding3D(((1, 0), (0, 1), (1, 1))), volumes, same
    yield "cropping_1d", L.Cropping1D((1, 2)), steps, same
    yield "cropping_2d", L.Cropping2D(((1, 0), (2, 1))), images, same
    yield "cropping_3d", L.Cropping3D(((0, 1), (1, 1), (2, 0))), volumes, same
    yield "depthwise_1d", L.DepthwiseConv1D(3, strides=2, depth_multiplier=2, activation="tanh"), steps, same
    yield "separable_1d", L.SeparableConv1D(3, 2, padding="same"), steps, same
    yield "p_re_lu", L.PReLU(), rows, same
    yield "p_re_lu_shared", L.PReLU(shared_axes=[1, 2]), images, same
    yield "time_distributed", L.TimeDistributed(L.Conv1D(2, 2, name="inner")), images, same
    yield "hard_sigmoid", L.Activation("hard_sigmoid"), 3 * rows, same
    yield "hard_swish", L.Activation("hard_silu"), 3 * rows, same
    yield "mish", L.Activation("mish"), rows, same


def tensor(x):
    x = np.asarray(x)
    return {"shape": list(x.shape), "integers": x.dtype.kind == "i", "values": [float(f"{v:.8g}") for v in np.ravel(x)]}


out = {"lengths": [], "cases": {}}
for name, layer, x, call in cases():
    keras.ops.convert_to_numpy(call(layer, x))  # builds it
    weights = layer.weights if not isinstance(layer, L.Normalization) else []
    for w in weights:
        w.assign(np.round(random.normal(size=w.shape) * 0.5, 2))
    path = lambda w: w.path.partition("/")[2].removeprefix("inner/")
    out["cases"][name] = {"x": tensor(x), "weights": {path(w): tensor(w.numpy()) for w in weights}, "y": tensor(call(layer, x)), "after": {}}
json.dump(out, sys.stdout, separators=(",", ":"))
print()
