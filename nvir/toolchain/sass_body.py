"""Real machine code as a `MachineBody`: nvdisasm's listing with its encodings, sm_70 and later.

    body = bodies(cubin, "sm_80")["saxpy"]
    body.live_counts().max_live()     as nvdisasm's -plr counts them

Blocks end at branches, at exits, at calls of routines within the same section (the slow paths of
divisions), and before what is branched to. Loops are found by back edges.

Cost    about 10 µs an instruction, next to nvdisasm's own 40.
Source  control words: see `nvir.toolchain.sass`; operands: `nvir.toolchain.sass_operands`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from nvir.ir.errors import Unsupported
from nvir.sm.body import BodyBlock, BodyInstruction, MachineBody
from nvir.sm.profile import Profile
from nvir.toolchain.nvdisasm import disassemble
from nvir.toolchain.sass import SassInstruction
from nvir.toolchain.sass_operands import operands_of

_ENDS = frozenset(["BRA", "BRX", "BRXU", "EXIT", "RET", "JMP", "JMX", "JMXU", "KILL"])
_LEAVES = frozenset(("EXIT", "RET", "KILL"))
_INDIRECT = frozenset(("BRX", "BRXU", "JMX", "JMXU"))
_operands = lru_cache(1 << 16)(operands_of)


def bodies(
    cubin: bytes | os.PathLike[str], arch: str, *,
    lines: Literal["source", "ptx"] | None = None, profile: Profile | None = None,
) -> dict[str, MachineBody]:
    """The body of each function of a cubin. Raises ToolError where nvdisasm refuses it.

    `lines` asks for the lines of the source or of the PTX, if ptxas wrote them (`-lineinfo`);
    `profile` for the pipe of each instruction.
    """
    listing = disassemble(cubin, live=False, lines=lines)
    return {name: body_of(name, code, arch, profile) for name, code in listing.items()}


def body_of(
    name: str, code: Sequence[SassInstruction], arch: str, profile: Profile | None = None
) -> MachineBody:
    """The body of one function's instructions."""
    code = _without_padding(code)
    starts = _starts(code)
    blocks: list[BodyBlock] = []
    place: dict[int, int] = {}  # address → index of its block
    for one in code:
        if not blocks or one.address in starts:
            blocks.append(BodyBlock(len(blocks)))
            place[one.address] = blocks[-1].index
        blocks[-1].instructions.append(_instruction(one, profile))
    at = 0
    for block in blocks:
        at += len(block.instructions)
        _leave(block, code[at - 1], place, len(blocks))
    _jumps(blocks)
    return MachineBody(name, arch, blocks, source="ptxas")


def _without_padding(code: Sequence[SassInstruction]) -> Sequence[SassInstruction]:
    """Leave out the endless loop and the no-operations behind the last instruction."""
    end = len(code)
    while end and code[end - 1].name == "NOP":
        end -= 1
    if end and code[end - 1].name == "BRA" and code[end - 1].target == code[end - 1].address:
        end -= 1
    return code[:end]


def _starts(code: Sequence[SassInstruction]) -> set[int]:
    """Addresses at which a block begins."""
    found: set[int] = set()
    ended = True
    for one in code:
        if ended:
            found.add(one.address)
        ended = one.name in _ENDS or (one.name == "CALL" and one.target is not None)
        ended = ended or (one.target is not None and one.name not in ("BSSY", "BSSYRELIABLE"))
        found.update(one.targets)
        if one.target is not None:
            found.add(one.target)
    return found


def _instruction(one: SassInstruction, profile: Profile | None) -> BodyInstruction:
    writes, reads, guard = _operands(one.opcode, one.operands, one.guard)
    return BodyInstruction(
        one.opcode, writes, reads, guard=guard, line=one.line[1] if one.line else 0,
        control=one.control, text=_text(one), pipe=_pipe(one.opcode, profile),
    )


def _text(one: SassInstruction) -> str:
    guard = f"{one.guard} " if one.guard else ""
    return f"{guard}{one.opcode} {', '.join(one.operands)}".rstrip()


def _pipe(opcode: str, profile: Profile | None) -> str:
    if profile is None:
        return ""
    try:
        return profile.operation(opcode).pipes[0]
    except Unsupported:
        return ""


def _leave(block: BodyBlock, last: SassInstruction, place: dict[int, int], count: int) -> None:
    """Say where control goes behind a block."""
    follow = block.index + 1 if block.index + 1 < count else -1
    succs: list[int] = []
    target = place.get(last.target, -1) if last.target is not None else -1
    made = block.instructions[-1]
    if last.name == "CALL":
        block.callee = target
    elif target >= 0 and last.name not in ("BSSY", "BSSYRELIABLE"):
        succs.append(target)
    succs += [place[t] for t in last.targets if t in place and place[t] not in succs]
    made.target = target
    if follow >= 0 and follow not in succs and not _always_leaves(last):
        succs.append(follow)
    block.succs = succs


def _jumps(blocks: Sequence[BodyBlock]) -> None:
    """Calls of what never returns are jumps: ptxas leaves divergent loops by them."""
    for block in blocks:
        if block.callee < 0:
            continue
        seen: set[int] = set()
        work = [block.callee]
        while work:
            b = work.pop()
            if b not in seen:
                seen.add(b)
                work += blocks[b].succs
        if not any(i.family == "RET" for b in seen for i in blocks[b].instructions):
            last = block.instructions[-1]
            follow = block.succs if last.guard is not None else []
            block.succs, block.callee = [block.callee, *follow], -1


def _always_leaves(last: SassInstruction) -> bool:
    """Whether nothing that stands behind an instruction may run next."""
    if last.guard not in ("", "@PT", "@UPT"):
        return False
    if last.name in _LEAVES or last.name in _INDIRECT:
        return True
    return last.name in ("BRA", "JMP") and len(last.operands) == 1
