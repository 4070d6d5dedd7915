"""Asked by the checker for a called name that no scope has: is it a builtin?"""

from __future__ import annotations

from nvir.frontend.builtins import intrinsic_names, registry, texture_names
from nvir.frontend.tree.declarations import Attributes, Function, Parameter
from nvir.frontend.tree.types import CHAR, INT, CType, Pointer, Qualified


def builtin_declaration(name: str, args: tuple[CType, ...]) -> Function | None:
    """The declaration (attributes.builtin set) of the builtin of that name for arguments of those
    types, or None."""
    if name == "printf":
        return printf_declaration()
    return (
        registry.declaration(name, args) or texture_names.declaration(name, args)
        or intrinsic_names.declaration(name, args)
    )


def printf_declaration() -> Function:
    """`int printf(const char *, ...)`, for a tree that does not declare it."""
    params = (Parameter("format", Pointer(Qualified(CHAR, const=True))),)
    return Function("printf", INT, params, variadic=True, attributes=Attributes())
