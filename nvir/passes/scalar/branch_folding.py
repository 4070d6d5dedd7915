"""Rules of simplify-cfg that take more than one block: threading, selects, common destinations.

Each rule takes the run (`Simplifier`) and a block, changes the code or leaves it, and tells which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nvir.analysis.callees import can_speculate
from nvir.ir import I1, ArrayType, Block, Instruction, StructType, nvvm_form
from nvir.ir.values import Constant, Undef, Value, constant

if TYPE_CHECKING:
    from nvir.passes.scalar.simplify_cfg import Simplifier

# What a branch is worth: about the instructions that may be run in its place.
SPECULATED = 4
MAX_SELECTS = 4
JOINED = 2  # instructions before the second of two branches that are joined

_COSTS = {"trunc": 0, "zext": 0, "bitcast": 0, "ptrtoint": 0, "inttoptr": 0, "freeze": 0,
          "extractvalue": 0, "insertvalue": 0, "extractelement": 0,
          "udiv": 9, "sdiv": 9, "urem": 9, "srem": 9, "fdiv": 9, "frem": 99,
          "call": 5}


def cost(i: Instruction) -> int:
    """Roughly how many machine instructions an instruction takes; large where it must stay."""
    if not can_speculate(i) or i.form.is_phi:
        return 99
    wide = 2 if i.type.bits == 64 and i.form.name not in _COSTS else 1
    return _COSTS.get(i.form.name, wide)


def only_jumps(b: Block) -> bool:
    """Whether a block has phis and an unconditional branch alone."""
    i = b.first_non_phi
    return i is not None and i.form.name == "br" and len(i.aux) == 1


# ------------------------------------------------------------------- threading


def thread(s: Simplifier, b: Block) -> bool:
    """Lead the predecessors of a block that only jumps to where it jumps.

    Its phis may feed phis of the successor alone. A predecessor that leads there already must
    bring the same values on both ways.
    """
    if not only_jumps(b) or b is s.function.entry or b.aux is not None or b.pragmas:
        return False
    assert b.last is not None
    target: Block = b.last.aux[0]
    if target is b or (b in s.latches and len(s.preds[b]) > 1) or b in s.headers:
        return False
    if target in s.headers and not _keeps_preheader(s, b, target):
        return False
    if target in s.waiting and only_jumps(target) and b not in s.deferred:
        s.deferred.add(b)  # the far end of a chain first, or its edges are moved once a block
        s.again(b)
        s.work.append(target)
        return False
    own = {phi: dict(zip(phi.aux, phi.operands, strict=True)) for phi in b.phis}
    if any(not _names_from(u, phi, b, target) for phi in own for u in phi.users):
        return False
    moved = [p for p in s.preds[b] if _agrees(p, b, target, own, s)]
    if not moved or (own and len(moved) < len(s.preds[b])):
        return False
    _redirect(s, b, target, moved, own)
    return True


def _keeps_preheader(s: Simplifier, b: Block, header: Block) -> bool:
    """Whether a header has one way in from outside after a block before it is threaded."""
    outside = [p for p in s.preds[header] if p not in s.latches]
    return len(s.preds[b]) == 1 and len(outside) == 1


def _names_from(user: Instruction, phi: Instruction, b: Block, target: Block) -> bool:
    """Whether a user of a phi of `b` is a phi of the target that names it once, as from `b`."""
    return (
        user.form.is_phi and user.block is target and phi.uses_by(user) == 1
        and user.arriving(b) is phi
    )


def _agrees(p: Block, b: Block, target: Block, own: dict[Instruction, dict[Block, Value]],
            s: Simplifier) -> bool:
    """Whether `p`, led past `b`, brings each phi of the target one value."""
    if p not in s.preds[target]:
        return True
    return all(_through(phi.arriving(b), p, own) is phi.arriving(p) for phi in target.phis)


def _through(v: Value, p: Block, own: dict[Instruction, dict[Block, Value]]) -> Value:
    """What a value at the end of a block is where `p` comes before it."""
    return own[v][p] if isinstance(v, Instruction) and v in own else v


def _redirect(s: Simplifier, b: Block, target: Block, moved: list[Block],
              own: dict[Instruction, dict[Block, Value]]) -> None:
    stays = len(moved) < len(s.preds[b])
    new = [p for p in moved if p not in s.preds[target]]
    for phi in target.phis:
        v = phi.arriving(b)
        values = [v] * stays + [_through(v, p, own) for p in new]
        phi.replace_incoming(b, values, [b] * stays + new)
    for p in moved:
        assert p.last is not None
        p.last.set_successor(b, target)
        s.preds[target][p] = None
        del s.preds[b][p]
        s.again(p)
    if b in s.latches:
        s.latches.update(moved)
    if not stays:
        s.preds[target].pop(b, None)
        for phi in list(own):
            phi.set_incoming((), ())
        s.discard(b)
    s.again(target)


def decide(s: Simplifier, b: Block) -> bool:
    """Lead predecessors whose constant for a phi decides the branch on it straight to its end.

    The block holds phis and the branch alone, and nothing outside names its phis but the phis of
    the blocks that it leads to.
    """
    last = b.terminator
    if last is None or last.form.name != "br" or len(last.operands) != 1 or b in s.headers:
        return False
    cond = last.operands[0]
    if b.first_non_phi is not last or b is s.function.entry or last.aux[0] is last.aux[1]:
        return False
    if not (isinstance(cond, Instruction) and cond.form.is_phi and cond.block is b):
        return False
    if b.aux is not None or b in last.aux:
        return False
    own = {phi: dict(zip(phi.aux, phi.operands, strict=True)) for phi in b.phis}
    for phi in own:
        for u in phi.users:
            if u is last or (u.form.is_phi and u.block in last.aux and all(
                    v is not phi or p is b for v, p in u.incoming)):
                continue
            return False
    known = {p: v for p, v in own[cond].items() if isinstance(v, Constant)}
    moved = False
    for p, value in known.items():
        target: Block = last.aux[0] if value.value else last.aux[1]
        if target in s.headers or not _agrees(p, b, target, own, s):
            continue
        for phi in target.phis:
            entries = dict(zip(phi.aux, phi.operands, strict=True))
            entries.setdefault(p, _through(entries[b], p, own))
            phi.set_incoming(list(entries.values()), list(entries))
        assert p.last is not None
        p.last.set_successor(b, target)
        s.preds[target][p] = None
        s.drop_edge(p, b)
        s.again(p, target)
        moved = True
        for phi in own:
            own[phi].pop(p, None)
    return moved


# --------------------------------------------------------------------- selects


def select(s: Simplifier, b: Block) -> bool:
    """Turn a branch around cheap instructions into selects.

    `b` branches to one or two blocks that only it leads to and that go on to a common block; or
    one of the ways leads there directly.
    """
    last = b.terminator
    if last is None or last.form.name != "br" or len(last.operands) != 1:
        return False
    yes, no = last.aux
    end = _goes_on(s, b, yes)
    if end is not None and end is _goes_on(s, b, no):
        sides = [yes, no]
    elif end is no:
        sides = [yes]
    elif _goes_on(s, b, no) is yes:
        end, sides = yes, [no]
    else:
        return False
    assert end is not None
    if end is b or b in s.latches:
        return False
    way = [yes if yes in sides else b, no if no in sides else b]
    phis = [(phi, dict(zip(phi.aux, phi.operands, strict=True))) for phi in end.phis]
    chosen = [(e[way[0]], e[way[1]]) for _, e in phis]
    if sum(_needs_select(x, y) for x, y in chosen) > MAX_SELECTS:
        return False
    if any(isinstance(x.type, StructType | ArrayType) for x, y in chosen if _needs_select(x, y)):
        return False
    total = 0
    for i in (i for side in sides for i in side if i is not side.last):
        total += cost(i)
        if total > SPECULATED:
            return False
    cond = last.operands[0]
    for side in sides:
        for i in side:
            if i is not side.last:
                i.move_before(last)
    for (phi, entries), (x, y) in zip(phis, chosen, strict=True):
        value = _select(last, cond, x, y, phi)
        for w in way:
            entries.pop(w, None)
        entries[b] = value
        phi.set_incoming(list(entries.values()), list(entries))
    for side in sides:
        s.preds[end].pop(side, None)
        s.discard(side)
    s.preds[end][b] = None
    s.set_branch(b, None, end)
    s.again(end)
    return True


def _goes_on(s: Simplifier, b: Block, side: Block) -> Block | None:
    """Where a block that `b` alone leads to goes on, if it has no phis and one way out."""
    last = side.terminator
    if side is b or len(s.preds[side]) != 1 or last is None or last.form.name != "br":
        return None
    if len(last.aux) != 1 or side.aux is not None or side in s.latches:
        return None
    return last.aux[0]  # type: ignore[no-any-return]


def _needs_select(x: Value, y: Value) -> bool:
    return x is not y and not isinstance(x, Undef) and not isinstance(y, Undef)


def _select(at: Instruction, cond: Value, x: Value, y: Value, phi: Instruction) -> Value:
    if x is y or isinstance(y, Undef):
        return x
    if isinstance(x, Undef):
        return y
    i = Instruction(nvvm_form("select"), (cond, x, y), x.type, phi.name, None, phi.loc)
    i.insert_before(at)
    return i


# -------------------------------------------------------- common destinations


def join(s: Simplifier, b: Block) -> bool:
    """Join the branch of `b` with those of blocks behind it, where one way is common.

        b: br %c, next, out                          b: %t = select %c, %d, false
        next: br %d, then, out              ==>         br %t, then, out

    What stands before the second branch runs always then, so there must be little of it. What
    stands at `then` is asked next: no other rule takes what this one does.
    """
    last = b.terminator
    if last is None or last.form.name != "br" or len(last.operands) != 1 or b in s.latches:
        return False
    for at, after in enumerate(last.aux):
        out: Block = last.aux[1 - at]
        arriving = _Arriving(b, out)
        if after is not out and _may_join(s, b, after, out, arriving):
            _join(s, b, at, after, out, arriving)
            while _may_join(s, b, last.aux[0], out, arriving):
                s.changes["join"] = s.changes.get("join", 0) + 1
                _join(s, b, 0, last.aux[0], out, arriving)
            arriving.settle()
            return True
    return False


class _Arriving:
    """What comes to the phis of a block from `b` and from what is joined with it, written back
    once: in phis of many entries each change is a walk over all."""

    FEW = 16

    def __init__(self, b: Block, out: Block) -> None:
        self.b, self.phis = b, list(out.phis)
        self.gone: list[Block] = []
        self.near: list[Value] = []
        self.entries: list[dict[Block, Value]] = []

    def pairs(self, after: Block) -> Iterator[tuple[Instruction, Value, Value]]:
        """Of each phi what comes from `b`, and what from a block."""
        if not self.near:
            self.near = [phi.arriving(self.b) for phi in self.phis]
        if not self.entries and len(self.gone) > self.FEW:
            self.entries = [dict(zip(phi.aux, phi.operands, strict=True)) for phi in self.phis]
        for k, phi in enumerate(self.phis):
            far = self.entries[k][after] if self.entries else phi.arriving(after)
            yield phi, self.near[k], far

    def join(self, after: Block, near: list[Value]) -> None:
        self.near = near
        self.gone.append(after)

    def settle(self) -> None:
        gone = {*self.gone, self.b}
        for phi, value in zip(self.phis, self.near, strict=True):
            if len(gone) <= self.FEW:
                phi.replace_incoming(self.b, [value], [self.b])
                for p in self.gone:
                    phi.replace_incoming(p, (), ())
            else:
                kept = [(value if p is self.b else v, p) for v, p in phi.incoming
                        if p is self.b or p not in gone]
                phi.set_incoming([v for v, _ in kept], [p for _, p in kept])


def _may_join(s: Simplifier, b: Block, after: Block, out: Block, arriving: _Arriving) -> bool:
    second = after.terminator
    if after is b or len(s.preds[after]) != 1 or second is None or second.form.name != "br":
        return False
    if len(second.operands) != 1 or out not in second.aux or after.aux is not None:
        return False
    if second.aux[0] is second.aux[1] or after in s.latches or b in second.aux:
        return False
    if sum(cost(i) for i in after if i is not second) > JOINED:
        return False
    return sum(_needs_select(near, far) for _, near, far in arriving.pairs(after)) <= 1


def _join(
    s: Simplifier, b: Block, at: int, after: Block, out: Block, arriving: _Arriving
) -> None:
    last, second = b.terminator, after.terminator
    assert last is not None
    assert second is not None
    cond, inner = last.operands[0], second.operands[0]
    then: Block = second.aux[0] if second.aux[1] is out else second.aux[1]
    for i in after:
        if i is not second:
            i.move_before(last)
    if second.aux[0] is out:  # the way to `then` is where the inner condition does not hold
        inner = _i1(last, "xor", (inner, constant(I1, 1)))
    # `then` is reached where cond agrees with `at` and the inner condition holds.
    if at == 0:
        both = _i1(last, "select", (cond, inner, constant(I1, 0)))
    else:
        both = _i1(last, "select", (cond, constant(I1, 0), inner))
    arriving.join(after, [
        _select(last, cond, *((far, near) if at == 0 else (near, far)), phi)
        for phi, near, far in arriving.pairs(after)
    ])
    for phi in then.phis:
        phi.aux = tuple([b if p is after else p for p in phi.aux])
    s.preds[then][b] = s.preds[then].pop(after)
    s.preds[out].pop(after)
    s.discard(after)
    s.set_branch(b, both, then, out)
    s.again(then, out)


def _i1(at: Instruction, spelling: str, operands: tuple[Value, ...]) -> Instruction:
    i = Instruction(nvvm_form(spelling), operands, I1, None, None, at.loc)
    i.insert_before(at)
    return i
