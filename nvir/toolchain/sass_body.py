"""Real machine code as a `MachineBody`, sm_70 and later: from the machine words themselves where
their table knows all of a function's (`nvir.toolchain.sass_words`), else from nvdisasm's listing.

    body = bodies(cubin, "sm_80")["saxpy"]
    body.live_counts().max_live()     as nvdisasm's -plr counts them

Blocks end at branches, at exits, at calls of routines within the same section (the slow paths of
divisions), and before what is branched to. Loops are found by back edges.

Cost    about 6 µs an instruction from words; 10 from a listing, next to nvdisasm's own 40.
Source  control words: see `nvir.toolchain.sass`; operands: `nvir.toolchain.sass_operands`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from nvir.ir.errors import Unsupported
from nvir.sm.body import BodyBlock, BodyInstruction, MachineBody, called_routines
from nvir.sm.profile import Profile
from nvir.toolchain.cubin import Cubin
from nvir.toolchain.nvdisasm import disassemble
from nvir.toolchain.sass import SassInstruction
from nvir.toolchain.sass_operands import operands_of
from nvir.toolchain.sass_words import JUMPS, LEAVES, PlacedWord, steps, table

_ENDS = LEAVES | {"BRA", "JMP"}
_MEETS = frozenset(("BSSY", "BSSYRELIABLE"))  # their target is no place that they jump to
_operands = lru_cache(1 << 16)(operands_of)


def bodies(
    cubin: bytes | os.PathLike[str], arch: str, *,
    lines: Literal["source", "ptx"] | None = None, profile: Profile | None = None,
    words: bool = True,
) -> dict[str, MachineBody]:
    """The body of each function of a cubin. Raises ToolError where it is damaged, or where a
    function needs nvdisasm and that is missing or refuses the file.

    `lines` asks for the lines of the source or of the PTX, if ptxas wrote them (`-lineinfo`);
    `profile` for the pipe of each instruction. Without `words` all is nvdisasm's.
    """
    content = cubin if isinstance(cubin, bytes) else Path(cubin).read_bytes()
    file, known = Cubin(content), table(arch) if words else None
    placed = file.lines(lines) if lines is not None else {}
    found = {
        s.name[6:]: None if known is None
        else steps(file, s.name[6:], known, placed.get(s.name[6:], {}))
        for s in file.sections if s.name.startswith(".text.")
    }
    if None in found.values():
        missing = {name for name, code in found.items() if code is None}
        listing = disassemble(content, live=False, lines=lines, only=missing)
        found |= {name: [_step(one) for one in code] for name, code in listing.items()}
    made = {name: _body(name, code, arch, profile) for name, code in found.items() if code}
    if lines == "ptx":
        for body in made.values():
            _charge_routines(body)
    return made


def body_of(
    name: str, code: Sequence[SassInstruction], arch: str, profile: Profile | None = None
) -> MachineBody:
    """The body of one function's instructions."""
    return _body(name, [_step(one) for one in code], arch, profile)


def _step(one: SassInstruction) -> PlacedWord:
    writes, reads, guard = _operands(one.opcode, one.operands, one.guard)
    made = BodyInstruction(
        one.opcode, writes, reads, guard=guard, line=one.line[1] if one.line else 0,
        control=one.control, text=_text(one),
    )
    return PlacedWord(one.address, made, one.target, one.targets, _leaves(one))


def _text(one: SassInstruction) -> str:
    guard = f"{one.guard} " if one.guard else ""
    return f"{guard}{one.opcode} {', '.join(one.operands)}".rstrip()


def _leaves(one: SassInstruction) -> bool:
    """Whether nothing that stands behind an instruction may run next."""
    if one.guard not in ("", "@PT", "@UPT"):
        return False
    return one.name in LEAVES or (one.opcode in JUMPS and len(one.operands) == 1)


def _body(
    name: str, code: Sequence[PlacedWord], arch: str, profile: Profile | None = None
) -> MachineBody:
    code = _without_padding(code)
    starts = _starts(code)
    blocks: list[BodyBlock] = []
    place: dict[int, int] = {}  # address → index of its block
    for one in code:
        if not blocks or one.address in starts:
            blocks.append(BodyBlock(len(blocks)))
            place[one.address] = blocks[-1].index
        blocks[-1].instructions.append(one.made)
        if profile is not None:
            one.made.pipe = _pipe(one.made.opcode, profile)
    at = 0
    for block in blocks:
        at += len(block.instructions)
        _leave(block, code[at - 1], place, len(blocks))
    for one in code:
        one.made.target = place.get(one.target, -1) if one.target is not None else -1
    _jumps(blocks)
    return MachineBody(name, arch, blocks, source="ptxas")


def _without_padding(code: Sequence[PlacedWord]) -> Sequence[PlacedWord]:
    """Leave out the endless loop and the no-operations behind the last instruction."""
    end = len(code)
    while end and code[end - 1].made.family == "NOP":
        end -= 1
    if end and code[end - 1].made.family == "BRA" and code[end - 1].target == code[end - 1].address:
        end -= 1
    return code[:end]


def _starts(code: Sequence[PlacedWord]) -> set[int]:
    """Addresses at which a block begins."""
    found: set[int] = set()
    ended = True
    for one in code:
        if ended:
            found.add(one.address)
        family, jumps = one.made.family, one.target is not None
        ended = family in _ENDS or (jumps and family not in _MEETS)
        found.update(one.targets)
        if one.target is not None:
            found.add(one.target)
    return found


def _pipe(opcode: str, profile: Profile) -> str:
    try:
        return next(iter(profile.operation(opcode).pipes), "")  # NOP occupies none
    except Unsupported:
        return ""


def _leave(block: BodyBlock, last: PlacedWord, place: dict[int, int], count: int) -> None:
    """Say where control goes behind a block."""
    follow = block.index + 1 if block.index + 1 < count else -1
    succs: list[int] = []
    target = place.get(last.target, -1) if last.target is not None else -1
    if last.made.family == "CALL":
        block.callee = target
    elif target >= 0 and last.made.family not in _MEETS:
        succs.append(target)
    succs += [place[t] for t in last.targets if t in place and place[t] not in succs]
    if follow >= 0 and follow not in succs and not last.leaves:
        succs.append(follow)
    block.succs = succs


def _charge_routines(body: MachineBody) -> None:
    """Give the routines that ptxas adds, which its lines leave out, the line that calls them: of
    several calls the one at which most is live. A function of the text has lines of its own."""
    calls: dict[int, list[int]] = {}
    for block in body.blocks:
        if block.callee > 0:
            calls.setdefault(block.callee, []).append(block.index)
    ends = [b.instructions[-1].line for b in body.blocks]
    own = [e for e in calls if body.blocks[e].instructions[0].line == ends[e - 1]]
    many = any(len({ends[b] for b in calls[e]}) > 1 for e in own)
    live = body.live_counts().blocks if many else ()
    inside = called_routines(body.blocks) if own else {}
    for entry in own:
        caller = max(calls[entry], key=lambda b: live[b][-1] if live else (0,))
        for b in inside[entry]:
            for i in body.blocks[b].instructions:
                i.line = ends[caller]


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
