"""Results of runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _display, _picture
from ._assertions import Assertions
from ._errors import CheckError
from ._gyrator import Table

if TYPE_CHECKING:
    import pandas


class Columns(Mapping[str, "np.ndarray[Any, Any]"]):
    """A table by column, and the summary of what made it."""

    def __init__(self, table: Table | None, summary: dict[str, Any], report: str, messages: str):
        self._table = table
        self._columns: dict[str, np.ndarray[Any, Any]] = {}
        #: The summary (docs/summary.md), as the option ``--summary`` writes it.
        self.summary = summary
        #: The report for people.
        self.report = report
        #: Warnings and log lines of FMUs.
        self.messages = messages

    @property
    def columns(self) -> list[str]:
        """The names of the columns; the first of a run is ``time``."""
        return [] if self._table is None else self._table.names

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self._columns:
            self._columns[name] = self._array(name)
        return self._columns[name]

    def _array(self, name: str) -> np.ndarray[Any, Any]:
        if self._table is None:
            raise KeyError(f"{name}: nothing was recorded")
        if name not in self._table.names:
            raise KeyError(f"{name}; the result has {', '.join(self._table.names)}")
        values = self._table.values(name)
        if isinstance(values, list):
            texts = np.array(values, dtype=object)
            texts.flags.writeable = False
            return texts
        return np.asarray(values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as an Arrow C stream; numbers are shared."""
        return self._rows().__arrow_c_stream__(requested_schema)

    def _rows(self) -> Table:
        if self._table is None:
            raise ValueError("nothing was recorded")
        return self._table

    def _size(self) -> str:
        rows = 0 if self._table is None else len(self._table)
        return f"{rows} rows, {len(self)} columns"


class Result(Assertions, Columns):
    """The rows of a run by column, and its summary.

    ``result["component.variable"]`` is a numpy array that shares the memory of the result and cannot be written:
    ``float64`` for Real, ``int32`` for Integer and for the numbers of an enumeration's items, ``bool`` for Boolean, ``object`` for
    String. ``pyarrow.table(result)``, ``polars.DataFrame(result)`` and whatever else takes the Arrow C stream accept it.

    :meth:`within`, :meth:`settles`, :meth:`never_above`, :meth:`energy_error_below` and others assert. :meth:`plot` draws columns,
    :meth:`write_report` writes a page.
    """

    def __init__(
        self,
        table: Table | None,
        summary: dict[str, Any],
        report: str,
        messages: str,
        system: Path | str | None = None,
    ):
        super().__init__(table, summary, report, messages)
        #: The file of the system, or the text of one.
        self._system = system

    @property
    def verdict(self) -> str | None:
        """How far the coupling changes the result; ``None`` where the run did not end."""
        verdict: str | None = self.summary.get("verdict")
        return verdict

    @property
    def time(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Times of the rows, s."""
        return self["time"]

    def to_pandas(self) -> pandas.DataFrame:
        """The columns as a data frame of pandas, with the time as its index."""
        import pandas

        frame = pandas.DataFrame({name: self[name] for name in self if name != "time"})
        frame.index = pandas.Index(self.time, name="time")
        return frame

    def plot(self, *names: str, axes: Any = None) -> Any:
        """Draws columns over time, as ``gyrator plot``: the signals that move and the bonds where none are named.

        Returns a :class:`Picture`, which Jupyter shows and ``save`` writes as SVG. ``axes`` of matplotlib are drawn to and returned
        instead, with all columns of numbers where none are named.
        """
        if axes is None:
            return _picture.plot(self._rows(), self.summary, names)
        numbers = [name for name in self if name != "time" and self[name].dtype != object]
        for name in names or numbers:
            axes.plot(self.time, self[name], label=name)
        axes.set_xlabel("time, s")
        axes.legend()
        return axes

    def write_report(self, path: str | os.PathLike[str], *names: str) -> None:
        """Writes the report of the run as one page of HTML, which opens offline, with the plots of these columns (docs/report.md).

        ``run(…, report=path)`` writes it with the graph of the system, too.
        """
        _picture.report(self._rows(), self.summary, Path(path).resolve(), names)

    def __repr__(self) -> str:
        reason = self.summary.get("stop_reason")
        return f"<gyrator.Result: {self._size()}, {reason}, verdict {self.verdict}>"

    def _repr_html_(self) -> str:
        fingerprint = (self.summary.get("provenance") or {}).get("system", {}).get("sha256")
        graph = None if self._system is None else _picture.graph(self._system, fingerprint)
        return _display.of_result(self.summary, self._size(), self.report, graph)


def of_run(table: Table | None, report: str, timing: str, checks: str, system: str) -> Result:
    """The result of a run in this process, of its report, its timing and the findings of its checks as JSON."""
    facts: dict[str, Any] = json.loads(report)
    facts["real_time"] = json.loads(timing)
    facts["checks"] = json.loads(checks)
    # As the summary of the program has them.
    reason = facts["stop_reason"]
    facts["stop_reason"], facts["stop_detail"] = reason["kind"], reason.get("detail")
    return Result(table, facts, "", "\n".join(facts["warnings"]), system)


def judged(result: Result, broken: list[str]) -> Result:
    """The result of a run that has ended; ``broken`` has a line for each check that does not hold."""
    if broken:
        raise CheckError("\n".join(broken), result=result)
    return result
