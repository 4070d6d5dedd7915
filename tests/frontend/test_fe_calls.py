"""Calls: the phases, the ABI on both sides, what is said of a call; printf."""

from __future__ import annotations

import numpy as np
import pytest
from fe_judges import accepted, calculated, module_of, run

import nvir
from nvir.frontend import build as b
from nvir.frontend.check import TreeError, check
from nvir.frontend.irgen import IRGenError, Options, abi, calls
from nvir.frontend.irgen.abi import Kind, classify
from nvir.frontend.irgen.calls import is_special_intrinsic
from nvir.frontend.irgen.function_symbols import function_symbol
from nvir.frontend.irgen.functions import emit_function
from nvir.frontend.irgen.state import ModuleState
from nvir.frontend.irgen.types import Types
from nvir.frontend.tree import declarations as d
from nvir.frontend.tree import types as t
from nvir.ir.errors import NvirError
from nvir.ir.text.trace import Trace
from nvir.passes.select import select_module

out, v, w, n, f = b.names("out v w n f")


def record_of(size, align=None):
    """A record of `size` bytes: of 8-byte members, or of the given alignment's."""
    kind = {1: t.CHAR, 2: t.SHORT, 4: t.INT, 8: t.LONG}[align or 8]
    count = size // (align or 8)
    return b.record(f"r{size}_{align}", [t.Field(f"m{k}", kind) for k in range(count)])


def kernel_with(*body, others=(), types=None, **options):
    tree = b.unit(*others, b.kernel("k", "int *out, int n", *body, types=types), types=types)
    return module_of(tree, **options)


def calls_in(module, name="k"):
    return [i for i in module[name].instructions() if i.form.is_call]


def emitted(unit, name="k", **options):
    """The state of a function's generation."""
    unit = check(unit)
    shared = ModuleState(unit, Options(**options))
    for g in unit.functions:
        shared.by_name[g.symbol] = g
    decl = next(g for g in unit.functions if g.name == name)
    symbol = function_symbol(shared, decl)
    return emit_function(shared, decl, symbol, shared.abis[decl])


# ------------------------------------------------------------------ the phases


@pytest.mark.seed("CAL-01")
@pytest.mark.parametrize(("callee", "message"), [
    (b.E(b.x.IntLiteral(3)), "Expected pointer to function!"),
    (b.cast("int *", 0), "unexpected: Callee does not have routine type!"),
])
def test_what_cannot_be_called(callee, message):
    tree = b.unit(b.kernel("k", "int *out", b.call(callee)))
    with pytest.raises(TreeError, match=message) as raised:
        check(tree)
    assert "test_fe_calls.py" in str(raised.value)
    checked = callee.node
    checked.type = t.INT if "pointer" in message.split("!")[0] else t.Pointer(t.INT)
    with pytest.raises(IRGenError, match=message):
        calls.callee_type(checked)


@pytest.mark.seed("CAL-03")
def test_the_special_intrinsics_bypass_the_abi():
    found = [k for k in range(10200, 15800) if is_special_intrinsic(k)]
    assert found == [10214, 10219, 10227, 15752]
    special = b.function("int warp_thing", "int a", intrinsic=10219)
    with Trace() as trace:
        state = emitted(b.unit(special, b.kernel("k", "int *out", b.assign(
            out[0], b.call("warp_thing", 3)))))
    assert state.events == ["type", "special"]
    assert [e.row for e in trace][-6:-2] == ["CAL-01", "CAL-02", "CAL-03", "CAL-03"]
    other = b.function("int warp_thing", "int a", intrinsic=10220)
    state = emitted(b.unit(other, b.kernel("k", "int *out", b.assign(
        out[0], b.call("warp_thing", 3)))))
    assert "classify" in state.events
    assert state.events[-1] == "return"


@pytest.mark.seed("CAL-17")
def test_the_phases_run_in_order():
    types: dict[str, t.CType] = {}
    b.record("big", "int a[9]", types)
    callee = b.function("big make", "big v", b.ret(v), types=types)
    unit = b.unit(callee, b.kernel(
        "k", "int *out", b.let("big w", types=types),
        b.assign(w, b.call("make", w, reversed_order=True)), types=types), types=types)
    state = emitted(unit, policy="documented")
    assert state.events == [
        "type", "callee", "args", "reverse", "classify", "sret", "fixup", "fold", "debugloc",
        "bundle", "emit", "attributes", "return",
    ]


@pytest.mark.seed("CAL-02")
def test_a_builtin_leaves_an_object_in_a_temporary():
    state = emitted(b.unit(b.kernel("k", "float4 *out", b.assign(
        out[0], b.call("__ldg", out + 1)))))
    assert state.events == ["type", "builtin", "args"]
    assert "agg.tmp" in [i.name for i in state.function.instructions()]


@pytest.mark.seed("CAL-04", "GAP-32")
def test_arguments_may_be_evaluated_from_right_to_left():
    note = b.function("int note", "int *out, int digit",
                      b.assign(out[0], out[0] * 10 + b.name("digit")), b.ret(b.name("digit")))
    sub = b.function("int sub", "int a, int c", b.ret(b.name("a") * 100 + b.name("c")))

    def result(reverse):
        tree = b.unit(note, sub, b.kernel("k", "int *out", b.assign(out[1], b.call(
            "sub", b.call("note", out, 1), b.call("note", out, 2), reversed_order=reverse))))
        return calculated(tree, count=2).tolist()

    assert result(False) == [12, 102]
    assert result(True) == [21, 102]


@pytest.mark.seed("CAL-04")
def test_the_notes_evaluate_variadic_calls_from_right_to_left():
    kernel = b.kernel("k", "int *out, int n", b.expr(b.call(
        "printf", "%d %d", b.call("g", 1), b.call("g", 2))))
    for policy, order in (("observed", [1, 2]), ("documented", [2, 1])):
        with Trace() as trace:
            state = emitted(b.unit(b.function("int g", "int a", b.ret(b.name("a"))), kernel),
                            policy=policy)
        calls = [i.operands[0].value for i in state.function.instructions()
                 if i.form.is_call and i.aux.callee.name == "g"]
        assert calls == order
        assert [e.inputs["reverse"] for e in trace.of("CAL-04")].count(True) == (
            policy == "documented")


# --------------------------------------------------------------------- the ABI


@pytest.mark.seed("CAL-05", "GAP-31")
def test_kinds_by_type():
    types = Types()
    many, pair, kernel_arg = record_of(32), record_of(16), record_of(16)
    for policy in ("observed", "documented"):
        def kind(of, kernel=False, parameter=None, policy=policy):
            return abi.classify_param(types, of, policy, kernel, parameter).kind

        assert [kind(of) for of in (t.INT, t.FLOAT, t.Pointer(t.INT))] == [Kind.DIRECT] * 3
        constant = d.Parameter("p", kernel_arg, grid_constant=True)
        assert kind(kernel_arg, True, constant) is Kind.BYVAL
        small, large = (Kind.COERCE, Kind.BYVAL) if policy == "documented" else (Kind.DIRECT,) * 2
        assert (kind(pair), kind(many)) == (small, large)
    assert [int(k) for k in (Kind.DIRECT, Kind.INDIRECT, Kind.BYVAL, Kind.COERCE)] == [0, 1, 2, 3]


VALUE, PIECES = "DIRECT {ir}", "COERCE"
COPY, PLACE = "BYVAL ptr byval align", "BYVAL ptr sret align"
CONSTANT = COPY + " nvvm.grid_constant"


@pytest.mark.seed("CAL-05", "CAL-13")
@pytest.mark.parametrize(("of", "policy", "ways"), [
    (t.CHAR, "both", [VALUE + " signext"] * 5), (t.USHORT, "both", [VALUE + " zeroext"] * 5),
    (t.HALF, "both", [VALUE] * 5), (t.INT, "both", [VALUE] * 5),
    (record_of(16), "observed", [VALUE, VALUE, COPY, VALUE, CONSTANT]),
    (record_of(16), "documented", [PIECES, PIECES, COPY, COPY, CONSTANT]),
    (record_of(24), "documented", [PLACE, COPY, COPY, COPY, CONSTANT]),
])
def test_every_way_that_a_type_travels(of, policy, ways):
    """As a result, a parameter, a constant one, and as both of a kernel: kind, type, attributes. A
    call through a pointer takes the way that the function does."""
    types = Types()
    one, two = d.Parameter("p", of), d.Parameter("c", of, grid_constant=True)
    f = d.Function("f", result=of, params=(one, two))
    k = d.Function("k", result=t.VOID, params=(one, two), attributes=d.Attributes(kernel=True))
    for p in ("observed", "documented") if policy == "both" else (policy,):
        made, kernel = classify(types, f, p), classify(types, k, p)
        through = classify(types, f.type, p)
        assert (through.result, through.params[0], kernel.result) == (
            made.result, made.params[0], None)
        found = [" ".join([x.kind.name, "" if x.kind is Kind.COERCE else str(x.ir),
                           *(a if isinstance(a, str) else a[0] for a in x.attributes)]).strip()
                 for x in (made.result, *made.params, *kernel.params)]
        assert found == [w.format(ir=types.memory(of)) for w in ways]


@pytest.mark.seed("CAL-05", "CAL-08")
@pytest.mark.parametrize(("size", "want"), [
    (1, "i8"), (2, "i16"), (3, "{i8, i8, i8}"), (4, "i32"), (6, "{i16, i16, i16}"), (8, "i64"),
    (12, "{i32, i32, i32}"), (16, "{i64, i64}"), (17, None), (20, None), (0, None),
])
def test_integers_that_a_size_class_travels_as(size, want):
    made = abi.coerced(size)
    assert (made is None and want is None) or str(made).replace(" ", "") == want.replace(" ", "")


@pytest.mark.seed("CAL-06")
def test_a_scalar_is_never_passed_indirectly():
    tree = b.unit(b.function("void g", "int a", b.block()),
                  b.kernel("k", "int *out", b.call("g", 1)))
    forced = abi.classify_param
    try:
        abi.classify_param = lambda types, of, *rest: abi.Passing(
            of, Kind.INDIRECT, abi.pointer())
        with pytest.raises(IRGenError, match="Non-aggregate arguments passed indirectly are not "
                                             "supported!"):
            module_of(tree)
    finally:
        abi.classify_param = forced


SIZES = [(1, 1), (3, 1), (6, 2), (8, 4), (8, 8), (12, 4), (16, 1), (16, 4), (16, 8), (36, 4),
         (160, 8)]


@pytest.mark.seed("CAL-06", "CAL-07", "CAL-08", "CAL-15", "GAP-31")
@pytest.mark.parametrize("policy", ["observed", "documented"])
@pytest.mark.parametrize(("size", "align"), SIZES)
def test_objects_of_every_size_go_there_and_back(size, align, policy):
    """The callee changes its own copy and returns it; the caller's stays."""
    r = record_of(size, align)
    count = size // align
    last = f"m{count - 1}"
    change = d.Function("change", result=r, params=(d.Parameter("v", r), d.Parameter("n", t.INT)),
                        body=b.block(b.assign(getattr(v, last), n, "+="), b.ret(v)))
    tree = b.unit(change, b.kernel(
        "k", "int *out, int n", b.let((r, "w"), b.init(*range(1, count + 1))),
        b.let((r, "v"), b.call("change", w, 5)),
        b.assign(out[0], getattr(v, last)), b.assign(out[1], getattr(w, last)),
        b.assign(out[2], b.call("change", b.call("change", w, 1), 2).m0)))
    module = module_of(tree, policy=policy)
    first = np.zeros(3, np.int32)
    run(module, "k", [first, np.int32(0)], block=1)
    made = first.tolist()
    assert made == [count + 5, count, 1 + 3 * (count == 1)]
    if size in (3, 8, 16, 160):
        accepted(module)
    nvir.run_passes(module, "select", verify=True)
    got = np.zeros(3, np.int32)
    run(module, "k", [got, np.int32(0)], block=1)
    assert got.tolist() == made


@pytest.mark.seed("CAL-07", "CAL-13")
def test_attributes_of_a_call_with_a_hidden_result():
    types: dict[str, t.CType] = {}
    b.record("big", "double a[9]", types)
    make = b.function("big make", "big v", b.ret(v), types=types)
    module = kernel_with(b.let("big w", types=types), b.assign(w, b.call("make", w)),
                         others=[make], types=types, policy="documented")
    (call,) = [i for i in calls_in(module) if i.aux.callee.name == "make"]
    big = module["make"].arguments[0].attributes[0][1]
    assert call.aux.arguments == (
        (("sret", big), ("align", 8)), (("byval", big), ("align", 8)))
    assert [v.name for v in call.operands] == ["tmp", "w"]
    direct = classify(Types(), make, "observed")
    assert not direct.sret


# ------------------------------------------------------------ calls by pointer


@pytest.mark.seed("CAL-13", "CAL-16", "CAL-18")
@pytest.mark.parametrize(("policy", "prototype"), [
    ("observed", "(.param .align 8 .b8 _[72]) _ (.param .align 8 .b8 _[72], .param .b32 _)"),
    ("documented", "() _ (.param .b64 _, .param .align 8 .b8 _[72], .param .b32 _)"),
])
def test_attributes_stand_at_the_arguments_of_a_call_by_pointer(policy, prototype):
    types: dict[str, t.CType] = {}
    b.record("big", "double a[9]", types)
    make = b.function("big make", "big v, short s", b.ret(v), types=types)
    module = kernel_with(
        b.let("big (*f)(big, short)", b.name("make"), types=types),
        b.let("big w", types=types), b.assign(w, b.call(b.name("f"), w, b.cast("short", n))),
        others=[make], types=types, policy=policy)
    (call,) = [i for i in calls_in(module) if i.aux.callee is None]
    words = [a[0][0] if a and isinstance(a[0], tuple) else "".join(a) for a in call.aux.arguments]
    assert words == (["", "signext"] if policy == "observed" else ["sret", "byval", "signext"])
    with Trace() as trace:
        text = nvir.print_ptx(select_module(module))
    assert f".callprototype {prototype};" in text
    assert text.count("cvt.s32.s16") == 1
    (told,) = trace.of("CAL-18")
    assert told.outcome == f".callprototype {prototype}"
    assert told.inputs["callalign"] == list(call.aux.callalign)


@pytest.mark.seed("CAL-18")
def test_a_direct_call_has_no_prototype():
    f = b.function("int f", "int a", b.ret(b.name("a")))
    module = kernel_with(b.let("int r"), b.assign(b.name("r"), b.call("f", n)), others=[f])
    with Trace() as trace:
        text = nvir.print_ptx(select_module(module))
    assert "call.uni" in text
    assert ".callprototype" not in text
    assert not trace.of("CAL-18")


@pytest.mark.seed("CAL-09")
def test_a_cast_to_its_own_type_is_folded():
    g = b.function("int g", "int a", b.ret(b.name("a")))
    same_type = b.E(b.expr(b.cast("int (*)(int)", b.name("g"))))
    module = kernel_with(b.assign(out[0], same_type(3)), others=[g])
    assert calls_in(module)[0].aux.callee is module["g"]
    other = b.E(b.expr(b.cast("unsigned (*)(unsigned)", b.name("g"))))
    module = kernel_with(b.assign(out[0], other(3)), others=[
        b.function("int g", "int a", b.ret(b.name("a")))])
    # one type to LLVM, another to C: LLVM's signature is the same, and the call is direct
    assert calls_in(module)[0].aux.callee is module["g"]
    wide = b.E(b.expr(b.cast("int (*)(long)", b.name("g"))))
    module = kernel_with(b.assign(out[0], wide(3)), others=[
        b.function("int g", "int a", b.ret(b.name("a")))])
    assert calls_in(module)[0].aux.callee is None
    text = nvir.print_ll(module, "llvm7")
    assert "bitcast (i32 (i32)* @g to i32 (i64)*)" in text


@pytest.mark.seed("CAL-10")
def test_a_call_stands_at_its_line():
    g = b.function("int g", "int a", b.ret(b.name("a")))
    call = b.call("g", 1)
    line = call.node.place.line
    module = kernel_with(b.assign(out[0], call), others=[g])
    assert calls_in(module)[0].loc.line == line


@pytest.mark.seed("CAL-12")
@pytest.mark.parametrize(("call", "declared", "kept"), [
    ((-1, -1, -1), (5, -1, 2), (5, -1, 2)), ((-1, 0, -1), (5, -1, 2), (-1, 0, -1)),
    ((1, -1, -1), (-1, -1, -1), (1, -1, -1)), ((0, 0, 0), (5, 5, 5), (0, 0, 0)),
])
def test_what_the_call_says_goes_before_the_declaration(call, declared, kept):
    g = b.function("int g", "int a", b.ret(b.name("a")), preserve=declared)
    for policy, want in (("observed", call), ("documented", kept)):
        module = kernel_with(b.assign(out[0], b.call("g", 1, preserve=call)), others=[g],
                             policy=policy)
        assert calls_in(module)[0].aux.bundles == tuple(
            (tag, n) for tag, n in zip(calls.BUNDLES, want, strict=True) if n >= 0)


@pytest.mark.seed("CAL-12")
@pytest.mark.parametrize(("given", "want"), [
    ((3, -1, 0), (("preserve_n_data", 3), ("preserve_n_after", 0))), ((-1, -1, -1), ()),
    ((1, 2, 3), (("preserve_n_data", 1), ("preserve_n_control", 2), ("preserve_n_after", 3))),
])
def test_bundles(given, want):
    g = b.function("int g", "int a", b.ret(b.name("a")))
    module = kernel_with(b.assign(out[0], b.call("g", 1, preserve=given)), others=[g])
    assert calls_in(module)[0].aux.bundles == want
    text = nvir.print_ll(module, "llvm20")
    for tag, number in want:
        assert f'"{tag}"(i32 {number})' in text
    again = nvir.read_ll(text)
    assert getattr(calls_in(again)[0].aux, "bundles", ()) == want
    accepted(module)


@pytest.mark.seed("CAL-14", "CAL-16", "CAL-18")
def test_calls_by_pointer_say_their_alignments():
    types: dict[str, t.CType] = {}
    b.record("pair", "double a, int c", types)
    g = b.function("int g", "int a, double c, pair p", b.ret(b.name("p").c), types=types)
    nothing = b.function("void h", "", b.block())
    module = kernel_with(
        b.let("pair p", b.init(1.0, 7), types=types),
        b.let("int (*f)(int, double, pair)", b.name("g"), types=types),
        b.assign(out[0], b.call(f, 1, 2.0, b.name("p"))),
        b.assign(out[1], b.call("g", 1, 2.0, b.name("p"))), b.call("h"),
        others=[g, nothing], types=types)
    indirect, direct, silent = calls_in(module)
    assert (indirect.name, direct.name, silent.name) == ("call", "g", None)
    assert indirect.aux.callalign == (4, 4, 8, 8)
    assert direct.aux.callalign == ()
    text = nvir.print_ll(module, "llvm20")
    assert f"!{{i32 4, i32 {1 << 16 | 4}, i32 {2 << 16 | 8}, i32 {3 << 16 | 8}}}" in text
    assert calls_in(nvir.read_ll(text))[0].aux.callalign == (4, 4, 8, 8)
    accepted(module)
    nvir.run_passes(module, "select", verify=True)
    ptx = nvir.print_ptx(module)
    assert ".callprototype (.param .b32 _) _ (.param .b32 _, " in ptx
    assert ".param .align 8 .b8 _[16])" in ptx
    got = np.zeros(2, np.int32)
    run(module, "k", [got, np.int32(0)], block=1)
    assert got.tolist() == [7, 7]


# ----------------------------------------------------------------------- printf


def stores_in(module):
    names = [i.name for i in module["k"].instructions() if i.name]
    return [x.split(".")[0] for x in names]


@pytest.mark.seed("CAL-11")
def test_only_a_direct_call_by_that_name_is_printf():
    declared = b.function("int printf", ["const char *f"], variadic=True)
    state = emitted(b.unit(declared, b.kernel("k", "int *out", b.call("printf", "x"))))
    assert state.events[:6] == ["type", "callee", "args", "classify", "fixup", "fold"]
    assert "printf" in state.events[6:]
    own = b.function("int printf", "int a", b.ret(b.name("a")))
    state = emitted(b.unit(own, b.kernel("k", "int *out", b.assign(out[0], b.call("printf", 1)))))
    assert "printf" not in state.events


@pytest.mark.seed("PRF-01", "PRF-02", "PRF-05", "GAP-35")
def test_calls_of_printf_share_a_declaration_and_a_buffer():
    module = kernel_with(b.call("printf", "%d", n), b.call("printf", "%d %f %d", n, 1.5, n),
                         b.call("printf", "%d", 1))
    assert [g.name for g in module.functions].count("vprintf") == 1
    buffers = [i for i in module["k"].instructions()
               if i.form.name == "alloca" and i.aux[0].name.endswith("x i8]")]
    assert [str(i.aux[0]) for i in buffers] == ["[20 x i8]"]
    assert buffers[0].block is module["k"].entry
    got = run(module, "k", [np.zeros(1, np.int32), np.int32(4)], block=1)
    assert str(got.stdout) in ("44 1.500000 41", "b'44 1.500000 41'")
    accepted(module)


@pytest.mark.seed("PRF-03", "PRF-04", "GAP-35")
def test_arguments_are_promoted_and_aligned():
    module = kernel_with(b.call("printf", "%c %f %d %f", b.cast("char", n), b.f64(2.5), n,
                                b.f32(0.5)))
    geps = [i for i in module["k"].instructions() if (i.name or "").startswith("buf.indexed")]
    assert [int(i.operands[1].value) for i in geps] == [0, 8, 16, 24]
    (vprintf,) = calls_in(module)
    assert vprintf.operands[1].aux[1] == 8


@pytest.mark.seed("PRF-06", "PRF-07", "GAP-35")
def test_the_result_of_printf_and_no_arguments():
    module = kernel_with(b.assign(out[0], b.call("printf", "x") + 1))
    (vprintf,) = calls_in(module)
    assert vprintf.operands[1].value is None
    assert vprintf.type.name == "i32"
    assert vprintf.has_uses
    assert not any(i.form.name == "alloca" and i.name == "tmp"
                   for i in module["k"].instructions())


def test_an_object_is_no_argument_of_printf():
    types: dict[str, t.CType] = {}
    b.record("pair", "int a, int c", types)
    with pytest.raises(IRGenError, match="cannot pass an object to printf"):
        kernel_with(b.let("pair v", types=types), b.call("printf", "%d", v), types=types)


def test_printf_gives_how_many_arguments_it_took():
    """Not how many characters it wrote, which is C's; -1 for a format that is null."""
    i, out, text = b.names("i out text")
    tree = b.unit(b.kernel(
        "k", "int *out, const char *text", b.let("int i", b.threadIdx.x),
        b.assign(out[0], b.call("printf", "nothing %% here\n")),
        b.assign(out[1], b.call("printf", "%d %s %5.1f\n", 7, "seven", 7.0)),
        b.assign(out[2], b.call("printf", "%*d\n", 5, i)),
        b.assign(out[3], b.call("printf", b.cond(i < 0, text, b.cast("const char *", 0)))),
    ))
    for level in ("nvvm", "ori"):
        module = module_of(tree)
        if level == "ori":
            nvir.run_passes(module, "select")
        got = np.zeros(4, np.int32)
        result = run(module, "k", [got, np.zeros(1, np.int8)], block=1)
        assert got.tolist() == [0, 3, 2, -1]
        assert result.stdout == "nothing % here\n7 seven   7.0\n    0\n"


def over_aligned(align, grid_constant=False):
    """An object of more alignment than its members', by value to a kernel and on to a function;
    both say where theirs lies."""
    types: dict[str, t.CType] = {}
    big = b.record("big", "int a, int c, double e[3]", types, align=align)
    place = b.cast("int", b.cast("long", b.addr(v)) % align)
    callee = b.function("int f", "big v", b.ret(place * 1000 + v.a + b.cast("int", v.e[1])),
                        types=types, inline="never")
    params = [d.Parameter("out", b.ctype("int *")), d.Parameter("x", t.CHAR),
              d.Parameter("v", big, grid_constant=grid_constant)]
    return b.unit(callee, b.kernel("k", params, b.assign(out[0], b.call("f", v)),
                                   b.assign(out[1], place + v.c), types=types), types=types)


@pytest.mark.parametrize("policy", ["observed", "documented"])
@pytest.mark.parametrize("grid_constant", [False, True])
@pytest.mark.parametrize("align", [16, 32, 128])
def test_parameters_keep_the_alignment_of_their_record(align, grid_constant, policy):
    """`.param .align 64`, as nvcc has it: the host lays out a kernel's arguments by it."""
    made = module_of(over_aligned(align, grid_constant), policy=policy)
    data = np.zeros(align * -(-32 // align), np.uint8)
    data[:8].view(np.int32)[:] = [3, 4]
    data[8:32].view(np.float64)[:] = [1, 2, 3]
    for level in ("nvvm", "ori"):
        if level == "ori":
            nvir.run_passes(made, "select")
            text = nvir.print_ptx(made)
            assert f".param .align {align} .b8 k_param_2" in text
            assert f".param .align {align} .b8 f_param_0" in text
            assert f".param .align {align} .b8 param0" in text
        got = np.zeros(2, np.int32)
        run(made, "k", [got, np.int8(1), data.tobytes()], block=1)
        assert got.tolist() == [5, 4]


def test_no_parameter_is_aligned_to_more_than_ptx_has():
    with pytest.raises(NvirError, match="a parameter aligned to 256 bytes: PTX has 128 at most"):
        nvir.run_passes(module_of(over_aligned(256)), "select")


def test_calls_through_pointers_align_their_objects_too():
    types: dict[str, t.CType] = {}
    big = b.record("big", "int a, int c", types, align=64)
    callee = b.function("int f", "big v", b.ret(v.a + v.c), types=types, inline="never")
    tree = b.unit(callee, b.kernel(
        "k", "int *out, int n", b.let("int (*p)(big)", b.name("f"), types=types),
        b.let((big, "w"), b.init(n, 2)), b.assign(out[0], b.call(b.name("p"), w)),
        types=types), types=types)
    made = module_of(tree)
    nvir.run_passes(made, "select")
    assert ".callprototype (.param .b32 _) _ (.param .align 64 .b8 _[64])" in nvir.print_ptx(made)
    got = np.zeros(1, np.int32)
    run(made, "k", [got, np.int32(40)], block=1)
    assert got.tolist() == [42]


# ------------------------------------------------------------- single decisions




@pytest.mark.seed("CAL-03")
@pytest.mark.parametrize("intrinsic", [10219, 10227, 10214, 15752])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("result", ["int", "pair", "void"])
def test_what_a_special_intrinsic_takes_and_gives(intrinsic, whole, result):
    """Objects by address, others as they are; an object's place goes first where the intrinsic
    returns in its own way, else what it gives is stored there."""
    types: dict[str, t.CType] = {}
    b.record("pair", "int a, int c", types)
    special = b.function(f"{result} thing", "pair p" if whole else "int p", intrinsic=intrinsic,
                         types=types)
    call = b.call("thing", v if whole else n)
    use = {"int": b.assign(out[0], call), "pair": b.let("pair w", call, types=types),
           "void": call}[result]
    module = kernel_with(b.let("pair v", b.init(1, 2), types=types), use, others=[special],
                         types=types)
    (made,) = [i for i in calls_in(module) if i.aux.callee.name == "thing"]
    own = result == "pair" and intrinsic == 15752
    kinds = (["ptr"] if own else []) + ["ptr" if whole else "i32"]
    assert [x.type.name for x in made.operands] == kinds
    assert [a.type.name for a in module["thing"].arguments] == kinds
    if whole:
        assert made.operands[-1].name == "v"
    if own:
        assert made.operands[0].name == "agg.tmp"
    assert made.type.name == (
        "void" if own or result == "void" else "i32" if result == "int" else made.type.name)
    assert made.name == (None if made.type.name == "void" else "thing")
    stores = [u for u in made.users if u.form.name == "store"]
    if result == "pair" and not own:
        (store,) = stores
        assert (store.operands[1].name, store.aux) == ("agg.tmp", 8)
    else:
        assert len(stores) == (result == "int")
    allocated = [i.name for i in module["k"].instructions() if i.form.name == "alloca"]
    assert ("agg.tmp" in allocated) == (result == "pair")


@pytest.mark.seed("CAL-06", "CAL-08")
def test_a_slot_by_kind():
    """What is passed for a value and for an object, by the kind of the parameter."""
    types: dict[str, t.CType] = {}
    pair = b.record("pair", "int a, int c", types)
    kinds = {}
    kept = calls.classify
    for kind, ir in ((Kind.DIRECT, None), (Kind.INDIRECT, abi.pointer()),
                     (Kind.BYVAL, abi.pointer()), (Kind.COERCE, abi.int_type(64)),
                     ("direct, byval", abi.pointer())):
        g = b.function("void g", "pair p", b.block(), types=types)

        def asked(ts, f, policy, kind=kind, ir=ir):
            byval = kind == "direct, byval"
            one = abi.Passing(pair, Kind.DIRECT if byval else kind, ir or ts.memory(pair), byval)
            return abi.ABI(None, (one,) if getattr(f, "params", ()) else (), False)

        try:
            calls.classify = asked
            unit = b.unit(g, b.kernel("k", "int *out", b.let("pair v", b.init(1, 2), types=types),
                                      b.call("g", v), types=types), types=types)
            state = emitted(unit)
        finally:
            calls.classify = kept
        (call,) = [i for i in state.function.instructions() if i.form.is_call
                   and "g" in (str(i.name), str(getattr(i.aux.callee, "name", "g")))][-1:]
        passed = call.operands[-1]
        kinds[kind] = (passed.form.name, passed.name, passed.aux if passed.form.name == "load"
                       else None)
        copies = [[x.name for x in u.operands[:2]] for u in passed.users if u is not call]
        assert copies == ([["byval-temp", "v"]] if kind == "direct, byval" else copies)
    assert kinds == {
        Kind.DIRECT: ("load", None, 8), Kind.INDIRECT: ("alloca", "v", None),
        Kind.BYVAL: ("alloca", "v", None), Kind.COERCE: ("load", "coerce", 8),
        "direct, byval": ("alloca", "byval-temp", None),
    }


@pytest.mark.seed("CAL-04", "CAL-06")
def test_arguments_without_a_parameter_and_by_reference():
    """More arguments than parameters go as values; a reference takes the address."""
    many = b.function("int many", "int a", b.ret(b.name("a")), variadic=True)
    add = b.function("void add", [d.Parameter("a", t.Reference(t.INT))],
                     b.assign(b.name("a"), b.name("a") + 3))
    module = kernel_with(b.let("int w", 4), b.call("add", w),
                         b.assign(out[0], b.call("many", w, n, b.f64(2.0))), others=[many, add])
    one, other = calls_in(module)
    assert [x.name for x in one.operands] == ["w"]
    assert [x.type.name for x in other.operands] == ["i32", "i32", "double"]
    assert other.aux.callee is module["many"]
    assert other.aux.arguments == ((), (), ())
    got = np.zeros(1, np.int32)
    module = kernel_with(b.let("int w", 4), b.call("add", w), b.assign(out[0], w), others=[
        b.function("void add", [d.Parameter("a", t.Reference(t.INT))],
                   b.assign(b.name("a"), b.name("a") + 3))])
    run(module, "k", [got, np.int32(0)], block=1)
    assert got.tolist() == [7]


@pytest.mark.seed("CAL-09")
@pytest.mark.parametrize(("cast", "args", "direct"), [
    ("int (*)(int)", (3,), True), ("unsigned (*)(unsigned)", (3,), True),
    ("int (*)(long)", (3,), False), ("long (*)(int)", (3,), False),
    ("int (*)(int, int)", (3, 4), False), ("float (*)(int)", (3,), False),
])
def test_a_function_is_called_itself_where_its_signature_is_the_calls(cast, args, direct):
    g = b.function("int g", "int a", b.ret(b.name("a")))
    through = b.E(b.expr(b.cast(cast, b.name("g"))))
    module = kernel_with(b.assign(out[0], through(*args)), others=[g])
    (call,) = calls_in(module)
    assert (call.aux.callee is module["g"]) == direct
    assert len(call.operands) == len(args) + (not direct)
    assert (call.aux.callalign == ()) == direct
    assert call.name == ("g" if direct else "call")


@pytest.mark.seed("CAL-10")
def test_an_object_from_a_call_of_another_line():
    types: dict[str, t.CType] = {}
    b.record("pair", "int a, int c", types)
    make = b.function("pair make", "pair p", b.ret(b.name("p")), types=types)
    call = b.call("make", w)
    line = call.node.place.line
    module = kernel_with(b.let("pair w", types=types), b.let("pair v", call, types=types),
                         others=[make], types=types)
    (made,) = [i for i in calls_in(module) if i.aux.callee.name == "make"]
    assert made.loc.line == line


@pytest.mark.seed("CAL-11")
def test_a_printf_of_the_program_is_called():
    own = b.function("int printf", "int a", b.ret(b.name("a") + 1))
    module = kernel_with(b.assign(out[0], b.call("printf", 4)), others=[own])
    (call,) = calls_in(module)
    assert call.aux.callee is module["printf"]
    got = np.zeros(1, np.int32)
    run(module, "k", [got, np.int32(0)], block=1)
    assert got.tolist() == [5]
    module = kernel_with(b.call("printf", "x"))
    assert [g.name for g in module.functions] == ["k", "vprintf"]


@pytest.mark.seed("CAL-15")
def test_pieces_of_a_result_are_stored_at_their_places():
    types: dict[str, t.CType] = {}
    b.record("three", "short a[3]", types)
    make = b.function("three make", "three p", b.ret(b.name("p")), types=types)
    module = kernel_with(b.let("three w", types=types), b.assign(w, b.call("make", w)),
                         others=[make], types=types, policy="documented")
    made = next(i for i in calls_in(module) if i.aux.callee.name == "make")
    parts = list(made.users)
    assert [(p.form.name, p.aux, p.name.split("~")[0]) for p in parts] == [
        ("extractvalue", (k,), "coerce") for k in range(3)]
    stores = [next(iter(p.users)) for p in parts]
    places = [s.operands[1] for s in stores]
    offsets = [0 if p.form.name == "alloca" else int(p.operands[1].value) for p in places]
    assert (offsets, [s.aux for s in stores]) == ([0, 2, 4], [4, 2, 4])
    assert {p.form.spelling for p in places[1:]} == {"getelementptr inbounds"}
    assert {p.name.split("~")[0] for p in places[1:]} == {"coerce.at"}


@pytest.mark.seed("CAL-16")
def test_a_call_by_pointer_without_a_result_says_no_alignment_of_it():
    nothing = b.function("void g", "int a", b.block())
    module = kernel_with(b.let("void (*f)(int)", b.name("g")), b.call(f, n), others=[nothing])
    (call,) = calls_in(module)
    assert call.aux.callalign == (0, 4)


@pytest.mark.seed("CAL-07", "CAL-15")
@pytest.mark.parametrize(("of", "into", "copied"), [
    ("", "", False), ("", "volatile ", True), ("volatile ", "", True),
    ("volatile ", "volatile ", True),
])
def test_only_a_result_that_nothing_keeps_in_order_is_left_in_place(of, into, copied):
    types: dict[str, t.CType] = {}
    b.record("big", "double a[9]", types)
    make = b.function(f"{of}big make", "", b.let("big v", types=types), b.ret(v), types=types)
    for policy, name in (("documented", "tmp"), ("observed", "agg.tmp")):
        module = kernel_with(b.let(f"{into}big w", b.call("make"), types=types), others=[make],
                             types=types, policy=policy)
        allocas = [i.name for i in module["k"].instructions() if i.form.name == "alloca"]
        assert allocas[-2:] == (["w", name] if copied else ["n.addr", "w"])


@pytest.mark.seed("CAL-07", "CAL-15")
@pytest.mark.parametrize(("policy", "name"), [("documented", "tmp"), ("observed", "agg.tmp")])
def test_the_temporary_of_a_result_that_nobody_places(policy, name):
    types: dict[str, t.CType] = {}
    b.record("big", "double a[9]", types)
    make = b.function("big make", "", b.let("big v", types=types), b.ret(v), types=types)
    module = kernel_with(b.call("make"), others=[make], types=types, policy=policy)
    names = [i.name for i in module["k"].instructions() if i.form.name == "alloca"]
    assert name in names
