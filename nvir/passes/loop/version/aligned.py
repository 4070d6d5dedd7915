"""What has to be a multiple of a power of two for an address to be one in each iteration of a loop.

    4·(%row·%k) + 4·i + %a  is a multiple of 16 for i = 0, 4, 8 …  if  4·%k and %a are

Low bits of sums, products and widened numbers depend on low bits alone, so that no wrap-around is
in the way. What is asked for is the same for all lanes of a warp: of a product that is not, that
its other factor be a multiple.

Cost    linear in the terms of the addresses
"""

from __future__ import annotations

import functools

import attrs

from nvir.analysis.affine import Affine, Term
from nvir.analysis.analyses import Analyses
from nvir.ir.block import Block
from nvir.ir.builder import Builder
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.symbols import Param
from nvir.ir.values import SpecialRegister, Symbol, Value, integer

DEEP = 4  # products in products


@attrs.frozen
class Multiple:
    """`form`, of values that are known ahead of a loop, is to be a multiple of `size`."""

    form: Affine
    size: int


class NotAligned(Exception):
    """An address whose low bits differ from iteration to iteration, or from lane to lane."""


class Alignments:
    """Questions about addresses in one loop, as the function is now."""

    def __init__(self, loop: Loop) -> None:
        known = Analyses.of(loop.header.function)
        self.loop, self.forms = loop, known.affine
        self.divergence = known.divergence
        self.entry: Block = loop.entries[0] if loop.entries else loop.header

    def of(self, address: Affine, size: int, depth: int = 0) -> list[Multiple]:
        """What has to hold for an address to be a multiple of `size`. Raises NotAligned."""
        bits = size.bit_length() - 1
        if address.modulus < bits or depth > DEEP:
            raise NotAligned
        left = address.reduced(bits)
        rest, found = self._known_ahead(left, size, depth)
        if rest.constant:  # pointers are taken to be multiples of it
            raise NotAligned
        return [*found, Multiple(rest, size)] if rest.terms else found

    def _known_ahead(self, form: Affine, size: int, depth: int) -> tuple[Affine, list[Multiple]]:
        """A form that differs by a multiple, of what is known ahead, if others are multiples."""
        rest = Affine((), form.constant, form.modulus, form.bits)
        found: list[Multiple] = []
        for t in form.terms:
            part, more = self._term(t, form, size, depth)
            rest += part
            found += more
        return rest.reduced(size.bit_length() - 1), found

    def _term(
        self, t: Term, form: Affine, size: int, depth: int
    ) -> tuple[Affine, list[Multiple]]:
        nothing = Affine((), 0, form.modulus, form.bits)
        d = t.symbol.definer
        if d is not None and d.block in self.loop.members:
            iv = self.forms.variables(self.loop.header).get(t.symbol)
            if iv is None:
                return nothing, self._product(t, size, depth)
            if isinstance(iv.step, int):
                if t.coefficient * iv.step % size:
                    raise NotAligned
                found = []
            elif isinstance(iv.step, Value):
                found = self.of(self.forms.of(iv.step).scaled(t.coefficient), size, depth + 1)
            else:
                raise NotAligned
            start = self.forms.of(iv.start).scaled(t.coefficient)
            rest, more = self._known_ahead(start.reduced(form.modulus), size, depth + 1)
            return rest, [*found, *more]
        if self.divergence.is_divergent(t.symbol, self.entry):
            return nothing, self._product(t, size, depth)
        if not self._at_hand(t.symbol):
            raise NotAligned
        return Affine((t,), 0, form.modulus, form.bits), []

    def _product(self, t: Term, size: int, depth: int) -> list[Multiple]:
        """What makes a product a multiple: one of its factors, and what is added to it."""
        d = t.symbol.definer
        if d is None or d.form.kind is not OpKind.MULTIPLY or len(d.results) != 1 or (
            d.form.guard is not None or d.form.type is None or d.form.type.is_float
            or "hi" in d.form.mods or "sat" in d.form.mods
        ):
            raise NotAligned
        found = []
        for added in d.operands[2:]:
            found += self.of(self.forms.of(added).scaled(t.coefficient), size, depth + 1)
        for factor in d.operands[:2]:
            try:
                more = self.of(self.forms.of(factor).scaled(t.coefficient), size, depth + 1)
            except NotAligned:
                continue
            return [*found, *more]
        raise NotAligned

    def _at_hand(self, v: Value) -> bool:
        """Whether a value can be had in front of the loop."""
        d = v.definer
        if d is None:
            return isinstance(v, Symbol | SpecialRegister)
        return (d.block is not None and d.block.dominates(self.entry)) or _is_param(d)


def holds(b: Builder, wanted: list[Multiple]) -> Value:
    """A predicate: all of these are multiples."""
    low = functools.reduce(
        functools.partial(b.compute, "or.b32"),
        (b.compute("and.b32", _low_word(b, m.form), integer(m.size - 1))
         for m in dict.fromkeys(wanted)))
    return b.compute("setp.eq.s32", low, integer(0))


def _low_word(b: Builder, form: Affine) -> Value:
    total: Value | None = None
    for t in form.terms:
        v = _read(b, t.symbol)
        if t.coefficient != 1:
            v = b.compute("mul.lo.s32", v, integer(t.coefficient))
        total = b.compute("add.s32", total, v) if total is not None else v
    assert total is not None
    return total


def _read(b: Builder, v: Value) -> Value:
    """The low 32 bits of a value, which may be an address or a special register."""
    d = v.definer
    if d is None:
        v = b.compute(f"mov.u{v.type.bits or 64}", v)
    elif _is_param(d) and not (d.block is not None and d.block.dominates(b.block)):
        v = b.insert(Instruction(d.form, d.operands, d.type, d.name, d.aux))
    if v.type.bits == 32:
        return v
    return b.compute(f"cvt.u32.u{v.type.bits}", v)


def _is_param(d: Instruction) -> bool:
    """A load of a kernel's parameter, of which all are alike."""
    return d.form.kind is OpKind.LOAD and d.form.space == "param" and isinstance(
        d.operands[0], Param)
