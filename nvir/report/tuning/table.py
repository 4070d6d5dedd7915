"""What `nvir tune` found: a table for each kernel, what to write in CUDA, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from nvir.analysis.source_loops import source_loops
from nvir.ir.function import Function
from nvir.ir.loops import natural_loops
from nvir.ir.module import Module
from nvir.ir.symbols import Param
from nvir.report.facts import has_bounds
from nvir.report.names import spoken
from nvir.report.places import SourceLines
from nvir.report.table import Line, columns, short
from nvir.sm.occupancy import blocks_text
from nvir.tune.candidates import Choices, LoopSetting
from nvir.tune.judge import Cycles
from nvir.tune.search import FULL, IN_ORDER, MODEL_ERROR, WORSE, Judged, KernelTuning, Tuning

if TYPE_CHECKING:
    from nvir.report.tuning.written import WrittenAdvice

SCHEMA = "nvir.tune/1"
_HEAD = (
    "", "id", "settings", "registers", "spills", "blocks/SM", "one warp", "full", "measured", "")
_RIGHT = (False, True, False, True, True, True, True, True, True, False)
_MEASURED = 8  # the column of what a GPU took
SETTINGS = 64  # columns of a candidate's settings


Tried = Mapping[str, "WrittenAdvice"]  # by kernel


def tuning_json(tuning: Tuning, module: Module, tried: Tried | None = None) -> dict[str, Any]:
    """The document of schema `nvir.tune/1`."""
    return {"schema": SCHEMA, "arch": tuning.arch, "judge": tuning.judge,
            "loads_hit": tuning.level,
            "kernels": [_kernel_json(k, module, tried) for k in tuning.kernels]}


def _kernel_json(k: KernelTuning, module: Module, tried: Tried | None) -> dict[str, Any]:
    found = tried.get(k.name) if tried is not None else None
    untried = advice(module, k.name, k.winner.settings, k.block) if tried is None else []
    return {
        "name": k.name, "chosen": k.chosen,
        "block": k.block, "block_assumed": k.block_assumed,
        "loops": [{"header": x.name, "trips": x.trips, "source": x.source} for x in k.loops],
        "advice": untried if found is None else list(found.texts),
        "tried": None if found is None else _figures_json(found.made),
        "candidates": [
            {"id": c.id, "settings": c.settings.to_json(), **_figures_json(c),
             "pareto": c.is_pareto} for c in k.candidates
        ],
        "refused": [{"settings": s.to_json(), "reason": why} for s, why in k.refused],
    }


def _figures_json(c: Judged) -> dict[str, Any]:
    return {
        "registers": c.registers, "spill_bytes": c.spill_bytes, "blocks_per_sm": c.blocks_per_sm,
        "cycles": {"one_warp": round(c.cycles.one_warp, 1), "full": round(c.cycles.full, 1)},
        **({"measured_us": round(c.measured, 3)} if c.measured is not None else {}),
    }


def tuning_lines(
    tuning: Tuning, module: Module, every: bool = False, tried: Tried | None = None
) -> Iterator[Line]:
    """The tables. Of many candidates only those that matter are listed, unless `every`."""
    by = "ptxas" if tuning.judge == "sass" else "the model of ptxas"
    yield f"{tuning.arch} · judged by {by} · loads hit {tuning.level.upper()}", "bold"
    if tuning.judge == "model":
        yield (f"predicted: of pairs of candidates over {100 * WORSE - 100:.0f} % apart "
               f"{100 * IN_ORDER:.0f} % are in the order of the real code; what is less than "
               f"{100 * MODEL_ERROR - 100:.0f} % faster is not taken"), "dim"
    yield ("spills: bytes a thread; one warp, full: cycles of a warp alone and at full occupancy "
           "(times those of the kernel as it is)"), "dim"
    for k in tuning.kernels:
        yield "", ""
        yield f"kernel {short(spoken(k.name))}", "bold"
        yield from ((f"  {text}", "dim") for text in _said(k))
        rows = [_row(c, k) for c in k.candidates if every or _matters(c, k)]
        table: list[Sequence[str]] = [_HEAD, *rows]
        right: Sequence[bool] = _RIGHT
        if k.candidates[0].measured is None:
            table = [(*row[:_MEASURED], *row[_MEASURED + 1 :]) for row in table]
            right = (*right[:_MEASURED], *right[_MEASURED + 1 :])
        for n, line in enumerate(columns(table, right)):
            yield f"  {line}", "" if n else "dim"
        hidden = len(k.candidates) - len(rows)
        if hidden:
            yield f"  and {hidden} more that others beat (--all)", "dim"
        left_out = sum(why == FULL for _, why in k.refused)
        if left_out:
            room = f"{tuning.most} instructions"
            yield f"  {left_out} settings were not tried: {FULL} ({room})", "dim"
        yield from _to_write(k, module, tried)
        if not k.chosen:
            yield "  nothing is better than the kernel as it is", ""


def _to_write(k: KernelTuning, module: Module, tried: Tried | None) -> Iterator[Line]:
    """What to write in CUDA, and what that came to where nvcc tried it."""
    if tried is None:
        texts: Sequence[str] = advice(module, k.name, k.winner.settings, k.block)
    else:
        texts = tried[k.name].texts if k.name in tried else ()
    yield from ((f"  write: {text}", "green") for text in texts)
    if tried is None and texts:
        yield "  nvcc may make other code of that; the PTX (-o) is what was judged", "dim"
    elif tried is not None and texts:
        c, base = tried[k.name].made, k.candidates[0].cycles
        yield (f"  nvcc then makes of it: {c.registers} registers, {c.spill_bytes} bytes "
               f"spilled, {blocks_text(c.blocks_per_sm)}, cycles "
               f"{' alone, '.join(_times(c, base))} at full occupancy"), ""
    elif k.chosen and tried is not None:
        yield "  what CUDA has words for gains nothing by nvcc: take the PTX (-o)", ""


def _said(k: KernelTuning) -> Iterator[str]:
    assumed = " (assumed; --block says it)" if k.block_assumed else ""
    yield f"{k.block} threads a block{assumed}"
    for x in k.loops:
        if x.source == "rest":
            yield f"loop {x.name}: 1 to {x.trips} iterations"
        else:
            how = " (assumed; --trip says it)" if x.source == "assumed" else f" ({x.source})"
            yield f"loop {x.name}: {x.trips} iterations{how}"


def _matters(c: Judged, k: KernelTuning) -> bool:
    return not c.id or c.id == k.chosen or c.is_pareto


def _row(c: Judged, k: KernelTuning) -> list[str]:
    base = k.candidates[0].cycles
    us = c.measured
    return [
        "→" if c.id == k.chosen else "", str(c.id), short(str(c.settings), SETTINGS),
        str(c.registers), str(c.spill_bytes), str(c.blocks_per_sm),
        *_times(c, base),
        "" if us is None else f"{us:.1f} µs {_ratio(us, k.candidates[0].measured or 0)}",
        "Pareto" if c.is_pareto else "",
    ]


def _times(c: Judged, base: Cycles) -> tuple[str, str]:
    return (f"{c.cycles.one_warp:.0f} {_ratio(c.cycles.one_warp, base.one_warp)}",
            f"{c.cycles.full:.0f} {_ratio(c.cycles.full, base.full)}")


def _ratio(cycles: float, base: float) -> str:
    return f"({cycles / base:.2f})" if base else ""


# ------------------------------------------------------- what to write in CUDA for it


@attrs.frozen
class Change:
    """One thing to write in CUDA.

    text        what, code in backquotes
    place       "k.cu:12", or "loop $L (line 21)" of the PTX; empty where it is the kernel's
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


def advice(module: Module, kernel: str, settings: Choices, block: int) -> list[str]:
    """A line for each change of a kernel."""
    return [str(c) for c in changes(module, kernel, settings, block)]


def changes(module: Module, kernel: str, settings: Choices, block: int) -> list[Change]:
    """What to write for the settings, the loops' by their places in the source if known."""
    places = _places(module, kernel)
    out = []
    for header, setting in settings.loops:
        place, copies = places[header]
        out += [attrs.evolve(place, text=text, note=note)
                for text, note in _of_loop(setting, copies, _pointers(module[kernel]) > 1)]
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
        place, copies = places[header]
        for text, _ in _of_loop(setting, copies, True) if place.file else ():
            if text.startswith(("`#pragma", "no `")):
                what = "unroll" if text.startswith("no") else text.strip("`")
                out[place.file, place.line] = what.removeprefix("#pragma ")
    return out


def statements(module: Module, kernel: str) -> set[tuple[str, int]]:
    """(file, line) of the loops of the source that a kernel has; others may have them too."""
    return {(at.file, at.line) for at, _ in _places(module, kernel).values() if at.file}


def _pointers(kernel: Function) -> int:
    """How many parameters may be pointers."""
    return sum(isinstance(p, Param) and p.size == 8 for p in kernel.params)


def _of_loop(setting: LoopSetting, copies: int, several: bool) -> Iterator[tuple[str, str]]:
    """What to write for a loop, and a note. `copies` are the front end's in the loop, which a
    factor in the source has to hold too; 0 of a remainder, which no pragma of the source reaches.
    `several` pointers may be told apart in the source, places of one may not.
    """
    if setting.apart:
        yield ("`__restrict__` on the pointers of the loop" if several else
               "take the PTX, whose loop tests whether its accesses overlap"), ""
    if setting.vectors:
        yield "`float4` or another vector for its neighbouring accesses (or take the PTX)", ""
    if setting.converted:
        yield "small `if`s of the loop as `c ? a : b` (or take the PTX)", ""
    if setting.free and copies == 1:
        yield "no `#pragma unroll 1` (or another factor)", ""
    if setting.unroll == 0 and copies:
        yield "`#pragma unroll`", ""
    elif setting.unroll is not None and copies:
        note = f"{copies} copies are in the PTX already: {copies} × {setting.unroll}"
        yield f"`#pragma unroll {setting.unroll * copies}`", note if copies > 1 else ""
    if setting.depth:
        iterations = "iteration" if setting.depth == 1 else "iterations"
        yield f"load {setting.depth} {iterations} ahead into registers (or take the PTX)", ""


def _places(module: Module, kernel: str) -> dict[str, tuple[Change, int]]:
    """Of each loop the place of its statement, and how often its body stands in it."""
    f = module[kernel]
    lines = SourceLines(f, module)
    found = {}
    for g in source_loops(natural_loops(f), lines.numbers):
        for p in g.parts:
            b = p.loop.header
            if g.places:
                file, line = lines.file(g.places[0][0]), g.places[0][1]
                at = Change("", f"{file}:{line}", file, line)
            else:
                spot = f"loop {b.name}" + (f" (line {b.line})" if b.line else "")
                at = Change("", spot, line=b.line)
            found[str(b.name)] = at, 0 if p.role == "remainder" else p.copies
    return found
