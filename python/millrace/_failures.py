"""Turns the failures of datasets into exceptions with the program's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from millrace import _errors, _program

if TYPE_CHECKING:
    import tensorflow as tf

Explain = Callable[[Exception], _errors.Error]


def explainer(config: str, flags: list[str]) -> Explain:
    """Returns a function that has the program say why a dataset of a config failed."""

    def explain(error: Exception) -> _errors.Error:
        command = ["explain-failure", config, "--code", str(getattr(error, "error_code", 2)), *flags]
        try:
            _program.run(command, getattr(error, "message", str(error)))
        except _errors.Error as explained:
            return explained
        return _errors.Error([str(error)])

    return explain


def explain(error: Exception, dataset: tf.data.Dataset) -> _errors.Error:
    """Returns the exception that a loop over a dataset of `load` raises for an error of TensorFlow.

    It is for failures that reach nobody but TensorFlow, such as those within `model.fit`:

        try:
            model.fit(train)
        except tf.errors.OpError as error:
            raise millrace.explain(error, train) from error
    """
    function = getattr(dataset, "_millrace_explain", None)
    if function is None:
        raise TypeError("the dataset must be the one that millrace.load returned")
    return function(error)


def explained(dataset: tf.data.Dataset, explain: Explain) -> tf.data.Dataset:
    """Makes loops over a dataset raise the program's errors in place of TensorFlow's.

    The dataset gets a class of its own, below the one that it has, so that TensorFlow sees what
    it knows, and only what Python's `for` calls is different.
    """
    import tensorflow as tf

    def iterate(self: Any) -> Any:
        iterator = type(self).__mro__[1].__iter__(self)
        if not isinstance(iterator, tf.data.Iterator):  # in a graph that is being traced
            return iterator
        iterator.__class__ = type("Iterator", (type(iterator),), {"__next__": follow})
        iterator._millrace_explain = explain
        return iterator

    def follow(self: Any) -> Any:
        try:
            return type(self).__mro__[1].__next__(self)
        except tf.errors.OpError as error:
            raise self._millrace_explain(error) from error

    dataset.__class__ = type("Dataset", (type(dataset),), {"__iter__": iterate})
    dataset._millrace_explain = explain  # type: ignore[attr-defined]
    return dataset
