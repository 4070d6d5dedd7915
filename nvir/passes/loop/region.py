"""Copying a region of blocks: what forbids it, and what to do before and after.

A pass that copies code does four things in this order:

    code, what = why_not_copied(blocks, held) or …    nothing is changed yet
    copies = copy_region(blocks)                      the copies leave as the originals do
    redirect(branch.block, old, new)                  edges of the pass's own choice
    function.analyze_cfg()                            once for all regions that were copied
    repair(function, definitions(blocks, …), held)    values used outside meet in phis
    fold_phis(function, blocks, held)                 phis left with a single entry are gone

Until the repair each value keeps one meaning: an instruction outside names the original, and a
phi at the region's head is copied as a phi (with the entries that the copy has), not replaced by
its operand. That is what `ir.ssa.repair` needs to be right.

Cost     linear in the region and in the uses of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from nvir.ir import Block, Constant, Function, Instruction, Loop, OpKind, Value, successors
from nvir.ir.clone import clone_blocks
from nvir.ir.ssa.repair import obstacle
from nvir.ir.ssa.rewrite import can_stand_for, substitute
from nvir.ir.text.trace import is_traced, note
from nvir.passes.loop.frequency import carry
from nvir.passes.remarks import Code, missed

UNKNOWN = missed("UnknownOperation", "not {done}: {what} is no operation that the table knows")
CONVERGENT = missed(
    "ConvergentOperation", "not {done}: {what} needs the lanes together, and would stand twice"
)
HELD = missed("ValueHeld", "not {done}: {what}")
LABEL = missed("PlaceNamed", "not {done}: debug data names a place in it by {what}")
NOT_CANONICAL = missed(
    "NotCanonical", "not {done}: not of the form that loop-simplify makes (one latch, a preheader, "
    "exits of its own)"
)
CODES = (UNKNOWN, CONVERGENT, HELD, LABEL, NOT_CANONICAL)

Copies = dict[Any, Any]  # block, instruction, result -> its copy


def why_not_copied(
    blocks: Iterable[Block], held: AbstractSet[Value], *, convergent: bool = False
) -> tuple[Code, str] | None:
    """What forbids that the blocks stand twice, and the operation or reason; None if nothing.

    Operations that need the lanes together are let through with `convergent`.
    """
    for b in blocks:
        for i in b:
            f = i.form
            if f.name == "unknown":
                return UNKNOWN, f.spelling
            if f.name == "debug.label":
                return LABEL, str(i.aux)
            if f.convergent and not convergent:
                return CONVERGENT, f.spelling
            for r in i.results:
                why = obstacle(r, held)
                if why is not None and _crosses(r, b):
                    return HELD, why
    return None


def only_jumps(block: Block) -> bool:
    """Whether a block leads to one place, whatever happens: no guarded `exit` ends it."""
    last = block.last
    return last is not None and len(successors(block)) == 1 and last.form.kind is OpKind.BRANCH


def is_canonical(loop: Loop) -> bool:
    """Whether the loop has the form that loop-simplify gives: one latch, one preheader, and exits
    that it alone leads to."""
    entries = loop.entries
    if len(entries) != 1 or not only_jumps(entries[0]) or len(loop.latches) != 1:
        return False
    inside = loop.members
    targets = {s for b in loop.blocks for s in b.succs if s not in inside}
    return all(p in inside for t in targets for p in t.preds)


def tell_form(loop: Loop, phase: int) -> None:
    """Note whether a phase that builds on phase 18 finds a loop in the form that it gives."""
    if is_traced():
        note("P18-09", "form of phase 18", is_canonical(loop), phase=phase, loop=loop,
             latches=loop.latches, entries=loop.entries)


def copy_region(
    blocks: Sequence[Block], after: Block | None = None,
    layout: MutableMapping[Block, list[Block]] | None = None,
) -> Copies:
    """Copy blocks; edges among them lead on among the copies, those that leave lead where the
    originals do, and phis there get entries for the copies.

    Nothing leads to the copies yet; annotations are stale. With `layout` they are placed later,
    by `place` (see `clone_blocks`).
    """
    copies: Copies = {}
    clone_blocks(blocks, copies, after, layout)
    inside = set(blocks)
    for b in blocks:
        for s in successors(b):
            if s not in inside:
                add_entries(s, b, copies[b], copies)
    return copies


def add_entries(target: Block, like: Block, source: Block, copies: Copies) -> None:
    """Phis of `target` get for `source` what they get from `like`, or its copy."""
    for phi in target.phis:
        value = phi.operands[phi.aux.index(like)]
        phi.add(copies.get(value, value), source)


def keep_entries(block: Block, sources: AbstractSet[Block]) -> None:
    """Phis of `block` forget all entries but those from `sources`."""
    for phi in block.phis:
        kept = [(v, b) for v, b in phi.incoming if b in sources]
        if len(kept) < len(phi.operands):
            phi.set_incoming([v for v, _ in kept], [b for _, b in kept])


def redirect(source: Block, old: Block, new: Block) -> None:
    """The terminator of `source` leads to `new` where it led to `old`. Phis are the caller's."""
    branch = source.terminator
    assert branch is not None
    branch.set_successor(old, new)


def definitions(
    blocks: Iterable[Block], copies: Copies, within: AbstractSet[Block]
) -> dict[Value, dict[Block, Value]]:
    """For `ir.ssa.repair`: the copies of all values of the blocks that are used elsewhere than
    `within`, the blocks where the originals are still right."""
    return {
        r: {copies[b]: copies[r]}
        for b in blocks for i in b for r in i.results if leaves(r, within)
    }


def leaves(value: Value, inside: AbstractSet[Block]) -> bool:
    """Whether a value is used outside of the blocks; a phi uses at the end of its entry."""
    for user in value.users:
        if user.form.is_phi:
            if any(v is value and b not in inside for v, b in user.incoming):
                return True
        elif user.block not in inside:
            return True
    return False


def _crosses(value: Value, block: Block) -> bool:
    """Whether a value of a block lives past its end."""
    return any(u.form.is_phi or u.block is not block for u in value.users)


def fold_phis(function: Function, blocks: Iterable[Block], held: AbstractSet[Value]) -> int:
    """Uses of phis that have one value only name that; returns how many phis are gone.

    Literals stay in their phi at `ori`, since not every operand takes one.
    """
    leaders: dict[Value, Value] = {}
    for b in blocks:
        for phi in b.phis:
            one, *others = phi.operands
            if any(v is not one for v in others) or one is phi:
                continue
            if folds(one, phi, held):
                leaders[phi] = one
    substitute(leaders)
    for gone in leaders:
        assert isinstance(gone, Instruction)
        function.marks.pop(gone, None)
        gone.erase()
    return len(leaders)


def folds(one: Value, phi: Instruction, held: AbstractSet[Value]) -> bool:
    """Whether the only value of a phi may take over its uses."""
    if phi in held or one in held:
        return False
    literal = isinstance(one, Constant) and phi.form.op.level == "ori"
    return not literal and can_stand_for(one, phi)


def merge_into(block: Block, pred: Block) -> None:
    """Append a block to its only predecessor, which leads nowhere else. Its phis must be gone.

    The block is empty then, the annotations are stale; `drop` takes it out of the function.
    """
    last = pred.last
    assert last is not None
    last.erase()
    i = block.first
    while i is not None:
        i.block = pred
        i = i.next
    before, i = pred.last, block.first
    assert i is not None
    i.prev = before
    if before is None:
        pred.first = i
    else:
        before.next = i
    pred.last, block.first, block.last = block.last, None, None
    for s in successors(pred):
        for phi in s.phis:
            phi.aux = tuple([pred if b is block else b for b in phi.aux])
    block.function.cfg_changed()


def drop(function: Function, gone: AbstractSet[Block]) -> None:
    """Take blocks that nothing leads to, and whose instructions are gone, out of a function."""
    function.blocks = [b for b in function.blocks if b not in gone]
    function._names.difference_update(str(b.name) for b in gone)


def merge_chains(function: Function) -> None:
    """Join each block to its predecessor where neither has another neighbour on that edge.

    Copies of a body without a test between them are one block to every scheduler.
    """
    function.analyze_cfg()
    edges = [
        (b.preds[0], b) for b in function.rpo[1:]
        if len(b.preds) == 1 and b.preds[0] is not b and len(b.preds[0].succs) == 1
    ]
    gone: set[Block] = set()
    into: dict[Block, Block] = {}
    for p, b in edges:
        head = into.get(p, p)
        last = head.terminator
        if last is None or last.form.name != "bra":
            continue
        leaders: dict[Value, Value] = {phi: phi.operands[0] for phi in b.phis}
        if not all(can_stand_for(new, old) for old, new in leaders.items()):
            continue
        substitute(leaders)
        for phi in list(b.phis):
            phi.erase()
        into[b] = head
        carry(b, head)
        merge_into(b, head)
        gone.add(b)
    drop(function, gone)
