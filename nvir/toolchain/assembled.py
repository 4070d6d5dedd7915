"""PTX to decoded machine code in one call of ptxas and one of nvdisasm, kept while a process runs.

Put all that is wanted into one module: the tools' start costs more than a kernel.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from nvir.toolchain.ptxas import PtxasResult, ptxas

if TYPE_CHECKING:
    from nvir.sm.body import MachineBody


@attrs.frozen(eq=False)
class Assembled:
    """What ptxas says of a module, and the body of each function of it, with lines of the PTX;
    no bodies where ptxas refused it or they were not asked for."""

    result: PtxasResult
    bodies: Mapping[str, MachineBody]


def assembled(
    ptx: str | bytes | os.PathLike[str], arch: str, *, decode: bool = True, only: str | None = None,
    text: bool = False,
) -> Assembled:
    """Assemble a module at -O3, given as text or as a path; the same content is decoded once.
    `only` names the one kernel that is wanted; with `text` instructions have nvdisasm's text.

    Raises ToolMissing, and ToolError where a tool does not end or cannot be understood.
    """
    if not decode:
        return Assembled(ptxas(ptx, arch, options=_entry(only), keep=False), {})
    if isinstance(ptx, str) and "\n" in ptx:
        ptx = ptx.encode("utf-8", "surrogateescape")
    return _decoded(ptx if isinstance(ptx, bytes) else Path(ptx).read_bytes(), arch, only, text)


def _entry(only: str | None) -> tuple[str, ...]:
    return ("--entry", only) if only is not None else ()


@lru_cache(maxsize=8)
def _decoded(content: bytes, arch: str, only: str | None, text: bool) -> Assembled:
    made = ptxas(content, arch, options=("-lineinfo", *_entry(only)))
    if made.cubin is None:
        return Assembled(made, {})
    from nvir.toolchain.sass_body import bodies

    return Assembled(made, bodies(made.cubin, arch, lines="ptx", words=not text))
