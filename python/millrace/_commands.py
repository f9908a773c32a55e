"""The program's commands as functions."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from millrace import _failures, _graph, _program

if TYPE_CHECKING:
    import tensorflow as tf

Path = str | os.PathLike[str]


def _config_flags(
    seed: int | None,
    root: Path | None,
    keep: Iterable[str],
    args: Mapping[str, Any] | None,
) -> list[str]:
    flags: list[str] = []
    if seed is not None:
        flags += ["--seed", str(seed)]
    if root is not None:
        flags += ["--root", os.fspath(root)]
    for name in keep:
        flags += ["--keep", name]
    for key, value in (args or {}).items():
        flags += ["--set", f"{key}={json.dumps(value)}"]
    return flags


def _args(
    args: Mapping[str, Any] | None, mode: str | None, shard: tuple[int, int] | None, epochs: int | None
) -> dict[str, Any]:
    """Returns the arguments of the config that a caller replaces."""
    replaced = dict(args or {})
    if mode is not None:
        replaced["mode"] = mode
    if shard is not None:
        index, count = shard
        replaced["shard"] = {"index": index, "count": count}
    if epochs is not None:
        replaced["epochs"] = epochs
    return replaced


def graph(
    config: Path,
    out: Path,
    *,
    seed: int | None = None,
    root: Path | None = None,
    keep: Iterable[str] = (),
    args: Mapping[str, Any] | None = None,
    state: bytes | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Writes the dataset of a config to a file, and returns what is in it.

    The keys are those of the sidecar, FILE.json, and `library`, the path of the library of
    operations that the graph needs. With a state the dataset begins where that was saved.
    """
    command = ["graph", os.fspath(config), "--out", os.fspath(out), "--json"]
    command += _config_flags(seed, root, keep, args) + (["--overwrite"] if overwrite else [])
    if state is None:
        return json.loads(_program.run(command))
    with tempfile.NamedTemporaryFile(prefix="millrace-", suffix=".state") as file:
        file.write(state)
        file.flush()
        return json.loads(_program.run([*command, "--state", file.name]))


def load(
    config: Path,
    *,
    mode: str | None = None,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    epochs: int | None = None,
    root: Path | None = None,
    keep: Iterable[str] = (),
    args: Mapping[str, Any] | None = None,
    state: bytes | None = None,
) -> tf.data.Dataset:
    """Returns the batches of a loader config as a `tf.data.Dataset` of dicts.

    The batches are those of the program, bit for bit. The program plans: it checks the config
    and looks at the data files. This process runs the graph that it writes; none of its
    code runs here.

    Args:
      config: the path of the loader config.
      mode: `train` or `eval`, in place of `args.mode` of a chunked_sequence.
      seed: in place of the config's.
      shard: (index, count), in place of `args.shard`: one part of each epoch, as a replica of
        several reads it.
      epochs: in place of the config's; to read without end, pass `args={"epochs": None}`.
      root: refuse paths that lead out of this folder.
      keep: tensors that the config has to provide.
      args: other arguments of the config to replace, by their names.
      state: of a run, here or in Go: the dataset begins behind it. See `state`.

    A loop over the dataset raises a `DataError` with file, record, feature and value of a bad
    record; within `model.fit` the failure is TensorFlow's, which `explain` turns into the same.

    Raises:
      ConfigError: the config is wrong; `problems` has all of it, with lines and columns.
      DataError: a data file is damaged, or not as the manifest says.
      PlanError: the library of operations is not there.
      StateError: the state belongs to another config or other data.
    """
    replaced = _args(args, mode, shard, epochs)
    with tempfile.TemporaryDirectory(prefix="millrace-") as folder:
        file = pathlib.Path(folder) / "graph.pb"
        made = graph(config, file, seed=seed, root=root, keep=keep, args=replaced, state=state)
        dataset = _graph.Graph.read(file).open(made["library"])
    explain = _failures.explainer(os.fspath(config), _config_flags(seed, root, keep, replaced))
    return _failures.explained(dataset, explain)


def state(
    config: Path,
    batches: int,
    *,
    mode: str | None = None,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    epochs: int | None = None,
    root: Path | None = None,
    args: Mapping[str, Any] | None = None,
) -> bytes:
    """Returns the state of a run after some batches, for `load(..., state=...)` and for Go.

    Keep it with the checkpoint of the model. It takes about a kilobyte. The other arguments
    are those that the run was loaded with, the seed above all. Where records have positions and
    where files are read in order it takes no time; with buckets, chunks, bad_records or windows of
    drawn sizes the program reads the batches before the state.
    """
    flags = _config_flags(seed, root, (), _args(args, mode, shard, epochs))
    with tempfile.TemporaryDirectory(prefix="millrace-") as folder:
        file = pathlib.Path(folder) / "state"
        _program.run(["state", os.fspath(config), "--batches", str(batches), "--out", str(file), *flags])
        return file.read_bytes()


def load_graph(path: Path, library: Path) -> tf.data.Dataset:
    """Returns the dataset that `graph` or `millrace graph` has written to a file."""
    return _graph.Graph.read(path).open(library)


def cardinality(dataset: tf.data.Dataset) -> int | None:
    """Returns how many batches a dataset gives: `math.inf` without end, None if that is not known."""
    import math

    import tensorflow as tf

    n = int(dataset.cardinality().numpy())
    if n == tf.data.INFINITE_CARDINALITY:
        return math.inf  # type: ignore[return-value]
    return None if n == tf.data.UNKNOWN_CARDINALITY else n


def check(
    config: Path,
    *,
    seed: int | None = None,
    root: Path | None = None,
    keep: Iterable[str] = (),
    args: Mapping[str, Any] | None = None,
) -> str:
    """Checks a config, and returns a line about it. All that is wrong is one `ConfigError`."""
    return _program.run(["check", os.fspath(config), *_config_flags(seed, root, keep, args)]).strip()


def plan(
    config: Path,
    *,
    seed: int | None = None,
    root: Path | None = None,
    keep: Iterable[str] = (),
    args: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns how a config will run: `stages`, `files`, `in_go` and more, as `millrace plan --json` prints."""
    command = ["plan", os.fspath(config), "--json", *_config_flags(seed, root, keep, args)]
    return json.loads(_program.run(command))


def order_hash(
    config: Path,
    *,
    seed: int | None = None,
    root: Path | None = None,
    args: Mapping[str, Any] | None = None,
) -> str:
    """Returns a digest of which records stand in which batch of the first epoch; it reads the epoch."""
    command = ["plan", os.fspath(config), "--order-hash", *_config_flags(seed, root, (), args)]
    return _program.run(command).strip()


def convert(
    inputs: Iterable[Path],
    out: Path,
    *,
    manifest: Path | None = None,
    shards: int | None = None,
    compression: str | None = None,
) -> dict[str, Any]:
    """Converts files of other formats to a dataset, and returns what `convert.json` says of it."""
    command = ["convert", *map(os.fspath, inputs), "--out", os.fspath(out), "--json"]
    if manifest is not None:
        command += ["--manifest", os.fspath(manifest)]
    if shards is not None:
        command += ["--shards", str(shards)]
    if compression is not None:
        command += ["--compression", compression]
    return json.loads(_program.run(command))
