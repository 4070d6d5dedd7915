"""Carrying out decisions on unrolling: from what is wanted for each loop to its copies.

A `UnrollPlan` says what a policy wants. How it can be done depends on the loop as it
stands: the number of copies that need no test follows from a known count, from a
guard at run time, or there is none and all tests stay. The outcome tells which.

Method   All loops are brought into copyable form at once, then unrolled inner
         before outer, the last of the text first; annotations are renewed once.
Needs    fresh CFG annotations; they are stale afterwards.
"""

from __future__ import annotations

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import TripCount, trip_count
from nvir.ir import Block, Function, Loop, bulk
from nvir.ir.text.trace import looking_at, note
from nvir.passes.loop.unroll.counted import unroll_counted
from nvir.passes.loop.unroll.prepare import CopyRegion, Refusals, regions
from nvir.passes.loop.unroll.transform import CopyLayout, Test, Unroller

LARGEST = 1 << 17  # instructions of a function with its unrolled loops: beyond, it is a mistake


@attrs.frozen
class UnrollPlan:
    """What is wanted for a loop. `factor` None: no loop is to be left.

    pieces   the rest of a count at run time goes through so many copies each before the loop
    rest     copies in the loop that does the rest
    """

    factor: int | None
    pieces: tuple[int, ...] = ()
    rest: int = 1


@attrs.frozen
class UnrollOutcome:
    """What was done. `copies` of the body in the loop, or in all where none is left; 0: nothing.

    way      how the tests were dealt with, or why nothing was done
    """

    copies: int
    way: str
    full: bool = False


def unroll(
    function: Function, plans: dict[Block, UnrollPlan], refusals: Refusals
) -> dict[Block, UnrollOutcome]:
    """Unroll the loops with these headers, none of which has a refusal."""
    if not plans:
        return {}
    with bulk():
        made = regions(function, set(plans), refusals.held)
        loops = [x for x in Analyses.of(function).loops if x.header in made]
        trips = {x.header: trip_count(x) for x in loops}
        place = {b: k for k, b in enumerate(function.blocks)}
        loops.sort(key=lambda x: (-x.depth, -place[x.header]))
        layout = CopyLayout()
        outcomes: dict[Block, UnrollOutcome] = {}
        room = LARGEST - sum(map(len, function.blocks))
        for x in loops:
            looking_at(str(x.header.name))
            region = made[x.header]
            size = sum(map(len, region.blocks))
            most = room // max(size, 1)
            outcome = _unroll(
                region, plans[x.header], trips[x.header], _test(x, trips), layout, most
            )
            outcomes[x.header] = outcome
            room -= outcome.copies * size
        layout.apply(function)
        return outcomes


def copies_that_fit(loop: Loop, instructions: int) -> int:
    """Copies of a loop for which a function of so many instructions has room."""
    return max(LARGEST - instructions, 0) // max(sum(map(len, loop.blocks)), 1)


def _test(loop: Loop, trips: dict[Block, TripCount | None]) -> Test | None:
    """The counted exit, if it runs once an iteration and is a plain branch."""
    trip = trips[loop.header]
    if trip is None or trip.exit.loop_depth != loop.depth:
        return None
    inside = loop.members
    outside = [s for s in trip.exit.succs if s not in inside]
    if len(outside) != 1 or len(trip.exit.succs) != 2:
        return None
    return Test(trip.exit, outside[0], trip.exit in loop.latches)


def _unroll(
    region: CopyRegion,
    plan: UnrollPlan,
    trip: TripCount | None,
    test: Test | None,
    layout: CopyLayout,
    most: int,
) -> UnrollOutcome:
    """`most`: copies for which there is room."""
    holds = None  # how often the counted test holds before it fails
    if trip is not None and test is not None and trip.count is not None:
        holds = trip.count - test.at_latch
    if plan.factor is None:
        if holds is None:
            return UnrollOutcome(0, "the number of iterations is not known here")
        if holds + 1 > most:
            return UnrollOutcome(0, f"{holds + 1} copies are too many")
        assert trip is not None
        assert trip.count is not None
        note("UNR-38", "2-3 copies", trip.count, pieces=plan.pieces)
        Unroller(region, test, layout).fully(holds + 1)
        return UnrollOutcome(trip.count, "no loop is left", full=True)
    f = plan.factor
    if f < 2 or f > most:
        return UnrollOutcome(0, f"{f} copies are too many" if f > 1 else "factor 1")
    note("UNR-38", "2-3 copies", f, pieces=plan.pieces)
    u = Unroller(region, test, layout)
    if holds is not None and test is not None:
        at = f - 1 if test.at_latch else 0
        if holds >= at:
            u.known(holds, f)
            return UnrollOutcome(f, f"one test in {f} copies, {(holds - at) % f} copies ahead")
    elif trip is not None and test is not None and unroll_counted(u, trip, f, plan.pieces):
        if plan.rest > 1:
            Unroller(region, None, layout).uncounted(plan.rest)
        rest = "pieces and the loop" if plan.pieces else "the loop"
        return UnrollOutcome(f, f"one test in {f} copies, {rest} for the rest")
    u.uncounted(f)
    return UnrollOutcome(f, f"all tests in {f} copies")
