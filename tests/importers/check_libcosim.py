#!/usr/bin/env python3
"""Runs a system that gyrator exports as SSP in libcosim, an importer that others made.

Exports the two oscillators of oscillators.toml, runs the package in gyrator and in libcosim, and
compares the results: with the run of the TOML file to the bit, with every real output of libcosim to
the six digits that it writes.

usage: check_libcosim.py GYRATOR FMU_FOLDER
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from libcosimpy.CosimEnums import CosimVariableCausality, CosimVariableType
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimObserver import CosimObserver

SYSTEM = Path(__file__).with_name("oscillators.toml")


def table(path):
    """The columns of a result, by name."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def libcosim(package, steps):
    """The real outputs of all components after each step, as libcosim computes them."""
    execution = CosimExecution.from_ssp_file(str(package))
    # Observers of other kinds read all variables, inputs too, which FMI 2.0 forbids at the start.
    observer = CosimObserver.create_time_series(buffer_size=steps + 1)
    assert execution.add_observer(observer)
    outputs = []
    for slave in execution.slave_infos():
        component = slave.name.decode()
        index = execution.slave_index_from_instance_name(component)
        for variable in execution.slave_variables(index):
            is_output = variable.causality == CosimVariableCausality.OUTPUT.value
            if is_output and variable.type == CosimVariableType.REAL.value:
                name = f"{component}.{variable.name.decode()}"
                outputs.append((name, index, variable.reference))
                assert observer.start_time_series(
                    index, variable.reference, CosimVariableType.REAL
                )
    assert execution.step(steps)
    columns = {}
    for name, index, reference in outputs:
        _, numbers, values = observer.time_series_real_samples(index, reference, 1, steps)
        assert list(numbers) == list(range(1, steps + 1)), name
        columns[name] = list(values)
    return columns


def main():
    log_output_level(CosimLogLevel.WARNING)
    gyrator, fmus = (Path(argument).resolve() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        system, package = folder / "system.toml", folder / "system.ssp"
        system.write_text(SYSTEM.read_text().replace("../../target/fmus", str(fmus)))
        subprocess.run([gyrator, "export", system, "-o", package], check=True)
        for source, result in [(system, "toml.csv"), (package, "ssp.csv")]:
            subprocess.run([gyrator, "run", source, "-o", folder / result], check=True)
        assert (folder / "toml.csv").read_bytes() == (folder / "ssp.csv").read_bytes()
        own = table(folder / "ssp.csv")
        other = libcosim(package, len(own["time"]) - 1)
    count = 0
    for name, values in other.items():
        # The first row of gyrator is the start.
        for index, (one, two) in enumerate(zip(own[name][1:], values, strict=True), start=1):
            assert abs(one - two) <= 1e-6 * max(abs(one), abs(two)), (name, index, one, two)
            count += 1
    assert count > 0
    print(f"{package.name}: {count} values of {len(other)} outputs equal those of libcosim")


if __name__ == "__main__":
    main()
