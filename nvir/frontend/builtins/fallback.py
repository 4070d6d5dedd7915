"""Names of intrinsics themselves: `__nvvm_fma_rn_f`, `llvm.nvvm.fma.rn.f`, `llvm.fabs.f32`.

What an intrinsic gives and takes follows from its name; a declaration in the source says it
outright. Arguments of another type of the same size are bit-cast, vectors and integers that are
narrower widened; a struct that is returned is stored field by field.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nvir.frontend.irgen import fold
from nvir.frontend.irgen.state import Address, IRGenError
from nvir.frontend.tree.declarations import Attributes, Function, Parameter
from nvir.frontend.tree.expressions import Call
from nvir.frontend.tree.layout import align_of
from nvir.frontend.tree.types import (
    DOUBLE,
    FLOAT,
    INT,
    LONGLONG,
    UINT,
    ULONGLONG,
    VOID,
    CType,
    Record,
    is_void,
    strip,
)
from nvir.ir.types import VOID as NOTHING
from nvir.ir.types import FloatType, IntType, PointerType, Type, VectorType, struct
from nvir.ir.values import Value

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

_LETTERS: dict[str, CType] = {"f": FLOAT, "d": DOUBLE, "i": INT, "ui": UINT, "ll": LONGLONG,
                              "ull": ULONGLONG, "i32": INT, "i64": LONGLONG, "f32": FLOAT,
                              "f64": DOUBLE}
# Intrinsics whose names do not end in the type of what they give and take.
_SPECIAL: list[tuple[str, CType, str]] = [
    (r"read\.ptx\.sreg\.(clock64|globaltimer)", ULONGLONG, ""),
    (r"read\.ptx\.sreg\.", INT, ""),
    (r"(?:f|d)2(i|ui|ll|ull)\.", INT, "1"), (r"(?:i|ui|ll|ull|d)2(f|d)\.", FLOAT, "1"),
    (r"(barrier0|membar|bar\.|barrier|cp\.async|nanosleep|fence)", VOID, ""),
    (r"(?:vote\.ballot|match|redux|prmt|fns|sad|activemask)", INT, ""),
    (r"vote\.", INT, ""),
]


def intrinsic_name(name: str) -> str | None:
    """LLVM's name: `__nvvm_bar_sync` is llvm.nvvm.bar.sync."""
    if name.startswith("llvm."):
        return name
    if name.startswith("__nvvm_"):
        text = name.removeprefix("__nvvm_")
        text = re.sub(r"^read_ptx_sreg_", "read.ptx.sreg.", text)
        return "llvm.nvvm." + re.sub(r"_(?!ctarank|explicit)", ".", text)
    return None


def _result(name: str, args: tuple[CType, ...]) -> CType | None:
    short = name.removeprefix("llvm.nvvm.")
    for pattern, t, group in _SPECIAL:
        m = re.match(pattern, short)
        if m is not None and name != short:
            return _LETTERS[m[1]] if group else t
    last = name.rsplit(".", 1)[-1]
    if last in ("min", "max") and args:
        return args[0]
    return _LETTERS.get(last.removesuffix("p"), args[0] if args and name == short else None)


def declaration(name: str, args: tuple[CType, ...]) -> Function | None:
    full = intrinsic_name(name)
    if full is None:
        return None
    result = _result(full, args)
    if result is None:
        return None
    params = tuple(Parameter(f"a{k}", t) for k, t in enumerate(args))
    return Function(name, result, params, attributes=Attributes(builtin=True))


def emit(g: IRGenState, e: Call, f: Function, args: list[Value | Address]) -> Value | None:
    """A call of the intrinsic that a name stands for."""
    name = intrinsic_name(f.name)
    if name is None:
        raise IRGenError(f"unknown builtin '{f.name}'", e.place)
    values = [_fitted(g, a, _taken(g, name, a)) for a in args]
    whole = strip(f.result)
    if isinstance(whole, Record):
        return _object(g, e, f, name, values, whole)
    result = NOTHING if is_void(f.result) else g.types.value(f.result)
    made = g.call_intrinsic(name, result, values, "", ("nounwind",))
    return None if result is NOTHING else made


def _taken(g: IRGenState, name: str, a: Value | Address) -> Type | None:
    """What an argument should be by the intrinsic's name, None for what it is."""
    t = a.type if isinstance(a, Value) else None
    last = _LETTERS.get(name.rsplit(".", 1)[-1])
    if last is None or t is None or isinstance(t, PointerType) or "2" in name.split(".")[2:3][0]:
        return None
    wanted = g.types.value(last)
    return wanted if wanted.bits == t.bits else None


def _fitted(g: IRGenState, a: Value | Address, wanted: Type | None) -> Value:
    if isinstance(a, Address):
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


def _object(g: IRGenState, e: Call, f: Function, name: str, values: list[Value],
            whole: Record) -> Value:
    """An intrinsic that returns a struct: its fields one by one into a temporary."""
    fields = whole.fields or ()
    types = [g.types.memory(t.type) for t in fields]
    made = g.call_intrinsic(name, struct(types), values, "", ("nounwind",))
    place = g.alloca(f.result, "agg.tmp")
    for k, (field, _) in enumerate(zip(fields, types, strict=True)):
        part = g.builder.extract_value(made, k)
        at = g.builder.gep(place.pointer, [0, k], g.types.memory(f.result), True, field.name)
        g.builder.store(part, at, align_of(field.type))
    return place.pointer


