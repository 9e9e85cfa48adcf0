"""Runs in processes of their own, by the program that the package carries."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ._assertions import file_of_checks
from ._errors import CrashError, UsageError, error_of, message_of
from ._gyrator import Follower, Table, column_types, read_table
from ._options import RunOptions, SimulateOptions, StrPath, keywords
from ._program import PROGRAM
from ._result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The message with the address of the live page.
_LIVE = re.compile(rb"^live page: \S+$", re.MULTILINE)
#: How long to wait for the end of the program before the rows that have come are read, s.
_INTERVAL = 0.01
#: Options with ``=`` between name and value, which may also stand without one.
_WITH_EQUALS = {"cache", "error_bars", "isolate", "profile", "real_time"}


@keywords(RunOptions)
def run(system: StrPath, **options: Unpack[RunOptions]) -> Result:
    """Runs a system of FMUs that a file describes, and returns its rows and its summary.

    The keywords are the options of ``gyrator run`` (docs/command-line.md): what may be given several times is a list or, with names and
    values, a mapping. ``output_file`` keeps the rows in a file, too; ``record=False`` records none. ``check`` is a file of checks, or a list of
    mappings with the keys of its tables (docs/checks.md); they see every communication point, whatever is recorded.

    The run has a process of its own: an FMU that crashes ends it, not this program. Ctrl-C ends it at its next
    communication point, and raises :class:`KeyboardInterrupt`.

    Raises the subclass of :class:`Error` that belongs to the exit code of the program.
    """
    return _execute("run", system, dict(options))


@keywords(SimulateOptions)
def simulate(fmu: StrPath, **options: Unpack[SimulateOptions]) -> Result:
    """Simulates one FMU; as :func:`run`, with the options of ``gyrator simulate``."""
    return _execute("simulate", fmu, dict(options))


def _execute(verb: str, path: StrPath, options: dict[str, Any]) -> Result:
    record, output = options.pop("record", True), options.pop("output_file", None)
    asked_summary = options.pop("summary", None)
    if output is not None and not record:
        raise UsageError("output_file and record=False exclude each other")
    if output is not None and os.fspath(output) == "-":
        raise UsageError("output_file must be a file: the rows are in the result")
    with tempfile.TemporaryDirectory(prefix="gyrator-") as folder:
        summary = Path(folder, "summary.json")
        # Doubles, which are read while they come.
        rows = Path(folder, "result.rows") if output is None else Path(output)
        if options.get("check") is not None:
            options["check"] = file_of_checks(options["check"], Path(folder))
        command = [str(PROGRAM), verb, *arguments(options), f"--summary={summary}"]
        if record:
            command.append(f"--output-file={rows}")
        command += ["--progress=never", "--", os.fspath(path)]
        follower = Follower(rows) if output is None and record else None
        # Error bars become columns of the rows in the end.
        is_followed = not options.get("error_bars")
        is_live = bool(options.get("live"))
        code, report, messages = wait(
            command, Path(folder), follower if is_followed else None, is_live=is_live
        )
        facts = read_summary(summary)
        if asked_summary is not None and summary.exists():
            shutil.copyfile(summary, asked_summary)
        types = (facts.get("output") or {}).get("types", {})
        if code == CrashError.exit_code and record and not types:
            # The process that knew them is gone.
            types = column_types(path, verb == "run")
        table: Table | None = None
        if follower is not None:
            table = follower.finish(types)
        elif record and facts.get("output") and rows.exists():
            table = read_table(rows, types)
    result = Result(table, facts, report, messages, Path(path) if verb == "run" else None)
    if code == 0:
        return result
    message = message_of(messages, facts, code)
    if output is None:
        message = message.replace(str(rows), "the result of this exception")
    raise error_of(code, message.replace(f"{folder}{os.sep}", ""), result)


def wait(
    command: list[str], folder: Path, follower: Follower | None, *, is_live: bool = False
) -> tuple[int, str, str]:
    """Runs the program and reads its rows as they come; returns its exit code, its report and its messages.

    ``is_live``: prints the address of the live page as soon as the program has.
    """
    with open(folder / "report", "w+b") as report, open(folder / "messages", "w+b") as messages:
        # In a group of its own, so that a terminal's Ctrl-C comes once, by way of this process.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=report,
            stderr=messages,
            start_new_session=True,
        )
        try:
            while (code := _code_after(process, _INTERVAL)) is None:
                if follower is not None:
                    follower.read()
                if is_live and (address := _LIVE.search((folder / "messages").read_bytes())):
                    print(address[0].decode(), file=sys.stderr, flush=True)
                    is_live = False
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
        return code, _text(report), _text(messages)


def _code_after(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit code of a process that ends within this time."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def read_summary(path: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    return facts


def arguments(options: Mapping[str, Any]) -> list[str]:
    """The options of the command line that keywords stand for."""
    arguments = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, np.bool_):
            value = bool(value)
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(option)
        elif isinstance(value, Mapping):
            arguments += [f"{option}={key}={_word(item)}" for key, item in value.items()]
        elif isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
            arguments.append(f"{option}={_word(value)}")
        elif name in _WITH_EQUALS:
            arguments.append(f"{option}={','.join(_word(item) for item in value)}")
        else:
            arguments += [f"{option}={_word(item)}" for item in value]
    return arguments


def _word(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)
