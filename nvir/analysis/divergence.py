"""Divergence: which values and branches differ between the lanes of a warp.

A value is uniform when all lanes that compute it together get the same; a
branch is divergent when lanes that reach it together may part. A warp shares an
instruction, so uniform values could live in uniform registers, uniform branches
need no reconvergence, and a loop with a uniform exit keeps its warp whole.

Sources    %tid, %laneid and the lane masks; results of atomics, of shuffles of divergent values,
           of matrix operations; loads from divergent addresses, and of what lanes need not agree
           on at one address (local memory, a device function's parameters, volatile or generic
           loads whose object is unknown); calls and unknown mnemonics.
Uniform    literals, symbols, a kernel's parameters, %ctaid, %ntid and their like; votes, ballots,
           reductions over the warp; broadcasts by shfl.idx from a uniform lane.
Data       what has a divergent operand is divergent; so is what a divergent guard writes.
Control    from a divergent branch, phis where disjoint paths meet again differ: which
           operand a lane has depends on its path. When lanes leave a loop in different
           iterations, what was made inside differs outside (temporal divergence), and phis
           where the loop's exits meet differ.

Method   A worklist over values; for each divergent branch (and each loop that lanes leave apart)
         one sweep in reverse post-order carries the name of the path's start forward until the
         paths are one again: a block that two names reach is a join and gives its own name. Code
         that enters a loop sideways counts as divergent as a whole.
Cost     Linear in the uses, plus for each divergent branch the blocks up to where its paths meet.
Source   Karrenberg, Hack, "Whole-Function Vectorization", CGO 2011; Rosemann, Moll, Hack, "An
         Abstract Interpretation for SPMD Divergence on Reducible Control Flow Graphs", POPL
         2021; the sweep is that paper's, as LLVM's SyncDependenceAnalysis has it.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterable, Iterator

from nvir.analysis.induction import constant_of
from nvir.ir import Block, Function, Instruction, Loop, OpKind, Param, Variable, natural_loops
from nvir.ir.cfg import dominator_tree
from nvir.ir.loops import innermost_of
from nvir.ir.values import Argument, SpecialRegister, SymbolOffset, Value

WARP = 32


class Divergence:
    """What differs between the lanes of a warp, as the function was when it was made.

    divergent           the divergent values, each at the place where it is made
    divergent_branches  terminators at which lanes may part, in layout order
    divergent_loops     headers of the loops that lanes leave in different iterations
    apart               blocks that lanes may run while others of their warp are elsewhere: between
                        a divergent branch and where all its ways meet again
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.divergent: set[Value] = set()
        self.divergent_branches: list[Instruction] = []
        self.divergent_loops: set[Block] = set()
        self._loop_of: dict[Block, Loop] = {}  # the innermost
        self._spans: dict[Loop, tuple[int, int]] = {}
        self._branches: frozenset[Instruction] = frozenset()

    def is_divergent(self, value: Value, at: Block | None = None) -> bool:
        """Whether lanes may differ in the value, where it is made, or as block `at` sees it.

        A value of a loop that lanes leave in different iterations may be uniform inside and
        divergent outside.
        """
        if value in self.divergent:
            return True
        if isinstance(value, SpecialRegister):
            return _is_source(value, self.function)
        return at is not None and self._left_apart(value, at)

    def is_divergent_branch(self, block: Block) -> bool:
        """Whether the lanes that reach the end of a block together may go different ways."""
        t = block.terminator
        return t is not None and t in self._branches

    @functools.cached_property
    def apart(self) -> frozenset[Block]:
        """Needs the CFG as it was; linear in the blocks of each divergent branch's ways."""
        found: set[Block] = set()
        meet = meets(self.function) if self.divergent_branches else {}
        for branch in self.divergent_branches:
            origin = branch.block
            assert origin is not None
            end = meet.get(origin)
            starts = [s for s in origin._succs if s is not end and not _only_ends(s)]
            if len(starts) == 1 and (end not in origin._succs or _only_ends(end)):
                continue  # nobody waits for lanes that are done
            found |= _reach(starts, functools.partial(_succs_but, end))
        return frozenset(found)

    def _is_within(self, block: Block, loop: Loop) -> bool:
        inner = self._loop_of.get(block)
        if inner is None:
            return False
        first, end = self._spans[loop]
        return first <= self._spans[inner][0] < end

    def _left_apart(self, value: Value, at: Block) -> bool:
        """Whether a divergent loop lies around the making of the value and not around `at`."""
        if not self.divergent_loops:
            return False
        d = value.definer
        loop = self._loop_of.get(d.block) if d is not None and d.block is not None else None
        while loop is not None:
            if loop.header in self.divergent_loops and not self._is_within(at, loop):
                return True
            loop = loop.parent
        return False


def _spans(loops: list[Loop]) -> dict[Loop, tuple[int, int]]:
    """Numbers in preorder of the loop tree: those of a loop and all inside it are one range."""
    spans: dict[Loop, tuple[int, int]] = {}
    stack: list[tuple[Loop, int]] = [(x, -1) for x in loops if x.parent is None]
    n = 0
    while stack:
        x, first = stack.pop()
        if first >= 0:
            spans[x] = (first, n)
            continue
        stack.append((x, n))
        n += 1
        stack.extend((c, -1) for c in x.children)
    return spans


def divergence(function: Function) -> Divergence:
    """Which values, branches and loops of a function diverge."""
    if function.cfg_state != "fresh":
        function.analyze_cfg()
    return _Analysis(function).run()


# ------------------------------------------------------------------- sources


def _is_source(register: SpecialRegister, function: Function) -> bool:
    """Whether lanes of one warp differ in a special register."""
    name = str(register.name)
    if register.uniform or name in ("%warpid", "%smid"):
        return False
    if name in ("%tid.y", "%tid.z"):
        # A warp is 32 threads in order of x, then y, then z.
        sizes = function.directives.get("reqntid", ())
        row = sizes[0] if sizes else 0
        plane = row * sizes[1] if len(sizes) > 1 else row
        return row == 0 or bool((row if name == "%tid.y" else plane) % WARP)
    return True


def _makes_divergent(i: Instruction, kernel: bool) -> bool | None:
    """Whether an instruction's results diverge by themselves; None: as its operands do."""
    op = i.form.op
    if op.lanes:
        return op.lanes == "apart"
    return _loads_apart(i, kernel) if op.kind is OpKind.LOAD and op.level == "ori" else None


def _loads_apart(i: Instruction, kernel: bool) -> bool | None:
    f = i.form
    if f.volatile or "volatile" in f.mods or "relaxed" in f.mods or "acquire" in f.mods:
        return True
    if f.space == "local":
        return True
    base = i.operands[f.addresses[0][0]] if f.addresses else i.operands[0]
    symbol = base.symbol if isinstance(base, SymbolOffset) else base
    if f.space.startswith("param"):
        return None if kernel and isinstance(symbol, Param) else True
    if f.space or (isinstance(symbol, Variable) and symbol.space != "local"):
        return None
    return True if _generic_space(base) in ("", "local") else None


def _generic_space(value: Value) -> str:
    """The space that a generic address was converted from; a kernel's pointers are global."""
    for _ in range(32):
        d = value.definer
        if d is None or d is not value or d.form.guard is not None or not d.operands:
            return ""
        name = d.form.name
        if name == "cvta" and "to" not in d.form.mods:
            return d.form.space
        if name == "ld" and d.form.space.startswith("param"):
            f = d.function
            return "global" if f is not None and f.kind == "entry" else ""
        if d.form.kind not in (OpKind.SUM, OpKind.COPY):
            return ""
        value = d.operands[0]
    return ""


def _is_broadcast(i: Instruction, analysis: _Analysis) -> bool:
    """shfl.idx over the whole warp from a lane that all agree on."""
    if not i.form.name.startswith("shfl") or "idx" not in i.form.mods:
        return False
    source, clamp = i.operands[1], i.operands[2]
    return constant_of(clamp) == WARP - 1 and not analysis.sees(source, i)


# ------------------------------------------------------------------ analysis


class _Analysis:
    def __init__(self, function: Function) -> None:
        self.result = Divergence(function)
        self.function = function
        self.kernel = function.kind == "entry"
        self.loops = natural_loops(function)
        self.work: list[Value] = []
        self.branches: set[Instruction] = set()
        # What is to be followed: a divergent branch's block with its targets, or a loop that
        # lanes leave apart with its exits.
        self.pending: list[tuple[Block, list[Block], Loop | None]] = []
        self.result._spans = _spans(self.loops)
        self.result._loop_of = innermost_of(self.loops)

    def run(self) -> Divergence:
        self._start()
        while self.work or self.pending:
            while self.work:
                v = self.work.pop()
                for user in v.users:
                    self.visit(user)
            if self.pending:
                self._follow(*self.pending.pop())
        r = self.result
        r._branches = frozenset(self.branches)
        r.divergent_branches = [
            b.last for b in self.function.blocks if b.last is not None and b.last in self.branches
        ]
        return r

    def _start(self) -> None:
        for p in (*self.function.params, *self.function.returns):
            if isinstance(p, Argument):
                self.mark(p)
        sideways = _sideways(self.function)
        for b in self.function.blocks:
            i = b.first
            while i is not None:
                if b in sideways:
                    for r in i.results:
                        self.mark(r)
                self.visit(i)
                i = i.next

    def mark(self, value: Value) -> None:
        if value not in self.result.divergent:
            self.result.divergent.add(value)
            self.work.append(value)

    def sees(self, value: Value, user: Instruction) -> bool:
        """Whether an instruction finds an operand divergent."""
        r = self.result
        if value in r.divergent:
            return True
        if isinstance(value, SpecialRegister):
            return _is_source(value, self.function)
        if not r.divergent_loops or user.block is None:
            return False
        d = value.definer
        return d is not None and d.block is not user.block and r._left_apart(value, user.block)

    def visit(self, i: Instruction) -> None:
        """Look at an instruction again, some operand having become divergent."""
        f = i.form
        if f.terminator:
            block = i.block
            if i in self.branches or block is None or block._rpo_index < 0:
                return
            if self._parts(i):
                self.branches.add(i)
                self.pending.append((block, list(dict.fromkeys(i.successors)), None))
            return
        if i._results is None and (i.type.bits == 0 or i in self.result.divergent):
            return
        own = _makes_divergent(i, self.kernel)
        guard = i.guard
        if guard is not None and (
            self.sees(guard, i) or any(self.sees(v, i) for v in i.fallbacks)
        ):
            own = True
        if own is None:
            own = any(self.sees(v, i) for v in i._operands) and not _is_broadcast(i, self)
            if f.name == "shfl.sync" and not own and not _keeps_range(i):
                self._mark_result(i, 1)  # whether the source lane is in range
        if own:
            for r in i.results:
                self.mark(r)
        elif f.name == "elect.sync":
            self._mark_result(i, 1)

    def _mark_result(self, i: Instruction, index: int) -> None:
        if len(i.results) > index:
            self.mark(i.results[index])

    def _parts(self, branch: Instruction) -> bool:
        """Whether lanes may part at a terminator."""
        if "uni" in branch.form.mods or len(set(branch.successors)) < 2:
            return False
        return any(self.sees(v, branch) for v in branch._operands)

    # ------------------------------------------------------------ control

    def _follow(self, origin: Block, starts: Iterable[Block], leaving: Loop | None) -> None:
        """Carry the names of the paths from `starts` forward; phis at joins become divergent.

        `origin` is the branch's block; when lanes leave a loop apart, `leaving` is that loop and
        `starts` its exits.
        """
        loop = self.result._loop_of.get(origin) if leaving is None else leaving.parent
        name: dict[Block, Block] = {}
        queue: list[tuple[int, Block]] = []
        at_header: set[Block] = set()
        at_exit: dict[Block, set[Block]] = {}

        def reach(target: Block, label: Block) -> None:
            if loop is not None:
                if target is loop.header:
                    at_header.add(label)
                    if len(at_header) > 1:
                        self._join(target)
                    return
                if not self.result._is_within(target, loop):
                    at_exit.setdefault(target, set()).add(label)
                    return
            known = name.get(target)
            if known is None:
                name[target] = label
                heapq.heappush(queue, (target._rpo_index, target))
            elif known is not label:
                name[target] = target
                self._join(target)

        for start in starts:
            reach(start, start)
        while queue:
            if len(queue) == 1 and not at_header and not at_exit:
                break  # all lanes are together again
            _, block = heapq.heappop(queue)
            label = name[block]
            for s in block._succs:
                if s._rpo_index > block._rpo_index or (loop is not None and s is loop.header):
                    reach(s, label)
        if loop is not None:
            self._leave(loop, at_header, at_exit)

    def _leave(self, loop: Loop, at_header: set[Block], at_exit: dict[Block, set[Block]]) -> None:
        """What paths that end at the loop's header and exits mean for the loop."""
        leaves = set().union(*at_exit.values()) if at_exit else set()
        apart = bool(at_header) and bool(leaves) and len(at_header | leaves) > 1
        if apart:
            if loop.header not in self.result.divergent_loops:
                self.result.divergent_loops.add(loop.header)
                self._revisit_outside(loop)
                exits = list(dict.fromkeys(s for _, s in loop.exits))
                for s in exits:
                    self._phis_see(s)
                self.pending.append((loop.header, exits, loop))
            return
        if len(leaves) > 1:  # one iteration, several ways out
            for target, labels in at_exit.items():
                if len(labels) > 1:
                    self._join(target)
            self.pending.append((loop.header, list(at_exit), loop))

    def _join(self, block: Block) -> None:
        """Phis of a block that lanes reach from several sides: those that choose differ."""
        for phi in block.phis:
            if len({id(v) for v in phi._operands if v is not phi}) > 1:
                self.mark(phi)

    def _phis_see(self, block: Block) -> None:
        for phi in block.phis:
            self.visit(phi)

    def _revisit_outside(self, loop: Loop) -> None:
        """Lanes leave this loop apart: look again at who uses its values outside."""
        for b in loop.blocks:
            for i in b:
                for r in i.results:
                    if r in self.result.divergent:
                        continue
                    for user in r.users:
                        at = user.block
                        if at is not None and not self.result._is_within(at, loop):
                            self.visit(user)


def _keeps_range(i: Instruction) -> bool:
    """Whether a shuffle's source lane is in range in all lanes: idx and bfly over the warp."""
    mods = i.form.mods
    return ("idx" in mods or "bfly" in mods) and constant_of(i.operands[2]) == WARP - 1


def _sideways(function: Function) -> set[Block]:
    """Blocks on a cycle through an edge that enters a loop sideways."""
    out: set[Block] = set()
    for source, target in function.irreducible_edges:
        ahead = _reach([target], lambda b: b._succs)
        behind = _reach([source], lambda b: b._preds)
        out |= ahead & behind
    return out


def _succs_but(end: Block | None, block: Block) -> Iterator[Block]:
    return (s for s in block._succs if s is not end)


def _only_ends(block: Block | None) -> bool:
    return block is None or (not block._succs and block.first is block.terminator)


def meets(function: Function) -> dict[Block, Block | None]:
    """Where all ways from a block meet first: its nearest post-dominator, None behind the end."""
    order: list[Block] = []
    ends = [b for b in function.blocks if not b._succs]
    seen = set(ends)
    for end in ends:
        stack = [(end, iter(end._preds))]
        while stack:
            block, behind = stack[-1]
            for p in behind:
                if p not in seen:
                    seen.add(p)
                    stack.append((p, iter(p._preds)))
                    break
            else:
                order.append(block)
                stack.pop()
    order.reverse()
    place = {b: n for n, b in enumerate(order, 1)}
    ways = [[place[s] for s in b._succs if s in place] or [0] for b in order]
    idom = dominator_tree([[], *ways]).idom
    return {b: order[idom[n] - 1] if idom[n] else None for b, n in place.items()}


def _reach(start: list[Block], step: Callable[[Block], Iterable[Block]]) -> set[Block]:
    seen = set(start)
    work = list(start)
    while work:
        for b in step(work.pop()):
            if b not in seen:
                seen.add(b)
                work.append(b)
    return seen


__all__ = ["Divergence", "divergence", "meets"]
