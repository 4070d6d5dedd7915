"""Selection of integer operations, at every width that a register holds."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.ir.errors import Unsupported
from nvir.ir.nvvm import const, declare
from nvir.ir.types import I1, I8, int_type, struct
from nvir.passes.select import select_module
from tests.selection import check, check_lanes, lanes, operands, ptx, read, run

WIDTHS = (1, 3, 8, 12, 16, 24, 32, 48, 64, 100, 128)
COMPARISONS = ["eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"]


def call(b, m, name, t, args, result=None):
    return b.call(declare(m, f"{name}.{t.name}", result or t, [a.type for a in args]), args)


@pytest.mark.parametrize("bits", WIDTHS)
def test_arithmetic(bits):
    """Sums, products and bitwise operations wrap at the width, whatever lies above it."""
    t = int_type(bits)

    def body(b, m, x, y):
        made = [b.add(x, y), b.sub(x, y), b.mul(x, y), b.and_(x, y), b.or_(x, y), b.xor(x, y)]
        made.append(b.mul(b.add(x, y), b.add(x, y)))
        return [*made, b.add(b.mul(x, y), x)]

    check_lanes([t, t], [t] * 8, body)


@pytest.mark.parametrize("bits", WIDTHS[1:])
def test_shifts_and_division(bits):
    t = int_type(bits)
    divisors = operands(t, 7)
    divisors[:, 0] |= 1
    divisors[1] = 0
    divisors[1, 0] = 3  # no division of the least number by -1

    def body(b, m, x, y):
        n = b.urem(y, const(t, bits))
        made = [b.shl(x, n), b.lshr(x, n), b.ashr(x, n), b.shl(x, 1), b.lshr(x, 1), b.ashr(x, 1)]
        return [*made, b.udiv(x, y), b.urem(x, y), b.sdiv(x, y), b.srem(x, y)]

    check_lanes([t, t], [t] * 10, body, [operands(t), divisors])


@pytest.mark.parametrize("bits", WIDTHS)
def test_comparison_and_selection(bits):
    t = int_type(bits)

    def body(b, m, x, y):
        conditions = [b.insert(f"icmp {p}", (x, y), I1) for p in COMPARISONS]
        return [*(b.zext(c, I8) for c in conditions), *(b.select(c, x, y) for c in conditions)]

    check_lanes([t, t], [I8] * 10 + [t] * 10, body)


@pytest.mark.parametrize("bits", WIDTHS)
def test_extension_and_truncation(bits):
    """A value that was truncated is not taken for extended: only its low bits count."""
    t = int_type(bits)
    wider = [int_type(w) for w in WIDTHS if w > bits]
    narrower = [int_type(w) for w in WIDTHS if w < bits]

    def body(b, m, x):
        made = [b.zext(x, w) for w in wider] + [b.sext(x, w) for w in wider]
        made += [b.trunc(x, w) for w in narrower]
        return [*made, *(b.sext(b.trunc(x, w), t) for w in narrower),
                *(b.zext(b.trunc(x, w), t) for w in narrower)]

    check_lanes([t], wider * 2 + narrower + [t] * (2 * len(narrower)), body)


@pytest.mark.parametrize("bits", WIDTHS[1:])
def test_intrinsics(bits):
    t = int_type(bits)
    two = ["smin", "smax", "umin", "umax"]
    if bits <= 64:
        two += ["sadd.sat", "uadd.sat", "ssub.sat", "usub.sat"]

    def body(b, m, x, y):
        made = [call(b, m, f"llvm.{name}", t, [x, y]) for name in two]
        made += [call(b, m, f"llvm.{name}", t, [x, const(I1, 0)]) for name in
                 ("ctlz", "cttz", "abs")]
        made.append(call(b, m, "llvm.ctpop", t, [x]))
        if bits not in (100,):
            made.append(call(b, m, "llvm.bitreverse", t, [x]))
        if bits <= 64:
            made += [call(b, m, f"llvm.{name}", t, [x, y, n]) for name in ("fshl", "fshr")
                     for n in (x, const(t, 1))]
        if bits in (16, 32, 64, 128):
            made.append(call(b, m, "llvm.bswap", t, [x]))
        return made

    n = len(two) + 4 + (bits != 100) + 4 * (bits <= 64) + (bits in (16, 32, 64, 128))
    check_lanes([t, t], [t] * n, body)


@pytest.mark.parametrize("bits", [3, 8, 16, 32, 64])
def test_overflow(bits):
    t = int_type(bits)
    names = [s + o for s in "su" for o in ("add", "sub", "mul")]

    def body(b, m, x, y):
        made = []
        for name in names:
            pair = call(b, m, f"llvm.{name}.with.overflow", t, [x, y], struct([t, I1]))
            made += [b.extract_value(pair, 0), b.zext(b.extract_value(pair, 1), I8)]
        return made

    check_lanes([t, t], [t, I8] * 6, body)


@pytest.mark.parametrize("bits", [8, 12, 32, 64])
def test_division_by_powers_of_two(bits):
    t = int_type(bits)

    def body(b, m, x):
        return [f(x, const(t, d % (1 << bits))) for k in (0, 1, 3, bits - 2, bits - 1)
                for d in (1 << k, -1 << k) if d != -1 for f in (b.udiv, b.urem, b.sdiv, b.srem)]

    check_lanes([t], [t] * 36, body)


@pytest.mark.parametrize("bits", [8, 12, 16, 24, 32, 48, 64])
def test_division_by_literals(bits):
    """Reciprocals that fit, even divisors, those of one bit more, and negative ones."""
    t = int_type(bits)
    top = 1 << bits - 1
    wanted = (3, 7, 10, 14, 28, 127, 641, top - 1, top + 1, -3, -10)
    divisors = sorted({d % (2 * top) for d in wanted} - {0, 1, 2 * top - 1})

    def body(b, m, x):
        return [f(x, const(t, d)) for d in divisors for f in (b.udiv, b.urem, b.sdiv, b.srem)]

    check_lanes([t], [t] * 4 * len(divisors), body)


def test_division_by_literals_makes_no_division():
    text = ptx("define i32 @f(i32 %x) {\n %q = udiv i32 %x, 10\n ret i32 %q\n}")
    assert "mul.hi.u32" in text
    assert "div" not in text
    small = ptx("define i32 @f(i32 %y) {\n %x = and i32 %y, 65535\n %q = udiv i32 %x, 255\n"
                " %r = urem i32 %x, 255\n %s = add i32 %q, %r\n ret i32 %s\n}")
    assert small.count("mul.hi.u32") == 1  # of 16 bits: no shift, and one quotient for both
    assert "shr" not in small


def test_division_by_what_is_not_known_stays():
    text = ptx("define i32 @f(i32 %x, i32 %y) {\n %q = udiv i32 %x, %y\n ret i32 %q\n}")
    assert "div.u32" in text


def test_products_of_extended_numbers_are_wide():
    text = ptx("""define i64 @f(i32 %x, i32 %y) {
      %a = sext i32 %x to i64
      %b = sext i32 %y to i64
      %p = mul i64 %a, %b
      ret i64 %p
    }""")
    assert "mul.wide.s32" in text
    assert "cvt" not in text


@pytest.mark.parametrize("bits", [8, 12, 16, 24, 32, 64])
def test_a_selected_extremum(bits):
    t = int_type(bits)

    def body(b, m, x, y):
        one = const(t, 5)
        signed = [b.icmp_signed(how, p, q) for how in ("<", "<=", ">", ">=")
                  for p, q in ((x, y), (x, one))]
        unsigned = [b.icmp_unsigned(how, x, y) for how in ("<", ">=")]
        return [b.select(c, *pair) for c in signed + unsigned
                for pair in (c.operands, c.operands[::-1])]

    check_lanes([t, t], [t] * 20, body)


@pytest.mark.parametrize(("test", "values", "made"), [
    ("slt", "%x, i32 %y", "min.s32"), ("slt", "%y, i32 %x", "max.s32"),
    ("ugt", "%x, i32 %y", "max.u32"), ("uge", "%y, i32 %x", "min.u32"),
    ("eq", "%x, i32 %y", "selp"), ("slt", "%x, i32 %z", "selp")])
def test_a_select_of_what_was_compared_is_an_extremum(test, values, made):
    text = ptx(f"""define i32 @f(i32 %x, i32 %y, i32 %z) {{
      %c = icmp {test} i32 %x, %y
      %s = select i1 %c, i32 {values}
      ret i32 %s
    }}""")
    assert made in text
    assert ("setp" in text) == (made == "selp")


@pytest.mark.parametrize(("how", "wide"), [("zext nneg", "mul.wide.s32"), ("zext", "")])
def test_a_wide_product_stays_wide_in_a_sum(how, wide):
    """mad.lo of 64 bits is four products; a number without a sign extends either way."""
    text = ptx(f"""define i64 @f(i32 %x, i32 %y, i64 %z) {{
      %a = sext i32 %x to i64
      %b = {how} i32 %y to i64
      %p = mul i64 %a, %b
      %s = add i64 %p, %z
      ret i64 %s
    }}""")
    assert (wide or "mad.lo.s64") in text
    assert ("mad" in text) != bool(wide)


def test_half_of_a_number_takes_its_sign_bit():
    text = ptx("define i32 @f(i32 %x) {\n %q = sdiv i32 %x, 2\n ret i32 %q\n}")
    assert (text.count("shr.u32"), text.count("shr.s32")) == (1, 1)
    text = ptx("define i32 @f(i32 %x) {\n %q = sdiv i32 %x, 4\n ret i32 %q\n}")
    assert text.count("shr.s32") == 2


def test_products_of_mixed_signs_are_not_wide():
    text = ptx("""define i64 @f(i32 %x, i32 %y) {
      %a = sext i32 %x to i64
      %b = zext i32 %y to i64
      %p = mul i64 %a, %b
      ret i64 %p
    }""")
    assert "mul.wide" not in text
    assert "mul.lo.s64" in text


def test_a_product_of_one_use_joins_its_sum():
    text = ptx("""define i32 @f(i32 %x, i32 %y, i32 %z) {
      %p = mul i32 %x, %y
      %s = add i32 %z, %p
      ret i32 %s
    }""")
    assert "mad.lo.s32" in text
    assert "mul.lo" not in text


def test_a_product_joins_an_or_of_disjoint_bits():
    text = """define i32 @f(i32 %x, i32 %y, i32 %z) {
      %p = mul i32 %x, %y
      %s = or disjoint i32 %z, %p
      ret i32 %s
    }"""
    assert "mad.lo.s32" in ptx(text)
    assert "mad.lo" not in ptx(text.replace(" disjoint", ""))


@pytest.mark.parametrize(("how", "a", "b", "found"), [
    ("slt i32 %x, 0", "%n", "%x", True), ("sgt i32 %x, -1", "%x", "%n", True),
    ("slt i32 %x, 1", "%n", "%x", True), ("sge i32 %x, 0", "%x", "%n", True),
    ("slt i32 %x, 0", "%x", "%n", False), ("slt i32 %x, 2", "%n", "%x", False),
    ("ult i32 %x, 1", "%n", "%x", False), ("slt i32 %y, 0", "%n", "%x", False),
])
def test_the_choice_of_a_number_or_its_negative_is_abs(how, a, b, found):
    text = ptx(f"""define i32 @f(i32 %x, i32 %y) {{
      %n = sub i32 0, %x
      %c = icmp {how}
      %r = select i1 %c, i32 {a}, i32 {b}
      ret i32 %r
    }}""")
    assert ("abs.s32" in text) is found
    assert ("selp" in text) is not found


def test_a_product_of_two_uses_stays():
    text = ptx("""define i32 @f(i32 %x, i32 %y, i32 %z) {
      %p = mul i32 %x, %y
      %s = add i32 %z, %p
      %t = xor i32 %s, %p
      ret i32 %t
    }""")
    assert "mad" not in text


def test_too_wide_an_integer_is_named():
    with pytest.raises(Unsupported, match="type i2000000 in registers"):
        select_module(read("define i2000000 @f(i2000000 %x) {\n ret i2000000 %x\n}"))


def test_too_long_a_product_is_named():
    text = """define void @f(ptr %p) {{
      %x = load i{0}, ptr %p
      %y = mul i{0} %x, {1}
      store i{0} %y, ptr %p
      ret void
    }}"""
    ptx(text.format(64 * 128, "%x"))
    ptx(text.format(64 * 129, 3))
    with pytest.raises(Unsupported, match="a product of 8256 bits: of 8192 at most"):
        ptx(text.format(64 * 129, "%x"))


def test_the_loop_of_wide_division_ends():
    """The largest dividend by the least divisor."""
    t = int_type(128)
    rows = np.full((32, 16), 255, np.uint8)
    ones = np.zeros((32, 16), np.uint8)
    ones[:, 0] = 1
    module = select_module(lanes([t, t], [t], lambda b, m, x, y: [b.udiv(x, y)]))
    out = np.zeros((32, 16), np.uint8)
    nvir.launch(module, "k", 1, 32, [rows, ones, out])
    assert (out == 255).all()


@pytest.mark.oracle
@pytest.mark.parametrize("bits", [65, 72, 90, 97])
def test_high_halves_of_few_bits_assemble(bits):
    assert ptx(f"""define void @f(ptr %p, i64 %a) {{
  %x = zext i64 %a to i{bits}
  %y = sub i{bits} %x, 7
  %z = ashr i{bits} %y, 1
  store i{bits} %z, ptr %p
  ret void
}}""")


BITS = {
    "smin": lambda x, y: x | y, "smax": lambda x, y: x & y,  # true is -1
    "umin": lambda x, y: x & y, "umax": lambda x, y: x | y,
}
UNARY = {"ctpop": lambda x: x, "bitreverse": lambda x: x, "ctlz": lambda x: 1 - x,
         "cttz": lambda x: 1 - x, "abs": lambda x: x}
WHOLE = {"and": min, "or": max, "xor": lambda v: sum(v) % 2, "add": lambda v: sum(v) % 2,
         "mul": min, "umax": max, "umin": min, "smax": min, "smin": max}


def test_intrinsics_of_single_bits():
    lines = [f"%r{k} = call i1 @llvm.{n}.i1(i1 %x, i1 %y)" for k, n in enumerate(BITS)]
    for k, n in enumerate(UNARY, len(lines)):
        flag = ", i1 false" if n in ("ctlz", "cttz", "abs") else ""
        lines.append(f"%r{k} = call i1 @llvm.{n}.i1(i1 %x{flag})")
    for k, n in enumerate(WHOLE, len(lines)):
        lines.append(f"%r{k} = call i1 @llvm.vector.reduce.{n}.v3i1(<3 x i1> %v)")
    joined = ["%s0 = add i32 0, 0"]
    for k in range(len(lines)):
        joined.append(f"%z{k} = zext i1 %r{k} to i32\n%h{k} = shl i32 %z{k}, {k}\n"
                      f"%s{k + 1} = or i32 %s{k}, %h{k}")
    text = f"""declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %x = trunc i32 %t to i1
  %t1 = lshr i32 %t, 1
  %y = trunc i32 %t1 to i1
  %t2 = lshr i32 %t, 2
  %w = trunc i32 %t2 to i1
  %v0 = insertelement <3 x i1> undef, i1 %x, i32 0
  %v1 = insertelement <3 x i1> %v0, i1 %y, i32 1
  %v = insertelement <3 x i1> %v1, i1 %w, i32 2
  {chr(10).join(lines + joined)}
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %s{len(lines)}, ptr addrspace(1) %q
  ret void
}}"""
    ori = check(text, [np.zeros(32, np.int32)])
    (out,), _ = run(ori, [np.zeros(32, np.int32)])
    for t, got in enumerate(out.tolist()):
        x, y, w = t & 1, t >> 1 & 1, t >> 2 & 1
        bits = [f(x, y) for f in BITS.values()] + [f(x) for f in UNARY.values()]
        bits += [f((x, y, w)) for f in WHOLE.values()]
        assert got == sum(b << k for k, b in enumerate(bits)), t


def test_a_float_becomes_a_number_of_two_words():
    values = np.array([0.0, 1.5, -3.75, 2.0**40, -(2.0**70), 2.0**100, 123456.0, -1.0], np.float32)
    text = """declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %x = load float, ptr addrspace(1) %p
  %n = fptosi float %x to i128
  %q = getelementptr i128, ptr addrspace(1) %out, i32 %t
  store i128 %n, ptr addrspace(1) %q
  ret void
}"""
    ori = check(text, [values, np.zeros(16, np.uint64)], block=8)
    (_, out), _ = run(ori, [values, np.zeros(16, np.uint64)], block=8)
    got = [int.from_bytes(out[2 * k : 2 * k + 2].tobytes(), "little", signed=True)
           for k in range(8)]
    assert got == [int(v) for v in values.tolist()]


@pytest.mark.parametrize(("at", "least", "size"), [
    ("getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @g to ptr), i64 12)", 0, 28),
    ("getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @g to ptr), i64 44)", 0, 0),
    ("addrspacecast (ptr addrspace(1) @e to ptr)", 0, -1), ("%p", 0, -1), ("%p", 1, 0),
])
def test_sizes_of_objects(at, least, size):
    text = ptx("@g = addrspace(1) global [10 x i32] zeroinitializer\n"
               "@e = external addrspace(1) global [10 x i32]\n"
               "declare i64 @llvm.objectsize.i64.p0(ptr, i1, i1, i1)\n"
               "define i64 @f(ptr %p) {\n  %r = call i64 @llvm.objectsize.i64.p0(ptr "
               f"{at}, i1 {least}, i1 0, i1 0)\n  ret i64 %r\n}}")
    assert f"[func_retval0], {size};" in text


def test_the_size_of_stack_memory():
    text = ptx("declare i64 @llvm.objectsize.i64.p0(ptr, i1, i1, i1)\n"
               "define void @u(ptr %p) {\n  ret void\n}\n"
               "define i64 @f(i32 %n) {\n  %a = alloca [32 x i8]\n"
               "  %q = getelementptr i8, ptr %a, i64 12\n  call void @u(ptr %q)\n"
               "  %r = call i64 @llvm.objectsize.i64.p0(ptr %q, i1 0, i1 0, i1 0)\n"
               "  ret i64 %r\n}")
    assert "[func_retval0], 20;" in text
