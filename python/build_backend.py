"""Builds the program that the wheel carries, and then the wheel, with maturin.

Maturin packs the libraries of a crate or its programs, not both. The program is that of ``cargo build --release`` without components on other machines,
and the library of packed FMUs, which it has as bytes, lies beside it as xz, for ``gyrator._program``: a wheel has 12 MB at most. A program that was built
before stays where it is.
"""

import json
import lzma
import os
import shutil
import subprocess
import zipfile
import zlib
from pathlib import Path

import deflate
import maturin
from maturin import (  # noqa: F401
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

HERE = Path(__file__).resolve().parent
# The default features of the program but `remote`, which is a tenth of it.
FEATURES = "gyrator-cli/benchmark,gyrator-cli/packed-fmu,gyrator-cli/parquet"
# With `workspace-hack`, which the extension module depends on, both are made of the packages that `cargo build --release` compiles.
PACKAGES = ["--package", "gyrator-cli", "--package", "workspace-hack"]
# The link is optimised as this package is: the program of a release build is faster, and larger.
LEVEL = ["--config", 'profile.release.package.gyrator-cli.opt-level="s"', "--config", 'profile.release.package.gyrator-cli.strip="symbols"']

# A quarter smaller than what a wheel can do.
XZ = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


def build_program():
    """Builds `gyrator` and puts it where the package looks for it, with its library of packed FMUs, and the licences that `cargo xtask dist` names."""
    cargo = os.environ.get("CARGO", "cargo")
    ask = [cargo, "metadata", "--format-version", "1", "--no-deps", "--locked"]
    found = subprocess.run(ask, cwd=HERE, check=True, stdout=subprocess.PIPE)
    release = Path(json.loads(found.stdout)["target_directory"]) / "release"
    earlier = release / "gyrator.earlier"
    if (release / "gyrator").exists():
        shutil.copy2(release / "gyrator", earlier)
    build = ["build", "--release", "--locked", *PACKAGES, "--bin", "gyrator", "--no-default-features", "--features", FEATURES, *LEVEL]
    subprocess.run([cargo, *build], cwd=HERE.parent, check=True)
    program = (release / "gyrator").read_bytes()
    library = (release / "deps" / "libgyrator_packed_fmu_library.so").read_bytes()
    if not library or program.count(library) != 1:
        raise RuntimeError(f"the library of packed FMUs in {release / 'deps'} is not that of {release / 'gyrator'}: build the program again")
    folder = HERE / "gyrator" / "bin"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "gyrator").write_bytes(program.replace(library, bytes(len(library))))
    shutil.copymode(release / "gyrator", folder / "gyrator")
    (folder / "packed-fmu-library.so.xz").write_bytes(lzma.compress(library, filters=XZ))
    licences = os.environ.get("GYRATOR_LICENCES")
    if licences:
        shutil.copyfile(licences, folder / "LICENCES.txt")
    if earlier.exists():
        earlier.replace(release / "gyrator")


def compress(wheel):
    """Compresses a wheel as well as its format allows: libdeflate makes it 6 % smaller than maturin does.

    `zipfile` has no other deflate than that of zlib, so that it stores what is compressed, and the header says so afterwards.
    """
    larger = wheel.with_suffix(".larger")
    wheel.rename(larger)
    with zipfile.ZipFile(larger) as given, zipfile.ZipFile(wheel, "w") as smaller:
        for entry in given.infolist():
            content = given.read(entry)
            entry.compress_type = zipfile.ZIP_STORED
            smaller.writestr(entry, deflate.deflate_compress(content, 12))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.file_size, entry.CRC = len(content), zlib.crc32(content)
            smaller.fp.seek(entry.header_offset)
            smaller.fp.write(entry.FileHeader(zip64=False))
            smaller.fp.seek(smaller.start_dir)
    larger.unlink()
    with zipfile.ZipFile(wheel) as made:
        damaged = made.testzip()
    if damaged:
        raise RuntimeError(f"{damaged} in {wheel.name} is damaged")


def build_wheel(wheel_directory, *arguments, **options):
    build_program()
    name = maturin.build_wheel(wheel_directory, *arguments, **options)
    compress(Path(wheel_directory, name))
    return name


def build_editable(*arguments, **options):
    build_program()
    return maturin.build_editable(*arguments, **options)
