"""Millrace's input pipelines in Python.

    import millrace

    train = millrace.load("loader.json", seed=7)  # a tf.data.Dataset of dicts
    model.fit(train.map(lambda batch: (batch["image"], batch["label"])))

The program `millrace` plans, and TensorFlow runs its graph with Millrace's operations. The batches
are those that the program and Go read.
"""

from millrace._commands import cardinality, check, convert, graph, load, load_graph, order_hash, plan, state
from millrace._errors import ConfigError, DataError, Error, LimitError, PlanError, StateError, SystemError
from millrace._failures import explain
from millrace._graph import Graph, Tensor

__all__ = [
    "ConfigError",
    "DataError",
    "Error",
    "Graph",
    "LimitError",
    "PlanError",
    "StateError",
    "SystemError",
    "Tensor",
    "cardinality",
    "check",
    "convert",
    "explain",
    "graph",
    "load",
    "load_graph",
    "order_hash",
    "plan",
    "state",
]
