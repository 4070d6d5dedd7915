"""Intrinsics of LLVM that are several instructions: what the reader writes for a call.

Masked accesses become a branch for each lane, as LLVM's ScalarizeMaskedMemIntrin has it; products
and quotients of fixed point are those of twice the bits. `EXPANSIONS` is by name without the
types of the overload; a function that gives None leaves the call as it is.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nvir.ir import I1, I32, I64, Constant, Type, Value, constant
from nvir.ir import types as ty
from nvir.ir.intrinsics import arithmetic
from nvir.ir.nvvm import const, const_like
from nvir.ir.values import undef
from nvir.ir.verify.nvvm import element
from nvir.llvm.expand.upgrade import Expander, Expansion
from nvir.llvm.lexer import Stop


def _by_lane(scalar: Callable[[Expander, list[Value]], Value]) -> Expansion:
    """An expansion of vectors from one of scalars."""

    def expansion(e: Expander, given: list[Value]) -> Value:
        first = given[0].type
        if not isinstance(first, ty.VectorType):
            return scalar(e, given)
        whole, e.result = e.result, _lane_type(e.result)
        lanes = [[e.extract_element(v, k) if isinstance(v.type, ty.VectorType) else v
                  for v in given] for k in range(first.count)]
        made = [scalar(e, lane) for lane in lanes]
        e.result = whole
        if not isinstance(whole, ty.StructType):
            return e.joined(made)
        out: Value = undef(whole)
        for k in range(len(whole.elements or ())):
            out = e.insert_value(out, e.joined([e.extract_value(m, k) for m in made]), k)
        return out

    return expansion


def _lane_type(t: Type) -> Type:
    if isinstance(t, ty.StructType):
        return ty.struct([_lane_type(m) for m in t.elements or ()])
    return t.element if isinstance(t, ty.VectorType) else t


def _pair(e: Expander, *members: Value) -> Value:
    a, b = members
    return e.insert_value(e.insert_value(undef(ty.struct([a.type, b.type])), a, 0), b, 1)


# ----------------------------------------------------------------- integers


def _three_way(sign: str) -> Callable[[Expander, list[Value]], Value]:
    def scalar(e: Expander, given: list[Value]) -> Value:
        (a, b), compare = given, e.icmp_signed if sign == "s" else e.icmp_unsigned
        more, less = (e.zext(compare(how, a, b), e.result) for how in "><")
        return e.sub(more, less)

    return scalar


def _overflow(e: Expander, given: list[Value]) -> Value | None:
    """Of vectors, truth values, and products that no register of twice the bits holds exactly."""
    t, what = given[0].type, e.name.split(".")[1]
    if isinstance(t, ty.VectorType):
        return _by_lane(_scalar_overflow)(e, given)
    if t.bits == 1 or (what[1:] == "mul" and t.bits not in (8, 16, 32, 64)):
        return _scalar_overflow(e, given)
    return None


def _scalar_overflow(e: Expander, given: list[Value]) -> Value:
    (x, y), what = given, e.name.split(".")[1]
    t = x.type
    assert isinstance(t, ty.IntType)
    if t.bits == 1 or (what[1:] == "mul" and t.bits not in (8, 16, 32, 64)):
        return _pair(e, *arithmetic.in_more_bits(e, what, x, y, max(8, 2 * t.bits)))
    return e.intrinsic(f"llvm.{what}.with.overflow.{t.name}", e.result, given)


def _widened(e: Expander, sign: str, t: Type, given: list[Value]) -> tuple[Type, list[Value]]:
    """Numbers in twice their bits and at least 8."""
    wide = ty.int_type(max(8, 2 * t.bits))
    return wide, [e.sext(v, wide) if sign == "s" else e.zext(v, wide) for v in given]


def _unless_of_registers(scalar: Callable[[Expander, list[Value]], Value]) -> Expansion:
    """An expansion of truth values and of more than 64 bits; the rest has instructions."""
    every = _by_lane(scalar)

    def expansion(e: Expander, given: list[Value]) -> Value | None:
        return None if 1 < element(e.result).bits <= 64 else every(e, given)

    return expansion


def _saturating(e: Expander, given: list[Value]) -> Value:
    """By what tells of overflow."""
    t, (a, b) = given[0].type, given
    what = e.name.split(".")[1]
    if t is I1:  # as a signed number true is -1, the least
        return e.or_(a, b) if what[1:] == "add" else e.and_(a, e.not_(b)) if what[1:] == "sub" \
            else a

    def overflowing() -> tuple[Value, Value]:
        pair = e.intrinsic(f"llvm.{what}.with.overflow.{t.name}", ty.struct([t, I1]), given)
        return e.extract_value(pair, 0), e.extract_value(pair, 1)

    return arithmetic.saturating(e, what, a, b, overflowing)


def _funnel(e: Expander, given: list[Value]) -> Value:
    return arithmetic.funnel_shift(e, e.name.startswith("llvm.fshl"), *given)


def _fixed_point(e: Expander, given: list[Value]) -> Value:
    """llvm.{s,u}{mul,div}.fix[.sat] in twice the bits."""
    (a, b, scale), t = given, given[0].type
    what = e.name.split(".")[1]
    sign, n = what[0], e.number(scale)
    _inside(e, 0 <= n < t.bits + (what == "umul"))
    wide, (x, y) = _widened(e, sign, t, [a, b])
    by = const(wide, n)
    if what[1:] == "mul":
        total = e.mul(x, y)
        total = e.ashr(total, by) if sign == "s" else e.lshr(total, by)
    else:
        x = e.shl(x, by)
        total = e.sdiv(x, y) if sign == "s" else e.udiv(x, y)
        if sign == "s":  # down, as llc has it
            rest = e.icmp_signed("!=", e.srem(x, y), const(wide, 0))
            apart = e.icmp_signed("<", e.xor(x, y), const(wide, 0))
            total = e.sub(total, e.zext(e.and_(rest, apart), wide))
    if ".sat" in e.name:
        signed = sign == "s"
        most = const(wide, (1 << (t.bits - signed)) - 1)
        order = e.icmp_signed if signed else e.icmp_unsigned
        total = e.select(order(">", total, most), most, total)
        if signed:
            least = const(wide, -1 << (t.bits - 1))
            total = e.select(order("<", total, least), least, total)
    return e.trunc(total, t)


# ------------------------------------------------------------------- floats


def _ldexp(e: Expander, given: list[Value]) -> Value:
    """x · 2ⁿ, rounded once: powers of two that are numbers, so many that none of n is left."""
    x, n = given
    t: Any = x.type
    if t.bits == 16:
        x, t = e.fpext(x, ty.FLOAT), ty.FLOAT
    fraction, exponent = t.fraction, t.exponent
    top, kind = (1 << (exponent - 1)) - 1, ty.int_type(t.bits)
    bounded = _bounded(e, n, 3 * top)
    least, step = 1 - top, 1 - top + fraction + 1
    for limit, power in ((least, step), (least, step), (top, top), (top, top)):
        beyond = e.icmp_signed("<" if limit < 0 else ">", bounded, const(I32, limit))
        factor = e.select(beyond, const(t, 2.0**power), const(t, 1.0))
        x = e.fmul(x, factor)
        bounded = e.select(beyond, e.sub(bounded, power), bounded)
    bounded = e.select(e.icmp_signed("<", bounded, const(I32, least)), const(I32, least), bounded)
    bounded = e.select(e.icmp_signed(">", bounded, const(I32, top)), const(I32, top), bounded)
    biased = e.add(bounded, const(I32, top))
    bits = e.shl(e.zext(biased, kind) if t.bits > 32 else biased, const(kind, fraction))
    made = e.fmul(x, e.bitcast(bits, t))
    return made if made.type is e.result else e.fptrunc(made, e.result)


def _powi(e: Expander, given: list[Value]) -> Value | None:
    """A power whose exponent is a number, by squaring, in LLVM's order of products."""
    x, exponent = given
    if not isinstance(exponent, Constant):
        return None
    n, made, one = int(exponent.value or 0), None, const_like(x, 1.0)
    left = abs(n)
    while left:
        if left & 1:
            made = x if made is None else e.fmul(made, x)
        left >>= 1
        if left:
            x = e.fmul(x, x)
    if made is None:
        return one
    return e.fdiv(one, made) if n < 0 else made


def _bounded(e: Expander, n: Value, most: int) -> Value:
    """A number of any width between -most and most, in 32 bits."""
    if n.type.bits < 32:
        n = e.sext(n, I32)
    low, high = const(n.type, -most), const(n.type, most)
    n = e.select(e.icmp_signed("<", n, low), low, n)
    n = e.select(e.icmp_signed(">", n, high), high, n)
    return n if n.type is I32 else e.trunc(n, I32)


def _frexp(e: Expander, given: list[Value]) -> Value:
    """{fraction of 0.5 to 1, exponent}; zero, infinities and NaN are their own, with 0."""
    x = given[0]
    t: Any = x.type
    assert isinstance(e.result, ty.StructType)
    number = (e.result.elements or ())[1]
    fraction, exponent = t.fraction, t.exponent
    kind, small = ty.int_type(t.bits), ty.int_type(t.bits)
    special, mask = (1 << exponent) - 1, ((1 << exponent) - 1) << fraction
    tiny = _is_zero(e, e.and_(e.bitcast(x, kind), const(kind, mask)))
    scaled = e.select(tiny, e.fmul(x, const(t, 2.0 ** (fraction + 1))), x)
    bits = e.bitcast(scaled, kind)
    field = e.and_(e.lshr(bits, const(kind, fraction)), const(kind, special))
    middle = (1 << (exponent - 1)) - 2
    power = e.sub(field, e.select(tiny, const(small, middle + fraction + 1), const(small, middle)))
    kept = e.or_(e.and_(bits, const(kind, ~mask)), const(kind, middle << fraction))
    zero = e.fcmp_unordered("==", x, const(t, 0.0))
    plain = e.or_(zero, e.icmp_signed("==", field, const(kind, special)))
    power = e.select(plain, const(small, 0), power)
    if number.bits != t.bits:
        power = e.trunc(power, number) if number.bits < t.bits else e.sext(power, number)
    return _pair(e, e.select(plain, x, e.bitcast(kept, t)), power)


def _saturated_integer(e: Expander, given: list[Value]) -> Value:
    """llvm.fpto{s,u}i.sat of more than 64 bits."""
    x = given[0] if given[0].type is ty.DOUBLE else e.fpext(given[0], ty.DOUBLE)
    return arithmetic.saturated_integer(e, x, e.result, e.name.startswith("llvm.fptos"))


def _is_zero(e: Expander, v: Value) -> Value:
    return e.icmp_signed("==", v, const_like(v, 0))


# ------------------------------------------------------------------ vectors


def _reverse(e: Expander, given: list[Value]) -> Value:
    v = given[0]
    n = _count(v)
    return e.shuffle_vector(v, undef(v.type), tuple(reversed(range(n))))


def _splice(e: Expander, given: list[Value]) -> Value:
    a, b, at = given
    n = _count(a)
    first = e.number(at)
    _inside(e, -n <= first < n)
    first %= n
    return e.shuffle_vector(a, b, tuple(range(first, first + n)))


def _interleave(e: Expander, given: list[Value]) -> Value:
    a, b = given
    return e.shuffle_vector(a, b, tuple(x for k in range(_count(a)) for x in (k, k + _count(a))))


def _deinterleave(e: Expander, given: list[Value]) -> Value:
    v = given[0]
    return _pair(e, *(e.shuffle_vector(v, undef(v.type), tuple(range(k, _count(v), 2)))
                      for k in (0, 1)))


def _insert(e: Expander, given: list[Value]) -> Value:
    v, part, at = given
    n, m, first = _count(v), _count(part), e.number(at)
    _inside(e, first % m == 0 and first + m <= n)
    wide = e.shuffle_vector(part, undef(part.type), tuple(k if k < m else 0 for k in range(n)))
    return e.shuffle_vector(v, wide, tuple(
        n + k - first if first <= k < first + m else k for k in range(n)))


def _extract(e: Expander, given: list[Value]) -> Value:
    v, at = given
    assert isinstance(e.result, ty.VectorType)
    first, m = e.number(at), e.result.count
    _inside(e, first % m == 0 and first + m <= _count(v))
    return e.shuffle_vector(v, undef(v.type), tuple(range(first, first + m)))


def _inside(e: Expander, holds: bool) -> None:
    """Refuse a literal that leads to no place in a vector or number."""
    if not holds:
        raise Stop(f"a call of {e.name} with a literal that is too large, or between two parts",
                   e.reader.start)


def _steps(e: Expander, given: list[Value]) -> Value:
    t = e.result
    assert isinstance(t, ty.VectorType)
    return constant(t, tuple(const(t.element, k) for k in range(t.count)))


def _reduce(e: Expander, given: list[Value]) -> Value:
    first, *rest = e.lanes(given[0])
    _, word, tail = e.name.rsplit(".", 2)
    name = f"llvm.{arithmetic.EXTREMA[word]}.{re.sub(r'^v[0-9]+', '', tail)}"
    return functools.reduce(lambda a, b: e.intrinsic(name, e.result, [a, b]), rest, first)


def _partial_sum(e: Expander, given: list[Value]) -> Value:
    total, v = given
    n = _count(total)
    if element(v.type) is not element(total.type):
        e.fail()
    for k in range(0, _count(v), n):
        total = e.add(total, e.shuffle_vector(v, undef(v.type), tuple(range(k, k + n))))
    return total


def _count(v: Value) -> int:
    assert isinstance(v.type, ty.VectorType)
    return v.type.count


# ------------------------------------------------------------------- memory


def _masked(e: Expander, given: list[Value]) -> Value:
    """llvm.masked.*: a branch for each lane whose mask is no literal."""
    word = e.name.split(".")[2]
    stored = given.pop(0) if word.endswith(("store", "scatter")) else None
    dense = word in ("expandload", "compressstore")  # lanes left out have no place in memory
    align: Value = const(I32, 1) if dense else given.pop(1)
    place, mask = given[:2]
    t: Any = stored.type if stored is not None else e.result
    each = e.number(align) or 1
    if each & (each - 1):
        raise Stop(f"an alignment of {each}, which is no power of two", e.reader.start)
    if t.element.bits % 8:
        e.fail()
    if word in ("load", "store"):
        each = min(each, t.element.bits // 8 & -(t.element.bits // 8))
    # What a lane changes: the vector loaded, and the place of the next lane.
    state: list[Value] = [given[2] if stored is None else const(I32, 0), const(I32, 0)]
    for k in range(t.count):
        on = _lane(mask, k)
        if on is None:
            with _where(e, e.extract_element(mask, k), state):
                _access(e, t, place, k, stored, each, state, dense)
        elif on.value:
            _access(e, t, place, k, stored, each, state, dense)
    return state[0] if stored is None else undef(ty.VOID)


def _access(
    e: Expander, t: ty.VectorType, place: Value, k: int, stored: Value | None, align: int,
    state: list[Value], dense: bool,
) -> None:
    """Load or store lane k."""
    if isinstance(place.type, ty.VectorType):
        at = e.extract_element(place, k)
    else:
        at = e.gep(place, [state[1] if dense else k], t.element)
    if stored is not None:
        e.store(e.extract_element(stored, k), at, align)
    else:
        state[0] = e.insert_element(state[0], e.load(at, t.element, align=align), k)
    if dense:
        state[1] = e.add(state[1], 1)


@contextmanager
def _where(e: Expander, condition: Value, state: list[Value]) -> Iterator[None]:
    """Inside, write what runs where a condition holds; afterwards `state` joins both ways."""
    before, held = e.block, list(state)
    with e.if_then(condition):
        yield
        then = e.block
    for k, (new, old) in enumerate(zip(state, held, strict=True)):
        if new is not old:
            state[k] = both = e.phi(new.type)
            both.add(new, then)
            both.add(old, before)


def _lane(mask: Value, k: int) -> Constant | None:
    """The literal of one lane, where a mask is one."""
    if not isinstance(mask, Constant):
        return None
    return constant(I1, 0) if mask.value is None else mask.value[k]


def _load_relative(e: Expander, given: list[Value]) -> Value:
    base, n = given
    inside = e.load(e.gep(base, [n], ty.I8), I32, align=4)
    return e.gep(base, [e.sext(inside, I64)], ty.I8)


def _answer(x: int) -> Expansion:
    def expansion(e: Expander, given: list[Value]) -> Value:
        return constant(e.result, None) if isinstance(e.result, ty.PointerType) \
            else const(e.result, x)

    return expansion


EXPANSIONS: dict[str, Expansion] = {
    "llvm.ucmp": _by_lane(_three_way("u")),
    "llvm.scmp": _by_lane(_three_way("s")),
    **{f"llvm.{s}{what}.with.overflow": _overflow for s in "su" for what in ("add", "sub", "mul")},
    **{f"llvm.{s}{what}.sat": _unless_of_registers(_saturating)
       for s in "su" for what in ("add", "sub", "shl")},
    "llvm.fshl": _unless_of_registers(_funnel),
    "llvm.fshr": _unless_of_registers(_funnel),
    "llvm.fptosi.sat": _unless_of_registers(_saturated_integer),
    "llvm.fptoui.sat": _unless_of_registers(_saturated_integer),
    **{f"llvm.{s}{what}.fix{sat}": _by_lane(_fixed_point)
       for s in "su" for what in ("mul", "div") for sat in ("", ".sat")},
    "llvm.powi": _powi,
    "llvm.ldexp": _by_lane(_ldexp),
    "llvm.frexp": _by_lane(_frexp),
    "llvm.vector.reverse": _reverse,
    "llvm.vector.splice": _splice,
    **{f"llvm.{old}vector.{word}": how for old in ("", "experimental.")
       for word, how in (("insert", _insert), ("extract", _extract))},
    "llvm.vector.interleave2": _interleave,
    "llvm.vector.deinterleave2": _deinterleave,
    "llvm.stepvector": _steps,
    "llvm.experimental.stepvector": _steps,
    "llvm.vector.reduce.fmaximum": _reduce,
    "llvm.vector.reduce.fminimum": _reduce,
    "llvm.experimental.vector.partial.reduce.add": _partial_sum,
    **{f"llvm.masked.{word}": _masked for word in (
        "load", "store", "gather", "scatter", "expandload", "compressstore",
    )},
    "llvm.load.relative": _load_relative,
    **{f"llvm.{word}": _answer(0) for word in (
        "frameaddress", "returnaddress", "addressofreturnaddress", "get.dynamic.area.offset",
    )},
    **{f"llvm.{word}": _answer(1) for word in (
        "experimental.widenable.condition", "allow.runtime.check", "allow.ubsan.check",
        "get.rounding",
    )},
}


