"""What the real assembler makes of a file: figures about code as it stands come from here.

Where ptxas is not installed there are none, and reports say what nvir's model predicts; where it
refuses the file for the architecture that was asked, a note says so and the model stands in.
"""

from __future__ import annotations

import functools
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

    @property
    def spilled(self) -> str:
        """Spills in words, as ptxas tells them."""
        if not self.spills:
            return "no spills"
        return f"{self.spill_stores} bytes spill stores, {self.spill_loads} bytes spill loads"


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
    module: Module, arch: str, *, decode: bool = False, only: str | None = None
) -> RealCode:
    """The real code of a module: of the PTX that it was read from, else of what nvir prints, to
    whose lines those of the module do not belong; the code is then left out."""
    try:
        if module.text is None:
            from nvir.ptx.printer import print_ptx

            return real_code(print_ptx(module), arch, only=only)
        return real_code(
            module.text.encode("utf-8", "surrogateescape"), arch, decode=decode, only=only
        )
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
    live = {line: has.live for line, has in by_line(body).items() if line}
    at = {i: live[i.line] for i in function.instructions() if i.line in live and not i.form.is_phi}
    if not at:
        return estimate
    peak = max(at, key=lambda i: at[i])
    return attrs.evolve(
        estimate, registers=body.registers, max_live=at[peak], peak=peak, counts=at,
        spill_bytes=body.spill_bytes or 0, real=True,
        scratch={i: at[i] for i in estimate.scratch if i in at},
    )


def machine_loop(
    body: MachineBody, loop: Loop, machine: Profile
) -> tuple[BodyLoop, int] | None:
    """The machine loop of an innermost loop of the text, and how often the body stands in it: by
    its accesses where it has any, for other operations may carry the line of their only reader.

    It is one whose lines are all of that loop; of a main loop and one for the rest, the main loop.
    """
    lines = {i.line for b in loop.blocks for i in b}
    own = access_lines(body, machine, {i.line for i in accesses_of(loop) if _is_single(i)})
    found = []
    for x in dict.fromkeys(x for n in lines for x in body.innermost_of_line.get(n, ())):
        if body.copies[x].keys() <= lines:
            accesses = Counter(n for n, b in own if b in x.blocks)
            copies = Counter((accesses or body.copies[x]).values())
            found.append((x, copies.most_common(1)[0][0]))
    return max(found, key=lambda x: (x[1], -x[0].header), default=None)


def _is_single(i: Instruction) -> bool:
    """Whether an access is one of the machine's."""
    from nvir.ir import OpKind

    return i.form.kind is OpKind.LOAD or i.form.kind is OpKind.STORE


def machine_bound(
    loop: Loop, body: MachineBody, machine: Profile
) -> tuple[float, str | None] | None:
    """Cycles that the busiest pipe, or the issue slots, need for an iteration of an innermost loop
    in its machine code on the longest way through it, and which binds; None where the loop has no
    machine loop of its own."""
    from nvir.sm.body import body_path
    from nvir.sm.profile import resource_bound

    found = machine_loop(body, loop, machine) if loop.is_innermost else None
    if found is None:
        return None
    way = [i.opcode for b in body_path(body, found[0]) for i in body.blocks[b].instructions]
    bound = resource_bound(machine, filter(machine.has, way))
    return bound.busy / (bound.units * found[1]), bound.pipe or "issue"


def machine_copies(
    loop: Loop, body: MachineBody, machine: Profile, lines: dict[Loop, set[int]] | None = None
) -> int | None:
    """How often the body of a loop of the text stands in one machine loop, by most of its accesses;
    0 where no loop is left, None where the code does not say it clearly.

    A machine loop is the loop of the text in which the branch of its back edge stands; copies in
    those of loops around it are what it was unrolled or peeled to. `lines` keeps what is asked for
    each of many loops.
    """
    lines = {} if lines is None else lines
    own = access_lines(body, machine, {i.line for i in accesses_of(loop)})
    mine, around = _own_lines(loop, lines), set[int]()
    while loop.parent is not None:
        loop = loop.parent
        around |= _own_lines(loop, lines)
    copies: dict[int, Counter[BodyLoop]] = {n: Counter() for n, _ in own}
    for n, b in own:
        x = body.blocks[b].loop
        ends = body.back_edges[x] if x is not None else set()
        if x is not None and ends & mine:
            copies[n][x] += 1
        elif x is not None and not ends & around:
            return None
    counts = Counter(max(found.values()) for found in copies.values() if found)
    if not own:
        return None
    if not counts:  # where the loop is there, its accesses left it and nothing says how often
        return None if any(ends & mine for ends in body.back_edges.values()) else 0
    n, votes = counts.most_common(1)[0]
    return n if votes >= CLEAR * counts.total() else None


def _own_lines(loop: Loop, known: dict[Loop, set[int]]) -> set[int]:
    """The lines of its blocks that are in no loop inside of it."""
    if loop not in known:
        inner = {b for c in loop.children for b in c.blocks}
        known[loop] = {i.line for b in loop.blocks if b not in inner for i in b if i.line}
    return known[loop]


def as_in_code(
    unroll: Mapping[str, UnrollDecision], loops: Sequence[Loop], body: MachineBody,
    machine: Profile,
) -> dict[str, UnrollDecision]:
    """The decisions, those that the machine code contradicts as it shows them."""
    out = dict(unroll)
    lines: dict[Loop, set[int]] = {}
    for loop in loops:
        d = out.get(loop.header.name)
        n = machine_copies(loop, body, machine, lines)
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
    """(line, block) of each machine access that stands for one of the lines."""
    found = _accesses(body, machine)
    return [(n, b) for n in sorted(lines) for b in found.get(n, ())]


@functools.lru_cache(maxsize=4)
def _accesses(body: MachineBody, machine: Profile) -> dict[int, list[int]]:
    """The block of each machine access, by line; kept for the next loop of the body."""
    out: dict[int, list[int]] = {}
    spilled = bool(body.spill_bytes)
    for b in body.blocks:
        for i in b.instructions:
            if spilled and i.opcode.startswith(("LDL", "STL")):
                continue
            if machine.has(i.opcode) and machine.units[machine.operation(i.opcode).unit].ordered:
                out.setdefault(i.line, []).append(b.index)
    return out
