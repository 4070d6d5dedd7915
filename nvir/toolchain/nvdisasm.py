"""nvdisasm: a cubin's machine code as text, and as instructions with live registers."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Literal

from nvir.toolchain.errors import ToolError
from nvir.toolchain.find import find
from nvir.toolchain.process import TIMEOUT, run, source_file, workspace

if TYPE_CHECKING:
    from nvir.toolchain.sass import SassInstruction


def nvdisasm(
    cubin: bytes | os.PathLike[str],
    options: Sequence[str] = ("-c",),
    *,
    timeout: float = TIMEOUT,
    program: str | os.PathLike[str] | None = None,
) -> str:
    """What nvdisasm prints of a cubin, given as content or as a path.

    Raises ToolError with nvdisasm's own words where it refuses. About 0.3 s a call, most
    of it start-up: put many kernels into one cubin.
    """
    tool = program or find("nvdisasm")
    with workspace() as folder:
        path = source_file(cubin, folder, "input.cubin")
        done = run([str(tool), *options, path], cwd=folder, timeout=timeout)
    if done.returncode != 0:
        raise ToolError((done.stderr or done.stdout).strip() or "nvdisasm failed")
    return done.stdout


_LINE_OPTION = {"source": "-g", "ptx": "-gp"}


def disassemble(
    cubin: bytes | os.PathLike[str],
    *,
    live: bool = True,
    lines: Literal["source", "ptx"] | None = None,
    only: Container[str] | None = None,
) -> dict[str, list[SassInstruction]]:
    """A cubin's instructions by function, with their encodings; of all functions, or of some.

    `live` adds the live registers of each. `lines` adds where each comes from: the source
    line that `.loc` gave, or the line of the PTX text; both need ptxas' `-lineinfo`.
    nvdisasm prints lines and live registers only apart, so both together cost two calls.
    """
    from nvir.toolchain.sass import read_sass

    wanted = ("-c", "-hex", "-plr", "-lrm", "count") if live else ("-c", "-hex")
    if lines is None:
        return read_sass(nvdisasm(cubin, wanted), only)
    placed = read_sass(nvdisasm(cubin, ("-c", "-hex", _LINE_OPTION[lines])), only)
    if not live:
        return placed
    counted = read_sass(nvdisasm(cubin, wanted), only)
    return {name: _with_lines(code, placed[name]) for name, code in counted.items()}


def _with_lines(
    code: list[SassInstruction], placed: list[SassInstruction]
) -> list[SassInstruction]:
    """The instructions with the lines of another listing, which also has the padding NOPs."""
    import attrs

    lines = {other.address: other.line for other in placed}
    return [attrs.evolve(one, line=lines[one.address]) for one in code]
