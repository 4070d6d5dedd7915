"""Special variables: threadIdx and its like are reads of hardware registers.

A name is one where five things hold: device code is compiled, the variable is not extern, not
template-dependent, is one element, and has a name. The table has five rows, one a variable, by
three components; warpSize has only its first slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.irgen.places import field_address, store
from nvir.frontend.irgen.state import LValue
from nvir.frontend.tree.declarations import Variable
from nvir.frontend.tree.expressions import Expr, Member, Name
from nvir.frontend.tree.types import Array, strip
from nvir.frontend.tree.vectors import SPECIAL_VARIABLES
from nvir.ir import I32, Value

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

PREFIX = "llvm.nvvm.read.ptx.sreg."
# rows in the order of the real front end's table; components x, y, z
TABLE: dict[str, tuple[str | None, str | None, str | None]] = {
    "threadIdx": ("tid.x", "tid.y", "tid.z"),
    "blockDim": ("ntid.x", "ntid.y", "ntid.z"),
    "blockIdx": ("ctaid.x", "ctaid.y", "ctaid.z"),
    "gridDim": ("nctaid.x", "nctaid.y", "nctaid.z"),
    "warpSize": ("warpsize", None, None),
}


def is_special(g: IRGenState, d: object) -> bool:
    """Whether a declaration stands for hardware registers here."""
    return (
        isinstance(d, Variable)
        and g.in_kernel
        and d.storage != "extern"
        and not d.template_dependent
        and not isinstance(strip(d.type), Array)
        and bool(d.name)
        and d.name in TABLE
        and (d.builtin or SPECIAL_VARIABLES.get(d.name) is d)
    )


def read(g: IRGenState, name: str, component: int) -> Value | None:
    """The register behind a component of a special variable, or None where there is none."""
    register = TABLE[name][component]
    if register is None:
        return None
    attributes = ("nounwind", ("memory", "none"))
    return g.call_intrinsic(PREFIX + register, I32, [], "predef_tmp_comp", attributes)


def special_component(g: IRGenState, e: Expr) -> Value | None:
    """`threadIdx.x`, or None where the expression is no such thing."""
    if not isinstance(e, Member) or e.arrow or not isinstance(e.base, Name):
        return None
    d = e.base.decl
    if not is_special(g, d) or len(e.field) != 1 or e.field not in "xyz":
        return None
    assert d is not None
    return read(g, d.name, "xyz".index(e.field))


def special_value(g: IRGenState, e: Name) -> Value | None:
    """`warpSize`."""
    d = e.decl
    if d is None or d.name != "warpSize" or not is_special(g, d):
        return None
    return read(g, d.name, 0)


def special_aggregate(g: IRGenState, e: Name) -> LValue | None:
    """`threadIdx` as a whole: a temporary filled from its registers."""

    d = e.decl
    if not isinstance(d, Variable) or not is_special(g, d):
        return None
    to = g.alloca(d.type, "predef_tmp")
    if d.name == "warpSize":
        v = read(g, d.name, 0)
        assert v is not None
        store(g, v, to)
        return to
    for k in range(3):
        v = read(g, d.name, k)
        assert v is not None
        store(g, v, field_address(g, to, k, e))
    return to
