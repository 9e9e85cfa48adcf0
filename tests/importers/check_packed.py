#!/usr/bin/env python3
"""Runs a system that gyrator packs as one FMU in FMPy and libcosim, importers that others made.

Packs the two oscillators of oscillators.toml with a correction, and compares every real output with the table that gyrator
writes for the system itself, bit for bit. Then prints the energy that the example double-oscillator.toml has after 10 s
in packed FMUs, and in the containers of FMPy and fmu-manipulation-toolbox.

usage: check_packed.py GYRATOR FMU_FOLDER
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import fmpy
from fmpy import extract, read_model_description
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu
from libcosimpy.CosimEnums import CosimVariableType
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimObserver import CosimObserver
from libcosimpy.CosimSlave import CosimLocalSlave

HERE = Path(__file__).resolve().parent
STEP = 1e-3  # macro-step of both systems, s
OUTPUTS = ["left.f", "left.x", "left.v", "right.x", "right.v"]


def gyrator(program, verb, system, fmus, folder, *options):
    """Runs a verb on a system file, with the FMUs of the folder."""
    text = re.sub(r"(\.\./)+target/fmus", lambda _: str(fmus), system.read_text(encoding="utf-8"))
    copy = folder / system.name
    copy.write_text(text, encoding="utf-8")
    subprocess.run([program, verb, copy, *options], check=True, stdout=subprocess.DEVNULL)


def steps_in_fmpy(fmu, names, steps, stop):
    """The variables of these names after each step of 1 ms, the start first."""
    description = read_model_description(str(fmu))
    references = {variable.name: variable.valueReference for variable in description.modelVariables}
    references = [references[name] for name in names]
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=extract(str(fmu)),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="packed",
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0, stopTime=stop)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    rows = [slave.getReal(references)]
    for step in range(steps):
        slave.doStep(step * STEP, STEP)
        rows.append(slave.getReal(references))
    slave.terminate()
    slave.freeInstance()
    return rows


def steps_in_libcosim(fmu, names, steps):
    """The variables of these names after each step of 1 ms, without the start."""
    execution = CosimExecution.from_step_size(round(STEP * 1e9))
    index = execution.add_local_slave(CosimLocalSlave(str(fmu), "packed"))
    observer = CosimObserver.create_time_series(buffer_size=steps + 1)
    assert execution.add_observer(observer)
    references = {v.name.decode(): v.reference for v in execution.slave_variables(index)}
    for name in names:
        assert observer.start_time_series(index, references[name], CosimVariableType.REAL)
    assert execution.step(steps)
    columns = []
    for name in names:
        samples = observer.time_series_real_samples(index, references[name], 1, steps)
        columns.append(list(samples[2]))
    return [list(row) for row in zip(*columns, strict=True)]


def differences(importer, rows, table):
    """Where the values differ in any bit."""
    if len(rows) != len(table):
        yield f"{len(rows)} communication points in {importer}, {len(table)} in gyrator"
    for number, (row, line) in enumerate(zip(rows, table)):
        for name, value in zip(OUTPUTS, row):
            if value.hex() != float(line[name]).hex():
                yield f"{name}, row {number}: {value!r} in {importer}, {line[name]} in gyrator"


def check_bits(program, fmus, folder):
    """Problems of the packed oscillators in both importers."""
    system, packed, table = HERE / "oscillators.toml", folder / "Pair.fmu", folder / "table.csv"
    correction = ["--correction", "residual-power"]
    gyrator(program, "run", system, fmus, folder, "-o", table, *correction)
    gyrator(program, "pack", system, fmus, folder, "-o", packed, *correction)
    subprocess.run([program, "validate", "--dynamic", packed], check=True)
    problems = [f"{packed.name}: {problem}" for problem in validate_fmu(str(packed))]
    with open(table, newline="", encoding="utf-8") as file:
        expected = list(csv.DictReader(file))
    steps = len(expected) - 1
    problems += differences("FMPy", steps_in_fmpy(packed, OUTPUTS, steps, 1.0), expected)
    problems += differences("libcosim", steps_in_libcosim(packed, OUTPUTS, steps), expected[1:])
    print(f"{packed.name}: {len(expected)} rows of {len(OUTPUTS)} outputs in FMPy and libcosim, {len(problems)} problems")
    return problems[:10]


# The same system in containers: output, input.
LINKS = [("f", "f"), ("x", "x2"), ("v", "v2")]
LEFT, RIGHT = "OscillatorForce", "OscillatorMotion"


def toolbox_container(fmus, folder):
    """A container of fmu-manipulation-toolbox."""
    container = json.loads((HERE / "container.json").read_text())
    # The start values of the example are the default ones of the FMUs.
    container |= {"name": "Toolbox.fmu", "start": []}
    (folder / "toolbox.json").write_text(json.dumps(container))
    for name in (LEFT, RIGHT):
        (folder / f"{name}.fmu").write_bytes((fmus / f"{name}.fmu").read_bytes())
    command = [sys.executable, "-m", "fmu_manipulation_toolbox.cli.fmucontainer", "-container", "toolbox.json"]
    command += ["-fmu-directory", str(folder), "-no-auto-input", "-no-auto-output", "-no-auto-link"]
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / "Toolbox.fmu"


def fmpy_container(fmus, folder):
    """A container of FMPy, as fmpy.container_fmu packs it."""
    descriptions = [read_model_description(str(fmus / f"{name}.fmu")) for name in (LEFT, RIGHT)]
    references = [{v.name: v.valueReference for v in d.modelVariables} for d in descriptions]

    def connection(source, links):
        sources, targets = references[source], references[1 - source]
        return {
            "variableType": "Float64",
            "srcComponent": source,
            "dstComponent": 1 - source,
            "srcValueReferences": [sources[output] for output, _ in links],
            "dstValueReferences": [targets[target] for _, target in links],
            "size": len(links),
        }

    outputs = [(int(name.startswith("right")), name.split(".")[1]) for name in OUTPUTS]
    container = {
        "containerVersion": "0.1.0",
        "instantiationToken": "{c}",
        "fixedStepSize": STEP,
        "parallelDoStep": False,
        "components": [
            {
                "fmiMajorVersion": "2",
                "name": name,
                "instantiationToken": description.guid,
                "modelIdentifier": name,
                "path": name,
            }
            for name, description in zip((LEFT, RIGHT), descriptions)
        ],
        "variables": [
            {"variableType": "Float64", "mappings": [[component, references[component][name]]]}
            for component, name in outputs
        ],
        "connections": [connection(0, LINKS[:1]), connection(1, LINKS[1:])],
    }
    names = [name.replace(".", "_") for name in OUTPUTS]
    variables = "".join(
        f'<ScalarVariable name="{name}" valueReference="{number}" causality="output" variability="continuous">'
        "<Real/></ScalarVariable>"
        # The container counts from 1: 0 is the time.
        for number, name in enumerate(names, start=1)
    )
    unknowns = "".join(f'<Unknown index="{number}"/>' for number in range(1, len(names) + 1))
    text = (
        '<?xml version="1.0" encoding="UTF-8"?><fmiModelDescription fmiVersion="2.0" modelName="c" guid="{c}">'
        '<CoSimulation modelIdentifier="container_fmu" canHandleVariableCommunicationStepSize="true"/>'
        f"<ModelVariables>{variables}</ModelVariables><ModelStructure><Outputs>{unknowns}</Outputs>"
        f"<InitialUnknowns>{unknowns}</InitialUnknowns></ModelStructure></fmiModelDescription>"
    )
    library = Path(fmpy.__file__).parent / "container_fmu/binaries/x86_64-linux/container_fmu.so"
    path = folder / "FMPy.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text)
        archive.writestr("resources/container.json", json.dumps(container))
        archive.write(library, "binaries/linux64/container_fmu.so")
        for name in (LEFT, RIGHT):
            with zipfile.ZipFile(fmus / f"{name}.fmu") as inner:
                for entry in inner.namelist():
                    archive.writestr(f"resources/{name}/{entry}", inner.read(entry))
    return path


def energy(row):
    """Energy of both masses and all springs of the example, J: m = 1 kg, k = 10 and 1000 N/m, k_c = 100 N/m."""
    _, x1, v1, x2, v2 = row
    return (v1**2 + v2**2 + 10.0 * x1**2 + 1000.0 * x2**2 + 100.0 * (x1 - x2) ** 2) / 2


def compare_energies(program, fmus, folder):
    """Prints how much energy is left of, or added to, the 10 kJ of the start; problems of packed FMUs."""
    system = HERE.parents[1] / "examples/double-oscillator.toml"
    containers = [
        ("FMPy 0.3.32, container", fmpy_container(fmus, folder), None),
        ("fmu-manipulation-toolbox 2.0, container", toolbox_container(fmus, folder), None),
    ]
    # Greatest error of a packed FMU, J, where it corrects or avoids what it makes: 1.5 % of the energy.
    for word, options, limit in [
        ("as the file is", [], None),
        ("--correction residual-power", ["--correction", "residual-power"], 150.0),
        ("--exchange fresh", ["--exchange", "fresh"], 150.0),
    ]:
        packed = folder / f"{len(containers)}.fmu"
        gyrator(program, "pack", system, fmus, folder, "-o", packed, *options)
        containers.append((f"gyrator pack, {word}", packed, limit))
    problems = []
    print(f"{'10 s of double-oscillator.toml':<45} fmpy validate   energy error, J")
    for name, fmu, limit in containers:
        found = validate_fmu(str(fmu))
        names = OUTPUTS if limit or "gyrator" in name else [n.replace(".", "_") for n in OUTPUTS]
        rows = steps_in_fmpy(fmu, names, 10000, 10.0)
        error = energy(rows[-1]) - energy(rows[0])
        print(f"{name:<45} {len(found)} problems {error:>20.1f}")
        if "gyrator" in name:
            problems += found
        if limit and abs(error) > limit:
            problems.append(f"{name}: energy error {error} J, at most {limit} J are expected")
    return problems


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[-1])
    log_output_level(CosimLogLevel.WARNING)
    program, fmus = (Path(argument).resolve() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        problems = check_bits(program, fmus, folder) + compare_energies(program, fmus, folder)
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
