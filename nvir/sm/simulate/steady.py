"""Where a simulated loop repeats itself: periods are added instead of simulated.

What follows from a moment is decided by what each warp waits for, by when pipes and memory are
free, and by which warp issued last, all of it relative to that moment. When a warp closes an
iteration that state is compared with those seen before. Where it is the same, the run will go on as
it went in between, so that times, iterations and stalls move on by a multiple of that period: up to
where a warp ends, or where the stretch begins or ends whose stalls are counted.

Exact: a run without it gives the same figures. Where accesses hit in several levels by turns
nothing repeats, and nothing is looked for.

Cost     at each iteration of one warp: linear in warps times slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from nvir.sm.simulate.engine import Run, Warp

NEVER = 1 << 60


@attrs.frozen
class _Moment:
    """Where a run stood: totals that grow from period to period."""

    cycle: int
    closed: int
    iterations: tuple[int, ...]
    stalls: dict[str, int]
    busy: dict[str, int]


class Repetition:
    """Watches a run for the return of a state. `watched` is the warp whose iterations it counts,
    the oldest that runs: it is chosen last, so the others keep up with it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.watched: Warp = run.warps[0]
        self.seen: dict[Any, _Moment] = {}
        self.pipes = [u for p, u in run.free.items() if run.kinds_of[p]]
        self.slack: dict[int, int] = {}  # slot -> how long its time matters to its readers
        for waits in run.waits:
            for source, _, cycles, _ in waits:
                self.slack[source] = max(self.slack.get(source, 0), cycles)

    @classmethod
    def of(cls, run: Run) -> Repetition | None:
        """For a run that can repeat itself."""
        shares = run.memory.memory.shares.values()
        return cls(run) if run.warps and max(shares) == sum(shares) else None

    def skip(self, cycle: int, issued: int, chosen: int) -> int:
        """Add as many periods as can be; by how many cycles all times moved on."""
        run = self.run
        if self.watched.iteration == run.iterations:
            alive = [w for w in run.warps if w.iteration < run.iterations]
            self.watched = alive[0] if alive else self.watched
            return 0
        if min(w.iteration for w in run.warps) < run.depth - 2:
            return 0  # some have waits yet for iterations before the first
        state = self._state(cycle, issued, chosen)
        before = self.seen.get(state)
        now = _Moment(
            cycle, len(run.ends), tuple([w.iteration for w in run.warps]),
            run.stalls.copy(), run.busy.copy(),
        )
        self.seen[state] = now
        return self._advance(before, now) if before is not None else 0

    def _state(self, cycle: int, issued: int, chosen: int) -> Any:
        run, slack, depth = self.run, list(self.slack.items()), self.run.depth
        warps: list[Any] = []
        for w in run.warps:
            if w.iteration == run.iterations:
                warps.append(None)
                continue
            warps.append((
                w.place, NEVER if w.able >= NEVER else max(w.able - cycle, 0),
                w.last - cycle if run.stalls_wanted or run.branch_gap else 0,
                tuple([(reason, until - cycle) for reason, until in w.segments]),
                tuple([
                    t - cycle if (t := made[slot]) + s > cycle else -NEVER
                    for k in range(depth)
                    for made in (w.made[(w.iteration - k) % depth],)
                    for slot, s in slack
                ]),
            ))
        return (
            issued, chosen, tuple(warps),
            tuple([tuple(sorted([t - cycle for t in units])) for units in self.pipes])
            if run.stalls_wanted else
            tuple([tuple(sorted([max(t - cycle, 0) for t in units])) for units in self.pipes]),
            tuple([max(t - cycle, 0.0) for t in run.memory.free.values()]),
            tuple([(b, *sorted(w.number for w in w_)) for b, w_ in sorted(run.arrived.items())]),
        )

    def _advance(self, before: _Moment, now: _Moment) -> int:
        """Move a run on by the periods that fit; the cycles that this takes."""
        run = self.run
        closed = now.closed - before.closed
        gone = [b - a for a, b in zip(before.iterations, now.iterations, strict=True)]
        periods = min(
            (run.iterations - 1 - b) // g for b, g in zip(now.iterations, gone, strict=True) if g
        )
        for border in (run.first, run.last) if run.stalls_wanted else ():
            if now.closed < border:  # a stretch is left by simulating
                periods = min(periods, (border - now.closed) // closed)
                break
        counted = run.stalls_wanted and run.first <= now.closed < run.last
        if periods < 1 or (counted and before.closed < run.first):
            return 0
        if counted:
            for total, was in ((run.stalls, before.stalls), (run.busy, before.busy)):
                for name in total:
                    total[name] += periods * (total[name] - was[name])
        length = now.cycle - before.cycle
        pattern = run.ends[before.closed :]
        for k in range(1, periods + 1):
            run.ends += [t + k * length for t in pattern]
        self._shift(periods * length, [periods * g for g in gone])
        return periods * length

    def _shift(self, cycles: int, iterations: list[int]) -> None:
        """Add to all times, and to the iterations of each warp."""
        run = self.run
        for w, gone in zip(run.warps, iterations, strict=True):
            w.iteration += gone
            w.last += cycles
            if w.able < NEVER:
                w.able += cycles
            w.segments = [(reason, until + cycles) for reason, until in w.segments]
            moved = [[t + cycles for t in column] for column in w.made]
            w.made = [moved[(k - gone) % run.depth] for k in range(run.depth)]
        run.queue[:] = [q + cycles * len(run.warps) for q in run.queue]
        for units in run.free.values():
            units[:] = [t + cycles for t in units]
        run.open[:] = [t + cycles for t in run.open]
        free = run.memory.free
        for level in free:
            free[level] += cycles
