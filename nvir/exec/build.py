"""The stand-in libraries: one shared library of C, compiled once and kept in the user's cache.

    libnvir-exec.so       all that is answered; preloaded into the program
    libcudart.so.N, libcuda.so.1   empty, for programs that name them as needed, with the version
                          names that they ask for

Cost     a second for the first program of a release; then nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from nvir.ir.errors import NvirError
from nvir.toolchain.errors import ToolError
from nvir.toolchain.process import cache_folder, run

HERE = Path(__file__).parent
LIBRARY = "libnvir-exec.so"
NAMES = ("libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13", "libcuda.so.1", "libcuda.so")
_SOURCES = ("standin.c", "driver.h", "graph.h", "names.txt")
_DEFINED = re.compile(r"^(?:static )?[\w ]+?[ *]+(\w+)\([^;]*\) (?:\{|__attr)|^ALSO\((\w+)", re.M)


def library(cache: Path | None = None) -> Path:
    """The folder of the stand-in libraries, built if need be.

    `cache` is where to keep them; $XDG_CACHE_HOME/nvir by default. Raises NvirError where this
    system is not Linux, has no C compiler, or where that fails.
    """
    if sys.platform != "linux":
        raise NvirError("nvir exec works on Linux only: it stands in for libcudart.so")
    wanted = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    compiler = next(filter(None, map(shutil.which, wanted)), None)
    if compiler is None:
        raise NvirError("nvir exec needs a C compiler (cc, gcc or clang) to build its libcudart")
    text = b"".join((HERE / name).read_bytes() for name in _SOURCES)
    try:
        base = cache_folder(cache)
    except ToolError as e:
        raise NvirError(str(e)) from None
    folder = base / f"exec-{hashlib.sha256(text + os.uname().machine.encode()).hexdigest()[:16]}"
    if not os.path.isfile(folder / LIBRARY):
        made = Path(tempfile.mkdtemp(dir=base))
        try:
            _compile(compiler, made)
            with contextlib.suppress(OSError):  # another process was first
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return folder


def _compile(compiler: str, folder: Path) -> None:
    source = "".join((HERE / name).read_text("utf-8") for name in _SOURCES[:3])
    defined = {name for pair in _DEFINED.findall(source) for name in pair if name}
    lines = []
    for name in (HERE / "names.txt").read_text("utf-8").split():
        if name in defined:
            lines += [f"ALSO({name}{end}, {name});" for end in ("_ptsz", "_ptds")]
        else:
            lines.append(f'int {name}(void) {{ return nvir_unsupported("{name}"); }}')
    (folder / "unsupported.h").write_text("\n".join(lines), "utf-8")
    for name in _SOURCES[:3]:
        shutil.copy(HERE / name, folder)
    flags = ["-shared", "-fPIC", "-O1", "-fno-strict-aliasing", "-w"]
    _call(compiler, folder, *flags, "standin.c", "-o", LIBRARY, "-ldl", "-lpthread")
    (folder / "empty.c").write_text("")
    for name in NAMES:
        (folder / "version.map").write_text(f"{name} {{ global: *; }};\n")
        versions = [] if name.startswith("libcuda.") else ["-Wl,--version-script=version.map"]
        _call(
            compiler, folder, *flags, "empty.c", "-o", name, f"-Wl,-soname,{name}", *versions,
            "-Wl,--no-as-needed", "-L.", f"-l:{LIBRARY}", "-Wl,-rpath,$ORIGIN",
        )


def _call(compiler: str, folder: Path, *arguments: str) -> None:
    done = run([compiler, *arguments], cwd=folder)
    if done.returncode:
        raise NvirError(f"the stand-in libraries could not be built:\n{done.stderr.strip()}")
