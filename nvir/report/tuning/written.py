"""What `nvir tune` says to write in CUDA, tried by nvcc before it is said.

What is done to PTX and what nvcc makes of the same wish in the source are not the same code: it
unrolls before it optimises, and knows more of pointers. So candidates that CUDA has words for are
put into the source, compiled, and judged as the others are; what is said is the best of them. So is
`__restrict__`, of loops too for which no test in front of them could tell operands apart.

Cost    a call of nvcc and of ptxas for each of ROUNDS, and of PROMISED where pointers may overlap
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.places import SourceLines
from nvir.analysis.source_loops import source_loops
from nvir.ir.errors import NvirError
from nvir.ir.loops import natural_loops
from nvir.ir.module import Module
from nvir.report.explain.trials import (
    Lines,
    Trials,
    parameter_names,
    with_attribute,
    with_pragma,
    with_restrict,
)
from nvir.report.tuning.advice import advice, bounds_text, pointers, pragmas, statements
from nvir.tune.candidates import Choices, LoopSetting
from nvir.tune.search import TIE, WORSE, Judged, KernelTuning, Launches, Tuning, tune
from nvir.tune.weights import dealt

ROUNDS = 3  # of nvcc for the winners of a file
PROMISED = 2  # more for `__restrict__`: alone and with the words of a winner


@attrs.frozen(eq=False)
class WrittenAdvice:
    """What to write in CUDA for a kernel, and what nvcc and ptxas make of that."""

    settings: Choices
    texts: Sequence[str]
    made: Judged


def tried(found: Tuning, trials: Trials, request: Launches) -> dict[str, WrittenAdvice]:
    """The best of what CUDA has words for, as nvcc compiles it, for each kernel that gains by it.

    Each round puts a candidate of every kernel into the source, the fastest first, as long as none
    asks for something else in a loop that instances of a template share.
    """
    best: dict[str, WrittenAdvice] = {}
    winners = {k.name: _in_words(k, trials.module) for k in found.kernels}
    promised = {k.name: _promised(k, trials.module, winners[k.name]) for k in found.kernels}
    left = {name: [*promised[name], *some] for name, some in winners.items()}
    turns = ROUNDS + PROMISED * any(promised.values())
    for _ in range(turns if trials.recompile is not None else 0):
        some = turn(found.kernels, trials.module, left)
        lines, taken = written(trials, some.values())
        changed = trials.recompile(lines) if taken and trials.recompile is not None else None
        if changed is None:
            continue
        try:
            judged = as_written(taken, changed, trials, request)
        except NvirError:  # ptxas refuses it, or does not end in time
            continue
        for name, made in judged.items():
            k, settings = some[name]
            texts = advice(trials.module, name, settings, k.block,
                           parameter_names(trials.source, name))
            base = k.candidates[0]
            told = best[name].made if name in best else base
            if made.spill_bytes <= base.spill_bytes and _gains(made, told, TIE) and (
                _gains(made, base, WORSE)
                and made.cycles.one_warp <= base.cycles.one_warp * WORSE
            ):
                best[name] = WrittenAdvice(settings, texts, made)
    return best


def _gains(made: Judged, other: Judged, by: float) -> bool:
    """Whether one is faster at full occupancy, or about as fast there and faster of one warp."""
    a, b = made.cycles, other.cycles
    return a.full * by <= b.full or (a.full <= b.full * TIE and a.one_warp * by <= b.one_warp)


def turn(
    kernels: Sequence[KernelTuning], module: Module, left: dict[str, list[Choices]]
) -> dict[str, tuple[KernelTuning, Choices]]:
    """The next candidates that say the same of loops that they share, taken out of `left`."""
    some: dict[str, tuple[KernelTuning, Choices]] = {}
    asked: dict[tuple[str, int], object] = {}
    for k in kernels:
        if not left[k.name]:
            continue
        settings = left[k.name][0]
        apart = any(s.apart for _, s in settings.loops)
        wish = pragmas(module, k.name, settings), apart, settings.launch
        places = statements(module, k.name)
        if all(asked.get(p, wish) == wish for p in places):
            asked |= dict.fromkeys(places, wish)
            some[k.name] = k, left[k.name].pop(0)
    return some


def _in_words(k: KernelTuning, module: Module) -> list[Choices]:
    """The candidates of a kernel that are faster and that CUDA has words for, the fastest first."""
    base, several = k.candidates[0], len(pointers(module[k.name])) > 1
    gains = sorted((c for c in k.candidates[1:] if _gains(c, base, TIE)
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


def _promised(k: KernelTuning, module: Module, winners: Sequence[Choices]) -> list[Choices]:
    """`__restrict__` alone and with the fastest of the others, where a loop stores by one pointer
    and loads by another, and none of the winners asks for it."""
    if any(s.apart for settings in winners for _, s in settings.loops):
        return []
    function = module[k.name]
    alias = Analyses.of(function).alias
    for loop in Analyses.of(function).loops if len(pointers(function)) > 1 else ():
        header = str(loop.header.name)
        places = [(i, a.root) for b in loop.blocks for i in b for a in alias.accesses(i)
                  if a.root in function.params and not a.space.startswith("param")]
        stored = {root for i, root in places if i.form.writes}
        loaded = {root for i, root in places if i.form.reads}
        if any(a is not b for a in stored for b in loaded):
            others = dict(winners[0].loops) if winners else {}
            alone = Choices(((header, LoopSetting(apart=True)),))
            others[header] = attrs.evolve(others.get(header, LoopSetting()), apart=True)
            both = Choices(tuple(others.items()), winners[0].launch if winners else None)
            return [alone, *[both] * bool(winners)]
    return []


def written(
    trials: Trials, wanted: Iterable[tuple[KernelTuning, Choices]]
) -> tuple[Lines, list[KernelTuning]]:
    """The source with settings of kernels, and the kernels for which all of theirs has a place."""
    lines: Lines = list(trials.source)
    asked: dict[int, str] = {}
    taken = []
    for k, settings in wanted:
        mine = pragmas(trials.module, k.name, settings)
        places = {line: text for (file, line), text in mine.items() if file == trials.name}
        if len(places) < len(mine) or any(
            asked.get(line, text) != text or with_pragma(trials.source, line, text) is None
            for line, text in places.items()
        ):
            continue
        asked |= places
        taken.append((k, settings))
    for line, text in asked.items():
        lines = with_pragma(lines, line, text) or lines
    kept = []
    for k, settings in taken:  # these may move lines
        changed: Lines | None = lines
        if any(s.apart for _, s in settings.loops):
            changed = with_restrict(lines, k.name)
        if changed and settings.launch is not None:
            changed = with_attribute(changed, k.name, bounds_text(settings.launch, k.block))
        if changed:
            lines = changed
            kept.append(k)
    return lines, kept


def same_code(a: Module, b: Module) -> bool:
    """Whether two modules have the same kernels but for places."""
    def code(m: Module) -> list[object]:
        return [(f.name, f.directives, [str(i).partition("  !loc")[0] for i in f.instructions()])
                for f in m.kernels]

    return code(a) == code(b)


def as_written(
    kernels: Sequence[KernelTuning], changed: Module, trials: Trials, request: Launches
) -> dict[str, Judged]:
    """What a changed source comes to, each loop of it with as many iterations as before."""
    trips = {f"{k.name}:{header}": n for k in kernels
             for header, n in rounds(k, trials.module, changed).items()}
    only = attrs.evolve(request, trips=trips, loop=" ", launch_bounds=False)
    made = tune(changed, trials.machine, trials.arch, only, kernels=[k.name for k in kernels])
    return {k.name: k.candidates[0] for k in made.kernels}


def rounds(k: KernelTuning, before: Module, changed: Module) -> dict[str, float]:
    """How often each loop of a kernel runs in a changed module, so that the source's loops run as
    often as they were taken to; without those whose count is assumed, as it then is again."""
    loops = {x.name: x for x in k.loops if x.source != "assumed"}
    runs = {}
    versions = {}  # run apart from the others, by their copies
    for place, parts in _parts(before, k.name):
        versions.update({(place, copies): loops[header].trips
                         for header, copies, role in parts
                         if role == "version" and header in loops})
        header, copies, _ = max(parts, key=lambda x: x[1])
        if header in loops:
            runs[place] = loops[header].of_source
    found: dict[str, float] = {}
    for place, parts in _parts(changed, k.name):
        most = max(copies for _, copies, _ in parts)
        rest = any(role == "remainder" for *_, role in parts)
        for header, copies, role in parts if place in runs else ():
            n = runs[place]
            if role == "remainder":
                found[header] = dealt(n, most)[1]
            else:  # without a remainder some of the copies run once more
                found[header] = versions.get(
                    (place, copies), dealt(n, copies)[0] if rest else n / copies)
    return found


def _parts(
    module: Module, kernel: str
) -> Iterator[tuple[tuple[object, int], list[tuple[str, int, str]]]]:
    """Of each loop of the source its places, with a number where several have them, and the
    (header, copies, role) of what it became."""
    f = module[kernel]
    f.analyze_cfg()
    lines = SourceLines(f, module)
    seen: Counter[object] = Counter()
    for g in source_loops(natural_loops(f), lines.numbers):
        if g.places:
            names = tuple((lines.file(n), line) for n, line in g.places)
            seen[names] += 1
            yield (names, seen[names]), [(str(p.loop.header.name), p.copies, p.role)
                                         for p in g.parts]
