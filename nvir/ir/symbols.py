"""Symbols with storage: variables of every state space, and parameters."""

from __future__ import annotations

from typing import Any

from nvir.ir.types import B32, B64, ArrayType, ScalarType, Type
from nvir.ir.values import Symbol


class Variable(Symbol):
    """A variable. Its value is its address.

    space       "global", "const", "shared", "local", "param" (PTX names, both levels)
    value_type  what is stored: a scalar, `array(...)` of it, or any `nvvm` type;
                an array of 0 elements is PTX's `x[]`
    align       bytes, 0 for the type's own alignment
    init        None, or a (nested) tuple of Constant and SymbolOffset values
    linkage     "", "visible", "extern", "weak", "common"
    vector      elements of a `.v2`/`.v4` declaration, else 1
    attributes  further declaration text by name, e.g. {"managed": "", "ptr": "global"}
    """

    __slots__ = ("align", "attributes", "init", "linkage", "loc", "space", "value_type", "vector")

    def __init__(
        self,
        name: str,
        space: str,
        value_type: Type,
        *,
        align: int = 0,
        init: Any = None,
        linkage: str = "",
        vector: int = 1,
        attributes: dict[str, str] | None = None,
        address_type: Type = B64,
    ) -> None:
        super().__init__(address_type, name)
        self.space, self.value_type, self.align = space, value_type, align
        self.init, self.linkage, self.vector = init, linkage, vector
        self.attributes: dict[str, str] = attributes or {}
        self.loc: Any = None

    @property
    def element_type(self) -> Type:
        """The scalar type that the declaration names."""
        t = self.value_type
        while isinstance(t, ArrayType):
            t = t.element
        return t

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The array extents of the declaration, outermost first; () for a scalar."""
        out = []
        t = self.value_type
        while isinstance(t, ArrayType):
            out.append(t.count)
            t = t.element
        return tuple(out)

    @property
    def size(self) -> int:
        """Bytes of a PTX declaration: scalars and arrays of them."""
        n = 1
        for d in self.dimensions:
            n *= d
        return n * self.vector * max(self.element_type.bits // 8, 1)


class Param(Variable):
    """A parameter in `.param` space: of a kernel, of a function, or of one call in a body."""

    __slots__ = ("index",)

    def __init__(self, name: str, value_type: Type, index: int = 0, **kw: Any) -> None:
        super().__init__(name, "param", value_type, **kw)
        self.index = index


def address_type(bits: int) -> ScalarType:
    """The register class of an address under `.address_size bits`."""
    return B32 if bits == 32 else B64
