"""What `nvir tune` says to write in CUDA, tried by nvcc before it is said.

What is done to PTX and what nvcc makes of the same wish in the source are not the same code: it
unrolls before it optimises, and knows more of pointers. So candidates that CUDA has words for are
put into the source, compiled, and judged as the others are. So is `__restrict__`, of loops too for
which no test in front of them could tell operands apart; and more copies of the loop that takes
most, by the best so far. What is said is the best of all of it, and of what is as good the first.

Kernels with a loop of one line of the source, as instances of a template, are judged together: what
is written there changes all of them.

Cost    a call of nvcc and of ptxas for each of ROUNDS, and of FURTHER
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from statistics import geometric_mean

import attrs
import networkx as nx

from nvir.analysis.analyses import Analyses
from nvir.analysis.places import SourceLines
from nvir.analysis.source_loops import source_loops
from nvir.analysis.straight import quiet
from nvir.analysis.straight import statements as loop_statements
from nvir.ir.errors import NvirError
from nvir.ir.loops import natural_loops
from nvir.ir.module import Module
from nvir.ir.opcodes import OpKind
from nvir.report.explain.trials import (
    Lines,
    Trials,
    bare_name,
    parameter_names,
    with_attribute,
    with_pragma,
    with_restrict,
)
from nvir.report.tuning.advice import (
    bounds_text,
    changes,
    copies_of,
    pointers,
    pragmas,
    statements,
)
from nvir.tune.candidates import Choices, LoopSetting
from nvir.tune.judge import Cycles
from nvir.tune.search import TIE, WORSE, Judged, KernelTuning, Launches, Tuning, tune
from nvir.tune.weights import KernelLoop, dealt

ROUNDS = 4  # of nvcc for what a file's kernels are known to gain by
FURTHER = 8  # more, by the best so far
SIZE = 20_000  # instructions of all kernels that are judged in these; at least LEAST of them
LEAST = 4
SHARE = 0.1  # of a kernel's cycles that a loop takes of which other copies are tried
SWEPT = 2  # such loops
COPIES = 8  # of them, from which on more are tried
FEWER = (4, 2, 1)
STRAIGHT = 4000  # instructions that a nest of known counts comes to
UNLIKE = 0.1  # of its iterations by which a loop may differ from what it was
AS_IT_IS = Cycles(1.0, 1.0)


@attrs.frozen(eq=False)
class WrittenAdvice:
    """What to write in CUDA for a kernel, and what nvcc and ptxas make of that."""

    texts: Sequence[str]
    made: Judged


@attrs.frozen(eq=False)
class Round:
    """What was put into the source, kernel by kernel, and what kernels came to."""

    wanted: Mapping[str, Choices]
    made: Mapping[str, Judged]


def tried(found: Tuning, trials: Trials, request: Launches) -> dict[str, WrittenAdvice]:
    """The best of what CUDA has words for, as nvcc compiles it, for each kernel that gains by it.

    Each round puts a candidate of every kernel into the source, as long as none asks for something
    else in a loop that they share.
    """
    module = trials.module
    groups = sharing(found.kernels, module)
    done: list[Round] = []
    left = {k.name: _first(k, module) for k in found.kernels}
    further, size = 0, sum(len(b) for k in found.kernels for b in module[k.name].blocks)
    most = min(max(SIZE // max(size, 1), LEAST), FURTHER)
    for _ in range(ROUNDS + most if trials.recompile is not None else 0):
        if further or len(done) == ROUNDS or not any(left.values()):
            left = {k.name: _further(k, trials, _leading(group, done), done)
                    for group in groups for k in group}
            further += 1
        if further > most or not any(left.values()):
            break
        one = _round(groups, left, trials, request)
        done += [one] if one is not None else []
    best = [(k, group, one) for group in groups
            if (one := _best(group, done)) is not None for k in group]
    return {k.name: WrittenAdvice(_texts(k, group, one, trials), one.made[k.name])
            for k, group, one in best}


def sharing(kernels: Sequence[KernelTuning], module: Module) -> list[list[KernelTuning]]:
    """The kernels in groups, in their order, that a change of one line of the source may change:
    those with a loop of the same line, and the instances of a template."""
    graph: nx.Graph[Hashable] = nx.Graph()
    for n, k in enumerate(kernels):
        graph.add_node(n)
        graph.add_edges_from((n, x) for x in [*statements(module, k.name), bare_name(k.name)])
    return [[kernels[n] for n in sorted(x for x in group if isinstance(x, int))]
            for group in nx.connected_components(graph)]


def _round(
    groups: Sequence[Sequence[KernelTuning]], left: dict[str, list[Choices]], trials: Trials,
    request: Launches,
) -> Round | None:
    """What comes of the next candidates; None where they cannot be written, or nvcc or ptxas
    refuses them or does not end in time."""
    some = turn([k for group in groups for k in group], trials.module, left)
    lines, taken = written(trials, some.values())
    changed = trials.recompile(lines) if taken and trials.recompile is not None else None
    if changed is None:
        return None
    wanted = {k.name: some[k.name][1] for k in taken}
    kernels = [k for group in groups if any(k.name in wanted for k in group) for k in group]
    try:
        return Round(wanted, as_written(kernels, changed, trials, request))
    except NvirError:
        return None


def _best(group: Sequence[KernelTuning], done: Sequence[Round]) -> Round | None:
    """The round by which kernels gain most together and none of them loses."""
    best, told = None, AS_IT_IS
    for one in done:
        mean = _times(group, one)
        if mean is not None and _gains(mean, told, TIE) and _gains(mean, AS_IT_IS, WORSE):
            best, told = one, mean
    return best


def _times(group: Sequence[KernelTuning], one: Round) -> Cycles | None:
    """The cycles of kernels after a round, as a share of those before, on average; None where one
    of them loses by it, or where it was no round of theirs."""
    if not any(k.name in one.wanted for k in group) or any(k.name not in one.made for k in group):
        return None
    pairs = [(one.made[k.name], k.candidates[0]) for k in group]
    times = [Cycles(_ratio(a.cycles.one_warp, b.cycles.one_warp),
                    _ratio(a.cycles.full, b.cycles.full)) for a, b in pairs]
    if max(max(t) for t in times) > WORSE or any(a.spill_bytes > b.spill_bytes for a, b in pairs):
        return None
    return Cycles(geometric_mean(t.one_warp for t in times), geometric_mean(t.full for t in times))


def _ratio(a: float, b: float) -> float:
    return a / b if a and b else 1.0


def _texts(
    k: KernelTuning, group: Sequence[KernelTuning], best: Round, trials: Trials
) -> list[str]:
    """What to write for a kernel: its own, or what others of its group have there."""
    mine = statements(trials.module, k.name)
    some = [k] if k.name in best.wanted else [x for x in group if x.name in best.wanted]
    found = [c for x in some for c in changes(
        trials.module, x.name, best.wanted[x.name], x.block, parameter_names(trials.source, x.name)
    ) if x is k or ((c.file, c.line) in mine if c.line else bare_name(x.name) == bare_name(k.name))]
    return list(dict.fromkeys(map(str, found)))


def _first(k: KernelTuning, module: Module) -> list[Choices]:
    """`__restrict__` alone where it may help, the fastest candidates that CUDA has words for, and
    both together."""
    winners = _in_words(k, module)
    promised = _promised(k, module, winners)
    return [*promised[:1], *winners[:1], *promised[1:], *winners[1:]]


def _further(
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
                 *_other_copies(k, copies, settings, done), _fewer_blocks(k, settings)):
        if made is not None and made not in before:
            return [made]
    return []


def _enclosing(k: KernelTuning, trials: Trials, settings: Choices) -> Iterator[Choices]:
    """All iterations of loops of the source of known counts around those of the code: nvcc may say
    nothing of such a loop's own place."""
    mine = {line for file, line in statements(trials.module, k.name) if file == trials.name}
    size = sum(len(b) for b in trials.module[k.name].blocks)
    for s in loop_statements(quiet(trials.source)):
        within = {line for line in mine if line in s.body and line not in s.head}
        here = f"{trials.name}:{s.head.start}"
        if within and s.trips and s.trips * size <= STRAIGHT and (
            not mine.intersection(s.head) and here not in dict(settings.loops)
        ):
            loops = [x for x in settings.loops
                     if within.isdisjoint(x[1] for x in pragmas(trials.module, k.name,
                                                                Choices((x,))))]
            yield attrs.evolve(settings, loops=(
                *loops, (here, LoopSetting(0))))


def _straight(
    k: KernelTuning, copies: Mapping[str, int], settings: Choices
) -> Choices | None:
    """All iterations of the nest that runs most instructions, of those whose counts are known."""
    found: list[tuple[float, str]] = []
    for nest in k.loops:
        inner = [x for x in k.loops if nest in x.outer()]
        size = _instructions(nest) + sum(map(_instructions, inner))
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


def _instructions(x: KernelLoop) -> float:
    """Instructions of its own that a loop and those around it run."""
    return math.prod(y.trips for y in (x, *x.outer())) * len(x.own)


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
            if _is_left(k, made, done):
                break


def _is_left(k: KernelTuning, settings: Choices, done: Sequence[Round]) -> bool:
    """Whether code came to what it was."""
    base = k.candidates[0]
    made = [x.made[k.name] for x in done if x.wanted.get(k.name) == settings and k.name in x.made]
    return any(x.cycles == base.cycles and x.registers == base.registers for x in made)


def _fewer_blocks(k: KernelTuning, settings: Choices) -> Choices | None:
    """Loads that need not wait for stores are worth registers: ptxas takes them where it is told
    how few blocks there may be."""
    blocks = k.candidates[0].blocks_per_sm // 2
    if settings.launch is not None or not blocks or not any(s.apart for _, s in settings.loops):
        return None
    return attrs.evolve(settings, launch=("minnctapersm", blocks))


def _leading(group: Sequence[KernelTuning], done: Sequence[Round]) -> Round | None:
    """What is gone on from: the best, or what is about as fast and the fastest of one warp."""
    found = _best(group, done)
    near = [(times.one_warp, n) for n, one in enumerate(done)
            if (times := _times(group, one)) is not None]
    if found is None and near and min(near)[0] * WORSE <= 1:
        return done[min(near)[1]]
    return found


def _gains(a: Cycles, b: Cycles, by: float) -> bool:
    """Whether one is faster at full occupancy, or about as fast there and faster of one warp."""
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
    gains = sorted((c for c in k.candidates[1:] if _gains(c.cycles, base.cycles, TIE)
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
    """`__restrict__` alone, and with the fastest of the others if none of them asks for it, where a
    loop loads from global memory and stores, or waits for other threads."""
    function = module[k.name]
    accesses = Analyses.of(function).alias.accesses
    for loop in Analyses.of(function).loops if pointers(function) else ():
        header = str(loop.header.name)
        inside = [i for b in loop.blocks for i in b]
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
    """What a changed source comes to, each loop of it with as many iterations as before where its
    code does not tell how many; without kernels of which a loop has others, as one that can have
    fewer than were assumed: the code as it was would have those too."""
    given, expected = (
        {f"{k.name}:{header}": n for k in kernels
         for header, n in rounds(k, trials.module, changed, is_given).items()}
        for is_given in (True, False))
    only = attrs.evolve(request, trips=given, expected=expected, loop=" ", launch_bounds=False)
    made = tune(changed, trials.machine, trials.arch, only, kernels=[k.name for k in kernels])
    return {new.name: new.candidates[0] for k, new in zip(kernels, made.kernels, strict=True)
            if _is_as_long(k, trials.module, new, changed)}


def _is_as_long(
    k: KernelTuning, before: Module, new: KernelTuning, changed: Module
) -> bool:
    """Whether the loops of a kernel whose count was not known run as often as they did, of which
    nvcc may tell another line then, and those of which it was are known still."""
    runs = dict(_mains(new, changed))
    was = dict(_mains(k, before))
    known = {names for (names, _), x in was.items() if x.source != "assumed"}
    if any(x.source == "assumed" and names in known for (names, _), x in runs.items()):
        return False
    others = [x.of_source for place, x in runs.items() if place not in was]
    for place, x in was.items():
        made = [runs[place].of_source] if place in runs else others
        like = [n for n in made if abs(n - x.of_source) <= UNLIKE * x.of_source]
        if not like and x.source not in ("known", "block"):
            return False
        if like and place not in runs:
            others.remove(like[0])
    return True


def _mains(
    k: KernelTuning, module: Module
) -> Iterator[tuple[tuple[object, int], KernelLoop]]:
    """Of each loop of the source the loop with most copies of it."""
    loops = {x.name: x for x in k.loops}
    for place, parts in _parts(module, k.name):
        header, *_ = max(parts, key=lambda x: x[1])
        if header in loops:
            yield place, loops[header]


def rounds(
    k: KernelTuning, before: Module, changed: Module, is_given: bool
) -> dict[str, float]:
    """How often each loop of a kernel runs in a changed module, so that the source's loops run as
    often as they were taken to: of those whose count was given, or of the others; without those
    whose count is assumed, as it then is again."""
    loops = {x.name: x for x in k.loops
             if x.source != "assumed" and (x.source == "given") == is_given}
    runs = {place: x.of_source for place, x in _mains(k, before) if x.name in loops}
    versions = {}  # run apart from the others, by their copies
    for place, parts in _parts(before, k.name):
        versions.update({(place, copies): loops[header].trips
                         for header, copies, role in parts
                         if role == "version" and header in loops})
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
