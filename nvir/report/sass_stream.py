"""A loop of real machine code as a stream for the cycle simulator.

What ptxas made of a loop can so be simulated like what nvir predicts, and the model be judged: for
a loop without memory accesses, one warp's cycles an iteration must be the sum of the stall counts
that ptxas encoded.

Method   An instruction writes its leading operands: predicates, then one register of as many
         words as its modifiers say; stores and the like write none. All other registers are read.
Cost     linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nvir.ir.errors import Unsupported
from nvir.sm.profile import Profile
from nvir.sm.simulate.stream import Kind, Stream, Wait, balanced, slot
from nvir.toolchain.sass import SassInstruction

_NO_RESULT = frozenset((
    "ST", "STG", "STS", "STL", "RED", "BRA", "EXIT", "BAR", "NOP", "BSSY", "BSYNC", "MEMBAR",
    "DEPBAR", "WARPSYNC", "CALL", "RET", "YIELD", "ERRBAR", "CCTL", "LDGDEPBAR", "LDGSTS",
    "BREAK", "KILL", "BPT", "NANOSLEEP", "WARPGROUP", "SYNCS", "UTMALDG",
))
_TWO_PREDICATES = frozenset(["ISETP", "FSETP", "DSETP", "HSETP2", "PLOP3", "UISETP"])
_DOUBLE = frozenset(["DADD", "DMUL", "DFMA"])
_REGISTER = re.compile(r"\b(UR|R|UP|P)(\d+)(\.64)?")


def machine_loops(code: Sequence[SassInstruction]) -> list[list[SassInstruction]]:
    """The bodies of innermost loops: from the target of each backward branch up to it."""
    loops = [
        [i for i in code if last.target <= i.address <= last.address]
        for last in code
        if last.name == "BRA" and last.target is not None and last.target < last.address
    ]
    return [x for x in loops if not any(y is not x and y[0] in x and y[-1] in x for y in loops)]


def sass_stream(body: Sequence[SassInstruction], profile: Profile) -> Stream:
    """The stream of a loop's body, in its order. Raises Unsupported for an operation that the
    profile does not know."""
    reads = [list(_reads(i)) for i in body]
    writes = [_writes(i) for i in body]
    last = {r: n for n, made in enumerate(writes) for r in made}
    slots = []
    writer: dict[str, int] = {}
    for n, i in enumerate(body):
        waits = []
        for r in dict.fromkeys(reads[n]):
            source = writer.get(r, last.get(r))
            if source is not None:
                guard = r == i.guard.lstrip("@!")
                cycles = profile.latency(body[source].opcode, i.opcode, guard=guard)
                waits.append(Wait(source, int(r not in writer), cycles))
        writer.update(dict.fromkeys(writes[n], n))
        slots.append(slot(profile, i.opcode, waits, kind=_kind(i, n == len(body) - 1)))
    return Stream(profile, balanced(slots, profile))


def stall_sum(body: Sequence[SassInstruction]) -> int:
    """The cycles of an iteration that the stall counts of a body encode, waits aside."""
    if any(i.control is None for i in body):
        raise Unsupported("machine code without encodings")
    return sum(i.control.stall for i in body if i.control is not None)


def _kind(i: SassInstruction, last: bool) -> Kind:
    if i.name == "BRA":
        return "branch" if last else "math"
    return "barrier" if i.opcode.startswith("BAR.SYNC") else "math"


def _split(i: SassInstruction) -> tuple[list[str], list[str]]:
    """Operands that are written, and those that are read."""
    if i.name in _NO_RESULT:
        return [], list(i.operands)
    if i.name in _TWO_PREDICATES:
        return list(i.operands[:2]), list(i.operands[2:])
    count = 0
    while count < len(i.operands) and re.fullmatch(r"U?P(\d|T)", i.operands[count]):
        count += 1
    count += 1
    while count < len(i.operands) and re.fullmatch(r"U?P(\d|T)", i.operands[count]):
        count += 1  # carries out
    return list(i.operands[:count]), list(i.operands[count:])


def _words(i: SassInstruction) -> int:
    modifiers = i.opcode.split(".")
    if "128" in modifiers:
        return 4
    return 2 if "64" in modifiers or "WIDE" in modifiers or i.name in _DOUBLE else 1


def _writes(i: SassInstruction) -> list[str]:
    made = []
    for text in _split(i)[0]:
        for file, number, _ in _REGISTER.findall(text):
            words = 1 if file.endswith("P") else _words(i)
            made += [f"{file}{int(number) + w}" for w in range(words)]
    return made


def _reads(i: SassInstruction) -> Iterator[str]:
    sources = _split(i)[1]
    for k, text in enumerate(sources):
        wide = i.name in _DOUBLE or ("WIDE" in i.opcode.split(".") and k == 2)
        for file, number, pair in _REGISTER.findall(text):
            words = 2 if pair or (wide and not file.endswith("P")) else 1
            yield from (f"{file}{int(number) + w}" for w in range(words))
    for file, number, _ in _REGISTER.findall(i.guard):
        yield f"{file}{number}"
