"""Finds and runs the program, which plans; nothing of it runs in this process."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import warnings
from typing import Sequence

from millrace import _errors

_BUNDLED = pathlib.Path(__file__).parent / "_bin"


def program() -> str:
    """Returns the path of the program: $MILLRACE_PROGRAM, the wheel's, or one on PATH."""
    named = os.environ.get("MILLRACE_PROGRAM")
    if named:
        return named
    bundled = _BUNDLED / "millrace"
    if bundled.is_file():
        return str(bundled)
    found = shutil.which("millrace")
    if found is None:
        raise _errors.SystemError(
            [
                "the program millrace is missing: install the wheel that make wheel builds, put the program on PATH,"
                " or set MILLRACE_PROGRAM to its path"
            ]
        )
    return found


def _environment() -> dict[str, str]:
    """Returns the program's environment: it opens the TensorFlow of this Python."""
    env = dict(os.environ)
    if (_BUNDLED / "millrace").is_file() and "MILLRACE_RUNTIME" not in env:
        spec = importlib.util.find_spec("tensorflow")
        if spec is not None and spec.submodule_search_locations:
            env["MILLRACE_RUNTIME"] = spec.submodule_search_locations[0]
    env.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return env


def run(arguments: Sequence[str], text: str = "") -> str:
    """Runs a command with a text as its input and returns what it prints. Its failure is an `Error`."""
    try:
        done = subprocess.run(
            [program(), *arguments],
            env=_environment(),
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise _errors.SystemError([f"{program()}: {error.strerror}"]) from error
    if done.returncode != 0:
        raise _errors.of_exit(done.returncode, done.stderr)
    for line in done.stderr.splitlines():
        if line.startswith(("millrace: warning: ", "warning: ")):
            warnings.warn(line.removeprefix("millrace: ").removeprefix("warning: "), stacklevel=3)
    return done.stdout
