"""Loads of shared memory that the assembler makes one: words side by side in aligned 8 or 16 bytes.

    ld.shared a, [p]; ld.shared b, [p+4]      LDS.64, where p is a multiple of 8
    two of these, or one and a word           LDS.128, where p is a multiple of 16

Nothing that writes or orders memory stands between them. What is known of p is how many of its low
bits are zero: variables stand where `nvir.sm.occupancy` puts them.

Source  SASS of ptxas 13.0.88, a test for each.
Cost    linear in the accesses of shared memory and what their addresses are made of.
"""

from __future__ import annotations

from nvir.assembler.regalloc.code import LOAD, PLAIN
from nvir.assembler.regalloc.facts import facts_of
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.symbols import Variable
from nvir.ir.values import Constant, SymbolOffset, Value
from nvir.sm.occupancy import shared_layout

LINE, HALF, WORD = 16, 8, 4
_DEPTH = 8  # values behind an address that are looked at
_Group = tuple[Instruction, ...]
_Lines = dict[tuple[Value | None, int], dict[int, Instruction]]


class Vectors:
    """The groups of one function: loads in the order of their addresses, by each of them."""

    def __init__(self, function: Function) -> None:
        self.groups: dict[Instruction, _Group] = {}
        self.layout: dict[Variable, int] | None = None
        self.function = function
        for block in function.rpo:
            self._block(block)

    def _block(self, block: Block) -> None:
        lines: _Lines = {}
        for i in block:
            facts = facts_of(i.form)
            if facts.kind == LOAD:
                place = self._place(i)
                if place is not None:
                    base, offset = place
                    lines.setdefault((base, offset // LINE), {}).setdefault(offset % LINE, i)
            elif facts.kind != PLAIN and (facts.space & 2 or not i.form.addresses):
                self._close(lines)
        self._close(lines)

    def _close(self, lines: _Lines) -> None:
        for (base, _), line in lines.items():
            if len(line) > 1:
                aligned = LINE if base is None else self._aligned(base, _DEPTH)
                for group in _grouped(line, aligned):
                    self.groups.update(dict.fromkeys(group, group))
        lines.clear()

    def _place(self, i: Instruction) -> tuple[Value | None, int] | None:
        """Register and distance of a plain load of a word or two from shared memory."""
        f = i.form
        if f.guard is not None or f.space != "shared" or f.kind is not OpKind.LOAD or (
            i._results is not None or "volatile" in f.mods or f.type is None
            or f.type.bits not in (8 * WORD, 8 * HALF)
        ):
            return None
        base, offset = f.addresses[0]
        added = i._operands[offset] if offset >= 0 else None
        v: Value = i._operands[base]
        distance = int(added.value) if isinstance(added, Constant) else 0
        if isinstance(v, SymbolOffset):
            distance += v.offset
            v = v.symbol
        if isinstance(v, Variable):
            at = self._variable(v)
            return None if at is None else (None, distance + at)
        return (v, distance) if v.is_tracked else None

    def _variable(self, v: Variable) -> int | None:
        """Where a variable stands; None: a function of several kernels does not know it."""
        if self.function.kind != "entry":
            return None
        if self.layout is None:
            self.layout = shared_layout(self.function)[0]
        return self.layout.get(v)

    def _aligned(self, v: Value, depth: int) -> int:
        """The largest power of two up to 16 that a value surely is a multiple of."""
        if isinstance(v, Constant | Variable):
            at = v.value if isinstance(v, Constant) else self._variable(v)
            return _power(at) if isinstance(at, int) else 1
        made = v.definer
        if made is None or made._results is not None or not depth or made.form.guard is not None:
            return 1
        f = made.form
        if f.type is not None and f.type.kind == "f":
            return 1
        parts = [self._aligned(o, depth - 1) for o in made._operands if o is not made]
        if f.is_phi or f.kind is OpKind.SUM or (f.kind is OpKind.COPY and len(parts) == 1):
            return min(parts, default=1)
        if f.name == "shl" and isinstance(made._operands[1], Constant):
            return min(LINE, parts[0] << min(int(made._operands[1].value), 4))
        if f.kind is OpKind.MULTIPLY and "hi" not in f.mods:
            return min(LINE, parts[0] * parts[1], *parts[2:])
        return max(parts) if f.name == "and" else 1


def _power(n: int) -> int:
    return LINE if not n else min(LINE, n & -n)


def _grouped(line: dict[int, Instruction], aligned: int) -> list[_Group]:
    """The loads of aligned 16 bytes that become one."""
    if aligned < HALF or any(k % WORD for k in line):
        return []
    halves = [
        tuple(line[k] for k in sorted(line) if half <= k < half + HALF) for half in (0, HALF)]
    whole = [
        sum(i.form.type.bits for i in h if i.form.type is not None) == 8 * HALF for h in halves]
    if aligned == LINE and all(halves) and any(whole):
        return [halves[0] + halves[1]]
    return [h for h, full in zip(halves, whole, strict=True) if full and len(h) > 1]
