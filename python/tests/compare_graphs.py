"""Compares the graphs in a folder with the batches that Go has read.

    python3 compare_graphs.py LIBRARY FOLDER

NAME.pb is a graph, and NAME.pb.txt has its batches as `millrace dump` prints them. After
a failure in Go this process has to fail as well. The test of package loaders/portable starts it.
"""

from __future__ import annotations

import base64
import json
import pathlib
import sys

import numpy as np
import tensorflow as tf

import millrace


def difference(batch: dict[str, np.ndarray], line: str) -> str:
    """Says how a batch differs from a line; "" if it does not."""
    want = json.loads(line)
    if sorted(batch) != sorted(want):
        return f"tensors {sorted(batch)}, want {sorted(want)}"
    for name, tensor in want.items():
        got = batch[name]
        dtype = tf.as_dtype(tensor["dtype"])
        if list(got.shape) != tensor["shape"] or (dtype != tf.string and got.dtype != dtype.as_numpy_dtype):
            return f"{name}: {got.dtype}{got.shape}, want {dtype.name}{tensor['shape']}"
        if dtype == tf.string:
            if [base64.b64encode(v).decode() for v in got.ravel()] != tensor["values"]:
                return f"{name}: {got.ravel()[:5]}, want {tensor['values'][:5]}"
        elif not equal(got.ravel(), tensor["values"]):
            return f"{name}: {got.ravel()[:5]}, want {tensor['values'][:5]}"
    return ""


def equal(got: np.ndarray, values: list) -> bool:
    """Compares numbers with those of a text, bit for bit but for the bits of NaN."""
    if got.dtype.kind in "iub":
        return bool(got.tolist() == values)
    named = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf", "+Inf": "inf", "-Inf": "-inf"}
    if np.iscomplexobj(got):
        want = np.array([complex(*map(float, v)) if isinstance(v, list) else complex(v) for v in values])
    else:
        want = np.array([float(named.get(v, v)) if isinstance(v, str) else v for v in values])
    want = want.astype(got.dtype)
    same = got.tobytes() == want.tobytes()
    return same or (got.shape == want.shape and bool(np.array_equal(got, want, equal_nan=got.dtype.kind in "fc")))


def compare(path: pathlib.Path, library: str) -> str:
    """Says how the batches of a graph differ from those of Go; "" if they do not."""
    lines = pathlib.Path(f"{path}.txt").read_text(encoding="utf-8").splitlines()
    failure = next((i for i, line in enumerate(lines) if line.startswith("failed: ")), None)
    want = lines if failure is None else lines[:failure]
    batches = iter(millrace.load_graph(path, pathlib.Path(library)))
    for i, line in enumerate(want):
        try:
            batch = next(batches)
        except StopIteration:
            return f"{i} batches, want {len(want)}"
        if text := difference({k: v.numpy() for k, v in batch.items()}, line):
            return f"batch {i}: {text}"
    if failure is not None:
        try:
            next(batches)
        except (tf.errors.OpError, millrace.Error):
            return ""
        return f"no failure after {len(want)} batches"
    if len(want) < MOST and next(batches, None) is not None:
        return f"more than {len(want)} batches"
    return ""


MOST = 16  # batches of a graph that Go has read


def main() -> None:
    library, folder = sys.argv[1:]
    paths = sorted(pathlib.Path(folder).glob("*.pb"))
    bad = 0
    for path in paths:
        try:
            text = compare(path, library)
        except Exception as error:  # noqa: BLE001, the others are compared as well
            text = f"{type(error).__name__}: {error}"
        if text:
            bad += 1
            print(f"{path.stem}: {text}")
    print(f"{len(paths)} graphs, {bad} differ")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
