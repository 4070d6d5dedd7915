"""nvcc: CUDA C++ to PTX, for examples and for comparing with what nvir makes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import attrs

from nvir.toolchain.find import available, find, missing
from nvir.toolchain.process import TIMEOUT, run, source_file, workspace


@attrs.frozen
class NvccResult:
    """A compilation. `ptx` is None where `ok` is not; `log` is what nvcc printed."""

    ok: bool
    ptx: str | None
    log: str
    ms: float


def nvcc_ptx(
    source: str | bytes | os.PathLike[str],
    arch: str = "sm_80",
    options: Sequence[str] = (),
    *,
    timeout: float = TIMEOUT,
    program: str | os.PathLike[str] | None = None,
) -> NvccResult:
    """The PTX that nvcc makes of a CUDA source, given as a path or as text.

    Paths of this machine are taken out of the PTX's `.file` lines: the source is named
    without its folder, the toolkit's headers as `cuda/...`. Raises ToolMissing where nvcc
    or a host compiler is not installed, ToolError when it does not end in `timeout` seconds.
    """
    tool = Path(program) if program else find("nvcc")
    if not _host():
        raise missing("a host C++ compiler")
    with workspace() as folder:
        path = source_file(source, folder, "input.cu")
        done = run(
            [tool, "-ptx", f"-arch={arch}", *options, path, "-o", "output.ptx"],
            cwd=folder,
            timeout=timeout,
        )
        output = folder / "output.ptx"
        ok = done.returncode == 0 and os.path.isfile(output)
        text = output.read_text("utf-8", "replace") if ok else ""
        ptx = without_paths(text, (folder / path).parent) if ok else None
    return NvccResult(ok, ptx, done.stdout + done.stderr, done.ms)


def compiles() -> bool:
    """Are nvcc and a host compiler here?"""
    return available("nvcc") and _host()


def _host() -> bool:
    return any(shutil.which(host) for host in ("g++", "clang++", "c++"))


_FILE = re.compile(r'^(\s*\.file\s+\d+\s+")([^"]*)(")', re.M)


def without_paths(ptx: str, folder: Path) -> str:
    """PTX whose `.file` lines name no place of this machine.

    A file below `folder` keeps its path from there; one below an `include` folder, that is
    a header of the toolkit, becomes `cuda/...`; any other absolute path keeps its last part.
    """
    here = str(folder).rstrip("/") + "/"

    def shorten(line: re.Match[str]) -> str:
        name = line[2]
        if name.startswith(here):
            name = name.removeprefix(here)
        elif name.startswith("/"):
            _, include, rest = name.rpartition("/include/")
            name = f"cuda/{rest}" if include else Path(name).name
        return line[1] + name + line[3]

    return _FILE.sub(shorten, ptx)
