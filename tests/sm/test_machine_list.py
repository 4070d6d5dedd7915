"""Machine instructions: registers by halves, copies without operation, literals, fusion."""

from __future__ import annotations

import pytest

from nvir.ir.errors import Unsupported
from nvir.ptx.reader import read_ptx
from nvir.sm import machine, profile
from nvir.sm.machine import expand, literal_of
from nvir.sm.operation import register_name

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<19>; .reg .f32 %f<19>; .reg .b64 %d<19>;
ld.param.u64 %d1, [p];
ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [%d1+4];
ld.global.u64 %d2, [%d1+8]; ld.global.u64 %d3, [%d1+16];
ld.global.f32 %f1, [%d1+24]; ld.global.f32 %f2, [%d1+28]; ld.global.f32 %f3, [%d1+32];
"""
LOADS = 7


def function_of(body: str):
    return read_ptx(HEAD + body + "\nret;\n}\n").functions[0]


def body_of(body: str, arch: str = "sm_80"):
    """The operations behind the loads and before EXIT."""
    return machine(function_of(body), profile(arch))[LOADS:-1]


def families(body: str, arch: str = "sm_80"):
    return [op.family for op in body_of(body, arch)]


def test_operations_know_their_registers_line_and_parent():
    low, high, store = body_of("add.s64 %d4, %d2, %d3;\nst.global.u64 [%d3], %d4;")
    assert register_name(low.results[0]) == "%d4.l"
    assert [register_name(r) for r in low.sources] == ["%d2.l", "%d3.l"]
    assert [register_name(r) for r in high.results] == ["%d4.h"]
    assert low.results[1] in high.sources  # the carry
    assert low.parent is high.parent
    assert low.line == HEAD.count("\n") + 1
    assert {register_name(r) for r in store.sources} == {"%d3.l", "%d3.h", "%d4.l", "%d4.h"}
    assert "IADD3" in str(low)


def test_copies_and_halves_have_no_operation():
    body = """mov.b64 {%r3, %r4}, %d2; mov.b64 %d4, {%r4, %r3}; cvta.to.global.u64 %d5, %d4;
        st.global.u64 [%d1], %d5;"""
    (store,) = body_of(body)
    assert [register_name(r) for r in store.sources[-2:]] == ["%d2.h", "%d2.l"]


def test_a_guarded_copy_is_a_move_that_may_leave_the_old_value():
    body = "setp.eq.s32 %p1, %r1, 0; mov.u32 %r3, %r2; @%p1 mov.u32 %r3, %r1;"
    body += "st.global.u32 [%d1], %r3;"
    _, move, _ = body_of(body)
    assert move.family == "MOV"
    assert register_name(move.guard) == "%p1"
    assert {register_name(r) for r in move.sources} == {"%r1", "%r2"}
    assert move.guard in move.reads


def test_literals_stand_in_operations_also_through_a_mov():
    assert families("mov.u32 %r3, 8; mul.lo.s32 %r4, %r1, %r3; st.global.u32 [%d1], %r4;") == [
        "SHF", "STG",
    ]
    assert families("mov.u32 %r3, 8; st.global.u32 [%d1], %r3;") == ["MOV", "STG"]
    assert families("mov.u32 %r3, 0; st.global.u32 [%d1], %r3;") == ["STG"]


def test_literal_of_follows_moves_only():
    f = function_of("mov.u32 %r3, 8; mov.u32 %r4, %r3; add.s32 %r5, %r4, 1;"
                    "st.global.u32 [%d1], %r5;")
    add = next(i for i in f.instructions() if i.form.name == "add")
    assert literal_of(add.operands[0]).value == 8
    assert literal_of(add) is None


def test_what_has_no_template_is_marked_or_refused():
    body = "vavrg2.s32.s32.s32 %r3, %r1, %r2, %r1; st.global.u32 [%d1], %r3;"
    op, _ = body_of(body)
    assert op.family is None
    assert register_name(op.results[0]) == "%r3"
    with pytest.raises(Unsupported, match="no micro-operations for vavrg2"):
        machine(function_of(body), profile("sm_80"), strict=True)


def test_division_calls_only_where_it_must():
    ops = body_of("div.rn.f32 %f4, %f1, %f2; st.global.f32 [%d1], %f4;")
    assert [op.family for op in ops if op.rare] == ["MOV", "CALL"]
    assert [op.family for op in ops if not op.rare].count("FFMA") == 5


# ------------------------------------------------------------------------------ fusion


def test_a_comparison_takes_the_logic_on_its_predicate():
    body = """setp.lt.s32 %p1, %r1, 4; setp.gt.f32 %p2, %f1, %f2; and.pred %p3, %p1, %p2;
        selp.u32 %r3, 1, 0, %p3; st.global.u32 [%d1], %r3;"""
    assert families(body) == ["ISETP", "FSETP", "SEL", "STG"]


def test_a_comparison_that_others_read_too_stays():
    body = """setp.lt.s32 %p1, %r1, 4; setp.gt.f32 %p2, %f1, %f2; and.pred %p3, %p1, %p2;
        selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 1, 0, %p2;
        st.global.u32 [%d1], %r3; st.global.u32 [%d1], %r4; st.global.u32 [%d1], %r5;"""
    assert families(body).count("PLOP3") == 1


def test_a_signed_wide_product_takes_the_addend():
    body = "mul.wide.s32 %d4, %r1, 12; add.s64 %d5, %d2, %d4; st.global.u32 [%d5], %r2;"
    wide, store = body_of(body)
    assert wide.family == "IMAD.WIDE"
    assert {register_name(r) for r in wide.sources} == {"%r1", "%d2.l", "%d2.h"}
    assert wide.results == ((wide.parent, 0), (wide.parent, 1))
    assert wide.results[0] in store.sources
    unsigned = body.replace("s32 %d4", "u32 %d4")
    assert families(unsigned) == ["IMAD.WIDE", "IADD3", "IADD3.X", "STG"]


def test_products_and_sums_fuse_where_no_rounding_is_asked():
    body = "mul.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; st.global.f32 [%d1], %f5;"
    assert families(body) == ["FFMA", "STG"]
    assert families(body.replace("mul.f32", "mul.rn.f32")) == ["FMUL", "FADD", "STG"]
    assert families(body.replace("add.f32", "add.rn.f32")) == ["FMUL", "FADD", "STG"]
    assert families(body + "st.global.f32 [%d1+4], %f4;") == ["FMUL", "FADD", "STG", "STG"]


def test_an_offset_goes_into_the_address():
    body = "add.s64 %d4, %d2, 64; st.global.u32 [%d4], %r1;"
    (store,) = body_of(body)
    assert {register_name(r) for r in store.sources} == {"%d2.l", "%d2.h", "%r1"}
    assert len(body_of(body.replace("64;", "1073741824;", 1))) == 3  # too far
    assert len(body_of(body + "st.global.u64 [%d1], %d4;")) == 4  # the sum itself is stored


def test_expand_tells_the_registers_of_values():
    f = function_of("mov.b64 {%r3, %r4}, %d2; add.s32 %r5, %r3, %r4; st.global.u32 [%d1], %r5;")
    e = expand(f.blocks, profile("sm_80"))
    split = next(i for i in f.instructions() if len(i.results) == 2)
    names = [register_name(r) for v in split.results for r in e.registers(v)]
    assert names == ["%d2.l", "%d2.h"]
