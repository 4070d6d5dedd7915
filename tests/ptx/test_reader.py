"""Reading PTX: what becomes of each construct, and where each error is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvir.ir import (
    Argument,
    CallInfo,
    NvirError,
    ParseError,
    SymbolOffset,
    Undef,
    integer,
)
from nvir.ir.opcodes.form import find_row
from nvir.ptx import read_ptx

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def body(text: str, extra: str = "", version: str = HEAD):
    """The one kernel of a module with this body."""
    module = read_ptx(
        version + extra + "\n.visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
        ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .f32 %f<99>; .reg .b32 %r<99>;"
        ".reg .f64 %fd<9>; .reg .b64 %rd<99>;\n" + text + "\n}\n"
    )
    return module["k"]


def only(function, name: str):
    found = [i for i in function.instructions() if i.form.name == name]
    assert len(found) == 1
    return found[0]


def errors(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(ParseError) as e:
        read_ptx(text)
    return [(d.line, d.col, d.message) for d in e.value.errors]


# ------------------------------------------------------------ statements


def test_header_and_symbols():
    m = read_ptx(HEAD + ".visible .entry k(.param .u64 k_param_0) .maxntid 256, 1, 1\n{ ret; }\n")
    assert (m.target, m.version, m.address_size, m.level) == ("sm_80", (8, 0), 64, "ori")
    k = m["k"]
    assert k.kind == "entry"
    assert k.linkage == "visible"
    assert k.directives == {"maxntid": (256, 1, 1)}
    assert [p.name for p in k.params] == ["k_param_0"]
    assert k.params[0].value_type.name == "u64"


def test_a_straight_line_is_ssa():
    f = body("mov.u32 %r1, %tid.x; add.s32 %r1, %r1, 1; add.s32 %r1, %r1, %r1; "
             "st.global.u32 [%rd1], %r1; ret;")
    mov, one, two, store, _ret = f.entry.instructions
    assert one.operands == (mov, integer(1))
    assert two.operands == (one, one)
    assert store.operands[1] is two
    assert isinstance(store.operands[0], Undef)  # declared, never written
    assert mov.name == one.name == two.name == "%r1"


def test_a_loop_gets_one_phi_for_each_register_that_it_carries():
    f = body("""mov.u32 %r1, 0; mov.u32 %r2, 7;
L: add.s32 %r1, %r1, %r2; setp.lt.s32 %p1, %r1, 100; @%p1 bra L;
   st.global.u32 [%rd1], %r1; ret;""")
    header = f.blocks[1]
    assert header.name == "L"
    phis = list(header.phis)
    assert len(phis) == 1  # %r2 does not change
    first, update = phis[0].operands
    assert first.definer.form.name == "mov"
    assert update.definer.form.name == "add"
    assert phis[0].aux == (f.entry, header)


def test_a_dead_register_needs_no_phi():
    f = body("""@%p1 bra A; mov.u32 %r1, 1; bra B;
A: mov.u32 %r1, 2;
B: ret;""")
    assert not [i for b in f.blocks for i in b.phis]


def test_a_label_at_the_start_leaves_the_entry_without_predecessors():
    f = body("L: bra L;")
    assert f.entry.preds == []
    assert f.blocks[1].preds == [f.entry, f.blocks[1]]


def test_guards_carry_their_fallback():
    f = body("mov.u32 %r1, 5; @!%p1 add.s32 %r1, %r1, 1; @%p1 mov.u32 %r2, 3; ret;")
    mov, add, other, _ = f.entry.instructions
    assert add.form.guard == "!"
    assert add.fallbacks == (mov,)
    assert add.form.ties == ((0, add.form.guard_index + 1),)
    assert isinstance(other.fallbacks[0], Undef)


def test_guarded_exits_end_a_block():
    f = body("@%p1 ret; @%p2 exit; ret;")
    assert [b.terminator.form.name for b in f.blocks] == ["ret", "exit", "ret"]
    assert f.blocks[0].succs == (f.blocks[1],)


def test_addresses():
    f = body("ld.global.v2.f32 {%f1, _}, [%rd1+-16]; ld.shared.u32 %r1, [tile+8]; "
             "st.global.u32 [%rd1+0], %r1; ret;", ".shared .align 4 .b8 tile[64];")
    vector, shared, store, _ = f.entry.instructions
    assert vector.form.addresses == ((0, 1),)
    assert vector.operands[1] is integer(-16)
    assert [r.name for r in vector.results] == ["%f1", "_"]
    assert shared.operands[0].space == "shared"
    assert store.form.shape == "[%s], %s"  # a zero offset is none


def test_pairs_and_vectors_define_several_values():
    f = body("setp.lt.s32 %p1|%p2, %r1, %r2; mov.b64 {%r3, %r4}, %rd1; mov.b64 %rd2, {%r4, %r3}; "
             "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd3, {%f5, %f6}]; ret;")
    setp, unpack, pack, tex, _ = f.entry.instructions
    assert [r.type.name for r in setp.results] == ["pred", "pred"]
    assert len(unpack.results) == 2
    assert pack.operands == (unpack.results[1], unpack.results[0])
    assert len(tex.results) == 4
    assert len(tex.operands) == 3


def test_carry_is_a_hidden_result_and_operand():
    f = body("add.cc.u32 %r1, %r2, %r3; addc.u32 %r4, %r5, %r6; ret;")
    add, addc, _ = f.entry.instructions
    assert [r.type.name for r in add.results] == ["b32", "cc"]
    assert addc.operands[-1] is add.results[1]


def test_volatile_special_registers_make_a_pinned_form():
    f = body("mov.u64 %rd1, %clock64; mov.u32 %r1, %tid.x; ret;")
    clock, tid, _ = f.entry.instructions
    assert clock.form.pinned
    assert tid.form.pure


def test_calls_with_param_variables_and_with_registers():
    callee = (".func (.param .b32 func_retval0) f(.param .b32 f_param_0);\n"
              ".func (.reg .b32 rv) g(.reg .b32 x) { add.s32 rv, x, 1; ret; }\n")
    f = body("""{ .param .b32 param0; .param .b32 retval0; st.param.b32 [param0], %r1;
    call.uni (retval0), f, (param0); ld.param.b32 %r2, [retval0]; }
    call (%r3), g, (%r2); ret;""", callee)
    first, second = (i for i in f.instructions() if i.form.is_call)
    assert isinstance(first.aux, CallInfo)
    assert first.aux.callee.name == "f"
    assert [v.name for v in first.aux.return_params] == ["retval0"]
    assert first.results == ()
    assert [r.name for r in second.results] == ["%r3"]
    g = second.aux.callee
    assert isinstance(g.params[0], Argument)
    ret = g.entry.terminator
    assert ret.operands[0].definer.form.name == "add"


def test_indirect_calls_need_a_prototype():
    f = body("""proto : .callprototype (.param .b32 _) _ (.param .b64 _);
    { .param .b64 param0; .param .b32 retval0; call (retval0), %rd1, (param0), proto; } ret;""")
    call = only(f, "call")
    assert call.aux.is_indirect
    assert call.aux.prototype == "proto"
    assert f.prototypes["proto"].startswith(".callprototype")


@pytest.mark.parametrize("target", ["p0", "5", "%tid.x", "a"])
def test_what_is_called_by_name_is_a_function(target):
    with pytest.raises(ParseError, match=f"'{target}' is no function to call"):
        body(f".param .b32 p0; call.uni {target}; ret;")
    assert body("call.uni f; ret;", extra=".func f { ret; }")


def test_scopes_hide_registers_and_labels():
    f = body("""mov.u32 %r1, 1;
    { .reg .b32 t; .reg .pred q; mov.u32 t, 2; WAIT: setp.eq.u32 q, t, %r1; @q bra WAIT; }
    { .reg .b64 t; mov.u64 t, 3; WAIT: @%p1 bra WAIT; st.global.u64 [%rd1], t; } ret;""")
    names = [b.name for b in f.blocks if b.name.startswith("WAIT")]
    assert len(names) == len(set(names)) == 2
    store = only(f, "st")
    assert store.operands[1].type.name == "b64"


def test_indexed_branches():
    f = body("""ts: .branchtargets A, B, A;
    brx.idx %r1, ts;
A: ret;
B: exit;""")
    branch = f.entry.terminator
    assert [b.name for b in branch.successors] == ["A", "B", "A"]
    assert [b.name for b in f.entry.succs] == ["A", "B"]


@pytest.mark.seed("IR-13")
def test_pragmas_at_a_label_belong_to_the_block():
    f = body('L: .pragma "nounroll"; add.s32 %r1, %r1, 1; @%p1 bra L; ret;')
    assert f.blocks[1].pragmas == ("nounroll",)


def test_a_pragma_behind_a_branch_belongs_to_no_label():
    """ptxas unrolls the loop all the same."""
    f = body('bra L; .pragma "nounroll"; L: add.s32 %r1, %r1, 1; @%p1 bra L; ret;')
    assert [b.pragmas for b in f.blocks if b.name == "L"] == [()]


def test_vector_registers_may_be_counted():
    f = body(".reg .v2 .b16 x<4>; mov.b16 x1.x, 3; add.u16 x1.y, x1.x, 1;")
    assert [i.name for i in f.instructions()][:2] == ["x1_x", "x1_y"]
    with pytest.raises(ParseError, match="undeclared"):
        body(".reg .v2 .b16 x<4>; mov.b16 x4.x, 3;")
    with pytest.raises(ParseError, match="too many"):
        body(".reg .v4 .b32 x<100000000>; ret;")


@pytest.mark.parametrize(
    ("type", "text", "number"),
    [("b32", "v + 1", 1), ("f32", "v+-3", -3), ("b64", "v+4", 4), ("b16", "v +7", 7)],
)
def test_a_register_plus_a_number_is_added_to_its_bits(type, text, number):
    bits = type[1:]
    f = body(f".reg .{type} v; mov.{type} v, %tid.x; st.global.b{bits} [%rd1+8], {text};"
             .replace("mov.b32", "mov.u32"))
    add = next(i for i in f.instructions() if i.form.spelling == f"add.s{bits}")
    store = next(i for i in f.instructions() if i.form.name == "st")
    assert add.operands[1].value == number
    assert add in store.operands


def test_a_predicate_plus_a_number_is_an_error():
    with pytest.raises(ParseError, match="cannot read the operands"):
        body("mov.pred %p2, %p1+1;")



def test_an_unknown_mnemonic_reads_and_writes_its_registers():
    text = ".entry k() { .reg .b32 %r<4>; mov.u32 %r1, 1;\nnewop.sync.b32 %r2, [%r1+4], 7;\n"
    m = read_ptx(HEAD + text + "st.shared.b32 [%r2], %r1; ret; }\n")
    mov, new, store, _ = m["k"].entry.instructions
    assert new.form.name == "unknown"
    assert [r.name for r in new.results] == ["%r2", "%r1"]
    assert new.ties == ((0, 0), (1, 1))
    assert new.operands[1] is mov
    assert store.operands == (new.results[0], new.results[1])
    assert "newop.sync.b32" in m.diagnostics[0].message
    assert m.diagnostics[0].line == 5


def test_an_unknown_modifier_keeps_the_roles():
    f = body("ld.global.shiny.f32 %f1, [%rd1]; ld.global.nc.L1::no_allocate.f32 %f2, [%rd1]; ret;")
    ld = f.entry.first
    assert [r.name for r in ld.results] == ["%f1"]
    assert ["'.shiny' of 'ld'" in d.message for d in f.module.diagnostics] == [True]


def test_video_selectors_stay_with_their_operands():
    f = body("vadd.s32.u32.s32 %r1, %r2.b0, %r3.h1; ret;")
    assert only(f, "vadd").form.shape == "%s, %s.b0, %s.h1"


def test_negated_video_operands_and_subtracted_offsets():
    f = body("vmad.s32.s32.s32 %r1, %r2.h0, %r3.b1, -%r4; ld.global.u32 %r5, [%rd1-16]; ret;")
    assert only(f, "vmad").form.shape == "%s, %s.h0, %s.b1, -%s"
    assert only(f, "ld").operands[1] is integer(-16)


def test_symbol_offsets_as_operands():
    f = body("mov.u64 %rd1, tab+8; mov.u64 %rd2, tab[3]; cvta.global.u64 %rd3, tab; ret;",
             ".global .u32 tab[8];")
    plus, index, plain, _ = f.entry.instructions
    assert (plus.operands[0].offset, index.operands[0].offset) == (8, 12)
    assert plain.operands[0].name == "tab"


def test_vector_registers_are_their_elements():
    f = body(".reg .v2 .f32 v; ld.global.v2.f32 v, [%rd1]; add.f32 %f1, v.x, v.y; ret;")
    ld = only(f, "ld")
    assert only(f, "add").operands == ld.results


@pytest.mark.parametrize(
    ("text", "value"),
    [("0x1F", 31), ("-5", -5), ("017", 15), ("0b101", 5), ("42U", 42), ("(1 << 4) | 3", 19),
     ("WARP_SZ", 32), ("-(2 + 1)", -3), ("~7", -8), ("1 ? 5 : 6", 5),
     ("2 - 3 - 4 * 5 % 3", -3), ("0 ? 1 : 0 ? 2 : 3 + 1", 4), ("!(.u64)-1 + 2", 2),
     (f"{'(' * 900}~1{')' * 900}", -2), ("+".join("1" * 4000), 4000)],
    ids=lambda x: str(x)[:24],
)
def test_integer_literals_and_expressions(text, value):
    f = body(f"mov.u32 %r1, {text}; ret;")
    assert only(f, "mov").operands == (integer(value),)


def test_decimal_fractions_take_the_instruction_type():
    f = body("mov.f32 %f1, 1.5; mov.f64 %fd1, 2.0; ret;")
    single, double, _ = f.entry.instructions
    assert single.operands[0].name == "0f3FC00000"
    assert double.operands[0].name == "0d4000000000000000"


def test_globals_and_initialisers():
    m = read_ptx(HEAD + """
.global .align 4 .b8 text[6] = {72, 101, 108, 108, 111};
.global .u64 where = generic(text)+4;
.global .f32 pi = 3.14159;
.global .align 4 .u32 grid[2][2] = {{1, 2}, {3, 4}};
.global .b8 bytes[] = {0xff(text), 0xff00(text)};
.extern .shared .align 16 .b8 dyn[];
.const .u32 table[3] = {1, 2, 3};
.global .attribute(.managed) .u32 managed;
.global .texref old_texture;
""")
    g = {v.name: v for v in m.globals}
    assert g["text"].dimensions == (6,)
    assert len(g["text"].init) == 5
    address = g["where"].init
    assert isinstance(address, SymbolOffset)
    assert (address.symbol, address.offset, address.generic) == (g["text"], 4, True)
    assert g["pi"].init.name == "0f40490FD0"
    assert g["grid"].dimensions == (2, 2)
    assert [c.value for c in g["grid"].init[1]] == [3, 4]
    assert [b.mask for b in g["bytes"].init] == [0xFF, 0xFF00]
    assert g["bytes"].dimensions == (2,)
    assert (g["dyn"].linkage, g["dyn"].dimensions) == ("extern", (0,))
    assert g["managed"].attributes == {"attribute": ".managed"}


def test_locations_and_debug_data_are_kept():
    m = read_ptx(EXAMPLES / "sgemm.ptx")
    assert m.debug.files
    assert any(i.loc is not None for i in m["sgemm"].instructions())


def test_unreachable_code_stays():
    f = body("ret; L: add.s32 %r1, %r1, 1; bra L;")
    assert len(f.blocks) >= 2
    assert f.rpo == [f.entry]


@pytest.mark.seed("IR-03", "IR-04", "IR-05")
def test_annotations_of_a_while_loop():
    f = body("""mov.u32 %r1, 0;
H: setp.ge.s32 %p1, %r1, %r2; @%p1 bra X; add.s32 %r1, %r1, 1; bra H;
X: ret;""")
    header = next(b for b in f.blocks if b.name == "H")
    assert len(f.back_edges) == 1
    ((latch, headers),) = f.back_edges.items()
    assert headers == (header,)
    assert header.dominates(latch)
    for k, b in enumerate(f.rpo):
        assert b.rpo_index == k
        assert b.idom is None or b.idom.rpo_index < k


# ---------------------------------------------------------------- errors


def test_all_errors_of_a_file_at_their_places():
    text = HEAD + """.entry k() {
.reg .b32 %r<4>;
add.s32 %r1, %r9, 1;
bra NOWHERE;
add.s32 %r1, %r2;
@%r1 ret;
ret;
}
"""
    found = errors(text)
    assert [(line, col) for line, col, _ in found] == [(6, 14), (7, 5), (8, 1), (9, 2)]
    assert "'%r9'" in found[0][2]
    assert "NOWHERE" in found[1][2]
    assert "needs 3 operands" in found[2][2]
    assert "predicate" in found[3][2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (".target sm_80\n.entry k() { ret; }\n", "'.version'"),
        (".version eight\n.target sm_80\n", "malformed .version"),
        (f".version 8.0\n.target sm_{'9' * 5000}\n", "is no target such as sm_80"),
        (HEAD + f'.file {"9" * 5000} "a"\n', "expected '.file NUMBER"),
        (HEAD + f".entry k() {{ .loc 1 {'9' * 5000} 0\nret; }}\n", "expected '.loc FILE LINE"),
        (HEAD + ".func g();\n.alias g, g;\n", "'g' is an alias of itself"),
        (HEAD + ".func g();\n.func h();\n.alias g, h;\n.alias h, g;\n", "alias of itself"),
        (HEAD + ".entry k() { ret;\n", "not closed"),
        (HEAD + ".entry k() { .reg .b32 x; .reg .b32 x; ret; }\n", "twice"),
        (HEAD + ".entry k() { L: ret; L: ret; }\n", "defined twice"),
        (HEAD + ".entry k() { .reg .b99 x; ret; }\n", "'.b99'"),
        (HEAD + ".entry k() { mov.u32 5, 6; ret; }\n", "no register"),
        (HEAD + ".entry k() { add.s32 !; }\n", "operands"),
        (HEAD + ".global .u32 x = nothing;\n", "'nothing'"),
        (HEAD + f".global .u32 x = {'+'.join('1' * 6000)};\n", "of up to 10000 parts"),
        (HEAD + ".global .u32 x = (1 + 2;\n", "no constant"),
        (HEAD + ".global .u32 x = 1 ? 2;\n", "no constant"),
        (HEAD + f".global .u32 x{'[1]' * 1001};\n", "more than 1000 sizes"),
        (HEAD + ".global .align 3 .u32 x;\n", "power of two"),
        (HEAD + ".entry k() { ret; }\n.entry k() { ret; }\n", "defined twice"),
        (HEAD + "hello world\n", "hello"),
        (HEAD + ".entry", "the file ends here"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    found = errors(text + "\n")
    assert any(message in m for _, _, m in found), found


def test_binary_input():
    with pytest.raises(ParseError, match="binary"):
        read_ptx(b"\x7fELF\x02\x00\x00\x01")


def test_a_missing_file():
    with pytest.raises(NvirError, match="cannot be read"):
        read_ptx("/nowhere/at/all.ptx")


def test_a_wrong_python_type():
    with pytest.raises(TypeError):
        read_ptx(7)


def test_a_newer_version_is_a_warning():
    m = read_ptx(".version 99.1\n.target sm_80\n.entry k() { ret; }\n")
    assert "newer" in m.diagnostics[0].message


@pytest.mark.parametrize("filler", ["a", ";", "{", "add.s32 ", "(", '"', "@", "%", "L: ", "\\"])
def test_a_huge_line_ends_in_an_error_within_bounds(filler):
    text = HEAD + ".entry k() {\n" + filler * (300_000 // len(filler)) + "\n"
    with pytest.raises(ParseError) as e:
        read_ptx(text)
    assert len(str(e.value)) < 200_000


SOURCES = [p.read_text() for p in sorted((EXAMPLES / "ptx").glob("*.ptx"))[:12]]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutated_text_never_raises_anything_else(data):
    text = data.draw(st.sampled_from(SOURCES))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        size = data.draw(st.integers(0, 30))
        piece = data.draw(
            st.text(alphabet="{}[](),;:.%$@!\"'abrd019 \n\t-+|\\<>", max_size=12)
            | st.sampled_from([".reg .b32 %r<5>;", "{", "}", ".entry k(", "/*", "*/", "//", "\0"])
        )
        text = text[:at] + piece + text[at + size :]
    try:
        module = read_ptx(text + "\n")
    except ParseError as e:
        reported = e.errors
    else:
        reported = []
        for f in module.functions:
            f.analyze_cfg()
    assert all(d.line >= 1 and d.message for d in reported)


@pytest.mark.parametrize(("spelling", "row"), [
    ("vote.ballot.sync.b32", "vote.sync"), ("shfl.up.sync.b32", "shfl.sync"),
    ("redux.add.sync.s32", "redux.sync"), ("vote.ballot.b32", "vote"),
    ("bar.cta.sync", "bar.cta.sync"), ("match.any.sync.b32", "match.any.sync"),
])
def test_sync_behind_other_modifiers(spelling, row):
    """The assembler takes either order; CUB's inline assembly has the older one."""
    found = find_row(spelling)
    assert found is not None
    assert (found[0].name, "sync" in found[1]) == (row, False)


def test_the_elements_of_a_vector_register_have_two_names() -> None:
    text = HEAD + """
.visible .entry k()
{
    .reg .v4 .f32 %v;
    .reg .f32 %f<2>;
    mov.f32 %f1, %v.NAME;
    ret;
}
"""
    assert len(read_ptx(text.replace("NAME", "g")).functions) == 1
    with pytest.raises(NvirError, match=r"undeclared register '%v\.q'"):
        read_ptx(text.replace("NAME", "q"))


def test_target_debug_wants_debug_data() -> None:
    debug = HEAD.replace("sm_80", "sm_80, debug")
    kernel = "\n.visible .entry k()\n{\n    ret;\n}\n"
    assert any("without debug data" in str(x) for x in read_ptx(debug + kernel).refused)
    section = ".section .debug_str\n{\n.b8 0\n}\n"
    assert not read_ptx(debug + kernel + section).refused


def test_reading_goes_on_behind_many_blank_lines() -> None:
    """Each is looked at once: to look at all that follow for each of them would never end."""
    text = HEAD + ".bogus\n" + 1_000_000 * "\n" + "  .bogus\n \t.visible .bogus\n"
    with pytest.raises(ParseError) as told:
        read_ptx(text)
    assert [e.line for e in told.value.errors] == [4, 1_000_006]


@pytest.mark.parametrize(("inside", "line"), [("", 5), ("{ mov.u32 %r1, 2;\n", 6)])
def test_a_brace_that_is_not_closed_is_told_where_the_next_function_begins(inside, line):
    """And nothing that follows from it: what stands behind is read as ever."""
    text = HEAD + f".visible .entry a()\n{{ .reg .b32 %r<3>;\n{inside}ret;\n" \
        ".visible .entry b()\n{ .reg .b32 %q<3>;\nadd.u32 %q1, %q2, 1;\nret;\n}\n"
    with pytest.raises(ParseError) as told:
        read_ptx(text)
    (one,) = told.value.errors
    assert one.message == f"the '{{' of line {line} is not closed: expected '}}' before '.visible'"
    closed = text.replace("ret;\n.visible", "ret;\n" + "}" * (1 + bool(inside)) + "\n.visible")
    assert len(read_ptx(closed).functions) == 2


def test_a_function_of_more_phis_or_edges_than_are_wanted_stays_empty():
    text = HEAD + ".visible .entry k()\n{\n.reg .pred %p<2>; .reg .b32 %r<3>;\n" \
        "L: add.u32 %r1, %r1, 1; add.u32 %r2, %r2, %r1; @%p1 bra L; ret;\n}\n" \
        ".visible .entry other() { ret; }\n"
    assert [len(f.blocks) for f in read_ptx(text, 4).functions] == [3, 1]
    short = read_ptx(text, 3)
    assert [len(f.blocks) for f in short.functions] == [0, 1]
    assert "k has more than 3 phis or edges" in str(short.diagnostics[0])


@pytest.mark.parametrize("address", ["%rd1 0 0", "%rd1 0 8", "%rd1+4 8"])
def test_numbers_of_an_address_do_not_run_together(address):
    """`[%rd1 0 0]` was printed as `[%rd100]`."""
    store = body(f"st.global.u32 [{address}], %r1; ret;").entry.first
    assert "%s%s" not in store.form.shape


@pytest.mark.parametrize("before", [0, 500, 5000])
def test_the_place_of_an_error_in_a_long_line_is_shown(before):
    with pytest.raises(ParseError) as told:
        read_ptx(f"{HEAD}{' ' * before}.global .u32 x = here;\n")
    line, caret = str(told.value.errors[0]).splitlines()[1:]
    assert line[caret.index("^"):].startswith("here;")


def test_the_parameters_of_a_declaration_are_its_own():
    """One stood for the initial value behind it, which then was printed in front of it."""
    declared = ".func f(.param .b32 x);\n.global .u64 table[1] = {%s};\n"
    assert read_ptx(HEAD + declared % "f").globals[0].init
    with pytest.raises(ParseError, match="5:26: error: undeclared identifier 'x'"):
        read_ptx(HEAD + declared % "x")
