"""Intrinsics that the reader writes as other code: their results as read and behind -O3."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

import nvir
from nvir.passes.presets import preset

FORMATS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "float": "f", "double": "d", "half": "e"}
HUGE = 1 << 126


def packed(t: str, x: object) -> bytes:
    """A value as it lies in memory; vectors as tuples."""
    if t[0] == "<":
        inner = t.partition(" x ")[2][:-1]
        assert isinstance(x, tuple)
        return b"".join(packed(inner, v) for v in x)
    if t in FORMATS:
        return struct.pack("<" + FORMATS[t], x)
    assert isinstance(x, int)
    size = (int(t[1:]) + 7) // 8
    return (x & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def kernel(result: str, name: str, given: list[tuple[str, object]]) -> tuple[str, bytes]:
    """A kernel that makes the call of what it loads, or of literals given as text."""
    data, lines, operands, types = b"", [], [], []
    for k, (t, x) in enumerate(given):
        types.append(t)
        if isinstance(x, str):
            operands.append(f"{t} {x}")
            continue
        lines += [f"  %g{k} = getelementptr i8, ptr %in, i64 {len(data)}",
                  f"  %a{k} = load {t}, ptr %g{k}, align 1"]
        operands.append(f"{t} %a{k}")
        data += packed(t, x)
    members = result[1:-1].split(",") if result[0] == "{" else [result]
    lines.append(f"  %r = call {result} @{name}({', '.join(operands)})")
    at = 0
    for k, t in enumerate(map(str.strip, members)):
        value = "%r"
        if len(members) > 1:
            lines.append(f"  %e{k} = extractvalue {result} %r, {k}")
            value = f"%e{k}"
        lines += [f"  %o{k} = getelementptr i8, ptr %out, i64 {at}",
                  f"  store {t} {value}, ptr %o{k}, align 1"]
        at += 32
    body = "\n".join(lines)
    return (f"define ptx_kernel void @k(ptr %in, ptr %out) {{\n{body}\n  ret void\n}}\n"
            f"declare {result} @{name}({', '.join(types)})\n"), data


def results(
    result: str, name: str, given: list[tuple[str, object]], expanded: bool = True
) -> list[bytes]:
    """What the call leaves: as the text is read, and behind -O3."""
    text, data = kernel(result, name, given)
    found = []
    for pipeline in ("", preset(3)):
        module = nvir.read_ll(text)
        assert not (expanded and any(f.name == name for f in module.functions)), "is declared"
        if pipeline:
            nvir.run_passes(module, pipeline, verify=True)
        source = np.frombuffer(data.ljust(128, b"\0"), np.uint8).copy()
        out = np.zeros(64, np.uint8)
        nvir.launch(module, "k", 1, 1, [source, out])
        found.append(out.tobytes())
    return found


CONSTRAINED = [("metadata", '!"round.tonearest"'), ("metadata", '!"fpexcept.strict"')]
INTS = "<4 x i32>"
CASES: list[tuple[str, str, list[tuple[str, object]], object]] = [
    ("float", "llvm.convert.from.fp16.f32", [("i16", 0x3E00)], 1.5),
    ("double", "llvm.convert.from.fp16.f64", [("i16", 0x3E00)], 1.5),
    ("i16", "llvm.convert.to.fp16.f32", [("float", 1.5)], 0x3E00),
    ("i64", "llvm.nvvm.rotate.b64", [("i64", 0x1234567890), ("i32", 40)], 0x5678900000001234),
    ("i64", "llvm.nvvm.rotate.right.b64", [("i64", 0x1234), ("i32", 4)], 0x4000000000000123),
    ("i32", "llvm.nvvm.popc.ll", [("i64", 0x1234567890)], 15),
    ("i32", "llvm.nvvm.clz.i", [("i32", 255)], 24), ("i32", "llvm.nvvm.clz.ll", [("i64", 0)], 64),
    ("i64", "llvm.nvvm.brev64", [("i64", 6)], 0x6000000000000000),
    ("i32", "llvm.nvvm.abs.i", [("i32", -5)], 5),
    ("i32", "llvm.nvvm.rotate.b32", [("i32", 0x12345678), ("i32", 8)], 0x34567812),
    ("i64", "llvm.nvvm.swap.lo.hi.b64", [("i64", 0x1234567800000009)], 0x912345678),
    ("i8", "llvm.ucmp.i8.i32", [("i32", -1), ("i32", 3)], 1),
    ("i8", "llvm.scmp.i8.i32", [("i32", -1), ("i32", 3)], -1),
    ("<2 x i8>", "llvm.scmp.v2i8.v2i32", [("<2 x i32>", (5, 7)), ("<2 x i32>", (5, 8))], (0, -1)),
    ("float", "llvm.experimental.constrained.fadd.f32",
     [("float", 1.5), ("float", 2.0), *CONSTRAINED], 3.5),
    ("float", "llvm.experimental.constrained.sqrt.f32", [("float", 6.25), *CONSTRAINED], 2.5),
    ("double", "llvm.experimental.constrained.trunc.f64",
     [("double", -2.5), CONSTRAINED[1]], -2.0),
    ("i32", "llvm.experimental.constrained.fptosi.i32.f32",
     [("float", -2.5), CONSTRAINED[1]], -2),
    ("float", "llvm.ldexp.f32.i32", [("float", 1.5), ("i32", -140)], 1.5 * 2.0**-140),
    ("float", "llvm.ldexp.f32.i32", [("float", -1.75), ("i32", 120)], -1.75 * 2.0**120),
    ("float", "llvm.ldexp.f32.i32", [("float", 2.0**-140), ("i32", 250)], 2.0**110),
    ("double", "llvm.ldexp.f64.i32", [("double", 3.0), ("i32", -1073)], 3 * 2.0**-1073),
    ("{float, i32}", "llvm.frexp.f32.i32", [("float", -12.0)], (-0.75, 4)),
    ("{float, i32}", "llvm.frexp.f32.i32", [("float", 2.0**-140)], (0.5, -139)),
    ("{double, i32}", "llvm.frexp.f64.i32", [("double", 0.0)], (0.0, 0)),
    ("i32", "llvm.smul.fix.i32", [("i32", -6), ("i32", 10), ("i32", "2")], -15),
    ("i32", "llvm.umul.fix.sat.i32", [("i32", -1), ("i32", -1), ("i32", "1")], -1),
    ("i16", "llvm.sdiv.fix.i16", [("i16", -7), ("i16", 2), ("i32", "1")], -7),
    ("i128", "llvm.fshl.i128", [("i128", 5), ("i128", 3 << 126), ("i128", 130)], 23),
    ("i128", "llvm.sadd.sat.i128", [("i128", HUGE), ("i128", HUGE)], (1 << 127) - 1),
    ("i128", "llvm.usub.sat.i128", [("i128", 3), ("i128", 4)], 0),
    (INTS, "llvm.vector.reverse.v4i32", [(INTS, (1, 2, 3, 4))], (4, 3, 2, 1)),
    ("float", "llvm.powi.f32.i32", [("float", 3.0), ("i32", "5")], 243.0),
    ("double", "llvm.powi.f64.i32", [("double", 2.0), ("i32", "-3")], 0.125),
    ("<4 x i16>", "llvm.vector.insert.v4i16.v2i16",
     [("<4 x i16>", (1, 2, 3, 4)), ("<2 x i16>", (8, 9)), ("i64", "2")], (1, 2, 8, 9)),
    ("<2 x i16>", "llvm.vector.extract.v2i16.v4i16",
     [("<4 x i16>", (1, 2, 3, 4)), ("i64", "2")], (3, 4)),
    (INTS, "llvm.vector.splice.v4i32", [(INTS, (1, 2, 3, 4)), (INTS, (5, 6, 7, 8)), ("i32", "-1")],
     (4, 5, 6, 7)),
    ("<4 x i16>", "llvm.vector.interleave2.v4i16", [("<2 x i16>", (1, 2)), ("<2 x i16>", (3, 4))],
     (1, 3, 2, 4)),
    ("float", "llvm.vector.reduce.fmaximum.v4f32", [("<4 x float>", (1.0, 7.0, -3.0, 2.0))], 7.0),
    (INTS, "llvm.vp.sub.v4i32", [(INTS, (9, 8, 7, 6)), (INTS, (1, 2, 3, 4)),
                                 ("<4 x i1>", "splat (i1 true)"), ("i32", 4)], (8, 6, 4, 2)),
    ("i32", "llvm.vp.reduce.add.v4i32", [("i32", 100), (INTS, (1, 2, 4, 8)),
                                         ("<4 x i1>", "<i1 1, i1 0, i1 1, i1 1>"), ("i32", 3)],
     105),
]


@pytest.mark.parametrize(
    ("result", "name", "given", "expected"), CASES, ids=[c[1] for c in CASES])
def test_an_expansion_computes_what_llvm_says(
    result: str, name: str, given: list[tuple[str, object]], expected: object
) -> None:
    members = [m.strip() for m in result[1:-1].split(",")] if result[0] == "{" else [result]
    values = expected if len(members) > 1 else (expected,)
    assert isinstance(values, tuple)
    for out in results(result, name, given):
        for k, (t, x) in enumerate(zip(members, values, strict=True)):
            want = packed(t, x)
            assert out[32 * k : 32 * k + len(want)] == want


@pytest.mark.parametrize(("result", "name", "given", "expected"), [
    ("i48", "llvm.bswap.i48", [("i48", 0x123456789ABC)], -74103346809838),
    ("i1", "llvm.fptosi.sat.i1.f32", [("float", -3.5)], 1),
    ("i1", "llvm.fptosi.sat.i1.f32", [("float", 3.5)], 0),
    ("i1", "llvm.fptoui.sat.i1.f64", [("double", 3.5)], 1),
    ("i8", "llvm.fptosi.sat.i8.f32", [("float", -130.0)], -128),
    ("i8", "llvm.fptosi.sat.i8.f32", [("float", 126.9)], 126),
    ("i8", "llvm.fptoui.sat.i8.f64", [("double", 256.0)], -1),
    ("i8", "llvm.fptoui.sat.i8.f64", [("double", math.nan)], 0),
    ("i48", "llvm.fptosi.sat.i48.f64", [("double", 1e300)], (1 << 47) - 1),
])
def test_odd_widths_are_selected(
    result: str, name: str, given: list[tuple[str, object]], expected: object
) -> None:
    want = packed(result, expected)
    assert all(out.startswith(want) for out in results(result, name, given, expanded=False))


def test_halves_of_wide_integers_have_registers_of_64_bits() -> None:
    text = """
define ptx_kernel void @k(ptr %p, ptr %q) {
  %x = load i65, ptr %p
  %y = add i65 %x, %x
  store i65 %y, ptr %q
  %a = load i96, ptr %p, align 4
  %b = mul i96 %a, 3
  %c = getelementptr i8, ptr %q, i64 16
  store i96 %b, ptr %c, align 4
  ret void
}
"""
    given = np.array([0x8000_0000_0000_0001, 0xFFFF_FFFE], np.uint64)
    number = int(given[0]) + (int(given[1]) << 64)
    for pipeline in ("select", preset(3)):
        module = nvir.read_ll(text)
        nvir.run_passes(module, pipeline, verify=True)
        assert {"cvt.u64.u16", "cvt.u64.u32"} <= {
            i.form.spelling for i in module.functions[0].instructions()}
        out = np.zeros(4, np.uint64)
        nvir.launch(module, "k", 1, 1, [given.copy(), out])
        assert (int(out[0]), int(out[1]) & 255) == (2, 1)
        assert int(out[2]) + (int(out[3]) << 64) == number * 3 % (1 << 96)


def test_each_pointer_of_a_vector_is_computed() -> None:
    text = """
define ptx_kernel void @k(ptr %p, ptr %out, i32 %n) {
  %v = insertelement <2 x i32> <i32 0, i32 1>, i32 %n, i32 0
  %q = getelementptr {i32, [2 x i16]}, ptr %p, <2 x i64> <i64 1, i64 0>, i32 1, <2 x i32> %v
  %r = getelementptr i8, <2 x ptr> %q, <2 x i8> <i8 0, i8 -2>
  %x = extractelement <2 x ptr> %r, i32 0
  %y = extractelement <2 x ptr> %r, i32 1
  %a = load i16, ptr %x
  %b = load i16, ptr %y
  %c = insertelement <2 x i16> poison, i16 %a, i32 0
  %d = insertelement <2 x i16> %c, i16 %b, i32 1
  store <2 x i16> %d, ptr %out
  ret void
}
"""
    for pipeline in ("select", preset(3)):
        module = nvir.read_ll(text)
        nvir.run_passes(module, pipeline, verify=True)
        out = np.zeros(2, np.uint16)
        nvir.launch(module, "k", 1, 1, [np.arange(8, dtype=np.uint16), out, 1])
        assert out.tolist() == [7, 2]  # 8 + 4 + 2 bytes in, and 4 + 2 − 2


@pytest.mark.parametrize("sign", "su")
@pytest.mark.parametrize(("a", "b"), [
    (1 << 100, 1 << 26), (1 << 100, 1 << 27), (-(1 << 100), 1 << 27), (-(1 << 64), 1 << 63),
    (-(1 << 64), (1 << 63) + 1), (3, -1), (-1, -1), (1 << 64, 1 << 64), ((1 << 64) - 1, 1 << 64),
])
def test_a_product_of_128_bits_tells_whether_it_overflows(sign: str, a: int, b: int) -> None:
    text, data = kernel("{i128, i1}", f"llvm.{sign}mul.with.overflow.i128",
                        [("i128", a), ("i128", b)])
    module = nvir.read_ll(text)
    nvir.run_passes(module, preset(3))
    out = np.zeros(64, np.uint8)
    nvir.launch(module, "k", 1, 1, [np.frombuffer(data, np.uint8).copy(), out])
    whole = (1 << 128) - 1
    exact = a * b if sign == "s" else (a & whole) * (b & whole)
    low = int.from_bytes(out[:16].tobytes(), "little")
    assert low == exact & whole
    fits = -(1 << 127) <= exact < 1 << 127 if sign == "s" else exact <= whole
    assert bool(out[32]) == (not fits)


MASKED = """
define ptx_kernel void @k(ptr %p, ptr %q, i32 %n) {{
entry:
  %c = icmp sgt i32 %n, 0
  br i1 %c, label %some, label %out
some:
  %b = insertelement <4 x i32> poison, i32 %n, i32 0
  %s = shufflevector <4 x i32> %b, <4 x i32> poison, <4 x i32> zeroinitializer
  %m = icmp slt <4 x i32> <i32 0, i32 5, i32 2, i32 9>, %s
  {call}
  br label %out
out:
  %r = phi <4 x i32> [ {made}, %some ], [ zeroinitializer, %entry ]
  store <4 x i32> %r, ptr %q
  ret void
}}
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
declare <4 x i32> @llvm.masked.expandload.v4i32(ptr, <4 x i1>, <4 x i32>)
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, i32, <4 x i1>)
declare void @llvm.masked.compressstore.v4i32(<4 x i32>, ptr, <4 x i1>)
"""


@pytest.mark.parametrize(("call", "made", "p", "q"), [
    ("%v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 4, <4 x i1> %m, <4 x i32> %s)",
     "%v", [1, 2, 3, 4], [1, 4, 3, 4]),
    ("%v = call <4 x i32> @llvm.masked.expandload.v4i32(ptr %p, <4 x i1> %m, <4 x i32> %s)",
     "%v", [1, 2, 3, 4], [1, 4, 2, 4]),
    ("call void @llvm.masked.store.v4i32.p0(<4 x i32> %s, ptr %p, i32 4, <4 x i1> %m)",
     "%s", [4, 2, 4, 4], [4, 4, 4, 4]),
    ("call void @llvm.masked.compressstore.v4i32(<4 x i32> <i32 5, i32 6, i32 7, i32 8>, ptr %p, "
     "<4 x i1> %m)", "%s", [5, 7, 3, 4], [4, 4, 4, 4]),
])
def test_a_masked_access_is_a_branch_for_each_lane(
    call: str, made: str, p: list[int], q: list[int]
) -> None:
    for pipeline in ("", preset(3)):
        module = nvir.read_ll(MASKED.format(call=call, made=made))
        nvir.verify(module)
        if pipeline:
            nvir.run_passes(module, pipeline)
        memory, out = np.array([1, 2, 3, 4], np.int32), np.zeros(4, np.int32)
        nvir.launch(module, "k", 1, 1, [memory, out, np.int32(4)])
        assert (memory.tolist(), out.tolist()) == (p, q)


def test_truth_values_in_memory_are_bits() -> None:
    module = nvir.read_ll("""define ptx_kernel void @k(ptr %p, ptr %q) {
  %v = load <4 x i1>, ptr %p
  %w = insertelement <4 x i1> %v, i1 true, i32 1
  store <4 x i1> %w, ptr %q
  ret void
}
""")
    nvir.run_passes(module, preset(3))
    out = np.zeros(4, np.uint8)
    nvir.launch(module, "k", 1, 1, [np.array([0b1100, 0, 0, 0], np.uint8), out])
    assert out.tolist() == [0b1110, 0, 0, 0]


def test_an_available_externally_body_is_inlined_or_dropped() -> None:
    text = """define available_externally i32 @g(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define ptx_kernel void @k(ptr %p) {
  %c = call i32 @g(i32 5)
  store i32 %c, ptr %p
  ret void
}
"""
    printed = []
    for level in (0, 3):
        module = nvir.read_ll(text)
        nvir.run_passes(module, preset(level))
        printed.append(nvir.print_ptx(module))
    assert ".extern .func" in printed[0]
    assert "add.s32" not in printed[0]
    assert " g" not in printed[1]


def test_an_alias_of_an_element_and_a_difference_of_addresses() -> None:
    module = nvir.read_ll("""@a = global [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@z = global i32 0
@b = alias i32, getelementptr (i32, ptr @a, i64 2)
define ptx_kernel void @k(ptr %p) {
  %x = load i32, ptr @b
  %w = zext i32 %x to i64
  store i64 %w, ptr %p
  %q = getelementptr i64, ptr %p, i64 1
  store i64 sub (i64 ptrtoint (ptr getelementptr (i8, ptr @a, i64 12) to i64), i64 ptrtoint (ptr @a
    to i64)), ptr %q
  %r = getelementptr i64, ptr %p, i64 2
  store i64 sub (i64 ptrtoint (ptr @z to i64), i64 ptrtoint (ptr @z to i64)), ptr %r
  %s = getelementptr i64, ptr %p, i64 3
  %d = add i64 sub (i64 ptrtoint (ptr @a to i64), i64 ptrtoint (ptr @z to i64)), 0
  %e = add i64 sub (i64 ptrtoint (ptr @z to i64), i64 ptrtoint (ptr @a to i64)), 7
  %f = add i64 %d, %e
  store i64 %f, ptr %s
  ret void
}
""")
    nvir.run_passes(module, preset(3))
    out = np.zeros(4, np.int64)
    nvir.launch(module, "k", 1, 1, [out])
    assert out.tolist() == [3, 12, 0, 7]


@pytest.mark.parametrize("what", ["udiv", "urem", "sdiv", "srem"])
def test_division_of_128_bits_takes_a_turn_for_each_bit(what: str) -> None:
    module = nvir.read_ll(f"""define ptx_kernel void @k(ptr %p) {{
  %a = load i128, ptr %p
  %q = getelementptr i128, ptr %p, i64 1
  %b = load i128, ptr %q
  %r = {what} i128 %a, %b
  store i128 %r, ptr %p
  ret void
}}
""")
    nvir.run_passes(module, preset(3))
    assert '.pragma "nounroll"' in nvir.print_ptx(module)
    for a, b in [(0, 3), (1, 1), (1000, 7), (1 << 100, 12345), (-(1 << 90), 1 << 70), (5, -2),
                 (-1, (1 << 127) - 1), (-(1 << 127), 3)]:
        whole = (1 << 128) - 1
        x, y = (a, b) if what[0] == "s" else (a & whole, b & whole)
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        expected = quotient if what[1:] == "div" else x - quotient * y
        memory = np.frombuffer(packed("i128", a) + packed("i128", b), np.uint8).copy()
        nvir.launch(module, "k", 1, 1, [memory], max_steps=100 + 40 * max(1, abs(x).bit_length()))
        assert int.from_bytes(memory[:16].tobytes(), "little") == expected & whole
