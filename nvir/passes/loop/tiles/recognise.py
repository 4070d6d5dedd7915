"""Tile loops: which part of a loop loads a tile, which computes from it, and what links them.

    L:  phis                                     header
        ld.global … st.shared …    \\
        …                           |  loading part: from the header to the first barrier,
        bar.sync 0                 /   any control flow, inner loops included
        ld.shared … mma …          \\
        bar.sync 0                  |  arithmetic: from there to the latch
        counters, test, bra L      /

The second barrier may as well stand before the stores (`bar; store; bar; compute`). What holds of a
loop that is recognised, each else being refused with its own reason:

 1. one latch, the only exit; all threads of a block leave it together
 2. two barriers of all threads, passed once an iteration; stores of tiles between the releasing
    and the filling one, reads between the filling and the releasing one
 3. nothing else in it writes memory; so loads may move ahead past barriers and iterations
 4. a tile is a static shared variable, used in this loop alone and only where its address is
    known to lie in it
 5. the stores write the same places in every iteration: their addresses and whether they run (or
    one of several does, by turns) do not change. So what the arithmetic reads was stored in
    this iteration, or never, and each stage may have a buffer to itself
 6. header phis that loads, guards and store addresses need, and the test, follow from pure
    instructions: the next tiles can be asked for before the arithmetic is done
 7. what else the arithmetic needs of the loading part is pure, and computed again

Needs    fresh CFG annotations.
Cost     linear but for `SliceControl`.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from nvir.analysis.alias import Access, alias_analysis
from nvir.analysis.analyses import Analyses
from nvir.analysis.divergence import Divergence
from nvir.analysis.held import held_in_place
from nvir.analysis.induction import constant_of
from nvir.ir import CC, Block, Form, Function, Instruction, Loop, OpKind, Variable
from nvir.ir.cfg import common_dominator
from nvir.ir.values import SymbolOffset, Value
from nvir.passes.loop.tiles.reasons import TileReason, TileRefused
from nvir.passes.loop.tiles.roots import Roots
from nvir.passes.loop.tiles.slices import Changes, SliceControl, closure, is_movable
from nvir.passes.loop.tiles.tile_copies import Shapes, Store, address, load_of, needed


def _is_barrier(f: Form) -> bool:
    """A barrier of the block that counts nothing."""
    return f.kind is OpKind.BARRIER and f.op.scope == "block" and not f.n_results


@attrs.frozen(eq=False)
class Tile:
    """A shared variable that tiles pass through. `stride`: bytes from one buffer to the next."""

    variable: Variable
    stride: int


@attrs.define(eq=False)
class TileLoop:
    """A recognised loop.

    filled, released   the barrier after the stores, and the one after the reads
    blocks     the loading part, header first; its last block is that of `filled`
    stores     of tiles, in order
    reads      (instruction, number of the address, tile) of the arithmetic
    tiles      the variables
    ahead      header phis that the loading part needs of later iterations
    advance    pure instructions from these phis to their next values and the test
    again      pure instructions of the loading part that the arithmetic needs as well
    where      the tile of each store
    """

    loop: Loop
    filled: Instruction
    released: Instruction
    blocks: list[Block]
    stores: list[Store]
    reads: list[tuple[Instruction, int, Tile]]
    tiles: list[Tile]
    ahead: list[Instruction]
    advance: list[Instruction]
    again: list[Instruction]
    where: dict[Instruction, Tile] = attrs.field(factory=dict)

    @property
    def header(self) -> Block:
        return self.loop.header

    @property
    def latch(self) -> Block:
        return self.loop.latches[0]

    @property
    def stage_bytes(self) -> int:
        return sum(t.stride for t in self.tiles)


def is_candidate(loop: Loop) -> bool:
    """Whether a loop fills shared memory between barriers: what people would call a tile loop."""
    store = barrier = False
    for b in loop.blocks:
        for i in b:
            f = i.form
            barrier |= _is_barrier(f)
            store |= f.name == "st" and f.space.startswith("shared")
    return store and barrier


class Recogniser:
    """Finds the parts of tile loops of one function, as it is annotated now."""

    def __init__(self, function: Function, divergence: Divergence) -> None:
        self.function, self.divergence = function, divergence
        self.forms = Analyses.of(function).affine
        self.alias = alias_analysis(self.forms)
        self.roots = Roots(self.forms)
        self.held = held_in_place(function)
        self.inner = {b: x for x in Analyses.of(function).loops for b in x.blocks}

    def loop(self, loop: Loop) -> TileLoop:
        """The parts of a loop. Raises TileRefused."""
        self._shape(loop)
        filled, released = self._barriers(loop)
        assert filled.block is not None
        pivot = filled.block
        blocks = [b for b in loop.blocks if b is pivot or not pivot.dominates(b)]
        part = _TilePart(loop, blocks, filled)
        self._operations(loop, part)
        made = TileLoop(loop, filled, released, blocks, [], [], [], [], [], [])
        self._accesses(made, part)
        self._order(made, part)
        self._storage(made)
        self._stores(made, part)
        self._ahead(made, part)
        self._again(made, part)
        return made

    # ------------------------------------------------------------- the loop

    def _shape(self, loop: Loop) -> None:
        header = loop.header
        if len(loop.latches) != 1:
            raise TileRefused(TileReason.SHAPE, f"{len(loop.latches)} latches")
        if header is self.function.entry:
            raise TileRefused(TileReason.SHAPE, "it begins at the function's entry")
        for b in loop.blocks:
            t = b.terminator
            if t is None or t.form.name != "bra" or (t.form.guard is None) != (len(t.aux) == 1):
                raise TileRefused(
                    TileReason.SHAPE, t.form.spelling if t is not None else "no branch"
                )
        latch = loop.latches[0]
        away = [b for b, _ in loop.exits if b is not latch]
        if away or len(loop.exits) != 1:
            raise TileRefused(TileReason.SHAPE, f"left at {(away or [latch])[0].name}")
        inside = set(loop.blocks)
        if any(t in inside for _, t in self.function.irreducible_edges):
            raise TileRefused(TileReason.SHAPE, "entered sideways")
        parts = self.divergence
        if header in parts.divergent_loops or parts.is_divergent_branch(latch):
            raise TileRefused(TileReason.DIVERGENT)

    def _barriers(self, loop: Loop) -> tuple[Instruction, Instruction]:
        found = [i for b in loop.blocks for i in b if _is_barrier(i.form)]
        if len(found) != 2:
            tiles = _tiles(loop, found)
            raise TileRefused(
                TileReason.UNROLLED if tiles else TileReason.BARRIERS, tiles or len(found)
            )
        for i in found:
            whole = len(i.operands) == 1 and constant_of(i.operands[0]) is not None
            if not whole or i.form.guard is not None:
                raise TileRefused(TileReason.OPERATION, i.form.spelling)
            assert i.block is not None
            if self.inner[i.block] is not loop or not i.block.dominates(loop.latches[0]):
                raise TileRefused(TileReason.BARRIERS, "a number that varies of")
        if constant_of(found[0].operands[0]) != constant_of(found[1].operands[0]):
            raise TileRefused(TileReason.OPERATION, "barriers of two numbers")
        a, b = found
        if not _before(a, b):
            a, b = b, a
        stores = [
            i for x in loop.blocks for i in x
            if i.form.writes and i.form.space.startswith("shared")
        ]
        if not stores:
            raise TileRefused(TileReason.NO_TILE)
        # Stores after the first barrier: the second fills, the first releases.
        return (b, a) if all(_before(a, s) for s in stores) else (a, b)

    def _operations(self, loop: Loop, part: _TilePart) -> None:
        """Rule 3, and that the loading part may stand several times."""
        for b in loop.blocks:
            for i in b:
                f = i.form
                if _is_barrier(f) or f.terminator or f.is_phi:
                    continue
                if f.is_call or f.name == "unknown" or f.name.startswith("debug"):
                    raise TileRefused(TileReason.OPERATION, f.spelling)
                if f.volatile or f.sync or (f.pinned and (f.reads or f.writes)):
                    raise TileRefused(TileReason.OPERATION, f.spelling)
                if f.kind is OpKind.ASYNC_MATRIX or f.op.memory == "tensor":
                    raise TileRefused(TileReason.ADDRESS, f.spelling)
                store = f.name == "st" and f.space.startswith("shared")
                if f.writes and not (store and i in part):
                    raise TileRefused(TileReason.WRITES, f.spelling)
                if i not in part:
                    continue
                if f.convergent or f.pinned or any(r.type is CC for r in i.results):
                    raise TileRefused(TileReason.OPERATION, f.spelling)
                if any(r in self.held for r in i.results):
                    raise TileRefused(TileReason.OPERATION, f.spelling)

    # ------------------------------------------------------------- accesses

    def _accesses(self, made: TileLoop, part: _TilePart) -> None:
        """Rule 4: the tiles, and who reads them."""
        tiles: dict[Variable, Tile] = {}
        for i in part.instructions():
            if i.form.writes:
                v = self.roots.of(self._shared(i)[0])
                assert v is not None
                if v.linkage == "extern" or v.size == 0:
                    raise TileRefused(TileReason.DYNAMIC, v.name)
                unit = max(16, v.align, v.element_type.bits // 8)
                made.where[i] = tiles.setdefault(v, Tile(v, -(-v.size // unit) * unit))
        made.tiles = list(tiles.values())
        for b in made.loop.blocks:
            for i in b:
                if not i.form.reads or i.form.is_phi:
                    continue
                for k, access in enumerate(self._shared(i)):
                    root = self.roots.of(access)
                    if root in tiles and access.space in ("shared", ""):
                        made.reads.append((i, k, tiles[root]))
        if not made.reads:
            raise TileRefused(TileReason.NO_TILE)

    def _shared(self, i: Instruction) -> Sequence[Access]:
        """The accesses of an instruction, those to shared memory to a variable that is known."""
        found = self.alias.accesses(i)
        if not found and (i.form.reads or i.form.writes) and not _fetches(i):
            raise TileRefused(TileReason.ADDRESS, i.form.spelling)
        for a in found:
            root = self.roots.of(a)
            if a.space in ("shared", "?") and (root is None or root.space != "shared"):
                raise TileRefused(TileReason.ADDRESS, i.form.spelling)
            if a.space == "" and root is None and a.root is None:
                raise TileRefused(TileReason.ADDRESS, i.form.spelling)
        return found

    def _order(self, made: TileLoop, part: _TilePart) -> None:
        """Rule 2."""
        early = made.released in part  # the releasing barrier stands before the stores
        for s in part.instructions():
            if s.form.writes and early and not _before(made.released, s):
                raise TileRefused(TileReason.ORDER, s.form.spelling)
        for r, _, _ in made.reads:
            if r in part or (not early and _before(made.released, r)):
                raise TileRefused(TileReason.ORDER, r.form.spelling)

    def _storage(self, made: TileLoop) -> None:
        """Rule 4: the tiles are used in the loop alone."""
        variables = {t.variable for t in made.tiles}
        inside = set(made.loop.blocks)
        users = {i for i, _, _ in made.reads} | {
            i for b in made.loop.blocks for i in b if i.form.writes
        }
        for b in self.function.blocks:
            for i in b:
                if i.form.is_phi or not i.operands:
                    continue
                if i.form.addresses and (i not in users or b not in inside):
                    for a in self._shared(i):
                        root = self.roots.of(a)
                        if root in variables:
                            raise TileRefused(TileReason.OUTSIDE, root.name)
                self._escapes(i, variables)
        module = self.function.module
        for f in module.functions if module is not None else ():
            if f is not self.function and any(
                _symbol(o) in variables for i in f.instructions() for o in i.operands
            ):
                raise TileRefused(TileReason.OUTSIDE, next(iter(variables)).name)

    def _escapes(self, i: Instruction, variables: set[Variable]) -> None:
        """The address of a tile is used for accesses alone: it is no argument, stored nowhere."""
        f = i.form
        if not (f.is_call or f.name == "unknown" or f.writes):
            return
        bases = {k for pair in f.addresses for k in pair}
        for k, o in enumerate(i.operands):
            if k in bases or o.type.bits < 32 or o.type.name.startswith("f"):
                continue
            if any(t.symbol in variables for t in self.forms.of(o).terms):
                raise TileRefused(TileReason.ADDRESS, f.spelling)

    # --------------------------------------------------------------- stores

    def _stores(self, made: TileLoop, part: _TilePart) -> None:
        """Rule 5, and what of the stores can be copied asynchronously."""
        control = SliceControl(part.blocks, part.end)
        changes = Changes(control, made.header)
        shapes = Shapes(part.__contains__, made.header)
        made.stores = [
            shapes.store(i) for i in part.instructions() if i.form.writes
        ]
        if not any(s.pieces for s in made.stores):
            raise TileRefused(TileReason.NO_TILE)
        groups: list[list[Instruction]] = []
        for s in made.stores:
            i = s.store
            base, _ = address(i)
            if base in changes.values:
                raise TileRefused(TileReason.MOVES, i.form.spelling)
            guard = i.guard
            if guard is not None and guard in changes.values:
                raise TileRefused(TileReason.PARTIAL, i.form.spelling)
            for g in groups:
                if self._same_place(g[0], i):
                    g.append(i)
                    break
            else:
                groups.append([i])
        for g in groups:
            if not _steady(g, control, changes):
                raise TileRefused(TileReason.PARTIAL, g[0].form.spelling)
        stores = {s.store for s in made.stores}
        for s in made.stores:
            for p in s.pieces:
                self._used_for(load_of(p.shape), shapes.through, stores)

    def _same_place(self, a: Instruction, b: Instruction) -> bool:
        if a.guard is not None or b.guard is not None:
            return a is b
        x, y = self.alias.accesses(a)[0], self.alias.accesses(b)[0]
        if x.address is None or y.address is None or x.size != y.size:
            return False
        gap = x.address - y.address
        return gap.is_constant and gap.constant == 0 and gap.modulus >= 32

    def _used_for(
        self, load: Instruction | None, through: set[Instruction], stores: set[Instruction]
    ) -> None:
        """The value of a load is stored in tiles, through phis and selects, and nothing else."""
        work: list[Instruction] = [load] if load is not None else []
        seen: set[Instruction] = set()
        while work:
            i = work.pop()
            if i in seen:
                continue
            seen.add(i)
            for r in i.results:
                for user in r.users:
                    if user in stores:
                        if any(o is r for o in address(user)[:1]):
                            raise TileRefused(TileReason.USED, i.form.spelling)
                    elif user in through:
                        work.append(user)
                    else:
                        raise TileRefused(TileReason.USED, i.form.spelling)

    # ---------------------------------------------------------- what links

    def _ahead(self, made: TileLoop, part: _TilePart) -> None:
        """Rule 6."""
        header, latch = made.header, made.latch
        inside = set(made.loop.blocks)
        data = {v for s in made.stores if s.pieces for v in s.store.operands} - {
            o for s in made.stores for o in (address(s.store)[0], s.store.guard) if o is not None
        }
        roots: list[Value] = []
        for i in part.instructions():
            if i.form.writes:
                roots += [o for o in i.operands if o not in data]
            elif i.form.terminator:
                roots += i.operands
        for s in made.stores:
            for p in s.pieces:
                roots += needed(p.shape)
        test = latch.terminator
        assert test is not None
        roots += test.operands
        asked: dict[Instruction, None] = {}
        done: set[Instruction] = set()

        def body(i: Instruction) -> bool:
            return i.block in inside and not (i.is_phi and i.block is header)

        made_of = closure(roots, lambda i: i.block in inside)
        work = [i for i in made_of if i.is_phi and i.block is header]
        pure: list[Value] = [*test.operands]
        while work or pure:
            for phi in work:
                if phi not in asked:
                    asked[phi] = None
                    pure.append(phi.operands[phi.aux.index(latch)])
            work = []
            for i in closure(pure, body):
                if i in done:
                    continue
                done.add(i)
                if not is_movable(i):
                    raise TileRefused(TileReason.CARRIED, i.form.spelling)
                for o in i.operands:
                    d = o.definer
                    if d is not None and d.is_phi and d.block is header:
                        work.append(d)
            for v in pure:
                d = v.definer
                if d is not None and d.is_phi and d.block is header:
                    work.append(d)
            pure = []
            work = [x for x in work if x not in asked]
        made.ahead = [p for p in header.phis if p in asked]
        made.advance = closure(
            [*test.operands, *(p.operands[p.aux.index(latch)] for p in made.ahead)], body
        )

    def _again(self, made: TileLoop, part: _TilePart) -> None:
        """Rule 7."""
        asked: dict[Value, None] = {}
        for i in part.instructions():
            for r in i.results:
                if i.is_phi and i.block is made.header:
                    continue
                for user in r.users:
                    back = user.is_phi and user.block is made.header
                    if back or user not in part:
                        asked[r] = None
        def body(i: Instruction) -> bool:
            return i in part and not (i.is_phi and i.block is made.header)

        made.again = closure(asked, body)
        for i in made.again:
            if not is_movable(i):
                raise TileRefused(TileReason.VALUES, i.form.spelling)


class _TilePart:
    """The loading part: blocks, of the last one what stands before the barrier."""

    def __init__(self, loop: Loop, blocks: list[Block], filled: Instruction) -> None:
        self.blocks, self.filled = blocks, filled
        assert filled.block is not None
        self.end = filled.block
        whole = set(blocks) - {self.end}
        self._own = {i for b in whole for i in b}
        for i in self.end:
            if i is filled:
                break
            self._own.add(i)

    def __contains__(self, i: object) -> bool:
        return i in self._own

    def instructions(self) -> list[Instruction]:
        return [i for b in self.blocks for i in b if i in self._own]


def _steady(group: list[Instruction], control: SliceControl, changes: Changes) -> bool:
    """Whether in every iteration one of the stores runs, or in none."""
    blocks = [i.block for i in group if i.block is not None]
    if any(not changes.runs(b) for b in blocks):
        return True
    head = blocks[0]
    for b in blocks[1:]:
        head = common_dominator(head, b)
    return not changes.runs(head) and control.covers(head, set(blocks))


def _tiles(loop: Loop, barriers: list[Instruction]) -> int:
    """How many tiles with two barriers each follow one another in an iteration; 0 if none do."""
    if not barriers or len(barriers) % 2:
        return 0
    stores = [0] * (len(barriers) + 1)  # by the barriers before them
    for b in loop.blocks:
        for i in b:
            if i.form.name == "st" and i.form.space.startswith("shared"):
                stores[sum(_before(x, i) for x in barriers)] += 1
    stores[0] += stores.pop()  # of the iteration before
    turns = all(n == stores[k % 2] for k, n in enumerate(stores)) and stores[0] != stores[1]
    return len(barriers) // 2 if turns else 0


def _before(a: Instruction, b: Instruction) -> bool:
    """Whether a stands before b on every way to b within an iteration: a dominates b."""
    x, y = a.block, b.block
    assert x is not None
    assert y is not None
    if x is not y:
        return x.dominates(y)
    i = a.next
    while i is not None:
        if i is b:
            return True
        i = i.next
    return False


def _symbol(o: Value) -> Value:
    return o.symbol if isinstance(o, SymbolOffset) else o


def _fetches(i: Instruction) -> bool:
    """Textures and surfaces: their memory is global."""
    return i.form.op.memory in ("texture", "surface") and i.form.n_results > 0
