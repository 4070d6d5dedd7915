"""What a tuning promises of CUDA where nvcc does not try it: what nvcc's code is foretold to be.

The fastest candidates that CUDA has words for are made as nvcc makes them of these words, out of
its PTX, and judged as the others are. Where nvcc's code does not follow, nothing is promised: it
keeps every test of a loop that it cannot count, and unrolls by itself a loop whose pragma is gone.
Nor is it of PTX that another compiler made, which is other code from the start.

Cost    FORETOLD copies of each kernel and a call of ptxas for all
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from nvir.analysis.induction import induction_variables, trip_count
from nvir.ir.clone import clone_module
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.ptx.printer import print_ptx
from nvir.ptx.reader import read_ptx
from nvir.report.source_loops import FRONT_ENDS
from nvir.report.tuning.advice import advice, copies_of, pointers
from nvir.report.tuning.nvcc_form import NvccForm, nvcc_form
from nvir.sm.profile import Profile
from nvir.tune.candidates import LoopSetting, context
from nvir.tune.search import TIE, WORSE, Judged, KernelTuning, Launches, Tuning, tune

FORETOLD = 4  # candidates of a kernel
ROOM = 20_000  # instructions of all of a file's


@attrs.frozen(eq=False)
class Promise:
    """What to write in CUDA for a kernel, the candidate that it comes to in PTX, and what nvcc and
    ptxas are foretold to make of it."""

    candidate: Judged
    texts: Sequence[str]
    made: Judged


def promised(
    found: Tuning, module: Module, machine: Profile, request: Launches
) -> dict[str, Promise]:
    """What is to be written for each kernel whose code nvcc then makes about as it is foretold,
    faster and in nothing worse."""
    by = module.debug.producer
    if by and FRONT_ENDS.get(by) != "nvcc":
        return {}
    copy = clone_module(module)
    forms: list[tuple[KernelTuning, Judged, NvccForm]] = []
    room = ROOM
    for n, k in enumerate(found.kernels):
        kernel = next(f for f in copy.kernels if f.name == k.name)
        copies, runs = copies_of(copy, k.name), {x.name: x.trips for x in k.loops}
        for m, c in enumerate(_followed(k, kernel, copies)):
            if room <= 0:
                break
            made = nvcc_form(kernel, c.settings, f"{k.name}__{n}_{m}", runs, copies,
                             context(copy, machine))
            if made is not None:
                room -= sum(map(len, made.function.blocks))
                forms.append((k, c, made))
    made_of = _judged([x for *_, x in forms], copy, found, machine, request)
    gains: dict[str, list[Promise]] = {}
    for k, c, made in forms:
        judged = made_of.get(str(made.function.name))
        base = k.candidates[0]
        if judged is not None and judged.cycles.full * WORSE <= base.cycles.full and (
            judged.cycles.one_warp <= base.cycles.one_warp * WORSE
            and judged.spill_bytes <= base.spill_bytes
            and judged.blocks_per_sm >= base.blocks_per_sm
        ):
            gains.setdefault(k.name, []).append(
                Promise(c, advice(module, k.name, c.settings, k.block), judged))
    return {name: _shortest(some) for name, some in gains.items()}


def _shortest(some: Sequence[Promise]) -> Promise:
    """Of those about as fast as the fastest the one with least to write, of these that of fewest
    copies: how ptxas orders the loads of many hangs on what is not foretold."""
    best = min(p.made.cycles.full for p in some)
    return min((p for p in some if p.made.cycles.full <= best * WORSE), key=lambda p: (
        len(p.texts), sum(s.unroll or 1 for _, s in p.candidate.settings.loops)))


def _followed(k: KernelTuning, kernel: Function, copies: Mapping[str, int]) -> list[Judged]:
    """The fastest candidates that nvcc follows."""
    base = k.candidates[0]
    loops = {str(x.header.name): x for x in natural_loops(kernel)}
    several = len(pointers(kernel)) > 1
    fit = [c for c in k.candidates[1:] if c.cycles.full * TIE <= base.cycles.full
           and c.spill_bytes <= base.spill_bytes
           and all(_follows(s, loops[h], copies[h]) and (several or not s.apart)
                   for h, s in c.settings.loops)]
    return sorted(fit, key=lambda c: (c.id != k.chosen, c.cycles.full))[:FORETOLD]


def _follows(s: LoopSetting, loop: Loop, copies: int) -> bool:
    """Whether nvcc makes of a pragma what a pass makes of the loop."""
    if s.depth or s.converted or s.vectors or not copies or s.unroll == 0:
        return False  # of code that is straight in the end nvcc makes less than a pass does
    indices = sum(v.kind == "int" and not isinstance(v.step, int)
                  for v in induction_variables(loop))
    if s.unroll not in (None, 1) and indices >= copies - 1 > 1:
        return False  # each copy has an index of its own: of more copies nvcc makes more of them
    trip = trip_count(loop)
    counted = len(loop.exits) == 1 and (  # nvcc counts what it has made several copies of
        copies > 1 or (trip is not None and isinstance(trip.variable.step, int)))
    if s.free:  # nvcc unrolls by itself what it counts
        return not counted
    return counted or not (s.apart or s.unroll not in (None, 1))


def _judged(
    forms: Sequence[NvccForm], module: Module, found: Tuning, machine: Profile, request: Launches
) -> dict[str, Judged]:
    """What is made of forms, by the names of their functions."""
    if not forms:
        return {}
    functions = [x.function for x in forms]
    module.functions = [*(f for f in module.functions if f.kind != "entry"), *functions]
    module.order = [*(x for x in module.order if x in module.functions
                      or not isinstance(x, Function)), *functions]
    made = read_ptx(print_ptx(module))
    trips: dict[str, float] = {}
    for x in forms:
        name = str(x.function.name)
        x.function.analyze_cfg()
        made[name].analyze_cfg()
        before, after = (natural_loops(f) for f in (x.function, made[name]))
        for a, b in zip(before, after, strict=True):
            header = str(b.header.name)
            if a.header in x.trips:
                trips[f"{name}:{header}"] = x.trips[a.header]
    only = attrs.evolve(request, trips=trips, loop=" ", launch_bounds=False)
    try:
        judged = tune(made, machine, found.arch, only, judge=found.judge)
    except NvirError:
        return {}
    return {k.name: k.candidates[0] for k in judged.kernels}
