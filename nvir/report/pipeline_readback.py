"""Whether the assembler kept a software pipeline: its machine code, read back.

A pipelined kernel promises that a load's value is read so many rounds after the load. In the
machine code the same is counted: from each load of the loop on, the instructions that follow, round
after round, up to the first that reads a register of it. Any instruction counts, a MOV that only
carries the value on included, since it waits for the load like any other.

The loop of the machine code that is the kernel is the first innermost one with as many long loads
as the kernel has; where there is none, the assembler made something else of it.

Cost     linear in the loop's instructions for each load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from nvir.ir.block import Block
from nvir.ir.module import Module
from nvir.passes.loop.pipeline_body import is_long_load
from nvir.passes.loop.pipeline_expand import PIPELINED
from nvir.report.sass_stream import _reads, _writes, machine_loops
from nvir.toolchain.sass import SassInstruction

_LONG = frozenset(("LDG", "LDL", "LD", "TEX", "TLD", "TLD4", "TXD", "SULD"))
FAR = 3  # rounds: no schedule of ours has a value read later


@attrs.frozen
class ReadBack:
    """What became of one kernel.

    function, kernel   by name
    promised, found    rounds from each load to its first reader, rising; `found` is empty where no
                       loop of the machine code has as many loads
    early              the instructions that read a load's result too early
    """

    function: str
    kernel: str
    promised: tuple[int, ...]
    found: tuple[int, ...]
    early: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether no load is read earlier than promised."""
        return len(self.found) == len(self.promised) and all(
            a >= b for a, b in zip(self.found, self.promised, strict=True)
        )

    def __str__(self) -> str:
        if self.kept:
            return "kept"
        if not self.found:
            return "undone: no loop with as many loads"
        return f"undone: {', '.join(self.early[:2])}"


def read_back(
    module: Module, machine: Mapping[str, Sequence[SassInstruction]]
) -> list[ReadBack]:
    """What the assembler made of each pipelined kernel of a module, in order."""
    out = []
    for function in module.functions:
        code = machine.get(str(function.name), ())
        loops = machine_loops(code)
        for block in function.blocks:
            if PIPELINED in block.flags:
                out.append(_of_kernel(str(function.name), block, loops))
    return out


def promised_rounds(kernel: Block) -> list[int]:
    """Rounds from each long load of a kernel to the first reader of its value."""
    place = {i: k for k, i in enumerate(kernel)}
    rounds = []
    for i in kernel:
        if is_long_load(i):
            here = [
                u for r in i.results for u in r.users
                if u.block is kernel and not u.form.is_phi and place[u] > place[i]
            ]  # fmt: skip
            rounds.append(0 if here else 1)
    return rounds


def _of_kernel(
    function: str, kernel: Block, loops: Sequence[Sequence[SassInstruction]]
) -> ReadBack:
    promised = tuple(sorted(promised_rounds(kernel)))
    for body in loops:
        places = [k for k, i in enumerate(body) if i.name in _LONG]
        if len(places) != len(promised):
            continue
        found = [_first_reader(body, k) for k in places]
        early = tuple(str(i) for n, i in found if n == 0 and i is not None)
        return ReadBack(
            function, str(kernel.name), promised, tuple(sorted(n for n, _ in found)), early
        )
    return ReadBack(function, str(kernel.name), promised, ())


def _first_reader(
    body: Sequence[SassInstruction], place: int
) -> tuple[int, SassInstruction | None]:
    """(rounds, instruction) of the first reader of what a load makes; FAR where there is none."""
    live = set(_writes(body[place]))
    for k in range(place + 1, place + 1 + len(body) * FAR):
        i = body[k % len(body)]
        if live & set(_reads(i)):
            return k // len(body), i
        if not i.guard:
            live -= set(_writes(i))
        if not live:
            break
    return FAR, None
