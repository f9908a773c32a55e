"""Records what Python tf.data makes of ragged and sparse parts, for composite_test.go.

    python composite.py composite.json

Each entry has the elements, or {"refused": the exception's type}.
"""
import json
import os
import sys
import tempfile

import tensorflow as tf

D = tf.data.Dataset
scratch = tempfile.mkdtemp()
zero = tf.constant(0, tf.int64)


def element(i):
    """Some ragged rows are empty, and every second sparse vector is."""
    n = i % 3
    return {
        "d": i,
        "r": tf.RaggedTensor.from_row_splits(tf.range(i, i + n + 1), tf.stack([zero, n, n + 1])),
        "s": tf.SparseTensor(indices=tf.fill([i % 2, 1], i % 4), values=tf.fill([i % 2], i), dense_shape=[4]),
    }


def source(n=6):
    return D.range(n).map(element)


def total(e):
    """The sum of all values of an element."""
    return e["d"] + tf.reduce_sum(e["r"].flat_values) + tf.reduce_sum(e["s"].values)


def doubled(e):
    return {"d": e["d"] * 2, "r": e["r"].with_values(e["r"].values * 2),
            "s": tf.SparseTensor(e["s"].indices, e["s"].values * 2, e["s"].dense_shape)}


def zipped(window, n):
    return D.zip({k: v.batch(n) for k, v in window.items()})


def saved(ds):
    ds.save(os.path.join(scratch, "saved"))
    return D.load(os.path.join(scratch, "saved"))


def drained(ds):
    list(ds)
    return ds


reducer = tf.data.experimental.Reducer(lambda k: zero, lambda s, e: s + total(e), lambda s: s)
cases = {
    "from_tensors": lambda: D.from_tensors(element(tf.constant(4, tf.int64))),
    "from_tensor_slices": lambda: D.from_tensor_slices(next(iter(source().batch(6)))),
    "batch": lambda: source().batch(4),
    "batch_drop": lambda: source().batch(4, drop_remainder=True),
    "batch_parallel": lambda: source().batch(4, num_parallel_calls=2),
    "batch_twice": lambda: source().batch(2).batch(2),
    "padded_batch": lambda: source().padded_batch(2),
    "ragged_batch": lambda: source().ragged_batch(4),
    "sparse_batch": lambda: source().sparse_batch(2, [4]),
    "sparse_batch_ragged": lambda: source().map(lambda e: e["r"]).sparse_batch(2, [2, 4]),
    "sparse_batch_sparse": lambda: source().map(lambda e: e["s"]).sparse_batch(2, [4]),
    "unbatch": lambda: source().batch(4).unbatch(),
    "unbatch_elements": lambda: source().map(lambda e: e["r"]).unbatch(),
    "unbatch_vectors": lambda: source().map(lambda e: e["s"]).unbatch(),
    "rebatch": lambda: source().batch(4).rebatch(3),
    "map": lambda: source().map(doubled),
    "map_parallel": lambda: source().map(doubled, num_parallel_calls=2),
    "map_to_parts": lambda: source().map(lambda e: (e["r"].row_splits, e["s"].dense_shape, total(e))),
    "filter": lambda: source().filter(lambda e: total(e) % 2 == 0),
    "take_while": lambda: source().take_while(lambda e: total(e) < 9),
    "scan": lambda: source().scan(zero, lambda s, e: (s + total(e), {"sum": s, "r": e["r"], "s": e["s"]})),
    "scan_state": lambda: source().scan(element(zero)["s"], lambda s, e: (e["s"], s)),
    "scan_state_ragged": lambda: source().scan(element(zero)["r"], lambda s, e: (e["r"], s)),
    "reduce": lambda: D.from_tensors(source().reduce(zero, lambda s, e: s + total(e))),
    "reduce_state": lambda: D.from_tensors(source().reduce(element(zero)["s"], lambda s, e: e["s"])),
    "reduce_state_ragged": lambda: D.from_tensors(source().reduce(element(zero)["r"], lambda s, e: e["r"])),
    "flat_map": lambda: source(3).flat_map(lambda e: D.from_tensors(e).repeat(2)),
    "interleave": lambda: source(4).interleave(lambda e: D.from_tensors(e).repeat(2), cycle_length=2),
    "interleave_parallel": lambda: source(4).interleave(lambda e: D.from_tensors(e).repeat(2), cycle_length=2, num_parallel_calls=2),
    "window": lambda: source().window(4, shift=2).flat_map(lambda w: zipped(w, 3)),
    "group_by_window": lambda: source().group_by_window(lambda e: e["d"] % 2, lambda k, w: w.batch(2), 2),
    "group_by_reducer": lambda: source().apply(tf.data.experimental.group_by_reducer(lambda e: e["d"] % 2, reducer)),
    "bucket": lambda: source().bucket_by_sequence_length(lambda e: tf.size(e["r"].values), [2, 3], [2, 2, 2], no_padding=True),
    "bucket_padded": lambda: source().bucket_by_sequence_length(lambda e: tf.size(e["r"].values), [2, 3], [2, 2, 2]),
    "take": lambda: source().take(2),
    "skip": lambda: source().skip(4),
    "shard": lambda: source().shard(3, 1),
    "repeat": lambda: source(2).repeat(2),
    "enumerate": lambda: source(2).enumerate(5),
    "zip": lambda: D.zip((source(2), source().skip(3))),
    "concatenate": lambda: source(2).concatenate(source().skip(4)),
    "sample": lambda: D.sample_from_datasets([source(3), source().skip(3)], weights=[0.5, 0.5], seed=7),
    "choose": lambda: D.choose_from_datasets([source(3), source().skip(3)], D.from_tensor_slices(tf.constant([1, 0, 0, 1], tf.int64))),
    "rejection_resample": lambda: source().rejection_resample(lambda e: tf.constant(0), [1.0], [1.0], seed=3),
    "shuffle": lambda: source().shuffle(4, seed=3),
    "cache": lambda: drained(source().cache()),
    "cache_file": lambda: drained(source().cache(os.path.join(scratch, "cache"))),
    "snapshot": lambda: drained(source().snapshot(os.path.join(scratch, "snapshot"))),
    "save": lambda: saved(source()),
    "save_batches": lambda: saved(source().batch(4)),
    "prefetch": lambda: source().prefetch(2),
    "unique": lambda: source().unique(),
    "unique_ragged": lambda: source().map(lambda e: e["r"]).unique(),
    "ignore_errors": lambda: source().ignore_errors(),
    "assert_cardinality": lambda: source().apply(tf.data.experimental.assert_cardinality(6)),
    "pad_to_cardinality": lambda: source().apply(tf.data.experimental.pad_to_cardinality(8)),
    "with_options": lambda: source().with_options(tf.data.Options()),
    "single_element": lambda: D.from_tensors(source().skip(4).take(1).get_single_element()),
}


def plain(x):
    if isinstance(x, tf.SparseTensor):
        return {"indices": x.indices.numpy().tolist(), "values": x.values.numpy().tolist(), "shape": x.dense_shape.numpy().tolist()}
    if isinstance(x, tf.RaggedTensor):
        return x.to_list()
    if isinstance(x, tf.Tensor):
        return x.numpy().tolist()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in sorted(x.items())}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x


def record(build):
    try:
        return [plain(e) for e in build()]
    except Exception as err:
        print(type(err).__name__, str(err).splitlines()[0][:150], file=sys.stderr)
        return {"refused": type(err).__name__}


out = {name: record(build) for name, build in cases.items()}
with open(sys.argv[1], "w") as f:
    json.dump(out, f, separators=(",", ":"), sort_keys=True)
