"""The predicted and the real machine code of a kernel side by side, by line of the PTX.

For ourselves: where the prediction goes wrong is to be seen in minutes. A row is a line of the PTX,
in the order in which the real code first runs one of its instructions. Each side has the number of
the line's first instruction in its own order, the most vector registers live at one of them, and
the work that is done. Above the rows stands what is predicted too often or too rarely, within loops
and outside.

Work is an operation whichever pipe does it: a sum is IADD3, VIADD or IMAD.IADD in machine code, and
IADD in a prediction that leaves it open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import attrs

from nvir.assembler.body import predicted_body
from nvir.assembler.unroll.decision import copies
from nvir.ir import Module, NvirError, natural_loops
from nvir.report.facts import unrolling
from nvir.report.names import spoken
from nvir.sm.body import FILES, BodyInstruction, MachineBody
from nvir.sm.profile import Profile


def both_bodies(
    path: Path, module: Module, arch: str, profile: Profile, kernels: Sequence[str] | None = None
) -> list[tuple[MachineBody, MachineBody]]:
    """(predicted, real) of each kernel of a PTX file. Raises NvirError where ptxas refuses it."""
    from nvir.toolchain import ToolError, bodies, ptxas

    made = ptxas(path, arch, options=("-lineinfo",))
    if made.cubin is None:
        raise NvirError(f"{path.name}: ptxas makes no code of it for {arch}")
    try:
        real = bodies(made.cubin, arch, lines="ptx", profile=profile)
    except ToolError as e:
        raise NvirError(f"{path.name}: {str(e).splitlines()[0]}") from None
    out = []
    for f in module.functions:
        name = str(f.name)
        if f.blocks and name in real and (not kernels or name in kernels):
            f.analyze_cfg()
            factors = copies(natural_loops(f), unrolling(f, module, arch, "observed"))
            info = made.kernels.get(name)
            if info is not None:
                real[name].registers = info.registers
            out.append((predicted_body(f, profile, factors), real[name]))
    return out


SCHEMA = "nvir.bodies/1"

# Opcodes (their first parts) that do the same work on one pipe or another.
_SAME = {
    "MOV": "IMAD.MOV HFMA2.MMA HFMA2 CS2R IMAD.U32",
    "IADD3": "IADD VIADD IMAD.IADD",
    "IADD3.X": "IMAD.X",
    "SHF": "IMAD.SHL SHL SHR",
    "SEL": "FSEL",
    "IMNMX": "VIMNMX",
    "LDG": "LD",
    "STG": "ST",
    "RED": "REDG",
}
_WORK = {one: work for work, others in _SAME.items() for one in others.split()}
_PARTS = ("IADD3.X", "LEA.HI.X", "LEA.HI", "IMAD.WIDE", "IMAD.HI", "IMAD.U32", "HFMA2.MMA")
_LITERALS = ("HFMA2.MMA", "HFMA2")  # moves where what they multiply is zero
_SHOWN = 8  # kinds of work listed in the text on each side


def work(i: BodyInstruction) -> str:
    """What an instruction does, whichever pipe does it: "IADD3" of "IMAD.IADD"."""
    opcode = i.opcode
    for part in (*_PARTS, *_WORK):
        if opcode == part or opcode.startswith(f"{part}."):
            if part in _LITERALS and i.text and "-RZ, RZ" not in i.text:
                return i.family
            if part == "CS2R" and "SRZ" not in i.text:
                return i.family
            return _WORK.get(part, part)
    return i.family


@attrs.frozen
class WorkCount:
    """One kind of work: how often it is predicted and made, in all and within loops."""

    name: str
    predicted: int
    real: int
    predicted_in_loops: int
    real_in_loops: int

    @property
    def apart(self) -> int:
        """How often it is predicted too often (or too rarely, outside and within loops added)."""
        within = self.predicted_in_loops - self.real_in_loops
        return abs(within) + abs(self.predicted - self.real - within)


def kinds(predicted: MachineBody, real: MachineBody) -> list[WorkCount]:
    """Each kind of work that one of the two has, the largest difference first."""
    (a, p), (b, q) = (_work_of(body) for body in (predicted, real))
    found = [WorkCount(n, a[n], b[n], p[n], q[n]) for n in {**a, **b}]
    return sorted(found, key=lambda k: (-k.apart, k.name))


def _work_of(body: MachineBody) -> tuple[Counter[str], Counter[str]]:
    """The work of a body, and of its loops alone."""
    everywhere: Counter[str] = Counter()
    in_loops: Counter[str] = Counter()
    for block in body.blocks:
        names = [work(i) for i in block.instructions]
        everywhere.update(names)
        in_loops.update(names if block.loop is not None else ())
    return everywhere, in_loops


@attrs.define
class Line:
    """What a body has of one line: the number of the first instruction, from 1; what each does;
    the most vector registers live at one; 0 and nothing where it has none."""

    at: int = 0
    work: list[str] = attrs.Factory(list)
    live: int = 0
    opcodes: list[str] = attrs.Factory(list)


def by_line(body: MachineBody) -> dict[int, Line]:
    """What a body has of each line, in the order of their first instructions."""
    found: dict[int, Line] = {}
    n = 0
    for block, counts in zip(body.blocks, body.live_counts().blocks, strict=True):
        for i, live in zip(block.instructions, counts, strict=True):
            n += 1
            line = found.setdefault(i.line, Line(n))
            line.work.append(work(i))
            line.opcodes.append(i.opcode)
            line.live = max(line.live, live[0])
    return found


def _rows(predicted: MachineBody, real: MachineBody) -> list[tuple[int, Line, Line]]:
    mine, theirs = by_line(predicted), by_line(real)
    order = [*theirs, *(n for n in mine if n not in theirs)]
    return [(n, mine.get(n, Line()), theirs.get(n, Line())) for n in order]


def _text_of(n: int, source: Sequence[str]) -> str:
    return source[n - 1].strip() if 0 < n <= len(source) else ""


def side_by_side(predicted: MachineBody, real: MachineBody, source: Sequence[str]) -> str:
    """The table of one kernel as text; `source` are the lines of the PTX."""
    found = kinds(predicted, real)
    out = [
        f"kernel {spoken(real.name)}", _figures(predicted), _figures(real),
        _apart("too many", [k for k in found if k.predicted > k.real]),
        _apart("too few", [k for k in found if k.predicted < k.real]), "",
        f"{'line':>6}  {'at':>9} {'live':>9}  {'predicted':<30} {'real':<30} PTX",
    ]
    for n, a, b in _rows(predicted, real):
        mark = " " if Counter(a.work) == Counter(b.work) else "*"
        out.append(
            f"{n:>6}{mark} {a.at or '':>4} {b.at or '':>4} {a.live or '':>4} {b.live or '':>4}  "
            f"{_short(a.work):<30} {_short(b.work):<30} {_text_of(n, source)[:60]}".rstrip()
        )
    return "\n".join(out) + "\n"


def to_json(predicted: MachineBody, real: MachineBody, source: Sequence[str]) -> dict[str, Any]:
    """One kernel of schema nvir.bodies/1."""
    rows = [
        {"line": n, "text": _text_of(n, source), "predicted": attrs.asdict(a) if a.at else None,
         "real": attrs.asdict(b) if b.at else None} for n, a, b in _rows(predicted, real)
    ]
    return {
        "name": real.name, "predicted": _summary(predicted), "real": _summary(real),
        "work": [attrs.asdict(k) for k in kinds(predicted, real)], "lines": rows,
    }


def _summary(body: MachineBody) -> dict[str, Any]:
    counts = body.live_counts()
    return {
        "registers": body.registers, "max_live": {f: counts.max_live(f) for f in FILES},
        "instructions": sum(1 for _ in body.instructions()), "loops": len(body.loops),
        "peak_line": _peak(body),
    }


def _figures(body: MachineBody) -> str:
    s = _summary(body)
    live = ", ".join(f"{n} {f}" for f, n in s["max_live"].items() if n)
    return (
        f"  {body.source:<6} {s['registers']} registers, most live {live}; {s['instructions']} "
        f"instructions, {s['loops']} loops; peak on line {s['peak_line']}"
    )


def _peak(body: MachineBody) -> int:
    """The line of the first instruction at which most vector registers are live."""
    live = (n[0] for block in body.live_counts().blocks for n in block)
    return max(zip(live, body.instructions(), strict=True), key=lambda x: x[0])[1].line


def _apart(title: str, found: Sequence[WorkCount]) -> str:
    """ "too few (predicted, real; in loops): LDG 2 4; 1 3"."""
    some = ", ".join(
        f"{k.name} {k.predicted} {k.real}"
        + (f" ({k.predicted_in_loops} {k.real_in_loops})"
           if k.predicted_in_loops or k.real_in_loops else "")
        for k in found[:_SHOWN]
    )
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"  {title}: {some or 'none'}{more}"


def _short(names: Iterable[str]) -> str:
    """ "LDG IADD3×2": runs of one kind as one."""
    runs = ((name, len(list(run))) for name, run in groupby(names))
    return " ".join(name if n == 1 else f"{name}×{n}" for name, n in runs)
