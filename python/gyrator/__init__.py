"""Couples FMUs by co-simulation, and accounts for the energy that the coupling makes.

:func:`run` runs a system file in a process of its own and returns a :class:`Result`.
"""

from ._errors import (
    CheckError,
    CrashError,
    Error,
    InterruptedRunError,
    InvalidInputError,
    LoadError,
    SimulationError,
    UsageError,
)
from ._program import PROGRAM
from ._result import Result
from ._run import run, simulate

__all__ = [
    "PROGRAM",
    "CheckError",
    "CrashError",
    "Error",
    "InterruptedRunError",
    "InvalidInputError",
    "LoadError",
    "Result",
    "SimulationError",
    "UsageError",
    "run",
    "simulate",
]
