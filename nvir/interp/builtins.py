"""Functions that CUDA's runtime gives to every kernel: vprintf, __assertfail, malloc, free, memcpy.

Each takes (wave, group, call) and sets the call's result. A heap is there when a module names
malloc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nvir.interp.memory import Fault
from nvir.interp.printf import FIELD, Buffer, format_c

HEAP_SIZE = 8 << 20


def read_bytes(wave: Any, lane: int, address: int, size: int) -> bytes:
    """Bytes at a generic address as one lane sees them; raises `Fault`."""
    w = wave.windows
    if w.local <= address <= w.local + w.local_span - size:
        start = lane * wave.local_stride + address - w.local
        return bytes(wave.local.data[start : start + size])
    if w.shared <= address <= w.shared + w.shared_span - size:
        start = int(wave.shared_bases[lane]) + address - w.shared
        return bytes(wave.shared.data[start : start + size])
    allocation = wave.arena.find(address)
    if allocation is None or address - wave.arena.base + size > allocation.end:
        fault = Fault(f"load of {size} bytes out of bounds", None, address)
        fault.lane = lane
        raise fault
    return bytes(wave.arena.bytes_at(address, size))


def read_string(wave: Any, lane: int, address: int) -> str:
    """A C string."""
    if address == 0:
        return "(null)"
    out = b""
    while len(out) < FIELD:
        part, zero, _ = _readable(wave, lane, address + len(out), 256).partition(b"\0")
        out += part
        if zero:
            break
    return out.decode("utf-8", "replace")


def _readable(wave: Any, lane: int, address: int, most: int) -> bytes:
    """Up to so many bytes, those that can be read; raises `Fault` where the first cannot."""
    while most > 1:
        try:
            return read_bytes(wave, lane, address, most)
        except Fault:
            most //= 2
    return read_bytes(wave, lane, address, 1)


def vprintf(wave: Any, g: Any, call: Any) -> None:
    """Gives the number of arguments that the format took, -1 for a format that is null, as the
    CUDA C++ Programming Guide (Formatted Output) has it."""
    formats = np.broadcast_to(call.argument(g, 0), (g.n,)).tolist()
    buffers = np.broadcast_to(call.argument(g, 1), (g.n,)).tolist()
    known: dict[int, str] = {}
    given = []
    for lane, text_at, buffer_at in zip(g.lanes().tolist(), formats, buffers, strict=True):
        if text_at == 0:
            given.append(-1)
            continue
        text = known.get(text_at)
        if text is None:
            text = known[text_at] = read_string(wave, lane, text_at)

        def read(offset: int, size: int, lane: int = lane, base: int = buffer_at) -> bytes:
            return read_bytes(wave, lane, base + offset, size)

        def string(address: int, lane: int = lane) -> str:
            return read_string(wave, lane, address)

        arguments = Buffer(read)
        try:
            wave.launch.print(format_c(text, arguments, string))
        except Fault as fault:
            fault.lane = lane
            raise
        given.append(arguments.taken)
    call.give(g, np.array(given, np.int32).view(np.uint32))


def assert_fail(wave: Any, g: Any, call: Any) -> None:
    lane = int(g.lanes()[0])
    texts = [
        read_string(wave, lane, int(np.broadcast_to(call.argument(g, k), (g.n,))[0]))
        for k in (0, 1, 3)
    ]
    line = int(np.broadcast_to(call.argument(g, 2), (g.n,))[0])
    fault = Fault(f"{texts[1]}:{line}: {texts[2]}: assertion `{texts[0]}` failed")
    fault.lane = lane
    raise fault


def malloc(wave: Any, g: Any, call: Any) -> None:
    sizes = np.broadcast_to(call.argument(g, 0), (g.n,)).tolist()
    call.give(g, np.array([wave.launch.heap_take(size) for size in sizes], np.uint64))


def free(wave: Any, g: Any, call: Any) -> None:
    """The heap only grows: a launch is short."""


BUILTINS: dict[str, Callable[[Any, Any, Any], None]] = {
    "vprintf": vprintf, "__assertfail": assert_fail, "malloc": malloc, "free": free,
}
