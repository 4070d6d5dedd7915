"""Random programs: the interpreter on nvir's IR against gcc on the same program's C text."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import fe_ctext
import numpy as np
import pytest
from fe_judges import accepted, module_of, run
from fe_random import OUTS, Program

INPUTS = [(0, 0, 0, 0.0), (-7, 2**32 - 3, -(2**40) + 5, -2.5), (1234567, 99, 2**62 + 11, 1e3)]


def c_program(programs: list[Program]) -> str:
    text = ["#include <stdio.h>\n#include <string.h>\n#define bool _Bool\n"]
    for p in programs:
        text.append(fe_ctext.record(p.record))
        text += [fe_ctext.function(h, h.name) for h in p.functions]
        text.append(fe_ctext.function(p.kernel, p.kernel.name))
    text.append(f"int main(void) {{\nlong out[{OUTS}];\n")
    for p in programs:
        for a, u, c, d in INPUTS:
            text.append(f"memset(out, 0, sizeof out); {p.kernel.name}(out, {a}, {u}u, {c}L, {d});")
            text.append(f'for (int i = 0; i < {OUTS}; i++) printf("%ld ", out[i]); puts("");\n')
    return "".join(text) + "}\n"


def by_gcc(programs: list[Program], folder: Path) -> list[list[int]]:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    source, binary = folder / "random.c", folder / "random"
    source.write_text(c_program(programs))
    flags = ["-O0", "-w", "-fwrapv", "-ffp-contract=off", "-msse2", "-mfpmath=sse"]
    subprocess.run([gcc, *flags, "-o", str(binary), str(source)], check=True, timeout=120)
    out = subprocess.run([str(binary)], capture_output=True, text=True, check=True, timeout=60)
    return [[int(w) for w in line.split()] for line in out.stdout.splitlines()]


def by_nvir(p: Program) -> list[list[int]]:
    module = module_of(p.unit)
    rows = []
    for a, u, c, d in INPUTS:
        out = np.zeros(OUTS, np.int64)
        args = [out, np.int32(a), np.uint32(u), np.int64(c), np.float64(d)]
        run(module, p.kernel.name, args, block=1)
        rows.append(out.tolist())
    return rows


def compare(seeds: range, folder: Path) -> None:
    programs = [Program(seed) for seed in seeds]
    expected = by_gcc(programs, folder)
    for k, p in enumerate(programs):
        got = by_nvir(p)
        wanted = expected[k * len(INPUTS) : (k + 1) * len(INPUTS)]
        assert got == wanted, f"seed {p.seed}\n{fe_ctext.function(p.kernel, p.kernel.name)}"


def test_random_programs_agree_with_gcc(tmp_path):
    compare(range(5), tmp_path)


@pytest.mark.slow
def test_many_random_programs_agree_with_gcc(tmp_path):
    for start in range(1000, 11000, 200):
        compare(range(start, start + 200), tmp_path)


@pytest.mark.oracle
def test_libnvvm_takes_random_programs():
    rng = random.Random(1)
    for seed in rng.sample(range(10000), 3):
        accepted(module_of(Program(seed).unit))
