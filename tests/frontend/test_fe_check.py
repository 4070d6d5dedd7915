"""The checker: types, conversions, and the mistakes it tells with their places."""

from __future__ import annotations

import json

import pytest

from nvir.frontend import build as b
from nvir.frontend.check import TreeError, check
from nvir.frontend.check.conversions import promote, usual_arithmetic
from nvir.frontend.check.evaluate import evaluate
from nvir.frontend.tree import expressions as x
from nvir.frontend.tree import types as t
from nvir.frontend.tree.declarations import Variable
from nvir.frontend.tree.json_form import to_json
from nvir.ir.errors import NvirError

PARAMS = "int i, unsigned u, float f, double d, char c, short s, long l, float *p, const int *q"
i, u, f, d, c, s, l_, p, q = b.names("i u f d c s l p q")


def type_of(e, cplusplus=False):
    k = b.kernel("k", PARAMS, b.stmt(e))
    check(b.unit(k, cplusplus=cplusplus))
    return str(k.body.body[0].expr.type)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: i + u, "unsigned int"), (lambda: c + c, "int"), (lambda: s << l_, "int"),
        (lambda: i + f, "float"), (lambda: f * d, "double"), (lambda: l_ + u, "long"),
        (lambda: p + i, "float *"), (lambda: 2 + p, "float *"), (lambda: p - p, "long"),
        (lambda: p[i], "float"), (lambda: b.addr(q[0]), "const int *"), (lambda: -c, "int"),
        (lambda: ~u, "unsigned int"), (lambda: i < u, "int"), (lambda: b.lnot(p), "int"),
        (lambda: b.land(p, f), "int"), (lambda: b.cond(i, u, c), "unsigned int"),
        (lambda: b.cond(i, p, 0), "float *"), (lambda: b.comma(i, f), "float"),
        (lambda: b.assign(c, i), "char"), (lambda: b.assign(p, i, "+="), "float *"),
        (lambda: b.inc(f), "float"), (lambda: b.sizeof("float4"), "unsigned long"),
        (lambda: b.cast("unsigned char", f), "unsigned char"), (lambda: b.deref(q), "const int"),
        (lambda: b.threadIdx.x, "const unsigned int"), (lambda: b.expr("ab"), "char[3]"),
    ],
)
def test_types_of_expressions(make, expected):
    assert type_of(make()) == expected


def test_comparisons_are_bool_in_cplusplus():
    assert type_of(i < u, cplusplus=True) == "bool"
    assert type_of(b.land(i, u), cplusplus=True) == "bool"


def test_common_types():
    pairs = {
        (t.CHAR, t.SHORT): t.INT, (t.UINT, t.LONG): t.LONG, (t.ULONG, t.LONGLONG): t.ULONGLONG,
        (t.HALF, t.FLOAT): t.FLOAT, (t.HALF, t.INT): t.HALF, (t.BOOL, t.BOOL): t.INT,
    }
    for (a, z), expected in pairs.items():
        assert usual_arithmetic(a, z) is expected
        assert usual_arithmetic(z, a) is expected
    assert promote(t.UINT, 5) is t.INT
    assert promote(t.UINT, 32) is t.UINT


def test_operands_are_wrapped_in_casts():
    k = b.kernel("k", PARAMS, b.assign(d, c + f))
    check(b.unit(k))
    assign = k.body.body[0].expr
    assert isinstance(assign.value, x.Cast)
    assert (assign.value.kind, assign.value.implicit) == ("float", True)
    total = assign.value.operand
    assert total.left.kind == "int_to_float"
    assert total.right.name == "f"


def test_checking_twice_changes_nothing():
    types: dict[str, t.CType] = {}
    b.record("r", "int a, unsigned b : 3, unsigned : 4, float w[2]", types)
    k = b.kernel(
        "k", PARAMS,
        b.let("r v", b.init(1, 2, 3.0), types=types),
        b.let("int a[]", b.init(1, (4, 5), 6)),
        b.let("char text[]", "hello"),
        b.assign(d, c + f), b.switch(c, b.case(1, b.break_())), b.assign(i, b.name("v").b),
        b.if_(p, b.ret()),
    )
    tree = b.unit(k)
    check(tree)
    once = json.dumps(to_json(tree))
    check(tree)
    assert json.dumps(to_json(tree)) == once
    sizes = [v.variables[0].type for v in k.body.body[1:3]]
    assert [a.count for a in sizes] == [6, 6]


MISTAKES = [
    (lambda: b.stmt(b.name("nothing")), "use of undeclared name 'nothing'"),
    (lambda: b.stmt(b.assign(p, f)), r"cannot assign 'float' as 'float \*'"),
    (lambda: b.stmt(b.assign(i, p)), "a pointer is no number"),
    (lambda: b.stmt(b.assign(p, q)), r"cannot assign 'const int \*' as 'float \*': it discards"),
    (lambda: b.stmt(b.assign(q[0], 1)), "which is const"),
    (lambda: b.stmt(b.assign(i + 1, 1)), "'=' needs an lvalue"),
    (lambda: b.stmt(f % f), "'%' of 'float' and 'float'"),
    (lambda: b.stmt(p + p), r"'\+' of 'float \*' and 'float \*'"),
    (lambda: b.stmt(b.deref(i)), "'\\*' of a value of type 'int'"),
    (lambda: b.stmt(i.x), "'int' has no members"),
    (lambda: b.stmt(b.threadIdx.w), "no member 'w'"),
    (lambda: b.stmt(i[u]), "indexed by"),
    (lambda: b.stmt(i(1)), "Expected pointer to function!"),
    (lambda: b.stmt(p(1)), "unexpected: Callee does not have routine type!"),
    (lambda: b.stmt(b.cast("float4", i)), "cannot cast 'int' to 'struct float4'"),
    (lambda: b.break_(), "'break' outside"),
    (lambda: b.continue_(), "'continue' outside"),
    (lambda: b.goto("away"), "undeclared label 'away'"),
    (lambda: b.case(1), "'case' outside"),
    (lambda: b.switch(f), "switch on a value of type 'float'"),
    (lambda: b.switch(i, b.case(1), b.case(1)), "case 1 twice"),
    (lambda: b.switch(i, b.case(u)), "no integer constant"),
    (lambda: b.switch(i, b.default(), b.default()), "second 'default'"),
    (lambda: b.ret(1), "returns void, not a value"),
    (lambda: b.let("int i[2]", b.init(1, 2, 3)), "more initialisers"),
    (lambda: b.let("char x[2]", "long"), "4 characters, the array 2"),
    (lambda: b.let("int x[]"), "incomplete"),
    (lambda: b.let("float tile[4]", b.init(1.0), memory="shared"), "cannot have an initialiser"),
    (lambda: b.let("int &r"), "refers to nothing"),
    (lambda: b.let("int &r", i + 1), "must refer to an lvalue"),
    (lambda: b.let("void x"), "of type 'void'"),
    (lambda: b.if_(b.threadIdx, b.ret()), "where a scalar is tested"),
    (lambda: b.stmt(x.Expr()), "unsupported expression!"),
    (lambda: b.block(b.label("a"), b.label("a")), "redefinition of label"),
    (lambda: b.block(b.let("int z"), b.let("float z")), "redefinition of 'z'"),
]


@pytest.mark.seed("EXP-18", "CAL-01", "GLB-05", "DIA-07", "DIA-09")
@pytest.mark.parametrize(("make", "message"), MISTAKES)
def test_mistakes_are_told_with_their_place(make, message):
    tree = b.unit(b.kernel("k", PARAMS, make()))
    with pytest.raises(TreeError, match=message) as caught:
        check(tree)
    first = caught.value.errors[0]
    assert isinstance(caught.value, NvirError)
    if "Expr" not in message and "unsupported expression" not in message:
        assert first.file == "test_fe_check.py"
        assert first.line > 0


def test_all_mistakes_are_told_at_once():
    tree = b.unit(b.kernel("k", PARAMS, b.assign(p, f), b.if_(i, b.stmt(f % f)), b.break_()))
    with pytest.raises(TreeError) as caught:
        check(tree)
    assert len(caught.value.errors) == 3


def test_kernels_return_void():
    with pytest.raises(TreeError, match="must return void"):
        check(b.unit(b.function("int k", "", b.ret(1), kernel=True)))


def test_a_tree_too_deep_is_refused():
    e = i
    for _ in range(5000):
        e = e + 1
    with pytest.raises(TreeError, match="nested deeper"):
        check(b.unit(b.kernel("k", PARAMS, e)))


def test_a_long_sum_is_no_problem():
    e = i
    for _ in range(2000):
        e = e + 1
    check(b.unit(b.kernel("k", PARAMS, e)))


def test_a_trusted_tree_keeps_its_types():
    """What a compiler has checked may hold types and conversions that the rules would not give."""
    e = x.Binary("+", c.node, s.node, type=t.LONG)
    tree = b.unit(b.kernel("k", PARAMS, b.stmt(e), b.assign(p, q)))
    tree.trusted = True
    check(tree)
    assert e.type is t.LONG
    assert e.left.type is t.LONG


def test_braces_may_be_left_out():
    types: dict[str, t.CType] = {}
    b.record("pair", "int a, int b", types)
    k = b.kernel("k", "", b.let("pair v[2]", b.init(1, 2, 3), types=types),
                 b.let("pair w", b.init(b=5), types=types))
    check(b.unit(k))
    first = k.body.body[0].variables[0].init
    assert [[it.value for it in row.items] for row in first.items] == [[1, 2], [3]]
    second = k.body.body[1].variables[0].init
    assert [it and it.value for it in second.items] == [None, 5]


def test_a_constant_is_worked_out_once_and_names_itself_in_vain():
    """Sixty constants, each the sum of the one before it and itself; and two that name each other,
    as a tree may say."""
    kind = t.qualified(t.INT, const=True)
    chain = [x.IntLiteral(1, type=t.INT)]
    for _ in range(60):
        v = Variable("v", kind, chain[-1])
        name = x.Name("v", v, type=kind)
        chain.append(x.Binary("|", name, name, type=t.INT))
    assert evaluate(chain[-1]) == 1
    one, two = Variable("one", kind), Variable("two", kind)
    one.init, two.init = x.Name("two", two, type=kind), x.Name("one", one, type=kind)
    assert evaluate(one.init) is None
