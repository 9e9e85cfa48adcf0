"""Keywords of :func:`gyrator.run`, :func:`gyrator.simulate` and :func:`gyrator.study`: the options of the program, each of them once."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict, TypeVar, cast

from ._assertions import Checks

#: A path as Python's own functions take it.
StrPath = str | os.PathLike[str]
#: A value of a variable.
Value = float | int | bool | str


class _Shared(TypedDict, total=False):
    """Of all verbs."""

    scenario: StrPath | None
    output_file: StrPath | None
    summary: StrPath | None
    library_path: StrPath | Iterable[StrPath] | None
    preload: str | Iterable[str] | None
    cache: bool | StrPath | None
    compile: bool
    unpack_limit: Mapping[str, str | float] | None
    live: bool | str | None
    live_allow_remote: bool
    no_supervisor: bool
    timeout: float | None
    isolate: bool | str | Iterable[str] | None
    worker_threads: int | None
    log_level: str | None


class _OfSystems(TypedDict, total=False):
    """Of the verbs that read a system."""

    parameter_set: str | Iterable[str] | None
    variant: str | None
    coe: StrPath | None
    accept_divergence: bool
    resume: StrPath | None


class SimulateOptions(_Shared, total=False):
    """Of ``gyrator simulate``; ``record`` says whether there are rows."""

    start_time: float | None
    stop_time: float | None
    duration: float | None
    step_size: float | None
    tolerance: float | Literal["none"] | None
    start_value: Mapping[str, Value] | None
    input_file: StrPath | None
    time_column: str | None
    hold: str | Iterable[str] | None
    step_halvings: int | None
    error_bars: bool | float | None
    output_interval: float | None
    output_variable: str | Iterable[str] | None
    initialize_only: bool
    plot: StrPath | None
    report: StrPath | None
    markdown: StrPath | None
    profile: bool | StrPath | None
    record_calls: StrPath | None
    real_time: bool | float | None
    overruns: str | None
    cpu: int | None
    fifo_priority: int | None
    lock_memory: bool
    memory_limit: int | None
    no_nan_check: bool
    record: bool


class RunOptions(SimulateOptions, _OfSystems, total=False):
    """Of ``gyrator run``."""

    feed_forward: StrPath | None
    method: str | None
    step_control: str | None
    exchange: str | None
    extrapolation: str | None
    correction: str | None
    max_residual_energy: float | None
    check: Checks | None
    junit: StrPath | None
    save_state: StrPath | None
    at: float | None
    no_sense_check: bool
    no_verification: bool
    verification_limit: float | None


class StudyOptions(_Shared, _OfSystems, total=False):
    """Of ``gyrator study``."""

    shard: str | None
    dry_run: bool
    memory_limit: int | None
    keep_run_directories: bool


_Function = TypeVar("_Function", bound=Callable[..., Any])


def keywords(options: type) -> Callable[[_Function], _Function]:
    """Gives a function that takes ``**options`` their names in its signature, and has it refuse others, as Python does."""

    def named(function: _Function) -> _Function:
        taken = inspect.signature(function)
        others = [word for word in taken.parameters.values() if word.kind is not word.VAR_KEYWORD]
        parameters = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(name, kind), annotation=kind)
            for name, kind in _kinds(options).items()
        ]
        signature = taken.replace(parameters=[*others, *parameters])

        @functools.wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
            for name in options:
                if name not in signature.parameters:
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
            return function(*arguments, **options)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return cast(_Function, checked)

    return named


def _kinds(options: type) -> dict[str, str]:
    """The types of keywords, as they are written above."""
    kinds = options.__annotations__.items()
    return {name: getattr(kind, "__forward_arg__", str(kind)) for name, kind in kinds}


def _default(name: str, kind: str) -> bool | None:
    return name == "record" if kind == "bool" else None
