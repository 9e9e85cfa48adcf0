"""Results and systems as Jupyter shows them: a graph and tables of HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from . import _picture

#: Columns of the table of bonds: heading and key of the summary.
_BOND = {
    "bond": "name",
    "transferred, J": "transferred_energy",
    "residual, J": "residual_energy",
    "made by the coupling, J": "residual_energy_integrated",
    "correction, J": "correction_energy",
    "peak, W": "max_residual_power",
    "verdict": "verdict",
}
_COMPONENT = {
    "component": "name",
    "step, s": "step_size",
    "exchange": "exchange",
    "net energy, J": "net_energy",
}


def of_result(summary: dict[str, Any], size: str, report: str, graph: str | None) -> str:
    """The verdict and the ledger of a run, and the graph of its system; its report is folded up."""
    end = summary.get("stop_reason") or "no run"
    if summary.get("stop_time") is not None:
        end += f" at t = {_text(summary['stop_time'])} s after {_text(summary.get('steps'))} steps"
    verdict = summary.get("verdict")
    head = f"<b>coupling error: {escape(verdict)}</b>, " if verdict else ""
    parts = [f"<p>{head}{escape(end)}, {escape(size)}</p>"]
    parts += [_of_graph(graph)]
    reasons = [summary.get("stop_detail"), summary.get("advice")]
    parts += [f"<p>{escape(reason)}</p>" for reason in reasons if reason]
    parts += [_of_records(_COMPONENT, summary.get("components") or [])]
    parts += [_of_records(_BOND, summary.get("bonds") or [])]
    broken = [found for found in summary.get("checks") or [] if found["outcome"] != "passed"]
    rows = [[found["name"], found["outcome"], found["message"]] for found in broken]
    parts.append(_table(["check", "outcome", ""], rows))
    if report:
        parts.append(f"<details><summary>report</summary><pre>{escape(report)}</pre></details>")
    return "".join(parts)


def of_system(
    components: Sequence[Sequence[Any]],
    connections: Sequence[Sequence[Any]],
    bonds: Sequence[Sequence[Any]],
    system: str,
) -> str:
    """The graph and the parts of a system, which is given as the text of its file, too."""
    return "".join(
        [
            _of_graph(_picture.graph(system) if components else None),
            _table(["component", "unit", "step, s"], components),
            _table(["output", "input", "gain", "offset"], connections),
            _table(["bond", "effort", "flow", "correction"], bonds),
        ]
    )


def _of_graph(svg: str | None) -> str:
    """A graph as an image of its own: its style holds for no other picture of the page."""
    if svg is None:
        return ""
    data = b64encode(svg.encode()).decode()
    return f'<p><img alt="graph of the system" style="max-width:100%" src="data:image/svg+xml;base64,{data}"/></p>'


def _of_records(columns: dict[str, str], records: Iterable[dict[str, Any]]) -> str:
    return _table(list(columns), [[record.get(key) for key in columns.values()] for record in records])


def _table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; nothing where it has no rows."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    lines = ("".join(f"<td>{escape(_text(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
