"""Knobs: the one place where a pass finds its numbers.

knobs.json lists every knob by name, with type, default, range, where the default
comes from, and which pass reads it; `Knob` says what the columns mean. `Knobs` holds the values
of one run: defaults under a policy, overridden by the user for the whole module
or for single blocks.

    knobs = Knobs({"UnrollBudget": 200, "HoistLate@$L__BB0_2": 3})
    knobs.get("UnrollBudget")                    200
    knobs.get("HoistLate", block="$L__BB0_2")    3
    knobs.get("HoistLate")                       None: unset

An override for a block beats one for the module, and that beats the default.
A block is named `BLOCK` or, where several functions have it, `FUNCTION:BLOCK`.
"""

from __future__ import annotations

import codecs
import difflib
import enum
import functools
import json
import math
import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from nvir.ir.errors import NvirError
from nvir.sm.origin import Origin

KnobType = Literal["BOOL", "INT", "FLOAT", "DOUBLE", "STR", "SET"]
Policy = Literal["observed", "documented"]
POLICIES: tuple[Policy, ...] = ("observed", "documented")


def policy_named(name: Any) -> Policy:
    """The policy that a name means: the old name of `documented` still holds."""
    policy: Policy = "documented" if name == "notes" else name
    return policy

INT_MAX = 2**31 - 1


class KnobKind(enum.IntEnum):
    """Which of a knob's storage forms is set. 0 to 3 are the real tool's, TEXT is ours."""

    DEFAULT = 0
    INT = 1
    FLOAT = 2
    DOUBLE = 3
    TEXT = 4


_KIND_OF: dict[KnobType, KnobKind] = {
    "BOOL": KnobKind.INT, "INT": KnobKind.INT, "FLOAT": KnobKind.FLOAT,
    "DOUBLE": KnobKind.DOUBLE, "STR": KnobKind.TEXT, "SET": KnobKind.TEXT,
}


def _frozen(default: Any) -> Any:
    return frozenset(default) if isinstance(default, list) else default


def _tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(values)  # of a builtin, attrs would parse the signature


@attrs.frozen
class Knob:
    """A row of the table.

    row         its row in the coverage list, for tests and documents
    number      the real tool's number for it, None where not known
    default     None: unset
    origin      of the default: "noted" in the notes, "observed" on the real tool, "assumed" (ours)
    observed    default under policy "observed" where it differs from the noted one
    later       default for pass ids above 0, where the instances of a pass differ
    low, high   inclusive range of the numeric types
    choices     the values that are allowed, where they are few
    form        what a text has to look like, as a regular expression; `meaning` says it in words
    alias       another knob that is read while this one is unset
    readers     passes that read it; none: `inert` says why
    policy      the one policy under which anything reads it, "" where both do
    idle        why it changes no step of policy "documented", though passes look at it
    """

    name: str
    type: KnobType
    default: Any = attrs.field(converter=_frozen)
    meaning: str
    row: str = ""
    number: int | None = None
    origin: Origin = "noted"
    observed: Any = None
    later: Any = None
    low: float = 0
    high: float = INT_MAX
    choices: tuple[Any, ...] = attrs.field(default=(), converter=_tuple)
    form: str = ""
    alias: str = ""
    readers: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    inert: str = ""
    policy: str = ""
    idle: str = ""

    @property
    def encoded(self) -> str:
        """The name as the real binary stores it (ROT13)."""
        return rot13(self.name)

    def is_silent(self, policy: Policy) -> bool:
        """Whether nothing reads it under a policy, although passes read it under another."""
        return self.policy not in ("", policy)

    def default_for(self, policy: Policy = "observed", pass_id: int = 0) -> Any:
        """The value that holds when nobody overrides it; None: unset."""
        if policy == "observed" and self.observed is not None:
            return self.observed
        if pass_id > 0 and self.later is not None:
            return self.later
        return self.default

    def read(self, value: Any) -> Any:
        """`value`, given as text or as a Python value, in the knob's type. Raises NvirError."""
        try:
            out = _CONVERT[self.type](value)
        except (ValueError, TypeError, OverflowError):
            raise self._refuse(value, _EXPECTED[self.type]) from None
        if self.type in ("INT", "FLOAT", "DOUBLE") and not self.low <= out <= self.high:
            raise self._refuse(value, f"a number from {_show(self.low)} to {_show(self.high)}")
        if self.form and not re.fullmatch(self.form, out):
            raise self._refuse(value, self.meaning)
        if self.choices and out not in self.choices:
            raise self._refuse(value, "one of " + ", ".join(map(str, self.choices)))
        return out

    def _refuse(self, value: Any, expected: str) -> NvirError:
        return NvirError(f"knob {self.name} ({self.type}) takes {expected}, not {value!r}")


def rot13(name: str) -> str:
    """Knob names as the binary stores them, and back: the mapping is its own inverse."""
    return codecs.encode(name, "rot13")


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    words = {"1": True, "true": True, "on": True, "yes": True}
    words |= {"0": False, "false": False, "off": False, "no": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError


def _int(value: Any) -> int:
    if isinstance(value, str):
        return int(value, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError
    return value


def _double(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _single(value: Any) -> float:
    """Single precision, as the real tool holds FLOAT knobs."""
    return float(struct.unpack("<f", struct.pack("<f", _double(value)))[0])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _set(value: Any) -> frozenset[str]:
    names = value.split(",") if isinstance(value, str) else list(value)
    if not all(isinstance(n, str) for n in names):
        raise ValueError
    return frozenset(n.strip() for n in names if n.strip())


_CONVERT: dict[KnobType, Any] = {
    "BOOL": _bool, "INT": _int, "FLOAT": _single, "DOUBLE": _double, "STR": _text, "SET": _set,
}
_EXPECTED: dict[KnobType, str] = {
    "BOOL": "true or false", "INT": "an integer", "FLOAT": "a finite number",
    "DOUBLE": "a finite number", "STR": "text", "SET": "names separated by commas",
}


def _show(number: float) -> str:
    return f"{number:.10g}"


class Knobs:
    """The knob values of one run."""

    def __init__(
        self, values: Mapping[str, Any] | None = None, policy: Policy = "observed"
    ) -> None:
        policy = policy_named(policy)
        if policy not in POLICIES:
            raise NvirError(f"policy is one of {', '.join(POLICIES)}, not {policy!r}")
        self.policy: Policy = policy
        self._values: dict[str, Any] = {}
        self._blocks: dict[tuple[str, str], Any] = {}
        self._met: set[tuple[str, str]] = set()  # of them those that a pass asked for
        for name, value in (values or {}).items():
            self.set(name, value)

    @classmethod
    def parse(cls, settings: Iterable[str], policy: Policy = "observed") -> Knobs:
        """From `NAME=VALUE` texts, as the command line has them. Raises NvirError."""
        knobs = cls(policy=policy)
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals:
                raise NvirError(f"a knob is set as NAME=VALUE, not {setting!r}")
            knobs.set(name.strip(), value.strip())
        return knobs

    def set(self, name: str, value: Any) -> None:
        """Override a knob: `NAME` for the module, `NAME@BLOCK` or `NAME@FUNCTION:BLOCK`."""
        plain, at, block = name.partition("@")
        converted = knob(plain).read(value)
        if at and not block:
            raise NvirError(f"knob {plain}: the block after '@' is missing")
        if at:
            self._blocks[plain, block] = converted
        else:
            self._values[plain] = converted

    def get(
        self, name: str, *, block: str | None = None, function: str | None = None, pass_id: int = 0
    ) -> Any:
        """The value in the knob's type, None where unset. Raises NvirError for an unknown name."""
        row = knob(name)
        key = self._override(name, block, function)
        if key is not None:
            return key[1]
        if row.alias:
            return self.get(row.alias, block=block, function=function, pass_id=pass_id)
        return row.default_for(self.policy, pass_id)

    def kind(
        self, name: str, *, block: str | None = None, function: str | None = None
    ) -> KnobKind:
        """DEFAULT, or in which storage form the knob is overridden."""
        row = knob(name)
        overridden = self._override(name, block, function) is not None
        return _KIND_OF[row.type] if overridden else KnobKind.DEFAULT

    def _override(
        self, name: str, block: str | None, function: str | None
    ) -> tuple[bool, Any] | None:
        if block is not None and self._blocks:
            for place in (f"{function}:{block}", block):
                if (name, place) in self._blocks:
                    self._met.add((name, place))
                    return True, self._blocks[name, place]
        return (True, self._values[name]) if name in self._values else None

    def overrides(self) -> dict[str, Any]:
        """What was set, by `NAME` and `NAME@BLOCK`."""
        return self._values | {f"{n}@{b}": v for (n, b), v in self._blocks.items()}

    def copy(self) -> Knobs:
        """The same, to be changed; what is asked of either counts for both."""
        made = Knobs(self.overrides(), self.policy)
        made._met = self._met
        return made

    def unmet(self) -> list[tuple[str, str]]:
        """Settings of single blocks that nothing asked for: the knob and the block."""
        return [key for key in self._blocks if key not in self._met]


def knob(name: str) -> Knob:
    """The row of that name. Raises NvirError with the nearest names."""
    rows = _by_name()
    row = rows.get(name)
    if row is None:
        near = difflib.get_close_matches(name, rows, n=3, cutoff=0.5)
        by_case = [n for n in rows if n.lower() == name.lower()]
        hint = f"; did you mean {' or '.join(by_case or near)}?" if by_case or near else ""
        raise NvirError(f"no knob is named {name!r}{hint}")
    return row


@functools.cache
def _by_name() -> dict[str, Knob]:
    return {k.name: k for k in all_knobs()}


@functools.cache
def all_knobs() -> tuple[Knob, ...]:
    """Every row, in the order of the coverage list.

    Names, numbers, types and defaults are those recovered from the real tools where they are known
    (origin "noted"), measured on release 13.0.88 ("observed"), or chosen here because neither says
    anything ("assumed"): a default, or what a named knob does. A pass that starts to read a knob
    puts itself into `readers` in place of `inert` ("irgen" is the generation of IR from trees); a
    test holds both to the source.
    """
    rows = json.loads(Path(__file__).with_name("knobs.json").read_text("utf-8"))
    return tuple(Knob(**row) for row in rows)
