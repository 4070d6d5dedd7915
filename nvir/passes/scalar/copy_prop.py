"""Copy propagation: uses of a copy name what was copied.

    mov.u32   %b, %a                        phi %c = [%x, one], [%x, two]
    add.s32   %d, %b, %c     ==>            ...
    add.s32   %d, %a, %c                    uses of %c name %x

Method   One walk in reverse post-order finds copies: unguarded moves from
         register to register, moves whose guard does not matter (the fallback
         is the source, or undefined), casts to the same type, and phis whose
         operands are one value or the phi itself. Phis are looked at again
         when an operand of theirs turns out to be a copy. All uses are
         rewritten at the end, each user once.
Needs    SSA.
Keeps    blocks and edges. Register classes: a source that takes over uses of
         another spelling (u32 for f32) is declared by its class (b32).
Leaves   the copies without uses, removed here; other dead code to dce.
Skips    values that asynchronous operations read and write in place (wgmma): no
         copy of them could be made again.
         Moves of literals, symbols and special registers, and moves that pack or
         unpack: those compute something.
Cost     one visit an instruction, and three at most for a phi in practice.
Source   Braun et al., "Simple and Efficient Construction of SSA Form", CC 2013,
         section 3.2, for what makes phis redundant; Wegman, Zadeck, TOPLAS 13(2),
         1991, for the optimistic method.

Leaving SSA may have to insert a copy again where two variables of the source
now live in one value; the assembler removes those.
"""

from __future__ import annotations

from nvir.analysis.held import held_in_place
from nvir.ir import Argument, Form, Function, Instruction, OpKind, Result, Undef, Value
from nvir.ir.ssa.rewrite import can_stand_for, substitute
from nvir.passes.context import Context
from nvir.passes.remarks import passed

PROPAGATED = passed("Propagated", "propagated {copies} {copies:copy|copies} and "
                    "{phis} {phis:phi|phis} of a single value")
CODES = (PROPAGATED,)

_REGISTERS = (Instruction, Result, Argument)


def run(function: Function, ctx: Context) -> bool:
    leaders = copies(function)
    if not leaders:
        return False
    substitute(leaders)
    phis = 0
    for copy in leaders:
        assert isinstance(copy, Instruction)
        phis += copy.form.is_phi
        function.marks.pop(copy, None)
        copy.erase()
    moves = len(leaders) - phis
    ctx.count("copies", moves)
    ctx.count("phis", phis)
    ctx.remark(PROPAGATED, copies=moves, phis=phis)
    return True


def copies(function: Function) -> dict[Value, Value]:
    """Each copy with a value that it copies; chains end at one that is no copy."""
    moves: list[Instruction] = []
    phis: list[Instruction] = []
    is_copy: dict[Form, bool] = {}
    for block in function.rpo:
        i = block.first
        while i is not None:
            form = i.form
            found = is_copy.get(form)
            if found is None:
                found = is_copy[form] = form.is_phi or is_move(form)
            if found:
                (phis if form.is_phi else moves).append(i)
            i = i.next
    held = held_in_place(function) if moves or phis else frozenset()
    leaders: dict[Value, Value] = {}
    for move in moves:
        source = _copied(move, leaders)
        if source is not None and move not in held and source not in held:
            leaders[move] = source
    _redundant_phis([p for p in phis if p not in held and not _joins(p, leaders)], leaders)
    return leaders


def is_move(form: Form) -> bool:
    """Whether instructions of this form may hand one value on unchanged."""
    if form.op.level == "nvvm":
        return form.kind is OpKind.COPY
    return form.name == "mov" and form.shape == "%s, %s"


def _copied(i: Instruction, leaders: dict[Value, Value]) -> Value | None:
    """The value that a move hands on whatever its guard is, or None."""
    source = i.operands[0]
    if not isinstance(source, _REGISTERS):
        return None
    source = leader(leaders, source)
    if not can_stand_for(source, i) or (i.form.op.level == "nvvm" and source.type is not i.type):
        return None
    for fallback in i.fallbacks:
        if not isinstance(fallback, Undef) and leader(leaders, fallback) is not source:
            return None
    return source


def leader(leaders: dict[Value, Value], v: Value) -> Value:
    """The end of the chain of copies that starts at `v`; shortens the chain."""
    root = v
    while root in leaders:
        root = leaders[root]
    while v is not root:
        leaders[v], v = root, leaders[v]
    return root


def _joins(phi: Instruction, leaders: dict[Value, Value]) -> bool:
    """Whether two different values that are no phis meet in a phi: then it is none of them."""
    one: Value | None = None
    for v in phi.operands:
        v = leader(leaders, v)
        if v is one or (isinstance(v, Instruction) and v.form.is_phi):
            continue
        if one is not None:
            return True
        one = v
    return False


def _redundant_phis(phis: list[Instruction], leaders: dict[Value, Value]) -> None:
    """Add the phis that can have one value only, groups that feed each other included.

    Optimistic: a phi is taken for whatever its operands agree on so far, and for
    itself once they do not; what changes puts the phis that use it back to work.
    """
    known: dict[Value, Value] = {}  # phi -> what it is taken for
    candidates = set(phis)
    work = phis
    while work:
        again: dict[Instruction, None] = {}
        for phi in work:
            value = _agreed(phi, known, leaders, candidates)
            if value is None or known.get(phi) is value:
                continue
            known[phi] = value
            for user in _phi_users(phi, leaders):
                if user in candidates:
                    again[user] = None
        work = list(again)
    leaders.update((phi, value) for phi, value in known.items() if phi is not value)


def _agreed(
    phi: Instruction, known: dict[Value, Value], leaders: dict[Value, Value],
    candidates: set[Instruction],
) -> Value | None:
    """What the operands of a phi agree on, the phi itself if on nothing; None: nothing known."""
    if known.get(phi) is phi:
        return phi
    one: Value | None = None
    for v in phi.operands:
        v = leader(leaders, v)
        if v in candidates:
            found = known.get(v)
            if found is None:
                continue
            v = found
        if v is phi or v is one:
            continue
        if one is not None:
            return phi
        one = v
    if one is None:
        return None
    # Literals stay: not every operand takes one.
    literal = one.is_constant and phi.form.op.level == "ori" and not isinstance(one, Undef)
    return one if not literal and can_stand_for(one, phi) else phi


def _phi_users(value: Value, leaders: dict[Value, Value]) -> list[Instruction]:
    """The phis that name a value, or a copy of it."""
    found, work = [], [value]
    while work:
        for user in work.pop().users:
            if user.form.is_phi:
                found.append(user)
            elif user in leaders:
                work.append(user)
    return found
