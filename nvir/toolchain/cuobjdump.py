"""cuobjdump: what fat binaries hold, and what resources a cubin's kernels take."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from nvir.toolchain.errors import ToolError
from nvir.toolchain.find import find
from nvir.toolchain.process import TIMEOUT, Finished, run, source_file, workspace


@attrs.frozen
class Embedded:
    """One image of a fat binary: `kind` is "ptx" or "cubin", `arch` as in "sm_80"."""

    name: str
    kind: str
    arch: str
    data: bytes = attrs.field(repr=lambda b: f"<{len(b)} bytes>")


def embedded(
    binary: bytes | os.PathLike[str],
    kinds: Sequence[str] = ("ptx", "cubin"),
    *,
    timeout: float = TIMEOUT,
) -> list[Embedded]:
    """All PTX and cubins inside a fatbin, an object file, a library or an executable.

    In the order of cuobjdump's numbering. A binary without any gives an empty list. Raises
    ToolError where cuobjdump cannot read the file.
    """
    options = {"ptx": "-xptx", "cubin": "-xelf"}
    images = []
    for kind in kinds:
        with workspace() as folder:
            _cuobjdump(binary, (options[kind], "all"), folder, timeout)
            for path in sorted(folder.glob(f"*.{kind}"), key=_number):
                arch = re.search(r"\.(sm_\w+)\.", path.name)
                data = path.read_bytes()
                images.append(Embedded(path.name, kind, arch[1] if arch else "", data))
    return images


def resource_usage(
    binary: bytes | os.PathLike[str], *, timeout: float = TIMEOUT
) -> dict[str, dict[str, int]]:
    """The figures of `cuobjdump -res-usage` by kernel: REG, STACK, SHARED, LOCAL, ... .

    Keys are as printed ("CONSTANT[0]"), so those of later releases come through as well. A
    kernel that is there for several architectures keeps the last.
    """
    with workspace() as folder:
        text = _cuobjdump(binary, ("-res-usage",), folder, timeout).stdout
    return read_resource_usage(text)


def read_resource_usage(text: str) -> dict[str, dict[str, int]]:
    """The figures by kernel from the text of `cuobjdump -res-usage`."""
    usage: dict[str, dict[str, int]] = {}
    name = ""
    for line in text.splitlines():
        if found := re.match(r"\s*Function (.+?):\s*$", line):
            name = found[1]
        elif name and (figures := re.findall(r"([A-Z][\w\[\]]*):(\d+)", line)):
            usage[name] = {key: int(value) for key, value in figures}
            name = ""
    return usage


def _cuobjdump(
    binary: bytes | os.PathLike[str], options: Sequence[str], folder: Path, timeout: float
) -> Finished:
    tool = find("cuobjdump")
    path = source_file(binary, folder, "input.bin")
    done = run([tool, *options, path], cwd=folder, timeout=timeout)
    said = (done.stderr + done.stdout).strip()
    if done.returncode != 0 and "does not contain device code" not in said:
        raise ToolError(said or "cuobjdump failed")
    return done


def _number(path: Path) -> tuple[int, str]:
    found = re.search(r"\.(\d+)\.sm_|(\d+)", path.name)
    return (int(found[1] or found[2]) if found else 0, path.name)
