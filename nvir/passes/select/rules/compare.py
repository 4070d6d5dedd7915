"""Comparison and selection: icmp, fcmp, select."""

from __future__ import annotations

from nvir.ir import (
    PRED,
    Constant,
    Instruction,
    IntType,
    PointerType,
    Type,
    Unsupported,
    Value,
    VectorType,
)
from nvir.ir.opcodes.nvvm import FLOAT_TESTS, INT_TESTS
from nvir.passes.select.lanes import Rule, by_element
from nvir.passes.select.parts import parts
from nvir.passes.select.rules.bits import absolute, extremum
from nvir.passes.select.rules.floating import as_float
from nvir.passes.select.rules.integer import sext, words, zext
from nvir.passes.select.rules.wide import below, equal
from nvir.passes.select.selector import Parts, Selector, predicate, width

# PTX's names; those with u hold where an operand is NaN.
_FLOAT = {
    "oeq": "eq", "ogt": "gt", "oge": "ge", "olt": "lt", "ole": "le", "one": "ne", "ord": "num",
    "ueq": "equ", "ugt": "gtu", "uge": "geu", "ult": "ltu", "ule": "leu", "une": "neu",
    "uno": "nan",
}


def condition(i: Instruction) -> str:
    """The predicate among an instruction's flags."""
    for m in i.form.mods:
        if m in INT_TESTS or m in FLOAT_TESTS:
            return m
    raise Unsupported(f"{i.form.spelling}: no predicate")


def _icmp(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    how = condition(i)
    if t.bits == 1:
        return (_of_bits(s, how, args[0][0], args[1][0]),)
    if t.bits > 64:
        return (_of_words(s, how, t, args[0], args[1]),)
    a, b = args[0][0], args[1][0]
    bits = 64 if isinstance(t, PointerType) else t.bits
    extend = sext if how[0] == "s" else zext
    a, b = extend(s, a, bits), extend(s, b, bits)
    w = 64 if bits == 64 else width(t)
    kind = how[0] if how not in ("eq", "ne") else "s"
    if isinstance(a, Constant):
        a = s.reg(a, f"b{w}")
    return (s.op(f"setp.{how[-2:]}.{kind}{w}", a, b),)


def _of_bits(s: Selector, how: str, a: Value, b: Value) -> Value:
    """Of predicates; as a signed number true is -1."""
    if how in ("eq", "ne"):
        differ = s.op("xor.pred", a, b)
        return differ if how == "ne" else s.op("not.pred", differ)
    greater = how in ("ugt", "uge", "slt", "sle")  # where a is the one that is set
    small, large = (b, a) if greater else (a, b)
    if how in ("ugt", "ult", "sgt", "slt"):
        return s.op("and.pred", large, s.op("not.pred", small))
    return s.op("or.pred", large, s.op("not.pred", small))


def _of_words(s: Selector, how: str, t: Type, a: Parts, b: Parts) -> Value:
    kind = "s" if how[0] == "s" else "u"
    a, b = (words(s, t, x, "s" if kind == "s" else "z") for x in (a, b))
    if how in ("eq", "ne"):
        return equal(s, how, a, b)
    if how[-2] == "g":
        a, b = b, a
    return below(s, a, b, kind, or_equal=how[-1] == "e")


def _fcmp(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    how = condition(i)
    if how in ("true", "false"):
        return (predicate(how == "true"),)
    kind, a = as_float(s, t, args[0][0])
    _, b = as_float(s, t, args[1][0])
    ftz = ".ftz" if s.options.ftz and kind == "f32" else ""
    return (s.op(f"setp.{_FLOAT[how]}{ftz}.{kind}", a, b),)


# ------------------------------------------------------------------- select


def chosen(s: Selector, p: Value, a: Value, b: Value, reg: str) -> Value:
    """a where p, else b, of one register."""
    if a is b:
        return a
    if isinstance(p, Constant):
        return a if p.value else b
    if reg != "pred":
        return s.op(f"selp.{reg}", a, b, p)
    if isinstance(a, Constant) and isinstance(b, Constant):
        return p if a.value else s.op("not.pred", p)
    if isinstance(b, Constant) and not b.value:
        return s.op("and.pred", p, a)
    if isinstance(a, Constant) and a.value:
        return s.op("or.pred", p, b)
    taken, left = s.op("and.pred", p, a), s.op("and.pred", s.op("not.pred", p), b)
    return s.op("or.pred", taken, left)


def _comparison(i: Instruction, most: int) -> Instruction | None:
    """What decides a select of integers of up to so many bits, where integers are compared."""
    c, t = i.operands[0], i.type
    fits = isinstance(t, IntType) and 1 < t.bits <= most
    return c if fits and isinstance(c, Instruction) and c.form.name == "icmp" else None


def _extremum(s: Selector, i: Instruction) -> Value | None:
    """The smaller or larger of two numbers of up to 32 bits, as older producers write it."""
    t, c = i.type, _comparison(i, 32)
    if c is None:
        return None
    (_, a, b), how, (x, y) = i.operands, condition(c), c.operands
    if how in ("eq", "ne") or not (
            (same(x, a) and same(y, b)) or (same(x, b) and same(y, a))):
        return None
    least = (how[1] == "l") == same(x, a)
    return extremum(s, how[0] + ("min" if least else "max"), t, s.one(a), s.one(b))


def _absolute(s: Selector, i: Instruction) -> Value | None:
    """`x < 0 ? -x : x`, as `abs` is written where there is no intrinsic."""
    t, c = i.type, _comparison(i, 64)
    if c is None:
        return None
    (_, a, b), (x, y) = i.operands, c.operands
    least = (condition(c), y.value) if isinstance(y, Constant) else None
    if least in _NOT_BELOW:
        a, b = b, a
    elif least not in _BELOW:
        return None
    return absolute(s, t, s.one(x)) if b is x and _is_negated(a, x) else None


_BELOW = frozenset((("slt", 0), ("sle", 0), ("slt", 1), ("sle", -1)))
_NOT_BELOW = frozenset((("sgt", 0), ("sge", 0), ("sgt", -1), ("sge", 1)))


def _is_negated(v: Value, x: Value) -> bool:
    return isinstance(v, Instruction) and v.form.name == "sub" and v.operands[1] is x \
        and isinstance(zero := v.operands[0], Constant) and zero.value == 0


def same(x: Value, y: Value) -> bool:
    """Whether two operands are one value, or constants of one type and value."""
    return x is y or (isinstance(x, Constant) and isinstance(y, Constant)
                      and x.type is y.type and x.value == y.value)


def _select(s: Selector, i: Instruction) -> Parts:
    c, a, b = i.operands
    if (one := _extremum(s, i) or _absolute(s, i)) is not None:
        return (one,)
    if isinstance(i.type, PointerType):
        space = s.spaces.of(i)
        return (chosen(s, s.one(c), s.held(a, space), s.held(b, space), "b64"),)
    shape = parts(i.type)
    conditions = s.use(c)
    if not isinstance(c.type, VectorType):
        conditions = conditions * len(shape)
    else:
        conditions = tuple(p for p in conditions for _ in range(len(shape) // c.type.count))
    out = []
    for p, x, y, part in zip(conditions, s.use(a), s.use(b), shape, strict=True):
        v = chosen(s, p, x, y, part.reg.name)
        if part.reg is not PRED and (how := s.extended.get(x)) and s.extended.get(y) == how:
            s.known(v, *how)
        out.append(v)
    return tuple(out)


RULES: dict[str, Rule] = {
    "icmp": by_element(_icmp),
    "fcmp": by_element(_fcmp),
    "select": _select,
}
