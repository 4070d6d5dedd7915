"""Modifiers, order, comparison and properties of floats; the edge cases of the PTX ISA."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from meaning_oracle import (
    CANONICAL,
    DTYPE,
    FORMATS,
    NAN,
    decode,
    lanes,
    largest,
    pool,
    specials,
    width,
)

from nvir.interp.meaning import bind
from nvir.ir.errors import Unsupported

ALL = ["f16", "bf16", "f32", "f64"]


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def f32(*xs: float) -> np.ndarray:
    return np.array(xs, np.float32).view(np.uint32)


def f64(*xs: float) -> np.ndarray:
    return np.array(xs, np.float64).view(np.uint64)


def f16(*xs: float) -> np.ndarray:
    return np.array(xs, np.float16).view(np.uint16)


def one(opcode: str, *sources: np.ndarray) -> int:
    return int(bind(opcode)(*sources)[0])


SUBNORMAL, NEG_SUBNORMAL = np.array([1], np.uint32), np.array([0x80000001], np.uint32)


# --- modifiers ------------------------------------------------------------------------------


def test_ftz_flushes_inputs_and_results_to_zeros_of_their_sign():
    assert one("add.ftz.f32", NEG_SUBNORMAL, f32(-0.0)) == 0x80000000
    assert one("add.ftz.f32", SUBNORMAL, f32(1)) == f32(1)[0]
    assert one("mul.ftz.f32", f32(-(2.0**-100)), f32(2.0**-40)) == 0x80000000
    assert one("mul.f32", f32(-(2.0**-100)), f32(2.0**-40)) == 0x80000000 | 1 << 9
    assert one("fma.rn.ftz.f32", SUBNORMAL, f32(2.0**100), f32(0)) == 0
    assert one("neg.ftz.f32", SUBNORMAL) == 0x80000000
    assert one("abs.ftz.f32", NEG_SUBNORMAL) == 0
    assert one("min.ftz.f32", SUBNORMAL, f32(1)) == 0
    assert one("add.ftz.f16", np.array([0x8001], np.uint16), f16(-0.0)) == 0x8000
    assert one("div.rn.ftz.f32", f32(1), SUBNORMAL) == 0x7F800000
    assert one("sqrt.rn.ftz.f32", SUBNORMAL) == 0


@pytest.mark.parametrize("op", ["add", "mul", "sub"])
def test_sat_clamps_to_zero_and_one(op):
    codes = pool("f32", 120)
    a, b = lanes(codes[::2], "f32"), lanes(codes[1::2], "f32")
    plain = bind(f"{op}.f32")(a, b).view(np.float32)
    got = bind(f"{op}.sat.f32")(a, b)
    want = np.where(plain > 0, np.minimum(plain, np.float32(1)), np.float32(0))
    assert (got == want.view(np.uint32)).all()


def test_sat_of_nan_and_minus_zero_is_plus_zero():
    assert one("add.sat.f32", f32(np.nan), f32(1)) == 0
    assert one("add.sat.f32", f32(-0.0), f32(-0.0)) == 0
    assert one("fma.rn.sat.f16", f16(np.nan), f16(1), f16(1)) == 0
    assert one("fma.rn.sat.f16", f16(3), f16(1), f16(1)) == f16(1)[0]


def test_relu_keeps_nan_canonical():
    assert one("fma.rn.relu.f16", f16(-3), f16(1), f16(1)) == 0
    assert one("fma.rn.relu.f16", np.array([0xFE01], np.uint16), f16(1), f16(1)) == 0x7FFF
    assert one("fma.rn.relu.bf16", *lanes([0xBF80, 0x3F80, 0x8000], "bf16")[:, None]) == 0


def test_oob_fma_gives_zero_for_the_out_of_bounds_nan():
    out = np.array([0xFFFF], np.uint16)
    assert one("fma.rn.oob.f16", out, f16(1), f16(1)) == 0
    assert one("fma.rn.oob.relu.bf16", lanes([0x3F80], "bf16"), out, lanes([0x3F80], "bf16")) == 0
    assert one("fma.rn.oob.f16", f16(2), f16(1), f16(1)) == f16(3)[0]


def test_modifiers_may_follow_the_type():
    got = one("add.f32.bf16.rz.sat", lanes([0x3F80], "bf16"), f32(-0.75))
    assert got == f32(0.25)[0]


def test_packed_halves_and_floats():
    a = np.array([0x3C004000], np.uint32)  # (2, 1)
    b = np.array([0x40003C00], np.uint32)  # (1, 2)
    assert one("add.f16x2", a, b) == 0x42004200
    assert one("fma.rn.f16x2", a, b, a) == 0x42004400
    assert one("neg.f16x2", a) == 0xBC00C000
    assert one("max.f16x2", a, b) == 0x40004000
    x = np.array([0x400000003F800000], np.uint64)
    assert one("add.f32x2", x, x) == 0x4080000040000000
    assert one("fma.rz.ftz.f32x2", x, x, x) == 0x40C0000040000000
    y = np.array([0x3F804000], np.uint32)
    assert one("mul.bf16x2", y, y) == 0x3F804080


def test_mixed_precision():
    assert one("add.f32.f16", f16(1.5), f32(2.0**-20)) == f32(1.5 + 2.0**-20)[0]
    assert one("sub.rz.f32.bf16", lanes([0x3F80], "bf16"), f32(2.0**-30)) == 0x3F7FFFFF
    assert one("fma.rp.f32.f16", f16(3), f16(5), f32(2.0**-30)) == 0x41700001


def test_nan_results_are_canonical():
    nan = np.array([0xFFC12345], np.uint32)
    for op in ("add", "sub", "mul", "min.NaN", "max.NaN"):
        assert one(f"{op}.f32", nan, f32(1)) == 0x7FFFFFFF
    assert one("neg.f32", nan) == one("abs.f32", nan) == 0x7FFFFFFF
    assert one("sub.f32", f32(np.inf), f32(np.inf)) == 0x7FFFFFFF
    assert one("add.f16", np.array([0xFE00], np.uint16), f16(1)) == 0x7FFF


def test_double_nan_payloads_pass():
    nan = np.array([0x7FF0000000001234], np.uint64)
    assert one("add.f64", nan, f64(1)) == 0x7FF8000000001234
    assert one("fma.rm.f64", f64(1), f64(1), nan) == 0x7FF8000000001234
    assert one("abs.f64", nan) == 0x7FF0000000001234
    assert one("mul.f64", f64(0), f64(np.inf)) == 0xFFF8000000000000


# --- order ----------------------------------------------------------------------------------


def minmax(op: str, name: str, a: int, b: int, nan: bool = False) -> int:
    """min and max of the PTX ISA, on codes; -1 for NaN."""
    (_, va), (_, vb) = decode(a, name), decode(b, name)
    if va == NAN or vb == NAN:
        if nan or (va == NAN and vb == NAN):
            return -1
        return b if va == NAN else a

    def key(code: int) -> int:
        top = 1 << (width(name) - 1)
        return -(code - top) - 1 if code >= top else code

    return (min if op == "min" else max)(a, b, key=key)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("op", ["min", "max"])
def test_min_max(op, name):
    codes = specials(name) + pool(name, 60)[38:]
    pairs = list(itertools.product(codes, repeat=2))
    a, b = (lanes(c, name) for c in zip(*pairs, strict=True))
    for mod, nan in (("", False), (".NaN", True)):
        got = bind(f"{op}{mod}.{name}")(a, b)
        for (x, y), r in zip(pairs, got.tolist(), strict=True):
            want = minmax(op, name, x, y, nan)
            if want == -1:
                assert decode(r, name)[1] == NAN
                assert name == "f64" or r == CANONICAL[name]
            else:
                assert r == want, f"{op}{mod}.{name} {x:#x} {y:#x}: {r:#x}"


def test_min_max_xorsign_and_three_inputs():
    assert one("min.xorsign.abs.f32", f32(-1), f32(2)) == f32(-1)[0]
    assert one("max.xorsign.abs.f32", f32(-1), f32(-2)) == f32(2)[0]
    assert one("max.NaN.xorsign.abs.f32", f32(-1), f32(np.nan)) == 0x7FFFFFFF
    assert one("max.xorsign.abs.f32", f32(-1), f32(np.nan)) == f32(-1)[0]
    assert one("min.f32", f32(3), f32(-1), f32(2)) == f32(-1)[0]
    assert one("max.abs.f32", f32(3), f32(-5), f32(2)) == f32(5)[0]
    assert one("min.NaN.f32", f32(3), f32(-1), f32(np.nan)) == 0x7FFFFFFF


# --- properties and selection ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_testp(name):
    """Zeros count as normal."""
    for code in specials(name):
        _, value = decode(code, name)
        small = value != NAN and value != "inf" and 0 < value < 1 and code % (
            1 << (width(name) - 1)
        ) < 1 << FORMATS[name][1]
        want = {
            "finite": value not in (NAN, "inf"),
            "infinite": value == "inf",
            "number": value != NAN,
            "notanumber": value == NAN,
            "normal": value not in (NAN, "inf") and not small,
            "subnormal": small,
        }
        for prop, expected in want.items():
            assert bool(one(f"testp.{prop}.{name}", lanes([code], name))) == expected


def test_copysign_takes_the_sign_of_a():
    assert one("copysign.f32", f32(-1), f32(3)) == f32(-3)[0]
    assert one("copysign.f64", f64(0.0), f64(-2)) == f64(2)[0]


ORDERED = ["eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("cmp", [*ORDERED, *(c + "u" for c in ORDERED), "num", "nan"])
def test_setp_floats(name, cmp):
    pairs = list(itertools.product(specials(name), repeat=2))
    a, b = (lanes(c, name) for c in zip(*pairs, strict=True))
    p, q = bind(f"setp.{cmp}.{name}")(a, b)
    for (x, y), r, s in zip(pairs, p.tolist(), q.tolist(), strict=True):
        u, v = (value_of(c, name) for c in (x, y))
        unordered = u is None or v is None
        if cmp in ("num", "nan"):
            want = unordered == (cmp == "nan")
        elif unordered:
            want = cmp.endswith("u")
        else:
            base = cmp.removesuffix("u")
            want = {"eq": u == v, "ne": u != v, "lt": u < v, "le": u <= v, "gt": u > v,
                    "ge": u >= v}[base]
        assert r == want, f"setp.{cmp}.{name} {x:#x} {y:#x}"
        assert s == (not want)


def value_of(code: int, name: str):
    sign, value = decode(code, name)
    if value == NAN:
        return None
    if value == "inf":
        return -float("inf") if sign else float("inf")
    return -value if sign else value


def test_setp_integers_and_boolean_operators():
    a, b = np.array([1, 2**32 - 1], np.uint32), np.array([2, 0], np.uint32)
    assert bind("setp.lt.s32")(a, b)[0].tolist() == [True, True]
    assert bind("setp.lt.u32")(a, b)[0].tolist() == [True, False]
    assert bind("setp.lo.u32")(a, b)[0].tolist() == [True, False]
    assert bind("setp.hs.u32")(a, b)[0].tolist() == [False, True]
    c = np.array([True, False])
    for op, want_p, want_q in (("and", [1, 0], [0, 0]), ("or", [1, 1], [1, 0]),
                               ("xor", [0, 1], [1, 0])):
        p, q = bind(f"setp.lt.{op}.s32")(a, b, c)
        assert (p.tolist(), q.tolist()) == ([bool(v) for v in want_p], [bool(v) for v in want_q])


def test_setp_of_packed_halves_gives_one_predicate_each():
    a, b = np.array([0x3C004000], np.uint32), np.array([0x3C003C00], np.uint32)
    p, q = bind("setp.gt.f16x2")(a, b)
    assert (p.tolist(), q.tolist()) == ([True], [False])


def test_setp_ftz_compares_subnormals_as_zero():
    assert bind("setp.eq.ftz.f32")(SUBNORMAL, f32(0))[0].tolist() == [True]
    assert bind("setp.eq.f32")(SUBNORMAL, f32(0))[0].tolist() == [False]


def test_set():
    a, b = f32(1, 2, np.nan), f32(2, 1, 0)
    assert bind("set.lt.u32.f32")(a, b).tolist() == [0xFFFFFFFF, 0, 0]
    assert bind("set.ltu.f32.f32")(a, b).tolist() == [0x3F800000, 0, 0x3F800000]
    assert bind("set.lt.and.s32.f32")(a, b, np.array([False])).tolist() == [0, 0, 0]
    assert bind("set.gt.f16.s32")(*(np.array([v], np.uint32) for v in (2, 1))).tolist() == [0x3C00]
    assert bind("set.eq.u16.f16")(f16(1), f16(1)).tolist() == [0xFFFF]
    h = np.array([0x3C004000], np.uint32)
    assert bind("set.gt.f16x2.f16x2")(h, np.array([0x3C003C00], np.uint32)).tolist() == [0x3C00]
    assert bind("set.ge.u32.f16x2")(h, np.array([0x3C003C00], np.uint32)).tolist() == [0xFFFFFFFF]
    assert bind("set.eq.bf16.u32")(*[np.ones(1, np.uint32)] * 2).tolist() == [0x3F80]


def test_selection():
    a, b = np.array([1, 2], np.uint32), np.array([3, 4], np.uint32)
    assert bind("selp.b32")(a, b, np.array([True, False])).tolist() == [1, 4]
    assert bind("slct.b32.s32")(a, b, np.array([0, 2**31], np.uint32)).tolist() == [1, 4]
    c = f32(-0.0, np.nan)
    assert bind("slct.u32.f32")(a, b, c).tolist() == [1, 4]
    assert bind("slct.ftz.u32.f32")(a, b, np.array([0x80000001] * 2, np.uint32)).tolist() == [1, 2]
    assert bind("slct.u32.f32")(a, b, np.array([0x80000001] * 2, np.uint32)).tolist() == [3, 4]
    wide = np.array([[1, 2], [3, 4]], np.uint64)
    got = bind("selp.b128")(wide, wide + np.uint64(10), np.array([True, False]))
    assert got.tolist() == [[1, 2], [13, 14]]


# --- approximations -------------------------------------------------------------------------

INF, NINF, NANS = 0x7F800000, 0xFF800000, 0x7FFFFFFF
TABLES = {  # results for -inf, -1 (or -subnormal), -0, +0, +inf, NaN, as the PTX ISA tabulates them
    "rcp.approx": [0x80000000, None, NINF, INF, 0, NANS],
    "sqrt.approx": [NANS, NANS, 0x80000000, 0, INF, NANS],
    "rsqrt.approx": [NANS, NANS, NINF, INF, 0, NANS],
    "lg2.approx": [NANS, NANS, NINF, NINF, INF, NANS],
    "ex2.approx": [0, 0x3F000000, 0x3F800000, 0x3F800000, INF, NANS],
    "sin.approx": [NANS, None, 0x80000000, 0, NANS, NANS],
    "cos.approx": [NANS, None, 0x3F800000, 0x3F800000, NANS, NANS],
    "tanh.approx": [0xBF800000, None, 0x80000000, 0, 0x3F800000, NANS],
}


@pytest.mark.parametrize("op", TABLES)
def test_special_inputs_of_approximations(op):
    got = bind(f"{op}.f32")(f32(-np.inf, -1, -0.0, 0.0, np.inf, np.nan)).tolist()
    for want, result in zip(TABLES[op], got, strict=True):
        assert want is None or result == want, f"{op}: {result:#x}"


def ulps(got: np.ndarray, exact: np.ndarray) -> float:
    want = exact.astype(np.float32)
    return float(np.max(np.abs(got.astype(np.float64) - exact) / np.spacing(np.abs(want))))


def test_error_bounds_that_ptx_documents():
    rng = np.random.default_rng(1)
    x = np.exp2(rng.uniform(-149, 127, 4000)).astype(np.float32)
    wide = x.astype(np.float64)
    run = lambda op, *v: bind(op)(*(a.view(np.uint32) for a in v)).view(np.float32)  # noqa: E731
    normal = x[x > 2.0**-126]
    assert ulps(run("rcp.approx.f32", normal), 1 / normal.astype(np.float64)) <= 1
    assert np.max(np.abs(run("sqrt.approx.f32", x) / np.sqrt(wide) - 1)) <= 2.0**-23
    assert np.max(np.abs(run("rsqrt.approx.f32", x) * np.sqrt(wide) - 1)) <= 2.0**-22.9
    assert np.max(np.abs(run("lg2.approx.f32", x) - np.log2(wide)) / abs(np.log2(wide))) <= 2.0**-22
    y = rng.uniform(-149, 127, 4000).astype(np.float32)
    assert ulps(run("ex2.approx.f32", y), np.exp2(y.astype(np.float64))) <= 2
    b = np.exp2(rng.uniform(-126, 126, 4000)).astype(np.float32)
    a = np.clip(b * np.exp2(rng.uniform(-20, 20, 4000)), 0, 2.0**127).astype(np.float32)
    quotient = a.astype(np.float64) / b
    assert ulps(run("div.approx.f32", a, b), quotient) <= 2
    c = np.exp2(rng.uniform(-149, 127.9, 4000)).astype(np.float32)
    d = np.clip(c * np.exp2(rng.uniform(-9, 9, 4000)), 0, 2.0**127).astype(np.float32)
    assert ulps(run("div.full.f32", d, c), d.astype(np.float64) / c) <= 2
    angle = rng.uniform(-2 * np.pi, 2 * np.pi, 4000).astype(np.float32)
    for name, f in (("sin", np.sin), ("cos", np.cos)):
        error = np.abs(run(f"{name}.approx.f32", angle) - f(angle.astype(np.float64)))
        assert np.max(error) <= 2.0**-20.5
    t = rng.uniform(-8, 8, 4000).astype(np.float32)
    assert np.max(np.abs(run("tanh.approx.f32", t) / np.tanh(t.astype(np.float64)) - 1)) <= 2.0**-11


def test_exact_points_of_approximations():
    """Powers of two come out exactly, as they do in the hardware."""
    powers = np.exp2(np.arange(-126, 127)).astype(np.float32).view(np.uint32)
    exponents = f32(*range(-126, 127))
    assert (bind("ex2.approx.f32")(exponents) == powers).all()
    assert (bind("lg2.approx.ftz.f32")(powers) == exponents).all()
    assert one("sqrt.approx.f32", f32(49)) == f32(7)[0]
    assert one("rsqrt.approx.f32", f32(0.25)) == f32(2)[0]


def test_division_by_a_huge_number():
    """div.approx flushes the reciprocal of |b| > 2^126: zero, or NaN for an infinite a; div.full
    scales."""
    huge = f32(-(2.0**127))
    assert one("div.approx.f32", f32(2.0**100), huge) == 0x80000000
    assert one("div.approx.f32", f32(np.inf), huge) == 0x7FFFFFFF
    assert one("div.full.f32", f32(2.0**100), huge) == f32(-(2.0**-27))[0]
    assert one("div.full.ftz.f32", f32(3), f32(2)) == f32(1.5)[0]


def test_approximations_flush_with_ftz():
    assert one("rcp.approx.ftz.f32", SUBNORMAL) == INF
    assert one("rcp.approx.f32", np.array([0x00400000], np.uint32)) == f32(2.0**127)[0]
    assert one("ex2.approx.ftz.f32", f32(-140)) == 0
    assert one("ex2.approx.f32", f32(-140)) == 1 << 9
    assert one("rsqrt.approx.ftz.f32", NEG_SUBNORMAL) == NINF
    assert one("lg2.approx.f32", SUBNORMAL) == f32(-149)[0]
    assert one("tanh.approx.f32", SUBNORMAL) == 1


def test_gross_approximations_of_double():
    """rcp and rsqrt.approx.ftz.f64 work on the upper word and clear the lower one."""
    for op, x, want in (
        ("rcp", -np.inf, 1 << 63), ("rcp", -0.0, 0xFFF << 52), ("rcp", np.inf, 0),
        ("rcp", np.nan, 0x7FFFFFFF << 32), ("rcp", 5e-324, 0x7FF << 52),
        ("rsqrt", -0.0, 0xFFF << 52), ("rsqrt", -np.inf, 0x7FFFFFFF << 32), ("rsqrt", np.inf, 0),
    ):
        assert one(f"{op}.approx.ftz.f64", f64(x)) == want
    third = one("rcp.approx.ftz.f64", f64(3))
    assert third & 0xFFFFFFFF == 0
    assert abs(np.uint64(third).view(np.float64) * 3 - 1) < 2.0**-20
    assert one("rsqrt.approx.f64", f64(4)) == f64(0.5)[0]
    assert one("rsqrt.approx.f64", f64(0.0)) == f64(np.inf)[0]


def test_half_approximations():
    assert one("ex2.approx.f16", f16(3)) == f16(8)[0]
    assert one("tanh.approx.f16", f16(-np.inf)) == f16(-1)[0]
    assert one("ex2.approx.ftz.bf16", lanes([0x8001], "bf16")) == 0x3F80
    assert one("ex2.approx.f16x2", np.array([0x3C004000], np.uint32)) == 0x40004400
    assert one("tanh.approx.bf16x2", np.array([0x80000000], np.uint32)) == 0x80000000


def test_unsupported_modifiers_are_named():
    with pytest.raises(Unsupported, match=r"add\.rni\.f32"):
        bind("add.rni.f32")(f32(1), f32(1))
    with pytest.raises(Unsupported, match=r"sin\.approx\.f64"):
        bind("sin.approx.f64")(f64(1))
    with pytest.raises(Unsupported, match=r"fma\.rn\.s32"):
        bind("fma.rn.s32")(*[np.ones(1, np.uint32)] * 3)


def test_registers_match_types():
    for name in ALL:
        assert bind(f"add.{name}")(*[lanes([0], name)] * 2).dtype == DTYPE[name]
        assert largest(name) > 0
