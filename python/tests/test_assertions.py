"""Assertions on results."""

import json
import subprocess
from pathlib import Path

import gyrator
import numpy as np
import pytest

from conftest import ROOT


@pytest.fixture
def result(oscillator: Path) -> gyrator.Result:
    """The double oscillator, exchanged stale: the coupling makes some kJ in 10 s."""
    return gyrator.run(oscillator, accept_divergence=True)


def test_a_signal_is_judged_as_numpy_sees_it(result: gyrator.Result) -> None:
    x, time = result["right.x"], result.time
    most = x.max()
    result.never_above("right.x", most)
    result.never_below("right.x", x.min())
    result.reaches("right.x", 0.5 * most)
    result.within("right.x", 0.0, np.abs(x).max())
    result.never_above("right.x", x[time <= 1.0].max(), until=1.0)
    with pytest.raises(AssertionError) as failed:
        result.never_above("right.x", most - 1.0)
    at = time[x.argmax()]
    first = time[x > most - 1.0][0]
    assert str(failed.value) == (
        f"right.x is {most:.6g} at t = {at:.6g} s, 1 above {most - 1.0:.6g}; first out of bounds at t = {first:.6g} s"
    )
    with pytest.raises(AssertionError, match="^rest: right.x is "):
        result.settles("right.x", by=9.0, tolerance=0.1, name="rest")
    with pytest.raises(AssertionError, match="its last value being"):
        result.settles("right.x", by=9.0, tolerance=0.1)
    with pytest.raises(AssertionError, match="is known until t = 10 s only"):
        result.within("right.x", 0.0, 100.0, until=11.0)
    with pytest.raises(AssertionError, match="(?s)left.x is .*\nright.x is "):
        result.never_above("*.x", 0.0)


def test_energies_are_those_of_the_ledger(result: gyrator.Result, oscillator: Path) -> None:
    made = result["bond.coupling.net_energy_error"]
    result.net_energy_error_below(np.abs(made).max(), bond="coupling")
    worst = f"{made[np.abs(made).argmax()]:.6g}"
    with pytest.raises(AssertionError, match=f"bond coupling has a net energy error of {worst} J at t = "):
        result.net_energy_error_below(500.0, bond="coupling")
    name = "bond.coupling.residual_energy_integrated"
    column = gyrator.run(oscillator, accept_divergence=True, output_variable=name)[name]
    peak = np.abs(column).max()
    assert abs(result.summary["bonds"][0]["peak_residual_energy_integrated"]) == peak
    result.energy_error_below(peak)
    with pytest.raises(AssertionError, match="the system has an energy error of "):
        result.energy_error_below(0.999 * peak)
    with pytest.raises(AssertionError, match="beyond its limit of "):
        result.energy_error_below(relative=1e-3, bond="coup*")
    with pytest.raises(AssertionError):
        result.residual_energy_below(1.0)
    verdict = result.verdict
    assert verdict is not None
    result.verdict_at_least(verdict)
    with pytest.raises(AssertionError, match=f"the run has a coupling error that is {verdict}"):
        result.verdict_at_least("small")


def test_mistakes_are_no_failed_assertions(result: gyrator.Result) -> None:
    with pytest.raises(gyrator.InvalidInputError, match="no column `right.y`; did you mean `right.x`"):
        result.never_above("right.y", 1.0)
    with pytest.raises(gyrator.InvalidInputError, match="no bond `couplin`; did you mean `coupling`"):
        result.energy_error_below(1.0, bond="couplin")
    with pytest.raises(gyrator.InvalidInputError, match="needs the column `bond.coupling.residual_energy_integrated`"):
        result.energy_error_below(1.0, until=1.0)
    with pytest.raises(gyrator.InvalidInputError, match="it must not be negative"):
        result.within("right.x", 0.0, -1.0)
    with pytest.raises(gyrator.InvalidInputError, match="it must be finite"):
        result.never_above("right.x", float("nan"))
    with pytest.raises(TypeError, match="a limit in J"):
        result.energy_error_below()
    with pytest.raises(AssertionError, match='a "quoted" \\\\ name: right.x'):
        result.never_above("right.x", 0.0, name='a "quoted" \\ name')


def test_what_failed_proves_nothing_but_what_is_wrong(fmus: Path) -> None:
    start = {"fault": "segfault", "fault_time": 0.5}
    with pytest.raises(gyrator.CrashError) as crash:
        gyrator.simulate(fmus / "Faulty.fmu", stop_time=1.0, step_size=0.125, start_value=start)
    result = crash.value.result
    assert result is not None
    name = next(name for name in result if name != "time")
    result.within(name, 0.0, 1e9, until=0.25)
    with pytest.raises(AssertionError, match="the run ended at t = 0.375 s: "):
        result.within(name, 0.0, 1e9)


def test_a_run_that_is_stopped_is_judged_as_far_as_it_went(oscillator: Path) -> None:
    run = gyrator.System.from_file(oscillator).start()
    run.run_until(1.0)
    run.result().within("right.x", 0.0, 10.0)
    result = run.stop()
    result.within("right.x", 0.0, 10.0)
    result.energy_error_below(1e4)
    with pytest.raises(AssertionError, match="is known until t = 1 s only"):
        result.within("right.x", 0.0, 10.0, until=2.0)


def test_a_file_of_checks_finds_what_the_run_finds(oscillator: Path, tmp_path: Path) -> None:
    text = (ROOT / "examples/double-oscillator-checks.toml").read_text(encoding="utf-8")
    checks = tmp_path / "checks.toml"
    elements = [f"[[checks]]{part}" for part in text.split("[[checks]]")[1:]]
    checks.write_text("".join(part for part in elements if "component" not in part), encoding="utf-8")
    with pytest.raises(gyrator.CheckError) as by_run:
        gyrator.run(oscillator, check=checks)
    result = by_run.value.result
    assert result is not None
    with pytest.raises(AssertionError) as by_rows:
        result.satisfies(checks)
    for finding in result.summary["checks"]:
        assert (finding["message"] or "") in str(by_rows.value)
    assert any(finding["message"] for finding in result.summary["checks"])


def test_checks_see_every_point_whatever_is_recorded(oscillator: Path, tmp_path: Path) -> None:
    whole = gyrator.run(oscillator, stop_time=2.0)
    peak, at = whole["right.x"].max(), whole.time[whole["right.x"].argmax()]
    limit = 0.5 * (peak + gyrator.run(oscillator, stop_time=2.0, output_interval=0.5)["right.x"].max())
    above = {"signal": "right.x", "never_above": float(limit), "name": 'a "peak"', "until": 2.0}
    never = {"component": "*", "balance_above": -1e9}
    file = tmp_path / "peak.toml"
    file.write_text(f"[[checks]]\nname = 'a \"peak\"'\nsignal = 'right.x'\nnever_above = {limit}\nuntil = 2\n", encoding="utf-8")
    found = []
    for checks in ([above, never], file):
        with pytest.raises(gyrator.CheckError, match='a "peak": right.x is ') as broken:
            gyrator.run(oscillator, stop_time=2.0, output_interval=0.5, check=checks)
        found.append(broken.value.result)
        system = gyrator.System.from_file(oscillator)
        system.stop_time(2.0)
        with pytest.raises(gyrator.CheckError, match='a "peak": right.x is ') as broken:
            system.start(record_interval=0.5, check=checks).run()
        found.append(broken.value.result)
    for result in found:
        assert result is not None
        # The rows alone do not show it.
        assert len(result.time) == 5
        result.never_above("right.x", float(limit))
        finding = result.summary["checks"][0]
        assert (finding["outcome"], finding["value"], finding["time"]) == ("failed", peak, at)
    by_program, in_process = found[0], found[1]
    assert by_program is not None and in_process is not None
    assert by_program.summary["checks"] == in_process.summary["checks"]
    assert [finding["outcome"] for finding in by_program.summary["checks"]] == ["failed", "passed", "passed"]


def test_checks_of_a_run_in_this_process_are_judged_at_its_end(oscillator: Path, tmp_path: Path) -> None:
    system = gyrator.System.from_file(oscillator)
    run = system.start(check=[{"signal": "right.x", "within": {"value": 0.0, "tolerance": 10.0}, "until": 1.0}])
    run.run_until(0.5)
    assert run.result().summary["checks"] == []
    run.run_until(1.0)
    (finding,) = run.stop().summary["checks"]
    assert finding["outcome"] == "passed"
    with pytest.raises(gyrator.InvalidInputError, match="no variable .*did you mean `right.x`"):
        system.start(check=[{"signal": "right.xx", "never_above": 1.0}])
    with pytest.raises(gyrator.InvalidInputError, match="cannot read the checks .*none.toml"):
        system.start(check=tmp_path / "none.toml")
    with pytest.raises(gyrator.InvalidInputError, match="never_abov"):
        gyrator.run(oscillator, check=[{"signal": "right.x", "never_abov": 1.0}])


def test_each_kind_of_check_of_a_result_is_a_method() -> None:
    shown = subprocess.run([gyrator.PROGRAM, "list", "--json"], check=True, capture_output=True, text=True)
    registries = {found["registry"]: found["entries"] for found in json.loads(shown.stdout)}
    kinds = {entry["name"] for entry in registries["checks"]}
    # Results have no balances of components.
    kinds -= {"balance_above", "balance_below"}
    assert kinds
    assert {name for name in kinds if not hasattr(gyrator.Result, name)} == set()
