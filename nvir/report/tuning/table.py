"""What `nvir tune` found: a table for each kernel, what to write in CUDA, and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nvir.ir.module import Module
from nvir.report.names import spoken
from nvir.report.table import Line, columns, short
from nvir.report.tuning.advice import advice
from nvir.report.tuning.wishes import is_better
from nvir.sm.occupancy import blocks_text
from nvir.tune.judge import Cycles
from nvir.tune.search import (
    ALONE_ERROR,
    FULL,
    IN_ORDER,
    MODEL_ERROR,
    VERSION_ERROR,
    WORSE,
    Judged,
    KernelTuning,
    Tuning,
)
from nvir.tune.weights import ASSUMED

if TYPE_CHECKING:
    from nvir.report.tuning.promised import Promise
    from nvir.report.tuning.written import WrittenAdvice

SCHEMA = "nvir.tune/1"
_HEAD = (
    "", "id", "settings", "registers", "spills", "blocks/SM", "one warp", "full", "measured", "")
_RIGHT = (False, True, False, True, True, True, True, True, True, False)
_MEASURED = 8  # the column of what a GPU took
SETTINGS = 64  # columns of a candidate's settings


Tried = Mapping[str, "WrittenAdvice"]  # by kernel
Sure = Mapping[str, "Promise"]
NONE: Sure = MappingProxyType({})


def tuning_json(
    tuning: Tuning, tried: Tried | None = None, sure: Sure = NONE
) -> dict[str, Any]:
    """The document of schema `nvir.tune/1`: with what nvcc tried, or what is promised of it."""
    return {"schema": SCHEMA, "arch": tuning.arch, "judge": tuning.judge,
            "loads_hit": tuning.level,
            "kernels": [_kernel_json(k, (tried or {}).get(k.name), sure.get(k.name))
                        for k in tuning.kernels]}


def _kernel_json(
    k: KernelTuning, tried: WrittenAdvice | None, sure: Promise | None
) -> dict[str, Any]:
    said = tried or sure
    return {
        "name": k.name, "chosen": k.chosen,
        "block": k.block, "block_assumed": k.block_assumed,
        "loops": [{"header": x.name, "trips": x.trips + x.part, "copies": x.copies,
                   "source": x.source} for x in k.loops],
        "advice": [] if said is None else list(said.texts),
        "advised": None if sure is None else sure.candidate.id,
        "promised": None if said is None else _figures_json(said.made),
        "tried": None if tried is None else _figures_json(tried.made),
        "candidates": [
            {"id": c.id, "settings": c.settings.to_json(), **_figures_json(c),
             "pareto": c.is_pareto} for c in k.candidates
        ],
        "refused": [{"settings": s.to_json(), "reason": why} for s, why in k.refused],
        "not_tried": {"count": k.left_out, "reason": FULL if k.left_out else None},
    }


def _figures_json(c: Judged) -> dict[str, Any]:
    return {
        "registers": c.registers, "spill_bytes": c.spill_bytes, "blocks_per_sm": c.blocks_per_sm,
        "cycles": {"one_warp": round(c.cycles.one_warp, 1), "full": round(c.cycles.full, 1)},
        **({"measured_us": round(c.measured, 3)} if c.measured is not None else {}),
    }


def tuning_lines(
    tuning: Tuning, module: Module, every: bool = False, tried: Tried | None = None,
    sure: Sure = NONE,
) -> Iterator[Line]:
    """The tables. Of many candidates only those that matter are listed, unless `every`. With what
    nvcc tried, or what is promised of it."""
    by = "ptxas" if tuning.judge == "sass" else "the model of ptxas"
    yield f"{tuning.arch} · judged by {by} · loads hit {tuning.level.upper()}", "bold"
    if tuning.judge == "model":
        yield (f"predicted: of pairs of candidates over {100 * WORSE - 100:.0f} % apart "
               f"{100 * IN_ORDER:.0f} % are in the order of the real code; what is less than "
               f"{100 * MODEL_ERROR - 100:.0f} % faster is not taken, nor what one warp is "
               f"less than {100 * ALONE_ERROR - 100:.0f} % faster by, in a version "
               f"{100 * VERSION_ERROR - 100:.0f} %"), "dim"
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
        if k.left_out:
            way = "; --kernel NAME tunes one alone" if len(tuning.kernels) > 1 else ""
            yield (f"  {k.left_out} settings were not tried: {FULL} (about {tuning.most} "
                   f"instructions){way}"), "dim"
        yield from _to_write(k, module, tried, sure.get(k.name))
        if not k.chosen and k.name not in (tried or sure):
            yield "  nothing is better than the kernel as it is", ""


def _to_write(
    k: KernelTuning, module: Module, tried: Tried | None, sure: Promise | None
) -> Iterator[Line]:
    """What to write in CUDA, and what that came to where nvcc tried it, or comes to."""
    base = k.candidates[0].cycles
    if tried is None:
        if sure is not None:
            yield from _writes(sure.texts)
            yield f"  nvcc then makes about: {_figures(sure.made, base)}", ""
            yield _held_for(k), "dim"
        if k.chosen and (sure is None or sure.candidate is not k.winner):
            others = "; ".join(advice(module, k.name, k.winner.settings, k.block))
            if not others:
                yield "  take the PTX (-o): CUDA has no words for what the arrow does", "dim"
                return
            yield "  take the PTX (-o) for the arrow's figures: they are no promise for", "dim"
            yield f"    {others}", "dim"
            yield "  (`nvir tune FILE.cu`, or --source, has nvcc try that)", "dim"
    elif k.name in tried:
        yield from _writes(tried[k.name].texts)
        yield f"  nvcc then makes of it: {_figures(tried[k.name].made, base)}", ""
        yield _held_for(k), "dim"
        if k.chosen:
            yield f"  {_faster(tried[k.name].made.cycles, k.winner.cycles)}", ""
    elif k.chosen:
        yield "  what CUDA has words for gains nothing by nvcc: take the PTX (-o)", ""


def _faster(written: Cycles, arrow: Cycles) -> str:
    """Which of two to take: what nvcc makes of what is written, or the arrow's PTX."""
    if is_better(written, arrow, WORSE):
        return "that is faster than the arrow: write it"
    if is_better(arrow, written, WORSE):
        return "the arrow's PTX (-o) is faster than that"
    return "that is about as fast as the arrow: write it, or take the PTX (-o)"


def _held_for(k: KernelTuning) -> str:
    """For how many iterations of the source's loops the figures of nvcc's code are."""
    some = ", ".join(f"{x.of_source:.4g} of {x.name}" for x in k.loops if x.source != "rest")
    return f"  (for as many iterations of the source's loops: {some})"


def _writes(texts: Iterable[str]) -> Iterator[Line]:
    yield from ((f"  write: {text}", "green") for text in texts)


def _figures(c: Judged, base: Cycles) -> str:
    return (f"{c.registers} registers, {c.spill_bytes} bytes spilled, "
            f"{blocks_text(c.blocks_per_sm)}, cycles {' alone, '.join(_times(c, base))} "
            "at full occupancy")


def _said(k: KernelTuning) -> Iterator[str]:
    assumed = " (assumed; --block says it)" if k.block_assumed else ""
    yield f"{k.block} threads a block{assumed}"
    for x in k.loops:
        copies = f" of {x.copies} copies" * (x.copies > 1)
        if x.source in ("rest", "most"):
            first = "up" if copies else f"{x.counts[0]:g}"
            yield f"loop {x.name}: {first} to {x.counts[-1]:g} iterations{copies}"
        else:
            how = f"for {k.block} threads a block" if x.source == "block" else x.source
            if how == "assumed":
                how += f", the mean of {ASSUMED[0]} to {ASSUMED[-1]}"
                how += f" over {x.copies}" * (x.copies > 1) + "; --trip says it"
            n = f"{x.trips + x.part:.4g}"
            mean = " on average" * (x.source in ("known", "block") and len(set(x.counts)) > 1)
            yield f"loop {x.name}: {n} iteration{'s' * (n != '1')}{copies}{mean} ({how})"


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
