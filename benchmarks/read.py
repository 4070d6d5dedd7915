"""Reading, printing and analysing PTX: speed, and how cost grows with size.

    python benchmarks/read.py [--max 1000000] [--examples]

The text is examples/sgemm.ptx, its kernel repeated under new names until there are
as many instructions as wanted; `--examples` reads each example instead. Times are
processor time of one run of this process, so another load on the machine disturbs little.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import tracemalloc
from pathlib import Path

import nvir
from nvir.analysis.pressure import register_pressure
from nvir.ir.loops import natural_loops

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def module_text(instructions: int) -> str:
    """PTX with about this many instructions, in kernels of some 140."""
    text = (EXAMPLES / "sgemm.ptx").read_text("utf-8")
    start = text.index(".visible .entry")
    end = text.rindex("}") + 1
    head, kernel = text[:start], text[start:end]
    head = re.sub(r"\.file[^\n]*", "", head)
    kernel = re.sub(r"\n\s*\.loc[^\n]*", "", kernel)
    size = kernel.count(";") - kernel.count(".reg")
    copies = max(1, instructions // size)
    return head + "\n".join(kernel.replace("sgemm", f"sgemm{k}") for k in range(copies)) + "\n"


def seconds(action: object) -> float:
    start = time.process_time()
    action()  # type: ignore[operator]
    return time.process_time() - start


def measure(text: str) -> list[float]:
    """[instructions, MB, read, print, CFG with loops, pressure] of one text, seconds."""
    found: list[object] = []
    read = seconds(lambda: found.append(nvir.read_ptx(text)))
    m: nvir.Module = found[0]  # type: ignore[assignment]
    count = sum(len(b) for f in m.functions for b in f.blocks)
    printed = seconds(lambda: nvir.print_ptx(m))
    loops = seconds(lambda: [(f.analyze_cfg(), natural_loops(f)) for f in m.functions])
    pressure = seconds(lambda: [register_pressure(f) for f in m.functions])
    return [count, len(text) / 1e6, read, printed, loops, pressure]


def memory(text: str) -> float:
    """Bytes an instruction that a module keeps."""
    nvir.read_ptx(text)  # memo tables do not count
    tracemalloc.start()
    m = nvir.read_ptx(text)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept / sum(len(b) for f in m.functions for b in f.blocks)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max", type=int, default=100_000, help="largest number of instructions")
    parser.add_argument("--examples", action="store_true")
    options = parser.parse_args(argv)
    nvir.read_ptx(module_text(1))  # opcode tables and imports are not what is measured
    print(f"{'instructions':>12} {'MB/s':>6}   µs an instruction: read  print  loops  pressure")
    if options.examples:
        texts = [p.read_text("utf-8") for p in sorted((EXAMPLES / "ptx").glob("*.ptx"))]
    else:
        sizes = [10**k for k in range(3, 7) if 10**k <= options.max]
        texts = [module_text(n) for n in sizes]
    for text in texts:
        n, size, *times = measure(text)
        each = "  ".join(f"{t / n * 1e6:6.2f}" for t in times)
        print(f"{n:12.0f} {size / times[0]:6.2f}   {'':17} {each}")
    print(f"memory: {memory(module_text(20_000)):.0f} bytes an instruction")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
