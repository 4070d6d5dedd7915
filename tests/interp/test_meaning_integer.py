"""Integer and bit rows against Python integers, with every edge case that the PTX ISA names."""

# ruff: noqa: B023 - the lambdas run before their loop goes on
from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from nvir.interp.meaning import MEANINGS, Mods, bind, fit
from nvir.ir.errors import Unsupported

UNSIGNED = {16: np.uint16, 32: np.uint32, 64: np.uint64}
INTS = ["u16", "s16", "u32", "s32", "u64", "s64"]


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def width(type_: str) -> int:
    return int(type_[1:])


def values(bits: int, count: int = 40) -> list[int]:
    rng = random.Random(bits)
    top = 1 << (bits - 1)
    edges = [0, 1, 2, 3, 5, top, top - 1, top + 1, 2 * top - 1, 2 * top - 2, 2 * top // 3, top // 2]
    return edges + [rng.getrandbits(rng.randrange(1, bits + 1)) for _ in range(count - len(edges))]


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


def read(x: int, type_: str) -> int:
    return signed(x, width(type_)) if type_[0] == "s" else x


def columns(rows, bits) -> list[np.ndarray]:
    bits = [bits] * len(rows[0]) if isinstance(bits, int) else bits
    return [np.array(c, UNSIGNED[b]) for c, b in zip(zip(*rows, strict=True), bits, strict=True)]


def check(opcode: str, rows, bits, want, out: int) -> None:
    """Compare `opcode` on rows of raw source bits with `want(*row)`, taken modulo 2^out."""
    got = bind(opcode)(*columns(rows, bits))
    got = got[0] if isinstance(got, tuple) else got
    assert got.dtype.itemsize * 8 == max(out, 16), opcode
    for row, result in zip(rows, got.tolist(), strict=True):
        expected = want(*row) % (1 << out)
        assert result == expected, f"{opcode} {[hex(v) for v in row]}: {result:#x}, {expected:#x}"


def pairs(bits: int) -> list[tuple[int, ...]]:
    return list(itertools.product(values(bits, 30), repeat=2))


def triples(bits: int, last: int | None = None) -> list[tuple[int, ...]]:
    rng = random.Random(bits)
    third = values(last or bits)
    return [(*p, rng.choice(third)) for p in pairs(bits)]


def truncated(x: int, y: int) -> int:
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def div(x: int, y: int) -> int:
    return -1 if y == 0 else truncated(x, y)


def rem(x: int, y: int) -> int:
    return -1 if y == 0 else x - y * truncated(x, y)


BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul.lo": lambda x, y: x * y,
    "div": div,
    "rem": rem,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("type_", INTS)
@pytest.mark.parametrize("op", BINARY)
def test_two_operands(op, type_):
    """Overflow wraps; x / 0 and x % 0 are all ones; INT_MIN / -1 is INT_MIN."""
    n = width(type_)
    check(
        f"{op}.{type_}", pairs(n), n,
        lambda a, b: BINARY[op](read(a, type_), read(b, type_)), n,
    )


@pytest.mark.parametrize("type_", INTS)
def test_products(type_):
    n = width(type_)

    def product(a, b):
        return read(a, type_) * read(b, type_)

    check(f"mul.hi.{type_}", pairs(n), n, lambda a, b: product(a, b) >> n, n)
    check(f"mad.lo.{type_}", triples(n), n, lambda a, b, c: product(a, b) + c, n)
    check(f"mad.hi.{type_}", triples(n), n, lambda a, b, c: (product(a, b) >> n) + c, n)
    check(f"sad.{type_}", triples(n), n,
          lambda a, b, c: c + abs(read(a, type_) - read(b, type_)), n)
    if n < 64:
        check(f"mul.wide.{type_}", pairs(n), n, product, 2 * n)
        check(f"mad.wide.{type_}", triples(n, 2 * n), (n, n, 2 * n),
              lambda a, b, c: product(a, b) + c, 2 * n)


def clamp(x: int, type_: str) -> int:
    n = width(type_)
    low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if type_[0] == "s" else (0, (1 << n) - 1)
    return min(max(x, low), high)


def test_saturation():
    for type_ in ("s32", "u32"):
        check(f"add.sat.{type_}", pairs(32), 32,
              lambda a, b: clamp(read(a, type_) + read(b, type_), type_), 32)
    check("sub.sat.s32", pairs(32), 32,
          lambda a, b: clamp(read(a, "s32") - read(b, "s32"), "s32"), 32)
    check("mad.hi.sat.s32", triples(32), 32,
          lambda a, b, c: clamp((read(a, "s32") * read(b, "s32") >> 32) + read(c, "s32"), "s32"),
          32)
    check("mad24.hi.sat.s32", triples(32), 32,
          lambda a, b, c: clamp(signed(product24(a, b, True) >> 16 & 0xFFFFFFFF, 32)
                                + read(c, "s32"), "s32"), 32)


def product24(a: int, b: int, is_signed: bool) -> int:
    a, b = a & 0xFFFFFF, b & 0xFFFFFF
    return signed(a, 24) * signed(b, 24) if is_signed else a * b


@pytest.mark.parametrize("type_", ["u32", "s32"])
def test_mul24(type_):
    """Only the low 24 bits count; .hi gives bits 47..16."""
    s = type_ == "s32"
    check(f"mul24.lo.{type_}", pairs(32), 32, lambda a, b: product24(a, b, s), 32)
    check(f"mul24.hi.{type_}", pairs(32), 32, lambda a, b: product24(a, b, s) >> 16, 32)
    check(f"mad24.lo.{type_}", triples(32), 32, lambda a, b, c: product24(a, b, s) + c, 32)
    check(f"mad24.hi.{type_}", triples(32), 32, lambda a, b, c: (product24(a, b, s) >> 16) + c, 32)


@pytest.mark.parametrize("n", [32, 64])
def test_carry_chains_add_and_subtract_wide_numbers(n):
    """add.cc, addc.cc, addc and sub.cc, subc.cc, subc on three words each."""
    rng = random.Random(n)
    total = 3 * n
    xs, ys = ([rng.getrandbits(total - 5 * (i % 3)) for i in range(200)] for _ in range(2))
    mask = (1 << n) - 1
    words = [
        [np.array([v >> n * k & mask for v in side], UNSIGNED[n]) for k in range(3)]
        for side in (xs, ys)
    ]
    for op, oracle in (("add", int.__add__), ("sub", int.__sub__)):
        low, cc = bind(f"{op}.cc.u{n}")(words[0][0], words[1][0])
        mid, cc = bind(f"{op}c.cc.s{n}")(words[0][1], words[1][1], cc)
        high = bind(f"{op}c.u{n}")(words[0][2], words[1][2], cc)
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            got = int(low[i]) | int(mid[i]) << n | int(high[i]) << 2 * n
            assert got == oracle(x, y) % (1 << total)


def test_carry_is_no_borrow_after_a_subtraction():
    """sub.cc feeds addc what the hardware does: the carry of a + ~b + 1."""
    five, three = (np.array([v], np.uint32) for v in (5, 3))
    _, cc = bind("sub.cc.u32")(five, three)
    assert cc.tolist() == [True]
    _, cc = bind("sub.cc.u32")(three, five)
    assert cc.tolist() == [False]


def test_extended_multiply_of_the_isa():
    """The 64 by 64 bit product written in section madc of the PTX ISA."""
    rng = random.Random(1)
    xs, ys = ([rng.getrandbits(64) for _ in range(100)] for _ in range(2))
    r4, r5 = (np.array([v >> s & 0xFFFFFFFF for v in xs], np.uint32) for s in (0, 32))
    r6, r7 = (np.array([v >> s & 0xFFFFFFFF for v in ys], np.uint32) for s in (0, 32))
    zero = np.zeros(1, np.uint32)
    r0, r1 = bind("mul.lo.u32")(r4, r6), bind("mul.hi.u32")(r4, r6)
    r1, cc = bind("mad.lo.cc.u32")(r5, r6, r1)
    r2 = bind("madc.hi.u32")(r5, r6, zero, cc)
    r1, cc = bind("mad.lo.cc.u32")(r4, r7, r1)
    r2, cc = bind("madc.hi.cc.u32")(r4, r7, r2, cc)
    r3 = bind("addc.u32")(zero, zero, cc)
    r2, cc = bind("mad.lo.cc.u32")(r5, r7, r2)
    r3 = bind("madc.hi.u32")(r5, r7, r3, cc)
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        assert sum(int(r[i]) << 32 * k for k, r in enumerate((r0, r1, r2, r3))) == x * y


def test_dotted_rows_of_the_opcode_table_are_meanings_too():
    mods = Mods.parse("mad.lo.cc", ("u32",))
    assert mods.cc
    assert mods.part == "lo"
    assert MEANINGS["mad.lo.cc"] is MEANINGS["mad"]


@pytest.mark.parametrize("type_", ["s16", "s32", "s64"])
def test_abs_and_neg(type_):
    n = width(type_)
    rows = [(v,) for v in values(n, 60)]
    check(f"abs.{type_}", rows, n, lambda a: abs(signed(a, n)), n)
    check(f"neg.{type_}", rows, n, lambda a: -a, n)


def test_relu_and_packed_integers():
    check("max.relu.s32", pairs(32), 32, lambda a, b: max(signed(a, 32), signed(b, 32), 0), 32)
    check("min.relu.s32", pairs(32), 32,
          lambda a, b: max(min(signed(a, 32), signed(b, 32)), 0), 32)

    def halves(f):
        def packed(a, b):
            parts = [f(a >> s & 0xFFFF, b >> s & 0xFFFF) & 0xFFFF for s in (0, 16)]
            return parts[0] | parts[1] << 16

        return packed

    check("add.u16x2", pairs(32), 32, halves(lambda a, b: a + b), 32)
    check("min.s16x2", pairs(32), 32, halves(lambda a, b: min(signed(a, 16), signed(b, 16))), 32)
    check("max.u16x2", pairs(32), 32, halves(max), 32)


# --- bits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [32, 64])
def test_counts(n):
    rows = [(v,) for v in values(n, 200)] + [(1 << k,) for k in range(n)]
    check(f"popc.b{n}", rows, n, lambda a: a.bit_count(), 32)
    check(f"clz.b{n}", rows, n, lambda a: n - a.bit_length(), 32)
    check(f"brev.b{n}", rows, n, lambda a: int(f"{a:0{n}b}"[::-1], 2), n)
    for t in ("u", "s"):

        def find(a, t=t):
            if t == "s" and a >> (n - 1):
                a = ~a & ((1 << n) - 1)
            return a.bit_length() - 1

        check(f"bfind.{t}{n}", rows, n, find, 32)
        check(f"bfind.shiftamt.{t}{n}", rows, n,
              lambda a, find=find: n - 1 - find(a) if find(a) >= 0 else -1, 32)


def test_fns():
    """The four examples of the PTX ISA, and its pseudocode on random masks."""
    examples = [(0xAAAAAAAA, 3, 1, 3), (0xAAAAAAAA, 3, -1, 3), (0xAAAAAAAA, 2, 1, 3),
                (0xAAAAAAAA, 2, -1, 1)]
    for mask, base, offset, want in examples:
        check("fns.b32", [(mask, base, offset % 2**32)], 32, lambda *_, w=want: w, 32)

    def oracle(mask, base, offset):
        offset = signed(offset, 32)
        if offset == 0:
            return base if mask >> base & 1 else -1
        pos, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
        while 0 <= pos < 32:
            if mask >> pos & 1:
                if count == 0:
                    return pos
                count -= 1
            pos += step
        return -1

    rng = random.Random(0)
    rows = [(rng.getrandbits(32) & rng.getrandbits(32), rng.randrange(32),
             rng.randrange(-20, 20) % 2**32) for _ in range(800)]
    check("fns.b32", rows, 32, oracle, 32)


AMOUNTS = [0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x7FFFFFFF, 0xFFFFFFFF, 2**16]


@pytest.mark.parametrize("n", [16, 32, 64])
def test_shifts_clamp(n):
    """Amounts beyond the width count as the width: all zeros, or all sign bits."""
    rows = list(itertools.product(values(n, 30), AMOUNTS))
    check(f"shl.b{n}", rows, (n, 32), lambda a, b: a << min(b, n), n)
    check(f"shr.u{n}", rows, (n, 32), lambda a, b: a >> min(b, n), n)
    check(f"shr.b{n}", rows, (n, 32), lambda a, b: a >> min(b, n), n)
    check(f"shr.s{n}", rows, (n, 32), lambda a, b: signed(a, n) >> min(b, n), n)


def test_funnel_shift():
    rows = [(a, b, c) for (a, b), c in itertools.product(pairs(32)[::17], AMOUNTS)]

    def amount(c, mode):
        return min(c, 32) if mode == "clamp" else c & 31

    for mode in ("clamp", "wrap"):
        check(f"shf.l.{mode}.b32", rows, 32,
              lambda a, b, c: (b << 32 | a) << amount(c, mode) >> 32, 32)
        check(f"shf.r.{mode}.b32", rows, 32,
              lambda a, b, c: (b << 32 | a) >> amount(c, mode), 32)


@pytest.mark.parametrize("n", [32, 64])
@pytest.mark.parametrize("sign", "us")
def test_bfe(n, sign):
    """Position and length count modulo 256 (b32); what lies beyond the top is the sign."""
    spots = [0, 1, 5, 31, 32, 33, 63, 64, 100, 255, 256, 257, 2**31]
    rows = list(itertools.product(values(n, 16), spots, spots))

    def oracle(a, b, c):
        pos, length, msb = (b & 255, c & 255, 31) if n == 32 else (b, c, 63)
        sbit = 0 if sign == "u" or length == 0 else a >> min(pos + length - 1, msb) & 1
        return sum(
            (a >> (pos + i) & 1 if i < length and pos + i <= msb else sbit) << i for i in range(n)
        )

    check(f"bfe.{sign}{n}", rows, (n, 32, 32), oracle, n)


@pytest.mark.parametrize("n", [32, 64])
def test_bfi(n):
    spots = [0, 1, 5, 31, 32, 33, 63, 64, 255, 256, 260]
    rows = [(a, b, c, d) for (a, b), c, d in itertools.product(pairs(n)[::83], spots, spots)]

    def oracle(a, b, c, d):
        pos, length = (c & 255, d & 255) if n == 32 else (c, d)
        for i in range(min(length, 64)):
            if pos + i < n:
                b = b & ~(1 << pos + i) | (a >> i & 1) << pos + i
        return b

    check(f"bfi.b{n}", rows, (n, n, 32, 32), oracle, n)


def test_bmsk_and_szext():
    spots = [0, 1, 2, 5, 30, 31, 32, 33, 40, 64, 2**32 - 1]
    rows = list(itertools.product(spots, spots))

    def mask(a, b, mode):
        if mode == "wrap":
            a, b = a & 31, b & 31
        return 0 if a >= 32 else ((1 << min(b, 32)) - 1) << a

    for mode in ("clamp", "wrap"):
        check(f"bmsk.{mode}.b32", rows, 32, lambda a, b: mask(a, b, mode), 32)
        for sign in "us":

            def extend(a, b, mode=mode, sign=sign):
                n = b & 31 if mode == "wrap" else min(b, 32)
                if n == 0:
                    return 0
                field = a & ((1 << n) - 1)
                return signed(field, n) if sign == "s" else field

            rows2 = list(itertools.product(values(32, 20), spots))
            check(f"szext.{mode}.{sign}32", rows2, 32, extend, 32)
    check("bmsk.wrap.b32", [(1, 2)], 32, lambda a, b: 6, 32)
    check("szext.wrap.u32", [(0xFFFFFFFF, 0)], 32, lambda a, b: 0, 32)


def test_prmt():
    """Generic form with sign replication, and the table of the six modes."""
    rng = random.Random(5)
    rows = [tuple(rng.getrandbits(32) for _ in range(3)) for _ in range(300)]

    def source(a, b):
        return [(b << 32 | a) >> 8 * i & 255 for i in range(8)]

    def generic(a, b, c):
        out = 0
        for i in range(4):
            control = c >> 4 * i & 15
            byte = source(a, b)[control & 7]
            if control & 8:
                byte = 255 if byte & 128 else 0
            out |= byte << 8 * i
        return out

    check("prmt.b32", rows, 32, generic, 32)
    table = {  # selections of d.b3 .. d.b0 for c = 0 .. 3
        "f4e": "3210 4321 5432 6543", "b4e": "5670 6701 7012 0123",
        "rc8": "0000 1111 2222 3333", "ecl": "3210 3211 3222 3333",
        "ecr": "0000 1110 2210 3210", "rc16": "1010 3232 1010 3232",
    }
    for mode, text in table.items():

        def pick(a, b, c, text=text):
            return int("".join(f"{source(a, b)[int(d)]:02x}" for d in text.split()[c & 3]), 16)

        check(f"prmt.b32.{mode}", rows, 32, pick, 32)


def test_lop3_all_tables():
    """Bit 4a + 2b + c of the table, for all 256 tables, and the examples of the PTX ISA."""
    a, b, c = (np.array([v], np.uint32) for v in (0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA))
    for lut in range(256):
        got = bind("lop3.b32")(a, b, c, np.array([lut], np.uint32))
        assert got.tolist() == [lut * 0x01010101]
    rng = random.Random(2)
    rows = [tuple(rng.getrandbits(32) for _ in range(3)) for _ in range(50)]
    cols = columns(rows, 32)
    got = bind("lop3.b32")(*cols, np.array([0x1A], np.uint32))
    assert got.tolist() == [((x & y) | z) ^ x for x, y, z in rows]


def test_lop3_with_a_predicate():
    one, zero = np.array([1, 0], np.uint32), np.array([0, 0], np.uint32)
    table = np.array([0xF0], np.uint32)
    for q, want_and, want_or in ((True, [True, False], [True, True]),
                                 (False, [False, False], [True, False])):
        qs = np.array([q])
        assert bind("lop3.and.b32")(one, zero, zero, table, qs)[1].tolist() == want_and
        assert bind("lop3.or.b32")(one, zero, zero, table, qs)[1].tolist() == want_or


@pytest.mark.parametrize("ta", "us")
@pytest.mark.parametrize("tb", "us")
def test_dot_products(ta, tb):
    rng = random.Random(9)
    rows = [tuple(rng.getrandbits(32) for _ in range(3)) for _ in range(200)]
    rows.append((0x80808080, 0x80808080, 0x7FFFFFFF))

    def part(x, i, n, t):
        v = x >> n * i & ((1 << n) - 1)
        return signed(v, n) if t == "s" else v

    def dp4a(a, b, c):
        return c + sum(part(a, i, 8, ta) * part(b, i, 8, tb) for i in range(4))

    check(f"dp4a.{ta}32.{tb}32", rows, 32, dp4a, 32)
    for mode, first in (("lo", 0), ("hi", 2)):

        def dp2a(a, b, c, first=first):
            return c + sum(part(a, i, 16, ta) * part(b, first + i, 8, tb) for i in range(2))

        check(f"dp2a.{mode}.{ta}32.{tb}32", rows, 32, dp2a, 32)


def test_logic():
    check("and.b32", pairs(32), 32, lambda a, b: a & b, 32)
    check("or.b64", pairs(64), 64, lambda a, b: a | b, 64)
    check("xor.b16", pairs(16), 16, lambda a, b: a ^ b, 16)
    rows = [(v,) for v in values(32)]
    check("not.b32", rows, 32, lambda a: ~a, 32)
    check("cnot.b32", rows, 32, lambda a: int(a == 0), 32)
    p, q = np.array([True, True, False]), np.array([True, False, False])
    assert bind("xor.pred")(p, q).tolist() == [False, True, False]
    assert bind("not.pred")(p).tolist() == [False, False, True]


def test_mov_packs_and_unpacks():
    halves = [np.array([v], np.uint16) for v in (0x1111, 0x2222, 0x3333, 0x4444)]
    assert bind("mov.b64")(*halves).tolist() == [0x4444333322221111]
    assert bind("mov.b32")(*halves[:2]).tolist() == [0x22221111]
    word = np.array([0x4444333322221111], np.uint64)
    assert [int(x[0]) for x in bind("mov.b64")(word, results=4)] == [
        0x1111, 0x2222, 0x3333, 0x4444,
    ]
    parts = bind("mov.b64")(word, results=2)
    assert [x.dtype for x in parts] == [np.uint32] * 2
    wide = bind("mov.b128")(word, word + np.uint64(1))
    assert wide.tolist() == [[0x4444333322221111, 0x4444333322221112]]
    assert [int(x[0]) for x in bind("mov.b128")(wide, results=2)] == wide[0].tolist()
    bytes_ = [np.array([v], np.uint16) for v in (0x01, 0x02, 0x03, 0xF4)]
    assert bind("mov.b32")(*bytes_).tolist() == [0xF4030201]


def test_uniform_sources_broadcast():
    assert bind("add.u32")(np.arange(4, dtype=np.uint32), np.array([7], np.uint32)).tolist() == [
        7, 8, 9, 10,
    ]


def test_wider_registers_are_cut_and_extended():
    """PTX's relaxed widths: an s8 result in a 32-bit register extends its sign."""
    got = bind("cvt.s8.s32")(np.array([0xFF, 0x7F, 0x180], np.uint32))
    assert fit(got, "s8", np.uint32).tolist() == [0xFFFFFFFF, 0x7F, 0xFFFFFF80]
    assert fit(bind("cvt.u8.u32")(np.array([0x1FF], np.uint32)), "u8", np.uint64).tolist() == [255]


def test_unsupported_names_the_spelling():
    with pytest.raises(Unsupported, match=r"mul\.wide\.u64"):
        bind("mul.wide.u64")(np.zeros(1, np.uint64), np.zeros(1, np.uint64))
    with pytest.raises(Unsupported, match="bra"):
        bind("bra.uni")
