"""The judges themselves: random kernels are legal and tame, and a difference is found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

import nvir
from nvir import toolchain
from tests.equivalence import again, behaviour, check_same, inputs, pointers, same_behaviour
from tests.interp.machine_helpers import ptx
from tests.kernels import kernels, random_kernel


def test_a_seed_always_gives_the_same_kernel() -> None:
    assert random_kernel(5) == random_kernel(5) != random_kernel(6)


def test_the_generator_reaches_what_passes_must_survive() -> None:
    """Over a few dozen seeds everything that the module's docstring promises turns up."""
    text = "".join(random_kernel(seed, 60) for seed in range(40))
    for wanted in (
        "call (", "brx.idx", "bar.sync", "shfl.sync", "red.global", "ld.const", "st.local",
        "ld.shared", "@!%p", "ret;", "f64", "f16", "s64", "u16", "addc.", "ld.global.nc.v2",
    ):
        assert wanted in text, wanted


@settings(max_examples=25)
@given(kernels(40))
def test_random_kernels_end_within_bounds(text: str) -> None:
    """Whatever the input bits are, no launch fails, and a second one does the same."""
    module = nvir.read_ptx(text)
    for seed in (1, 2):
        found = behaviour(module, "k", seed)
        assert found.flavour == "bits", found.error
        assert check_same(found, again(module, found))


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(8))
def test_random_kernels_assemble(seed: int) -> None:
    result = toolchain.ptxas(random_kernel(seed), "sm_80", 0)
    assert result.ok, result.messages


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_kernels_assemble(seed: int) -> None:
    result = toolchain.ptxas(random_kernel(seed, 80), "sm_80", 0)
    assert result.ok, result.messages


@pytest.mark.parametrize("seed", range(10))
def test_a_changed_operation_is_found(seed: int) -> None:
    """Mutants of a random kernel: the last use of a result is changed by one bit."""
    text = random_kernel(seed, 30)
    last = list(re.finditer(r"st\.global\.b32 \[%own\+\d+\], (%\w+);", text))[-1]
    mutant = f"{text[: last.start()]}xor.b32 {last[1]}, {last[1]}, 4;\n\t{text[last.start() :]}"
    assert mutant != text
    with pytest.raises(AssertionError, match="buffer 1 differs in"):
        same_behaviour(nvir.read_ptx(text), nvir.read_ptx(mutant), "k", seed)


def test_an_unchanged_module_is_the_same() -> None:
    text = random_kernel(3)
    assert same_behaviour(nvir.read_ptx(text), nvir.read_ptx(text), "k", 3)


def test_a_new_fault_is_a_difference() -> None:
    fine = nvir.read_ptx(ptx("st.global.u32 [%d0], 1;", params=1))
    broken = nvir.read_ptx(ptx("st.global.u32 [%d0+-4], 1;", params=1))
    with pytest.raises(AssertionError, match="the changed module fails"):
        same_behaviour(fine, broken, "k")
    assert same_behaviour(broken, fine, "k") is False


def test_parameters_are_told_apart_by_their_use() -> None:
    text = """.version 8.0\n.target sm_80\n.address_size 64
        .visible .entry k(.param .u64 a, .param .u64 n, .param .f32 x, .param .u64 b) {
        .reg .b64 %d<9>; .reg .b32 %r; ld.param.u64 %d0, [a]; ld.param.u64 %d1, [n];
        cvta.to.global.u64 %d2, %d0; mul.lo.u64 %d3, %d1, 4; add.u64 %d2, %d2, 0;
        ld.global.u32 %r, [%d2]; ld.param.u64 %d4, [b]; st.u32 [%d4], %r; ret; }"""
    m = nvir.read_ptx(text)
    assert pointers(m["k"]) == {"a", "b"}
    given_ = inputs(m, "k", 1)
    assert isinstance(given_.args[1], int)
    assert isinstance(given_.args[2], float)
