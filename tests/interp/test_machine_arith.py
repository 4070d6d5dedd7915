"""The machine computes what the meanings say: short forms, literals, widths, guards, carries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nvir.interp.meaning import bind
from tests.interp.machine_helpers import run

LANES = 256  # enough for the whole form of the code
_REGISTER = {"16": "%h", "32": "%r", "64": "%d"}


def operands(bits: int, seed: int) -> Any:
    """Random lane values with the edges of the range among them."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1 << bits, LANES, np.uint64)
    top = 1 << (bits - 1)
    x[:8] = [0, 1, top - 1, top, top + 1, (1 << bits) - 1, 31, 32]
    return rng.permutation(x).astype(f"u{bits // 8}")


def through_the_machine(opcode: str, bits: int, sources: list[Any], result: int = 0) -> Any:
    """The opcode on buffers of lane values, a register a source (numbers are literals)."""
    result = result or bits
    kind, size = _REGISTER[str(bits)], bits // 8
    first = 10 if bits == 32 else 5
    body = "mov.u32 %r1, %tid.x;"
    names, arrays = [], []
    for k, x in enumerate(sources):
        if isinstance(x, int):
            names.append(str(x))
            continue
        arrays.append(x)
        names.append(f"{kind if x.dtype.itemsize == size else '%r'}{first + k}")
        width = x.dtype.itemsize
        body += f"mul.wide.u32 %d10, %r1, {width}; add.u64 %d10, %d10, %d{len(arrays)};"
        body += f"ld.global.b{8 * width} {names[-1]}, [%d10];"
    to = f"{_REGISTER[str(result)]}9"
    body += f"{opcode} {to}, {', '.join(names)}; mul.wide.u32 %d10, %r1, {result // 8};"
    body += f"add.u64 %d10, %d10, %d0; st.global.b{result} [%d10], {to};"
    out = np.zeros(LANES, f"u{result // 8}")
    run(body, out, *arrays, block=LANES)
    return out


BINARY = [
    f"{op}.{t}" for t in ("u16", "s16", "u32", "s32", "u64", "s64")
    for op in ("add", "sub", "mul.lo", "min", "max", "mul.hi", "div", "rem")
] + [f"{op}.b{n}" for n in (16, 32, 64) for op in ("and", "or", "xor")]


@pytest.mark.parametrize("opcode", BINARY)
@pytest.mark.parametrize("literal", [None, 5, -3])
def test_binary_operations(opcode: str, literal: int | None) -> None:
    bits = int(opcode.rpartition(".")[2][1:])
    a, b = operands(bits, 1), operands(bits, 2)
    second = b if literal is None else np.array([literal & ((1 << bits) - 1)]).astype(b.dtype)
    if literal is not None and literal < 0 and bits == 64:
        second = np.array([literal], np.int64).view(np.uint64)
    expected = bind(opcode)(a, second)
    got = through_the_machine(opcode, bits, [a, b if literal is None else literal])
    assert (got == np.broadcast_to(expected, (LANES,))).all()


@pytest.mark.parametrize("type", ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"])
@pytest.mark.parametrize("amount", [None, 0, 1, 15, 16, 31, 40, 64])
def test_shifts(type: str, amount: int | None) -> None:
    op = "shl" if type[0] == "b" else "shr"
    bits = int(type[1:])
    a, b = operands(bits, 3), operands(32, 4) % np.uint32(70)
    second = b if amount is None else np.array([amount], np.uint32)
    expected = bind(f"{op}.{type}")(a, second)
    got = through_the_machine(f"{op}.{type}", bits, [a, b if amount is None else amount])
    assert (got == expected).all()


@pytest.mark.parametrize("type", ["u16", "s32", "u32", "u64", "s64"])
def test_multiply_add(type: str) -> None:
    bits = int(type[1:])
    a, b, c = (operands(bits, k) for k in (5, 6, 7))
    opcode = f"mad.lo.{type}"
    assert (through_the_machine(opcode, bits, [a, b, c]) == bind(opcode)(a, b, c)).all()
    got = through_the_machine(opcode, bits, [a, 3, c])
    assert (got == bind(opcode)(a, np.array([3], a.dtype), c)).all()


@pytest.mark.parametrize("cmp", ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"])
@pytest.mark.parametrize("type", ["u32", "s32", "s64", "s16"])
def test_comparisons(cmp: str, type: str) -> None:
    if cmp in ("lo", "ls", "hi", "hs") and type[0] == "s":
        type = "u" + type[1:]
    bits = int(type[1:])
    a, b = operands(bits, 8), operands(bits, 9)
    b[::3] = a[::3]
    opcode = f"setp.{cmp}.{type} %p1,"
    kind = _REGISTER[str(bits)]
    text = f"{opcode} {kind}A, {kind}B; selp.u32 %r9, 1, 0, %p1"
    body = "mov.u32 %r1, %tid.x;"
    for k, name in ((1, 5), (2, 6)):
        body += f"mul.wide.u32 %d10, %r1, {bits // 8}; add.u64 %d10, %d10, %d{k};"
        body += f"ld.global.b{bits} {kind}{name}, [%d10];"
    body += text.replace("A", "5").replace("B", "6")
    body += "; mul.wide.u32 %d10, %r1, 4; add.u64 %d10, %d10, %d0; st.global.u32 [%d10], %r9;"
    out = np.zeros(LANES, np.uint32)
    run(body, out, a, b, block=LANES)
    assert (out == bind(f"setp.{cmp}.{type}")(a, b)[0]).all()


@pytest.mark.parametrize("to", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("of", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_integer_conversions(to: str, of: str) -> None:
    n, m = int(to[1:]), int(of[1:])
    a = operands(m, 10)
    kind, result = _REGISTER[str(m)], _REGISTER[str(n)]
    body = f"""mov.u32 %r1, %tid.x; mul.wide.u32 %d10, %r1, {m // 8}; add.u64 %d10, %d10, %d1;
        ld.global.b{m} {kind}5, [%d10]; cvt.{to}.{of} {result}6, {kind}5;
        mul.wide.u32 %d10, %r1, {n // 8}; add.u64 %d10, %d10, %d0;
        st.global.b{n} [%d10], {result}6;"""
    out = np.zeros(LANES, f"u{n // 8}")
    run(body, out, a, block=LANES)
    assert (out == bind(f"cvt.{to}.{of}")(a)).all()


def test_narrow_results_fill_wide_registers() -> None:
    """cvt.s8 and cvt.u8 into 32 bits, and sources wider than the type."""
    out = np.zeros(4, np.int32)
    run(
        """mov.u32 %r1, 0x1F0; cvt.s8.s32 %r2, %r1; cvt.u8.u32 %r3, %r1; cvt.u32.u8 %r4, %r1;
        cvt.s32.s8 %r5, %r1; st.global.v4.u32 [%d0], {%r2, %r3, %r4, %r5};""",
        out,
        block=1,
    )
    assert out.tolist() == [-16, 0xF0, 0xF0, -16]


def test_carries_through_three_words() -> None:
    out = np.zeros(4, np.uint32)
    run("""mov.u32 %r1, -1; add.cc.u32 %r2, %r1, 1; addc.cc.u32 %r3, %r1, 0; addc.u32 %r4, 5, 0;
        sub.cc.u32 %r5, 0, 1; subc.u32 %r6, 0, 0;
        st.global.v4.u32 [%d0], {%r2, %r3, %r4, %r6};""", out, block=1)
    assert out.tolist() == [0, 0, 6, 0xFFFFFFFF]


def test_float_literals_take_the_type_of_the_instruction() -> None:
    out = np.zeros(4, np.float32)
    run("""mov.f32 %f1, 0f40000000; add.f32 %f1, %f1, 0.5; mul.f32 %f2, %f1, 0d4000000000000000;
        mov.f64 %e1, 1.25; add.f64 %e1, %e1, 0d3FF0000000000000; cvt.rn.f32.f64 %f3, %e1;
        fma.rn.f32 %f4, %f1, 2.0, -1.0; st.global.v4.f32 [%d0], {%f1, %f2, %f3, %f4};""",
        out, block=1)
    assert out.tolist() == [2.5, 5, 2.25, 4]


def test_packing_and_unpacking() -> None:
    out = np.zeros(6, np.uint32)
    run(
        """mov.b32 %r1, 0x12345678; mov.b32 {%h1, %h2}, %r1; mov.b32 %r2, {%h2, %h1};
        mov.b64 %d1, {%r1, %r2}; mov.b64 {%r3, _}, %d1; mov.b64 {_, %r4}, %d1;
        mov.b32 %r5, {0x5678, %h1}; st.global.v4.u32 [%d0], {%r2, %r3, %r4, %r5};""",
        out,
        block=1,
    )
    assert out[:4].tolist() == [0x56781234, 0x12345678, 0x56781234, 0x56785678]


def test_video_operands_have_selectors() -> None:
    out = np.zeros(2, np.uint32)
    run(
        """mov.u32 %r1, 0x80FF7F01; mov.u32 %r2, 0x00010002; vadd.s32.s32.s32 %r3, %r1.b2, %r2.h0;
        vadd.u32.u32.u32 %r4, %r1.b2, %r2.h1; st.global.v2.u32 [%d0], {%r3, %r4};""",
        out,
        block=1,
    )
    assert out.tolist() == [1, 0x100]
