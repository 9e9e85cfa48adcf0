"""Assertions on results: the kinds of checks that ``gyrator run --check`` has."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ._errors import InvalidInputError
from ._gyrator import Table, judge

#: A file of checks, or the tables that it would hold.
Checks = str | os.PathLike[str] | Iterable[Mapping[str, Any]]
#: The part of a summary that checks look at.
_END = (
    "stop_reason",
    "stop_detail",
    "stop_time",
    "verdict",
    "peak_residual_energy_integrated",
    "peak_residual_energy_integrated_time",
    "bonds",
)


class Assertions:
    """Assertions on the rows and the summary of a run.

    Each raises :class:`AssertionError` with the signal, its worst value, the time and the distance where it does not hold, and
    :class:`~gyrator.InvalidInputError` where the result does not have the signal or the bond. Names may be patterns with ``*`` and ``?``:
    then each signal that they meet is asserted. ``from_`` and ``until``, s, are the part of the run that is looked at, ``name`` begins the message.
    A result that failed, or that is shorter than ``until``, proves nothing but what is wrong.
    """

    _table: Table | None
    summary: dict[str, Any]

    def within(
        self,
        signal: str,
        value: float,
        tolerance: float,
        *,
        from_: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> None:
        """Asserts that a signal is at most ``tolerance`` away from ``value``."""
        __tracebackhide__ = True
        check = {"within": {"value": value, "tolerance": tolerance}}
        self._assert(check, signal=signal, from_=from_, until=until, name=name)

    def settles(
        self,
        signal: str,
        *,
        by: float,
        tolerance: float,
        value: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> None:
        """Asserts that a signal is at most ``tolerance`` away from ``value``, or from its last value, from the time ``by`` on, s."""
        __tracebackhide__ = True
        check = {"settles": {"by": by, "tolerance": tolerance, "value": value}}
        self._assert(check, signal=signal, until=until, name=name)

    def never_above(
        self,
        signal: str,
        value: float,
        *,
        from_: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> None:
        """Asserts that a signal is at most ``value``."""
        __tracebackhide__ = True
        self._assert({"never_above": value}, signal=signal, from_=from_, until=until, name=name)

    def never_below(
        self,
        signal: str,
        value: float,
        *,
        from_: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> None:
        """Asserts that a signal is at least ``value``."""
        __tracebackhide__ = True
        self._assert({"never_below": value}, signal=signal, from_=from_, until=until, name=name)

    def reaches(
        self,
        signal: str,
        value: float,
        *,
        from_: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> None:
        """Asserts that a signal is ``value`` at some time, or passes it."""
        __tracebackhide__ = True
        self._assert({"reaches": value}, signal=signal, from_=from_, until=until, name=name)

    def energy_error_below(
        self,
        limit: float | None = None,
        *,
        relative: float | None = None,
        bond: str | None = None,
        from_: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> None:
        """Asserts that the energy which the coupling makes or loses, corrections included, is at most ``limit``, J, at any time.

        ``relative`` is a limit relative to the range of the energy that goes over the bond. Without ``bond`` all power bonds count together.
        Over a part of the run it needs the columns ``bond.NAME.residual_energy_integrated``, which ``output_variable`` records by their whole names.
        """
        __tracebackhide__ = True
        check = {"energy_error_below": _limit(limit, relative)}
        self._assert(check, bond=bond, from_=from_, until=until, name=name)

    def residual_energy_below(
        self,
        limit: float | None = None,
        *,
        relative: float | None = None,
        bond: str | None = None,
        from_: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> None:
        """Asserts that the residual energy is at most ``limit``, J, at any time; otherwise as :meth:`energy_error_below`."""
        __tracebackhide__ = True
        check = {"residual_energy_below": _limit(limit, relative)}
        self._assert(check, bond=bond, from_=from_, until=until, name=name)

    def net_energy_error_below(
        self,
        limit: float | None = None,
        *,
        relative: float | None = None,
        bond: str | None = None,
        from_: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> None:
        """Asserts that the energy of stale direct feed-through, with that of the correction, is at most ``limit``, J, at any time.

        It fails where the feed-through is not known; otherwise as :meth:`energy_error_below`.
        """
        __tracebackhide__ = True
        check = {"net_energy_error_below": _limit(limit, relative)}
        self._assert(check, bond=bond, from_=from_, until=until, name=name)

    def verdict_at_least(
        self, verdict: str, *, bond: str | None = None, name: str | None = None
    ) -> None:
        """Asserts that the verdict on a bond, or on the run, is this one or better.

        Verdicts are ``small``, ``visible``, ``cannot-tell``, ``dominating`` and ``diverging``.
        """
        __tracebackhide__ = True
        self._assert({"verdict_at_least": verdict}, bond=bond, name=name)

    def satisfies(self, path: str | os.PathLike[str]) -> None:
        """Asserts all checks of a file (docs/checks.md) that a result has enough for: not those of ``component``."""
        __tracebackhide__ = True
        self._raise(*text_of_checks(path))

    def _assert(self, check: Mapping[str, Any], **keys: Any) -> None:
        __tracebackhide__ = True
        keys["from"] = keys.pop("from_", None)
        self._raise(_tables([{**keys, **check}]), "")

    def _raise(self, checks: str, path: str) -> None:
        __tracebackhide__ = True
        end = json.dumps({key: self.summary[key] for key in _END if key in self.summary})
        broken = judge(self._table, checks, path, end)
        if broken:
            raise AssertionError("\n".join(line.removeprefix("failed: ") for line in broken))


def _limit(limit: float | None, relative: float | None) -> Any:
    if (limit is None) == (relative is None):
        raise TypeError("give a limit in J, or one that is `relative`")
    return limit if relative is None else {"relative": relative}


def text_of_checks(checks: Checks) -> tuple[str, str]:
    """Checks in TOML, and the path of their file, which is empty where they have none."""
    if isinstance(checks, (str, os.PathLike)):
        path = os.fspath(checks)
        try:
            return Path(path).read_text(encoding="utf-8"), path
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"cannot read the checks {path}: {error}") from None
    return _tables(checks), ""


def file_of_checks(checks: Checks, folder: Path) -> str:
    """The file of checks, which is written to ``folder`` where they have none."""
    if isinstance(checks, (str, os.PathLike)):
        return os.fspath(checks)
    path = folder / "checks.toml"
    path.write_text(_tables(checks), encoding="utf-8")
    return str(path)


def _tables(checks: Iterable[Mapping[str, Any]]) -> str:
    if isinstance(checks, Mapping):
        raise TypeError("checks are a file or a list of mappings, and this is one mapping")
    lines = []
    for check in checks:
        if not isinstance(check, Mapping):
            raise TypeError(f"a check is a mapping with the keys of a table (docs/checks.md), not {check!r}")
        lines.append("[[checks]]")
        lines += [f"{_key(key)} = {_toml(value)}" for key, value in check.items() if value is not None]
    return "\n".join(lines)


def _key(name: Any) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        items = (f"{_key(key)} = {_toml(item)}" for key, item in value.items() if item is not None)
        return f"{{ {', '.join(items)} }}"
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        raise TypeError(f"a check has numbers, texts and mappings of them, not {value!r}") from None
