"""Loops that ptxas makes run more or less often than their PTX says.

A loop that counts in steps of a constant ptxas copies by what it takes for granted: that the
variable goes towards its bound, that neither wraps, and that both are signed numbers. Where the
count is not known to it, four copies run while the bound is further off than three steps:

    i += S while i != n     x = n − i, signed; copies while x > 3·S, and then while i < n − 3·S.
                            Wrong where 3·S is 2^31 or more: i += 0x9e3779b9 does not end
    i += S while i < n      the same, whatever the sign of S: where it falls, copies run while
                            i > n + 3·S, a loop of one round goes on for i − n. Wrong too where
                            n − i is 2^31 or more, which with a large S is few rounds off
    i -= S while i > n      likewise; where i grows there are no copies
    start and bound known   all copies stand in a row, as many as signed numbers give: for
                            i < 4000000000u in steps of 500000000 one, where there are 8 rounds

Of 64 bits the same holds with 2^63. `.pragma "nounroll"` is what keeps the loop as it is written.

Needs    CFG annotations.
Cost     linear in the header's phis and the exits.
Source   ptxas 13.0.88 for sm_80 and sm_90: its code for one loop of each kind, run on starts and
         bounds at the edges. On an H200 the first kind hangs.
"""

from __future__ import annotations

import attrs

from nvir.analysis.induction import TripCount, counted_exits
from nvir.assembler.unroll.exits import DOWN, count_of
from nvir.ir.loops import Loop

AHEAD = 3  # steps between the first and the last of the copies
FEW = 64  # rounds in which a loop seldom crosses half of its variable's range
_ORDERS = {**dict.fromkeys(DOWN.values(), 1), **dict.fromkeys(DOWN, -1)}


def miscount(loop: Loop) -> str:
    """Why ptxas's copies of a loop may not run as often as it says; "" if they do."""
    exits = counted_exits(loop, loose=True)
    return next((why for x in exits if (why := _of_exit(loop, x))), "")


def falls(trip: TripCount) -> bool:
    """Whether a test for less is of a variable that falls, which ptxas copies as one that grows."""
    step = trip.variable.step
    return isinstance(step, int) and step < 0 < _order(trip)


def _order(trip: TripCount) -> int:
    return _ORDERS.get(trip.compare.partition(".")[0], 0)


def _of_exit(loop: Loop, trip: TripCount) -> str:
    variable, compare = trip.variable, trip.compare.partition(".")[0]
    step, bits = variable.step, variable.bits
    if not isinstance(step, int) or variable.kind == "float":
        return ""
    known = count_of(loop, attrs.evolve(trip, count=None))
    if known is not None:
        right = known in (0, trip.count)  # 0: it is no counted loop for ptxas
        return "" if right else f"ptxas counts {known} rounds where there are {trip.text}"
    order = _order(trip)
    if order * step < 0:
        return "" if order < 0 else f"a test .{compare} of a variable that falls"
    if abs(step) * (FEW if order else AHEAD) >= 1 << bits - 1:
        return f"{FEW if order else AHEAD} steps of {step} overflow {bits} bits"
    return ""
