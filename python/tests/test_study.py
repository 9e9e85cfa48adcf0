"""Studies."""

import csv
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import gyrator
import numpy as np
import pandas
import polars
import pyarrow
import pytest

STUDY = """
system = "system.toml"

[[vary]]
grid = { "experiment.step_size" = [1e-3, 2e-3] }
[[vary]]
list = [{ "left.k_c" = 100.0 }, { "left.k_c" = 10.0 }]

[variants]
1 = { "experiment.stop_time" = 1.0 }
2 = { "experiment.stop_time" = 1.0, "experiment.exchange" = "fresh" }

[metrics]
final = "left.x"
"""


@pytest.fixture
def file(oscillator: Path) -> Path:
    """Four cases of the double oscillator, and two variants of each."""
    path = oscillator.with_name("study.toml")
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_a_study_is_the_table_of_the_program(file: Path, tmp_path: Path) -> None:
    study = gyrator.study(file, worker_threads=2)
    table = tmp_path / "table.csv"
    command = [gyrator.PROGRAM, "study", file, "-o", table]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with table.open(newline="") as text:
        names, *rows = csv.reader(text)
    assert study.columns == names
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        if study[name].dtype == object:
            assert list(study[name]) == list(column), name
        else:
            numbers = [float(cell or "nan") for cell in column]
            assert np.array_equal(study[name], numbers, equal_nan=True), name
    # Numbers are numbers, and texts of digits are texts.
    types = [study[name].dtype for name in ("case", "left.k_c", "variant", "steps", "verdict")]
    assert types == [np.int32, np.float64, object, np.int32, object]
    assert list(study["variant"]) == ["1", "2"] * 4
    assert study.file == file.with_suffix(".csv")
    assert study.file.read_bytes() == table.read_bytes()
    assert study.summary["rows"] == 8
    assert "coupling error" in study.report


def test_a_study_is_a_data_frame(file: Path) -> None:
    study = gyrator.study(file, output_file=file.with_name("table.parquet"))
    frame = study.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == study.columns
    assert frame.groupby("variant")["steps"].sum().tolist() == [3000, 3000]
    assert polars.DataFrame(study)["final.left.x"].to_list() == study["final.left.x"].tolist()
    assert pyarrow.table(study).column("case").to_pylist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert pandas.read_parquet(file.with_name("table.parquet"))["final.left.x"].tolist() == frame["final.left.x"].tolist()


def test_the_cases_alone(file: Path) -> None:
    cases = gyrator.study(file, dry_run=True)
    assert list(cases["experiment.step_size"]) == [1e-3] * 4 + [2e-3] * 4
    assert cases.file is None
    assert not file.with_suffix(".csv").exists()


def test_a_study_with_a_run_that_diverges_has_all_rows(file: Path) -> None:
    text = "verification = true\n" + file.read_text(encoding="utf-8").replace("2e-3", "2e-2")
    file.write_text(text.replace("stop_time\" = 1.0", "stop_time\" = 20.0"), encoding="utf-8")
    with pytest.raises(gyrator.CheckError, match="diverg") as failed:
        gyrator.study(file)
    study = failed.value.study
    assert study is not None
    assert failed.value.result is None
    assert "diverging" in study["verdict"]
    assert gyrator.study(file, accept_divergence=True).columns == study.columns


def test_mistakes_have_no_rows(file: Path, tmp_path: Path) -> None:
    with pytest.raises(gyrator.InvalidInputError, match="study") as failed:
        gyrator.study(tmp_path / "none.toml")
    assert failed.value.study is not None
    assert failed.value.study.columns == []
    gyrator.study(file)
    file.write_text(STUDY.replace("100.0", "50.0"), encoding="utf-8")
    with pytest.raises(gyrator.InvalidInputError, match="journal") as failed:
        gyrator.study(file)
    assert failed.value.study is not None
    assert failed.value.study.columns == []


def test_an_interrupted_study_goes_on(file: Path) -> None:
    text = STUDY.replace("[1e-3, 2e-3]", str([1e-3 / n for n in range(1, 6)]))
    file.write_text(text.replace("stop_time\" = 1.0", "stop_time\" = 30.0"), encoding="utf-8")

    def press() -> None:
        journal = file.with_name("study.csv.journal")
        while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        gyrator.study(file, worker_threads=1)
    assert not file.with_suffix(".csv").exists()
    study = gyrator.study(file, accept_divergence=True)
    assert len(study["case"]) == 20
    assert study.summary["earlier"] >= 2


def test_a_program_that_is_killed_is_named_by_its_signal() -> None:
    from gyrator._errors import message_of

    assert message_of("", {}, -9) == "the program gyrator was ended by signal 9"
    assert message_of("warning: slow\nerror: no\n", {}, 1) == "no"
