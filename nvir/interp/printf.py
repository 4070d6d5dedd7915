"""C's formatted output for `vprintf`: a format and a buffer of arguments as the device lays it out.

Each argument lies at its own alignment: int and unsigned in 4 bytes, long, pointers and double in 8
(float is promoted). `%s` takes a pointer to a string; a null pointer prints "(null)".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from nvir.interp.memory import Fault

FIELD = 1 << 20  # characters, as many as CUDA's buffer of all output holds
_SPEC = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<prec>\*|\d*))?"
    r"(?P<length>hh|h|ll|l|j|z|t|L)?(?P<conv>[diouxXeEfFgGaAcsp%n])"
)

_FLAGS = re.compile(r"%([-+ #0]*)(\d*)")


class Buffer:
    """Reads arguments one after the other from `read(offset, size) -> bytes`; `taken` counts
    them."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self.read, self.offset, self.taken = read, 0, 0

    def take(self, code: str, size: int) -> int | float:
        self.offset = -(-self.offset // size) * size
        data = self.read(self.offset, size)
        self.offset += size
        self.taken += 1
        value: int | float = struct.unpack(f"<{code}", data)[0]
        return value


def format_c(text: str, buffer: Buffer, string: Callable[[int], str]) -> str:
    """The output of one call. `string(address)` reads a C string."""
    out = []
    at = 0
    for m in _SPEC.finditer(text):
        out.append(text[at : m.start()])
        at = m.end()
        if m["conv"] == "%":
            out.append("%")
            continue
        out.append(_one(m, buffer, string))
    out.append(text[at:])
    return "".join(out)


def _one(m: re.Match[str], buffer: Buffer, string: Callable[[int], str]) -> str:
    flags, conv, length = m["flags"], m["conv"], m["length"] or ""
    width = m["width"] or ""
    if width == "*":
        n = int(buffer.take("i", 4))
        flags, width = (flags + "-", str(-n)) if n < 0 else (flags, str(n))
    precision = "" if m["prec"] is None else f".{m['prec'] or '0'}"
    if m["prec"] == "*":
        n = int(buffer.take("i", 4))
        precision = f".{n}" if n >= 0 else ""
    for size in (width, precision.lstrip(".")):
        if len(size) > 7 or int(size or 0) > FIELD:
            raise Fault(f"printf: a field of {size[:20]} characters, where {FIELD} are the most")
    spec = f"%{flags}{width}{precision}"
    if conv in "eEfFgG":
        return (spec + conv) % buffer.take("d", 8)
    if conv in "aA":
        return _hexadecimal(float(buffer.take("d", 8)), conv, flags, width)
    if conv == "s":
        return (spec + "s") % string(int(buffer.take("Q", 8)))
    if conv == "c":
        return (spec + "c") % chr(int(buffer.take("i", 4)) & 0xFF)
    if conv == "p":
        return f"%{flags}{width}s" % hex(int(buffer.take("Q", 8)))
    if conv == "n":
        buffer.take("Q", 8)
        return ""
    return _integer(spec, conv, length, buffer)


def _integer(spec: str, conv: str, length: str, buffer: Buffer) -> str:
    wide = length in ("l", "ll", "j", "z", "t")
    signed = conv in "di"
    code = "q" if wide else "i"
    value = int(buffer.take(code if signed else code.upper(), 8 if wide else 4))
    if length in ("h", "hh"):
        bits = 16 if length == "h" else 8
        value &= (1 << bits) - 1
        if signed and value >> (bits - 1):
            value -= 1 << bits
    if conv == "o":  # C's prefix is 0, Python's 0o
        digits = f"{value:o}"
        if "#" in spec and value:
            digits = "0" + digits
        flags, width = _FLAGS.match(spec).groups()  # type: ignore[union-attr]
        fill = "0" if "0" in flags and "-" not in flags else " "
        n = int(width or 0)
        return digits.ljust(n) if "-" in flags else digits.rjust(n, fill)
    return (spec + ("d" if conv in "diu" else conv)) % value


def _hexadecimal(value: float, conv: str, flags: str, width: str) -> str:
    text = value.hex()
    if "." in text and "p" in text:
        mantissa, _, exponent = text.partition("p")
        text = f"{mantissa.rstrip('0').rstrip('.')}p{exponent}"
    if "+" in flags and not text.startswith("-"):
        text = "+" + text
    if conv == "A":
        text = text.upper()
    return text.ljust(int(width or 0)) if "-" in flags else text.rjust(int(width or 0))
