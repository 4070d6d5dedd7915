"""Calls, in the order of the notes' phases.

     1 type       the callee's, through typedefs and a pointer to its routine type
     2 builtin    a function that the compiler knows: `builtins` lowers it
     3 special    the four intrinsic numbers that bypass the ABI
       callee     its value, for a call through a pointer
     4 args       evaluated in order, or from right to left; they stand in their own slots
     5 classify   `abi.classify`; a hidden first argument for sret; each argument as its kind asks
     6 fold       a cast of a function to the call's own type is the function itself
     7 debugloc   then printf, which goes its own way
     8 bundle     preserve_n_data, _control, _after
     9 emit       the call, its attributes
    10 return     the value; `agg.tmp` or the sret place; pieces put together

    emit_call(g, e)                the value of a call: a scalar, the address for a result of
                                   reference type, None for void
    emit_call_aggregate(g, e, to)  a call that gives an object: the place where it lies, `to`
                                   where that is given

`g.events` lists the phases that ran. Both sides of a call ask `abi.classify`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from nvir.frontend import tree
from nvir.frontend.irgen import fold
from nvir.frontend.irgen.abi import ABI, Kind, Passing, classify
from nvir.frontend.irgen.function_symbols import function_symbol
from nvir.frontend.irgen.intrinsic.printf import emit_printf
from nvir.frontend.irgen.places import copy, emit_lvalue, generic, typed
from nvir.frontend.irgen.state import LValue, Refused
from nvir.frontend.irgen.walk import emit_aggregate, emit_builtin, emit_value
from nvir.ir import I1, I8, VOID, Instruction, StructType, Type, Value, pointer
from nvir.ir.function import Function as IRFunction
from nvir.ir.nvvm_values import NvvmCall
from nvir.ir.text.trace import note, step

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

BUNDLES = ("preserve_n_data", "preserve_n_control", "preserve_n_after")
# Numbers of the real front end's intrinsics that its special handler takes.
SURFACE_PRIMITIVE, WARP_FIRST, WARP_SECOND, SPECIAL_RETURN = 10214, 10219, 10227, 15752


@step("CAL-03", "3 special", "number")
def is_special_intrinsic(number: int) -> bool:
    """Whether an intrinsic number bypasses the ABI: a surface primitive, the two of a warp (eight
    apart: one bit), and one that returns in its own way."""
    warp = (number - WARP_FIRST) & ~(WARP_SECOND - WARP_FIRST) == 0
    return warp or number in (SURFACE_PRIMITIVE, SPECIAL_RETURN)


# ------------------------------------------------------------------ 1 the type


@step("CAL-01", "1 type", "e.type")
def callee_type(e: tree.Expr) -> tree.FunctionType:
    """The function type behind a callee, through typedefs and a pointer."""
    t = tree.strip(typed(e))
    if isinstance(t, tree.FunctionType):
        return t
    if not isinstance(t, tree.Pointer):
        raise Refused("Expected pointer to function!", e.place)
    t = tree.strip(t.pointee)
    if not isinstance(t, tree.FunctionType):
        raise Refused("unexpected: Callee does not have routine type!", e.place)
    return t


def direct_callee(e: tree.Call) -> tree.Function | None:
    """The declaration that is called, where it is called by name."""
    return _named(e.callee)


def _named(e: tree.Expr) -> tree.Function | None:
    return e.decl if isinstance(e, tree.Name) and isinstance(e.decl, tree.Function) else None


# -------------------------------------------------------------------- the ways


def emit_call(g: IRGenState, e: tree.Call) -> Value | None:
    """A call whose result is a scalar, a reference or nothing."""
    t, other = _other_way(g, e)
    if other is not None:
        return other[0]
    made, abi, _ = _emit(g, e, t, None)
    g.events.append("return")
    return made if abi is None else _returned(g, made, abi)


def emit_call_aggregate(g: IRGenState, e: tree.Call, to: LValue | None) -> LValue:
    """A call that gives an object, left at `to` or in a temporary."""
    t = typed(e)
    of, other = _other_way(g, e)
    if other is not None:
        assert other[0] is not None
        return LValue(other[0], t, tree.align_of(t))
    if to is not None and (to.volatile or tree.is_volatile(t)):
        to = None
    if to is None and g.options.policy == "observed":  # as cicc does, before the arguments
        to = _temporary(g, t, classify(g.types, of, g.options.policy))
    made, abi, to = _emit(g, e, of, to)
    g.events.append("return")
    assert abi is not None
    assert abi.result is not None
    to = to or _temporary(g, t, abi)
    if abi.sret:
        note("CAL-15", "10 result", to.pointer, kind=abi.result.kind)
    else:
        _put_result(g, made, abi.result, to)
    return to


def _temporary(g: IRGenState, t: tree.CType, abi: ABI) -> LValue:
    return g.alloca(t, "tmp" if abi.sret else "agg.tmp")


@step("CAL-02", "2 builtin", "f")
def is_builtin(f: tree.Function, documented: bool) -> bool:
    return bool(f.attributes.builtin or (documented and f.attributes.noted_builtin))


def _other_way(
    g: IRGenState, e: tree.Call
) -> tuple[tree.FunctionType, tuple[Value | None] | None]:
    """Phases 1 to 3: the callee's type, and the result of a builtin or a special intrinsic, None
    for other calls."""
    g.events.append("type")
    t = callee_type(e.callee)
    f = direct_callee(e)
    if f is None:
        return t, None
    if is_builtin(f, g.options.policy == "documented"):
        g.events.append("builtin")
        return t, (emit_builtin(g, e, f),)
    if is_special_intrinsic(f.attributes.intrinsic):
        g.events.append("special")
        return t, (_special(g, e, f),)
    return t, None


@step("CAL-03", "3 special call", "f")
def _special(g: IRGenState, e: tree.Call, f: tree.Function) -> Value | None:
    """Arguments as they are, objects by address; nothing is classified. The one that returns in
    its own way leaves its object where its first argument points."""
    from nvir.ir.nvvm import declare

    args: list[Value] = []
    for a in e.args:
        whole = isinstance(tree.strip(typed(a)), tree.Record)
        args.append(generic(g, emit_aggregate(g, a).pointer) if whole else emit_value(g, a))
    t = typed(e)
    whole = isinstance(tree.strip(t), tree.Record)
    place = g.alloca(t, "agg.tmp") if whole else None
    returns = f.attributes.intrinsic == SPECIAL_RETURN and place is not None
    if returns and place is not None:
        args.insert(0, place.pointer)
    result = VOID if tree.is_void(t) or returns else g.types.memory(t)
    callee = declare(g.module, f.symbol, result, [a.type for a in args], ("nounwind",))
    made = g.builder.call(callee, args, "" if result is VOID else f.symbol)
    if place is None:
        return None if result is VOID else made
    if not returns:
        g.builder.store(made, place.pointer, place.align)
    return place.pointer


# --------------------------------------------------------------- the main road


def _emit(
    g: IRGenState, e: tree.Call, t: tree.FunctionType, to: LValue | None
) -> tuple[Value, ABI | None, LValue | None]:
    """Phases 4 to 9, and where the result lies by now. The ABI is None where printf has gone its
    own way."""
    f = direct_callee(e)
    g.events.append("callee")
    callee = _callee(g, e, f)
    # the notes' flag of a call: "variadic or reversed-evaluation convention"
    given = evaluated(g, e, t, e.reversed_order or (
        t.variadic and g.options.policy == "documented"))
    g.events.append("classify")
    abi = classified(g, t if f is None else f)
    args: list[Value] = []
    if abi.sret:
        g.events.append("sret")
        given_to = to is not None
        to = to or _temporary(g, typed(e), abi)
        args.append(generic(g, to.pointer))
        note("CAL-07", "5 struct return", args[0], place_given=given_to)
    g.events.append("fixup")
    args += [
        _slot(g, a, v, abi.params[k] if k < len(abi.params) else None)
        for k, (a, v) in enumerate(zip(e.args, given, strict=True))
    ]
    g.events.append("fold")
    direct = folded(callee, args, abi)
    _debug_location(g, e)
    if f is not None and is_printf(f):
        g.events.append("printf")
        return emit_printf(g, e, given), None, None
    g.events.append("bundle")
    bundles = _bundles(_preserved(g, e, f))
    g.events.append("emit")
    made = _build(g, callee, direct, args, abi, bundles)
    g.events.append("attributes")
    words = _attributes(abi, len(args))
    _attach(made, words, () if direct else _alignments(e, abi))
    return made, abi, to


@step("CAL-11", "7 printf", "f")
def is_printf(f: tree.Function) -> bool:
    return f.name == "printf" and f.body is None


def _callee(g: IRGenState, e: tree.Call, f: tree.Function | None) -> Value:

    if f is not None:
        return function_symbol(g.shared, f) if f.name != "printf" or f.body else _nothing()
    by_name = isinstance(tree.strip(typed(e.callee)), tree.FunctionType)  # `(*f)(…)`
    return emit_lvalue(g, e.callee).pointer if by_name else emit_value(g, e.callee)


def _nothing() -> Value:
    """printf itself is never called, so it is not declared."""
    from nvir.ir.values import undef

    return undef(pointer())


@step("CAL-10", "7 location", "e.place")
def _debug_location(g: IRGenState, e: tree.Call) -> None:
    g.events.append("debugloc")
    g.at(e.place)


# ------------------------------------------------------------------ 4 arguments


@step("CAL-04", "4 arguments", "t", "reverse")
def evaluated(
    g: IRGenState, e: tree.Call, t: tree.FunctionType, reverse: bool
) -> list[Value | LValue]:
    """The arguments, evaluated in order or from right to left; they are listed in their own order
    either way. Objects are places, references addresses."""
    g.events.append("args")
    numbers = range(len(e.args))
    if reverse:
        g.events.append("reverse")
    order = reversed(numbers) if reverse else numbers
    made = {k: _value(g, e.args[k], t.params[k] if k < len(t.params) else None) for k in order}
    return [made[k] for k in numbers]


def _value(g: IRGenState, e: tree.Expr, wanted: tree.CType | None) -> Value | LValue:

    if wanted is not None and isinstance(tree.strip(wanted), tree.Reference):
        return generic(g, emit_lvalue(g, e).pointer)
    if isinstance(tree.strip(typed(e)), tree.Record):
        return emit_aggregate(g, e)
    return emit_value(g, e)


# ------------------------------------------------------------------ 5 as slots


@step("CAL-05", "5 classify", "f")
def classified(g: IRGenState, f: tree.FunctionType | tree.Function) -> ABI:
    """How each argument and the result pass."""
    return classify(g.types, f, g.options.policy)


@step("CAL-06", "5 slot", "p")
def _slot(g: IRGenState, e: tree.Expr, v: Value | LValue, p: Passing | None) -> Value:
    """What is passed for an evaluated argument."""
    if not isinstance(v, LValue):
        if p is not None and p.kind is Kind.INDIRECT:
            message = "Non-aggregate arguments passed indirectly are not supported!"
            raise Refused(message, e.place)
        memory = g.types.memory(typed(e))
        return fold.cast(g, "zext", v, memory, "frombool") if v.type is I1 else v
    if p is not None and p.kind is Kind.DIRECT and p.byval:
        tmp = g.alloca(v.type, "byval-temp")
        copy(g, tmp, v)
        return tmp.pointer
    if p is None or p.kind is Kind.DIRECT:
        t = g.types.memory(v.type)
        return g.builder.load(v.pointer, t, "", v.align, v.volatile)
    if p.kind in (Kind.INDIRECT, Kind.BYVAL):  # of the second the callee makes the copy
        return generic(g, v.pointer)
    note("CAL-08", "5 expand", p.ir, argument=v.pointer)
    return g.builder.load(v.pointer, p.ir, "coerce", v.align, v.volatile)


# -------------------------------------------------------------------- 6 folding


@step("CAL-09", "6 folded", "callee")
def folded(callee: Value, args: Sequence[Value], abi: ABI) -> IRFunction | None:
    """The function that a call calls itself, through a cast too: its signature is the call's, type
    by type. None for a call by pointer, with the type that the function was cast to."""
    if not isinstance(callee, IRFunction) or callee.return_type is not abi.result_type:
        return None
    types = [a.type for a in callee.arguments]
    given = [a.type for a in args]
    return callee if types == (given[: len(types)] if abi.variadic else given) else None


# --------------------------------------------------------------- 8, 9 the call


@step("CAL-14", "9 emit", "direct", "args", "bundles")
def _build(
    g: IRGenState, callee: Value, direct: IRFunction | None, args: list[Value], abi: ABI,
    bundles: tuple[tuple[str, int], ...],
) -> Instruction:
    """The call itself, under its callee's name or that of calls."""
    operands = args if direct else [callee, *args]
    name = "" if abi.result_type is VOID else str(direct.name) if direct else "call"
    info = NvvmCall(len(operands), callee=direct, bundles=bundles)
    return g.builder.insert("call", operands, abi.result_type, name, info)


def _attach(
    made: Instruction, words: tuple[tuple[object, ...], ...], alignments: tuple[int, ...]
) -> None:
    """Put attributes, and `callalign` of a call through a pointer, on a call."""
    made.aux = attrs.evolve(made.aux, arguments=words, callalign=alignments)


def _preserved(g: IRGenState, e: tree.Call, f: tree.Function | None) -> tuple[int, int, int]:
    """What the call says, else under policy documented what its callee's declaration does."""
    if f is None or g.options.policy != "documented" or max(e.preserve) >= 0:
        return e.preserve
    return f.attributes.preserve


@step("CAL-12", "8 bundles", "preserve")
def _bundles(preserve: tuple[int, int, int]) -> tuple[tuple[str, int], ...]:
    return tuple((tag, n) for tag, n in zip(BUNDLES, preserve, strict=True) if n >= 0)


@step("CAL-13", "9 attributes", "abi.params", "abi.sret", "count")
def _attributes(abi: ABI, count: int) -> tuple[tuple[object, ...], ...]:
    """Those of each of the arguments, the hidden one of sret before the others."""
    words = tuple(p.attributes for p in abi.params)
    if abi.sret and abi.result is not None:
        words = (abi.result.attributes, *words)
    return words + ((),) * (count - len(words))


@step("CAL-16", "10 callalign", "abi.result")
def _alignments(e: tree.Call, abi: ABI) -> tuple[int, ...]:
    """`callalign`: the result's alignment (0 for none), then each argument's."""
    result = tree.align_of(abi.result.type) if abi.result is not None else 0
    return (result, *(tree.align_of(typed(a)) for a in e.args))


# ------------------------------------------------------------------- 10 results


@step("CAL-15", "10 value", "made", "abi.result")
def _returned(g: IRGenState, made: Value, abi: ABI) -> Value | None:
    """What a call gives that is no object."""
    if abi.result is None:
        return None
    if g.types.value(abi.result.type) is I1:
        return fold.cast(g, "trunc", made, I1, "tobool")
    return made


@step("CAL-15", "10 result", "p.kind", tell=lambda made, g, v, p, to: to.pointer)
def _put_result(g: IRGenState, made: Value, p: Passing, to: LValue) -> None:
    if p.kind is not Kind.COERCE or not isinstance(made.type, StructType):
        g.builder.store(made, to.pointer, to.align)
        return
    at = 0
    note("CAL-08", "10 expand", made.type.elements, result=made)
    for k, t in enumerate(made.type.elements or ()):
        part = g.builder.extract_value(made, k, "coerce")
        _store_at(g, part, t, to, at)
        at += t.bits // 8


def _store_at(g: IRGenState, v: Instruction, t: Type, to: LValue, offset: int) -> None:
    place = g.builder.gep(to.pointer, [offset], I8, True, "coerce.at") if offset else to.pointer
    align = min(to.align, offset & -offset) if offset else to.align
    g.builder.store(v, place, align)
