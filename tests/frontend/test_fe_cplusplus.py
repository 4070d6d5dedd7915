"""What C++ adds to trees: bases, methods, references, bool; and the rarer types."""

from __future__ import annotations

import numpy as np
import pytest
from fe_judges import accepted, calculated, module_of, run

from nvir.frontend import build as b
from nvir.frontend.check import TreeError, check
from nvir.frontend.tree import types as t
from nvir.frontend.tree.declarations import Function, Parameter
from nvir.frontend.tree.expressions import Cast, InitList

out, i, n, v, w, p, x = b.names("out i n v w p x")


def results(*body, count=1, args=(), params="", types=None, other=(), cplusplus=True):
    tree = b.unit(
        *other, b.kernel("k", "int *out" + params, *body, types=types), types=types,
        cplusplus=cplusplus,
    )
    return calculated(tree, *args, count=count).tolist()


def test_bases_and_methods():
    types: dict[str, t.CType] = {}
    one = b.record("one", "int a", types, kind="class")
    two = b.record("two", "int z", types, kind="class")
    both = t.Record("both", "class").set_fields([
        t.Field("one", one, base=True), t.Field("two", two, base=True), t.Field("own", t.INT),
    ])
    types["both"] = both
    get = Function("two_get", result=t.INT, params=(Parameter("self", t.Pointer(two), this=True),),
                   body=b.block(b.ret(b.arrow(b.name("self"), "z"))))
    made = results(
        b.let("both v", types=types), b.assign(v.a, 1), b.assign(v.z, 2), b.assign(v.own, 3),
        b.assign(out[0], b.call("two_get", b.addr(v))),
        b.let("two *p", b.addr(v), types=types),
        b.assign(out[1], b.arrow(b.cast("both *", p, types), "own")),
        b.assign(out[2], b.cast("bool", b.cast("both *", p, types) == b.addr(v))),
        b.let("two w", b.cast("two", v, types), types=types), b.assign(out[3], w.z),
        b.assign(out[4], v.a + v.z * 10),
        count=5, types=types, other=[get],
    )
    assert made == [2, 3, 1, 2, 21]


def test_references_to_arrays_and_members():
    types: dict[str, t.CType] = {}
    b.record("holder", [t.Field("r", t.Reference(t.INT)), t.Field("n", t.INT)], types)
    total = b.function(
        "int total", [(t.Reference(t.Array(t.INT, 3)), "a")],
        b.ret(b.name("a")[0] + b.name("a")[1] + b.name("a")[2]),
    )
    made = results(
        b.let("int a[3]", b.init(1, 2, 3)), b.assign(out[0], b.call("total", b.name("a"))),
        b.let("const int &c", 5), b.assign(out[1], b.name("c")),
        b.let("holder v", b.init(b.name("a")[1], 9), types=types), b.assign(v.r, 7),
        b.assign(out[2], b.name("a")[1]), b.assign(out[3], v.n),
        b.let("int &q", b.cond(out[0] > 3, b.name("a")[0], b.name("a")[2])),
        b.assign(b.name("q"), 40), b.assign(out[4], b.name("a")[0]),
        b.assign(b.inc(b.name("a")[2]), 10, "+="), b.assign(out[5], b.name("a")[2]),
        count=6, types=types, other=[total],
    )
    assert made == [6, 5, 7, 9, 40, 14]


def test_bool_is_a_truth_value():
    made = results(
        b.let("bool v", n), b.let("bool w", b.lnot(v)), b.assign(out[0], v), b.assign(out[1], w),
        b.assign(out[2], b.cast("bool", 0.5) + b.cast("bool", 2)),
        b.assign(v, b.land(v, i > 3)), b.assign(out[3], v),
        b.assign(w, 4, "|="), b.assign(out[4], w), b.assign(out[5], b.sizeof(i < 3)),
        b.assign(out[6], b.call("flip", i > 3)), b.let("bool a[3]", b.init(True, False, 7)),
        b.assign(out[7], b.name("a")[0] + b.name("a")[1] * 2 + b.name("a")[2] * 4),
        count=8, params=", int n, int i", args=[np.int32(512), np.int32(4)],
        other=[b.function("bool flip", "bool x", b.ret(b.lnot(x)))],
    )
    assert made == [1, 0, 2, 1, 1, 1, 0, 5]


def test_wide_integers():
    made = results(
        b.let("__int128 v", b.cast("__int128", b.s64(3 << 40)) * b.s64(5 << 40)),
        b.assign(out[0], b.cast("int", v >> 80)), b.assign(out[1], v < 0),
        b.assign(v, -v), b.assign(out[2], b.cast("int", v >> 80)),
        count=3, cplusplus=False,
    )
    assert made == [15, 0, -15]


def test_half_and_bfloat():
    made = results(
        b.let("half v", x), b.let("bfloat16 w", x), b.assign(v, v, "+="),
        b.assign(out[0], b.cast("float", v) * 4), b.assign(out[1], b.cast("float", w) * 8),
        b.assign(out[2], v > b.cast("half", 2)),
        b.assign(out[3], b.cast("float", b.cast("half", w))),
        count=4, params=", float x", args=[np.float32(1.25)],
    )
    assert made == [10, 10, 1, 1]


def test_machine_vectors():
    types: dict[str, t.CType] = {"v4": t.Typedef("v4", t.Vector(t.INT, 4))}
    made = results(
        b.let("v4 v", b.init(1, 2, 3, 4), types=types), b.let("v4 w", v + v * v, types=types),
        b.assign(w.x, 100), b.assign(w[3], 1, "+="),
        *(b.assign(out[k], w[k]) for k in range(4)), b.assign(out[4], v.z - w.y),
        b.assign(v, -v & ~w), b.assign(out[5], v.y),
        count=6, types=types,
    )
    assert made == [100, 6, 12, 21, -3, -2 & ~6]


def test_static_tables_and_constants_of_the_file():
    size = b.variable((t.Qualified(t.INT, const=True), "SIZE"), 6)
    made = results(
        b.let("const float table[3]", b.init(0.5, 1.5, 2.5), storage="static"),
        b.assign(out[0], b.name("table")[i] * 2), b.assign(out[1], b.name("SIZE") * 7),
        count=2, params=", int i", args=[np.int32(2)], other=[size],
    )
    assert made == [5, 42]


def test_pointers_that_know_their_memory():
    tree = b.unit(b.kernel(
        "k", "int *out", b.let("int tile[32]", memory="shared"),
        b.let((t.Pointer(t.INT, "shared"), "p"),
              b.E(Cast(b.expr(b.name("tile")), type=t.Pointer(t.INT, "shared")))),
        b.assign(p[b.threadIdx.x], b.threadIdx.x + 1), b.call("__syncthreads"),
        b.let("int *q", p), b.assign(out[b.threadIdx.x], b.name("q")[31 - b.threadIdx.x]),
    ))
    module = module_of(tree)
    got = np.zeros(32, np.int32)
    run(module, "k", [got])
    assert got.tolist() == list(range(32, 0, -1))
    spaces = {x.operands[1].type.space for x in module["k"].instructions()
              if x.form.name == "store"}
    assert 3 in spaces
    accepted(module)


def test_generic_pointers_do_not_become_special_silently():
    k = b.kernel("k", "int *out", b.let((t.Pointer(t.INT, "shared"), "p"), out))
    with pytest.raises(TreeError, match="the memory that it points to is not known"):
        check(b.unit(k))


def test_a_readers_tree_without_casts_is_completed():
    """What libclang shows has types but hides its implicit casts."""
    f = Function("f", result=t.DOUBLE, params=(Parameter("a", t.INT), Parameter("c", t.CHAR)))
    total = b.name("a") + b.name("c")
    total.node.type = t.INT  # given, as a reader would
    f.body = b.block(b.ret(total))
    k = b.kernel("k", "int *out", b.assign(out[0], b.call("f", 3.9, 300)),
                 b.let((b.ctype("float4"), "v"), b.E(InitList((b.expr(1), b.expr(2))))),
                 b.assign(out[1], v.y))
    tree = b.unit(f, k, cplusplus=True)
    tree.trusted = True
    assert calculated(tree, count=2).tolist() == [47, 2]
