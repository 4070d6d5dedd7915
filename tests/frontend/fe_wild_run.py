"""Running random programs: many in one C compilation, each by nvir in several ways.

    by_gcc(programs, folder, compiler, flags)   what each program leaves in `out`, by input
    by_nvir(program, way)                       the same, of the interpreter

A way is "nvvm" (the IR as it was generated), or a level of optimisation "O0" to "O3": selected
and run as operations of PTX.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from fe_wild import Wild
from fe_wild_types import OUTS, prelude

import nvir
from nvir.compiler import pipelines
from nvir.frontend.check import check
from nvir.frontend.irgen import Options, generate
from nvir.ir.clone import clone_module
from nvir.ir.module import Module

WAYS = ("nvvm", "O0", "O1", "O2", "O3")
# gcc 12 makes 0.0f - (float)i the negation of (float)i, which is another zero for i = 0; not so
# where it may not take the rounding for known
FLAGS = ("-O0", "-w", "-fwrapv", "-ffp-contract=off", "-frounding-math", "-msse2", "-mfpmath=sse")
SANITIZE = ("-fsanitize=undefined,address", "-fno-sanitize-recover=undefined")
# a, b, c, d, f of each thread
INPUTS: list[tuple[int, int, int, float, float]] = [
    (0, 0, 0, 0.0, 0.0),
    (1, 2, 3, 4.5, -0.25),
    (-7, 2**32 - 3, -(2**40) + 5, -2.5, 1e6),
    (2**31 - 1, 99, 2**62 + 11, 1e3, float("inf")),
    (-(2**31), 2**31, -(2**63) + 1, -1e300, -3e-39),
    (12345, 77777, 10**15, float("nan"), 16777216.0),
]


def _double(v: float) -> str:
    if v != v:
        return "__builtin_nan(\"\")"
    return "__builtin_inf()" if v == float("inf") else v.hex()


def c_program(programs: list[Wild]) -> str:
    """All programs and a `main` that prints a line for each input of each."""
    text = [prelude(), *(p.c_text() for p in programs)]
    text.append("struct input { int a; unsigned b; long c; double d; float f; };\n")
    rows = ", ".join(f"{{{a}, {u}u, {c}L, {_double(d)}, {_double(f)}}}" for a, u, c, d, f in INPUTS)
    text.append(f"static const struct input inputs[] = {{{rows}}};\n")
    text.append("static void each(void (*p)(long *, int, unsigned, long, double, float), int n) {\n"
                f"for (int k = 0; k < n; k++) {{ long out[{OUTS}] = {{0}}; "
                "const struct input *v = inputs + k; p(out, v->a, v->b, v->c, v->d, v->f);\n"
                f'for (int i = 0; i < {OUTS}; i++) printf("%ld ", out[i]); puts(""); }} }}\n')
    calls = "\n".join(f"each({p.main.name}, {count(p)});" for p in programs)
    return "".join(text) + f"int main(void) {{\n{calls}\n}}\n"


def count(p: Wild) -> int:
    """How many inputs a program takes."""
    return 1 if p.single else len(INPUTS)


def by_gcc(programs: list[Wild], folder: Path, compiler: str = "gcc",
           flags: tuple[str, ...] = FLAGS) -> list[list[list[int]]]:
    source, binary = folder / "wild.c", folder / f"wild_{compiler}"
    source.write_text(c_program(programs))
    subprocess.run([compiler, *flags, "-o", str(binary), str(source)], check=True, timeout=300)
    out = subprocess.run([str(binary)], capture_output=True, text=True, timeout=60)
    if out.returncode:
        raise AssertionError(f"{source}: {out.stderr[:2000]}")
    lines = iter(out.stdout.splitlines())
    return [[[int(w) for w in next(lines).split()] for _ in range(count(p))] for p in programs]


def generated(p: Wild) -> Module:
    return generate(check(p.unit), Options(lines=False))


def lowered(module: Module, way: str) -> Module:
    """A copy of a generated module on its way's level; fused multiply-adds are left out."""
    if way == "nvvm":
        return module
    made = clone_module(module)
    before, after = pipelines(int(way[1:]))
    if before:
        nvir.run_passes(made, before)
    options, _, rest = after.removeprefix("select").removeprefix("<").partition(">")
    nvir.run_passes(made, "select<fp-contract=off>" + (rest if ">" in after else options))
    return made


def results(module: Module, p: Wild) -> list[list[int]]:
    n = count(p)
    out = np.zeros(n * OUTS, np.int64)
    kinds = (np.int32, np.uint32, np.int64, np.float64, np.float32)
    args: list[Any] = [np.array([row[k] for row in INPUTS[:n]], kind)
                       for k, kind in enumerate(kinds)]
    nvir.launch(module, p.kernel.name, 1, n, [out, *args])
    return [[int(v) for v in row] for row in out.reshape(n, OUTS)]


def by_nvir(p: Wild, way: str, module: Module | None = None) -> list[list[int]]:
    return results(lowered(module or generated(p), way), p)
