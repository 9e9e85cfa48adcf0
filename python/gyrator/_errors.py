"""Exceptions: one for each exit code of the program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._result import Result
    from ._study import Study


class Error(Exception):
    """A run that did not succeed.

    ``exit_code`` is that of the program (docs/command-line.md), ``message`` the program's account, and ``result`` the
    :class:`~gyrator.Result` with the rows that were recorded until then, or ``None``. ``study`` is the :class:`~gyrator.Study` with the rows
    that were finished, where a study has failed.
    """

    exit_code = 101

    def __init__(
        self,
        message: str,
        exit_code: int | None = None,
        result: Result | None = None,
        study: Study | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if exit_code is not None:
            self.exit_code = exit_code
        self.result = result
        self.study = study


class SimulationError(Error):
    """The simulation failed: a unit returned an error, a value became NaN or infinite, a file could not be written."""

    exit_code = 1


class UsageError(Error, ValueError):
    """Wrong use: an option or a value that is not accepted."""

    exit_code = 2


class InvalidInputError(Error, ValueError):
    """The input is invalid or not found: system file, description of an FMU, CSV."""

    exit_code = 3


class LoadError(Error):
    """An FMU could not be loaded."""

    exit_code = 4


class CrashError(Error):
    """An FMU crashed, did not return in time, needed too much memory, or ended the process."""

    exit_code = 5


class CheckError(Error):
    """A check that was asked for failed, or the coupling diverges; ``result`` holds the whole run."""

    exit_code = 6


class InterruptedRunError(Error):
    """Another program interrupted the run; Ctrl-C raises :class:`KeyboardInterrupt`."""

    exit_code = 130


_KINDS: dict[int, type[Error]] = {
    kind.exit_code: kind
    for kind in (
        SimulationError,
        UsageError,
        InvalidInputError,
        LoadError,
        CrashError,
        CheckError,
        InterruptedRunError,
    )
}


for _kind in (Error, *_KINDS.values()):
    # As users name them.
    _kind.__module__ = "gyrator"


def error_of(
    exit_code: int, message: str, result: Result | None = None, study: Study | None = None
) -> Error:
    """The exception of an exit code."""
    return _KINDS.get(exit_code, Error)(message, exit_code, result, study)


def message_of(messages: str, facts: dict[str, Any], code: int) -> str:
    """The account of the error: the messages from the first error on, and the checks that failed."""
    failed = [found for found in facts.get("checks") or [] if found["outcome"] == "failed"]
    text = _message_of(messages, facts, code)
    lines = [f"{found['name']}: {found['message']}" for found in failed if found["message"] not in text]
    return "\n".join([text, *lines])


def _errors(messages: str) -> list[str]:
    """The errors among the messages, without the warnings between and after them."""
    begins = list(re.finditer(r"^(error|warning)(?:\[[\w-]+\])?(?:: |$)", messages, re.MULTILINE))
    if not begins:
        return []
    ends = [begin.start() for begin in begins[1:]] + [len(messages)]
    errors: list[str] = []
    for begin, end in zip(begins, ends, strict=True):
        if begin[1] == "error":
            is_first_line = not errors and begin[0].endswith(": ")
            errors.append(messages[begin.end() if is_first_line else begin.start() : end].strip())
    return errors


def _message_of(messages: str, facts: dict[str, Any], code: int) -> str:
    text = "\n".join(_errors(messages) or [messages]).strip()
    text = text.removesuffix("For more information, try '--help'.").rstrip()
    if code < 0 and not text:
        return f"the program gyrator was ended by signal {-code}"
    if text:
        return text
    return facts.get("advice") or facts.get("stop_detail") or f"gyrator ended with exit code {code}"
