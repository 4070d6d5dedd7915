"""Regenerate the PTX of the examples from their sources.

    python make.py [--nvcc PATH] [--clang PATH] [NAME ...]

nvcc 13.0 makes ptx/NAME.ARCH.ptx at -O3 -lineinfo, and sgemm.ptx beside this file;
clang makes ptx/clang_NAME.ARCH.ptx where it is installed. No path of the machine
ends up in a file. triton_kernels.py makes the Triton ones.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from nvir import toolchain

HERE = pathlib.Path(__file__).resolve().parent
PTX = HERE / "ptx"

# Everything is made for sm_80 but what needs more; a few also for later machines, where
# nvcc's PTX differs (parameter attributes, opaque pointers, other unrolling).
NEEDS = {"warp_specialised": ("sm_90",)}
ALSO = {
    "sgemm": ("sm_90", "sm_100", "sm_120"),
    "reduction": ("sm_90", "sm_100"),
    "softmax": ("sm_90",),
    "gemm_mma": ("sm_90",),
    "gemm_tile": ("sm_90",),
}
CLANG = ("sgemm", "nested_break", "switch_heavy", "struct_by_value")


def write(path: pathlib.Path, text: str) -> None:
    """Write a whole file or none."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def with_nvcc(name: str, nvcc: str | None) -> None:
    """Compile one source for each of its machines."""
    for arch in NEEDS.get(name, ("sm_80", *ALSO.get(name, ()))):
        options = ("-O3", "-lineinfo")
        result = toolchain.nvcc_ptx(HERE / f"{name}.cu", arch, options, program=nvcc)
        if result.ptx is None:
            sys.exit(f"{name} for {arch}: {result.log}")
        check(result.ptx, arch, name)
        write(PTX / f"{name}.{arch}.ptx", result.ptx)
        if (name, arch) == ("sgemm", "sm_80"):
            write(HERE / "sgemm.ptx", result.ptx)


def with_clang(name: str, clang: str) -> None:
    """Compile one source without the CUDA headers."""
    command = [
        clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc",
        "-nocudalib", "-std=c++17", "-O3", "-S", "-include", "clang_cuda.h", f"{name}.cu",
        "-o", "-", "-Wno-unknown-cuda-version",
    ]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"clang {name}: {done.stderr}")
    check(done.stdout, "sm_80", name)
    write(PTX / f"clang_{name}.sm_80.ptx", done.stdout)


def check(ptx: str, arch: str, name: str) -> None:
    """Refuse PTX that ptxas rejects or that names this machine."""
    result = toolchain.ptxas(ptx, arch)
    if not result.ok:
        sys.exit(f"{name} for {arch}: ptxas: {result.error}")
    if '"/' in ptx:
        sys.exit(f"{name} for {arch}: an absolute path is left in the PTX")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--nvcc", help="the nvcc to use; found in wheels or on PATH otherwise")
    parser.add_argument("--clang", default=shutil.which("clang"))
    arguments = parser.parse_args()
    PTX.mkdir(exist_ok=True)
    for name in arguments.names or sorted(path.stem for path in HERE.glob("*.cu")):
        with_nvcc(name, arguments.nvcc)
        if name in CLANG and arguments.clang:
            with_clang(name, arguments.clang)


if __name__ == "__main__":
    main()
