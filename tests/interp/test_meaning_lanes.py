"""Laws of every meaning: lanes do not see each other, uniform sources broadcast, sources stay."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest

from nvir.interp.meaning import MEANINGS, Mods, bind, bound
from nvir.interp.meaning.lanes import WIDTH, fit, join, register, split
from nvir.interp.meaning.mods import TYPES
from nvir.ir.errors import Unsupported

DTYPE = {"p": bool, "h": np.uint16, "r": np.uint32, "d": np.uint64}

# Opcode and its sources: p predicate, h, r, d registers of 16, 32, 64 bits; i one immediate.
OPCODES = (
    """
add.u16 hh|add.s32 rr|add.u64 dd|add.sat.s32 rr|add.cc.u32 rr|addc.cc.u64 ddp|sub.s64 dd
subc.u32 rrp|sub.cc.s32 rr|mul.lo.s16 hh|mul.hi.u64 dd|mul.hi.s64 dd|mul.wide.u32 rr
mad.lo.u32 rrr|mad.wide.s16 hhr|mad.hi.sat.s32 rrr|mad.lo.cc.u32 rrr|madc.hi.cc.u32 rrrp
mul24.hi.s32 rr|mad24.lo.u32 rrr|sad.u32 rrr|div.s32 rr|div.u64 dd|rem.s16 hh|rem.u32 rr
abs.s64 d|neg.s16 h|min.u32 rr|max.relu.s32 rr|add.u16x2 rr|min.s16x2 rr|popc.b64 d|clz.b32 r
bfind.shiftamt.s64 d|fns.b32 rrr|brev.b32 r|bfe.s32 rrr|bfe.u64 drr|bfi.b32 rrrr|bfi.b64 ddrr
bmsk.clamp.b32 rr|szext.wrap.s32 rr|dp4a.s32.u32 rrr|dp2a.hi.u32.s32 rrr|and.b32 rr|or.b64 dd
xor.pred pp|not.b16 h|not.pred p|cnot.b32 r|lop3.b32 rrri|lop3.and.b32 rrrip|shl.b32 rr
shl.b64 dr|shl.b16 hr|shr.s16 hr|shr.u64 dr|shf.l.clamp.b32 rrr|shf.r.wrap.b32 rrr|prmt.b32 rrr
prmt.b32.b4e rrr|prmt.b32 rri|selp.b32 rrp|selp.f64 ddp|slct.u64.s32 ddr|slct.b32.f32 rrr
setp.lt.s32 rr|setp.geu.f32 rr|setp.eq.and.u16 hhp|setp.gt.f16x2 rr|set.le.f32.f64 dd
set.eq.u32.f16 hh|add.f32 rr|add.rz.f32 rr|add.ftz.sat.f32 rr|sub.rm.f64 dd|mul.rp.f32 rr
mul.f64 dd|fma.rn.f32 rrr|fma.rp.ftz.f32 rrr|fma.rn.f64 ddd|fma.rm.f64 ddd|fma.rn.f16 hhh
fma.rn.relu.bf16 hhh|fma.rn.f16x2 rrr|add.f16 hh|mul.bf16x2 rr|add.f32x2 dd|fma.rn.f32x2 ddd
add.f32.f16 hr|fma.rn.f32.bf16 hhr|mad.rn.f64 ddd|div.rn.f32 rr|div.rz.f64 dd|div.approx.f32 rr
div.full.ftz.f32 rr|rcp.rn.f32 r|rcp.rm.f64 d|rcp.approx.f32 r|rcp.approx.ftz.f64 d
sqrt.rn.f64 d|sqrt.rp.f32 r|sqrt.approx.f32 r|rsqrt.approx.f32 r|rsqrt.approx.f64 d
sin.approx.f32 r|cos.approx.ftz.f32 r|lg2.approx.f32 r|ex2.approx.f32 r|ex2.approx.f16x2 r
ex2.approx.ftz.bf16 h|tanh.approx.f32 r|tanh.approx.bf16x2 r|min.f32 rr|max.NaN.f16 hh
min.xorsign.abs.bf16x2 rr|max.f64 dd|min.f32 rrr|neg.f16x2 r|abs.bf16 h|neg.f64 d|abs.ftz.f32 r
testp.normal.f32 r|copysign.f64 dd|cvt.s64.s32 r|cvt.u8.s32 r|cvt.sat.s16.u64 d|cvt.rn.f32.u64 d
cvt.rz.f16.s32 r|cvt.rp.bf16.f32 r|cvt.rzi.s32.f32 r|cvt.rni.u64.f64 d|cvt.rmi.f64.f64 d
cvt.rn.f16x2.f32 rr|cvt.rs.bf16x2.f32 rrr|cvt.rn.satfinite.e4m3x2.f32 rr|cvt.rn.f16x2.e5m2x2 h
cvt.rn.satfinite.e2m1x2.f16x2 r|cvt.rz.ue8m0x2.f32 rr|cvt.rna.tf32.f32 r
cvt.pack.sat.u8.s32.b32 rrr|cvt.rs.satfinite.e3m2x4.f32 rrrrr|cvt.f64.f32 r|cvt.f32.bf16 h
mov.b32 hh|mov.b64 rr|mov.u32 r|vadd.s32.u32.s32.sat rr|vabsdiff.u32.s32.u32.add rrr
vshl.u32.s32.u32.wrap rr|vset.u32.s32.lt rr|vmad.s32.s32.u32.shr7 rrr|vadd4.u32.u32.u32 rrr
vavrg2.s32.s32.u32 rrr|vset4.u32.s32.ge.add rrr|vsub.u32.u32.s32 rr|vmin.s32.s32.s32 rr
vmax.u32.u32.u32 rr|vshr.s32.s32.u32.clamp rr
""".strip()
    .replace("\n", "|")
    .split("|")
)


def source(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    if kind == "i":
        return np.array([rng.integers(0, 256)], np.uint32)
    if kind == "p":
        return rng.random(n) < 0.5
    dtype = DTYPE[kind]
    raw = rng.integers(0, 2**64, n, dtype=np.uint64)
    shift = np.uint64(64 - 8 * np.dtype(dtype).itemsize)
    small = rng.integers(0, 70, n, dtype=np.uint64)
    return np.where(rng.random(n) < 0.7, raw >> shift, small).astype(dtype)


def results(value) -> list[np.ndarray]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("line", OPCODES, ids=lambda t: t.split()[0])
def test_lanes_are_independent(line):
    opcode, kinds = line.split()
    rng = np.random.default_rng(len(line))
    n = 24
    sources = [source(rng, kind, n) for kind in kinds]
    before = [s.copy() for s in sources]
    with np.errstate(all="ignore"):
        f = bind(opcode)
        whole = results(f(*sources))
        assert all((s == b).all() for s, b in zip(sources, before, strict=True))
        assert all(r.shape == (n,) for r in whole)
        for i in range(n):  # one lane alone
            alone = results(f(*(s if k == "i" else s[i : i + 1]
                                for s, k in zip(sources, kinds, strict=True))))
            for r, a in zip(whole, alone, strict=True):
                assert (a.shape, a.dtype) == ((1,), r.dtype)
                assert a[0] == r[i], (opcode, i)
        for k in range(len(kinds)):  # one source that is the same in all lanes
            mixed = [s[:1] if j == k else s for j, s in enumerate(sources)]
            spread = [np.broadcast_to(s, (n,)) if kinds[j] != "i" else s
                      for j, s in enumerate(mixed)]
            for r, want in zip(results(f(*mixed)), results(f(*spread)), strict=True):
                assert (np.broadcast_to(r, (n,)) == want).all(), (opcode, k)


def test_every_row_is_listed():
    """All rows, the SIMD video rows by their scalar namesakes or one of a kind."""
    rows = {line.split(".")[0] for line in OPCODES}
    known = rows | {r.rstrip("24") for r in rows if r[0] == "v"}
    assert {r for r in MEANINGS if r.split(".")[0] not in known} <= {
        f"v{op}{n}" for op in ("add", "sub", "absdiff", "min", "max", "avrg", "set") for n in (2, 4)
    }


def test_bound_and_meanings_agree():
    mods = Mods.parse("fma", ("rn", "f32"))
    a, b, c = (np.array([v], np.float32).view(np.uint32) for v in (1.5, 2.0, 0.25))
    assert bound(mods)(a, b, c) == MEANINGS["fma"](mods, a, b, c)


COUNTS = {**dict.fromkeys(("selp", "slct", "bfe", "fma", "mad", "sad", "mad24", "shf", "prmt"), 3),
          **dict.fromkeys(("fns", "dp4a", "dp2a", "vmad", "addc", "subc"), 3),
          **dict.fromkeys(("bfi", "lop3", "madc"), 4)}
ONE = frozenset(
    (
        *("abs", "neg", "popc", "clz", "bfind", "brev", "not", "cnot", "rcp", "sqrt", "rsqrt"),
        *("sin", "cos", "lg2", "ex2", "tanh", "testp", "mov"),
    )
)
WORDS = (
    *("rn", "rz", "rni", "rs", "lo", "hi", "wide", "sat", "ftz", "cc", "approx", "full", "relu"),
    *("NaN", "abs", "xorsign", "lt", "geu", "and", "or", "l", "r", "clamp", "wrap", "shiftamt"),
    *("finite", "f4e", "pack", "satfinite", "shr7", "po", "add", "normal", "x", ""),
)
PREDICATES = ("addc", "subc", "madc", "selp")


def odd_spelling(rng: random.Random, row: str) -> Mods:
    """A row with words and types at random, the row's own types more often than others."""
    own = sorted(MEANINGS[row].types)
    types = [rng.choice(own if rng.random() < 0.7 else sorted(TYPES))
             for _ in range(rng.choice((MEANINGS[row].count,) * 3 + (0, 1, 2)))]
    words = [rng.choice(WORDS) for _ in range(rng.randrange(4))]
    return Mods.parse(row, (*words, *types))


@pytest.mark.parametrize("row", sorted(r for r in MEANINGS if "." not in r))
def test_any_modifiers_run_or_are_unsupported(row):
    """No spelling, however odd, ends in anything but a result or Unsupported."""
    rng = random.Random(row)
    simd = row[0] == "v" and row[-1] in "24"
    count = 1 if row in ONE else 3 if simd else COUNTS.get(row, 2)
    for _ in range(300):
        mods = odd_spelling(rng, row)
        width = max(16, WIDTH.get(mods.stype, 16))
        if mods.bool_op or mods.type == "pred" or row in PREDICATES or width == 128:
            continue  # these take predicates or pairs of words
        dtype = {16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
        sources = [np.array([rng.getrandbits(width)], dtype) for _ in range(count)]
        with np.errstate(all="ignore"), contextlib.suppress(Unsupported):
            bound(mods)(*sources)


@pytest.mark.parametrize(
    ("spelling", "count"),
    [("add.e4m3", 2), ("popc.u8", 1), ("set.lt.u32", 2), ("shl", 2), ("mul24.u32", 2),
     ("add.u32.u16", 2), ("shf.b32", 3), ("dp2a.u32.u32", 3), ("cvt.u32", 1), ("setp.f32", 2),
     ("fma.rn.b32", 3), ("add.cc.u16x2", 2), ("slct.u32.u32", 3), ("mul.u32", 2)],
)
def test_unsupported_spellings_are_named(spelling, count):
    with pytest.raises(Unsupported, match=spelling.replace(".", r"\.")):
        bind(spelling)(*[np.ones(1, np.uint32)] * count)


def test_modifiers_are_read_in_any_order():
    mods = Mods.parse("cvt", ("f64", "bf16", "rp"))
    assert (mods.type, mods.stype, mods.rnd) == ("f64", "bf16", "rp")
    assert Mods.parse("setp", ("lo", "or", "u32")).cmp == "lo"
    assert Mods.parse("mul", ("lo", "u32")).part == "lo"
    assert Mods.parse("min", ("NaN", "xorsign", "abs", "f32")).nan
    assert mods.spelling == "cvt.f64.bf16.rp"
    assert Mods.parse("prmt", ("b32", "rc16")).flags == {"rc16"}


def test_registers_and_packing():
    assert register("s8") == np.uint16
    assert register("pred") == np.dtype(bool)
    assert register("f16x2") == np.uint32
    word = np.array([0x11223344], np.uint32)
    parts = split(word, "u8", 4)
    assert [int(p[0]) for p in parts] == [0x44, 0x33, 0x22, 0x11]
    assert join(parts, 8, np.uint32).tolist() == word.tolist()
    assert fit(np.array([0xFF80], np.uint16), "s16", np.uint64).tolist() == [2**64 - 128]
    assert fit(np.array([0xFF80], np.uint16), "u16", np.uint32).tolist() == [0xFF80]
    assert fit(np.array([True]), "pred", bool).tolist() == [True]
