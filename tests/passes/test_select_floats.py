"""Selection of floating-point operations and conversions, on targets with and without bfloat."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nvir.ir.errors import Unsupported
from nvir.ir.nvvm import const, declare
from nvir.ir.types import BFLOAT, DOUBLE, FLOAT, HALF, I1, I8, I32, int_type
from nvir.passes.select import Options, select_module
from tests.selection import ROWS, check_lanes, ptx, read

TYPES = [HALF, BFLOAT, FLOAT, DOUBLE]
SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
COMPARISONS = [
    "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno",
]
each = pytest.mark.parametrize("type", TYPES, ids=str)
targets = pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])


def call(b, m, name, t, args, result=None, flags=()):
    callee = declare(m, f"llvm.{name}.{SUFFIX[t.name]}", result or t, [a.type for a in args])
    return b.call(callee, args, flags=flags)


@targets
@each
def test_arithmetic(type, target):
    def body(b, m, x, y):
        made = [b.fadd(x, y), b.fsub(x, y), b.fmul(x, y), b.fdiv(x, y), b.fneg(x)]
        return [*made, b.fadd(x, const(type, 1.5)), b.fdiv(const(type, 1.0), x), b.frem(x, y),
                b.fsub(b.fmul(x, y), x)]

    check_lanes([type, type], [type] * 9, body, target=target)


@targets
@each
def test_comparison(type, target):
    def body(b, m, x, y):
        conditions = [b.insert(f"fcmp {p}", (x, y), I1) for p in COMPARISONS]
        return [*(b.zext(c, I8) for c in conditions), b.select(conditions[3], x, y)]

    check_lanes([type, type], [I8] * 14 + [type], body, target=target)


@targets
@each
def test_intrinsics(type, target):
    one = ["fabs", "sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "roundeven", "round"]
    two = ["minnum", "maxnum", "minimum", "maximum", "copysign"]

    def body(b, m, x, y, z):
        made = [call(b, m, name, type, [x]) for name in one]
        made += [call(b, m, name, type, [x, y]) for name in two]
        return [*made, call(b, m, "fma", type, [x, y, z]), call(b, m, "fmuladd", type, [x, y, z])]

    check_lanes([type] * 3, [type] * 16, body, target=target)


@pytest.mark.parametrize(("target", "found", "missing"), [
    ("sm_80", ("max.f16", "min.NaN.f16"), "cvt.f32"),
    ("sm_75", ("max.f32", "setp.num.f32"), ".NaN"),
])
def test_extrema_of_halves_where_the_target_has_them(target, found, missing):
    text = ptx("""
declare half @llvm.maxnum.f16(half, half)
declare half @llvm.minimum.f16(half, half)
define half @f(half %x, half %y) {
  %m = call half @llvm.maxnum.f16(half %x, half %y)
  %n = call half @llvm.minimum.f16(half %m, half %y)
  ret half %n
}
""", target)
    assert all(word in text for word in found)
    assert missing not in text


@each
def test_classes(type):
    masks = (0, 1, 2, 3, 0x204, 0x40, 0x60, 0x80, 0x108, 0x1F8, 0x3FF)

    def body(b, m, x):
        return [b.zext(call(b, m, "is.fpclass", type, [x, const(I32, k)], I1), I8) for k in masks]

    check_lanes([type], [I8] * len(masks), body)


@targets
@each
def test_conversions(type, target):
    """To and from integers of all widths, and to floats of all others."""
    integers = [int_type(w) for w in (1, 8, 16, 24, 32, 64)]
    if type is BFLOAT and target == "sm_80":
        integers.pop()
    others = [t for t in TYPES if t.bits != type.bits]

    def from_integers(b, m, *values):
        return [f(v, type) for v in values for f in (b.sitofp, b.uitofp)]

    check_lanes(integers, [type] * (2 * len(integers)), from_integers, target=target)

    def to_floats(b, m, x):
        return [b.fptrunc(x, t) if t.bits < type.bits else b.fpext(x, t) for t in others]

    check_lanes([type], others, to_floats, target=target)
    rows = np.zeros((ROWS, 16), np.uint8)
    numbers = np.arange(ROWS) + 0.75
    x = (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) if type is BFLOAT \
        else numbers.astype({"half": "f2", "float": "f4", "double": "f8"}[type.name])
    rows[:, : x.itemsize] = x.view(np.uint8).reshape(ROWS, -1)

    def to_integers(b, m, x):
        return [f(x, t) for t in integers[1:] for f in (b.fptosi, b.fptoui)]

    check_lanes([type], [t for t in integers[1:] for _ in "su"], to_integers, [rows], target)


FMA = """define float @f(float %x, float %y, float %z) {{
  %p = fmul {0} float %x, %y
  %s = f{1} {0} float {2}
  ret float %s
}}"""


@pytest.mark.parametrize("sum", [("add", "%p, %z"), ("add", "%z, %p"), ("sub", "%p, %z"),
                                 ("sub", "%z, %p")])
def test_products_and_sums_contract_where_both_may(sum):
    assert "fma.rn.f32" in ptx(FMA.format("contract", *sum))
    assert "fma.rn.f32" in ptx(FMA.format("fast", *sum))
    assert "fma.rn.f32" in ptx(FMA.format("", *sum), options=Options(fp_contract="fast"))


def test_they_stay_apart_otherwise_and_ptxas_is_kept_from_fusing_them():
    text = ptx(FMA.format("", "add", "%p, %z"))
    assert "mul.rn.f32" in text
    assert "add.rn.f32" in text
    text = ptx(FMA.format("contract", "add", "%p, %z"), options=Options(fp_contract="off"))
    assert "mul.rn.f32" in text
    assert "fma" not in text


@pytest.mark.parametrize(("flag", "fused"), [("contract", 2), ("", 0)])
@pytest.mark.parametrize(("type", "kind"), [("half", "f16"), ("float", "f32")])
def test_products_of_vectors_contract_lane_by_lane(type, kind, flag, fused):
    text = ptx(f"""define <2 x {type}> @f(<2 x {type}> %x, <2 x {type}> %y, <2 x {type}> %z) {{
  %p = fmul {flag} <2 x {type}> %x, %y
  %s = fsub {flag} <2 x {type}> %z, %p
  ret <2 x {type}> %s
}}""")
    assert text.count(f"fma.rn.{kind}") == fused
    assert text.count(f"mul.rn.{kind}") == 2 - fused


TWO = """define float @f(ptr %p, float %a, float %b) {{
entry:
  %x = fmul contract float %a, %a
  %y = fmul contract float %b, %b
  {}
  br label %next
next:
  {}
  ret float %s
}}"""
SUM = "%s = fadd contract float {}, {}"


@pytest.mark.parametrize(("here", "there", "products", "sums"), [
    (SUM.format("%x", "%y"), "", "%b", 1),  # the first goes in
    (SUM.format("%y", "%x"), "", "%a", 1),
    (SUM.format("%x", "%y") + "\n  store float %x, ptr %p", "", "%a", 1),  # of fewer uses
    (SUM.format("%x", "%y") + "\n  %t = fsub contract float %x, %y\n  store float %t, ptr %p",
     "", "%b", 2),
    ("", SUM.format("%x", "%y"), "%a %b", 0),  # another block's
])
def test_which_product_goes_into_a_sum(here, there, products, sums):
    """As llc has it, and into as many sums as there are: rounded otherwise results differ."""
    text = ptx(TWO.format(here, there))
    loads = {m[1]: f"%{'ab'[k]}" for k, m in enumerate(
        re.finditer(r"ld.param.f32 \t(%f\d), \[f_param_[12]\]", text))}
    left = {loads[x] for x in re.findall(r"mul.f32 \t%f\d, (%f\d), \1;", text)}
    assert " ".join(sorted(left)) == products
    assert text.count("fma.rn.f32") == sums


def test_contraction_computes_a_fused_product():
    import nvir

    module = read("""define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load float, ptr addrspace(1) %p
  %m = fmul contract float %x, %x
  %s = fadd contract float %m, -1.0
  store float %s, ptr addrspace(1) %p
  ret void
}""")
    x = np.array([1 + 2.0**-12], np.float32)
    nvir.launch(select_module(module), "k", 1, 1, [x])
    assert x[0] == np.float32((1 + 2.0**-12) ** 2 - 1)


def test_remainder_is_exact():
    """However large the quotient, as C's fmod."""
    import nvir

    module = read("""define ptx_kernel void @k(ptr addrspace(1) %p, double %y) {
  %x = load double, ptr addrspace(1) %p
  %r = frem double %x, %y
  store double %r, ptr addrspace(1) %p
  ret void
}""")
    for x, y in ((1e300, 7.3), (-5.5, 2.0), (5e-324, 3e-310), (1e16, 3.0), (2.0, np.inf)):
        out = np.array([x])
        nvir.launch(select_module(module), "k", 1, 1, [out, np.float64(y)])
        assert out[0] == np.fmod(x, y)


def test_approximations_need_leave():
    text = """declare float @llvm.sin.f32(float)
define float @f(float %x) {{
  %r = call {} float @llvm.sin.f32(float %x)
  ret float %r
}}"""
    assert "sin.approx.f32" in ptx(text.format("afn"))
    assert "sin.approx.ftz.f32" in ptx(text.format(""), options=Options(fast_math=True, ftz=True))
    with pytest.raises(Unsupported, match="afn"):
        select_module(read(text.format("")))


def test_division_by_option():
    text = "define float @f(float %x, float %y) {\n %r = fdiv float %x, %y\n ret float %r\n}"
    assert "div.rn.f32" in ptx(text)
    assert "div.full.f32" in ptx(text, options=Options(prec_div=False))
    fast = Options(fast_math=True, ftz=True, prec_div=False)
    assert "div.approx.ftz.f32" in ptx(text, options=fast)
    assert "div.rn.f32" in ptx(text, options=Options(fast_math=True))  # what rounds right is asked
