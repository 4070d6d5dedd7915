"""What the real assembler makes of a file: figures about code as it stands come from here.

Where ptxas is not installed there are none, and reports say what nvir's model predicts; where it
refuses the file for the architecture that was asked, a note says so and the model stands in.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from nvir.ir.errors import Diagnostic, NvirError

if TYPE_CHECKING:
    from nvir.assembler.registers import RegisterEstimate
    from nvir.assembler.unroll.decision import UnrollDecision
    from nvir.ir.function import Function
    from nvir.ir.instruction import Instruction
    from nvir.ir.loops import Loop
    from nvir.ir.module import Module
    from nvir.sm.body import BodyLoop, MachineBody
    from nvir.sm.profile import Profile

CLEAR = 0.6  # of the lines that are found have to say the same


@attrs.frozen
class RealFigures:
    """What ptxas says of a kernel: registers a thread, bytes of spill stores, of spill loads and of
    stack a thread.

    Spills and stack are None where only the machine code is there.
    """

    registers: int
    spill_stores: int | None = None
    spill_loads: int | None = None
    stack: int | None = None

    @property
    def spills(self) -> int | None:
        """Bytes of spill stores and loads together."""
        if self.spill_stores is None or self.spill_loads is None:
            return None
        return self.spill_stores + self.spill_loads


@attrs.frozen(eq=False)
class RealCode:
    """The kernels of one file as ptxas made them.

    assembler   "ptxas", None where it was not there or refused
    figures     kernel → what `ptxas -v` says
    bodies      function → its machine code with lines of the PTX; empty unless asked for
    note        why there are none, where ptxas is there
    missing     how to install it, where it is not
    """

    assembler: str | None = None
    figures: Mapping[str, RealFigures] = attrs.Factory(dict)
    bodies: Mapping[str, MachineBody] = attrs.Factory(dict)
    note: str | None = None
    missing: str | None = None

    def required(self) -> RealCode:
        """The code itself. Raises NvirError where there is none."""
        if self.assembler is None:
            raise NvirError(self.note or self.missing or "ptxas was not asked")
        return self

    def diagnostics(self, file: str) -> list[Diagnostic]:
        """The note as a diagnostic."""
        return [] if self.note is None else [Diagnostic(self.note, file, severity="note")]


NOTHING = RealCode()


def real_code(
    source: str | bytes | Path, arch: str, *, decode: bool = False, only: str | None = None,
    text: bool = False,
) -> RealCode:
    """Ask ptxas about all kernels or `only` one, with `decode` for their code too, and with `text`
    for that as nvdisasm prints it. Never raises for what
    the tools say."""
    from nvir.toolchain import ToolError, ToolMissing, assembled

    try:
        made = assembled(source, arch, decode=decode, only=only, text=text)
    except ToolMissing as e:
        return RealCode(missing=str(e))
    except ToolError as e:
        return RealCode(note=f"{str(e).splitlines()[0]}; the figures are the model's")
    if not made.result.ok:
        return RealCode(
            note=f"ptxas refuses it for {arch}: {made.result.error}; the figures are the model's"
        )
    figures = {
        k.name: RealFigures(k.registers, k.spill_stores, k.spill_loads, k.stack)
        for k in made.result.kernels.values() if k.registers is not None
    }
    for kernel, figure in figures.items():
        if kernel in made.bodies:
            made.bodies[kernel].registers = figure.registers
            made.bodies[kernel].spill_bytes = figure.spills
    return RealCode("ptxas", figures, made.bodies)


def real_of(
    module: Module, file: str | bytes | Path | None, arch: str, *, decode: bool = False,
    only: str | None = None,
) -> RealCode:
    """The real code of a module: of the PTX that `file` is or holds, else of what nvir prints."""
    if isinstance(file, os.PathLike) and file.suffix != ".ptx":
        file = None
    try:
        if file is None:
            from nvir.ptx.printer import print_ptx

            file = print_ptx(module)
        return real_code(file, arch, decode=decode, only=only)
    except NvirError as e:
        return RealCode(note=f"{e}; the figures are the model's")


def with_real_counts(
    estimate: RegisterEstimate, function: Function, body: MachineBody | None
) -> RegisterEstimate:
    """An estimate whose registers, counts by instruction and peak are those of the real code; as it
    is where there is none. Of several lines of the peak it is the first with an instruction."""
    from nvir.report.bodies import by_line

    if body is None or body.registers is None:
        return estimate
    live = {line: most for line, (_, most) in by_line(body).items() if line}
    at = {i: live[i.line] for i in function.instructions() if i.line in live and not i.form.is_phi}
    if not at:
        return estimate
    peak = max(at, key=lambda i: at[i])
    return attrs.evolve(
        estimate, registers=body.registers, max_live=at[peak], peak=peak, counts=at,
        spill_bytes=body.spill_bytes or 0, scratch={},
    )


def machine_loop(body: MachineBody, loop: Loop) -> tuple[BodyLoop, int] | None:
    """The machine loop of an innermost loop of the text, and how often the body stands in it.

    It is one whose lines are all of that loop; of a main loop and one for the rest, the main loop.
    """
    from nvir.sm.simulate.body import loop_copies

    lines = {i.line for b in loop.blocks for i in b}
    found = []
    for x in body.innermost():
        stands = loop_copies(body, x)
        if stands and stands.keys() <= lines:
            found.append((x, Counter(stands.values()).most_common(1)[0][0]))
    return max(found, key=lambda x: x[1], default=None)


def machine_copies(loop: Loop, body: MachineBody, machine: Profile) -> int | None:
    """How often the body of a loop of the text stands in one machine loop, by most of its accesses;
    0 where no loop is left, None where the code does not say it clearly."""
    own = access_lines(body, machine, {i.line for i in accesses_of(loop)})
    most = [
        max((sum(b in x.blocks for n, b in own if n == line) for x in body.loops), default=0)
        for line in {n for n, _ in own}
    ]
    counts = Counter(n for n in most if n)
    if not own or (not counts and loop.parent is not None):
        return None
    if not counts:
        return 0
    n, votes = counts.most_common(1)[0]
    return n if votes >= CLEAR * counts.total() else None


def as_in_code(
    unroll: Mapping[str, UnrollDecision], loops: Sequence[Loop], body: MachineBody,
    machine: Profile,
) -> dict[str, UnrollDecision]:
    """The decisions, those that the machine code contradicts as it shows them."""
    out = dict(unroll)
    for loop in loops:
        d = out.get(loop.header.name)
        n = machine_copies(loop, body, machine)
        if d is None or n is None or n == (0 if d.action == "full" else d.factor):
            continue
        said = attrs.evolve(d, code=None, step="code", reason=(
            "its machine code has no loop" if not n else
            f"its machine code has {'one copy' if n == 1 else f'{n} copies'} in the loop"))
        out[loop.header.name] = attrs.evolve(
            said, action="partial" if n > 1 else "none" if n else "full", factor=n or None)
    return out


def accesses_of(loop: Loop) -> Iterator[Instruction]:
    """Those of the loop that stand in no loop inside of it."""
    inner = {b for c in loop.children for b in c.blocks}
    for b in loop.blocks:
        if b not in inner:
            yield from (i for i in b if i.line and i.form.addresses)


def access_lines(body: MachineBody, machine: Profile, lines: set[int]) -> list[tuple[int, int]]:
    """(line, block) of each machine access that stands for one of the lines, in order."""
    def is_access(opcode: str) -> bool:
        return machine.has(opcode) and machine.units[machine.operation(opcode).unit].ordered

    return [
        (i.line, b.index) for b in body.blocks for i in b.instructions
        if i.line in lines and is_access(i.opcode)
    ]
