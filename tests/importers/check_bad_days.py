#!/usr/bin/env python3
"""Runs FMUs of other exporters that fail, and looks at what gyrator says and keeps.

Builds slaves of pythonfmu that raise, sleep for ever, and deal in strings and booleans; takes the FMU
that JModelica.org exported for the package modestpy, which needs libgfortran.so.3. The packages
pythonfmu and modestpy's wheel come from the package index.

usage: check_bad_days.py GYRATOR LIBPYTHON
"""

import csv
import ctypes
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SLAVES = Path(__file__).with_name("pythonfmu_faults.py")
JMODELICA = "modestpy/test/resources/simple2R1C/Simple2R1C_linux64.fmu"


def build(folder, name):
    """The FMU of the slave class `name`; pythonfmu exports one class per file."""
    source = SLAVES.read_text(encoding="utf-8")
    pieces = source.split("\nclass ")
    chosen = [piece for piece in pieces[1:] if piece.startswith(name + "(")]
    script = folder / f"{name.lower()}.py"
    script.write_text("\nclass ".join([pieces[0], *chosen]), encoding="utf-8")
    command = [sys.executable, "-m", "pythonfmu", "build", "-f", script, "-d", folder]
    subprocess.run(command, check=True, capture_output=True)
    return folder / f"{name}.fmu"


def simulate(gyrator, fmu, *arguments):
    """Exit code, text and rows of ten steps of 0.01 s."""
    table = fmu.with_suffix(".csv")
    command = [gyrator, "simulate", fmu, "-o", table, "--progress", "never"]
    command += ["--step-size", "0.01", "--duration", "0.1", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    rows = []
    if table.exists():
        with open(table, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return done.returncode, done.stderr, rows


def expect(what, code, text, rows, wanted_code, wanted_words, wanted_rows):
    missing = [word for word in wanted_words if word not in text]
    if code != wanted_code or missing or len(rows) != wanted_rows:
        sys.exit(
            f"{what}: exit code {code} instead of {wanted_code}, {len(rows)} rows instead of "
            f"{wanted_rows}, without the words {missing}; it said:\n{text}"
        )
    print(f"{what}: as expected")


def last_value(row, name):
    return next(value for column, value in row.items() if column.split(".")[-1] == name)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[-1])
    gyrator, python = str(Path(sys.argv[1]).resolve()), ["--preload", sys.argv[2]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        found = simulate(gyrator, build(folder, "Raises"), *python, "--log-level", "info")
        expect("an exception in do_step", *found, 1, ["Raises", "fmi2DoStep", "0.05 s", "the valve is stuck"], 6)

        found = simulate(gyrator, build(folder, "Sleeps"), *python, "--timeout", "2")
        expect("a step without end", *found, 5, ["Sleeps", "fmi2DoStep", "0.05 s"], 6)

        code, text, rows = simulate(gyrator, build(folder, "Words"), *python, "--start-value", "greeting=Schritt")
        expect("strings and booleans", code, text, rows, 0, [], 11)
        seen = [last_value(rows[-1], name) for name in ("count", "on", "text")]
        if seen not in (["10", "0", 'Schritt, "10" ä'], ["10", "false", 'Schritt, "10" ä']):
            sys.exit(f"strings and booleans: the last row is {rows[-1]}")

        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*fetch, "--dest", folder, "modestpy==0.1.1"], check=True)
        fmu = folder / "Simple2R1C.fmu"
        with zipfile.ZipFile(next(folder.glob("modestpy-*.whl"))) as wheel:
            fmu.write_bytes(wheel.read(JMODELICA))
        found = simulate(gyrator, fmu)
        try:
            ctypes.CDLL("libgfortran.so.3")
            expect("JModelica.org, all libraries there", *found, 0, [], 11)
        except OSError:
            expect("JModelica.org, a library missing", *found, 4, ["libgfortran.so.3"], 0)


if __name__ == "__main__":
    main()
