"""What the notes read from the fields of a type node has a name in the tree."""

from __future__ import annotations

import pytest

from nvir.frontend import build as b
from nvir.frontend.tree import types as t
from nvir.frontend.tree.layout import layout, size_of


@pytest.mark.seed("TYP-09")
def test_size_bits_flags_and_count_of_a_type_node():
    """+128 bytes, +136 bits, +144 flags (bit 2 bit-field, bit 3 signed), +176 elements."""
    record = b.record("s", "char a, int b : 5, unsigned c : 3, double d[4]")
    a, bits, unsigned, array = record.fields
    assert size_of(record) == 40
    assert [size_of(f.type) for f in record.fields] == [1, 4, 4, 32]
    assert [f.bits for f in record.fields] == [None, 5, 3, None]
    assert [f.bits is not None for f in record.fields] == [False, True, True, False]
    assert [t.is_signed(f.type) for f in (a, bits, unsigned)] == [True, True, False]
    assert t.strip(array.type).count == 4
    assert t.Vector(t.INT, 2).count == 2
    assert t.strip(bits.type).bits == 32
    assert layout(record).size == 40
