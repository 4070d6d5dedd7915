"""What `nvir tune` has nvcc try in a source.

first     `__restrict__` alone, the fastest candidates that CUDA has words for, both together
further   what may be added to the best so far: nests of known counts as straight code, copies and
          `__restrict__` together, other copies of the loops that take most, fewer blocks

Cost      linear in the kernel's loops and statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.straight import quiet
from nvir.analysis.straight import statements as loop_statements
from nvir.ir.module import Module
from nvir.ir.opcodes import OpKind
from nvir.report.explain.trials import Trials
from nvir.report.tuning.advice import copies_of, lines_of, pointers, pragmas
from nvir.tune.candidates import Choices, LoopSetting
from nvir.tune.judge import Cycles
from nvir.tune.search import TIE, Judged, KernelTuning, resident

SHARE = 0.1  # of a kernel's cycles that a loop takes of which other copies are tried
SWEPT = 2  # such loops
COPIES = 8  # of them, from which on more are tried
FEWER = (4, 2, 1)
WAITING = 0.8  # of the cycles at full occupancy that one warp's are, over the number of warps
STRAIGHT = 4000  # instructions that a nest of known counts comes to


@attrs.frozen(eq=False)
class Round:
    """What was put into the source, kernel by kernel, and what kernels came to."""

    wanted: Mapping[str, Choices]
    made: Mapping[str, Judged]


def first(k: KernelTuning, trials: Trials) -> list[Choices]:
    """`__restrict__` alone where it may help, the fastest candidates that CUDA has words for, and
    both together."""
    winners = _in_words(k, trials.module)
    promised = _promised(k, trials, winners)
    return [*promised[:1], *winners[:1], *promised[1:], *winners[1:]]


def further(
    k: KernelTuning, trials: Trials, best: Round | None, done: Sequence[Round]
) -> list[Choices]:
    """What is tried of the best so far next."""
    if best is not None and k.name not in best.wanted:
        return []
    module = trials.module
    settings = best.wanted[k.name] if best is not None else Choices(())
    before = [x.wanted[k.name] for x in done if k.name in x.wanted]
    copies = copies_of(module, k.name, is_placed=True)
    for made in (*_enclosing(k, trials, settings), _straight(k, copies, settings),
                 _apart_too(settings, before),
                 _fewer_blocks(k, module, settings), *_other_copies(k, copies, settings, done),
                 *_other_copies(k, copies, Choices(()), done)):
        if made is not None and made not in before:
            return [made]
    return []


def _in_words(k: KernelTuning, module: Module) -> list[Choices]:
    """The candidates of a kernel that are faster and that CUDA has words for, the fastest first."""
    base, several = k.candidates[0], len(pointers(module[k.name])) > 1
    gains = sorted((c for c in k.candidates[1:] if is_better(c.cycles, base.cycles, TIE)
                    and c.spill_bytes <= base.spill_bytes and c.blocks_per_sm),
                   key=lambda c: c.cycles.full)
    found = []
    for settings in (c.settings for c in gains):
        said = [s for _, s in settings.loops if s.unroll is not None or s.free]
        silent = any(s.depth or s.converted or s.vectors or (s.apart and not several)
                     for _, s in settings.loops)
        if not silent and len(pragmas(module, k.name, settings)) == len(said):
            found.append(settings)
    return found


def _promised(k: KernelTuning, trials: Trials, winners: Sequence[Choices]) -> list[Choices]:
    """`__restrict__` alone, and with the fastest of the others if none of them asks for it, where a
    loop loads from global memory and stores, or waits for other threads; or a kernel without."""
    function = trials.module[k.name]
    accesses = Analyses.of(function).alias.accesses
    parts = [(str(x.header.name), x.blocks) for x in Analyses.of(function).loops]
    parts = parts or [(f"{trials.name}:0", function.blocks)]  # of the kernel as a whole
    for header, blocks in parts if pointers(function) else ():
        inside = [i for b in blocks for i in b]
        stored = {a.root for i in inside if i.form.writes for a in accesses(i)}
        loaded = {a.root for i in inside if i.form.reads for a in accesses(i)
                  if a.space in ("", "global")}
        waits = any(i.form.kind is OpKind.BARRIER for i in inside)
        if loaded and (waits or any(a is not b or a is None for a in stored for b in loaded)):
            others = dict(winners[0].loops) if winners else {}
            alone = Choices(((header, LoopSetting(apart=True)),))
            others[header] = attrs.evolve(others.get(header, LoopSetting()), apart=True)
            both = Choices(tuple(others.items()), winners[0].launch if winners else None)
            said = any(s.apart for settings in winners for _, s in settings.loops)
            return [alone, *[both] * bool(winners and not said)]
    return []


def _enclosing(k: KernelTuning, trials: Trials, settings: Choices) -> Iterator[Choices]:
    """All iterations of loops of the source of known counts around those of the code: nvcc may say
    nothing of such a loop's own place."""
    lines = lines_of(trials.module, k.name)
    mine = {line for file, line in lines.values() if file == trials.name}
    size = sum(len(b) for b in trials.module[k.name].blocks)
    for s in loop_statements(quiet(trials.source)):
        within = {line for line in mine if line in s.body and line not in s.head}
        around = [y.trips for x in k.loops if lines.get(x.name, ("", 0))[1] in within
                  for y in x.outer() if y.source == "known" and not lines[y.name][0]]
        trips = s.trips or max(around, default=0)
        here = f"{trials.name}:{s.head.start}"
        if within and trips and trips * size <= STRAIGHT and (
            not mine.intersection(s.head) and here not in dict(settings.loops)
        ):
            outside = [x for x in settings.loops if within.isdisjoint(
                line for _, line in pragmas(trials.module, k.name, Choices((x,))))]
            yield attrs.evolve(settings, loops=(*outside, (here, LoopSetting(0))))


def _straight(
    k: KernelTuning, copies: Mapping[str, int], settings: Choices
) -> Choices | None:
    """All iterations of the nest that runs most instructions, of those whose counts are known."""
    found: list[tuple[float, str]] = []
    for nest in k.loops:
        inner = [x for x in k.loops if nest in x.outer()]
        size = nest.work + sum(x.work for x in inner)
        if inner and copies.get(nest.name) == 1 and size <= STRAIGHT and all(
            x.source == "known" for x in (nest, *inner, *nest.outer())
        ):
            found.append((size, nest.name))
    if not found or _share(k, max(found)[1]) < SHARE:
        return None
    whole = max(found)[1]
    outside = [x.name for x in k.loops
               if x.name != whole and not any(y.name == whole for y in x.outer())]
    return attrs.evolve(settings, loops=(
        *[x for x in settings.loops if x[0] in outside], (whole, LoopSetting(0))))


def _share(k: KernelTuning, loop: str) -> float:
    """The share of a kernel's cycles that a loop takes, with those in it."""
    base = k.candidates[0]
    mine = [x.name for x in k.loops if x.name == loop or any(y.name == loop for y in x.outer())]
    return sum(base.loops.get(x, 0.0) for x in mine) / base.cycles.full


def _apart_too(settings: Choices, before: Sequence[Choices]) -> Choices | None:
    """`__restrict__` beside copies, which alone may have changed nothing."""
    alone = [x for x in before if len(x.loops) == 1 and x.loops[0][1] == LoopSetting(apart=True)]
    if not alone or not settings.loops or any(s.apart for _, s in settings.loops):
        return None
    others = dict(settings.loops)
    header = alone[0].loops[0][0]
    others[header] = attrs.evolve(others.get(header, LoopSetting()), apart=True)
    return attrs.evolve(settings, loops=tuple(others.items()))


def _other_copies(
    k: KernelTuning, copies: Mapping[str, int], settings: Choices, done: Sequence[Round]
) -> Iterator[Choices]:
    """Other numbers of copies of the loops that take most: twice as many as are best, as far as
    their counts leave room; of a loop that gained nothing by more of them, fewer. Not of one whose
    code nvcc leaves as it is whatever the source asks for."""
    base = k.candidates[0]
    some = [x for x in k.loops if copies.get(x.name) and _share(k, x.name) >= SHARE]
    for loop in sorted(some, key=lambda x: -base.loops.get(x.name, 0.0))[:SWEPT]:
        others = dict(settings.loops)
        setting = others.get(loop.name, LoopSetting())
        now = setting.source or copies[loop.name] * (
            1 if setting.unroll is None else setting.unroll)
        more = max(COPIES, 2 * now)
        for n in (more, *([] if setting.source else FEWER)) if now else ():
            others[loop.name] = attrs.evolve(setting, unroll=None, source=n)
            made = attrs.evolve(settings, loops=tuple(others.items()))
            if n != now and (n <= loop.of_source or n == 1):
                yield made
            before, after = _made(k, settings, done), _made(k, made, done)
            if after is not None and before is not None and (
                (after.cycles, after.registers) == (before.cycles, before.registers)
            ):
                break


def _made(k: KernelTuning, settings: Choices, done: Sequence[Round]) -> Judged | None:
    """What nvcc made of a wish."""
    if not settings.loops and settings.launch is None:
        return k.candidates[0]
    return next((x.made[k.name] for x in done
                 if x.wanted.get(k.name) == settings and k.name in x.made), None)


def _fewer_blocks(k: KernelTuning, module: Module, settings: Choices) -> Choices | None:
    """Early loads are worth registers, where they need not wait for stores or one warp's time is
    what counts: ptxas takes them where it is told how few blocks there may be."""
    base = k.candidates[0]
    warps = resident(base.blocks_per_sm, k.block)
    waits = base.cycles.one_warp > WAITING * warps * base.cycles.full and any(
        i.form.reads and i.form.space in ("", "global")
        for x in Analyses.of(module[k.name]).loops for b in x.blocks for i in b)
    blocks = base.blocks_per_sm // 2
    if settings.launch is not None or not blocks or not (
        waits or any(s.apart for _, s in settings.loops)
    ):
        return None
    return attrs.evolve(settings, launch=("minnctapersm", blocks))


def is_better(a: Cycles, b: Cycles, by: float) -> bool:
    """Whether one is faster at full occupancy, or about as fast there and faster of one warp."""
    return a.full * by <= b.full or (a.full <= b.full * TIE and a.one_warp * by <= b.one_warp)
