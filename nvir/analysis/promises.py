"""What attributes promise of a value of `nvvm`: that it is not null, its range, its alignment.

    define void @f(ptr nonnull align 16 %p, i32 range(i32 0, 1024) %n)
    %k = call range(i32 0, 8) i32 @g()

A broken promise makes poison, so that whatever follows from one holds.

Source   LLVM Language Reference, "Parameter Attributes"; `NullPointerIsDefined` of LLVM 19.
"""

from __future__ import annotations

from typing import Any

from nvir.ir import Argument, Function, Instruction, PointerType, Value, Variable

MAX_DEPTH = 8


def promise(v: Value, name: str) -> Any:
    """The value of an attribute that an argument or a call's result has; True for a mere word,
    None where it has none."""
    if isinstance(v, Argument):
        attributes = v.attributes
    elif isinstance(v, Instruction) and v.form.is_call and v.aux is not None:
        callee = v.aux.callee
        of_callee = callee.aux if isinstance(callee, Function) else None
        attributes = getattr(v.aux, "result", ()) + (
            of_callee.get("returns", ()) if isinstance(of_callee, dict) else ())
    else:
        return None
    for a in attributes:
        if a == name:
            return True
        if a.__class__ is tuple and a[0] == name:
            return a[1]
    return None


def most(v: Value, bits: int) -> int:
    """The greatest number, without a sign, that an integer's range allows."""
    text = promise(v, "range")
    top = (1 << bits) - 1
    if not isinstance(text, str):
        return top
    low, high = (int(x) & top for x in text.partition(" ")[2].split(","))
    return high - 1 if low < high else top


def never_null(v: Value, function: Function) -> bool:
    """Whether a pointer is not null: promised, or the address of an object of the generic space."""
    for _ in range(MAX_DEPTH):
        t = v.type
        if not isinstance(t, PointerType):
            return False
        if promise(v, "nonnull"):
            return True
        if t.space or "null_pointer_is_valid" in _words(function):
            return False
        if isinstance(v, Instruction) and v.form.name == "getelementptr" and (
            "inbounds" in v.form.mods
        ):
            v = v.operands[0]
            continue
        return (
            (isinstance(v, Instruction) and v.form.name == "alloca")
            or (isinstance(v, Variable | Function) and v.linkage != "extern_weak")
            or any(promise(v, name) for name in ("dereferenceable", "byval", "sret"))
        )
    return False


def _words(function: Function) -> tuple[Any, ...]:
    words: tuple[Any, ...] = (function.aux or {}).get("attributes", ())
    return words


def alignment(v: Value) -> int:
    """The alignment of a pointer that is promised; 1 where none is."""
    while isinstance(v, Instruction) and v.form.name == "addrspacecast":
        v = v.operands[0]
    n = promise(v, "align")
    return n if isinstance(n, int) else 1
