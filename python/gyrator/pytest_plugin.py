"""The pytest plugin of the package: the fixture ``gyrator_run``.

It runs a system as :func:`gyrator.run`, with rows and summary as files in ``tmp_path``. They stay where the test fails, and the report of the test
names them; ``--gyrator-results DIR`` copies them there, for build servers.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ._errors import Error
from ._options import StrPath
from ._result import Result
from ._run import run


#: Keywords with the path of a file that is read.
_READ = {"check", "feed_forward", "input_file", "resume", "scenario"}


class Runner:
    """The fixture ``gyrator_run``: runs systems for one test."""

    def __init__(self, folder: Path, results: Path):
        self._folder = folder
        self._results = results
        self._files: list[Path] = []
        self._lines: list[str] = []

    def __call__(self, system: StrPath, **options: Any) -> Result:
        """Runs a system with the keywords of :func:`gyrator.run`.

        Relative paths of what is read are those from the folder of the test's file.
        """
        __tracebackhide__ = True
        path = self._folder / system
        for name in _READ & options.keys():
            if isinstance(options[name], (str, os.PathLike)):
                options[name] = self._folder / options[name]
        if "output_file" not in options and options.get("record", True):
            options["output_file"] = self._own_file(path.stem, ".csv")
        if "summary" not in options:
            options["summary"] = self._own_file(path.stem, ".json")
        try:
            result = run(path, **options)
        except Error as error:
            line = error.message.partition("\n")[0]
            self._note(path, options, error.result, f"{type(error).__name__}: {line}")
            # The test's own line says where.
            raise error.with_traceback(None)
        self._note(path, options, result, result.report)
        return result

    def _own_file(self, stem: str, ending: str) -> Path:
        """A path in the folder of the results that no other run has."""
        path, number = self._results / f"{stem}{ending}", 1
        while path in self._files:
            number += 1
            path = self._results / f"{stem}-{number}{ending}"
        self._files.append(path)
        return path

    def _note(self, path: Path, options: dict[str, Any], result: Result | None, text: str) -> None:
        rows = options.get("output_file") if result is not None and "time" in result else None
        self._lines.append(f"{path.name}: {rows or 'no rows'}\n{text.strip()}")

    @property
    def account(self) -> str:
        """The runs of the test: their files and reports."""
        return "\n\n".join(self._lines)

    def copy(self, folder: Path) -> None:
        """Copies the files that are in the folder of the results."""
        files = [file for file in self._files if file.exists()]
        if files:
            folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy2(file, folder / file.name)

    def forget(self) -> None:
        """Deletes the files that the test has not named."""
        for file in self._files:
            file.unlink(missing_ok=True)


_RUNNER = pytest.StashKey[Runner]()
_PASSED = pytest.StashKey[bool]()


@pytest.fixture
def gyrator_run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runner]:
    """Runs a system as ``gyrator.run``; rows and summary stay in ``tmp_path`` where the test fails."""
    node: pytest.Item = request.node
    runner = Runner(node.path.parent, tmp_path)
    node.stash[_RUNNER] = runner
    yield runner
    if node.stash.get(_PASSED, False):
        runner.forget()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option ``--gyrator-results``."""
    text = "copy the results of the fixture gyrator_run to this folder where a test fails"
    parser.getgroup("gyrator").addoption("--gyrator-results", metavar="DIR", type=Path, help=text)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Adds the runs of a test that failed to its report."""
    outcome = yield
    report = cast(pytest.TestReport, outcome.get_result())
    runner = item.stash.get(_RUNNER, None)
    if runner is None or report.when != "call":
        return
    item.stash[_PASSED] = not report.failed
    if not report.failed:
        return
    if runner.account:
        report.sections.append(("runs of gyrator", runner.account))
    folder: Path | None = item.config.getoption("--gyrator-results")
    if folder is not None:
        runner.copy(folder / re.sub(r"[^\w.-]+", "_", item.nodeid))
