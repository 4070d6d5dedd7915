"""One row of the table of intrinsics, and the notation that says it by an instruction of ori.

    shfl.sync.up.b32|p $1:r, $2, $3, $0

    $k          operand k
    $k:r        the same, in a register: PTX takes no literal there
    [$k.3]      an access through pointer k as one of address space 3; [$k], together with @k
                in the spelling, as one of the space that the pointer is known to point to
    [$k, {$a}]  a texture or surface by its handle, and coordinates; [$k:r] the handle alone;
                [$k, $m, {$a}] a texture and its sampler
    {$k+n}      n operands from k on, in braces; {$a, $b} those operands
    7           a literal
    %tid.x      a special register
    @k          in the spelling: the state space of pointer k (`.shared`; nothing where generic)
    ?k:no:yes   in the spelling: a word by the literal operand k
    spelling|p  the result is a struct of a value and a predicate
    spelling|lo, |hi    of two results the first or the second is wanted

Operands that PTX has packed (<2 x half>) go as one register of 32 bits: `registers_of`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import attrs

from nvir.ir import types as ty
from nvir.ir.opcodes.form import Form, form
from nvir.ir.special import special_register
from nvir.ir.values import SpecialRegister, Value, integer

# The words of `Intrinsic.types`; `T` and the two below stand for an overloaded type.
_WORDS: dict[str, ty.Type] = {
    "void": ty.VOID, "i1": ty.I1, "i8": ty.I8, "i16": ty.I16, "i32": ty.I32, "i64": ty.I64,
    "half": ty.HALF, "bfloat": ty.BFLOAT, "float": ty.FLOAT, "double": ty.DOUBLE,
    "v2f16": ty.vector(ty.HALF, 2), "v2bf16": ty.vector(ty.BFLOAT, 2),
}
OVERLOADED = frozenset(("int", "fp", "T"))


@attrs.frozen(eq=False)
class Intrinsic:
    """What `llvm.…` of one name is.

    name     without the types of an overload: llvm.ctpop, not llvm.ctpop.i32
    types    the result's type and those of the operands. A word of LLVM, `v2f16`, `ptr`, `ptr3`;
             `int`, `fp` or `T` where the name is overloaded; `a+b+…` and `8*a` a struct as result,
             several operands else; `v4int` a vector of four; `!` behind what must be a literal, `?`
             behind what older versions lack, `...` for what differs between versions or is metadata
    ori      the instruction that it is, in the notation above
    rule     where no single instruction says it: the name of the rule by which selection makes
             several and the interpreter runs it, and words for that rule
    effect   of a rule, in words: "" depends on its operands alone; "hint" has no effect that a
             program sees, but says something about its place; "reads", "writes", "convergent"
    bits     how many low bits of the result may be set; 0: all; -1: those of a count of bits
    """

    name: str
    types: str
    ori: str = ""
    rule: str = ""
    effect: str = ""
    bits: int = 0

    @property
    def pattern(self) -> Pattern:
        return parse_pattern(self.ori)

    @property
    def is_pure(self) -> bool:
        """Whether the result depends on the operands alone, wherever the call stands."""
        if not self.ori:
            return not self.effect
        register = self.pattern.register
        return self.pattern.form.pure and not (register is not None and register.volatile)

    @property
    def is_convergent(self) -> bool:
        """Whether the meaning depends on which lanes make the call together."""
        return self.pattern.form.convergent if self.ori else "convergent" in self.effect

    @property
    def touches_memory(self) -> bool:
        """Whether it reads, writes or orders memory, or may not return."""
        if not self.ori:
            return self.effect not in ("", "hint")
        f = self.pattern.form
        return f.reads or f.writes or f.sync or f.pinned

    def signature(
        self, overload: ty.Type | None = None
    ) -> tuple[ty.Type, list[ty.Type], list[bool]]:
        """(result, operands, which of them must be literals) with `overload` for its word."""
        head, *rest = self.types.split()
        result = _types(head, overload)
        operands = [(t, "!" in w) for w in rest if w != "..."
                    for t in _types(w.rstrip("!?"), overload)]
        return (
            result[0] if len(result) == 1 else ty.struct(result),
            [t for t, _ in operands],
            [fixed for _, fixed in operands],
        )


def _types(word: str, overload: ty.Type | None) -> list[ty.Type]:
    out: list[ty.Type] = []
    for part in word.split("+"):
        count, _, name = part.rpartition("*")
        if name.removeprefix("v4") in OVERLOADED:
            if overload is None:
                raise ValueError(f"the type {word!r} is overloaded")
            t = ty.vector(overload, 4) if name.startswith("v4") else overload
        elif name.startswith("ptr"):
            t = ty.pointer(int(name[3:] or 0))
        else:
            t = _WORDS[name]
        out += [t] * int(count or 1)
    return out


# ------------------------------------------------------------------------ the notation


@attrs.frozen
class GivenOperand:
    """`$k`, `$k:r`."""

    index: int
    register: bool = False


@attrs.frozen
class GivenPlace:
    """`[$k]`, `[$k.3]`; space None is what the spelling says by @k."""

    index: int
    space: int | None = None


@attrs.frozen
class GivenHandle:
    """`[$k:r]`, `[$k, {…}]`, `[$k, $m, {…}]`: a texture or surface, a sampler, a place in it."""

    index: int
    coordinates: tuple[GivenOperand, ...] = ()
    sampler: int | None = None


Given = GivenOperand | GivenPlace | GivenHandle | tuple[GivenOperand, ...] | int | SpecialRegister
# An operand as it is to be written: a value, a number, a list for {…}, (base, offset) for [a+8],
# (handle, list) for [t, {x, y}], (handle, sampler, list) for [t, s, {x, y}].
Written = Any


class CallOperands(Protocol):
    """What fills a pattern: the operands of a call as selection or the interpreter holds them."""

    def registers(self, k: int, literal: bool) -> list[Value]:
        """Operand k in registers as PTX has them; literals may stay where `literal`."""

    def place(self, k: int, space: int | None) -> tuple[Value, int]:
        """Base and offset of pointer k, as an address of that space."""

    def modifier(self, k: int) -> str:
        """The state space that pointer k is known to point to: ".shared", "" generic."""

    def number(self, k: int) -> int:
        """The value of literal operand k."""


@attrs.frozen(eq=False)
class Pattern:
    """An instruction of ori with places for operands: the notation, read."""

    spelling: str
    result: str
    operands: tuple[Given, ...]

    @property
    def form(self) -> Form:
        """A form of this row, for the effects that all of its spellings have."""
        return _form_of(self.spelling)

    @property
    def register(self) -> SpecialRegister | None:
        """The special register that it reads, if it is one alone."""
        first = self.operands[0] if len(self.operands) == 1 else None
        return first if isinstance(first, SpecialRegister) else None

    def fill(self, given: CallOperands) -> tuple[str, list[Written]]:
        """The spelling and the operands of this instruction for a call."""
        spelling = self.spelling
        if "@" in spelling:
            spelling = re.sub(r"@(\d)", lambda m: given.modifier(int(m[1])), spelling)
        if "?" in spelling:
            spelling = re.sub(r"\?(\d):(\w+):(\w+)",
                              lambda m: m[3] if given.number(int(m[1])) else m[2], spelling)
        out: list[Written] = []
        for x in self.operands:
            if isinstance(x, GivenOperand):
                out.extend(given.registers(x.index, not x.register))
            elif isinstance(x, tuple):
                out.append([v for m in x for v in given.registers(m.index, False)])
            elif isinstance(x, GivenHandle):
                named = (x.index,) if x.sampler is None else (x.index, x.sampler)
                handles = [v for k in named for v in given.registers(k, False)]
                at = [v for m in x.coordinates for v in given.registers(m.index, False)]
                out.append((*handles, at or 0))
            elif isinstance(x, GivenPlace):
                out.append(given.place(x.index, x.space))
            else:
                out.append(x)
        return spelling, out

    def results(self, count: int) -> tuple[str, slice]:
        """The shape of `count` results, and which of those that are made are wanted."""
        if self.result in ("lo", "hi"):
            return "{%s, %s}", slice(0, 1) if self.result == "lo" else slice(1, 2)
        if self.result == "p":
            return "%s|%s", slice(2)
        if count > 1 or (count and self.spelling.startswith(_LISTS)):
            return "{" + ", ".join(["%s"] * count) + "}", slice(count)
        return "%s" if count else "", slice(count)


# Whose results stand in braces even where there is one.
_LISTS = ("ldmatrix", "mma", "wmma")
_TOKEN = re.compile(
    r"\s*(?:\[\$(?P<at>\d+)(?:\.(?P<space>\d+)|(?P<handle>:r)"
    r"|(?:, \$(?P<sampler>\d+))?, \{(?P<coordinates>[^}]*)\})?\]"
    r"|\{(?P<group>[^}]*)\}|\$(?P<value>\d+)(?P<reg>:r)?|(?P<number>-?\d+)|(?P<special>%[\w.]+))"
    r"\s*(?:,|$)"
)


@functools.cache
def parse_pattern(text: str) -> Pattern:
    """The pattern of a row's `ori`; ValueError where it is not the notation."""
    head, _, rest = text.partition(" ")
    spelling, _, result = head.partition("|")
    operands: list[Given] = []
    at = 0
    while at < len(rest):
        m = _TOKEN.match(rest, at)
        if m is None:
            raise ValueError(f"{rest[at:]!r} in the pattern {text!r}")
        at = m.end()
        operands.append(_given(m))
    if any(isinstance(x, GivenPlace) and x.space is None and f"@{x.index}" not in spelling
           for x in operands):
        raise ValueError(f"{text!r} does not say the space of an address")
    return Pattern(spelling, result, tuple(operands))


def _given(m: re.Match[str]) -> Given:
    if m["number"] is not None:
        return int(m["number"])
    if m["special"] is not None:
        register = special_register(m["special"])
        if register is None:
            raise ValueError(f"no special register is called {m['special']}")
        return register
    if m["value"] is not None:
        return GivenOperand(int(m["value"]), m["reg"] is not None)
    if m["group"] is not None:
        return _group(m["group"])
    if m["handle"] or m["coordinates"]:
        sampler = int(m["sampler"]) if m["sampler"] else None
        return GivenHandle(int(m["at"]), _group(m["coordinates"] or ""), sampler)
    return GivenPlace(int(m["at"]), int(m["space"]) if m["space"] is not None else None)


def _group(text: str) -> tuple[GivenOperand, ...]:
    out: list[GivenOperand] = []
    for word in filter(None, (w.strip() for w in text.split(","))):
        first, _, count = word[1:].partition("+")
        out += [GivenOperand(int(first) + k, True) for k in range(int(count or 1))]
    return tuple(out)


@functools.cache
def _form_of(spelling: str) -> Form:
    return form(re.sub(r"@\d", "", re.sub(r"\?\d:(\w+):\w+", r"\1", spelling)))


def written(operands: Sequence[Written]) -> tuple[list[str], list[Value]]:
    """The shape of each operand that is to be written, and the values that fill them all."""
    shapes: list[str] = []
    values: list[Value] = []
    for x in operands:
        kind = x.__class__
        if kind is not tuple and kind is not list:
            shapes.append("%s")
            values.append(integer(x) if kind is int else x)
        elif kind is list:
            shapes.append("{" + ", ".join(["%s"] * len(x)) + "}")
            values += [integer(v) if isinstance(v, int) else v for v in x]
        elif x[1].__class__ is int:
            values.append(x[0])
            if x[1]:
                values.append(integer(x[1]))
            shapes.append("[%s+%s]" if x[1] else "[%s]")
        else:
            shapes.append(_place_shape(x, values))
    return shapes, values


def _place_shape(x: tuple[Any, ...], values: list[Value]) -> str:
    """Of handles and a place in them."""
    *bases, inside = x
    values += bases
    values += inside
    return f"[{'%s, ' * len(bases)}{{{', '.join(['%s'] * len(inside))}}}]"


# ---------------------------------------------------------------------------- packing


def is_packed(t: ty.Type) -> bool:
    """Whether a value of this type goes in registers of 32 bits that each hold two of 16."""
    return isinstance(t, ty.VectorType) and t.element.bits == 16 and t.count % 2 == 0


def registers_of(t: ty.Type, count: Callable[[ty.Type], int]) -> list[bool]:
    """The registers that a result of type `t` comes in; True for two halves in one of 32 bits.

    `count` tells how many scalars a value of a type consists of.
    """
    if isinstance(t, ty.StructType):
        return [r for e in t.elements or () for r in registers_of(e, count)]
    if isinstance(t, ty.VectorType) and is_packed(t):
        return [True] * (t.count // 2)
    return [False] * count(t)


__all__ = [
    "CallOperands", "Intrinsic", "Pattern", "is_packed", "parse_pattern", "registers_of", "written",
]
