"""Machine code as data: nvdisasm's text into instructions, control words from a cubin.

Reads what nvdisasm prints with any mix of -c, -hex, -plr, -g and -gp: each
instruction with its guard, operands, branch target, source line, live register
counts and 128-bit encoding, whichever the text holds.

Since Volta an instruction is 128 bits and its top end steers the issue: how many
cycles the warp waits, which scoreboards it sets and waits for. `control_words`
reads these bits from the cubin itself, so it needs no tool and costs 2 us an
instruction, against 0.3 s for a call of nvdisasm and 40 us for each line of it.

Source  Jia, Maggioni, Staiger, Scarpazza, "Dissecting the NVIDIA Volta GPU
        Architecture via Microbenchmarking", 2018, section 2 (the control word).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Container, Mapping

import attrs

from nvir.sm.body import ControlBits as Control
from nvir.toolchain.cubin import code_sections

_BYTES = 16  # an instruction, Volta and later
_NO_BARRIER = 7


def control(word: int) -> Control:
    """The scheduling bits of a 128-bit instruction."""
    bits = word >> 105
    write, read = bits >> 5 & 7, bits >> 8 & 7
    return Control(
        stall=bits & 15,
        yield_=not bits >> 4 & 1,  # the bit is active low
        write_barrier=None if write == _NO_BARRIER else write,
        read_barrier=None if read == _NO_BARRIER else read,
        wait_mask=bits >> 11 & 63,
        reuse=bits >> 17 & 15,
    )


@attrs.frozen
class SassInstruction:
    """One machine instruction.

    `address` is in bytes from the function's start; `guard` is as printed ("@!P0") or
    empty; `target` is the address of a direct branch, call or reconvergence point in the
    same section, else None; `targets` those of an indirect branch; `live` has the registers
    in use by file ("GPR", "PRED", "UGPR") where the text has such columns; `line` is (file,
    number) of the source.
    """

    address: int
    guard: str
    opcode: str
    operands: tuple[str, ...]
    target: int | None = None
    targets: tuple[int, ...] = ()
    live: Mapping[str, int] = attrs.field(factory=dict)
    line: tuple[str, int] | None = None
    encoding: int | None = None

    @property
    def name(self) -> str:
        """The opcode without its modifiers: "IMAD" of "IMAD.WIDE.U32"."""
        return self.opcode.partition(".")[0]

    @property
    def control(self) -> Control | None:
        """The scheduling bits, where the text had the encodings of a 128-bit machine."""
        return None if self.encoding is None else control(self.encoding)

    def __str__(self) -> str:
        guard = f"{self.guard} " if self.guard else ""
        return f"{self.address:04x} {guard}{self.opcode} {', '.join(self.operands)}".rstrip()


_SECTION = re.compile(r'^\s*\.section\s+"?\.text\.([^",\s]+)|^\.text\.([^:\s]+):')
_OTHER_SECTION = re.compile(r"^\s*\.section\s")
_LABEL = re.compile(r"^([.$\w][\w.$@]*):")
_LINE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_PTX_FILE = ".nv_debug_ptx_txt"  # what nvdisasm -gp calls the PTX
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:\{\s*)?([^;/]*?)\s*;")
_ENCODING = re.compile(r"/\*\s*0x([0-9a-f]{16})\s*\*/")
_COLUMNS = re.compile(r"//\s*\|(.*)\|\s*$")
_GUARD = re.compile(r"(@!?U?P(?:\d|T))\s+(.*)")
_REFERENCE = re.compile(r"`\(([^)]+)\)")
_BRANCH_TARGETS = re.compile(r'BRANCH_TARGETS ([^"]+)"')
_NO_TARGET = frozenset({"RET", "BRX", "BRXU", "JMX", "JMXU"})  # their label is only a base


def read_sass(
    text: str, only: Container[str] | None = None
) -> dict[str, list[SassInstruction]]:
    """nvdisasm's listing as instructions by function (one a text section); of all, or of some.

    A function that ptxas kept inside a kernel's section belongs to that kernel. Lines of
    other kinds are passed over, so the listing may be of any release.
    """
    functions: dict[str, _Function] = {}
    current: _Function | None = None
    columns: list[str] = []
    for line in text.splitlines():
        code, _, comment = line.rpartition("//")
        cells = _COLUMNS.search(line) if comment else None
        if cells:
            columns = _column_names(cells[1], columns)
        if section := _SECTION.match(line):
            name = section[1] or section[2]
            wanted = only is None or name in only
            current = functions.setdefault(name, _Function()) if wanted else None
        elif _OTHER_SECTION.match(line):
            current = None
        elif current is not None:
            current.take(line, code if cells else line, cells[1] if cells else "", columns)
    return {name: function.finish() for name, function in functions.items()}


def _column_names(cells: str, known: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells.split("|")]
    return names if all(re.fullmatch(r"[A-Z]+", name) for name in names) else known


class _Function:
    """The instructions of one section while its lines come in."""

    __slots__ = ("labels", "line", "pending", "rows", "settled")

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self.labels: dict[str, int] = {}
        self.pending: list[str] = []  # labels that wait for their instruction
        self.line: tuple[str, int] | None = None
        self.settled = False  # has the present group of line comments given its first?

    def take(self, line: str, code: str, cells: str, columns: list[str]) -> None:
        if found := _INSTRUCTION.match(code):
            row = _Row(int(found[1], 16), found[2].strip(), self.line)
            for label in self.pending:
                self.labels[label] = row.address
            self.pending, self.settled = [], False
            self.rows.append(row)
        elif found := _LABEL.match(line):
            self.pending.append(found[1])
            return
        elif found := _LINE.match(line):
            # of inlined calls the innermost comes first; of lines of PTX without code the last
            if not self.settled or found[1] == _PTX_FILE:
                self.line, self.settled = (found[1], int(found[2])), True
            return
        if self.rows:
            self.rows[-1].words += [int(word, 16) for word in _ENCODING.findall(code)]
            self.rows[-1].read_live(cells, columns)

    def finish(self) -> list[SassInstruction]:
        return [row.finish(self.labels) for row in self.rows]


class _Row:
    """One instruction while the second half of its encoding is still to come."""

    __slots__ = ("address", "line", "live", "text", "words")

    def __init__(self, address: int, text: str, line: tuple[str, int] | None) -> None:
        self.address, self.text, self.line = address, text, line
        self.words: list[int] = []
        self.live: dict[str, int] = {}

    def read_live(self, cells: str, columns: list[str]) -> None:
        if not cells:
            return
        for name, cell in zip(columns, cells.split("|"), strict=False):
            marks = cell.split(maxsplit=1)  # the wide form has ^ v x : after the count
            if marks and marks[0].isdecimal():
                self.live[name] = int(marks[0])

    def finish(self, labels: dict[str, int]) -> SassInstruction:
        guard, text = "", self.text
        if guarded := _GUARD.match(text):
            guard, text = guarded[1], guarded[2]
        opcode, _, rest = text.partition(" ")
        operands = tuple(split_operands(rest))
        low_high = self.words[:2]
        return SassInstruction(
            address=self.address,
            guard=guard,
            opcode=opcode,
            operands=operands,
            target=_target(opcode, operands, labels),
            targets=_targets(text, labels),
            live=self.live,
            line=self.line,
            encoding=low_high[0] | low_high[1] << 64 if len(low_high) == 2 else None,
        )


def _target(opcode: str, operands: tuple[str, ...], labels: dict[str, int]) -> int | None:
    name = opcode.partition(".")[0]
    if not operands or name in _NO_TARGET:
        return None
    found = _REFERENCE.fullmatch(operands[-1])  # "R6 `(f)" is relative to a register
    return labels.get(found[1]) if found else None


def _targets(text: str, labels: dict[str, int]) -> tuple[int, ...]:
    """Where an indirect branch may go, as nvdisasm notes behind it."""
    found = _BRANCH_TARGETS.search(text)
    if found is None:
        return ()
    return tuple(labels[name] for name in found[1].split(",") if name in labels)


def split_operands(text: str) -> list[str]:
    """Operands parted at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


# --- straight from the cubin -------------------------------------------------------------


def control_words(cubin: bytes) -> dict[str, list[Control]]:
    """The scheduling bits of each instruction, by function, in order of address."""
    return {
        name: [control(low | high << 64) for low, high in struct.iter_unpack("<QQ", code)]
        for name, code in code_sections(cubin).items()
        if len(code) % _BYTES == 0
    }


def stall_counts(cubin: bytes) -> dict[str, list[int]]:
    """The cycles each instruction holds its warp, by function, in order of address."""
    return {name: [word.stall for word in words] for name, words in control_words(cubin).items()}
