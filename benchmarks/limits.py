"""How far nvir goes: one dimension of a kernel grows at a time, and work stays linear in it.

    python -m benchmarks.limits                       # each dimension at three sizes
    python -m benchmarks.limits --only loops --largest 100000

Each size is read, verified, printed, simplified, reported, taken through `opt -p loops` and
printed again, and through the same passes under policy `documented`, in a process of its own under
a limit of memory. A row tells the seconds of the processor (the imports aside), the largest memory,
and the exponent: 1.0 where work grows as the size does, 2.0 where it grows as the square, against
the size before it; "-" where a step took too little to tell. What nvir refuses is shown as its
error. The exit status is 1 where something crashed or was killed.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
MEMORY = 4 << 30
SHORT = 0.02  # seconds of which a ratio says nothing


def kernel(body: str, registers: str = "", name: str = "k") -> str:
    return (
        f".visible .entry {name}(.param .u64 a, .param .u32 n)\n{{\n.reg .b64 %a; .reg .b32 %n;\n"
        f".reg .pred %p<4>;\n{registers}\nld.param.u64 %a, [a]; ld.param.u32 %n, [n];\n"
        f"{body}\nret;\n}}\n"
    )


def live(n: int) -> str:
    """Values that live at once."""
    loads = "\n".join(f"ld.global.u32 %r{k}, [%a+{4 * k}];" for k in range(n))
    stores = "\n".join(f"st.global.u32 [%a+{4 * k}], %r{n - 1 - k};" for k in range(n))
    return HEAD + kernel(f"{loads}\n{stores}", f".reg .b32 %r<{n}>;")


def blocks(n: int) -> str:
    """Blocks: short branches behind each other."""
    body = "\n".join(
        f"setp.eq.u32 %p1, %n, {k}; @%p1 bra B{k};\nst.global.u32 [%a], {k};\nB{k}:"
        for k in range(n // 2)
    )
    return HEAD + kernel(body)


def guards(n: int) -> str:
    """Guarded additions to one register: if-conversion makes a block of them."""
    body = "\n".join(
        f"setp.gt.u32 %p1, %n, {k}; @%p1 bra B{k};\nadd.u32 %r1, %r1, {k};\nB{k}:"
        for k in range(n)
    )
    store = "st.global.u32 [%a], %r1;"
    return HEAD + kernel(f"mov.u32 %r1, %tid.x;\n{body}\n{store}", ".reg .b32 %r<4>;")


def conditions(n: int) -> str:
    """Conditions in each other."""
    head = "\n".join(
        f"setp.gt.u32 %p1, %n, {k}; @%p1 bra E{k}; st.global.u32 [%a+{4 * k}], {k};"
        for k in range(n)
    )
    tail = "\n".join(f"E{k}: add.u32 %n, %n, 1;" for k in reversed(range(n)))
    return HEAD + kernel(f"{head}\n{tail}")


def loops(n: int) -> str:
    """Loops behind each other."""
    body = "\n".join(
        f"mov.u32 %r1, 0;\nL{k}: st.global.u32 [%a+4], %r1; add.u32 %r1, %r1, 1; "
        f"setp.lt.u32 %p1, %r1, %n; @%p1 bra L{k};" for k in range(n)
    )
    return HEAD + kernel(body, ".reg .b32 %r<4>;")


def nest(n: int) -> str:
    """Loops in each other."""
    head = "\n".join(f"mov.u32 %r{k}, 0;\nL{k}:" for k in range(n))
    tail = "\n".join(
        f"add.u32 %r{k}, %r{k}, 1; setp.lt.u32 %p1, %r{k}, %n; @%p1 bra L{k};"
        for k in reversed(range(n))
    )
    return HEAD + kernel(f"{head}\nst.global.u32 [%a], %r0;\n{tail}", f".reg .b32 %r<{n}>;")


def carried(n: int) -> str:
    """Values that a loop hands on, each made of the next."""
    first = "\n".join(f"mov.u32 %r{k}, {k};" for k in range(n))
    body = "\n".join(f"add.u32 %r{k}, %r{k}, %r{(k + 1) % n};" for k in range(n))
    last = "\n".join(f"add.u32 %n, %n, %r{k};" for k in range(n))
    count = "add.u32 %c, %c, 1; setp.lt.u32 %p1, %c, %n; @%p1 bra L;"
    return HEAD + kernel(
        f"mov.u32 %c, 0;\n{first}\nL:\n{body}\n{count}\n{last}\nst.global.u32 [%a], %n;",
        f".reg .b32 %c, %r<{n}>;",
    )


def turned(n: int) -> str:
    """Values that change places in a loop."""
    first = "\n".join(f"mov.u32 %r{k}, {k};" for k in range(n))
    body = "\n".join(f"mov.u32 %r{k}, %r{k + 1};" for k in range(n - 1))
    count = "add.u32 %c, %c, 1; setp.lt.u32 %p1, %c, %n; @%p1 bra L;"
    return HEAD + kernel(
        f"mov.u32 %c, 0;\n{first}\nL:\nmov.u32 %t, %r0;\n{body}\nmov.u32 %r{n - 1}, %t;\n{count}"
        f"\nst.global.u32 [%a], %r0;", f".reg .b32 %c, %t, %r<{n}>;",
    )


def accesses(n: int) -> str:
    """Loads and stores of a loop."""
    body = "\n".join(
        f"ld.global.u32 %r1, [%a+{8 * k}]; add.u32 %r2, %r2, %r1; "
        f"st.global.u32 [%a+{8 * k + 4}], %r2;" for k in range(n // 2)
    )
    count = "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %n; @%p1 bra L;"
    return HEAD + kernel(f"mov.u32 %r2, 0; mov.u32 %r3, 0;\nL:\n{body}\n"
                         f"add.u64 %a, %a, {4 * n};\n{count}", ".reg .b32 %r<4>;")


def kernels(n: int) -> str:
    """Kernels of a module."""
    return HEAD + "".join(kernel("st.global.u32 [%a], %n;", name=f"k{k}") for k in range(n))


def initialiser(n: int) -> str:
    """Values of an initialiser."""
    return HEAD + f".global .b32 g[{n}] = {{{', '.join(map(str, range(n)))}}};\n" + kernel("")


def braces(n: int) -> str:
    """Braces of an initialiser in each other."""
    return HEAD + f".global .b32 g[1] = {'{' * n}1{'}' * n};\n" + kernel("")


def sizes(n: int) -> str:
    """Sizes of an array, each in braces of its own."""
    return HEAD + f".global .b32 g{'[1]' * n} = {'{' * n}1{'}' * n};\n" + kernel("")


def calls(n: int) -> str:
    """Functions of which each calls the last."""
    called = "".join(
        f".func (.param .b32 r) f{k}(.param .b32 x)\n{{\n.reg .b32 %r;\nld.param.b32 %r, [x];\n"
        + (f"{{ .param .b32 y; .param .b32 z; st.param.b32 [y], %r; call (z), f{k - 1}, (y); "
           "ld.param.b32 %r, [z]; }\n" if k else "")
        + "st.param.b32 [r], %r;\nret;\n}\n" for k in range(n)
    )
    return HEAD + called + kernel(
        f"{{ .param .b32 y; .param .b32 z; st.param.b32 [y], %n; call (z), f{n - 1}, (y); "
        "ld.param.b32 %n, [z]; }\nst.global.b32 [%a], %n;")


DIMENSIONS: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "live": (live, (300, 1_200, 4_800)),
    "blocks": (blocks, (10_000, 40_000, 160_000)),
    "guards": (guards, (500, 2_000, 8_000)),
    "conditions": (conditions, (400, 1_600, 6_400)),
    "loops": (loops, (500, 2_000, 8_000)),
    "nest": (nest, (60, 250, 1_000)),
    "carried": (carried, (600, 2_400, 9_600)),
    "turned": (turned, (600, 2_400, 9_600)),
    "accesses": (accesses, (1_000, 4_000, 16_000)),
    "kernels": (kernels, (150, 600, 2_400)),
    "initialiser": (initialiser, (10_000, 100_000, 1_000_000)),
    "braces": (braces, (10, 1_000, 100_000)),
    "sizes": (sizes, (60, 250, 1_000)),
    "calls": (calls, (250, 1_000, 4_000)),
}
STEPS = ("read", "print", "clean", "report", "loops", "documented")


def measure(text: str) -> str:
    """One line: the seconds of each step, or how nvir refused it."""
    import nvir
    from nvir.ir.errors import NvirError
    from nvir.ir.verify import verify
    from nvir.report import report

    small = nvir.read_ptx(loops(2))
    nvir.print_ptx(small)
    nvir.run_passes(small, "loop-simplify,clean")
    report(small)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    times = []

    def timed(action: Callable[[], T]) -> T:
        start = time.process_time()
        done = action()
        times.append(time.process_time() - start)
        return done

    try:
        module = timed(lambda: nvir.read_ptx(text))
        verify(module)
        timed(lambda: nvir.print_ptx(module))
        timed(lambda: nvir.run_passes(module, "loop-simplify,clean"))
        timed(lambda: report(module))
        timed(lambda: (nvir.run_passes(module, "loops"), nvir.print_ptx(module)))
        module = nvir.read_ptx(text)
        timed(lambda: nvir.run_passes(module, "loops", policy="documented"))
    except NvirError as e:
        return "refused " + str(e).partition("\n")[0][:80]
    return "done " + " ".join(f"{t:.3f}" for t in times)


def row(name: str, n: int, before: tuple[int, list[float]] | None) -> tuple[str, list[float], bool]:
    words = [sys.executable, "-m", "benchmarks.limits", "--measure", name, "--largest", str(n)]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=580)
    except subprocess.TimeoutExpired:
        return f"{name:12} {n:9} more than 580 s", [], False
    lines = done.stdout.split("\n")
    kind, _, rest = lines[0].partition(" ")
    if done.returncode or kind not in ("done", "refused"):
        last = done.stderr.strip().rpartition("\n")[2]
        return f"{name:12} {n:9} CRASHED {last[:90]}", [], False
    if kind == "refused":
        return f"{name:12} {n:9} {rest}", [], True
    times = [float(t) for t in rest.split()]
    shown = "  ".join(f"{s} {t:7.2f}" for s, t in zip(STEPS, times, strict=True))
    growth = ""
    if before is not None and before[1]:
        scale = math.log(n / before[0])
        growth = "  exponent " + " ".join(
            f"{math.log(t / b) / scale:4.2f}" if b >= SHORT else "  - "
            for t, b in zip(times, before[1], strict=True)
        )
    return f"{name:12} {n:9} {shown}  {lines[1]} MB{growth}", times, True


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=tuple(DIMENSIONS), help="one dimension")
    parser.add_argument("--largest", type=int, help="sizes up to this one, four times apart")
    parser.add_argument("--measure", choices=tuple(DIMENSIONS), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.measure:
        print(measure(DIMENSIONS[args.measure][0](args.largest)))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        return 0
    fine = True
    for name, (_, sizes) in DIMENSIONS.items():
        if args.only not in (None, name):
            continue
        before = None
        n = args.largest
        for size in (n // 16, n // 4, n) if n else sizes:
            text, times, well = row(name, size, before)
            print(text, flush=True)
            fine, before = fine and well, (size, times)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
