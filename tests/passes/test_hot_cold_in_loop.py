"""What a loop seldom runs stands behind it in the text."""

from __future__ import annotations

from typing import Any

import pytest

import nvir
from nvir.ir.clone import clone_module
from nvir.ir.loops import natural_loops
from nvir.passes.driver import Driver, Settings
from nvir.passes.loop.hot_cold_in_loop import cold_blocks
from tests.equivalence import same_behaviour
from tests.passes.conftest import behave_the_same, body

LOOP = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    bra LOOP;
LOOP:
    setp.gt.u32 %p2, %r2, 5000;
    @%p2 bra BAD;
    bra GOOD;
BAD:
    add.u32 %r2, %r2, 3;
    {}
    bra BAD2;
BAD2:
    add.u32 %r2, %r2, 4;
GOOD:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra LOOP;
    st.global.u32 [%rd1], %r2;
    ret;
"""


def ordered(text: str, *cold: str) -> Any:
    """(names of blocks in order, remarks) with some blocks called cold."""
    module = nvir.read_ptx(body(text))
    for b in module["k"].blocks:
        if b.name in cold:
            b.flags |= {"cold"}
    before = clone_module(module)
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, "hot-cold-in-loop")
    assert same_behaviour(before, module, "k")
    assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")
    old = str(module)
    driver.run(module, "hot-cold-in-loop")
    assert str(module) == old
    names = [b.name for b in module["k"].blocks if not b.name.startswith("bb")]
    return names, list(ctx.remarks)


@pytest.mark.seed("REL-05")
def test_cold_blocks_go_behind_the_loop():
    """A profile's flag; what only a cold block leads to is cold as well."""
    names, (remark,) = ordered(LOOP.format(""), "BAD")
    assert names.index("GOOD") < names.index("BAD") < names.index("BAD2")
    assert (remark.name, remark.args["cold"]) == ("HotColdOrdered", 2)


def test_a_trap_makes_cold():
    names, _ = ordered(LOOP.format("trap;"))
    assert names.index("GOOD") < names.index("BAD")


def test_without_cold_blocks_the_order_stays():
    names, remarks = ordered(LOOP.format(""))
    assert names.index("BAD") < names.index("BAD2") < names.index("GOOD")
    assert not remarks


def test_a_guarded_trap_says_nothing_of_the_block():
    names, _ = ordered(LOOP.format("setp.eq.u32 %p5, %r2, 1; @%p5 trap;"))
    assert names.index("BAD") < names.index("GOOD")


def test_the_header_is_never_cold():
    module = nvir.read_ptx(body(LOOP.format("")))
    f = module["k"]
    f.analyze_cfg()
    for b in f.blocks:
        b.flags |= {"cold"}
    (loop,) = natural_loops(f)
    assert loop.header not in cold_blocks(loop)


def test_blocks_of_other_parts_leave_the_loop():
    """An exit's block in the midst of the loop: it is the loop that stands together."""
    names, (remark,) = ordered("""
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 0;
    LOOP:
        setp.gt.u32 %p2, %r2, 5000;
        @%p2 bra OUT;
        bra GOOD;
    OUT:
        st.global.u32 [%rd1], 1;
        ret;
    GOOD:
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra LOOP;
    DONE:
        st.global.u32 [%rd1], %r2;
        ret;
    """)
    assert [n for n in names if n in ("LOOP", "GOOD", "OUT")] == ["LOOP", "GOOD", "OUT"]
    assert remark.args["cold"] == 0


@pytest.mark.parametrize("chain", [
    ("shuffle", "hot-cold-in-loop", "print"), ("loop-rotate", "hot-cold-in-loop", "loop-simplify"),
])
def test_random_kernels_keep_their_behaviour(chain):
    behave_the_same(range(500, 506), chain)
