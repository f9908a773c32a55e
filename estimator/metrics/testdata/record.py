"""Records what Keras's metrics give: record.py > keras.json. It needs tensorflow 2.21 and keras 3."""
import json
import sys

import keras
import numpy as np

M = keras.metrics
random = np.random.default_rng(5)


def floats(*shape):
    return random.normal(size=shape).astype("float32").round(3)


def batches(labels, predictions, weights=None):
    """Cuts the data into three batches of different sizes."""
    cuts = [0, 1, len(labels) // 2, len(labels)]
    return [(labels[a:b], predictions[a:b], None if weights is None else weights[a:b]) for a, b in zip(cuts, cuts[1:])]


def cases():
    n = 24
    labels, probabilities = random.integers(0, 2, n), random.random(n).astype("float32").round(3)
    weights, none, every = np.abs(floats(n)), np.zeros(n, "int64"), np.ones(n, "int64")
    weights[3:6] = 0
    edges = np.array([0, 1, 0.5] * 8, "float32")
    raw = 3 * floats(n)
    sigmoid = (1 / (1 + np.exp(-raw.astype("float64")))).astype("float32")
    for kind, options, metric in (
        ("binary_accuracy", {}, lambda: M.BinaryAccuracy()),
        ("binary_accuracy", {"Threshold": 0.3}, lambda: M.BinaryAccuracy(threshold=0.3)),
        ("pr_auc", {}, lambda: M.AUC(curve="PR")),
        ("auc", {}, lambda: M.AUC()),
        ("precision", {}, lambda: M.Precision()),
        ("recall", {"Threshold": 0.3}, lambda: M.Recall(thresholds=0.3)),
        ("precision_at_recall", {"Recall": 0.5}, lambda: M.PrecisionAtRecall(0.5)),
        ("precision_at_recall", {"Recall": 0.9}, lambda: M.PrecisionAtRecall(0.9)),
        ("precision_at_recall", {"Recall": 1}, lambda: M.PrecisionAtRecall(1)),
        ("f1_score", {"Threshold": 0.5}, lambda: M.F1Score(average="macro", threshold=0.5)),
        ("f1_score", {"Threshold": 0.3, "Average": "micro"}, lambda: M.F1Score(average="micro", threshold=0.3)),
    ):
        column = (lambda x: x[:, None]) if kind == "f1_score" else (lambda x: x)
        for y, p, w in (labels, probabilities, None), (labels, probabilities, weights), (labels, edges, weights), (labels, raw, weights), (none, probabilities, weights), (every, probabilities, None):
            yield kind, options, metric(), batches(column(y), column(p), w), None
        yield kind, {**options, "Logits": True}, metric(), batches(column(labels), column(sigmoid), weights), column(raw)

    classes, scores = random.integers(0, 4, n), np.abs(floats(n, 5))
    many, multi = np.eye(5, dtype="float32")[classes], random.integers(0, 2, (n, 5))
    for average in "macro", "micro", "weighted":
        yield "f1_score", {"Average": average}, M.F1Score(average=average), batches(many, scores), None
        yield "f1_score", {"Average": average}, M.F1Score(average=average), batches(many, scores, weights), None
        yield "f1_score", {"Average": average, "Threshold": 0.6}, M.F1Score(average=average, threshold=0.6), batches(multi, scores, weights), None
        yield "f1_score", {"Average": average}, M.F1Score(average=average), batches(many, np.tile(many[:, ::-1], 1)), None
    yield "f1_score", {}, M.F1Score(average="macro"), batches(many, 0 * scores), None

    predicted = random.integers(0, 4, n)
    whole = np.round(2 * weights).astype("int64")  # Keras sums integers here, and cuts other weights off
    for w in None, whole:
        yield "mean_iou", {}, M.MeanIoU(7), batches(classes, predicted, w), None
        yield "mean_iou", {}, M.MeanIoU(5, sparse_y_pred=False), batches(classes, scores, w), None
    yield "mean_iou", {}, M.MeanIoU(7), batches(every, none), None
    yield "mean_iou", {}, M.MeanIoU(7), batches(every, 2 * every), None
    image, of_image = random.integers(0, 3, (6, 3, 2)), floats(6, 3, 2, 3)
    yield "mean_iou", {}, M.MeanIoU(3, sparse_y_pred=False), batches(image, of_image, random.integers(0, 3, (6, 3, 2))), None

    x, y = floats(n, 3), floats(n, 3)
    near = (x + 0.2 * y).astype("float32")
    constant = np.full((n, 3), 2, "float32")
    half = x.copy()
    half[:, 1] = -1.5
    for kind, metric in ("root_mean_squared_error", M.RootMeanSquaredError), ("mean_absolute_percentage_error", M.MeanAbsolutePercentageError), ("r2_score", M.R2Score):
        for labels, predictions, w in (x, near, None), (x, near, weights), (x, y, weights), (constant, near, weights), (half, near, None), (x, x, None), (0 * x, near, None), (x[:, :1], near[:, :1], weights):
            yield kind, {}, metric(), batches(labels, predictions, w), None
    yield "r2_score", {}, M.R2Score(), batches(constant, constant), None


def tensor(x):
    return None if x is None else {"Shape": list(x.shape), "Values": [float(str(v)) for v in np.ravel(x)], "Whole": x.dtype.kind == "i"}


out = []
for kind, options, metric, data, logits in cases():
    recorded, at = [], 0
    for labels, predictions, weights in data:
        metric.update_state(labels, predictions, sample_weight=weights)
        given = predictions if logits is None else logits[at:at + len(labels)]
        at += len(labels)
        if kind == "f1_score" and "Threshold" not in options:  # Keras takes one-hot labels only
            labels = labels.argmax(-1)
        recorded.append({"Labels": tensor(labels), "Predictions": tensor(given), "Weights": tensor(weights)})
    value = float(metric.result())
    out.append({"Spec": {"Type": kind, **options}, "Batches": recorded, "Value": value if value == value else None})
json.dump(out, sys.stdout, separators=(",", ":"))
print()
