"""Results and systems in Jupyter."""

import base64
import re
import xml.etree.ElementTree as ElementTree
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


def graph(page: str) -> list[str]:
    """The texts of the graph in a page."""
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    return texts(base64.b64decode(found[1]).decode()) if found else []


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [element.text for element in root.iter() if element.text and element.text.strip()]


def test_a_result_shows_the_graph_of_its_system(oscillator: Path) -> None:
    result = gyrator.run(oscillator, stop_time=0.1)
    assert {"left", "right", "OscillatorForce.fmu"} <= set(graph(result._repr_html_()))
    text = oscillator.read_text(encoding="utf-8")
    oscillator.write_text(text + "\n", encoding="utf-8")
    assert graph(result._repr_html_()) == [], "the file is another one"
    oscillator.unlink()
    assert graph(result._repr_html_()) == []


def test_pictures_need_no_other_package(oscillator: Path, tmp_path: Path) -> None:
    result = gyrator.run(oscillator, stop_time=1.0)
    picture = result.plot("right.*")
    assert {"right.x", "right.v"} <= set(texts(picture._repr_svg_()))
    assert "left.f" not in texts(picture.svg)
    picture.save(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == picture.svg
    assert "left.f" in texts(result.plot().svg)
    with pytest.raises(gyrator.UsageError, match="right.y"):
        result.plot("right.y")
    with pytest.raises(ValueError, match="nothing was recorded"):
        gyrator.run(oscillator, stop_time=0.1, record=False).plot()


def test_a_report_is_a_page(oscillator: Path, tmp_path: Path) -> None:
    result = gyrator.run(oscillator, stop_time=1.0)
    page = tmp_path / "run.html"
    result.write_report(page, "right.x")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "visible" in text
    (tmp_path / "notes.html").write_text("mine")
    with pytest.raises(gyrator.SimulationError, match="no page"):
        result.write_report(tmp_path / "notes.html")


def test_texts_and_whole_numbers_are_drawn_and_reported(fmus: Path, tmp_path: Path) -> None:
    names = ["integer_out", "boolean_parameter_out", "string_parameter_out"]
    result = gyrator.simulate(fmus / "AllTypes.fmu", stop_time=1.0, step_size=0.25, output_variable=names)
    assert "integer_out" in texts(result.plot("integer_out").svg)
    result.write_report(tmp_path / "run.html")


def test_a_run_in_process_is_drawn(tmp_path: Path) -> None:
    system = gyrator.System(0.1)
    system.add("source", gyrator.ClosureUnit({}, {"y": 1.0}, lambda call: call.outputs.fill(call.time)))
    system.add("target", gyrator.ClosureUnit({"u": 0.0}, {"z": 1.0}, lambda call: call.outputs.fill(2.0 * call.inputs[0])))
    system.connect("source.y", "target.u")
    assert {"source", "in code", "target"} <= set(graph(system._repr_html_()))
    run = system.start()
    run.run_until(1.0)
    result = run.stop()
    assert {"source", "target"} <= set(graph(result._repr_html_()))
    assert "target.z" in texts(result.plot("target.z").svg)
    result.write_report(tmp_path / "run.html")
    assert graph(gyrator.System(0.1)._repr_html_()) == []


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
