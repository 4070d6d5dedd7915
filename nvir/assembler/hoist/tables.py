"""The numbers of loop-invariant code motion: data only, each row with its origin.

The real tool runs one routine four times (pass ids 0 to 3). What differs between the instances
are the rows below. Origins: "noted" in the notes on the binary, "observed" on ptxas 13.0.88
(benchmarks/licm_agreement.py), "assumed" where neither says.
"""

from __future__ import annotations

import enum
from typing import Literal

import attrs

from nvir.ir.text.trace import note, step
from nvir.sm.origin import Origin

PassId = Literal[0, 1, 2, 3]
NAMES = {
    0: "OriHoistInvariantsEarly", 1: "OriHoistInvariantsLate", 2: "OriHoistInvariantsLate2",
    3: "OriHoistInvariantsLate3",
}
PHASES = (35, 66, 79, 88)  # of the ids, in order


@attrs.frozen
class Noted:
    """One number, where it comes from and what it means."""

    value: int
    origin: Origin
    meaning: str


# ------------------------------------------------------------------ stage 1: budgets

# What a single-block loop gets instead of the budget when its latch is at hand, by id.
LATCH_BUDGET = {
    0: Noted(200, "noted", "single-block loop, mode 2 or 3, first instance"),
    1: Noted(300, "noted", "single-block loop, mode 2 or 3, later instances"),
}
AGGRESSIVE_MODE = Noted(2, "noted", "from this mode on a single-block loop gets the latch budget")
LAST_SCALE = Noted(100, "noted", "multiplies the budget of the last instance")
ITERATIONS = Noted(2, "noted", "rounds over a nest while the limit is not configured")
BLOCKS = Noted(2, "noted", "a function of so many blocks or fewer is left alone")


class Mode(enum.IntEnum):
    """From which block the core routine is called to hoist."""

    HEADER = 0
    DOMINATED = 1  # an inner level that every iteration passes
    NOT_DOMINATED = 2
    LATCH = 3


# ------------------------------------------------------------- stage 5: what counts what


@attrs.frozen
class ScoreWeights:
    """Weights of the profitability test.

    long_latency   what an invariant "no-op" scores: as observed, a load of long latency
    real           divides the score (with the size)
    """

    safe: bool
    early: bool
    long_latency: Noted
    real: Noted


def _weights(safe: bool, early: bool, long_latency: int, real: int) -> ScoreWeights:
    return ScoreWeights(
        safe, early,
        Noted(long_latency, "noted", "score of an invariant operation of long latency"),
        Noted(real, "noted", "divisor of the score, and score of a scoreboard result"),
    )


SCORES = (
    _weights(True, True, 60, 5),
    _weights(True, False, 150, 5),
    _weights(False, True, 12, 1),
    _weights(False, False, 30, 1),
)
_SCORES = {(w.safe, w.early): w for w in SCORES}


def score_weights(pass_id: int, safe: bool) -> ScoreWeights:
    """The row of an instance; `safe`: as observed, the loop has a load of long latency."""
    return _SCORES[safe, pass_id == 0]


LATENCY = Noted(4, "noted", "a longer latency, cycles, is a double penalty")
LONG_PENALTY = Noted(2, "noted", "penalty of a result of longer latency")
SHORT_PENALTY = Noted(1, "noted", "penalty of another result")

# Weights of the count that later instances divide by (header + body / 3).
COUNT_NOOP = Noted(1, "noted", "weight of an operation that does nothing")
COUNT_REAL = Noted(30, "noted", "weight of any other operation")
BODY_SHARE = Noted(3, "noted", "divides the body's weight beside the header's")

# The size of a block as the observed rule divides by it.
PHI_MOVES = Noted(1, "observed", "move at a phi, and where a value of another block's phi is made")
SHORT_LATCH = Noted(12, "observed", "size up to which the latch of a nest has its loop control "
                    "moved to the header")
LOOP_CONTROL = Noted(3, "observed", "its size: the step, the comparison, the move for the phi")
LARGE_INNER = Noted(255, "observed", "instructions of an inner loop above which all leaves the "
                    "one around it")
GUARDED = Noted(8, "observed", "instructions of a block up to which its branch becomes a guard")
GUARDED_LONG = Noted(20, "observed", "the same where a load of long latency follows, under the "
                     "next three rows")
LOADS_SOON = Noted(9, "observed", "instructions behind the block among which that load is")
MERGING = Noted(4, "observed", "values at least that merge behind the block")
LONG_HEADER = Noted(10, "observed", "instructions at least of the header")
FALLBACK_VALUES = Noted(2, "observed", "values that do not pay from which the others are tried "
                      "without them")

REGISTERS = Noted(255, "noted", "registers of a thread, of which constant loads may take a share")

# ------------------------------------------------------------------- texture ratio

TextureMode = Literal["conservative", "default", "aggressive"]


def texture_mode(fetches: int, instructions: int, low: float, high: float) -> TextureMode:
    """How fetches are hoisted, by their share of the loop against the two knobs."""
    share = fetches / instructions if instructions else 0.0
    if share > high:
        return "aggressive"
    return "conservative" if share < low else "default"


# ------------------------------------------------------------------- knob 381


class Policy381(enum.Enum):
    """What an instance does with a loop."""

    HOIST = "hoist"
    CONSERVATIVE = "hoist with the inner loop's divisor"
    SKIP = "skip"


ALWAYS, INNER_ONLY, UNSET, NEVER = 0, 1, 2, 3


# The instances that run at a level of optimisation: the noted gate takes the level, its table is
# not in the notes (assumed: none at 0, the early one at 1, all from 2 on).
INSTANCES = {0: (), 1: (0,), 2: (0, 1, 2, 3)}


@step("LIC-36", "ShouldHoist", "value", "pass_id", "level")
def block_policy(
    value: int | None, pass_id: int, *, inner: bool, literal: bool, level: int = 2
) -> Policy381:
    """What knob 381 says of a loop's header; ShouldHoist asks it, the instance and the level.

    Literal: the code as noted, in which each value serves other instances. Else: 0 and unset let
    all hoist, 1 the first late instance and, for inner loops, the first; 3 none.
    """
    if literal and pass_id not in INSTANCES[min(level, 2)]:
        return Policy381.SKIP
    made = _of_value(value, pass_id, inner, literal)
    note("LIC-04", "knob 381", made, value=value, pass_id=pass_id, literal=literal)
    return made


def _of_value(value: int | None, pass_id: int, inner: bool, literal: bool) -> Policy381:
    if value is None or value == UNSET:
        return Policy381.HOIST
    if literal:
        if value == INNER_ONLY:
            return Policy381.HOIST if pass_id == 1 else Policy381.SKIP
        if value == NEVER:
            return Policy381.CONSERVATIVE if pass_id <= 1 else Policy381.SKIP
        return Policy381.HOIST if pass_id == 0 else Policy381.SKIP
    if value == ALWAYS:
        return Policy381.HOIST
    if value == INNER_ONLY and (pass_id == 1 or (pass_id == 0 and inner)):
        return Policy381.HOIST
    return Policy381.SKIP


# --------------------------------------------------------------- blocking rules

# Numbers of the binary and what they are here, where a row's properties say it (`sync`: barrier).
OPCODE_NUMBERS = {
    159: "bar.sync", 32: "membar", 271: "barrier", 236: "brx.idx", 195: "setp", 130: "addc",
    85: "memory", 109: "memory", 228: "exempt", 16: "exempt",
}
