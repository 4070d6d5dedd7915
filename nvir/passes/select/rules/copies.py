"""Copies and fills of memory that are still there: memcpy, memmove, memset.

A length that is known and small (`max-aggr-copy-size`, 128 bytes) is moved in the widest elements
that both alignments allow; all loads precede all stores, so overlap does no harm. Longer ones
and lengths of run time are loops over elements; memmove compares the addresses and runs
backwards where the target lies above the source, the tail first.
"""

from __future__ import annotations

from nvir.ir import B64, Constant, Instruction, Value, integer
from nvir.ir.nvvm_values import NvvmCall
from nvir.passes.select.rules.convert import extended
from nvir.passes.select.rules.integer import zext
from nvir.passes.select.rules.memory import known_align
from nvir.passes.select.selector import AddressParts, Parts, Selector

UNROLL_BYTES = 128
_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


def _element(align: int) -> int:
    return min(8, align & -align) if align else 1


def _vectors(offset: int, left: int, align: int) -> tuple[str, int]:
    """The modifiers and bytes of the widest access at an offset of something aligned."""
    here = min(align, offset & -offset) if offset else align
    for text, size in ((".v4.b32", 16), (".v2.b32", 8), (".b32", 4), (".b16", 2), (".u8", 1)):
        if size <= min(here, left):
            return text, size
    return ".u8", 1


def copy_bytes(
    s: Selector, to: AddressParts, source: AddressParts, size: int, align: int, volatile: str = ""
) -> None:
    """Move a known, small number of bytes."""
    moves = []
    at = 0
    to, source = s.fitting(to.plus(size)).plus(-size), s.fitting(source.plus(size)).plus(-size)
    while at < size:
        text, step = _vectors(at, size - at, align)
        load = f"ld{source.ordered(volatile)}{text}"
        loaded = s.emit(load, (source.plus(at).operand,))
        moves.append((at, text, loaded.results))
        at += step
    for offset, text, x in moves:
        values = list(x) if len(x) > 1 else x[0]
        s.op(f"st{to.ordered(volatile)}{text}", to.plus(offset).operand, values)


def copy(s: Selector, i: Instruction, move: bool) -> Parts:
    """llvm.memcpy and llvm.memmove."""
    to, source, length, flag = i.operands[:4]
    a, b = s.address(to), s.address(source)
    align = min(_align(s, i, 0, a), _align(s, i, 1, b))
    volatile = ".volatile" if isinstance(flag, Constant) and flag.value else ""
    if isinstance(length, Constant):
        size = length.value or 0
        if size <= UNROLL_BYTES or (not move and size <= 4 * UNROLL_BYTES and align >= 16):
            copy_bytes(s, a, b, size, align, volatile)
            return ()
    n = extended(s, s.one(length), length.type, 64, "z")
    unit = _element(align) if isinstance(length, Constant) else 1
    if isinstance(length, Constant) and (length.value or 0) % unit:
        unit = 1
    _loops(s, a, b, n, unit, volatile, move)
    return ()


def _align(s: Selector, i: Instruction, k: int, a: AddressParts) -> int:
    from nvir.passes.select.abi import attribute

    info = i.aux
    said = 1
    if isinstance(info, NvvmCall) and k < len(info.arguments):
        said = int(attribute(info.arguments[k], "align") or 1)
    return known_align(s, a, said)


def _loops(
    s: Selector, to: AddressParts, source: AddressParts, n: Value, unit: int, volatile: str,
    move: bool,
) -> None:
    """Copy n bytes, a multiple of `unit`, one unit a turn."""
    a, b = (AddressParts(s.register(x), 0, x.space) for x in (to, source))
    done = s.new_block("copied")
    up = s.target.block("copy", after=s.b.block)
    n = s.reg(n, "b64")
    some = s.op("setp.ne.s64", n, 0)
    if not move:
        before = s.b.block
        s.b.cond_br(some, up, done)
        _loop(s, a, b, n, unit, volatile, up, done, before, backwards=False)
        s.start(done)
        return
    choice = s.target.block("overlap", after=s.b.block)
    down = s.target.block("reverse", after=choice)
    s.b.cond_br(some, choice, done)
    s.start(choice)
    first, second = (s.generic(x) for x in (a, b))
    s.b.cond_br(s.op("setp.gt.u64", first, second), down, up)
    _loop(s, a, b, n, unit, volatile, down, done, choice, backwards=True)
    _loop(s, a, b, n, unit, volatile, up, done, choice, backwards=False)
    s.start(done)


def _loop(
    s: Selector, a: AddressParts, b: AddressParts, n: Value, unit: int, volatile: str, loop: object,
    done: object, before: object, backwards: bool,
) -> None:
    s.start(loop)  # type: ignore[arg-type]
    at = s.b.phi(B64)
    step = s.op("add.s64", at, -unit if backwards else unit)
    here = step if backwards else at
    x = s.op(f"ld{b.ordered(volatile)}.{_TYPES[unit]}", (s.op("add.s64", b.base, here), 0))
    s.op(f"st{a.ordered(volatile)}.{_TYPES[unit]}", (s.op("add.s64", a.base, here), 0), x)
    again = s.op("setp.ne.s64", step, 0) if backwards else s.op("setp.lt.u64", step, n)
    s.b.cond_br(again, loop, done)  # type: ignore[arg-type]
    start = n if backwards else integer(0)
    at.set_incoming((start, step), (before, loop))  # type: ignore[arg-type]


def fill(s: Selector, i: Instruction) -> Parts:
    """llvm.memset."""
    to, byte, length, flag = i.operands[:4]
    a = s.address(to)
    align = _align(s, i, 0, a)
    volatile = ".volatile" if isinstance(flag, Constant) and flag.value else ""
    x = s.one(byte)
    if isinstance(length, Constant) and (length.value or 0) <= UNROLL_BYTES:
        _fill_known(s, a, x, length.value or 0, align, volatile)
        return ()
    n = s.reg(extended(s, s.one(length), length.type, 64, "z"), "b64")
    base = AddressParts(s.register(a), 0, a.space)
    before = s.b.block
    done = s.new_block("filled")
    loop = s.target.block("fill", after=before)
    s.b.cond_br(s.op("setp.ne.s64", n, 0), loop, done)
    s.start(loop)
    at = s.b.phi(B64)
    s.op(f"st{base.ordered(volatile)}.u8", (s.op("add.s64", base.base, at), 0), x)
    step = s.op("add.s64", at, 1)
    s.b.cond_br(s.op("setp.lt.u64", step, n), loop, done)
    at.set_incoming((integer(0), step), (before, loop))
    s.start(done)
    return ()


def _fill_known(
    s: Selector, a: AddressParts, x: Value, size: int, align: int, volatile: str
) -> None:
    if isinstance(x, Constant):
        word: Value = integer((x.value & 255) * 0x01010101)
        half: Value = integer((x.value & 255) * 0x0101)
    else:
        wide = s.op("cvt.u32.u16", zext(s, x, 8))
        word = s.op("mul.lo.s32", wide, 0x01010101)
        half = s.op("cvt.u16.u32", word)
    at = 0
    a = s.fitting(a.plus(size)).plus(-size)
    while at < size:
        text, step = _vectors(at, size - at, align)
        value = {16: [word] * 4, 8: [word] * 2, 4: word, 2: half, 1: x}[step]
        s.op(f"st{a.ordered(volatile)}{text}", a.plus(at).operand, value)
        at += step
