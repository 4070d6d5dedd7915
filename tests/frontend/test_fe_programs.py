"""Programs as trees: what they compute on the interpreter, and libnvvm takes their IR."""

from __future__ import annotations

import numpy as np
import pytest
from fe_judges import accepted, calculated, module_of, run

from nvir.frontend import build as b
from nvir.frontend.tree import types as t

out, i, j, n, x, y, p, q, s, v, w, acc = b.names("out i j n x y p q s v w acc")


def program(*body, params="", types=None, other=(), **attributes):
    return b.unit(
        *other,
        b.kernel("k", "int *out" + params, *body, types=types, **attributes),
        types=types,
    )


def results(*body, count=1, args=(), **given):
    return calculated(program(*body, **given), *args, count=count).tolist()


@pytest.mark.seed("EXP-03", "EXP-04", "EXP-05")
def test_truth_tables():
    body = []
    for k in range(4):
        a, z = k & 1, k >> 1
        body += [b.assign(i, a), b.assign(j, z),
                 b.assign(out[2 * k], b.land(i, j)),
                 b.assign(out[2 * k + 1], b.lor(i, j))]
    made = results(b.let("int i"), b.let("int j"), *body, count=8)
    assert made == [0, 0, 0, 1, 0, 1, 1, 1]


@pytest.mark.seed("EXP-03")
def test_the_right_side_runs_only_where_it_must():
    made = results(
        b.let("int i", 0), b.let("int j", 0),
        b.land(b.inc(i) > 5, b.inc(j)), b.lor(b.land(i, b.lor(0, i)), b.inc(j)),
        b.assign(out[0], i), b.assign(out[1], j), count=2,
    )
    assert made == [1, 0]


@pytest.mark.seed("EXP-06")
def test_ternaries():
    made = results(
        b.let("int i", 3),
        b.assign(out[0], b.cond(i > 2, b.cond(i > 3, 1, 2), 3)),
        b.assign(out[1], b.cond(1, i, b.inc(i))),
        b.assign(out[2], i), count=3,
    )
    assert made == [2, 3, 3]


@pytest.mark.seed("EXP-08")
def test_pointer_arithmetic():
    made = results(
        b.let("double a[8]"), b.let("double *p", b.addr(b.name("a")[6])),
        b.let("double *q", b.name("a") + 2),
        b.assign(out[0], p - q), b.assign(out[1], q - p), b.assign(out[2], b.dec(p) - q),
        b.assign(p, 2, "-="), b.assign(out[3], p - b.name("a")),
        b.assign(out[4], q < p), b.assign(out[5], b.lnot(p)),
        b.assign(out[6], b.addr(q[-1]) == b.addr(b.name("a")[1])),
        count=7,
    )
    assert made == [4, -4, 3, 3, 1, 0, 1]


@pytest.mark.seed("EXP-09", "EXP-10", "EXP-11", "EXP-12")
def test_loops_with_break_and_continue():
    made = results(
        b.let("int acc", 0),
        b.for_(b.let("int i", 0), i < 10, b.inc(i),
               b.if_(i % 2, b.continue_()), b.if_(i == 8, b.break_()), b.assign(acc, i, "+=")),
        b.assign(out[0], acc),
        b.let("int i", 0), b.assign(acc, 0),
        b.while_(1, b.if_(b.inc(i) > 5, b.break_()), b.if_(i == 2, b.continue_()),
                 b.assign(acc, i, "+=")),
        b.assign(out[1], acc), b.assign(i, 9),
        b.do_(i < 5, b.assign(acc, 100, "+="), b.if_(i == 9, b.continue_()), b.inc(acc)),
        b.assign(out[2], acc),
        count=3,
    )
    assert made == [0 + 2 + 4 + 6, 1 + 3 + 4 + 5, 113]


@pytest.mark.seed("EXP-19")
def test_switches_fall_through_and_have_ranges():
    made = results(
        b.for_(b.let("int i", -1), i < 8, b.inc(i),
               b.let("int acc", 0),
               b.switch(i, b.case(0, b.inc(acc)), b.case(1, b.assign(acc, 10, "+=")), b.break_(),
                        b.default(b.assign(acc, 50)), b.break_(),
                        b.case(3, b.assign(acc, 7), last=5)),
               b.assign(out[i + 1], acc)),
        count=9,
    )
    assert made == [50, 11, 10, 50, 7, 7, 7, 50, 50]


@pytest.mark.seed("EXP-19")
def test_goto_makes_loops_and_leaves_them():
    made = results(
        b.let("int i", 0),
        b.label("again", b.inc(i)), b.if_(i < 5, b.goto("again")),
        b.for_(None, None, None, b.for_(None, None, None, b.if_(b.inc(i) > 20, b.goto("out_")))),
        b.label("out_"), b.assign(out[0], i),
    )
    assert made == [21]


@pytest.mark.seed("EXP-19")
def test_a_switch_into_a_loop():
    """Duff's device: cases inside the loop's body."""
    made = results(
        b.let("int n", 3), b.let("int acc", 0),
        b.switch(b.name("m") % 4,
                 b.case(0, b.do_(b.dec(n) > 0, b.inc(acc), b.case(3, b.inc(acc)),
                                 b.case(2, b.inc(acc)), b.case(1, b.inc(acc))))),
        b.assign(out[0], acc),
        params=", int m", args=[np.int32(10)],
    )
    assert made == [2 + 4 + 4]


@pytest.mark.seed("EXP-13")
def test_bit_fields():
    types: dict[str, t.CType] = {}
    b.record("bits", "unsigned a : 3, int c : 5, int : 0, unsigned long d : 40, char e, "
                     "signed char f : 4, unsigned g : 32", types)
    made = results(
        b.let("bits v", b.init(9, -3, 5, 1, -2, 7), types=types),
        b.assign(out[0], v.a), b.assign(out[1], v.c), b.assign(out[2], v.d),
        b.assign(v.d, b.cast("unsigned long", b.u64(1 << 39)) + 3),
        b.assign(out[3], v.d >> 36), b.assign(out[4], v.e), b.assign(out[5], v.f),
        b.assign(out[6], b.assign(v.c, 100)), b.assign(out[7], b.inc(v.a)),
        b.assign(out[8], b.inc(v.a, prefix=False)), b.assign(v.c, 1, "-="),
        b.assign(out[9], v.c), b.assign(out[10], v.g), b.assign(out[11], v.e),
        count=12, types=types,
    )
    assert made == [1, -3, 5, 8, 1, -2, 4, 2, 2, 3, 7, 1]


@pytest.mark.seed("TYP-04", "FN-05", "FN-11")
@pytest.mark.parametrize("policy", ["observed", "documented"])
def test_records_by_value(policy):
    types: dict[str, t.CType] = {}
    b.record("pair", "int a, float b", types)
    b.record("nested", "pair p[2], char tag, double d", types)
    swap = b.function(
        "pair swap", "pair v, int by",
        b.let("pair w", types=types), b.assign(w.a, b.cast("int", v.b) + b.name("by")),
        b.assign(w.b, v.a), b.ret(w), types=types,
    )
    tree = program(
        b.let("pair v", b.init(1, 2.5), types=types),
        b.let("nested n", b.init(tag=b.char(7)), types=types),
        b.assign(n.p[1], b.call("swap", v, 10)),
        b.let("nested m", n, types=types),
        b.assign(out[0], b.name("m").p[1].a), b.assign(out[1], b.name("m").p[1].b),
        b.assign(out[2], b.name("m").tag), b.assign(out[3], b.name("m").p[0].a),
        b.assign(out[4], b.call("swap", b.call("swap", v, 1), 2).a),
        b.assign(out[5], b.cond(v.a, v, b.name("m").p[1]).a),
        b.assign(out[6], b.cond(v.a > 5, v, b.call("swap", v, 40)).a),
        b.let("pair z", b.cond(v.a, b.call("swap", v, 50), v), types=types),
        b.assign(out[7], b.name("z").a),
        types=types, other=[swap],
    )
    made = calculated(tree, count=8, policy=policy).tolist()
    assert made == [12, 1, 7, 0, 3, 1, 42, 52]


def test_unions_share_their_bytes():
    types: dict[str, t.CType] = {}
    b.union("word", "float f, unsigned u, char c[4]", types)
    made = results(
        b.let("word v", b.init(1.0), types=types), b.assign(out[0], v.u >> 23),
        b.let("word w", b.init(u=0x40490FDB), types=types), b.assign(out[1], w.f * 1000),
        b.assign(out[2], v.c[3]), b.assign(w, v), b.assign(out[3], w.f), count=4, types=types,
    )
    assert made == [127, 3141, 63, 1]


def test_conversions_between_numbers():
    made = results(
        b.let("float x", b.name("f")),
        b.assign(out[0], b.cast("int", x * 2)), b.assign(out[1], b.cast("unsigned char", 300)),
        b.assign(out[2], b.cast("char", b.name("i"))), b.assign(out[3], b.cast("bool", x)),
        b.assign(out[4], b.cast("half", x) * b.f16(2)),
        b.assign(out[5], b.cast("long long", b.cast("double", x)) >> 1),
        b.assign(out[6], b.cast("bool", 0.25)), b.assign(out[7], b.cast("short", b.name("i"))),
        b.assign(out[8], -b.cast("unsigned char", b.name("i"))),
        b.assign(out[9], b.cast("unsigned", x) / 2),
        params=", float f, int i", args=[np.float32(-3.75), np.int32(200)], count=10,
    )
    assert made[:9] == [-7, 44, -56, 1, -7, -2, 1, 200, -200]


@pytest.mark.seed("GLB-01", "GLB-06")
def test_variables_of_every_memory():
    table = b.variable("int table[5]", b.init(1, 2, (4, 9)), memory="constant")
    counter = b.variable("int counter", 5, memory="device")
    at = b.variable("int *at", b.addr(b.name("table")[4]), memory="device")
    text = b.variable("char text[]", "hey", memory="device")
    made = results(
        b.let("int tile[8]", memory="shared"), b.let("int seen", storage="static", init=3),
        b.assign(b.name("tile")[b.threadIdx.x], b.name("table")[1]),
        b.assign(out[0], b.name("tile")[0]), b.assign(out[1], b.inc(b.name("counter"))),
        b.assign(out[2], b.deref(b.name("at"))), b.assign(out[3], b.name("text")[1]),
        b.assign(out[4], b.name("seen")), b.assign(out[5], b.E(b.expr("abc"))[2]),
        b.assign(out[6], b.sizeof(b.name("text"))),
        count=7, other=[table, counter, at, text],
    )
    assert made == [2, 6, 9, ord("e"), 3, ord("c"), 4]


def test_dynamic_shared_memory():
    tree = program(
        b.let("int dyn[]", memory="shared", storage="extern"),
        b.assign(b.name("dyn")[b.threadIdx.x], b.threadIdx.x * 2),
        b.call("__syncthreads"),
        b.assign(out[b.threadIdx.x], b.name("dyn")[31 - b.threadIdx.x]),
    )
    module = module_of(tree)
    got = np.zeros(32, np.int32)
    run(module, "k", [got], dynamic_smem=128)
    assert got.tolist() == [2 * (31 - k) for k in range(32)]
    accepted(module)


@pytest.mark.seed("SPV-03")
def test_special_variables_as_a_whole():
    types: dict[str, t.CType] = {}
    tree = program(
        b.let("dim3 v", b.blockDim), b.let("uint3 w", b.threadIdx),
        b.if_(b.land(w.x == 1, w.y == 2),
              b.assign(out[0], v.x * 100 + v.y * 10 + v.z), b.assign(out[1], b.warpSize),
              b.assign(out[2], b.gridDim.x + b.blockIdx.z)),
        types=types,
    )
    module = module_of(tree)
    got = np.zeros(3, np.int32)
    run(module, "k", [got], grid=(2, 1, 1), block=(4, 3, 2))
    assert got.tolist() == [432, 32, 2]
    accepted(module)


def test_references_and_compound_assignment():
    bump = b.function("void bump", [(t.Reference(t.INT), "r"), "int by"],
                      b.assign(b.name("r"), b.name("by"), "+="))
    pick = b.d.Function(
        "pick", result=t.Reference(t.INT), params=(b.d.Parameter("p", t.Pointer(t.INT)),),
        body=b.block(b.ret(p[1])),
    )
    made = results(
        b.let("int a[2]", b.init(1, 2)), b.let("int &r", b.name("a")[1]),
        b.call("bump", b.name("r"), 5), b.call("bump", b.name("a")[0], 7),
        b.assign(out[0], b.name("a")[0]), b.assign(out[1], b.name("a")[1]),
        b.assign(b.call("pick", b.name("a")), 3, "*="), b.assign(out[2], b.name("r")),
        b.let("unsigned char c", 250), b.assign(b.name("c"), 10, "+="),
        b.assign(out[3], b.name("c")), b.let("int s", -7), b.assign(s, 2, "/="),
        b.assign(out[4], s), b.assign(s, 1, "<<="), b.assign(out[5], s),
        b.assign(s, 1.9, "*="), b.assign(out[6], s), count=7, other=[bump, pick],
    )
    assert made == [8, 7, 21, 4, -3, -6, -11]


def test_function_pointers_and_recursion():
    fact = b.function("int fact", "int n", b.ret(b.cond(n < 2, 1, n * b.call("fact", n - 1))))
    twice = b.function("int twice", "int n", b.ret(2 * n))
    made = results(
        b.let("int (*f)(int)", b.cond(out[0] == 0, b.name("fact"), b.name("twice"))),
        b.assign(out[0], b.call("f", 5)),
        b.assign(b.name("f"), b.addr(b.name("twice"))),
        b.assign(out[1], b.E(b.expr(b.deref(b.name("f"))))(21)),
        count=2, other=[fact, twice],
    )
    assert made == [120, 42]


def test_initialisers_with_gaps_and_many_items():
    made = results(
        b.let("int a[40]", b.init(*range(1, 31))), b.let("int c[6]", b.init((2, 5), n)),
        b.let("int z[3]", b.init()), b.let("char t[5]", "ab"),
        b.assign(out[0], b.name("a")[29] + b.name("a")[30]), b.assign(out[1], b.name("c")[2]),
        b.assign(out[2], b.name("c")[3]), b.assign(out[3], b.name("c")[5] + b.name("z")[2]),
        b.assign(out[4], b.name("t")[1] + b.name("t")[4]),
        b.assign(out[5], b.compound("float4", 1.0, 2.0).y), count=6,
        params=", int n", args=[np.int32(11)],
    )
    assert made == [30, 5, 11, 0, ord("b"), 2]


def test_statement_expressions_and_temporaries():
    made = results(
        b.assign(out[0], b.statement_expr(b.let("int i", 4), b.while_(i < 9, b.inc(i)), i) + 1),
        b.assign(out[1], b.deref(b.addr(b.temporary(b.f32(2.5)))) * 2),
        b.assign(out[2], b.comma(b.assign(out[0], 1, "+="), out[0])), count=3,
    )
    assert made == [11, 5, 11]


@pytest.mark.seed("EXP-20")
def test_volatile_accesses_stay_volatile():
    tree = program(
        b.let("volatile int i", 1), b.assign(i, 2), b.stmt(i),
        b.let("volatile int *p", b.addr(i)), b.assign(p[0], 3, "+="),
        b.assign(out[0], i),
    )
    module = module_of(tree)
    forms = [x.form.spelling for x in module["k"].instructions()]
    assert forms.count("load volatile") == 3
    assert forms.count("store volatile") == 3
    accepted(module)


def test_vectors_of_cuda():
    tree = b.unit(
        b.kernel("k", "float4 *out, const float4 *x, float a",
                 b.let("float4 v", x[b.threadIdx.x]), b.assign(v.x, b.name("a"), "*="),
                 b.assign(out[b.threadIdx.x], v)),
    )
    module = module_of(tree)
    data = np.arange(128, dtype=np.float32)
    got = np.zeros(128, np.float32)
    run(module, "k", [got, data, np.float32(2)])
    expected = data.reshape(-1, 4).copy()
    expected[:, 0] *= 2
    assert (got.reshape(-1, 4) == expected).all()
    accepted(module)


def test_cleanups_run_at_every_way_out():
    """Destructors: at the end of a scope, at break, continue and return, innermost first."""
    note = b.function("void note", "int *out, int what",
                      b.assign(out[0], out[0] * 10 + b.name("what")))
    inner = b.function(
        "int inner", "int *out, int n",
        b.let("int first", 0, cleanup=b.call("note", out, 1)),
        b.for_(b.let("int i", 0), i < 3, b.inc(i),
               b.let("int second", 0, cleanup=b.call("note", out, 2)),
               b.if_(i == n, b.ret(i)), b.if_(i == 0, b.continue_())),
        b.ret(9),
    )
    made = results(b.assign(out[1], b.call("inner", out, 1)), count=2, other=[note, inner])
    assert made == [221, 1]


def test_cleanups_run_where_goto_leaves_their_scopes():
    note = b.function("void note", "int *out, int what",
                      b.assign(out[0], out[0] * 10 + b.name("what")))
    made = results(
        b.let("int first", 0, cleanup=b.call("note", out, 1)), b.let("int i", 0),
        b.label("again"),
        b.block(
            b.let("int second", 0, cleanup=b.call("note", out, 2)),
            b.if_(b.inc(i) < 3, b.goto("again")),
            b.block(b.let("int third", 0, cleanup=b.call("note", out, 3)), b.goto("out_")),
        ),
        b.label("out_", b.call("note", out, 4)), other=[note],
    )
    assert made == [223241]
