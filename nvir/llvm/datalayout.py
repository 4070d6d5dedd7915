"""The data layout of LLVM text: what its string may say, and the size of pointers.

    "e-p:64:64:64-i64:64-n16:32:64"    specifications, a dash between them

nvir's own layout is that of NVPTX; the string only tells 64-bit targets from 32-bit ones. It is
checked as LLVM checks it, so that a misspelled one is no surprise later.

Source   LLVM Language Reference, "Data Layout"; the messages are close to llvm-as's.
"""

from __future__ import annotations

from functools import lru_cache

_MANGLINGS = frozenset("elmoxwa")
_MAX_24 = 1 << 24


def layout_problem(text: str) -> str | None:
    """What is wrong with a layout string, or None."""
    if not text:
        return None
    for spec in text.split("-"):
        problem = _problem(spec)
        if problem:
            return f"{problem} in the data layout, '{spec[:30]}'"
    return None


def pointer_bits(text: str) -> int:
    """The size of generic pointers in a layout that is well formed."""
    sizes = [w.split(":") for w in text.split("-") if w[:1] == "p"]
    return next((int(size) for space, size, *_ in sizes if space in ("p", "p0")), 64)


@lru_cache(256)
def _problem(spec: str) -> str | None:
    if not spec:
        return "an empty specification"
    kind, rest = spec[0], spec[1:].split(":")
    if spec in ("e", "E"):
        return None
    if kind == "n" and spec[1:2] == "i":
        return _spaces(spec[2:].removeprefix(":").split(":"))
    if kind == "n":
        return next((p for w in rest if (p := _number(w, 1, _MAX_24))), None)
    if kind in "PAG":
        return None if len(rest) == 1 and not _number(rest[0], 0, _MAX_24) else (
            "an address space of at most 24 bits is missing")
    if kind == "S":
        return _alignment(rest[0], zero=True)
    if kind == "m":
        return None if len(rest) == 2 and not rest[0] and rest[1] in _MANGLINGS else (
            "an unknown mangling")
    if kind == "F":
        return _alignment(rest[0][1:]) if rest[0][:1] in ("i", "n") and rest[0][:1] else (
            "an unknown alignment of function pointers")
    if kind == "p":
        return _pointer(rest)
    if kind in "ivfas" and spec[1:2] != "e":
        return _sized(kind, rest)
    return "an unknown specification"


def _number(word: str, least: int, below: int) -> str | None:
    if not (word.isascii() and word.isdigit()):
        return f"no number, '{word[:12]}',"
    return None if least <= int(word) < below else f"{word[:12]}, which is out of range,"


def _alignment(word: str, zero: bool = False) -> str | None:
    problem = _number(word, 0, _MAX_24)
    if problem:
        return problem
    n = int(word)
    if n == 0:
        return None if zero else "an alignment of 0"
    return "an alignment that is no power of two in bytes" if n % 8 or n & (n - 1) else None


def _spaces(words: list[str]) -> str | None:
    return next((p for w in words if (p := _number(w, 1, _MAX_24))), None)


def _pair(words: list[str], zero: bool = False) -> str | None:
    """ABI and preferred alignment."""
    problem = next((p for w in words[:2] if (p := _alignment(w, zero))), None)
    if problem is None and len(words) > 1 and int(words[1]) < int(words[0]):
        return "a preferred alignment below the ABI's"
    return problem


def _pointer(rest: list[str]) -> str | None:
    space, *sizes = rest
    if space and _number(space, 0, _MAX_24):
        return "an address space of at most 24 bits is missing"
    if len(sizes) < 2 or len(sizes) > 4:
        return "a size and an alignment of pointers are missing"
    problem = _number(sizes[0], 1, _MAX_24) or _pair(sizes[1:3])
    if problem is None and len(sizes) == 4:
        problem = _number(sizes[3], 1, int(sizes[0]) + 1)
    return problem


def _sized(kind: str, rest: list[str]) -> str | None:
    size, *alignments = rest
    if kind in "as":
        if size not in ("", "0"):
            return "an aggregate with a size"
    elif problem := _number(size, 0, _MAX_24):
        return problem
    if not alignments or len(alignments) > 2:
        return "an alignment is missing"
    if kind == "i" and size == "8" and alignments[0] != "8":
        return "an i8 that is not naturally aligned"
    return _pair(alignments, zero=kind in "as")
