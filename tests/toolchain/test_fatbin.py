"""Fat binaries are read without a tool: containers, entries, LZ4 and zstd, ELF sections."""

from __future__ import annotations

import struct

import pytest

from nvir.toolchain.errors import ToolError
from nvir.toolchain.fatbin import container_size, elf_sections, program_images, read_fatbin

PTX = b".version 8.0\n.target sm_80\n" + b"// a line that comes again\n" * 40


def lz4(data: bytes) -> bytes:
    """The first bytes as literals, what repeats as one match, five literals at the end."""
    head, distance = data[:60], 27
    match = len(data) - 60 - 5
    assert data[60 : 60 + match] == bytes(data[60 - distance + k % distance] for k in range(match))
    more = match - 4 - 15
    return (
        bytes([0xFF, 60 - 15]) + head + struct.pack("<H", distance)
        + b"\xff" * (more // 255) + bytes([more % 255]) + bytes([0x50]) + data[-5:]
    )


def entry(image: bytes, kind: int = 1, arch: int = 80, flags: int = 0x11, full: int = 0) -> bytes:
    packed = len(image) if full else 0
    image += b"\0" * (-len(image) % 8)
    return struct.pack(
        "<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(image), packed, 0, 0, 8, arch, 0, 0, flags, 0, full
    ) + image


def container(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_entries_of_each_kind_are_read():
    packed = entry(lz4(PTX), 1, 90, 0x2011, len(PTX))
    data = container(entry(b"\x7fELF cubin", kind=2), entry(PTX), packed)
    images = read_fatbin(data)
    assert [(i.kind, i.arch) for i in images] == [
        ("cubin", "sm_80"), ("ptx", "sm_80"), ("ptx", "sm_90")
    ]
    assert images[1].data == images[2].data == PTX
    assert container_size(data[:16]) == len(data)
    assert len(read_fatbin(data + b"\0" * 8 + data, ("ptx",))) == 4  # one behind the other, aligned


def test_zstd_is_read_where_a_decoder_is():
    import ctypes

    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        pytest.skip("no libzstd on this system")
    out = ctypes.create_string_buffer(4096)
    library.ZSTD_compress.restype = ctypes.c_size_t
    size = library.ZSTD_compress(out, ctypes.c_size_t(4096), PTX, ctypes.c_size_t(len(PTX)), 3)
    data = container(entry(out.raw[:size], 1, 75, 0x8011, len(PTX)))
    assert read_fatbin(data)[0].data == PTX
    with pytest.raises(ToolError, match="damaged"):
        read_fatbin(container(entry(b"\x28\xb5\x2f\xfd\xff\xff\xff\xff", 1, 75, 0x8011, 99)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"nothing of the kind....", "does not begin"),
        (container(entry(PTX))[:-8], "middle of a container"),
        (container(entry(PTX)[:40]), "middle of an entry"),
        (container(entry(lz4(PTX)[:-9], 1, 80, 0x2011, len(PTX))), "LZ4"),
        (container(entry(b"\x0f\x00\x00\x00\x00", 1, 80, 0x2011, 64)), "LZ4"),
    ],
)
def test_damage_is_an_error(data: bytes, message: str):
    with pytest.raises(ToolError, match=message):
        read_fatbin(data)


def test_sections_of_an_elf_file(tmp_path):
    names = b"\0.nv_fatbin\0.shstrtab\0"
    fat = container(entry(PTX))
    at = 64 + len(names) + (-len(names) % 8)
    table = at + len(fat)
    head = b"\x7fELF\x02\x01\x01".ljust(40, b"\0")
    head += struct.pack("<QIHHHHHH", table, 0, 64, 0, 0, 64, 3, 2)
    rows = b"".join(
        struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, start, size, 0, 0, 1, 0)
        for name, start, size in ((0, 0, 0), (1, at, len(fat)), (12, 64, len(names)))
    )
    file = tmp_path / "program"
    file.write_bytes(head + names + b"\0" * (-len(names) % 8) + fat + rows)
    assert [n for n, _, _ in elf_sections(file.read_bytes())] == ["", ".nv_fatbin", ".shstrtab"]
    assert [i.data for i in program_images(file)] == [PTX]
    assert list(elf_sections(b"#!/bin/sh\n")) == []
