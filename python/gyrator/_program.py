"""The program that the package carries."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

#: The program ``gyrator``.
PROGRAM = Path(__file__).resolve().parent / "bin" / "gyrator"
#: The library of packed FMUs, which the program has without Python: as xz, so that the wheel is small.
LIBRARY = PROGRAM.with_name("packed-fmu-library.so.xz")


def main() -> NoReturn:
    """Becomes the program: the command ``gyrator`` of an environment."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["pack"] and not any(word.split("=")[0] == "--library" for word in arguments):
        with tempfile.NamedTemporaryFile(suffix=".so") as library:
            library.write(lzma.decompress(LIBRARY.read_bytes()))
            library.flush()
            sys.exit(subprocess.call([PROGRAM, *arguments, "--library", library.name]))
    os.execv(PROGRAM, ["gyrator", *arguments])
