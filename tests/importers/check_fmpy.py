#!/usr/bin/env python3
"""Runs gyrator's FMUs in FMPy, an importer that others made.

Validates every FMU of the folder, couples the two oscillators of oscillators.toml in FMPy, and
compares every output with the table that gyrator writes for the same system, bit for bit.

usage: check_fmpy.py GYRATOR FMU_FOLDER
"""

import csv
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from fmpy import extract, read_model_description
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu

SYSTEM = Path(__file__).with_name("oscillators.toml")


class Component:
    """One FMU in FMPy, with variables by name."""

    def __init__(self, name, fmu):
        description = read_model_description(str(fmu))
        self.variables = {v.name: v for v in description.modelVariables}
        self.outputs = [v.name for v in description.modelVariables if v.causality == "output"]
        self.slave = FMU2Slave(
            guid=description.guid,
            unzipDirectory=extract(str(fmu)),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName=name,
        )

    def get(self, name):
        return self.slave.getReal([self.variables[name].valueReference])[0]

    def set(self, name, value):
        self.slave.setReal([self.variables[name].valueReference], [value])


def couple(system, fmus):
    """Simulates the system and yields a row, output by name, for each communication point."""
    experiment = system["experiment"]
    step_size, start = experiment["step_size"], experiment["start_time"]
    steps = round((experiment["stop_time"] - start) / step_size)
    components = {
        name: Component(name, fmus / Path(component["fmu"]).name)
        for name, component in system["components"].items()
    }
    bonds = [pair for bond in system["bonds"] for pair in bond["flow"] + bond["effort"]]
    wires = [
        (*wire["from"].split("."), *wire["to"].split("."))
        for wire in system["connections"] + bonds
    ]

    def outputs():
        return {
            f"{name}.{output}": component.get(output)
            for name, component in components.items()
            for output in component.outputs
        }

    for name, component in components.items():
        component.slave.instantiate()
        component.slave.setupExperiment(startTime=start)
        for variable, value in system["components"][name]["start_values"].items():
            component.set(variable, value)
        component.slave.enterInitializationMode()
    # In the order of the file each output is up to date when it is passed on.
    for source, output, target, variable in wires:
        components[target].set(variable, components[source].get(output))
    for component in components.values():
        component.slave.exitInitializationMode()
    yield {"time": start} | outputs()
    for step in range(steps):
        values = outputs()
        for source, output, target, variable in wires:
            components[target].set(variable, values[f"{source}.{output}"])
        for component in components.values():
            component.slave.doStep(start + step * step_size, step_size)
        yield {"time": start + (step + 1) * step_size} | outputs()
    for component in components.values():
        component.slave.terminate()
        component.slave.freeInstance()


def run_gyrator(gyrator, fmus, folder):
    """The table that gyrator writes for the system."""
    text = SYSTEM.read_text(encoding="utf-8").replace("../../target/fmus", str(fmus.resolve()))
    (folder / SYSTEM.name).write_text(text, encoding="utf-8")
    table = folder / "gyrator.csv"
    command = [gyrator, "run", folder / SYSTEM.name, "--output-file", table]
    subprocess.run(command, check=True)
    with open(table, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def differences(rows, table):
    """Says where a row and a line of the table differ in any bit of any output."""
    if len(rows) != len(table):
        yield f"{len(rows)} communication points in FMPy, {len(table)} in gyrator"
    for number, (row, line) in enumerate(zip(rows, table)):
        for name, value in row.items():
            if name not in line or value.hex() != float(line[name]).hex():
                yield f"{name}, row {number}: {value!r} in FMPy, {line.get(name)} in gyrator"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[-1])
    gyrator, fmus = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    archives = sorted(fmus.glob("*.fmu"))
    if not archives:
        sys.exit(f"no FMU in {fmus}")
    problems = []
    for archive in archives:
        problems += [f"{archive.name}: {problem}" for problem in validate_fmu(str(archive))]
    print(f"FMPy validated {len(archives)} FMUs")

    rows = list(couple(tomllib.loads(SYSTEM.read_text(encoding="utf-8")), fmus))
    with tempfile.TemporaryDirectory() as folder:
        found = list(differences(rows, run_gyrator(gyrator, fmus, Path(folder))))
    print(f"FMPy simulated {len(rows)} rows, {len(found)} values differ from gyrator's")
    problems += found[:10]
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
