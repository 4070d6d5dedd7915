"""What to write in CUDA for the settings of a candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.places import SourceLines
from nvir.analysis.source_loops import parts_by_header
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.ir.opcodes import OpKind
from nvir.ir.types import ScalarType
from nvir.ir.values import Value
from nvir.report.facts import has_bounds
from nvir.tune.candidates import Choices, LoopSetting


@attrs.frozen
class Change:
    """One thing to write in CUDA.

    text        what, code in backquotes
    place       "k.cu:12", or "$L (line 21)" of the PTX; empty where it is the kernel's
    file, line  of the place: the name of a file of the source, or none and a line of the PTX
    note        why it is not what the settings say
    """

    text: str
    place: str = ""
    file: str = ""
    line: int = 0
    note: str = ""

    def __str__(self) -> str:
        text = self.text if self.text.startswith("no ") else self.text.replace("`", "")
        return text + f" at {self.place}" * bool(self.place) + f" ({self.note})" * bool(self.note)


def advice(
    module: Module, kernel: str, settings: Choices, block: int, names: Sequence[str] = ()
) -> list[str]:
    """A line for each change of a kernel, whose parameters have these names in the source."""
    return [str(c) for c in changes(module, kernel, settings, block, names)]


def changes(
    module: Module, kernel: str, settings: Choices, block: int, names: Sequence[str] = ()
) -> list[Change]:
    """What to write for the settings, the loops' by their places in the source if known."""
    places = _places(module, kernel)
    out = []
    several = len(pointers(module[kernel])) > 1
    if several and any(s.apart for _, s in settings.loops):
        out.append(Change(f"`__restrict__` on {_named(module[kernel], names)}",
                          note="where they never overlap"))
    for header, setting in settings.loops:
        place, copies = _at(places, header)
        out += [attrs.evolve(place, text=text, note=note)
                for text, note in _of_loop(setting, copies, several)]
    if settings.launch is not None:
        name, n = settings.launch
        has_other = name == "minnctapersm" or has_bounds(module[kernel])
        other = "" if has_other else f", or `-maxrregcount={n}`"
        out.append(Change(f"`{bounds_text(settings.launch, block)}` on the kernel{other}"))
    return out


def bounds_text(launch: tuple[str, int], block: int) -> str:
    """The attribute of CUDA that a launch bound comes of."""
    name, n = launch
    return f"__launch_bounds__({block}, {n})" if name == "minnctapersm" else f"__maxnreg__({n})"


def pragmas(module: Module, kernel: str, settings: Choices) -> dict[tuple[str, int], str]:
    """(file, line) of loops of the source and the pragma that the settings come to there."""
    places = _places(module, kernel)
    out = {}
    for header, setting in settings.loops:
        place, copies = _at(places, header)
        for text, _ in _of_loop(setting, copies, True) if place.file else ():
            if text.startswith(("`#pragma", "no `")):
                what = "" if text.startswith("no") else text.strip("`")
                out[place.file, place.line] = what.removeprefix("#pragma ")
    return out


def copies_of(module: Module, kernel: str, is_placed: bool = False) -> dict[str, int]:
    """How often the body of the source's loop stands in each loop; 0 of a remainder, and with
    `is_placed` of one whose place in the source is not known."""
    return {header: copies if at.file or not is_placed else 0
            for header, (at, copies) in _places(module, kernel).items()}


def lines_of(module: Module, kernel: str) -> dict[str, tuple[str, int]]:
    """(file, line) in the source of each loop; file "" where it is not known."""
    return {header: (at.file, at.line) for header, (at, _) in _places(module, kernel).items()}


def statements(module: Module, kernel: str) -> set[tuple[str, int]]:
    """(file, line) of the loops of the source that a kernel has; others may have them too."""
    return {x for x in lines_of(module, kernel).values() if x[0]}


def pointers(kernel: Function) -> list[int]:
    """The numbers, from 0, of the parameters that point to what the kernel accesses; a structure
    that has such a pointer is none."""
    if kernel.cfg_state != "fresh":
        kernel.analyze_cfg()
    accesses = Analyses.of(kernel).alias.accesses
    roots = {a.root for i in kernel.instructions() if i.form.reads or i.form.writes
             for a in accesses(i) if not a.space.startswith("param")}
    return [n for n, p in enumerate(kernel.params)
            if isinstance(p.value_type, ScalarType) and (p in roots or _is_stepped(p, kernel))]


def _is_stepped(p: Value, kernel: Function) -> bool:
    """Whether a parameter is an address from which on a loop steps."""
    work = [i for i in kernel.instructions() if p in i.operands and i.type.bits == 64]
    seen: set[Value] = {*work}
    while work:
        for i in work.pop().users:
            if any(i.operands[base] in seen for base, _ in i.form.addresses):
                return True
            moves = i.is_phi or i.form.kind in (OpKind.COPY, OpKind.SUM) or i.form.name == "cvta"
            if moves and i.type.bits == 64 and i not in seen:
                seen.add(i)
                work.append(i)
    return False


def _named(kernel: Function, names: Sequence[str]) -> str:
    """The pointers of a kernel: as the source names them, or "param_0" as nvcc's PTX does."""
    found = [names[n] if n < len(names) else
             str(kernel.params[n].name).removeprefix(f"{kernel.name}_") for n in pointers(kernel)]
    return f"{', '.join(found[:-1])} and {found[-1]}"


def _of_loop(setting: LoopSetting, copies: int, several: bool) -> Iterator[tuple[str, str]]:
    """What to write for a loop, and a note. `copies` are the front end's in the loop, which a
    factor in the source has to hold too; 0 of a remainder, which no pragma of the source reaches.
    `several` pointers may be told apart in the source, places of one may not.
    """
    if setting.apart and not several:
        yield "take the PTX, whose loop tests whether its accesses overlap", ""
    if setting.vectors:
        yield "`float4` or another vector for its neighbouring accesses (or take the PTX)", ""
    if setting.converted:
        yield "small `if`s of the loop as `c ? a : b` (or take the PTX)", ""
    if setting.free and copies == 1:
        yield "no `#pragma unroll 1` (or another factor)", ""
    if setting.source and copies:
        yield f"`#pragma unroll {setting.source}`", ""
    elif setting.unroll == 0 and copies:
        yield "`#pragma unroll`", ""
    elif setting.unroll is not None and copies:
        note = f"{copies} copies are in the PTX already: {copies} × {setting.unroll}"
        yield f"`#pragma unroll {setting.unroll * copies}`", note if copies > 1 else ""
    if setting.depth:
        iterations = "iteration" if setting.depth == 1 else "iterations"
        yield f"load {setting.depth} {iterations} ahead into registers (or take the PTX)", ""


def _at(places: Mapping[str, tuple[Change, int]], header: str) -> tuple[Change, int]:
    """The place of a loop, and its copies; a loop of the source that no loop of the code is known
    to come of is asked for by its place."""
    if header in places:
        return places[header]
    file, _, line = header.rpartition(":")
    return Change("", header, file, int(line)), 1


def _places(module: Module, kernel: str) -> dict[str, tuple[Change, int]]:
    """Of each loop the place of its statement, and how often its body stands in it."""
    f = module[kernel]
    lines = SourceLines(f, module)
    found = {}
    for header, (g, p) in parts_by_header(f, module).items():
        if g.places:
            file, line = lines.file(g.places[0][0]), g.places[0][1]
            at = Change("", f"{file}:{line}", file, line)
        else:
            line = p.loop.header.line
            at = Change("", header + f" (line {line})" * bool(line), line=line)
        found[header] = at, 0 if p.role == "remainder" else p.copies
    return found
