"""What a dialect lacks, kept as the call of a function that does it.

    %old = atomicrmw add ptr %p, i8 %v seq_cst
        ==>
    %old = call i8 @nvir_atomicrmw_add_i8(ptr %p, i8 %v)

    define linkonce_odr i8 @nvir_atomicrmw_add_i8(ptr %0, i8 %1) alwaysinline nounwind
        "nvir-stands-for"="i8 (ptr %0, i8 %1) { … %2 = atomicrmw add ptr %0, i8 %1 seq_cst … }"
    { … a loop of compare-and-exchange … }

libnvvm inlines it, and has the code; who reads the text has what the function stands for
(nvir.llvm.stand_ins), and so the same code as before. `linkonce_odr`: no optimiser of LLVM's
changes what such a function is given by what it finds in its body.

Method   Each distinct operation once: literals are part of it, other operands are parameters. It is
         made alone in a function, which stays if a rule of `legalize` rewrites it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.ir import CallInfo, Constant, Function, Instruction, Module, Undef, Unsupported, Value
from nvir.ir import types as ty
from nvir.ir.clone import clone_function
from nvir.ir.nvvm import Builder, function
from nvir.ir.nvvm_values import InlineAsm, Node, NvvmCall
from nvir.passes.llvm.signatures import carried, is_cast

Rewrite = Callable[[Instruction], bool]


def stand_in(module: Module, found: list[Instruction], rewrite: Rewrite, dialect: str) -> bool:
    """Let calls stand for those of some operations that `rewrite` rewrites; whether any does."""
    known: dict[Any, Function | None] = {}
    names = {str(x.name) for x in module.order}
    replaced: dict[Any, None] = {}
    for i in found:
        key = _key(i)
        if key is None or not _passes(i, dialect):
            continue
        if key not in known:
            known[key] = _made(module, i, rewrite, names)
        f = known[key]
        if f is not None:
            replaced[getattr(i.aux, "callee", None)] = None
            _call(i, f)
    for callee in replaced:
        if isinstance(callee, Function):
            drop(callee)
    return bool(replaced)


def order_last(module: Module) -> None:
    """Put the functions that stand for operations behind all others, so that a text that is read
    and made again is the same."""
    for items in (module.functions, module.order):
        items.sort(key=lambda x: isinstance(x, Function) and "stands_for" in (x.aux or {}))


def drop(callee: Function) -> None:
    """Leave out the declaration of an intrinsic that nobody calls any more."""
    module = callee.module
    if module is None or callee not in module.functions:
        return
    used = any(
        getattr(i.aux, "callee", None) is callee
        for f in module.functions for i in f.instructions() if i.form.is_call
    )
    if not used:
        module.functions.remove(callee)
        module.order.remove(callee)


def _literal(v: Value) -> bool:
    if isinstance(v, Constant) and isinstance(v.value, tuple):
        return all(map(_literal, v.value))
    return isinstance(v, Constant | Undef)


def _given(i: Instruction) -> list[Value]:
    """The operands that are no literals, each once."""
    return [*dict.fromkeys(v for v in i.operands if not _literal(v))]


def _key(i: Instruction) -> Any:
    """What two equal operations have in common; None of one that no function can do."""
    types = [i.type, *(v.type for v in i.operands)]
    if any(isinstance(v, Node) for v in i.operands) or any(map(_has_name, types)):
        return None
    given = {v: k for k, v in enumerate(_given(i))}
    aux = i.aux
    if isinstance(aux, CallInfo):
        more = (aux.attributes, aux.arguments, aux.result, aux.bundles) if isinstance(
            aux, NvvmCall) else ()
        asm = aux.callee
        aux = ((asm.template, asm.constraints, asm.flags) if isinstance(asm, InlineAsm) else asm,
               more)
    operands = tuple((v.type, given.get(v, v)) for v in i.operands)
    return i.form.spelling, i.type, operands, aux


def _has_name(t: ty.Type) -> bool:
    """Whether a type is spelled by a name, which the text of an operation could not tell."""
    if isinstance(t, ty.StructType):
        return t.label is not None or any(map(_has_name, t.elements or ()))
    return isinstance(t, ty.ArrayType | ty.VectorType) and _has_name(t.element)


def _passes(i: Instruction, dialect: str) -> bool:
    """Whether what an operation takes and gives is passed as it is or cast member by member."""
    return all(is_cast(t, carried(t, dialect)) for t in (i.type, *(v.type for v in _given(i))))


def _made(module: Module, i: Instruction, rewrite: Rewrite, names: set[str]) -> Function | None:
    given = _given(i)
    f = function(module, _name(i, names), i.type, [("", v.type) for v in given])
    f.linkage = "linkonce_odr"
    b = Builder(f.block("entry"))
    own = dict(zip(given, f.arguments, strict=True))
    operands = [own.get(v, v) for v in i.operands]
    new = b.insert(i.form.spelling, operands, i.type, "", i.aux)
    if i.type is ty.VOID:
        b.ret_void()
    else:
        b.ret(new)
    stands_for = clone_function(f)
    try:
        done = rewrite(new)
    except Unsupported:
        done = False  # said where the operation stands
    if not done:
        module.functions.remove(f)
        module.order.remove(f)
        return None
    words = ("alwaysinline", "nounwind", *(("convergent",) if _is_convergent(i) else ()))
    f.aux = {"attributes": words, "stands_for": stands_for}
    return f


def _name(i: Instruction, names: set[str]) -> str:
    callee = i.aux.callee if isinstance(i.aux, CallInfo) else None
    words = str(callee.name).removeprefix("llvm.") if callee is not None else "_".join(
        (i.form.name, *i.form.mods[:1], *(v.type.name for v in i.operands[-1:])))
    base = name = "nvir_" + "".join(c if c.isalnum() else "_" for c in words)
    n = 0
    while name in names:
        n += 1
        name = f"{base}_{n}"
    names.add(name)
    return name


def _is_convergent(i: Instruction) -> bool:
    info = i.aux
    if not isinstance(info, CallInfo):
        return False
    own = info.attributes if isinstance(info, NvvmCall) else ()
    declared = (info.callee.aux or {}).get("attributes", ()) if isinstance(
        info.callee, Function) else ()
    return "convergent" in own or "convergent" in declared


def _call(i: Instruction, f: Function) -> None:
    b = Builder.ahead_of(i)
    b.loc = i.loc
    made = b.call(f, _given(i), i.name or "")
    if i.type is ty.VOID:
        i.erase()
    else:
        i.replace_with(made)
