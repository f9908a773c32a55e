"""The failures of the program as exceptions."""

from __future__ import annotations


class Error(Exception):
    """What the program said when it failed, word by word.

    `problems` has a line for each problem: a config may have several.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class ConfigError(Error, ValueError):
    """A config, a manifest, a list file or an argument is wrong."""


class DataError(Error):
    """Data is corrupt or truncated, or does not match the manifest."""


class PlanError(Error):
    """The graph of the plan cannot leave the program, or a model does not fit it."""


class StateError(Error):
    """A saved state is broken, or belongs to another loader."""


class LimitError(Error):
    """A limit is exceeded."""


class SystemError(Error, OSError):  # noqa: A001, the program's word for it
    """A file cannot be read or written, or TensorFlow cannot be opened."""


_BY_CODE: dict[int, type[Error]] = {
    2: ConfigError,
    3: DataError,
    4: PlanError,
    5: StateError,
    6: LimitError,
    7: SystemError,
}


def of_exit(code: int, text: str) -> Error:
    """Returns the exception for an exit code and what the program has printed."""
    lines = [line.removeprefix("millrace: ") for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("warning: ")]
    return _BY_CODE.get(code, Error)(lines or [f"the program ended with code {code}"])
