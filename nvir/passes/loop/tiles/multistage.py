"""A tile loop becomes a multistage one: a ring of buffers, filled by asynchronous copies.

    for i in 0 … n-1:                  copies(0, buffer 0); commit
        loads(i); bar                  if 1 < n: copies(1, buffer 1);  commit       (stages - 1 of
        arithmetic(i); bar             …                                             these)
                                  ==>  for i in 0 … n-1:
                                           wait until stages - 2 groups are pending; bar
                                           if i+stages-1 < n: copies(i+stages-1, next buffer)
                                           commit
                                           arithmetic(i) from buffer i mod stages
                                       bar, where shared memory is used behind the loop

What is committed in an iteration is one group, empty or not, so the newest stages - 2 groups are
those of tiles i+1 … i+stages-2, and tile i is there for the thread that waits; for the others it is
behind the barrier. Behind the same barrier all threads are done with tile i-1, whose buffer is
the one that is filled next: one barrier an iteration is enough. When the loop is left, only empty
groups are pending.

The tiles ahead have header phis of their own, and a predicate that stays false once the test
failed; both are computed from pure instructions that rule 6 of recognise.py found, so the loop may
end after any number of iterations. Whether the next tile exists is known since its copies were
issued, which spares the arithmetic its counter. A buffer is chosen by an offset that is added to
the base of each access, one offset for reads and one for stores of each size of tile; the variables
grow in place.

Where copies are made in bulk (bulk.py), a stage has an mbarrier as well, found by an offset of
its own, and its wait is a loop of one block at the head; without other copies the groups go.

Method   The loading part is copied for each stage of the prologue and for the kernel, stores of
         loaded values replaced by copies; then the original is taken out.
Needs    a loop in the form of unroll/prepare.py, fresh annotations. They are stale afterwards.
Cost     stages times the loading part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from nvir.analysis.induction import constant_of
from nvir.ir import Block, Builder, Function, Instruction, Variable, form, successors
from nvir.ir.block import NOUNROLL
from nvir.ir.clone import clone_blocks
from nvir.ir.types import B32, PRED, Type, array
from nvir.ir.values import Symbol, SymbolOffset, Value, integer, undef
from nvir.passes.loop import region
from nvir.passes.loop.tiles.bulk import BARRIER, Barriers, BulkPlan
from nvir.passes.loop.tiles.recognise import TileLoop
from nvir.passes.loop.tiles.tile_copies import Store, Writer, address
from nvir.passes.scalar.dce import dead_instructions

PIPELINED = "gemm pipelined"  # flag of a kernel's header
REMEMBERED = 3  # predicates that a kernel carries for tiles known to exist


@attrs.frozen(eq=False)
class MultistageLoop:
    """What a tile loop has become.

    kernel     header of the loop
    copying    the block of the kernel that commits, behind the copies
    """

    kernel: Block
    copying: Block
    stages: int


def expand(
    tiles: TileLoop, preheader: Block, stages: int, *,
    pending: int | None = None, late: bool = False, grows: bool = True,
    bulk: BulkPlan | None = None,
) -> MultistageLoop:
    """Replace a tile loop.

    stages    buffers of each tile, at least 2
    pending   groups that may be under way while the arithmetic begins, at most stages − 2
    late      copies are issued behind the arithmetic of an iteration, not before it
    grows     the variables grow; on a copy of a function, which shares those of the module, not
    bulk      what is copied in bulk
    """
    most = stages - 2 if pending is None else min(pending, stages - 2)
    made = _StageExpander(tiles, preheader, stages, most, late, bulk).build()
    for t in tiles.tiles if grows else ():
        grow(t.variable, t.stride * stages)
    return made


class _StageExpander:
    def __init__(
        self, tiles: TileLoop, preheader: Block, stages: int, pending: int, late: bool,
        bulk: BulkPlan | None,
    ) -> None:
        self.t, self.preheader = tiles, preheader
        self.stages, self.pending, self.late = stages, pending, late
        self.header, self.latch = tiles.header, tiles.latch
        (self.exit,) = (s for _, s in tiles.loop.exits)
        function = self.header.function
        self.function: Function = function
        self.strides = list(dict.fromkeys(t.stride for t in tiles.tiles))
        self.bulk = bulk.rows if bulk is not None else {}
        self.grouped = any(p not in self.bulk for s in tiles.stores for p in s.pieces)
        self.barriers: Barriers | None = None
        if bulk is not None and bulk.rows:
            self.barriers = Barriers(bulk, function, stages)
            self.strides.append(BARRIER)  # no tile's: those are multiples of 16
        self.outer = _uses_shared_behind(self.exit, set(tiles.loop.blocks))
        self.inside = set(tiles.loop.blocks)
        self.phis = list(self.header.phis)
        (test,) = (i for i in (self.latch.terminator,) if i is not None)
        self.test = test
        self.ahead: dict[Instruction, Instruction] = {}
        self.exist: list[Instruction] = []
        self.reads: dict[int, Instruction] = {}
        self.stores: dict[int, Instruction] = {}
        self.updates = {p: p.operands[p.aux.index(self.latch)] for p in tiles.ahead}
        self.number = constant_of(tiles.filled.operands[0])

    def build(self) -> MultistageLoop:
        body = self._split()
        kernel = self.function.block(f"{self.header.name}.kernel", after=self.preheader)
        here, values, exist = self._prologue(body, kernel)
        ready = self._head(kernel, here, values, exist)
        copying = self._copies(kernel, ready, body)  # from the original part, untouched so far
        self._again(body)
        self._shift_reads(body)
        self._turn(kernel)
        self._finish(kernel, here)
        return MultistageLoop(kernel, copying, self.stages)

    # ---------------------------------------------------------------- frame

    def _split(self) -> Block:
        """The loading part ends with its last block; the rest of it is a block of its own."""
        filled = self.t.filled
        end = filled.block
        assert end is not None
        body = self.function.block(f"{self.header.name}.math", after=end)
        i = filled.next
        filled.erase()
        while i is not None:
            following = i.next
            i.remove()
            body.append(i)
            i = following
        for s in successors(body):
            for phi in s.phis:
                phi.set_incoming(phi.operands, [body if x is end else x for x in phi.aux])
        end.append(Instruction(form("bra"), aux=(body,)))
        if self.latch is end:
            self.latch = body
        self.t.released.erase()
        self.inside.add(body)
        return body

    def _prologue(
        self, body: Block, kernel: Block
    ) -> tuple[Block, dict[Instruction, Value], list[Value]]:
        """The first stages; the block they end in, the phis of the tile after them, and whether the
        tiles from the second on exist."""
        here = self.preheader
        values: dict[Instruction, Value] = {
            p: p.operands[p.aux.index(here)] for p in self.t.ahead
        }
        last = here.last
        assert last is not None
        last.erase()
        if self.barriers is not None:
            self.barriers.begin(Builder(here), self.number)
        exist: list[Value] = []
        for s in range(self.stages - 1):
            join = self.function.block(f"{self.header.name}.filled{s}", after=here)
            offsets = {n: integer(n * s) for n in self.strides}
            head = self._part(body, values, offsets, join, here)
            leave = Builder(here)
            if exist:
                leave.cond_br(exist[-1], head, join)
            else:
                leave.br(head)
            b = Builder(join)
            self._commit(b)
            values, goes_on = self._advance(b, values)
            exist.append(b.op("and.pred", exist[-1], goes_on) if exist else goes_on)
            here = join
        Builder(here).br(kernel)
        return here, values, exist

    def _head(
        self, kernel: Block, here: Block, values: Mapping[Instruction, Value], exist: list[Value]
    ) -> Block:
        """The kernel's phis, its wait and its barrier; the block behind these. Phis of its own lack
        the back edge."""
        for phi in self.phis:
            phi.remove()
            kernel.append(phi)
            phi.set_incoming(phi.operands, [here if x is self.preheader else x for x in phi.aux])

        def phi_of(type: Type, first: Value, name: str | None = None) -> Instruction:
            return kernel.insert_phi(Instruction(form("phi"), (first,), type, name, (here,)))

        self.ahead = {p: phi_of(p.type, values[p], p.name) for p in self.t.ahead}
        known = exist[:-1] if self.stages - 2 <= REMEMBERED else []
        self.exist = [phi_of(PRED, v) for v in (*known, exist[-1])]
        self.reads = {n: phi_of(B32, integer(0)) for n in self.strides}
        self.stores = {}
        if self.stages > 2:
            self.stores = {n: phi_of(B32, integer(n * (self.stages - 1))) for n in self.strides}
        ready = kernel
        if self.barriers is not None:
            self.parity = phi_of(B32, integer(0))
            b = Builder(kernel)
            barrier = shifted(b, self.barriers.base, self.reads[BARRIER])
            waiting = self.function.block(f"{self.header.name}.wait", after=kernel)
            ready = self.function.block(f"{self.header.name}.ready", after=waiting)
            b.br(waiting)
            self.barriers.wait(Builder(waiting), barrier, self.parity, waiting, ready)
        b = Builder(ready)
        if self.grouped:
            b.op("cp.async.wait_group", self.pending)
        b.op("bar.sync", self.number)
        kernel.pragmas = tuple(dict.fromkeys((*self.header.pragmas, NOUNROLL)))
        kernel.flags = self.header.flags | {PIPELINED}
        return ready

    def _commit(self, b: Builder) -> None:
        if self.grouped:
            b.op("cp.async.commit_group")

    def _copies(self, kernel: Block, ready: Block, body: Block) -> Block:
        """The kernel's copies, before the arithmetic or behind it; the block that commits them.

        There the offsets and the phis of the next iteration are computed as well.
        """
        copying = self.function.block(f"{self.header.name}.copies", after=ready)
        before = self.latch if self.late else ready
        if self.late:
            Builder(ready).br(body)
            self.test.remove()
        b = Builder(before)
        following = {n: self._following(b if self.stages == 2 else None, n) for n in self.strides}
        head = self._part(body, self.ahead, following, copying, ready, again=True)
        b.cond_br(self.exist[-1], head, copying)
        b.at_end(copying)
        self._commit(b)
        new, goes_on = self._advance(b, self.ahead)
        exists = b.op("and.pred", self.exist[-1], goes_on)
        rotated = {n: self._rotate(b, n, following) for n in self.strides}
        parity = self._turned(b, rotated) if self.barriers is not None else None
        if self.late:
            copying.append(self.test)
            for block in (self.exit, kernel):
                for phi in block.phis:
                    aux = [copying if x is self.latch else x for x in phi.aux]
                    phi.set_incoming(phi.operands, aux)
            self.latch = copying
        else:
            b.br(body)
        for p, phi in self.ahead.items():
            phi.add(new[p], self.latch)
        for now, later in zip(self.exist, [*self.exist[1:], exists], strict=True):
            now.add(later, self.latch)
        for n in self.strides:
            self.reads[n].add(rotated[n], self.latch)
            if n in self.stores:
                self.stores[n].add(self.reads[n], self.latch)
        if parity is not None:
            self.parity.add(parity, self.latch)
        return copying

    def _following(self, b: Builder | None, stride: int) -> Value:
        """The offset of the buffer that is filled: of two the other, else that of last time."""
        if b is None:
            return self.stores[stride]
        return b.compute("sub.s32", stride, self.reads[stride])

    def _rotate(self, b: Builder, stride: int, following: Mapping[int, Value]) -> Value:
        """The offset of the buffer that is read next."""
        if self.stages == 2:
            return following[stride]
        new = b.op("add.s32", self.reads[stride], stride)
        last = b.op("setp.eq.s32", new, stride * self.stages)
        return b.compute("selp.b32", 0, new, last)

    def _turned(self, b: Builder, rotated: Mapping[int, Value]) -> Value:
        """The parity of the next stage's phase: another one where the ring begins again."""
        begins = b.op("setp.eq.s32", rotated[BARRIER], 0)
        other = b.op("xor.b32", self.parity, 1)
        return b.compute("selp.b32", other, self.parity, begins)

    def _turn(self, kernel: Block) -> None:
        """The way back. What exists of the next tile was found out when its copies were issued, so
        the arithmetic needs no counter; of many stages, remembering costs more than counting."""
        if len(self.exist) < self.stages - 1:
            self.test.set_successor(self.header, kernel)
            return
        self.test.erase()
        Builder(self.latch).cond_br(self.exist[0], kernel, self.exit)

    def _finish(self, kernel: Block, here: Block) -> None:
        """The original loading part goes, and what then nothing needs."""
        if self.outer:
            Builder(self.exit, self.exit.first_non_phi).op("bar.sync", self.number)
        gone = set(self.t.blocks)
        dead = [i for b in gone for i in b]
        for i in dead:
            _forget(i)
        for i in dead:
            self.function.marks.pop(i, None)
            i.remove()
        region.drop(self.function, gone)
        unused = dead_instructions(self.function)
        for i in unused:
            _forget(i)
        for i in unused:
            self.function.marks.pop(i, None)
            i.remove()
        self.function.cfg_changed()

    # -------------------------------------------------------- loading parts

    def _part(
        self, body: Block, values: Mapping[Instruction, Value], offsets: Mapping[int, Value],
        join: Block, after: Block, again: bool = False,
    ) -> Block:
        """A copy of the loading part that copies asynchronously and leads to `join`; its head.
        `again`: the buffers were read before."""
        copies: dict[Any, Any] = {p: values.get(p, undef(p.type)) for p in self.phis}
        copies[body] = join
        made = clone_blocks(self.t.blocks, copies, after)
        writer = Writer(copies)
        barrier = self._expect(copies, offsets, again)
        for s in self.t.stores:
            self._store(s, copies, writer, offsets[self.t.where[s.store].stride], barrier)
        _sweep(made)
        head: Block = copies[self.header]
        head.pragmas, head.flags = (), frozenset()
        return head

    def _expect(
        self, copies: dict[Any, Any], offsets: Mapping[int, Value], again: bool
    ) -> Value | None:
        """The barrier of a stage that is copied in bulk, told what to expect."""
        if self.barriers is None:
            return None
        first: Instruction = copies[self.t.stores[0].store]
        b = Builder.ahead_of(first)
        barrier = shifted(b, self.barriers.base, offsets[BARRIER])
        self.barriers.expect(b, barrier, again)
        return barrier

    def _store(
        self, s: Store, copies: dict[Any, Any], writer: Writer, offset: Value,
        barrier: Value | None,
    ) -> None:
        store: Instruction = copies[s.store]
        b = Builder.ahead_of(store)
        base, literal = address(store)
        base = shifted(b, base, offset)
        if not s.pieces:
            store.set_operand(store.form.addresses[0][0], base)
            return
        for piece in s.pieces:
            if piece in self.bulk:
                assert self.barriers is not None
                assert barrier is not None
                at = address(piece.load)[1] + piece.source
                to = (base, literal + piece.offset)
                self.barriers.copy(b, piece, to, (writer.base(piece), at), barrier)
            elif store.guard is None:
                writer.write(piece, b, (base, literal))
            else:
                with b.guard(store.guard, store.form.guard == "!"):
                    writer.write(piece, b, (base, literal))
        store.erase()

    def _advance(
        self, b: Builder, values: Mapping[Instruction, Value]
    ) -> tuple[dict[Instruction, Value], Value]:
        """The phis of the next tile, and whether there is one."""
        made = copied(self.t.advance, values, b)
        test = self.test
        assert test.guard is not None
        goes_on = made.get(test.guard, test.guard)
        stays = test.aux[0] is not self.exit
        if stays == (test.form.guard == "!"):
            goes_on = b.op("not.pred", goes_on)
        return {p: made.get(v, v) for p, v in self.updates.items()}, goes_on

    # ------------------------------------------------------------ arithmetic

    def _again(self, body: Block) -> None:
        """What the arithmetic uses of the loading part is computed before it once more."""
        gone = set(self.t.blocks)
        made = copied(self.t.again, {}, Builder(body, body.first))
        for old, new in made.items():
            for user in list(old.users):
                if user.block not in gone and user.block is not None:
                    user.replace_operand(old, new)

    def _shift_reads(self, body: Block) -> None:
        """Reads of tiles go to the buffer of the iteration. One sum for each base and tile."""
        known: dict[tuple[Value, int], Value] = {}
        for i, k, tile in self.t.reads:
            at = i.form.addresses[k][0]
            base = i.operands[at]
            key = (base, tile.stride)
            if key not in known:
                b = self._behind(base, body)
                known[key] = shifted(b, base, self.reads[tile.stride])
            i.set_operand(at, known[key])

    def _behind(self, base: Value, body: Block) -> Builder:
        """Where a value is known first within the arithmetic."""
        d = base.definer
        if d is None or d.block is None or d.block not in self.inside:
            return Builder(body, body.first)
        if d.is_phi:
            return Builder(d.block, d.block.first_non_phi)
        return Builder(d.block, d.next)


# ------------------------------------------------------------------- helpers


def shifted(b: Builder, base: Value, offset: Value) -> Value:
    """An address of shared memory plus an offset of 32 bits (a literal 0: the address itself)."""
    if offset is integer(0):
        return base
    if isinstance(base, Symbol | SymbolOffset):
        base = b.op("mov.u32", base)
    if base.type.bits == 64:
        wide = offset if offset.is_constant else b.op("cvt.u64.u32", offset)
        return b.compute("add.s64", base, wide)
    return b.compute("add.s32", base, offset)


def copied(
    instructions: Iterable[Instruction], values: Mapping[Any, Value], b: Builder
) -> dict[Value, Value]:
    """Copies of pure instructions, operands before users; from old to new values."""
    made: dict[Value, Value] = {**values}
    for i in instructions:
        new = Instruction(
            i.form, tuple(made.get(o, o) for o in i.operands), i.type, i.name, i.aux, i.loc
        )
        if i._results is not None:
            new.set_results([r.type for r in i.results], [r.name for r in i.results])
        b.insert(new)
        made.update(zip(i.results, new.results, strict=True))
    return made


def _forget(i: Instruction) -> None:
    """Let an instruction name nothing."""
    if i.is_phi:
        i.set_incoming((), ())
    else:
        i.set_operands(())


def grow(v: Variable, size: int) -> None:
    """Let a shared variable have that many bytes, aligned to 16."""
    element = v.element_type
    v.value_type = array(element, size // max(element.bits // 8, 1))
    v.vector = 1
    v.align = max(v.align, 16)


def _sweep(blocks: Collection[Block]) -> None:
    """Erase what nothing uses, bottom up."""
    inside = set(blocks)
    work = [i for b in blocks for i in b]
    while work:
        i = work.pop()
        if i.block is None or i.has_effect or any(r.has_uses for r in i.results):
            continue
        made_of = [d for o in i.operands if (d := o.definer) is not None]
        i.erase()
        work += [d for d in made_of if d.block in inside]


def _uses_shared_behind(start: Block, inside: set[Block]) -> bool:
    """Whether shared memory may be accessed after the loop (again by the loop itself, too)."""
    work, seen = [start], set()
    while work:
        b = work.pop()
        if b in seen:
            continue
        if b in inside:
            return True
        seen.add(b)
        for i in b:
            f = i.form
            if f.is_call or f.name == "unknown":
                return True
            elsewhere = f.space.startswith(("global", "param", "local", "const"))
            if (f.reads or f.writes) and not elsewhere:
                return True
        work += successors(b)
    return False
