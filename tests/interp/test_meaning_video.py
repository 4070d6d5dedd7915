"""The video rows against the pseudocode of PTX ISA 9.7.17 and 9.7.18, in Python integers."""

from __future__ import annotations

import itertools
import random

import attrs
import numpy as np
import pytest

from nvir.interp.meaning import MEANINGS, Mods

PARTS = ["", "b0", "b1", "b2", "b3", "h0", "h1"]


def run(opcode: str, rows, select=("", "", ""), negate=(False, False, False)) -> list[int]:
    row, *tokens = opcode.split(".")
    mods = attrs.evolve(Mods.parse(row, tokens), select=select, negate=negate)
    columns = [np.array(c, np.uint32) for c in zip(*rows, strict=True)]
    return MEANINGS[row](mods, *columns).tolist()


def part_width(part: str) -> int:
    return {"": 32, "b": 8, "h": 16}[part[:1]]


def part(x: int, which: str, sign: str) -> int:
    n = part_width(which)
    v = x >> n * int(which[1:] or 0) & ((1 << n) - 1)
    return v - (1 << n) if sign == "s" and v >> (n - 1) else v


def bounds(n: int, sign: str) -> tuple[int, int]:
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if sign == "s" else (0, (1 << n) - 1)


def sample(count: int, arity: int = 3, seed: int = 0) -> list[tuple[int, ...]]:
    rng = random.Random(seed)
    edges = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
    return [
        tuple(
            rng.choice(edges) if rng.random() < 0.3 else rng.getrandbits(32) for _ in range(arity)
        )
        for _ in range(count)
    ]


PRIMARY = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}


@pytest.mark.parametrize("op", PRIMARY)
def test_scalar(op):
    rng = random.Random(op)
    for _ in range(60):
        d, a, b = (rng.choice("us") for _ in range(3))
        sat = rng.choice(("", ".sat"))
        second = rng.choice(("", ".add", ".min", ".max", "merge"))
        select = (rng.choice(PARTS[1:]) if second == "merge" else "", *rng.choices(PARTS, k=2))
        rows = sample(20, seed=rng.random())
        opcode = f"{op}.{d}32.{a}32.{b}32{sat}{'' if second == 'merge' else second}"
        if second == "":
            rows = [r[:2] for r in rows]
        for row, got in zip(rows, run(opcode, rows, select), strict=True):
            value = PRIMARY[op](part(row[0], select[1], a), part(row[1], select[2], b))
            n = part_width(select[0])
            if sat:
                low, high = bounds(n, d)
                value = min(max(value, low), high)
            if second == "merge":
                shift = n * int(select[0][1:])
                mask = ((1 << n) - 1) << shift
                want = row[2] & ~mask | value << shift & mask
            elif second:
                x, c = part(value & 0xFFFFFFFF, "", d), part(row[2], "", d)
                want = x + c if second == ".add" else (min if second == ".min" else max)(x, c)
            else:
                want = value
            assert got == want % 2**32, f"{opcode} {select} {[hex(v) for v in row]}"


def test_shifts():
    for mode, sign in itertools.product(("clamp", "wrap"), "us"):
        rows = [(a, n) for (a,) in sample(20, 1) for n in (0, 1, 31, 32, 33, 64, 255)]
        left = run(f"vshl.u32.{sign}32.u32.{mode}", rows, ("", "b1", ""))
        right = run(f"vshr.u32.{sign}32.u32.{mode}", rows, ("", "h1", ""))
        for (a, n), x, y in zip(rows, left, right, strict=True):
            k = min(n, 32) if mode == "clamp" else n & 31
            assert x == (part(a, "b1", sign) << k) % 2**32
            assert y == (part(a, "h1", sign) >> k) % 2**32


def test_set():
    rows = sample(60, 2)
    for row, got in zip(rows, run("vset.s32.u32.lt", rows, ("", "b0", "h1")), strict=True):
        assert got == (part(row[0], "b0", "s") < part(row[1], "h1", "u"))
    rows = sample(60)
    for row, got in zip(rows, run("vset.u32.u32.ne.add", rows, ("", "b0", "b3")), strict=True):
        assert got == (row[2] + ((row[0] & 255) != row[1] >> 24)) % 2**32


@pytest.mark.parametrize("scale", ["", ".shr7", ".shr15"])
@pytest.mark.parametrize("sat", ["", ".sat"])
def test_mad(scale, sat):
    shift = int(scale[4:] or 0)
    for a, b, negate in itertools.product("us", "us", itertools.product((False, True), repeat=3)):
        rows = sample(20, seed=3)
        select = ("", "h1", "")
        got = run(f"vmad.s32.{a}32.{b}32{sat}{scale}", rows, select, negate)
        signed = "s" in a + b or negate[0] != negate[1] or negate[2]
        for row, r in zip(rows, got, strict=True):
            product = part(row[0], "h1", a) * part(row[1], "", b)
            c = part(row[2], "", "s" if signed else "u")
            total = (-product if negate[0] != negate[1] else product) + (-c if negate[2] else c)
            total >>= shift
            if sat:
                low, high = bounds(32, "s" if signed else "u")
                total = min(max(total, low), high)
            assert r == total % 2**32


def test_mad_plus_one():
    assert run("vmad.s32.s32.s32.po", [(3, 4, 5)]) == [18]


SIMD = {
    **{f"v{k[1:]}": f for k, f in PRIMARY.items()},
    "vavrg": lambda a, b: (a + b + 1) // 2 if a + b >= 0 else -((-(a + b) + 1) // 2),
}


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("op", SIMD)
def test_simd(op, count):
    """Lanes pick from b:a, unmasked lanes come from c, .add sums the masked lanes into c."""
    rng = random.Random(op)
    n, letter = 32 // count, "h" if count == 2 else "b"
    for _ in range(30):
        d, a, b = (rng.choice("us") for _ in range(3))
        mod = rng.choice(("", ".sat", ".add"))
        pick = ["".join(str(rng.randrange(2 * count)) for _ in range(count)) for _ in range(2)]
        kept = sorted(rng.sample(range(count), rng.randrange(1, count + 1)), reverse=True)
        select = (letter + "".join(map(str, kept)), letter + pick[0], letter + pick[1])
        rows = sample(15, seed=rng.random())
        got = run(f"{op}{count}.{d}32.{a}32.{b}32{mod}", rows, select)
        for row, r in zip(rows, got, strict=True):
            both = row[1] << 32 | row[0]
            values = []
            for i in range(count):
                x, y = (both >> n * int(p[count - 1 - i]) & ((1 << n) - 1) for p in pick)
                x, y = (v - (1 << n) if s == "s" and v >> (n - 1) else v
                        for v, s in ((x, a), (y, b)))
                value = SIMD[op](x, y)
                if mod == ".sat":
                    low, high = bounds(n, d)
                    value = min(max(value, low), high)
                values.append(value)
            want = row[2]
            for i in kept:
                if mod == ".add":
                    want += values[i]
                else:
                    mask = ((1 << n) - 1) << n * i
                    want = want & ~mask | values[i] << n * i & mask
            assert r == want % 2**32, f"{op}{count} {d}{a}{b}{mod} {select}"


def test_simd_defaults_and_set():
    assert run("vadd4.u32.u32.u32", [(0x01020304, 0x10203040, 0)]) == [0x11223344]
    assert run("vset2.u32.u32.lt", [(0x00010005, 0x00020003, 0)]) == [0x00010000]
    assert run("vset4.s32.u32.ge.add", [(0x00FF00FF, 0, 7)]) == [9]
