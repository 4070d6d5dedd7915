"""The pipelines of -O0 to -O3 for modules of level nvvm; each ends in `select`.

    nvir.run_passes(module, preset(2))            by number: 0, 1, 2, 3
    nvir.run_passes(module, "default<O2>")        the same in pipeline text
    nvir opt -p 'default<O2>' x.ll

`STAGES` is the table that they are made of: in order, each with the levels that run it and the
reason why it stands where it stands. A level's pipeline is the stages that name it, joined.
What the assembler does well it is left: unrolling, scheduling, if-conversion of large blocks,
motion out of loops (nvir.passes.presets_loops says why).

Products and sums become one fma where both say `contract`, as llc has it; the front end writes that
on those of CUDA sources, which nvcc fuses by default (-fmad=true).
"""

from __future__ import annotations

import functools

import attrs

LEVELS = (0, 1, 2, 3)


@attrs.frozen
class Stage:
    """Passes that belong together. `levels`: of -O that run them; `why`: the reason, and what the
    stage takes from those before it."""

    passes: str
    levels: tuple[int, ...]
    why: str


STAGES: tuple[Stage, ...] = (
    Stage("link-libdevice", (0, 1, 2, 3), "what is called is inlined like any other code"),
    Stage("sroa,mem2reg", (1, 2, 3),
          "front ends keep every variable in memory; nothing else sees through it"),
    Stage("speculate-loads", (1, 2, 3),
          "references are plain addresses now, and no phi of them has become a select yet"),
    Stage("inst-combine,simplify-cfg", (1, 2, 3),
          "small bodies are judged by the inliner as what they are"),
    Stage("inline<always>", (1,), "what asks for it"),
    Stage("inline", (2,), "before anything that a call would stop; a call spills what lives"),
    Stage("inline<threshold=800>", (3,), "as at -O2, for larger bodies"),
    Stage("speculate-loads", (1, 2, 3), "references that were arguments lead to variables now"),
    Stage("memory-space-opt", (1, 2, 3),
          "arguments have become what was passed; aliases and widths need the space"),
    Stage("param-memory", (1, 2, 3), "before sroa takes the store of the whole parameter apart"),
    Stage("sroa,mem2reg", (1, 2, 3), "memory whose address was an argument of what is inlined now"),
    Stage("const-fold", (1, 2, 3),
          "arguments that were literals decide branches; whole regions go at once"),
    Stage("inst-combine,simplify-cfg", (1, 2, 3),
          "blocks without branches between them are one to what follows"),
    Stage("gvn,inst-combine", (2, 3),
          "equal addresses are one value before accesses are compared; what gvn joins combines"),
    Stage("simplify-cfg,gvn", (2, 3),
          "branches on joined conditions fold; their blocks' expressions meet"),
    Stage("lower-aggr-copies<held>", (1, 2, 3),
          "copies that sroa left become accesses, which can be wide; struct values scalars"),
    Stage("sroa,mem2reg,inst-combine,simplify-cfg", (2, 3),
          "stack memory that was only copied is now accessed in pieces"),
    Stage("dce", (1, 2, 3), "selection is not asked what nobody uses"),
    Stage("vectorize-memory", (1, 2, 3), "last at this level: vectors hide the scalars in them"),
    Stage("select", (0, 1, 2, 3), "to the operations of PTX"),
    Stage("gvn,dce", (1, 2, 3), "addresses that selection computes in several blocks"),
    Stage("keep-rolled", (0, 1, 2, 3), "last: the assembler may be run at any level"),
)


def preset(level: int | str) -> str:
    """The pipeline of an optimisation level as text: 2, "2", "O2" or "-O2".

    Raises ValueError for another level.
    """
    text = str(level).removeprefix("-").removeprefix("O")
    if not text.isdigit() or int(text) not in LEVELS:
        raise ValueError(f"no optimisation level {level!r}; there are -O0 to -O3")
    return _text(int(text))


@functools.cache
def _text(level: int) -> str:
    return ",".join(s.passes for s in STAGES if level in s.levels)
