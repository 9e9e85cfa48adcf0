"""Checks the tables that gyrator wrote when it ran FMUs made by other tools.

usage: check_foreign.py decay TABLE.csv
       check_foreign.py container TABLE.csv DIRECT.csv
       check_foreign.py bars TABLE.csv FINER.csv SUMMARY.json
"""

import csv
import json
import math
import sys

SIGNALS = ["left.f", "left.x", "left.v", "right.x", "right.v"]


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if len(rows) < 100:
        sys.exit(f"{path}: {len(rows)} rows show nothing")
    return rows


def check(where, value, expected):
    if value != expected:
        sys.exit(f"{where}: {value!r} instead of {expected!r}")


def decay(path):
    """Forward Euler of x' = u - k x with u = 0, k = 2, h = 0.01: the slave's own arithmetic, so no tolerance."""
    expected = 1.0
    for index, row in enumerate(read(path)):
        check(f"{path}: row {index}", float(row["decay.x"]), expected)
        expected += 0.01 * (0.0 - 2.0 * expected)


def container(path, direct):
    """The container calls the same binaries with the same numbers as gyrator does without it, so no tolerance."""
    rows, references = read(path), read(direct)
    check(f"{path}: rows", len(rows), len(references))
    for index, (row, reference) in enumerate(zip(rows, references)):
        for signal in SIGNALS:
            expected = float(reference[signal])
            value = float(row["pair." + signal.replace(".", "_")])
            check(f"{path}: row {index}, {signal}", value, expected)


def bars(path, finer, summary):
    """The estimated errors are within a factor 1.5 of the difference from a run at a twentieth of the macro-step."""
    rows, references = read(path), read(finer)
    check(f"{finer}: rows", len(references), len(rows))
    with open(summary) as file:
        found = {bar["variable"]: bar["error"] for bar in json.load(file)["error_bars"]}
    check(f"{summary}: signals", sorted(found), ["one.x", "two.x"])
    for signal, error in found.items():
        squares = [(float(row[signal]) - float(fine[signal])) ** 2 for row, fine in zip(rows, references)]
        ratio = error / math.sqrt(sum(squares) / len(squares))
        if not 1 / 1.5 < ratio < 1.5:
            sys.exit(f"{summary}: the error of {signal} is {ratio:.3f} times the true one")


if __name__ == "__main__":
    {"decay": decay, "container": container, "bars": bars}[sys.argv[1]](*sys.argv[2:])
    print(f"{sys.argv[1]}: as expected")
