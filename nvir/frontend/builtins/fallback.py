"""Names of intrinsics themselves: `__nvvm_fma_rn_f`, `llvm.nvvm.fma.rn.f`, `llvm.fabs.f32`.

What an intrinsic gives and takes follows from its name; a declaration in the source says it
outright. Arguments of another type of the same size are bit-cast, vectors and integers that are
narrower widened; a struct that is returned is stored field by field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend import tree
from nvir.frontend.builtins.intrinsic_names import LETTERS, intrinsic_name
from nvir.frontend.irgen import fold
from nvir.frontend.irgen.state import IRGenError, LValue
from nvir.ir import FloatType, IntType, PointerType, Type, Value, VectorType, struct
from nvir.ir.types import VOID as NOTHING

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

def emit(g: IRGenState, e: tree.Call, f: tree.Function, args: list[Value | LValue]) -> Value | None:
    """A call of the intrinsic that a name stands for."""
    name = intrinsic_name(f.name)
    if name is None:
        raise IRGenError(f"unknown builtin '{f.name}'", e.place)
    values = [_fitted(g, a, _taken(g, name, a)) for a in args]
    whole = tree.strip(f.result)
    if isinstance(whole, tree.Record):
        return _object(g, e, f, name, values, whole)
    result = NOTHING if tree.is_void(f.result) else g.types.value(f.result)
    made = g.call_intrinsic(name, result, values, "", ("nounwind",))
    return None if result is NOTHING else made


def _taken(g: IRGenState, name: str, a: Value | LValue) -> Type | None:
    """What an argument should be by the intrinsic's name, None for what it is."""
    t = a.type if isinstance(a, Value) else None
    last = LETTERS.get(name.rsplit(".", 1)[-1])
    if last is None or t is None or isinstance(t, PointerType) or "2" in name.split(".")[2:3][0]:
        return None
    wanted = g.types.value(last)
    return wanted if wanted.bits == t.bits else None


def _fitted(g: IRGenState, a: Value | LValue, wanted: Type | None) -> Value:
    if isinstance(a, LValue):
        return g.builder.load(a.pointer, g.types.memory(a.type), "", a.align)
    if wanted is None or a.type is wanted:
        return a
    if isinstance(a.type, VectorType) and isinstance(wanted, VectorType):
        return fold.cast(g, "zext", a, wanted)
    if isinstance(a.type, IntType) and isinstance(wanted, IntType) and a.type.bits < wanted.bits:
        return fold.cast(g, "zext", a, wanted)
    if isinstance(a.type, FloatType | IntType | VectorType) and a.type.bits == wanted.bits:
        return fold.cast(g, "bitcast", a, wanted)
    return a


def _object(g: IRGenState, e: tree.Call, f: tree.Function, name: str, values: list[Value],
            whole: tree.Record) -> Value:
    """An intrinsic that returns a struct: its fields one by one into a temporary."""
    fields = whole.fields or ()
    types = [g.types.memory(t.type) for t in fields]
    made = g.call_intrinsic(name, struct(types), values, "", ("nounwind",))
    place = g.alloca(f.result, "agg.tmp")
    for k, (field, _) in enumerate(zip(fields, types, strict=True)):
        part = g.builder.extract_value(made, k)
        at = g.builder.gep(place.pointer, [0, k], g.types.memory(f.result), True, field.name)
        g.builder.store(part, at, tree.align_of(field.type))
    return place.pointer


