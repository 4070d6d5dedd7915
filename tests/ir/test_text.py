"""nvir's own text: what is printed comes back as it was, and any other text is an error."""

from __future__ import annotations

import contextlib

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvir.ir import (
    CallInfo,
    Function,
    Instruction,
    Location,
    Loose,
    Module,
    Param,
    ParseError,
    SymbolOffset,
    Unsupported,
    Variable,
    constant,
    integer,
    nvvm_form,
    undef,
)
from nvir.ir import types as t
from nvir.ir.equal import difference, equal_up_to_renaming, structurally_equal
from nvir.ir.opcodes import ORI
from nvir.ir.opcodes.form import form
from nvir.ir.special import special_register
from nvir.ir.text.datum import register
from nvir.ir.text.parse import parse_ir
from nvir.ir.text.print import instruction_text, print_ir
from nvir.ir.types import SCALARS
from nvir.ir.values import Argument, Symbol
from nvir.ptx.reader import read_ptx
from tests.corpus import examples, sample

KERNEL = """\
module ori target sm_80 version 8.0 address_size 64
global @tile: shared [1024 x b8] align 4
visible kernel @k(param @k_param_0: u64) directives {"maxntid": (256, 1, 1)} {
entry:
  %rd1: b64 = ld.param.u64 [@k_param_0]
  {%f1: f32, %f2: f32} = ld.global.v2.f32 [%rd1+8]  !loc 1 20 5
  %p1: pred = setp.lt.f32 %f1, %f2
  @%p1 bra L1 else L2
L1: pragmas ("nounroll")
  %f3: f32 = phi [%f1, entry], [%f3~2, L1]
  %f3~2: f32 = @!%p1 add.f32 %f3, 0f3F800000 else %f3
  @!%p1 bra L1 else L2
L2:
  %0: f32 = phi [%f2, entry], [%f3~2, L1]
  st.global.f32 [%rd1], %0
  ret
}
"""


def back(module: Module) -> Module:
    """The module printed and parsed; equal, and printed the same again."""
    text = print_ir(module)
    again = parse_ir(text)
    assert difference(module, again) is None, text
    assert print_ir(again) == text
    return again


def body(*lines: str, head: str = "kernel @k()", before: str = "", level: str = "ori") -> Module:
    text = "\n".join(
        [f"module {level} target sm_80 version 8.0 address_size 64", before, head + " {", "entry:",
         *lines, "}", ""]
    )
    return parse_ir(text)


def returns_as_is(*lines: str, **how: str) -> Module:
    """The body's lines are printed exactly as they were written."""
    m = body(*lines, **how)
    printed = print_ir(m).split("\n")
    at = printed.index("entry:")
    assert [x.strip() for x in printed[at + 1 : -2]] == [x.strip() for x in lines]
    back(m)
    return m


# ------------------------------------------------------------ whole modules


def test_a_text_in_canonical_form_is_printed_as_it_was():
    assert print_ir(parse_ir(KERNEL)) == KERNEL


@pytest.mark.parametrize("path", examples(), ids=lambda p: p.stem)
def test_what_nvcc_makes_comes_back(path):
    back(read_ptx(path))


@pytest.mark.parametrize("entry", sample(12, seed=3, max_size=60_000), ids=lambda e: e.path.stem)
def test_a_sample_of_real_files_comes_back(entry):
    back(read_ptx(entry.path))


@pytest.mark.slow
def test_many_real_files_come_back():
    for entry in sample(600, seed=4, max_size=400_000):
        back(read_ptx(entry.path))


def test_every_declaration_comes_back():
    m = Module("sm_90a", version=(8, 7), name="a;b", address_size=32)
    m.target_options, m.pragmas = ("debug", "texmode_independent"), ('say "x!"',)
    m.debug.files.append((1, "/home/a b.cu", "1, 2"))
    m.debug.sections.append((".debug_str", [".b8 1", "info = ; !"]))
    f = m.kernel("k", [("a", "u64")])
    f.params[0].attributes["ptr"] = "global .align 16"
    f.directives, f.pragmas = {"maxntid": (32, 1, 1), "noreturn": ()}, ("nounroll",)
    f.flags, f.loc, f.linkage = {"convergent"}, 12, "weak"
    f.prototypes["p_0"] = ".callprototype (.param .b32 _) _ (.param .b64 _)"
    f.locals = [
        Variable("loc", "local", t.array(SCALARS["b8"], 16), align=8, address_type=t.B32),
        Param("p0", t.array(SCALARS["b8"], 12), 3, align=4, address_type=t.B32),
    ]
    m.add_global(Variable(
        "table", "const", t.array(SCALARS["u64"], 4), linkage="visible", address_type=t.B32,
        init=(integer(1), SymbolOffset(f, 0, True), SymbolOffset(f, -8),
              SymbolOffset(f, 3, mask=255)),
    ))
    m.variable("v", "global", "f32", init=constant(t.F32, 0x3F800000)).vector = 4
    extern = Function("printf", "func", m)
    extern.params.append(Argument(t.B32, "%a", extern, 0))
    extern.linkage = "extern"
    m.add_function(extern)
    b = f.block("entry")
    b.pragmas, b.flags, b.loc = ("nounroll",), frozenset({"cold", "unrolled"}), Location(1, 9)
    b.append(Instruction(form("ret"), aux=()))
    again = back(m)
    assert again["k"].blocks[0].flags == {"cold", "unrolled"}
    assert again.debug.sections == m.debug.sections


@pytest.mark.seed("IR-15", "IR-16")
def test_flags_of_blocks_and_marks_of_instructions_come_back():
    m = parse_ir(KERNEL)
    loop = m["k"].blocks[1]
    loop.flags = frozenset({"cold", "unrolled"})
    m["k"].marks[loop.instructions[1]] = {"hoisted", "nounroll"}
    again = back(m)["k"]
    assert again.blocks[1].flags == {"cold", "unrolled"}
    assert again.marks == {again.blocks[1].instructions[1]: {"hoisted", "nounroll"}}


# ------------------------------------------------------------------ values


def test_values_that_share_a_hint_are_told_apart_and_keep_it():
    m = returns_as_is("%r1: b32 = mov.b32 1", "%r1~2: b32 = add.s32 %r1, %r1", "ret")
    assert [i.name for i in m["k"].blocks[0]][:2] == ["%r1", "%r1"]


@pytest.mark.parametrize(
    "name", [None, "%r1", "x", "%", "", "%3", "3", "_", "%tid.x", "%clock", "a;b", 'q"', "%é",
             "%a~2", "% = ", "\n", "undef"]
)
@pytest.mark.parametrize("level", ["ori", "nvvm"])
def test_any_hint_comes_back(name, level):
    m = Module(level=level)
    f = m.add_function(Function("f", "func", m))
    b = f.block("entry")
    ty = t.B32 if level == "ori" else t.I32
    copy, end = (form("mov.b32", "%s, %s"), form("ret")) if level == "ori" else (
        nvvm_form("freeze"), nvvm_form("ret"))
    a = b.append(Instruction(copy, (undef(ty),), ty, name))
    b.append(Instruction(copy, (a,), ty, name))
    b.append(Instruction(end, aux=()))
    assert [i.name for i in back(m)["f"].blocks[0]][:2] == [name, name]


@pytest.mark.parametrize("name", ["L1", "$L__BB0_1", "a b", "", '"', "bb.1", "L:", "x=y;z!", "é"])
def test_any_name_of_a_block_and_a_symbol_comes_back(name):
    m = Module()
    m.variable(name, "global", "u32")
    f = m.add_function(Function(f"f{name}", "func", m))
    a, b = f.block("first"), f.block(name)
    a.append(Instruction(form("bra"), aux=(b,)))
    b.append(Instruction(form("ret"), aux=()))
    assert back(m).functions[0].blocks[1].name == name


def test_symbols_of_one_name_in_two_scopes_are_told_apart():
    m = Module()
    outer = m.variable("x", "global", "u32")
    f = m.kernel("k")
    inner = Variable("x", "local", SCALARS["u32"])
    f.locals.append(inner)
    b = f.block("entry")
    for s in (outer, inner):
        b.append(Instruction(form("mov.u64", "%s, %s"), (s,), t.B64, "%rd1"))
    b.append(Instruction(form("ret"), aux=()))
    g = back(m)["k"]
    first, second = list(g.blocks[0])[:2]
    assert first.operands[0] is g.module.globals[0]
    assert second.operands[0] is g.locals[0]


def test_literals_bring_back_type_and_value():
    m = returns_as_is(
        "%r1: b32 = add.s32 -5, 4294967296",
        "%f1: f32 = add.f32 0f7FC00001, 0fFF800000",
        "%fd1: f64 = add.f64 0d0000000000000001, f64 undef",
        "%r2: b32 = add.s32 u32 7, b32 undef",
        "ret",
    )
    i, f, d, u = list(m["k"].blocks[0])[:4]
    assert i.operands == (integer(-5), integer(1 << 32))
    assert f.operands == (constant(t.F32, 0x7FC00001), constant(t.F32, 0xFF800000))
    assert d.operands == (constant(t.F64, 1), undef(t.F64))
    assert u.operands == (constant(t.U32, 7), undef(t.B32))


def test_special_registers_and_symbols_with_offsets():
    m = returns_as_is(
        "%r1: b32 = mov.u32 %tid.x", "%r2: b32 = volatile mov.u32 %clock",
        "%rd1: b64 = mov.u64 &(@tile+8)", "%rd2: b64 = mov.u64 &(generic @tile)",
        "%r3: b32 = ld.shared.u32 [@tile+4]", "%r4: b32 = ld.shared.u32 [%rd1+-4]", "ret",
        before="global @tile: shared [64 x b8]",
    )
    i = m["k"].blocks[0].instructions
    assert i[0].operands == (special_register("%tid.x"),)
    assert i[1].form.volatile
    assert (i[2].operands[0].offset, i[2].operands[0].symbol) == (8, m.globals[0])
    assert i[3].operands[0].generic
    assert i[4].operands == (m.globals[0], integer(4))
    assert i[5].operands[1] is integer(-4)


# ------------------------------------------------------------ instructions


def test_the_forms_that_ptx_leaves_implicit():
    m = returns_as_is(
        "%p1: pred = setp.eq.s32 1, 2",
        "%r1: b32, +{%0: cc} = add.cc.u32 1, 2",
        "%r2: b32 = addc.u32 1, 2 carry %0",
        "%r3: b32 = @%p1 add.s32 %r1, %r2 else b32 undef",
        "%p2: pred|%p3: pred = @!%p1 setp.lt.s32 %r1, %r2 else %p1, pred undef",
        "%r4: b32|%p4: pred = shfl.sync.idx.b32 %r1, 0, 31, -1",
        "_: b32 = atom.global.add.u32 [%r1], 1",
        "ret",
    )
    i = m["k"].blocks[0].instructions
    assert [r.type for r in i[1].results] == [t.B32, t.CC]
    assert i[2].operands[-1] is i[1].results[1]
    assert i[3].guard is i[0]
    assert i[3].fallbacks == (undef(t.B32),)
    assert i[4].fallbacks == (i[0], undef(t.PRED))
    assert i[6].name == "_"


def test_tied_operands_stand_in_their_slots():
    m = returns_as_is(
        "%f1: f32 = mov.f32 0f00000000",
        "%rd1: b64 = mov.b64 0",
        "+{%f1~2: f32, %f2: f32} = wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
        "{%f1, %f1}, %rd1, %rd1, 1, 1, 1, 0, 0",
        "ret",
    )
    mma = m["k"].blocks[0].instructions[2]
    assert len(mma.ties) == 2
    assert all(mma.operands[k] is m["k"].blocks[0].first for _, k in mma.ties)


def test_unknown_mnemonics_keep_shape_and_ties():
    m = returns_as_is(
        "%r1: b32 = mov.b32 1", "+{%r1~2: b32} = frob.b32 {%r1, %r1}, [%r1] ties ((0, 0))", "ret"
    )
    aux = m["k"].blocks[0].instructions[1].aux
    assert isinstance(aux, Loose)
    assert (aux.n_sources, aux.ties) == (3, ((0, 0),))


def test_calls():
    m = returns_as_is(
        "%p1: pred = setp.eq.s32 1, 2",
        "%rd1: b64 = mov.u64 @f",
        "call.uni @f (@p0) -> (@k_param_0)",
        '+{%r1: b32} = @%p1 call indirect (%rd1, 7) prototype "p_0" else b32 undef',
        "call @f ()",
        "ret",
        head="kernel @k(param @k_param_0: u32)", before="global @p0: param u32\nfunc @f()",
    )
    direct, indirect = m["k"].blocks[0].instructions[2:4]
    assert isinstance(direct.aux, CallInfo)
    assert direct.aux.callee is m["f"]
    assert direct.aux.return_params == (m["k"].params[0],)
    assert indirect.aux.is_indirect
    assert indirect.aux.prototype == "p_0"
    assert indirect.ties == ((0, 3),)
    assert indirect.fallbacks == (undef(t.B32),)


def test_terminators_name_their_successors():
    text = KERNEL.replace("  @%p1 bra L1 else L2", "  brx.idx 0 -> L1, L2, L1")
    assert print_ir(parse_ir(text)) == text
    m = returns_as_is("%r1: b32 = mov.b32 1", "ret with %r1")
    assert m["k"].blocks[0].last.operands == (m["k"].blocks[0].first,)


def test_locations_marks_labels_and_pragmas():
    m = returns_as_is(
        '%r1: b32 = mov.b32 1  !loc 1 20 5 "function_name $L__info, inlined_at 1 3 0"',
        '%r2: b32 = mov.b32 1  !loc 1 20 0  !marks ("hoisted")',
        'debug.label  !aux "$L__tmp0"  !loc 1 2 3',
        'pragma  !aux ("nounroll")',
        "ret",
    )
    i = m["k"].blocks[0].instructions
    assert i[0].loc == Location(1, 20, 5, "function_name $L__info, inlined_at 1 3 0")
    assert i[2].aux == "$L__tmp0"
    assert i[3].aux == ("nounroll",)


def test_comments_and_spacing_are_free():
    text = KERNEL.replace("add.f32 %f3, 0f3F800000", "add.f32   %f3 ,0f3F800000").replace(
        "\n  ret", "\n\n      ret   ; done"
    )
    assert print_ir(parse_ir("; a file\n\n" + text)) == KERNEL


def test_lines_count_from_the_text():
    m = parse_ir(KERNEL)
    assert [i.line for i in m["k"].blocks[0]] == [5, 6, 7, 8]
    assert m["k"].blocks[1].line == 9


# -------------------------------------------------------------------- nvvm


def test_nvvm_has_the_same_grammar_with_typed_constants():
    m = body(
        "%x: i32 = add nsw %a, i32 5",
        "%c: i1 = icmp slt %x, i32 -7",
        "%p: ptr addrspace(3) = getelementptr inbounds @g, i32 0, %x  !aux type [4 x i32]",
        "%v: i32 = load volatile %p  !aux 4",
        "%s: {i32, float} = insertvalue type {i32, float} undef, %v  !aux (0)",
        "store type {i32, [2 x float]} zeroinitializer, %p  !aux 0",
        "%f: <2 x float> = fadd fast type <2 x float> {float 7, float undef}, "
        "type <2 x float> undef",
        'store type [2 x i8] c"a\\x00", %p  !aux 1',
        "br %c -> entry, out",
        "out:",
        "ret i32 3",
        head="func @k(reg %a: i32) returns_type i32", level="nvvm",
        before="global @g: shared [4 x i32] address ptr addrspace(3)",
    )
    back(m)
    i = m["k"].blocks[0].instructions
    assert i[0].form is nvvm_form("add nsw")
    assert i[0].operands == (m["k"].params[0], constant(t.I32, 5))
    assert i[2].aux is t.array(t.I32, 4)
    assert i[3].form.volatile
    assert i[4].type is t.struct([t.I32, t.FLOAT])
    assert i[7].operands[0].value == b"a\0"
    assert i[8].successors == tuple(m["k"].blocks)


def test_named_structs_are_declared_once_and_shared():
    m = body(
        "%x: %node = load @g  !aux 0", "%y: %node = freeze %x", "ret",
        before='struct %node {i32, ptr}\nstruct %"a\\x20b" packed {i8, [2 x %node]}\n'
        'struct %o opaque\nglobal @g: global %"a\\x20b"\nglobal @h: global [2 x %o]',
        level="nvvm",
    )
    back(m)
    x, y = list(m["k"].blocks[0])[:2]
    assert x.type is y.type
    assert m.globals[0].value_type.packed


def test_a_class_of_a_later_level_is_one_registration_away():
    @attrs.frozen
    class Ordering:
        name: str
        scope: tuple[int, ...]

    register(Ordering)
    m = body("fence", "ret", level="nvvm")
    m["k"].blocks[0].first.aux = Ordering("seq_cst", (1, 2))
    assert '!aux Ordering("seq_cst", (1, 2))' in print_ir(m)
    assert back(m)["k"].blocks[0].first.aux == Ordering("seq_cst", (1, 2))


def test_aux_of_an_unregistered_class_is_unsupported_by_name():
    m = body("fence", "ret", level="nvvm")
    m["k"].blocks[0].first.aux = object()
    with pytest.raises(Unsupported, match="class object"):
        print_ir(m)


_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.sampled_from([t.I32, t.pointer(3), t.array(t.I8, 3), t.struct([t.I1], True), t.F32])
    | st.sampled_from([constant(t.I32, 4), constant(t.array(t.I8, 2), None), undef(t.FLOAT)]),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple)
    | st.dictionaries(st.text() | st.integers(), inner) | st.frozensets(st.text()),
    max_leaves=12,
)


@given(_DATA)
@settings(max_examples=200)
def test_any_aux_datum_comes_back(datum):
    m = body("fence", "ret", level="nvvm")
    m["k"].blocks[0].first.aux = datum
    again = parse_ir(print_ir(m))["k"].blocks[0].first.aux
    assert again == datum
    assert again.__class__ is datum.__class__


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("old", "new", "message", "line", "column"),
    [
        ("module ori", "modul ori", "expected 'module ori' or 'module nvvm', found 'modul'", 1, 1),
        ("sm_80", "(", "expected a target, found '('", 1, 19),
        ("[1024 x b8]", "[1024 x q8]", "expected a type, found 'q8'", 2, 30),
        ("align 4", "size 4", "a variable has no 'size'", 2, 34),
        ("[@k_param_0]", "[@nope]", "unknown symbol '@nope'", 5, 29),
        ("%f3, 0f3F800000", "%f9, 0f3F800000", "'%f9' is defined nowhere", 11, 30),
        ("bra L1 else L2\nL2", "bra L1 else L9\nL2", "no block is named 'L9'", 12, 21),
        ("  %0: f32", "  %f1: f32", "'%f1' is defined twice", 14, 3),
        ("%p1: pred", "%p1: q", "no type is spelled 'q'", 7, 8),
        ("st.global.f32 [%rd1], %0", "st.global.f32 [%rd1, %0", "cannot read the operands", 15, 17),
        ("L2:\n", "L2:\nL1:\n", "two blocks are named 'L1'", 14, 1),
        ("[%rd1], %0", "[%rd1], 3!1", "cannot read the operands", 15, 17),
        ("[%rd1], %0", "[%rd1], -", "cannot read the operands", 15, 17),
        ("[%rd1], %0", "[%rd1], .b8", "cannot read the operands", 15, 22),
        ("[%rd1], %0", "[%rd1], .b8%0", "cannot read the operands", 15, 22),
        ("\n}", "", "the body is not closed: expected '}'", 3, 78),
        ("!loc 1 20 5", "!lok 1", "expected loc, marks or aux", 6, 54),
        (" else %f3", "", "'add.f32' takes 4 operands in all, not 3", 11, 30),
    ],
)
def test_an_error_is_at_its_place(old, new, message, line, column):
    assert old in KERNEL
    with pytest.raises(ParseError) as e:
        parse_ir(KERNEL.replace(old, new, 1))
    first = e.value.errors[0]
    assert first.message.startswith(message)
    assert (first.line, first.col) == (line, column)
    assert "^" in str(first)


def test_all_errors_of_a_file_are_told_and_none_follows_from_another():
    text = KERNEL.replace("setp.lt.f32 %f1, %f2", "setp.lt.f32 %f1, @no").replace(
        "st.global.f32 [%rd1], %0", "st.global.f32 [%rd1], %none"
    )
    with pytest.raises(ParseError) as e:
        parse_ir(text)
    assert [(d.line, d.message) for d in e.value.errors] == [
        (7, "unknown symbol '@no'"), (15, "'%none' is defined nowhere")
    ]


@pytest.mark.parametrize(
    "text",
    ["\n", "\n\n;\n", b"", b"\xff\xfe\0\n", "module\n", "}\n{\n",
     "module ori\nglobal @x: global " + "[1 x " * 5000 + "u8" + "]" * 5000 + "\n",
     "module ori\nglobal @x: global u8 init " + "(" * 100_000 + "\n",
     "module ori\nglobal @x: global u8 align " + "9" * 100_000 + "\n",
     "module nvvm\nglobal @x: global i99999999999\n",
     "module ori\nkernel @k() {\nentry:\n  ret\n  " + "[" * 100_000 + "\n}\n"],
)
def test_no_text_raises_anything_else(text):
    with pytest.raises(ParseError):
        parse_ir(text)


_PIECES = st.sampled_from(
    [*"%@[]{}()<>,:;=!&~|+-\"\\ \n\0é", "module ", "ori", "kernel @k() {\n", "entry:\n", "}\n",
     "%r1", "@x", " = ", ": b32", "add.s32 ", "phi ", "bra ", "call ", "ret", " else ", " carry ",
     " ties ", " -> ", "  !loc 1 2 3", "  !aux ", "undef", "i32 ", "type ", "0f3F800000", "block ",
     "CallInfo(", "struct %s ", "set(", "wgmma.mma_async ", "ld.global.v2.f32 ", "setp.eq.s32 ",
     "\\x4"]
)


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 12), _PIECES), max_size=6),
       st.sampled_from(["ori", "nvvm"]))
@settings(max_examples=400)
def test_a_damaged_text_gives_a_module_or_a_parse_error(edits, level):
    text = FUZZED if level == "ori" else FUZZED_NVVM
    for at, cut, piece in edits:
        at %= len(text)
        text = text[:at] + piece + text[at + cut :]
    with contextlib.suppress(ParseError, Unsupported):
        print_ir(parse_ir(text + "\n"))


FUZZED = KERNEL + """\
func @g(reg %a: b32) returns (reg %b: b32) {
  global @x: local u32 init (1, &(@tile+4))
  prototype "p" "text"
entry: flags set("cold")
  %r1: b32, +{%0: cc} = add.cc.u32 %a, 2
  %r2: b32 = volatile addc.u32 1, %r1 carry %0
  +{%r1~2: b32} = frob.b32 {%r1, %r1}, [@x] ties ((0, 0))
  +{%r3: b32} = call @g (%r1) -> (@x) prototype "p"
  debug.label  !aux "l"  !marks ("hoisted")
  brx.idx %r1 -> entry, out
out:
  ret with %r2
}
"""
FUZZED_NVVM = """\
module nvvm target sm_80 version 8.0 address_size 64 aux {"a": (1, none)}
struct %node {i32, ptr}
global @g: shared [4 x i32] address ptr addrspace(3)
func @k(reg %a: i32) returns_type i32 {
entry:
  %x: i32 = add nsw %a, i32 5
  %c: i1 = icmp slt %x, i32 -7
  %p: ptr addrspace(3) = getelementptr inbounds @g, i32 0, %x  !aux type [4 x i32]
  %s: {i32, float} = insertvalue type {i32, float} undef, %x  !aux (0)
  br %c -> entry, out
out:
  %y: i32 = phi [%x, entry]
  ret %y
}
"""


def test_a_wrong_python_type_is_a_type_error():
    with pytest.raises(TypeError):
        parse_ir(5)


def test_a_missing_file_is_a_parse_error(tmp_path):
    with pytest.raises(ParseError, match="cannot read"):
        parse_ir(tmp_path / "none.ori")
    file = tmp_path / "k.ori"
    file.write_text(KERNEL)
    assert print_ir(parse_ir(file)) == KERNEL
    file.write_text(KERNEL.replace("ret", "ret %"))
    with pytest.raises(ParseError) as e:
        parse_ir(str(file))
    assert e.value.file == str(file)


# ------------------------------------------------------- pieces of the text


@pytest.mark.parametrize(("number", "fits"), [
    (2**64 - 1, True), (2**64, False), (-(2**63), True), (-(2**63) - 1, False), (10**400, False)])
def test_a_number_without_a_type_has_64_bits(number: int, fits: bool) -> None:
    text = ("module ori target sm_80\nkernel @k() {\nentry:\n"
            f"  cp.async.wait_group {number}\n  ret\n}}\n")
    if fits:
        assert str(number) in str(parse_ir(text))
        return
    with pytest.raises(ParseError, match=r":4:23: error: a number without a type has 64 bits"):
        parse_ir(text)


def test_an_instruction_by_itself():
    m = parse_ir(KERNEL)
    loop = m["k"].blocks[1].instructions
    assert instruction_text(loop[1]) == "%f3: f32 = @!%p1 add.f32 %f3~2, 0f3F800000 else %f3~2"
    assert str(loop[2]) == "@!%p1 bra L1 else L2"
    assert str(m["k"]) in KERNEL


def test_every_row_of_ori_prints_its_results_on_the_left():
    for row in ORI.rows.values():
        roles = [o.role for o in row.operands]
        first_source = next((k for k, r in enumerate(roles) if r != "def"), len(roles))
        assert "def" not in roles[first_source:], row


# ------------------------------------------------------------- comparison


def test_equality_up_to_renaming_is_blind_to_names_alone():
    a = parse_ir(KERNEL)["k"]
    renamed = KERNEL.replace("%f3", "%x").replace("L1", "loop").replace("  !loc 1 20 5", "")
    assert equal_up_to_renaming(a, parse_ir(renamed)["k"]) is None
    swapped = KERNEL.replace("[%f1, entry], [%f3~2, L1]", "[%f3~2, L1], [%f1, entry]")
    assert equal_up_to_renaming(a, parse_ir(swapped)["k"]) is None
    assert not structurally_equal(parse_ir(KERNEL), parse_ir(renamed))


@pytest.mark.parametrize(
    ("old", "new"),
    [("setp.lt.f32 %f1, %f2", "setp.lt.f32 %f2, %f1"), ("setp.lt", "setp.le"),
     ("0f3F800000", "0f40000000"), ("bra L1 else L2\nL1", "bra L2 else L1\nL1"),
     ("else %f3", "else %f1"), ("  st.global.f32 [%rd1], %0\n", ""), ("256", "128")],
)
def test_equality_up_to_renaming_sees_every_other_change(old, new):
    assert old in KERNEL
    a, b = parse_ir(KERNEL)["k"], parse_ir(KERNEL.replace(old, new))["k"]
    assert equal_up_to_renaming(a, b) is not None
    assert difference(parse_ir(KERNEL), parse_ir(KERNEL.replace(old, new))) is not None


def test_a_symbol_declared_nowhere_still_prints():
    i = Instruction(form("mov.u64", "%s, %s"), (Symbol(t.B64, "ghost"),), t.B64, "%rd1")
    assert instruction_text(i) == "%rd1: b64 = mov.u64 @ghost"


def test_the_aux_of_a_module_without_declarations_comes_back():
    m = Module()
    m.aux = {"asm": "x", "known": (1, ("two", ()))}
    assert parse_ir(print_ir(m)).aux == m.aux


_HEAD = "module ori target sm_80 version 8.0 address_size 64\n"
_SAID = "kernel @k() {head} {{\nentry:{block}\n  ret\n}}\n"
_WRONG = [  # what is said, and the kind of what is expected; then what is of that kind
    ("head", "loc Location(1, 2, 3, \"\")", "the number of a line", "loc 12"),
    ("head", "pragmas (1)", "strings", 'pragmas ("nounroll")'),
    ("head", "flags set(1)", "strings", 'flags set("convergent")'),
    ("head", 'directives {"maxnreg": 1}', "numbers", 'directives {"maxnreg": (1)}'),
    ("head", 'directives {"a": (1, 1, 1, 1)}', "numbers", 'directives {"maxntid": (1, 1, 1)}'),
    ("head", 'directives {"maxnreg": (4294967296)}', "numbers of 32 bits",
     'directives {"maxnreg": (4294967295)}'),
    ("head", 'aux {"alias": 5}', "a function", "aux {}"),
    ("head", 'aux {"attributes": (())}', "words", 'aux {"attributes": ("cold", ("align", 4))}'),
    ("block", 'loc (1, 2, 3, "")', "Location", 'loc Location(1, 2, 3, "")'),
    ("block", "pragmas 5", "strings", 'pragmas ("nounroll")'),
    ("block", 'aux {"llvm.loop": (5)}', "name", 'aux {"llvm.loop": (("llvm.loop.unroll.full"))}'),
]


@pytest.mark.parametrize("result", ["", "]%r2", "% r2", "%r2 %r3"])
def test_a_result_without_a_name_is_refused_whatever_was_read_before(result):
    line = "  {}: b32 = add.s32 b32 undef, 5\n"
    good = _SAID.format(head="", block="\n" + line.format("%r1").rstrip())
    assert len(parse_ir(_HEAD + good)["k"].blocks[0].instructions) == 2
    with pytest.raises(ParseError, match="<text>:4:"):
        parse_ir(_HEAD + good.replace("%r1", result))


@pytest.mark.parametrize(("where", "wrong", "expected", "right"), _WRONG, ids=lambda x: x[:24])
def test_what_is_said_of_functions_and_blocks_is_of_its_kind(where, wrong, expected, right):
    said = {"head": "", "block": ""}
    assert parse_ir(_HEAD + _SAID.format(**{**said, where: " " + right}))["k"].blocks
    with pytest.raises(ParseError, match=f"expected .*{expected}"):
        parse_ir(_HEAD + _SAID.format(**{**said, where: " " + wrong}))


def test_what_is_wrong_in_the_aux_of_a_module_is_told_at_its_place():
    with pytest.raises(ParseError, match=r"^<text>:1:63: "):
        parse_ir("module ori target sm_80 version 8.0 address_size 64 aux {\"x\": @nope}\n")


@pytest.mark.parametrize(("what", "fits"), [
    ('ConstantExpr("addrspacecast", (@s), ptr, none)', True),
    ('ConstantExpr("addrspacecast", (@s), ptr, %x)', False),  # its printing crashed
    ('ConstantExpr("addrspacecast", (%x), ptr, none)', False),
])
def test_what_is_constant_holds_constants(what: str, fits: bool):
    text = ("module nvvm\nglobal @s: global [4 x i8] align 4 address ptr addrspace(1)\n"
            f"kernel @k() {{\nentry:\n  %x: i32 = load {what}  !aux 4\n  ret\n}}\n")
    if fits:
        assert "addrspacecast" in str(parse_ir(text))
        return
    with pytest.raises(ParseError, match="a ConstantExpr holds constants only"):
        parse_ir(text)


@pytest.mark.parametrize(("number", "fits"), [
    (-(1 << 31), True), ((1 << 32) - 1, True), (1 << 32, False), (-(1 << 31) - 1, False),
    (1 << 64, False),  # a case of a switch that is 0 as another one is
])
def test_a_number_has_the_bits_of_its_type(number: int, fits: bool):
    text = ("module nvvm\nkernel @k(reg %x: i32) {\nentry:\n"
            f"  switch %x, i32 0, i32 {number} -> a, a, a\na:\n  ret\n}}\n")
    if fits:
        assert "switch" in str(parse_ir(text))
        return
    with pytest.raises(ParseError, match="a number of type i32 has 32 bits"):
        parse_ir(text)
