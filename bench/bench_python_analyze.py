"""A pass with NumPy that computes what `millrace analyze` computes, for `go run ./bench -only analyze`.

    bench_python_analyze.py JOBS   the rates of jobs, as an array
"""

import functools
import json
import sys

import bench_python_common as common
import numpy as np
import tensorflow as tf
from bench_python_common import kind, settings

FEATURES = {"x": tf.io.FixedLenFeature([64], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
ROWS = 4096  # of a batch: the fastest size
SAMPLE = 16  # one value of so many is kept for the quantiles
REGISTERS = 14  # different values are counted by HyperLogLog with 2 to the power of that
PARTS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]


def different(x, registers):
    """Enters the values of an array into the registers of HyperLogLog."""
    h = x.astype(np.float64).view(np.uint64)
    h *= np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(30)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(27)
    rank = 51 - np.frexp(((h << np.uint64(REGISTERS)) >> np.uint64(REGISTERS)).astype(np.float64))[1]
    np.maximum.at(registers, (h >> np.uint64(64 - REGISTERS)).astype(np.int64), rank.astype(np.uint8))


class Statistics:
    """Statistics of a tensor."""

    def __init__(self):
        self.least, self.most, self.zeros, self.not_finite = np.inf, -np.inf, 0, 0
        self.n, self.total, self.squares = 0, 0.0, 0.0
        self.kept = []
        self.registers = np.zeros(1 << REGISTERS, np.uint8)

    def take(self, x):
        finite = np.isfinite(x)
        if not finite.all():
            self.not_finite += x.size - np.count_nonzero(finite)
            x = x[finite.all(axis=-1)]
        self.n += len(x)
        self.least, self.most = min(self.least, x.min()), max(self.most, x.max())
        self.zeros += x.size - np.count_nonzero(x)
        wide = x.astype(np.float64)
        self.total = self.total + wide.sum(axis=0)
        self.squares = self.squares + np.square(wide).sum(axis=0)
        different(x.ravel(), self.registers)
        self.kept.append(x.ravel()[::SAMPLE])

    def result(self):
        kept = np.concatenate(self.kept)
        mean = self.total / self.n
        return {
            "mean": mean, "std": np.sqrt(self.squares / self.n - mean * mean), "min": self.least, "max": self.most,
            "zeros": self.zeros, "quantiles": np.quantile(kept, PARTS), "distinct": 0.7213 * len(self.registers) ** 2 / np.exp2(-self.registers.astype(np.float64)).sum(),
            "histogram": np.histogram(kept, 32),
        }


def one_pass(job, tuned):
    def batch(records):
        made = tf.io.parse_example(records, FEATURES)
        return made["x"], made["y"]

    ds = common.records(job["folder"]).batch(ROWS).map(batch, num_parallel_calls=settings(tuned)[0])
    x, y = Statistics(), Statistics()
    for a, b in common.finish(ds, tuned).as_numpy_iterator():
        x.take(a)
        y.take(b)
    x.result(), y.result()
    return x.n


def ways(job):
    for tuned in (True, False):
        yield kind(tuned), functools.partial(one_pass, job, tuned)


def main(text):
    json.dump([common.rates(job["units"], ways(job), 1) for job in json.loads(text)], sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
