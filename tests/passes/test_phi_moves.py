"""Phis merge registers of their own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.ir.clone import clone_module
from nvir.passes.driver import Driver, Settings
from nvir.ptx.outofssa import assign_registers
from tests.equivalence import same_behaviour
from tests.kernels import random_kernel
from tests.passes.conftest import behave_the_same, body
from tests.wild_kernels import wild_kernel

SWAP = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    mov.f32 %f1, 0f3F800000;
    ld.global.f32 %f2, [%rd1];
LOOP:
    mov.f32 %f3, %f1;
    mov.f32 %f1, %f2;
    mov.f32 %f2, %f3;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra LOOP;
    st.global.v2.f32 [%rd1], {%f1, %f2};
    ret;
"""


@pytest.mark.seed("REL-02")
def test_phis_that_trade_places_need_no_copy_afterwards():
    """Leaving SSA had to insert copies for the swap; behind the pass it has to insert none."""
    module = nvir.read_ptx(body(SWAP))
    driver = Driver(Settings(verify_each=True, check=True))
    driver.run(module, "copy-prop")
    before = clone_module(module)
    assert sum(map(len, assign_registers(module["k"]).copies.values())) > 0
    ctx = driver.run(module, "phi-moves")
    (remark,) = ctx.remarks
    assert remark.args["phis"] == 3
    assert remark.args["moves"] == 9
    assert sum(map(len, assign_registers(module["k"]).copies.values())) == 0
    assert same_behaviour(before, module, "k")
    assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")


def test_phis_of_moves_stay(check):
    """Near miss: what the pass leaves is what it wants."""
    check("phi-moves", """
        ld.param.u32 %r1, [n];
        setp.lt.u32 %p1, %r1, 9;
        @%p1 bra A;
        mov.b32 %r3, 5;
        bra J;
    A:
        mov.b32 %r3, %r1;
    J:
        mov.b32 %r4, %r3;
        st.global.u32 [1024], %r4;
        ret;
    """)


@settings(max_examples=10)
@given(st.integers(0, 1 << 31))
def test_random_code(seed: int) -> None:
    """Behaviour is equal, and a second run finds nothing."""
    module = nvir.read_ptx((wild_kernel if seed % 2 else random_kernel)(seed, 40))
    before = clone_module(module)
    driver = Driver(Settings(verify_each=True, check=True))
    driver.run(module, "copy-prop,phi-moves")
    text = str(module)
    driver.run(module, "phi-moves")
    assert str(module) == text
    same_behaviour(before, module, "k", seed)


@pytest.mark.parametrize("chain", [
    ("copy-prop", "phi-moves", "print"), ("phi-moves", "loop-simplify", "gvn", "phi-moves"),
])
def test_random_kernels_keep_their_behaviour(chain):
    behave_the_same(range(600, 606), chain)
