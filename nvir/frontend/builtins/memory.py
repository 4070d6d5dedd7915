"""Accesses with a cache policy, copies, and questions to barrier objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.frontend import tree
from nvir.frontend.builtins.work import Work, letter
from nvir.frontend.irgen import fold
from nvir.frontend.irgen.places import memory_call, typed
from nvir.frontend.irgen.state import LValue
from nvir.frontend.tree.types import CType, Record, is_signed, strip
from nvir.ir import I1, I8, I32, I64, VOID, FloatType, Type, Value, pointer, struct
from nvir.ir.nvvm import const, declare


def _elements(w: Work, t: CType) -> tuple[list[Type], str]:
    """The elements that an access of a type moves, and how PTX spells it."""
    s = strip(t)
    fields = [f.type for f in s.fields or ()] if isinstance(s, Record) else [t]
    types = [w.g.types.memory(f) for f in fields]
    first = types[0]
    bits = first.bits or 64
    if any(x is not first for x in types) or len(types) not in (1, 2, 4) or bits > 64:
        from nvir.ir.errors import Unsupported

        raise Unsupported(f"{w.row.name} of {s!r}", where=str(w.e.place))
    kind = f"f{bits}" if isinstance(first, FloatType) and bits >= 32 else (
        f"{'s' if is_signed(strip(fields[0])) else 'u'}{bits}")
    return types, f".v{len(types)}.{kind}" if len(types) > 1 else f".{kind}"


def _wide(t: Type) -> Type:
    return I32 if t is I8 else t


def load_cached(w: Work, how: str) -> Value:
    """__ldg and __ldca … __ldcv: global memory through one cache or another."""
    assert w.t is not None
    types, spelled = _elements(w, w.t)
    p = fold.cast(w.g, "addrspacecast", w.value(0), pointer(1))
    n = len(types)
    outputs = ", ".join(f"${k}" for k in range(n))
    target = f"{{{outputs}}}" if n > 1 else outputs
    path = "ld.global.nc" if how == "nc" else f"ld.global.{how}"
    registers = [_wide(t) for t in types]
    result = struct(registers) if n > 1 else registers[0]
    made = w.asm(f"{path}{spelled} {target}, [${n}];", result, [p], how in ("cv", "lu"))
    if not isinstance(strip(w.t), Record):
        return w.fit(made, w.want)
    place = w.place()
    for k, t in enumerate(types):
        part = w.b.extract_value(made, k) if n > 1 else made
        at = w.b.gep(place.pointer, [k], t, True)
        w.b.store(w.fit(part, t), at, t.bits // 8)
    return place.pointer


def store_cached(w: Work, how: str) -> None:
    assert w.t is not None
    types, spelled = _elements(w, w.t)
    p = fold.cast(w.g, "addrspacecast", w.value(0), pointer(1))
    v = w.args[1]
    if isinstance(v, LValue):
        values = [w.b.load(w.b.gep(v.pointer, [k], t, True), t, "", t.bits // 8)
                  for k, t in enumerate(types)]
    else:
        values = [w.fit(v, types[0])]
    values = [w.fit(x, _wide(x.type)) for x in values]
    names = ", ".join(f"${k + 1}" for k in range(len(values)))
    source = f"{{{names}}}" if len(values) > 1 else names
    text = ",".join(["l", *(letter(x.type) for x in values), "~{memory}"])
    from nvir.ir.types import function_type

    kind = function_type(VOID, [p.type, *(x.type for x in values)])
    w.b.asm(kind, f"st.global.{how}{spelled} [$0], {source};", text, [p, *values], True)


def copy_memory(w: Work, how: str = "copy") -> Value:
    _memory(w, "llvm.memmove.p0.p0.i64" if how == "move" else "llvm.memcpy.p0.p0.i64",
            [w.value(0), w.value(1), w.fit(w.value(2), I64)])
    return w.value(0)


def fill_memory(w: Work) -> Value:
    byte = w.fit(w.value(1), I8)
    _memory(w, "llvm.memset.p0.i64", [w.value(0), byte, w.fit(w.value(2), I64)])
    return w.value(0)


def _memory(w: Work, name: str, args: list[Value]) -> None:
    args = [*args, const(I1, 0)]
    if w.g.options.policy == "documented":
        pointers = sum(a.type is pointer() for a in args)
        memory_call(w.g, name, args, tuple(_align(e) for e in w.e.args[:pointers]))
    else:
        w.intrinsic(name, VOID, args)


def _align(e: tree.Expr) -> int:
    """What the types say that a pointer goes through on its way to `void *`."""
    best = 1
    while True:
        t = strip(typed(e))
        to = strip(t.pointee if isinstance(t, tree.Pointer) else t)
        opaque = isinstance(to, tree.Void | tree.FunctionType)
        if not opaque and getattr(to, "fields", 0) is not None:
            best = max(best, tree.align_of(to))
        if not isinstance(e, tree.Cast):
            return best
        e = e.operand


def copy_async(w: Work) -> None:
    """__pipeline_memcpy_async(shared, global, 4 | 8 | 16, zeros): `zeros` bytes at the end are
    filled with zeros instead."""
    size = w.number(2)
    if size not in (4, 8, 16):
        from nvir.frontend.irgen.state import IRGenError

        raise IRGenError("an asynchronous copy moves 4, 8 or 16 bytes", w.e.place)
    to = fold.cast(w.g, "addrspacecast", w.value(0), pointer(3))
    source = fold.cast(w.g, "addrspacecast", w.value(1), pointer(1))
    cache = "cg" if size == 16 else "ca"
    zeros = w.fit(w.value(3), I32)
    head = f"cp.async.{cache}.shared.global [$0], [$1], {size}"
    if zeros.is_constant and getattr(zeros, "value", 1) == 0:
        w.asm(f"{head};", VOID, [to, source], True)
        return
    rest = w.b.sub(const(I32, size), zeros)
    w.asm(f"{head}, $2;", VOID, [to, source, rest], True)


def wait_group(w: Work, spelling: str) -> None:
    """A wait for all but n groups, n being part of the instruction."""
    w.asm(f"{spelling} {w.number(0)};", VOID, [], True)


def arrive_on(w: Work) -> None:
    b = fold.cast(w.g, "addrspacecast", w.value(0), pointer(3))
    w.asm("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", VOID, [b], True)


def wait_barrier(w: Work, what: str, kind: str) -> Value:
    b = fold.cast(w.g, "addrspacecast", w.value(0), pointer(3))
    parity = ".parity" if kind == "parity" else ""
    text = (f"{{ .reg .pred P; mbarrier.{what}{parity}.shared.b64 P, [$1], $2; "
            "selp.b32 $0, 1, 0, P; }")
    return w.fit(w.asm(text, I32, [b, w.value(1)], True), I1)


def to_space(w: Work, space: str) -> Value:
    p = fold.cast(w.g, "addrspacecast", w.value(0), pointer(int(space)))
    return w.fit(p, w.want)


def from_space(w: Work, space: str) -> Value:
    p = fold.cast(w.g, "inttoptr", w.value(0), pointer(int(space)))
    return fold.cast(w.g, "addrspacecast", p, pointer())


def external(w: Work, name: str) -> Value | None:
    """A function of the device's runtime."""
    args = [w.value(k) for k in range(len(w.args))]
    f = declare(w.g.module, name, w.want, [a.type for a in args])
    made = w.b.call(f, args, "" if w.want is VOID else name)
    return None if w.want is VOID else made




FUNCTIONS: dict[str, Callable[..., Any]] = {
    "load_cached": load_cached, "store_cached": store_cached, "copy_memory": copy_memory,
    "fill_memory": fill_memory, "copy_async": copy_async, "wait_group": wait_group,
    "wait_barrier": wait_barrier, "arrive_on": arrive_on, "to_space": to_space,
    "from_space": from_space, "external": external,
}
