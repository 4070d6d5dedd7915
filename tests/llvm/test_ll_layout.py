"""Sizes, alignments and offsets against LLVM's own, for any type."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvir.ir.errors import Unsupported
from nvir.ir.layout import DATA_LAYOUT, align_of, fields, offset_of, size_of, store_size
from nvir.ir.layout import struct_layout as layout
from nvir.ir.types import (
    DOUBLE,
    FLOAT,
    FP128,
    HALF,
    I8,
    I16,
    I32,
    I64,
    VOID,
    array,
    int_type,
    named_struct,
    pointer,
    struct,
    vector,
)

SCALARS = st.one_of(
    st.integers(1, 300).map(int_type),
    st.sampled_from([HALF, FLOAT, DOUBLE, FP128, pointer(), pointer(3)]),
)
LANES = st.tuples(st.sampled_from([I8, I16, I32, I64, HALF, FLOAT, DOUBLE]), st.integers(1, 17))
LEAVES = st.one_of(SCALARS, LANES.map(lambda x: vector(*x)))
TYPES = st.recursive(
    LEAVES,
    lambda t: st.one_of(
        st.tuples(t, st.integers(0, 5)).map(lambda x: array(*x)),
        st.tuples(st.lists(t, max_size=5), st.booleans()).map(lambda x: struct(*x)),
    ),
    max_leaves=8,
)


def judge(t):
    text = f'target datalayout = "{DATA_LAYOUT}"\n@x = external global {t.name}\n'
    data = llvm.create_target_data(DATA_LAYOUT)
    module = llvm.parse_assembly(text)
    value_type = module.get_global_variable("x").global_value_type
    return data.get_abi_size(value_type), data.get_abi_alignment(value_type)


@settings(max_examples=150)
@given(TYPES)
def test_size_and_alignment_are_llvms(t):
    assert (size_of(t), align_of(t)) == judge(t)


@pytest.mark.seed("STR-03")
def test_nested_struct_and_its_leaves():
    t = struct([I32, struct([FLOAT, DOUBLE]), I16])
    assert layout(t).offsets == (0, 8, 24)
    assert [o for o, _ in fields(t)] == [0, 8, 16, 24]
    assert [e.name for _, e in fields(t)] == ["i32", "float", "double", "i16"]
    assert offset_of(t, (1, 1)) == 16


@pytest.mark.seed("STR-14")
def test_a_struct_has_its_padding():
    assert size_of(struct([I8, I32])) == 8
    assert size_of(struct([I8, I32], packed=True)) == 5


@pytest.mark.seed("STR-13", "GAP-07")
@pytest.mark.parametrize(
    ("t", "bits"),
    [(HALF, 16), (FLOAT, 32), (I64, 64), (DOUBLE, 64), (FP128, 128), (pointer(1), 64),
     (int_type(24), 24)],
)
def test_store_sizes(t, bits):
    assert store_size(t) == bits // 8


def test_what_has_no_place_in_memory():
    for t in (VOID, named_struct("opaque")):
        with pytest.raises(Unsupported):
            size_of(t)


def test_a_named_struct_is_measured_after_its_body_is_known():
    t = named_struct("S")
    with pytest.raises(Unsupported):
        align_of(array(t, 2))
    t.set_body([I64, I8])
    assert (size_of(array(t, 2)), align_of(t)) == (32, 8)
