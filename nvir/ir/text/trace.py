"""A trace of the documented steps: an event for each that ran, in their order.

    with Trace() as trace:
        nvir.run_passes(module, "loop-unroll,licm", policy="documented")
    trace.of("UNR-30")      the events of one row of the notes

A function is a documented step by its decorator, which names the row of the notes:

    @step("UNR-30", "ExtractBound")
    def extract_bound(...): ...

An event holds all of its values, as JSON has them (`plain`); its line of text cuts collections
short, with their number (`shown`).
Nothing is noted, and nothing computed, where no trace is open. Steps stand in every room above, so
this stands in the lowest.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ParamSpec, TypeVar

import attrs

P = ParamSpec("P")
R = TypeVar("R")
_open: list[Trace] = []
_MOST = 6  # entries of a collection that a line tells
_LINES = 3  # instructions of a list that a line tells with their places
_DEEPEST = 3  # objects in objects


@attrs.frozen
class TraceEvent:
    """row: of the notes; step: what ran; inputs: what decided; outcome: what the next step reads,
    both as JSON has values; at: the loop at hand, by its header, or ""; text: inputs and outcome as
    a line tells them; function: whose code it is about, or ""."""

    row: str
    step: str
    inputs: Mapping[str, Any]
    outcome: Any
    at: str = ""
    text: str = ""
    function: str = ""

    def __str__(self) -> str:
        return f"{self.row} {self.step}{self.text or _line(self.inputs, self.outcome)}"


@attrs.frozen
class Brief:
    """A value of which a line tells something shorter, or in words what `whole` has as fields."""

    short: Any
    whole: Any


class Trace(list[TraceEvent]):
    """Events in their order, collected while it is entered. `at` names the loop at hand, `function`
    the function. With `only`, the header of a loop, nothing is noted of others."""

    at = function = ""

    def __init__(self, only: str | None = None) -> None:
        super().__init__()
        self.only = only

    @property
    def listens(self) -> bool:
        """Whether an event about what is at hand is wanted."""
        return self.only is None or self.at in ("", self.only)

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


def is_traced() -> bool:
    """Whether anybody listens: for events that cost work."""
    return bool(_open) and _open[-1].listens


def within(function: str) -> None:
    """Name the function that the next events are about."""
    if _open:
        _open[-1].function, _open[-1].at = function, ""


def note(row: str, name: str, outcome: Any, /, **inputs: Any) -> None:
    """Add an event to the innermost open trace."""
    if is_traced():
        _add(row, name, inputs, outcome)


def _add(row: str, name: str, inputs: Mapping[str, Any], outcome: Any) -> None:
    text = _line({k: shown(v, most=_MOST) for k, v in inputs.items()}, shown(outcome, most=_MOST))
    told = {k: plain(v) for k, v in inputs.items()}
    of = _open[-1]
    of.append(TraceEvent(row, name, told, plain(outcome), of.at, text, of.function))


def _line(inputs: Mapping[str, Any], outcome: Any) -> str:
    given = ", ".join(f"{k} {'none' if v in (None, '') else v}" for k, v in inputs.items())
    text = (f" ({given})" if given else "") + f": {_word(outcome)}"
    return text.replace("\n", "\\n").replace("\t", "\\t")


def step(
    row: str, name: str, *inputs: str, tell: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The decorator of a documented step. Its result is the outcome of the event, or what `tell`
    says of the result and the parameters; `inputs` are the parameters that are told, or a field
    or method of one (`rules.budget`)."""

    def wrap(f: Callable[P, R]) -> Callable[P, R]:
        names = tuple(inspect.signature(f).parameters)
        acts = f.__annotations__.get("return") == "None"

        @functools.wraps(f)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            if not is_traced():
                return f(*args, **kwargs)
            known = dict(zip(names, args, strict=False)) | kwargs
            given = {
                k.rpartition(".")[2]: _as_it_is(functools.reduce(_field, rest, known[first]))
                for k in inputs for first, *rest in [k.split(".")] if first in known
            }
            try:
                made = f(*args, **kwargs)
            except Exception as e:
                note(row, name, f"refused: {shown(getattr(e, 'code', None)) or e}", **given)
                raise
            told: Any = "done" if acts else made
            if tell is not None:
                told = tell(made, *(known.get(n) for n in names))
            note(row, name, told, **given)
            return made

        run.documented = row, name  # type: ignore[attr-defined]
        return run

    return wrap


def _field(value: Any, name: str) -> Any:
    found = None if value is None else getattr(value, name)
    return found() if inspect.ismethod(found) else found


def _as_it_is(value: Any) -> Brief:
    """What a step was given, before it changes that."""
    return Brief(shown(value, most=_MOST), plain(value))


def shown(value: Any, depth: int = 0, most: int | None = None) -> Any:
    """A value as an event tells it: plain, and by the name that people know; of collections `most`
    entries, None: all."""
    if isinstance(value, Enum):
        number = getattr(value, "number", int(value) if isinstance(value, int) else "")
        return f"{value.name} ({number})" if number != "" else value.name
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Brief):
        return shown(value.short, depth, most)
    if _is_instruction(value):
        return _instruction(value, alone=depth == 0)
    name = _named(value)
    if name is not None:
        return name
    if isinstance(value, Mapping):
        return _listed([f"{shown(k, depth, most)}: {shown(v, depth + 1, most)}"
                        for k, v in value.items()], most)
    if type(value) is tuple and value and isinstance(value[0], str | Enum):
        return _pair(value, depth, most)
    if type(value) in (tuple, list, set, frozenset):
        lines = most is None or len(value) <= _LINES
        told = [
            _instruction(v, True, lines) if _is_instruction(v) else str(shown(v, depth + 1, most))
            for v in value
        ]
        return _listed(told if isinstance(value, tuple | list) else sorted(told), most)
    if _speaks(value) or not attrs.has(type(value)):
        text = str(value)
        return type(value).__name__ if text.startswith("<") else text
    if depth > _DEEPEST:
        return type(value).__name__
    return ", ".join(
        f"{k} {shown(v, depth + 1, most)}" for k, v in _fields(value).items()
        if v not in ("", None)
    )


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it, whole: numbers, lists, fields by their names; what people know by a
    name stands as that name."""
    if isinstance(value, Brief):
        return plain(value.whole, depth)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if _is_instruction(value):
        return _instruction(value, alone=True)
    if value is None or isinstance(value, str | int | float) or _named(value) is not None:
        return shown(value)
    if isinstance(value, Mapping):
        return {str(shown(k)): plain(v, depth + 1) for k, v in value.items()}
    if _is_register(value):
        return shown(value)
    if type(value) in (tuple, list):
        return [plain(v, depth + 1) for v in value]
    if type(value) in (set, frozenset):
        return sorted((plain(v, depth + 1) for v in value), key=str)
    if _speaks(value) or not attrs.has(type(value)) or depth > _DEEPEST:
        return shown(value, depth)
    return {k: plain(v, depth + 1) for k, v in _fields(value).items()}


def _fields(value: Any) -> dict[str, Any]:
    names = (*(a.name for a in attrs.fields(type(value))), *getattr(value, "TOLD", ()))
    return {name: getattr(value, name) for name in names}


def _named(value: Any) -> str | None:
    """The name of a loop, which is that of its header, a block or a function."""
    for name in ("header", "name"):
        found = getattr(value, name, None)
        if not isinstance(value, Enum) and (isinstance(found, str) or hasattr(found, "name")):
            return str(getattr(found, "name", found))
    return None


def _speaks(value: object) -> bool:
    """Whether the class says how its values are written."""
    return any("__str__" in vars(c) for c in type(value).__mro__[:-1])


def _word(value: Any) -> Any:
    return {None: "none", "": "no objection"}.get(value, value)


def _listed(told: list[str], most: int | None) -> str:
    more = f" and {len(told) - most} more" if most and len(told) > most else ""
    apart = "; " if any(", " in x for x in told) else ", "
    return f"[{apart.join(told[:most])}{more}]"


def _is_instruction(value: Any) -> bool:
    return hasattr(value, "form") and hasattr(value, "results")


def _instruction(i: Any, alone: bool, lines: bool = True) -> str:
    """Its register where it stands for that; alone opcode, registers and line."""
    registers = " ".join(str(r.name) for r in i.results if r.name)
    if registers and not alone:
        return registers
    line = (i.line or (i.loc.line if i.loc else 0)) if lines else 0
    told = [str(i.form.spelling), registers, f"(line {line})" if line else ""]
    return " ".join(x for x in told if x)


def _pair(value: tuple[Any, ...], depth: int, most: int | None) -> str:
    """A code and its text, a register of a file, a word and its value."""
    first, *rest = value
    told = [str(shown(v, depth + 1, most)) for v in rest]
    if isinstance(first, Enum):
        return ": ".join([str(shown(first)), *told])
    return f"{first}{told[0]}" if _is_register(value) else " ".join([first, *told])


def _is_register(value: Any) -> bool:
    """Whether a pair is a register of a file."""
    return (type(value) is tuple and len(value) == 2 and isinstance(value[0], str)
            and value[0].isupper() and isinstance(value[1], int))
