"""The constant folds of the opcode table and the meanings agree wherever a fold gives a result."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nvir.interp.meaning import bind
from nvir.interp.meaning.lanes import fit
from nvir.ir.opcodes.form import form

DTYPE = {"p": bool, "h": np.uint16, "r": np.uint32, "d": np.uint64}
BITS = {"p": 1, "h": 16, "r": 32, "d": 64}
LETTER = {16: "h", 32: "r", 64: "d"}


def opcodes() -> list[tuple[str, str]]:
    """Spellings with their sources: p predicate, h, r, d registers of 16, 32, 64 bits."""
    out = []
    for n, w in LETTER.items():
        for t in (f"u{n}", f"s{n}"):
            out += [(f"{op}.{t}", w * 2) for op in ("add", "sub", "div", "rem", "min", "max")]
            out += [(f"mul.{part}.{t}", w * 2) for part in ("lo", "hi")]
            out += [(f"mad.{part}.{t}", w * 3) for part in ("lo", "hi")]
            out += [(f"sad.{t}", w * 3), (f"shr.{t}", w + "r"), (f"selp.{t}", w * 2 + "p")]
            out += [(f"slct.{t}.s32", w * 2 + "r")]
            out += [(f"setp.{c}.{t}", w * 2) for c in ("eq", "ne", "lt", "le", "gt", "ge")]
            out += [(f"set.{c}.u32.{t}", w * 2) for c in ("lt", "ge")]
            if n < 64:
                out += [(f"mul.wide.{t}", w * 2), (f"mad.wide.{t}", w * 2 + LETTER[2 * n])]
            if n > 16:
                out += [(f"bfind.{t}", w), (f"bfind.shiftamt.{t}", w), (f"bfe.{t}", w + "rr")]
        out += [(f"abs.s{n}", w), (f"neg.s{n}", w), (f"shl.b{n}", w + "r"), (f"cnot.b{n}", w)]
        out += [(f"{op}.b{n}", w * 2) for op in ("and", "or", "xor")] + [(f"not.b{n}", w)]
        out += [(f"setp.{c}.u{n}", w * 2) for c in ("lo", "ls", "hi", "hs")]
        if n > 16:
            out += [(f"{op}.b{n}", w) for op in ("popc", "clz", "brev")]
            out += [(f"bfi.b{n}", w * 2 + "rr")]
        for m, v in LETTER.items():
            for to in (f"u{m}", f"s{m}", "u8", "s8"):
                for sat in ("", ".sat"):
                    out += [(f"cvt{sat}.{to}.{of}", w) for of in (f"u{n}", f"s{n}") if v != w]
    for t in ("u32", "s32"):
        out += [(f"mul24.{p}.{t}", "rr") for p in ("lo", "hi")]
        out += [(f"mad24.{p}.{t}", "rrr") for p in ("lo", "hi")]
        out += [(f"dp4a.{t}.{u}", "rrr") for u in ("u32", "s32")]
        out += [(f"szext.{m}.{t}", "rr") for m in ("clamp", "wrap")]
    out += [(f"{op}.sat.s32", "rr") for op in ("add", "sub")] + [("mad.hi.sat.s32", "rrr")]
    out += [(f"shf.{d}.{m}.b32", "rrr") for d in "lr" for m in ("clamp", "wrap")]
    out += [(f"bmsk.{m}.b32", "rr") for m in ("clamp", "wrap")]
    out += [(f"prmt.b32{m}", "rrr") for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")]
    out += [("max.relu.s32", "rr"), ("min.relu.s32", "rr"), ("lop3.b32", "rrrr")]
    out += [("and.pred", "pp"), ("or.pred", "pp"), ("xor.pred", "pp"), ("not.pred", "p")]
    return out + floats()


def floats() -> list[tuple[str, str]]:
    out = []
    for t, w, ftz in (("f32", "r", ".ftz"), ("f64", "d", ""), ("f16", "h", "")):
        modes = ("rn",) if t == "f16" else ("rn", "rz", "rm", "rp")
        for m in modes:
            for z in {"", ftz}:
                out += [(f"{op}.{m}{z}.{t}", w * 2) for op in ("add", "sub", "mul")]
                out += [(f"fma.{m}{z}.{t}", w * 3)]
                if t != "f16":
                    out += [(f"div.{m}{z}.{t}", w * 2)]
                    out += [(f"{op}.{m}{z}.{t}", w) for op in ("rcp", "sqrt")]
        out += [(f"{op}{ftz}.{t}", w * 2) for op in ("min", "max")]
        out += [(f"{op}{ftz}.{t}", w) for op in ("abs", "neg")]
        out += [(f"setp.{c}{ftz}.{t}", w * 2) for c in (
            "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
            "nan")]
        for m in ("rni", "rzi", "rmi", "rpi"):
            out += [(f"cvt.{m}.{i}.{t}", w) for i in ("s32", "u32", "s64", "u64", "u16", "u8")]
            out += [(f"cvt.{m}.{t}.{t}", w)]
        for m in ("rn", "rz", "rm", "rp"):
            out += [(f"cvt.{m}.{t}.{k}{n}", v) for n, v in LETTER.items() for k in "us"]
    for m in ("rn", "rz", "rm", "rp"):
        out += [(f"cvt.{m}{z}.f32.f64", "d") for z in ("", ".ftz", ".sat")]
    out += [("cvt.rn.f16.f32", "r"), ("cvt.rz.f16.f32", "r"), ("cvt.rn.bf16.f32", "r")]
    out += [("cvt.f32.f16", "h"), ("cvt.f64.f32", "r"), ("cvt.ftz.f64.f32", "r")]
    out += [("add.sat.f32", "rr"), ("fma.rn.sat.f32", "rrr"), ("cvt.sat.f32.f32", "r")]
    return out


def values(rng: random.Random, kinds: str) -> list[int]:
    out = []
    for kind in kinds:
        n = BITS[kind]
        exponents = {16: 15 << 10, 32: 127 << 23, 64: 1023 << 52}.get(n, 0)
        signs = (1 << n) - 1, 1 << (n - 1), (1 << (n - 1)) - 1
        edges = (
            exponents, 2 * exponents, exponents | 1, 0, 1, *signs, n, n - 1, n + 1, 255, 256,
        )
        pick = rng.choice(edges) if rng.random() < 0.5 else rng.getrandbits(n)
        out.append(pick & ((1 << n) - 1))
    return out


@pytest.mark.parametrize("case", opcodes(), ids="-".join)
def test_fold_gives_what_runs(case):
    opcode, kinds = case
    f = form(opcode, ", ".join(["%s"] * (len(kinds) + 1)))
    fold = f.op.fold
    if fold is None:
        return
    rng = random.Random(opcode)
    meaning = bind(opcode)
    for _ in range(60):
        ints = values(rng, kinds)
        folded = fold(f, *ints)
        if folded is None:
            continue
        sources = [np.array([v], DTYPE[k]) for v, k in zip(ints, kinds, strict=True)]
        with np.errstate(all="ignore"):
            got = meaning(*sources)
        got = got[0] if isinstance(got, tuple) else got
        if opcode.startswith("cvt") and opcode.split(".")[-2] in ("u8", "s8"):
            got = fit(got, opcode.split(".")[-2], np.uint16)
            folded, got = folded & 0xFF, got & np.uint16(0xFF)
        assert int(got[0]) == folded, f"{opcode} {[hex(v) for v in ints]}"
