"""Which loops the assembler is told not to unroll, where their text or their function says so.

    disabled   the loop's metadata says llvm.loop.unroll.disable
    small      the function is optsize or minsize (clang -Os, -Oz), and no metadata of the loop asks
               for copies
    copied     an innermost loop that takes k steps at a time and has as many loads, stores and
               atomics of each type as make k copies, without any as many operations of each kind
               (sums of integers count for nothing, they step): its producer unrolled it

What ptxas would make of the last is copies of copies, four times what the producer found best.

Needs    CFG annotations of level nvvm.
Cost     linear in the loops.
"""

from __future__ import annotations

from collections import Counter

from nvir.analysis.induction import counted_exits
from nvir.ir import (
    Constant,
    Function,
    Instruction,
    Loop,
    OpKind,
    Value,
    VectorType,
    natural_loops,
)

SMALL = frozenset({"optsize", "minsize"})
DISABLED = "llvm.loop.unroll.disable"
WISHES = frozenset({"llvm.loop.unroll.enable", "llvm.loop.unroll.full", "llvm.loop.unroll.count"})
ACCESSES = frozenset({OpKind.LOAD, OpKind.STORE, OpKind.ATOMIC})
WORK = frozenset({
    OpKind.MULTIPLY, OpKind.DIVIDE, OpKind.SPECIAL, OpKind.EXTREMUM, OpKind.SIGN, OpKind.SHIFT,
    OpKind.LOGIC, OpKind.COUNT, OpKind.CONVERT,
})


def rolled(f: Function) -> dict[Loop, str]:
    """The loops that are to stay as they are, each with the reason."""
    if not f.back_edges:
        return {}
    said = f.aux.get("attributes", ()) if isinstance(f.aux, dict) else ()
    small = next((x for x in said if isinstance(x, str) and x in SMALL), "")
    return {x: why for x in natural_loops(f) if (why := _why(x, _words(x), small))}


def _why(loop: Loop, words: set[str], small: str) -> str:
    if DISABLED in words:
        return f"{DISABLED} says so"
    if words & WISHES:
        return ""
    if small:
        return f"the function is {small}"
    return "its body is copies already" if not loop.children and _copied(loop) else ""


def _words(loop: Loop) -> set[str]:
    return {
        str(w[0]) for latch in loop.latches if isinstance(latch.aux, dict)
        for w in latch.aux.get("llvm.loop", ()) if w
    }


def _copied(loop: Loop) -> bool:
    """Whether the body holds as many copies of each access as it takes steps at once."""
    if not any(_strides(phi, v) for phi in loop.header.phis for v in phi.operands):
        return False
    steps = {
        abs(x.variable.step) for x in counted_exits(loop)
        if isinstance(x.variable.step, int) and abs(x.variable.step) > 1
    }
    if not steps:
        return False
    accesses: Counter[tuple[str, str]] = Counter()
    work: Counter[tuple[str, str]] = Counter()
    for b in loop.blocks:
        for i in b:
            if i.form.kind in ACCESSES:
                t = i.operands[0].type if i.form.kind is OpKind.STORE else i.type
                if isinstance(t, VectorType):
                    accesses[i.form.name, str(t.element)] += t.count
                else:
                    accesses[i.form.name, str(t)] += 1
            elif i.form.kind in WORK or i.form.name in ("fadd", "fsub"):
                work[i.form.name, str(i.type)] += 1
    counted = accesses or work
    return bool(counted) and any(all(n % k == 0 for n in counted.values()) for k in steps)


def _strides(phi: Instruction, v: Value) -> bool:
    """Whether a phi's next value is a constant away that is not one: a cheap look ahead."""
    d = v.definer
    if d is None or d.form.kind is not OpKind.SUM or phi not in d.operands:
        return False
    return any(isinstance(c, Constant) and c.value not in (1, -1) for c in d.operands)
