"""The IR function of a declaration, made at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.irgen.abi import classify
from nvir.frontend.tree.declarations import Function
from nvir.ir import nvvm
from nvir.ir.function import Function as IRFunction

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import ModuleState


def function_symbol(shared: ModuleState, f: Function) -> IRFunction:
    """The IR function of a declaration; all declarations of one symbol share it."""
    known = shared.functions.get(f)
    if known is not None:
        return known
    main = shared.by_name.get(f.symbol)
    if isinstance(main, Function) and main is not f:
        made = shared.functions[f] = function_symbol(shared, main)
        return made
    abi = shared.abis[f] = classify(shared.types, f, shared.options.policy)
    params = [("", t) for t in abi.arguments()]
    made = nvvm.function(shared.module, f.symbol, abi.result_type, params,
                         "entry" if f.is_kernel else "func")
    shared.functions[f] = made
    shared.by_name.setdefault(f.symbol, f)
    words = [p.attributes for p in abi.params]
    if abi.sret and abi.result is not None:
        words.insert(0, abi.result.attributes)
    for argument, given in zip(made.arguments, words, strict=True):
        argument.attributes = tuple(given)
    if abi.variadic:
        made.aux = {**(made.aux or {}), "variadic": True}
    return made
