"""Software pipelining on physical registers: the judge, the executor, and random bodies."""

from __future__ import annotations

from types import SimpleNamespace

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import nvir
from benchmarks import limits
from benchmarks.post_ra_stream import kernel_stream
from nvir.assembler.postra import LoopCode, PhysicalOp, Variant, loop_code, schedule
from nvir.assembler.postra.check import check, compare, emit, require, run_sequential
from nvir.assembler.postra.code import parallel_moves
from nvir.assembler.postra.control import BARRIERS
from nvir.assembler.postra.dependences import Dependence, dependences, register_carried
from nvir.assembler.postra.expand import expand, instances, own_registers
from nvir.assembler.postra.fold import fold, renamed, schedule_then_allocate
from nvir.assembler.postra.handed import Handed, KernelSlot
from nvir.assembler.postra.place import (
    PlacementWindows,
    has_conflict,
    place,
    propagate,
    stage_liveness,
    stage_slots,
)
from nvir.assembler.postra.records import Route, decode, encode
from nvir.assembler.regalloc import allocate
from nvir.ir import Instruction, form
from nvir.ir.errors import NvirError, Unsupported
from nvir.ir.loops import natural_loops
from nvir.ir.text.trace import Trace
from nvir.report.schedule.post_ra import listing
from nvir.sm.profile import profile
from nvir.sm.simulate import simulate
from tests.effort import effort

SM80 = profile("sm_80")


def op(family: str, writes: str = "", reads: str = "", guard: str = "", role: str = ""):
    """An operation from text: `op("FFMA", "R4", "R4 R5 R6")`."""

    def registers(text: str):
        return tuple((w[0], int(w[1:])) for w in text.split())

    g = registers(guard)
    return PhysicalOp(family, registers(writes), registers(reads) + g, g[0] if g else None,
                      None, role)


def code(*operations, profile=SM80, **kw) -> LoopCode:
    return LoopCode("loop", profile, tuple(operations), **kw)


def saxpy(second: str = "R6", third: str = "R8") -> LoopCode:
    """x and y loaded, one multiply-add, a store; the address and the count carried."""
    return code(
        op("LDG.E", second, "R2 R3"),
        op("LDG.E", third, "R4 R5"),
        op("FFMA", third, f"{second} R9 {third}"),
        op("STG.E", "", f"R4 R5 {third}"),
        op("IADD3", "R2", "R2"),
        op("IADD3", "R4", "R4"),
        op("ISETP", "P0", "R2 R10"),
        op("BRA", "", "", "P0", "branch"),
    )


def verified(c: LoopCode, **kw):
    """A schedule that judge and executor accept, for trip counts 0 to stages + 3."""
    made = schedule(c, **kw)
    require(made, policy=kw.get("policy", "observed"))
    for trips in range(made.stages + 4):
        assert compare(made, trips) == []
    return made


# ---------------------------------------------------------------- whole loops


def test_a_loop_is_pipelined_and_computes_the_same():
    made = verified(saxpy())
    assert made.is_pipelined
    assert made.stages > 1
    assert made.ii < schedule(saxpy("R8", "R8")).ii


@pytest.mark.seed("PRA-10")
def test_one_register_for_two_values_costs_interval_and_is_named():
    """Two loads into one register: the second waits for the reader of the first."""
    shared = code(
        op("LDG.E", "R6", "R2"), op("FFMA", "R8", "R6 R8 R8"),
        op("LDG.E", "R6", "R3"), op("FFMA", "R9", "R6 R9 R9"),
    )
    own = code(
        op("LDG.E", "R6", "R2"), op("FFMA", "R8", "R6 R8 R8"),
        op("LDG.E", "R7", "R3"), op("FFMA", "R9", "R7 R9 R9"),
    )
    a, b = verified(shared), verified(own)
    load = SM80.latency("LDG.E")
    assert a.true_ii == b.true_ii == 8  # two loads, four cycles each on the LSU
    assert a.bound >= 2 * load
    assert load < b.bound <= load + 2
    assert {d.register for d in a.raised_by} == {("R", 6)}
    assert {d.kind for d in a.raised_by} <= {"WAR", "WAW"}
    assert {(d.source, d.target) for d in a.raised_by} == {(1, 2), (3, 0)}
    assert "WAR R6" in a.raised_by[0].text(shared)


def test_an_accumulator_alone_raises_nothing():
    made = verified(code(op("FADD", "R4", "R4 R5")))
    assert made.ii == made.true_ii == 4
    assert made.raised_by == ()


@pytest.mark.seed("GAP-29", "PRA-01")
def test_the_noted_scheduler_tries_no_other_interval():
    """One overloads a bank and issues twice: both fit no interval of 2, and 3 is not asked for."""
    c = code(op("FFMA", "R6", "R3 R5 R7"), op("IADD3", "R2", "R5 R9"))
    with Trace() as trace:
        made = schedule(c)
    assert [e.inputs["ii"] for e in trace.of("PRA-10")] == [2, 3]
    assert made.ii == 3
    for ii, copies, fits in ((2, 1, False), (3, 1, True), (1, 2, False), (1, 3, True)):
        with Trace() as trace:
            made = schedule(c, policy="documented", given=Handed(ii, 4, copies, {}))
        require(made, policy="documented")
        assert [e.inputs["ii"] for e in trace.of("PRA-10")] == [ii * copies]
        told = [(e.step, e.outcome) for e in trace.of("PRA-01")]
        assert told[0] == ("interval and stages given", f"II {ii}, 4 stages")
        assert told[1:] == ([] if fits else [("fails back", "one stage, in the body's order")])
        assert made.reason == ("" if fits else f"the operations do not fit the interval {ii}: "
                               "no slot is left in a round of 2 cycles")
        assert made.is_pipelined is fits
        assert [e.row for e in trace][:3] == ["PRA-09", "PRA-01", "PRA-02"]
        assert trace[0].outcome == "SoftwarePipeline"


@pytest.mark.seed("GAP-29", "PRA-01", "PRA-02")
def test_what_does_not_fit_a_round_says_why():
    """A chain of six cycles in a round, its last register written again; slots need registers."""
    chain = (op("IADD3", "R2", "R9"), op("IADD3", "R3", "R2"), op("IADD3", "R4", "R3"))
    for operations, ii, why in (
        (chain, 8, "dependences take more than the 8 cycles of a round"),
        (chain, 9, "no slot is left in a round of 9 cycles"),  # each holds its pipe for two
        (chain, 10, ""),
        ((*chain, op("IADD3", "R3", "R9")), 9, "registers that are used again take more than the 9 "
         "cycles of a round"),
        ((*chain, op("IADD3", "R5", "R9")), 10, ""),
    ):
        made = schedule(code(*operations), policy="documented", given=Handed(ii, 1, 1, {}))
        require(made, policy="documented")
        assert made.reason.partition(": ")[2] == why
        assert made.is_pipelined is not bool(why)
        assert made.ii == ii or why


@pytest.mark.seed("GAP-29", "PRA-01")
def test_what_phase_24_did_not_pipeline_gets_no_interval():
    with Trace() as trace:
        made = verified(saxpy(), policy="documented")
    assert (made.is_pipelined, made.stages, made.reason) == (
        False, 1, "phase 24 did not pipeline it")
    assert [(e.step, e.outcome) for e in trace.of("PRA-01")] == [
        ("nothing given", "one stage, in the body's order")]
    assert trace.of("PRA-09")[0].outcome == "LoopScheduler"


def test_a_body_without_operations_is_refused():
    with pytest.raises(NvirError, match="no operation"):
        schedule(code())


# ---------------------------------------------------------------- dependences, phase A


def kinds(c: LoopCode):
    return {(d.kind, d.source, d.target, d.distance) for d in dependences(c)}


@pytest.mark.seed("PRA-02")
def test_dependences_of_one_register():
    c = code(op("IADD3", "R4", "R5"), op("FFMA", "R6", "R4"), op("IADD3", "R4", "R6"))
    assert kinds(c) == {
        ("RAW", 0, 1, 0), ("WAR", 1, 2, 0), ("WAW", 0, 2, 0), ("WAW", 2, 0, 1),
        ("RAW", 1, 2, 0), ("WAR", 2, 1, 1), ("WAW", 1, 1, 1),
    }


def test_an_access_reads_its_operands_late():
    store = code(op("STG.E", "", "R2 R4"), op("IADD3", "R4", "R4"))
    add = code(op("FADD", "R6", "R2 R4"), op("IADD3", "R4", "R4"))

    def war(c):
        return next(d.cycles for d in dependences(c) if d.kind == "WAR" and d.target == 1)

    assert war(store) == 11
    assert war(add) == 1


def test_a_write_behind_a_load_waits_for_it():
    c = code(op("LDG.E", "R4", "R2"), op("MOV", "R4", "R5"))
    assert next(d.cycles for d in dependences(c) if d.kind == "WAW" and not d.distance) == 33
    c = code(op("HMMA.16816.F32", "R4", "R2"), op("MOV", "R4", "R5"))
    gap = SM80.latency("HMMA.16816.F32") - SM80.latency("MOV") + 1
    assert next(d.cycles for d in dependences(c) if d.kind == "WAW" and not d.distance) == gap > 1


@pytest.mark.seed("PRA-02")
def test_places_of_spilled_values_order_accesses_a_cycle_apart():
    """Accesses to one place go one after another; registers wait as of any load."""
    c = code(op("STL", "M0", "R4"), op("LDL", "R5", "M0"), op("STL", "M0", "R6"))
    assert {(d.kind, d.source, d.target, d.distance): d.cycles
            for d in dependences(c) if d.register == ("M", 0)} == dict.fromkeys([
                ("RAW", 0, 1, 0), ("WAR", 1, 2, 0), ("WAW", 0, 2, 0), ("WAW", 2, 0, 1)], 1)


@pytest.mark.seed("PRA-02", "PRA-08")
def test_phase_a_registers_positive_trips_of_the_asked_stages():
    c = code(op("LDG.E", "R4", "R2"), op("FADD", "R6", "R4 R6"), op("IADD3", "R2", "R2"))
    table = register_carried(dependences(c), [0, 1, 0], 0, 1)
    rows = {(r.stage, r.source, r.target, r.register, r.trips) for t in table.values() for r in t}
    assert rows == {
        (0, 0, 1, ("R", 4), 1),  # the load of this pass is added in the next
        (0, 0, 0, ("R", 4), 1), (0, 2, 0, ("R", 2), 1), (0, 2, 2, ("R", 2), 1),
        (1, 1, 1, ("R", 6), 1),
    }
    assert set(register_carried(dependences(c), [0, 1, 0], 1, 1)) == {1}
    with Trace() as trace:
        of_block = register_carried(dependences(c), [0, 1, 0], 0, 1, block=3)
    assert {row - 3 * 24: entries for row, entries in of_block.items()} == table
    assert [str(e) for e in trace.of("PRA-08")] == ["PRA-08 A dependence rows (block 3): "
                                                    "[0: 72, 1: 73]"]
    # the WAR of the adding, a stage later, to the next load spans no pass
    assert not any(r.source == 1 and r.target == 0 for r in table[1])


# ---------------------------------------------------------------- phase B


@pytest.mark.seed("PRA-03", "GAP-47")
def test_liveness_bits_by_stage():
    c = code(op("LDG.E", "R4", "R2"), op("FADD", "R6", "R4 R6"), op("STG.E", "", "R8 R6"),
             live_out=frozenset({("R", 6)}))
    stages = [0, 1, 2]
    found = dependences(c)
    rows = stage_liveness(stage_slots(c, stages, 0b111), found, c.live_out)
    bits = {f"{r[0]}{r[1]}": (row.live_in, row.live_out) for r, row in rows.items()}
    assert bits == {
        "R2": (0b001, 0), "R4": (0b010, 0b001), "R6": (0b110, 0b010), "R8": (0b100, 0),
    }
    # only the stages that the mask has
    part = stage_slots(c, stages, 0b101)
    assert [s.stage for s in part] == [0, 2]
    rows = stage_liveness(part, found, c.live_out)
    assert rows["R", 6].live_in == 0b100
    assert rows["R", 6].live_out == 0
    c = code(op("MOV", "R4", "R2"), live_out=frozenset({("R", 4)}))  # nothing in the loop reads it
    rows = stage_liveness(stage_slots(c, [1], 0b10), dependences(c), c.live_out)
    assert (rows["R", 4].live_in, rows["R", 4].live_out) == (0, 0b10)
    c = code(op("MOV", "R4", "R2"), op("STG.E", "", "R8 R4"))
    rows = stage_liveness(stage_slots(c, [1, 2], 0b110), dependences(c), c.live_out)
    assert (rows["R", 4].live_in, rows["R", 4].live_out) == (0b100, 0b10)


@pytest.mark.seed("PRA-03")
def test_liveness_reaches_the_blocks_behind():
    c = code(op("FADD", "R6", "R4 R6"), live_out=frozenset({("R", 6)}))
    rows = stage_liveness(stage_slots(c, [0], 1), dependences(c), c.live_out)
    behind = propagate(rows, {"exit": frozenset({("R", 6), ("R", 4), ("R", 40)})})
    assert {r: x.live_in for r, x in behind["exit"].items()} == {("R", 6): 1}
    made = schedule(c)
    assert {r: x.live_in for r, x in made.placement.behind.items()} == {("R", 6): 1}


# ---------------------------------------------------------------- phase C


@pytest.mark.seed("PRA-04")
def test_the_flags_byte():
    banks = SM80.banks
    tensor = banks.bounds[5] - 1
    for stage in range(8):
        assert decode(0x10 | stage << 5, stage, 0, banks) is Route.MODULO
        assert decode(0x01 | stage << 1, stage, 0, banks) is Route.BANK
        assert decode(0x10 | stage << 5, (stage + 1) % 8, 0, banks) is Route.NONE
        assert decode(0x01 | stage << 1, (stage + 1) % 8, 0, banks) is Route.NONE
        assert encode(Route.MODULO, stage) == 0x10 | stage << 5
        assert encode(Route.BANK, stage) == encode(Route.TENSOR, stage) == 0x01 | stage << 1
    assert encode(Route.NONE, 3) == 0
    assert decode(0x11 | 2 << 5 | 2 << 1, 2, 0, banks) is Route.MODULO  # the first that fits
    assert banks.classify(tensor)[0] in (4, 5)
    with pytest.raises(NvirError):
        decode(256, 0, 0, banks)
    with pytest.raises(Unsupported, match="three bits"):
        encode(Route.BANK, 8)


@pytest.mark.seed("PRA-02")
@pytest.mark.parametrize(("counted", "branch", "waits"), [
    (False, True, [(1, 0, 1, 1)]), (True, True, []), (False, False, [])])
def test_what_is_read_behind_a_loop_of_unknown_count_waits_for_the_branch(counted, branch, waits):
    c = code(op("MOV", "R4", "R2"), *([op("BRA", "", "", "P0", "branch")] if branch else []),
             live_out=frozenset({("R", 4)}), counted=counted)
    assert [(d.source, d.target, d.cycles, d.distance) for d in dependences(c)
            if d.kind == "order"] == waits


@pytest.mark.seed("PRA-02")
def test_a_false_dependence_is_told_by_what_it_forbids():
    code = LoopCode("loop", SM80, (
        op("LDG.E", "R6", "R2 R3"), op("IADD3", "R2", "R2"), op("MOV", "R6", "R8"),
        op("FFMA", "R7", "R6 R6 R7"), op("BRA", "", "", "P0", "branch")))
    found = dependences(code)
    assert {d.kind for d in found} == {"RAW", "WAR", "WAW"}
    for d in found:
        assert d.is_false == (d.kind != "RAW")
        assert ("may not write" in d.words(code)) == d.is_false
        assert ("has read it" in d.words(code)) == (d.kind == "WAR")
        assert ("has written it" in d.words(code)) == (d.kind == "WAW")
        assert ("of the iteration before" in d.words(code)) == (d.is_false and d.distance > 0)
        assert ("iteration later" in d.text(code)) == (d.distance > 0)


@pytest.mark.seed("PRA-04", "PRA-06")
@pytest.mark.parametrize(("mode", "blocked", "route"), [
    (0, False, Route.BANK), (1, False, Route.TENSOR), (1, True, Route.BANK),
    (2, True, Route.TENSOR),
])
def test_the_tensor_gate_in_the_routes(mode, blocked, route):
    banks = attrs.evolve(SM80.banks, tensor_mode=mode, tensor_blocked=blocked)
    inside, byte = banks.bounds[5], encode(Route.BANK, 1)
    with Trace() as trace:
        assert decode(byte, 1, inside, banks) is route
    assert [e.row for e in trace] == ["PRA-05", "PRA-06", "PRA-04"]
    assert trace[1].outcome is (route is Route.TENSOR)
    with Trace() as trace:  # the gate is asked for the tensor class alone
        assert decode(byte, 1, inside - 1, banks) is Route.BANK
    assert [str(e) for e in trace] == [
        "PRA-05 C bank class (register 239): class 4, offset 15",
        "PRA-04 C route (flags 3, stage 1, register 239): BANK"]


@pytest.mark.seed("PRA-04", "GAP-29")
def test_only_what_phase_24_scheduled_has_a_route():
    """Two sums in a round; too short a round, and nothing given, leave them in their order."""
    c = code(op("FFMA", "R6", "R3 R5 R7"), op("IADD3", "R2", "R2 R9"))
    marked, none = [(16, "MODULO"), (1, "BANK")], [(0, "NONE")] * 2
    for handed, told in ((Handed(4, 1, 1, {}), marked), (Handed(3, 1, 1, {}), [*marked, *none]),
                         (None, none)):
        with Trace() as trace:
            made = schedule(c, policy="documented", given=handed)
        assert [(e.inputs["flags"], e.outcome) for e in trace.of("PRA-04")
                if e.step == "C route"] == told
        assert [(r.flags, r.route.name) for r in made.placement.records.values()] == told[-2:]
    assert {r.route for r in schedule(c).placement.records.values()} == {Route.MODULO}


@pytest.mark.seed("PRA-05", "PRA-06", "PRA-07")
@pytest.mark.parametrize(("other", "mode", "cycles"), [
    (7, 0, [2, 1]),  # both of class 0: one in a cycle
    (70, 0, [2, 2]),  # classes 0 and 1
    (7, 1, [2, 1]),  # the gate is not for this class
    (247, 0, [2, 1]), (247, 1, [2, 2]),  # both of class 5
])
def test_what_is_carried_keeps_out_of_the_cycle_of_its_class(other, mode, cycles):
    machine = profile("sm_80_notes")
    banks = attrs.evolve(machine.banks, tensor_mode=mode)
    first = 240 if other == 247 else 6
    c = code(op("IADD3", f"R{first}", f"R{first}"), op("FADD", f"R{other}", f"R{other}"),
             profile=attrs.evolve(machine, banks=banks))
    with Trace() as trace:
        made = place(c, dependences(c), 9, [0, 0], 1, slots=[2, 2], windows=True)
    assert [r.cycle for r in made.records.values()] == cycles
    cls = banks.classify(other)[0]
    assert [e.inputs["register"] for e in trace.of("PRA-05")] == [first, other]
    assert [e.outcome for e in trace.of("PRA-06") if e.step == "C tensor gate"] == (
        [mode == 1] * 2 if cls == 5 else [])
    second = f"cycle {cycles[1]}" + (
        f", at 2 another has a register of class {cls}" if cycles[1] != 2 else "")
    fast = cls == 5 and mode == 1
    assert [e.outcome for e in trace.of("PRA-07")] == ([] if fast else ["cycle 2", second])
    assert [e.outcome for e in trace.of("PRA-06") if e.step == "C fast path"] == (
        ["cycle 2", "cycle 2"] if fast else [])
    if not fast:
        told = trace.of("PRA-07")[1].inputs
        assert (told["bank"], told["offset"], told["is_cross"], told["stage"]) == (
            *banks.classify(other), True, 0)


@pytest.mark.seed("PRA-05", "PRA-07")
@pytest.mark.parametrize(("reads", "carried", "cycles"), [
    ("R6 R71", 6, [2, 3]),  # what it writes is of class 1, what it reads a trip later of class 0
    ("R70 R71", 70, [2, 2]),
])
def test_placement_by_banks_receives_the_class_of_what_is_carried(reads, carried, cycles):
    machine = profile("sm_80_notes")
    c = code(op("FADD", "R70", reads), op("IADD3", "R6", "R6"), profile=machine)
    with Trace() as trace:
        made = place(c, dependences(c), 9, [0, 0], 1, slots=[2, 2], windows=True)
    asked, told, record = trace.of("PRA-05")[0], trace.of("PRA-07")[0], made.records[0]
    assert asked.inputs["register"] == carried
    cls, offset = machine.banks.classify(carried)
    assert asked.outcome == {"class": cls, "offset": offset}
    assert (told.inputs["bank"], told.inputs["offset"]) == (cls, offset)
    assert (record.bank, record.offset) == (cls, offset)
    assert [r.cycle for r in made.records.values()] == cycles


@pytest.mark.seed("PRA-04", "GAP-29")
@pytest.mark.parametrize(("stage", "fits"), [(7, True), (8, False), (12, False)])
def test_a_stage_that_three_bits_do_not_hold_matches_no_route(stage, fits):
    """As noted nobody places such an operation, so the kernel stays in its order."""
    i = Instruction(form("ret"))
    c = code(attrs.evolve(op("IADD3", "R2", "R9"), source=SimpleNamespace(parent=i)))
    with Trace() as trace:
        made = schedule(c, policy="documented",
                        given=Handed(4, stage + 1, 1, {i: KernelSlot(stage, 1)}))
    first = trace.of("PRA-04")[0]
    assert (first.inputs["flags"] >> 5, first.inputs["stage"]) == (stage & 7, stage)
    assert first.outcome == ("MODULO" if fits else "NONE")
    assert made.is_pipelined is fits
    assert (f"stage {stage} in three bits" in made.reason) is not fits


@pytest.mark.seed("PRA-04", "PRA-07")
def test_placement_tells_what_kept_an_operation_from_its_cycle():
    def told(*operations, ii, profile=SM80):
        c = code(*operations, profile=profile)
        with Trace() as trace:
            place(c, dependences(c), ii, [0] * len(operations), 1, windows=True)
        return [(e.row, e.inputs["operation"], e.outcome) for e in trace
                if e.step in ("C fast path", "C place by bank")]

    one, two = op("FADD", "R4", "R4"), op("IADD3", "R5", "R5")
    assert told(one, two, ii=9) == [
        ("PRA-07", "FADD", "cycle 0"), ("PRA-07", "IADD3", "cycle 1, at 0 another issues")]
    assert told(one, op("FADD", "R5", "R5"), ii=9)[1][2] == "cycle 2, at 0 its pipe is busy"
    assert told(op("FADD", "R4", "R2"), op("FADD", "R5", "R4"), ii=9) == [
        ("PRA-04", "FADD", "cycle 0"),
        ("PRA-04", "FADD", "cycle 4, for what it depends on")]
    assert told(op("IADD3", "R9", "R2"), op("FFMA", "R6", "R3 R5 R7"), ii=2)[1][2] == (
        "no cycle, at 0 another issues")
    assert told(op("FFMA", "R6", "R3 R5 R7"), ii=1)[0][2] == "no cycle, at 0 its pipe is busy"
    assert told(op("FFMA", "R6", "R3 R5 R7"), op("IADD3", "R9", "R2"), ii=4)[1][2] == (
        "cycle 2, at 0 another issues")


def test_carried_operations_go_by_banks_and_others_stand():
    made = schedule(saxpy())
    routes = [made.placement.records[n].route for n in range(8)]
    assert routes[4] is Route.BANK
    assert routes[7] is Route.MODULO


def test_three_sources_in_a_bank_take_the_next_issue_slot():
    assert has_conflict(op("FFMA", "R0", "R2 R4 R6"))
    assert not has_conflict(op("FFMA", "R0", "R2 R4 R5"))
    assert not has_conflict(op("STG.E", "", "R2 R3 R4 R6"))
    bad = code(*(op("FFMA", f"R{20 + k}", "R2 R4 R6") for k in range(4)))
    good = code(*(op("FFMA", f"R{20 + k}", "R2 R4 R7") for k in range(4)))
    assert verified(bad).ii >= verified(good).ii
    assert "2 issue" in " ".join(check(_moved(verified(bad))))
    machine = attrs.evolve(SM80, issue_width=2)  # of two it takes one
    mixed = LoopCode("loop", machine, (op("FFMA", "R20", "R2 R4 R6"), op("MOV", "R21", "R8"),
                                       op("IADD3", "R22", "R9"), op("MUFU.EX2", "R23", "R3")))
    placed = place(mixed, [], 16, [0] * 4, 1, slots=[1, 2, 2, 2], pipes=["FMA", "ALU", "", ""])
    assert [placed.records[n].cycle for n in range(4)] == [1, 2, 0, 1]
    fast = attrs.evolve(profile("sm_80_notes"), issue_width=1)
    assert fast.operation("FFMA").interval == 1
    for ii in (1, 2):  # both slots, and in an interval of one there is no second
        alone = LoopCode("loop", fast, (op("FFMA", "R20", "R2 R4 R6"),))
        assert (place(alone, [], ii, [0], 1) is not None) == (ii == 2)


def _moved(made):
    """The schedule with one operation in the slot behind another's conflict."""
    t = made.times
    order = made.order()
    a, b = order[0], order[1]
    record = attrs.evolve(made.placement.records[b], cycle=t[a] // made.ii * made.ii
                          + (t[a] + 1) % made.ii)
    records = {**made.placement.records, b: record}
    return attrs.evolve(made, placement=attrs.evolve(made.placement, records=records))


@pytest.mark.seed("PRA-08")
def test_records():
    """maxPredecessorCycle is that of the iteration itself, maxDependencyCycle that of all."""
    made = schedule(saxpy())
    for n, r in made.placement.records.items():
        assert r.stage * made.ii <= r.max_predecessor_cycle <= r.max_dependency_cycle <= r.cycle
        assert (r.bank, r.offset) == SM80.banks.classify(
            next((k for c, k in (*made.code.operations[n].writes, *made.code.operations[n].reads)
                  if c == "R"), 0)
        )
    assert any(
        r.max_predecessor_cycle < r.max_dependency_cycle for r in made.placement.records.values()
    )
    for stage, flags in ((2, 0x50), (7, 0xF0), (8, None)):  # nothing before it; three bits
        r = place(code(op("MOV", "R4", "R2")), [], 9, [stage], 1 << stage).records[0]
        assert (r.max_predecessor_cycle, r.max_dependency_cycle) == (9 * stage, 9 * stage)
        assert r.flags == flags
    slots = made.placement.slots
    assert sorted(n for s in slots for n in s.operations) == list(range(8))
    assert [s.stage for s in slots] == list(range(made.stages))


@pytest.mark.seed("PRA-09")
def test_the_named_variants():
    assert {v.value.name for v in Variant} == {
        "SoftwarePipeline", "LoopScheduler", "TensorScheduler", "DualIssueScheduler",
        "PrefetchScheduler",
    }
    assert Variant.named("SoftwarePipeline").value.require() == "nvir.assembler.postra.schedule"
    assert Variant.named("DualIssue") is Variant.DUAL_ISSUE
    with pytest.raises(Unsupported, match="one instruction a cycle"):
        Variant.DUAL_ISSUE.value.require()
    with pytest.raises(Unsupported, match="PrefetchScheduler"):
        Variant.PREFETCH.value.require()
    with pytest.raises(Unsupported, match="Magic"):
        Variant.named("Magic")


# ---------------------------------------------------------------- control fields


def test_loads_set_barriers_and_readers_wait():
    made = verified(saxpy())
    f = made.control.fields
    assert f[0].write is not None
    assert f[1].write is not None
    assert f[0].write != f[1].write
    assert set(f[2].wait) >= {f[0].write, f[1].write}
    assert f[3].read is not None  # the store reads what the next iteration overwrites
    assert sum(x.stall for x in f) == made.ii


def test_more_loads_than_barriers_share():
    many = [op("LDG.E", f"R{10 + k}", "R2") for k in range(9)]
    adds = [op("FADD", f"R{30 + k}", f"R{10 + k} R{30 + k}") for k in range(9)]
    made = verified(code(*many, *adds))
    assert made.control.barriers == BARRIERS
    few = verified(code(*many[:4], *adds[:4]))
    assert few.control.barriers <= 4
    assert few.control.extra == 0


@pytest.mark.parametrize("loads", [3, 6, 9, 14])
def test_shared_barriers_cost_the_simulator_what_is_predicted(loads):
    """Six barriers for more loads: who waits for one waits for all that are on it, in both.

    Loads of shared memory: the simulator has the bandwidth of the other levels, the prediction has
    not.
    """
    many = [op("LDS", f"R{10 + k}", "R2") for k in range(loads)]
    adds = [op("FADD", f"R{40 + k}", f"R{10 + k} R{40 + k}") for k in range(loads)]
    made = verified(code(*many, *adds))
    ran = simulate(kernel_stream(made), warps=1, iterations=32)
    assert abs(made.cycles - ran.cycles_per_iteration) <= max(1.0, 0.05 * made.cycles)
    assert made.control.extra == 0 or loads > BARRIERS
    barriers = {f.write for f in made.control.fields if f.write is not None}
    for w in made.control.waits():  # each wait is for what the field of its setter names
        f = made.control.fields[w.setter]
        assert (f.read if w.is_read else f.write) in made.control.fields[w.waiter].wait
    assert len(barriers) <= BARRIERS


def test_a_barrier_that_is_shared_is_waited_for_in_full():
    """Two loads on one barrier, the later one issued behind: its reader's wait is that long."""
    made = verified(code(*[op("LDG.E", f"R{10 + k}", "R2") for k in range(9)],
                         *[op("FADD", f"R{40 + k}", f"R{10 + k} R{40 + k}") for k in range(9)]))
    shared = [w for w in made.control.waits()
              if sum(x.waiter == w.waiter for x in made.control.waits()) > 1]
    assert shared
    slots = kernel_stream(made).slots
    order = made.order()
    for w in shared:
        waits = slots[order.index(w.waiter)].waits
        assert any(x.slot == order.index(w.setter) and x.distance == w.passes for x in waits)


def test_the_work_of_a_long_loop_grows_as_the_loop_does():
    """Waits of a shared barrier were the square, so was what the judge looked through."""
    def work(n: int) -> int:
        f = nvir.read_ptx(limits.accesses(n))["k"]
        f.analyze_cfg()
        (loop,) = natural_loops(f)
        return effort(lambda: listing(loop, profile("sm_80")))

    assert work(160) < 3 * work(80)


# ---------------------------------------------------------------- the judge refuses


def shifted(made, n: int, by: int):
    r = made.placement.records[n]
    t = r.cycle + by
    records = {**made.placement.records, n: attrs.evolve(r, cycle=t, stage=t // made.ii)}
    return attrs.evolve(made, placement=attrs.evolve(made.placement, records=records))


def test_the_judge_sees_a_read_that_is_too_early():
    made = schedule(saxpy())
    assert any("reads R" in x for x in check(shifted(made, 2, -3)))


def test_the_judge_sees_an_overwritten_register():
    made = schedule(code(op("LDG.E", "R4", "R2"), op("FADD", "R6", "R4 R6")))
    assert made.ii > 30
    later = attrs.evolve(made, ii=made.ii - 20)
    assert check(later)


def test_the_judge_sees_a_missing_barrier():
    made = schedule(saxpy())
    fields = tuple(attrs.evolve(f, wait=()) for f in made.control.fields)
    bare = attrs.evolve(made, control=attrs.evolve(made.control, fields=fields))
    assert any("without a barrier" in x for x in check(bare))


def test_the_executor_sees_a_wrong_stage():
    """An operation moved a whole interval too late reads the next iteration's value."""
    made = schedule(saxpy())
    assert compare(shifted(made, 2, made.ii), 9)


def test_the_executor_counts_iterations():
    made = schedule(saxpy())
    out = emit(made)
    assert len(out.prologue) == len(out.epilogue) == made.stages - 1
    assert len(out.kernel.operations) == len(made.code.operations)
    few = sum(len(p.operations) for p in (*out.prologue, *out.epilogue))
    assert few == (made.stages - 1) * len(made.code.operations)
    assert len(run_sequential(made.code, 3).read) == 3 * len(made.code.operations)


# ---------------------------------------------------------------- random bodies

FAMILIES = ("IADD3", "FFMA", "MOV", "MUFU", "LDG.E", "LDS", "STS", "DADD", "ISETP", "IMAD")


@st.composite
def bodies(draw):
    """A body with random operations on a random, often dense, choice of registers."""
    count = draw(st.integers(1, 9))
    high = draw(st.integers(2, 14))
    register = st.integers(2, 2 + high)
    operations = []
    for _ in range(count):
        family = draw(st.sampled_from(FAMILIES))
        reads = draw(st.lists(register, min_size=0, max_size=3))
        guard = ("P", draw(st.integers(0, 1))) if draw(st.integers(0, 4)) == 0 else None
        if family == "STS":
            writes: tuple = ()
        elif family == "ISETP":
            writes = (("P", draw(st.integers(0, 1))),)
        else:
            writes = (("R", draw(register)),)
        sources = tuple(dict.fromkeys(("R", r) for r in reads))
        operations.append(
            PhysicalOp(family, writes, sources + ((guard,) if guard else ()), guard)
        )
    counted = draw(st.booleans())
    operations.append(PhysicalOp("BRA", (), (("P", 0),), ("P", 0), None, "branch"))
    order = []
    for a in range(count):
        for b in range(count):
            if draw(st.integers(0, 30)) == 0:
                order.append((a, b, 1, int(b <= a)))
    live = frozenset(("R", draw(register)) for _ in range(draw(st.integers(0, 3))))
    name = draw(st.sampled_from(("sm_80", "sm_90", "sm_80_notes")))
    return LoopCode("random", profile(name), tuple(operations), tuple(order), live, counted)


@pytest.mark.seed("PRA-10")
@given(bodies())
@settings(max_examples=120, deadline=None)
def test_random_bodies_on_random_registers(body):
    verified(body)


@pytest.mark.slow
@given(bodies())
@settings(max_examples=3000, deadline=None)
def test_many_random_bodies_on_random_registers(body):
    verified(body)


# ---------------------------------------------------------------- parallel moves


def test_moves_at_once_become_a_sequence():
    free = {"R": 20}
    a, b, c = ("R", 1), ("R", 2), ("R", 3)
    assert parallel_moves([(a, b), (b, c)], free) == [(a, b), (b, c)]
    assert parallel_moves([(b, c), (a, b)], free) == [(a, b), (b, c)]
    assert parallel_moves([(a, a)], free) == []
    assert free == {"R": 20}
    swap = parallel_moves([(a, b), (b, a)], free)
    assert len(swap) == 3
    assert free == {"R": 21}
    with pytest.raises(NvirError, match="twice"):
        parallel_moves([(a, b), (a, c)], free)


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_moves_do_what_they_say(order, sources):
    moves = [(("R", k), ("R", sources[k])) for k in order]
    state = {("R", k): k for k in range(6)}
    for to, s in parallel_moves(moves, {"R": 6}):
        state[to] = state[s]
    assert [state["R", k] for k in range(6)] == sources


# ---------------------------------------------------------------- from a function


def module(body: str, target: str = "sm_80") -> nvir.Module:
    return nvir.read_ptx(f".version 8.0\n.target {target}\n.address_size 64\n" + body)


DOT = """
.visible .entry dot(.param .u64 px, .param .u64 py, .param .u64 po, .param .u32 pn) {
  .reg .pred %p<2>; .reg .f32 %f<6>; .reg .b64 %rd<8>; .reg .b32 %r<6>;
  ld.param.u64 %rd1, [px]; ld.param.u64 %rd2, [py]; ld.param.u64 %rd3, [po];
  ld.param.u32 %r1, [pn]; mov.f32 %f1, 0f00000000; mov.u32 %r2, 0;
loop:
  ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd2]; fma.rn.f32 %f1, %f2, %f3, %f1;
  add.s64 %rd1, %rd1, 4; add.s64 %rd2, %rd2, 4; add.s32 %r2, %r2, 1;
  setp.lt.s32 %p1, %r2, %r1; @%p1 bra loop;
  st.global.f32 [%rd3], %f1; ret;
}
"""


def first_loop(m: nvir.Module):
    for f in m.functions:
        f.analyze_cfg()
        for loop in f.loops():
            if len(loop.blocks) == 1:
                return f, loop
    raise AssertionError("no loop")


def test_a_function_of_ptx():
    f, loop = first_loop(module(DOT))
    c = loop_code(loop, SM80)
    assert c.counted
    assert c.branch is not None
    assert {o.family for o in c.operations if o.source is None} <= {"MOV"}
    made = verified(c)
    assert made.is_pipelined
    given_ = allocate(f, SM80)
    assert {r for o in loop_code(loop, SM80, given_).operations for r in o.writes} == {
        r for o in c.operations for r in o.writes
    }


def test_a_guard_that_nothing_defines_has_no_register():
    """Whatever it is, is right: the operation may stand without it."""
    for guard, guarded in (("@%p0", False), ("@%p1", True)):
        text = DOT.replace("fma.rn.f32 %f1", f"{guard} fma.rn.f32 %f1")
        _, loop = first_loop(module(text))
        found = [o for o in loop_code(loop, SM80).operations if o.family == "FFMA"]
        assert [o.guard is not None for o in found] == [guarded]


def test_spread_gives_values_registers_of_their_own():
    _, loop = first_loop(module(DOT))
    plain, spread = loop_code(loop, SM80), loop_code(loop, SM80, spread=True)
    a, b = verified(plain), verified(spread)
    assert b.ii <= a.ii
    assert spread.registers >= plain.registers


def test_a_limit_spills_and_the_pipeline_still_holds():
    """Values in local memory are loads and stores of places, in order like registers."""
    lines = "".join(f"ld.global.f32 %f{k}, [%rd1+{4 * k}];\n" for k in range(2, 14))
    sums = "".join(f"fma.rn.f32 %f1, %f{k}, %f{k}, %f1;\n" for k in range(13, 1, -1))
    text = DOT.replace("%f<6>", "%f<20>").replace(
        "ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd2]; fma.rn.f32 %f1, %f2, %f3, %f1;",
        lines + sums,
    )
    _, loop = first_loop(module(text))
    c = loop_code(loop, SM80, limit=16)
    assert any(o.role.startswith("spill") for o in c.operations)
    verified(c)


def test_a_while_loop_keeps_what_is_read_behind_it():
    text = DOT.replace("setp.lt.s32 %p1, %r2, %r1;", "setp.gt.f32 %p1, %f2, 0f00000000;")
    _, loop = first_loop(module(text))
    c = loop_code(loop, SM80)
    assert not c.counted
    assert c.live_out
    verified(c)


def test_a_rotation_of_phis_takes_moves():
    """Fibonacci: the sum is made where the older value was, so two values change places."""
    text = """
.visible .entry fib(.param .u64 po, .param .u32 pn) {
  .reg .pred %p<2>; .reg .b64 %rd<3>; .reg .b32 %r<8>;
  ld.param.u64 %rd1, [po]; ld.param.u32 %r1, [pn];
  mov.u32 %r2, 0; mov.u32 %r3, 1; mov.u32 %r4, 0;
loop:
  add.s32 %r5, %r2, %r3; mov.u32 %r2, %r3; mov.u32 %r3, %r5;
  add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %r1; @%p1 bra loop;
  st.global.u32 [%rd1], %r2; ret;
}
"""
    _, loop = first_loop(module(text))
    c = loop_code(loop, SM80)
    assert 1 <= sum(o.role == "move" for o in c.operations) <= 3
    verified(c)


def test_a_loop_of_two_blocks_is_refused():
    text = DOT.replace(
        "add.s64 %rd1, %rd1, 4;",
        "setp.gt.s32 %p1, %r2, 3; @%p1 bra skip; add.f32 %f1, %f1, %f2; skip: "
        "add.s64 %rd1, %rd1, 4;",
    )
    m = module(text)
    f = m.functions[0]
    f.analyze_cfg()
    with pytest.raises(Unsupported, match="blocks"):
        loop_code(f.loops()[0], SM80)


# ---------------------------------------------------------------- copies with own registers


def same_as_copies(c: LoopCode, copies: int) -> None:
    """The copies, one round, leave what as many rounds of the body leave in carried registers."""
    wide = expand(c, copies)
    names: dict[object, int] = {}
    few = run_sequential(c, 2 * copies, names)
    position = {k: n for k, (_, n) in enumerate(instances(c, copies))}
    state = _symbolic(wide, 2, names, position)
    own = own_registers(c)
    for r, symbol in few.registers.items():
        if r not in own:
            assert state.get(r) == symbol, r


def _symbolic(c: LoopCode, rounds: int, names: dict, position: dict) -> dict:
    """The registers behind some rounds, each operation known by its number in one copy."""
    state: dict = {}
    for _ in range(rounds):
        for n, o in enumerate(c.operations):
            values = tuple(
                state[r] if r in state else names.setdefault(("before", r), len(names))
                for r in o.reads
            )
            for k, r in enumerate(o.writes):
                if o.role == "move" and values:
                    state[r] = values[0]
                else:
                    key = (position.get(n, -1), k, values)
                    state[r] = names.setdefault(key, len(names))
    return state


def test_copies_with_registers_of_their_own_lower_the_interval():
    c = code(
        op("LDG.E", "R6", "R2 R3"), op("FADD", "R8", "R8 R6"), op("IADD3", "R2", "R2"),
        op("ISETP", "P0", "R2 R10"), op("BRA", "", "", "P0", "branch"), registers=11,
    )
    plain, wide = verified(c), verified(expand(c, 4))
    assert own_registers(c) == {("R", 6), ("P", 0)}
    assert wide.ii / 4 < plain.ii / 2
    assert [o.role for o in wide.code.operations].count("branch") == 1
    same_as_copies(c, 4)


def test_copies_that_cannot_be():
    c = code(op("LDG.E", "R6", "R2"), op("FADD", "R8", "R8 R6"), registers=12)
    assert expand(c, 1) is c
    with pytest.raises(NvirError, match="positive"):
        expand(c, 0)
    with pytest.raises(NvirError, match="registers, 16 are there"):
        expand(c, 3, limit=16)
    with pytest.raises(Unsupported, match="trip count"):
        expand(attrs.evolve(c, counted=False), 2)


@given(bodies(), st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_copies_of_random_bodies(body, copies):
    body = attrs.evolve(body, counted=True)
    verified(expand(body, copies))
    same_as_copies(body, copies)


# ---------------------------------------------------------------- registers after the schedule


def test_values_share_registers_where_the_interval_lets_them():
    """Four sums in a row, each of a value that is made when it is needed: they share."""
    made_first = [op("IADD3", f"R{20 + k}", "R2") for k in range(4)]
    uses = [op("FADD", "R3", f"R3 R{20 + k}") for k in range(4)]
    c = code(*made_first, *uses, op("BRA", "", "", "P0", "branch"), live_out=frozenset({("R", 3)}))
    made = schedule(c, effort="full")
    done = fold(made)
    assert done.reference is c
    assert done.ii == made.ii
    assert done.code.used() < c.used()
    assert check(done) == []
    for trips in range(done.stages + 4):
        assert compare(done, trips) == []
    shared = {r for o in done.code.operations for r in o.writes}
    assert ("R", 3) in shared  # what is carried keeps its own


def test_a_wrong_sharing_is_told():
    """All values in one register: the kernel reads what another iteration wrote."""
    made = schedule(saxpy("R20", "R21"), effort="full")
    assert made.stages > 1
    one = {("R", 20): ("R", 21)}
    operations = tuple(renamed(o, one) for o in made.code.operations)
    wrong = attrs.evolve(
        made, code=attrs.evolve(made.code, operations=operations), reference=made.code
    )
    assert compare(wrong, made.stages + 3)


@given(bodies())
@settings(max_examples=40, deadline=None)
def test_random_bodies_compute_the_same_on_shared_registers(c):
    made = schedule(c, effort="full")
    done = fold(made)
    assert check(done) == []
    for trips in (0, 1, done.stages, done.stages + 3):
        assert compare(done, trips) == []


def test_allocation_after_the_schedule_does_not_wait_for_registers():
    """Loads of four floats, added up: on four registers in turn each load waits for the add before.

    The same number of registers, given after the schedule, lets iterations overlap.
    """
    _, loop = first_loop(module(DOT))
    before = schedule(loop_code(loop, SM80))
    after = schedule_then_allocate(loop, SM80)
    assert check(after) == []
    assert after.ii < before.ii
    copies = schedule_then_allocate(loop, SM80, copies=3)
    assert copies.ii / 3 < after.ii
    assert copies.code.registers <= SM80.limits.max_registers_per_thread
    for trips in range(copies.stages + 3):
        assert compare(copies, trips) == []


@pytest.mark.seed("PRA-07", "PRA-10")
def test_a_pipe_is_held_as_long_as_its_interval():
    """Operations that all want the first slot: as many as the pipe takes in the interval, and no
    more."""
    made = SM80.operation("MUFU.EX2")
    (pipe,), each = made.pipes, made.interval
    assert each > 1
    assert SM80.pipes[pipe].units == 1
    many = LoopCode("loop", SM80, tuple(op("MUFU.EX2", f"R{20 + k}", f"R{2 + k}")
                                        for k in range(3)))
    for ii, fits in ((3 * each, True), (3 * each + 1, True), (3 * each - 1, False)):
        placed = place(many, [], ii, [0, 0, 0], 1)
        assert (placed is not None) == fits
        if placed is not None:
            cycles = [r.cycle for r in placed.records.values()]
            slots = [(c + k) % ii for c in cycles for k in range(each)]
            assert len(set(slots)) == len(slots)
    one = attrs.evolve(many, operations=many.operations[:1])
    assert place(one, [], each, [0], 1) is not None
    assert place(one, [], each - 1, [0], 1) is None


@pytest.mark.seed("PRA-07")
def test_operations_that_want_one_slot_stand_around_it():
    """By the width of issue one or two in each; below the slot first, down to the stage's first,
    then above."""
    def cycles(width: int, count: int, slot: int = 3, stage: int = 0) -> list[int]:
        machine = attrs.evolve(SM80, issue_width=width)
        sums = LoopCode("loop", machine, tuple(
            op(("IADD3", "FADD")[k % 2], f"R{20 + k}", f"R{2 + k}") for k in range(count)))
        placed = place(sums, [], 9, [stage] * count, 1 << stage, slots=[slot] * count)
        return [placed.records[n].cycle for n in range(count)]

    assert cycles(1, 4) == [3, 2, 1, 4]  # each pipe takes one in two
    assert sorted(cycles(2, 4)) == [1, 1, 3, 3]
    assert cycles(1, 2, 1) == [1, 0]
    assert cycles(1, 2, 0, 2) == [18, 19]  # none of the stage before


@pytest.mark.seed("PRA-07", "PRA-10")
def test_what_waits_stays_in_its_stage_or_has_no_place():
    c = code(op("FADD", "R4", "R2"), op("IADD3", "R5", "R4"))
    for slot, end in ((2, 7), (3, 8), (4, None)):
        placed = place(c, dependences(c), 9, [0, 0], 1, slots=[slot, slot])
        assert (placed and placed.records[1].cycle) == end


@pytest.mark.seed("PRA-07")
def test_the_pipe_that_was_given_is_asked_first_and_others_behind_it():
    machine = attrs.evolve(SM80, issue_width=2)
    c = LoopCode("loop", machine, tuple(op("MOV", f"R{20 + k}", f"R{2 + k}") for k in range(3)))
    assert SM80.operation("MOV").pipes == ("ALU", "FMA")
    for first, taken in (("FMA", ["FMA", "ALU", "FMA"]), ("ALU", ["ALU", "FMA", "ALU"]),
                         ("SFU", ["ALU", "FMA", "ALU"])):
        placed = place(c, [], 8, [0] * 3, 1, pipes=[first] * 3)
        assert [(r.cycle, r.pipe) for r in placed.records.values()] == list(
            zip((0, 0, 2), taken, strict=True))


@pytest.mark.seed("PRA-10")
def test_what_has_one_cycle_left_comes_before_what_has_a_choice():
    c = code(op("MOV", "R6", "R8"), op("FADD", "R4", "R2"), op("IADD3", "R5", "R4"))
    placed = place(c, dependences(c), 6, [0] * 3, 1, slots=[0, 0, 5], windows=True)
    assert [placed.records[n].cycle for n in range(3)] == [1, 0, 5]


@pytest.mark.seed("PRA-10")
def test_windows_follow_chains_in_whatever_order_they_are_told():
    chain = [Dependence(0, 1, "RAW", None, 4, 0), Dependence(1, 2, "RAW", None, 5, 0),
             Dependence(2, 0, "RAW", None, 6, 2)]
    late = PlacementWindows.of([], 20, [0, 1, 2])
    assert (late.low, late.high) == ([0, 20, 40], [19, 39, 59])
    for found in (chain, chain[::-1]):
        w = PlacementWindows.of(found, 20, [0, 0, 0])
        assert w.narrow()
        assert (w.low, w.high) == ([0, 4, 9], [10, 14, 19])
        w.fix(0, 5)
        assert (w.low, w.high) == ([5, 9, 14], [5, 14, 19])
        w.fix(2, 17)
        assert (w.low, w.high) == ([5, 9, 17], [5, 12, 17])
        assert not PlacementWindows.of(found, 9, [0, 0, 0]).narrow()
