"""The program that the package carries."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

#: The program ``gyrator``.
PROGRAM = Path(__file__).resolve().parent / "bin" / "gyrator"


def main() -> NoReturn:
    """Becomes the program: the command ``gyrator`` of an environment."""
    os.execv(PROGRAM, ["gyrator", *sys.argv[1:]])
