"""Canonical loops: one latch, one preheader, exits of their own.

Method   On one snapshot of the loops, a plan: edges into headers, by whether they come from
         inside; all at once they get their blocks. The same for the edges that leave loops,
         on the next snapshot where one of them leads to a header.
Cost     linear; blocks only, unless something is to be done.

What each part is for, and what is skipped: loop_simplify.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.divergence import Divergence
from nvir.ir import Block, EdgePlace, Function, Loop, interpose_all
from nvir.ir.text.trace import looking_at, note
from nvir.passes.context import Context
from nvir.passes.loop import region
from nvir.passes.remarks import missed, passed

LATCH = passed("SingleLatch", "one latch, {latch}, for back edges: {latches}")
PREHEADER = passed("Preheader", "a preheader, {preheader}, for edges into the loop: {entries}")
EXIT = passed("OwnExit", "an exit block of its own, {exit}, for edges out of the loop: {edges}")
DIVERGENT = missed(
    "ConvergentContext", "no block on the way from {source} to {target}, where lanes may part"
)
ROWS = {"latch": "P18-03", "preheader": "P18-05", "exit": "P18-09"}  # exits: for phases behind
BOTH = ("latch", "preheader")
CODES = (LATCH, PREHEADER, EXIT, DIVERGENT)  # and region.UNKNOWN


def canonicalise(
    function: Function, ctx: Context | None = None, *, whole: bool = True,
    headers: AbstractSet[Block] | None = None,
) -> bool:
    """Bring all loops, or those of the headers, into the form above; whether anything changed.

    Annotations stay fresh. `whole` false: only the single latch. Without a context nothing is
    remarked.
    """
    work = _CanonicalWork(function, ctx, False, headers)
    return work.rest(BOTH) if whole else work.apply(work.header_edges(("latch",)))


def in_two_rounds(
    function: Function, ctx: Context, asked: Callable[[], bool], together: bool
) -> bool:
    """The same for all loops as phase 18 has it: latches, and all else where `asked`, which is
    called behind them, says so. `together`: no block where lanes may part."""
    work = _CanonicalWork(function, ctx, together, None)
    plans = work.header_edges(("latch",))
    loops = work.loops()
    note("P18-03", "several latches", [p.loop.header for p in plans], loops=loops)
    changed = work.apply(plans)
    if not asked():
        return changed
    note("P18-05", "headers visited in RPO", [x.header for x in loops], loops=len(loops))
    return work.rest(("preheader",)) or changed


@attrs.frozen
class _Plan:
    """A new block, and the loop that it is for."""

    kind: str  # "latch", "preheader", "exit"
    loop: Loop
    place: EdgePlace


class _CanonicalWork:
    def __init__(
        self, function: Function, ctx: Context | None, together: bool,
        headers: AbstractSet[Block] | None,
    ) -> None:
        self.function, self.ctx, self.together, self.headers = function, ctx, together, headers
        self._divergence: Divergence | None = None
        self._known: dict[Block, bool] = {}  # header -> no unknown operation within

    def loops(self) -> list[Loop]:
        loops, headers = Analyses.of(self.function).loops, self.headers
        return loops if headers is None else [x for x in loops if x.header in headers]

    def rest(self, kinds: Sequence[str]) -> bool:
        """New blocks of these kinds at headers, and exits."""
        plans, exits = self.header_edges(kinds), self.exit_edges()
        if {p.place.target for p in plans}.isdisjoint(p.place.target for p in exits):
            return self.apply(plans + exits)
        return self.apply(plans) | self.apply(self.exit_edges())

    def header_edges(self, kinds: Sequence[str]) -> list[_Plan]:
        """Loops of several latches, and those without a preheader: those of the kinds."""
        plans = []
        for loop in self.loops():
            header, latches = loop.header, loop.latches
            if len(latches) > 1 and "latch" in kinds:
                place = EdgePlace(header, latches, f"{header.name}.latch", latches[-1])
                plans.append(_Plan("latch", loop, place))
            if "preheader" not in kinds:
                continue
            inside = set(latches)
            entries = [p for p in header.preds if p not in inside]
            if len(entries) != 1 or not region.only_jumps(entries[0]):
                place = EdgePlace(header, entries, f"{header.name}.preheader")
                plans.append(_Plan("preheader", loop, place))
        return plans

    def exit_edges(self) -> list[_Plan]:
        """Edges that leave loops for blocks which other edges lead to.

        Edges into one target are taken by the innermost loop of their source. If they are of
        several kinds, each kind that leaves a loop gets a block.
        """
        inner: dict[Block, Loop] = {}
        for loop in self.loops():
            inner.update(dict.fromkeys(loop.blocks, loop))
        targets: dict[Block, None] = {}
        for b, loop in inner.items():
            for s in b.succs:
                if not _within(inner.get(s), loop):
                    targets[s] = None
        plans = []
        for t in targets:
            kinds: dict[Loop | None, list[Block]] = {}
            for p in t.preds:
                left = inner.get(p)
                kinds.setdefault(left if not _within(inner.get(t), left) else None, []).append(p)
            if len(kinds) > 1:
                for left, sources in kinds.items():
                    if left is not None:
                        name = f"{t.name}.exit"
                        plans.append(_Plan("exit", left, EdgePlace(t, sources, name)))
        return plans

    def apply(self, plans: list[_Plan]) -> bool:
        """Put the new blocks of the plans that nothing forbids; whether there was any."""
        plans = [p for p in plans if self._is_known(p.loop) and self._may_split(p)]
        if not plans:
            return False
        made = interpose_all(self.function, [p.place for p in plans])
        for p in plans:
            if p.kind == "preheader":
                _without_copies(p.loop.header)
        if self.ctx is not None:
            for p, new in zip(plans, made, strict=True):
                self._tell(self.ctx, p, new)
        return True

    def _is_known(self, loop: Loop) -> bool:
        known = self._known.get(loop.header)
        if known is None:
            what = unknown_operation(loop.blocks)
            known = self._known[loop.header] = what is None
            if what is not None and self.ctx is not None:
                self.ctx.remark(region.UNKNOWN, loop, done="simplified", what=what)
        return known

    def _may_split(self, plan: _Plan) -> bool:
        if not self.together:
            return True
        if self._divergence is None:
            self._divergence = Analyses.of(self.function).divergence
        for s in plan.place.sources:
            if self._divergence.is_divergent_branch(s):
                if self.ctx is not None:
                    target = plan.place.target.name
                    self.ctx.remark(DIVERGENT, plan.loop, source=s.name, target=target)
                    looking_at(str(plan.loop.header.name))
                    note("P18-07", "convergent", "no block", source=s, target=plan.place.target)
                return False
        return True

    def _tell(self, ctx: Context, plan: _Plan, new: Block) -> None:
        n = len(plan.place.sources)
        looking_at(str(plan.loop.header.name))
        note(ROWS[plan.kind], plan.kind, new, edges=plan.place.sources)
        if plan.kind == "latch":
            ctx.count("latches")
            ctx.remark(LATCH, plan.loop, latches=n, latch=new.name)
        elif plan.kind == "preheader":
            ctx.count("preheaders")
            ctx.remark(PREHEADER, plan.loop, entries=n, preheader=new.name)
        else:
            ctx.count("exits")
            ctx.remark(EXIT, plan.loop, edges=n, exit=new.name)


def _without_copies(header: Block) -> None:
    """Remove the phis of a header that the loop gives back as they came: what ways into it bring
    meets in the preheader now, and no pass behind is to take it for something that changes."""
    found = True
    while found:  # once more where one was the value of another
        found = False
        for phi in [*header.phis]:
            values = {v for v in phi.operands if v is not phi}
            if len(values) == 1:
                phi.replace_all_uses_with(values.pop())
                phi.erase()
                found = True


def unknown_operation(blocks: Iterable[Block]) -> str | None:
    """The spelling of an operation in the blocks that the table does not know, or None."""
    for b in blocks:
        i = b.first
        while i is not None:
            if i.form.name == "unknown":
                return i.form.spelling
            i = i.next
    return None


def _within(loop: Loop | None, outer: Loop | None) -> bool:
    """Whether a loop is another one or lies in it; everything lies in None."""
    while loop is not None and loop is not outer:
        loop = loop.parent
    return loop is outer
