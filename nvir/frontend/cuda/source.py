"""A CUDA source: what is given."""

from __future__ import annotations

import os
import re
from typing import Any

import attrs

from nvir.ir.document import read_file
from nvir.ir.errors import Diagnostic, NvirError


@attrs.frozen
class Source:
    """A source and how clang is to read it.

    name       the file's name; includes are searched in its folder, too
    include, define, std   `-I`, `-D`, `-std`
    fast_math  approximations of functions will do
    flags      what else clang is told, such as `-U` and `-include`
    unroll     loops of a constant number of rounds are written out where the source asks for it,
               and where that frees an array of the block from memory
    """

    text: str
    name: str = "kernel.cu"
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    std: str = "c++17"
    fast_math: bool = False
    unroll: bool = False
    flags: tuple[str, ...] = ()


def source_of(given: Any, **options: Any) -> Source:
    """A Source of a path, a text (a str with a newline), bytes or a Source."""
    if isinstance(given, Source):
        return attrs.evolve(given, **options)
    if isinstance(given, bytes):
        return Source(given.decode("utf-8", "surrogateescape"), **options)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "\n" not in given):
        try:
            data = read_file(given)
        except OSError as e:
            raise NvirError(f"{given}: {e.strerror or e}") from None
        options.setdefault("name", os.fspath(given))
        return Source(data.decode("utf-8", "surrogateescape"), **options)
    if not isinstance(given, str):
        raise TypeError(f"a source is a path, str or bytes, not {type(given).__name__}")
    return Source(given, **options)


def no_kernel(source: str, file: str) -> Diagnostic:
    """Why nothing can be compiled."""
    templates = re.findall(r"template[^;{]*__global__[^;{(]*?(\w+)\s*\(", source)
    if not source.strip():
        text = "the file is empty"
    elif templates:
        text = f"the kernel template '{templates[0]}' is never instantiated"
    else:
        text = "there is no __global__ function with a body"
    return Diagnostic(text, file, 1, 1, "", "error")
