#!/usr/bin/env python3
"""Runs the systems of `cargo xtask bench` in masters that others made, as far as they are installed.

FMUs are stepped in pairs, with all outputs exchanged once a step of 1 ms: of one FMU, cross-coupled, or of the two oscillators of the
examples. What is printed is the first output of the first instance: it counts the steps, or it is the force of the oscillators. `--record`
writes the outputs of each step as CSV.

usage: bench_peers.py --list
       bench_peers.py MASTER UNITS STEPS FOLDER FMU [FMU] [--record]
"""

import argparse
import csv
import ctypes
import ctypes.util
import importlib
import importlib.metadata
import importlib.util
import os
import shutil
import sys
from pathlib import Path

STEP_SIZE = 1e-3
#: Inputs and outputs of both ends of a pair, and its wires (end, output, other end, input), by the number of FMUs.
PAIRS = {
    1: (
        ((("u0", "u1"), ("y0", "y1")),) * 2,
        ((0, "y0", 1, "u0"), (0, "y1", 1, "u1"), (1, "y0", 0, "u0"), (1, "y1", 0, "u1")),
    ),
    2: (
        ((("x2", "v2"), ("f", "x", "v")), (("f",), ("x", "v"))),
        ((1, "x", 0, "x2"), (1, "v", 0, "v2"), (0, "f", 1, "f")),
    ),
}
#: Value reference of the first output of the first instance, of each system.
SHOWN = 2


class System:
    """Instances in pairs."""

    def __init__(self, units, fmus):
        self.units, self.fmus = units, fmus
        self.ends, self.wires = PAIRS[len(fmus)]
        self.shown = self.outputs(0)[0]

    def fmu(self, index):
        return self.fmus[index % len(self.fmus)]

    def inputs(self, index):
        return self.ends[index % 2][0]

    def outputs(self, index):
        return self.ends[index % 2][1]

    def connections(self):
        """Source, output, target and input of each connection."""
        for first in range(0, self.units, 2):
            for source, output, target, fed in self.wires:
                yield first + source, output, first + target, fed

    def names(self, separator):
        """All outputs."""
        return [f"fmu{index}{separator}{name}" for index in range(self.units) for name in self.outputs(index)]


def fmpy(system, steps, folder, record):
    """FMPy: the usual loop in Python over its slaves."""
    from fmpy import extract, read_model_description
    from fmpy.fmi2 import FMU2Slave

    slaves, references = [], []
    for index in range(system.units):
        fmu = system.fmu(index)
        unpacked = str(folder / fmu.stem)
        if index < len(system.fmus):
            extract(str(fmu), unzipdir=unpacked)
        description = read_model_description(unpacked)
        reference = {variable.name: variable.valueReference for variable in description.modelVariables}
        references.append([[reference[name] for name in names] for names in (system.inputs(index), system.outputs(index))])
        slave = FMU2Slave(
            guid=description.guid,
            unzipDirectory=unpacked,
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName=f"fmu{index}",
        )
        slave.instantiate()
        slave.setupExperiment(startTime=0.0)
        slave.enterInitializationMode()
        slave.exitInitializationMode()
        slaves.append(slave)
    sources = {
        (target, fed): (source, system.outputs(source).index(output))
        for source, output, target, fed in system.connections()
    }
    fed_by = [[sources[index, name] for name in system.inputs(index)] for index in range(system.units)]
    loop = list(zip(slaves, *zip(*references), fed_by))
    values = [slave.getReal(outputs) for slave, _, outputs, _ in loop]
    with open(folder / "fmpy.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["time", *system.names(".")])
        for step in range(steps):
            for slave, inputs, _, own in loop:
                slave.setReal(inputs, [values[source][place] for source, place in own])
            for slave in slaves:
                slave.doStep(currentCommunicationPoint=step * STEP_SIZE, communicationStepSize=STEP_SIZE)
            values = [slave.getReal(outputs) for slave, _, outputs, _ in loop]
            if record:
                rows.writerow([(step + 1) * STEP_SIZE, *(value for own in values for value in own)])
    return values[0][0]


def ecos(system, steps, folder, record):
    """ecos: one call makes all steps in C++."""
    from ecospy import EcosLib
    from ecospy.EcosSimulation import EcosSimulation
    from ecospy.EcosSimulationStructure import EcosSimulationStructure

    EcosLib.set_log_level("warn")
    structure = EcosSimulationStructure()
    for index in range(system.units):
        structure.add_model(f"fmu{index}", str(system.fmu(index)))
    for source, output, target, fed in system.connections():
        structure.make_real_connection(f"fmu{source}::{output}", f"fmu{target}::{fed}")
    simulation = EcosSimulation(STEP_SIZE, structure=structure)
    if record:
        simulation.add_csv_writer(str(folder / "ecos.csv"), identifiers=system.names("::"))
    simulation.init()
    simulation.step(steps)
    shown = simulation.get_real(f"fmu0::{system.shown}")
    simulation.terminate()
    return shown


SSP_NAMESPACES = (
    'xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" '
    'xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" '
    'xmlns:osp="http://opensimulationplatform.com/SSP/OSPAnnotations"'
)


def ssp(system, folder):
    """Writes the system as an SSP folder whose annotation asks libcosim for one thread."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "resources").mkdir(parents=True)
    for fmu in system.fmus:
        shutil.copy(fmu, folder / "resources" / fmu.name)

    def connectors(index):
        return "".join(
            f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Real/></ssd:Connector>'
            for kind, names in (("input", system.inputs(index)), ("output", system.outputs(index)))
            for name in names
        )

    components = "".join(
        f'<ssd:Component name="fmu{index}" type="application/x-fmu-sharedlibrary" source="resources/{system.fmu(index).name}">'
        f"<ssd:Connectors>{connectors(index)}</ssd:Connectors></ssd:Component>"
        for index in range(system.units)
    )
    wires = "".join(
        f'<ssd:Connection startElement="fmu{source}" startConnector="{output}" endElement="fmu{target}" endConnector="{fed}"/>'
        for source, output, target, fed in system.connections()
    )
    algorithm = f'<osp:Algorithm><osp:FixedStepAlgorithm baseStepSize="{STEP_SIZE}" numWorkerThreads="0"/></osp:Algorithm>'
    experiment = (
        '<ssd:DefaultExperiment startTime="0.0"><ssd:Annotations><ssc:Annotation type="com.opensimulationplatform">'
        f"{algorithm}</ssc:Annotation></ssd:Annotations></ssd:DefaultExperiment>"
    )
    (folder / "SystemStructure.ssd").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<ssd:SystemStructureDescription {SSP_NAMESPACES} name="bench" version="1.0"><ssd:System name="root">'
        f"<ssd:Elements>{components}</ssd:Elements><ssd:Connections>{wires}</ssd:Connections></ssd:System>"
        f"{experiment}</ssd:SystemStructureDescription>\n"
    )
    return folder


def libcosim(system, steps, folder, record):
    """libcosim on one thread: one call makes all steps but the last in C++."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    log_output_level(CosimLogLevel.ERROR)
    execution = CosimExecution.from_ssp_file(str(ssp(system, folder / "libcosim")))
    if record:
        results = folder / "libcosim-results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir()
        execution.add_observer(CosimObserver.create_to_dir(str(results)))
    execution.step(1)
    assert execution.simulate_until(round((steps - 1) * STEP_SIZE * 1e9))
    # Added late, as it reads all variables, inputs too, which FMI 2.0 forbids at the start.
    last = CosimObserver.create_last_value()
    execution.add_observer(last)
    execution.step(1)
    return last.last_real_values(execution.slave_index_from_instance_name("fmu0"), [SHOWN])[0]


def omsimulator_library():
    """The C library of OMSimulator: by OMSIMULATOR_LIBRARY, in its Python package, or where the system has it."""
    named = os.environ.get("OMSIMULATOR_LIBRARY")
    if named:
        return named
    found = importlib.util.find_spec("OMSimulator")
    for place in (found.submodule_search_locations if found else None) or []:
        for library in Path(place).rglob("libOMSimulator.so"):
            return str(library)
    return ctypes.util.find_library("OMSimulator")


def omsimulator(system, steps, folder, record):
    """OMSimulator by its C interface: one call makes all steps in C++."""
    library = ctypes.CDLL(omsimulator_library())
    text = str.encode
    for name in ("oms_setFixedStepSize", "oms_setStopTime", "oms_setLoggingInterval"):
        getattr(library, name).argtypes = [ctypes.c_char_p, ctypes.c_double]
    library.oms_addConnection.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_bool]
    library.oms_setResultFile.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    library.oms_getReal.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_double)]

    def call(name, *arguments):
        # 0 is OK, 1 a warning.
        status = getattr(library, name)(*arguments)
        assert status <= 1, f"{name} returned {status}"

    call("oms_setTempDirectory", text(str(folder)))
    call("oms_newModel", b"bench")
    weakly_coupled = 1
    call("oms_addSystem", b"bench.root", weakly_coupled)
    for index in range(system.units):
        call("oms_addSubModel", text(f"bench.root.fmu{index}"), text(str(system.fmu(index))))
    for source, output, target, fed in system.connections():
        ends = text(f"bench.root.fmu{source}.{output}"), text(f"bench.root.fmu{target}.{fed}")
        call("oms_addConnection", *ends, False)
    call("oms_setResultFile", b"bench", text(str(folder / "omsimulator.csv")) if record else b"", 10)
    call("oms_setFixedStepSize", b"bench.root", STEP_SIZE)
    call("oms_setStopTime", b"bench", steps * STEP_SIZE)
    if record:
        call("oms_setLoggingInterval", b"bench", 0.0)
    for action in ("oms_instantiate", "oms_initialize", "oms_simulate"):
        call(action, b"bench")
    shown = ctypes.c_double()
    call("oms_getReal", text(f"bench.root.fmu0.{system.shown}"), ctypes.byref(shown))
    call("oms_terminate", b"bench")
    return shown.value


#: Name, package, and the function that runs it.
MASTERS = {
    "fmpy": ("FMPy", fmpy),
    "ecos": ("ecospy", ecos),
    "libcosim": ("libcosimpy", libcosim),
    "omsimulator": ("OMSimulator", omsimulator),
}
MODULES = {"fmpy": "fmpy", "ecos": "ecospy", "libcosim": "libcosimpy.CosimExecution"}


def state(name):
    """Its version, or why it cannot be run."""
    package, _ = MASTERS[name]
    try:
        if name == "omsimulator":
            if omsimulator_library() is None:
                raise OSError("no libOMSimulator.so: name it in OMSIMULATOR_LIBRARY")
            ctypes.CDLL(omsimulator_library())
        else:
            importlib.import_module(MODULES[name])
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown version"
    except (ImportError, OSError) as error:
        return f"not installed ({error})"


def main():
    if sys.argv[1:] == ["--list"]:
        for name in MASTERS:
            print(name, state(name), sep="\t")
        return
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("master", choices=MASTERS)
    parser.add_argument("units", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("fmus", type=Path, nargs="+")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    # Some masters print, also when the process ends: the value alone goes where the caller reads it.
    output = os.dup(1)
    os.dup2(2, 1)
    _, run = MASTERS[options.master]
    system = System(options.units, [fmu.resolve() for fmu in options.fmus])
    shown = run(system, options.steps, options.folder.resolve(), options.record)
    os.write(output, f"{shown:.17g}\n".encode())
    # libcosim and ecos may fail in the destructors of their libraries.
    os._exit(0)


main()
