"""The fixture ``gyrator_run``, in tests of their own."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import gyrator
import pytest

def test_passes(gyrator_run):
    result = gyrator_run("system.toml", stop_time=0.1)
    result.within("right.x", 0.0, 20.0)

def test_fails(gyrator_run):
    gyrator_run("system.toml", stop_time=0.1)
    result = gyrator_run("system.toml", stop_time=0.2)
    result.never_above("right.x", -5.0, name="the mass stays below")

def test_does_not_run(gyrator_run):
    gyrator_run("system.toml", stop_time=1.0, max_residual_energy=100.0)

def test_records_nothing(gyrator_run, tmp_path):
    result = gyrator_run("system.toml", stop_time=0.1, record=False, summary=tmp_path / "mine.json")
    assert not result.columns

def test_checks_lie_beside_the_test(gyrator_run):
    with pytest.raises(gyrator.CheckError, match="right.x is "):
        gyrator_run("system.toml", stop_time=0.1, output_interval=0.1, check="checks.toml")

@pytest.mark.xfail
def test_is_known_to_fail(gyrator_run):
    gyrator_run("system.toml", stop_time=0.1).never_above("left.x", -100.0)
"""


@pytest.fixture
def bench(pytester: pytest.Pytester, oscillator: Path) -> pytest.Pytester:
    """A folder with a system and its tests."""
    pytester.makepyfile(test_bench=TESTS)
    (pytester.path / "system.toml").write_bytes(oscillator.read_bytes())
    (pytester.path / "checks.toml").write_text("[[checks]]\nsignal = 'right.x'\nnever_above = -20.0\n", encoding="utf-8")
    return pytester


def test_results_of_failed_tests_are_kept_and_named(bench: pytest.Pytester) -> None:
    done = bench.runpytest_subprocess("--basetemp=kept", "--gyrator-results=results")
    done.assert_outcomes(passed=3, failed=2, xfailed=1)
    done.stdout.fnmatch_lines(
        [
            'E*AssertionError: the mass stays below: right.x is * at t = * s, * above -5*',
            "*- runs of gyrator -*",
            "system.toml: *kept/test_fails0/system.csv",
            "*reached the stop time, t = 0.1 s*",
            "system.toml: *kept/test_fails0/system-2.csv",
            "*coupling error: *",
            "E*gyrator.CheckError: *residual energy of bond coupling*",
            "system.toml: *kept/test_does_not_run0/system.csv",
            "CheckError: *",
        ]
    )
    # The frames of the package are no news.
    assert ".py:" in done.stdout.str()
    assert "_assertions.py:" not in done.stdout.str()
    assert "_run.py:" not in done.stdout.str()
    kept = {str(path.relative_to(bench.path / "kept")) for path in (bench.path / "kept").rglob("*.*")}
    assert kept == {
        "test_fails0/system.csv",
        "test_fails0/system.json",
        "test_fails0/system-2.csv",
        "test_fails0/system-2.json",
        "test_does_not_run0/system.csv",
        "test_does_not_run0/system.json",
        "test_records_nothing0/mine.json",
    }
    copied = {str(path.relative_to(bench.path / "results")) for path in (bench.path / "results").rglob("*.csv")}
    assert copied == {
        "test_bench.py_test_fails/system.csv",
        "test_bench.py_test_fails/system-2.csv",
        "test_bench.py_test_does_not_run/system.csv",
    }
