"""Calls of intrinsics: the instruction of ori that the table's row is, run by its own meaning.

    @llvm.nvvm.shfl.sync.bfly.i32p(mask, a, b, c)   shfl.sync.bfly.b32 d|p, a, b, c, mask

The table is nvir.ir.intrinsics, which selection reads as well. What no single instruction says is
a rule of generic.py. Two halves (<2 x half>) go as one register of 32 bits, packed before the
instruction and taken apart behind it. A name that the table has not is Unsupported when reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from nvir.interp.leaves import EmittedStep, Register, Temp, View
from nvir.interp.nvvm import generic
from nvir.interp.nvvm.asm import emit_asm
from nvir.interp.nvvm.asm import special as asm_special
from nvir.interp.nvvm.constants import scalars
from nvir.interp.nvvm.control import LeafCall
from nvir.interp.nvvm.lower import expression, known, leaves, run
from nvir.interp.nvvm.pieces import cast, regroup, space
from nvir.interp.ori_level import ori
from nvir.interp.rows import unsupported
from nvir.ir import Function, Instruction, Value, form
from nvir.ir.intrinsics import Intrinsic, find, is_packed, mismatch, registers_of, written
from nvir.ir.nvvm_values import InlineAsm
from nvir.ir.types import ADDRESS_SPACES, B32, B64, ScalarType, Type


def callee_name(i: Instruction) -> str:
    """The name of the function that a call names; "" of other calls."""
    callee = getattr(i.aux, "callee", None)
    return str(callee.name) if isinstance(callee, Function) else ""


def row_of(i: Instruction) -> Intrinsic | None:
    """The row of what a call names, unless the module has a body for it."""
    name = callee_name(i)
    row = find(name) if name and i.aux.callee.is_declaration else None
    why = mismatch(row, i) if row is not None else None
    if why is not None:
        raise unsupported(i, f"{name} {why}")
    return row


# ----------------------------------------------------------- one instruction


@attrs.define
class _LeafOperands:
    """The operands of a call, for a pattern (nvir.ir.intrinsics.Operands).

    new      makes a scalar for what is packed or cast first, of a type
    before   what writes the code for that
    """

    plan: Any
    i: Instruction
    new: Callable[[ScalarType], Value]
    before: list[Callable[[Any], None]] = attrs.Factory(list)

    def registers(self, k: int, literal: bool) -> list[Value]:
        v = self.i.operands[k]
        parts = self.plan.leaves(v)
        if not is_packed(v.type):
            return list(parts)
        made = [self.new(B32) for _ in parts[::2]]
        self.before.append(lambda e: _pack(e, parts, made))
        return made

    def place(self, k: int, wanted: int | None) -> tuple[Value, int]:
        v = self.i.operands[k]
        (leaf,) = self.plan.leaves(v)
        of = space(v.type)
        if wanted is None or wanted == of:
            return leaf, 0
        made = self.new(B64)
        self.before.append(lambda e: cast(e, (made,), (leaf,), of, wanted))
        return made, 0

    def modifier(self, k: int) -> str:
        number = space(self.i.operands[k].type)
        return f".{ADDRESS_SPACES[number]}" if number else ""

    def number(self, k: int) -> int:
        if k >= len(self.i.operands):  # a flag that an older version lacks
            return 0
        (leaf,) = self.plan.leaves(self.i.operands[k])
        value = known(leaf)
        if value is None:
            raise unsupported(self.i, f"{callee_name(self.i)} without a literal operand {k}")
        return value


def _pack(e: Any, parts: Any, registers: list[Value]) -> None:
    """Define registers of 32 bits by the halves that they hold."""
    texts = ", ".join(str(e.value(p, "b16")) for p in parts)
    dtypes = e.bind(("u4",) * len(registers))
    names = [f"x{e.plan.slot(r)}" for r in registers]
    e.line(f"{', '.join(names)}, = {e.bind(regroup)}(({texts},), 16, 32, {dtypes})")
    for r, name in zip(registers, names, strict=True):
        e.define(r, name)


def _unpack(e: Any, i: Instruction, shape: list[bool], registers: list[Value]) -> None:
    """Define the leaves of a result by the registers that hold one or two of them."""
    parts = iter(leaves(e, i))
    for register, halves in zip(registers, shape, strict=True):
        for k in range(1 + halves):
            text = str(e.value(register))
            if halves:
                text = f"({text} >> {e.constant(16 * k, 'u4')}).astype(u2)"
            expression(e, next(parts), text)


def _view(plan: Any, i: Instruction, row: Intrinsic, new: Callable[[ScalarType], Value]
          ) -> tuple[View, list[Callable[[Any], None]], Callable[[Any], None] | None]:
    """The instruction that a call is, the code before it, and the code behind it."""
    given = _LeafOperands(plan, i, new)
    pattern = row.pattern
    spelling, operands = pattern.fill(given)
    shape = registers_of(i.type, _count)
    result, wanted = pattern.results(len(shape))
    apart = any(shape)
    made = [new(B32) for _ in shape] if apart else list(plan.leaves(i))
    results = [new(B32) for _ in range(wanted.start or 0)] + made
    shapes, sources = written(operands)
    if result:
        shapes.insert(0, result)
    f = form(spelling, ", ".join(shapes))
    results += [new(B32) for _ in range(f.n_results - len(results))]
    behind = (lambda e: _unpack(e, i, shape, made)) if apart else None
    return View(f, sources, results, i), given.before, behind


def _write_all(e: Any, parts: list[Callable[[Any], None]]) -> None:
    for write in parts:
        write(e)


def _count(t: Type) -> int:
    return len(scalars(t))


def emit_row(e: Any, row: Intrinsic) -> None:
    """A call whose instruction is emitted."""
    view, before, behind = _view(e.plan, e.instr, row, Temp)
    _write_all(e, before)
    run(e, view)
    if behind is not None:
        behind(e)


def _special_row(plan: Any, i: Instruction, row: Intrinsic) -> Any:
    """The special of a call whose instruction is one; None of others."""
    maker = ori().specials.get(row.pattern.form.name)
    if maker is None:
        return None
    view, before, behind = _view(plan, i, row, lambda t: Register(t, i))
    made: Any = maker(plan, view)  # type: ignore[arg-type]  # a View is an Instruction to readers
    if before:
        made.before = EmittedStep(i, lambda e: _write_all(e, before))
    if behind is not None:
        made.behind = EmittedStep(i, behind)
    return made


# --------------------------------------------------------------------- calls


def special(plan: Any, i: Instruction) -> Any:
    """What ends a segment: a call of a function, or an intrinsic that looks beyond its group."""
    callee = getattr(i.aux, "callee", None)
    if isinstance(callee, InlineAsm):
        return asm_special(plan, i, callee)
    row = row_of(i)
    if row is None:
        return None if callee_name(i).startswith("llvm.") else LeafCall(plan, i)
    if row.ori:
        return _special_row(plan, i, row)
    word, *arguments = row.rule.split()
    maker = generic.SPECIALS.get(word)
    return None if maker is None else maker(plan, i, *arguments)


def emit_call(e: Any) -> None:
    """A call of an intrinsic or of assembly that is emitted."""
    i = e.instr
    callee = i.aux.callee
    if isinstance(callee, InlineAsm):
        emit_asm(e, callee)
        return
    row = row_of(i)
    if row is None:
        raise unsupported(i, f"the intrinsic {callee_name(i)}")
    if row.ori:
        emit_row(e, row)
        return
    word, *arguments = row.rule.split()
    generic.RULES[word](e, *arguments)


EMITTERS = {"call": emit_call}
