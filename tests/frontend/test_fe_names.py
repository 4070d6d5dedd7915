"""The shape of generated functions and the names in them, as the notes have them."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from fe_judges import accepted, module_of

import nvir
from nvir.analysis.callees import callee_name
from nvir.cli import main
from nvir.frontend import build as b
from nvir.frontend.check import check
from nvir.frontend.irgen import IRGenError, Options, generate
from nvir.frontend.irgen import functions as irgen_functions
from nvir.frontend.irgen.abi import ABI, Kind, Passing
from nvir.frontend.irgen.alloca import alloca_align
from nvir.frontend.irgen.function_symbols import function_symbol
from nvir.frontend.irgen.intrinsic.special_variables import TABLE
from nvir.frontend.irgen.metadata import function_annotations
from nvir.frontend.irgen.state import IRGenState, LValue, ModuleState
from nvir.frontend.irgen.types import Types
from nvir.frontend.tree import types as t
from nvir.frontend.tree.declarations import Attributes, Function, LaunchBounds, Parameter, Variable
from nvir.frontend.tree.expressions import Expr
from nvir.frontend.tree.place import Place
from nvir.ir import nvvm
from nvir.ir.nvvm_values import DEBUG_DECLARE
from nvir.ir.text.trace import Trace
from nvir.ir.types import FLOAT, I32, I64, pointer, struct

out, i, j, n, p, q, v = b.names("out i j n p q v")
STEPS = ["type", "metadata", "section", "entry", "allocapt", "return", "retval", "alignment",
         "insertion", "prolog"]


def kernel_of(*body, params="int *out, int i, int j, float *p, float *q", types=None, **options):
    tree = b.unit(b.kernel("k", params, *body, types=types), types=types)
    return module_of(tree, **options)["k"]


def names_in(f):
    return {str(x.name) for x in f.instructions() if x.name}


def blocks_of(f):
    return [str(x.name) for x in f.blocks]


def state_of(f: Function, **options):
    """The state after a function was generated alone."""
    tree = check(b.unit(f))
    shared = ModuleState(tree, Options(**options))
    symbol = function_symbol(shared, f)
    return irgen_functions.emit_function(shared, f, symbol, shared.abis[f])


# ------------------------------------------------------------------- skeleton


@pytest.mark.seed("FN-01", "FN-23")
def test_the_ten_steps_run_in_their_order():
    g = state_of(b.function("int f", "int a", b.ret(b.name("a"))))
    assert g.trace == STEPS
    fields = ("module", "builder", "function", "return_block", "retval", "has_cleanups",
              "in_kernel", "cleanup_stack", "allocapt", "printf_buffer")
    assert all(hasattr(g, field) for field in fields)


@pytest.mark.seed("FN-02", "FN-08", "FN-22", "GAP-52")
def test_all_ways_lead_to_the_return_block():
    f = state_of(b.function("int f", "int a", b.if_(b.name("a"), b.ret(1)), b.ret(2))).function
    assert blocks_of(f) == ["entry", "if.then", "if.end", "return"]
    f.analyze_cfg()
    assert [str(x.name) for x in f.blocks[-1].preds] == ["if.then", "if.end"]
    stores = [x for x in f.instructions() if x.form.name == "store"]
    assert sum(x.operands[1].name == "retval" for x in stores) == 2
    assert [x.form.name for x in f.blocks[-1]] == ["load", "ret"]
    assert sum(x.form.name == "ret" for x in f.instructions()) == 1
    empty = state_of(b.function("void f", "", b.block())).function
    assert [x.form.name for x in empty.instructions()] == ["br", "ret"]


@pytest.mark.seed("FN-03", "FN-04", "EXP-14", "GAP-14")
def test_allocas_stand_before_the_marker():
    def body():
        return b.if_(i, b.let("int deep", 1), b.let("double deeper", 2.0))

    kept = kernel_of(body(), keep_allocapt=True)
    entry = [(x.form.name, x.name) for x in kept.entry]
    k = entry.index(("bitcast", "allocapt"))
    assert {"deep", "deeper"} <= {name for _, name in entry[:k]}
    assert all(form == "alloca" for form, _ in entry[:k])
    assert not any(form == "alloca" for form, _ in entry[k:])
    assert "allocapt" not in names_in(kernel_of(body()))


@pytest.mark.seed("FN-04")
def test_an_alloca_with_a_count_stays_where_it_is():
    f = Function("f", result=t.VOID, body=b.block())
    g = IRGenState(ModuleState(b.unit(f), Options()), f, function_of(f))
    irgen_functions.insert_marker(g)
    counted = g.alloca(t.INT, "many", count=nvvm.const(I32, 4)).pointer
    plain = g.alloca(t.INT, "one").pointer
    assert [x.name for x in g.block] == ["one", "allocapt", "many"]
    assert counted.operands[0].value == 4
    assert plain.aux == (I32, 4)


def function_of(f: Function):
    return function_symbol(ModuleState(b.unit(f), Options()), f)


@pytest.mark.seed("FN-05", "FN-06")
def test_return_slots():
    types: dict[str, t.CType] = {}
    b.record("pair", "int a, double d, long e", types)
    nothing = state_of(b.function("void f", "", b.block()))
    assert (nothing.retval, nothing.return_align) == (None, 0)
    scalar = state_of(b.function("short f", "", b.ret(1)))
    assert (scalar.retval.pointer.name, scalar.return_align) == ("retval", 2)
    make = b.function("pair f", "pair v", b.ret(v), types=types)
    hidden = state_of(make, policy="documented")
    assert hidden.retval.pointer is hidden.function.arguments[0]
    assert hidden.return_align == 8
    assert [a.name for a in hidden.function.arguments] == ["agg.result", "v"]


@pytest.mark.seed("FN-06", "FN-08")
@pytest.mark.parametrize(("result", "ir"), [("bool", "i8"), ("short", "i16"), ("float", "float")])
def test_a_result_is_loaded_as_it_lies_in_memory(result, ir):
    f = state_of(b.function(f"{result} f", "int a", b.ret(b.name("a")))).function
    load, ret = f.blocks[-1]
    assert (load.form.name, str(load.type), load.aux) == ("load", ir, f.entry.first.aux[1])
    assert ret.operands == (load,)


@pytest.mark.seed("FN-07")
def test_a_section_is_kept():
    f = state_of(b.function("void f", "", b.block(), section="hot")).function
    assert f.aux["section"] == "hot"
    plain = state_of(b.function("void f", "", b.block())).function
    assert f.aux["attributes"] == plain.aux["attributes"] != ()
    text = nvir.print_ll(f.module, "llvm20")
    assert ' section "hot" ' in text
    assert nvir.print_ll(nvir.read_ll(text), "llvm20") == text
    assert "section" not in nvir.print_ll(f.module, "llvm7")  # libnvvm refuses it


@pytest.mark.seed("FN-07")
@pytest.mark.parametrize(("words", "section"), [
    ('__attribute__((section(".foo")))', ".foo"), ("__attribute__((noinline))", ""),
    ('[[gnu::section("a b")]]', "a b"),
])
def test_a_source_names_a_section(words, section):
    pytest.importorskip("clang.cindex")
    from nvir.frontend.cuda import Source, read_cuda

    read = read_cuda(Source(f"{words} __device__ void f(int *p) {{ *p = 1; }}\n"
                            "extern \"C\" __global__ void k(int *p) { f(p); }"), "sm_80")[0]
    (f,) = [x for x in read.declarations if x.name == "f"]
    assert f.attributes.section == section
    assert f.attributes.preserve == (-1, -1, -1)


@pytest.mark.seed("FN-07")
@pytest.mark.parametrize(("arch", "kept"), [("sm_90", False), ("sm_100", True)])
def test_a_section_that_libnvvm_refuses_is_left_out_with_a_warning(tmp_path, arch, kept):
    pytest.importorskip("clang.cindex")
    (tmp_path / "k.cu").write_text('__attribute__((section("foo"))) __device__ __noinline__ '
                                   "int f(int a) { return a * 3; }\n"
                                   "__global__ void k(int *p) { p[0] = f(p[1]); }")
    made = CliRunner().invoke(main, ["compile", str(tmp_path / "k.cu"), "--policy", "documented",
                                     "--arch", arch, "--emit", "ll", "-o", "-"])
    assert made.exit_code == 0, made.output
    assert (' section "foo" ' in made.stdout) is kept
    assert ("its section 'foo' is left out" in made.stderr) is not kept


@pytest.mark.seed("ATT-01", "CAL-12")
@pytest.mark.parametrize(("words", "kept"), [
    ("preserve_n_data(3), preserve_n_after(0)", (3, -1, 0)), ("preserve_n_control(2)", (-1, 2, -1)),
    ("noinline", (-1, -1, -1)),
])
def test_a_source_says_what_calls_preserve(words, kept):
    """The declaration does, and under policy documented each call of it by name."""
    pytest.importorskip("clang.cindex")
    from nvir.frontend.cuda import Source, read_cuda

    unit = check(read_cuda(Source(
        f"__attribute__(({words})) __device__ void f(int *p) {{ *p = 1; }}\n"
        "extern \"C\" __global__ void k(int *p) { f(p); }"), "sm_80")[0])
    (f,) = [x for x in unit.declarations if x.name == "f"]
    assert f.attributes.preserve == kept
    for policy in ("observed", "documented"):
        with Trace() as trace:
            generate(unit, Options(policy=policy))
        (made,) = trace.of("CAL-12")
        assert made.inputs["preserve"] == list(kept if policy == "documented" else (-1, -1, -1))
        assert len(made.outcome) == sum(n >= 0 for n in made.inputs["preserve"])


@pytest.mark.seed("FN-21", "GAP-13")
def test_alignments_of_temporaries():
    sizes = ((12, 4), (72, 8), (4096, 8), (32, 32), (1, 4), (0, 4))
    assert [alloca_align(s, a) for s, a in sizes] == [8, 16, 16, 32, 4, 1]
    assert [alloca_align(s, a, literal=True) for s, a in sizes] == [8, 64, 4096, 32, 4, 1]


# --------------------------------------------------------------------- prolog


@pytest.mark.seed("FN-09", "FN-16", "FN-20")
def test_each_parameter_has_its_own_place():
    f = Function("f", params=(
        Parameter("a", t.INT), Parameter("", t.FLOAT),
        Parameter("self", t.Pointer(t.INT), this=True), Parameter("c", t.CHAR),
        Parameter("d", t.DOUBLE),
    ), body=b.block())
    g = state_of(f)
    assert [a.name for a in g.function.arguments] == ["a", "temp_param", "this", "c", "d"]
    stores = [x for x in g.function.instructions() if x.form.name == "store"]
    assert [(x.operands[0].name, x.operands[1].name) for x in stores] == [
        (a, f"{a}.addr") for a in ("a", "temp_param", "this", "c", "d")
    ]
    assert g.places[f.params[0]].pointer.name == "a.addr"
    assert steps_told(told_of(f), "FN-20") == [
        "FN-20 name (this False): temp_param", "FN-20 name (this True): this"]


@pytest.mark.seed("FN-01", "FN-09")
@pytest.mark.parametrize("lines", [(6, 7), ()])
def test_a_prolog_stands_at_its_parameters_and_an_empty_body_at_what_was_last(lines):
    f = Function("f", result=t.VOID, body=b.block(), place=Place("", 5, 2), params=tuple(
        Parameter(f"p{line}", t.INT, place=Place("", line, 1)) for line in lines))
    placed = [x.loc.line for x in state_of(f).function.instructions() if x.loc]
    assert placed == [*lines, *2 * (lines or (5,))[-1:]]


@pytest.mark.seed("FN-10", "FN-11", "FN-12", "FN-13", "FN-14", "FN-15", "DIA-06")
def test_abi_variants():
    types: dict[str, t.CType] = {}
    pair = b.record("pair", "int a, int b", types)

    def variant(kind, ir, declared=pair, **options):
        f = Function("f", params=(Parameter("v", declared),), body=b.block())
        shared = ModuleState(check(b.unit(f)), Options(**options))
        symbol = nvvm.function(shared.module, "f", params=[("", ir)])
        abi = ABI(None, (Passing(declared, kind, ir, byval=kind is Kind.BYVAL),), False)
        g = irgen_functions.emit_function(shared, f, symbol, abi)
        return g.places[f.params[0]].pointer, g.function

    indirect, f = variant(Kind.INDIRECT, pointer())
    assert indirect is f.arguments[0]
    byval, f = variant(Kind.BYVAL, pointer())
    assert byval is f.arguments[0]
    demoted, f = variant(Kind.BYVAL, pointer(), byval_demotion=frozenset({"v"}))
    assert demoted.name == "__val_paramv"
    assert any("memcpy" in str(x.aux.callee.name) for x in f.instructions() if x.form.is_call)
    coerced, f = variant(Kind.COERCE, I64)
    assert (coerced.name, coerced.aux[0].label) == ("tmp", "struct.pair")
    (kept,) = [x for x in f.instructions() if x.form.name == "store"]
    assert kept.operands == (f.arguments[0], coerced)
    scalar, f = variant(Kind.COERCE, I32, t.FLOAT)
    assert scalar.name == "v.addr"
    (cast,) = [x for x in f.instructions() if x.name == "coerce"]
    assert [(x.operands, x.aux) for x in cast.users] == [((cast, scalar), 4)]
    with pytest.raises(IRGenError, match="Non-aggregate arguments passed indirectly are not supp"):
        variant(Kind.INDIRECT, pointer(), t.INT)


def steps_told(trace: Trace, rows: str = "FN-") -> list[str]:
    return [str(e) for e in trace if e.row.startswith(rows)]


@pytest.mark.seed("FN-09", "FN-11", "FN-12", "FN-13", "FN-14", "FN-15", "FN-16", "FN-21")
def test_the_prolog_tells_the_variant_of_each_parameter():
    types: dict[str, t.CType] = {}
    pair = b.record("pair", "int a, int b", types)
    given = [("v", pair, Kind.INDIRECT, pointer()), ("w", pair, Kind.BYVAL, pointer()),
             ("x", pair, Kind.BYVAL, pointer()), ("y", pair, Kind.COERCE, I64),
             ("z", t.FLOAT, Kind.COERCE, I32), ("i", t.INT, Kind.DIRECT, I32)]
    f = Function("f", params=tuple(Parameter(n, d) for n, d, _, _ in given), body=b.block())
    shared = ModuleState(check(b.unit(f)), Options(byval_demotion=frozenset({"x"})))
    symbol = nvvm.function(shared.module, "f", params=[("", ir) for *_, ir in given])
    passed = tuple(Passing(d, k, ir, byval=k is Kind.BYVAL) for _, d, k, ir in given)
    abi = ABI(None, passed, False)
    with Trace() as trace:
        irgen_functions.emit_function(shared, f, symbol, abi)
    off = ", param_debug_info False, lines False): False"
    placed = [str(e) for e in trace.of("FN-04")]
    assert placed == [f"FN-04 place (name {n}, count none): before the marker"
                      for n in ("tmp", "tmp", "z.addr", "i.addr")]
    assert [x for x in steps_told(trace) if x not in placed] == [
        "FN-01 1 type (function f): void", "FN-01 2 metadata (function f): a function",
        "FN-07 3 section (function f): none", "FN-02 4 entry (function f): entry",
        "FN-03 5 allocapt (function f): first in entry", "FN-01 6 return (function f): return",
        "FN-05 return slot (result void, sret False): none", "FN-01 7 retval (function f): none",
        "FN-06 8 alignment (function f): 0", "FN-01 9 insertion (function f): entry",
        "FN-09 prolog (parameter v, index 1): INDIRECT argument 0 of ptr",
        "FN-12 variant 1, by address (parameter v): its address is its place",
        "FN-16 EmitParamDecl (parameter v): v", "FN-19 declare (parameter v, number 1" + off,
        "FN-09 prolog (parameter w, index 2): BYVAL argument 1 of ptr",
        "FN-14 variant 2, by address (parameter w): its address is its place",
        "FN-16 EmitParamDecl (parameter w): w", "FN-19 declare (parameter w, number 2" + off,
        "FN-09 prolog (parameter x, index 3): BYVAL argument 2 of ptr",
        "FN-21 temporary (name tmp, size 8, natural 4): align 8",
        "FN-13 variant 2, byval demoted (parameter x): __val_paramx",
        "FN-16 EmitParamDecl (parameter x): alloca __val_paramx",
        "FN-19 declare (parameter x, number 3" + off,
        "FN-09 prolog (parameter y, index 4): COERCE argument 3 of i64",
        "FN-15 variant 3, of another type (parameter y, to i64): tmp, stored as the other type",
        "FN-21 temporary (name tmp, size 8, natural 4): align 8",
        "FN-16 EmitParamDecl (parameter y): alloca tmp",
        "FN-19 declare (parameter y, number 4" + off,
        "FN-09 prolog (parameter z, index 5): COERCE argument 4 of i32",
        "FN-15 variant 3, of another type (parameter z, to i32): a bitcast",
        "FN-21 temporary (name z.addr, size 4, natural 4): align 4",
        "FN-16 EmitParamDecl (parameter z): alloca z.addr",
        "FN-19 declare (parameter z, number 5" + off,
        "FN-09 prolog (parameter i, index 6): DIRECT argument 5 of i32",
        "FN-12 variant 0, by value (parameter i): stored at i.addr",
        "FN-21 temporary (name i.addr, size 4, natural 4): align 4",
        "FN-16 EmitParamDecl (parameter i): alloca i.addr",
        "FN-19 declare (parameter i, number 6" + off, "FN-01 10 prolog (function f): 6 parameters",
        "FN-02 appended last (first entry): return", "FN-08 return block (edges 1): ret",
    ]


@pytest.mark.seed("FN-05", "FN-06", "FN-07", "FN-09", "FN-11")
def test_a_result_by_address_moves_the_arguments_but_not_the_parameters_numbers():
    types: dict[str, t.CType] = {}
    b.record("big", "double a[9]", types)
    tree = b.unit(b.function("big make", "big v, int n", b.ret(v), types=types, section="hot"),
                  types=types)
    with Trace() as trace:
        module_of(tree, policy="documented")
    told = steps_told(trace)
    for line in (
        "FN-07 3 section (function make): hot",
        "FN-05 return slot (result big, sret True): the first argument",
        "FN-06 8 alignment (function make): 8",
        "FN-11 struct return (sret True): the first argument is agg.result",
        "FN-09 prolog (parameter v, index 1): BYVAL argument 1 of ptr",
        "FN-09 prolog (parameter n, index 2): DIRECT argument 2 of i32",
    ):
        assert line in told, line
    assert not any("FN-11" in x for x in steps_told(told_of(b.function("int f", "", b.ret(1)))))


def told_of(f: Function) -> Trace:
    with Trace() as trace:
        state_of(f)
    return trace


@pytest.mark.seed("FN-08")
@pytest.mark.parametrize(("body", "last", "told"), [
    ((b.label("again"), b.goto("again")), "again", "left out: nothing leads to it"),
    ((b.ret(1),), "return", "load and ret"),
])
def test_the_return_block_is_told_as_it_is(body, last, told):
    with Trace() as trace:
        f = state_of(b.function("int f", "int a", *body)).function
    assert blocks_of(f)[-1] == last
    assert [e.outcome for e in trace.of("FN-08") if e.step == "return block"] == [told]


@pytest.mark.seed("FN-08", "FN-22", "FN-02")
def test_labels_are_placed_and_what_nothing_leads_to_goes():
    """A loop by goto; behind it what nobody reaches, which a phi of the reached names."""
    f = state_of(b.function(
        "int f", "int a", b.label("again"), b.if_(b.name("a"), b.goto("again")), b.ret(1),
        b.label("dead"), b.expr(b.land(b.name("a"), 2)), b.goto("dead"))).function
    assert "again" in blocks_of(f)
    assert "dead" not in blocks_of(f)
    assert blocks_of(f)[-1] == "return"
    f.analyze_cfg()
    assert all(x in f.rpo for x in f.blocks)
    assert "dead" not in f._names
    assert "again" in f._names


@pytest.mark.seed("FN-02", "FN-22")
def test_a_removed_block_leaves_the_phis_that_it_led_to():
    f = nvvm.function(ModuleState(b.unit(), Options()).module, "f", params=[("", I32)])
    entry, dead, join = (f.block(x) for x in ("entry", "dead", "join"))
    build = nvvm.Builder(entry)
    build.branch(join)
    build.position_at_end(dead)
    lost = build.add(f.arguments[0], nvvm.const(I32, 1))
    build.branch(join)
    build.position_at_end(join)
    phi = build.phi(I32)
    phi.set_incoming([f.arguments[0], lost], [entry, dead])
    build.ret_void()
    f.analyze_cfg()
    irgen_functions.remove_unreachable(f)
    assert f.cfg_state == "stale"
    assert [x.name for x in f.blocks] == ["entry", "join"]
    assert list(phi.incoming) == [(f.arguments[0], entry)]
    nvir.verify(f.module)


@pytest.mark.seed("FN-10", "DIA-06")
def test_one_argument_too_many():
    f = Function("f", params=(Parameter("v", t.INT),), body=b.block())
    shared = ModuleState(check(b.unit(f)), Options())
    symbol = nvvm.function(shared.module, "f", params=[("", I32), ("", I32)])
    abi = ABI(None, (Passing(t.INT, Kind.DIRECT, I32),), False)
    message = "Argument mismatch in generation function prolog!"
    with pytest.raises(IRGenError, match=message), Trace() as trace:
        irgen_functions.emit_function(shared, f, symbol, abi)
    assert steps_told(trace, "FN-10") == [
        f"FN-10 prolog (arguments 2, wanted 1): refused: {message}"]


@pytest.mark.seed("FN-17", "FN-18", "DIA-06")
def test_a_declaration_has_one_place():
    f = Function("f", body=b.block())
    g = IRGenState(ModuleState(b.unit(f), Options()), f, function_of(f))
    one, two = Variable("x", t.INT), Variable("x", t.INT)
    place = LValue(nvvm.const(I32, 0), t.INT, 4)
    g.declare(one, place)
    g.declare(two, place)
    with pytest.raises(IRGenError, match="unexpected: declaration for variable already exists!"):
        g.declare(one, place)


def declared(f):
    return [(str(x.operands[0].name), *x.operands[1].content) for x in f.instructions()
            if callee_name(x) == DEBUG_DECLARE]


@pytest.mark.seed("FN-19")
def test_each_parameter_is_declared_to_a_debugger_where_that_is_asked_for():
    """Its place, name, number from 1, type, bits and kind; behind the store that fills it."""
    types = {}
    b.record("pair", "short a[3]", types)
    tree = b.unit(
        b.function("int f", "unsigned char c, double d, int *a, pair s", b.ret(b.name("c")),
                   types=types),
        b.kernel("k", "pair s, int n", b.let("int m", n), types=types), types=types,
    )
    module = module_of(tree, param_debug_info=True)
    assert declared(module["f"]) == [
        ("c.addr", "c", 1, "unsigned char", 8, "unsigned"), ("d.addr", "d", 2, "double", 64,
         "float"), ("a.addr", "a", 3, "int *", 64, "address"),
        ("s.addr", "s", 4, "struct pair", 48, ""),
    ]
    assert [x[1:3] for x in declared(module["k"])] == [("s", 1), ("n", 2)]
    before = [x.form.name for x in module["f"].instructions()]
    assert before.count("call") == 4
    assert before[before.index("call") - 1] == "store"
    accepted(module)
    for off in ({}, {"param_debug_info": True, "lines": False}):  # no place, no declaration
        assert not any(map(declared, module_of(tree, **off).functions))


@pytest.mark.seed("FN-19", "KNB-18")
def test_declarations_cost_no_code():
    """What only a debugger reads is gone with the alloca that it describes."""
    from nvir.compiler import compile_tree
    from nvir.passes.knobs import Knobs

    tree = b.unit(b.kernel("k", "int *out, int i", b.assign(out[0], i)))
    on = Knobs({"param-debug-info": True})
    seen = []
    texts = [nvir.print_ptx(compile_tree(check(tree), optimise=level, knobs=knobs,
                                         observe=lambda stage, m: seen.append(declared(m["k"]))))
             for level in (0, 3) for knobs in (None, on)]
    assert texts[0] == texts[1] != texts[2] == texts[3]
    names = [[x[1] for x in found] for found in seen]
    assert names == [[], [], [], ["out", "i"], ["out", "i"], [], [], [], [], ["out", "i"], [], []]


@pytest.mark.seed("FN-01", "FN-19")
def test_events_name_the_function_that_they_are_of():
    tree = b.unit(b.function("int f", "int a", b.ret(b.name("a"))),
                  b.kernel("k", "int n", b.let("int m", b.name("n"))))
    with Trace() as trace:
        module = module_of(tree, param_debug_info=True)
    names = {f.name for f in module.functions if f.blocks}
    assert len(names) == 2
    assert {e.function for e in trace} == names
    declared = {(e.inputs["parameter"], e.inputs["number"]): e.outcome for e in trace.of("FN-19")}
    assert declared == {("a", 1): True, ("n", 1): True}


def test_llvm_text_declares_parameters_with_their_types():
    text = nvir.print_ll(module_of(b.unit(b.kernel("k", "float *x, int n", b.let("int m", n))),
                                   param_debug_info=True))
    assert "call void @llvm.dbg.declare(metadata ptr %n.addr, metadata !" in text
    assert re.search(r'!DILocalVariable\(name: "n", arg: 2, .*, type: !\d+\)', text)
    assert '!DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)' in text
    assert "emissionKind: FullDebug" in text


@pytest.mark.seed("EXP-15")
def test_instructions_have_source_places():
    f = kernel_of(b.assign(out[i], j + 1))
    named = [x for x in f.instructions() if x.form.name not in ("alloca",)]
    assert all(x.loc is not None and x.loc.line > 0 for x in named)
    bare = kernel_of(b.assign(out[i], j + 1), lines=False)
    assert all(x.loc is None for x in bare.instructions())


# ---------------------------------------------------------------------- names


NAMES = [
    ("EXP-01", lambda: [b.let("int a[4]"), b.let("int *r", b.name("a"))], {"arraydecay"}),
    ("EXP-02", lambda: [b.assign(out[0], b.lnot(i))], {"tobool", "lnot", "lnot.ext"}),
    ("EXP-03", lambda: [b.assign(out[0], b.land(i, j))], {"land.rhs", "land.end", "land.ext"}),
    ("EXP-04", lambda: [b.assign(out[0], b.lor(i, j))], {"lor.rhs", "lor.end", "lor.ext"}),
    ("EXP-06", lambda: [b.assign(out[0], b.cond(i, j, 2))],
     {"cond.true", "cond.false", "cond.end", "cond"}),
    ("EXP-07", lambda: [b.assign(p[0], i), b.if_(i, b.ret())], {"conv", "tobool"}),
    ("EXP-08", lambda: [b.assign(out[0], p - q)],
     {"sub.ptr.lhs.cast", "sub.ptr.rhs.cast", "sub.ptr.sub", "sub.ptr.div"}),
    ("EXP-09", lambda: [b.if_(i, b.inc(j), otherwise=b.dec(j))], {"if.then", "if.else", "if.end"}),
    ("EXP-10", lambda: [b.while_(i, b.dec(i))], {"while.cond", "while.body", "while.end"}),
    ("EXP-11", lambda: [b.for_(None, i, b.dec(i), b.inc(j))],
     {"for.cond", "for.body", "for.inc", "for.end"}),
    ("EXP-12", lambda: [b.do_(i, b.dec(i))], {"do.body", "do.cond", "do.end"}),
    ("SPV-04", lambda: [b.assign(out[0], b.threadIdx.x)], {"predef_tmp_comp"}),
]


@pytest.mark.seed("EXP-01", "EXP-02", "EXP-03", "EXP-04", "EXP-06", "EXP-07", "EXP-08", "EXP-09",
                  "EXP-10", "EXP-11", "EXP-12", "SPV-04")
@pytest.mark.parametrize(("row", "make", "expected"), NAMES, ids=[r[0] for r in NAMES])
def test_names(row, make, expected):
    f = kernel_of(*make())
    assert expected <= names_in(f) | set(blocks_of(f))


@pytest.mark.seed("EXP-08")
def test_pointer_differences_divide_exactly():
    f = kernel_of(b.assign(out[0], p - q))
    assert "sdiv exact" in [x.form.spelling for x in f.instructions()]


@pytest.mark.seed("EXP-09")
def test_an_if_without_else_branches_to_its_end():
    f = kernel_of(b.if_(i, b.inc(j)))
    assert [str(s.name) for s in f.entry.terminator.aux] == ["if.then", "if.end"]


@pytest.mark.seed("EXP-13")
def test_names_of_bit_fields():
    types: dict[str, t.CType] = {}
    b.record("r", "int a : 5, unsigned u : 7", types)
    f = kernel_of(b.let("r v", types=types), b.assign(v.a, b.assign(v.u, v.a)), types=types)
    assert {"highclear", "signext", "bf.value", "bf.prev.cleared", "bf.newval.positioned",
            "bf.finalcontainerval"} <= names_in(f)


@pytest.mark.seed("EXP-16")
def test_constants_are_folded_not_cast():
    f = kernel_of(b.assign(p[0], b.cast("float", b.cast("char", 300)) + b.cast("float", i)))
    casts = [x.form.name for x in f.instructions() if x.form.name in ("sitofp", "trunc", "sext")]
    assert casts == ["sitofp"]


@pytest.mark.seed("EXP-17")
def test_float_to_integer_by_libdevice():
    def body():
        return b.assign(out[0], b.cast("int", p[0]))

    plain, called = kernel_of(body()), kernel_of(body(), libdevice_casts=True)
    assert "fptosi" in [x.form.name for x in plain.instructions()]
    calls = [x.aux.callee.name for x in called.instructions() if x.form.is_call]
    assert calls == ["__nv_float2int_rz"]


@pytest.mark.seed("EXP-18", "DIA-09")
def test_unknown_nodes_are_refused():
    f = b.function("void f", "", b.block())
    check(b.unit(f))
    f.body.body = (b.s.ExprStmt(Expr(type=t.INT)),)
    with pytest.raises(IRGenError, match="unsupported expression!"):
        generate(b.unit(f))


@pytest.mark.seed("EXP-19")
def test_pragmas_are_metadata_of_the_latches():
    f = kernel_of(
        b.for_(None, i, b.dec(i), b.inc(j), unroll=4), b.do_(j, b.dec(j), unroll="full"),
        b.while_(i, b.if_(j, b.continue_()), b.dec(i), unroll=1),
    )
    marks = {str(x.name): x.aux["llvm.loop"] for x in f.blocks if x.aux}
    assert marks == {
        "for.inc": (("llvm.loop.unroll.count", 4),),
        "do.cond": (("llvm.loop.unroll.full",),),
        "if.then": (("llvm.loop.unroll.disable",),),
        "if.end": (("llvm.loop.unroll.disable",),),
    }
    accepted(f.module)


# ---------------------------------------------------------- special variables


@pytest.mark.seed("SPV-02", "SPV-03", "SPV-05")
def test_the_table_of_special_variables():
    assert list(TABLE) == ["threadIdx", "blockDim", "blockIdx", "gridDim", "warpSize"]
    assert sum(r is not None for row in TABLE.values() for r in row) == 13
    everything = [getattr(e, c) for e in (b.threadIdx, b.blockDim, b.blockIdx, b.gridDim)
                  for c in "xyz"]
    f = kernel_of(*(b.assign(out[k], e) for k, e in enumerate([*everything, b.warpSize])))
    calls = [x.aux.callee for x in f.instructions() if x.form.is_call]
    registers = [c.name.removeprefix("llvm.nvvm.read.ptx.sreg.") for c in calls]
    assert registers == [
        f"{r}.{c}" for r in ("tid", "ntid", "ctaid", "nctaid") for c in "xyz"
    ] + ["warpsize"]
    assert all(c.return_type is I32 and ("memory", "none") in c.aux["attributes"] for c in calls)


@pytest.mark.seed("SPV-01")
@pytest.mark.parametrize(
    "change",
    [{"storage": "extern"}, {"template_dependent": True}, {"type": "array"}, {"name": "own"}],
)
def test_what_is_no_special_variable(change):
    from nvir.frontend.irgen.intrinsic.special_variables import is_special

    f = Function("f", body=b.block())
    g = IRGenState(ModuleState(b.unit(f), Options()), f, function_of(f))
    d = Variable("threadIdx", b.ctype("uint3"), builtin=True)
    assert is_special(g, d)
    for key, value in change.items():
        setattr(d, key, t.Array(d.type, 2) if value == "array" else value)
    assert not is_special(g, d)


@pytest.mark.seed("SPV-01", "GAP-34")
def test_device_functions_read_them_too_and_the_host_does_not():
    from nvir.frontend.irgen.intrinsic.special_variables import is_special
    from nvir.frontend.tree.vectors import THREAD_IDX

    for device in (True, False):
        f = Function("f", body=b.block(), attributes=Attributes(device=device))
        g = IRGenState(ModuleState(b.unit(f), Options()), f, function_of(f))
        assert is_special(g, THREAD_IDX) is device


def test_a_variable_of_that_name_is_a_variable():
    f = kernel_of(b.let("uint3 threadIdx"), b.assign(out[0], b.name("threadIdx").x))
    assert not any(x.form.is_call for x in f.instructions())


@pytest.mark.seed("GAP-55", "EXP-03", "EXP-04")
def test_short_circuits_name_the_block_that_they_come_from():
    """A left side of several blocks ends in another than it began in."""
    f = kernel_of(b.assign(out[0], b.lor(b.land(i, j), b.land(j, b.cond(i, j, 0)))))
    f.analyze_cfg()
    joins = [x for x in f.instructions() if x.form.name == "phi"]
    assert len(joins) == 4
    for phi in joins:
        assert {p.name for p in phi.aux} == {p.name for p in phi.block.preds}
    outer = next(x for x in joins if x.block.name == "lor.end")
    assert {p.name for p in outer.aux} == {"land.end", "land.end2"} or all(
        p.name.startswith("land.end") for p in outer.aux)


# --------------------------------------------------------------------- types


@pytest.mark.seed("TYP-01", "TYP-04")
def test_records_that_name_each_other_reach_a_fixed_point():
    a, z = t.Record("a"), t.Record("z")
    a.set_fields([t.Field("other", t.Pointer(z)), t.Field("n", t.INT)])
    z.set_fields([t.Field("first", a), t.Field("second", a), t.Field("back", t.Pointer(z))])
    types = Types()
    outer = types.memory(z)
    inner = types.memory(a)
    assert outer.elements == (inner, inner, pointer())
    assert inner.elements[:2] == (pointer(), I32)
    assert types.rounds >= 2
    assert types.memory(a) is inner


@pytest.mark.seed("TYP-02", "TYP-03")
def test_types_of_the_tree():
    types = Types()
    given = {t.INT: "i32", t.FLOAT: "float", t.HALF: "half", t.BFLOAT16: "bfloat",
             t.INT128: "i128", t.BOOL: "i8", t.Pointer(t.INT): "ptr",
             t.Pointer(t.INT, "shared"): "ptr addrspace(3)", t.Array(t.SHORT, 3): "[3 x i16]",
             t.Pointer(t.INT, "constant"): "ptr addrspace(4)",
             t.Pointer(t.INT, "device"): "ptr addrspace(1)"}
    assert {k: str(types.memory(k)) for k in given} == given
    assert str(types.value(t.BOOL)) == "i1"


def test_layouts_agree_with_llvms():
    """A record's struct has C's size and puts every field at C's offset."""
    import random

    from nvir.frontend.tree.layout import layout
    from nvir.ir import layout as ir_layout

    rng = random.Random(3)
    parts = ["char", "short", "int", "long", "double", "float4", "float3", "short3"]
    for number in range(200):
        fields = []
        for k in range(rng.randint(1, 7)):
            kind = rng.choice(parts)
            narrow = kind in ("char", "short", "int") and rng.random() < 0.4
            bits = rng.randint(1, 8) if narrow else 0
            fields.append(f"{kind} f{k}" + (f" : {bits}" if bits else
                                            rng.choice(["", "[3]"])))
        r = b.record(f"r{number}", ", ".join(fields), packed=rng.random() < 0.3,
                     align=rng.choice([0, 0, 16]))
        types = Types()
        made = types.memory(r)
        wanted = layout(r)
        assert ir_layout.size_of(made) == wanted.size, fields
        places = ir_layout.struct_layout(made).offsets
        for k, element in enumerate(types.records[r].elements):
            if element is not None:
                assert places[element] * 8 == wanted.offsets[k], fields


# ------------------------------------------------------- globals and metadata


@pytest.mark.seed("GLB-01", "GLB-02", "GLB-03", "GLB-04", "GLB-05", "GLB-06")
def test_variables_of_the_module():
    made = [b.variable(f"int {m}_v", memory=m) for m in ("device", "constant", "shared", "managed")]
    made.append(b.variable("int plain"))
    made[0].used = True
    k = b.kernel("k", "int *out", b.let("int tile[4]", memory="shared"))
    module = module_of(b.unit(*made, k))
    spaces = {g.name: g.type.space for g in module.globals}
    assert spaces == {"device_v": 1, "constant_v": 4, "shared_v": 3, "managed_v": 1, "plain": 1,
                      "k$tile": 3}
    by_name = {g.name: g for g in module.globals}
    assert "managed" in by_name["managed_v"].attributes
    assert by_name["k$tile"].init.name == "undef"
    assert module.aux["metadata"]["llvm.used"] == ((by_name["device_v"],),)
    accepted(module)


@pytest.mark.seed("GLB-05")
def test_constant_memory_is_not_written():
    from nvir.ir.errors import VerifyError

    c = b.variable("int c", memory="constant")
    with pytest.raises(VerifyError, match="address space 4"):
        module_of(b.unit(c, b.kernel("k", "", b.assign(b.name("c"), 1))))


@pytest.mark.seed("ATT-02", "ATT-03", "ATT-04", "ATT-08", "ATT-09", "ATT-10", "ATT-11")
def test_kernel_annotations():
    types: dict[str, t.CType] = {}
    pair = b.record("pair", "int a, int b", types)
    k = b.kernel(
        "k", [(t.INT, "n"), Parameter("v", pair, grid_constant=True)], b.block(),
        launch_bounds=LaunchBounds(256, 4), max_registers=64, cluster_dims=(2, 1, 1),
        preserve=(3, -1, 0), custom_abi=True,
    )
    assert function_annotations(k) == [
        ("kernel", 1), ("nvvm.maxntid", "256,1,1"), ("nvvm.minctasm", "4"), ("nvvm.maxnreg", "64"),
        ("nvvm.cluster_dim", "2,1,1"), ("nvvm.blocksareclusters", ""), ("grid_constant", (2,)),
        ("preserve_n_data", 3), ("preserve_n_after", 0), ("full_custom_abi", 0xFFFFFFFF),
    ]
    helper = b.function("void helper", "", b.block())
    module = module_of(b.unit(k, helper))
    f = module["k"]
    assert f.kind == "entry"
    assert module["helper"].kind == "func"
    assert f.directives["maxntid"] == (256, 1, 1)
    assert f.directives["minnctapersm"] == (4,)
    assert ("nvvm.grid_constant", "") in f.arguments[1].attributes
    keys = [node[1] for node in module.aux["metadata"]["nvvm.annotations"]]
    assert keys == ["preserve_n_data", "preserve_n_after", "full_custom_abi", "align"]


@pytest.mark.seed("EXP-21", "EXP-22")
def test_one_implementation_serves_both_paths():
    """The same tree gives the same IR, text for text, however often it is generated."""
    tree = check(b.unit(b.kernel("k", "int *out, int i", b.while_(i, b.dec(i)), b.ret())))
    assert str(generate(tree)) == str(generate(tree))


def test_a_constant_struct_is_laid_out_by_its_fields():
    types: dict[str, t.CType] = {}
    b.record("r", "char c, int a : 4, int z : 6, float f", types)
    table = b.variable("r table[2]", b.init(b.init(1, 2, -3, 1.5)), memory="constant", types=types)
    module = module_of(b.unit(table, b.kernel("k", "", b.block())))
    value = module.globals[0].init
    first = value.value[0]
    assert FLOAT in [x.type for x in first.value]
    assert struct([I32]) is not first.type
    accepted(module)


@pytest.mark.seed("KNB-17")
def test_the_knob_of_byval_names_reaches_generation():
    from nvir.compiler import generation
    from nvir.passes.knobs import Knobs

    assert generation("sm_80").byval_demotion == frozenset()
    given = generation("sm_90", knobs=Knobs({"byval-names": "v, w"}, policy="documented"))
    assert (given.byval_demotion, given.policy, given.arch) == ({"v", "w"}, "documented", "sm_90")
