"""Operations across a warp: they wait until the lanes that their mask names are all there.

Lanes that arrive alone are parked under the operation's spelling: PTX lets different instructions
of one spelling meet. When the lanes of a mask (those that have not exited) are complete, their
operands are put into `(warps, 32)` arrays, the meaning (meaning/warp.py) runs once for all such
warps, and each part takes its results on to the place behind its own instruction.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from nvir.interp.layout import Array, register_dtype
from nvir.interp.meaning import Mods, fit
from nvir.interp.meaning import warp as meaning
from nvir.interp.rows import unsupported
from nvir.ir.instruction import Instruction

_EVERYONE = 0xFFFFFFFF


@attrs.define(eq=False)
class _Arrival:
    """A group at an exchange, with the operands it came with."""

    group: Any
    after: Any
    special: LaneExchange
    operands: list[Array]
    mask: Array

    def divide(self, wave: Any, p: Array) -> tuple[_Arrival | None, _Arrival | None]:
        inside, outside = self.group.divide(p)
        if inside is None or outside is None:
            return (self, None) if outside is None else (None, self)
        yes = [x[p] for x in self.operands]
        no = [x[~p] for x in self.operands]
        return (
            _Arrival(inside, self.after, self.special, yes, self.mask[p]),
            _Arrival(outside, self.after, self.special, no, self.mask[~p]),
        )


class LaneExchange:
    """A warp-level operation. Subclasses say which operands it has and what it does with them.

    key     operations of one key may meet
    types   PTX types of the operands, for literals
    unit    warps that must be there together: 4 for a warpgroup
    """

    unit = 1

    def __init__(self, plan: Any, i: Instruction) -> None:
        self.instruction = i
        self.mods = Mods.parse(i.form.name, i.form.mods)
        self.key = i.form.spelling
        self.sources = list(i.operands[: i.form.n_sources])
        self.mask: Any = None  # operand, or an int
        self.types: list[str] = []
        self.wave: Any = None  # while `compute` runs, with the number of each warp
        self.warps: Array = np.zeros(0, np.int64)
        self.negate: set[int] = set()
        self.set_up(i)
        if len(self.types) < len(self.sources):
            raise unsupported(i, f"with {len(self.sources)} sources")

    def set_up(self, i: Instruction) -> None:
        """Take the sources apart."""

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        """Results, all `(warps, 32)`, of operands of that shape."""
        raise NotImplementedError

    # ------------------------------------------------------------ meeting

    def run(self, wave: Any, g: Any) -> None:
        operands = []
        for k, v in enumerate(self.sources):
            x = g.full(v, self.types[k])
            operands.append(~x if k in self.negate else x)
        mask = self._mask(wave, g)
        part = _Arrival(g, g.seg.next, self, operands, mask)
        if not wave.state.get("exchanges") and g.n == wave.live:
            self._perform(wave, [part])
            return
        waiting = wave.state.setdefault("exchanges", {})
        if "exchange hook" not in wave.state:
            wave.state["exchange hook"] = True
            wave.on_exit.append(_recheck)
        waiting.setdefault(self.key, []).append(part)
        wave.park(g, "waiting for the lanes of its mask")
        _meet(wave, self.key)

    def _mask(self, wave: Any, g: Any) -> Array:
        if self.mask is None:  # before Volta: whoever is here
            bits = np.bincount(
                wave.warp_of[g.lanes()],
                weights=_BIT[wave.lane_id[g.lanes()]],
                minlength=wave.n_warps,
            ).astype(np.uint32)
            return np.asarray(bits[wave.warp_of[g.lanes()]])
        if isinstance(self.mask, int):
            return np.full(g.n, self.mask, np.uint32)
        own = np.uint32(1) << wave.lane_id[g.lanes()].astype(np.uint32)
        return np.asarray(g.full(self.mask, "b32").astype(np.uint32) | own)

    def _perform(self, wave: Any, parts: list[_Arrival]) -> None:
        """All lanes of the parts take part; their masks are complete."""
        whole = len(parts) == 1 and parts[0].group.n == wave.n and wave.threads % 32 == 0
        if whole:
            shape = (wave.n_warps, 32)
            operands = [x.reshape(*shape, *x.shape[1:]) for x in parts[0].operands]
            active = np.ones(shape, bool)
            mask = parts[0].mask.reshape(shape)
            self.wave, self.warps = wave, np.arange(wave.n_warps)
            results = self._results(operands, active, mask)
            self._deliver(wave, parts[0], [r.reshape(wave.n, *r.shape[2:]) for r in results])
            return
        lanes = np.concatenate([p.group.lanes() for p in parts])
        warps, row = np.unique(wave.warp_of[lanes], return_inverse=True)
        column = wave.lane_id[lanes]
        shape = (len(warps), 32)

        def spread(xs: list[Array]) -> Array:
            x = np.concatenate(xs)
            out = np.zeros((*shape, *x.shape[1:]), x.dtype)
            out[row, column] = x
            return out

        operands = [spread([p.operands[k] for p in parts]) for k in range(len(self.sources))]
        active = spread([np.ones(p.group.n, bool) for p in parts])
        mask = spread([p.mask for p in parts])
        self.wave, self.warps = wave, warps
        results = self._results(operands, active, mask)
        begin = 0
        for p in parts:
            end = begin + p.group.n
            p.special._deliver(wave, p, [r[row[begin:end], column[begin:end]] for r in results])
            begin = end

    def _results(self, operands: list[Array], active: Array, mask: Array) -> list[Array]:
        found = self.compute(operands, active, mask)
        made = list(found) if isinstance(found, tuple) else [found]
        if len(made) < len(self.instruction.results):
            wanted = len(self.instruction.results)
            raise unsupported(self.instruction, f"{wanted} registers for {len(made)} results")
        return made

    def _deliver(self, wave: Any, part: _Arrival, results: list[Array]) -> None:
        wave.unpark(part.group)
        for r, x in zip(self.instruction.results, results, strict=False):
            part.group.store(r, fit(x, "b32", register_dtype(r.type)))
        wave.arrive(part.group, part.after)


_BIT = (np.uint64(1) << np.arange(32, dtype=np.uint64)).astype(np.float64)


def _bits(wave: Any, lanes: Array) -> Array:
    """For each warp the lanes that are there, as bits (uint64)."""
    return np.bincount(
        wave.warp_of[lanes], weights=_BIT[wave.lane_id[lanes]], minlength=wave.n_warps
    ).astype(np.uint64)


def _meet(wave: Any, key: str) -> None:
    """Let complete sets of lanes go on."""
    waiting = wave.state["exchanges"]
    parts: list[_Arrival] = waiting.pop(key, [])
    if not parts:
        return
    here = _bits(wave, np.concatenate([p.group.lanes() for p in parts]))
    alive = _bits(wave, np.flatnonzero(wave.alive)) if wave.live < wave.n else None
    ready, rest = [], []
    for p in parts:
        warps = wave.warp_of[p.group.lanes()]
        missing = p.mask.astype(np.uint64) & ~here[warps]
        everyone = _bits(wave, wave.iota) if alive is None else alive
        missing &= everyone[warps]
        if p.special.unit > 1:
            missing |= _absent_groups(wave, everyone & ~here, p.special.unit)[warps]
        inside, outside = p.divide(wave, missing == 0)
        if inside is not None:
            ready.append(inside)
        if outside is not None:
            wave.park(outside.group, "waiting for the lanes of its mask")
            rest.append(outside)
    if rest:
        waiting[key] = rest
    if ready:
        ready[0].special._perform(wave, ready)


def _absent_groups(wave: Any, absent: Array, unit: int) -> Array:
    """For each warp whether any lane of its group of warps is absent."""
    warp = np.arange(wave.n_warps)
    group = warp // wave.warps_per_cta * wave.warps_per_cta + warp % wave.warps_per_cta // unit
    some = np.zeros(wave.n_warps, np.uint64)
    np.bitwise_or.at(some, group, absent)
    return np.asarray(some[group])


def _recheck(wave: Any) -> None:
    for key in list(wave.state.get("exchanges", {})):
        _meet(wave, key)


# ------------------------------------------------------------------ the rows


class Shuffle(LaneExchange):
    def set_up(self, i: Instruction) -> None:
        if i.form.name == "shfl.sync":
            self.mask = self.sources.pop()
        self.types = ["b32", "b32", "b32"]

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        a, b, c = operands
        return meaning.shfl(self.mods, a, b, c)


class Vote(LaneExchange):
    def set_up(self, i: Instruction) -> None:
        if i.form.name == "vote.sync":
            self.mask = self.sources.pop()
        self.types = ["pred"]
        if "!" in i.form.shape:
            self.negate = {0}

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        return meaning.vote(self.mods, operands[0], active, mask)


class Match(LaneExchange):
    def set_up(self, i: Instruction) -> None:
        self.mask = self.sources.pop()
        self.types = [i.form.mods[-1]]

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        return meaning.match(self.mods, operands[0], active, mask)


class Redux(Match):
    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        return meaning.redux(self.mods, operands[0], active, mask)


class Elect(LaneExchange):
    def set_up(self, i: Instruction) -> None:
        self.mask = self.sources.pop()

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        return meaning.elect(active, mask)


class WarpBarrier(Elect):
    """bar.warp.sync."""

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        return ()

    def _deliver(self, wave: Any, part: _Arrival, results: list[Array]) -> None:
        if wave.watch is not None:
            wave.watch.warp_barrier(np.unique(wave.warp_of[part.group.lanes()]))
        super()._deliver(wave, part, results)


class ActiveMask(LaneExchange):
    """Which lanes are here: no waiting, but other groups' lanes do not count."""

    def run(self, wave: Any, g: Any) -> None:
        lanes = g.lanes()
        bits = _bits(wave, lanes)[wave.warp_of[lanes]].astype(np.uint32)
        for r in self.instruction.results:
            g.store(r, bits)
        wave.arrive(g, g.seg.next)


SPECIALS = {
    "shfl.sync": Shuffle, "shfl": Shuffle, "vote.sync": Vote, "vote": Vote,
    "match.any.sync": Match, "match.all.sync": Match, "redux.sync": Redux, "elect.sync": Elect,
    "bar.warp.sync": WarpBarrier, "activemask": ActiveMask,
}
