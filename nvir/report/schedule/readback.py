"""Whether the assembler kept a software pipeline: its machine code, read back.

A pipelined kernel promises that a load's value is read so many rounds after the load. In the
machine code the same is counted: from each load of the loop on, the instructions that follow, round
after round, up to the first that reads a register of it. Any instruction counts, a MOV that only
carries the value on included, since it waits for the load like any other.

The loop of the machine code that is the kernel is the first innermost one with as many long loads
as the kernel has, or with a multiple of these where they load matrices, which takes several each;
where there is none, the assembler made something else of it.

    readback_remarks   the same as remarks, for `nvir opt --readback`

Cost     linear in the loop's instructions for each load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from nvir import toolchain
from nvir.ir import Block, Module, NvirError
from nvir.passes.loop.pipeline.body import loads_from_afar
from nvir.passes.loop.pipeline.expand import PIPELINED
from nvir.passes.loop.pipeline.loop_pipeline import KEPT, UNDONE
from nvir.passes.remarks import Remark, locate
from nvir.ptx.printer import print_ptx
from nvir.sm.body import BodyInstruction, MachineBody, register_bits

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


def readback_remarks(module: Module, arch: str | None = None) -> list[Remark]:
    """What ptxas keeps of the pipelined kernels of a module, as remarks of `loop-pipeline`.

    arch   to assemble for; the module's target by default
    Empty where no kernel is pipelined, and ptxas is not asked. Raises ToolMissing without ptxas
    and nvdisasm, NvirError where ptxas rejects the module.
    """
    kernels = {
        (str(f.name), str(b.name)): b
        for f in module.functions for b in f.blocks if PIPELINED in b.flags
    }
    if not kernels:
        return []
    made = toolchain.ptxas(print_ptx(module), arch=arch or module.target)
    if not made.ok or made.cubin is None:
        raise NvirError(f"ptxas rejects the pipelined module: {made.log.strip()[:400]}")
    out = []
    for back in read_back(module, toolchain.bodies(made.cubin, arch or module.target)):
        block = kernels[back.function, back.kernel]
        _, file, line, column = locate(block.function, block)
        args: dict[str, int | str] = {"why": str(back).removeprefix("undone: ")}
        if back.kept:
            args = {"loads": len(back.promised), "ahead": sum(n > 0 for n in back.promised)}
        out.append(Remark(
            KEPT if back.kept else UNDONE, "loop-pipeline", back.function, args,
            back.kernel.removesuffix(".kernel"), file, line, column,
        ))
    return out


def read_back(module: Module, machine: Mapping[str, MachineBody]) -> list[ReadBack]:
    """What the assembler made of each pipelined kernel of a module, in order."""
    out = []
    for function in module.functions:
        body = machine.get(str(function.name))
        loops = [] if body is None else [body.loop_instructions(x) for x in body.innermost()]
        for block in function.blocks:
            if PIPELINED in block.flags:
                out.append(_of_kernel(str(function.name), block, loops))
    return out


def promised_rounds(kernel: Block) -> list[int]:
    """Rounds from each long load of a kernel to the first reader of its value."""
    place = {i: k for k, i in enumerate(kernel)}
    rounds = []
    for i in kernel:
        if loads_from_afar(i):
            here = [
                u for r in i.results for u in r.users
                if u.block is kernel and not u.form.is_phi and place[u] > place[i]
            ]
            rounds.append(0 if here else 1)
    return rounds


def _of_kernel(
    function: str, kernel: Block, loops: Sequence[Sequence[BodyInstruction]]
) -> ReadBack:
    once = promised_rounds(kernel)
    matrices = any(i.form.name.startswith("wmma") for i in kernel if loads_from_afar(i))
    for body in loops:
        places = [k for k, i in enumerate(body) if i.family in _LONG]
        times, over = divmod(len(places), max(1, len(once)))
        if over or not (times == 1 or (times and matrices)):
            continue
        found = [_first_reader(body, k) for k in places]
        promised = tuple(sorted(once * times))
        early = tuple(str(i) for n, i in found if n == 0 and i is not None)
        return ReadBack(
            function, str(kernel.name), promised, tuple(sorted(n for n, _ in found)), early
        )
    return ReadBack(function, str(kernel.name), tuple(sorted(once)), ())


def _first_reader(
    body: Sequence[BodyInstruction], place: int
) -> tuple[int, BodyInstruction | None]:
    """(rounds, instruction) of the first reader of what a load makes; FAR where there is none."""
    live = register_bits(body[place].writes)
    for k in range(place + 1, place + 1 + len(body) * FAR):
        i = body[k % len(body)]
        if live & register_bits(i.reads):
            return k // len(body), i
        if i.guard is None:
            live &= ~register_bits(i.writes)
        if not live:
            break
    return FAR, None
