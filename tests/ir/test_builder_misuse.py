"""What the builder says to code that is wrong: the line that is wrong raises, in plain words."""

from __future__ import annotations

import numpy as np
import pytest

from nvir.ir import Module
from nvir.ir.builder import Builder
from nvir.ir.errors import NvirError, VerifyError
from nvir.ir.verify import verify


@pytest.fixture
def b() -> Builder:
    f = Module("sm_80").kernel("k", [("a", "ptr.global.f32"), ("n", "u32")])
    return Builder(f.block("entry"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b, n: b.add(n, type="s32"), "add.s32 takes 2 operands, 1 given"),
        (lambda b, n: b.add(n, 1, 2, type="s32"), "add.s32 takes 2 operands, 3 given"),
        (lambda b, n: b.min(n, type="f32"), "min.f32 takes 2 to 3 operands, 1 given"),
        (lambda b, n: b.op("st.global.u32", n), "takes 2 to 3 operands, 1 given"),
        (lambda b, n: b.add(n, 1, type="q32"), "type='q32' names no type"),
        (lambda b, n: b.add(n, 1 << 70, type="s32"), "does not fit in 64 bits"),
        (lambda b, n: b.phi("word"), "no type is spelled 'word'"),
        (lambda b, n: b.special("tid.q"), "no special register is named 'tid.q'"),
        (lambda b, n: b.op("addd.s32", 1, 2), "no opcode is spelled 'addd.s32'"),
        (lambda b, n: b.add(1, 2), "give type="),
    ],
)
def test_misuse_is_told_at_once(b, make, message):
    """The call that is wrong raises NvirError with the figures, not the verifier later."""
    with pytest.raises(NvirError, match=message):
        make(b, b.function.params[1])


@pytest.mark.parametrize("x", ["x", None, [object()]])
def test_a_wrong_python_type_is_a_type_error(b, x):
    with pytest.raises(TypeError, match="an operand is a value or a number, not"):
        b.add(x, 1, type="s32")


def test_an_unknown_method_names_near_opcodes(b):
    with pytest.raises(AttributeError, match="no opcode 'addd'; did you mean add"):
        b.addd(1, 2, type="s32")


def test_three_operands_where_the_row_has_three(b):
    """The near miss of the count: an optional operand may be there."""
    n = b.function.params[1]
    assert b.min(n, 1, 2, type="f32").form.n_sources == 3
    assert b.min(n, 1, type="f32").form.n_sources == 2


def test_numpy_scalars_are_numbers(b):
    n = b.function.params[1]
    assert b.add(n, np.int32(-3), type="s32").operands[1].value == b.value(-3).value
    assert b.mul(n, np.float32(0.5), type="f32").operands[1].value == 0x3F000000


@pytest.mark.parametrize("params", [["a"], [("a",)], [("a", 3)], ["ab"]])
def test_parameters_are_pairs_of_names_and_types(params):
    with pytest.raises(TypeError, match="a parameter is a pair such as"):
        Module("sm_80").kernel("k", params)


def test_a_target_is_a_name():
    with pytest.raises(TypeError, match='a name such as "sm_80", not 80'):
        Module(80)


def test_verify_wants_a_module_or_function():
    with pytest.raises(TypeError, match="expected a module or a function, not str"):
        verify("k")


def test_nameless_values_are_shown_by_what_makes_them():
    """A message about a value without a name shows its instruction, not None."""
    m = Module("sm_80")
    g = Builder(m.kernel("g").block("entry"))
    x = g.op("mov.u32", 7)
    g.ret()
    b = Builder(m.kernel("k").block("entry"))
    b.add(x, 1, type="u32")
    b.ret()
    with pytest.raises(VerifyError, match=r"the value of '.*mov\.u32 7' is made in another"):
        verify(m["k"])
