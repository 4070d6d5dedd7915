"""A loop's body as what a pipeliner moves: PTX instructions, what orders them, and their stages.

    nodes      the body without phis, the back branch, and a test that only it reads
    deps       (a, b, d): b of an iteration comes after a of the d-th iteration before. Registers
               through phis; accesses of memory of which one writes, unless proven disjoint
    stages     node -> stage; iteration j runs stage s of its nodes at step j + s

Stages are legal if stage(a) <= stage(b) + d for each dependence; what then falls into one step is
put in an order that keeps the rest. Two ways to get stages:

    delays     each load of long latency is used some steps after it is issued, all else as early
               as its operands allow: what matters where the assembler schedules arithmetic anew
    times      of a modulo schedule, an instruction starting with its first operation

Cheap integer instructions that depend on no load (addresses, counters) are made anew in each stage
that reads them, so that only loaded values live from step to step.

Cost     linear in instructions and operands; pairs of accesses with a writer.
"""

from __future__ import annotations

import functools
import heapq
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import attrs

from nvir.analysis.alias import AliasAnalysis
from nvir.analysis.analyses import Analyses
from nvir.ir import Block, Instruction, Loop, Value
from nvir.passes.loop.version.extent import DISJOINT, may_meet, may_meet_later, reorders

Dep = tuple[int, int, int]
FAR = 1 << 16
_TURNED = re.compile(r"wmma\.load\.(a\b.*\.col|b\b.*\.row)\..*\.b?f16$")
FAR_SPACES = "global", "local", ""  # whose loads take long; "" is generic
REMADE = 12  # instructions of a slice that are made again for another stage


class Body:
    """The body of a single-block loop with one latch and one way in; see the module docstring.

    start, latch   phi -> its value in the first iteration, and from the iteration before; without
                   a preheader no starts, which only an expansion asks for
    textures       fetches of several results count as loads of long latency
    like           the body of the loop that this one is a copy of: its dependences are taken over
    readers        of `deps`, those that carry a register
    test           nodes that only the back branch reads, in order; they are not among `nodes`
    slice          what the exit test is made of, `test` among it, in order
    """

    def __init__(
        self, loop: Loop, preheader: Block | None, alias: AliasAnalysis | None = None,
        textures: bool = False, like: Body | None = None,
    ) -> None:
        self.textures = textures
        self.loop, self.block, self.preheader = loop, loop.header, preheader
        self.phis = list(self.block.phis)
        self.start = {p: _incoming(p, preheader) for p in self.phis} if preheader else {}
        self.latch = {p: _incoming(p, self.block) for p in self.phis}
        every = [i for i in self.block if not i.form.is_phi]
        branch = every.pop()
        assert branch.guard is not None
        self.branch, self.condition = branch, branch.guard
        self.slice = self._closure(self.condition)
        mine = set(self.slice)
        self.test = [i for i in self.slice if _only_for(i, branch, mine)]
        lone = set(self.test)
        self.nodes = [i for i in every if i not in lone]
        self.index = {i: n for n, i in enumerate(self.nodes)}
        if like is None:
            registers = self._registers()
            self.readers = frozenset(registers)
            self.deps = [*registers, *self._memory(alias)]
            self.cheap = self._cheap()
        else:
            self.readers, self.deps = like.readers, like.deps
            self.cheap = {self.nodes[like.index[i]] for i in like.cheap}

    def definer(self, value: Value) -> Instruction | None:
        """The instruction of the body, no phi, that makes a value; None if there is none."""
        d = value.definer
        if d is None or d.block is not self.block or d.form.is_phi:
            return None
        return d

    def origin(self, value: Value) -> tuple[Value, int]:
        """The value that a phi has once the loop runs, and of how many iterations before."""
        distance = 0
        while value in self.latch and distance <= len(self.phis):
            value = self.latch[value]
            distance += 1
        return value, distance

    # ------------------------------------------------------------ internal

    def _closure(self, value: Value) -> list[Instruction]:
        """What a value is made of in the body, through phis, in the body's order."""
        found: set[Instruction] = set()
        seen: set[Value] = set()
        work = [value]
        while work:
            v = work.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in self.latch:
                work.append(self.latch[v])
                continue
            d = self.definer(v)
            if d is not None and d not in found:
                found.add(d)
                work.extend(d.operands)
        return [i for i in self.block if i in found]

    def _registers(self) -> list[Dep]:
        deps: dict[Dep, None] = {}
        for n, i in enumerate(self.nodes):
            for v in i.operands:
                made, distance = self.origin(v)
                d = self.definer(made)
                if d is not None and d in self.index:
                    deps[self.index[d], n, distance] = None
        return list(deps)

    def _memory(self, alias: AliasAnalysis | None) -> list[Dep]:
        accesses = [
            n for n, i in enumerate(self.nodes)
            if (i.form.reads or i.form.writes) and not i.form.invariant
            and not i.form.space.startswith("param")
        ]
        writers = {n for n in accesses if self.nodes[n].form.writes}
        if not writers:
            return []
        alias = alias or Analyses.of(self.block.function).alias
        disjoint = DISJOINT in self.block.flags
        deps = []
        for a in accesses:
            for b in accesses if a in writers else writers:
                first, second = self.nodes[a], self.nodes[b]
                free = disjoint and reorders(first, second)
                if free and may_meet(first, second, self.loop, alias):
                    continue
                if free and may_meet_later(first, second, self.loop, alias):
                    if a < b and alias.depend(first, second):
                        deps.append((a, b, 0))
                    continue
                least = 0 if a < b and alias.depend(first, second) else 1
                after = alias.distance(first, second, self.loop, least).iterations
                if a < b and least == 0:
                    after = 0
                if after is not None and after < FAR and (a != b or after):
                    deps.append((a, b, after))
        return deps

    def _cheap(self) -> set[Instruction]:
        """Pure integer instructions that are made of their like alone: addresses, counters."""
        found = {
            i for i in self.nodes
            if i.form.pure and i.form.guard is None and i.form.op.cheap
            and len(i.results) == 1 and i.type.name != "cc"
        }
        changed = True
        while changed:
            changed = False
            for i in self.nodes:
                if i in found and any(
                    (d := self.definer(self.origin(v)[0])) is not None and d not in found
                    for v in i.operands
                ):
                    found.discard(i)
                    changed = True
        return found

    @property
    def test_loads(self) -> Instruction | None:
        """Why the exit test cannot run ahead: the first of its instructions that has to wait.

        It is neither pure nor a load that every iteration makes of the same place.
        """
        for i in self.slice:
            if any(r.type.name == "cc" for r in i.results):
                return i
            if not i.form.pure and not self.is_same_load(i):
                return i
        return None

    def is_same_load(self, i: Instruction) -> bool:
        """Whether each iteration loads the same from the same place, so that any may do it early.

        The first iteration runs in any case, so the place can be read; no store changes it.
        """
        f = i.form
        same = f.reads and not (f.writes or f.volatile or f.pinned or f.convergent)
        constant = f.invariant or f.space.startswith("param")
        return bool(same and constant and f.guard is None) and not any(
            v in self.latch or self.definer(v) is not None for v in i.operands
        )

    @functools.cached_property
    def forced(self) -> frozenset[int]:
        """The nodes that the exit test is made of: they stay in stage 0."""
        return frozenset(self.index[i] for i in self.slice if i in self.index)

    @functools.cached_property
    def leading_from(self) -> list[list[tuple[int, int, bool]]]:
        """Node -> (later node, iterations between, whether a register is carried); back from each
        reader of a carry flag, too: it stands in the stage of the flag's maker, for no other
        instruction that writes the flag may come between them."""
        found: list[list[tuple[int, int, bool]]] = [[] for _ in self.nodes]
        for dep in self.deps:
            found[dep[0]].append((dep[1], dep[2], dep in self.readers))
        for n, i in enumerate(self.nodes):
            for v in i.operands:
                if v.type.name == "cc" and (d := self.definer(v)) is not None:
                    found[n].append((self.index[d], 0, False))
        return found

    @functools.cached_property
    def has_carries(self) -> bool:
        return any(r.type.name == "cc" for i in self.nodes for r in i.results)

    @functools.cached_property
    def long_loads(self) -> list[int]:
        """Nodes that load from memory that is far away."""
        return [n for n, i in enumerate(self.nodes) if is_long_load(i, self.textures)]


def is_long_load(i: Instruction, textures: bool = True) -> bool:
    """Whether an instruction loads from far away, and what it loads can be in flight.

    `textures`: fetches of several results are meant as well. Not meant are loads of matrices that
    the machine turns around: ptxas does that behind the load (MOVM), and waits for it there.
    """
    if i.form.op.fetches and not textures and len(i.results) > 1:
        return False
    return loads_from_afar(i) and not is_turned(i)


def loads_from_afar(i: Instruction) -> bool:
    """Whether an instruction loads from global, local or texture memory."""
    f = i.form
    if not f.reads or f.writes or not i.results:
        return False
    return f.op.fetches or f.space in FAR_SPACES


def is_turned(i: Instruction) -> bool:
    """Whether an instruction loads a matrix that the machine turns around behind the load."""
    return _TURNED.match(i.form.spelling) is not None


def _incoming(phi: Instruction, block: Block) -> Value:
    return next(v for v, b in phi.incoming if b is block)


def _only_for(i: Instruction, branch: Instruction, mine: set[Instruction]) -> bool:
    """Whether a comparison, or the negation of one, is read by the branch alone."""
    negates = i.form.name == "not"
    if not (negates or i.form.name == "setp") or i.form.guard is not None or len(i.results) != 1:
        return False
    return all(u is branch or (u in mine and u.form.name == "not") for u in i.users)


# ------------------------------------------------------------------- stages


@attrs.frozen(eq=False)
class Staged:
    """A body with stages.

    stages     node -> stage
    times      node -> cycle in the kernel of its modulo schedule, 0 without one
    late_first in a step, later stages come first: each value is read for the last time before the
               same register is written again, so that U need not be larger than its way
    """

    body: Body
    stages: tuple[int, ...]
    times: tuple[int, ...]
    late_first: bool = False

    @property
    def count(self) -> int:
        return max(self.stages, default=0) + 1

    @property
    def filling(self) -> int:
        """At most so many instructions are in the prologue: step k of it does stages 0 to k."""
        return self.count * (self.count - 1) // 2 * len(self.stages)


def by_delays(body: Body, delays: Mapping[int, int]) -> Staged | None:
    """Stages from how many steps after each load its value is used; None if that cannot be.

    The exit test's slice stays in stage 0.
    """
    stages = _raised(body, [0] * len(body.nodes), range(len(body.nodes)), delays)
    if stages is None:
        return None
    for n, i in enumerate(body.nodes):
        if is_turned(i) and n not in body.forced:  # next to their readers: they cannot be in flight
            stages[n] = max(stages[n], min(
                (stages[b] + d for a, b, d in body.deps if a == n), default=0))
    return Staged(body, tuple(stages), (0,) * len(stages), True)


def delays_of(body: Body, depth: int) -> dict[int, int]:
    """The loads that can be used `depth` steps after they are issued, all of them together.

    Each is added to those before it: stages only rise, so what it raises is all there is to do.
    """
    delays: dict[int, int] = {}
    stages = _raised(body, [0] * len(body.nodes), range(len(body.nodes)), delays)
    for n in body.long_loads if stages is not None else ():
        delays[n] = depth
        higher = _raised(body, list(stages or ()), (n,), delays)
        if higher is None:
            del delays[n]
        else:
            stages = higher
    return delays


def _raised(
    body: Body, stages: list[int], changed: Iterable[int], delays: Mapping[int, int]
) -> list[int] | None:
    """The least stages from `stages` up that the dependences of what changed allow, and what they
    raise; None where there are none, or where the exit test's slice would have to wait."""
    most = max(stages, default=0) + sum(delays.values())  # no way without a circle is longer
    forced = body.forced
    work = deque(changed)
    only = work[0] if len(work) == 1 else -1  # what raises itself does so without end
    while work:
        a = work.popleft()
        for b, d, carries in body.leading_from[a]:
            least = stages[a] + (delays.get(a, 0) if carries else 0) - d
            if least > stages[b]:
                if least > most or b in forced or b == only:
                    return None
                stages[b] = least
                work.append(b)
    return stages


def by_times(body: Body, times: Mapping[Instruction, int], ii: int) -> Staged | None:
    """Stages from the start of each instruction in a modulo schedule.

    Instructions without a start (copies, what is folded) go where their operands are. With carry
    flags the order in a step is that of the stages. None where the exit test's slice cannot stay in
    stage 0.
    """
    when = [times.get(i, 0) for i in body.nodes]
    for i in body.slice:
        if i in body.index:
            when[body.index[i]] = 0
    limit = len(when) + 2
    for _ in range(limit):
        changed = False
        for a, b, d in body.deps:
            if when[a] - d * ii > when[b]:
                when[b] = when[a] - d * ii
                changed = True
        if not changed:
            break
    stages: list[int] | None = [t // ii for t in when]
    if stages is not None and body.has_carries:
        stages = _raised(body, stages, range(len(stages)), {})
    if stages is None or any(stages[body.index[i]] for i in body.slice if i in body.index):
        return None
    return Staged(body, tuple(stages), tuple(t % ii for t in when), body.has_carries)


# ---------------------------------------------------------- copies of nodes


@attrs.frozen
class BodyCopy:
    """A node as it stands in one stage."""

    node: int
    stage: int


class StageLayout:
    """Which copies of nodes an iteration has, in which order those of one step stand.

    order    copies in the order of a step
    copies   value -> the stages in which it is made, rising
    factor   the smallest number of steps in the kernel with which no value outlives its register
    """

    def __init__(self, staged: Staged, remake: bool = True) -> None:
        self.staged, self.body = staged, staged.body
        self.copies: dict[Instruction, list[int]] = {}
        made = [BodyCopy(n, s) for n, s in enumerate(staged.stages)]
        for c in made:
            self.copies[self.body.nodes[c.node]] = [c.stage]
        if remake:
            made += self._remade(made)
        for stages in self.copies.values():
            stages.sort()
        self.links = self._links()
        self.order = self._ordered(self._needed(made))
        self.place = {c: k for k, c in enumerate(self.order)}
        self.factor = self._factor()

    def stage_for(self, definer: Instruction, stage: int) -> int:
        """The stage of the copy that a reader in `stage` reads: the last up to its own."""
        best = self.copies[definer][0]
        for s in self.copies[definer]:
            if s <= stage:
                best = s
        return best

    def _remade(self, made: Sequence[BodyCopy]) -> list[BodyCopy]:
        """Copies of cheap instructions in the stages of their readers."""
        body, stages, more = self.body, self.staged.stages, []
        sizes: dict[Instruction, int] = {}
        work = list(made)
        while work:
            c = work.pop()
            for v in body.nodes[c.node].operands:
                d = body.definer(body.origin(v)[0])
                if d is None or d not in body.cheap or c.stage in self.copies[d]:
                    continue
                if stages[body.index[d]] > c.stage:
                    continue  # a reader of the iteration before last
                if d not in sizes:
                    sizes[d] = len(body._closure(d))
                if sizes[d] > REMADE:
                    continue
                self.copies[d].append(c.stage)
                new = BodyCopy(body.index[d], c.stage)
                more.append(new)
                work.append(new)
        return more

    def _links(self) -> list[tuple[BodyCopy, BodyCopy, int]]:
        """(maker, reader, steps between) for all registers, (earlier, later, 0) in memory."""
        body, stages = self.body, self.staged.stages
        links = []
        for i, made in self.copies.items():
            reader = body.index[i]
            for s in made:
                for v in i.operands:
                    source, distance = body.origin(v)
                    d = body.definer(source)
                    if d is None or d not in body.index:
                        continue
                    at = self.stage_for(d, s)
                    links.append(
                        (BodyCopy(body.index[d], at), BodyCopy(reader, s), s + distance - at)
                    )
        for a, b, apart in body.deps:
            if (a, b, apart) not in body.readers and stages[a] == stages[b] + apart:
                links.append((BodyCopy(a, stages[a]), BodyCopy(b, stages[b]), 0))
        return links

    def _needed(self, made: Sequence[BodyCopy]) -> list[BodyCopy]:
        """The copies that something reads; of what only the loop's end reads, the first."""
        body = self.body
        kept = {BodyCopy(n, self.staged.stages[n]) for n, i in enumerate(body.nodes)
                if i not in body.cheap or i in body.slice}
        makers: dict[BodyCopy, list[BodyCopy]] = {}
        for a, b, _ in self.links:
            makers.setdefault(b, []).append(a)
        _close(kept, makers)
        for i in body.cheap:
            n = body.index[i]
            mine = [c for c in made if c.node == n]
            if not any(c in kept for c in mine) and _leaves(i, body.block):
                kept.add(min(mine, key=lambda c: c.stage))
                _close(kept, makers)
        for i, stages in list(self.copies.items()):
            left = [s for s in stages if BodyCopy(body.index[i], s) in kept]
            if left:
                self.copies[i] = left
            else:
                del self.copies[i]
        self.links = [x for x in self.links if x[1] in kept]
        return [c for c in made if c in kept]

    def _ordered(self, made: Sequence[BodyCopy]) -> list[BodyCopy]:
        """The copies of one step so that what one makes for another in it comes first."""
        after: dict[BodyCopy, list[BodyCopy]] = {c: [] for c in made}
        waits = dict.fromkeys(made, 0)
        for a, b, apart in self.links:
            if apart == 0 and a != b:
                after[a].append(b)
                waits[b] += 1
        times, late = self.staged.times, self.staged.late_first
        keys = {c: (-c.stage if late else times[c.node]) for c in made}
        ready = [(keys[c], c.node, c.stage) for c in made if not waits[c]]
        heapq.heapify(ready)
        order = []
        while ready:
            _, node, stage = heapq.heappop(ready)
            c = BodyCopy(node, stage)
            order.append(c)
            for b in after[c]:
                waits[b] -= 1
                if not waits[b]:
                    heapq.heappush(ready, (keys[b], b.node, b.stage))
        assert len(order) == len(made)
        return order

    def _factor(self) -> int:
        factor = 1
        for a, b, apart in self.links:
            if apart > 0 and self.body.nodes[a.node].results:
                factor = max(factor, apart + (self.place[b] > self.place[a]))
        return factor


def _close(kept: set[BodyCopy], makers: Mapping[BodyCopy, Sequence[BodyCopy]]) -> None:
    """Add what the kept copies read."""
    work = list(kept)
    while work:
        for a in makers.get(work.pop(), ()):
            if a not in kept:
                kept.add(a)
                work.append(a)


def _leaves(i: Instruction, block: Block) -> bool:
    """Whether a value is read behind the loop, or by a phi of it."""
    return any(u.form.is_phi or u.block is not block for r in i.results for u in r.users)
