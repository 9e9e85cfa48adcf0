"""Results and systems in Jupyter."""

from html.parser import HTMLParser
from pathlib import Path

import gyrator
import pytest


class Cells(HTMLParser):
    """The texts of a page; fails where an element is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_result_shows_verdict_and_ledger(oscillator: Path) -> None:
    result = gyrator.run(oscillator, stop_time=1.0)
    texts = Cells(result._repr_html_()).texts
    assert texts[:2] == ["coupling error: visible", ", stop-time at t = 1 s after 1000 steps, 1001 rows, 13 columns"]
    bond = result.summary["bonds"][0]
    cells = texts[texts.index("coupling") :]
    assert cells[1] == f"{bond['transferred_energy']:.6g}"
    assert cells[6] == bond["verdict"]
    assert result.report in texts


def test_a_result_shows_what_went_wrong(oscillator: Path, fmus: Path) -> None:
    with pytest.raises(gyrator.CheckError) as failed:
        gyrator.run(oscillator, max_residual_energy=100.0)
    assert failed.value.result is not None
    page = failed.value.result._repr_html_()
    assert "limit at t = " in page
    assert any("residual energy of bond coupling" in text for text in Cells(page).texts)
    start = {"fault": "segfault", "fault_time": 0.5}
    with pytest.raises(gyrator.CrashError) as crashed:
        gyrator.simulate(fmus / "Faulty.fmu", stop_time=1.0, step_size=0.125, start_value=start)
    assert crashed.value.result is not None
    assert any("SIGSEGV" in text for text in Cells(crashed.value.result._repr_html_()).texts)


def test_a_system_shows_its_parts() -> None:
    system = gyrator.System(0.1)
    system.add("<a>", gyrator.ClosureUnit({"u": 0.0}, {"y": 0.0}, lambda call: None), step_size=0.05)
    system.add("b", gyrator.ClosureUnit({"u": 0.0, "v": 0.0}, {"y": 0.0}, lambda call: None))
    system.connect("b.y", "b.v", gain=2.0)
    system.bond("c", ("<a>.y", "b.u"), ("b.y", "<a>.u"), correction="residual-power")
    assert repr(system) == "<gyrator.System: 2 components, 1 connection, 1 bond>"
    texts = Cells(system._repr_html_()).texts
    for row in (
        ["<a>", "in code", "0.05"],
        ["b.y", "b.v", "2"],
        ["c", "<a>.y \u2192 b.u", "b.y \u2192 <a>.u", "residual-power"],
    ):
        place = texts.index(row[0])
        assert texts[place : place + len(row)] == row
