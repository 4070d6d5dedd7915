"""What holds of a body once all of it is read: phis, musttail calls, dominance.

    check(body)     raises Stop at the token that is wrong

Method   A definition read before its use stands before it in the same block, and one in the entry
         dominates all. So dominators are asked for only where a value crosses from another block,
         or is named before its definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.ir import VOID, Block, Function, Instruction, Value
from nvir.ir.nvvm_values import NvvmCall
from nvir.llvm.attributes import OF_TYPE
from nvir.llvm.lexer import Stop

if TYPE_CHECKING:
    from nvir.llvm.body import DefinitionReader


_PASSED = (OF_TYPE | {"inreg", "swiftself", "swiftasync", "swifterror"}) - {"elementtype"}


def check(body: DefinitionReader) -> None:
    entry, first = body.function.blocks[0], body.text.first
    for b in body.function.blocks:
        if b.last is not None and entry in b.last.aux:
            raise Stop("a block leads back to the entry", first[b.last.line - 1])
    for i, called in body.must_tail:
        wrong = _tail_problem(body, i, called)
        if wrong:
            raise Stop(wrong, first[i.line - 1])
    if body.phis:
        _phis(body)
    _dominance(body)


def _tail_problem(body: DefinitionReader, i: Instruction, called: str) -> str:
    """What is wrong with a musttail call; "" where nothing is."""
    after, f, info = i.next, body.function, i.aux
    if after is None or after.form.name != "ret" or (i.type is not VOID and (
        after._operands != (i,)
    )):
        return "a musttail call stands before the ret of its value"
    own = body.reader.conventions.get(f, "")
    if called != own:
        return f"a musttail call is {called or 'ccc'}, and its caller @{f.name} {own or 'ccc'}"
    if _abi(i.aux.arguments if isinstance(i.aux, NvvmCall) else ()) != _abi(
            tuple(p.attributes for p in f.params)):
        return f"a musttail call passes its arguments as its caller @{f.name} gets them"
    given = [v.type for v in i._operands[info.callee is None:]]
    of = info.callee if isinstance(info.callee, Function) else None
    if of is not None and bool(of.aux and of.aux.get("variadic")) != bool(
            f.aux and f.aux.get("variadic")):
        return "a musttail call takes any number of arguments where its caller does"
    if f.aux and f.aux.get("variadic"):
        return ""
    if i.type is not f.return_type or given != [p.type for p in f.params]:
        return f"a musttail call has the parameters and the result of its caller, @{f.name}"
    return ""


def _abi(arguments: tuple[tuple[Any, ...], ...]) -> dict[int, set[Any]]:
    """What says how arguments are passed, by their numbers."""
    found = {k: {a for a in words if (a[0] if isinstance(a, tuple) else a) in _PASSED}
             for k, words in enumerate(arguments)}
    return {k: words for k, words in found.items() if words}


def _phis(body: DefinitionReader) -> None:
    """Hold phis to their block's predecessors; several entries for one (a switch's) become one."""
    preds: dict[Block | None, list[Block]] = {}
    for b in body.function.blocks:
        for s in b.last.aux if b.last is not None else ():
            preds.setdefault(s, []).append(b)
    for i, at in body.phis:
        if body.ends:
            i.aux = tuple(body.ends.get(b, b) for b in i.aux)
        sources, edges = set(i.aux), preds.get(i.block, [])
        if len(i.aux) != len(edges) or sources != set(edges):
            raise Stop("the entries of the phi are not the block's predecessors", at)
        if len(sources) < len(i.aux):
            pairs = dict(zip(i.aux, i._operands, strict=True))
            if any(pairs[b] is not v for b, v in zip(i.aux, i._operands, strict=True)):
                raise Stop("the phi has two values of one block", at)
            i.set_incoming([*pairs.values()], [*pairs])


def _dominance(body: DefinitionReader) -> None:
    """Hold definitions to dominate what uses them."""
    for x in body.forwards:
        real = body.values[str(x.name)]
        if real.definer is not None:
            for user in real.users:
                if user.block is real.definer.block and not user.form.is_phi:
                    _in_order(body, real, user)
    for b in body.function.blocks[1:]:
        i = b.first
        while i is not None:
            u = i._uses
            if u is not None and (u.__class__ is dict or u.block is not b or u.form.is_phi):
                for user in i.users:
                    if user.form.is_phi or not _surely(b, user.block, body.function):
                        _reaches(body, i, b, user)
            i = i.next


def _surely(made: Block, used: Block | None, f: Function) -> bool:
    """Whether a block is another, or is known to dominate it."""
    return made is used or (f.cfg_state == "fresh" and used is not None and made.dominates(used))


def _in_order(body: DefinitionReader, v: Value, user: Instruction) -> None:
    """Hold a value named before its definition to be defined before `user`, in its block."""
    i: Instruction | None = user
    while i is not None and i is not v.definer:
        i = i.next
    if i is not None and _is_reached(body, user.block):
        raise Stop(f"{_name(v)} is used before its definition", _place(body, v, user))


def _reaches(body: DefinitionReader, v: Value, made: Block, user: Instruction) -> None:
    """Hold the block that makes a value to dominate a use in another, or that of a phi."""
    f = body.function
    if f.cfg_state != "fresh":
        f.analyze_cfg()
    if user.form.is_phi:
        ends = [b for x, b in zip(user._operands, user.aux, strict=True) if x is v]
    else:
        ends = [user.block]
    if _is_reached(body, user.block):
        for end in ends:
            if _is_reached(body, end) and not made.dominates(end):
                raise Stop(f"{_name(v)} does not dominate this use", _place(body, v, user))


def _is_reached(body: DefinitionReader, b: Block | None) -> bool:
    f = body.function
    if f.cfg_state != "fresh":
        f.analyze_cfg()
    assert b is not None
    return b.rpo_index >= 0


def _place(body: DefinitionReader, v: Value, user: Instruction) -> int:
    """The token of the line of `user` that names `v`."""
    first = body.text.first
    start, end = first[user.line - 1], first[user.line]
    named = start + 2 * (body.t[start + 1] == "=")
    return next((k for k in range(named, end) if body.values.get(body.t[k]) is v), start)


def _name(v: Value) -> str:
    return f"'%{v.name}'" if v.name else "the value"
