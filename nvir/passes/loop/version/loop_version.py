"""A second version of a loop for operands that do not overlap, chosen at run time.

    L: ld %c, [%p]                       preheader: are [%p] and a[0..n) apart?
       ld %a, [%q]                                    │yes                 │no
       fma %c, %a, %b, %c         ==>    ld %c, [%p]                       L as it was
       st [%p], %c                       F: ld %a, [%q]
       add %q, %q, 4                        fma %c, %a, %b, %c
       …  @%r bra L                         add %q, %q, 4  …  @%r bra F
                                         st [%p], %c

What engineers do by `__restrict__`. In the version for operands apart, sums that were kept in
memory are in registers, and loads may run ahead of stores (its header has the flag DISJOINT,
which `loop-pipeline` reads).

Method   The extent of each access is worked out in front of the loop (extent.py). Pairs of a store
         and another access that alias analysis cannot tell apart are tested there. Stores to one
         place, each iteration, and the loads of it become a value that goes round.
Needs    loops of one block that count; makes them canonical itself.
Keeps    what the function does, whatever the pointers are.
Skips    loops with an `Against`; each is remarked.
Cost     a copy of the loop, and some dozen instructions for each access where it is entered
Source   Allen, Kennedy, "Optimizing Compilers for Modern Architectures", 2001, ch. 8 (scalar
         replacement); LLVM's LoopVersioning.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Iterable

import attrs

from nvir.analysis.alias import AliasAnalysis
from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import TripCount, constant_of, trip_count
from nvir.ir.block import Block
from nvir.ir.builder import Builder
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.form import lanes
from nvir.ir.values import Value
from nvir.passes.context import Context
from nvir.passes.loop import region
from nvir.passes.loop.unroll.prepare import CopyRegion, Refusals, regions
from nvir.passes.loop.version.extent import (
    DISJOINT,
    Extent,
    Extents,
    NotLinear,
    adds_product,
    apart,
    between,
    constant_offset,
    may_meet,
    may_meet_later,
    place,
    reorders,
)
from nvir.passes.loop.version.fork import fork
from nvir.passes.remarks import missed, passed

VERSIONED = passed(
    "Versioned", "a version for operands apart: {tests} {tests:test|tests}, {sums} "
    "{sums:sum|sums} in registers"
)


class Against(enum.Enum):
    """Why a loop has no second version: the closed list."""

    BLOCKS = "its body has several blocks"
    COUNT = "its count is not known ahead"
    COPIES = "it cannot be copied: {what}"
    ACCESS = "{what} is no plain access of global memory"
    ADDRESS = "the addresses of {what} are not linear"
    NOTHING = "nothing in it may overlap"
    MANY = "{what} tests are too many"


MISSED = {
    a: missed("NotVersioned" + a.name.title(), "no second version: {reason}") for a in Against
}
CODES = (VERSIONED, *MISSED.values())
MOST = 16  # tests of one loop
DEEP = 16  # sums on the way from an address to its pointer


@attrs.frozen
class Options:
    """`loop`: only the loop with this header; all by default."""

    loop: str = ""


def run(function: Function, ctx: Context) -> bool:
    if not function.back_edges:
        return False
    name = ctx.options.loop
    wanted = [x.header for x in ctx.analyses(function).loops
              if (str(x.header.name) == name if name else x.is_innermost)]
    return sum(_version(h, ctx)[1] for h in wanted) > 0


def version(header: Block, ctx: Context) -> Block | None:
    """Give a loop a version for operands apart: the header of that, or None, which is remarked."""
    return _version(header, ctx)[0]


def names_tell(loop: Loop) -> bool:
    """Whether a version for operands apart would test nothing but different operands, which is what
    `__restrict__` says in the source."""
    found = _look(loop)[1]
    return found is not None and not found.tests and not found.moves


def _version(header: Block, ctx: Context) -> tuple[Block | None, bool]:
    """The header of the version, and whether the code is another."""
    loop = ctx.analyses(header.function).loop(header)
    assert loop is not None
    why, found = _look(loop)
    if found is None:
        assert why is not None
        ctx.remark(MISSED[why[0]], loop, reason=str(why[0].value).format(what=why[1]))
        return None, False
    made = _Version(header, found)
    fast = made.build()
    if fast is None:
        ctx.remark(MISSED[Against.ADDRESS], loop, reason=Against.ADDRESS.value.format(
            what=made.what))
        return None, True  # canonical, closed by phis, with tests that nobody reads
    ctx.remark(VERSIONED, loop, tests=found.count, sums=len(found.sums))
    ctx.count("versioned")
    return fast, True


@attrs.frozen(eq=False)
class _Found:
    """What is to be done: accesses by their places in the block.

    tests  two accesses each, which stand for all with the same bases and point into one operand
    far    two groups of such each, which point into different operands
    moves  an access each, whose base has to move on beyond itself
    bases  of each of these, the least distance from its base and the bytes from there on
    sums   in memory: the accesses of one place
    """

    tests: list[tuple[int, int]]
    far: list[tuple[list[int], list[int]]]
    moves: list[int]
    bases: dict[int, tuple[int, int]]
    sums: list[list[int]]

    @property
    def count(self) -> int:
        return len(self.tests) + len(self.far) + len(self.moves)


def _look(loop: Loop) -> tuple[tuple[Against, str] | None, _Found | None]:
    """What a version needs, or why there is none. The function stays as it is."""
    header = loop.header
    if len(loop.blocks) != 1:
        return (Against.BLOCKS, ""), None
    trip = trip_count(loop)
    if trip is None or trip.exit is not header:
        return (Against.COUNT, ""), None
    refused = Refusals(header.function).of(loop)
    if refused is not None:
        return (Against.COPIES, refused[0].text(refused[1])), None
    code = list(header)
    touched = []
    for n, i in enumerate(code):
        f = i.form
        if f.is_call or f.sync or (f.convergent and not f.terminator):
            return (Against.ACCESS, f.spelling), None
        if not (f.reads or f.writes) or f.invariant or f.space.startswith(("param", "const")):
            continue
        if not _is_plain(i):
            return (Against.ACCESS, f.spelling), None
        touched.append(n)
    alias = Analyses.of(header.function).alias
    sums = _sums(loop, code, touched)
    summed = {n for some in sums for n in some}
    like: dict[Value, list[int]] = {}
    for n in touched:
        like.setdefault(place(code[n])[0], []).append(n)
    first = {n: some[0] for some in like.values() for n in some}
    pairs = _pairs(loop, code, touched, first, sums, alias)
    moves = _moves(loop, code, touched, first, summed, alias)
    if not pairs and not moves:
        return (Against.NOTHING, ""), None
    bases = {}
    for some in like.values():
        ends = [place(code[n])[1] + _bytes(code[n]) for n in some]
        low = min(place(code[n])[1] for n in some)
        bases[some[0]] = low, max(ends) - low
    for shallow in (False, True):
        tests, far = _grouped(loop, code, pairs, shallow)
        found = _Found(tests, far, moves, bases, sums)
        if found.count <= MOST:
            return None, found
    return (Against.MANY, str(found.count)), None


def _by_base(code: list[Instruction], touched: list[int]) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for n in touched:
        found.setdefault(id(place(code[n])[0]), []).append(n)
    return list(found.values())


def _pairs(
    loop: Loop, code: list[Instruction], touched: list[int], first: dict[int, int],
    sums: list[list[int]], alias: AliasAnalysis,
) -> list[tuple[int, int]]:
    """Accesses with different bases whose order only run time allows to change: the first with
    each base stand for all."""
    summed = {n: k for k, some in enumerate(sums) for n in some}
    bases = _by_base(code, touched)
    own = {n: some for some in bases for n in some}
    found: dict[tuple[int, int], None] = {}
    for a in touched:
        hits = []
        for some in bases:
            if some is own[a] or (first[a], first[some[0]]) in found:
                continue
            hit = next((
                b for b in some[bisect_right(some, a):]
                if (reorders(code[a], code[b])
                    or (code[a].form.writes and (a in summed or b in summed)))
                and may_meet(code[a], code[b], loop, alias)
                and (a not in summed or summed[a] != summed.get(b))
            ), None)
            if hit is not None:
                hits.append(hit)
        found |= dict.fromkeys((first[a], first[b]) for b in sorted(hits))
    return list(found)


def _moves(
    loop: Loop, code: list[Instruction], touched: list[int], first: dict[int, int],
    summed: set[int], alias: AliasAnalysis,
) -> list[int]:
    """The first access with each base of which some may meet in different iterations."""
    hits = []
    for some in _by_base(code, touched):
        if all(alias.is_steady(code[some[0]], code[n], loop) for n in some):
            continue
        hit = next((
            (a, b) for k, a in enumerate(some) for b in some[k:]
            if b not in summed and reorders(code[a], code[b])
            and may_meet_later(code[a], code[b], loop, alias)
        ), None)
        if hit is not None:
            hits.append(hit)
    return list(dict.fromkeys(first[b] for _, b in sorted(hits)))


def _grouped(
    loop: Loop, code: list[Instruction], pairs: Iterable[tuple[int, int]], shallow: bool
) -> tuple[list[tuple[int, int]], list[tuple[list[int], list[int]]]]:
    """Pairs of accesses within one operand, and those of different operands by operands."""
    near = []
    far: dict[tuple[Value, Value], tuple[list[int], list[int]]] = {}
    for a, b in pairs:
        x, y = (_operand(loop, place(code[n])[0], shallow) for n in (a, b))
        if x is y:
            near.append((a, b))
            continue
        if (y, x) in far:
            a, b, x, y = b, a, y, x
        for n, group in zip((a, b), far.setdefault((x, y), ([], [])), strict=True):
            if n not in group:
                group.append(n)
    return near, list(far.values())


def _operand(loop: Loop, address: Value, shallow: bool) -> Value:
    """What an address points into, as far as sums tell: the pointer that they begin with, or
    `shallow` the first of them that the loop does not change."""
    for _ in range(DEEP):
        d = address.definer
        if d is None or d.form.reads or (d.block is not loop.header and (d.form.is_phi or shallow)):
            return address
        wide = [v for v in d.operands if v.type.bits == 64 and constant_of(v) is None]
        if d.form.is_phi:
            wide = [v for v, b in d.incoming if b not in loop.members]
        pointers = [v for v in wide if v.definer is None or v.definer.form.reads
                    or _leads_on(v.definer)] or wide
        if len(pointers) != 1 or not _leads_on(d):
            return address
        address = pointers[0]
    return address


def _leads_on(d: Instruction) -> bool:
    """Whether a pointer may be made of another by this; products and widened numbers are not."""
    kinds = OpKind.COPY, OpKind.SUM
    return d.form.is_phi or d.form.kind in kinds or d.form.name == "cvta" or adds_product(d)


def _is_plain(i: Instruction) -> bool:
    """An ordinary load or store of global memory at a known distance from its base."""
    f = i.form
    return (
        f.kind in (OpKind.LOAD, OpKind.STORE) and not f.pinned and f.space in ("", "global")
        and len(f.addresses) == 1 and i.operands[f.addresses[0][0]].type.bits == 64
        and constant_offset(i) is not None and _bytes(i) > 0
    )


def _bytes(i: Instruction) -> int:
    f = i.form
    return f.type.bits // 8 * lanes(f) if f.type is not None else 0


def _sums(loop: Loop, code: list[Instruction], touched: list[int]) -> list[list[int]]:
    """Accesses of one invariant place, one of them a store, that are the same in kind, where no
    other access is of a part of it."""
    places: dict[tuple[Value, int], list[int]] = {}
    for n in touched:
        places.setdefault(place(code[n]), []).append(n)
    apart = _apart(code, places)
    return [
        some for (base, at), some in places.items()
        if (base.definer is None or base.definer.block is not loop.header)
        and (base, at) in apart
        and any(code[n].form.writes for n in some)
        and all(code[n].form.guard is None for n in some)
        and len({code[n].form.type for n in some}) == 1 and _bytes(code[some[0]]) in (4, 8)
        and all(len(code[n].results) <= 1 for n in some)
        and not any(m[0] == "v" for n in some for m in code[n].form.mods)
    ]


def _apart(
    code: list[Instruction], places: dict[tuple[Value, int], list[int]]
) -> set[tuple[Value, int]]:
    """The places of which no other has a byte."""
    by_base: dict[Value, list[tuple[int, int]]] = {}
    for (base, at), some in places.items():
        by_base.setdefault(base, []).append((at, at + max(_bytes(code[n]) for n in some)))
    found = set()
    for base, held in by_base.items():
        held.sort()
        reached = held[0][0]  # by those before
        following = [at for at, _ in held[1:]] + [held[-1][1]]
        for (at, end), later in zip(held, following, strict=True):
            if reached <= at and end <= later:
                found.add((base, at))
            reached = max(reached, end)
    return found


class _Version:
    """Builds the version of one loop."""

    def __init__(self, header: Block, found: _Found) -> None:
        self.header, self.found = header, found
        self.what = ""

    def build(self) -> Block | None:
        """The header of the version; None where an address is not linear: what was made in front
        of the loop then has no use."""
        header = self.header
        function = header.function
        code = [i for i in header if not i.form.is_phi]
        shift = len(header) - len(code)
        area = regions(function, {header}, Refusals(function).held)[header]
        loop = Analyses.of(function).loop(header)
        assert loop is not None
        trip = trip_count(loop)
        assert trip is not None
        entry = area.preheader
        assert entry.last is not None
        b = Builder(entry).at(entry.last)
        try:
            right = self._test(loop, trip, code, shift, b)
        except NotLinear:
            return None
        fast = self._copy(area, right, code, shift)
        function.analyze_cfg()
        return fast

    def _test(
        self, loop: Loop, trip: TripCount, code: list[Instruction], shift: int, b: Builder
    ) -> Value:
        """The predicate under which all pairs are apart."""
        extents: dict[int, Extent] = {}
        ahead = Extents(loop, trip, b)
        groups = [*self.found.tests, *(some for far in self.found.far for some in far)]
        for n in dict.fromkeys(n for group in groups for n in group):
            i = code[n - shift]
            self.what = i.form.spelling
            extents[n] = ahead.of(place(i)[0], *self.found.bases[n])
        tests = [
            apart(b, *([extents[n] for n in some] for some in far)) for far in self.found.far]
        for x, y in ((extents[x], extents[y]) for x, y in self.found.tests):
            right = apart(b, [x], [y])
            if x.step is not None and y.step is not None:
                right = b.compute("or.pred", right, between(b, x, y))
            tests.append(right)
        for n in self.found.moves:
            base, (_, size) = place(code[n - shift])[0], self.found.bases[n]
            if not ahead.moves(base):
                raise NotLinear
            tests.append(ahead.leaves(base, size))
        right, *others = (*ahead.sure, *tests)
        for other in others:
            right = b.compute("and.pred", right, other)
        return right

    def _copy(
        self, area: CopyRegion, right: Value, code: list[Instruction], shift: int
    ) -> Block:
        ((_, out),) = area.exits()
        copies, way = fork(area, right, ("apart", "overlap"))
        fast: Block = copies[self.header]
        fast.flags |= {DISJOINT}
        sums = [[copies[code[n - shift]] for n in some] for some in self.found.sums]
        if sums:
            self._in_registers(sums, fast, way, out)
        return fast

    def _in_registers(
        self, sums: list[list[Instruction]], fast: Block, way: Block, out: Block
    ) -> None:
        """Keep what is summed up in memory in registers, and store it behind the loop."""
        function = fast.function
        end = function.block(f"{fast.name}.end", after=fast)
        for p in out.phis:
            p.set_incoming([v for v, _ in p.incoming], [end if x is fast else x for x in p.aux])
        region.redirect(fast, out, end)
        for some in sums:
            first = some[0]
            base, offset = place(first)
            spelled = first.form.type
            assert spelled is not None
            space = f"{first.form.space}." if first.form.space else ""
            current: Value | None = None
            phi: Instruction | None = None
            if not first.form.writes:
                assert way.last is not None
                start = Builder(way).at(way.last).load(f"{space}{spelled.name}", base, offset)
                phi = Builder(fast).phi(first.type)
                phi.add(start, way)
                current = phi
            for i in some:
                if i.form.writes:
                    at = i.form.addresses[0]
                    current = next(v for n, v in enumerate(i.sources) if n not in at)
                else:
                    assert current is not None
                    i.replace_all_uses_with(current)
                i.erase()
            assert current is not None
            if phi is not None:
                phi.add(current, fast)
            Builder(end).store(f"{space}{spelled.name}", base, current, offset)
        Builder(end).br(out)

