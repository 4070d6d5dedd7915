"""A trace of the documented steps: an event for each that ran, in their order.

    with Trace() as trace:
        nvir.run_passes(module, "loop-unroll,licm", policy="documented")
    trace.of("UNR-30")      the events of one row of the notes

A function is a documented step by its decorator, which names the row of the notes:

    @step("UNR-30", "ExtractBound")
    def extract_bound(...): ...

Nothing is noted, and nothing computed, where no trace is open. Steps stand in every room above, so
this stands in the lowest.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ParamSpec, TypeVar

import attrs

P = ParamSpec("P")
R = TypeVar("R")
_open: list[Trace] = []
_MOST = 6  # entries of a collection that are told
_DEEPEST = 2  # objects in objects


@attrs.frozen
class TraceEvent:
    """row: of the notes; step: what ran; inputs: what decided; outcome: what the next step reads;
    at: the loop at hand, by its header, or ""."""

    row: str
    step: str
    inputs: Mapping[str, Any]
    outcome: Any
    at: str = ""

    def __str__(self) -> str:
        given = ", ".join(f"{k} {v}" for k, v in self.inputs.items())
        outcome = "nothing" if self.outcome in (None, "") else self.outcome
        return f"{self.row} {self.step}" + (f" ({given})" if given else "") + f": {outcome}"


class Trace(list[TraceEvent]):
    """Events in their order, collected while it is entered. `at` names the loop at hand."""

    at = ""

    def __enter__(self) -> Trace:
        _open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _open.pop()

    def of(self, row: str) -> list[TraceEvent]:
        return [e for e in self if e.row == row]


def looking_at(header: str) -> None:
    """Name the loop that the next events are about."""
    if _open:
        _open[-1].at = header


def note(row: str, name: str, outcome: Any, /, **inputs: Any) -> None:
    """Add an event to the innermost open trace."""
    if _open:
        told = {k: shown(v) for k, v in inputs.items()}
        _open[-1].append(TraceEvent(row, name, told, shown(outcome), _open[-1].at))


def step(row: str, name: str, *inputs: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The decorator of a documented step. Its result is the outcome of the event; `inputs` are the
    parameters that are told."""

    def wrap(f: Callable[P, R]) -> Callable[P, R]:
        names = tuple(inspect.signature(f).parameters)

        @functools.wraps(f)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            if not _open:
                return f(*args, **kwargs)
            known = dict(zip(names, args, strict=False)) | kwargs
            given = {k: shown(known[k]) for k in inputs if k in known}
            try:
                made = f(*args, **kwargs)
            except Exception as e:
                note(row, name, f"refused: {shown(getattr(e, 'code', None)) or e}", **given)
                raise
            note(row, name, made, **given)
            return made

        run.documented = row, name  # type: ignore[attr-defined]
        return run

    return wrap


def shown(value: Any, depth: int = 0) -> Any:
    """A value as an event tells it: plain, and by the name that people know."""
    if isinstance(value, Enum):
        number = getattr(value, "number", int(value) if isinstance(value, int) else "")
        return f"{value.name} ({number})" if number != "" else value.name
    if value is None or isinstance(value, str | int | float):
        return value
    if depth > _DEEPEST:
        return type(value).__name__
    for name in ("header", "name", "form"):  # a loop, a block or function, an instruction
        found = getattr(value, name, None)
        if found is not None:
            return shown(getattr(found, "name", found), depth + 1)
    if isinstance(value, Mapping):
        value = [f"{shown(k, depth)}: {shown(v, depth + 1)}" for k, v in value.items()]
    if isinstance(value, tuple | list | set | frozenset):
        told = [str(shown(v, depth + 1)) for v in value]
        told = told if isinstance(value, tuple | list) else sorted(told)
        more = f" and {len(told) - _MOST} more" if len(told) > _MOST else ""
        apart = "; " if any(", " in x for x in told) else ", "
        return f"[{apart.join(told[:_MOST])}{more}]"
    if attrs.has(type(value)):
        names = (*(a.name for a in attrs.fields(type(value))), *getattr(value, "TOLD", ()))
        fields = {name: getattr(value, name) for name in names}
        return ", ".join(
            f"{k} {shown(v, depth + 1)}" for k, v in fields.items() if v not in ("", None)
        )
    text = str(value)
    return type(value).__name__ if text.startswith("<") else text
