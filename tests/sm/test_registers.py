"""The estimate of registers that reports use: what takes none, its bounds, who is live."""

from __future__ import annotations

import pytest
from corpus import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.analysis.liveness import liveness
from nvir.analysis.pressure import width
from nvir.assembler.regalloc.tables import CALL_LEAST, LEAST, RESERVED
from nvir.assembler.registers import estimate_registers
from nvir.ir.function import Function

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGS = ".reg .b32 %r<199>; .reg .b64 %rd<99>; .reg .pred %p<9>; .reg .f32 %f<99>;\n"


def kernel(body: str) -> Function:
    text = f"{HEAD}.visible .entry k(.param .u64 a, .param .u32 n)\n{{\n{REGS}{body}\nret;\n}}\n"
    f = nvir.read_ptx(text).functions[0]
    f.analyze_cfg()
    return f


def test_parameters_literals_and_copies_take_no_register() -> None:
    e = estimate_registers(kernel("""
        ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, 7;
        mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %r3;
        st.global.u32 [%rd2], %r4; st.global.u32 [%rd2+4], %r3;"""))
    assert e.max_live == 3  # the thread's number, and the pointer, which an access wants in a pair
    assert LEAST < e.registers <= 8


def test_calls_take_the_callee_s_registers() -> None:
    text = HEAD + ".extern .func f();\n.visible .entry k()\n{\ncall f;\nret;\n}\n"
    assert estimate_registers(nvir.read_ptx(text)["k"]).registers == CALL_LEAST


def test_an_empty_function_and_a_declaration() -> None:
    assert estimate_registers(kernel("")).max_live == 0
    assert estimate_registers(kernel("")).registers == LEAST
    declared = nvir.read_ptx(HEAD + ".extern .func f();\n").functions[0]
    assert estimate_registers(declared).peak is None


@pytest.mark.parametrize("path", examples("*.sm_80.ptx")[::3], ids=lambda p: p.stem)
def test_the_peak_s_values_add_up(path) -> None:
    for f in nvir.read_ptx(path).functions:
        if not f.blocks:
            continue
        live = liveness(f)
        e = estimate_registers(f, live)
        assert e.registers >= LEAST
        if e.peak is not None and e.max_live:
            assert e.counts[e.peak] == e.max_live
            held = sum(width(v.type) for v in e.live_at(e.peak))
            held += e.scratch.get(e.peak, 0)
            assert e.max_live - 6 <= held <= e.max_live + 6


def test_live_at_wants_an_instruction_of_a_block() -> None:
    f = kernel("mov.u32 %r1, %tid.x;")
    i = f.entry.first
    assert i is not None
    e = estimate_registers(f)
    i.erase()
    with pytest.raises(ValueError, match="stands in a block"):
        e.live_at(i)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 8))
def test_registers_grow_with_what_is_held(values: int, again: int) -> None:
    """Values that are held over a barrier need a register each."""

    def held(n: int) -> int:
        loads = "".join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(n))
        stores = "".join(f"st.global.u32 [%rd1+{4 * k}], %r{k};" for k in range(n))
        text = f"ld.param.u64 %rd1, [a]; {loads} bar.sync 0; {stores}"
        return estimate_registers(kernel(text)).registers

    assert held(values) <= held(values + again) + 2
    assert held(values) >= values + RESERVED
