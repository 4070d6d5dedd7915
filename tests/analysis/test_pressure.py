"""Register pressure: the unit, the count at an instruction, and against sets worked out by hand."""

from __future__ import annotations

import pytest
from corpus import examples

import nvir
from nvir.analysis.liveness import liveness
from nvir.analysis.pressure import register_pressure, width
from nvir.ir import Function
from nvir.ir.types import B8, B64, B128, CC, F32, PRED

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGS = ".reg .b16 %rs<9>; .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .pred %p<9>;\n"


def kernel(body: str) -> Function:
    text = f"{HEAD}.visible .entry k(.param .u64 a, .param .u32 n)\n{{\n{REGS}{body}\nret;\n}}\n"
    f = nvir.read_ptx(text).functions[0]
    f.analyze_cfg()
    return f


def test_the_unit_is_32_bits() -> None:
    assert [width(t) for t in (PRED, CC, B8, F32, B64, B128)] == [0, 0, 1, 1, 2, 4]


def test_counts_are_the_larger_side_of_each_instruction() -> None:
    p = register_pressure(kernel("""
        ld.param.u64 %rd1, [a];
        ld.global.u32 %r1, [%rd1];
        ld.global.u32 %r2, [%rd1+4];
        add.s32 %r3, %r1, %r2;
        st.global.u32 [%rd1], %r3;"""))
    assert p.counts == [2, 3, 4, 4, 3, 0]
    assert (p.max_live, p.max_predicates) == (4, 0)
    assert p.peak is p.instructions[2]
    assert sorted(v.name or "" for v in p.live_at(p.peak)) == ["%r1", "%r2", "%rd1"]


def test_a_result_that_nothing_reads_takes_its_register_and_predicates_are_apart() -> None:
    p = register_pressure(kernel("mov.u32 %r1, 1; setp.eq.u32 %p1, %r1, 0; mov.u64 %rd9, 5;"))
    assert p.counts == [1, 1, 2, 0]
    assert p.predicates == [0, 1, 0, 0]


def test_fallbacks_keep_the_old_value_alive() -> None:
    p = register_pressure(kernel("""
        mov.u32 %r1, 1;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 mov.u32 %r1, 2;
        st.global.u32 [0], %r1;"""))
    assert p.counts[:4] == [1, 1, 1, 1]
    assert p.predicates[2] == 1


def test_unreachable_code_does_not_count_for_the_kernel() -> None:
    p = register_pressure(kernel("""
        mov.u32 %r1, 1; st.global.u32 [0], %r1; ret;
    D:  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [0]; st.global.v4.u32 [16], {%r2, %r3, %r4, %r5};
    """))
    assert p.max_live == 1
    assert max(p.counts) == 4


def test_lines_and_loops() -> None:
    f = kernel("""
        ld.param.u32 %r2, [n];
        mov.u32 %r1, 0;
    L:  mul.lo.s32 %r3, %r1, %r2;
        st.global.u32 [0], %r3;
        add.s32 %r1, %r1, 1;
        setp.lt.s32 %p1, %r1, %r2;
        @%p1 bra L;
        mov.u64 %rd1, 1; mov.u64 %rd2, 2; mov.u64 %rd3, 3;
        st.global.v2.u64 [0], {%rd1, %rd2}; st.global.u64 [16], %rd3;
    """)
    p = register_pressure(f)
    (loop,) = f.loops()
    assert p.of_loop(loop) == 3
    assert p.max_live == 6
    lines = p.by_line()
    assert lines[f.blocks[1].line] == 3
    assert max(lines.values()) == 6


@pytest.mark.parametrize("path", examples("*.sm_80.ptx")[::4], ids=lambda p: p.stem)
def test_counts_agree_with_the_sets(path) -> None:
    """At every instruction of real kernels: the count is the size of what `live_at` lists."""
    for f in nvir.read_ptx(path).functions:
        if not f.blocks:
            continue
        live = liveness(f)
        p = register_pressure(f, live)
        for i, n in list(zip(p.instructions, p.counts, strict=True))[::7]:
            held = sum(width(v.type) for v in p.live_at(i))
            assert n >= held
            if not i.form.is_phi:
                assert n == held, str(i)
        assert p.max_live == max(p.counts)
