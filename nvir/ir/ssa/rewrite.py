"""Replacing many values at once, with register classes and declared types kept right.

Replacing one value after another rewrites an instruction once for each of its
operands, which is quadratic for a phi of thousands. Here every user is rewritten
once. A value that takes over uses of another spelling of its class (`u32` for
`f32`) is widened to the class (`b32`), which PTX's type rules accept everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.types import ScalarType, Type
from nvir.ir.values import Argument, Value, same_class


def can_stand_for(new: Value, old: Value) -> bool:
    """Whether `new` may take over the uses of `old`: one class, and the declaration can follow."""
    if not same_class(old.type, new.type):
        return False
    return _spelling_fits(new.type, old.type) or not isinstance(new, Argument)


def substitute(leaders: Mapping[Value, Value]) -> None:
    """Wherever operands name a key they name its value, followed to the end of the chain.

    The keys' instructions stay, without uses. Values must form no cycle.
    """
    final = _ends(leaders)
    _apply(final, _users(final))


def discard(dead: Iterable[Instruction], function: Function) -> None:
    """Erase instructions whose results only they themselves name. One visit an operand."""
    marks = function.marks
    for i in dead:
        for v in i._operands:
            v.drop_use(i)
        i._operands = ()
        function.edits += 1
        if i.form.is_phi:
            i.aux = ()
        if marks:
            marks.pop(i, None)
        i.remove()


@contextmanager
def substituted(leaders: Mapping[Value, Value]) -> Iterator[None]:
    """As `substitute`, but only within the block: then all is as it was, down to the order of uses.

    For questions about a function as it would be. Nothing else may be changed meanwhile. Costs
    what is replaced, where a copy of the function would cost its size.
    """
    final = _ends(leaders)
    users = _users(final)
    operands = [(u, u._operands) for u in users]
    functions = list({u.block.function: None for u in users if u.block is not None})
    known = [(f, f.known, f.edits) for f in functions]
    for f in functions:
        f.known = None
    values = [
        (v, v.type, u.copy() if isinstance(u := v._uses, dict) else u)
        for v in dict.fromkeys((*final, *final.values())) if v.is_tracked
    ]
    try:
        _apply(final, users)
        yield
    finally:
        for user, old in operands:
            user._operands = old
        for f, was, edits in known:
            f.edits += 1
            f.known = was
            if was is not None:
                was.carry_over(edits)
        for v, type, uses in values:
            v.type, v._uses = type, uses


def _ends(leaders: Mapping[Value, Value]) -> dict[Value, Value]:
    """Each key with the end of its chain."""
    final: dict[Value, Value] = {}
    for old in leaders:
        _resolve(old, leaders, final)
    return final


def _users(final: Mapping[Value, Value]) -> list[Instruction]:
    """Who names a key, in order, so that equal runs give equal use lists."""
    return list(dict.fromkeys(user for old in final for user in old.users))


def _apply(final: Mapping[Value, Value], users: Iterable[Instruction]) -> None:
    for old, new in final.items():
        if new.type is not old.type:
            join_spelling(new, old.type)
    find = final.get
    for user in users:
        if user.block is not None:
            user.block.function.edits += 1
        old_operands = user._operands
        user._operands = operands = tuple([find(v, v) for v in old_operands])
        for v, new in zip(old_operands, operands, strict=True):
            if v is not new:
                new.add_use(user)
    for old in final:  # all who named it have been rewritten
        if old.is_tracked:
            old._uses = None


def _resolve(v: Value, leaders: Mapping[Value, Value], final: dict[Value, Value]) -> None:
    """Note the end of the chain that starts at `v`, for every link of it."""
    new = leaders[v]
    if new not in leaders:
        final[v] = new
        return
    chain = [v]
    while new in leaders and new not in final:
        chain.append(new)
        new = leaders[new]
    new = final.get(new, new)
    for link in chain:
        final[link] = new


def _spelling_fits(new: Type, old: Type) -> bool:
    """Whether a register declared `new` may stand wherever one declared `old` did."""
    if new is old or not (isinstance(new, ScalarType) and isinstance(old, ScalarType)):
        return True
    if new.cls is new:
        return True
    return {new.kind, old.kind} <= {"u", "s"} and new.bits == old.bits


def join_spelling(value: Value, old: Type) -> None:
    if not value.is_constant and not _spelling_fits(value.type, old):
        assert isinstance(value.type, ScalarType)
        value.type = value.type.cls
