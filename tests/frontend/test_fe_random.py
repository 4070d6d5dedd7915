"""Random programs: the interpreter on nvir's code against gcc on the same program's C text.

The campaign over many is benchmarks/random_programs.py; what it found stands here by itself.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from fe_judges import accepted, module_of, run
from fe_random import Program
from fe_wild import Wild
from fe_wild_run import WAYS, by_gcc, by_nvir, generated

from nvir.frontend import build as b


def compare(seeds: range, folder: Path, ways: tuple[str, ...]) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    programs = [Wild(seed) for seed in seeds]
    for p, expected in zip(programs, by_gcc(programs, folder), strict=True):
        module = generated(p)
        for way in ways:
            assert by_nvir(p, way, module) == expected, f"seed {p.seed} {way}\n{p.c_text()}"


def test_random_programs_agree_with_gcc(tmp_path):
    compare(range(6), tmp_path, ("nvvm", "O0", "O3"))


@pytest.mark.slow
def test_many_random_programs_agree_with_gcc(tmp_path):
    for start in range(100_000, 100_500, 25):
        compare(range(start, start + 25), tmp_path, WAYS)


@pytest.mark.slow
def test_the_generator_is_free_of_undefined_behaviour(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    from fe_wild_run import SANITIZE

    programs = [Wild(seed) for seed in range(50)]
    assert by_gcc(programs, tmp_path, flags=("-O1", "-w", *SANITIZE)) == by_gcc(programs, tmp_path)


@pytest.mark.oracle
def test_libnvvm_takes_random_programs():
    rng = random.Random(1)
    for seed in rng.sample(range(10000), 2):
        accepted(module_of(Program(seed).unit))
        accepted(generated(Wild(seed)))


# ------------------------------------------------------- what the campaign found


def test_a_constant_argument_then_calls_by_some_threads_alone():
    """The whole group passed one element for all; a later call by a part set single lanes."""
    i, out, p = b.names("i out p")
    f = b.function("int f", "int p", b.ret(p * 3))
    k = b.kernel("k", "int *out", b.let("int i", b.threadIdx.x),
                 b.assign(out[i], b.call("f", 5)),
                 b.if_(i % 2, b.assign(out[i], b.call("f", i))))
    module = module_of(b.unit(f, k))
    got = np.zeros(6, np.int32)
    run(module, "k", [got], block=6)
    assert got.tolist() == [15, 3, 15, 9, 15, 15]
