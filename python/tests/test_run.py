"""Runs of files, in processes of their own."""

import csv
import inspect
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gyrator
import numpy as np
import pytest

from gyrator._run import arguments


def test_the_columns_are_those_of_the_program(oscillator: Path, tmp_path: Path) -> None:
    result = gyrator.run(oscillator, stop_time=1.0)
    rows = tmp_path / "rows.csv"
    command = [gyrator.PROGRAM, "run", oscillator, "-e", "1", "-o", rows]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with rows.open(newline="") as file:
        names, *cells = csv.reader(file)
    assert result.columns == names
    expected = np.array(cells, dtype=float)
    for name, column in zip(names, expected.T, strict=True):
        assert (result[name] == column).all(), name
    assert result.summary["steps"] == 1000
    assert result.verdict == result.summary["verdict"] == "visible"
    assert "reached the stop time" in result.report


def test_reads_share_memory_that_cannot_be_written(oscillator: Path) -> None:
    result = gyrator.run(oscillator, stop_time=0.1)
    assert np.shares_memory(result["right.x"], result["right.x"])
    assert np.shares_memory(result.time, np.asarray(result._table.values("time")))
    with pytest.raises(ValueError, match="read-only"):
        result.time[0] = 1.0
    column = result["right.x"]
    first = column.copy()
    del result
    assert (column == first).all()


def test_each_type_has_its_array(fmus: Path) -> None:
    names = ["real_out", "integer_out", "boolean_parameter_out", "string_parameter_out", "colour_out"]
    text = "quoted \"text\",\nin two lines"
    result = gyrator.simulate(
        fmus / "AllTypes.fmu",
        stop_time=1.0,
        step_size=0.25,
        output_variable=names,
        start_value={"string_parameter": text, "boolean_parameter": False},
    )
    types = [result[name].dtype for name in names]
    assert types == [np.float64, np.int32, np.bool_, np.dtype(object), np.int32]
    assert list(result["string_parameter_out"]) == [text] * 5
    assert not result["boolean_parameter_out"].any()
    assert list(result["colour_out"]) == [1] * 5
    assert np.shares_memory(result["boolean_parameter_out"], result["boolean_parameter_out"])


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_file_of_the_rows_can_be_kept(oscillator: Path, tmp_path: Path, name: str) -> None:
    kept = tmp_path / name
    result = gyrator.run(oscillator, stop_time=0.1, output_file=kept, output_variable="right.*")
    assert kept.exists()
    assert len(result.time) == 101
    assert (result["right.x"] == gyrator.run(oscillator, stop_time=0.1)["right.x"]).all()


def test_a_run_in_real_time_says_how_punctual_it_was(oscillator: Path) -> None:
    result = gyrator.run(oscillator, stop_time=0.1, real_time=10, overruns="skip")
    timing = result.summary["real_time"]
    assert (timing["factor"], timing["overrun_policy"], timing["points"]) == (10.0, "skip", 100)
    assert len(result.time) == 101


def test_a_result_of_doubles_can_be_kept(oscillator: Path, tmp_path: Path) -> None:
    kept = tmp_path / "out.rows"
    result = gyrator.run(oscillator, stop_time=0.1, output_file=kept)
    with kept.open("rb") as file:
        names = file.readline()[1:].decode().rstrip().split(",")
        rows = np.fromfile(file, "<f8").reshape(-1, len(names))
    assert names == result.columns
    for name, column in zip(names, rows.T, strict=True):
        assert (result[name] == column).all(), name


@pytest.mark.parametrize("how", [{}, {"isolate": True}, {"no_supervisor": True}])
def test_each_way_to_run_gives_the_same_rows(oscillator: Path, how: dict[str, bool]) -> None:
    expected = gyrator.run(oscillator, stop_time=1.0)
    result = gyrator.run(oscillator, stop_time=1.0, **how)  # type: ignore[arg-type]
    assert result.columns == expected.columns
    for name, column in expected.items():
        assert np.array_equal(result[name], column, equal_nan=True), name


def test_error_bars_are_columns(oscillator: Path) -> None:
    result = gyrator.run(oscillator, stop_time=1.0, error_bars=0.05, output_variable=["right.x"])
    assert result.columns == ["time", "right.x", "error.right.x"]
    assert len(result["error.right.x"]) == 1001


def test_nothing_is_recorded_where_nothing_is_wanted(oscillator: Path) -> None:
    result = gyrator.run(oscillator, stop_time=0.1, record=False)
    assert (result.columns, len(result)) == ([], 0)
    with pytest.raises(KeyError, match="nothing was recorded"):
        result.time


def test_an_unknown_column_is_named_with_those_that_are_there(oscillator: Path) -> None:
    result = gyrator.run(oscillator, stop_time=0.1, output_variable="right.x")
    with pytest.raises(KeyError, match="right.y; the result has time, right.x"):
        result["right.y"]


def test_errors_are_exceptions_with_the_exit_code(oscillator: Path, tmp_path: Path, fmus: Path) -> None:
    with pytest.raises(gyrator.UsageError, match="jacobi") as wrong:
        gyrator.run(oscillator, method="jacob")
    assert wrong.value.exit_code == 2
    with pytest.raises(gyrator.InvalidInputError, match="cannot read the system file") as wrong:
        gyrator.run(tmp_path / "none.toml")
    assert wrong.value.exit_code == 3
    with pytest.raises(gyrator.InvalidInputError, match="no variable `mm`"):
        gyrator.run(oscillator, start_value={"left.mm": 2.0})
    system = tmp_path / "no-fmu.toml"
    system.write_text("[experiment]\nstop_time = 1.0\nstep_size = 0.1\n[components]\na = { fmu = 'a.fmu' }\n")
    with pytest.raises(gyrator.LoadError) as wrong:
        gyrator.run(system)
    assert wrong.value.exit_code == 4


def test_messages_hold_the_error_alone_and_no_deleted_file(oscillator: Path, fmus: Path) -> None:
    from gyrator._errors import message_of

    shown = "warning: one\nerror[a]: first\n  help: b\n\nwarning[fmu]\n\n  two\n\nerror[c]\n\n  second\n"
    assert message_of(shown, {}, 3) == "first\n  help: b\nerror[c]\n\n  second"
    with pytest.raises(gyrator.UsageError) as wrong:
        gyrator.run(oscillator, method="jacob")
    assert "--help" not in wrong.value.message
    with pytest.raises(gyrator.InvalidInputError, match=r"\[checks\.toml:3:1\]"):
        gyrator.run(oscillator, check=[{"signal": "left.x", "never_abov": 1.0}])
    with pytest.raises(gyrator.UsageError, match=r"^no column of numbers is called `left\.xx`"):
        gyrator.run(oscillator, stop_time=0.01).plot("left.xx")
    with pytest.raises(gyrator.CrashError, match="in the result of this exception"):
        gyrator.simulate(fmus / "Faulty.fmu", start_value={"fault": "segfault", "fault_time": 0.5}, stop_time=1.0)


def test_values_and_flags_may_be_of_numpy() -> None:
    start = {"boolean_in": np.True_, "real_in": np.float32(0.5), "integer_in": np.int64(3)}
    assert arguments({"start_value": start, "error_bars": np.False_, "no_supervisor": np.True_}) == [
        "--start-value=boolean_in=true",
        "--start-value=real_in=0.5",
        "--start-value=integer_in=3",
        "--no-supervisor",
    ]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ({"signal": "left.x", "never_above": 1.0}, "this is one mapping"),
        (["left.x < 1"], "not 'left.x < 1'"),
        ([{"signal": "left.x", "within": [1.0, 2.0]}], r"not \[1.0, 2.0\]"),
    ],
)
def test_checks_are_mappings(oscillator: Path, check: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        gyrator.run(oscillator, check=check)


def test_columns_are_named_one_by_one(oscillator: Path) -> None:
    with pytest.raises(TypeError, match="one by one"):
        gyrator.run(oscillator, stop_time=0.01).plot(["left.x", "right.x"])  # type: ignore[arg-type]


def test_a_check_that_fails_keeps_the_rows(oscillator: Path) -> None:
    with pytest.raises(gyrator.CheckError, match="residual energy of bond coupling") as failed:
        gyrator.run(oscillator, max_residual_energy=100.0)
    assert failed.value.exit_code == 6
    result = failed.value.result
    assert result is not None
    assert result.summary["stop_reason"] == "limit"
    assert len(result.time) == result.summary["output"]["rows"] > 2


def test_a_crash_keeps_the_rows(fmus: Path) -> None:
    start = {"fault": "segfault", "fault_time": 0.5}
    with pytest.raises(gyrator.CrashError, match="SIGSEGV in fmi2DoStep") as failed:
        gyrator.simulate(fmus / "Faulty.fmu", stop_time=1.0, step_size=0.125, start_value=start)
    assert failed.value.exit_code == 5
    assert failed.value.result is not None
    assert list(failed.value.result.time) == [0.0, 0.125, 0.25, 0.375]


@pytest.mark.parametrize("fault", ["segfault", "abort", "exit_7"])
@pytest.mark.parametrize("isolate", [False, True])
def test_a_crash_after_many_rows_keeps_each(fmus: Path, fault: str, isolate: bool) -> None:
    """More rows than are kept in memory before they are written."""
    start = {"fault": fault, "fault_time": 30.0}
    with pytest.raises(gyrator.Error) as failed:
        gyrator.simulate(
            fmus / "Faulty.fmu", stop_time=60.0, step_size=2.0**-9, start_value=start, isolate=isolate
        )
    result = failed.value.result
    assert result is not None
    assert np.array_equal(result.time, np.arange(30 * 512) * 2.0**-9)


def test_a_crash_keeps_the_types(fmus: Path, tmp_path: Path) -> None:
    system = tmp_path / "system.toml"
    system.write_text(
        f"""
[experiment]
step_size = 0.125
stop_time = 1.0
[components.all]
fmu = "{fmus}/AllTypes.fmu"
[components.faulty]
fmu = "{fmus}/Faulty.fmu"
start_values = {{ fault_time = 0.5 }}
""",
        encoding="utf-8",
    )
    whole = gyrator.run(system)
    with pytest.raises(gyrator.CrashError) as failed:
        gyrator.run(system, start_value={"faulty.fault": "segfault"})
    crashed = failed.value.result
    assert crashed is not None
    assert crashed.columns == whole.columns
    assert {name: column.dtype for name, column in crashed.items()} == {name: column.dtype for name, column in whole.items()}
    assert {column.dtype for column in whole.values()} >= {np.dtype(t) for t in ("float64", "int32", "bool", "object")}
    with pytest.raises(gyrator.CrashError) as failed:
        start = {"fault": "segfault", "fault_time": 0.5}
        gyrator.simulate(fmus / "Faulty.fmu", stop_time=1.0, step_size=0.125, start_value=start)
    crashed = failed.value.result
    assert crashed is not None
    whole = gyrator.simulate(fmus / "Faulty.fmu", stop_time=0.25, step_size=0.125)
    assert {name: column.dtype for name, column in crashed.items()} == {name: column.dtype for name, column in whole.items()}


def test_ctrl_c_ends_the_run(oscillator: Path) -> None:
    """As a terminal does it: the signal comes to this process alone."""
    def press() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        gyrator.run(oscillator, stop_time=1e5, exchange="fresh", record=False)
    assert time.monotonic() - begin < 60.0


@pytest.mark.parametrize(("verb", "function"), [("run", gyrator.run), ("simulate", gyrator.simulate), ("study", gyrator.study)])
def test_each_option_is_a_keyword(verb: str, function: object) -> None:
    shown = subprocess.run([gyrator.PROGRAM, verb, "--help"], check=True, capture_output=True, text=True)
    # Descriptions are further to the right, and may name options, too.
    options = re.findall(r"^  (?:-\w, |    )--([a-z-]+)", shown.stdout, re.MULTILINE)
    options = {option.replace("-", "_") for option in options} - {"help", "progress", "quiet"}
    keywords = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    assert {word.name for word in keywords if word.kind is word.KEYWORD_ONLY} - {"record"} == options


def test_an_unknown_keyword_is_refused_as_python_does(oscillator: Path) -> None:
    options = {"stop_tim": 1.0}
    with pytest.raises(TypeError, match=r"^run\(\) got an unexpected keyword argument 'stop_tim'$"):
        gyrator.run(oscillator, **options)  # type: ignore[arg-type]
    shown = str(inspect.signature(gyrator.run))
    assert "compile: 'bool' = False" in shown and "stop_time: 'float | None' = None" in shown


def test_the_program_is_a_command(oscillator: Path) -> None:
    program = Path(sys.executable).parent / "gyrator"
    shown = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    assert shown.stdout.startswith("gyrator ")


def test_the_program_packs(oscillator: Path, tmp_path: Path) -> None:
    program, packed = Path(sys.executable).parent / "gyrator", tmp_path / "Oscillator.fmu"
    subprocess.run([program, "pack", oscillator, "-o", packed], check=True)
    alone = gyrator.simulate(packed, stop_time=0.1, step_size=1e-3)
    assert len(alone.time) == 101


def test_mistakes_of_pack_have_the_exit_code_of_the_program(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "gyrator"
    missing = subprocess.run([program, "pack", tmp_path / "no.toml", "-o", tmp_path / "no.fmu"], capture_output=True, text=True)
    assert missing.returncode == 3, missing.stderr
    named = subprocess.run([program, "pack", tmp_path / "no.toml", "-o", tmp_path / "no.fmu", "--library=no.so"], capture_output=True, text=True)
    assert named.returncode in (3, 4), named.stderr
