"""Warp-wide rows against the pseudocode of the PTX ISA, one lane at a time in Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nvir.interp.meaning import Mods, warp

WARPS = 3


def mods(opcode: str) -> Mods:
    row, *tokens = opcode.split(".")
    return Mods.parse(row, tokens)


def words(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, (WARPS, 32), dtype=np.uint32)


def everywhere(value: int) -> np.ndarray:
    return np.full((WARPS, 32), value, np.uint32)


ALL = np.ones((WARPS, 32), bool)
SOME = np.random.default_rng(7).random((WARPS, 32)) < 0.6


def shfl_oracle(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    bval, cval, seg = b & 31, c & 31, c >> 8 & 31
    top = (lane & seg) | (cval & ~seg)
    low = lane & seg
    j = {
        "up": lane - bval,
        "down": lane + bval,
        "bfly": lane ^ bval,
        "idx": low | (bval & ~seg),
    }[mode]
    ok = j >= top if mode == "up" else j <= top
    return (j if ok else lane), ok


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shfl_clamp_and_segments(mode):
    """Every step and segment size; the clamp of CUDA's __shfl_*_sync for each width, and others."""
    rng = random.Random(mode)
    a = words()
    cases = [((32 - w) << 8) | (0 if mode == "up" else 31) for w in (1, 2, 4, 8, 16, 32)]
    cases += [rng.getrandbits(13) for _ in range(30)]
    for c in cases:
        b = np.random.default_rng(c).integers(0, 64, (WARPS, 32), dtype=np.uint32)
        d, p = warp.shfl(mods(f"shfl.sync.{mode}.b32"), a, b, everywhere(c))
        for w in range(WARPS):
            for lane in range(32):
                j, ok = shfl_oracle(mode, lane, int(b[w, lane]), c)
                assert (d[w, lane], p[w, lane]) == (a[w, j], ok)


def test_shfl_reads_neighbours():
    lanes = np.broadcast_to(np.arange(32, dtype=np.uint32), (WARPS, 32))
    d, p = warp.shfl(mods("shfl.sync.up.b32"), lanes, everywhere(1), everywhere(0))
    assert d[0].tolist() == [0, *range(31)]
    assert p[0].tolist() == [False] + [True] * 31
    d, p = warp.shfl(mods("shfl.sync.idx.b32"), lanes, everywhere(5), everywhere(0x1F))
    assert (d == 5).all()
    assert p.all()


def members(active: np.ndarray, mask: np.ndarray | None, w: int, lane: int) -> list[int]:
    bits = 2**32 - 1 if mask is None else int(mask[w, lane])
    return [j for j in range(32) if active[w, j] and bits >> j & 1]


MASKS = [None, everywhere(0xFFFFFFFF), everywhere(0x00FF00FF), words(3)]


@pytest.mark.parametrize("active", [ALL, SOME])
@pytest.mark.parametrize("mask", MASKS)
def test_vote(active, mask):
    for a in (ALL, ~ALL, words(5) & 1 == 1):
        got = {m: warp.vote(mods(f"vote.sync.{m}.pred"), a, active, mask)
               for m in ("all", "any", "uni", "ballot")}
        for w in range(WARPS):
            for lane in range(32):
                chosen = [bool(a[w, j]) for j in members(active, mask, w, lane)]
                assert got["all"][w, lane] == all(chosen)
                assert got["any"][w, lane] == any(chosen)
                assert got["uni"][w, lane] == (len(set(chosen)) <= 1)
                bits = sum(1 << j for j in members(active, mask, w, lane) if a[w, j])
                assert got["ballot"][w, lane] == bits


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("mask", MASKS)
def test_match(mask, dtype):
    for a in (words(1) % 4, np.zeros((WARPS, 32))):
        a = a.astype(dtype)
        some = warp.match(mods("match.any.sync.b32"), a, SOME, mask)
        every, agree = warp.match(mods("match.all.sync.b32"), a, SOME, mask)
        for w in range(WARPS):
            for lane in range(32):
                group = members(SOME, mask, w, lane)
                assert some[w, lane] == sum(1 << j for j in group if a[w, j] == a[w, lane])
                same = all(a[w, j] == a[w, lane] for j in group)
                assert agree[w, lane] == same
                assert every[w, lane] == (sum(1 << j for j in group) if same else 0)


def reduce(op: str, values: list[int]) -> int:
    out = values[0]
    for v in values[1:]:
        out = {"add": out + v, "and": out & v, "or": out | v, "xor": out ^ v,
               "min": min(out, v), "max": max(out, v)}[op]
    return out % 2**32


@pytest.mark.parametrize(
    "opcode",
    ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32",
     "xor.b32"],
)
@pytest.mark.parametrize("mask", MASKS)
def test_redux(opcode, mask):
    op, type_ = opcode.split(".")
    a = words(9)
    got = warp.redux(mods(f"redux.sync.{opcode}"), a, SOME, mask)
    for w in range(WARPS):
        for lane in range(32):
            values = [int(a[w, j]) for j in members(SOME, mask, w, lane)]
            if type_ == "s32":
                values = [v - 2**32 if v >> 31 else v for v in values]
            if values:
                assert got[w, lane] == reduce(op, values)


def test_redux_of_floats():
    """+0 is above -0; NaN is left out without .NaN, and taints the result with it."""

    def run(opcode, *xs):
        a = np.zeros((1, 32), np.float32)
        a[0, : len(xs)] = xs
        active = np.zeros((1, 32), bool)
        active[0, : len(xs)] = True
        out = warp.redux(mods(f"redux.sync.{opcode}.f32"), a.view(np.uint32), active,
                         np.full((1, 32), 0xFFFFFFFF, np.uint32))
        return int(out[0, 0])

    def bits(x):
        return int(np.float32(x).view(np.uint32))

    assert run("min", 3, -2, 5) == bits(-2)
    assert run("max", 3, -2, 5) == bits(5)
    assert run("max.abs", 3, -7, 5) == bits(7)
    assert run("min", 0.0, -0.0) == bits(-0.0)
    assert run("max", -0.0, 0.0) == 0
    assert run("min", np.nan, 4) == bits(4)
    assert run("max.NaN", np.nan, 4) == 0x7FFFFFFF
    assert run("min.abs.NaN", 4, np.nan, -1) == 0x7FFFFFFF
    assert run("max", np.nan, np.nan) == 0x7FFFFFFF
    assert run("max", -np.inf, -5) == bits(-5)


def test_activemask_and_elect():
    got = warp.activemask(SOME)
    lane, leader = warp.elect(SOME, everywhere(0xFFFFFFF0))
    for w in range(WARPS):
        assert set(got[w].tolist()) == {sum(1 << j for j in range(32) if SOME[w, j])}
        first = min(j for j in range(4, 32) if SOME[w, j])
        assert set(lane[w].tolist()) == {first}
        assert leader[w].tolist() == [j == first for j in range(32)]
