"""IEEE operations in every rounding mode against exact rationals, bit for bit."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meaning_oracle import CANONICAL, NAN, apply, encode, lanes, pool, specials

from nvir.interp.meaning import bind

MODES = ("rn", "rz", "rm", "rp")


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def is_nan(code: int, name: str) -> bool:
    return code & ((1 << {"f64": 63, "f32": 31}.get(name, 15)) - 1) > {
        "f64": 0x7FF << 52, "f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80,
    }[name]


def check(op: str, rnd: str, name: str, *columns: list[int]) -> None:
    """Run one operation on columns of codes and compare each lane with the oracle."""
    got = bind(f"{op}.{rnd}.{name}")(*(lanes(c, name) for c in columns))
    for codes, result in zip(zip(*columns, strict=True), got.tolist(), strict=True):
        want = apply(op, rnd, name, *codes)
        shown = f"{op}.{rnd}.{name} {[hex(c) for c in codes]} -> {result:#x}"
        if want == NAN:
            assert is_nan(result, name), shown
            if name != "f64":
                assert result == CANONICAL[name], shown
        else:
            assert result == want, f"{shown}, not {want:#x}"


@pytest.mark.parametrize("rnd", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_two_operands(op, name, rnd):
    codes = pool(name, 60, seed=ord(op[0]))
    pairs = list(itertools.product(specials(name), repeat=2))[::2]
    pairs += list(itertools.product(codes, codes[38:]))[::3]
    check(op, rnd, name, [a for a, _ in pairs], [b for _, b in pairs])


@pytest.mark.parametrize("rnd", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("op", ["sqrt", "rcp"])
def test_one_operand(op, name, rnd):
    check(op, rnd, name, pool(name, 300))


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_halves_round_to_nearest(op, name):
    codes = pool(name, 50)
    pairs = list(itertools.product(codes, repeat=2))
    check(op, "rn", name, [a for a, _ in pairs], [b for _, b in pairs])


def triples(name: str, count: int) -> list[tuple[int, ...]]:
    rng = random.Random(name)
    codes = pool(name, 400)
    out = [tuple(rng.choice(codes) for _ in range(3)) for _ in range(count)]
    out += [tuple(rng.choice(specials(name)) for _ in range(3)) for _ in range(count)]
    return out


FMA = [(name, rnd) for name in ("f32", "f64") for rnd in MODES] + [("f16", "rn"), ("bf16", "rn")]


@pytest.mark.parametrize(("name", "rnd"), FMA)
def test_fma(name, rnd):
    rows = triples(name, 500)
    check("fma", rnd, name, *(list(c) for c in zip(*rows, strict=True)))


@pytest.mark.parametrize("rnd", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_fma_near_cancellation(name, rnd):
    """c is the negated product rounded, give or take an ulp: only the product's tail is left."""
    codes = [c for c in pool(name, 500, seed=3) if not is_nan(c, name)][38:]
    a, b = codes[::2], codes[1::2]
    product = bind(f"mul.rn.{name}")(lanes(a, name), lanes(b, name))
    top = 1 << (63 if name == "f64" else 31)
    c = [(int(p) ^ top) + i % 3 - 1 if int(p) % top > 4 else int(p) for i, p in enumerate(product)]
    c = [min(max(x, 0), 2 * top - 1) for x in c]
    check("fma", rnd, name, a, b, c)


@pytest.mark.parametrize(("name", "a", "tiny"), [
    ("f32", 0x3F800800, 2.0**-100),  # (1 + 2^-12)^2 lies half-way between two f32
    ("f16", 0x3C20, 2.0**-24),  # (1 + 2^-5)^2 = 1 + 2^-4 + 2^-10: exact, c only adds
    ("bf16", 0x3F88, 2.0**-100),  # (1 + 2^-4)^2 = 1 + 2^-3 + 2^-8: half-way
])
def test_fma_breaks_ties_by_bits_that_float64_loses(name, a, tiny):
    c = [encode(Fraction(v), name) for v in (tiny, -tiny, 0)]
    check("fma", "rn", name, [a] * 3, [a] * 3, c)


bits64 = st.integers(0, 2**64 - 1)
bits32 = st.integers(0, 2**32 - 1)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(("add", "mul", "div", "sub")), st.sampled_from(MODES), bits64, bits64)
def test_any_doubles(op, rnd, a, b):
    check(op, rnd, "f64", [a], [b])


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(MODES), bits64, bits64, bits64)
def test_any_double_fma(rnd, a, b, c):
    check("fma", rnd, "f64", [a], [b], [c])


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(MODES), bits32, bits32, bits32)
def test_any_float_fma(rnd, a, b, c):
    check("fma", rnd, "f32", [a], [b], [c])


def test_mad_is_fma():
    a, b, c = (lanes(pool("f32", 200, seed=s), "f32") for s in (1, 2, 3))
    assert (bind("mad.rm.f32")(a, b, c) == bind("fma.rm.f32")(a, b, c)).all()
