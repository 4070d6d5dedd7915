"""What the parts of the reader ask of each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nvir.frontend.tree import expressions as x
from nvir.frontend.tree import statements as s
from nvir.frontend.tree.declarations import Function, Parameter, Variable
from nvir.frontend.tree.place import Place
from nvir.frontend.tree.types import CType, Record
from nvir.ir.errors import Unsupported

if TYPE_CHECKING:
    from nvir.frontend.cuda.parse import Parsed
    from nvir.frontend.cuda.types import TypeReader


LONGEST = 500  # characters of a constant in a pragma, its macros expanded
_BITS = 64  # of the numbers on the way

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    ast.Mod: lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
}


def arithmetic(text: str) -> int | None:
    """The value of integer arithmetic as C has it; None for anything else, and for numbers that
    do not fit 64 bits. Nothing of the text is ever executed."""
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        value = node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _value(node.operand)
        value = -value if isinstance(node.op, ast.USub) else value
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, (ast.LShift, ast.RShift)) and not 0 <= right < _BITS:
            raise ValueError("a shift by more than a number has bits")
        value = _BINARY[type(node.op)](left, right)
    else:
        raise ValueError("no integer arithmetic")
    if value.bit_length() > _BITS:
        raise ValueError("too large")
    return value


class Base:
    """The reader's state, and the questions that its parts answer for each other."""

    parsed: Parsed
    types: TypeReader
    at: Any
    declared: dict[int, Variable | Parameter]
    this: Parameter | None
    captures: dict[int, str]
    closures: dict[int, dict[int, str]]
    bound: dict[int, tuple[Variable, int]]
    globals: list[Variable]
    template_values: dict[str, int]
    temporaries: int
    budget: int  # statements and expressions read so far
    unrolls: bool
    order: list[Function]
    cursors: list[Any]

    place: Callable[[Any], Place]
    unsupported: Callable[..., Unsupported]
    function: Callable[[Any], Function]
    variable: Callable[[Any], Variable]
    global_variable: Callable[[Any], Variable]
    record_of: Callable[[CType], Record | None]
    is_own: Callable[[Any], bool]
    is_method: Callable[[Any], bool]
    macro: Callable[[str], list[str] | None]
    expr: Callable[[Any], x.Expr]
    effect: Callable[[Any], x.Expr]
    object_value: Callable[[Any, CType], x.Expr]
    initial_value: Callable[[Any, CType], x.Expr]
    construction: Callable[[Any], Any]
    construct_at: Callable[..., list[s.Stmt] | None]
    destructor: Callable[[Record | None], Function | None]
    closure_variable: Callable[[Any], list[s.Stmt]]
    literal: Callable[[int | float, CType, Any], x.Expr]
    zero: Callable[[CType, Any], x.Expr]
    object: Callable[[Any], tuple[x.Expr, bool]]
    variable_name: Callable[[Any, Any], x.Expr]
    function_name: Callable[[Function, Any], x.Name]
    field_default: Callable[[Any], Any]
    compound: Callable[..., s.Compound]
    call: Callable[[Any], x.Expr]
    closure: Callable[[Any], x.Expr]

    def fresh(self) -> int:
        self.temporaries += 1
        return self.temporaries

    def spelled(self, c: Any, most: int) -> str:
        """The beginning of a cursor's source text."""
        start = c.extent.start
        if start.file is None:
            return ""
        return self.parsed.text(start.file.name)[start.offset : start.offset + most]

    def number(self, text: str) -> int | None:
        """The value of a constant in a pragma: numbers, macros, constants, template parameters,
        and arithmetic on them; None where it is not understood."""
        for _ in range(8):
            words = set(re.findall(r"[A-Za-z_]\w*", text))
            if not words:
                break
            known = {w: self.constant(w) for w in words}
            if any(v is None for v in known.values()):
                return None
            text = re.sub(r"[A-Za-z_]\w*", lambda m: f"({known[m[0]]})", text)  # noqa: B023
            if len(text) > LONGEST:  # macros that name each other grow without bound
                return None
        return arithmetic(text)

    def constant(self, name: str) -> int | str | None:
        if name in self.template_values:
            return self.template_values[name]
        body = self.macro(name)
        if body is not None:
            return " ".join(body)
        return self.named_constant(name)

    def named_constant(self, name: str) -> int | None:
        """The value of a constant variable or enumerator of that name."""
        raise NotImplementedError
