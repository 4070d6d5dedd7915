"""Tiles copied in bulk: one thread asks for a whole row, an mbarrier counts its bytes.

    cp.async.cg.shared.global [%s], [%g], 16      @%row cp.async.bulk.….complete_tx::bytes
                                             ==>          [%s], [%g], 512, [%full];
    (each of 32 threads)                          (the first of 32 threads, if that is proven)

What is proven, each else being refused with its own reason:

 1. it is a kernel of known block (`.reqntid`), no other loop around, no branch in the loading part;
    and all threads come to each iteration: neither its test nor a branch before depends on the
    thread (a barrier asks that of warps that are left, a count of bytes of the whole block)
 2. a copy has no guard and fills with no zeros
 3. of W threads in line, W times the same places further: their global addresses follow each
    other, and so do their shared ones (thread_forms.py); W · size is a multiple of 16, and of
    LEAST_ROW bytes at least. Of all such W the largest is taken, which may be the block: rows
    adjoin
 4. both addresses of the first of them are multiples of 16: because the access moved 16 bytes at
    once, or because variable, parameter (`.ptr .align 16`) and what is added are

The protocol of a stage: thread 0 arrives and expects the bytes of all rows; the first threads of
rows ask for them; each thread waits for the phase, whose parity flips with each turn of the ring.
Phases of a stage never overlap, since all threads have waited for one before the next is begun.
`fence.proxy.async` stands between ordinary accesses and the engine's: once before the loop, and
behind the barrier after which a buffer is filled again.

Cost     tiles/thread_forms.py; sums over the threads.
Source   NVIDIA, PTX ISA 9.0 on cp.async.bulk, mbarrier and proxies. LEAST_ROW is assumed.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import attrs

from nvir.analysis.analyses import Analyses
from nvir.ir import Block, Builder, Function, Instruction, Value, Variable, form, integer
from nvir.ir.types import B64, PRED, array
from nvir.passes.loop.tiles.recognise import TileLoop
from nvir.passes.loop.tiles.thread_forms import LaneForms, Lanes
from nvir.passes.loop.tiles.tile_copies import CopyPiece, Load, Store, address

BARRIER = 8  # bytes of an mbarrier
LEAST_ROW = 64  # bytes for which asking the engine is taken to be worth it
ALIGNED = 16
_COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


class Why(enum.Enum):
    """Why a tile is copied by cp.async. `text(what)` names what is to blame."""

    KERNEL = "it is no kernel"
    BLOCK = "the shape of the block is not given by .reqntid"
    NESTED = "another loop is around it"
    BRANCHES = "the loading part branches"
    APART = "a branch that leads to the loop may depend on the thread"
    ROOM = "no room for {what} bytes of barriers"
    GUARD = "{what} is guarded or fills with zeros"
    ADDRESS = "the address of {what} is not known for each thread"
    ROWS = "the copies of threads in line do not follow each other at {what}"
    SIZE = "rows of {what} bytes, no multiple of 16"
    SHORT = "rows of {what} bytes only"
    ALIGNMENT = "a row at {what} is not known to begin at a multiple of 16 bytes"

    def text(self, what: object = "") -> str:
        return str(self.value).format(what=what)


class NotBulk(Exception):
    """Copies that are not made in bulk. Internal: the pass makes a remark of it."""

    def __init__(self, why: Why, what: object = "") -> None:
        super().__init__(why.text(what))
        self.why = why


@attrs.frozen
class CopiedRow:
    """`threads` in line copy `bytes` that follow each other; the first asks for them."""

    threads: int
    bytes: int


@attrs.frozen(eq=False)
class BulkPlan:
    """What is copied in bulk.

    shape    of the block
    rows     of each piece that is
    where    the tile of each such piece
    refused  variable and reason for tiles that are not, or not in part
    """

    shape: tuple[int, ...]
    rows: Mapping[CopyPiece, CopiedRow]
    where: Mapping[CopyPiece, Variable]
    refused: Mapping[Variable, NotBulk]

    @property
    def threads(self) -> int:
        return self.shape[0] * self.shape[1] * self.shape[2]

    @property
    def bytes(self) -> int:
        """Of a stage."""
        return sum(self.threads // r.threads * r.bytes for r in self.rows.values())


    @property
    def copies(self) -> list[tuple[str, CopiedRow, int]]:
        """Name of the tile, row, and copies a stage, for tiles and rows that differ."""
        found: dict[tuple[str, CopiedRow], int] = {}
        for p, r in self.rows.items():
            key = (self.where[p].name, r)
            found[key] = found.get(key, 0) + self.threads // r.threads
        return [(name, row, n) for (name, row), n in found.items()]


def plan(tiles: TileLoop, free: int, stages: int) -> BulkPlan:
    """What of a recognised loop can be copied in bulk; `free` bytes of shared memory are left."""
    function = tiles.header.function
    grown = {t.variable: ALIGNED for t in tiles.tiles}  # as `gemm_expand.grow` aligns them
    lanes = LaneForms(function, tiles.header, Analyses.of(function).affine, grown)
    rows: dict[CopyPiece, CopiedRow] = {}
    where: dict[CopyPiece, Variable] = {}
    refused: dict[Variable, NotBulk] = {}
    everywhere = _against(tiles, lanes, free, stages)
    for s in tiles.stores:
        variable = tiles.where[s.store].variable
        for p in s.pieces:
            where[p] = variable
            try:
                if everywhere is not None:
                    raise everywhere
                rows[p] = _row(s, p, lanes)
            except NotBulk as e:
                refused.setdefault(variable, e)
    return BulkPlan(lanes.shape, rows, where, refused)


def _against(tiles: TileLoop, lanes: LaneForms, free: int, stages: int) -> NotBulk | None:
    """What speaks against bulk copies in the loop: rule 1."""
    function = tiles.header.function
    if not function.is_kernel:
        return NotBulk(Why.KERNEL)
    if not lanes.threads:
        return NotBulk(Why.BLOCK)
    if tiles.loop.parent is not None:
        return NotBulk(Why.NESTED)
    if len(tiles.blocks) != 1:
        return NotBulk(Why.BRANCHES)
    if (stages + 1) * BARRIER > free:
        return NotBulk(Why.ROOM, stages * BARRIER)
    if any(not _is_shared_branch(b, lanes) for b in (*_leading_to(tiles), tiles.latch)):
        return NotBulk(Why.APART)
    return None


def _leading_to(tiles: TileLoop) -> list[Block]:
    """The blocks outside the loop from which it is reached."""
    inside, seen = set(tiles.loop.blocks), set[Block]()
    work = [p for p in tiles.header.preds if p not in inside]
    while work:
        b = work.pop()
        if b not in seen:
            seen.add(b)
            work += b.preds
    return [b for b in seen if b not in inside]


def _is_shared_branch(b: Block, lanes: LaneForms) -> bool:
    """Whether all threads that come to the end of a block go on together. Guards on anything but
    the terminator (`@%p exit` ends a block as well) do not matter."""
    t = b.terminator
    if t is None or t.form.guard is None:
        return t is None or len(t.aux) <= 1
    assert t.guard is not None
    found = lanes.of(t.guard)
    return found is not None and found.is_shared


def _row(s: Store, p: CopyPiece, lanes: LaneForms) -> CopiedRow:
    """Rules 2 to 4 for a piece of a store."""
    spelling = s.store.form.spelling
    if s.store.guard is not None or not isinstance(p.shape, Load) or p.load.guard is not None:
        raise NotBulk(Why.GUARD, spelling)
    to, of = lanes.of(address(s.store)[0]), lanes.of(address(p.load)[0])
    for found, i in ((to, s.store), (of, p.load)):
        if found is None:
            raise NotBulk(Why.ADDRESS, i.form.spelling)
    assert to is not None
    assert of is not None
    to = _moved(to, address(s.store)[1] + p.offset)
    of = _moved(of, address(p.load)[1] + p.source)
    follows = [
        _follow(to, t, p.size) and _follow(of, t, p.size) for t in range(lanes.threads - 1)
    ]
    whole = (w for w in range(lanes.threads, 0, -1) if lanes.threads % w == 0)
    threads = next(w for w in whole if all(f or t % w == w - 1 for t, f in enumerate(follows)))
    if threads == 1:
        raise NotBulk(Why.ROWS, spelling)
    bytes = threads * p.size
    if bytes % ALIGNED:
        raise NotBulk(Why.SIZE, bytes)
    if bytes < LEAST_ROW:
        raise NotBulk(Why.SHORT, bytes)
    if p.size < ALIGNED:  # an access of 16 bytes is aligned to them
        for found, i in ((to, s.store), (of, p.load)):
            if not all(
                lanes.is_aligned(found, t, ALIGNED) for t in range(0, lanes.threads, threads)
            ):
                raise NotBulk(Why.ALIGNMENT, i.form.spelling)
    return CopiedRow(threads, bytes)


def _moved(x: Lanes, by: int) -> Lanes:
    return attrs.evolve(x, own=tuple(n + by for n in x.own))


def _follow(x: Lanes, t: int, size: int) -> bool:
    """Whether the next thread's value is that much more, whatever the symbols are."""
    return x.own[t + 1] - x.own[t] == size and all(f[t] == f[t + 1] for f in x.terms.values())


class Barriers:
    """The barriers of a ring, and what is written for them."""

    def __init__(self, plan: BulkPlan, function: Function, stages: int) -> None:
        self.plan, self.stages = plan, stages
        taken = {v.name for v in function.locals}
        if function.module is not None:
            taken |= {v.name for v in function.module.globals}
        name = "full"
        while name in taken:
            name += "_"
        self.variable = Variable(name, "shared", array(B64, stages), align=BARRIER)
        function.locals.append(self.variable)
        self.base: Value = self.variable
        self._first: dict[int, Value] = {}  # by threads of a row: whether it is the first of one

    def begin(self, b: Builder, number: int | None) -> None:
        """Before the loop: make the barriers, for the engine as well as for all threads."""
        x, y, z = self.plan.shape
        t = b.special("tid.x")
        if y > 1:
            t = b.op("mad.lo.u32", b.special("tid.y"), x, t)
        if z > 1:
            t = b.op("mad.lo.u32", b.special("tid.z"), x * y, t)
        for n in sorted({self.plan.threads, *(r.threads for r in self.plan.rows.values())}):
            at = t if n == self.plan.threads else b.op("rem.u32", t, n)
            self._first[n] = b.op("setp.eq.u32", at, 0)
        self.base = b.op("mov.u32", self.variable)
        with b.guard(self._first[self.plan.threads]):
            for k in range(self.stages):
                b.op("mbarrier.init.shared::cta.b64", (self.base, BARRIER * k), 1)
            b.op("fence.mbarrier_init.release.cluster")
        b.op("fence.proxy.async")
        b.op("bar.sync", number)

    def expect(self, b: Builder, barrier: Value, again: bool) -> None:
        """Before the copies of a stage. `again`: into a buffer that was read before."""
        if again:
            for n in sorted({r.threads for r in self.plan.rows.values()}):
                with b.guard(self._first[n]):
                    b.op("fence.proxy.async.shared::cta")
        with b.guard(self._first[self.plan.threads]):
            b.op("mbarrier.arrive.expect_tx.shared::cta.b64", barrier, self.plan.bytes)

    def copy(
        self, b: Builder, piece: CopyPiece, to: tuple[Value, int], of: tuple[Value, int],
        barrier: Value,
    ) -> None:
        """A row, where the thread is the first of it."""
        row = self.plan.rows[piece]
        shape = "[%s+%s], [%s+%s], %s, [%s]"
        values = (to[0], integer(to[1]), of[0], integer(of[1]), integer(row.bytes), barrier,
                  self._first[row.threads])
        b.insert(Instruction(form(_COPY, shape, ""), values))

    def wait(self, b: Builder, barrier: Value, parity: Value, here: Block, behind: Block) -> None:
        """At the end of block `here`: until the bytes of a phase have come, and on to `behind`."""
        done = b.op("mbarrier.try_wait.parity.shared::cta.b64", barrier, parity)
        assert done.type is PRED
        b.cond_br(done, behind, here)
