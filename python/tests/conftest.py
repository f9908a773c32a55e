"""Data for the tests."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import tensorflow as tf


class Data:
    """A dataset of numbered records in three files, and loader configs over it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        (folder / "data").mkdir()
        number = 0
        for name, count in {"a": 7, "b": 12, "c": 31}.items():
            with tf.io.TFRecordWriter(str(folder / "data" / f"{name}.tfrecords")) as writer:
                for _ in range(count):
                    writer.write(self.record(number))
                    number += 1
        features = [
            {"name": "id", "dtype": "int64", "shape": [], "deserialize_type": "int", "var_len": False},
            {"name": "x", "dtype": "float32", "shape": [3], "deserialize_type": "float", "var_len": False},
            {"name": "text", "dtype": "string", "shape": [], "deserialize_type": "string", "var_len": False},
        ]
        manifest = {"compression": None, "allow_var_len": False, "features": features}
        (folder / "data" / "__manifest__.json").write_text(json.dumps(manifest))

    @staticmethod
    def record(number: int) -> bytes:
        feature = {
            "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number, 0.5, -number])),
            "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"t%d" % number])),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    def config(self, **args: Any) -> pathlib.Path:
        """Writes a loader config with some arguments."""
        names = ["text", "id", "x"]
        all_args: dict[str, Any] = {
            "dataset": {"type": "dir", "args": {"data_dir": "data"}},
            "primary_features": [{"from_name": n, "to_name": n} for n in names],
            "target_batch_size": 4,
            "drop_remainder": False,
            "epochs": 1,
            "seed": 5,
            "num_read_buffer_bytes": 65536,
            "num_prefetch": 1,
        }
        all_args.update(args)
        path = self.folder / f"loader{len(list(self.folder.glob('*.json')))}.json"
        path.write_text(json.dumps({"type": "independent", "args": all_args}, indent=1))
        return path


@pytest.fixture()
def data(tmp_path: pathlib.Path) -> Data:
    return Data(tmp_path)
