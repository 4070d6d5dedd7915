"""Barriers of a CTA and of a cluster.

A CTA has sixteen barriers; each counts arrivals until all threads that live (or the number given)
are there. Threads that wait are parked with the place behind the barrier, and leave all together.
Barriers of different CTAs are independent, so a group that spans CTAs is split where only some of
them are complete. A thread that exits is no longer waited for.

Threads arrive one by one, as on hardware since sm_70. PTX asks for more: all threads of a warp that
live execute the same instruction, unless it is a `barrier` without `.aligned` for sm_70 or later;
what else happens is undefined. The check `barrier` tells that when the barrier is complete.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from nvir.interp.layout import Array
from nvir.interp.memory import Fault
from nvir.ir import capability
from nvir.ir.instruction import Instruction

WITHOUT = 70  # the first architecture with barriers that are not for whole warps


@attrs.define(eq=False)
class _Waiting:
    group: Any
    after: Any
    special: Any
    predicate: Array | None


class Barrier:
    """One barrier number in every CTA of a wave: arrivals and who waits."""

    def __init__(self, wave: Any) -> None:
        self.arrived = np.zeros(wave.n_ctas, np.int64)
        self.needed = np.full(wave.n_ctas, -1, np.int64)  # -1: all threads that live
        self.waiting: list[_Waiting] = []
        self.by: Array | None = None  # the aligned instruction of each lane, 0 for none
        self.aligned: list[CtaBarrier] = []

    def note(self, wave: Any, lanes: Array, by: CtaBarrier) -> None:
        """Lanes arrive by an aligned instruction."""
        if self.by is None:
            self.by = np.zeros(wave.n, np.int64)
        if by not in self.aligned:
            self.aligned.append(by)
        self.by[lanes] = self.aligned.index(by) + 1

    def judge(self, wave: Any, done: Array) -> None:
        """Tell a warp, of a CTA that is complete, of which not all have come by one instruction."""
        assert self.by is not None
        lanes = np.flatnonzero(done[wave.cta_of] & wave.alive)
        warps, by = wave.warp_of[lanes], self.by[lanes]
        self.by[done[wave.cta_of]] = 0
        least, most = np.full(wave.n_warps, len(self.aligned)), np.zeros(wave.n_warps, np.int64)
        np.minimum.at(least, warps, by)
        np.maximum.at(most, warps, by)
        wrong = np.flatnonzero(least < most)
        if len(wrong):
            here = warps == wrong[0]
            which = self.aligned[int(most[wrong[0]]) - 1]
            one = here & (by == most[wrong[0]])
            fault = Fault(f"{int(one.sum())} of a warp's {int(here.sum())} threads execute this "
                          "barrier, which is for all of a warp together")
            fault.lane = int(lanes[one][0])
            wave.fail(fault.message, None, which.instruction, fault)

    def complete(self, wave: Any) -> Array:
        """The CTAs where all have come."""
        everyone = np.bincount(wave.cta_of[wave.alive], minlength=wave.n_ctas)
        needed = np.where(self.needed < 0, everyone, self.needed)
        done: Array = (self.arrived > 0) & (self.arrived >= needed)
        return done

    def release(self, wave: Any) -> None:
        """Let those go on whose CTA is complete."""
        done = self.complete(wave)
        if not done.any():
            return
        if self.by is not None:
            self.judge(wave, done)
        totals = self._reduce(wave) if any(w.predicate is not None for w in self.waiting) else None
        waiting, self.waiting = self.waiting, []
        for w in waiting:
            inside, outside = _split(w, done[wave.cta_of[w.group.lanes()]], wave)
            if inside is not None:
                wave.unpark(inside.group)
                if totals is not None and inside.predicate is not None:
                    inside.special.deliver(inside.group, totals, wave)
                wave.arrive(inside.group, inside.after)
            if outside is not None:
                wave.park(outside.group, "waiting at a barrier")
                self.waiting.append(outside)
        self.arrived[done] = 0
        self.needed[done] = -1
        if wave.watch is not None:
            wave.watch.barrier(done)

    def _reduce(self, wave: Any) -> tuple[Array, Array]:
        """How many waiting threads hold the predicate, and how many wait, by CTA."""
        true = np.zeros(wave.n_ctas, np.int64)
        count = np.zeros(wave.n_ctas, np.int64)
        for w in self.waiting:
            if w.predicate is not None:
                ctas = wave.cta_of[w.group.lanes()]
                true += np.bincount(ctas[w.predicate], minlength=wave.n_ctas)
                count += np.bincount(ctas, minlength=wave.n_ctas)
        return true, count


def _split(w: _Waiting, p: Array, wave: Any) -> tuple[_Waiting | None, _Waiting | None]:
    lanes = len(p)
    before = w.group
    inside, outside = before.divide(p)
    if inside is None or outside is None:
        return (w, None) if outside is None else (None, w)
    assert lanes == len(p)
    yes = None if w.predicate is None else w.predicate[p]
    no = None if w.predicate is None else w.predicate[~p]
    return _Waiting(inside, w.after, w.special, yes), _Waiting(outside, w.after, w.special, no)


class CtaBarrier:
    """bar.sync, bar.arrive, bar.red and their other spellings."""

    def __init__(self, plan: Any, i: Instruction) -> None:
        self.instruction = i
        form = i.form
        self.kind = form.name.rsplit(".", 1)[1]
        sources = list(i.operands[: form.n_sources])
        self.predicate = None
        if self.kind == "red":
            self.predicate = sources.pop()
            self.negated = "!" in form.shape
            self.reduction = next(m for m in form.mods if m in ("popc", "and", "or"))
        self.aligned = form.name.startswith("bar.") or "aligned" in form.mods or (
            (capability(plan.program.module.target) or WITHOUT) < WITHOUT)
        self.number = sources[0]
        self.count = sources[1] if len(sources) > 1 else None

    def run(self, wave: Any, g: Any) -> None:
        numbers = g.fetch(self.number, "u32")
        after = g.seg.next
        rest = g
        for number in np.unique(numbers).tolist():
            if number > 15:
                raise Fault(f"barrier {number}: there are barriers 0 to 15", 0)
            here = np.broadcast_to(rest.fetch(self.number, "u32"), (rest.n,)) == number
            part, rest = rest.divide(here)
            self._arrive(wave, part, int(number), after)

    def _arrive(self, wave: Any, g: Any, number: int, after: Any) -> None:
        barriers = wave.state.setdefault("barriers", {})
        if not barriers:
            wave.on_exit.append(_recheck)
        barrier = barriers.get(number)
        if barrier is None:
            barrier = barriers[number] = Barrier(wave)
        ctas = wave.cta_of[g.lanes()]
        if self.aligned and "barrier" in wave.launch.check:
            barrier.note(wave, g.lanes(), self)
        if self.count is None:
            barrier.arrived += np.bincount(ctas, minlength=wave.n_ctas)
        else:
            self._count(wave, g, barrier, ctas)
        if self.kind == "arrive":
            wave.arrive(g, after)
        else:
            predicate = None
            if self.predicate is not None:
                predicate = self.test(g)
            barrier.waiting.append(_Waiting(g, after, self, predicate))
            wave.park(g, f"waiting at barrier {number}")
        barrier.release(wave)

    def _count(self, wave: Any, g: Any, barrier: Barrier, ctas: Array) -> None:
        """Arrivals where a number of threads is given: it counts whole warps."""
        counts = g.full(self.count, "u32").astype(np.int64)
        if (counts % 32).any() or (counts == 0).any():
            at = int(((counts % 32 != 0) | (counts == 0)).argmax())
            raise Fault(f"a barrier for {int(counts[at])} threads: whole warps are counted", at)
        barrier.needed[ctas] = counts
        weights = np.ones(g.n, np.int64)
        short = wave.threads % 32
        if short:  # the first lane of a short warp stands for those that do not exist
            last = wave.threads - short
            weights[wave.thread_of[g.lanes()] == last] += 32 - short
        arrived = np.bincount(ctas, weights=weights, minlength=wave.n_ctas)
        barrier.arrived += arrived.astype(np.int64)

    def test(self, g: Any) -> Array:
        """The predicate of a bar.red in each lane."""
        p = g.full(self.predicate, "pred")
        return np.asarray(~p if self.negated else p.copy())

    def give(self, g: Any, r: Any, x: Array) -> None:
        g.store(r, x)

    def deliver(self, g: Any, totals: tuple[Array, Array], wave: Any) -> None:
        """Set the result of a bar.red in a group that is released."""
        ctas = wave.cta_of[g.lanes()]
        true, count = totals[0][ctas], totals[1][ctas]
        for r in self.instruction.results:
            if self.reduction == "popc":
                self.give(g, r, true.astype(np.uint32))
            else:
                self.give(g, r, true == count if self.reduction == "and" else true > 0)


def _recheck(wave: Any) -> None:
    """Threads have exited: who waited for them alone goes on."""
    for barrier in wave.state["barriers"].values():
        if barrier.waiting:
            barrier.release(wave)


# ------------------------------------------------------------------- clusters


class ClusterBarrier:
    """The barrier of each cluster of a wave: arrivals of this phase, phases done, who waits."""

    def __init__(self, wave: Any) -> None:
        self.size = wave.launch.cluster_size
        n = -(-wave.n_ctas // self.size)
        self.cluster_of = wave.cta_of // self.size
        self.arrived = np.zeros(n, np.int64)
        self.phase = np.zeros(n, np.int64)
        self.joined = np.full(wave.n, -1, np.int64)  # the phase that a thread arrived in
        self.waiting: list[tuple[Any, Any]] = []

    def check(self, wave: Any) -> None:
        everyone = np.bincount(self.cluster_of[wave.alive], minlength=len(self.arrived))
        done = (self.arrived > 0) & (self.arrived >= everyone)
        self.phase[done] += 1
        self.arrived[done] = 0
        if not done.any():
            return
        waiting, self.waiting = self.waiting, []
        for g, after in waiting:
            self.wait(wave, g, after)

    def wait(self, wave: Any, g: Any, after: Any) -> None:
        """Pass threads whose phase is done, park the others."""
        wave.unpark(g)
        lanes = g.lanes()
        passed = self.phase[self.cluster_of[lanes]] > self.joined[lanes]
        inside, outside = g.divide(passed)
        if inside is not None:
            wave.arrive(inside, after)
        if outside is not None:
            self.waiting.append((outside, after))
            wave.park(outside, "waiting at the cluster's barrier")


class ClusterSpecial:
    """barrier.cluster.arrive and .wait."""

    def __init__(self, plan: Any, i: Instruction) -> None:
        self.instruction = i
        self.waits = i.form.name.endswith("wait")

    def run(self, wave: Any, g: Any) -> None:
        barrier = wave.state.get("cluster")
        if barrier is None:
            barrier = wave.state["cluster"] = ClusterBarrier(wave)
            wave.on_exit.append(barrier.check)
        after = g.seg.next
        if self.waits:
            barrier.wait(wave, g, after)
            return
        lanes = g.lanes()
        clusters = barrier.cluster_of[lanes]
        barrier.joined[lanes] = barrier.phase[clusters]
        barrier.arrived += np.bincount(clusters, minlength=len(barrier.arrived))
        wave.arrive(g, after)
        barrier.check(wave)


SPECIALS: dict[str, Any] = {
    f"{prefix}.{kind}": CtaBarrier
    for prefix in ("bar", "bar.cta", "barrier", "barrier.cta")
    for kind in ("sync", "arrive", "red")
}
SPECIALS["barrier.cluster.arrive"] = ClusterSpecial
SPECIALS["barrier.cluster.wait"] = ClusterSpecial
