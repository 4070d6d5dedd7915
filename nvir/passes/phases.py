"""The real assembler's phases: their numbers, names and order, and which pass models each.

The assembler of release 13.0.88 runs 159 phases. The names given here are those
that are known; the others do nothing in nvir and are named by number. A phase
is found by number, by its name, or by the name under which the assembler's own
dump and skip options know it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import attrs

from nvir.ir.errors import NvirError

COUNT = 159

_NAMES = {
    3: "AnalyzeControlFlow", 13: "GeneralOptimizeEarly", 15: "OriBranchOpt",
    16: "OriPerformLiveDeadFirst", 18: "OriLoopSimplification", 19: "OriSplitLiveRanges",
    20: "PerformPGO", 21: "OriStrengthReduce", 22: "OriLoopUnrolling", 23: "GenerateMovPhi",
    24: "OriPipelining", 25: "StageAndFence", 29: "GeneralOptimize", 34: "ExtractShaderConsts",
    35: "OriHoistInvariantsEarly", 56: "SpeculativeHoistComInsts", 58: "GeneralOptimizeLate",
    59: "OriLoopFusion", 65: "GeneralOptimizeLate2", 66: "OriHoistInvariantsLate",
    78: "LateExpansionUnsupportedOps", 79: "OriHoistInvariantsLate2", 87: "FixupGmmaSequence",
    88: "OriHoistInvariantsLate3", 108: "OptimizeHotColdInLoop",
    138: "OriSplitHighPressureLiveRanges",
}

# What phases without a recovered name are known to do.
_ROLES = {
    33: "liveness", 53: "varying analysis", 55: "late expansion", 61: "liveness",
    63: "predication", 70: "varying analysis", 84: "liveness", 85: "GMMA",
}

# The names that the assembler's dump and skip options use.
DUMP_NAMES = {
    "LoopUnrolling": (22,),
    "HoistInvariants": (35, 66, 79, 88),
    "LoopFusion": (59,),
}

# The order of those that matter to loops.
ORI_ORDER = (
    3, 13, 15, 16, 18, 19, 21, 22, 23, 24, 25, 29, 34, 35, 55, 58, 59, 63, 65, 66, 78, 79, 87,
    88, 108,
)

# (earlier, later, why)
ORDER = (
    (18, 21, "strength reduction needs canonical loops"),
    (18, 22, "unrolling needs canonical loops"),
    (21, 22, "simplified induction variables are not computed anew in each copy"),
    (22, 24, "pipelining is for the loops that were not fully unrolled"),
    (29, 35, "common subexpressions are found before they are hoisted"),
    (55, 59, "expansion splits operations into loops that fusion joins again"),
    (58, 59, "fusion follows the late clean-up"),
    (59, 63, "fused bodies give predication larger blocks"),
    (63, 66, "predication leaves new invariants"),
    (65, 66, "the clean-up after predication leaves new invariants"),
    (78, 79, "expansion of unsupported operations leaves new invariants"),
    (87, 88, "the repair of matrix sequences leaves new invariants"),
)


@attrs.frozen
class Phase:
    """`name` is the real one or `Phase<number>`; `role` what else is known; `passes` model it."""

    number: int
    name: str
    role: str
    passes: tuple[str, ...]

    @property
    def is_noop(self) -> bool:
        """Whether nothing in nvir models it."""
        return not self.passes


@functools.cache
def phases() -> tuple[Phase, ...]:
    """All phases by number."""
    from nvir.passes.registry import all_passes

    models: dict[int, list[str]] = {}
    for p in all_passes().values():
        for n in p.phases:
            models.setdefault(n, []).append(p.name)
    return tuple(
        Phase(n, _NAMES.get(n, f"Phase{n}"), _ROLES.get(n, ""), tuple(models.get(n, ())))
        for n in range(COUNT)
    )


def phase(key: int | str) -> Phase:
    """The phase of that number or name. Raises NvirError."""
    table = phases()
    if isinstance(key, int):
        if 0 <= key < COUNT:
            return table[key]
        raise NvirError(f"phases are numbered 0 to {COUNT - 1}, not {key}")
    for p in table:
        if key in (p.name, p.name.removeprefix("Ori")):
            return p
    from nvir.passes.pipeline import nearest

    raise NvirError(f"no phase is named {key!r}{nearest(key, _NAMES.values())}")


def pass_names(key: str) -> tuple[str, ...]:
    """The passes that a pass name, a phase name or a dump name means. Raises NvirError."""
    from nvir.passes.registry import all_passes

    if key in all_passes():
        return (key,)
    if key in DUMP_NAMES:
        numbers = DUMP_NAMES[key]
        return tuple(dict.fromkeys(n for k in numbers for n in phase(k).passes))
    return phase(key).passes


def check_phase_order(
    numbers: Iterable[int], order: Iterable[tuple[int, int, str]] = ORDER
) -> list[str]:
    """What stands in the wrong order in a list of phase numbers, as sentences."""
    first: dict[int, int] = {}
    for k, n in enumerate(numbers):
        first.setdefault(n, k)
    return [
        f"phase {a} should precede phase {b}: {why}"
        for a, b, why in order
        if a in first and b in first and first[b] < first[a]
    ]
