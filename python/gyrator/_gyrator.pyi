from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, TypeAlias, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._result import Result

__all__ = [
    "Call",
    "ClosureUnit",
    "Follower",
    "Input",
    "LinearUnit",
    "Memory",
    "Output",
    "Run",
    "Snapshot",
    "System",
    "Table",
    "__version__",
    "column_types",
    "judge",
    "read_cases",
    "read_study",
    "read_table",
]

#: Version of the package.
__version__: str

_Value: TypeAlias = float | int | bool | str
_Word: TypeAlias = str | tuple[str, Mapping[str, _Value]]
_Ends: TypeAlias = tuple[str, str]

class _Unit(Protocol):
    @property
    def inputs(self) -> Mapping[str, float]: ...
    @property
    def outputs(self) -> Mapping[str, float]: ...
    @property
    def step(self) -> Callable[[Call], None]: ...

@final
class Call:
    """The arguments of a call to the ``step`` of a unit, which is called once per communication step and once for the initial outputs."""

    @property
    def time(self) -> float:
        """Time at the start of the step, s; the start time where the initial outputs are wanted."""

    @property
    def step(self) -> float:
        """Length of the step, s; 0 where the initial outputs are wanted."""

    @property
    def inputs(self) -> NDArray[np.float64]:
        """The inputs, in the order of their declaration."""

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The outputs to be filled in, in the order of their declaration; they hold the last ones."""

@final
class ClosureUnit:
    """A unit of inputs and outputs, which map names to start values, and a function that advances it."""

    def __new__(
        cls,
        inputs: Mapping[str, float],
        outputs: Mapping[str, float],
        step: Callable[[Call], None],
    ) -> ClosureUnit: ...
    @property
    def inputs(self) -> Mapping[str, float]:
        """Names of the inputs with their start values."""

    @property
    def outputs(self) -> Mapping[str, float]:
        """Names of the outputs with their start values."""

    @property
    def step(self) -> Callable[[Call], None]:
        """Is called with a ``Call``."""

@final
class LinearUnit:
    """A linear unit, A·x + B·u = dx/dt and C·x + D·u = y, stepped by the exact solution for inputs that are held.

    ``states`` are the start values of x, ``inputs`` and ``outputs`` names; the matrices are rows of numbers: A (states × states),
    B (states × inputs), C (outputs × states), D (outputs × inputs), of which D is the direct feed-through. It can save its state.
    """

    def __new__(
        cls,
        states: ArrayLike,
        inputs: Sequence[str],
        outputs: Sequence[str],
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        d: ArrayLike,
    ) -> LinearUnit: ...

@final
class Snapshot:
    """The state of a run at a communication point, to which the run can go back."""

    @property
    def time(self) -> float:
        """Simulated time, s."""

@final
class Input:
    """A handle of an input or a tunable parameter of one run, which is written without a look-up."""

@final
class Output:
    """A handle of an output, a local variable or a parameter of one run, which is read without a look-up."""

@final
class System:
    """Units, connections, power bonds and the experiment, by names: ``component.variable``.

    Words, as those of a system file (docs/system-files.md), are a ``str``, or a pair of it and a ``dict`` of settings.
    """

    def __new__(cls, step_size: float) -> System:
        """An empty system with this macro-step, s."""

    @staticmethod
    def from_file(
        path: str | PathLike[str], *, parameter_set: Sequence[str] | None = None
    ) -> System:
        """Reads a system from a file or a folder: TOML, SSP, OSP, MasterSim or INTO-CPS; of an SSP with these parameter sets."""

    def add(
        self,
        name: str,
        unit: _Unit | LinearUnit,
        *,
        step_size: float | None = None,
        extrapolation: _Word | None = None,
        exchange: str | None = None,
        start: Mapping[str, _Value] | None = None,
        keep_initial_inputs: bool = False,
    ) -> None:
        """Adds a unit: an object with ``inputs`` and ``outputs``, which map names to start values, and ``step``.

        ``step`` is called with a :class:`Call` once per communication step, and once for the initial outputs. An exception
        in it ends the run, as the cause of its :class:`SimulationError`. ``terminate``, if there is one, is called at the
        end of a run that went well. ``save``, which returns a state of any kind, and ``restore``, which is called with one of them, make
        :meth:`Run.save` work.
        """

    def add_fmu(
        self,
        name: str,
        path: str | PathLike[str],
        *,
        step_size: float | None = None,
        extrapolation: _Word | None = None,
        exchange: str | None = None,
        step_halvings: int | None = None,
        start: Mapping[str, _Value] | None = None,
        keep_initial_inputs: bool = False,
    ) -> None:
        """Adds an FMU. It runs in this process, where a crash of it is the end of Python."""

    def connect(
        self,
        output: str,
        input: str,
        *,
        gain: float | None = None,
        offset: float | None = None,
        convert: str | Mapping[str, _Value] | None = None,
        ignore_units: bool = False,
        derivative: str | None = None,
    ) -> None:
        """Connects an output to an input, which receives ``gain`` times the output and ``offset``, in its unit.

        ``convert`` is for an input of another type: ``round``, ``floor``, ``ceiling``, ``truncate``, ``nonzero``, or a mapping from values of the
        output, as texts, to those of the input. ``derivative`` is the variable of the same component that is the output's derivative by time.
        """

    def bond(
        self,
        name: str,
        effort: _Ends | Sequence[_Ends],
        flow: _Ends | Sequence[_Ends],
        *,
        sense: float | None = None,
        gain: float | None = None,
        correction: _Word | None = None,
        max_residual_energy: float | None = None,
    ) -> None:
        """Adds a power bond; ``effort`` and ``flow`` are each an output and the input that it feeds, or lists of such pairs, axis by axis.

        ``sense`` is -1 where the units count the effort the other way; ``gain`` is a factor between effort · flow and power. Beyond
        ``max_residual_energy``, J, the run ends.
        """

    def interface_model(
        self,
        name: str,
        component: str,
        exchange_step: float,
        *,
        bonds: Sequence[str],
        positions: Sequence[str] | None = None,
        inverse_mass: Sequence[str] | None = None,
        free_acceleration: Sequence[str] | None = None,
        accelerations: Sequence[str] | None = None,
        forces: Sequence[str] | None = None,
        stiffness: Sequence[str] | None = None,
        force_rates: Sequence[str] | None = None,
        order: str | None = None,
        **settings: _Value,
    ) -> None:
        """Adds an interface model of the multibody component ``component``, which exchanges values with the fast components at its bonds every
        ``exchange_step``, s (docs/coupling.md).

        ``positions``, ``inverse_mass`` (the upper triangle of W, row by row), ``free_acceleration`` and ``accelerations`` are outputs of ``component``;
        ``forces``, ``stiffness`` and ``force_rates`` are those of the fast components, as ``component.variable``. ``order`` says which side is
        stepped first; the settings are the further keys of a system file.
        """

    def start_time(self, seconds: float) -> None:
        """Sets the start time, s; 0 unless it is set."""

    def stop_time(self, seconds: float | None) -> None:
        """Sets the stop time, s; ``None`` is a run without an end."""

    def tolerance(self, relative: float | None) -> None:
        """Gives all FMUs this relative tolerance, or none with ``None``; unless it is set, each gets the one that it recommends."""

    def method(self, name: str, **settings: _Value) -> None:
        """Chooses the method, with its settings; "auto" by default, as in files."""

    def step_control(self, name: str, **settings: _Value) -> None:
        """Chooses the step control, with its settings."""

    def exchange(self, name: str) -> None:
        """Chooses the exchange mode of all components that have none of their own."""

    def extrapolation(self, name: str, **settings: _Value) -> None:
        """Chooses the extrapolation of all inputs whose component has none of its own; "auto" by default, as in files."""

    def correction(self, name: str, **settings: _Value) -> None:
        """Chooses the correction of all bonds that have none of their own."""

    def feed_forward(self, path: str | PathLike[str]) -> None:
        """Adds learned feed-forward to inputs: the file that ``gyrator learn`` writes."""

    def scenario(self, path: str | PathLike[str]) -> None:
        """Has the scenario of a file act on variables (docs/scenarios.md), in place of all actions so far."""

    def act(
        self,
        variable: str,
        action: str,
        *,
        time: float,
        until: float | None = None,
        **settings: _Value,
    ) -> None:
        """Acts on a variable from a time on, s, until another or for ever; settings are those of the action, as ``value``."""

    def _repr_html_(self) -> str: ...
    def check(self) -> list[str]:
        """The problems of the description."""

    def start(
        self,
        *,
        threads: int = 1,
        record: bool | str | Sequence[str] | None = None,
        record_interval: float | None = None,
        real_time: bool | float | None = None,
        overruns: str = "warn",
        cpu: int | None = None,
        fifo_priority: int | None = None,
        lock_memory: bool = False,
        check: str | PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
    ) -> Run:
        """Initialises the units and brings them to the start time; ``record`` names the columns, as ``output_variable`` of
        :func:`run`; all outputs where it is left out, none where it is false. ``check`` is a file of checks or a list of its tables, as of :func:`run`:
        they see every communication point, and :meth:`Run.stop` and :meth:`Run.run` raise :class:`CheckError` where one does not hold.

        ``real_time`` and the keywords after it are those of :func:`run`: communication points come at their time on the clock, and the summary
        of a run that has ended has ``real_time``.
        """

@final
class Run:
    """A system that runs in this process: at a communication point, ready for its next macro-step."""

    @property
    def time(self) -> float:
        """Simulated time, s."""

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended."""

    def step(self) -> bool:
        """Makes one macro-step; false where it was the last one."""

    def run_until(self, time: float) -> bool:
        """Steps until the communication point at this time, s, or after it where there is none; false where the run has ended."""

    def run(self) -> Result:
        """Steps until the stop time, or until a unit ends the run."""

    def stop(self) -> Result:
        """Ends the run here."""

    def result(self) -> Result:
        """The rows until now, and the report as a summary."""

    def output(self, name: str) -> Output:
        """A handle of an output, a local variable or a parameter."""

    def input(self, name: str) -> Input:
        """A handle of an input that no connection feeds, or a tunable parameter."""

    @overload
    def read(self, variable: str | Output, out: None = None) -> Any:
        """The value of a variable by its name or handle."""

    @overload
    def read(
        self, variable: Sequence[str | Output], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """The values of a list of real variables in an array, which may be ``out``."""

    def write(self, variable: str | Input, value: _Value) -> None:
        """Sets an input that no connection feeds, or a tunable parameter, by its name or handle."""

    def override_value(self, name: str, value: _Value) -> None:
        """Gives an input this value, whatever feeds it, until it is released; the name of an output stands for all that it feeds."""

    def save(self) -> Snapshot:
        """Saves the state at the present communication point; all units must be able to.

        A run that goes back to it and is given the same inputs has the same results, bit for bit.
        """

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to a saved state of this run. The recorded rows stay, and those that follow are appended."""

    def release(self, name: str) -> None:
        """Ends all actions on a variable."""

@final
class Memory:
    """Memory that numpy reads in place, by its array interface of version 3."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Table:
    """Columns of equal length; the first is the time, s."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def __len__(self) -> int: ...
    def values(self, name: str) -> Memory | list[str]:
        """The memory of a column of numbers or booleans, or the list of its texts."""

    def write(self, path: str | PathLike[str]) -> None:
        """Writes a file of doubles (docs/result-files.md), of text where there are columns of texts."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as a stream of Arrow."""

@final
class Follower:
    """Follows the file of doubles, or the CSV file, that a run writes."""

    def __new__(cls, path: str | PathLike[str]) -> Follower: ...
    def read(self) -> None:
        """Takes the rows that are there."""

    def finish(self, types: dict[str, str]) -> Table | None:
        """Takes the last rows of the run, which has ended, and gives all of them."""

def column_types(path: str | PathLike[str], is_system: bool) -> dict[str, str]:
    """Types of the variables of a system, or of one FMU, that are not of reals; none where the descriptions cannot be read."""

def judge(table: Table | None, checks: str, path: str, summary: str) -> list[str]:
    """Judges the checks of a text in TOML, which comes from ``path``, on a result; a line for each that does not hold."""

def read_cases(text: str) -> Table:
    """Reads the cases of a study, which is a text of comma-separated values; columns of numbers alone are numbers."""

def read_study(journal: str | PathLike[str]) -> Table:
    """The rows that a study has finished, in the order of its cases, from its journal."""

def read_table(path: str | PathLike[str], types: dict[str, str]) -> Table:
    """Reads a result file of any form, with types of the columns that are not of reals."""
