"""Inline assembly: templates, constraints, clobbers, results, diagnostics, its way to PTX."""

from __future__ import annotations

import numpy as np
import pytest
from fe_judges import accepted, module_of, run

import nvir
from nvir.frontend import build as b
from nvir.frontend.check import check
from nvir.frontend.irgen import IRGenError, Options
from nvir.frontend.irgen.function_symbols import function_symbol
from nvir.frontend.irgen.functions import emit_function
from nvir.frontend.irgen.intrinsic.inline_asm import (
    NOT_VOLATILE,
    TAGS,
    AsmFragment,
    Constraint,
    clobber,
    constraint,
    parse_template,
    reconstruct,
    text_of,
)
from nvir.frontend.irgen.state import ModuleState
from nvir.frontend.tree import types as t
from nvir.ir.text.trace import Trace

out, x, y, n, s = b.names("out x y n s")
PHASES = ["template", "reconstruction", "constraints", "clobbers", "object", "results", "cleanup"]


def kernel(*body, params="", others=()):
    return b.unit(*others, b.kernel("k", "int *out, int n" + params, b.let("int x", 0),
                                    b.let("int y", 0), *body))


def state_of(*body, params="", others=(), policy="observed"):
    unit = check(kernel(*body, params=params, others=others))
    shared = ModuleState(unit, Options(policy=policy))
    decl = unit.functions[-1]
    symbol = function_symbol(shared, decl)
    return emit_function(shared, decl, symbol, shared.abis[decl])


def asm_of(*body, params="", others=()):
    """The call of the (last) assembly."""
    g = state_of(*body, params=params, others=others)
    return [i for i in g.function.instructions() if i.form.is_call][-1]


def text(template):
    return reconstruct(parse_template(template))


# -------------------------------------------------------------------- templates


@pytest.mark.seed("ASM-01")
def test_the_phases_run_in_order():
    g = state_of(b.asm("mov.u32 %0, %1;", [("=r", x)], [("r", n)]))
    assert g.events == PHASES


@pytest.mark.seed("ASM-02", "GAP-40")
def test_fragments():
    assert parse_template("mov.u32 %0, %tid.x; // %h1") == [
        AsmFragment("mov.u32 "), AsmFragment("", 0), AsmFragment(", %tid.x; // "),
        AsmFragment("", 1, "h"),
    ]


@pytest.mark.seed("ASM-03", "ASM-04", "ASM-05", "ASM-06", "ASM-08", "ASM-09")
@pytest.mark.parametrize(("given", "want"), [
    ("a$b", "a$$b"), ("%%tid.x", "%tid.x"), ("add %12, %3", "add $12, $3"), ("L%=:", "L${:uid}:"),
    ("%h0", "${0:h}"), ("mov.u32 %0, %tid.x", "mov.u32 $0, %tid.x"), ("%laneid", "%laneid"),
    ("", ""), ("100%", "100%"), ("%%%0", "%$0"),
])
def test_templates(given, want):
    assert text(given) == want


@pytest.mark.seed("ASM-07", "DIA-08")
def test_operands_by_name_are_refused():
    with pytest.raises(IRGenError, match="symbolic operand reference not supported!") as raised:
        asm_of(b.asm("mov.u32 %[to], 1;", [("=r", x)]))
    assert "test_fe_asm.py" in str(raised.value)
    named = b.s.Asm("mov.u32 %0, 1;", (b.s.AsmOperand("=r", x.node, "to"),))
    with pytest.raises(IRGenError, match="symbolic operand reference not supported!"):
        asm_of(named)


def test_an_operand_that_is_not_there():
    with pytest.raises(IRGenError, match="no operand %2 in inline assembly"):
        asm_of(b.asm("mov.u32 %0, %2;", [("=r", x)], [("r", n)]))


@pytest.mark.seed("ASM-10", "ASM-15")
def test_text_operands():
    op = b.variable("const char op[]", "add$s", memory="device")
    with Trace() as trace:
        call = asm_of(b.asm("%1.s32 %0, %0, 1;", [("+r", x)], [("C", b.name("op"))]), others=[op])
    assert [str(e) for e in trace.of("ASM-15")] == [
        "ASM-15 3 text operand (tag 23): no value, constraint r"]
    assert call.aux.callee.template == "add$$s.s32 $0, $0, 1;"
    assert call.aux.callee.constraints == "=r,r,0"
    assert str(call.operands[0].name) == "undef"
    nul = b.variable("const char op[]", b.init(*(b.char(c) for c in b"a$b\0")), memory="device")
    call = asm_of(b.asm("%1 %0;", [("=r", x)], [("C", b.name("op"))]), others=[nul])
    assert call.aux.callee.template == "a$$b $0;"


@pytest.mark.seed("ASM-10")
def test_a_text_operand_is_an_array_of_char():
    numbers = b.variable("const int op[]", b.init(1, 2), memory="device")
    with pytest.raises(IRGenError, match="constraint 'C' is no array of char"):
        asm_of(b.asm("%1 %0;", [("=r", x)], [("C", b.name("op"))]), others=[numbers])


# ------------------------------------------------------------------ constraints


@pytest.mark.seed("ASM-11", "ASM-15", "ASM-16", "GAP-40")
def test_tags():
    letters = {k: constraint(k).letters for k in (20, 21, 22, 24, 38, 42)}
    assert letters == {20: "r", 21: "h", 22: "l", 24: "q", 38: "f", 42: "d"}
    assert [constraint(k).letters for k in range(10, 20)] == list("0123456789")
    assert constraint(9).letters == "imr"
    assert constraint(23).letters == "r"
    flags = {k: (constraint(k).address, constraint(k).memory)
             for k in (8, 9, 0x14, 0x15, 0x16, 0x18, 0x19, 0x1B, 0x1C, 0x26, 0x2A, 26)}
    through, memory = (True, False), (False, True)
    assert flags == {8: (True, True), 9: (True, True), 0x14: through, 0x15: through, 0x16: through,
                     0x18: through, 0x26: through, 0x2A: through, 0x19: memory, 0x1B: memory,
                     0x1C: memory, 26: (False, False)}


@pytest.mark.seed("ASM-12")
def test_outputs_in_memory_are_indirect():
    call = asm_of(b.asm("st.u32 %0, %1;", [("=m", x)], [("r", n)]))
    assert call.aux.callee.constraints == "=*m,r"
    assert call.operands[0].name.startswith("x")
    assert call.type.name == "void"


@pytest.mark.seed("ASM-13")
def test_operands_that_are_read_and_written():
    call = asm_of(b.asm("add.s32 %0, %0, %1;", [("+r", x)], [("n", 4)]))
    assert call.aux.callee.constraints == "=r,n,0"
    call = asm_of(b.asm("a %0 %1 %2;", [("=&r", y), ("+r", x)], [("r", n)]))
    assert call.aux.callee.constraints == "=&r,=r,r,1"


@pytest.mark.seed("ASM-14", "DIA-08")
def test_operands_tied_by_a_digit_are_refused():
    with pytest.raises(IRGenError, match="tied input/output operands not supported!"):
        asm_of(b.asm("add.s32 %0, %1, 1;", [("=r", x)], [("0", n)]))


@pytest.mark.parametrize(("statement", "message"), [
    (b.asm("a %0;", [("=y", x)]), "unknown asm constraint '=y'"),
    (b.asm("a %0;", [("r", x)]), "asm output with the constraint 'r'"),
    (b.asm("a %0;", [], [("=r", x)]), "asm input with the constraint '=r'"),
    (b.asm("a %0;", [("=l", x)]), r"asm operand type size\(4\) does not match type/size implied"),
    (b.asm("a %0;", [], [("n", x)]), "the operand of asm constraint 'n' is no constant"),
])
def test_what_constraints_refuse(statement, message):
    with pytest.raises(IRGenError, match=message) as raised:
        asm_of(statement)
    assert "test_fe_asm.py" in str(raised.value)


def test_objects_are_no_operands():
    with pytest.raises(IRGenError, match="an asm operand must have scalar type"):
        asm_of(b.let("float4 v"), b.asm("a %0;", [("=r", b.name("v"))]))


def test_registers_by_letter():
    body = [b.let("short h"), b.let("long l"), b.let("float f"), b.let("double d"),
            b.let("__int128 q")]
    operands = [(f"={c}", b.name(c)) for c in "hlfdq"]
    call = asm_of(*body, b.asm("x %0, %1, %2, %3, %4;", operands))
    assert call.aux.callee.constraints == "=h,=l,=f,=d,=q"
    assert [e.name for e in call.type.elements] == ["i16", "i64", "float", "double", "i128"]


# --------------------------------------------------------- clobbers, the object


@pytest.mark.seed("ASM-17", "GAP-40")
def test_clobbers():
    assert (clobber("memory"), clobber("r7")) == ("~{memory}", "~{r7}")
    call = asm_of(b.asm("a;", clobbers=["memory", "r7"]))
    assert call.aux.callee.constraints == "~{memory},~{r7}"
    call = asm_of(b.asm("a %0;", [("=r", x)], clobbers=["memory"]))
    assert call.aux.callee.constraints == "=r,~{memory}"


@pytest.mark.seed("ASM-18", "ASM-20")
def test_the_type_of_the_object():
    assert asm_of(b.asm("a;")).type.name == "void"
    assert asm_of(b.asm("a %0;", [("=r", x)])).type.name == "i32"
    both = asm_of(b.asm("a %0, %1;", [("=r", x), ("=r", y)]))
    assert [e.name for e in both.type.elements] == ["i32", "i32"]
    assert both.aux.callee.flags == ()


@pytest.mark.seed("ASM-19", "ASM-20", "DIA-08", "GAP-40")
def test_effects_and_the_warning():
    def effects(*args, **kw):
        return asm_of(b.asm(*args, **kw)).aux.callee.sideeffect

    assert not effects("a %0;", [("=r", x)])
    assert effects("a %0;", [("=r", x)], volatile=True)
    assert effects("a;")
    assert effects("a %0;", [("=r", x)], clobbers=["memory"])
    statement = b.asm("mov.u32 %0, 1;", [("=r", x)])
    g = state_of(statement)
    ((number, told),) = g.shared.warnings
    assert (number, NOT_VOLATILE, told.severity) == (0xE9F, 0xE9F, "warning")
    assert told.line == statement.place.line
    assert told.message == "asm statement with outputs is not volatile [0xE9F]"
    assert state_of(b.asm("mov.u32 %0, 1;", [("=r", x)], volatile=True)).shared.warnings == []


@pytest.mark.seed("ASM-21", "ASM-22")
def test_results_are_taken_out_and_stored():
    g = state_of(b.asm("a %0, %1;", [("=r", x), ("=r", y)]))
    found = [i for i in g.function.instructions() if i.form.name == "extractvalue"]
    assert [(i.aux, i.name.split(".")[0]) for i in found] == [((0,), "asmresult"),
                                                              ((1,), "asmresult")]
    stores = [i for i in g.function.instructions()
              if i.form.name == "store" and i.operands[0] in found]
    assert [i.operands[1].name for i in stores] == ["x", "y"]
    wide = state_of(b.let("__int128 q"), b.let("__int128 r"),
                    b.asm("a %0, %1;", [("=q", b.name("q")), ("=q", b.name("r"))]))
    assert sum((i.name or "").startswith("asmresult")
               for i in wide.function.instructions()) == 2


@pytest.mark.seed("ASM-21", "GAP-40")
@pytest.mark.parametrize(("policy", "count", "form"), [
    ("documented", 4, "compact"), ("documented", 5, "explicit index"), ("observed", 4, "compact"),
])
def test_parts_of_results_have_two_forms_and_one_name(policy, count, form):
    """Beyond 16 bytes the notes' instruction has an array of indices; all are named (GAP-40)."""
    outputs = [("=r", b.name(f"v{k}")) for k in range(count)]
    with Trace() as trace:
        g = state_of(*(b.let(f"int v{k}") for k in range(count)), b.asm("a;", outputs),
                     policy=policy)
    found = [i for i in g.function.instructions() if i.form.name == "extractvalue"]
    assert [i.name.split(".")[0] for i in found] == ["asmresult"] * count
    for k, e in enumerate(trace.of("ASM-21")):
        assert [e.inputs[x] for x in ("number", "bytes", "form")] == [k, 4 * count, form]
        assert "asmresult" in e.outcome


@pytest.mark.seed("ASM-23", "ASM-09")
def test_the_example_of_the_notes():
    module = module_of(kernel(b.asm("mov.u32 %0, %tid.x;", [("=r", x)], volatile=True),
                              b.assign(out[0], x)))
    text_ = nvir.print_ll(module, "llvm20")
    assert 'call i32 asm sideeffect "mov.u32 $0, %tid.x;", "=r"()' in text_
    (call,) = [i for i in module["k"].instructions() if i.form.is_call]
    (store,) = call.users
    assert (store.form.name, store.operands[1].name) == ("store", "x")
    accepted(module)


# ------------------------------------------------------------------ down to PTX


def test_the_comments_stand_around_it_in_ptx():
    module = module_of(kernel(
        b.asm("add.s32 %0, %1, 3; mul.lo.s32 %0, %0, 2;", [("=r", x)], [("r", n)]),
        b.asm("membar.gl;"), b.assign(out[0], x)))
    nvir.run_passes(module, "select,dce", verify=True)
    printed = nvir.print_ptx(module)
    blocks = [p.split("// end inline asm")[0].split("\n") for p in
              printed.split("// begin inline asm")[1:]]
    spelled = [[line.split()[0] for line in block if line.strip()] for block in blocks]
    assert spelled == [["add.s32", "mul.lo.s32"], ["membar.gl;"]]
    again = nvir.print_ptx(nvir.read_ptx(printed))
    assert again.count("// begin inline asm") == again.count("// end inline asm") == 2
    got = np.zeros(1, np.int32)
    run(nvir.read_ptx(printed), "k", [got, np.int32(4)], block=1)
    assert got.tolist() == [14]


def test_a_bool_and_a_float_as_bits():
    module = module_of(kernel(
        b.let("float f", 1.5), b.let("unsigned u"),
        b.asm("mov.b32 %0, %1;", [("=r", b.name("u"))], [("r", b.name("f"))]),
        b.assign(out[0], b.name("u") >> 20)))
    got = np.zeros(1, np.int32)
    run(module, "k", [got, np.int32(4)], block=1)
    assert got.tolist() == [0x3FC]
    assert t.INT.bits == 32


# ------------------------------------------------------------- single decisions


@pytest.mark.seed("ASM-11")
def test_every_tag_and_its_letter():
    assert TAGS == {
        8: "X", 9: "g", 10: "0", 11: "1", 12: "2", 13: "3", 14: "4", 15: "5", 16: "6", 17: "7",
        18: "8", 19: "9", 20: "r", 21: "h", 22: "l", 23: "C", 24: "q", 25: "m", 26: "n", 27: "o",
        28: "V", 29: "i", 38: "f", 42: "d",
    }
    assert Constraint("r") == Constraint("r", False, False)
    assert constraint(8) == Constraint("X", True, True)


@pytest.mark.seed("ASM-10")
@pytest.mark.parametrize(("made", "taken"), [
    (lambda: b.variable("const char op[]", "add", memory="device"), "add"),
    (lambda: b.variable("const unsigned char op[]", b.init(97, 255, 0), memory="device"),
     "a\xff"),
    (lambda: b.variable("const char op[]", b.init(b.cast("char", 98)), memory="device"), "b"),
    (lambda: b.variable("const short op[]", b.init(97), memory="device"), None),
    (lambda: b.variable("const char op", 97, memory="device"), None),
    (lambda: b.variable("char *op", memory="device"), None),
    (lambda: b.variable("const char op[2]", memory="device"), None),
])
def test_what_text_an_operand_is(made, taken):
    statement = b.asm("%1 %0;", [("=r", x)], [("C", b.name("op"))])
    if taken is None:
        with pytest.raises(IRGenError, match="constraint 'C' is no array of char"):
            asm_of(statement, others=[made()])
    else:
        assert asm_of(statement, others=[made()]).aux.callee.template == f"{taken} $0;"
    assert text_of(b.s.AsmOperand("C", b.expr("mov"))) == "mov"


@pytest.mark.seed("ASM-12", "ASM-15")
def test_inputs_in_memory_go_by_address_and_others_by_value():
    call = asm_of(b.asm("a %0, %1, %2, %3;", [], [("m", x), ("o", y), ("g", n), ("X", n)]))
    assert call.aux.callee.constraints == "m,o,imr,X"
    assert [v.type.name for v in call.operands] == ["ptr", "ptr", "i32", "i32"]
    assert [v.name for v in call.operands[:2]] == ["x", "y"]
    call = asm_of(b.asm("a %0, %1;", [("=m", x), ("=&r", y)], [("r", n), ("i", 3)]))
    assert call.aux.callee.constraints == "=*m,=&r,r,i"
    assert [v.type.name for v in call.operands] == ["ptr", "i32", "i32"]
    assert call.operands[2].value == 3
    assert call.type.name == "i32"


@pytest.mark.seed("ASM-13")
def test_operands_that_are_read_and_written_are_tied_at_the_end_by_their_number():
    call = asm_of(b.asm("a;", [("=r", y), ("+r", x), ("+r", y)], [("r", n), ("n", 7)]))
    assert call.aux.callee.constraints == "=r,=r,=r,r,n,1,2"
    assert [v.type.name for v in call.operands] == ["i32"] * 4
    assert [u.operands[0].name for u in call.operands[2:]] == ["x", "y"]


@pytest.mark.seed("ASM-11")
@pytest.mark.parametrize(("letter", "name", "size"), [
    ("h", "h", 2), ("r", "x", 4), ("l", "l", 8), ("f", "f", 4), ("d", "d", 8), ("q", "q", 16)])
def test_a_register_holds_its_size_alone(letter, name, size):
    body = [b.let("short h"), b.let("long l"), b.let("float f"), b.let("double d"),
            b.let("__int128 q")]
    for other, bytes_ in (("h", 2), ("x", 4), ("l", 8), ("f", 4), ("d", 8), ("q", 16)):
        statement = b.asm("a %0;", [], [(letter, b.name(other))])
        if bytes_ == size:
            assert asm_of(*body, statement).aux.callee.constraints == letter
        else:
            with pytest.raises(IRGenError, match=rf"size\({bytes_}\) does not match .* "
                                                 rf"constraint '{letter}'"):
                asm_of(*body, statement)


@pytest.mark.seed("ASM-18", "ASM-19")
def test_the_object_by_the_count_of_its_outputs():
    def told(count, **more):
        v = [x, y, b.name("z")][:count]
        call = asm_of(b.let("int z"), b.asm("a;", [("=r", o) for o in v], **more))
        return call.name, call.aux.callee.sideeffect, len(getattr(call.type, "elements", ()) or ())

    assert [told(k) for k in range(4)] == [(None, True, 0), ("asmresult", False, 0),
                                          ("asm", False, 2), ("asm", False, 3)]
    assert told(1, volatile=True)[1]
    assert told(2, clobbers=["r1"])[1] is False
    assert told(2, clobbers=["memory"])[1]
    for count, volatile, told_ in ((0, False, 0), (1, True, 0), (1, False, 1), (2, False, 1)):
        statement = b.asm("a;", [("=r", o) for o in (x, y)[:count]], volatile=volatile)
        assert len(state_of(statement).shared.warnings) == told_


@pytest.mark.seed("ASM-22")
def test_results_of_other_types_are_cast_bit_for_bit():
    """A pointer stays one, a bool is a register's lowest bit, a float its bits."""
    g = state_of(b.let("bool f"), b.let("float h"), b.asm(
        "a;", [("=r", x), ("=r", b.name("h"))], [("r", b.name("h"))]))
    call = next(i for i in g.function.instructions() if i.form.is_call)
    assert [e.name for e in call.type.elements] == ["i32", "i32"]
    (cast,) = [i for i in g.function.instructions() if i.name and i.name.startswith("asmcast")
               and i.type.name == "float"]
    (store,) = cast.users
    assert (cast.form.name, store.operands[1].name) == ("bitcast", "h")
    pointer = asm_of(b.asm("a;", [], [("l", out)]))
    assert [v.type.name for v in pointer.operands] == ["ptr"]
