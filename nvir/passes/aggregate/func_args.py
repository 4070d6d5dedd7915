"""Struct parameters of functions that only this module calls become one parameter a leaf.

    define internal void @f({i32, float} %s)     ==>   define internal void @f(i32 %s.0, float %s.1)
    call void @f({i32, float} %v)                      call void @f(i32 %v.0, float %v.1)

Inside, the struct is put together at the entry, and taken apart before each call: split.py folds
both away. A function stays as it is where its address is taken, where it can be called from
outside, or where a call passes another number of arguments than it has.

Cost     One visit an instruction of the module, and what is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import attrs

from nvir.ir import Argument, Constant, Function, Instruction, Module, Symbol, Value, undef
from nvir.ir.layout import size_of
from nvir.ir.nvvm import Builder
from nvir.ir.nvvm_values import ConstantExpr, NvvmCall, symbols_in
from nvir.ir.text.trace import note
from nvir.passes.aggregate.leaves import is_aggregate, leaf_count, leaves
from nvir.passes.context import Context
from nvir.passes.remarks import missed, passed

FLATTENED = passed("ParameterSplit", "the {bytes} of %{name} are passed as {count} parameters")
KEPT = missed("ParameterKept", "struct parameters of @{name} stay: {why}")
CODES = (FLATTENED, KEPT)


def flatten_parameters(module: Module, ctx: Context) -> bool:
    wanted = [
        f for f in module.functions
        if f.blocks and not f.is_kernel and any(is_aggregate(a.type) for a in f.arguments)
    ]
    if not wanted:
        return False
    calls, escaped = _references(module)
    changed = False
    for f in wanted:
        why = _obstacle(f, calls.get(f, []), escaped)
        ctx.function = f
        told = why or f"one for each leaf, in {len(calls.get(f, []))} calls, too"
        note("MEM-02", "function arguments", told, function=f, types=[a.type for a in f.arguments])
        if why:
            ctx.remark(KEPT, None, name=str(f.name), why=why)
            continue
        for call in calls.get(f, []):
            _flatten_call(call)
        _flatten(f, ctx)
        changed = True
    ctx.function = None
    return changed


def _references(module: Module) -> tuple[dict[Function, list[Instruction]], set[Symbol]]:
    """The direct calls of each function, and the functions whose address is taken."""
    calls: dict[Function, list[Instruction]] = {}
    escaped: set[Symbol] = set()
    for f in module.functions:
        for i in f.instructions():
            callee = getattr(i.aux, "callee", None) if i.form.is_call else None
            if isinstance(callee, Function):
                calls.setdefault(callee, []).append(i)
            for v in i.operands:
                escaped.update(_named(v))
    for v in module.globals:
        if isinstance(v.init, Value):
            escaped.update(_named(v.init))
    return calls, escaped


def _named(v: Value) -> Iterator[Symbol]:
    if isinstance(v, Symbol | ConstantExpr) or (
        isinstance(v, Constant) and v.value.__class__ is tuple
    ):
        yield from symbols_in(v)


def _obstacle(f: Function, calls: list[Instruction], escaped: set[Symbol]) -> str:
    if f.linkage not in ("internal", "private"):
        return "it can be called from elsewhere"
    if f in escaped:
        return "its address is taken"
    if any(len(i.operands) != len(f.params) for i in calls):
        return "a call passes another number of arguments"
    return ""


def _flatten_call(i: Instruction) -> None:
    """Pass the leaves of each aggregate argument."""
    assert i.block is not None
    b = Builder(i.block, i)
    b.loc = i.loc
    operands: list[Value] = []
    attributes: list[Any] = []
    info = i.aux
    said = info.arguments if isinstance(info, NvvmCall) else ()
    for v, kept in zip(i.operands, chain(said, repeat(())), strict=False):
        if is_aggregate(v.type):
            operands += [
                b.extract_value(v, leaf.path, f"{v.name or 'arg'}.{n}")
                for n, leaf in enumerate(leaves(v.type))
            ]
            attributes += [()] * leaf_count(v.type)
        else:
            operands.append(v)
            attributes.append(kept)
    i.set_operands(tuple(operands))
    more = {"arguments": tuple(attributes)} if said else {}
    i.aux = attrs.evolve(info, n_sources=len(operands), **more)


def _flatten(f: Function, ctx: Context) -> None:
    """New parameters, and the structs of them at the entry."""
    first = f.entry.first
    b = Builder(f.entry, first)
    params: list[Argument] = []
    for a in f.arguments:
        if not is_aggregate(a.type):
            a.index = len(params)
            params.append(a)
            continue
        whole: Value = undef(a.type)
        for n, leaf in enumerate(leaves(a.type)):
            p = Argument(leaf.type, f"{a.name or 'arg'}.{n}", f, len(params))
            params.append(p)
            whole = b.insert_value(whole, p, leaf.path, a.name or "")
        a.replace_all_uses_with(whole)
        bytes_ = f"{size_of(a.type)} bytes"
        ctx.remark(FLATTENED, None, bytes=bytes_, name=a.name or "?", count=leaf_count(a.type))
    f.params = list(params)
