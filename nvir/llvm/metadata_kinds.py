"""Metadata of single instructions: which ones may have it, and what its node holds.

Source   LLVM 19's verifier.
"""

from __future__ import annotations

from typing import Any

from nvir.ir import Constant, Instruction
from nvir.ir import types as ty
from nvir.ir.verify.nvvm import element

KINDS = frozenset((
    "!tbaa", "!nonnull", "!align", "!dereferenceable", "!dereferenceable_or_null", "!fpmath",
    "!prof",
))
_ACCESSES = ("load", "store", "call", "atomicrmw", "cmpxchg")


def kind_problem(i: Instruction, kind: str, node: Any) -> str | None:
    """Why an instruction cannot have metadata of a kind that holds `node`, or None."""
    items = node if isinstance(node, tuple) else ()
    name, word = i.form.name, kind[1:]
    if word == "tbaa":
        if name not in _ACCESSES:
            return f"{name} has no access tag"
        if name in ("load", "store") and (
            not items or not isinstance(items[0], str | tuple)  # a name, or a node: Ref is a str
        ):
            return "an access tag begins with a node, or of old with a name"
    elif word == "prof":
        return _weights_problem(i, items)
    elif word == "fpmath":
        number = _number(items, ty.FLOAT)
        if not isinstance(element(i.type), ty.FloatType):
            return f"fpmath is of floats, not of {i.type}"
        if number is None or number <= 0 or number >> 31:
            return "fpmath is one float above zero"
    elif not isinstance(i.type, ty.PointerType):
        return f"{word} is of pointers, not of {i.type}"
    elif word != "nonnull":
        number = _number(items, ty.I64)
        if number is None:
            return f"{word} is one i64"
        if word == "align" and (number <= 0 or number & (number - 1)):
            return "an alignment is a power of two"
    return None


def _number(items: tuple[Any, ...], t: ty.Type) -> int | None:
    """The one number of a type that a node holds; of a float its pattern."""
    one = items[0] if len(items) == 1 else None
    return one.value if isinstance(one, Constant) and one.type is t else None


def _weights_problem(i: Instruction, items: tuple[Any, ...]) -> str | None:
    if not items or not isinstance(items[0], str):
        return "a profile begins with its kind"
    weights = len(items) - 1 - (len(items) > 1 and items[1] == "expected")
    if items[0] == "branch_weights" and i.form.name in ("br", "switch") and len(i.aux) > 1 and (
        weights != len(i.aux)
    ):
        return f"{weights} branch weights of {len(i.aux)} branches"
    return None
