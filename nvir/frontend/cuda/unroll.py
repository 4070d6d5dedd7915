"""Loops that are written out: `#pragma unroll` over a constant number of rounds, and short loops
that index arrays of the block, which only then can live in registers.

The body is read once a round, each time with variables of its own; the loop variable stays a
variable, which constant folding then does away with. A round with a `continue` of the loop is a
`do` of one round. A loop is left as it is where its variable is changed in the body, where it holds
a break of its own, a label or a static variable, and where it would grow beyond `MOST` expressions:
a tile of 8 by 8 sums over 4 products still fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nvir.frontend.cuda.libclang import (
    binary_operator,
    children,
    evaluate,
    initialiser,
    kind_of,
    pointer_of,
    type_kind,
    unary_operator,
)
from nvir.frontend.tree import expressions as x
from nvir.frontend.tree import statements as s
from nvir.frontend.tree.types import INT

if TYPE_CHECKING:
    from nvir.frontend.cuda.statements import StatementReader

MOST = 16000  # expressions and statements of a loop that is written out
ROUNDS, SHORT = 256, 16
_STOP = {"LABEL_STMT", "GOTO_STMT", "LAMBDA_EXPR", "RETURN_STMT", "SWITCH_STMT", "ASM_STMT"}
_LOOPS = {"FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT"}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "!=": lambda a, b: a != b,
}
_STEPS: dict[str, Callable[[int, int], int]] = {
    "+=": lambda a, b: a + b, "-=": lambda a, b: a - b, "*=": lambda a, b: a * b,
    "<<=": lambda a, b: a << b if 0 <= b < 32 else 1 << 40, ">>=": lambda a, b: a >> max(b, 0),
    "/=": lambda a, b: a // b if b and a >= 0 else 1 << 40,
}


def rounds(init: Any, cond: Any, step: Any) -> tuple[Any, int] | None:
    """(the cursor of the loop variable, number of rounds) of a for with constant bounds."""
    v, begin = _start(init)
    if v is None or cond is None or step is None:
        return None
    value = None if begin is None else evaluate(begin)
    compare = _COMPARE.get(binary_operator(cond))
    sides = children(cond)
    if not isinstance(value, int) or compare is None or len(sides) != 2:
        return None
    end, change = evaluate(sides[1]), _change(step, v)
    if not _is_name(sides[0], v) or not isinstance(end, int) or change is None:
        return None
    count = 0
    while compare(value, end):
        count, value = count + 1, change(value)
        if count > ROUNDS or abs(value) >= 1 << 31:
            return None
    return v, count


def _start(init: Any) -> tuple[Any, Any]:
    """(the loop variable's declaration, its first value): of `int i = 0`, and of `i = 0` where
    `i` is a variable of the block that nothing else can reach."""
    kids = children(init) if init is not None else []
    if kids and kind_of(init) == "DECL_STMT":
        v = kids[0]
        return (v, initialiser(v)) if len(kids) == 1 and kind_of(v) == "VAR_DECL" else (None, None)
    if len(kids) == 2 and binary_operator(init) == "=" and kind_of(kids[0]) == "DECL_REF_EXPR":
        v = kids[0].referenced
        if v is not None and kind_of(v) == "VAR_DECL" and not _is_reached(v):
            return v, kids[1]
    return None, None


def _is_reached(v: Any) -> bool:
    """Whether a variable may be read or written but by its name: it is no plain integer of a
    function, or its address, a reference to it or a closure around it may exist."""
    around = v.semantic_parent
    if v.storage_class.name in ("STATIC", "EXTERN") or around is None or (
        kind_of(around) not in ("FUNCTION_DECL", "CXX_METHOD") or "REF" in type_kind(v.type)
    ):
        return True
    known = v._tu.__dict__.setdefault("reached", {})
    if pointer_of(around) not in known:  # one walk for all loops of a function
        known[pointer_of(around)] = _reached(around)
    found = known[pointer_of(around)]
    return found is None or pointer_of(v) in found


def _reached(function: Any) -> set[int] | None:
    """The variables of a function that it hands on by reference or takes the address of; None:
    all, as there is a closure."""
    found: set[int] = set()
    todo = [function]
    while todo:
        c = todo.pop()
        kids = children(c)
        todo += kids
        name = kind_of(c)
        if name == "LAMBDA_EXPR":
            return None
        if name == "CALL_EXPR" or (name == "UNARY_OPERATOR" and unary_operator(c) == "&") or (
            name == "VAR_DECL" and type_kind(c.type) == "LVALUEREFERENCE"
        ):
            names = (k.referenced for k in kids if kind_of(k) == "DECL_REF_EXPR")
            found.update(pointer_of(d) for d in names if d is not None)
    return found


def _change(step: Any, v: Any) -> Callable[[int], int] | None:
    kids = children(step)
    if not kids or not _is_name(kids[0], v):
        return None
    if kind_of(step) == "UNARY_OPERATOR":
        amount = {"x++": 1, "++x": 1, "x--": -1, "--x": -1}.get(unary_operator(step))
        return None if amount is None else lambda a: a + amount
    operation = _STEPS.get(binary_operator(step))
    by = evaluate(kids[1]) if len(kids) == 2 else None
    if operation is None or not isinstance(by, int):
        return None
    return lambda a: operation(a, by)


def _is_name(c: Any, v: Any) -> bool:
    while kind_of(c) in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
        kids = children(c)
        if len(kids) != 1:
            return False
        c = kids[0]
    d = c.referenced if kind_of(c) == "DECL_REF_EXPR" else None
    return d is not None and pointer_of(d) == pointer_of(v)


def _allows(body: Any, v: Any) -> tuple[bool, bool]:
    """(whether a body may be copied, whether it indexes an array of the block by the variable)."""
    indexed, todo = False, [body]
    if _jumps(body, "BREAK_STMT"):
        return False, False
    while todo:
        c = todo.pop()
        kids = children(c)
        todo += kids
        name = kind_of(c)
        if name in _STOP:
            return False, False
        if name == "VAR_DECL" and (c.storage_class.name in ("STATIC", "EXTERN") or any(
            kind_of(k) == "CUDASHARED_ATTR" for k in kids)):
            return False, False
        if name == "VAR_DECL" and type_kind(c.type) == "LVALUEREFERENCE" and any(
            kind_of(k) == "DECL_REF_EXPR" and _is_name(k, v) for k in kids
        ):
            return False, False
        if name in ("UNARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "BINARY_OPERATOR") and kids:
            written = name != "BINARY_OPERATOR" or binary_operator(c) == "="
            if name == "UNARY_OPERATOR":
                written = unary_operator(c) in ("x++", "x--", "++x", "--x", "&")
            if written and _is_name(kids[0], v):
                return False, False
        if name == "CALL_EXPR" and any(_is_name(a, v) and kind_of(a) == "DECL_REF_EXPR"
                                       for a in c.get_arguments() if a is not None):
            return False, False  # perhaps by reference
        if name == "ARRAY_SUBSCRIPT_EXPR" and len(kids) == 2:
            indexed = indexed or (_local_array(kids[0]) and _mentions(kids[1], v))
    return True, indexed


def _jumps(body: Any, kind: str) -> bool:
    """Whether a loop's body holds a `break` or `continue` that is of this loop."""
    todo = [body]
    while todo:
        c = todo.pop()
        if kind_of(c) == kind:
            return True
        if kind_of(c) not in _LOOPS:
            todo += children(c)
    return False


def _local_array(c: Any) -> bool:
    while kind_of(c) in ("UNEXPOSED_EXPR", "PAREN_EXPR", "ARRAY_SUBSCRIPT_EXPR"):
        kids = children(c)
        if not kids:
            return False
        c = kids[0]
    d = c.referenced if kind_of(c) == "DECL_REF_EXPR" else None
    if d is None or kind_of(d) != "VAR_DECL" or type_kind(d.type) != "CONSTANTARRAY":
        return False
    shared = any(kind_of(k).startswith("CUDA") for k in children(d))
    return not shared and kind_of(d.semantic_parent) not in ("TRANSLATION_UNIT", "NAMESPACE")


def _mentions(c: Any, v: Any) -> bool:
    todo = [c]
    while todo:
        k = todo.pop()
        if _is_name(k, v):
            return True
        todo += children(k)
    return False


def written_out(
    reader: StatementReader, c: Any, parts: tuple[Any, Any, Any, Any], asked: s.Unroll | None
) -> tuple[s.Stmt | None, tuple[s.Stmt, s.Stmt, x.Expr] | None]:
    """The rounds of a for one behind the other, or None where it is to stay a loop; then what was
    read to see how large they get: its first statement, its body and its step."""
    init, cond, step, body = parts
    if asked is not None and asked.count == 1:
        return None, None
    found = None if isinstance(cond, list) else rounds(init, cond, step)
    if found is None:
        return None, None
    v, count = found
    wanted = asked is not None and (asked.count is None or asked.count >= count)
    allowed, indexed = _allows(body, v)
    if not allowed or not (wanted or (asked is None and indexed and count <= SHORT)):
        return None, None
    start = reader.budget
    made: list[s.Stmt] = [reader.stmt(init)]
    skips = _jumps(body, "CONTINUE_STMT")
    first: tuple[s.Stmt, s.Stmt, x.Expr] | None = None
    for k in range(count):
        done = reader.stmt(body)
        never = x.IntLiteral(0, type=INT)
        made.append(s.Do(done, never, place=done.place) if skips else done)
        e: x.Expr = reader.effect(step)
        made.append(s.ExprStmt(e, place=e.place))
        first = first or (made[0], done, e)
        used = (reader.budget - start) / (k + 1)
        if used * count > MOST:  # to read the body again would read a nest in it for each loop
            return None, first
    return s.Compound(tuple(made), place=reader.place(c)), None
