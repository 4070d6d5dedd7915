"""Stages and fences: what is asynchronous in a loop is waited for before somebody reads it.

Iterations overlap in a pipelined loop through copies and matrix products that run on beside the
thread. Each has its own way of being waited for; what lacks is put in:

    cp.async.cg.shared.global [%s], [%g], 16     cp.async.cg.shared.global [%s], [%g], 16
    bar.sync 0                              ==>  cp.async.wait_all
    ld.shared.f32 %x, [%t]                       bar.sync 0
                                                 ld.shared.f32 %x, [%t]

    st.shared.b32 [%s], %v                       st.shared.b32 [%s], %v
    wgmma.mma_async … desc                  ==>  fence.proxy.async
                                                 wgmma.mma_async … desc

    wgmma.mma_async {%d}, …                      wgmma.mma_async {%d}, …
    add.f32 %y, %d, 1.0                     ==>  wgmma.commit_group;  wgmma.wait_group 0
                                                 add.f32 %y, %d, 1.0

Method   A forward data-flow over the blocks: what is under way, by the instruction that started it,
         and how far: issued, committed, bound to an mbarrier. Where an instruction reads what is
         under way, a wait is put before it, or before the barrier on the way, so that other threads
         have it too. A wait for a group ends all groups: how many it may leave under way is the
         program's own count of stages.
         A program with waits of its own is believed: loops of several stages read one buffer while
         copies fill another, and addresses seldom tell. There a wait lacks only if the bytes are
         the same for certain, in one iteration. Where no wait follows a copy on any way, it lacks
         if the bytes may be the same.
Needs    fresh CFG annotations.
Keeps    blocks and edges; every instruction and its order; code that has its waits.
Skips    copies on an mbarrier that nobody waits for (which phase to wait for is not known), buffers
         that are overwritten while other threads read them: only who
         makes the stages knows who reads them. Functions without a loop.
Cost     linear in instructions and asynchronous operations in flight; a function without any is
         left at once.
Source   The notes' phase 25, of which they have the name and the purpose; PTX ISA 9.0, sections on
         asynchronous operations and on proxies.
"""

from __future__ import annotations

import enum

import attrs

from nvir.analysis.alias import Alias, AliasAnalysis
from nvir.analysis.analyses import Analyses
from nvir.ir import Block, Builder, Form, Function, Instruction, OpKind, Value
from nvir.passes.context import Context
from nvir.passes.remarks import analysis, missed, passed

FENCED = passed("Fenced", "{what} is put in before {before}: {why}")
IN_PLACE = analysis("FencesInPlace", "{count} asynchronous operations are waited for already")
NO_PHASE = missed(
    "NoPhaseKnown", "{what} completes on an mbarrier, and nothing waits for it before {before}"
)
CODES = (FENCED, IN_PLACE, NO_PHASE)


class FenceState(enum.Enum):
    """How far an asynchronous operation is."""

    ISSUED = "issued"
    COMMITTED = "committed to a group"
    BOUND = "bound to an mbarrier"
    UNFENCED = "written by ordinary stores"


@attrs.frozen
class Flight:
    """Something under way.

    barrier   the first block-wide barrier behind it, if there was one
    is_older  it began in an earlier iteration of a loop
    """

    source: Instruction
    state: FenceState
    barrier: Instruction | None = None
    is_older: bool = False


@attrs.frozen
class WaitNeed:
    """A wait or fence that lacks.

    rows      spellings to be put in, in order, each with its literal or None
    before    the instruction that they are put before
    flights   what they wait for
    """

    rows: tuple[tuple[str, int | None], ...]
    before: Instruction
    flights: tuple[Flight, ...]
    why: str

    @property
    def what(self) -> str:
        return "; ".join(s if n is None else f"{s} {n}" for s, n in self.rows)


def run(function: Function, ctx: Context) -> bool:
    started = [i for b in function.blocks for i in b if _starts(i)]
    if not started or not ctx.analyses(function).loops:
        return False
    found, unknown = _FenceFlow(function, Analyses.of(function).alias).needs()
    for need in found:
        put_in(need)
        ctx.count("fences")
        ctx.remark(FENCED, need.before, what=need.what, before=need.before.form.spelling,
                   why=need.why)
    for flight, reader in unknown:
        ctx.remark(NO_PHASE, reader, what=flight.source.form.spelling, before=reader.form.spelling)
    if not found and not unknown:
        ctx.remark(IN_PLACE, started[0], count=len(started))
    return bool(found)


def needs(function: Function) -> list[WaitNeed]:
    """The waits and fences that a function lacks, in the order of its blocks."""
    if function.cfg_state != "fresh":
        function.analyze_cfg()
    return _FenceFlow(function, Analyses.of(function).alias).needs()[0]


def put_in(need: WaitNeed) -> None:
    """Put in what a need names."""
    block = need.before.block
    assert block is not None
    builder = Builder(block, need.before)
    for spelling, n in need.rows:
        builder.op(spelling, *(() if n is None else (n,)))


# ---------------------------------------------------------------- the data-flow

def _starts(i: Instruction) -> bool:
    f = i.form
    return f.kind in (OpKind.ASYNC_COPY, OpKind.BULK_COPY) or _is_product(f)


def _is_product(f: Form) -> bool:
    """A matrix product that adds to registers."""
    return f.kind is OpKind.ASYNC_MATRIX and f.op.memory != "tensor"


def _reads_matrices(f: Form) -> bool:
    """Reads shared memory on behalf of the tensor cores."""
    return f.kind is OpKind.ASYNC_MATRIX or f.name == "tcgen05.cp"


def _waits_at_mbarrier(f: Form) -> bool:
    return f.kind is OpKind.WAIT and bool(f.addresses)


def _brings_to_shared(i: Instruction) -> bool:
    """Whether a bulk copy's target is shared memory: the target is named first."""
    parts = i.form.spelling.split(".")
    spaces = [p for p in parts if p.startswith("shared") or p == "global"]
    return bool(spaces) and spaces[0].startswith("shared")


def _reads_as_async(i: Instruction) -> bool:
    """Whether it reads shared memory through the async proxy."""
    f = i.form
    return _reads_matrices(f) or (f.kind is OpKind.BULK_COPY and not _brings_to_shared(i))


def _reads_shared(i: Instruction) -> bool:
    f = i.form
    if f.name == "cp.async" or f.sync or not (f.reads or f.is_call):
        return _reads_matrices(f)
    return _reads_as_async(i) or f.space == "" or f.space.startswith("shared")


Flights = frozenset[Flight]
_Found = tuple[list[WaitNeed], list[tuple[Flight, Instruction]]]


class _FenceFlow:
    def __init__(self, function: Function, alias: AliasAnalysis) -> None:
        self.function, self.alias = function, alias
        self.holders = _holders(function)
        self.reach: dict[Block, frozenset[str]] = {}
        self.ends: dict[Block, frozenset[str]] = {}
        self.async_readers = any(_reads_as_async(i) for b in function.blocks for i in b)

    def needs(self) -> _Found:
        entering = self._solve()
        found: _Found = ([], [])
        for b in self.function.rpo:
            self._walk(b, entering.get(b, frozenset()), found)
        merged: dict[tuple[Instruction, str], WaitNeed] = {}
        for need in found[0]:  # the same fence before one barrier serves several readers
            merged.setdefault((need.before, need.what), need)
        return list(merged.values()), found[1]

    def _solve(self) -> dict[Block, Flights]:
        entering: dict[Block, Flights] = {}
        work = list(reversed(self.function.rpo))
        seen: set[Block] = set()
        while work:
            b = work.pop()
            leaving = self._walk(b, entering.get(b, frozenset()), None)
            first = b not in seen
            seen.add(b)
            for s in b.succs:
                if s.rpo_index <= b.rpo_index:
                    going = frozenset(attrs.evolve(x, is_older=True) for x in leaving)
                else:
                    going = leaving
                merged = entering.get(s, frozenset()) | going
                if first or merged != entering.get(s, frozenset()):
                    changed = merged != entering.get(s, frozenset())
                    entering[s] = merged
                    if changed and s not in work:
                        work.append(s)
        return entering

    def _walk(self, block: Block, flights: Flights, found: _Found | None) -> Flights:
        """What is under way behind a block; what lacks goes to `found`."""
        for i in block:
            if i.form.op.pseudo and not i.form.is_call:
                continue
            if flights:
                flights = self._use(i, flights, found)
            flights = self._step(i, flights)
        return flights

    def _step(self, i: Instruction, flights: Flights) -> Flights:
        f, name = i.form, i.form.name
        if _starts(i):
            if f.kind is not OpKind.BULK_COPY or _brings_to_shared(i):
                state = FenceState.BOUND if "mbarrier" in f.spelling else FenceState.ISSUED
                return flights | {Flight(i, state)}
        elif name.endswith("commit_group"):
            return _to(flights, name, FenceState.COMMITTED)
        elif name.endswith(("wait_group", "wait_all")):
            every = name.endswith("wait_all")
            return frozenset(
                x for x in flights
                if not (_family(x.source) == _waits_for(name)
                        and (every or x.state is not FenceState.ISSUED))
                or x.state in (FenceState.BOUND, FenceState.UNFENCED)
            )
        elif name == "cp.async.mbarrier.arrive":
            return _to(flights, "cp.async.commit_group", FenceState.BOUND)
        elif _waits_at_mbarrier(f):
            return frozenset(x for x in flights if x.state is not FenceState.BOUND)
        elif f.spelling.startswith("fence.proxy.async"):
            return frozenset(x for x in flights if x.state is not FenceState.UNFENCED)
        elif f.kind is OpKind.BARRIER and f.op.scope != "warp" and not f.n_results:
            return frozenset(
                x if x.barrier is not None else attrs.evolve(x, barrier=i) for x in flights
            )
        elif self.async_readers and f.writes and not f.sync and f.space.startswith("shared"):
            return flights | {Flight(i, FenceState.UNFENCED)}
        return flights

    def _use(self, i: Instruction, flights: Flights, found: _Found | None) -> Flights:
        for wanted in (self._copies, self._products, self._stores):
            hit = wanted(i, flights)
            if hit:
                if found is not None:
                    self._report(i, hit, found)
                flights = flights - frozenset(hit)
        return flights

    def _copies(self, i: Instruction, flights: Flights) -> list[Flight]:
        if not _reads_shared(i):
            return []
        return [
            x for x in flights
            if x.state is not FenceState.UNFENCED and not _is_product(x.source.form)
            and self._is_certain(x, i) and self.alias.depend(x.source, i)
        ]

    def _is_certain(self, x: Flight, reader: Instruction) -> bool:
        """Whether a wait lacks, given that the reader may read what is under way."""
        if not self._is_awaited(x.source):
            return True
        same = (Alias.MUST, Alias.PARTIAL)
        return not x.is_older and self.alias.alias(x.source, reader) in same

    def _is_awaited(self, source: Instruction) -> bool:
        """Whether a wait or fence that ends it can follow on some way; a call may hold one."""
        block = source.block
        assert block is not None
        if block not in self.reach:
            seen, work = {block}, [block]
            while work:
                for s in work.pop().succs:
                    if s not in seen:
                        seen.add(s)
                        work.append(s)
            self.reach[block] = frozenset().union(*(self._ends(b) for b in seen))
        return not self.reach[block].isdisjoint((_family_or_store(source), _ANY))

    def _ends(self, block: Block) -> frozenset[str]:
        """The families for which a block holds a wait or a fence."""
        if block not in self.ends:
            found: set[str] = set()
            for i in block:
                name = i.form.name
                if i.form.is_call:
                    found.add(_ANY)
                elif _waits_at_mbarrier(i.form):
                    found.add("cp.async")
                    found.add("cp.async.bulk")
                elif name.endswith(("wait_group", "wait_all")):
                    found.add(_waits_for(name))
                elif i.form.spelling.startswith("fence.proxy.async"):
                    found.add("store")
            self.ends[block] = frozenset(found)
        return self.ends[block]

    def _products(self, i: Instruction, flights: Flights) -> list[Flight]:
        if _is_product(i.form) or i.form.is_phi:
            return []
        held = {p for v in i.operands for p in self.holders.get(v, ())}
        return [x for x in flights if x.source in held]

    def _stores(self, i: Instruction, flights: Flights) -> list[Flight]:
        if not _reads_as_async(i):
            return []
        return [x for x in flights if x.state is FenceState.UNFENCED and self._is_certain(x, i)]

    def _report(self, i: Instruction, hit: list[Flight], found: _Found) -> None:
        hit = sorted(hit, key=lambda x: (x.source.line, x.source.form.spelling))
        bound = [x for x in hit if x.state is FenceState.BOUND]
        found[1].extend((x, i) for x in bound)
        rest = [x for x in hit if x.state is not FenceState.BOUND]
        if not rest:
            return
        barriers = {x.barrier for x in rest}
        before = barriers.pop() if len(barriers) == 1 else None
        family = _family(rest[0].source)
        if rest[0].state is FenceState.UNFENCED:
            rows: tuple[tuple[str, int | None], ...] = (("fence.proxy.async", None),)
            why = "ordinary stores are read through the async proxy"
        elif family == "wgmma":
            before = None  # who reads a register is the thread itself
            rows = (("wgmma.commit_group.sync.aligned", None), ("wgmma.wait_group.sync.aligned", 0))
            why = "the product is read while it is under way"
        elif family == "cp.async.bulk":
            rows = (("cp.async.bulk.commit_group", None), ("cp.async.bulk.wait_group", 0))
            why = "what the bulk copy brings is read while it is under way"
        else:
            rows, why = (("cp.async.wait_all", None),), "what the copy brings is read here"
        found[0].append(WaitNeed(rows, before or i, tuple(rest), why))


def _holders(function: Function) -> dict[Value, tuple[Instruction, ...]]:
    """Value → the products whose results it holds: through phis and parts, not through others."""
    held: dict[Value, dict[Instruction, None]] = {}
    work: list[tuple[Value, Instruction]] = [
        (r, i) for b in function.blocks for i in b if _is_product(i.form) for r in i.results
    ]
    while work:
        v, product = work.pop()
        known = held.setdefault(v, {})
        if product in known:
            continue
        known[product] = None
        for user in v.users:
            if user.form.is_phi or (user.form.op.pseudo and not user.form.terminator):
                work.extend((r, product) for r in user.results)
    return {v: tuple(ps) for v, ps in held.items()}


def _family(i: Instruction) -> str:
    name = i.form.name
    if _is_product(i.form):
        return "wgmma"
    return "cp.async" if name == "cp.async" else "cp.async.bulk"


_ANY = "any"  # a call may wait for every family


def _family_or_store(i: Instruction) -> str:
    return _family(i) if _starts(i) else "store"


def _waits_for(name: str) -> str:
    return name.rpartition(".")[0]


def _to(flights: Flights, name: str, state: FenceState) -> Flights:
    """The flights of a family, issued until now, in a further state."""
    family = _waits_for(name) if name.endswith("commit_group") else ""
    return frozenset(
        attrs.evolve(x, state=state)
        if x.state is FenceState.ISSUED and _family(x.source) == family
        else x
        for x in flights
    )
