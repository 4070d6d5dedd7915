"""What atom and red leave in memory."""

from __future__ import annotations

import numpy as np
import pytest

from nvir.interp.meaning import Mods
from nvir.interp.meaning.atomic import atomic, operation
from nvir.ir.errors import Unsupported


def mods(opcode: str) -> Mods:
    row, *tokens = opcode.split(".")
    return Mods.parse(row, tokens)


def one(opcode: str, *values: int, dtype=np.uint32, **options) -> int:
    sources = [np.array([v], dtype) for v in values]
    return int(atomic(mods(opcode), *sources, **options)[0])


def f32(x: float) -> int:
    return int(np.float32(x).view(np.uint32))


def test_integers():
    assert one("atom.global.add.u32", 0xFFFFFFFF, 2) == 1
    assert one("atom.global.add.u64", 2**64 - 1, 2, dtype=np.uint64) == 1
    assert one("red.shared.min.s32", 5, 0xFFFFFFFF) == 0xFFFFFFFF
    assert one("red.shared.min.u32", 5, 0xFFFFFFFF) == 5
    assert one("atom.max.s64", 2**63, 1, dtype=np.uint64) == 1
    assert one("atom.and.b32", 0b1100, 0b1010) == 0b1000
    assert one("atom.or.b32", 0b1100, 0b1010) == 0b1110
    assert one("atom.xor.b32", 0b1100, 0b1010) == 0b0110


def test_inc_and_dec_wrap_at_the_operand():
    """inc: old >= b gives 0; dec: 0 or old > b gives b."""
    assert [one("atom.inc.u32", old, 3) for old in (0, 2, 3, 9)] == [1, 3, 0, 0]
    assert [one("atom.dec.u32", old, 3) for old in (0, 1, 3, 9)] == [3, 0, 2, 3]


def test_exchange_and_compare():
    assert one("atom.exch.b32", 1, 7) == 7
    assert one("atom.cas.b32", 1, 1, 7) == 7
    assert one("atom.cas.b32", 1, 2, 7) == 1
    assert one("atom.relaxed.gpu.cas.b16", 1, 1, 7, dtype=np.uint16) == 7
    old, b, c = (np.array([[1, 2], [3, 4]], np.uint64) + np.uint64(k) for k in (0, 0, 10))
    b[1, 1] = 9  # the upper words differ: no swap
    assert atomic(mods("atom.cas.b128"), old, b, c).tolist() == [[11, 12], [3, 4]]


def test_floats():
    assert one("atom.add.f32", f32(1), f32(2.0**-24)) == f32(1)
    assert one("atom.add.f32", 1, 1) == 2
    assert one("atom.add.f32", 1, 1, flush=True) == 0
    assert one("atom.add.noftz.f16", 1, 1, dtype=np.uint16) == 2
    assert one("red.global.add.noftz.f16x2", 0x3C003C00, 0x40003C00) == 0x42004000
    assert one("red.add.noftz.bf16x2", 0x3F803F80, 0x3F800000) == 0x40003F80
    with np.errstate(all="ignore"):
        assert one("atom.add.f32", f32(np.inf), f32(-np.inf)) == 0x7FFFFFFF
    x, y = (int(np.float64(v).view(np.uint64)) for v in (0.1, 0.2))
    want = int(np.float64(0.1 + 0.2).view(np.uint64))
    assert one("atom.add.f64", x, y, dtype=np.uint64) == want


def test_the_operation_is_found_among_other_modifiers():
    assert operation(mods("atom.acq_rel.cta.shared::cta.min.u64")) == "min"
    with pytest.raises(Unsupported, match=r"atom\.global\.u32"):
        operation(mods("atom.global.u32"))
