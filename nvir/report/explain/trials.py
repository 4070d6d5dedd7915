"""Advice carried out before it is given, by the compilers that are installed.

A limit on registers is put into the PTX as nvcc puts `__launch_bounds__` there, for ptxas; a pragma
or a promise is put into the source, for nvcc, where the source and nvcc's options are at hand. What
does not come to what it promises is not given; what does says what it came to.

Cost    a call of ptxas for the limits of all kernels; one of nvcc and ptxas for each change
        of the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.report.explain.advice import Advice
from nvir.report.model import ModuleReport, block_size
from nvir.report.names import spoken
from nvir.report.real import RealCode, RealFigures, real_code
from nvir.sm.occupancy import blocks_text, occupancy, static_shared_memory
from nvir.sm.profile import Profile

if TYPE_CHECKING:
    from nvir.report.explain.loop import Explanation

SPILLS = 32  # bytes a thread beyond which spilling costs more than a block gives
_LOOP = re.compile(r"\b(for|while|do)\b")
_ASKED = re.compile(r"\s*#\s*pragma\s+(?:no)?unroll\b")
_BOUNDS = re.compile(r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)")
Lines = list[str]
Recompile = Callable[[Lines], Module | None]  # lines of the changed source -> what nvcc makes of it


@attrs.frozen
class Advised:
    """A kernel, its threads and bytes of static shared memory a block, what ptxas makes of it, and
    what is to be said of it."""

    name: str
    block: int
    static: int
    real: RealFigures
    advice: Sequence[Advice]


@attrs.frozen
class Trials:
    """The compilers: `module` is what the advice is about; `source` are the lines of the file
    `name` that nvcc made it of, and `recompile` runs nvcc again, where that can be done."""

    module: Module
    arch: str
    machine: Profile
    dynamic: int = 0
    name: str = ""
    source: Sequence[str] = ()
    recompile: Recompile | None = None

    def report(self, made: ModuleReport) -> ModuleReport:
        """A report whose advice was carried out."""
        asked = [Advised(f.name, f.block_size or 1, f.static_smem, f.real, f.advice)
                 for f in made.functions if f.real is not None and f.advice]
        kept = self.kept(asked)
        return attrs.evolve(made, functions=tuple(
            attrs.evolve(f, advice=kept.get(f.name, f.advice)) for f in made.functions))

    def explained(
        self, made: Explanation, function: Function, block: int | None, real: RealCode
    ) -> Explanation:
        """An explanation of a loop whose advice was carried out."""
        figures = real.figures.get(made.function)
        if figures is None or not made.advice:
            return made
        asked = Advised(made.function, block_size(function, block)[0],
                        static_shared_memory(function), figures, made.advice)
        return attrs.evolve(made, advice=self.kept([asked])[made.function])

    def kept(self, asked: Iterable[Advised]) -> dict[str, tuple[Advice, ...]]:
        """The advice of each kernel that holds."""
        asked = list(asked)
        bounds = {k.name: (k.block, a.blocks_per_sm) for k in asked for a in k.advice
                  if a.kind in ("registers", "bounds") and a.blocks_per_sm}
        limited: Mapping[str, RealFigures] = {}
        if bounds and self.module.text is not None:
            text = with_bounds(self.module.text, bounds)
            only = next(iter(bounds)) if len(bounds) == 1 else None
            data = text.encode("utf-8", "surrogateescape")
            limited = real_code(data, self.arch, only=only).figures
        return {
            k.name: tuple(x for a in k.advice for x in self._tried(k, a, limited.get(k.name)))
            for k in asked
        }

    def _tried(self, k: Advised, a: Advice, limited: RealFigures | None) -> Iterator[Advice]:
        """The advice as it holds, or nothing."""
        if a.kind == "bounds" and limited is not None:
            fewer = (k.real.spills or 0) - (limited.spills or 0)
            if fewer > 0:
                yield attrs.evolve(a, registers=limited.registers, text=(
                    f"{a.text}; ptxas then has {limited.spilled}"))
            return
        if a.kind == "registers" and limited is not None:
            more = (limited.spills or 0) - (k.real.spills or 0)
            if more <= SPILLS:
                what = f"has {limited.spilled} for it" if more > 0 else "spills nothing for it"
                yield attrs.evolve(a, registers=limited.registers,
                                   text=a.text.replace("it may spill", f"ptxas {what}"))
            return
        changed = self._changed(k, a)
        made = self.recompile(changed) if changed is not None and self.recompile else None
        if made is None or made.text is None:
            yield a
            return
        found = [sum(i.form.invariant for i in m[k.name].instructions())
                 for m in (self.module, made)]
        data = made.text.encode("utf-8", "surrogateescape")
        real = real_code(data, self.arch, only=k.name).figures.get(k.name)
        if real is None:
            return
        told = f"by nvcc and ptxas: {real.registers} registers, "
        blocks, now = (occupancy(self.machine, r.registers, k.block, self.dynamic,
                                 static_smem=k.static).blocks_per_sm for r in (real, k.real))
        if a.kind == "restrict":
            holds = found[1] > found[0]
            told = f"nvcc then loads {found[1] - found[0]} by ld.global.nc; {told}"
        else:
            holds = blocks > now or (a.value > 1 and (real.spills or 0) <= (k.real.spills or 0))
        if holds:
            yield attrs.evolve(a, registers=real.registers, blocks_per_sm=blocks,
                               text=f"{a.text} ({told}{blocks_text(blocks)})")

    def _changed(self, k: Advised, a: Advice) -> Lines | None:
        """The source with the change; None where it cannot be put there."""
        if not self.source:
            return None
        if a.kind == "restrict":
            return with_restrict(self.source, k.name, a.parameters)
        file, _, line = (a.place or "").split(",")[0].rpartition(":")
        if a.kind != "unroll" or file != self.name:
            return None
        return with_pragma(self.source, int(line), f"unroll {a.value}")


def with_bounds(ptx: str, bounds: Mapping[str, tuple[int, int]]) -> str:
    """PTX whose kernels have `__launch_bounds__` (threads, blocks on an SM) as nvcc puts them."""
    def bounded(m: re.Match[str]) -> str:
        if m[2] not in bounds:
            return m[0]
        others = re.sub(r"\.(maxntid|minnctapersm|maxnreg)\s+[\d, ]+", "", m[3])
        threads, blocks = bounds[m[2]]
        return f"{m[1]}{others}\n.maxntid {threads}, 1, 1\n.minnctapersm {blocks}\n{{"

    return re.sub(r"(\.entry\s+([\w$]+)\s*(?:\([^)]*\))?)([^{;]*)\{", bounded, ptx)


def with_pragma(lines: Sequence[str], line: int, pragma: str) -> Lines | None:
    """A source with a pragma before the loop statement on a line, in place of one that is there;
    "": with none, where there is one."""
    out = list(lines)
    if not 0 < line <= len(out) or not _LOOP.search(out[line - 1]):
        return None
    if pragma:
        out[line - 1] = _LOOP.sub(rf'_Pragma("{pragma}") \1', out[line - 1], count=1)
    if line > 1 and _ASKED.match(out[line - 2]):
        out[line - 2] = ""
    return out if pragma or out != list(lines) else None


def bare_name(kernel: str) -> str:
    """A kernel's name in its head in the source: that of its template."""
    return re.sub(r"<.*>", "", spoken(kernel)).rsplit("::", 1)[-1]


def _head(lines: Sequence[str], kernel: str) -> tuple[str, re.Match[str] | None]:
    """The text of a source, and where a kernel's head is: what stands before its name, its
    parameters."""
    text = "\n".join(lines)
    head = rf"__global__([^;{{}}]*?)\b{re.escape(bare_name(kernel))}\s*\(([^()]*)\)\s*\{{"
    return text, re.search(head, text)


def parameter_names(lines: Sequence[str], kernel: str) -> list[str]:
    """The names of a kernel's parameters, where its head stands in a source."""
    _, found = _head(lines, kernel)
    names = [re.search(r"(\w+)\s*(?:\[\w*\]\s*)?(?:=[^,]*)?$", x.strip())
             for x in found[2].split(",")] if found is not None else []
    return [m[1] for m in names if m is not None] if all(names) else []


def with_restrict(
    lines: Sequence[str], kernel: str, parameters: Sequence[int] | None = None
) -> Lines | None:
    """A source whose kernel has `const … *__restrict__` for its parameters of these numbers, or
    `*__restrict__` for each pointer among them."""
    text, found = _head(lines, kernel)
    if found is None:
        return None
    given = found[2].split(",")
    pointers = [k for k, x in enumerate(given, 1) if "*" in x]
    for k in pointers if parameters is None else parameters:
        if k not in pointers:
            return None
        of, _, name = given[k - 1].rpartition("*")
        const = "" if parameters is None or re.search(r"\bconst\b", of) else "const "
        given[k - 1] = f"{const}{of.lstrip()}*__restrict__ {name.replace('__restrict__', '')}"
    return (text[: found.start(2)] + ",".join(given) + text[found.end(2):]).split("\n")


def with_attribute(lines: Sequence[str], kernel: str, attribute: str) -> Lines | None:
    """A source whose kernel has an attribute, in place of launch bounds that it has."""
    text, found = _head(lines, kernel)
    if found is None:
        return None
    before = _BOUNDS.sub("", found[1])
    return f"{text[: found.start(1)]} {attribute}{before}{text[found.end(1):]}".split("\n")
