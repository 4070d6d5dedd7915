"""The rules of inst-combine that are no table: casts of pointers, addresses, floats, members,
known bits. Each takes the run and an instruction and gives what takes its place, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeGuard

from nvir.analysis.addresses import constant_offset
from nvir.analysis.callees import memory_transfer
from nvir.analysis.promises import never_null
from nvir.ir import Instruction, OpKind, Unsupported, nvvm_form
from nvir.ir.floats import FORMATS, number
from nvir.ir.nvvm import const, const_like
from nvir.ir.text.trace import note
from nvir.ir.types import I8, I32, I64, FloatType, IntType, PointerType, Type, VectorType
from nvir.ir.values import Constant, Undef, Value, constant, undef
from nvir.passes.scalar.combine.rule_language import literal

if TYPE_CHECKING:
    from nvir.passes.scalar.combine.inst_combine import Combiner

SWAPPED = {"eq": "eq", "ne": "ne", "ult": "ugt", "ugt": "ult", "ule": "uge", "uge": "ule",
           "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle"}
MAX_CHAIN = 64  # insertvalues above each other that are looked through

RuleFunction = Callable[["Combiner", Instruction], "Value | None"]


# ----------------------------------------------------------------------- casts


def _cast_of_cast(c: Combiner, i: Instruction) -> Value | None:
    """bitcast of bitcast, casts to the type that is there, a way there and back."""
    x = i.operands[0]
    if x.type is i.type:
        return x
    if not isinstance(x, Instruction):
        return undef(i.type) if isinstance(x, Undef) else None
    name, inner = i.form.name, x.form.name
    if name == inner and i.form.kind is OpKind.COPY:
        source = x.operands[0]
        return source if source.type is i.type else c.make(name, (source,), i.type)
    if name == "inttoptr" and inner == "ptrtoint" and x.operands[0].type is i.type \
            and x.type.bits == 64:
        return x.operands[0]
    if name == "ptrtoint" and inner == "inttoptr" and x.operands[0].type is i.type:
        return x.operands[0]
    return None


def _float_there_and_back(c: Combiner, i: Instruction) -> Value | None:
    """fptrunc (fpext x) is x, rounded as it was."""
    x = i.operands[0]
    if isinstance(x, Instruction) and x.form.name == "fpext" and x.operands[0].type is i.type:
        return x.operands[0]
    return None


# ------------------------------------------------------------------- addresses


def _address(c: Combiner, i: Instruction) -> Value | None:
    """A gep of nothing is its base; one of constants a number of bytes, joined with that below."""
    try:
        distance = constant_offset(i)
    except Unsupported:
        return None
    base = i._operands[0]
    if distance is None or i.type is not base.type:
        return None
    if distance == 0:
        return base
    inner = base if isinstance(base, Instruction) and base.form.name == "getelementptr" else None
    below = constant_offset(inner) if inner is not None else None
    if inner is not None and below is not None:
        both = "inbounds" in i.form.mods and "inbounds" in inner.form.mods
        spelling = "getelementptr inbounds" if both else "getelementptr"
        operands = (inner.operands[0], constant(I64, distance + below))
        return c.make(spelling, operands, i.type, I8)
    if i.aux is I8 and len(i.operands) == 2 and i.operands[1].type is I64:
        return None
    i.set_operands((base, constant(I64, distance)))
    i.aux = I8
    return i


# ---------------------------------------------------------------------- floats


def _float_identity(c: Combiner, i: Instruction) -> Value | None:
    """x·1, x/1, x - 0, x + -0 are x (and x + 0 where the sign of zero does not matter); -0 - x is
    -x, as LLVM had it before fneg."""
    x, y = i.operands
    name, mods = i.form.name, i.form.mods
    if name == "fsub" and isinstance(x, Constant) and x is const_like(x, -0.0):
        return c.make("fneg", (y,), i.type)
    if not isinstance(y, Constant) or not isinstance(i.type, FloatType):
        return None
    factor = _number(y)
    if factor is None:
        return None
    negative = y.value >> (i.type.bits - 1) == 1
    nsz = "nsz" in mods or "fast" in mods
    if factor == 0:
        if name == "fadd" and (negative or nsz):
            return x
        if name == "fsub" and (not negative or nsz):
            return x
        return None
    scales = i.form.kind in (OpKind.MULTIPLY, OpKind.DIVIDE)
    if scales and factor == 1.0:
        return x
    if scales and factor == -1.0:
        return c.make("fneg", (x,), i.type)
    if name == "fdiv":
        return _by_reciprocal(c, i, x, factor)
    return None


def _by_reciprocal(c: Combiner, i: Instruction, x: Value, divisor: float) -> Value | None:
    """x / 2^k is x · 2^-k exactly where both are normal numbers."""
    limits = {"half": 14, "bfloat": 126, "float": 126, "double": 1022}
    mantissa, exponent = math.frexp(abs(divisor))
    limit = limits.get(i.type.name)
    if limit is None or mantissa != 0.5 or abs(exponent - 1) > limit:
        return None
    return c.make(" ".join(("fmul", *i.form.mods)), (x, const(i.type, 1.0 / divisor)), i.type)


def _number(x: Constant) -> float | None:
    name = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}.get(x.type.name)
    return None if name is None or x.value is None else number(FORMATS[name], x.value)


def _negation(c: Combiner, i: Instruction) -> Value | None:
    """-(-x) is x; -(a - b) is b - a where the sign of zero does not matter."""
    x = i.operands[0]
    if not isinstance(x, Instruction):
        return None
    if x.form.name == "fneg":
        return x.operands[0]
    nsz = "nsz" in i.form.mods or "fast" in i.form.mods
    if x.form.name == "fsub" and x.use_count == 1 and nsz:
        return c.make(x.form.spelling, (x.operands[1], x.operands[0]), i.type)
    return None


def _of_negation(c: Combiner, i: Instruction) -> Value | None:
    """a - (-b) is a + b, a + (-b) is a - b, (-a)·(-b) is a·b; exact, signs of NaNs aside."""
    a, b = i.operands
    name = i.form.name
    flags = i.form.mods
    if name == "fsub" and _is(b, "fneg"):
        return c.make(" ".join(("fadd", *flags)), (a, b.operands[0]), i.type)
    if name == "fadd" and _is(b, "fneg"):
        return c.make(" ".join(("fsub", *flags)), (a, b.operands[0]), i.type)
    if i.form.kind in (OpKind.MULTIPLY, OpKind.DIVIDE) and _is(a, "fneg") and _is(b, "fneg"):
        return c.make(i.form.spelling, (a.operands[0], b.operands[0]), i.type)
    return None


def _compare_floats(c: Combiner, i: Instruction) -> Value | None:
    """`false` and `true`; of a value with itself; of an integer as a float with 0, which is one
    with 0 itself."""
    x, y = i.operands
    predicate = i.form.mods[0]
    if predicate in ("false", "true"):
        return const_like(i, -(predicate == "true"))
    if i.type.bits != 1:
        return None
    if x is y and predicate in ("olt", "ogt", "one", "ult", "ugt", "une", "ueq", "ule", "uge",
                                "oeq", "ole", "oge"):
        if predicate in ("olt", "ogt", "one"):
            return literal(i.type, 0)
        if predicate in ("ueq", "ule", "uge"):
            return literal(i.type, 1)
        kind = "uno" if predicate[0] == "u" else "ord"
        return c.make(f"fcmp {kind}", (x, y), i.type)
    if predicate in ("ord", "uno") and x is y and (_is(x, "sitofp") or _is(x, "uitofp")):
        return literal(i.type, predicate == "ord")
    if not (_is(x, "sitofp") or _is(x, "uitofp")) or not isinstance(y, Constant):
        return None
    n = x.operands[0]
    if _number(y) != 0 or predicate[1:] not in _SIGNS or not isinstance(n.type, IntType):
        return None
    sign = "s" if x.form.name == "sitofp" else "u"
    relation = predicate[1:] if predicate[1:] in ("eq", "ne") else sign + predicate[1:]
    return c.make(f"icmp {relation}", (n, literal(n.type, 0)), i.type)


_SIGNS = ("eq", "ne", "lt", "le", "gt", "ge")


def _is(v: Value, name: str) -> TypeGuard[Instruction]:
    return v.__class__ is Instruction and v.form.name == name


# --------------------------------------------------------------------- members


def _extracted(c: Combiner, i: Instruction) -> Value | None:
    """The member that was put in, through members that were not asked for."""
    path = i.aux
    v = i.operands[0]
    for _ in range(MAX_CHAIN):
        if isinstance(v, Undef):
            return undef(i.type)
        if not isinstance(v, Instruction) or v.form.name != "insertvalue":
            break
        put = v.aux
        if put == path:
            return v.operands[1]
        if put[: len(path)] == path:  # a member of the member asked for
            break
        if path[: len(put)] == put:
            return c.make("extractvalue", (v.operands[1],), i.type, path[len(put) :])
        v = v.operands[0]
    if isinstance(v, Constant) and v.value.__class__ is tuple and len(path) == 1:
        member = v.value[path[0]]
        return member if isinstance(member, Value) else None
    if v is i.operands[0]:
        return None
    return c.make("extractvalue", (v,), i.type, path)


def _lane(c: Combiner, v: Value, index: Constant) -> Value:
    """An element of a vector; a value that is for all elements itself."""
    if not isinstance(v.type, VectorType):
        return v
    if isinstance(v, Constant):
        members = v.value
        return members[index.value] if isinstance(members, tuple) else constant(
            v.type.element, None if isinstance(v.type.element, PointerType) else 0)
    return c.make("extractelement", (v, index), v.type.element)


def _bits_at(c: Combiner, v: Value, index: Value, t: Type) -> Value | None:
    """An element at any index of a number in more than two parts: the number shifted."""
    of = v.operands[0] if _is(v, "bitcast") else v
    size, whole = t.bits, of.type
    if not (isinstance(whole, IntType) and isinstance(t, IntType) and whole.bits in (8, 16, 32, 64)
            and size * 2 < whole.bits and size & (size - 1) == 0):
        return None
    if index.type is not whole:
        cast = "zext" if index.type.bits < whole.bits else "trunc"
        index = c.make(cast, (index,), whole)
    if size > 1:
        index = c.make("shl", (index, constant(whole, size.bit_length() - 1)), whole)
    return c.make("trunc", (c.make("lshr", (of, index), whole),), t)


def _element(c: Combiner, i: Instruction) -> Value | None:
    """The element of a vector that was put in."""
    v, index = i.operands
    if not isinstance(index, Constant):
        return _bits_at(c, v, index, i.type)
    for _ in range(MAX_CHAIN):
        if not isinstance(v, Instruction) or v.form.name != "insertelement":
            break
        at = v.operands[2]
        if not isinstance(at, Constant):
            break
        if at.value == index.value:
            return v.operands[1]
        v = v.operands[0]
    if isinstance(v, Undef):
        return undef(i.type)
    if isinstance(v, Instruction) and v.form.name == "getelementptr":  # of each address its own
        lanes = tuple(_lane(c, x, index) for x in v.operands)
        return c.make(v.form.spelling, lanes, i.type, v.aux)
    return None if v is i.operands[0] else c.make("extractelement", (v, index), i.type)


# --------------------------------------------------------------------- selects


def _select(c: Combiner, i: Instruction) -> Value | None:
    """A select on a literal or between equals, of any type."""
    cond, x, y = i.operands
    if x is y or isinstance(y, Undef):
        return x
    if isinstance(x, Undef):
        return y
    if isinstance(cond, Constant) and cond.value.__class__ is int:
        return x if cond.value else y
    if _is(cond, "xor") and isinstance(cond.operands[1], Constant):
        v = cond.operands[1].value
        if v.__class__ is int and v & 1 and cond.type.bits == 1:
            return c.make("select", (cond.operands[0], y, x), i.type)
    return None


# ------------------------------------------------------------------ known bits


def _nonnegative(c: Combiner, v: Value) -> bool:
    return bool(c.bits.zeros(v) >> (v.type.bits - 1) & 1)


def _unsigned(c: Combiner, i: Instruction) -> Value | None:
    """Signed operations on numbers that are not negative are unsigned ones."""
    if not isinstance(i.type, IntType):
        return None
    name = i.form.name
    a = i.operands[0]
    if name == "sext":
        return c.make("zext", (a,), i.type) if a.type.bits > 1 and _nonnegative(c, a) else None
    if name == "ashr":
        return c.make("lshr", i.operands, i.type) if _nonnegative(c, a) else None
    if not (_nonnegative(c, i.operands[1]) and _nonnegative(c, a)):
        return None
    exact = " exact" if "exact" in i.form.mods else ""
    return c.make(f"u{name[1:]}{exact}", i.operands, i.type)


def _narrow_division(c: Combiner, i: Instruction) -> Value | None:
    """A division of 64 bits whose operands fit in 32: the machine has a short sequence for it."""
    if i.type is not I64:
        return None
    if any(c.bits.zeros(v) >> 32 != (1 << 32) - 1 for v in i.operands):
        return None
    x, y = (_low_half(c, v) for v in i.operands)
    return c.make("zext", (c.make(i.form.spelling, (x, y), I32),), I64)


def _low_half(c: Combiner, v: Value) -> Value:
    return literal(I32, v.value) if isinstance(v, Constant) else c.make("trunc", (v,), I32)


def _mask(c: Combiner, i: Instruction) -> Value | None:
    """A mask that keeps all bits that may be set is not needed; one that keeps none is 0."""
    x, m = i.operands
    if not isinstance(m, Constant) or not isinstance(i.type, IntType):
        return None
    full = (1 << i.type.bits) - 1
    zeros = c.bits.zeros(x)
    kept = m.value & full
    if kept | zeros == full:
        return x
    if kept & ~zeros == 0:
        return literal(i.type, 0)
    return None


def _disjoint(c: Combiner, i: Instruction) -> Value | None:
    """An xor of numbers without a common bit is their or."""
    if not isinstance(i.type, IntType) or i.type.bits == 1:
        return None
    x, y = i.operands
    if not c.bits.disjoint(x, y):
        return None
    return c.make("or", (x, y), i.type)


def _compare(c: Combiner, i: Instruction) -> Value | None:
    """Comparisons with a literal beyond what the bits allow are decided; signed ones of
    numbers that are not negative are unsigned."""
    x, y = i.operands
    if not isinstance(x.type, IntType):
        return _compare_pointers(c, i)
    predicate = i.form.mods[0]
    bits = x.type.bits
    if isinstance(y, Constant):
        most = ((1 << bits) - 1) & ~c.bits.zeros(x)
        value = y.value & ((1 << bits) - 1)
        signed = predicate[0] == "s"
        if signed and (value >> (bits - 1) or most >> (bits - 1)):
            if not most >> (bits - 1):  # x >= 0 > y
                return literal(i.type, predicate in ("sgt", "sge"))
            return None
        if most < value:
            return literal(i.type, predicate[-2:] in ("lt", "le", "ne"))
        if signed and bits > 1:
            return c.make(f"icmp u{predicate[1:]}", (x, y), i.type)
        return None
    if predicate[0] == "s" and bits > 1 and _nonnegative(c, x) and _nonnegative(c, y):
        return c.make(f"icmp u{predicate[1:]}", (x, y), i.type)
    return None


def _compare_pointers(c: Combiner, i: Instruction) -> Value | None:
    x, y = i.operands
    if not isinstance(x.type, PointerType):
        return None
    predicate = i.form.mods[0]
    if x is y:
        return literal(i.type, predicate in ("eq", "ule", "uge", "sle", "sge"))
    if predicate in ("eq", "ne") and any(
        isinstance(a, Constant) and a.value is None and never_null(b, c.function)
        for a, b in ((x, y), (y, x))
    ):
        return literal(i.type, predicate == "ne")
    return None


# ---------------------------------------------------------------------- effects


def _nothing(c: Combiner, i: Instruction) -> Value | None:
    """Copies of no bytes, or onto themselves, do nothing."""
    t = memory_transfer(i)
    if t is None or t.volatile or t.target.type is None:
        return None
    empty = isinstance(t.size, Constant) and t.size.value == 0
    if empty:
        note("MEM-25", "length of zero", "nothing is copied")
    if empty or t.target is t.source:
        c.discard(i)
    return None


def _store_of_nothing(c: Combiner, i: Instruction) -> Value | None:
    """A store of an undefined value may leave what is there."""
    if isinstance(i.operands[0], Undef) and i.form is nvvm_form("store"):
        c.discard(i)
    return None


def _frozen(c: Combiner, i: Instruction) -> Value | None:
    x = i.operands[0]
    if isinstance(x, Constant) or (isinstance(x, Instruction) and x.form.name == "freeze"):
        return x
    return None


RULES_BY_ROW: dict[str, tuple[RuleFunction, ...]] = {
    "bitcast": (_cast_of_cast,), "addrspacecast": (_cast_of_cast,), "inttoptr": (_cast_of_cast,),
    "ptrtoint": (_cast_of_cast,), "fptrunc": (_float_there_and_back,),
    "getelementptr": (_address,),
    "fadd": (_float_identity, _of_negation), "fsub": (_float_identity, _of_negation),
    "fmul": (_float_identity, _of_negation), "fdiv": (_float_identity, _of_negation),
    "fneg": (_negation,), "fcmp": (_compare_floats,),
    "extractvalue": (_extracted,), "extractelement": (_element,), "select": (_select,),
    "sext": (_unsigned,), "ashr": (_unsigned,), "sdiv": (_unsigned,), "srem": (_unsigned,),
    "udiv": (_narrow_division,), "urem": (_narrow_division,),
    "and": (_mask,), "xor": (_disjoint,), "icmp": (_compare,),
    "call": (_nothing,), "store": (_store_of_nothing,), "freeze": (_frozen,),
}
