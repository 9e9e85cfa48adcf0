"""Builds the program that the wheel carries, and then the wheel, with maturin.

Maturin packs the libraries of a crate or its programs, not both.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import (  # noqa: F401
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

HERE = Path(__file__).resolve().parent


def build_program():
    """Builds `gyrator` and copies it to where the package looks for it."""
    cargo = os.environ.get("CARGO", "cargo")
    build = [cargo, "build", "--release", "--locked", "--package", "gyrator-cli", "--bin", "gyrator"]
    # All features but `packed-fmu`: a wheel has 10 MB at most.
    build += ["--no-default-features", "--features", "parquet"]
    subprocess.run(build, cwd=HERE, check=True)
    ask = [cargo, "metadata", "--format-version", "1", "--no-deps", "--locked"]
    found = subprocess.run(ask, cwd=HERE, check=True, stdout=subprocess.PIPE)
    program = Path(json.loads(found.stdout)["target_directory"]) / "release" / "gyrator"
    folder = HERE / "gyrator" / "bin"
    folder.mkdir(exist_ok=True)
    shutil.copy2(program, folder / "gyrator")


def build_wheel(*arguments, **options):
    build_program()
    return maturin.build_wheel(*arguments, **options)


def build_editable(*arguments, **options):
    build_program()
    return maturin.build_editable(*arguments, **options)
