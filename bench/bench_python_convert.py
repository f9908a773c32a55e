"""TensorFlow's own Python on the work of `go run ./bench -only convert`.

Each loop is tried with Examples that are made anew for each record, as tutorials do, and with
one Example whose values are set again; the fastest counts. JSON goes to stdout.

    bench_python_convert.py write ROWS OUT PASSES   writes rows of 64 floats and an integer
    bench_python_convert.py convert TABLE OUT       converts a .csv or .parquet file
    bench_python_convert.py parquet CSV OUT         writes the same table as Parquet
"""

import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import tensorflow as tf

FLOATS = 64
SLICE = 65536  # rows of a table that are Python's objects at the same time
SAMPLE = 20000  # rows that choose the fastest loop

Example = tf.train.Example
Features = tf.train.Features
Feature = tf.train.Feature
FloatList = tf.train.FloatList
Int64List = tf.train.Int64List
BytesList = tf.train.BytesList


def write_new(out, x, y):
    with tf.io.TFRecordWriter(out) as w:
        for row, label in zip(x, y):
            features = Features(
                feature={
                    "x": Feature(float_list=FloatList(value=row)),
                    "y": Feature(int64_list=Int64List(value=[label])),
                }
            )
            w.write(Example(features=features).SerializeToString())


def write_again(out, x, y):
    example = Example()
    feature = example.features.feature
    floats = feature["x"].float_list.value
    labels = feature["y"].int64_list.value
    labels.append(0)
    with tf.io.TFRecordWriter(out) as w:
        for row, label in zip(x, y):
            floats[:] = row
            labels[0] = label
            w.write(example.SerializeToString())


def write(path, out, passes):
    raw = np.fromfile(path, np.uint8)
    n = raw.size // (4 * FLOATS + 8)
    x = raw[: n * 4 * FLOATS].view("<f4").reshape(n, FLOATS)
    y = raw[n * 4 * FLOATS :].view("<i8").tolist()
    rates = {}
    for way, rows in (("NumPy rows", x), ("lists", x.tolist())):
        for loop in (write_new, write_again):
            best = min(timed(lambda: loop(out, rows, y)) for _ in range(passes))
            rates[f"{loop.__name__} of {way}"] = n / best
    way = max(rates, key=rates.get)
    anew = max(rate for name, rate in rates.items() if name.startswith(write_new.__name__))
    return {"records_per_s": rates[way], "way": way, "ways": rates, "anew_records_per_s": anew}


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def slices(table):
    """Yields the columns of slices of a table, as lists."""
    if isinstance(table, pa.Table):
        for batch in table.to_batches(max_chunksize=SLICE):
            yield [column.to_pylist() for column in batch.columns]
    else:
        for i in range(0, len(table), SLICE):
            part = table.iloc[i : i + SLICE]
            yield [part[name].tolist() for name in table.columns]


def list_of(value):
    """Returns the list that stores a value, by name, and its class."""
    if isinstance(value, str):
        return "bytes_list", BytesList
    if isinstance(value, float):
        return "float_list", FloatList
    return "int64_list", Int64List


def names_of(table):
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)


def stored(column):
    """Returns the values of a column as records store them."""
    if isinstance(column[0], str):
        return [v.encode() for v in column]
    if isinstance(column[0], bool):
        return [int(v) for v in column]
    return column


def convert_new(table, out):
    names = names_of(table)
    with tf.io.TFRecordWriter(out) as w:
        for columns in slices(table):
            kinds = [list_of(c[0]) for c in columns]
            plan = [(n, k, v) for n, (k, v) in zip(names, kinds)]
            for row in zip(*map(stored, columns)):
                feature = {n: Feature(**{k: v(value=[x])}) for (n, k, v), x in zip(plan, row)}
                w.write(Example(features=Features(feature=feature)).SerializeToString())


def convert_again(table, out):
    names = names_of(table)
    example = Example()
    with tf.io.TFRecordWriter(out) as w:
        for columns in slices(table):
            example.Clear()
            lists = []
            for name, column in zip(names, columns):
                lists.append(getattr(example.features.feature[name], list_of(column[0])[0]).value)
            columns = [stored(c) for c in columns]
            for values, column in zip(lists, columns):
                values.append(column[0])
            for row in zip(*columns):
                for values, x in zip(lists, row):
                    values[0] = x
                w.write(example.SerializeToString())


CSV_READERS = {
    "pandas": lambda path: pd.read_csv(path, engine="c"),
    "pyarrow.csv": pa.csv.read_csv,
}
PARQUET_READERS = {"pyarrow.parquet": pa.parquet.read_table}


def convert(path, out):
    """Converts with the fastest reader and the fastest loop."""
    readers = CSV_READERS if path.endswith(".csv") else PARQUET_READERS
    reading = {}
    for name, read in readers.items():
        if len(readers) > 1:
            reading[name] = timed(lambda: read(path))
    reader = min(reading, key=reading.get) if reading else next(iter(readers))
    sample = readers[reader](path)[:SAMPLE]
    loops = {loop.__name__: timed(lambda: loop(sample, out)) for loop in (convert_new, convert_again)}
    loop = min(loops, key=loops.get)
    rows = 0

    def work():
        nonlocal rows
        table = readers[reader](path)
        rows = len(table)
        globals()[loop](table, out)

    seconds = timed(work)
    return {"seconds": seconds, "rows": rows, "way": f"{reader}, {loop}", "reading_s": reading, "sample_s": loops, "anew_records_per_s": len(sample) / loops[convert_new.__name__]}


def parquet(path, out):
    table = pa.csv.read_csv(path)
    pa.parquet.write_table(table, out)
    return {"rows": table.num_rows}


def main():
    mode, args = sys.argv[1], sys.argv[2:]
    if mode == "write":
        result = write(args[0], args[1], int(args[2]))
    elif mode == "convert":
        result = convert(*args)
    elif mode == "parquet":
        result = parquet(*args)
    else:
        sys.exit(f"unknown mode {mode!r}")
    json.dump(result, sys.stdout)


main()
