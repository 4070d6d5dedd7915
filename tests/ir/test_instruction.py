"""What an instruction tells of itself: opcode, operands, results, forms."""

from __future__ import annotations

import pytest

from nvir.ir import Instruction, integer
from nvir.ir.builder import Builder
from nvir.ir.module import Module
from nvir.ir.opcodes.form import form
from nvir.ir.types import B32, SCALARS


@pytest.fixture
def block():
    return Module().kernel("k", [("a", "ptr.global.f32"), ("n", "u32")]).block("entry")


@pytest.mark.seed("IR-08")
def test_a_three_operand_operation(block):
    b = Builder(block)
    x = b.special("tid.x")
    mad = b.mad_lo(x, 4, x, type="s32")
    assert mad.op.name == "mad"
    assert mad.form.spelling == "mad.lo.s32"
    assert len(mad.operands) == mad.form.n_operands == 3
    assert mad.operands == (x, integer(4), x)
    assert mad.results == (mad,)
    assert mad.block is block
    assert str(mad).index("=") < str(mad).index("mad.lo.s32")  # definitions first


@pytest.mark.seed("IR-11")
@pytest.mark.parametrize(
    ("spelling", "row", "mods"),
    [
        ("add.rn.ftz.sat.f32", "add", ("rn", "ftz", "sat", "f32")),
        ("ld.volatile.global.v4.f32", "ld", ("volatile", "global", "v4", "f32")),
        ("bar.sync", "bar.sync", ()),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
         "cp.async.bulk.tensor",
         ("2d", "shared::cluster", "global", "mbarrier::complete_tx::bytes")),
    ],
)
def test_modifiers_leave_the_row_what_it_is(spelling, row, mods):
    f = form(spelling)
    assert f.op.name == row
    assert f.mods == mods


def test_forms_are_one_object_each():
    assert form("add.s32", "%s, %s, %s") is form("add.s32", "%s, %s, %s")
    assert form("add.s32", "%s, %s, %s") is not form("add.s32", "%s, %s, %s", "!")


@pytest.mark.parametrize(
    ("spelling", "shape", "facts"),
    [
        ("ld.global.f32", "%s, [%s]", {"reads": True, "writes": False, "pinned": False}),
        ("ld.volatile.global.f32", "%s, [%s]", {"pinned": True, "sync": True}),
        ("ld.global.nc.f32", "%s, [%s]", {"invariant": True}),
        ("ld.const.f32", "%s, [%s]", {"invariant": True}),
        ("ld.relaxed.gpu.global.u32", "%s, [%s]", {"pinned": True, "sync": False}),
        ("st.global.f32", "[%s], %s", {"writes": True, "reads": False}),
        ("atom.global.add.u32", "%s, [%s], %s", {"reads": True, "writes": True}),
        ("shfl.sync.bfly.b32", "%s|%s, %s, %s, %s, %s", {"convergent": True, "n_results": 2}),
        ("add.f32", "%s, %s, %s", {"pure": True, "commutes": True}),
        ("sub.f32", "%s, %s, %s", {"pure": True, "commutes": False}),
        ("bar.sync", "%s", {"sync": True, "pure": False}),
    ],
)
def test_effects_follow_from_row_and_modifiers(spelling, shape, facts):
    f = form(spelling, shape)
    assert {k: getattr(f, k) for k in facts} == facts


@pytest.mark.parametrize(
    ("spelling", "shape", "types"),
    [
        ("mul.wide.u32", "%s, %s, %s", ["u64"]),
        ("cvt.rn.f32.s32", "%s, %s", ["f32"]),
        ("setp.lt.s32", "%s|%s, %s, %s", ["pred", "pred"]),
        ("popc.b64", "%s, %s", ["u32"]),
        ("tex.2d.v4.f32.s32", "{%s, %s, %s, %s}, [%s, {%s, %s}]", ["f32"] * 4),
        ("add.cc.u32", "%s, %s, %s", ["u32", "cc"]),
    ],
)
def test_result_types_by_the_rows_rule(spelling, shape, types):
    assert [t.name for t in form(spelling, shape).result_types] == types


def test_operands_lie_as_the_form_says():
    f = form("ld.global.v2.f32", "{%s, %s}, [%s+%s]", "!")
    assert f.n_sources == 2
    assert f.addresses == ((0, 1),)
    assert f.guard_index == 2
    assert f.ties == ((0, 3), (1, 4))
    assert f.n_operands == 5


def test_tied_results_have_an_operand_of_their_own():
    shape = "{%s, %s, %s, %s}, %s, %s, %s, %s, %s, %s, %s"
    f = form("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", shape)
    assert f.n_results == 4
    assert f.ties == tuple((k, f.n_sources + k) for k in range(4))


def test_moving_and_erasing(block):
    b = Builder(block)
    x = b.special("tid.x")
    y = b.add(x, 1, type="s32")
    z = b.add(y, 2, type="s32")
    y.move_before(x)
    assert block.instructions[0] is y
    with pytest.raises(ValueError, match="has uses"):
        y.erase()
    z.erase()
    y.erase()
    assert block.instructions == [x]
    assert not x.has_uses


def test_replacing_operands_keeps_uses(block):
    b = Builder(block)
    x, y = b.special("tid.x"), b.special("tid.y")
    twice = b.add(x, x, type="s32")
    assert x.use_count == 2
    twice.set_operand(0, y)
    assert (x.use_count, y.use_count) == (1, 1)
    x.replace_all_uses_with(y)
    assert twice.operands == (y, y)
    assert not x.has_uses


def test_several_results_are_objects_of_their_own():
    i = Instruction(form("mov.b64", "{%s, %s}, %s"), (integer(0),))
    i.set_results([SCALARS["b32"]] * 2, ["%r1", None])
    assert [r.index for r in i.results] == [0, 1]
    assert all(r.definer is i for r in i.results)


def test_the_verifier_counts_operands(block):
    from nvir.ir.errors import VerifyError
    from nvir.ir.verify import verify

    x = Builder(block).special("tid.x")
    short = Instruction(form("add.s32", "%s, %s"), (x,), SCALARS["s32"])
    block.append(short)
    Builder(block).ret()
    with pytest.raises(VerifyError, match="'add' needs 3 operands, 2 given"):
        verify(block.function)


def test_the_first_behind_the_phis_is_found_whatever_was_erased(block):
    """A block remembers a phi; what is remembered may be erased, moved, or be another operation."""
    b = Builder(block)
    b.ret()
    phis = [block.insert_phi(Instruction(form("phi"), (), B32, f"%{k}", ())) for k in range(4)]
    assert block.first_non_phi is block.last
    phis[3].erase()
    phis[1].erase()
    assert block.first_non_phi is block.last
    assert [*block.phis] == [phis[0], phis[2]]
    other = block.function.block("other")
    phis[2].remove()
    other.insert_phi(phis[2])
    assert other.first_non_phi is None
    assert block.first_non_phi is block.last
    phis[0].set_form(form("mov.b32", "%s, %s"))
    assert block.first_non_phi is phis[0]
