#!/usr/bin/env python3
"""Runs every FMU of a folder ten steps in gyrator and in FMPy, and compares the outputs bit for bit.

For a collection of FMI 2.0 co-simulation FMUs from elsewhere. Each FMU is stepped from its default
start time with its default step size (0.01 s if it names none) and its default tolerance, if any.
Each importer runs in a process of its own, with a time limit. Arguments after RESULT.json go to
gyrator, for instance --preload libpython3.11.so.1.0 for FMUs that need an interpreter.

usage: zoo.py GYRATOR FMU_FOLDER [RESULT.json [GYRATOR_ARGUMENT ...]]
"""

import collections
import csv
import json
import math
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STEPS = 10
TIME_LIMIT = 60  # s, per FMU and importer


def experiment(description):
    """Start time and step size, s, and the tolerance or None."""
    default = description.defaultExperiment
    start = float(default.startTime) if default and default.startTime else 0.0
    step = float(default.stepSize) if default and default.stepSize else 0.01
    return start, step, float(default.tolerance) if default and default.tolerance else None


def simulate_with_fmpy(path):
    """Prints the outputs after ten steps as JSON: name and value, reals as hexadecimal literals."""
    from fmpy import extract, read_model_description
    from fmpy.fmi2 import FMU2Slave

    description = read_model_description(path, validate=False)
    start, step, tolerance = experiment(description)
    stop = max(start + STEPS * step, start + (STEPS - 1) * step + step)
    folder = tempfile.mkdtemp(prefix="zoo-fmpy-")
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=extract(path, folder),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName=description.coSimulation.modelIdentifier,
    )
    slave.instantiate()
    slave.setupExperiment(startTime=start, stopTime=stop, tolerance=tolerance)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    for index in range(STEPS):
        slave.doStep(start + index * step, step)
    values = {}
    for variable in description.modelVariables:
        if variable.causality != "output":
            continue
        reference = [variable.valueReference]
        match variable.type:
            case "Real":
                values[variable.name] = slave.getReal(reference)[0].hex()
            case "Integer" | "Enumeration":
                values[variable.name] = slave.getInteger(reference)[0]
            case "Boolean":
                values[variable.name] = int(bool(slave.getBoolean(reference)[0]))
            case "String":
                text = slave.getString(reference)[0]
                values[variable.name] = text.decode("utf-8", "replace") if text else ""
    print("VALUES " + json.dumps([start, step, values]), flush=True)
    import os

    os._exit(0)


def run(command):
    """Exit code and text of a command; the code is "timeout" where it took too long."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=TIME_LIMIT, cwd=tempfile.gettempdir(), stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return "timeout", "", "took too long"
    decode = lambda data: data.decode("utf-8", "replace")
    return done.returncode, decode(done.stdout), decode(done.stderr)


def with_fmpy(path):
    code, out, error = run([sys.executable, __file__, "--fmpy", str(path)])
    for line in out.splitlines():
        if line.startswith("VALUES "):
            return "ok", json.loads(line.removeprefix("VALUES "))
    last = error.strip().splitlines()[-1:] or [""]
    return f"{code}: {last[0][:300]}", None


def with_gyrator(gyrator, path, options):
    from fmpy import read_model_description

    try:
        start, step, _ = experiment(read_model_description(str(path), validate=False))
    except Exception:
        start, step = 0.0, 0.01
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        table = Path(folder) / "out.csv"
        command = [gyrator, "simulate", str(path), "-o", str(table), "--progress", "never", *options]
        command += ["--start-time", repr(start), "--step-size", repr(step), "--duration", repr(STEPS * step)]
        code, _, error = run(command)
        rows = []
        if table.exists():
            csv.field_size_limit(1 << 30)
            with open(table, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        return code, error, rows


def equal(expected, text):
    if isinstance(expected, str) and "0x" in expected or expected in ("nan", "inf", "-inf"):
        value = float.fromhex(expected)
        return value.hex() == float(text).hex() or (math.isnan(value) and math.isnan(float(text)))
    if isinstance(expected, int):
        return text in (str(expected), {0: "false", 1: "true"}.get(expected))
    return text == expected


def judge(gyrator, path, options):
    code, error, rows = with_gyrator(gyrator, path, options)
    verdict = {"fmu": path.name, "gyrator": code, "message": error.strip()[-1500:], "rows": len(rows)}
    verdict["fmpy"], found = with_fmpy(path)
    if code == 0 and found and rows:
        last, differing = rows[-1], []
        for name, value in found[2].items():
            column = next((c for c in last if c == name or c.endswith("." + name)), None)
            if column is None or not equal(value, last[column]):
                differing.append([name, value, last.get(column)])
        verdict["compared"], verdict["differing"] = len(found[2]), differing
    return verdict


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--fmpy":
        simulate_with_fmpy(sys.argv[2])
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[-1])
    gyrator, folder = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    options = sys.argv[4:]
    paths = sorted(folder.glob("*.fmu"))
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda path: judge(gyrator, path, options), paths))
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(json.dumps(verdicts, indent=1), encoding="utf-8")
    codes = collections.Counter(str(v["gyrator"]) for v in verdicts)
    print(f"{len(verdicts)} FMUs; gyrator's exit codes: {dict(codes)}")
    print(f"FMPy runs {sum(v['fmpy'] == 'ok' for v in verdicts)}")
    both = [v for v in verdicts if "differing" in v]
    print(f"both run {len(both)}; bit-equal {sum(not v['differing'] for v in both)}")
    for verdict in verdicts:
        if verdict["gyrator"] != 0:
            print(f"  {verdict['fmu']}: {verdict['gyrator']}: {verdict['message'].splitlines()[:3]} (FMPy: {verdict['fmpy']})")
        elif verdict.get("differing"):
            print(f"  {verdict['fmu']}: differs in {verdict['differing'][:3]}")


if __name__ == "__main__":
    main()
