"""How many stages a tile loop gets: from the machine, shared memory, occupancy and knobs.

The number of stages is

    asked for     option `stages`; else FIXED; else (GemmPipelinerUseRegisterCalculation 1) where
                  the simulated cycles a tile stop falling, with the warps that the registers of
                  that form leave on an SM; none where they do not fall at all
    adjusted      by the knobs …DepthEnforceDeltaFull, which is insisted on, and …DeltaPartial,
                  which is reduced to what fits
    bounded       by OUTSTANDING stages in flight and by 48 KB of static shared memory; and where
                  neither is asked for nor calculated, by occupancy: no stage beyond the second
                  costs a block an SM

The simulator knows nothing of groups: here the wait of the kernel is made to wait for the copies
of as many iterations ago as there are stages, less one.

Cost     one expansion of a clone for the registers, and with the calculation a simulation for
         each number of stages.
"""

from __future__ import annotations

import attrs

from nvir.assembler.regalloc.predict import predict
from nvir.assembler.regalloc.targets import ASSUMED_BLOCK, block_threads
from nvir.ir import CallInfo, Function, Loop, NvirError, SymbolOffset, Value, Variable
from nvir.passes.loop.pipeline.choice import PARTITIONS
from nvir.passes.loop.tiles.reasons import TileReason, TileRefused
from nvir.passes.loop.tiles.recognise import TileLoop
from nvir.sm.occupancy import occupancy
from nvir.sm.profile import Profile
from nvir.sm.simulate import Stream, Wait, loop_stream, simulate

FIXED = 3
ISSUES = 12_000  # of one simulation
OUTSTANDING = 8  # stages whose copies are in flight
STATIC_LIMIT = 48 * 1024  # bytes of a block
LEAST_GAIN = 0.01  # of the cycles a tile, for another stage


@attrs.frozen
class Wish:
    """What options and knobs ask for."""

    stages: int = 0
    calculated: bool = False
    full: int = 0
    partial: int = 0

    @property
    def is_fixed(self) -> bool:
        """Whether a depth is asked for, which is made even where no gain is predicted."""
        return bool(self.stages or self.full or self.partial)


@attrs.frozen
class TileCost:
    """A kernel as some form of it would run: registers a thread, static shared memory, blocks an
    SM, threads of a block (given or assumed).
    """

    registers: int
    shared: int
    blocks: int
    threads: int


def room(tiles: TileLoop, used: int) -> int:
    """The most stages that static shared memory has room for."""
    rest = STATIC_LIMIT - (used - sum(t.variable.size for t in tiles.tiles))
    rest -= 16 * len(tiles.tiles)  # alignment
    return max(0, rest) // tiles.stage_bytes


def shared_at(tiles: TileLoop, used: int, stages: int) -> int:
    """Static shared memory of the kernel with so many stages."""
    return used + sum(t.stride * stages - t.variable.size for t in tiles.tiles)


def decide(tiles: TileLoop, used: int, wish: Wish, wanted: int, blocks: dict[int, int]) -> int:
    """The stages: `wanted`, adjusted and bounded. Raises TileRefused.

    blocks    stages -> blocks an SM
    """
    most = min(room(tiles, used), OUTSTANDING + 1)
    if most < 2:
        raise TileRefused(TileReason.STATIC, shared_at(tiles, used, 2))
    if not (wish.stages or wish.calculated):
        while wanted > 2 and blocks.get(wanted, 0) < blocks.get(2, 0):
            wanted -= 1
    wanted = max(2, min(wanted, most))
    if wish.full:
        wanted += wish.full
        if wanted < 2:
            raise TileRefused(TileReason.DEPTH, wanted)
        if wanted > most:
            reason = TileReason.DEPTH if wanted > OUTSTANDING + 1 else TileReason.STATIC
            what = wanted if reason is TileReason.DEPTH else shared_at(tiles, used, wanted)
            raise TileRefused(reason, what)
    return max(2, min(wanted + wish.partial, most))


def cost(function: Function, profile: Profile, used: int) -> TileCost:
    """Registers and blocks of a function with so much static shared memory."""
    threads = block_threads(function) or ASSUMED_BLOCK
    registers = predict(function, profile, {}).registers
    return cost_at(registers, threads, used, profile)


def cost_at(registers: int, threads: int, shared: int, profile: Profile) -> TileCost:
    """The same of known registers and threads."""
    fits = occupancy(profile, registers, threads, static_smem=shared)
    return TileCost(registers, shared, fits.blocks_per_sm, threads)


def cycles(loop: Loop, profile: Profile, cost: TileCost, stages: int = 0) -> float | None:
    """Cycles of a sub-partition for a tile of one of its warps, all resident warps running; None
    where the simulator cannot say. `stages` of a pipelined loop. Annotations are fresh."""
    threads = cost.threads
    warps = max(1, max(1, cost.blocks) * -(-threads // 32) // PARTITIONS)
    try:
        stream = loop_stream(loop, profile)
        if stages:
            stream = with_groups(stream, stages)
        rounds = max(8, min(24, ISSUES // (warps * max(1, len(stream.slots)))))
        block = max(1, -(-threads // 32) // PARTITIONS)  # warps that meet at a barrier
        made = simulate(
            stream, warps=warps, iterations=rounds, warps_per_block=block, memory="l2"
        )
        return made.cycles_per_warp_iteration
    except NvirError:
        return None


def with_groups(stream: Stream, stages: int) -> Stream:
    """The stream of a pipelined loop whose wait waits for the copies of `stages` − 1 iterations
    ago."""
    copies = [k for k, s in enumerate(stream.slots) if s.name == "LDGSTS"]
    slots = list(stream.slots)
    for k, s in enumerate(slots):
        if s.name == "DEPBAR":
            waits = tuple(Wait(c, stages - 1, 0) for c in copies)
            slots[k] = attrs.evolve(s, waits=(*s.waits, *waits))
    return attrs.evolve(stream, slots=tuple(slots))


def static_shared(kernel: Function) -> int:
    """Bytes of the static `.shared` variables that a function and what it calls name."""
    used: dict[Variable, None] = {}
    seen, work = {kernel}, [kernel]
    while work:
        for i in work.pop().instructions():
            values: list[Value] = list(i.operands)
            if isinstance(i.aux, CallInfo) and i.aux.callee is not None:
                values.append(i.aux.callee)
            for v in values:
                s = v.symbol if isinstance(v, SymbolOffset) else v
                if isinstance(s, Variable) and s.space == "shared":
                    used[s] = None
                elif isinstance(s, Function) and s not in seen:
                    seen.add(s)
                    work.append(s)
    size = 0
    for x in used:
        align = x.align or max(x.element_type.bits // 8, 1)
        size = -(-size // align) * align + x.size
    return size
