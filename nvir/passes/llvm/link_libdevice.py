"""Links what a module calls of libdevice, and answers what that code asks of the target.

    %y = call float @__nv_expf(float %x)           %y = call float @__nv_expf(float %x)
    declare float @__nv_expf(float)          ==>   define internal float @__nv_expf(float %a) {…}

    %f = call i32 @__nvvm_reflect(ptr @"__CUDA_FTZ")   ==>   0

Method   The bodies come from `SOURCE`, which is NVIDIA's libdevice where it is installed and nvir's
         own mathematics where not; it is named here, as passes are in the registry, and imported
         when it is needed, for it is above this room. Functions that are one instruction need no
         body: selection has rows for them (nvir/ir/intrinsics/rows.txt).
Keeps    what nobody has a body for: it stays declared.
Cost     One visit an instruction; a body is made once.
Source   "Libdevice User's Guide"; "NVVM IR Specification", Reflection Parameters, whose defaults
         hold: no flushing, precise division and square roots. A module that has LLVM's flag
         `nvvm-reflect-ftz` went by way of LLVM, whose NVVMReflect answers 0 to what it does not
         know: roots that libdevice, linked there, asks for are approximate.
"""

from __future__ import annotations

import importlib
from typing import Any

from nvir.ir import CallInfo, Function, Instruction, Module, Variable, capability
from nvir.ir.clone import clone_function
from nvir.ir.intrinsics import find
from nvir.ir.nvvm_values import symbols_in
from nvir.ir.values import Argument, Constant, constant
from nvir.passes.context import Context
from nvir.passes.remarks import Code, passed

LINKED = passed("Linked", "{name} is linked")
CODES: tuple[Code, ...] = (LINKED,)

SOURCE = "nvir.libdevice"
_PREFIX = "__nv_"
_REFLECT = ("__nvvm_reflect", "llvm.nvvm.reflect", "llvm.nvvm.reflect.p0")


def run(module: Module, ctx: Context) -> bool:
    wanted = [
        f for f in module.functions
        if str(f.name).startswith(_PREFIX) and not f.blocks and not find(str(f.name))
    ]
    if wanted:
        called = _called(module)
        wanted = [f for f in wanted if f in called]
    changed = bool(_flags(module, "nvvm-reflect-ftz")) and _reflect(module, precise=0)
    if wanted:
        source = importlib.import_module(SOURCE)
        ftz = bool(_flag(module, "nvvm-reflect-ftz"))
        made = source.bodies([str(f.name) for f in wanted], module, ftz)
        changed = _link(module, made, {str(f.name) for f in wanted}, ctx)
    return _reflect(module, precise=1) or changed


def _called(module: Module) -> set[Any]:
    calls = (i for f in module.functions for i in f.instructions() if i.form.is_call)
    return {i.aux.callee for i in calls}


def _link(module: Module, made: Module, wanted: set[str], ctx: Context) -> bool:
    """Move the bodies into the module, and what they call and read."""
    here = {str(x.name): x for x in module.order}
    for v in made.globals:
        if str(v.name) not in here:
            module.add_global(v)
            v.linkage = "internal"
    fresh = [f for f in made.functions if str(f.name) not in here]
    for f in fresh:
        module.add_function(_bare(f, module))
    known = {str(x.name): x for x in module.order}
    for f in made.functions:
        target = known[str(f.name)]
        if not f.blocks or not isinstance(target, Function) or target.blocks:
            continue
        name = str(f.name)
        _fill(target, clone_function(f, module))
        target.linkage = "internal"
        words = ("alwaysinline", "nounwind") if name in wanted else ("nounwind",)
        target.aux = {**(target.aux or {}), "attributes": words}
        ctx.remark(LINKED, None, name=name)
    return bool(wanted)


def _bare(f: Function, module: Module) -> Function:
    """A declaration of a function, for others to name before it has its body."""
    new = Function(str(f.name), f.kind, module)
    new.type, new.return_type = f.type, f.return_type
    new.params = [Argument(p.type, None, new, k) for k, p in enumerate(f.params)]
    return new


def _fill(target: Function, copy: Function) -> None:
    """Give a declared function the parameters and the body of a copy."""
    target.params, target.return_type = copy.params, copy.return_type
    target.blocks, target.aux = copy.blocks, copy.aux
    for p in target.params:
        p.function = target
    for b in target.blocks:
        b.function = target
    target.cfg_changed()


# ---------------------------------------------------------------- reflection


def _reflect(module: Module, precise: int) -> bool:
    """Put in what `__nvvm_reflect` answers; `precise`: of division and square roots."""
    changed = False
    if not any(f.name in _REFLECT for f in module.functions):
        return False
    for f in module.functions:
        for i in [i for i in f.instructions() if _asks(i)]:
            answer = _answer(i, module, precise)
            if answer is not None:
                i.replace_with(constant(i.type, answer))
                changed = True
    return changed


def _asks(i: Instruction) -> bool:
    return isinstance(i.aux, CallInfo) and getattr(i.aux.callee, "name", "") in _REFLECT


def _answer(i: Instruction, module: Module, precise: int) -> int | None:
    names = [s for s in symbols_in(i.operands[0]) if isinstance(s, Variable)]
    init = names[0].init if len(names) == 1 else None
    if not isinstance(init, Constant) or not isinstance(init.value, tuple):
        return None
    word = bytes(getattr(v, "value", 0) & 255 for v in init.value).rstrip(b"\0").decode("latin-1")
    if word == "__CUDA_ARCH":
        return (capability(module.target) or 80) * 10
    if word == "__CUDA_FTZ":
        return _flag(module, "nvvm-reflect-ftz")
    return precise if word in ("__CUDA_PREC_DIV", "__CUDA_PREC_SQRT") else 0


def _flag(module: Module, name: str) -> int:
    """The value of a module flag; 0 without."""
    return next((int(n[2].value) for n in _flags(module, name)), 0)


def _flags(module: Module, name: str) -> list[Any]:
    nodes = (module.aux or {}).get("metadata", {}).get("llvm.module.flags", ())
    return [n for n in nodes if n and n[1] == name]
