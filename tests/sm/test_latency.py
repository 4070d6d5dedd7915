"""The notes' latency classes and stall counts, rule by rule, and the real latencies beside them."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvir.ir.errors import NvirError, Unsupported
from nvir.sm.latency import (
    CLASSES,
    DEFAULT,
    FAMILIES,
    LAST_OPCODE,
    class_cycles,
    class_resource_bound,
    classify,
    edge_latency,
    family_named,
    family_of,
    is_long,
    latency_class,
    operand_count,
    pipe_of_class,
    register_class_latency,
    stall_cap,
    stall_cycles,
    unit_cycles,
)
from nvir.sm.profile import PROFILES, profile

SM_80 = profile("sm_80")


# -- the classes


@pytest.mark.seed("LAT-01", "LAT-02")
def test_thirteen_classes():
    assert sorted(CLASSES) == [1, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 26, 31]
    assert all(row.code == code and row.meaning for code, row in CLASSES.items())


@pytest.mark.seed("SWP-12", "SWP-13", "GAP-22")
def test_pipe_of_class_has_the_fourteen_rows_of_the_notes():
    """Class 4 has a pipe, although no operand has it; the SFU's index is past the end."""
    notes = profile("sm_80_notes")
    assert set(notes.class_pipes) == {*CLASSES, 4}
    by_pipe = {"ALU": {1, 9, 10, 11}, "FMA": {7}, "DFMA": {4, 16}, "LSU": {12, 14, 26},
               "TEX": {6, 20}, "BRA/SMEM": {31}, "SFU": {8}}
    for pipe, classes in by_pipe.items():
        assert {code for code in notes.class_pipes if pipe_of_class(code, notes) == pipe} == classes
    names = ("ALU", "FMA", "DFMA", "MMA", "LSU", "TEX", "BRA/SMEM")
    assert [notes.pipes[n].units for n in names] == [4, 4, 1, 1, 2, 1, 1]
    with pytest.raises(NvirError, match="no latency class 5 in profile sm_80_notes"):
        pipe_of_class(5, notes)


@pytest.mark.seed("LAT-01", "LAT-07")
@given(
    st.integers(-5, 1 << 33),
    st.integers(0, 255),
    st.lists(st.integers(0, (1 << 32) - 1), max_size=7),
    st.none() | st.integers(0, 9),
    st.integers(-3, 9),
)
def test_any_instruction_has_one_of_the_classes(opcode, secondary, operands, count, index):
    assert classify(opcode, secondary, operands, count, index) in CLASSES


@pytest.mark.seed("LAT-07")
def test_every_opcode_classifies_for_every_operand():
    for opcode in range(LAST_OPCODE + 1):
        for index in range(6):
            assert classify(opcode, 0, (0,) * 6, index=index) in CLASSES
    assert classify(0x2F) == DEFAULT  # no family
    assert family_of(0x2F) is None


@pytest.mark.seed("LAT-03")
@pytest.mark.parametrize(
    ("opcode", "code"),
    [
        (0x02, DEFAULT), (0x03, DEFAULT), (0x22, DEFAULT), (0x23, 10), (0x24, DEFAULT),
        (0x25, DEFAULT),
        (0x3B, DEFAULT), (0x3C, 12), (0x3D, DEFAULT), (0x3E, 12), (0x4E, 12), (0x4F, 12),
        (0x50, DEFAULT),
        (0x46, 6), (0xF2, DEFAULT), (0xF3, 6), (0x106, 6), (0x107, DEFAULT),
        (0x49, 12), (0x4A, 12), (0x51, 12), (0x143, 12), (0x15E, 12), (0x15D, DEFAULT),
        (0x54, DEFAULT), (0x55, 8), (0x56, 12), (0x5A, 12), (0x5D, 12), (0x6F, 12), (0x70, DEFAULT),
        (0xB7, 10), (0x120, 10), (0x135, 14), (0x13D, 10), (0x13E, 10), (0x13F, DEFAULT),
        (0x5B, DEFAULT), (0x5C, DEFAULT), (0x137, DEFAULT),  # of operand 0
    ],
)
def test_families_at_their_bounds(opcode, code):
    assert classify(opcode) == code


@pytest.mark.seed("LAT-03", "LAT-07")
def test_the_families_are_these_and_end_there():
    """First and last opcode, and the classes of operands 0 to 2 without and with their flags: word
    4 holds 14, the secondary opcode is odd, bit 27 is set."""
    words = (1 << 27, 1 << 27, 1 << 27, 0, 14)
    made: list[tuple[object, ...]] = []
    for opcode in range(LAST_OPCODE + 2):
        plain = tuple(classify(opcode, 0, (0,) * 5, index=k) for k in range(3))
        flagged = tuple(classify(opcode, 1, words, index=k) for k in range(3))
        if made and made[-1][2:] == (plain, flagged):
            made[-1] = (made[-1][0], opcode, plain, flagged)
        else:
            made.append((opcode, opcode, plain, flagged))
    simple, real = (6, 6, 6), (12, 12, 12)
    of = [(a, b, x, y) for a, b, x, y in made if (x, y) != (simple, simple)]
    memory, texture, barrier = ((12, 12, 12), (14, 14, 12)), (simple, (10, 10, 10)), (6, 12, 6)
    assert of == [
        (0x23, 0x23, (10, 10, 10), (10, 10, 10)),
        (0x3C, 0x3C, *memory), (0x3E, 0x3E, *memory),
        (0x46, 0x46, *texture),
        (0x49, 0x4A, real, real), (0x4E, 0x4F, *memory), (0x51, 0x51, real, real),
        (0x55, 0x55, (8, 8, 8), (8, 8, 8)), (0x56, 0x5A, real, real),
        (0x5B, 0x5C, barrier, barrier), (0x5D, 0x6F, real, real),
        (0xB7, 0xB7, (10, 10, 10), (20, 20, 20)),
        (0xF3, 0x106, *texture),
        (0x120, 0x120, (10, 10, 10), (20, 20, 20)),
        (0x135, 0x135, (14, 14, 14), (14, 14, 14)), (0x137, 0x137, barrier, barrier),
        (0x13D, 0x13E, (10, 10, 10), real),
        (0x143, 0x143, real, real), (0x15E, 0x15E, real, real),
    ]
    assert of[-1][1] == LAST_OPCODE
    assert [(f.first, f.last) for f in FAMILIES if f.category == "integer ALU"] == [(3, 0x24)]


@pytest.mark.seed("LAT-03")
def test_memory_operands_carry_their_class_in_word_four():
    words = [0, 0, 0, 0, 26]
    assert classify(0x3C, 0, words, index=0) == 26
    assert classify(0x3C, 0, words, index=1) == 26
    assert classify(0x3C, 0, words, index=2) == 12
    assert classify(0x3C, 0, [0, 0, 0, 0, 13], index=0) == 12  # 13 is no class
    assert [classify(0x3C, 0, [26] * n, index=0) for n in (3, 4, 5)] == [12, 12, 26]


@pytest.mark.seed("LAT-03")
def test_families_that_look_at_flags():
    assert [classify(0xF3, secondary=flag) for flag in (0, 1)] == [6, 10]
    texture = [classify(o, secondary=1) for o in (0x45, 0x46, 0x47, 0xF2, 0xF3, 0x106, 0x107)]
    assert texture == [6, 10, 6, 6, 10, 10, 6]
    for opcode in (0x5B, 0x5C, 0x137):
        assert [classify(opcode, index=i) for i in (0, 1, 2)] == [DEFAULT, 12, DEFAULT]
    flagged = (0, 1 << 27, 0)
    assert [classify(0xB7, 0, flagged, index=i) for i in (0, 1)] == [10, 20]
    assert [classify(0x13D, 0, flagged, index=i) for i in (0, 1)] == [10, 12]


@pytest.mark.seed("LAT-03")
def test_modifier_bits_do_not_change_the_family():
    """Bits 12 and 13 are cleared; a neighbouring bit is not."""
    for modifier in (0x1000, 0x2000, 0x3000):
        assert classify(0x23 | modifier) == 10
    assert classify(0x23 | 0x4000) == DEFAULT


@pytest.mark.seed("LAT-04")
def test_an_operand_that_is_not_there_is_skipped():
    assert classify(0x23, index=99) == 1
    assert classify(0x23, index=-1) == 1
    assert classify(0x23, 0, (0, 0, 0), count=1, index=1) == 1
    assert classify(0x23, 0, (), index=0) == 1


@pytest.mark.seed("SWP-03", "GAP-46")
def test_a_predicated_instruction_ends_with_two_operands_of_its_guard():
    assert operand_count(0x23, 5) == 5
    assert operand_count(0x23 | 0x1000, 5) == 3
    assert operand_count(0x23 | 0x1000, 1) == 0


@pytest.mark.seed("LAT-05", "GAP-46")
def test_register_classes():
    assert [register_class_latency(c) for c in (4, 5, 2)] == [26, 20, 20]
    assert register_class_latency(3) == DEFAULT
    assert register_class_latency(3, otherwise=12) == 12


@pytest.mark.seed("LAT-03")
@pytest.mark.parametrize(("operation", "first"), [
    ("ld.global.u32", 0x3C), ("st.shared.f32", 0x3E), ("atom.global.add.u32", 0x49),
    ("bar.sync", 0x5B), ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", 0xB7),
    ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 0x135),
    ("tex.2d.v4.f32.f32", 0xF3), ("add.s32", 0x03), ("mul.lo.s32", 0x23), ("shl.b32", 0x23),
    ("ex2.approx.f32", 0x55), ("fma.rn.f32", 0x55), ("add.f64", None), ("cvt.s32.f32", None),
    ("frobnicate", None), ("popc.b32", 0x03), ("brev.b32", 0x03), ("div.rn.f32", 0x55),
    ("membar.gl", 0x5B),
    ("shfl.sync.bfly.b32", None), ("vote.sync.any.pred", None), ("bfe.u32", 0x23),
])
def test_an_operation_by_name_has_its_family(operation, first):
    found = family_named(operation)
    assert (None if found is None else found.first) == first
    last = {0x03: 0x24, 0x55: 0x55 if operation.startswith(("ex2", "div")) else 0x6F, 0xF3: 0x106}
    assert found is None or found.last == last.get(first, first)


@pytest.mark.seed("LAT-06", "GAP-24")
@pytest.mark.parametrize(("code", "long"), [
    (1, False), (6, False), (8, True), (12, True), (14, True), (16, False), (20, True), (26, True),
    (99, False)])
def test_which_classes_are_of_long_units(code, long):
    assert is_long(code, profile("sm_80_notes")) is long
    assert stall_cap(code, 6, profile("sm_80_notes")) == (64 if long else 32)


@pytest.mark.seed("LAT-03")
def test_what_the_notes_leave_open_is_marked():
    marked = {family.category for family in FAMILIES if family.assumed}
    assert {"load/store", "texture", "WGMMA setup", "HMMA/IMMA"} <= marked
    assert "atomic" not in marked


# -- by name


@pytest.mark.seed("LAT-02", "GAP-22")
@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("add.s32", 6), ("and.b32", 6), ("setp.lt.s32", 6), ("mov.u32", 6), ("frobnicate.x", 6),
        ("fma.rn.f16x2", 7), ("add.s64", 7), ("cvt.rn.f16.f32", 7),
        ("rcp.approx.ftz.f32", 8), ("popc.b32", 8),
        ("cvt.rn.f32.s32", 9), ("cvt.f64.f32", 9),
        ("mul.lo.s32", 10), ("mad.wide.u32", 10), ("shl.b32", 10),
        ("cvta.to.global.u64", 11),
        ("fma.rn.f32", 12), ("add.f32", 12), ("ld.shared.f32", 12), ("st.global.f32", 12),
        ("atom.global.add.u32", 12), ("bar.sync", 12), ("shfl.sync.idx.b32", 12),
        ("st.global.f64", 14), ("st.shared.v4.f32", 14), ("mma.sync.aligned.m16n8k16", 14),
        ("fma.rn.f64", 16), ("setp.lt.f64", 16),
        ("tex.2d.v4.f32.f32", 20), ("ld.param.u64", 20), ("ld.const.f32", 20),
        ("ld.global.f32", 26), ("ld.global.nc.v4.f32", 26), ("ld.local.u32", 26),
        ("mbarrier.try_wait.shared.b64", 31), ("bra.uni", 1), ("ret", 1),
        ("IADD3", 6), ("FFMA", 12), ("IMAD.WIDE", 10), ("SHF.L.U32", 10), ("LEA.HI", 11),
        ("LDG.E", 26), ("LDS.128", 14), ("STG.E.64", 14), ("STG.E", 12), ("DFMA", 16), ("TEX", 20),
        ("I2F", 9), ("MUFU.EX2", 8), ("HFMA2", 7), ("HMMA.16816.F32", 14), ("ULDC.64", 20),
        ("BAR.SYNC", 12), ("BRA", 1), ("ATOMG.E.ADD", 12),
    ],
)
def test_class_of_a_named_operation(operation, code):
    assert latency_class(operation, SM_80) == code


def test_names_that_cannot_be_classified():
    with pytest.raises(NvirError, match="needs a profile"):
        latency_class("FFMA")
    with pytest.raises(Unsupported, match="FROB"):
        latency_class("FROB", SM_80)


@pytest.mark.parametrize("name", PROFILES)
def test_every_operation_of_a_machine_has_a_class(name):
    machine = profile(name)
    for family, unit in machine.families.items():
        if unit in machine.units:
            assert latency_class(family, machine) in CLASSES


# -- cycles


@pytest.mark.seed("LAT-08")
@pytest.mark.parametrize("name", PROFILES)
def test_class_cycles_come_from_the_profile(name):
    machine = profile(name)
    cycles = {code: class_cycles(machine, code) for code in CLASSES}
    assert cycles[1] == 0
    assert all(count >= 1 for code, count in cycles.items() if code != 1)
    assert cycles[26] == machine.latencies["load"].levels["l1"]
    assert cycles[6] < cycles[12] < cycles[20]


@pytest.mark.seed("LAT-08")
def test_operations_of_one_class_have_the_cycles_of_their_units():
    """Uniform loads share class 20 with textures, FP32 class 12 with memory."""
    assert class_cycles(SM_80, 20) == unit_cycles(SM_80, 20, "texture") == 436
    assert unit_cycles(SM_80, 20, "load_constant") == 8
    assert unit_cycles(SM_80, 12, "fma") < unit_cycles(SM_80, 12, None) == class_cycles(SM_80, 12)
    assert unit_cycles(SM_80, 26, "fma") == class_cycles(SM_80, 26)  # of another class


def test_class_cycles_differ_between_machines():
    assert class_cycles(SM_80, 26) == 33
    assert class_cycles(profile("sm_90"), 26) == 40
    with pytest.raises(NvirError, match="no latency class 4"):
        class_cycles(SM_80, 4)


@pytest.mark.seed("LAT-06", "GAP-24")
@pytest.mark.parametrize("notes", ["sm_80", "sm_80_notes"])
@pytest.mark.parametrize(
    ("table", "short", "long"), [(0, 0, 0), (32, 32, 32), (33, 32, 33), (40, 32, 40), (70, 32, 64)]
)
def test_stall_caps(table, short, long, notes):
    """64 if operand 0 or 1 is of memory, texture or special functions, else 32."""
    machine = profile(notes)
    for first in (8, 12, 14, 20, 26):
        for second in (1, 6, 10, 16):
            assert stall_cycles(table, second, second, machine) == short
            assert stall_cycles(table, first, second, machine) == long
            assert stall_cycles(table, second, first, machine) == long


@pytest.mark.seed("GAP-56", "LAT-06")
def test_edge_latency_by_policy():
    """Observed: the machine's own. Notes: capped at 64 on long units, at 32 on others."""
    assert edge_latency(SM_80, "FFMA", "FFMA") == 4
    assert edge_latency(SM_80, "IADD3", "FFMA") == 5
    assert edge_latency(SM_80, "ISETP", "BRA", guard=True) == 13
    assert edge_latency(SM_80, "LDG.E", level="l2") == 200
    assert edge_latency(SM_80, "LDG.E", level="l2", policy="documented") == 64
    assert edge_latency(SM_80, "LDG.E", policy="documented") == 33
    geforce = profile("sm_86")
    assert edge_latency(geforce, "DFMA") == 54
    assert edge_latency(geforce, "DFMA", policy="documented") == 32
    assert edge_latency(SM_80, "FFMA", "FFMA", policy="documented") == 4
    with pytest.raises(Unsupported, match="guess"):
        edge_latency(SM_80, "FFMA", policy="guess")


@pytest.mark.seed("SWP-11", "GAP-22", "GAP-24")
def test_resource_bound_from_classes_alone():
    """FP32 is class 12, which the table puts on LSU: 11 / 2, not the 2 of the notes' example,
    which the pipes of the opcodes give (documented/test_phase_24.py)."""
    notes = profile("sm_80_notes")
    assert class_resource_bound([12] * 8 + [26] * 3, notes) == 6
    assert class_resource_bound([7] * 8 + [26] * 3, notes) == 2
    assert class_resource_bound([], notes) == 1
    both = [8] * 3 + [31] * 2
    assert class_resource_bound(both, notes) == 3  # the SFU has its own pipe of width 1
    clamped = attrs.evolve(notes, class_pipes={**notes.class_pipes, 8: "BRA/SMEM"})
    assert class_resource_bound(both, clamped) == 5  # as the notes have it: onto the last one
    assert class_resource_bound([4, 16], notes) == 2
    with pytest.raises(NvirError, match="no latency class 5"):
        class_resource_bound([5], notes)
