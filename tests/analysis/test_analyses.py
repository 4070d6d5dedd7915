"""Analyses of a function are shared until it is edited, whatever the edit; and no longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import nvir
from nvir.analysis.analyses import Analyses
from nvir.ir import Function, Instruction, block
from nvir.ir.clone import clone_function
from nvir.ir.errors import VerifyError
from nvir.ir.opcodes.form import form
from nvir.ir.ssa.rewrite import discard, substitute, substituted
from nvir.ir.values import integer

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
 .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [p]; mov.u32 %r1, 0; mov.u32 %r3, %tid.x; mov.u32 %r4, %ntid.x;
L:
 st.global.u32 [%rd1], %r3; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 8; @%p1 bra L;
 st.global.u32 [%rd1+4], %r4; add.s32 %r5, %r3, 7;
 ret;
}
"""


def kernel() -> Function:
    f = nvir.read_ptx(TEXT).functions[0]
    f.analyze_cfg()
    return f


def found(f: Function, name: str, nth: int = 0) -> Instruction:
    return [i for i in f.instructions() if i.form.spelling.startswith(name)][nth]


EDITS: dict[str, Callable[[Function], object]] = {
    "operand": lambda f: found(f, "st.", 1).set_operand(0, found(f, "mov.u32", 1)),
    "operands": lambda f: found(f, "add.s32", 1).set_operands((integer(1), integer(2))),
    "use": lambda f: found(f, "mov.u32", 1).replace_all_uses_with(found(f, "mov.u32", 2)),
    "many uses": lambda f: substitute({found(f, "mov.u32", 1): found(f, "mov.u32", 2)}),
    "form": lambda f: found(f, "add.s32", 1).set_form(form("sub.s32", "%s, %s, %s")),
    "erase": lambda f: found(f, "add.s32", 1).erase(),
    "discard": lambda f: discard([found(f, "add.s32", 1)], f),
    "move": lambda f: found(f, "st.", 1).move_before(found(f, "add.s32", 1)),
    "append": lambda f: f.blocks[0].append(Instruction(form("ret"), ())),
    "block": lambda f: f.block("more"),
    "edge": lambda f: f.blocks[1].terminator.set_successor(f.blocks[1], f.blocks[2]),
    "phi": lambda f: next(f.blocks[1].phis).set_incoming((integer(3),), (f.blocks[0],)),
}


def test_the_same_until_an_edit() -> None:
    f = kernel()
    known = Analyses.of(f)
    assert known.alias is Analyses.of(f).alias
    assert known.alias.forms is known.affine
    assert known.divergence is known.divergence
    assert known.loops[0] is known.loops[0]
    f.analyze_cfg()  # an annotation, no edit
    assert known.alias is known.alias


@pytest.mark.parametrize("name", EDITS)
def test_each_kind_of_edit_is_noticed(name: str) -> None:
    f = kernel()
    before = Analyses.of(f).alias
    EDITS[name](f)
    assert Analyses.of(f).alias is not before


def test_a_copy_knows_nothing_of_the_original() -> None:
    f = kernel()
    known = Analyses.of(f)
    assert Analyses.of(clone_function(f)) is not known
    assert Analyses.of(f) is known


def test_edits_that_are_taken_back_cost_nothing() -> None:
    f = kernel()
    before = Analyses.of(f).alias
    with substituted({found(f, "mov.u32", 1): found(f, "mov.u32", 2)}):
        inside = Analyses.of(f).alias
    assert inside is not before
    assert Analyses.of(f).alias is before
    found(f, "add.s32", 1).erase()
    with substituted({found(f, "mov.u32", 1): found(f, "mov.u32", 2)}):
        pass
    assert Analyses.of(f).alias is not before


def test_an_edit_behind_the_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "CHECK", True)
    f = kernel()
    known = Analyses.of(f)
    assert known.affine is known.affine
    found(f, "add.s32", 1)._operands = (integer(1), integer(2))
    with pytest.raises(VerifyError, match="not counted"):
        _ = known.affine
