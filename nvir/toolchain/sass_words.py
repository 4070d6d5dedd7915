"""Machine words straight from a cubin, sm_75 and later: the same steps as nvdisasm's listing gives.

A table for each generation (`words/sm_80.txt`, made by benchmarks/sass_table.py) says of each
opcode (the lowest twelve bits of its 128 and bit 91) which bits spell which modifier and where
its registers stand. A function with a word that the table does not know has no steps here: ask
nvdisasm. No tool is called.

    KEY|WHERE|CHECK|NAMES|SLOTS
    WHERE   "BITS:VALUE=HOW,…": how a branch says its target (`_WHERE`), or nothing
    CHECK   MASK=VALUE, in hex, of the bits from 72 on that were never seen otherwise
    NAMES   the parts of the opcode in order, each "BITS:VALUE=PART,…": "74,75:0=AND,1=OR"; bits
            from 128 on are those of `_facts`
    SLOTS   w(ritten), r(ead) or g(uard), file, lowest bit, and "*" with the count of registers or
            with bits that decide it; "rR=1" is that register always, "wP^" those of a mask

Cost    4 µs an instruction, against nvdisasm's 40 and the 0.2 s of its start.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from nvir.sm.body import BodyInstruction, Span
from nvir.toolchain.cubin import Cubin
from nvir.toolchain.sass import control

# What other machines read: their table.
_SAME = {"sm_86": "sm_80", "sm_87": "sm_80", "sm_88": "sm_80", "sm_89": "sm_80",
         "sm_101": "sm_100", "sm_103": "sm_100", "sm_110": "sm_100", "sm_121": "sm_120"}
_KEY = 0xFFF | 1 << 91
LEAVES = frozenset(("EXIT", "RET", "KILL", "BRX", "BRXU", "JMX", "JMXU"))
JUMPS = frozenset(("BRA", "BRA.U", "JMP"))  # always taken, unlike BRA.DIV and BRA.CONV
_ALWAYS = 7  # the guard PT
_BYTES = 16


class PlacedWord(NamedTuple):
    """An instruction with its place: `target` and `targets` are addresses that it branches to;
    `leaves`: what stands behind it never runs next."""

    address: int
    made: BodyInstruction
    target: int | None
    targets: tuple[int, ...]
    leaves: bool


class _RegisterField(NamedTuple):
    """Registers that a word names: first = word >> shift & zero, none if that is `zero`."""

    file: str
    shift: int
    zero: int
    words: int


class _WordShape(NamedTuple):
    """What the deciding bits of a word say of it."""

    opcode: str
    writes: tuple[_RegisterField, ...]
    reads: tuple[_RegisterField, ...]
    guard: tuple[_RegisterField, ...]
    where: str


_Choice = tuple[tuple[int, ...], dict[int, str]]


class _Opcode:
    """One opcode's line of a table, read when the first word needs it."""

    def __init__(self, line: str, uniform: int) -> None:
        where, check, names, slots = line.split("|")
        self.where = _choice(where or ":")
        self.check, self.value = (int(x, 16) << 72 for x in check.split("="))
        self.names = [_choice(x) for x in names.split()]
        self.slots = []
        for text in slots.split():
            place, _, words = text.partition("*")
            file = place[1:].rstrip("0123456789^=")
            at = place[1 + len(file) :]
            zero = {"R": 255, "UR": uniform}.get(file, 7)
            self.slots.append((place[0], file, at, zero, _choice(words or ":1")))
        self.mask = _KEY | self.check
        for bits, _ in [self.where, *self.names, *(s[4] for s in self.slots)]:
            for b in bits:
                self.mask |= 1 << b

    def shape(self, word: int) -> _WordShape | None:
        """None where the table does not know the word."""
        if word & self.check != self.value:
            return None
        where, *parts = [table.get(_cut(word, bits)) for bits, table in [self.where, *self.names]]
        found: dict[str, list[_RegisterField]] = {"w": [], "r": [], "g": []}
        for role, file, at, zero, (bits, table) in self.slots:
            words = table.get(_cut(word, bits))
            if words is None:
                return None
            if at == "^":
                found[role] += [_RegisterField(file, 32 + k, -1, k) for k in range(7)]
            elif at.startswith("="):
                found[role].append(_RegisterField(file, int(at[1:]), 0, int(words)))
            elif int(words):
                found[role].append(_RegisterField(file, int(at), zero, int(words)))
        if where is None or None in parts:
            return None
        opcode = ".".join(p for p in parts if p)
        writes, reads, guard = (tuple(found[k]) for k in "wrg")
        return _WordShape(opcode, writes, reads, guard, where)


def _choice(text: str) -> _Choice:
    """ "74,75:0=AND,1=OR": the bits, and what each of their values means."""
    bits, _, table = text.partition(":")
    if not bits:
        return (), {0: table}
    pairs = (x.partition("=") for x in table.split(","))
    return tuple(map(int, bits.split(","))), {int(n): part for n, _, part in pairs}


def _cut(word: int, bits: tuple[int, ...]) -> int:
    return sum((word >> b & 1) << k for k, b in enumerate(bits))


def _facts(word: int) -> int:
    """Bits from 128 on: the first, second, third source is RZ; the literal is 1, a power of two.

    nvdisasm names IMAD.MOV, IMAD.SHL and IMAD.IADD by them.
    """
    literal = word >> 32 & 0xFFFFFFFF
    found = [word >> 24 & 255 == 255, word >> 32 & 255 == 255, word >> 64 & 255 == 255,
             literal == 1, 0 < literal < 1 << 31 and literal & (literal - 1) == 0]
    return word | sum(x << k for k, x in enumerate(found, 128))


class WordTable:
    """What the words of one generation mean."""

    def __init__(self, text: str) -> None:
        first, *lines = text.splitlines()
        self.uniform = int(first.split()[-1])
        self.lines = {int(k, 16): rest for k, _, rest in (x.partition("|") for x in lines)}
        self.masks: dict[int, int] = {}
        self.rows: dict[int, _Opcode] = {}
        self.shapes: dict[int, _WordShape | None] = {}

    def shape(self, word: int) -> _WordShape | None:
        """What the deciding bits of a word say; None where they are not known."""
        key = word & 0xFFF | word >> 79 & 0x1000
        mask = self.masks.get(key)
        if mask is None:
            if key not in self.lines:
                return None
            row = self.rows[key] = _Opcode(self.lines[key], self.uniform)
            mask = self.masks[key] = row.mask
        if mask >> 128:
            word = _facts(word)
        at = word & mask
        if at not in self.shapes:
            self.shapes[at] = self.rows[key].shape(word)
        return self.shapes[at]


@cache
def table(arch: str) -> WordTable | None:
    """The table of an architecture ("sm_86", "sm_90a"); None where there is none."""
    arch = arch.rstrip("af")
    path = files("nvir.toolchain") / "words" / f"{_SAME.get(arch, arch)}.txt"
    return WordTable(path.read_text("utf-8")) if path.is_file() else None


def _spans(word: int, slots: tuple[_RegisterField, ...]) -> tuple[Span, ...]:
    out = []
    for file, shift, zero, words in slots:
        first = word >> shift & zero
        if zero > 0:
            if first != zero:
                out.append(Span(file, first, words))
        elif zero == 0:
            out.append(Span(file, shift, words))
        elif first & 1:
            out.append(Span(file, words, 1))
    return tuple(out)


def decoded(word: int, known: WordTable) -> tuple[BodyInstruction, _WordShape] | None:
    """The instruction of a word; None where the table does not know it."""
    shape = known.shape(word)
    if shape is None:
        return None
    guard = _spans(word, shape.guard)
    return BodyInstruction(
        shape.opcode, _spans(word, shape.writes), _spans(word, shape.reads) + guard,
        guard=guard[0] if guard else None, control=control(word),
        text=_depbar(word, shape.opcode) if shape.opcode.startswith("DEPBAR") else "",
    ), shape


def _depbar(word: int, opcode: str) -> str:
    return f"{opcode} SB{word >> 44 & 7}, 0x{word >> 38 & 63:x}"


def _signed(word: int, low: int, bits: int) -> int:
    value = word >> low & (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


# Where a branch goes, in bytes from the next instruction.
_WHERE: dict[str, Callable[[int], int]] = {
    "B": lambda word: _signed(word, 32, 50),
    "D": lambda word: (_signed(word, 34, 48) << 8 | word >> 16 & 255) * 4,
    "M": lambda word: _signed(word, 34, 48) * 4,
    "S": lambda word: _signed(word, 32, 32),
    "L": lambda word: _signed(word, 24, 32),
}


def steps(
    cubin: Cubin, name: str, known: WordTable, lines: Mapping[int, int]
) -> list[PlacedWord] | None:
    """A function's instructions with the lines that begin at their addresses; None where there is
    a word that the table does not know."""
    code = cubin.by_name[f".text.{name}"].data
    moved = cubin.relocations(f".text.{name}")
    indirect = cubin.indirect(name)
    out: list[PlacedWord] = []
    line = address = 0
    for low, high in struct.iter_unpack("<QQ", code):
        word = low | high << 64
        found = decoded(word, known)
        if found is None:
            return None
        made, shape = found
        line = made.line = lines.get(address, line)
        target = None
        if shape.where:
            target = address + _BYTES + _WHERE[shape.where](word)
            if address in moved:
                section, target = moved[address]
                target = target if section == f".text.{name}" else None
        targets = indirect.get(address, ())
        out.append(PlacedWord(address, made, target, targets, _leaves(word, made)))
        address += _BYTES
    return out


def _leaves(word: int, made: BodyInstruction) -> bool:
    """Whether what stands behind an instruction never runs next."""
    if word >> 12 & 15 != _ALWAYS:
        return False
    if made.family in LEAVES:
        return True
    return made.opcode in JUMPS and not made.reads and word >> 87 & 15 == _ALWAYS
