"""Couples FMUs by co-simulation, and accounts for the energy that the coupling makes.

:func:`run` runs a system file in a process of its own and returns a :class:`Result`, :func:`study` runs a study. A :class:`System` is described in Python, with FMUs and Python
code as its units, and steps in this process.
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
from ._gyrator import (
    Call,
    ClosureUnit,
    Input,
    LinearUnit,
    Output,
    Run,
    Snapshot,
    System,
    __version__,
)
from ._picture import Picture
from ._program import PROGRAM
from ._result import Result
from ._run import run, simulate
from ._study import Study, study

__all__ = [
    "PROGRAM",
    "Call",
    "CheckError",
    "ClosureUnit",
    "CrashError",
    "Error",
    "Input",
    "InterruptedRunError",
    "InvalidInputError",
    "LinearUnit",
    "LoadError",
    "Output",
    "Picture",
    "Result",
    "Run",
    "SimulationError",
    "Snapshot",
    "Study",
    "System",
    "UsageError",
    "__version__",
    "run",
    "simulate",
    "study",
]
