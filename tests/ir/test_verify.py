"""The verifier: a failing example for each invariant, with its message, and what it accepts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nvir.ir.block import Block
from nvir.ir.errors import VerifyError
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction, Loose
from nvir.ir.module import Module
from nvir.ir.opcodes import NVVM, ORI
from nvir.ir.opcodes.form import form, nvvm_form
from nvir.ir.text.parse import parse_ir
from nvir.ir.types import (
    B32,
    B64,
    CC,
    DOUBLE,
    HALF,
    I1,
    I8,
    I32,
    I64,
    PRED,
    VOID,
    array,
    pointer,
    struct,
    vector,
)
from nvir.ir.types import FLOAT as F
from nvir.ir.values import Argument, Constant, Result, constant, integer, undef
from nvir.ir.verify import verify
from nvir.ir.verify.nvvm import _RULES
from nvir.ptx.reader import read_ptx
from tests.corpus import examples, sample

LOOP = """\
module ori target sm_80 version 8.0 address_size 64
global @tile: shared [64 x b8] align 4
visible kernel @k(param @n: u32) {
entry:
  %r1: b32 = ld.param.u32 [@n]
  %p1: pred = setp.gt.s32 %r1, 0
  @%p1 bra loop else done
loop:
  %i: b32 = phi [0, entry], [%j, loop]
  %j: b32 = add.s32 %i, 1
  %q: pred = setp.lt.s32 %j, %r1
  @%q bra loop else done
done:
  ret
}
"""


def loop() -> tuple[Function, dict[str, Block], dict[str, Any]]:
    """The function above, its blocks and its values by name."""
    f = parse_ir(LOOP)["k"]
    values = {str(r.name): r for i in f.instructions() for r in i.results}
    return f, {b.name: b for b in f.blocks}, values


def body(*lines: str, head: str = "kernel @k(param @n: u32)", before: str = "",
         level: str = "ori") -> Module:
    first = f"module {level} target sm_90a version 8.7 address_size 64"
    return parse_ir("\n".join([first, before, head + " {", "entry:", *lines, "}", ""]))


def refused(unit: Module | Function, message: str) -> VerifyError:
    with pytest.raises(VerifyError, match=re.escape(message)) as caught:
        verify(unit)
    return caught.value


def test_a_sound_function_passes_alone_and_in_its_module():
    f, _, _ = loop()
    verify(f)
    verify(f.module)
    f.analyze_cfg()
    verify(f)


def test_the_error_names_function_and_instruction():
    f, _, v = loop()
    v["%j"].replace_operand(v["%i"], v["%q"])
    e = refused(f, "%q is of type pred, add.s32 takes s32")
    assert (e.function, e.invariant.split(",")[0]) == ("k", "%q is of type pred")
    assert "add.s32" in e.instruction
    assert str(e).startswith("<text>:10:3: error: in @k: ")


@pytest.mark.parametrize("path", examples(), ids=lambda p: p.stem)
def test_what_nvcc_makes_passes(path):
    verify(read_ptx(path))


@pytest.mark.parametrize("entry", sample(20, seed=5, max_size=60_000), ids=lambda e: e.path.stem)
def test_a_sample_of_real_files_passes(entry):
    verify(read_ptx(entry.path))


@pytest.mark.slow
def test_every_real_file_passes():
    for entry in sample(2500, seed=6):
        verify(read_ptx(entry.path))


# ------------------------------------------------------------ 1 to 9: structure


@pytest.mark.parametrize(("node", "right"), [
    ('(@k, "align", 65544)', True), ('(1, "align", 65544)', False), ("7", False), ("()", False)])
def test_annotations_are_of_symbols(node, right):
    text = f"""module nvvm aux {{"metadata": {{"nvvm.annotations": ({node}, (@k, "x", 1))}}}}
func @k() address ptr {{
entry:
  ret
}}"""
    if right:
        verify(parse_ir(text))
    else:
        with pytest.raises(VerifyError, match=r"nvvm\.annotations: expected"):
            verify(parse_ir(text))


@pytest.mark.parametrize(("aux", "right"), [
    ("(i32, 4)", True), ("(i32, none)", True), ("(i32, i32, 4)", False), ("(i32, i32)", False)])
def test_an_alloca_has_a_type_and_an_alignment(aux, right):
    text = f"""module nvvm name ""
func @k() address ptr {{
entry:
  %a: ptr = alloca i32 1  !aux {aux}
  ret
}}"""
    if right:
        verify(parse_ir(text))
    else:
        with pytest.raises(VerifyError, match="alloca has"):
            verify(parse_ir(text))


def test_1_block_names_are_unique():
    f, blocks, _ = loop()
    blocks["loop"].name = "done"
    refused(f, "two blocks are named done")


def test_1_blocks_belong_to_their_function():
    f, blocks, _ = loop()
    blocks["loop"].function = Function("other")
    refused(f, "block loop belongs to another function")


def test_1_a_block_stands_once():
    f, blocks, _ = loop()
    f.blocks.append(blocks["loop"])
    refused(f, "a block stands twice in the layout")


@pytest.mark.parametrize(("link", "to"), [("prev", None), ("block", "done")])
def test_2_links_of_instructions(link, to):
    f, blocks, v = loop()
    setattr(v["%q"], link, blocks.get(to))
    refused(f, "the links in block loop are broken")


def test_2_links_of_phis():
    f, blocks, v = loop()
    v["%i"].block = blocks["done"]
    refused(f, "the links in block loop are broken")


def test_2_the_last_instruction():
    f, _, v = loop()
    v["%j"].next = None
    refused(f, "block loop does not end with its last instruction")


def test_3_no_block_is_empty():
    f, blocks, _ = loop()
    blocks["done"].last.erase()
    refused(f, "block done is empty")


def test_3_a_terminator_ends_each_block():
    f, blocks, _ = loop()
    blocks["loop"].last.erase()
    refused(f, "block loop has no terminator")


def test_3_only_one_terminator():
    f, _, v = loop()
    Instruction(form("ret"), aux=()).insert_before(v["%q"])
    refused(f, "a terminator stands before the end of its block")


def test_4_phis_stand_at_heads():
    f, _, v = loop()
    Instruction(v["%i"].form, v["%i"].operands, B32, None, v["%i"].aux).insert_after(v["%j"])
    refused(f, "a phi stands behind another instruction")


def test_5_successors_are_blocks_of_the_function():
    f, blocks, _ = loop()
    _, others, _ = loop()
    blocks["loop"].last.set_successor(blocks["done"], others["done"])
    refused(f, "successor done is no block of the function")


def test_5_successors_are_a_tuple():
    f, blocks, _ = loop()
    blocks["loop"].last.aux = None
    refused(f, "a terminator's aux is not the tuple of its successors")


@pytest.mark.parametrize(("block", "aux"), [("loop", ("done",)), ("done", ("loop",))])
def test_5_as_many_successors_as_the_terminator_leads_to(block, aux):
    f, blocks, _ = loop()
    blocks[block].last.aux = tuple(blocks[a] for a in aux)
    refused(f, f"{blocks[block].last.form.name} has 1 successors")


def test_6_the_entry_has_no_predecessors():
    f, blocks, v = loop()
    v["%i"].set_incoming([integer(0)], [blocks["entry"]])
    blocks["loop"].last.set_successor(blocks["loop"], blocks["entry"])
    refused(f, "block loop leads back to the entry")


def test_7_a_phi_has_an_entry_for_each_predecessor():
    f, blocks, v = loop()
    v["%i"].set_incoming([v["%j"]], [blocks["loop"]])
    refused(f, "the entries of a phi are not the block's predecessors")


def test_7_a_phi_has_no_entry_twice():
    f, blocks, v = loop()
    v["%i"].add(v["%j"], blocks["loop"])
    refused(f, "the entries of a phi are not the block's predecessors")


def test_7_a_phi_has_a_block_for_each_operand():
    f, blocks, v = loop()
    v["%i"].aux = (blocks["entry"],)
    refused(f, "a phi does not have one block for each operand")


def test_7_one_entry_where_both_branches_lead_to_one_block():
    f, blocks, _ = loop()
    blocks["entry"].last.set_successor(blocks["done"], blocks["loop"])
    verify(f)


def test_8_a_fresh_snapshot_is_true():
    f, blocks, _ = loop()
    f.analyze_cfg()
    branch = blocks["entry"].last
    branch.aux = (blocks["loop"], blocks["loop"])  # without a word to the function
    refused(f, "the snapshot of the control flow is wrong at block entry")


def test_9_marks_are_of_the_function():
    f, _, _ = loop()
    _, _, others = loop()
    f.marks[others["%j"]] = {"hoisted"}
    refused(f, "a mark or loaded parameter is an instruction of another function")


# -------------------------------------------------------------- 10 to 13: values


def test_10_definitions_precede_uses_in_a_block():
    f, _, v = loop()
    v["%q"].move_before(v["%j"])
    e = refused(f, "%j does not dominate this use")
    assert "setp.lt.s32" in e.instruction


def test_10_definitions_dominate_uses_in_other_blocks():
    f, blocks, v = loop()
    use = Instruction(form("st.shared.u32", "[%s], %s"), (f.module.globals[0], v["%j"]))
    use.insert_before(blocks["done"].last)
    refused(f, "%j does not dominate this use")


def test_10_phis_use_at_the_end_of_the_incoming_block():
    f, blocks, v = loop()
    v["%i"].set_incoming([v["%j"], v["%j"]], [blocks["entry"], blocks["loop"]])
    refused(f, "%j does not dominate the end of block entry")


def test_10_unreachable_blocks_are_not_asked():
    f, blocks, v = loop()
    b = f.block("lost")
    b.append(Instruction(form("add.s32", "%s, %s, %s"), (v["%j"], integer(1)), B32))
    b.append(Instruction(form("ret"), aux=()))
    verify(f)
    use = Instruction(form("not.b32", "%s, %s"), (b.first,), B32)
    use.insert_before(blocks["done"].last)
    refused(f, "does not dominate this use")


def test_10_an_erased_value_is_no_operand():
    f, _, v = loop()
    v["%r1"].remove()
    refused(f, "%r1 is made by an instruction that is in no block")


def test_11_a_value_knows_its_users():
    f, _, v = loop()
    v["%r1"]._uses = None
    refused(f, "%r1 does not know this use")


def test_11_a_user_names_the_value():
    f, _, v = loop()
    v["%r1"].add_use(v["%j"])
    refused(f, "%r1 has a user that does not name it")


def test_11_counts_of_repeated_uses():
    f, _, v = loop()
    v["%j"].set_operands((v["%i"], v["%i"]))
    verify(f)
    v["%i"]._uses = {v["%j"]: 1}
    refused(f, "%i does not know this use")
    v["%i"]._uses = {v["%j"]: 3}
    refused(f, "%i has a user that does not name it")


def test_11_users_are_in_the_function():
    f, _, v = loop()
    Instruction(form("not.b32", "%s, %s"), (v["%j"],), B32)  # never placed
    refused(f, "%j has a user that is in no block of the function")


def test_11_arguments_know_their_users():
    m = body("  %1: b32 = add.s32 %a, %a", "  ret", head="func @f(reg %a: b32)")
    verify(m)
    m["f"].arguments[0]._uses = None
    refused(m, "%a does not know this use")


def test_12_arguments_are_of_the_function():
    f, _, v = loop()
    v["%j"].set_operand(1, Argument(B32, "%a"))
    refused(f, "%a is no argument of the function")


def test_12_values_are_of_the_function():
    f, _, v = loop()
    _, _, others = loop()
    v["%j"].set_operand(1, others["%r1"])
    refused(f, "%r1 is made in another function")


def test_12_symbols_are_of_the_module():
    f, _, v = loop()
    tile = parse_ir(LOOP).globals[0]
    v["%r1"].set_operand(0, tile)
    e = refused(f, "tile is no symbol of the function or the module")
    assert "ld.param.u32" in e.instruction


def test_13_results_belong_to_their_instruction():
    m = body("  {%a: b32, %b: b32} = ld.shared.v2.u32 [@tile]", "  ret",
             before="global @tile: shared [64 x b8] align 8")
    verify(m)
    i = m["k"].entry.first
    i._results = (i._results[1], i._results[0])
    refused(m, "result 0 belongs to another instruction")


def test_13_an_instruction_of_several_results_is_no_value():
    m = body("  {%a: b32, %b: b32} = ld.shared.v2.u32 [@tile]", "  %c: b32 = mov.b32 %a",
             "  ret", before="global @tile: shared [64 x b8] align 8")
    first = m["k"].entry.first
    first.next.set_operand(0, first)
    refused(m, "is no result of its instruction")


# ------------------------------------------------------------- 14 to 21: opcodes


def test_14_rows_are_of_the_level():
    f, blocks, v = loop()
    Instruction(nvvm_form("freeze"), (v["%r1"],), B32).insert_before(blocks["done"].last)
    refused(f, "row freeze is of level nvvm, not ori")


def test_14_phis_are_of_the_level():
    f, _, v = loop()
    v["%i"].form = nvvm_form("phi")
    refused(f, "row phi is of level nvvm, not ori")


def test_15_operand_count():
    f, _, v = loop()
    v["%j"].set_operands((v["%i"],))
    refused(f, "add.s32 has 1 operands, its form 2")


def test_15_result_count():
    f, _, v = loop()
    i = v["%r1"]
    lost = Instruction(form("add.s32", "%s, %s, %s"), (i, i), VOID)
    lost.insert_after(i)
    refused(f, "add.s32 has 0 results, its form 1")


CLASSES = [  # statement, message or None
    ("add.s32 %r, %d", "%d is of type b64, add.s32 takes s32"),
    ("add.s64 %d, 1", "%x is of type b32, add.s64 makes s64"),
    ("add.f32 %r, %r", None),
    ("cvt.u32.u8 %r", None),
    ("cvt.u32.u64 %r", "%r is of type b32, cvt.u32.u64 takes u64"),
    ("shl.b32 %r, %d", "%d is of type b64, shl.b32 takes u32"),
    ("mad.lo.s32 %r, %r, %d", "%d is of type b64, mad.lo.s32 takes s32"),
    ("selp.b32 %r, %r, %r", "%r is of type b32, selp.b32 takes pred"),
    ("selp.b32 %r, %r, %p", None),
    ("shfl.sync.idx.b32 %r, 0, 31, %d", "%d is of type b64, shfl.sync.idx.b32 takes b32"),
    ("ld.shared.u8 [%r]", None),
    ("ld.shared.u32 [%p]", "the address %p is of type pred"),
    ("popc.b64 %d", None),
    ("popc.b64 %r", "%r is of type b32, popc.b64 takes b64"),
    ("fma.rn.f32 %r, %r, %d", "%d is of type b64, fma.rn.f32 takes f32"),
    ("prmt.b32 %r, %r, %d", "%d is of type b64, prmt.b32 takes b32"),
    ("mov.b32 %d", "%d is of type b64, mov.b32 takes b32"),
    ("mov.b64 {%r, %r}", "%x is of type b32, mov.b64 makes b64"),
    ("slct.b32.s32 %r, %r, %d", "%d is of type b64, slct.b32.s32 takes s32"),
    ("slct.b32.f32 %r, %r, %r", None),
    ("atom.shared.cas.b32 [%r], %r, %d", "%d is of type b64, atom.shared.cas.b32 takes b32"),
    ("activemask.b32 ", None),
    ("dp4a.u32.u32 %r, %r, %d", "%d is of type b64, dp4a.u32.u32 takes u32"),
]


@pytest.fixture
def trial():
    """A row that nobody has heard of, in the table for one test."""
    yield ORI.op("bsel", "d, a, b, c", flags="bits")
    del ORI.rows["bsel"]


def test_a_new_row_checks_its_sources_without_a_list(trial):
    refused(body(*operands("  %x: b32 = bsel.b32 %d, %r, 255")),
            "%d is of type b64, bsel.b32 takes b32")
    verify(body(*operands("  %x: b32 = bsel.b32 %r, %r, 255")))


def operands(last: str) -> list[str]:
    return ["  %d: b64 = mov.u64 7", "  %r: b32 = mov.u32 7", "  %p: pred = setp.eq.s32 %r, 7",
            last, "  ret"]


@pytest.mark.parametrize(("statement", "message"), CLASSES)
def test_16_classes(statement, message):
    m = body(*operands(f"  %x: b32 = {statement}"))
    if message is None:
        verify(m)
    else:
        refused(m, message)


@pytest.mark.parametrize(
    ("statement", "message"),
    [("st.shared.u8 [%r], %d", None), ("st.shared.u64 [%r], %r", "st.shared.u64 takes u64"),
     ("st.shared.b32 [%r], %p", "%p is of type pred, st.shared.b32 takes b32"),
     ("st.shared.v2.b32 [%r], {%r, %d}", None),
     ("red.shared.add.u32 [%r], %d", "%d is of type b64, red.shared.add.u32 takes u32"),
     ("bar.sync %d", "%d is of type b64, bar.sync takes u32"), ("bar.sync %r, 64", None)],
)
def test_16_classes_of_stores(statement, message):
    m = body(*operands(f"  {statement}"))
    if message is None:
        verify(m)
    else:
        refused(m, message)


def test_16_results_of_loads_may_be_wider_but_not_narrower():
    verify(body("  %x: b64 = ld.shared.u8 [0]", "  ret"))
    refused(body("  %x: b16 = ld.shared.u32 [0]", "  ret"),
            "%x is of type b16, ld.shared.u32 makes u32")


def guarded() -> tuple[Module, Instruction]:
    m = body("  %r: b32 = mov.u32 7", "  %d: b64 = mov.u64 7", "  %p: pred = setp.eq.s32 %r, 7",
             "  %x: b32 = @%p add.s32 %r, 1 else %r", "  ret")
    return m, m["k"].entry.last.prev


def test_17_guards_are_predicates():
    m, i = guarded()
    verify(m)
    i.set_operand(i.form.guard_index, i.operands[0])
    refused(m, "the guard is of type b32")


def test_17_each_result_has_a_fallback():
    m, i = guarded()
    i.set_operands(i.operands[:-1])
    refused(m, "add.s32 has 3 operands, its form 4")


def test_17_fallbacks_have_the_class_of_their_result():
    m, i = guarded()
    i.set_operand(3, i.prev.prev)
    refused(m, "fallback %d is of type b64, its result b32")


ACC = ", ".join(["%s"] * 4)


def wgmma(*after: str) -> Module:
    """Two accumulating wgmma on one accumulator of four registers, and what follows."""
    m = Module("sm_90a", version=(8, 7))
    f = m.kernel("k")
    b = f.block("entry")
    desc = b.append(Instruction(form("mov.u64", "%s, %s"), (integer(7),), B64, "%desc"))
    acc = [b.append(Instruction(form("mov.b32", "%s, %s"), (integer(k),), B32, f"%a{k}"))
           for k in range(4)]
    spelled = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
    shape = f"{{{ACC}}}, %s, %s, %s, %s, %s, %s, %s"
    for n in range(2):
        wanted = form(spelled, shape)
        i = Instruction(wanted, (desc, desc, *[integer(1)] * 5, *acc))
        i.set_results(wanted.result_types, [f"%c{n}{k}" for k in range(4)])
        b.append(i)
        acc = list(i.results)
    for word in after:
        name, _, count = word.partition(" ")
        values = (integer(int(count)),) if count else ()
        if name == "use":
            b.append(Instruction(form("add.f32", "%s, %s, %s"), (acc[0], acc[1]), B32))
        else:
            b.append(Instruction(form(name, "%s" if values else ""), values))
    b.append(Instruction(form("ret"), aux=()))
    return m


COMMIT, WAIT = "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned"


def test_18_tied_operands_have_the_class_of_their_result():
    m = wgmma()
    verify(m)
    i = next(i for i in m["k"].instructions() if i.form.name == "wgmma.mma_async")
    i.set_operand(i.form.ties[0][1], i.operands[0])
    refused(m, "tied operand %desc is of type b64, its result f32")


@pytest.mark.parametrize(
    "after", [("use",), (COMMIT, "use"), (COMMIT, f"{WAIT} 1", "use", f"{WAIT} 0")]
)
def test_20_no_use_before_the_wait(after):
    refused(wgmma(*after), "is in use until wgmma.wait_group")


@pytest.mark.parametrize(
    "after", [(COMMIT, f"{WAIT} 0", "use"), (COMMIT, COMMIT, f"{WAIT} 1", "use"), (COMMIT,)]
)
def test_20_uses_behind_the_wait(after):
    verify(wgmma(*after))


def test_20_a_copy_of_an_accumulator_in_flight_is_a_use():
    m = wgmma(COMMIT)
    b = m["k"].entry
    last = [i for i in b if i.form.name == "wgmma.mma_async"][-1]
    Instruction(form("mov.b32", "%s, %s"), (last.results[0],), B32).insert_after(last)
    refused(m, "is in use until wgmma.wait_group")



def carry_chain() -> tuple[Module, list[Instruction]]:
    """add.cc, addc.cc, addc over one carry flag."""
    m = Module()
    f = m.kernel("k")
    b = f.block("entry")
    r = b.append(Instruction(form("mov.u32", "%s, %s"), (integer(7),), B32, "%r"))
    made = []
    carry = None
    for name in ("add.cc.u32", "addc.cc.u32", "addc.u32"):
        wanted = form(name, "%s, %s, %s")
        i = b.append(Instruction(wanted, (r, r) if carry is None else (r, r, carry)))
        i.set_results(wanted.result_types, [None] * wanted.n_results)
        made.append(i)
        carry = i.results[-1]
    b.append(Instruction(form("ret"), aux=()))
    return m, made


def test_19_a_chain_of_carries():
    m, _ = carry_chain()
    verify(m)


def test_19_live_ranges_of_the_carry_do_not_overlap():
    m, (first, _, third) = carry_chain()
    third.set_operand(2, first.results[-1])
    refused(m, "another carry is set here: live ranges of it overlap")


def test_19_the_carry_operand_is_a_carry():
    m, (_, _, third) = carry_chain()
    third.set_operand(2, third.operands[0])
    refused(m, "the carry is of type b32")


def test_19_another_chain_on_one_path():
    f, blocks, v = loop()
    wanted = form("add.cc.u32", "%s, %s, %s")

    def add() -> Instruction:
        i = Instruction(wanted, (v["%r1"], v["%r1"]))
        i.set_results(wanted.result_types, [None, None])
        return i

    start = add()
    start.insert_before(blocks["entry"].last)
    use = Instruction(form("addc.u32", "%s, %s, %s"), (v["%r1"], v["%r1"], start.results[1]), B32)
    use.insert_before(blocks["done"].last)
    verify(f)
    add().insert_before(v["%q"])
    refused(f, "another carry is set here: live ranges of it overlap")


def test_19_the_carry_has_no_phi():
    f, blocks, _ = loop()
    phi = Instruction(form("phi"), (undef(CC), undef(CC)), CC, None,
                      (blocks["entry"], blocks["loop"]))
    blocks["loop"].insert_phi(phi)
    refused(f, "the carry flag has a phi")


CALLEE = """\
func @g(reg %a: b32, reg %b: b64) returns (reg %z: b32) {
entry:
  ret with %a
}
"""


def call(*operands: Any, results: tuple[Any, ...] = (B32,)) -> tuple[Module, Instruction]:
    m = body("  ret", before=CALLEE)
    f = m["k"]
    values = [v if v is not None else m.globals[0] for v in operands]
    i = Instruction(form("call.uni"), tuple(values), aux=CallInfo(len(values), callee=m["g"]))
    i.set_results(results, ["%r"] * len(results))
    i.insert_before(f.entry.last)
    return m, i


def test_21_calls_pass_what_the_callee_takes():
    m, _ = call(integer(1), integer(2))
    verify(m)
    m, _ = call(integer(1))
    refused(m, "the call passes 1 arguments, g takes 2")
    m, _ = call(undef(B64), integer(2))
    refused(m, "an argument is of type b64, g has b32 there")
    m, _ = call(integer(1), integer(2), results=(B64,))
    refused(m, "%r is of type b64, g has b32 there")
    m, _ = call(integer(1), integer(2), results=(B32, B32))
    refused(m, "the call takes 2 results of 1")


def test_21_a_guarded_call_has_fallbacks():
    m, i = call(integer(1), integer(2))
    p = Instruction(form("setp.eq.s32", "%s, %s, %s"), (integer(1), integer(2)), PRED)
    p.insert_before(i)
    i.form = form("call.uni", "", "")
    i.aux.guard_index = 2
    i.set_operands((*i.operands, p, undef(B32)))
    refused(m, "a result has no fallback")
    i.aux.ties = ((0, 3),)
    verify(m)
    i.aux.guard_index = 0
    refused(m, "the layout names another operand as guard")


def test_21_an_indirect_call_has_an_address_and_a_known_prototype():
    m, i = call(integer(1), integer(2))
    i.aux = CallInfo(2, prototype="proto")
    refused(m, "the function has no prototype proto")
    m["k"].prototypes["proto"] = ".callprototype _"
    verify(m)
    i.set_operands(())
    i.aux.n_sources = 0
    refused(m, "an indirect call has no address")


def test_21_ret_gives_what_the_function_returns():
    m = body("  ret", before=CALLEE)
    verify(m)
    ret = m["g"].entry.last
    ret.set_operands(())
    refused(m, "ret has 0 values, the function returns 1")
    ret.set_operands((m["g"].arguments[1],))
    refused(m, "%b is of type b64, the function returns b32")


def test_15_unknown_mnemonics_carry_their_layout():
    m = body("  ret")
    i = Instruction(form("frobnicate.b32", "%s, %s"), (integer(1), integer(2)), aux=None)
    i.insert_before(m["k"].entry.last)
    refused(m, "calls and unknown mnemonics need their layout as aux")
    i.aux = Loose(1)
    refused(m, "2 operands, its layout has 1")
    i.aux = Loose(2)
    verify(m)
    i.aux.ties = ((0, 0),)
    refused(m, "a tie names an operand or result that is not there")


# ------------------------------------------------------------------- 22: nvvm


def nvvm(spelling: str, operands: tuple[Any, ...], type: Any = VOID, aux: Any = None) -> Module:
    """A function of one instruction, whose operands are its arguments (given by type)."""
    m = Module(level="nvvm")
    f = m.add_function(Function("f", "func"))
    f.params = [Argument(t, f"%{k}", f, k) for k, t in enumerate(operands) if not _is_value(t)]
    arguments = iter(f.params)
    values = tuple(t if _is_value(t) else next(arguments) for t in operands)
    b = f.block("entry")
    several = isinstance(type, tuple)
    i = b.append(Instruction(nvvm_form(spelling), values, VOID if several else type, None, aux))
    if several:
        i.set_results(type, [None] * len(type))
    b.append(Instruction(nvvm_form("ret"), aux=()))
    return m


def _is_value(x: Any) -> bool:
    return isinstance(x, Constant)


V4 = vector(I32, 4)
PAIR = struct([I32, F])
ONE = constant(I64, 1)
P0, P3, P4 = pointer(), pointer(3), pointer(4)

GOOD: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("add nsw", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr",
                     "and", "or", "xor"), ((I32, I32), I32)),
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv", "frem"), ((F, F), F)),
    "add": ((V4, V4), V4), "fneg": ((F,), F), "icmp slt": ((I32, I32), I1),
    "icmp eq": ((V4, V4), vector(I1, 4)), "fcmp olt": ((F, F), I1), "select": ((I1, F, F), F),
    "load": ((P0,), I32, 4), "store": ((I32, P3), VOID, 4),
    "getelementptr inbounds": ((P3, I64), P3, array(I32, 4)), "alloca": ((ONE,), P0, (I32, 4)),
    "extractvalue": ((PAIR,), F, (1,)), "insertvalue": ((PAIR, F), PAIR, (1,)),
    "extractelement": ((V4, I32), I32), "insertelement": ((V4, I32, I64), V4),
    "shufflevector": ((V4, V4), vector(I32, 2), (0, 7)), "trunc": ((I64,), I32),
    "zext": ((I8,), I32), "sext": ((I8,), I64), "fptrunc": ((F,), HALF),
    "fpext": ((F,), DOUBLE), "fptoui": ((F,), I32),
    "fptosi": ((F,), I8), "uitofp": ((I64,), F), "sitofp": ((I8,), F), "ptrtoint": ((P0,), I64),
    "inttoptr": ((I64,), P3), "bitcast": ((F,), I32), "addrspacecast": ((P3,), P0),
    "splitStruct": ((PAIR,), (I32, F), (PAIR, PAIR)),
    "freeze": ((PAIR,), PAIR), "atomicrmw add": ((P0, I32), I32, ("monotonic", "", 4)),
    "cmpxchg": ((P0, I32, I32), struct([I32, I1]), ("seq_cst", "seq_cst", "", 4)),
    "fence": ((), VOID, ("seq_cst", "")),
}


@pytest.mark.parametrize("spelling", GOOD)
def test_22_right_types(spelling):
    verify(nvvm(spelling, *GOOD[spelling]))


def test_22_every_row_has_a_rule_and_an_example():
    rows = set(NVVM.rows) - {"phi"}
    assert set(_RULES) == rows
    shown = {s.split()[0] for s in GOOD} | {"ret", "br", "switch", "unreachable", "call"}
    assert shown == rows


BAD = [
    ("add", (I32, I64), I32, None, "types differ: i32, i64"),
    ("add", (F, F), F, None, "add is for integers, not float"),
    ("fadd", (I32, I32), I32, None, "fadd is for floats, not i32"),
    ("add", (I32,), I32, None, "add has 1 operands, its row 2"),
    ("add", (I32, I32), VOID, None, "add has no result"),
    ("store", (I32, P0), I32, 4, "store has a result"),
    ("icmp slt", (I32, I32), I32, None, "icmp of i32 gives i32"),
    ("icmp slt", (I32, I64), I1, None, "types differ: i32, i64"),
    ("fcmp olt", (I32, I32), I1, None, "fcmp is for floats, not i32"),
    ("select", (I32, F, F), F, None, "select on i32"),
    ("load", (I64,), I32, 4, "load takes a pointer, not i64"),
    ("getelementptr", (P3, I64), P0, I32, "getelementptr from ptr addrspace(3) gives ptr"),
    ("getelementptr", (P3, I64), P3, None, "getelementptr has no source element type"),
    ("getelementptr", (P3, F), P3, I32, "getelementptr has an index of type float"),
    ("getelementptr", (P3, I64, I32), P3, I32, "i32 has no members"),
    ("alloca", (ONE,), P3, (I32, 4), "alloca gives ptr addrspace(3)"),
    ("alloca", (ONE,), P0, None, "alloca has no allocated type"),
    ("extractvalue", (PAIR,), F, (2,), "has no member (2,)"),
    ("insertvalue", (PAIR, I32), PAIR, (1,), "types differ: i32, float"),
    ("extractelement", (I32, I32), I32, None, "extractelement takes a vector, not i32"),
    ("insertelement", (V4, F, I64), V4, None, "types differ: float, i32"),
    ("shufflevector", (V4, V4), V4, (0, 8, 0, 0), "names a lane that is not there"),
    ("shufflevector", (V4, V4), V4, (0,), "shufflevector of 1 lanes gives <4 x i32>"),
    ("trunc", (I32,), I64, None, "trunc cannot make i64 of i32"),
    ("zext", (I32,), I32, None, "zext cannot make i32 of i32"),
    ("fpext", (I32,), F, None, "fpext cannot make float of i32"),
    ("bitcast", (F,), I64, None, "bitcast cannot make i64 of float"),
    ("bitcast", (P0,), I64, None, "bitcast cannot make i64 of ptr"),
    ("addrspacecast", (P0,), P0, None, "addrspacecast cannot make ptr of ptr"),
    ("freeze", (I32,), I64, None, "types differ: i64, i32"),
    ("splitStruct", (PAIR,), (I32, I32), (PAIR, PAIR), "are not the leaves of { i32, float }"),
    ("splitStruct", (PAIR,), (I32, F), None, "splitStruct does not name its two types"),
    ("splitStruct", (V4,), (I32, F), None, "splitStruct of <4 x i32>, which is no aggregate"),
    ("atomicrmw add", (P0, I64), I32, ("monotonic", "", 4), "types differ: i32, i64"),
    ("cmpxchg", (P0, I32, I32), I32, ("seq_cst", "seq_cst", "", 4), "cmpxchg of i32 gives i32"),
    ("cmpxchg", (P0, I32, I32), struct([I32, I1]), ("seq_cst", "", 4), "cmpxchg lacks an ordering"),
]


@pytest.mark.parametrize(("spelling", "operands", "type", "aux", "message"), BAD)
def test_22_wrong_types(spelling, operands, type, aux, message):
    refused(nvvm(spelling, operands, type, aux), message)


@pytest.mark.seed("IR-17")
@pytest.mark.parametrize(
    ("spelling", "operands", "type"),
    [("store", (I32, P4), VOID), ("atomicrmw xchg", (P4, I32), I32),
     ("cmpxchg", (P4, I32, I32), struct([I32, I1]))],
)
def test_22_nothing_is_stored_to_constant_memory(spelling, operands, type):
    refused(nvvm(spelling, operands, type, 4),
            f"{spelling.split()[0]} writes to address space 4, which is constant")
    assert pointer(4) is not pointer(1)
    verify(nvvm("load", (P4,), I32, 4))


def test_22_phis_have_one_type():
    m = Module(level="nvvm")
    f = m.add_function(Function("f", "func"))
    a, b = f.block("entry"), f.block("next")
    a.append(Instruction(nvvm_form("br"), aux=(b,)))
    b.append(Instruction(nvvm_form("phi"), (constant(I64, 1),), I32, None, (a,)))
    b.append(Instruction(nvvm_form("ret"), aux=()))
    refused(m, "1 is of type i64, the phi i32")


def branches(spelling: str, operands: tuple[Any, ...], n: int) -> Module:
    m = nvvm("fence", operands)
    f = m["f"]
    entry = f.entry
    entry.first.erase()
    entry.last.erase()
    targets = [f.block() for _ in range(n)]
    for t in targets:
        t.append(Instruction(nvvm_form("unreachable"), aux=()))
    values = tuple(v if _is_value(v) else f.params[k] for k, v in enumerate(operands))
    entry.append(Instruction(nvvm_form(spelling), values, aux=tuple(targets)))
    return m


@pytest.mark.parametrize(
    ("spelling", "operands", "n", "message"),
    [("br", (I1,), 2, None), ("br", (), 1, None), ("br", (I1,), 1, "has 1 successors"),
     ("br", (I32,), 2, "br on i32"), ("ret", (), 1, "ret has 1 successors"),
     ("switch", (I32, constant(I32, 1)), 2, None),
     ("switch", (I32, constant(I64, 1)), 2, "types differ: i32, i64"),
     ("switch", (I32, constant(I32, 1)), 3, "switch of 1 cases has 3 successors"),
     ("switch", (I32, constant(I32, 1), constant(I32, 1)), 3, "switch has a case twice"),
     ("switch", (F, constant(F, 1)), 2, "switch is for integers and literal cases")],
)
def test_22_branches(spelling, operands, n, message):
    m = branches(spelling, operands, n)
    if message is None:
        verify(m)
    else:
        refused(m, message)


def test_22_calls_and_returns():
    m = nvvm("call", (I32,), I32, CallInfo(1))
    refused(m, "an indirect call has no pointer to call")
    g = m.add_function(Function("g", "func"))
    g.params, g.return_type = [Argument(I32, "%x", g)], I32
    call = m["f"].entry.first
    call.aux = CallInfo(1, callee=g)
    verify(m)
    g.params[0].type = I64
    refused(m, "%0 is of type i32, g takes i64")
    g.params = []
    refused(m, "the call passes 1 arguments, g takes 0")
    g.aux = {"variadic": True}
    verify(m)
    g.return_type = I64
    refused(m, "types differ: i32, i64")
    call.aux = None
    refused(m, "a call needs a CallInfo as aux")
    call.erase()
    m["f"].return_type = I32
    refused(m, "ret of void, the function returns i32")


# ------------------------------------------------------------------ 23: modules


def test_23_symbols_are_unique():
    m = body("  ret", before="global @tile: shared [64 x b8] align 8")
    m.globals[0].name = "k"
    refused(m, "the module has two symbols named k")


def test_23_functions_know_their_module():
    m = body("  ret")
    m["k"].module = Module()
    refused(m, "the function's module is another one")


def test_23_the_order_is_complete():
    m = body("  ret")
    m.order.clear()
    refused(m, "the module's order is not that of its functions and globals")


# ------------------------------------------- the value model of `ori`, by sentence


def ptx(*lines: str, registers: str = "", target: str = "sm_80") -> Function:
    declared = f".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;{registers}"
    text = "\n".join([".version 8.0", f".target {target}", ".address_size 64",
                      ".visible .entry k() {", declared, *lines, "ret;", "}"])
    m = read_ptx(text)
    verify(m)
    return m["k"]


def spelled(f: Function, name: str) -> list[Instruction]:
    return [i for i in f.instructions() if i.form.name == name]


def test_model_a_value_has_the_class_of_its_register_and_keeps_its_spelling():
    f = ptx("add.f32 %f1, %f1, %f1;", "add.s32 %r1, %f1, %f1;", registers=".reg .f32 %f<9>;")
    add_float, add_int = spelled(f, "add")
    assert add_float.type.name == "f32"
    assert add_float.type.cls is B32
    assert add_int.form.type.name == "s32"  # the instruction's type is its own


def test_model_wider_registers_pass_where_ptx_takes_them():
    f = ptx("ld.shared.u8 %r1, [%r2];", "st.shared.u8 [%r2], %d1;", "cvt.u16.u8 %h1, %r1;")
    assert spelled(f, "ld")[0].type.cls is B32


def test_model_a_register_read_before_any_write_is_undef():
    f = ptx("add.s32 %r1, %r2, 1;")
    assert spelled(f, "add")[0].operands[0] is undef(spelled(f, "add")[0].type)


def test_model_only_a_single_result_is_its_own_value():
    f = ptx("setp.eq.s32 %p1|%p2, %r1, 1;", "add.s32 %r2, %r1, 1;")
    two, one = spelled(f, "setp")[0], spelled(f, "add")[0]
    assert [r.__class__ for r in two.results] == [Result, Result]
    assert two.type is VOID
    assert one.results == (one,)


def test_model_the_sink_is_a_result_without_uses():
    f = ptx("setp.eq.s32 %p1|_, %r1, 1;", "@%p1 add.s32 %r2, %r1, 1;")
    used, sink = spelled(f, "setp")[0].results
    assert used.has_uses
    assert not sink.has_uses


def test_model_a_guarded_instruction_has_a_fallback_tied_to_each_result():
    f = ptx("mov.u32 %r2, 5;", "setp.eq.s32 %p1, %r1, 1;", "@%p1 add.s32 %r2, %r1, 1;",
            "@!%p1 mov.u32 %r3, 1;", "st.shared.v2.u32 [0], {%r2, %r3};")
    add = spelled(f, "add")[0]
    assert add.fallbacks == (spelled(f, "mov")[0],)
    assert add.ties == ((0, add.form.guard_index + 1),)
    assert spelled(f, "mov")[1].fallbacks[0] is undef(spelled(f, "mov")[1].type)


def test_model_guarded_control_flow_ends_a_block_with_two_successors():
    f = ptx("setp.eq.s32 %p1, %r1, 1;", "@%p1 bra L;", "@%p1 ret;", "@!%p1 exit;", "L:")
    ends = [(b.last.form.name, len(b.last.aux)) for b in f.blocks]
    assert ends[:3] == [("bra", 2), ("ret", 1), ("exit", 1)]  # leaving is no block


def test_model_carry_is_a_result_and_an_operand():
    f = ptx("add.cc.u32 %r1, %r2, %r3;", "addc.u32 %r4, %r5, %r6;")
    start, end = spelled(f, "add.cc")[0], spelled(f, "addc")[0]
    assert start.results[1].type is CC
    assert end.operands[2] is start.results[1]


def test_model_an_unknown_modifier_keeps_the_row():
    f = ptx("add.sparkling.s32 %r1, %r2, 1;")
    i = spelled(f, "add")[0]
    assert (i.form.n_results, i.form.n_sources) == (1, 2)


def test_model_an_unknown_mnemonic_reads_and_writes_what_it_names():
    f = ptx("frobnicate.b32 %r1, %r2;", "add.s32 %r3, %r1, %r2;")
    i = spelled(f, "unknown")[0]
    assert len(i.results) == 2
    assert i.ties == ((0, 0), (1, 1))
    assert spelled(f, "add")[0].operands == i.results
    assert i.form.op.convergent
    assert i.form.op.pinned
    assert i.form.op.reads
    assert i.form.op.writes


def test_model_reading_propagates_no_copy():
    f = ptx("mov.u32 %r1, %r2;", "add.s32 %r3, %r1, 1;")
    assert spelled(f, "add")[0].operands[0] is spelled(f, "mov")[0]


def test_model_values_keep_the_name_of_their_source_register():
    f = ptx("L:", "add.s32 %r1, %r1, 1;", "setp.eq.s32 %p1, %r1, 1;", "@%p1 bra L;")
    web = {v.name for i in f.instructions() for v in i.results if v.type.name == "b32"}
    assert web == {"%r1"}


def test_what_stands_beside_the_operands_is_asked_each_time():
    """A store of the same types without an alignment was right; that says nothing of one with."""
    def stored(aux):
        module = parse_ir(f"""module nvvm target sm_80
kernel @k(reg %p: ptr) {{
entry:
  store i32 1, %p{aux}
  ret
}}
""")
        verify(module)

    stored("")
    stored("  !aux 4")
    with pytest.raises(VerifyError, match="alignment of -1"):
        stored("  !aux -1")


@pytest.mark.parametrize(("offset", "said"), [
    ("4", ""), ("0x10", ""), ("0f3F800000", "0f3F800000"),  # as ptxas: an integer is expected
    ("%f5", "undef"), ("%f1", "%f1"), ("%r1", "%r1"),
])
def test_to_an_address_a_whole_number_is_added(offset: str, said: str):
    """Whatever was found right before: what nothing writes is of a literal's type here."""
    module = read_ptx(f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {{
.reg .f32 %f<9>; .reg .b32 %r<9>; .shared .b8 s[64];
mov.u32 %r1, s; ld.shared.f32 %f1, [%r1]; ld.shared.f32 %f2, [%r1+{offset}]; ret; }}
""")
    if not said:
        verify(module["k"])
        return
    with pytest.raises(VerifyError, match=f"{said} is added to an address, which takes a whole n"):
        verify(module["k"])


@pytest.mark.parametrize(("level", "init", "said"), [
    ("ori", "(imm 9)", ""), ("nvvm", "(imm 9)", "is a list, as ori has it"),
    ("nvvm", "type[2 x i32] undef", ""),
])
def test_an_initial_value_is_one_of_its_level(level: str, init: str, said: str):
    of = "b32" if level == "ori" else "i32"
    module = parse_ir(f"module {level}\nglobal @table: const [2 x {of}] align 4 init {init}\n")
    if not said:
        verify(module)
        return
    with pytest.raises(VerifyError, match=said):
        verify(module)


@pytest.mark.parametrize(("number", "fits"), [
    ((1 << 32) - 1, True), (0, True), (1 << 32, False), (-1, False)])
def test_numbers_of_directives_have_32_bits(number: int, fits: bool):
    module = parse_ir("module ori\nkernel @k() {\nentry:\n  ret\n}\n")
    module["k"].directives["maxntid"] = (64, number)
    if fits:
        verify(module)
        return
    with pytest.raises(VerifyError, match="in @k: maxntid takes numbers of 32 bits"):
        verify(module)
