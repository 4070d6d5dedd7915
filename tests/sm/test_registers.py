"""The estimate of registers: what takes none, the order of the schedule, its bounds."""

from __future__ import annotations

import pytest
from corpus import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.analysis.liveness import liveness
from nvir.analysis.pressure import width
from nvir.ir import Function
from nvir.sm.registers import CALL_REGISTERS, RESERVE, estimate_registers, live_at, schedule
from nvir.toolchain import ptxas

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGS = ".reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .pred %p<9>; .reg .f32 %f<99>;\n"


def kernel(body: str) -> Function:
    text = f"{HEAD}.visible .entry k(.param .u64 a, .param .u32 n)\n{{\n{REGS}{body}\nret;\n}}\n"
    f = nvir.read_ptx(text).functions[0]
    f.analyze_cfg()
    return f


def test_parameters_literals_and_copies_take_no_register() -> None:
    e = estimate_registers(kernel("""
        ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, 7;
        mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %r3;
        st.global.u32 [%rd2], %r4; st.global.u32 [%rd2+4], %r3;"""))  # fmt: skip
    assert e.max_live == 1
    assert e.registers == 1 + RESERVE


def test_loads_move_up_and_stay_behind_stores_and_barriers() -> None:
    loads = "".join(
        f"ld.global.f32 %f{k}, [%rd1+{4 * k}]; add.f32 %f0, %f0, %f{k};" for k in range(1, 9)
    )
    start = "ld.param.u64 %rd1, [a]; mov.f32 %f0, 0f00000000;"
    f = kernel(f"{start} {loads} st.global.f32 [%rd1], %f0;")
    names = [i.form.name for i in schedule(f.entry)]
    assert names.index("add") > 6
    assert estimate_registers(f).max_live >= 8
    apart = kernel("ld.param.u64 %rd1, [a]; " + "bar.sync 0;".join(
        f"ld.shared.f32 %f{k}, [%r1]; st.shared.f32 [%r1], %f{k};" for k in range(1, 5)
    ))  # fmt: skip
    order = [i.form.name for i in schedule(apart.entry)]
    assert order[1:12] == ["ld", "st", "bar.sync"] * 3 + ["ld", "st"]


def test_calls_take_the_callee_s_registers() -> None:
    text = HEAD + ".extern .func f();\n.visible .entry k()\n{\ncall f;\nret;\n}\n"
    assert estimate_registers(nvir.read_ptx(text)["k"]).registers == CALL_REGISTERS


def test_an_empty_function_and_a_declaration() -> None:
    assert estimate_registers(kernel("")).max_live == 0
    declared = nvir.read_ptx(HEAD + ".extern .func f();\n").functions[0]
    assert estimate_registers(declared).peak is None


@pytest.mark.parametrize("path", examples("*.sm_80.ptx")[::3], ids=lambda p: p.stem)
def test_the_schedule_is_an_order_of_the_block(path) -> None:
    """Every instruction once, operands first, the terminator last; the peak's values add up."""
    for f in nvir.read_ptx(path).functions:
        if not f.blocks:
            continue
        f.analyze_cfg()
        for b in f.blocks:
            order = schedule(b)
            place = {i: k for k, i in enumerate(order)}
            assert set(place) == {i for i in b if not i.form.is_phi}
            for i in order:
                for v in i.operands:
                    d = v.definer
                    assert d not in place or place[d] < place[i] or d is i
            assert b.terminator is None or order[-1] is b.terminator
        e = estimate_registers(f)
        if e.peak is not None and e.max_live:
            held = sum(width(v.type) for v in live_at(f, e.peak, liveness(f)))
            assert held >= e.counts[e.peak] or held >= e.max_live - 4


@settings(max_examples=40)
@given(st.integers(1, 60), st.integers(1, 8))
def test_registers_grow_with_what_is_held(values: int, again: int) -> None:
    """More values held over a barrier never make the estimate smaller."""
    def held(n: int) -> int:
        loads = "".join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(n))
        stores = "".join(f"st.global.u32 [%rd1+{4 * k}], %r{k};" for k in range(n))
        text = f"ld.param.u64 %rd1, [a]; {loads} bar.sync 0; {stores}"
        return estimate_registers(kernel(text)).registers

    assert held(values) <= held(values + again)
    assert held(values) >= values


@pytest.mark.oracle
def test_half_of_the_examples_are_within_four_registers() -> None:
    errors = []
    for path in examples("*.sm_80.ptx")[::2]:
        result = ptxas(path, "sm_80")
        for f in nvir.read_ptx(path).functions:
            info = result.kernels.get(str(f.name))
            if f.blocks and info is not None and info.registers is not None:
                errors.append(estimate_registers(f).registers - info.registers)
    assert sum(abs(e) <= 4 for e in errors) * 2 >= len(errors), errors
