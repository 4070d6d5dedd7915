"""The predicted and the real machine code of a kernel side by side, by line of the PTX.

For ourselves: where the prediction goes wrong is to be seen in minutes. Both columns keep their
own order; a row is a line of the PTX, in the order in which the real code first runs one of its
instructions. Each side has the families and the most vector registers live at one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from nvir.assembler.body import predicted_body
from nvir.assembler.unroll.decision import copies
from nvir.ir import Module, NvirError, natural_loops
from nvir.report.facts import unrolling
from nvir.report.names import spoken
from nvir.sm.body import FILES, VECTOR, MachineBody
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


Lines = dict[int, tuple[list[str], int]]


def by_line(body: MachineBody) -> Lines:
    """Line → the families of its instructions in order, and the most vector registers live."""
    found: Lines = {}
    for block, counts in zip(body.blocks, body.live_counts().blocks, strict=True):
        for i, live in zip(block.instructions, counts, strict=True):
            names, most = found.get(i.line, ([], 0))
            names.append(i.family)
            found[i.line] = names, max(most, live[0])
    return found


def side_by_side(predicted: MachineBody, real: MachineBody, source: list[str]) -> str:
    """The table of one kernel as text; `source` are the lines of the PTX."""
    mine, theirs = by_line(predicted), by_line(real)
    order = [*theirs, *(n for n in mine if n not in theirs)]
    out = [
        f"kernel {spoken(real.name)}",
        _figures(predicted), _figures(real), _families(predicted, real), "",
        f"{'line':>6}  {'live':>9}  {'predicted':<30} {'real':<30} PTX",
    ]
    for n in order:
        names, live = mine.get(n, ([], 0))
        others, lives = theirs.get(n, ([], 0))
        mark = " " if Counter(names) == Counter(others) else "*"
        text = source[n - 1].strip() if 0 < n <= len(source) else ""
        out.append(
            f"{n:>6}{mark} {live or '':>4} {lives or '':>4}  {_short(names):<30} "
            f"{_short(others):<30} {text[:60]}".rstrip()
        )
    return "\n".join(out) + "\n"


def _figures(body: MachineBody) -> str:
    counts = body.live_counts()
    live = ", ".join(f"{counts.max_live(f)} {f}" for f in FILES if counts.max_live(f))
    total = sum(1 for _ in body.instructions())
    return (
        f"  {body.source:<6} {body.registers} registers, most live {live}; {total} instructions, "
        f"{len(body.loops)} loops; peak on line {_peak(body)}"
    )


def _peak(body: MachineBody) -> int:
    counts = body.live_counts()
    most = counts.max_live(VECTOR)
    for block, found in zip(body.blocks, counts.blocks, strict=True):
        for i, live in zip(block.instructions, found, strict=True):
            if live[0] == most:
                return i.line
    return 0


def _families(predicted: MachineBody, real: MachineBody) -> str:
    """Families of which the two have different numbers, the largest difference first."""
    a = Counter(i.family for i in predicted.instructions())
    b = Counter(i.family for i in real.instructions())
    apart = sorted({f for f in (*a, *b) if a[f] != b[f]}, key=lambda f: (-abs(a[f] - b[f]), f))
    return "  families (predicted, real): " + ", ".join(f"{f} {a[f]} {b[f]}" for f in apart[:12])


def _short(names: Iterable[str]) -> str:
    """ "LDG IADD3×2": runs of one family as one."""
    out: list[list[object]] = []
    for name in names:
        if out and out[-1][0] == name:
            out[-1][1] = int(str(out[-1][1])) + 1
        else:
            out.append([name, 1])
    return " ".join(f"{n}×{k}" if k != 1 else f"{n}" for n, k in out)
