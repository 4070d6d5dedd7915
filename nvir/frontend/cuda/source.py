"""A CUDA source as a tree: what is given, what clang says of it, what is told to the user."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import attrs

from nvir.frontend.cuda.parse import Parsed, parse
from nvir.frontend.cuda.reader import Reader
from nvir.frontend.depth import MAX_NESTING, room
from nvir.frontend.tree.declarations import Unit
from nvir.ir.errors import Diagnostic, NvirError, ParseError, Unsupported

MORE = 40  # diagnostics that are told


@attrs.frozen
class Source:
    """A source and how clang is to read it.

    name       the file's name; includes are searched in its folder, too
    include, define, std   `-I`, `-D`, `-std`
    fast_math  approximations of functions will do
    """

    text: str
    name: str = "kernel.cu"
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    std: str = "c++17"
    fast_math: bool = False


def source_of(given: Any, **options: Any) -> Source:
    """A Source of a path, a text (a str with a newline), bytes or a Source."""
    if isinstance(given, Source):
        return attrs.evolve(given, **options)
    if isinstance(given, bytes):
        return Source(given.decode("utf-8", "surrogateescape"), **options)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "\n" not in given):
        try:
            data = Path(given).read_bytes()
        except OSError as e:
            raise NvirError(f"{given}: {e.strerror or e}") from None
        options.setdefault("name", os.fspath(given))
        return Source(data.decode("utf-8", "surrogateescape"), **options)
    if not isinstance(given, str):
        raise TypeError(f"a source is a path, str or bytes, not {type(given).__name__}")
    return Source(given, **options)


def read_cuda(source: Any, arch: str = "sm_80", **options: Any) -> tuple[Unit, list[Diagnostic]]:
    """The tree of a source, unchecked, and clang's warnings.

    Raises ParseError with clang's diagnostics where a function that a kernel reaches is wrong,
    and where there is no kernel; Unsupported, with its place, for C++ that the tree cannot say.
    """
    s = source_of(source, **options)
    parsed = parse(s.text, s.name, arch, s.include, s.define, s.std, s.fast_math)
    reader = Reader(parsed)
    problem: NvirError | None = None
    unit = Unit()
    with room(MAX_NESTING):
        try:
            unit = reader.unit()
        except NvirError as e:
            problem = e
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError,
                StopIteration, RecursionError) as e:  # fmt: skip
            # what libclang's binding cannot name, or a shape of the tree that is not foreseen
            what = f"something that the reader of C++ does not understand ({e!r})"
            problem = Unsupported(what, where=reader.where())
    errors, warnings = parsed.judge([*reader.cursors, *([reader.at] if problem else [])])
    if errors:
        raise ParseError(errors[:MORE])
    if problem is not None:
        raise problem
    if not any(f.is_kernel for f in unit.functions):
        wrong = [d for d in parsed.diagnostics() if d.severity == "error"]
        raise ParseError([no_kernel(parsed), *wrong[:MORE]])
    return unit, warnings


def no_kernel(parsed: Parsed) -> Diagnostic:
    """Why nothing can be compiled."""
    templates = re.findall(r"template[^;{]*__global__[^;{(]*?(\w+)\s*\(", parsed.source)
    if not parsed.source.strip():
        text = "the file is empty"
    elif templates:
        text = f"the kernel template '{templates[0]}' is never instantiated"
    else:
        text = "there is no __global__ function with a body"
    return Diagnostic(text, parsed.file, 1, 1, "", "error")
