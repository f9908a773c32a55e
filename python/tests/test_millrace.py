"""The package against the program: equal batches, equal words."""

from __future__ import annotations

import base64
import json
import math
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import millrace
from millrace import _program

ROOT = pathlib.Path(__file__).parents[2]

SHUFFLED = {"shuffle": True, "shuffle_mode": "exact"}
ORDERS: dict[str, dict[str, Any]] = {
    "files": {},
    "exact": {**SHUFFLED, "epochs": 3},
    "dropped": {**SHUFFLED, "epochs": 2, "drop_remainder": True},
    "block": {"shuffle": True, "shuffle_mode": "block", "num_shuffle_buffer_elements": 20, "epochs": 2},
    "buffer": {
        "shuffle": True,
        "num_shuffle_buffer_elements": 9,
        "num_filenames_shuffle_buffer": 3,
        "num_mix_files": 2,
        "epochs": 2,
    },
    "shard": {**SHUFFLED, "shard": {"index": 1, "count": 3}, "epochs": 2},
    "range": {"range": {"start": 5, "end": 29}},
    "endless": {**SHUFFLED, "epochs": None},
    "checked": {"duplicate_features": "error", "check_finite": True, "epochs": 2},
}


def dumped(config: pathlib.Path, *flags: str) -> list[dict[str, np.ndarray]]:
    """Returns the first batches as the program prints them."""
    batches = []
    for line in _program.run(["dump", str(config), "-n", "40", *flags]).splitlines():
        batch = {}
        for name, tensor in json.loads(line).items():
            values = tensor["values"]
            if tensor["dtype"] == "string":
                values = [base64.b64decode(v) for v in values]
            dtype = object if tensor["dtype"] == "string" else tensor["dtype"]
            batch[name] = np.array(values, dtype=dtype).reshape(tensor["shape"])
        batches.append(batch)
    return batches


def assert_same(dataset: tf.data.Dataset, want: list[dict[str, np.ndarray]]) -> None:
    got = [{k: v.numpy() for k, v in batch.items()} for batch in dataset.take(40)]
    assert len(got) == len(want) > 0
    for a, b in zip(got, want):
        assert a.keys() == b.keys()
        for name in a:
            assert a[name].shape == b[name].shape and a[name].tobytes() == np.asarray(b[name], a[name].dtype).tobytes() or (
                a[name].dtype == object and (a[name] == b[name]).all()
            ), name


@pytest.mark.parametrize("order", ORDERS)
def test_same_batches(data: Any, order: str) -> None:
    config = data.config(**ORDERS[order])
    assert_same(millrace.load(config), dumped(config))


def test_examples() -> None:
    for name in ("predict", "train"):
        config = ROOT / "examples" / "digits" / f"{name}.json"
        assert_same(millrace.load(config, seed=3), dumped(config, "--seed", "3"))


def test_spec_and_cardinality(data: Any) -> None:
    dataset = millrace.load(data.config(**SHUFFLED, epochs=2, drop_remainder=True))
    assert dataset.element_spec == {
        "id": tf.TensorSpec((4,), tf.int64),
        "text": tf.TensorSpec((4,), tf.string),
        "x": tf.TensorSpec((4, 3), tf.float32),
    }
    assert millrace.cardinality(dataset) == len(list(dataset)) == 25
    assert millrace.cardinality(millrace.load(data.config(epochs=None))) == math.inf


def test_replaced_arguments(data: Any) -> None:
    config = data.config(**SHUFFLED)
    parts = [millrace.load(config, shard=(i, 3), epochs=1) for i in range(3)]
    ids = [int(i) for part in parts for batch in part for i in batch["id"]]
    assert sorted(ids) == list(range(50)) and ids != sorted(ids)
    batch = next(iter(millrace.load(config, args={"target_batch_size": 7})))
    assert batch["id"].shape == (7,)


def test_fits_a_model(data: Any) -> None:
    dataset = millrace.load(data.config(**SHUFFLED, epochs=2)).map(lambda b: (b["x"], tf.cast(b["id"], tf.float32)))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert len(model.fit(dataset, verbose=0).history["loss"]) == 1


def test_errors_have_the_words_of_the_program(data: Any) -> None:
    config = data.config(target_batch_size=0, sead=1)
    with pytest.raises(millrace.ConfigError) as failed:
        millrace.check(config)
    done = subprocess.run([_program.program(), "check", str(config)], capture_output=True, text=True)
    assert done.returncode == 2 and len(failed.value.problems) == 2
    assert all(problem in done.stderr and f"{config}:" in problem for problem in failed.value.problems)
    with pytest.raises(millrace.SystemError, match="no such file"):
        millrace.load(data.folder / "none.json")
    with pytest.raises(millrace.ConfigError, match="must be less than count"):
        millrace.load(data.config(**SHUFFLED), shard=(3, 3))


def damage(data: Any) -> None:
    """Damages the data of the last record of the second file."""
    path = data.folder / "data" / "b.tfrecords"
    content = bytearray(path.read_bytes())
    content[-8] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("order", ORDERS)
def test_skips_bad_records(data: Any, order: str) -> None:
    damage(data)
    config = data.config(**{"bad_records": {"skip": 5}, **ORDERS[order]})
    dataset = millrace.load(config)
    assert_same(dataset, dumped(config))
    assert "in_go" not in millrace.plan(config)
    limited = data.config(**{**ORDERS[order], "bad_records": {"skip": 0}})
    with pytest.raises(millrace.DataError, match=r"b\.tfrecords.*record 11.*the 1st bad record"):
        millrace.load(limited)


def words_in_go(config: pathlib.Path) -> str:
    done = subprocess.run([_program.program(), "dump", str(config)], capture_output=True, text=True)
    assert done.returncode == 3
    return done.stderr.strip().removeprefix("millrace: ")


def test_damaged_record_has_its_place(data: Any) -> None:
    config = data.config(**SHUFFLED)
    dataset = millrace.load(config)
    damage(data)
    with pytest.raises(millrace.DataError, match=r"b\.tfrecords.*record 11 .*checksum") as failed:
        list(dataset)
    assert str(failed.value) == words_in_go(config)
    assert isinstance(failed.value.__cause__, tf.errors.DataLossError)
    with pytest.raises(millrace.DataError, match="record 11"):
        list(dataset.as_numpy_iterator())


def test_bad_values_have_the_words_of_go(data: Any) -> None:
    features = {"id": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))}
    bad = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    with tf.io.TFRecordWriter(str(data.folder / "data" / "b.tfrecords")) as writer:
        for record in (data.record(1), bad):
            writer.write(record)
    config = data.config()
    dataset = millrace.load(config)
    with pytest.raises(millrace.DataError, match=r"b\.tfrecords.*record 1.*feature") as failed:
        list(dataset)
    assert str(failed.value) == words_in_go(config)


def test_explains_failures_within_fit(data: Any) -> None:
    dataset = millrace.load(data.config(**SHUFFLED))
    damage(data)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(tf.errors.OpError) as failed:
        model.fit(dataset.map(lambda b: (b["x"], tf.cast(b["id"], tf.float32))), verbose=0)
    explained = millrace.explain(failed.value, dataset)
    assert isinstance(explained, millrace.DataError) and "record 11" in str(explained)
    with pytest.raises(TypeError, match="millrace.load"):
        millrace.explain(failed.value, dataset.take(1))


def test_in_a_function(data: Any) -> None:
    dataset = millrace.load(data.config())

    @tf.function
    def total() -> tf.Tensor:
        n = tf.constant(0, tf.int64)
        for batch in dataset:
            n += tf.reduce_sum(batch["id"])
        return n

    assert int(total()) == sum(range(50))
    iterator = iter(dataset)
    step = tf.function(lambda it: next(it)["id"])
    assert step(iterator).shape == (4,) and next(iterator)["id"].shape == (4,)


def test_graph_files(data: Any, tmp_path: pathlib.Path) -> None:
    config, file = data.config(**SHUFFLED), tmp_path / "graph.pb"
    made = millrace.graph(config, file)
    assert_same(millrace.load_graph(file, made["library"]), dumped(config))
    with pytest.raises(millrace.SystemError, match="exists"):
        millrace.graph(config, file)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(millrace.PlanError, match="this is not the graph that"):
        millrace.load_graph(file, made["library"])


def test_states(data: Any) -> None:
    config = data.config(**SHUFFLED, epochs=2)
    whole = [b["id"].numpy().tolist() for b in millrace.load(config)]
    state = millrace.state(config, 7)
    rest = millrace.load(config, state=state)
    assert [b["id"].numpy().tolist() for b in rest] == whole[7:]
    assert millrace.cardinality(rest) == len(whole) - 7 and len(state) < 2048
    with pytest.raises(millrace.StateError, match="seed"):
        millrace.load(config, state=state, seed=6)


STATES: dict[str, dict[str, Any]] = {
    **ORDERS,
    "compressed": {"shuffle": True, "num_shuffle_buffer_elements": 9, "num_filenames_shuffle_buffer": 2, "num_mix_files": 2},
    "skipped": {**SHUFFLED, "bad_records": {"skip": 3}, "epochs": 2},
}


@pytest.mark.parametrize("order", STATES)
def test_states_of_every_order(data: Any, order: str) -> None:
    """A state after some batches is one for Python and for Go."""
    if order == "skipped":
        damage(data)
    config = data.config(**STATES[order])
    whole = [b["id"].numpy().tolist() for b in millrace.load(config).take(20)]
    for n in (0, 5):
        state = millrace.state(config, n)
        rest = millrace.load(config, state=state).take(20 - n)
        assert [b["id"].numpy().tolist() for b in rest] == whole[n:]


def test_order_hash(data: Any) -> None:
    config = data.config(**SHUFFLED)
    assert millrace.order_hash(config) == millrace.order_hash(config, args={"num_prefetch": 3})
    assert millrace.order_hash(config) != millrace.order_hash(config, seed=6)


def test_convert(tmp_path: pathlib.Path) -> None:
    table = tmp_path / "songs.csv"
    table.write_text("name,plays\na,1\nb,2\n")
    made = millrace.convert([table], tmp_path / "songs")
    assert made["rows"] == 2 and (tmp_path / "songs" / "__manifest__.json").exists()


def test_wheel(tmp_path: pathlib.Path) -> None:
    """The wheel works without anything of the checkout."""
    library = millrace.graph(ROOT / "examples/digits/predict.json", tmp_path / "g.pb")["library"]
    build = [sys.executable, ROOT / "python" / "build_wheel.py", "--program", _program.program()]
    wheel = subprocess.run(
        [*map(str, build), "--library", library, "--out", str(tmp_path)], check=True, capture_output=True, text=True
    ).stdout.strip()
    site = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site), wheel],
        check=True,
    )
    code = (
        "import millrace, sys; d = millrace.load(sys.argv[1]); "
        "print(millrace.__file__, millrace._program.program(), sum(int(b['label'].shape[0]) for b in d))"
    )
    env = {"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TF_CPP_MIN_LOG_LEVEL": "2"}
    config = ROOT / "examples" / "digits" / "predict.json"
    out = subprocess.run(
        [sys.executable, "-c", code, str(config)], check=True, capture_output=True, text=True, env=env, cwd=tmp_path
    ).stdout.split()
    assert out[0].startswith(str(site)) and out[1].startswith(str(site)) and int(out[2]) == 360
