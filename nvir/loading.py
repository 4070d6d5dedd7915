"""Files of every language as modules: PTX, nvir's own text, LLVM text, CUDA C++.

    load(path)                as it stands: level "ori", or "nvvm" for LLVM text
    load(path, level="ori")   as PTX: a module of level nvvm goes through -O3 first

The extension decides (.ptx, .nvir, .ll, .cu), else what the text looks like. What is not PTX is
printed and read back where PTX is asked for, so that registers and lines have the names that a
user sees in the printed text.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

from nvir.ir import Module, NvirError, ParseError
from nvir.ir.document import read_file, read_stream

if TYPE_CHECKING:
    from nvir.passes.knobs import Knobs

STDIO = "-"
SUFFIXES = (".ptx", ".nvir", ".ll", ".cu")
Language = Literal["ptx", "ori", "ll", "cu"]


def load(path: str | Path, arch: str | None = None, *, level: str | None = None) -> Module:
    """The module in a file, "-" being standard input. CUDA C++ is compiled for `arch` (sm_80
    where that is not said). Warnings of reading are the module's diagnostics. Raises NvirError."""
    return load_as(path, arch, level=level)[0]


def load_as(
    path: str | Path, arch: str | None = None, *, level: str | None = None,
    knobs: Knobs | None = None,
) -> tuple[Module, Language]:
    """As `load`, with the language that the text turned out to be in; `knobs` are those of the
    compilation where there is one."""
    name = str(path)
    data = read_bytes(name)
    given = Path(name) if name != STDIO and os.path.isfile(name) else data  # pipes end once
    return load_text(data, name, arch, level=level, given=given, knobs=knobs)


def load_text(
    data: bytes, name: str, arch: str | None = None, *, level: str | None = None,
    given: Path | bytes | None = None, knobs: Knobs | None = None,
) -> tuple[Module, Language]:
    """As `load_as`, of the content of a file of that name; `given` is where it is read from."""
    try:
        return _read(data, name, arch, level, data if given is None else given, knobs)
    except ParseError as e:  # of bytes: they have no name
        shown = name if name != STDIO else "<stdin>"
        raise ParseError([
            attrs.evolve(d, file=shown) if d.file == "<text>" else d for d in e.errors
        ]) from None


def _read(
    data: bytes, name: str, arch: str | None, level: str | None, given: Path | bytes,
    knobs: Knobs | None,
) -> tuple[Module, Language]:
    language = language_of(data, name)
    if language == "ll":
        from nvir.llvm.reader import read_ll

        module = read_ll(given)
    elif language == "cu":
        from nvir.compiler import compile_cuda

        shown = name if name != STDIO else "<stdin>"
        module = _as_ptx(compile_cuda(data, arch or "sm_80", name=shown, knobs=knobs))
    elif language == "ori":
        from nvir.ir.text.parse import parse_ir
        from nvir.ir.verify import verify

        module = parse_ir(given)
        verify(module)  # people write such text by hand
    else:
        from nvir.ptx.reader import read_ptx

        module = read_ptx(given)
    if level == "ori" and module.level == "nvvm":
        from nvir.compiler import compile_module

        module = _as_ptx(compile_module(module, knobs=knobs))
    return module, language


def _as_ptx(compiled: Module) -> Module:
    from nvir.ptx.printer import print_ptx
    from nvir.ptx.reader import read_ptx

    module = read_ptx(print_ptx(compiled).encode("utf-8", "surrogateescape"))
    module.name = compiled.name
    module.diagnostics[:0] = compiled.diagnostics
    return module


def read_bytes(path: str) -> bytes:
    """The bytes of a file or, for "-", of standard input. Raises NvirError."""
    try:
        return read_stream(sys.stdin.buffer) if path == STDIO else read_file(path)
    except OSError as e:
        shown = "standard input" if path == STDIO else path
        raise NvirError(f"{shown}: {e.strerror or e}") from None


_PTX = re.compile(rb"^\s*\.(version|target|address_size|visible|entry|func)\b", re.M)
_LLVM = re.compile(
    rb"^(; ModuleID|source_filename|target (datalayout|triple)|define\b|declare\b|%[^\s=]+ = type)",
    re.M,
)
_CUDA = re.compile(rb"^[^/\n]*\b__global__\b", re.M)
_OWN = re.compile(rb"^\s*module\s+(ori|nvvm)\b", re.M)


def has_directive(data: bytes) -> bool:
    """Whether a line near the beginning starts as PTX's do."""
    return _PTX.search(data[:65536]) is not None


def language_of(data: bytes, path: str) -> Language:
    """By the extension, else by what the text looks like."""
    by_suffix: dict[str, Language] = {".ptx": "ptx", ".nvir": "ori", ".ll": "ll", ".bc": "ll",
                                      ".cu": "cu", ".cuh": "cu"}
    known = by_suffix.get(Path(path).suffix.lower())
    if known is not None:
        return known
    head = data[:65536]
    looks: tuple[tuple[Language, re.Match[bytes] | None], ...] = (
        ("cu", _CUDA.search(head)), ("ori", _OWN.search(head)), ("ptx", _PTX.search(head)),
        ("ll", _LLVM.search(head)),
    )
    found = [(m.start(), language) for language, m in looks if m is not None]
    return min(found)[1] if found else "ptx"
