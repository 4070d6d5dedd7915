"""What `nvir tune` says to write in CUDA, tried by nvcc before it is said.

What is done to PTX and what nvcc makes of the same wish in the source are not the same code: it
unrolls before it optimises, and knows more of pointers. So candidates that CUDA has words for are
put into the source, compiled, and judged as the others are, with what engineers sweep beside
(`wishes`). What is said is the best of all of it, and of what is as good the first.

Kernels with a loop of one line of the source, as instances of a template, are judged together: what
is written there changes all of them.

Cost    a call of nvcc and of ptxas for each of ROUNDS, and of FURTHER
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from statistics import geometric_mean

import attrs
import networkx as nx

from nvir.analysis.places import SourceLines
from nvir.analysis.source_loops import source_loops_of
from nvir.ir.errors import NvirError
from nvir.ir.module import Module
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
    pragmas,
    statements,
)
from nvir.report.tuning.wishes import Round, first, further, is_better
from nvir.tune.candidates import Choices
from nvir.tune.judge import Cycles
from nvir.tune.search import TIE, WORSE, Judged, KernelTuning, Launches, Tuning, tune
from nvir.tune.weights import KernelLoop, dealt

ROUNDS = 4  # of nvcc for what a file's kernels are known to gain by
FURTHER = 8  # more, by the best so far
SIZE = 20_000  # instructions of all kernels that are judged in these; at least LEAST of them
LEAST = 4
UNLIKE = 0.1  # of its iterations by which a loop may differ from what it was
AS_IT_IS = Cycles(1.0, 1.0)


@attrs.frozen(eq=False)
class WrittenAdvice:
    """What to write in CUDA for a kernel, and what nvcc and ptxas make of that."""

    texts: Sequence[str]
    made: Judged


def tried(found: Tuning, trials: Trials, request: Launches) -> dict[str, WrittenAdvice]:
    """The best of what CUDA has words for, as nvcc compiles it, for each kernel that gains by it.

    Each round puts a candidate of every kernel into the source, as long as none asks for something
    else in a loop that they share.
    """
    module = trials.module
    groups = sharing(found.kernels, module)
    done: list[Round] = []
    left = {k.name: first(k, trials) for k in found.kernels}
    more, size = 0, sum(len(b) for k in found.kernels for b in module[k.name].blocks)
    most = min(max(SIZE // max(size, 1), LEAST), FURTHER)
    for _ in range(ROUNDS + most if trials.recompile is not None else 0):
        if more or len(done) == ROUNDS or not any(left.values()):
            left = {k.name: further(k, trials, _leading(group, done), done)
                    for group in groups for k in group}
            more += 1
        if more > most or not any(left.values()):
            break
        done.append(_round(groups, left, trials, request))
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
) -> Round:
    """What comes of the next candidates: nothing where they cannot be written, or nvcc or ptxas
    refuses them or does not end in time."""
    some = turn([k for group in groups for k in group], trials.module, left)
    lines, taken = written(trials, some.values())
    changed = trials.recompile(lines) if taken and trials.recompile is not None else None
    wanted = {name: settings for name, (_, settings) in some.items()}
    if changed is None:
        return Round(wanted, {})
    wanted = {k.name: wanted[k.name] for k in taken}
    kernels = [k for group in groups if any(k.name in wanted for k in group) for k in group]
    try:
        return Round(wanted, as_written(kernels, changed, trials, request))
    except NvirError:
        return Round(wanted, {})


def _best(group: Sequence[KernelTuning], done: Sequence[Round]) -> Round | None:
    """The round by which kernels gain most together and none of them loses."""
    best, told = None, AS_IT_IS
    for one in done:
        mean = _times(group, one)
        if mean is not None and is_better(mean, told, TIE) and is_better(mean, AS_IT_IS, WORSE):
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


def _leading(group: Sequence[KernelTuning], done: Sequence[Round]) -> Round | None:
    """What is gone on from: the best, or what is about as fast and the fastest of one warp."""
    found = _best(group, done)
    near = [(times.one_warp, n) for n, one in enumerate(done)
            if (times := _times(group, one)) is not None]
    if found is None and near and min(near)[0] * WORSE <= 1:
        return done[min(near)[1]]
    return found


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
    """Whether the loops of a kernel run as often as they did: nvcc may tell another line then, and
    those of known counts may be gone."""
    runs = dict(_mains(new, changed))
    was = dict(_mains(k, before))
    known = {names for (names, _), x in was.items() if x.source != "assumed"}
    if any(x.source == "assumed" and names in known for (names, _), x in runs.items()):
        return False
    others = [x.of_source for place, x in runs.items() if place not in was]
    for place, x in was.items():
        made = [runs[place].of_source] if place in runs else others
        like = [n for n in made if abs(n - x.of_source) <= UNLIKE * x.of_source]
        if not like and (place in runs or x.source not in ("known", "block")):
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
    for g in source_loops_of(f, module):
        if g.places:
            names = tuple((lines.file(n), line) for n, line in g.places)
            seen[names] += 1
            yield (names, seen[names]), [(str(p.loop.header.name), p.copies, p.role)
                                         for p in g.parts]
