#!/usr/bin/env python3
"""Runs gyrator's FMUs in FMPy, an importer that others made.

Validates every FMU of a folder, simulates the two oscillators alone for some hundred steps, and
writes the results with all digits to <output>/<model>.csv. With CSV files of gyrator given as
well, compares them bit for bit.

    pip install fmpy
    check_fmpy.py target/fmus results [--gyrator <folder with <model>.csv>]
"""

import argparse
import csv
import sys
from pathlib import Path

from fmpy import extract, read_model_description
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu

STEPS = 500
STEP_SIZE = 1e-3
# Constant inputs and parameters that differ from the start values.
SETTINGS = {
    "OscillatorForce": {"x2": 0.25, "v2": -3.0, "k_c": 80.0, "c_c": 0.1, "v_start": 1.5},
    "OscillatorMotion": {"f": 2.5, "k": 900.0, "c": 0.1, "x_start": 0.125},
}


def simulate(fmu, settings):
    """Yields a row of time and outputs for each communication point."""
    description = read_model_description(fmu)
    variables = {variable.name: variable for variable in description.modelVariables}
    outputs = [v for v in description.modelVariables if v.causality == "output"]
    references = [v.valueReference for v in outputs]
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=extract(fmu),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName=description.modelName,
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0)
    for mode in ("parameter", "input"):
        for name, value in settings.items():
            if variables[name].causality == mode:
                slave.setReal([variables[name].valueReference], [value])
        if mode == "parameter":
            slave.enterInitializationMode()
    slave.exitInitializationMode()
    yield ["time"] + [f"{description.modelName}.{output.name}" for output in outputs]
    for step in range(STEPS + 1):
        if step > 0:
            slave.doStep((step - 1) * STEP_SIZE, STEP_SIZE)
        yield [step * STEP_SIZE] + slave.getReal(references)
    slave.terminate()
    slave.freeInstance()


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        # repr, which csv uses for floats, is the shortest text that reads back as the same double.
        csv.writer(file, lineterminator="\n").writerows(rows)


def differences(ours, theirs):
    """Lines that say where two result files differ in any bit of any number."""
    tables = []
    for path in (ours, theirs):
        with open(path, newline="", encoding="utf-8") as file:
            tables.append(list(csv.DictReader(file)))
    if len(tables[0]) != len(tables[1]):
        yield f"{len(tables[0])} rows in {ours}, {len(tables[1])} in {theirs}"
    for row, (a, b) in enumerate(zip(*tables)):
        for name, value in a.items():
            if name not in b or float(value).hex() != float(b[name]).hex():
                yield f"{name}, row {row}: {value} in {ours}, {b.get(name)} in {theirs}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fmus", type=Path, help="folder with the FMUs")
    parser.add_argument("output", type=Path, help="folder for FMPy's results")
    parser.add_argument("--gyrator", type=Path, help="folder with gyrator's results")
    arguments = parser.parse_args()

    problems = []
    fmus = sorted(arguments.fmus.glob("*.fmu"))
    if not fmus:
        problems.append(f"no FMU in {arguments.fmus}")
    for fmu in fmus:
        problems += [f"{fmu.name}: {problem}" for problem in validate_fmu(str(fmu))]
    print(f"FMPy validated {len(fmus)} FMUs")

    arguments.output.mkdir(parents=True, exist_ok=True)
    for model, settings in SETTINGS.items():
        result = arguments.output / f"{model}.csv"
        write(result, simulate(str(arguments.fmus / f"{model}.fmu"), settings))
        print(f"FMPy simulated {model}: {result}")
        if arguments.gyrator:
            found = list(differences(arguments.gyrator / f"{model}.csv", result))
            problems += found[:5]
            print(f"{model}: {len(found)} differences between gyrator and FMPy")

    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
