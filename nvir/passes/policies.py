"""Policies: who decides which loops are unrolled, and which invariants leave them.

    observed     as ptxas was seen to decide (nvir.assembler)
    documented   as the notes have it, step by step (nvir.documented)

A policy is a module with a `POLICY` of this shape. It is named here, as passes are in the
registry, and imported when it is first asked: the room of the documented compiler is above this
one. A policy changes which loop is transformed, never whether the result is right.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from nvir.ir import Function, Instruction, Loop

if TYPE_CHECKING:
    from nvir.analysis.hoisting.nest import Nest
    from nvir.analysis.hoisting.region import HoistRegion
    from nvir.assembler.hoist.score import Verdict
    from nvir.assembler.hoist.tables import Policy381
    from nvir.assembler.unroll.decision import UnrollDecision
    from nvir.ir.block import Block
    from nvir.passes.context import Context
    from nvir.passes.loop.pipeline.feasible import Obstacle
    from nvir.passes.loop.unroll.prepare import Refusals
    from nvir.sm.loopgraph import LoopGraph

_MODULES = {"observed": "nvir.passes.loop.observed", "documented": "nvir.documented.policy"}


class Hoisting(Protocol):
    """How one instance of licm decides on the loops of a nest."""

    @property
    def literal(self) -> bool:
        """Whether the block policy of knob 381 is taken as the notes have it."""

    def boundary(self, region: HoistRegion) -> str:
        """Why the loop is no candidate, or ""."""

    def hoist(self, region: HoistRegion, block: Policy381) -> tuple[list[Instruction], Verdict]:
        """What leaves the loop, and the numbers that decided."""


@attrs.frozen
class PipelineSlots:
    """A modulo schedule: its interval, and when each instruction of the block, by its number,
    begins in its own iteration."""

    ii: int
    times: dict[int, int]


@attrs.frozen
class Turn:
    """One loop's turn, where policies decide on a loop when those behind it have been unrolled.

    header    its
    numbers   of all blocks, before any loop was unrolled
    marked    headers with a mark that was there before; unrolled loops have it, too
    first     the function's first turn
    kept      what the policy worked out of the function, emptied when that changes
    """

    header: Block
    numbers: Mapping[Block, int]
    marked: frozenset[Block]
    first: bool = True
    kept: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class DecisionPolicy:
    """unroll_guard   why the unroller does not run, or ""
    unrolling   the decision on each of the loops, by its header; the last argument: a pragma of
                the module forces copies
    hoisting    of one instance (0 to 3) of licm over a nest
    pipelining  the slots of a loop of one block, given the level at which loads hit, or why it has
                none; None leaves it to loop-pipeline's own model
    hoisted     what an instance of licm does when all has moved
    in_turn     a loop is decided when those behind it in reverse post-order have been unrolled
    """

    unroll_guard: Callable[[Function, Context], str]
    unrolling: Callable[
        [Function, Context, list[Loop], Refusals, bool, Turn | None], dict[Block, UnrollDecision]
    ]
    hoisting: Callable[[Context, int, Nest], Hoisting]
    pipelining: Callable[[Loop, Context, str], PipelineSlots | tuple[Obstacle, str]] | None = None
    hoisted: Callable[[Function, int], None] | None = None
    in_turn: bool = False


def slots_of(graph: LoopGraph, ii: int, starts: Sequence[int]) -> PipelineSlots:
    """The slots by the starts of a graph's operations: an instruction begins with its first."""
    number = {i: k for k, i in enumerate(graph.loop.header)}
    times: dict[int, int] = {}
    for t, op in zip(starts, graph.operations, strict=True):
        k = number[op.parent]
        times[k] = min(t, times.get(k, t))
    return PipelineSlots(ii, times)


def decision_policy(name: str) -> DecisionPolicy:
    """The policy of this name: one of `nvir.passes.knobs.POLICIES`."""
    policy: DecisionPolicy = importlib.import_module(_MODULES[name]).POLICY
    return policy
