"""Modulo schedules of machine loops: `modulo_schedule` of a loop's graph, told in its terms."""

from __future__ import annotations

import attrs

from nvir.ir.display import Displayed
from nvir.ir.errors import NvirError
from nvir.sm.loopgraph import LoopGraph
from nvir.sm.schedule.driver import ModuloSchedule, modulo_schedule
from nvir.sm.schedule.lifetimes import Lifetimes, lifetimes, values_of


@attrs.frozen(eq=False, kw_only=True)
class LoopSchedule(ModuloSchedule, Displayed):
    """A modulo schedule of a loop graph; `max_live` counts the registers that the body makes."""

    graph: LoopGraph
    lifetimes: Lifetimes

    @property
    def bottleneck(self) -> str | None:
        return self.bounds.bottleneck

    def registers_needed(self) -> int:
        """Registers that no schedule at this interval does without, as far as it is proven."""
        from nvir.sm.schedule.live_bound import registers_needed

        if self.live_bound == self.max_live:
            return self.max_live
        values = values_of(self.graph.graph, self.graph.register_edges, self.graph.sizes)
        return max(self.live_bound, registers_needed(self.graph.graph, self.ii, values))

    def busy(self) -> dict[str, int]:
        """Pipe -> cycles that an iteration keeps it busy."""
        out: dict[str, int] = {}
        for name, cycles in zip(self.pipe, self.graph.interval, strict=True):
            if name:
                out[name] = out.get(name, 0) + cycles
        return out


def schedule_loop(
    found: LoopGraph, *, solver: str = "none", budget_s: float = 2.0, effort: str = "full"
) -> LoopSchedule:
    """The modulo schedule of smallest II that is found, with few registers.

    solver    "none": own methods; "cpsat": also OR-tools, for what they leave open below the II
              that they found; "auto": that where it is installed
    budget_s  of CP-SAT's deterministic time, in all
    effort    "most", "full", "interval" or "quick", as of `modulo_schedule`

    Raises NvirError for a loop of which nothing is left but what is hoisted, and Unsupported for
    "cpsat" without OR-tools.
    """
    if not len(found.graph):
        raise NvirError(f"loop {found.loop.header.name}: no operation is left in its body")
    made = modulo_schedule(
        found.graph,
        solver=solver,
        budget_s=budget_s,
        register_edges=found.register_edges,
        sizes=found.sizes,
        effort=effort,
    )
    live = lifetimes(
        found.graph, made.ii, made.times, register_edges=found.register_edges, sizes=found.sizes
    )
    fields = attrs.asdict(made, recurse=False)
    return LoopSchedule(**fields, graph=found, lifetimes=live)
