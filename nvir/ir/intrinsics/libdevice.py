"""Functions of libdevice whose body is one instruction, for code that has not linked it.

Source: NVIDIA, "Libdevice User's Guide"; the instructions are those of libdevice's own bodies
without flushing of subnormals.
"""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.intrinsics.intrinsic import Intrinsic

_TYPES = {"f32": "float", "f64": "double"}
_SIMPLE = {
    "sqrtf": "sqrt.rn.f32", "sqrt": "sqrt.rn.f64", "rsqrtf": "rsqrt.approx.f32",
    "fabsf": "abs.f32", "fabs": "abs.f64", "fmaf": "fma.rn.f32", "fma": "fma.rn.f64",
    "fminf": "min.f32", "fmaxf": "max.f32", "fmin": "min.f64", "fmax": "max.f64",
    "floorf": "cvt.rmi.f32.f32", "floor": "cvt.rmi.f64.f64", "ceilf": "cvt.rpi.f32.f32",
    "ceil": "cvt.rpi.f64.f64", "truncf": "cvt.rzi.f32.f32", "trunc": "cvt.rzi.f64.f64",
    "rintf": "cvt.rni.f32.f32", "rint": "cvt.rni.f64.f64", "saturatef": "cvt.sat.f32.f32",
    "exp2f": "ex2.approx.f32", "fast_sinf": "sin.approx.f32", "fast_cosf": "cos.approx.f32",
    "fast_log2f": "lg2.approx.f32", "fast_fdividef": "div.approx.f32",
    "frsqrt_rn": "rsqrt.approx.f32", "popc": "popc.b32", "popcll": "popc.b64",
    "clz": "clz.b32", "clzll": "clz.b64", "brev": "brev.b32", "brevll": "brev.b64",
    "mulhi": "mul.hi.s32", "umulhi": "mul.hi.u32", "mul64hi": "mul.hi.s64",
    "umul64hi": "mul.hi.u64", "mul24": "mul24.lo.s32", "umul24": "mul24.lo.u32",
    "sad": "sad.s32", "usad": "sad.u32", "byte_perm": "prmt.b32", "abs": "abs.s32",
    "llabs": "abs.s64", "min": "min.s32", "max": "max.s32", "umin": "min.u32",
    "umax": "max.u32", "llmin": "min.s64", "llmax": "max.s64", "ullmin": "min.u64",
    "ullmax": "max.u64",
}
_OPERANDS = {"fma": 3, "sad": 3, "prmt": 3, "add": 2, "sub": 2, "mul": 2, "mul24": 2, "div": 2,
             "min": 2, "max": 2}


def _spellings() -> Iterator[tuple[str, str]]:
    yield from _SIMPLE.items()
    for letter, t in (("f", "f32"), ("d", "f64")):
        for mode in ("rn", "rz", "rm", "rp"):
            # libdevice writes the directions as the C functions do.
            c = {"rm": "rd", "rp": "ru"}.get(mode, mode)
            for what in ("add", "mul", "div", "rcp", "sqrt", "sub"):
                yield f"{letter}{what}_{c}", f"{what}.{mode}.{t}"
            yield f"fma{letter.replace('d', '')}_{c}", f"fma.{mode}.{t}"


def rows() -> Iterator[Intrinsic]:
    for name, spelling in _spellings():
        word, t = spelling.split(".")[0], spelling.rsplit(".", 1)[1]
        source = _TYPES.get(t, f"i{t[1:]}")
        result = "i32" if word in ("popc", "clz") else source
        n = _OPERANDS.get(word, 1)
        operands = ", ".join(["$0:r", *(f"${k}" for k in range(1, n))])
        yield Intrinsic(f"__nv_{name}", " ".join([result, *[source] * n]), f"{spelling} {operands}")
