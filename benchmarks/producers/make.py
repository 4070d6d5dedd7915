"""LLVM text of real producers, for benchmarks/llvm_producers.py and the fixtures of the tests.

    python benchmarks/producers/make.py clang OUT [CLANG …]     by default clang++-14 and clang++-19
    PYTHON benchmarks/producers/make.py numba OUT               a Python that has numba-cuda
    PYTHON benchmarks/producers/make.py triton OUT              a Python that has triton

None needs a GPU. clang compiles the programs of `clang/` at -O0 and -O2; 14 writes pointers with
types, 19 opaque ones. Numba and Triton compile `numba_kernels.py` and `triton_kernels.py`; beside
each file lies what they made of it themselves (.ptx), beside Numba's how it is launched (.json).
The fixtures of tests/llvm were made so: clang 19.1, Numba 0.68 with numba-cuda 0.30, Triton 3.9.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ("-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S", "-emit-llvm",
         "-Xclang", "-target-feature", "-Xclang", "+ptx71", "-Wno-unknown-cuda-version",
         "-fno-discard-value-names", "-Xclang", "-fnative-half-type")
HALVES = {"14": "-fallow-half-arguments-and-returns", "19": "-fnative-half-arguments-and-returns"}


def clang(out: pathlib.Path, compilers: list[str]) -> None:
    for compiler in compilers or ["clang++-14", "clang++-19"]:
        if shutil.which(compiler) is None:
            print(f"{compiler} is not installed: left out")
            continue
        version = compiler.rpartition("-")[2]
        for source in sorted((HERE / "clang").glob("*.cu")):
            for level, arch in ((0, "sm_70"), (2, "sm_80")):
                made = out / f"{source.stem}.{version}.O{level}.ll"
                halves = HALVES.get(version)
                more = ["-Xclang", halves] if halves and source.stem == "half" else []
                done = subprocess.run([compiler, *FLAGS, *more, f"-O{level}",
                                       f"--cuda-gpu-arch={arch}", source.name, "-o", str(made)],
                                      cwd=HERE / "clang", capture_output=True, text=True,
                                      check=False)
                if done.returncode:
                    print(f"{source.name}: {done.stderr[:200]}")


def arguments(signature: tuple[Any, ...]) -> list[Any]:
    """How a kernel of these types is launched, as benchmarks/llvm_producers.py reads it."""
    from numba import types

    out: list[Any] = []
    for t in signature:
        if hasattr(t, "ndim"):
            shape = {1: [512], 2: [32, 32], 3: [8, 8, 8]}[t.ndim]
            size = t.dtype.bitwidth // 8
            total, strides, step = 512 if t.ndim != 2 else 1024, [], size
            for n in reversed(shape):
                strides.insert(0, step)
                step *= n
            out += [["uint64", 0], ["uint64", 0], ["int64", total], ["int64", size],
                    ["buffer", str(t.dtype), total]]
            out += [["int64", n] for n in (*shape, *strides)]
        elif isinstance(t, types.UniTuple):
            out += [["int64", 8]] * t.count
        else:
            out.append([str(t), 3])
    return out


def numba(out: pathlib.Path) -> None:
    sys.path.insert(0, str(HERE))
    import numba_kernels
    from numba.cuda import compiler

    for f, signature, options in numba_kernels.KERNELS:
        lib, _ = compiler._compile_pyfunc_with_fixup(f, signature, device=False, abi="numba",
                                                     cc=(8, 0), **options)
        for k, text in enumerate(lib.llvm_strs):
            (out / f"{f.__name__}{f'.{k}' if k else ''}.ll").write_text(text)
        if len(lib.llvm_strs) == 1:
            ptx = lib.get_asm_str(cc=(8, 0))
            (out / f"{f.__name__}.ptx").write_text(ptx)
            launch = {k: arguments(signature) for k in re.findall(r"\.entry ([\w$]+)", ptx)}
            (out / f"{f.__name__}.json").write_text(json.dumps(launch))


def triton(out: pathlib.Path) -> None:
    sys.path.insert(0, str(HERE))
    import triton_kernels

    for name, text, ptx in triton_kernels.compiled():
        (out / f"{name}.ll").write_text(text)
        (out / f"{name}.ptx").write_text(ptx)


if __name__ == "__main__":
    kind, folder, *rest = sys.argv[1:]
    target = pathlib.Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    {"clang": lambda: clang(target, rest), "numba": lambda: numba(target),
     "triton": lambda: triton(target)}[kind]()
