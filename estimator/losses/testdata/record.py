"""Records what Keras's losses give: record.py > keras.json. It needs tensorflow 2.21 and keras 3."""
import json
import sys

import keras
import numpy as np
import tensorflow as tf

L = keras.losses
random = np.random.default_rng(3)


def floats(*shape):
    return random.normal(size=shape).astype("float32")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cases():
    logits, classes = floats(4, 3), np.array([0, 2, 1, 1], "int64")
    steps, words = floats(2, 3, 5), np.array([[0, 4, 1], [2, 2, 3]], "int32")
    weights, mask = np.array([1, 0, 2, 0.5], "float32"), np.array([[1, 1, 0], [1, 0, 0]], "float32")
    p, q = softmax(logits), softmax(floats(4, 3))
    x, y = floats(4, 3), np.round(np.abs(floats(4, 3))) % 2
    sparse, dense, binary = L.SparseCategoricalCrossentropy, L.CategoricalCrossentropy, L.BinaryCrossentropy
    yield "sparse_softmax_cross_entropy", {}, sparse(from_logits=True), classes, logits, None
    yield "sparse_softmax_cross_entropy", {}, sparse(from_logits=True), classes[:, None], logits, weights
    yield "sparse_softmax_cross_entropy", {}, sparse(from_logits=True), words, steps, mask
    yield "sparse_softmax_cross_entropy", {"Reduction": "mean"}, sparse(from_logits=True, reduction="mean_with_sample_weight"), words, steps, mask
    yield "sparse_softmax_cross_entropy", {"Probabilities": True}, sparse(), classes, p, None
    yield "sparse_softmax_cross_entropy", {"Reduction": "sum"}, sparse(from_logits=True, reduction="sum"), classes, logits, None
    yield "softmax_cross_entropy", {}, dense(from_logits=True), q, logits, None
    yield "softmax_cross_entropy", {}, dense(from_logits=True), softmax(floats(2, 3, 5)), steps, None
    yield "softmax_cross_entropy", {"Probabilities": True}, dense(), q, 2 * p, weights
    yield "sigmoid_cross_entropy", {}, binary(from_logits=True), y, 9 * x, None
    yield "sigmoid_cross_entropy", {"Probabilities": True}, binary(), y, p, weights
    yield "sigmoid_cross_entropy", {}, binary(from_logits=True), y[:, :1], x[:, :1], weights
    yield "sigmoid_cross_entropy", {}, binary(from_logits=True), y[:, 0], x[:, :1], None
    yield "mean_squared_error", {}, L.MeanSquaredError(), x, logits, weights
    yield "mean_squared_error", {}, L.MeanSquaredError(), x[:, :1], logits[:, 0], None
    yield "mean_absolute_error", {}, L.MeanAbsoluteError(), floats(2, 3, 5), steps, mask
    yield "huber", {}, L.Huber(), 3 * x, logits, weights
    yield "huber", {"Delta": 0.3}, L.Huber(delta=0.3), x, logits, None
    # The cases above keep their numbers: new ones draw after them.
    one_hot, positive = np.eye(3, dtype="float32")[[0, 2, 1, 1]], np.abs(floats(4, 3))
    for name, loss in {
        "kl_divergence": L.KLDivergence(), "poisson": L.Poisson(), "mean_absolute_percentage_error": L.MeanAbsolutePercentageError(),
        "mean_squared_logarithmic_error": L.MeanSquaredLogarithmicError(), "log_cosh": L.LogCosh(), "cosine_similarity": L.CosineSimilarity(),
    }.items():
        yield name, {}, loss, q, np.abs(p + 0.1 * x), weights
        yield name, {}, loss, positive, positive[::-1] * 3, None
    for name, loss in {"hinge": L.Hinge(), "squared_hinge": L.SquaredHinge(), "categorical_hinge": L.CategoricalHinge()}.items():
        yield name, {}, loss, one_hot, logits, None
        yield name, {}, loss, 2 * y - 1, logits, weights
    yield "softmax_cross_entropy", {"LabelSmoothing": 0.2}, dense(from_logits=True, label_smoothing=0.2), one_hot, logits, None
    yield "sigmoid_cross_entropy", {"LabelSmoothing": 0.3}, binary(from_logits=True, label_smoothing=0.3), y, x, weights
    focal, many = L.BinaryFocalCrossentropy, L.CategoricalFocalCrossentropy
    yield "binary_focal_crossentropy", {}, focal(from_logits=True), y, x, None
    yield "binary_focal_crossentropy", {"Probabilities": True, "ClassBalancing": True, "Alpha": 0.4, "Gamma": 1.5}, focal(True, 0.4, 1.5), y, p, weights
    yield "binary_focal_crossentropy", {"LabelSmoothing": 0.1}, focal(from_logits=True, label_smoothing=0.1), y, x, None
    yield "categorical_focal_crossentropy", {}, many(from_logits=True), one_hot, logits, None
    yield "categorical_focal_crossentropy", {"Probabilities": True, "Alpha": 0.4, "Gamma": 1.5, "LabelSmoothing": 0.1}, many(0.4, 1.5, label_smoothing=0.1), one_hot, p, weights
    yield "ctc", {}, L.CTC(), np.array([[1, 2, 0], [3, 3, 0], [4, 1, 2]], "int32"), floats(3, 6, 5), None
    yield "ctc", {"Reduction": "sum"}, L.CTC(reduction="sum"), np.array([[1, 0], [2, 2]], "int32"), floats(2, 4, 3), np.array([2, 0.5], "float32")
    by_class = {0: 2.0, 2: 0.5}
    weighted = np.array([by_class.get(c, 1.0) for c in [0, 2, 1, 1]], "float32")
    yield "sparse_softmax_cross_entropy", {"ClassWeights": [2, 1, 0.5]}, sparse(from_logits=True), classes, logits, (weighted, None)
    yield "sparse_softmax_cross_entropy", {"ClassWeights": [2]}, sparse(from_logits=True), classes[:, None], logits, (np.array([2, 1, 1, 1], "float32"), None)
    yield "softmax_cross_entropy", {"ClassWeights": [2, 1, 0.5]}, dense(from_logits=True), one_hot, logits, (weighted * weights, weights)


def tensor(x):
    if x is None:
        return None
    return {"shape": list(x.shape), "values": [float(v) for v in np.ravel(x)]}


out = []
for kind, options, loss, labels, predictions, weights in cases():
    predictions, recorded = tf.constant(predictions), weights
    if isinstance(weights, tuple):  # what the classes weigh together with the weights, and the weights alone
        weights, recorded = weights
    with tf.GradientTape() as tape:
        tape.watch(predictions)
        value = loss(labels, predictions, sample_weight=weights)
    gradient = tape.gradient(value, predictions)
    out.append({"loss": {"Type": kind, **options}, "labels": tensor(labels), "integers": labels.dtype.kind == "i",
                "predictions": tensor(predictions.numpy()), "weights": tensor(recorded),
                "value": float(value), "gradient": tensor(gradient.numpy())})
json.dump(out, sys.stdout, separators=(",", ":"))
print()
