"""Advice: what is said of a kernel follows from its occupancy, and nothing is said without gain."""

from __future__ import annotations

import pytest
from corpus import EXAMPLES

import nvir
from nvir.analysis.places import SourceLines
from nvir.ir.loops import natural_loops
from nvir.report.explain.advice import Advice, advice, by_factor, restrict
from nvir.report.explain.factors import FactorRow
from nvir.report.facts import function_facts
from nvir.report.source_loops import SourceLoopReport, of_function
from nvir.sm import profile
from nvir.sm.occupancy import occupancy

SM80 = profile("sm_80")


def given(name: str, registers: int, block: int, static: int = 0) -> dict[str, Advice]:
    """Advice by kind for an example's first kernel, as if it had these figures."""
    module = nvir.read_ptx(EXAMPLES / f"{name}.sm_80.ptx")
    f = next(f for f in module.functions if f.blocks)
    facts = function_facts(f, module, SM80)
    told = of_function(facts, SourceLines(f, module), module.debug.producer)
    return {a.kind: a for a in advice(facts, SM80, registers, block, static, 0, told)}


def test_a_limit_on_registers_gives_the_blocks_that_are_said() -> None:
    a = given("saxpy", 72, 256)["registers"]
    assert (a.value, a.blocks_per_sm) == (64, 4)
    assert occupancy("sm_80", a.value, 256).blocks_per_sm == 4
    assert occupancy("sm_80", a.value + 8, 256).blocks_per_sm == 3
    assert a.text.startswith("`__launch_bounds__(256, 4)` or `-maxrregcount 64`: at most 64 ")


@pytest.mark.parametrize(("registers", "block"), [(32, 256), (255, 256), (24, 1024)])
def test_nothing_is_said_at_full_occupancy_or_of_what_would_spill(registers: int, block: int
                                                                  ) -> None:
    assert "registers" not in given("saxpy", registers, block)


def test_threads_a_block() -> None:
    a = given("saxpy", 40, 1024)["block"]  # one block of 1,024 where 1,536 threads fit
    assert occupancy("sm_80", 40, a.value).warps_per_sm > 32
    assert a.blocks_per_sm == occupancy("sm_80", 40, a.value).blocks_per_sm
    assert "block" not in given("saxpy", 40, 1024, static=1024)  # which grows with the block


def test_shared_memory() -> None:
    a = given("saxpy", 16, 128, static=60_000)["shared"]
    assert a.blocks_per_sm == 3 == occupancy("sm_80", 16, 128, a.value).blocks_per_sm


def test_the_remainder_shows_what_a_loop_takes_that_is_not_unrolled() -> None:
    found = given("horner", 66, 256)
    assert found["unroll"].place == "horner.cu:15"
    assert found["unroll"].registers < 64
    assert "unroll" not in given("sgemm", 72, 256)  # neither nvcc nor ptxas unrolls its loop


def row(factor: int, cycles: float) -> FactorRow:
    return FactorRow(factor=factor, instructions=9, registers=20 + factor, blocks_per_sm=8,
                     cycles={8: cycles})


def test_the_table_of_factors_gives_a_pragma() -> None:
    told = SourceLoopReport((("k.cu", 7),), 4, {"A": "main", "B": "remainder"}, {"A": 1}, "", "")
    rows = [row(1, 100.0), row(2, 80.0)]
    (a,) = by_factor(told, "A", rows, rows[0])
    assert (a.value, a.registers, a.place) == (8, 22, "k.cu:7")
    assert not [*by_factor(told, "B", rows, rows[0]), *by_factor(told, "A", rows, rows[1])]
    assert not list(by_factor(told, "A", [row(1, 100.0), row(2, 95.0)], row(1, 100.0)))


@pytest.mark.parametrize(("store", "said"), [("%rd2", 1), ("%rd1", 0)])
def test_restrict_for_what_is_only_read(store: str, said: int) -> None:
    module = nvir.read_ptx(f"""\
.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, 0;
L: ld.global.u32 %r2, [%rd1+64]; st.global.u32 [{store}], %r2;
add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r2; @%p1 bra L; ret; }}
""")
    f = module.functions[0]
    f.analyze_cfg()
    found = list(restrict(f, natural_loops(f)[0], "k.cu:3"))
    assert [a.value for a in found] == [1] * said
    assert all("for param_0:" in a.text for a in found)
