"""Checks the tables that gyrator wrote when it ran FMUs made by other tools.

usage: check_foreign.py decay TABLE.csv
       check_foreign.py container TABLE.csv DIRECT.csv
"""

import csv
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


if __name__ == "__main__":
    {"decay": decay, "container": container}[sys.argv[1]](*sys.argv[2:])
    print(f"{sys.argv[1]}: as expected")
