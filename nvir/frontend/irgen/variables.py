"""Variables of the module: address spaces, initialisers, names.

    __device__ 1    __constant__ 4    __shared__ 3    __managed__ 1, marked    others 0 or, where
    they are constants of the host that device code reads, 4

Shared variables have no initialiser; a `__shared__` or static variable of a function is one of
the module with the function's name in its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.irgen.constants import emit_constant, string_constant, zero
from nvir.frontend.irgen.state import IRGenError, LValue
from nvir.frontend.tree.declarations import Function, Variable
from nvir.frontend.tree.expressions import StringLiteral
from nvir.frontend.tree.layout import align_of
from nvir.frontend.tree.types import Array, is_volatile, qualifiers, strip
from nvir.ir import Unsupported, Value, undef
from nvir.ir import layout as ir_layout
from nvir.ir.nvvm import variable
from nvir.ir.symbols import Variable as IRVariable

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState, ModuleState

SPACES = {"device": 1, "managed": 1, "constant": 4, "shared": 3}
DYNAMIC_SHARED_ALIGN = 16  # what nvcc gives `extern __shared__`


def address_space(v: Variable) -> int:
    """The address space of a variable of static storage."""
    if v.memory in SPACES:
        return SPACES[v.memory]
    return 4 if qualifiers(v.type)[0] and v.init is not None else 1


def global_symbol(shared: ModuleState, v: Variable, owner: Function | None = None) -> Value:
    """The module's variable for a declaration, made at its first use."""
    known = shared.variables.get(v)
    if known is not None:
        if v in shared.initialising:
            raise _circular(shared, v)
        return known
    space = address_space(v)
    symbol = _symbol(v, owner)
    if v.storage == "extern" and v.init is None:
        defined = shared.definitions.get(symbol)
        if defined is not None:
            made = shared.variables[v] = global_symbol(shared, defined)
            return made
        return _external(shared, v, symbol, space)
    made = variable(shared.module, shared.unique_symbol(symbol), shared.types.memory(v.type), space,
                    linkage=_linkage(v, owner, space), align=max(v.align, align_of(v.type)),
                    constant=space == 4)
    shared.variables[v] = shared.by_name[made.name] = made
    _initialise(shared, v, made, space)
    if v.memory == "managed":
        made.attributes["managed"] = ""
    if v.used:
        shared.used.append(made)
    return made


def _initialise(shared: ModuleState, v: Variable, made: IRVariable, space: int) -> None:
    if space == 3:
        made.init = undef(made.value_type)
    elif v.init is None:
        made.init = zero(made.value_type)
    else:
        shared.initialising[v] = None
        value = emit_constant(shared, v.init, v.type)
        del shared.initialising[v]
        if value is None:
            raise IRGenError(f"the initialiser of '{v.name}' is no constant", v.place)
        made.init, made.value_type = value, value.type


def _circular(shared: ModuleState, v: Variable) -> Unsupported:
    """PTX takes the address of a variable only behind its declaration."""
    names = [u.name for u in shared.initialising]
    names = names[list(shared.initialising).index(v) :]
    what = f"the initial values of {' and '.join(map(repr, names))}, which name each other" \
        if len(names) > 1 else f"the initial value of '{v.name}', which names itself"
    return Unsupported(what, where=str(v.place))


def _symbol(v: Variable, owner: Function | None) -> str:
    if v.link_name or owner is None or v.storage == "extern":
        return v.symbol
    if owner.symbol.startswith("_Z"):
        return f"_ZZ{owner.symbol[2:]}E{len(v.name)}{v.name}"
    return f"{owner.symbol}${v.name}"


def _linkage(v: Variable, owner: Function | None, space: int) -> str:
    return "internal" if owner is not None or v.storage == "static" or space == 3 else ""


def _external(shared: ModuleState, v: Variable, symbol: str, space: int) -> Value:
    """A declared variable; dynamic shared memory is one array, however often it is declared."""
    known = shared.by_name.get(symbol)
    if known is not None:
        if isinstance(known, IRVariable):
            known.align = max(known.align, v.align, align_of(v.type))
        shared.variables[v] = known
        return known  # type: ignore[no-any-return]  # by_name holds symbols
    dynamic = space == 3 and isinstance(strip(v.type), Array)
    align = max(v.align, align_of(v.type), DYNAMIC_SHARED_ALIGN if dynamic else 1)
    made = variable(shared.module, symbol, shared.types.memory(v.type), space, linkage="external",
                    align=align)
    shared.variables[v] = shared.by_name[symbol] = made
    return made


def global_place(g: IRGenState, v: Variable) -> LValue:
    """Where a variable of static storage lies."""
    p = global_symbol(g.shared, v)
    align = p.align if isinstance(p, IRVariable) else align_of(v.type)
    return LValue(p, v.type, align or align_of(v.type), is_volatile(v.type))


def string_variable(shared: ModuleState, e: StringLiteral) -> Value:
    """The constant that holds a string with its NUL; equal strings share one."""
    known = shared.strings.get(e.value)
    if known is None:
        value = string_constant(e.value, len(e.value) + 1)
        known = shared.strings[e.value] = constant_variable(shared, value, "$str", 1)
    return known


def constant_variable(shared: ModuleState, value: Value, name: str, align: int) -> Value:
    """A private constant in global memory."""
    made = variable(shared.module, shared.unique_symbol(name), value.type, 1, value, "private",
                    max(align, ir_layout.align_of(value.type)), constant=True)
    shared.by_name[made.name] = made
    return made
