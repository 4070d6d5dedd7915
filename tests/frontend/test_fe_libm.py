"""nvir's own mathematics against the host's long double, rounded."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np
import pytest
from fe_judges import module_of, run

from nvir.frontend import build as b
from nvir.frontend.libm.library import BOUNDS, ONE, TWO

N = 1024
i = b.name("i")
RANGES = {
    "asin": (-1, 1), "acos": (-1, 1), "acosh": (1, 100), "atanh": (-1, 1), "erfc": (-6, 26),
    "erf": (-6, 6), "log1p": (-0.99, 10), "exp": (-700, 709), "exp2": (-1000, 1023),
    "exp10": (-300, 308), "sinh": (-700, 700), "cosh": (-700, 700), "expm1": (-40, 700),
}
_found = ctypes.util.find_library("m")
LIBM = ctypes.CDLL(_found) if _found else None
NEAR_ZERO = ("erf", "sinh", "tanh", "expm1", "atanh", "asin", "log1p", "sin", "tan", "cos")
needs_libm = pytest.mark.skipif(LIBM is None, reason="no C mathematics library on this machine")


def points(name, rng):
    x = rng.uniform(*RANGES.get(name, (-30, 30)), N)
    if name in NEAR_ZERO:
        x[: N // 4] = rng.uniform(-0.9, 0.9, N // 4)
    if name in ("sin", "cos", "tan"):
        x[N // 2 :] = np.exp(rng.uniform(5, 700, N // 2))
        x[N // 2 :: 2] *= -1
    if name.startswith("log") and name != "log1p":
        x = np.exp(rng.uniform(-700, 700, N))
        x[: N // 4] = rng.uniform(0.5, 2, N // 4)
    if name in ("cbrt", "asinh", "atan"):
        x[: N // 2] = np.exp(rng.uniform(-300, 300, N // 2))
    return x


def reference(name, *xs):
    f = getattr(LIBM, f"{name}l")
    f.restype, f.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble] * len(xs)
    return np.array([f(*v) for v in zip(*(x.tolist() for x in xs), strict=True)])


def computed(name, real, *xs, grid=N // 128):
    params = ", ".join(f"const {real} *x{k}" for k in range(len(xs)))
    tree = b.unit(b.kernel(
        "k", f"{real} *out, {params}",
        b.let("int i", b.blockIdx.x * b.blockDim.x + b.threadIdx.x),
        b.assign(b.name("out")[i], b.call(name, *(b.name(f"x{k}")[i] for k in range(len(xs))))),
    ))
    out = np.zeros_like(xs[0])
    run(module_of(tree), "k", [out, *xs], grid=grid, block=len(out) // grid)
    return out


def ulps(got, want):
    normal = np.isfinite(want) & (np.abs(want) > np.finfo(got.dtype).tiny)
    if not normal.any():
        return 0.0
    spacing = np.spacing(np.abs(want[normal]).astype(got.dtype)).astype(np.float64)
    return float((np.abs(got[normal].astype(np.float64) - want[normal]) / spacing).max())


@needs_libm
@pytest.mark.parametrize("name", [n for n in (*ONE, *TWO) if n in BOUNDS])
def test_errors_of_double_are_within_their_bounds(name):
    rng = np.random.default_rng(7)
    if name in TWO:
        first = np.exp(rng.uniform(-20, 20, N)) * (1 if name == "pow" else rng.choice([-1, 1], N))
        xs = (first, rng.uniform(-30, 30, N))
        if name == "fmod":
            xs[0][::3] *= 1e250
    else:
        xs = (points(name, rng),)
    got, want = computed(name, "double", *xs), reference(name, *xs)
    assert (np.isnan(got) == np.isnan(want)).all()
    assert (np.isinf(got) == np.isinf(want)).all()
    assert ulps(got, want) <= BOUNDS[name]


@needs_libm
@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "tanh", "erf", "pow", "atan2"])
def test_floats_are_rounded_once(name):
    rng = np.random.default_rng(8)
    if name in TWO:
        xs = (np.exp(rng.uniform(-5, 5, N)), rng.uniform(-9, 9, N))
    else:
        xs = (points(name, rng).clip(-80, 80) if name != "log" else rng.uniform(1e-6, 9, N),)
    xs = tuple(x.astype(np.float32) for x in xs)
    got = computed(f"{name}f", "float", *xs)
    want = reference(name, *(x.astype(np.float64) for x in xs))
    assert ulps(got, want) <= 0.51


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1.0, -1.0, 1e308, 0.5,
                    -0.5, 2.0, -2.0, 1e-310, 2.0**53])


@needs_libm
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cbrt", "asin", "tanh", "erf", "log1p"])
def test_special_values_of_one(name):
    got, want = computed(name, "double", SPECIAL, grid=1), reference(name, SPECIAL)
    assert (np.isnan(got) == np.isnan(want)).all()
    kept = ~np.isnan(want)
    assert np.allclose(got[kept], want[kept], rtol=1e-14, atol=5e-324)
    assert (np.signbit(got[kept]) == np.signbit(want[kept])).all()


@needs_libm
@pytest.mark.parametrize("name", ["pow", "fmod", "atan2", "hypot"])
def test_special_values_of_two(name):
    x, y = (v.ravel().copy() for v in np.meshgrid(SPECIAL, SPECIAL))
    got, want = computed(name, "double", x, y, grid=2), reference(name, x, y)
    assert (np.isnan(got) == np.isnan(want)).all()
    kept = ~np.isnan(want)
    assert np.allclose(got[kept], want[kept], rtol=1e-14, atol=5e-324)
    assert (np.signbit(got[kept]) == np.signbit(want[kept])).all()


def test_what_looks_at_the_bits():
    tree = b.unit(b.kernel(
        "k", "double *out, double x",
        b.let("int e"), b.let("double w"),
        b.assign(b.name("out")[0], b.call("frexp", b.name("x"), b.addr(b.name("e")))),
        b.assign(b.name("out")[1], b.name("e")),
        b.assign(b.name("out")[2], b.call("modf", b.name("x"), b.addr(b.name("w")))),
        b.assign(b.name("out")[3], b.name("w")),
        b.assign(b.name("out")[4], b.call("ldexp", b.name("x"), -1060)),
        b.assign(b.name("out")[5], b.call("nextafter", b.name("x"), 0.0)),
        b.assign(b.name("out")[6], b.call("ilogb", b.name("x"))),
        b.assign(b.name("out")[7], b.call("round", b.f64(0.49999999999999994))),
        b.assign(b.name("out")[8], b.call("round", b.f64(-2.5))),
    ))
    out, x = np.zeros(9), -1234.5678
    run(module_of(tree), "k", [out, np.float64(x)], block=1)
    m, e = np.frexp(x)
    f, w = np.modf(x)
    assert out.tolist() == [m, e, f, w, np.ldexp(x, -1060), np.nextafter(x, 0), 10, 0, -3]
