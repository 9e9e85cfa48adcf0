"""Rows of a reference script: printing them, and checking them against the data files.

A row is (case, configuration, metric, value, unit). The data file of a benchmark,
`crates/benchmark/data/<benchmark>.csv`, has a line for each of them, with how near another program has
to come (`norm` and `tolerance`) and the source of the value. Figures that tests cite and no benchmark has are in files of
the same columns beside the scripts.
"""

import argparse
import csv
import os
import sys

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(SCRIPTS, "..", "data")


def published(benchmark):
    """Lines of the data file of `benchmark`, as dictionaries; lines that begin with # are comments."""
    paths = [os.path.join(folder, benchmark + ".csv") for folder in (DATA, SCRIPTS)]
    with open(next(filter(os.path.exists, paths)), encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return list(csv.DictReader(lines))


def is_near(value, line):
    """Whether `value` is within the tolerance of a line of a data file; lines without one are only shown."""
    norm = line["norm"]
    if norm == "":
        return True
    if norm == "same":
        return value == line["value"]
    tolerance = float(line["tolerance"])
    if norm == "at most":
        return abs(value) <= tolerance
    if norm == "at least":
        return value >= tolerance
    reference = float(line["value"])
    if norm == "relative":
        return abs(value - reference) <= tolerance * abs(reference)
    if norm == "absolute":
        return abs(value - reference) <= tolerance
    if norm == "factor":
        return 1 / tolerance <= value / reference <= tolerance
    raise ValueError(f"unknown norm {norm!r}")


def text(value, digits=12):
    return value if isinstance(value, str) else f"{value:.{digits}g}"


def check(benchmark, rows, script, cell=""):
    """Prints the rows that are not those of the data file; their number is returned. Of the file's lines from this script,
    only those with `cell` in their case/configuration must be among the rows."""
    lines = {(line["case"], line["configuration"], line["metric"]): line for line in published(benchmark)}
    wrong = 0
    seen = set()
    for *name, value, unit in rows:
        name = tuple(name)
        seen.add(name)
        line = lines.get(name)
        if line is None:
            problem = f"has no line in {benchmark}.csv"
        elif line["unit"] != unit:
            problem = f"has the unit {unit!r}, in {benchmark}.csv {line['unit']!r}"
        elif not is_near(value, line):
            problem = f"is {text(value)}, in {benchmark}.csv {line['value']} ({line['norm']} {line['tolerance']})"
        else:
            continue
        wrong += 1
        print(f"{benchmark}/{'/'.join(name)} {problem}")
    for name, line in lines.items():
        if line["source"].startswith("reference/" + script) and cell in "/".join(name[:2]) and name not in seen:
            wrong += 1
            print(f"{benchmark}/{'/'.join(name)} is not computed by {script}")
    return wrong


def main(script, benchmarks, has_cells=False, digits=12):
    """Runs a script: `benchmarks` maps the name of each benchmark to a function that yields its rows; with `has_cells`,
    those whose case/configuration contains the function's argument. Printed values have `digits` significant digits."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the data files instead of printing")
    if has_cells:
        parser.add_argument("--cell", default="", help="only rows with this text in their case/configuration")
    arguments = parser.parse_args()
    script = os.path.basename(script)
    wrong = 0
    for benchmark, rows in benchmarks.items():
        rows = list(rows(arguments.cell) if has_cells else rows())
        if arguments.check:
            problems = check(benchmark, rows, script, arguments.cell if has_cells else "")
            print(f"{script}: {benchmark}: {len(rows)} rows, {problems} wrong")
            wrong += problems
        else:
            for *name, value, unit in rows:
                print(f"{benchmark}/{'/'.join(name)}\t{text(value, digits)}\t{unit}")
    sys.exit(1 if wrong else 0)
