"""cvt between every pair of types, in every mode, against exact rationals."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from meaning_oracle import (
    CANONICAL,
    FORMATS,
    INF,
    NAN,
    decode,
    encode,
    lanes,
    largest,
    pool,
    specials,
    width,
)

from nvir.interp.meaning import bind
from nvir.ir.errors import Unsupported

INTS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
MODES = ("rn", "rz", "rm", "rp")


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def bounds(t: str) -> tuple[int, int]:
    n = int(t[1:])
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == "s" else (0, (1 << n) - 1)


def int_register(t: str) -> type:
    return {8: np.uint16, 16: np.uint16, 32: np.uint32, 64: np.uint64}[int(t[1:])]


def int_values(t: str) -> list[int]:
    low, high = bounds(t)
    rng = random.Random(t)
    powers = [1 << k for k in range(int(t[1:]))]
    out = {v + d for p in powers[:: 1 + int(t[1:]) // 32] for v in (p, -p) for d in (-1, 0, 1)}
    out |= {rng.randint(low, high) >> rng.randrange(int(t[1:])) for _ in range(40)}
    return sorted(v for v in out if low <= v <= high)


@pytest.mark.parametrize("of", INTS)
@pytest.mark.parametrize("to", INTS)
def test_int_to_int(to, of):
    xs = int_values(of)
    source = np.array([x % (1 << 64) for x in xs], np.uint64).astype(int_register(of))
    low, high = bounds(to)
    n = 16 if to[1:] == "8" else int(to[1:])
    got = bind(f"cvt.{to}.{of}")(source)
    for x, r in zip(xs, got.tolist(), strict=True):
        cut = (x - low) % (high - low + 1) + low
        assert r == cut % (1 << n)
    got = bind(f"cvt.sat.{to}.{of}")(source)
    for x, r in zip(xs, got.tolist(), strict=True):
        assert r == min(max(x, low), high) % (1 << n)


@pytest.mark.parametrize("of", INTS)
@pytest.mark.parametrize("to", FLOATS)
def test_int_to_float(to, of):
    xs = int_values(of)
    source = np.array([x % (1 << 64) for x in xs], np.uint64).astype(int_register(of))
    for rnd in MODES:
        got = bind(f"cvt.{rnd}.{to}.{of}")(source)
        for x, r in zip(xs, got.tolist(), strict=True):
            assert r == encode(Fraction(x), to, rnd), f"cvt.{rnd}.{to}.{of} {x}: {r:#x}"


def integral(sign: int, value: Fraction, mode: str) -> int:
    signed = -value if sign else value
    whole = signed.numerator // signed.denominator
    rest = signed - whole
    if mode == "rni":
        return round(signed)
    if mode == "rzi":
        return whole + (1 if sign and rest else 0)
    return whole + (1 if mode == "rpi" and rest else 0)


@pytest.mark.parametrize("of", FLOATS)
@pytest.mark.parametrize("to", INTS)
def test_float_to_int(to, of):
    """Clamps; a NaN gives 0, or the sign bit alone for f64 sources and 64-bit results."""
    low, high = bounds(to)
    codes = pool(of, 110)
    for edge in (low, high, high + 1, low - 1, 2**63, 2**31, 100):  # neighbours of the limits
        code = encode(Fraction(edge), of, "rz")
        codes += [code, code + 1, max(code - 1, 0)]
    codes += [encode(Fraction(k, 2), of) for k in range(-9, 10)]
    n = 16 if to[1:] == "8" else int(to[1:])
    for mode in ("rni", "rzi", "rmi", "rpi"):
        got = bind(f"cvt.{mode}.{to}.{of}")(lanes(codes, of))
        for code, r in zip(codes, got.tolist(), strict=True):
            want = float_as_int(code, of, to, mode)
            assert r == want % (1 << n), f"cvt.{mode}.{to}.{of} {code:#x}: {r:#x}"


def float_as_int(code: int, of: str, to: str, mode: str) -> int:
    """The integer that a float becomes."""
    low, high = bounds(to)
    sign, value = decode(code, of)
    if value == NAN:
        if of != "f64" and to[1:] != "64":
            return 0
        return low if to[0] == "s" else 1 << (int(to[1:]) - 1)
    if value == INF:
        return low if sign else high
    return min(max(integral(sign, value, mode), low), high)


PAIRS = [(to, of) for to in FLOATS for of in FLOATS if to != of]


@pytest.mark.parametrize(("to", "of"), PAIRS)
def test_float_to_float(to, of):
    codes = pool(of, 150)
    if width(of) > width(to):  # ties and their neighbours in the narrower format
        for c in pool(to, 90, seed=1)[38:]:
            sign, v = decode(c, to)
            if v in (NAN, INF):
                continue
            wide = encode(v, of, "rz", sign)
            step = 1 << max(FORMATS[of][1] - FORMATS[to][1] - 1, 0)
            codes += [wide | sign << (width(of) - 1) | step, wide + step + 1, wide + step - 1]
    for rnd in MODES:
        got = bind(f"cvt.{rnd}.{to}.{of}")(lanes(codes, of))
        for code, r in zip(codes, got.tolist(), strict=True):
            check_float(code, r, to, of, rnd)


def check_float(code: int, got: int, to: str, of: str, rnd: str) -> None:
    """Compare one float conversion with the oracle."""
    sign, value = decode(code, of)
    if value == NAN:
        assert decode(got, to)[1] == NAN
        assert (to, of) == ("f32", "bf16") or to == "f64" or got == CANONICAL[to]
    elif value == INF:
        assert got == sign << (width(to) - 1) | largest(to) + 1
    else:
        want = encode(-value if sign else value, to, rnd, sign)
        assert got == want, f"cvt.{rnd}.{to}.{of} {code:#x}: {got:#x}, not {want:#x}"


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
def test_rounding_to_an_integral_float(name, mode):
    """Keeps the sign of what becomes zero: -0.3 rounds to -0."""
    codes = pool(name, 300) + [encode(Fraction(k, 4), name) for k in range(-20, 20)]
    got = bind(f"cvt.{mode}.{name}.{name}")(lanes(codes, name))
    for code, r in zip(codes, got.tolist(), strict=True):
        sign, value = decode(code, name)
        if value == NAN:
            assert decode(r, name)[1] == NAN
        elif value == INF:
            assert r == code
        else:
            assert r == encode(Fraction(integral(sign, value, mode)), name, "rn", sign)


def one(opcode: str, *codes: int) -> int:
    dtype = {"f64": np.uint64, "u64": np.uint64, "s64": np.uint64, "f16": np.uint16,
             "bf16": np.uint16}.get(opcode.split(".")[-1], np.uint32)
    return int(bind(opcode)(*(np.array([c], dtype) for c in codes))[0])


def f32(x: float) -> int:
    return int(np.float32(x).view(np.uint32))


def test_ftz_applies_to_f32_only():
    tiny = 0x80000001
    assert one("cvt.ftz.f64.f32", tiny) == 1 << 63
    assert one("cvt.f64.f32", tiny) == int(np.float64(-(2.0**-149)).view(np.uint64))
    assert one("cvt.rn.ftz.f16.f32", f32(2.0**-24)) == 1  # an f16 subnormal stays
    assert one("cvt.rn.ftz.f32.f64", int(np.float64(2.0**-140).view(np.uint64))) == 0
    assert one("cvt.rpi.ftz.s32.f32", 1) == 0
    assert one("cvt.rpi.s32.f32", 1) == 1


def test_sat_clamps_floats_and_turns_nan_into_zero():
    assert one("cvt.sat.f32.f32", f32(1.5)) == f32(1)
    assert one("cvt.sat.f32.f32", f32(-0.0)) == 0
    assert one("cvt.sat.f32.f32", 0x7FC00000) == 0
    assert one("cvt.rn.sat.f16.f32", f32(-3)) == 0
    assert one("cvt.rn.sat.f16.f32", f32(0.25)) == 0x3400
    assert one("cvt.rn.sat.f32.s32", 7) == f32(1)


def test_satfinite_and_relu():
    assert one("cvt.rn.satfinite.f16.f32", f32(1e9)) == 0x7BFF
    assert one("cvt.rn.satfinite.f16.f32", f32(-np.inf)) == 0xFBFF
    assert one("cvt.rn.satfinite.bf16.f32", 0x7FC00001) == 0x7FFF
    assert one("cvt.rn.relu.f16.f32", f32(-2)) == 0
    assert one("cvt.rn.relu.f16.f32", 0xFFC00000) == 0x7FFF
    assert one("cvt.rn.relu.bf16x2.f32", f32(-1), f32(2)) == 0x00004000
    assert one("cvt.rz.bf16x2.f32", f32(1.999), f32(-1.999)) == 0x3FFFBFFF


def test_packed_halves_put_the_first_source_up():
    assert one("cvt.rn.f16x2.f32", f32(1), f32(2)) == 0x3C004000


def test_tf32():
    """.rna ties away; the low 13 bits are zero; NaN is cut by .rna and canonical else."""
    assert one("cvt.rna.tf32.f32", 0x3F801000) == 0x3F802000
    assert one("cvt.rn.tf32.f32", 0x3F801000) == 0x3F800000
    assert one("cvt.rz.tf32.f32", 0x3F803FFF) == 0x3F802000
    assert one("cvt.rna.tf32.f32", 0x7F7FFFFF) == 0x7F800000
    assert one("cvt.rna.satfinite.tf32.f32", 0x7F7FFFFF) == 0x7F7FE000
    assert one("cvt.rna.tf32.f32", 0x7FFFFFFF) == 0x7FFFE000
    assert one("cvt.rn.relu.tf32.f32", f32(-1)) == 0


NARROW = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]


def narrow_code(code: int, of: str, to: str) -> int:
    """satfinite conversion of one element by the oracle."""
    sign, value = decode(code, of)
    if value == NAN:
        return {"e4m3": 0x7F, "e5m2": 0x7F}.get(to, largest(to))
    if value == INF:
        return sign << (width(to) - 1) | largest(to)
    return encode(-value if sign else value, to, "rn", sign, satfinite=True)


@pytest.mark.parametrize("to", NARROW)
@pytest.mark.parametrize("of", ["f32", "f16", "bf16"])
def test_to_narrow_formats(to, of):
    codes = pool(of, 150)
    for c in range(1 << width(to)):  # every value of the format, ties and their neighbours
        sign, v = decode(c, to)
        if v in (NAN, INF):
            continue
        exact = encode(v, of, "rz", sign)
        step = 1 << (FORMATS[of][1] - FORMATS[to][1] - 1)
        codes += [exact, exact + step, exact + step + 1, exact + step - 1]
    codes += codes[:1] if len(codes) % 2 else []
    upper, lower = codes[::2], codes[1::2]
    if of == "f32":
        got = bind(f"cvt.rn.satfinite.{to}x2.f32")(lanes(upper, of), lanes(lower, of))
    else:
        both = np.array([u << 16 | v for u, v in zip(upper, lower, strict=True)], np.uint32)
        got = bind(f"cvt.rn.satfinite.{to}x2.{of}x2")(both)
    shift = 4 if to == "e2m1" else 8
    for u, v, r in zip(upper, lower, got.tolist(), strict=True):
        assert r == narrow_code(u, of, to) << shift | narrow_code(v, of, to), hex(r)


@pytest.mark.parametrize("of", NARROW)
def test_from_narrow_formats(of):
    n = 4 if of == "e2m1" else 8
    lower = np.arange(1 << n, dtype=np.uint16)
    codes = lower | lower[::-1] << np.uint16(n)
    got = bind(f"cvt.rn.f16x2.{of}x2")(codes)
    mask = (1 << width(of)) - 1
    for code, r in zip(codes.tolist(), got.tolist(), strict=True):
        for part, half in ((code >> n, r >> 16), (code & ((1 << n) - 1), r & 0xFFFF)):
            sign, value = decode(part & mask, of)
            if value == NAN:
                assert half == 0x7FFF
            elif value == INF:
                assert half == sign << 15 | 0x7C00
            else:
                assert half == encode(-value if sign else value, "f16", "rn", sign)


def test_narrow_relu_and_known_values():
    assert one("cvt.rn.satfinite.relu.e4m3x2.f32", f32(-1), f32(1)) == 0x0038
    assert one("cvt.rn.satfinite.e4m3x2.f32", f32(1000), f32(-1000)) == 0x7EFE
    assert one("cvt.rn.satfinite.e5m2x2.f32", f32(1e6), f32(np.nan)) == 0x7B7F
    assert one("cvt.rn.satfinite.e2m1x2.f32", f32(6.0), f32(-0.5)) == 0x79


def test_ue8m0():
    """Powers of two by exponent; .rz rounds down, .rp up; 0xff is NaN."""
    assert one("cvt.rz.ue8m0x2.f32", f32(1.5), f32(4)) == 0x7F81
    assert one("cvt.rp.ue8m0x2.f32", f32(1.5), f32(4)) == 0x8081
    assert one("cvt.rp.satfinite.ue8m0x2.f32", f32(np.inf), f32(np.nan)) == 0xFEFF
    assert one("cvt.rz.ue8m0x2.f32", f32(0), f32(2.0**-127)) == 0x0000
    assert one("cvt.rn.bf16x2.ue8m0x2", 0x7F81) == 0x3F804080
    assert one("cvt.rn.bf16x2.ue8m0x2", 0xFF00) == 0x7FFF0040


def test_stochastic_rounding_adds_the_random_bits():
    """13 of 16 bits for f16, 16 for bf16, upper half for the first source."""
    x = f32(1 + 2.0**-10 * 0.75)  # three quarters of an f16 step above one
    assert one("cvt.rs.f16x2.f32", x, x, 0x00000000) == 0x3C003C00
    assert one("cvt.rs.f16x2.f32", x, x, 0x08000800) == 0x3C013C01
    assert one("cvt.rs.f16x2.f32", x, x, 0x080007FF) == 0x3C013C00
    y = f32(1 + 2.0**-7 * 0.5)
    assert one("cvt.rs.bf16x2.f32", y, y, 0x80007FFF) == 0x3F813F80
    rng = random.Random(1)
    for _ in range(50):  # the share of results rounded up is the discarded fraction
        code, bits = rng.getrandbits(23) | 127 << 23, rng.getrandbits(16)
        up = (code & 0xFFFF) + bits >> 16
        assert one("cvt.rs.bf16x2.f32", code, code, bits << 16 | bits) >> 16 == (code >> 16) + up


def test_stochastic_rounding_of_four():
    a, b, e, f = (f32(v) for v in (1.0, 1.125, 2.0, -3.0))
    assert one("cvt.rs.satfinite.e4m3x4.f32", a, b, e, f, 0) == 0x383940C4
    assert one("cvt.rs.satfinite.e2m1x4.f32", a, f32(1.25), e, f, 0) == 0x224D
    # 1.25 lies half a step above 1.0: half of the random range rounds it up.
    assert one("cvt.rs.satfinite.e2m1x4.f32", a, f32(1.25), e, f, 0x80808080) == 0x234D
    assert one("cvt.rs.satfinite.e2m1x4.f32", a, f32(1.25), e, f, 0x7F7F7F7F) == 0x224D


def test_bf16_to_f32_is_a_shift():
    codes = np.arange(1 << 16, dtype=np.uint16)
    assert (bind("cvt.f32.bf16")(codes) == codes.astype(np.uint32) << 16).all()


def test_cvt_pack():
    def pack(opcode, a, b, c=None):
        sources = [np.array([v % 2**32], np.uint32) for v in (a, b, c) if v is not None]
        return int(bind(opcode)(*sources)[0])

    assert pack("cvt.pack.sat.s16.s32", 40000, -40000) == 0x7FFF8000
    assert pack("cvt.pack.sat.u16.s32", 70000, -1) == 0xFFFF0000
    assert pack("cvt.pack.sat.u8.s32.b32", 300, 5, 0xABCD) == 0xABCDFF05
    assert pack("cvt.pack.sat.s8.s32.b32", -300, 5, 0) == 0x8005
    assert pack("cvt.pack.sat.u4.s32.b32", 20, 3, 0x123456) == 0x123456F3
    assert pack("cvt.pack.sat.s2.s32.b32", 5, -5, 1) == 0x16


def test_all_halves_round_trip():
    codes = np.arange(1 << 16, dtype=np.uint16)
    finite = codes[(codes & 0x7C00) != 0x7C00]
    wide = bind("cvt.f32.f16")(finite)
    assert (bind("cvt.rn.f16.f32")(wide) == finite).all()
    assert (bind("cvt.rz.f16.f64")(bind("cvt.f64.f16")(finite)) == finite).all()


def test_specials_are_in_every_pool():
    assert all(set(specials(n)) <= set(pool(n, 300)) for n in FLOATS)


def test_unsupported():
    with pytest.raises(Unsupported, match="cvt"):
        one("cvt.rn.s32.f32", 0)
    with pytest.raises(Unsupported, match="no random bits"):
        one("cvt.rs.f16x2.f32", 0, 0)
