"""A compilation database (compile_commands.json, as CMake writes it): nvcc's options of a file.

    [{"directory": "/b", "file": "/s/k.cu", "command": "nvcc -I/s/include -DN=4 -arch=sm_90 …"}]

Folders count from `directory`. What changes the code is taken: -I, -isystem, -D, -U, -include,
-std, -use_fast_math, -ftz and its like, -maxrregcount, -arch and the first -gencode; all else is
nvcc's own affair.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import attrs

from nvir.frontend import FLOATS
from nvir.ir.document import json_document, read_file
from nvir.ir.errors import NvirError

NAME = "compile_commands.json"
_SPELLED = {  # nvcc's long names, and those that take a value
    "--include-path": "-I", "--system-include": "-isystem", "--define-macro": "-D",
    "--undefine-macro": "-U", "--pre-include": "-include", "--std": "-std",
    "--gpu-architecture": "-arch", "--generate-code": "-gencode",
}
_GLUED = re.compile(r"(-[IDU]|-isystem)(?==?(.+))")
_ARCH = re.compile(r"(?:sm|compute)_(\d+[af]?)")


@attrs.define
class Command:
    """What of a command `nvir compile` takes."""

    file: str
    arch: str | None = None
    std: str | None = None
    fast_math: bool = False
    most: int | None = None  # registers
    floats: dict[str, bool] = attrs.Factory(dict)
    include: list[str] = attrs.Factory(list)
    define: list[str] = attrs.Factory(list)
    undefine: list[str] = attrs.Factory(list)
    first: list[str] = attrs.Factory(list)


def command_of(place: str, file: str | None) -> Command:
    """The command of a file in a database, which is given by its name or its folder. Without a file
    the database must have one CUDA source alone."""
    path = Path(place) / NAME if os.path.isdir(place) else Path(place)
    try:
        entries = json_document(read_file(path), str(path))
    except OSError as e:
        raise NvirError(f"{path}: {e.strerror or e}") from None
    if not isinstance(entries, list) or not all(
        isinstance(e, dict) and isinstance(e.get("file"), str)
        and isinstance(e.get("directory", ""), str) for e in entries
    ):
        raise NvirError(f"{path}: not a list of objects with 'file' and 'directory'")
    known = {_file(e): e for e in entries}
    if file is None:
        cuda = [f for f in known if f.endswith((".cu", ".cuh"))]
        if len(cuda) != 1:
            raise NvirError(f"{path}: has {len(cuda)} CUDA sources; name one")
        file = cuda[0]
    entry = known.get(os.path.realpath(file))
    if entry is None:
        raise NvirError(f"{path}: has no command for {file}")
    return _read(entry, file, path)


def _file(entry: dict[str, Any]) -> str:
    return os.path.realpath(os.path.join(str(entry.get("directory", "")), str(entry["file"])))


def _read(entry: dict[str, Any], file: str, path: Path) -> Command:
    given = entry.get("arguments")
    try:
        words = shlex.split(entry.get("command", "")) if given is None else list(given)
        if not words or not all(isinstance(w, str) for w in words):
            raise ValueError("neither 'command' nor 'arguments' says how")
    except (ValueError, TypeError, AttributeError) as e:
        raise NvirError(f"{path}: the command for {file}: {e}") from None
    made, rest = Command(file), iter(words[1:])
    for word in rest:
        name, _, value = word.partition("=")
        name = _SPELLED.get(name, name)
        if m := _GLUED.match(word):
            name, value = m[1], m[2]
        if name in ("-use_fast_math", "--use_fast_math"):
            made.fast_math = True
        elif name.lstrip("-") in FLOATS:
            made.floats[name.lstrip("-")] = (value or next(rest, "")) in ("true", "1")
        elif name.lstrip("-") == "maxrregcount":
            given_most = value or next(rest, "")
            made.most = int(given_most) if given_most.isdecimal() else None
        elif name in ("-I", "-isystem", "-D", "-U", "-include", "-std", "-arch", "-gencode"):
            _take(made, name, value or next(rest, ""), entry.get("directory", ""))
    return made


def _take(made: Command, name: str, value: str, folder: str) -> None:
    if name in ("-I", "-isystem"):
        made.include += [os.path.join(folder, v) for v in value.split(",")]
    elif name == "-D":
        made.define.append(value)
    elif name == "-U":
        made.undefine.append(value)
    elif name == "-include":
        made.first.append(value)
    elif name == "-std":
        made.std = value
    elif made.arch is None and (m := _ARCH.search(value)):
        made.arch = f"sm_{m[1]}"
