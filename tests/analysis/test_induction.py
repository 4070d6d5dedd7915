"""Induction variables and trip counts: directions, widths, comparisons, wrap-around, floats."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.analysis import induction
from nvir.analysis.induction import Recomputed, induction_variables, trip_count
from nvir.ir import Function
from nvir.ir.loops import Loop

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGS = (
    ".reg .b16 %rs<9>; .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .pred %p<9>;"
    ".reg .f32 %f<9>; .reg .f64 %fd<9>;\n"
)


def kernel(body: str) -> Function:
    text = f"{HEAD}.visible .entry k(.param .u64 a, .param .u32 n)\n{{\n{REGS}{body}\nret;\n}}\n"
    f = nvir.read_ptx(text).functions[0]
    f.analyze_cfg()
    return f


def only_loop(body: str) -> Loop:
    (loop,) = kernel(body).loops()
    return loop


def bottom(start: str, step: str, compare: str, bound: str, type: str = "s32") -> str:
    """A loop tested after its update, at the bottom."""
    return f"""
        ld.param.u32 %r9, [n];
        mov.u32 %r1, {start};
    L:  st.global.u32 [0], %r1;
        add.{type} %r1, %r1, {step};
        setp.{compare}.{type} %p1, %r1, {bound};
        @%p1 bra L;
    """


@pytest.mark.parametrize(
    ("start", "step", "compare", "bound", "type", "count"),
    [
        ("0", "1", "lt", "10", "s32", 10),
        ("0", "3", "lt", "10", "s32", 4),
        ("0", "3", "le", "9", "s32", 4),
        ("10", "-1", "gt", "0", "s32", 10),
        ("10", "-1", "ge", "0", "s32", 11),
        ("0", "2", "ne", "10", "s32", 5),
        ("-5", "1", "lt", "5", "s32", 10),
        ("20", "1", "lt", "10", "s32", 1),  # a bottom test runs the body once
        ("0", "1", "lt", "4000000000", "u32", 4000000000),
        ("5", "1", "eq", "6", "s32", 2),
        ("1", "2", "ne", "0", "s32", None),  # an odd number is never 0
        ("0", "3", "ne", "10", "s32", 2863311534),  # met only after wrapping around
        ("0", "-1", "lt", "10", "s32", None),  # runs away from its bound
        ("2147483640", "16", "lt", "2147483647", "s32", None),  # wraps before it is met
    ],
)
def test_constant_counts(start, step, compare, bound, type, count) -> None:
    trip = trip_count(only_loop(bottom(start, step, compare, bound, type)))
    assert (trip.count if trip is not None else None) == count


@settings(max_examples=150)
@given(
    start=st.integers(-40, 40), step=st.integers(-5, 5).filter(bool), bound=st.integers(-40, 40),
    compare=st.sampled_from(["lt", "le", "gt", "ge", "ne"]),
)
def test_counts_are_what_running_gives(start: int, step: int, bound: int, compare: str) -> None:
    trip = trip_count(only_loop(bottom(str(start), str(step), compare, str(bound))))
    holds = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__,
             "ne": int.__ne__}[compare]
    x, n = start + step, 1
    while holds(x, bound) and n < 200:
        x, n = x + step, n + 1
    counted = trip.count if trip is not None else None
    if n < 200:
        assert counted == n
    else:
        assert counted is None or counted >= 200


def test_a_test_at_the_top_counts_the_body() -> None:
    loop = only_loop("""
        mov.u32 %r1, 0;
    L:  setp.ge.s32 %p1, %r1, 10;
        @%p1 bra END;
        st.global.u32 [0], %r1;
        add.s32 %r1, %r1, 1;
        bra L;
    END:""")
    trip = trip_count(loop)
    assert trip is not None
    assert trip.count == 10
    assert not trip.tests_update


def test_symbolic_counts_name_the_parameter() -> None:
    trip = trip_count(only_loop(bottom("0", "4", "lt", "%r9")))
    assert trip is not None
    assert (trip.count, trip.text, trip.compare) == (None, "ceil(n/4)", "lt.s32")
    for start, compare, text in (("-1", "lt", "(n + 1)"), ("1", "le", "n"), ("2", "lt", "(n - 2)")):
        trip = trip_count(only_loop(bottom(start, "1", compare, "%r9")))
        assert trip is not None
        assert trip.text == text


def test_kinds_of_variables() -> None:
    loop = only_loop("""
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, 100;
        mov.f32 %f1, 0f00000000;
        mov.u32 %r3, 1;
    L:  ld.global.u32 %r2, [%rd1];
        add.s64 %rd1, %rd1, 16;
        sub.s32 %r1, %r1, 1;
        add.f32 %f1, %f1, 0f3F000000;
        mul.lo.s32 %r3, %r3, 3;
        setp.ne.s32 %p1, %r1, 0;
        @%p1 bra L;""")
    found = {iv.phi.name: (iv.kind, iv.step, iv.bits) for iv in induction_variables(loop)}
    assert found == {
        "%rd1": ("pointer", 16, 64), "%r1": ("int", -1, 32), "%f1": ("float", 0.5, 32)
    }
    trip = trip_count(loop)
    assert trip is not None
    assert trip.count == 100


def test_float_loops_are_counted_in_their_own_arithmetic() -> None:
    """In single precision ten times 0.1 is above 1; a step of 0 never ends."""
    def count(step: str, bound: str) -> int | None:
        trip = trip_count(only_loop(f"""
            mov.f32 %f1, 0f00000000;
        L:  add.f32 %f1, %f1, {step};
            setp.lt.f32 %p1, %f1, {bound};
            @%p1 bra L;"""))
        return trip.count if trip is not None else None

    assert count("0f3F000000", "0f40000000") == 4  # 0.5 up to 2
    assert count("0f3DCCCCCD", "0f3F800000") == 10  # 0.1 up to 1: the tenth sum is above 1
    assert count("0f00000000", "0f3F800000") is None


def test_a_guarded_update_and_a_changing_bound_are_no_counts() -> None:
    loop = only_loop("""
        mov.u32 %r1, 0; ld.param.u32 %r9, [n]; setp.eq.u32 %p2, %r9, 3;
    L:  @%p2 add.s32 %r1, %r1, 1;
        setp.lt.s32 %p1, %r1, 10;
        @%p1 bra L;""")
    assert trip_count(loop) is None
    loop = only_loop("""
        mov.u32 %r1, 0; ld.param.u32 %r9, [n];
    L:  add.s32 %r1, %r1, 1;
        ld.global.u32 %r9, [0];
        setp.lt.s32 %p1, %r1, %r9;
        @%p1 bra L;""")
    assert trip_count(loop) is None


def test_a_break_does_not_hide_the_count() -> None:
    trip = trip_count(only_loop("""
        mov.u32 %r1, 0;
    L:  ld.global.u32 %r2, [0];
        setp.eq.u32 %p2, %r2, 7;
        @%p2 bra END;
        add.s32 %r1, %r1, 1;
        setp.lt.s32 %p1, %r1, 10;
        @%p1 bra L;
    END:"""))
    assert trip is not None
    assert trip.count == 10


def grid_stride(step: str, update: str) -> str:
    return f"""
        ld.param.u32 %r9, [n];
        mov.u32 %r20, %ntid.x;
        mov.u32 %r1, %tid.x;
    L:  st.global.u32 [0], %r1;
        {step}
        {update}
        setp.lt.s32 %p1, %r1, %r9;
        @%p1 bra L;
    """


PRODUCT = "ceil((n - %tid.x)/(%nctaid.x·%ntid.x))"


@pytest.mark.parametrize(
    ("step", "update", "text"),
    [
        ("mov.u32 %r2, %nctaid.x;", "mad.lo.s32 %r1, %r2, %r20, %r1;", PRODUCT),
        ("mov.u32 %r2, %nctaid.x; mul.lo.s32 %r3, %r2, %r20;", "add.s32 %r1, %r1, %r3;", PRODUCT),
        ("mov.u32 %r2, %nctaid.x; mul.lo.s32 %r3, %r2, %r20;", "add.s32 %r1, %r3, %r1;", PRODUCT),
        ("shl.b32 %r3, %r20, 2; or.b32 %r4, %r3, 1;", "add.s32 %r1, %r1, %r4;",
         "ceil((n - %tid.x)/%r4)"),
        ("ld.global.nc.u32 %r3, [16];", "add.s32 %r1, %r1, %r3;", "ceil((n - %tid.x)/%r3)"),
        ("mov.u32 %r3, 4; mov.u32 %r4, 2;", "mad.lo.s32 %r1, %r3, %r4, %r1;",
         "ceil((n - %tid.x)/8)"),
        ("mov.u32 %r3, 3;", "add.s32 %r1, %r1, %r3;", "ceil((n - %tid.x)/3)"),
    ],
)
def test_a_step_may_be_worked_out_in_the_loop(step, update, text) -> None:
    """As front ends write it before any optimiser has seen the code: saxpy of examples."""
    trip = trip_count(only_loop(grid_stride(step, update)))
    assert trip is not None
    assert trip.count is None
    assert trip.text == text


@pytest.mark.parametrize(
    ("step", "update"),
    [
        ("ld.global.u32 %r3, [16];", "add.s32 %r1, %r1, %r3;"),  # a store may change it
        ("mov.u32 %r3, %clock;", "add.s32 %r1, %r1, %r3;"),  # differs from read to read
        ("add.s32 %r3, %r3, 1;", "add.s32 %r1, %r1, %r3;"),  # carried around the loop
        ("shl.b32 %r3, %r1, 1;", "add.s32 %r1, %r1, %r3;"),  # of the variable itself
        ("setp.lt.s32 %p2, %r1, 5; @%p2 mov.u32 %r3, %r20;", "add.s32 %r1, %r1, %r3;"),
        ("mov.u32 %r3, %nctaid.x;", "mad.hi.s32 %r1, %r3, %r20, %r1;"),
        ("mov.u32 %r3, %nctaid.x;", "mad.lo.s32 %r1, %r1, %r20, %r3;"),
        ("mov.u32 %r3, %nctaid.x;", "sub.s32 %r1, %r1, %r3;"),
    ],
)
def test_a_step_that_changes_is_none(step, update) -> None:
    assert trip_count(only_loop(grid_stride(step, update))) is None


def test_a_step_that_no_value_outside_holds_is_told_apart() -> None:
    (variable,) = induction_variables(
        only_loop(grid_stride("mov.u32 %r2, %nctaid.x;", "mad.lo.s32 %r1, %r2, %r20, %r1;"))
    )
    assert isinstance(variable.step, Recomputed)
    assert not variable.is_constant_step
    assert [v.name for v in variable.step.factors] == ["%r2", "%r20"]


@pytest.mark.parametrize(("test", "count"), [
    ("icmp slt i32 %j, 16", 8), ("icmp ult i32 %j, 17", 9), ("icmp ne i32 %j, 10", 5),
    ("icmp sgt i32 16, %j", 8), ("icmp slt i32 %k, 16", None),
])
def test_trip_counts_of_llvm_text(test, count):
    f = nvir.read_ll(f"""define void @f(i32 %k) {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 2
  %c = {test}
  br i1 %c, label %loop, label %out
out:
  ret void
}}
""").functions[0]
    f.analyze_cfg()
    found = trip_count(f.loops()[0])
    assert (found.count if found else None) == count


def test_the_exits_of_a_loop_share_what_its_phis_are_next(monkeypatch) -> None:
    """A nest around one variable: each exit looked at all users of it, a second for 60 loops."""
    def asked(depth: int) -> int:
        f = kernel("mov.u32 %r1, 9;\n" + "".join(
            f"L{k}: setp.le.s32 %p1, %r1, {k}; @%p1 bra N{k};\n"
            f"add.s32 %r1, %r1, -1; bra L{k // 2}; N{k}:\n" for k in range(depth)))
        calls: list[object] = []
        monkeypatch.setattr(induction, "_is_copy", lambda d: calls.append(d) or is_copy(d))
        for loop in f.loops():
            induction.counted_exits(loop, loose=True)
        monkeypatch.undo()
        return len(calls)

    is_copy = induction._is_copy
    few, many = asked(20), asked(40)
    assert many < 5 * few, (few, many)  # of each loop each exit
