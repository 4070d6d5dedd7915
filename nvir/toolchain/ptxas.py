"""ptxas, the assembler: PTX in, a cubin and its resource figures out.

The text of `ptxas -v` has changed from release to release (barriers came with
CUDA 12, stack sizes moved), so it is read as lists of "number, unit" items: known
units fill the fields of KernelInfo, unknown ones are kept in `extra`. The same
reader takes the log of nvcc, of a build system, or of CUDA 3.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from nvir.toolchain.find import find
from nvir.toolchain.process import TIMEOUT, run, source_file, workspace


@attrs.frozen
class KernelInfo:
    """What ptxas says of one kernel or device function.

    Sizes are bytes a thread (`stack`, `spill_stores`, `spill_loads`, `lmem`,
    `cumulative_stack`) or a block (`smem`); `cmem` is bytes by constant bank;
    `registers` is None where ptxas gave none (functions that it links into a kernel).
    """

    name: str
    kind: str = "entry"  # or "func"
    arch: str = ""
    registers: int | None = None
    barriers: int = 0
    stack: int = 0
    cumulative_stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    smem: int = 0
    lmem: int = 0
    cmem: Mapping[int, int] = attrs.field(factory=dict)
    textures: int = 0
    samplers: int = 0
    surfaces: int = 0
    compile_ms: float | None = None
    extra: Mapping[str, int] = attrs.field(factory=dict)


@attrs.frozen
class Message:
    """One complaint of ptxas: `line` of the PTX (0 if none) and "error", "warning" or "info"."""

    severity: str
    line: int
    text: str


@attrs.frozen
class PtxasResult:
    """An assembly. `cubin` is None where `ok` is not, or it was not kept."""

    ok: bool
    cubin: bytes | None = attrs.field(repr=lambda b: "None" if b is None else f"<{len(b)} bytes>")
    log: str
    kernels: Mapping[str, KernelInfo]
    functions: Mapping[str, KernelInfo]
    messages: Sequence[Message]
    returncode: int
    ms: float

    @property
    def error(self) -> str:
        """The first error as one line, or the empty string."""
        for message in self.messages:
            if message.severity == "error":
                return f"line {message.line}: {message.text}" if message.line else message.text
        return "" if self.ok else f"ptxas ended with status {self.returncode}"


def ptxas(
    ptx: str | bytes | os.PathLike[str],
    arch: str | None = "sm_80",
    opt: int = 3,
    options: Sequence[str] = (),
    *,
    timeout: float = TIMEOUT,
    program: str | os.PathLike[str] | None = None,
    keep: bool = True,
) -> PtxasResult:
    """Assemble a PTX module, given as text or as a path.

    `arch` None takes the module's own `.target`; `options` go to ptxas as they are.
    `program` is another ptxas than the one that `find` gives; without `keep` the cubin is thrown
    away, and so it is None. Rejected PTX gives a result
    with `ok` False; raises ToolMissing, or ToolError when ptxas does not end in `timeout` s.
    """
    tool = program or find("ptxas")
    given = isinstance(ptx, os.PathLike) and not keep  # then no file is written
    with contextlib.nullcontext(Path.cwd()) if given else workspace() as folder:
        path = source_file(ptx, folder, "input.ptx")
        target = arch or _target((folder / path).read_bytes())
        cubin = folder / "output.cubin" if keep else Path(os.devnull)
        done = run(
            [str(tool), "-v", f"-arch={target}", f"-O{opt}", *options, path, "-o", str(cubin)],
            cwd=folder,
            timeout=timeout,
        )
        made = keep and done.returncode == 0 and os.path.isfile(cubin)
        data = cubin.read_bytes() if made else None
    log = done.stdout + done.stderr
    infos = read_verbose(log)
    return PtxasResult(
        ok=data is not None or (not keep and done.returncode == 0),
        cubin=data,
        log=log,
        kernels={name: info for name, info in infos.items() if info.kind == "entry"},
        functions={name: info for name, info in infos.items() if info.kind == "func"},
        messages=read_messages(log),
        returncode=done.returncode,
        ms=done.ms,
    )


def _target(ptx: bytes) -> str:
    found = re.search(rb"^\s*\.target\s+(sm_\w+)", ptx, re.M)
    return found[1].decode() if found else "sm_80"


# --- reading the log ---------------------------------------------------------------------

_ENTRY = re.compile(r"Compiling entry function '([^']+)'(?: for '([^']+)')?")
_PROPERTIES = re.compile(r"Function properties for '?([^'\s]+)")
_COMPILE_TIME = re.compile(r"Compile time = ([\d.]+) ms")
_FIGURES = re.compile(r"(?:info\s*:|^(?:\d+>)?)\s*(?:Used\s+)?(\d+(?!>)\b.*)$", re.I)
_ITEM = re.compile(r"(?:used\s+)?(\d+)(?:\+(\d+))?\s+(?:bytes\s+)?(\S.*)", re.I)
_CMEM = re.compile(r"cmem\[(\d+)\]")
_FIELDS = {
    "registers": "registers",
    "barriers": "barriers",
    "stack frame": "stack",
    "cumulative stack size": "cumulative_stack",
    "spill stores": "spill_stores",
    "spill loads": "spill_loads",
    "smem": "smem",
    "lmem": "lmem",
    "textures": "textures",
    "samplers": "samplers",
    "surfaces": "surfaces",
}


def read_verbose(log: str) -> dict[str, KernelInfo]:
    """The figures of every function that a `ptxas -v` text speaks of, by name.

    Takes the text of any release, mixed with other output; a line that fits no pattern is
    passed over. A function compiled for several architectures keeps the last.
    """
    found: dict[str, dict[str, Any]] = {}
    current: dict[str, Any] | None = None
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            current = {"name": entry[1], "kind": "entry", "arch": entry[2] or ""}
            found[entry[1]] = current
        elif properties := _PROPERTIES.search(line):
            current = found.setdefault(properties[1], {"name": properties[1], "kind": "func"})
        elif current is not None:
            _read_figures(line, current)
    return {name: KernelInfo(**fields) for name, fields in found.items()}


def _read_figures(line: str, into: dict[str, Any]) -> None:
    if time := _COMPILE_TIME.search(line):
        into["compile_ms"] = float(time[1])
        return
    figures = _FIGURES.search(line)
    if not figures:
        return
    items = [_ITEM.fullmatch(item.strip()) for item in figures[1].split(",")]
    if not all(items) or any(item and item[3] == "gmem" for item in items):
        return  # the module's own figures, or no list of figures at all
    for item in items:
        assert item
        value, unit = int(item[1]) + int(item[2] or 0), item[3].strip()
        if bank := _CMEM.fullmatch(unit):
            into.setdefault("cmem", {})[int(bank[1])] = value
        elif unit in _FIELDS:
            into[_FIELDS[unit]] = value
        else:
            into.setdefault("extra", {})[unit] = value


_MESSAGE = re.compile(
    r"^ptxas\s+(?:(?P<file>.*?),\s*line\s+(?P<line>\d+);\s*)?"
    r"(?P<severity>fatal|error|warning|info)\s*:\s*(?P<text>.*)$",
    re.I,
)
_STATISTICS = re.compile(
    r"Compiling entry|Function properties|Used \d|\d+ bytes (?:gmem|cmem)|Compile time", re.I
)


def read_messages(log: str) -> list[Message]:
    """What ptxas complains of, in order; its statistics are left out."""
    messages = []
    for line in log.splitlines():
        found = _MESSAGE.match(line.strip())
        if not found or (found["severity"].lower() == "info" and _STATISTICS.search(line)):
            continue
        severity = found["severity"].lower()
        messages.append(
            Message(
                "error" if severity == "fatal" else severity,
                int(found["line"] or 0),
                found["text"].strip(),
            )
        )
    return messages
