"""Atomic functions: `atomicrmw` and `cmpxchg` of LLVM, relaxed, in the scope of the name.

    atomicAdd(p, v)         atomicrmw add ptr %p, i32 %v syncscope("agent") monotonic
    atomicAdd_block         "workgroup"         atomicAdd_system   the system's
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.frontend.builtins.work import Work
from nvir.frontend.tree.types import is_float, is_signed, underlying
from nvir.ir import FloatType, Value, int_type

_FLOATING = {"add": "fadd", "sub": "fsub"}


def _scope(word: str) -> str:
    return "" if word == "system" else word


def atomic(w: Work, what: str, scope: str) -> Value:
    assert w.t is not None
    v = w.value(1)
    if is_float(w.t):
        what = _FLOATING.get(what, what)
    elif what in ("min", "max") and not is_signed(underlying(w.t)):
        what = f"u{what}"
    if what == "xchg" and isinstance(v.type, FloatType):
        v = w.fit(v, int_type(v.type.bits))
    made = w.b.atomic_rmw(what, w.value(0), v, "monotonic", "", _scope(scope), v.type.bits // 8)
    return w.give(made)


def compare_and_swap(w: Work, scope: str) -> Value:
    p, old, new = (w.value(k) for k in range(3))
    made = w.b.cmpxchg(p, old, new, "monotonic", scope=_scope(scope), align=old.type.bits // 8)
    return w.give(w.b.extract_value(made, 0))


FUNCTIONS: dict[str, Callable[..., Any]] = {"atomic": atomic, "compare_and_swap": compare_and_swap}
