"""Intrinsics of arithmetic and conversion: what PTX has and LLVM's own operations do not say."""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.intrinsics.intrinsic import Intrinsic

_ROUNDINGS = ("rn", "rz", "rm", "rp")
# NVVM's letters: the word of `types`, and PTX's type.
_LETTERS = {
    "f": ("float", "f32"), "d": ("double", "f64"), "i": ("i32", "s32"), "ui": ("i32", "u32"),
    "ll": ("i64", "s64"), "ull": ("i64", "u64"), "s": ("i16", "s16"), "us": ("i16", "u16"),
    "f16": ("half", "f16"), "f16x2": ("v2f16", "f16x2"), "bf16": ("bfloat", "bf16"),
    "bf16x2": ("v2bf16", "bf16x2"),
}
_INTEGERS = ("i", "ui", "ll", "ull")
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")


def _row(name: str, letter: str, count: int, ori: str) -> Intrinsic:
    """`count` operands and a result of one type; {t} in `ori` is PTX's name of it."""
    word, t = _LETTERS[letter]
    operands = ", ".join(f"${k}" if k else "$0:r" for k in range(count))
    return Intrinsic(f"llvm.nvvm.{name}", " ".join([word] * (count + 1)),
                     f"{ori.format(t=t)} {operands}")


def _floats() -> Iterator[Intrinsic]:
    for mode in _ROUNDINGS:
        for z, letter in (("", "f"), (".ftz", "f"), ("", "d")):
            for what in ("add", "mul", "div"):
                yield _row(f"{what}.{mode}{z}.{letter}", letter, 2, f"{what}.{mode}{z}.{{t}}")
            yield _row(f"fma.{mode}{z}.{letter}", letter, 3, f"fma.{mode}{z}.{{t}}")
            for what in ("rcp", "sqrt"):
                yield _row(f"{what}.{mode}{z}.{letter}", letter, 1, f"{what}.{mode}{z}.{{t}}")
            if letter == "f":
                for what, n in (("add", 2), ("fma", 3)):
                    ori = f"{what}.{mode}{z}.sat.{{t}}"
                    yield _row(f"{what}.{mode}{z}.sat.f", "f", n, ori)
    for z, letter in (("", "f"), (".ftz", "f"), ("", "d")):
        for what, how in (("floor", "rmi"), ("ceil", "rpi"), ("trunc", "rzi"), ("round", "rni")):
            yield _row(f"{what}{z}.{letter}", letter, 1, f"cvt.{how}{z}.{{t}}.{{t}}")
        # fabs is overloaded by now (`.f32`); the letters are what it was called.
        for word in (letter, {"f": "f32", "d": "f64"}[letter]):
            yield _row(f"fabs{z}.{word}", letter, 1, f"abs{z}.{{t}}")
        yield _row(f"saturate{z}.{letter}", letter, 1, f"cvt.sat{z}.{{t}}.{{t}}")
    yield _row("sqrt.f", "f", 1, "sqrt.rn.{t}")
    for z in ("", ".ftz"):
        yield _row(f"div.full{z}", "f", 2, f"div.full{z}.{{t}}")
        yield _row(f"div.approx{z}.f", "f", 2, f"div.approx{z}.{{t}}")
        yield _row(f"rsqrt.approx{z}.d", "d", 1, f"rsqrt.approx{z}.{{t}}")
        for what in ("sin", "cos", "ex2", "lg2", "rsqrt", "sqrt", "rcp"):
            for word in ("f", "f32"):
                yield _row(f"{what}.approx{z}.{word}", "f", 1, f"{what}.approx{z}.{{t}}")
    yield _row("rcp.approx.ftz.d", "d", 1, "rcp.approx.ftz.{t}")
    for word in ("f", "f32"):
        yield _row(f"tanh.approx.{word}", "f", 1, "tanh.approx.{t}")
    for letter in _HALVES:
        z = ".ftz" if letter.startswith("bf") else ""
        yield _row(f"ex2.approx{z}.{letter}", letter, 1, f"ex2.approx{z}.{{t}}")
        yield _row(f"tanh.approx.{letter}", letter, 1, "tanh.approx.{t}")
    for letter in ("bf16", "bf16x2"):
        yield _row(f"neg.{letter}", letter, 1, "neg.{t}")


def _extrema() -> Iterator[Intrinsic]:
    for what in ("min", "max"):
        yield _row(f"f{what}.d", "d", 2, f"{what}.{{t}}")
        for letter in ("f", *_HALVES):
            # bf16 has no subnormals flushed in PTX.
            for z in ("",) if letter.startswith("bf") else ("", ".ftz"):
                for nan in ("", ".nan"):
                    for sign in ("", ".xorsign.abs"):
                        how = f"{z}{'.NaN' if nan else ''}{sign}"
                        yield _row(f"f{what}{z}{nan}{sign}.{letter}", letter, 2,
                                   f"{what}{how}.{{t}}")
    for letter in _HALVES:
        for z in ("",) if letter.startswith("bf") else ("", ".ftz"):
            for how in ("", ".relu") if letter.startswith("bf") else ("", ".sat", ".relu"):
                yield _row(f"fma.rn{z}{how}.{letter}", letter, 3, f"fma.rn{z}{how}.{{t}}")


def _integers() -> Iterator[Intrinsic]:
    for letter in (*_INTEGERS, "s", "us"):
        yield _row(f"mulhi.{letter}", letter, 2, "mul.hi.{t}")
        yield _row(f"sad.{letter}", letter, 3, "sad.{t}")
        for what in ("min", "max"):
            yield _row(f"{what}.{letter}", letter, 2, f"{what}.{{t}}")
    for letter in ("i", "ui"):
        yield _row(f"mul24.{letter}", letter, 2, "mul24.lo.{t}")
    yield _row("prmt", "ui", 3, "prmt.b32")
    for mode in ("f4e", "b4e"):
        yield _row(f"prmt.{mode}", "ui", 3, f"prmt.b32.{mode}")
    for mode in ("rc8", "ecl", "ecr", "rc16"):
        yield Intrinsic(f"llvm.nvvm.prmt.{mode}", "i32 i32 i32", f"prmt.b32.{mode} $0:r, 0, $1")
    yield _row("fns", "ui", 3, "fns.b32")
    for mode in ("wrap", "clamp"):
        yield _row(f"bmsk.{mode}", "ui", 2, f"bmsk.{mode}.b32")
        for sign, kind in (("s", "s32"), ("z", "u32")):
            yield _row(f"{sign}ext.{mode}", "ui", 2, f"szext.{mode}.{kind}")
        for kind in ("s", "u"):
            yield _row(f"szext.{mode}.{kind}", "ui", 2, f"szext.{mode}.{kind}32")
    for side in "lr":
        yield _row(f"fsh{side}.clamp", "ui", 3, f"shf.{side}.clamp.b32")
    yield Intrinsic("llvm.nvvm.flo.s", "i32 int i1!", rule="flo s")
    yield Intrinsic("llvm.nvvm.flo.u", "i32 int i1!", rule="flo u")
    for a in "su":
        for b in "su":
            kinds = f"{a}32.{b}32"
            yield _row(f"idp4a.{a}.{b}", "ui", 3, f"dp4a.{kinds}")
            yield Intrinsic(f"llvm.nvvm.idp2a.{a}.{b}", "i32 i32 i32 i1! i32",
                            f"dp2a.?2:lo:hi.{kinds} $0:r, $1, $3")
            for half in ("lo", "hi"):
                yield _row(f"idp2a.{half}.{a}.{b}", "ui", 3, f"dp2a.{half}.{kinds}")


def _conversions() -> Iterator[Intrinsic]:
    for mode in _ROUNDINGS:
        for z in ("", ".ftz"):
            yield _convert(f"d2f.{mode}{z}", "d", "f", f"cvt.{mode}{z}")
        for k in _INTEGERS:
            yield _convert(f"d2{k}.{mode}", "d", k, f"cvt.{mode}i")
            for z in ("", ".ftz"):
                yield _convert(f"f2{k}.{mode}{z}", "f", k, f"cvt.{mode}i{z}")
            yield _convert(f"{k}2f.{mode}", k, "f", f"cvt.{mode}")
            yield _convert(f"{k}2d.{mode}", k, "d", f"cvt.{mode}")
    for z in ("", ".ftz"):
        yield Intrinsic(f"llvm.nvvm.f2h.rn{z}", "i16 float", f"cvt.rn{z}.f16.f32 $0:r")
    yield Intrinsic("llvm.nvvm.h2f", "float i16", "cvt.f32.f16 $0:r")
    for mode in ("rn", "rz"):
        for how in ("", ".relu"):
            for kind, pair in (("bf16", "v2bf16"), ("f16", "v2f16")):
                yield Intrinsic(f"llvm.nvvm.ff2{kind}x2.{mode}{how}", f"{pair} float float",
                                f"cvt.{mode}{how}.{kind}x2.f32 $0:r, $1:r")
                yield Intrinsic(f"llvm.nvvm.f2{kind}.{mode}{how}",
                                f"{'bfloat' if kind == 'bf16' else 'half'} float",
                                f"cvt.{mode}{how}.{kind}.f32 $0:r")
    yield Intrinsic("llvm.nvvm.f2tf32.rna", "i32 float", "cvt.rna.tf32.f32 $0:r")
    for kind in ("e4m3x2", "e5m2x2"):
        for how in ("", ".relu"):
            yield Intrinsic(f"llvm.nvvm.ff.to.{kind}.rn{how}", "i16 float float",
                            f"cvt.rn.satfinite{how}.{kind}.f32 $0:r, $1:r")
            yield Intrinsic(f"llvm.nvvm.f16x2.to.{kind}.rn{how}", "i16 v2f16",
                            f"cvt.rn.satfinite{how}.{kind}.f16x2 $0:r")
            yield Intrinsic(f"llvm.nvvm.{kind}.to.f16x2.rn{how}", "v2f16 i16",
                            f"cvt.rn{how}.f16x2.{kind} $0:r")


def _convert(name: str, of: str, to: str, ori: str) -> Intrinsic:
    (source, source_type), (target, target_type) = _LETTERS[of], _LETTERS[to]
    return Intrinsic(f"llvm.nvvm.{name}", f"{target} {source}",
                     f"{ori}.{target_type}.{source_type} $0:r")


def _moves() -> Iterator[Intrinsic]:
    for of, to in (("float", "i32"), ("i32", "float"), ("i64", "double"), ("double", "i64")):
        letters = {"float": "f", "i32": "i", "i64": "ll", "double": "d"}
        kind = "b64" if "64" in of + to else "b32"
        yield Intrinsic(f"llvm.nvvm.bitcast.{letters[of]}2{letters[to]}", f"{to} {of}",
                        f"mov.{kind} $0")
    yield Intrinsic("llvm.nvvm.lohi.i2d", "double i32 i32", "mov.b64 {$0, $1}")
    for part in ("lo", "hi"):
        yield Intrinsic(f"llvm.nvvm.d2i.{part}", "i32 double", f"mov.b64|{part} $0:r")
    for word in ("i16", "i32", "i64", "float", "double"):
        yield Intrinsic(f"llvm.nvvm.move.{word}", f"{word} {word}", rule="same")
    yield Intrinsic("llvm.nvvm.move.ptr", "ptr ptr", rule="same")


def rows() -> Iterator[Intrinsic]:
    for family in (_floats, _extrema, _integers, _conversions, _moves):
        yield from family()
