"""Loads graphs that `millrace graph` has written."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
import threading
from typing import TYPE_CHECKING, Any

from millrace import _errors

if TYPE_CHECKING:
    import tensorflow as tf

_FORMAT = "millrace graph 1"
_INFINITE, _UNKNOWN = -1, -2


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A component of a batch. The shape has the axis of the batch; None: not known in advance."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclasses.dataclass(frozen=True)
class Graph:
    """The dataset of a plan, as a serialized GraphDef, and what is known of it."""

    definition: bytes
    dataset: str
    tensors: tuple[Tensor, ...]
    batches: int
    batch_size: int
    seed: int
    tensorflow: str
    operations: str

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Graph:
        """Reads FILE and FILE.json. A graph is a program: read only what you trust."""
        path = pathlib.Path(path)
        sidecar = pathlib.Path(f"{path}.json")
        try:
            text: dict[str, Any] = json.loads(sidecar.read_text(encoding="utf-8"))
            definition = path.read_bytes()
        except OSError as error:
            raise _errors.SystemError([f"{error.filename}: {error.strerror}"]) from error
        except ValueError as error:
            raise _errors.PlanError([f"{sidecar}: {error}"]) from error
        if text.get("format") != _FORMAT:
            raise _errors.PlanError([f"{sidecar}: the format is {text.get('format')!r}, this version reads {_FORMAT!r}"])
        if hashlib.sha256(definition).hexdigest() != text["sha256"]:
            raise _errors.PlanError([f"{path}: this is not the graph that {sidecar} describes"])
        tensors = tuple(
            Tensor(t["name"], t["dtype"], tuple(None if n < 0 else n for n in t["shape"])) for t in text["tensors"]
        )
        return cls(
            definition,
            text["dataset"],
            tensors,
            text["batches"],
            text["batch_size"],
            text["seed"],
            text["tensorflow"],
            text["operations"],
        )

    def open(self, library: str | os.PathLike[str]) -> tf.data.Dataset:
        """Returns the dataset, whose elements are dicts. `library` has Millrace's operations."""
        import tensorflow as tf

        if tf.__version__ != self.tensorflow:
            raise _errors.SystemError(
                [f"the operations are compiled for TensorFlow {self.tensorflow}, and this is {tf.__version__}"]
            )
        _load_library(library, self.operations)
        graph = tf.compat.v1.GraphDef.FromString(self.definition)

        def variant() -> tf.Tensor:
            return tf.graph_util.import_graph_def(graph, return_elements=[self.dataset], name="")[0]

        specs = {t.name: tf.TensorSpec(t.shape, tf.as_dtype(t.dtype)) for t in self.tensors}
        names = list(specs)
        made = tf.compat.v1.wrap_function(variant, [])()
        if names == sorted(names):  # the order in which tf.nest flattens a dict
            dataset = tf.data.experimental.from_variant(made, specs)
        else:
            dataset = tf.data.experimental.from_variant(made, tuple(specs.values()))
            dataset = dataset.map(lambda *values: dict(zip(names, values)))
        if self.batches != _UNKNOWN:
            known = tf.data.INFINITE_CARDINALITY if self.batches == _INFINITE else self.batches
            dataset = dataset.apply(tf.data.experimental.assert_cardinality(known))
        return dataset


_libraries: dict[str, str] = {}  # file name to path
_lock = threading.Lock()


def _load_library(path: str | os.PathLike[str], operations: str) -> None:
    """Loads the library of operations, once in a process."""
    import tensorflow as tf

    path = os.path.realpath(path)
    with _lock:
        if os.path.basename(path) != operations:
            raise _errors.SystemError([f"the graph needs the library {operations}, and {path} is another one"])
        if operations in _libraries:
            return
        if _libraries:
            other = next(iter(_libraries))
            raise _errors.SystemError([f"the graph needs the library {operations}, and this process has loaded {other}"])
        try:
            tf.load_op_library(path)
        except tf.errors.OpError as error:
            raise _errors.SystemError([f"load {path}: {error.message}"]) from error
        _libraries[operations] = path
