"""Tile loops become multistage loops of asynchronous copies (the notes' GemmPipeliner).

    L: ld.global %a, [%p]              fill all stages but one by cp.async, a group each
       st.shared [%s], %a              L: cp.async.wait_group stages-2; bar.sync 0
       bar.sync 0              ==>        cp.async [%s + next buffer], [%q]; commit_group
       ld.shared … mma …                  ld.shared [… + this buffer] … mma …
       bar.sync 0                         bra L
       … bra L

Options:

    gemm-pipeline              where knob GemmPipelinerEnabled is set; stages as tiles/depth.py
                               says, and none where the simulator sees no gain in them
    gemm-pipeline<stages=4>    so many stages, whatever the knob and the simulator say
    gemm-pipeline<no-bulk>     copies by cp.async also where rows could be copied in bulk
    gemm-pipeline<dump>        the stages, as the sections `For Dma Loop` and `For Math Loop`

Under policy `documented` only loops with wgmma or integer products are looked at, under `observed`
any tile loop. The launch stays as it is: same parameters, same dynamic shared memory, static shared
memory up to 48 KB. Of GemmPipelinerDependenciesPopbl the meaning is assumed: the copies of an
iteration wait for its arithmetic, else they go before it.

Method   1. recognise the parts: recognise.py, tile_copies.py   2. stages: depth.py, on a copy
         3. rows copied in bulk: bulk.py   4. rebuild: multistage.py.   Loops that copy
         asynchronously already: asynchronous.py
Needs    CFG annotations; loops that test at their end (`loop-rotate` makes them).
Keeps    what the kernel does, for any number of iterations; its parameters and launch.
Skips    loops with a `TileReason`; each is remarked.
Marks    kernels by `.pragma "nounroll"`: the assembler would unroll them around their waits.
Cost     of a tile loop, a clone of its function, one prediction of registers, some simulations.
Source   the notes on sub_92C240; NVIDIA, PTX ISA 9.0 on cp.async; the multistage main loops of
         CUTLASS.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import attrs

from nvir.analysis.divergence import Divergence, divergence
from nvir.analysis.induction import trip_count
from nvir.assembler.regalloc.predict import predict
from nvir.ir import Block, Function, Instruction, Loop, OpKind, capability, natural_loops
from nvir.ir.block import NOUNROLL
from nvir.ir.clone import clone_function
from nvir.passes.context import Context
from nvir.passes.loop.tiles import asynchronous as gemm_async
from nvir.passes.loop.tiles.bulk import BARRIER, BulkPlan, plan
from nvir.passes.loop.tiles.depth import (
    FIXED,
    LEAST_GAIN,
    OUTSTANDING,
    STATIC_LIMIT,
    Wish,
    cost,
    cost_at,
    cycles,
    decide,
    room,
    shared_at,
    static_shared,
)
from nvir.passes.loop.tiles.multistage import PIPELINED, MultistageLoop, expand
from nvir.passes.loop.tiles.reasons import TileReason, TileRefused
from nvir.passes.loop.tiles.recognise import Recogniser, TileLoop, is_candidate
from nvir.passes.loop.tiles.stages import describe, listing, pending_groups
from nvir.passes.loop.unroll.prepare import Refusal, Refusals, regions
from nvir.passes.remarks import Code, analysis, missed, passed

MADE = passed(
    "GemmPipelined",
    "{stages} stages of {bytes} bytes, {copies} copies a thread: {before} → {after} cycles a tile "
    "predicted, registers {registers_before} → {registers}, shared memory {shared_before} → "
    "{shared}, blocks an SM {blocks_before} → {blocks}",
)
BULK = passed(
    "GemmBulk",
    "{tile}: {copies} bulk copies a stage, of rows of {bytes} bytes",
)
NOT_BULK = missed("GemmNotBulk", "{tile} is not copied in bulk: {reason}")
SHORTENED = passed("GemmShortened", "{before} → {stages} stages under way")
ALREADY = analysis(
    "GemmAsync",
    "copies asynchronously already: {copies} copies a thread, {bulk} bulk copies, {products} "
    "products of warp groups; {stages} stages in {bytes} bytes of shared memory",
)
NOT_DEEPER = missed(
    "GemmBuffers", "stages stay as they are: {reason}"
)
NOT_MADE: dict[TileReason, Code] = {
    r: missed("NotGemm" + r.name.title().replace("_", ""), "not pipelined: {reason}")
    for r in TileReason
}
CODES = (MADE, BULK, NOT_BULK, SHORTENED, ALREADY, NOT_DEEPER, *NOT_MADE.values())
_INTEGERS = frozenset(("s8", "u8", "s4", "u4", "b1"))


@attrs.frozen
class Options:
    """stages   so many, also where the knob is off; 0 leaves it to the model and the knobs
    bulk     copy rows in bulk where that is proven to be right (tiles/bulk.py), from sm_90 on
    dump     the stages of each loop go to standard error
    """

    stages: int = 0
    bulk: bool = True
    dump: bool = False


def run(function: Function, ctx: Context) -> bool:
    if not function.back_edges:
        return False
    work = _TilePipeliner(function, ctx)
    known = ctx.analyses(function)
    headers = [x.header for x in reversed(known.loops)]  # inner before outer
    changed = False
    for header in headers:
        loop = known.loop(header)
        if loop is not None and work.loop(loop):
            changed = True
            function.analyze_cfg()
    return changed


class _TilePipeliner:
    def __init__(self, function: Function, ctx: Context) -> None:
        self.function, self.ctx = function, ctx
        self.options: Options = ctx.options
        self._divergence: Divergence | None = None
        self.wish = Wish(
            self.options.stages,
            bool(ctx.knob("GemmPipelinerUseRegisterCalculation")) and not self.options.stages,
            ctx.knob("GemmPipelinerPipelineDepthEnforceDeltaFull") or 0,
            ctx.knob("GemmPipelinerPipelineDepthEnforceDeltaPartial") or 0,
        )
        self.late = bool(ctx.knob("GemmPipelinerDependenciesPopbl"))
        self.hashed = bool(ctx.knob("GemmPipelinerScoreboardHashPopbl"))

    def loop(self, loop: Loop) -> bool:
        """Pipeline a loop, or remark why not."""
        try:
            self._against(loop)
            own = gemm_async.recognise(loop)
            if own is not None:
                return self._own(loop, own)
            found = self._recogniser().loop(loop)
            trip = trip_count(loop)
            if trip is not None and trip.count is not None and trip.count < 2:
                raise TileRefused(TileReason.SHORT, trip.count)
            self._make(loop, found, trip.count if trip is not None else None)
        except TileRefused as e:
            self.ctx.count("not_pipelined")
            self.ctx.remark(NOT_MADE[e.reason], loop, reason=e.reason.text(e.what))
            return False
        return True

    # -------------------------------------------------------------- reasons

    def _against(self, loop: Loop) -> None:
        """What needs no look at the parts."""
        ctx = self.ctx
        if any(PIPELINED in b.flags for b in loop.blocks):
            raise TileRefused(TileReason.DONE)
        if not (ctx.knob("GemmPipelinerEnabled", loop.header) or self.options.stages):
            raise TileRefused(TileReason.DISABLED)
        module = ctx.module
        if capability(module.target) < 80 or module.version < (7, 0):
            version = ".".join(map(str, module.version))
            raise TileRefused(TileReason.TARGET, f"{module.target} at version {version}")
        if module.address_size != 64:
            raise TileRefused(TileReason.TARGET, "a module of 32-bit addresses")
        if ctx.policy == "documented" and not any(_is_matrix(i) for b in loop.blocks for i in b):
            raise TileRefused(TileReason.MATRIX)
        if gemm_async.recognise(loop) is None and not is_candidate(loop):
            raise TileRefused(TileReason.NO_TILE)
        if NOUNROLL in loop.header.pragmas and not ctx.knob("OkToPipelineNoUnroll"):
            raise TileRefused(TileReason.PRAGMA)
        refusal = Refusals(self.function).of(loop)
        if refusal is not None and refusal[0] is Refusal.CONVERGENT:
            raise TileRefused(TileReason.DIVERGENT)
        if refusal is not None:
            raise TileRefused(TileReason.HELD, refusal[0].text(refusal[1]))

    def _own(self, loop: Loop, own: gemm_async.AsyncLoop) -> bool:
        """A loop with asynchronous copies of its own."""
        ctx, stages = self.ctx, own.stages
        ctx.remark(
            ALREADY, loop, copies=own.copies, bulk=own.bulk, products=own.products, stages=stages,
            bytes=own.buffers,
        )
        wanted = self.wish.stages
        if not wanted and stages is not None:
            wanted = stages + self.wish.full + self.wish.partial
        if stages is None:
            why = "the copies count on barriers in memory, no wait says how many are under way"
        elif wanted == stages:
            why = "no other number is asked for"
        elif wanted > stages:
            why = f"buffers for {wanted} are not proven to be there"
        elif wanted < 2:
            why = TileReason.DEPTH.text(str(wanted))
        elif gemm_async.shorten(own, wanted):
            ctx.count("shortened")
            ctx.remark(SHORTENED, loop, before=stages, stages=wanted)
            return True
        else:
            why = "no wait to change"
        ctx.remark(NOT_DEEPER, loop, reason=why)
        return False

    def _recogniser(self) -> Recogniser:
        if self._divergence is None:
            self._divergence = self.ctx.analyses(self.function).divergence
        return Recogniser(self.function, self._divergence)

    # ------------------------------------------------------------ the choice

    def _make(self, loop: Loop, found: TileLoop, trip: int | None) -> None:
        function, profile = self.function, self.ctx.profile
        used = static_shared(function)
        before = cost(function, profile, used)
        most = min(room(found, used), OUTSTANDING + 1)
        decide(found, used, self.wish, 2, {})  # refuses where there is no room for two
        trial = self._trial(loop, max(2, min(FIXED, most)))
        registers = predict(trial.header.function, profile, {}).registers
        costs = {
            s: cost_at(registers, before.threads, shared_at(found, used, s), profile)
            for s in range(2, most + 1)
        }
        wanted = self.wish.stages or FIXED
        if self.wish.calculated:
            wanted = _fewest({s: cycles(trial, profile, c, s) for s, c in costs.items()})
        stages = decide(found, used, self.wish, wanted, {s: c.blocks for s, c in costs.items()})
        if trip is not None and not self.wish.stages:
            stages = max(2, min(stages, trip))
        after = costs[stages]
        unpipelined = cycles(loop, profile, before)
        predicted = cycles(trial, profile, after, stages)
        gains = unpipelined is None or predicted is None or predicted < unpipelined
        if not (gains or self.wish.is_fixed):
            cycles_of = f"{_rounded(unpipelined)} → {_rounded(predicted)} cycles a tile"
            raise TileRefused(TileReason.NO_GAIN, f"{cycles_of} at {stages} stages")
        table = describe(found, stages, hashed=self.hashed, cycles=predicted)
        made, bulk = self._apply(loop, stages)
        barriers = BARRIER * stages if bulk is not None and bulk.rows else 0
        self.ctx.count("pipelined")
        self.ctx.remark(
            MADE, made.kernel, stages=stages, bytes=found.stage_bytes,
            copies=sum(len(s.pieces) for s in found.stores),
            before=_rounded(unpipelined), after=_rounded(predicted),
            registers_before=before.registers, registers=after.registers,
            shared_before=before.shared, shared=after.shared + barriers,
            blocks_before=before.blocks, blocks=after.blocks,
        )
        if bulk is not None:
            self._tell(bulk, found, made)
        if self.options.dump:
            sys.stderr.write(listing(str(loop.header.name), table) + _bulk_listing(bulk))

    def _tell(self, bulk: BulkPlan, found: TileLoop, made: MultistageLoop) -> None:
        """What is copied in bulk, and why other tiles are not."""
        for name, row, copies in bulk.copies:
            self.ctx.count("bulk")
            self.ctx.remark(BULK, made.kernel, tile=name, copies=copies, bytes=row.bytes)
        for variable, why in bulk.refused.items():
            self.ctx.remark(NOT_BULK, made.kernel, tile=variable.name, reason=str(why))

    def _trial(self, loop: Loop, stages: int) -> Loop:
        """The loop with some number of stages, on a copy of the function."""
        scratch = clone_function(self.function)
        scratch.analyze_cfg()
        header = next(b for b in scratch.blocks if b.name == loop.header.name)
        made, _ = self._expand(scratch, header, stages, trial=True)
        scratch.analyze_cfg()
        return next(x for x in natural_loops(scratch) if x.header is made.kernel)

    # ------------------------------------------------------------- carry out

    def _apply(self, loop: Loop, stages: int) -> tuple[MultistageLoop, BulkPlan | None]:
        made = self._expand(self.function, loop.header, stages)
        self.function.analyze_cfg()
        self._divergence = None
        return made

    def _expand(
        self, function: Function, header: Block, stages: int, trial: bool = False
    ) -> tuple[MultistageLoop, BulkPlan | None]:
        """The loop rebuilt; and what is copied in bulk, where the machine can. Trials copy by
        cp.async: the simulator knows nothing of the engine."""
        held = Refusals(function).held
        area = regions(function, {header}, held)[header]
        loop = next(x for x in natural_loops(function) if x.header is header)
        tiles = Recogniser(function, divergence(function)).loop(loop)
        module, bulk = self.ctx.module, None
        can = capability(module.target) >= 90 and module.version >= (8, 0)
        if can and self.options.bulk and not trial:
            left = STATIC_LIMIT - shared_at(tiles, static_shared(function), stages)
            bulk = plan(tiles, left, stages)
        made = expand(
            tiles, area.preheader, stages, pending=pending_groups(stages, self.hashed),
            late=self.late, grows=not trial, bulk=bulk,
        )
        return made, bulk


def _fewest(cycles: Mapping[int, float | None]) -> int:
    """The fewest stages whose cycles a tile are about the least."""
    known = {s: c for s, c in cycles.items() if c is not None}
    if not known:
        return FIXED
    least = min(known.values())
    return min(s for s, c in known.items() if c <= least * (1 + LEAST_GAIN))


def _bulk_listing(bulk: BulkPlan | None) -> str:
    """Of the copies above, those that are rows, whose stage is waited for by its own phase."""
    rows = bulk.copies if bulk is not None else []
    return "".join(
        f"  in bulk  {name}  {n} x {row.bytes} bytes a stage, a row of {row.threads} threads each\n"
        for name, row, n in rows
    )


def _is_matrix(i: Instruction) -> bool:
    """A product of warp groups, or of integers."""
    f = i.form
    if f.name.startswith("wgmma.mma"):
        return True
    return f.kind is OpKind.MATRIX and bool(_INTEGERS.intersection(f.mods))


def _rounded(x: float | None) -> float | None:
    return None if x is None else round(x, 1)
