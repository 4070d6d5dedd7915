"""The same kernels through nvir's selection and through libnvvm -O3, both assembled by ptxas.

    python benchmarks/selection.py [--arch sm_80] [--json out.json] [NAME ...]

clang makes LLVM text at -O2 of each example that its own CUDA headers suffice for; both paths
start from that text. nvir's is `select` and the passes of `LOWER` with fp-contract=fast, which is
libnvvm's default. Printed are registers and SASS instructions of each kernel, and the geometric
mean of nvir's by libnvvm's. The aim is 1.10 or less for both. libnvvm unrolls and simplifies
loops on the way, nvir leaves that to ptxas: longer code of either may be the faster one.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

import attrs
from ratios import compare

import nvir
from nvir import toolchain
from nvir.ir.errors import NvirError
from nvir.passes.select import LOWER

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
PIPELINE = LOWER.replace(",select,", ",select<fp-contract=fast>,")
FLAGS = ("-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-O2", "-S",
         "-emit-llvm")


@attrs.frozen
class Row:
    """One kernel: (registers, SASS instructions) of both paths."""

    example: str
    kernel: str
    nvir: tuple[int, int]
    libnvvm: tuple[int, int]


def llvm_text(source: pathlib.Path, arch: str) -> str | None:
    """What clang makes of a CUDA source, or None where it lacks headers."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.ll")
        command = ["clang", *FLAGS, f"--cuda-gpu-arch={arch}", "-include",
                   str(EXAMPLES / "clang_cuda.h"), str(source), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        return out.read_text() if done.returncode == 0 else None


def measure(ptx: str, arch: str) -> dict[str, tuple[int, int]]:
    """Registers and SASS instructions of each kernel."""
    result = toolchain.ptxas(ptx, arch)
    if result.cubin is None:
        raise NvirError(result.error)
    counts = {
        name: sum(i.opcode.partition(".")[0] != "NOP" for i in body)
        for name, body in toolchain.disassemble(result.cubin, live=False).items()
    }
    return {
        name: (info.registers or 0, counts.get(name, 0)) for name, info in result.kernels.items()
    }


def by_nvir(text: str, arch: str) -> str:
    module = nvir.read_ll(text)
    module.target = arch
    nvir.run_passes(module, PIPELINE)
    return nvir.print_ptx(module)


def by_libnvvm(text: str, arch: str) -> str:
    module = nvir.read_ll(text)
    module.target = arch
    dialect = "llvm7" if int("".join(filter(str.isdigit, arch))) < 100 else "llvm20"
    nvir.run_passes(module, f"legalize<dialect={dialect}>")
    for f in module.functions:  # LLVM 7 takes no numbers as names of parameters
        for k, a in enumerate(f.arguments):
            if not a.name or a.name.isdigit():
                a.name = f"arg{k}"
    printed = nvir.print_ll(module, dialect)
    result = toolchain.libnvvm.compile(printed, arch, ["-opt=3"])
    if result.ptx is None:
        raise NvirError(f"libnvvm: {result.log.strip().splitlines()[0] if result.log else ''}")
    return result.ptx


def rows(names: list[str], arch: str) -> Iterator[Row | str]:
    for source in sorted(EXAMPLES.glob("*.cu")):
        if names and source.stem not in names:
            continue
        text = llvm_text(source, arch)
        if text is None:
            continue
        try:
            ours, theirs = (measure(make(text, arch), arch) for make in (by_nvir, by_libnvvm))
        except NvirError as e:
            yield f"{source.stem}: {e}"
            continue
        for kernel in ours.keys() & theirs.keys():
            yield Row(source.stem, kernel, ours[kernel], theirs[kernel])


def line(row: Row) -> str:
    name = f"{row.example}: {row.kernel}"[:40]
    (r, n), (their_r, their_n) = row.nvir, row.libnvvm
    return f"{name:40} {r:7} / {their_r:6} {n:9} / {their_n:8}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--json")
    given = parser.parse_args()
    if shutil.which("clang") is None:
        raise SystemExit("clang not found: it makes the LLVM text that both paths start from")
    print(f"{'kernel':40} {'registers':>16} {'SASS':>20}")
    compare(rows(given.names, given.arch), line, "libnvvm", "kernel", given.json)


if __name__ == "__main__":
    main()
