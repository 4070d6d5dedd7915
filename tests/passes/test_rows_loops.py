"""Loop infrastructure as the notes name it: phases by number, shared utilities, the guard, sets."""

from __future__ import annotations

import random

import pytest

import nvir
from nvir.assembler.hoist import tables as licm_tables
from nvir.documented.hoist.sets import ValueSet
from nvir.documented.hoist.stages import analyze_boundaries
from nvir.ir import integer
from nvir.ir.cfg import insert_preheader, split_edge
from nvir.ir.function import Function
from nvir.ir.loops import natural_loops
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop import licm
from nvir.passes.loop.region import is_canonical
from nvir.passes.loop.simplify.canonical import canonicalise
from nvir.passes.phases import pass_names, phase
from nvir.passes.registry import all_passes
from tests.passes.conftest import function

PHASES = {
    18: ("OriLoopSimplification", "loop-simplify"), 22: ("OriLoopUnrolling", "loop-unroll"),
    24: ("OriPipelining", "loop-pipeline"), 35: ("OriHoistInvariantsEarly", "licm"),
    59: ("OriLoopFusion", "loop-fuse"), 66: ("OriHoistInvariantsLate", "licm"),
    79: ("OriHoistInvariantsLate2", "licm"), 88: ("OriHoistInvariantsLate3", "licm"),
}
LOOPS = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    setp.lt.u32 %p9, %r1, 9;
    @%p9 bra OUTER;
    mov.u32 %r2, 5;
OUTER:
    mov.u32 %r3, 0;
INNER:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, %r1;
    @%p1 bra INNER;
    add.u32 %r2, %r2, %r3;
    setp.lt.u32 %p2, %r2, 40;
    @%p2 bra OUTER;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p3, %r2, 70;
    @%p3 bra OUTER;
    st.global.u32 [%rd1], %r2;
    ret;
"""


@pytest.mark.seed("LPI-01")
@pytest.mark.parametrize("number", PHASES)
def test_each_loop_phase_is_made_by_number_and_by_name(number):
    name, model = PHASES[number]
    for key in (number, name, name.removeprefix("Ori")):
        made = phase(key)
        assert (made.number, made.name) == (number, name)
        assert model in made.passes
    assert model in pass_names(name)
    assert callable(all_passes()[model].run)


# ------------------------------------------------------------------- utilities


def analysed(text: str = LOOPS) -> Function:
    f = function(text)
    f.analyze_cfg()
    return f


def block(f: Function, name: str):
    return next(b for b in f.blocks if b.name == name)


@pytest.mark.seed("LPI-02")
def test_depths_and_nesting_are_worked_out_anew():
    f = analysed()
    assert [x.header.name for x in natural_loops(f)] == ["OUTER", "INNER"]
    assert block(f, "INNER").loop_depth == 2
    latch = block(f, "INNER")
    branch = latch.terminator
    branch.erase()  # the inner loop is no loop any more
    f.cfg_changed()
    b = nvir.ir.Builder(latch)
    b.br(f.blocks[f.blocks.index(latch) + 1])
    for phi in list(latch.phis):
        kept = [(v, p) for v, p in phi.incoming if p is not latch]
        phi.set_incoming([v for v, _ in kept], [p for _, p in kept])
    f.analyze_cfg()
    assert [x.header.name for x in natural_loops(f)] == ["OUTER"]
    assert block(f, "INNER").loop_depth == 1


@pytest.mark.seed("LPI-02")
def test_the_list_of_instructions_is_that_of_the_block_now():
    f = analysed()
    inner = block(f, "INNER")
    before = inner.instructions
    add = before[1]
    made = nvir.ir.Builder(block(f, "OUTER")).op("add.u32", add.operands[1], integer(1))
    made.move_before(before[-1])
    assert made not in before  # a list made once does not follow the block
    assert inner.instructions == [*before[:-1], made, before[-1]]


@pytest.mark.seed("LPI-02")
def test_a_preheader_is_found_or_not():
    outer, inner = natural_loops(analysed())
    assert outer.preheader is None  # two ways in
    assert inner.preheader is outer.header


@pytest.mark.seed("LPI-02")
def test_an_edge_is_split_and_a_preheader_put_in():
    f = analysed()
    outer, inner = natural_loops(f)
    new = split_edge(inner.latches[0], inner.header)
    assert inner.header in new.succs
    assert new.preds == inner.latches
    made = insert_preheader(outer.header, outer.entries)
    assert made.succs == (outer.header,)
    assert natural_loops(f)[0].preheader is made
    nvir.verify(f.module)
    assert natural_loops(f)[1].latches == [new]


@pytest.mark.seed("LPI-02")
def test_back_edges_are_canonicalised_alone():
    f = analysed()
    assert len(natural_loops(f)[0].latches) == 2
    assert canonicalise(f, whole=False)
    outer, _ = natural_loops(f)
    assert len(outer.latches) == 1
    assert outer.preheader is None
    assert canonicalise(f)
    assert all(map(is_canonical, natural_loops(f)))
    assert not canonicalise(f)


@pytest.mark.seed("LPI-02")
def test_only_the_loops_asked_for_are_brought_into_form():
    """Near miss: the other loop stays as it was."""
    f = analysed()
    outer, inner = natural_loops(f)
    assert not canonicalise(f, headers={inner.header})
    assert canonicalise(f, headers={outer.header})
    assert all(map(is_canonical, natural_loops(f)))


@pytest.mark.seed("LPI-02")
def test_boundaries_are_told_alone():
    _, inner = natural_loops(analysed())
    assert analyze_boundaries(inner).reason == ""
    f = analysed(LOOPS.replace("add.u32 %r3, %r3, 1;", "add.u32 %r3, %r3, 1; bar.sync 0;"))
    assert analyze_boundaries(natural_loops(f)[1]).reason


# ----------------------------------------------------------------- guard and set


@pytest.mark.seed("LPI-06", "LIC-28")
def test_two_blocks_are_too_few_and_three_are_enough():
    text = "ld.param.u32 %r1, [n]; mov.u32 %r2, 0; bra L;\n{}L:\nxor.b32 %r4, %r1, %r1; " \
        "add.u32 %r2, %r2, %r4; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;\n{}"
    endless = text.format("", "trap;").replace("@%p1 bra L;\ntrap;", "bra L;")
    for body, blocks in ((endless, 2), (text.format("", "ret;"), 3)):
        f = function(body)
        f.analyze_cfg()
        ctx = Context(f.module, Knobs())
        ctx.pass_, ctx.options = all_passes()["licm"], licm.Options()
        assert licm.guard(f, ctx) == len(f.blocks) == blocks
        assert (blocks > licm_tables.BLOCKS.value) == (blocks == 3)
        assert licm.run(f, ctx) == (blocks == 3)


@pytest.mark.seed("LPI-09")
def test_the_bit_set_agrees_with_a_set_of_python():
    """10,000 insertions of random numbers, nodes of 256 apart and the same ones again."""
    rng = random.Random(934)
    values = [integer(k) for k in range(3000)]
    known, model = ValueSet(), set()
    for _ in range(10_000):
        v = values[rng.choice((rng.randrange(3000), rng.randrange(12) * 256 % 3000))]
        assert (v in known) == (v in model)
        assert known.add(v) == (v not in model)
        model.add(v)
    assert [v in known for v in values] == [v in model for v in values]
    assert len(model) == known.bits.bit_count()
