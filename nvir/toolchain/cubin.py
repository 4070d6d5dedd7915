"""What a cubin holds beside the instructions: sections, relocations, lines, indirect branches.

Source  ELF and DWARF 2 (the line programs); .nv.info as `nvdisasm` and `cuobjdump -elf` print it;
        checked against nvdisasm's -g and -gp (benchmarks/sass_table.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from nvir.toolchain.errors import ToolError

_INDIRECT_BRANCH_TARGETS = 0x34  # attribute of .nv.info.NAME
_LINES = {"source": ".debug_line", "ptx": ".nv_debug_line_sass"}


class ElfSection(NamedTuple):
    """A section of the file; `kind` is ELF's number of it (9: relocations, 4: with addends)."""

    name: str
    kind: int
    data: bytes


def elf_sections(cubin: bytes) -> list[ElfSection]:
    """The sections in order. Raises ToolError for what is not a 64-bit little-endian ELF file."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise ToolError("not a cubin: no 64-bit little-endian ELF header")
    try:
        table, entry, count, names = struct.unpack_from("<40xQ10xHHH", cubin)
        headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * entry) for i in range(count)]
        strings = headers[names][4] if headers else 0
        found = []
        for name_at, kind, _, _, offset, size in headers:
            end = cubin.index(b"\0", strings + name_at)
            name = cubin[strings + name_at : end].decode("utf-8", "replace")
            found.append(ElfSection(name, kind, cubin[offset : offset + size]))
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise ToolError(f"a damaged cubin: {error}") from error
    return found


def code_sections(cubin: bytes) -> dict[str, bytes]:
    """The machine code of each function of a cubin: its `.text.NAME` sections.

    Raises ToolError for what is not a 64-bit little-endian ELF file.
    """
    return {s.name.removeprefix(".text."): s.data for s in elf_sections(cubin)
            if s.name.startswith(".text.")}


class Cubin:
    """The sections of a cubin, and what they say of each function."""

    def __init__(self, content: bytes) -> None:
        self.sections = elf_sections(content)
        self.by_name = {s.name: s for s in self.sections}

    def _data(self, name: str) -> bytes:
        return self.by_name[name].data if name in self.by_name else b""

    def relocations(self, name: str) -> dict[int, tuple[str, int]]:
        """Offset in a section → (the section of the symbol that belongs there, its offset)."""
        symbols, found = self._data(".symtab"), {}
        for prefix, row in ((".rel", "<QQ"), (".rela", "<QQq")):
            for offset, info, *more in struct.iter_unpack(row, self._data(prefix + name)):
                index, value = struct.unpack_from("<HQ", symbols, (info >> 32) * 24 + 6)
                where = self.sections[index].name if index < len(self.sections) else ""
                found[offset] = where, value + sum(more)
        return found

    def indirect(self, name: str) -> dict[int, tuple[int, ...]]:
        """Address of an indirect branch of a function → the addresses that it may go to."""
        data, found, at = self._data(f".nv.info.{name}"), {}, 0
        while at < len(data):
            form, kind, size = struct.unpack_from("<BBH", data, at)
            at += 4
            if form == 4:
                if kind == _INDIRECT_BRANCH_TARGETS:
                    words = struct.unpack_from(f"<{size // 4}I", data, at)
                    while words:
                        address, _, count, *_ = words
                        found[address] = words[3 : 3 + count]
                        words = words[3 + count :]
                at += size
        return found

    def lines(self, of: Literal["source", "ptx"]) -> dict[str, dict[int, int]]:
        """Function → address → the line from there on, of the source or of the PTX.

        Of several lines of one address it is the last.
        """
        name, found = _LINES[of], dict[str, dict[int, int]]()
        for section, address, line in _line_rows(self._data(name), self.relocations(name)):
            found.setdefault(section.removeprefix(".text."), {})[address] = line
        return found


def _line_rows(
    data: bytes, places: Mapping[int, tuple[str, int]]
) -> Iterator[tuple[str, int, int]]:
    """(section, address, line) of each row of the line programs of a section."""
    start = 0
    while start < len(data):
        size, _, header, step, _, base, span, first = struct.unpack_from("<IHIBBbBB", data, start)
        at, end = start + 10 + header, start + 4 + size
        counts = data[start + 15 : start + 14 + first]
        section, address, line = "", 0, 1
        while at < end:
            op = data[at]
            at += 1
            if op >= first:
                address += (op - first) // span * step
                line += base + (op - first) % span
                yield section, address, line
            elif op == 0:
                length, at = _leb(data, at)
                if data[at] == 2:  # an address: the relocation says of which function
                    section, address = places.get(at + 1, ("", 0))
                    address += struct.unpack_from("<Q", data, at + 1)[0]
                elif data[at] == 1:
                    section, address, line = "", 0, 1
                at += length
            elif op == 1:
                yield section, address, line
            elif op == 9:
                address += struct.unpack_from("<H", data, at)[0]
                at += 2
            elif op == 8:
                address += (255 - first) // span * step
            else:
                values = []
                for _ in range(counts[op - 1]):
                    value, at = _leb(data, at, signed=op == 3)
                    values.append(value)
                address += values[0] * step if op == 2 else 0
                line += values[0] if op == 3 else 0
        start = end


def _leb(data: bytes, at: int, *, signed: bool = False) -> tuple[int, int]:
    """A number in seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value - (1 << shift if signed and byte & 64 else 0), at
