"""What follows, in one copy of a loop's body, from header phis that are literals there.

    body                        copy in which %i is 2
    %j = shl %i, 2              (gone)
    %k = add %r, %j             %c = mov 8
    %i' = add %i, 1             %k = add %r, %c

Candidates are found once for a loop: pure operations of one integer result whose
operands are literals, header phis or other candidates. For each copy they are
worked out in order. A result becomes a move where something else reads it (not
every operand takes a literal) and a bare literal where only phis do.

Cost     for each copy, the candidates and their uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nvir.ir import Block, Constant, Instruction, ScalarType, Value, form
from nvir.ir.opcodes.evaluate import bits_of, fold, literal_of

_WIDTHS = (16, 32, 64)


class Folder:
    """Folds copies of one loop."""

    def __init__(self, phis: Sequence[Instruction], blocks: Iterable[Block]) -> None:
        self.phis = phis
        self.candidates: list[Instruction] = []
        known: set[Value] = set(phis)
        for block in blocks:
            for i in block:
                if _folds(i) and all(v in known or literal(v) is not None for v in i.operands):
                    known.add(i)
                    self.candidates.append(i)

    def fold(self, mapping: dict[Any, Any]) -> list[Instruction]:
        """Work out a copy. `mapping` gives what its header phis are and gets what is found;
        returns the moves that have to stand at the copy's head."""
        values: dict[Value, int] = {}
        for phi in self.phis:
            c = literal(mapping[phi])
            if c is not None:
                values[phi] = c
        if not values:
            return []
        folded: dict[Instruction, int] = {}
        for i in self.candidates:
            args = [values[v] if v in values else _known(v, i) for v in i.operands]
            c = None if None in args else fold(i.form, [a for a in args if a is not None])
            if c is not None:
                values[i] = folded[i] = c
        moves = []
        for phi in self.phis:
            if isinstance(mapping[phi], Constant) and _is_read(phi, folded):
                mapping[phi] = move = move_of(mapping[phi], phi)
                moves.append(move)
        for i, c in folded.items():
            mapping[i] = literal_of(i.type, c)
            if _is_read(i, folded):
                mapping[i] = move = move_of(mapping[i], i)
                moves.append(move)
        return moves


def literal(v: Value) -> int | None:
    """The number that a literal, or an unguarded move of one, is."""
    if isinstance(v, Instruction):
        if v.form.name != "mov" or v.form.guard is not None or len(v.operands) != 1:
            return None
        v = v.operands[0]
    if isinstance(v, Constant) and isinstance(v.value, int):
        return v.value
    return None


def _known(v: Value, user: Instruction) -> int | None:
    """The number that an operand of `user` is."""
    return bits_of(v, None, user.form) if v.__class__ is Constant else literal(v)


def move_of(value: Value, like: Instruction) -> Instruction:
    """A move of a value into a register that is declared as another, in no block yet."""
    t = like.type
    assert isinstance(t, ScalarType)
    spelled = t.name if t.name in ("f32", "f64", "pred") else f"b{t.bits}"
    made = Instruction(form(f"mov.{spelled}", "%s, %s"), (value,), t, like.name)
    made.loc, made.line = like.loc, like.line
    return made


def _folds(i: Instruction) -> bool:
    f, t = i.form, i.type
    return (
        f.op.fold is not None
        and f.pure
        and f.guard is None
        and not f.is_phi
        and i._results is None
        and isinstance(t, ScalarType)
        and t.kind in "usb"
        and t.bits in _WIDTHS
        and bool(i.operands)
    )


def _is_read(v: Instruction, folded: dict[Instruction, int]) -> bool:
    """Whether something reads the value that neither folds nor is a phi."""
    return any(not u.form.is_phi and u not in folded for u in v.users)
