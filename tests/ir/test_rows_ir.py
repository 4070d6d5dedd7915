"""What the notes read from words and flag bytes has a name in nvir: operands, flags, fields."""

from __future__ import annotations

import pytest

import nvir
from nvir.documented import policy
from nvir.documented.hoist import stages as licm_stages
from nvir.documented.unroll.steps import Rules
from nvir.ir import integer, undef
from nvir.ir.equal import difference, equal_up_to_renaming
from nvir.ir.opcodes import ORI
from nvir.ir.opcodes.form import form, nvvm_form
from nvir.ir.types import B32
from nvir.ir.values import Constant, SpecialRegister
from nvir.passes.context import Context
from nvir.passes.driver import Driver, Settings
from nvir.passes.knobs import Knobs
from nvir.passes.loop.simplify import loop_simplify
from nvir.passes.loop.unroll import loop_unroll
from nvir.sm import loopgraph
from nvir.sm.latency import edge_latency, stall_cycles
from nvir.sm.schedule import loops

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 tile[64];
.visible .entry k(.param .u64 o, .param .u32 n) {
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [o]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r1, 9;
"""
OPERANDS = {
    "register": "add.u32 %r3, %r1, %r2;",
    "pair of registers": "st.global.v2.u32 [%rd1], {%r1, %r2};",
    "wide register": "add.s64 %rd2, %rd1, %rd1;",
    "predicate": "and.pred %p2, %p1, %p1;",
    "negated guard": "@!%p1 add.u32 %r3, %r1, 1;",
    "constant": "add.u32 %r3, %r1, 0xFFFFFFFF;",
    "float constant": "add.f32 %f1, %f2, 0f3F800000;",
    "uniform": "mov.u32 %r3, %ctaid.x;",
    "address": "mov.u32 %r3, tile;",
    "two definitions": "setp.lt.u32 %p2|%p3, %r1, %r2;",
}


@pytest.mark.seed("IR-09")
@pytest.mark.parametrize("kind", OPERANDS)
def test_every_kind_of_operand_survives_the_text(kind):
    module = nvir.read_ptx(KERNEL + OPERANDS[kind] + "\nst.global.u32 [%rd1], %r2; ret; }")
    assert difference(module, nvir.parse_ir(nvir.print_ir(module))) is None
    again = nvir.read_ptx(nvir.print_ptx(module))
    assert equal_up_to_renaming(module["k"], again["k"]) is None


@pytest.mark.seed("IR-09")
def test_operands_tell_their_kind_and_definitions_are_no_operands():
    module = nvir.read_ptx(KERNEL + "@!%p1 add.u32 %r3, %r2, 7; st.global.u32 [%rd1], %r3; ret; }")
    add = next(i for i in module["k"].instructions() if i.form.name == "add")
    r2, seven = add.operands[:2]
    assert isinstance(seven, Constant)
    assert isinstance(r2.definer.operands[0], SpecialRegister)
    assert add.form.guard == "!"
    assert add.guard.definer.form.name == "setp"
    assert add not in add.operands
    assert add.results == (add,)


@pytest.mark.seed("GAP-25", "IR-11")
def test_what_the_notes_tell_by_number_is_a_property_of_the_row():
    """One number stands for several mnemonics there; here a pass asks the row."""
    assert form("bar.sync", "%s").convergent  # 159, 32, 271
    assert form("membar.gl").op.sync  # 32, which is also a ceil
    assert form("brx.idx", "%s").terminator  # 236, 97
    assert form("bra").terminator  # 95
    assert not form("mov.u32", "%s, %s").volatile  # 137
    names = [op.name for op in ORI.rows.values()]
    assert len(set(names)) == len(names)
    assert not any(name.isdigit() for name in names)


@pytest.mark.seed("GAP-02")
def test_rows_of_the_upper_level_are_named_not_numbered():
    compare = nvvm_form("icmp ult")
    assert compare.name == "icmp"
    for name in ("phi", "bitcast", "add", "sub", "getelementptr", "load", "store", "fence"):
        assert nvvm_form(name).name == name


@pytest.mark.seed("GAP-49", "IR-07")
def test_a_value_has_one_definition_and_a_header_joins_two():
    text = "mov.u32 %r4, 0;\nL: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, %r1; @%p2 bra L;\n"
    module = nvir.read_ptx(KERNEL + text + "st.global.u32 [%rd1], %r4; ret; }")
    f = module["k"]
    f.analyze_cfg()
    (loop,) = f.loops()
    (phi,) = loop.header.phis
    latch = loop.latches[0]
    assert {b for _, b in phi.incoming} == {latch, loop.preheader}
    made = [r for i in f.instructions() for r in i.results]
    assert len(set(made)) == len(made)
    assert all(r.definer is not None for r in made)
    assert undef(B32).definer is None
    assert integer(3).definer is None


# ------------------------------------------------------------- flags and fields


@pytest.mark.seed("IR-12")
def test_each_flag_of_the_code_object_has_a_name():
    module = nvir.read_ptx(KERNEL + "st.global.u32 [%rd1], %r2; ret; }")
    f = module["k"]
    named = {
        "1368 bit 0": (loop_simplify.Options().enable, loop_unroll.Options().enable),
        "1371 0x10, unroll context +214": (Rules().variable_bounds,),
        "1380 bit 7": (loop_simplify.Options(convergent=True).convergent,),
        "1382 bit 2": (loop_simplify.Options(peel=True).peel,),
        "1421 0x20": (loop_unroll.Options(verbose=True).verbose,),
    }
    assert all(all(flags) for flags in named.values())
    assert all(isinstance(x, bool) for flags in named.values() for x in flags)
    assert loop_simplify.Options().level == 2  # +896
    assert "convergent" not in f.flags
    f.analyze_cfg()  # 1370 bit 2, 1392 bit 0, 176 bit 1: the snapshot is fresh or stale
    assert f.cfg_state == "fresh"
    f.cfg_changed()
    assert f.cfg_state == "stale"


@pytest.mark.seed("IR-12", "UNR-16")
def test_the_two_bits_of_unrolling_come_from_the_pragma():
    """1397 & 0xC0: 0x40 never, 0x80 always."""
    for pragma, override in (("", 0), ("nounroll", 0x40), ("unroll", 0x80)):
        line = f'.pragma "{pragma}";\n' if pragma else ""
        text = KERNEL.replace(".shared", f"{line}.shared") + "st.global.u32 [%rd1], %r2; ret; }"
        module = nvir.read_ptx(text)
        ctx = Context(module, Knobs())
        assert loop_unroll.override_of(module["k"], ctx) == override
    off = policy.UnrollEntry(True, 0x40, False, 3, True)
    assert policy.entry_guard(off) == "nounroll holds for the whole module"


@pytest.mark.seed("IR-21")
def test_the_remaining_fields_have_names():
    text = KERNEL + "mov.u32 %r4, 0;\nL: add.u32 %r4, %r4, 1; mul.lo.u32 %r5, %r4, %r4; " \
        "xor.b32 %r6, %r6, %r5; setp.lt.u32 %p2, %r4, %r1; @%p2 bra L;\n" \
        "st.global.u32 [%rd1], %r6; ret; }"
    module = nvir.read_ptx(text)
    f = module["k"]
    f.analyze_cfg()
    assert len(f.blocks) == 3  # +296, +2104
    (loop,) = f.loops()
    profile = nvir.sm.profile("sm_80")
    made = loops.schedule_loop(loopgraph.loop_graph(loop, profile))
    assert made.stages >= 1  # scheduler context +120
    assert len(made.times) == len(made.graph.operations)  # +264: the slot of each operation
    assert profile.operation("IMAD").pipes  # PipeAssignment, +904
    assert edge_latency(profile, "IMAD", "IADD3") > 0  # StallTable, +440
    assert stall_cycles(70, 8, 6, profile) == 64
    assert form("bar.sync", "%s").op.sync  # isBarrier, +1456
    assert licm_stages.is_copy(form("mov.u32", "%s, %s"))  # isNoOp, +1824
    assert Rules().variable_bounds  # unroll context +214


@pytest.mark.seed("IR-12")
def test_a_phase_renews_what_it_made_stale():
    """Flag 1392 bit 0 is acted on by the driver between passes."""
    text = KERNEL + "mov.u32 %r4, 0;\nL: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 4; " \
        "@%p2 bra L;\nst.global.u32 [%rd1], %r4; ret; }"
    module = nvir.read_ptx(text)
    Driver(Settings(check=True, verify_each=True)).run(module, "loop-unroll,licm")
    assert module["k"].cfg_state == "fresh"
    assert module["k"].loops() == []  # fully unrolled, and the snapshot knows
