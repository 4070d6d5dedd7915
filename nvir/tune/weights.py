"""How often each part of a kernel's machine code runs, from the trip counts of its loops.

A machine loop belongs to the loop of the kernel that its instructions come of, and holds so many
copies of that loop's iteration: as often as one of its accesses of memory stands there, against
once in the code in which no loop is unrolled. The iterations of a loop are then dealt out as the
code does it: to the copies that always run (a prologue, a body without loop), to the machine loop
with most copies as many whole rounds as fit, to the next with what is left.

A count that is not known is taken to be each of ASSUMED of the source's loop, of which all
remainders of an unrolled loop are as frequent: of a loop in which a front end has put several
copies of the body, as many rounds as these take, and of one that does what those leave, the rest.

Cost    linear in the code, and for each loop its machine loops times the counts in ASSUMED.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from statistics import fmean
from types import MappingProxyType

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.counts.ends import shifted_out, waits_for_data
from nvir.analysis.counts.threads import LONGEST, LoopCounts
from nvir.analysis.induction import counted_exits
from nvir.analysis.source_loops import LoopPart, SourceLoop, left_over
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.loops import Loop
from nvir.sm.body import BodyBlock, BodyLoop, MachineBody
from nvir.sm.profile import Profile
from nvir.tune.assembled import BUILT
from nvir.tune.candidates import LATE, SLOW, TIMES, number

ASSUMED = range(64, 128)  # counts of a loop of the source
OFTEN = 1e60  # times that anything is taken to run at most: in nests of hundreds numbers end
SPREAD = 64  # counts that a fraction is the mean of
Parts = Mapping[str, tuple[SourceLoop, LoopPart]]  # by header
COPIES = 3  # of a loop's body from which on blocks that are alike are taken for them
WHOLE = 0.9  # of an iteration from which on straight code is a piece that is run or not


@attrs.define(eq=False)
class KernelLoop:
    """A loop of the kernel as it is: its header's name, the loop around it, how often it runs.

    counts    of its iterations, equally often
    source    where they come from: "given", "known", "block" (its threads tell), "rest" (none to
              so many), "most" (one to so many) or "assumed"
    copies    of the source's loop in an iteration
    numbers   of all its instructions; `anchors` those by which copies of it are counted
    accesses  the anchors access memory: only what does so in machine code counts
    own       of its instructions those in no loop in it
    rests     the loops that do what its copies leave
    left      iterations of the source's loop that straight code does, which they leave as well
    part      of an iteration that runs once more than is known: what stands before an exit in its
              middle
    data      what it loads or is passed decides when it ends
    """

    name: str
    parent: KernelLoop | None
    counts: Sequence[float]
    source: str
    copies: int
    numbers: frozenset[int]
    anchors: frozenset[int]
    accesses: bool
    own: frozenset[int]
    rests: Sequence[KernelLoop] = ()
    left: float = 0.0
    part: float = 0.0
    data: bool = False

    def outer(self) -> Iterator[KernelLoop]:
        """The loops around it, the innermost first."""
        around = self.parent
        while around is not None:
            yield around
            around = around.parent

    @property
    def trips(self) -> float:
        """Its iterations on average."""
        return fmean(self.counts)

    @property
    def work(self) -> float:
        """Instructions of its own that it runs, with the loops around it."""
        return math.prod(x.trips for x in (self, *self.outer())) * len(self.own)

    @property
    def of_source(self) -> float:
        """Iterations of the source's loop that it and its rests run, on average."""
        return self.copies * (self.trips + self.part) + sum(x.trips for x in self.rests) + self.left


def spread(trips: float) -> Sequence[int]:
    """Counts whose mean is `trips`: of a fraction some have an iteration more than others."""
    n = int(trips)
    return [n] if trips == n else [int(trips + k / SPREAD) for k in range(SPREAD)]


def dealt(trips: float, copies: int) -> tuple[float, float]:
    """How often a loop of so many copies runs, on average, and how many iterations it leaves."""
    counts = spread(trips)
    return fmean(n // copies for n in counts), fmean(n % copies for n in counts)


def kernel_loops(
    kernel: Function, given: Mapping[str, float], known: Mapping[str, int],
    most: Mapping[str, int], parts: Parts = MappingProxyType({}),
    told: Mapping[str, LoopCounts] = MappingProxyType({}),
    expected: Mapping[str, float] = MappingProxyType({}),
) -> list[KernelLoop]:
    """The loops of a kernel with numbered instructions, outer before inner; `most` iterations of
    those that do what others leave, `parts` of loops of the source that they are, `told` what
    constants and a block's threads tell of others, `expected` of which nothing else is known."""
    found: dict[str, KernelLoop] = {}
    for loop in Analyses.of(kernel).loops:
        name = str(loop.header.name)
        inner = {b for c in loop.children for b in c.blocks}
        own = [i for b in loop.blocks if b not in inner for i in b if not i.form.is_phi]
        numbers = frozenset(i.line for b in loop.blocks for i in b)
        mine = frozenset(i.line for i in own)
        anchors = frozenset(
            i.line for i in own if i.form.reads or i.form.writes or i.form.addresses)
        each, rest = _copies(parts[name]) if name in parts else (1, False)
        beside = left_over(loop) if each > 1 and not rest else None
        is_straight = beside is not None and beside[1] == each
        rest = rest or is_straight
        counts: Sequence[float] = [n // each if rest else n / each for n in ASSUMED]
        source, part = "assumed", 0.0
        left = fmean(n % each for n in ASSUMED) if is_straight else 0.0
        if name in given:
            counts, source = spread(given[name]), "given"
        elif name in known:
            counts, source = [max(1, known[name])], "known"
            part = _once_more(loop, anchors or mine)
        elif name in told and told[name].is_sure:
            counts, source = told[name].whole, "block" if told[name].by_block else "known"
            part = sum(n * _part(loop, anchors or mine, b) for b, n in told[name].part.items())
            left = (told[name].left or 0.0) if is_straight else 0.0
        elif name in expected:
            counts, source, left = spread(expected[name]), "given", 0.0
        elif name in most:
            counts, source = range(most[name] + 1), "rest"
        elif (limit := _limit(loop, told.get(name), anchors or mine)) and limit * each <= LONGEST:
            every = range(1, round(limit * each) + 1)
            counts, source = [n // each if rest else n / each for n in every], "most"
        found[name] = KernelLoop(
            name, found.get(str(loop.parent.header.name)) if loop.parent else None,
            counts, source, each, numbers, anchors or mine, bool(anchors), mine,
            left=left, part=part, data=waits_for_data(loop),
        )
    for name, (group, one) in parts.items():
        if one.role == "main":
            found[name].rests = [found[str(x.loop.header.name)] for x in group.parts
                                 if x.role == "remainder"]
    return list(found.values())


def _limit(loop: Loop, told: LoopCounts | None, anchors: AbstractSet[int]) -> float | None:
    """How many iterations a loop has at most, if something limits them."""
    some: list[float] = [
        x.count for x in counted_exits(loop, loose=True) if x.count is not None]
    if told is not None:
        part = max((_part(loop, anchors, b) for b in told.part), default=0.0)
        some.append(max(told.whole) + part)
    if (shifted := shifted_out(loop)) is not None:
        some.append(shifted[0])
    return min(some, default=None)


def _copies(place: tuple[SourceLoop, LoopPart]) -> tuple[int, bool]:
    """How many of the source's loop a loop has, and whether another does what they leave: if none,
    each copy has an exit, and some of the copies run once more."""
    group, part = place
    return part.copies, any(x.role == "remainder" for x in group.parts)


def _once_more(loop: Loop, anchors: AbstractSet[int]) -> float:
    """Of the anchors of a loop with one exit, in its middle, those that run before the last test:
    nvcc puts it so where its copies do not divide a known count."""
    ends = {b for b, _ in loop.exits}
    if len(ends) != 1 or ends & set(loop.latches) or not anchors:
        return 0.0
    (end,) = ends
    return _part(loop, anchors, end)


def _part(loop: Loop, anchors: AbstractSet[int], end: Block) -> float:
    """The share of the anchors of a loop that run before it is left by one of its blocks."""
    before = {i.line for b in loop.blocks if b.rpo_index <= end.rpo_index for i in b}
    return len(anchors & before) / len(anchors) if anchors else 0.0


@attrs.frozen(eq=False)
class RunWeights:
    """How often parts of a body run.

    trips   of each machine loop, by its header's block, for each time that it is entered
    blocks  of a block that runs less often than what is around it: the share
    owners  the innermost loop of the kernel that an instruction's number is of
    """

    trips: dict[int, float]
    blocks: dict[int, float]
    owners: Mapping[int, str] = attrs.Factory(dict)


def once(body: MachineBody, profile: Profile) -> Counter[int]:
    """How often each number stands in a body in which no loop is unrolled; those of accesses as
    negative numbers too."""
    total: Counter[int] = Counter()
    for b in body.blocks:
        total.update(_lines(b, profile))
    return total


def anchor(loops: Sequence[KernelLoop], single: Mapping[int, int]) -> None:
    """Count copies by all that loops do where none of their accesses is in `single`: some have
    another's line (textures)."""
    for loop in loops:
        if loop.accesses and not any(-k in single for k in loop.anchors):
            loop.anchors, loop.accesses = loop.own, False


def _lines(block: BodyBlock, profile: Profile) -> Counter[int]:
    found: Counter[int] = Counter()
    for i in block.instructions:
        times = 1 + i.line // TIMES
        found[number(i.line)] += times
        if profile.has(i.opcode) and profile.units[profile.operation(i.opcode).unit].ordered:
            found[-number(i.line)] += times
    return found


def weights(
    body: MachineBody, loops: Sequence[KernelLoop], single: Mapping[int, int], profile: Profile
) -> RunWeights:
    """The weights of a body; `single` is `once` of the body in which no loop is unrolled."""
    return Dealing(body, loops, single, profile).run()


class Dealing:
    """How the iterations of a kernel's loops are dealt out over a body of it; `single` is `once` of
    the body in which no loop is unrolled. `factors`: copies of loops of a predicted body, by their
    names."""

    def __init__(
        self, body: MachineBody, loops: Sequence[KernelLoop], single: Mapping[int, int],
        profile: Profile, factors: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.body, self.loops, self.single, self.factors = body, loops, single, factors
        self.lines = [_lines(b, profile) for b in body.blocks]
        self.within = _innermost(loops)
        self.owner = {m.header: self._owner(m) for m in body.loops}
        self.copies = {m.header: self._copies(m) for m in body.loops}
        self.late = _late(body)
        # routines that are called are the slow paths of single lanes
        self.never = _routines(body.blocks) | _aside(body.blocks)
        self.never |= {n for n, x in enumerate(self.lines) if _is_slow(x)}

    def infer(self) -> None:
        """Take the counts that the assembler knew for those that were assumed: where it left
        nothing of a loop but straight copies, these are all."""
        left = {x.name for x in self.owner.values() if x is not None}
        for loop in self.loops:
            if loop.source == "assumed" and loop.name not in left:
                around = next((m for m in self.body.loops if self.owner[m.header] is loop.parent),
                              None)
                if loop.parent is None or around is not None:
                    copies = self.copies_of(loop, [
                        b.index for b in self.body.blocks
                        if b.loop is (around if loop.parent else None)
                    ])
                    if copies and loop.data:  # the most that it can be
                        loop.counts, loop.source = range(1, copies + 1), "most"
                    elif copies:
                        loop.counts, loop.source = [copies], "known"

    def executed(self, given: RunWeights) -> dict[str, float]:
        """How many iterations of each loop a body runs by its weights. The bodies of one kernel
        agree, or the weights of one are wrong. A loop without accesses is left out where those of a
        loop in it tell."""
        runs: defaultdict[int, float] = defaultdict(float)
        times: dict[int, float] = {-1: 1.0}
        for m in self.body.loops:  # outer before inner
            around = m.parent.header if m.parent is not None else -1
            times[m.header] = min(times[around] * given.trips.get(m.header, 1.0), OFTEN)
        for b, lines in zip(self.body.blocks, self.lines, strict=True):
            n = times[b.loop.header if b.loop is not None else -1] * given.blocks.get(b.index, 1.0)
            for k, count in lines.items():
                runs[k] += count * n
        found = {}
        told = {around.name for x in self.loops if x.accesses for around in x.outer()}
        for x in self.loops:
            if x.name in told and not x.accesses:
                continue
            ratios = [runs[k] / self.single[k] for k in _keys(x) if self.single.get(k)]
            found[x.name] = max(ratios, default=0.0) if x.accesses else _upper(ratios)
        return found

    def run(self) -> RunWeights:
        """The weights of the body."""
        owners = {n: x.name for x in self.loops for n in x.numbers}  # inner ones come last
        self.out = RunWeights({}, dict.fromkeys(self.never, 0.0), owners)
        for m in self.body.loops:
            self.out.trips[m.header] = 1.0
        for loop in self.loops:
            groups: dict[int, list[BodyLoop]] = {}
            for m in self.body.loops:
                if self.owner[m.header] is loop:
                    around = m.parent
                    while around is not None and self.owner[around.header] is loop:
                        around = around.parent
                    groups.setdefault(around.header if around else -1, []).append(m)
            by_header = {m.header: m for m in self.body.loops}
            for header, made in groups.items():
                self._deal(loop, by_header.get(header), made)
            if not groups and loop.data:
                self._deal_copies(loop)
        return self.out

    # --------------------------------------------------------- what a machine loop is

    def _owner(self, m: BodyLoop) -> KernelLoop | None:
        """The innermost loop of the kernel that most of a machine loop's code comes of."""
        total: Counter[int] = Counter()
        for b in m.blocks:
            total.update(self.lines[b])
        if _is_slow(total):
            return None
        shares = dict.fromkeys((x.name for x in self.loops), 0)
        for k, n in total.items():
            for x in self.within.get(k, ()):
                shares[x.name] += n
        for x in reversed(self.loops):  # inner ones first
            if x.parent is not None:
                shares[x.parent.name] += shares[x.name]
        most = max(shares.values(), default=0)
        back = self._of_branch(m)
        if back is not None and 2 * shares[back.name] >= most:
            return back
        fitting = [x for x in self.loops if shares[x.name] * 5 >= most * 4 > 0]
        return min(fitting, key=lambda x: len(x.numbers), default=None)

    def _of_branch(self, m: BodyLoop) -> KernelLoop | None:
        """The loop whose way back the branch to the header is."""
        for b in sorted(m.blocks, reverse=True):
            block = self.body.blocks[b]
            if m.header in block.succs and block.instructions:
                line = number(block.instructions[-1].line)
                found = [x for x in self.loops if line in x.numbers]
                return min(found, key=lambda x: len(x.numbers), default=None)
        return None

    def _copies(self, m: BodyLoop) -> int:
        """Iterations of the kernel's loop in one of a machine loop: one where a loop within is left
        and no access tells, for what is made for that loop's copies is none of this one."""
        loop = self.owner[m.header]
        inner = (self.owner[x.header] for x in self.body.loops if x.parent is m)
        if loop is not None and not loop.accesses and any(
            x is not None and loop in x.outer() for x in inner
        ):
            return 1
        if loop is not None and not loop.accesses and loop.name in self.factors:
            return self.factors[loop.name]
        own = [b for b in m.blocks if self.body.blocks[b].loop is m]
        return max(1, self.copies_of(loop, own)) if loop is not None else 1

    def copies_of(self, loop: KernelLoop, blocks: Iterable[int]) -> int:
        """Iterations of a loop that stand in some blocks, 0 for none. Where it has no accesses by
        which to tell, what folds in copies is less often there than they are."""
        total: Counter[int] = Counter()
        for b in blocks:
            total.update(self.lines[b])
        ratios = sorted(
            total[k] / self.single[k] for k in _keys(loop) if total[k] and self.single.get(k))
        if not ratios:
            return 0
        return round(ratios[len(ratios) // 2] if loop.accesses else _upper(ratios))

    def _instances(self, loop: KernelLoop, around: BodyLoop | None) -> int:
        """How often a loop is entered in one iteration of the machine loop around it."""
        parent, n = loop.parent, 1
        holder = self.owner[around.header] if around is not None else None
        while parent is not None and parent is not holder:
            n *= max(1, round(parent.trips))  # it is unrolled as a whole
            parent = parent.parent
        return n * (self.copies[around.header] if around is not None and parent else 1)

    # ------------------------------------------------------------------ dealing out

    def _deal(self, loop: KernelLoop, around: BodyLoop | None, made: list[BodyLoop]) -> None:
        """Deal a loop's iterations out to its machine loops and to pieces beside them."""
        instances = min(self._instances(loop, around), len(made))
        always, pieces = self.straight(loop, around)
        regions: dict[int, list[tuple[int, bool]]] = {}
        for m in made:
            regions.setdefault(self.copies[m.header], []).append((m.header, True))
        for b, share in pieces:
            regions.setdefault(round(share), []).append((b, False))
        taken: defaultdict[int, float] = defaultdict(float)
        for count, often in Counter(loop.counts).items():
            self._share(count + loop.part - always / instances, regions, instances, taken, often)
        n = len(loop.counts)
        for members in regions.values():
            for key, is_loop in members:
                into = self.out.trips if is_loop else self.out.blocks
                into[key] = taken[key] / n

    def _deal_copies(self, loop: KernelLoop) -> None:
        """Deal out the iterations of a loop of which straight copies are left that data ends: each
        runs if as many are asked for as stand before it."""
        parent = loop.parent
        while parent is not None and parent not in self.owner.values():
            parent = parent.parent
        for around in [m for m in self.body.loops if self.owner[m.header] is parent] if (
            parent is not None) else [None]:
            shares = self._shares(loop, around)
            most = max(shares.values(), default=0)
            some = sorted(b for b, n in shares.items() if 2 * n > most)
            instances = self._instances(loop, around)
            for k, b in enumerate(some if len(some) >= COPIES * instances else ()):
                self.out.blocks[b] = fmean(n + loop.part > k // instances for n in loop.counts)

    def _share(
        self, left: float, regions: Mapping[int, list[tuple[int, bool]]], instances: int,
        taken: defaultdict[int, float], often: int,
    ) -> None:
        """Give so many iterations, so often, to regions, those with most copies first, of these
        what a pipeline leaves last. A share of a round goes to the last loop that has rounds, or,
        if none has, to that of fewest copies: of a loop that runs once part may stand before it."""
        last: list[int] = []
        width, has_rounds = 1, False
        for copies in sorted(regions, reverse=True):
            for chunk in _chunks(sorted(regions[copies], key=self._turn), instances):
                rounds = max(0, int(left / copies + 1e-6))
                if not chunk[0][1]:
                    rounds = min(rounds, 1)
                left -= rounds * copies
                for key, _ in chunk:
                    taken[key] += rounds * often
                if chunk[0][1] and (rounds or not has_rounds):
                    last, width = [key for key, _ in chunk], copies
                    has_rounds = has_rounds or rounds > 0
        for key in last:
            taken[key] += max(left, 0) / width * often  # a share of a round

    def _turn(self, x: tuple[int, bool]) -> tuple[bool, bool, int]:
        key, is_loop = x
        return not is_loop, key in self.late, key

    def straight(
        self, loop: KernelLoop, around: BodyLoop | None
    ) -> tuple[float, list[tuple[int, float]]]:
        """Iterations beside a loop's machine loops that always run, and the pieces that may."""
        weight = sum(self.single.get(k, 0) for k in _keys(loop))
        always, pieces = 0.0, []
        for b, share in self._shares(loop, around).items():
            part = share / weight if weight else 0.0
            if part >= WHOLE:
                pieces.append((b, part))
            else:
                always += part
        return always, pieces

    def _shares(self, loop: KernelLoop, around: BodyLoop | None) -> dict[int, int]:
        """How many of the operations by which a loop's iterations are counted stand in each block
        beside its machine loops."""
        inside = around.blocks if around is not None else range(len(self.body.blocks))
        return {b: sum(self.lines[b][k] for k in _keys(loop)) for b in inside
                if self.body.blocks[b].loop is around and self.out.blocks.get(b) != 0}


def _innermost(loops: Sequence[KernelLoop]) -> dict[int, list[KernelLoop]]:
    """The loops that have each number, and no loop in them has it."""
    found: dict[int, list[KernelLoop]] = {}
    inner: defaultdict[str, set[int]] = defaultdict(set)
    for x in reversed(loops):
        for k in x.numbers - inner[x.name]:
            found.setdefault(k, []).append(x)
        if x.parent is not None:
            inner[x.parent.name] |= x.numbers
    return found


def _upper(ratios: Iterable[float]) -> float:
    """The upper quartile, 0 of nothing: what folds in copies is less often there than they are."""
    found = sorted(ratios)
    return found[len(found) * 3 // 4] if found else 0.0


def _is_slow(lines: Mapping[int, int]) -> bool:
    """Whether most of some code runs only where operands overlap, which is taken not to be."""
    return 2 * sum(n for k, n in lines.items() if SLOW <= k < BUILT) > sum(
        n for k, n in lines.items() if k > 0)


def _late(body: MachineBody) -> set[int]:
    """The headers of loops that do what a pipeline leaves."""
    return {
        m.header for m in body.loops
        if 2 * sum(bool(i.line & LATE) for b in m.blocks for i in body.blocks[b].instructions)
        > sum(len(body.blocks[b].instructions) for b in m.blocks)
    }


def _keys(loop: KernelLoop) -> Iterator[int]:
    """The numbers by which copies of a loop's iteration are counted."""
    return (-k if loop.accesses else k for k in loop.anchors)


def _chunks(members: Sequence[tuple[int, bool]], n: int) -> Iterable[list[tuple[int, bool]]]:
    """Loops in groups of n, then pieces in such groups."""
    for kind in (True, False):
        some = [x for x in members if x[1] is kind]
        for k in range(0, len(some), n):
            yield some[k : k + n]


def _routines(blocks: Sequence[BodyBlock]) -> set[int]:
    """The blocks of routines that are called within a body."""
    return set[int]().union(*(_from(c, blocks) for c in {b.callee for b in blocks} if c >= 0))


def _from(entry: int, blocks: Sequence[BodyBlock]) -> set[int]:
    """The blocks that a routine leads through."""
    found: set[int] = set()
    work = [entry]
    while work:
        b = work.pop()
        if b not in found:
            found.add(b)
            work += blocks[b].succs
    return found


def _aside(blocks: Sequence[BodyBlock]) -> set[int]:
    """Blocks that only a slow path runs: on one of two ways, and they call a routine that is the
    assembler's own: all of it has one line."""
    found: set[int] = set()
    own = {
        c for c in {b.callee for b in blocks if b.callee >= 0}
        if len({i.line for k in _from(c, blocks) for i in blocks[k].instructions}) == 1
    }
    for b in blocks:
        if b.callee in own and len(b.preds) == 1 and len(blocks[b.preds[0]].succs) == 2:
            way, end = _way(b.index, blocks)
            other = next(s for s in blocks[b.preds[0]].succs if s != b.index)
            if end >= 0 and end in (other, _way(other, blocks)[1]):
                found.update(way)
    return found


def _way(b: int, blocks: Sequence[BodyBlock]) -> tuple[list[int], int]:
    """The blocks from one on that nothing else enters, and where others join; -1: nowhere."""
    way: list[int] = []
    while len(blocks[b].preds) == 1 and b not in way:
        way.append(b)
        if len(blocks[b].succs) != 1:
            return way, -1
        b = blocks[b].succs[0]
    return way, b
