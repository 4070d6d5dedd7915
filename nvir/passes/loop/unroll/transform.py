"""Copies of a loop's body, chained: full and partial unrolling.

    fully             copies for all iterations, no loop
    known count T     T mod f copies ahead, then a loop of f copies with one exit test
    counted at run time   while f iterations are certain, a loop of f copies with one test;
                      then pieces of 2^k copies, if wanted, and the loop as it was for the rest
    uncounted         a loop of f copies, each with all its tests

The last is right for every loop, so it is what the others fall back to. In the third the
tests that are left out are those of m copies in a row; that they all hold is known at
the head, from the variable's value x there, by one comparison (K is the distance from x to
the farthest value tested):

    lt, le    x < N − K      where N − K does not wrap, which is tested once, ahead
    gt, ge    x > N + K      likewise
    ne        N − x > K      as unsigned numbers; x − N where the variable falls

Because x itself is compared, nothing is assumed of how often the loop runs, of its start,
or of what happens when the variable wraps between two rounds: then the original loop
does the same. Where no such comparison exists (floats, strides known at run time, `eq`),
the tests stay.

In a copy whose variables are known, what follows from them alone is worked out; it
remains as a move of the result where something else reads it.

Needs    the form of unroll/prepare.py. Annotations are stale afterwards.
Keeps    the original blocks as the first copy, or as the loop that does the rest.
Cost     linear in the instructions made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import attrs

from nvir.ir import VOID, Block, Constant, Function, Instruction, Undef, Value, form, successors
from nvir.ir.block import NOUNROLL
from nvir.ir.clone import Renaming, clone_blocks, place
from nvir.ir.ssa.rewrite import can_stand_for, join_spelling
from nvir.ir.text.trace import is_traced, note, shown
from nvir.passes.loop.unroll.fold import Folder, move_of
from nvir.passes.loop.unroll.prepare import CopyRegion

Copy = dict[Any, Any]  # value or block of the loop -> what it is in a copy
UNROLLED = "unrolled"  # the flag of a header whose loop was unrolled


@attrs.frozen(eq=False)
class Test:
    """The counted exit of a loop: the block that tests, and where it leaves to.

    at_latch   the block is the latch, so that each test ends an iteration
    """

    block: Block
    outside: Block
    at_latch: bool


@attrs.define(eq=False)
class CopyLayout:
    """Where the blocks that are made belong and which are gone, until all are placed at once: a
    function may have thousands of loops."""

    behind: dict[Block, list[Block]] = attrs.Factory(dict)
    gone: set[Block] = attrs.Factory(set)

    def put(self, block: Block, after: Block) -> None:
        self.behind[after] = [block, *self.behind.get(after, ())]

    def apply(self, function: Function) -> None:
        place(function, self.behind)
        if self.gone:
            function.blocks = [b for b in function.blocks if b not in self.gone]


class Unroller:
    """Unrolls one region; use it once.

    `test` is the counted exit, None where no test may be left out. `layout` gets what is made:
    the function's list of blocks is as it was until that is applied.
    """

    def __init__(self, region: CopyRegion, test: Test | None, layout: CopyLayout) -> None:
        self.region, self.test, self.layout = region, test, layout
        self.function: Function = region.header.function
        self.inside = set(region.blocks)
        self.order = _in_order(region.header, self.inside)
        self.phis = list(region.header.phis)
        join_declarations(self.phis)
        self.start = {p: incoming(p, region.preheader) for p in self.phis}
        self.carried = {p: incoming(p, region.latch) for p in self.phis}
        self.exits = Exits(region.exits())
        self.folder = Folder(self.phis, self.order)
        self.tests_alone = test is not None and _only_branched_on(test.block)
        self.last = region.last  # copies are placed behind it
        self.made: list[Block] = []
        self.dead: set[Block] = set()
        self.owners: dict[Instruction, list[Block]] = {  # of what ties lanes, for a trace
            i: [b] for b in self.order for i in b if i.form.convergent
        } if is_traced() else {}

    # ------------------------------------------------------------ what is done

    def fully(self, executions: int) -> None:
        """Replace the loop, whose exit test runs that often, by as many copies."""
        first = dict(self.start)
        moves = self.folder.fold(first)
        self.exits.copied(first)
        chain = [first]
        for _ in range(executions - 1):
            chain.append(self.copy(self.following(chain[-1])))
        self._freeze(first, moves)
        self.link(chain)
        for m in chain[:-1]:
            self.leave_out_test(m)
        self._leave_for_certain(chain[-1])
        self.finish()

    def known(self, holds: int, factor: int) -> None:
        """f copies in a loop with one test, which holds `holds` times in all and then fails."""
        assert self.test is not None
        at = factor - 1 if self.test.at_latch else 0  # the copy that tests
        self._peel((holds - at) % factor)
        chain = self._chain_in_place(factor)
        for k, m in enumerate(chain):
            if k != at:
                self.leave_out_test(m)
        self.finish()
        self.mark(self.region.header)

    def uncounted(self, factor: int) -> None:
        """f copies in a loop, each with all its tests."""
        self._chain_in_place(factor)
        self.finish()
        self.mark(self.region.header)

    # ------------------------------------------------------------------ pieces

    def copy(self, given: Copy) -> Copy:
        """One more copy, in which the header's phis are what is given, else phis of its own."""
        mapping = Renaming(given)
        moves = self.folder.fold(mapping) if given else []
        new = clone_blocks(self.order, mapping, self.last, self.layout.behind)
        for move in reversed(moves):
            assert new[0].first is not None
            move.insert_before(new[0].first)
        self.last = new[-1]
        self.made += new
        for b in new:
            b.pragmas = tuple(p for p in b.pragmas if NOUNROLL not in p)
        self.exits.copied(mapping)
        for i, owners in self.owners.items():
            owners.append(mapping[i].block)
        return mapping

    def following(self, m: Copy) -> Copy:
        """What the header's phis are after the iteration that a copy does."""
        return {p: m.get(v, v) for p, v in self.carried.items()}

    def head(self, m: Copy) -> Block:
        header = self.region.header
        return m.get(header, header)  # type: ignore[no-any-return]

    def tail(self, m: Copy) -> Block:
        latch = self.region.latch
        return m.get(latch, latch)  # type: ignore[no-any-return]

    def send_on(self, m: Copy, target: Block) -> None:
        """Let the copy's latch lead to `target` where it led back to the copy's own head."""
        branch = self.tail(m).terminator
        assert branch is not None
        branch.set_successor(self.head(m), target)

    def link(self, chain: list[Copy]) -> None:
        for a, b in itertools.pairwise(chain):
            self.send_on(a, self.head(b))

    def leave_out_test(self, m: Copy) -> None:
        """The copy's counted test holds: go on without it."""
        assert self.test is not None
        block = m.get(self.test.block, self.test.block)
        stays = next(b for b in block.terminator.aux if b is not self.test.outside)
        tested = block.terminator.guard
        _go_to(block, stays)
        self.exits.remove(m, self.test.block)
        while self.tests_alone and tested is not None and not tested.has_uses:
            maker = tested.definer
            tested = maker.operands[0] if maker.form.name == "not" else None
            maker.erase()

    def meet(self, target: Block, ways: list[tuple[Block, Copy]]) -> Copy:
        """Phis of a new block for the header's phis, from (predecessor, values) of each way."""
        made: Copy = {}
        for p in self.phis:
            phi = Instruction(
                p.form, tuple([v[p] for _, v in ways]), p.type, p.name, tuple([b for b, _ in ways])
            )
            made[p] = target.insert_phi(phi)
        return made

    def set_entry(self, pred: Block, values: Copy) -> None:
        """The loop is now entered from `pred` with these values."""
        for p in self.phis:
            p.set_incoming((values[p], self.carried[p]), (pred, self.region.latch))
        self.region.preheader = pred

    def new_block(self, name: str) -> Block:
        """An empty block behind the last that was placed."""
        unique = self.function.unique_block_name(f"{self.region.header.name}.{name}")
        b = Block(unique, self.function)
        self.layout.put(b, self.last)
        self.last = b
        self.made.append(b)
        return b

    def mark(self, header: Block) -> None:
        header.flags |= {UNROLLED}
        note("UNR-41", "6 mark", "0x2000", block=header, pragma=NOUNROLL)
        if NOUNROLL not in header.pragmas:
            header.pragmas += (NOUNROLL,)

    # ---------------------------------------------------------------- internal

    def _freeze(self, first: Copy, moves: list[Instruction]) -> None:
        """Make the original blocks the copy of the first iteration."""
        anchor = self.region.header.first_non_phi
        assert anchor is not None
        for move in moves:
            move.insert_before(anchor)
        self.exits.drop_original()
        for old, new in first.items():
            old.replace_all_uses_with(new)
        for old in reversed(first):
            self.function.marks.pop(old, None)
            old.erase()

    def _chain_in_place(self, n: int) -> list[Copy]:
        """The original and n − 1 copies behind it, as the body of one loop."""
        chain: list[Copy] = [{}]
        for _ in range(n - 1):
            chain.append(self.copy(self.following(chain[-1])))
        self.link(chain)
        last = chain[-1]
        if n > 1:
            self.send_on(last, self.region.header)
            values, tail = self.following(last), self.tail(last)
            for p in self.phis:
                p.set_incoming((self.start[p], values[p]), (self.region.preheader, tail))
        return chain

    def _peel(self, n: int) -> None:
        """Do n iterations, whose tests hold, ahead of the loop."""
        if not n:
            return
        behind, self.last = self.last, self.region.preheader
        given, chain = dict(self.start), list[Copy]()
        for _ in range(n):
            chain.append(self.copy(given))
            given = self.following(chain[-1])
        self.link(chain)
        _go_to(self.region.preheader, self.head(chain[0]))
        self.send_on(chain[-1], self.region.header)
        for m in chain:
            self.leave_out_test(m)
        self.set_entry(self.tail(chain[-1]), given)
        self.start, self.last = given, behind

    def _leave_for_certain(self, m: Copy) -> None:
        """The copy's counted test fails: leave there, and drop what lies behind it."""
        assert self.test is not None
        block = m.get(self.test.block, self.test.block)
        _go_to(block, self.test.outside)
        mine = {m.get(b, b): b for b in self.order}
        reached = {self.head(m)}
        work = [self.head(m)]
        while work:
            for s in successors(work.pop()):
                if s in mine and s not in reached:
                    reached.add(s)
                    work.append(s)
        for b, original in mine.items():
            if b not in reached:
                self.dead.add(b)
                self.exits.remove_block(m, original)

    def finish(self) -> None:
        self.exits.finish()
        empty_blocks(self.function, self.dead)
        self.layout.gone |= self.dead
        new = [b for b in self.made if b not in self.dead]
        alive = [b for b in (*self.order, *new) if b not in self.dead]
        self.region.grow(new, alive[-1], self.dead)
        self.function.cfg_changed()
        if is_traced():
            self._tell(alive)

    def _tell(self, alive: list[Block]) -> None:
        """The branches that leave what was made, and which blocks have what ties lanes together."""
        leave = [b.last for b in alive if not set(successors(b)) <= set(alive)]
        note("UNR-41", "6 exit branch", leave, blocks=alive)
        note("UNR-53", "6 the copies have it",
             {shown(i): owners for i, owners in self.owners.items()} or "no entry",
             active=bool(self.owners))


class Exits:
    """The edges out of a loop and its copies, until the phis that they feed are renewed."""

    def __init__(self, edges: Iterable[tuple[Block, Block]]) -> None:
        self.edges = list(edges)
        self.targets = dict.fromkeys(s for _, s in self.edges)
        self.phis = {
            s: [(p, {b: v for v, b in p.incoming}) for p in s.phis] for s in self.targets
        }
        # (copy, source in the original, target) -> the block that the edge starts from
        self.sources: dict[tuple[int, Block, Block], Block] = {}
        self.copies: dict[int, Copy] = {}
        self.copied({})

    def copied(self, m: Copy) -> None:
        """Another copy: its edges lead to the same blocks."""
        self.copies[id(m)] = m
        for b, s in self.edges:
            self.sources[id(m), b, s] = m.get(b, b)

    def drop_original(self) -> None:
        first = next(iter(self.copies))
        for b, s in self.edges:
            del self.sources[first, b, s]

    def of(self, m: Copy) -> int:
        """The key of a copy; that of the original is an empty one."""
        return id(m) if id(m) in self.copies else next(iter(self.copies))

    def remove(self, m: Copy, block: Block) -> None:
        self.remove_block(m, block)

    def remove_block(self, m: Copy, block: Block) -> None:
        """The copy's edges from `block`, a block of the original, are gone."""
        key = self.of(m)
        for b, s in self.edges:
            if b is block:
                self.sources.pop((key, b, s), None)

    def moved(self, m: Copy, block: Block, to: Block) -> None:
        """The copy's edges from `block` start from another block now."""
        key = self.of(m)
        for b, s in self.edges:
            if b is block and (key, b, s) in self.sources:
                self.sources[key, b, s] = to

    def finish(self) -> None:
        """Give the phis outside an operand for each edge."""
        ways: dict[Block, list[tuple[Copy, Block, Block]]] = {s: [] for s in self.targets}
        for (key, b, s), source in self.sources.items():
            ways[s].append((self.copies[key], b, source))
        mine = {b for b, _ in self.edges}
        for s, phis in self.phis.items():
            sources = [source for _, _, source in ways[s]]
            for phi, values in phis:
                other = [(v, b) for b, v in values.items() if b not in mine]
                phi.set_incoming(
                    [m.get(values[b], values[b]) for m, b, _ in ways[s]] + [v for v, _ in other],
                    sources + [b for _, b in other],
                )


def incoming(phi: Instruction, block: Block) -> Value:
    """The phi's value on the way from a block."""
    return next(v for v, b in phi.incoming if b is block)


def delete_blocks(function: Function, dead: set[Block]) -> None:
    """Delete blocks that nothing outside of them names."""
    if not dead:
        return
    empty_blocks(function, dead)
    function.blocks[:] = [b for b in function.blocks if b not in dead]
    function.cfg_changed()


def empty_blocks(function: Function, dead: set[Block]) -> None:
    """Delete what they hold, and their names."""
    for b in dead:
        for i in b:
            for v in i._operands:
                v.drop_use(i)
            i._operands = ()
            function.marks.pop(i, None)
        function._names.discard(b.name)
    for b in dead:
        for i in reversed(b):
            i._results, i.type = None, VOID
            i.erase()


def _go_to(block: Block, target: Block) -> None:
    """Replace the block's terminator by a plain branch."""
    branch = block.terminator
    assert branch is not None
    new = Instruction(form("bra"), aux=(target,))
    new.loc, new.line = branch.loc, branch.line
    branch.erase()
    block.append(new)


def _only_branched_on(block: Block) -> bool:
    """Whether what a block branches on is a comparison made there for nothing else."""
    v = block.terminator.guard if block.terminator is not None else None
    while v is not None and v.use_count == 1:
        d = v.definer
        if d is None or d.block is not block or d.form.guard is not None:
            return False
        if d.form.name == "setp":
            return d is v
        if d.form.name != "not":
            return False
        v = d.operands[0]
    return False


def _in_order(header: Block, inside: set[Block]) -> list[Block]:
    """The blocks, definitions before uses: reverse post-order from the header."""
    order: list[Block] = []
    seen = {header}
    stack = [(header, iter(successors(header)))]
    while stack:
        block, targets = stack[-1]
        for t in targets:
            if t in inside and t not in seen:
                seen.add(t)
                stack.append((t, iter(successors(t))))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


def join_declarations(phis: list[Instruction]) -> None:
    """Let what flows into the phis be declared as they are, since it will stand for them."""
    for phi in phis:
        for k, (v, b) in enumerate(list(phi.incoming)):
            if isinstance(v, (Constant, Undef)):
                continue
            if can_stand_for(v, phi):
                join_spelling(v, phi.type)
            else:
                assert b.terminator is not None
                move = move_of(v, phi)
                move.insert_before(b.terminator)
                phi.set_operand(k, move)
