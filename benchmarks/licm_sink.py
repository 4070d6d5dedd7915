"""Compiled loops that no front end has hoisted: invariants put back to where they are used.

    mul %y, %a, %b                L: ...
    L: ...                  ==>      mul %y, %a, %b
       add %s, %s, %y                add %s, %s, %y

Compilers hoist before they write PTX, so few invariants are left in real loops. Here a random part
of what only a loop reads is moved back to its first use, as its source may have had it. Loops keep
their bodies, and the program its meaning: what moves is pure, or a load that nothing on the way or
in the loop can change.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import nvir
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop, natural_loops

SHARES = (0.15, 0.4, 0.8)  # of what could be put back; one of them a function


def sunk(text: str, seed: int | str) -> str:
    """The PTX with invariants put back, every loop under `.pragma "nounroll"`."""
    module = nvir.read_ptx(text)
    nvir.run_passes(module, "copy-prop,dce")
    for f in module.functions:
        if f.blocks and f.back_edges:
            sink(f, random.Random(f"{seed} {f.name}"))
    return nvir.print_ptx(module)


def sink(function: Function, rnd: random.Random) -> int:
    """Put invariants back; how many."""
    loops = natural_loops(function)
    for x in loops:
        if "nounroll" not in x.header.pragmas:
            x.header.pragmas += ("nounroll",)
    share, n = rnd.choice(SHARES), 0
    for b in reversed(function.rpo):
        for i in reversed(b.instructions):
            target = _target(i, b)
            if target is None or rnd.random() > share:
                continue
            around = next(x for x in loops if target in x and b not in x)
            if any(use not in around for use in _uses(i)):
                continue
            if i.form.pure or _steady(i, b, around):
                i.move_before(_first_use(i, target))
                n += 1
    return n


def _target(i: Instruction, b: Block) -> Block | None:
    """The deeper block that dominates all uses, if there is one."""
    f = i.form
    if f.is_phi or f.terminator or f.op.pseudo or f.carry_in or f.carry_out or f.space == "param":
        return None
    if not (f.pure or f.reads) or all(v.is_constant for v in i.operands):
        return None
    at: Block | None = None
    for use in _uses(i):
        if at is None:
            at = use
        while not at.dominates(use):
            assert at.idom is not None
            at = at.idom
    return at if at is not None and at.loop_depth > b.loop_depth else None


def _uses(i: Instruction) -> Iterator[Block]:
    for r in i.results:
        for u in r.users:
            if u.form.is_phi:
                yield from (p for v, p in u.incoming if v is r)
            elif u.block is not None:
                yield u.block


def _first_use(i: Instruction, target: Block) -> Instruction:
    users = {u for r in i.results for u in r.users if not u.form.is_phi}
    found = next((x for x in target if x in users), target.terminator)
    assert found is not None
    return found


def _steady(i: Instruction, b: Block, loop: Loop) -> bool:
    """Whether a load reads the same in the loop that it stands right before."""
    f = i.form
    if not f.reads or f.writes or f.pinned or f.sync or f.volatile:
        return False
    if loop.entries != [b]:
        return False
    behind = iter(b)
    next(x for x in behind if x is i)
    inside = (x for block in loop.blocks for x in block)
    return not any(_changes(x) for part in (behind, inside) for x in part)


def _changes(i: Instruction) -> bool:
    f = i.form
    return f.writes or f.is_call or f.sync or bool(f.op.async_until)
