"""Modules: every function and variable of a unit, and what the module says of itself.

    generate(unit, options) -> Module      of level `nvvm`, verified

The unit must be checked. Types of the unit are translated first, to a fixed point; then
variables, then the functions in order. A declared function becomes a symbol at its first use.
"""

from __future__ import annotations

from nvir.frontend.depth import MAX_NESTING, room
from nvir.frontend.irgen import (
    calls,
    expressions,
    initialisers,
    operators,
    statements,
    walk,
)
from nvir.frontend.irgen.function_symbols import function_symbol
from nvir.frontend.irgen.functions import emit_function
from nvir.frontend.irgen.intrinsic import builtins, special_variables
from nvir.frontend.irgen.state import IRGenError, ModuleState, Options
from nvir.frontend.irgen.variables import global_symbol
from nvir.frontend.tree.declarations import Function, Unit, Variable
from nvir.frontend.tree.types import Record, qualifiers
from nvir.ir import Module, Symbol, bulk
from nvir.ir.function import Function as IRFunction
from nvir.ir.layout import DATA_LAYOUT, TRIPLE
from nvir.ir.verify import verify


def generate(unit: Unit, options: Options | None = None) -> Module:
    """The NVVM IR of a checked unit. Raises `IRGenError` and `Unsupported` with places."""
    shared = ModuleState(unit, options or Options())
    with room(MAX_NESTING), bulk():
        try:
            _emit(shared)
        except IRGenError as e:
            e.show(unit)
            raise
    _finalize(shared)
    if shared.options.policy == "documented":
        shared.module.diagnostics += [told for _, told in shared.warnings]
    verify(shared.module)
    return shared.module


def _emit(shared: ModuleState) -> None:
    _translate_types(shared)
    _reserve_names(shared)
    for v in shared.unit.variables:
        if _is_device(v):
            global_symbol(shared, v)
    for f in shared.unit.functions:
        if f.body is not None and (f.attributes.device or f.attributes.kernel):
            define(shared, f)


def _is_device(v: Variable) -> bool:
    """Variables of the host are made when device code reads them, if at all."""
    return bool(v.memory) or (not qualifiers(v.type)[0] and v.storage != "extern")


def _translate_types(shared: ModuleState) -> None:
    for t in shared.unit.types:
        if isinstance(t, Record) and t.fields is not None:
            shared.types.record(t)
    shared.types.resolve()


def _reserve_names(shared: ModuleState) -> None:
    """Functions keep their symbols; what is made up later goes around them."""
    seen: dict[str, Function] = {}
    for f in shared.unit.functions:
        old = seen.get(f.symbol)
        if old is not None and old.body is not None and f.body is not None:
            raise IRGenError(f"redefinition of '{f.name}'", f.place)
        if old is None or f.body is not None:
            seen[f.symbol] = f
    for f in shared.unit.functions:
        shared.by_name[f.symbol] = seen[f.symbol]


def define(shared: ModuleState, f: Function) -> IRFunction:
    """Generate a function's body into its symbol."""
    made = function_symbol(shared, f)
    if made.blocks:
        raise IRGenError(f"redefinition of '{f.name}'", f.place)
    made.linkage = _linkage(shared, f)
    emit_function(shared, f, made, shared.abis[f])
    return made


def _linkage(shared: ModuleState, f: Function) -> str:
    if f.is_kernel:
        return "weak_odr" if f.storage == "weak" else ""
    if f.storage == "static" or shared.options.whole_program:
        return "internal"
    return "linkonce_odr" if f.storage == "weak" else ""


def _finalize(shared: ModuleState) -> None:
    """Layout, triple, named metadata, what must be kept."""
    m = shared.module
    metadata = {name: tuple(nodes) for name, nodes in shared.metadata.items()}
    kept: list[Symbol] = [v for v in shared.used if isinstance(v, Symbol)]
    if kept:
        metadata["llvm.used"] = tuple((s,) for s in kept)
    aux: dict[str, object] = {"datalayout": DATA_LAYOUT, "triple": TRIPLE}
    if metadata:
        aux["metadata"] = metadata
    m.aux = aux


walk.connect(
    emit_value=expressions.emit_value, emit_bool=expressions.emit_bool,
    emit_effect=expressions.emit_effect, emit_aggregate=expressions.emit_aggregate,
    emit_statement_expr=statements.emit_statement_expr, emit_init=initialisers.emit_init,
    emit_call=calls.emit_call, emit_call_aggregate=calls.emit_call_aggregate,
    emit_builtin=builtins.emit_builtin, emit_assign_place=operators.emit_assign_place,
    emit_conditional=operators.emit_conditional,
    special_aggregate=special_variables.special_aggregate, define=define,
)
