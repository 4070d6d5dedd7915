"""The pipelines of level ori: the real tool's phases as far as nvir has them, and what it emits.

    nvir opt -p loops k.ptx          phases 3 to 108 of the notes, in their order, and `LAST`
    nvir opt -p prediction k.ptx     what the assembler will do: report and explain run it on a copy
    nvir opt -p emission k.ptx       what nvir itself does to code that the assembler is to get

`ROWS` has a row for each phase of the notes' order: the passes that model it, or why there is none.

Prediction and emission differ. The assembler unrolls, hoists, predicates
and schedules by itself; if that were done to what it gets, loops would be unrolled twice and values
hoisted into spills. The emission preset was chosen by benchmarks/emission.py, over the kernels of
examples/ptx (ratios of geometric means to the unchanged file, ptxas 13.0):

    preset                                   registers   instructions
    (nothing, printed from the IR)             1.0000      1.0000
    copy-prop,gvn,dce                          0.9953      1.0010
    const-fold,copy-prop,gvn,dce,keep-rolled   0.9953      0.9984      chosen
    loop-simplify,loop-rotate,copy-prop,dce    0.9965      1.0012
    copy-prop,gvn,dce,strength-reduce,dce      0.9953      1.0010
    copy-prop,gvn,dce,if-convert               1.0101      0.9807

None of these spills what did not spill before.
"""

from __future__ import annotations

import attrs

LAST = "keep-rolled"  # of what the assembler gets
EMISSION = f"const-fold,copy-prop,gvn,dce,{LAST}"
_CLEAN = "copy-prop,const-fold,gvn,dce"


@attrs.frozen
class PhaseRow:
    """A phase of the notes' order: `passes` is the pipeline text that models it, or "" with the
    reason in `why`."""

    number: int
    passes: str
    why: str = ""

    @property
    def is_supported(self) -> bool:
        return bool(self.passes)


_PTX = "what it expands is an operation of PTX, and stays one"
_NO_PROFILE = "nvir reads no execution profile"
ROWS: tuple[PhaseRow, ...] = (
    PhaseRow(3, "", "the driver: annotations are renewed after each pass that changes blocks"),
    PhaseRow(13, "copy-prop,const-fold", "what loop analysis reads is simple"),
    PhaseRow(15, "", "decided branches are const-fold's; layout is the assembler's"),
    PhaseRow(16, "dce", "nothing dead is counted"),
    PhaseRow(18, "loop-simplify,loop-rotate", "peeling by the knob LoopPeelInversion"),
    PhaseRow(19, "split-live-ranges"),
    PhaseRow(20, "", _NO_PROFILE),
    PhaseRow(21, "strength-reduce"),
    PhaseRow(22, "loop-unroll"),
    PhaseRow(23, "phi-moves"),
    PhaseRow(24, "loop-pipeline"),
    PhaseRow(25, "stage-and-fence", "loop-pipeline keeps ordinary accesses in order by itself"),
    PhaseRow(29, _CLEAN, "the copies of phases 19 and 23 go, equal computations are one"),
    PhaseRow(34, "", "constant banks are the assembler's"),
    PhaseRow(35, "licm<id=0>"),
    PhaseRow(53, "", "an analysis, asked where it is needed: nvir.analysis.divergence"),
    PhaseRow(55, "", _PTX),
    PhaseRow(56, "", "what branches have in common is not hoisted above them"),
    PhaseRow(58, _CLEAN),
    PhaseRow(59, "loop-simplify,loop-fuse", "fusion wants canonical loops, as phase 18 left them"),
    PhaseRow(63, "if-convert"),
    PhaseRow(65, _CLEAN),
    PhaseRow(66, "licm<id=1>"),
    PhaseRow(70, "", "an analysis, asked where it is needed: nvir.analysis.divergence"),
    PhaseRow(78, "", _PTX),
    PhaseRow(79, "licm<id=2>"),
    PhaseRow(85, "", "matrix sequences are ordered by the assembler"),
    PhaseRow(87, "", "matrix sequences are repaired by the assembler"),
    PhaseRow(88, "licm<id=3>"),
    PhaseRow(108, "hot-cold-in-loop"),
)


def supported() -> tuple[PhaseRow, ...]:
    """The phases that passes of nvir model, in order."""
    return tuple(r for r in ROWS if r.is_supported)


def unsupported() -> tuple[PhaseRow, ...]:
    """The phases that nothing in nvir runs, each with the reason."""
    return tuple(r for r in ROWS if not r.is_supported)


def loops(first: int = 3, last: int = 108) -> str:
    """The pipeline of the phases from one number to another, as text."""
    return ",".join(r.passes for r in supported() if first <= r.number <= last)


PRESETS = {"loops": f"{loops()},{LAST}", "prediction": loops(), "emission": EMISSION}
