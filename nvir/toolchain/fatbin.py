"""Fat binaries: the PTX and cubins inside a CUDA program, read without any tool.

    section .nv_fatbin     containers, one behind the other: magic 0xBA55ED50, a header, entries
    entry                  a header (kind, sizes, version, architecture, flags), then the image, as
                           it is, as an LZ4 block (flag 0x2000) or a zstd frame (flag 0x8000)
    .nvFatBinSegment       what the runtime is given: magic 0x466243B1, version, the container

Source   the bytes that nvcc 12 and 13 write with each `-compress-mode`; LZ4's own description of
         its block format. zstd is decoded by Python's own module (3.14), by `zstandard`, or by the
         system's libzstd. Of what cannot be decoded, cuobjdump gives the PTX where it is installed.
Cost     linear; an LZ4 block takes some 10 ms a MB of PTX.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from nvir.toolchain.cuobjdump import Embedded, embedded
from nvir.toolchain.errors import ToolError, ToolMissing

CONTAINER = 0xBA55ED50
WRAPPER = 0x466243B1
_KINDS = {1: "ptx", 2: "cubin"}
_LZ4, _ZSTD = 0x2000, 0x8000
_CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of the entries
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_MOST = 1 << 30


def read_fatbin(data: bytes, kinds: tuple[str, ...] = ("ptx", "cubin")) -> list[Embedded]:
    """The images of the containers that `data` begins with, those of other `kinds` left out.

    Raises ToolError where it is damaged, or where an image is compressed in a way that nothing
    here can read.
    """
    images: list[Embedded] = []
    at = 0
    while at + _CONTAINER.size <= len(data):
        magic, _, header, size = _CONTAINER.unpack_from(data, at)
        if magic != CONTAINER:
            break
        end = at + header + size
        if header < _CONTAINER.size or end > len(data):
            raise ToolError("a fat binary ends in the middle of a container")
        images += _entries(data, at + header, end, kinds)
        at = end + -end % 8
        while data[at : at + 4] == b"\0\0\0\0":  # containers are aligned by the linker
            at += 4
    if not at:
        raise ToolError("no fat binary: it does not begin with a container's magic number")
    return images


def container_size(head: bytes) -> int:
    """Bytes of the container whose first 16 bytes these are."""
    magic, _, header, size = _CONTAINER.unpack_from(head)
    if magic != CONTAINER:
        raise ToolError("no fat binary: it does not begin with a container's magic number")
    return int(header + size)


def program_images(
    program: str | os.PathLike[str], kinds: tuple[str, ...] = ("ptx",)
) -> list[Embedded]:
    """The images of all fat binaries of an ELF program or library; none where it has none.

    An image that cannot be decompressed here is asked of cuobjdump. Raises ToolError.
    """
    data = Path(program).read_bytes()
    images: list[Embedded] = []
    try:
        for name, start, size in elf_sections(data):
            if name in (".nv_fatbin", "__nv_relfatbin") and size:
                images += read_fatbin(data[start : start + size], kinds)
    except ToolMissing:
        return embedded(Path(program), kinds)
    return images


def elf_sections(data: bytes) -> Iterator[tuple[str, int, int]]:
    """(name, offset in the file, size) of each section of a 64-bit ELF file; none of others."""
    if data[:5] != b"\x7fELF\x02" or len(data) < 64:
        return
    (table,) = struct.unpack_from("<Q", data, 40)
    width, count, names = struct.unpack_from("<HHH", data, 58)
    if width < 64 or table + width * count > len(data) or names >= count:
        return
    rows = [struct.unpack_from("<IIQQQQ", data, table + k * width) for k in range(count)]
    for name, _, _, _, start, size in rows:
        at = rows[names][4] + name
        yield data[at : data.find(b"\0", at)].decode("utf-8", "replace"), start, size


def _entries(data: bytes, at: int, end: int, kinds: tuple[str, ...]) -> Iterator[Embedded]:
    while at < end:
        if at + _ENTRY.size > end:
            raise ToolError("a fat binary ends in the middle of an entry")
        (kind, _, header, size, packed, _, _, _, arch, name_at, name_size, flags, _,
         unpacked) = _ENTRY.unpack_from(data, at)
        start = at + header
        if header < _ENTRY.size or start + size > end or packed > size:
            raise ToolError("an entry of a fat binary has sizes that do not fit")
        name = data[at + name_at : at + name_at + name_size].decode("utf-8", "replace")
        kind = _KINDS.get(kind, "other")
        if kind in kinds:
            image = data[start : start + (packed or size)]
            if flags & (_LZ4 | _ZSTD):
                image = (_lz4 if flags & _LZ4 else _zstd)(image, unpacked)
            if kind == "ptx":
                image = image.rstrip(b"\0")
            yield Embedded(name.rstrip("\0"), kind, f"sm_{arch}", image)
        at = start + size


def _lz4(block: bytes, size: int) -> bytes:
    """An LZ4 block: literals and matches, each length 15 or more goes on in further bytes."""
    out = bytearray()
    at, end = 0, len(block)
    try:
        while at < end:
            token = block[at]
            at += 1
            count, at = _length(block, token >> 4, at)
            out += block[at : at + count]
            at += count
            if at >= end:
                break
            distance = block[at] | block[at + 1] << 8
            count, at = _length(block, token & 15, at + 2)
            count += 4
            start = len(out) - distance
            if not distance or start < 0 or len(out) + count > size:
                raise ToolError("an LZ4 block of a fat binary is damaged")
            while count > 0:  # a match may overlap what it makes
                piece = out[start : start + count]
                out += piece
                count -= len(piece)
    except IndexError:
        raise ToolError("an LZ4 block of a fat binary is damaged") from None
    if len(out) != size:
        raise ToolError("an LZ4 block of a fat binary has another size than its entry says")
    return bytes(out)


def _length(block: bytes, count: int, at: int) -> tuple[int, int]:
    if count == 15:
        more = 255
        while more == 255:
            more = block[at]
            at += 1
            count += more
    return count, at


def _zstd(frame: bytes, size: int) -> bytes:
    if not 0 <= size <= _MOST:
        raise ToolError("a zstd frame of a fat binary says an impossible size")
    for name in ("compression.zstd", "zstandard", "backports.zstd"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        try:
            data: bytes = module.decompress(frame)
        except Exception as error:  # each has a class of its own
            raise ToolError(f"a zstd frame of a fat binary is damaged: {error}") from None
        return data
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        raise ToolMissing("a zstd decoder", "pip install 'nvir[exec]', or libzstd") from None
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t
    ]
    out = ctypes.create_string_buffer(size)
    if library.ZSTD_decompress(out, size, frame, len(frame)) != size:
        raise ToolError("a zstd frame of a fat binary is damaged")
    return out.raw
