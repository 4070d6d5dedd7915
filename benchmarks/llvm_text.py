"""LLVM text: what an instruction costs to read and to print, beside LLVM's own parser and printer.

    python benchmarks/llvm_text.py [FILE.ll] [--count N]

Without a file, a kernel of N instructions (10,000) of ten kinds. Times are of the process, the
best of five; LLVM is C++ behind llvmlite.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import nvir

KINDS = """
  %p{k} = getelementptr inbounds float, ptr addrspace(1) %a, i64 {k}
  %v{k} = load float, ptr addrspace(1) %p{k}, align 4, !tbaa !1
  %m{k} = fmul contract float %v{k}, 2.000000e+00
  %s{k} = fadd float %m{k}, %f
  store float %s{k}, ptr addrspace(1) %p{k}, align 4
  %i{k} = add nsw i32 %n, {k}
  %c{k} = icmp slt i32 %i{k}, 100
  %z{k} = zext i32 %i{k} to i64
  %q{k} = select i1 %c{k}, i32 %i{k}, i32 %n
  %t{k} = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"""


def made(count: int) -> str:
    body = "".join(KINDS.format(k=k) for k in range(count // 10))
    return (
        f"define void @k(ptr addrspace(1) %a, i32 %n, float %f) {{\nentry:{body}\n  ret void\n}}\n"
        "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n!1 = !{}\n"
    )


def best(work: Callable[[], Any], count: int) -> float:
    """Microseconds an instruction."""
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1e6 / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    text = made(options.count)
    if options.file:
        with open(options.file, encoding="utf-8") as f:
            text = f.read()
    module = nvir.read_ll(text)
    n = sum(1 for f in module.functions for _ in f.instructions())
    opaque = nvir.print_ll(module, "llvm20")
    rows = [
        ("nvir reads", lambda: nvir.read_ll(opaque)),
        ("nvir verifies", lambda: nvir.verify(module)),
        ("nvir prints llvm20", lambda: nvir.print_ll(module, "llvm20")),
    ]
    try:
        rows.append(("nvir prints llvm7", lambda: nvir.print_ll(module, "llvm7")))
        rows[-1][1]()
    except nvir.Unsupported:
        rows.pop()
    import llvmlite.binding as llvm

    parsed = llvm.parse_assembly(opaque)
    rows.append(("LLVM parses", lambda: llvm.parse_assembly(opaque)))
    rows.append(("LLVM prints", lambda: str(parsed)))
    print(f"{n} instructions, µs each")
    for name, work in rows:
        print(f"{name:20} {best(work, n):8.2f}")


if __name__ == "__main__":
    main()
