"""A loop whose iterations are counted at run time, unrolled behind a guard.

    ahead     L = N − K; where it is not right, go on at the end
    gate      x < L? else go to rest
    main      f copies with x < L? at the bottom, round again
    rest      pieces of 2^k copies, each behind its guard, if wanted
    the end   the loop as it was, for what is left

Where each test ends an iteration, the last copy keeps its own. It is made only when
the guard fails if the guard implies it, which holds where the test reads the
variable after its step.

Needs    the form of unroll/prepare.py, a guard (unroll/guard.py).
"""

from __future__ import annotations

from nvir.analysis.induction import TripCount
from nvir.ir import Block, Builder, Instruction, Value, form
from nvir.ir.text.trace import note
from nvir.passes.loop.unroll.guard import Guard
from nvir.passes.loop.unroll.transform import Copy, Unroller


def unroll_counted(
    u: Unroller, trip: TripCount, factor: int, pieces: tuple[int, ...]
) -> bool:
    """Unroll by `factor`; whether there is a guard for it. Without one nothing is changed."""
    assert u.test is not None
    guard = Guard.of(trip, factor - u.test.at_latch)
    if guard is None:
        return False
    _Counted(u, trip, factor, guard).build(pieces)
    return True


class _Counted:
    def __init__(self, u: Unroller, trip: TripCount, factor: int, guard: Guard) -> None:
        assert u.test is not None
        self.u, self.trip, self.factor, self.guard = u, trip, factor, guard
        self.phi = trip.variable.phi
        self.keeps_last = u.test.at_latch

    def build(self, pieces: tuple[int, ...]) -> None:
        u = self.u
        entry = u.region.preheader
        branch = entry.terminator
        assert branch is not None
        branch.erase()
        u.last = entry
        b = Builder(entry)
        limit = self.guard.limit(b)
        right = self.guard.is_right(b, limit)
        note("UNR-40", "5 one bound for the tests that are left out", self.guard.said(limit),
             bound=self.trip.bound, stride=self.trip.variable.step, copies=self.factor,
             compare=self.trip.compare, sense=self.guard.sense)
        apart = pieces and right is not None  # pieces hold good only where the limit does
        gate = u.new_block("gate") if apart else entry
        chain = self._chain({}, self.factor)
        main, after = u.head(chain[0]), u.following(chain[-1])
        rest = u.new_block("rest")
        self._enter(gate, main, rest, limit, None if apart else right)
        bottom, leaves = self._bottom(chain[-1], after[self.phi], main, rest, limit)
        for p in u.phis:
            chain[0][p].set_incoming((u.start[p], after[p]), (gate, bottom))
        values = u.meet(rest, [(gate, u.start), (leaves, after)])
        at = rest
        if pieces:
            at, values = self._pieces(rest, values, pieces)
        if apart:
            end = u.new_block("end")
            b.at_end(entry).cond_br(right, gate, end)
            _branch(at, end)
            values, at = u.meet(end, [(entry, u.start), (at, values)]), end
        _branch(at, u.region.header)
        u.set_entry(at, values)
        u.finish()
        u.mark(main)
        u.mark(u.region.header)

    def _chain(self, given: Copy, n: int) -> list[Copy]:
        """n copies, the tests left out that the guard answers for."""
        u = self.u
        chain = [u.copy(given)]
        for _ in range(n - 1):
            chain.append(u.copy(u.following(chain[-1])))
        u.link(chain)
        for m in chain[:-1] if self.keeps_last else chain:
            u.leave_out_test(m)
        return chain

    def _enter(
        self, gate: Block, main: Block, rest: Block, limit: Value | None, right: Value | None
    ) -> None:
        b = Builder(gate)
        holds = self.guard.holds(b, self.u.start[self.phi], limit)
        if right is not None:
            holds = b.op("and.pred", holds, right)
        b.cond_br(holds, main, rest)

    def _bottom(
        self, last: Copy, x: Value, main: Block, rest: Block, limit: Value | None
    ) -> tuple[Block, Block]:
        """End the main loop; (the block that goes round again, the block that goes to rest)."""
        u = self.u
        tail = u.tail(last)
        branch = tail.terminator
        assert branch is not None
        assert u.test is not None
        if self.keeps_last and self.trip.tests_update:
            branch.remove()
            own = u.new_block("own")
            own.append(branch)
            branch.set_successor(u.head(last), rest)
            u.exits.moved(last, u.test.block, own)
            b = Builder(tail)
            b.cond_br(self.guard.holds(b, x, limit), main, own)
            return tail, own
        if not self.keeps_last and branch.guard is None:
            branch.erase()
            bottom = tail
        else:
            bottom = u.new_block("again")
            u.send_on(last, bottom)
        b = Builder(bottom)
        b.cond_br(self.guard.holds(b, x, limit), main, rest)
        return bottom, bottom

    def _pieces(
        self, at: Block, values: Copy, sizes: tuple[int, ...]
    ) -> tuple[Block, Copy]:
        """Pieces of so many copies from where fewer than f iterations are left; (end, values
        there)."""
        u = self.u
        for size in sizes:
            tests = size - self.keeps_last
            b = Builder(at)
            holds = None
            if tests:
                guard = Guard.of(self.trip, tests)
                assert guard is not None  # it covers less than that of the main loop
                holds = guard.holds(b, values[self.phi], guard.limit(b))
            chain = self._chain(values, size)
            join = u.new_block("piece")
            ways = [(u.tail(chain[-1]), u.following(chain[-1]))]
            u.send_on(chain[-1], join)
            if holds is None:
                b.br(u.head(chain[0]))
            else:
                b.cond_br(holds, u.head(chain[0]), join)
                ways.insert(0, (at, values))
            at, values = join, u.meet(join, ways)
        return at, values


def _branch(block: Block, target: Block) -> None:
    block.append(Instruction(form("bra"), aux=(target,)))
