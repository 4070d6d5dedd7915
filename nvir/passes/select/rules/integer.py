"""Integer arithmetic of every width, and the extension of registers.

An iN lies in the next wider register with anything above its N bits: sums, products,
left shifts and bitwise operations need no more. Division (division.py), right shifts, comparison
and conversion to wider types look at those bits and extend first; a literal is extended here, and a
register that is known to be extended (a load, a mask, another extension) is left alone.

    i1           predicates; sum and difference are xor, the product is and
    i65 and more words of 64 bits (wide.py)
    x·y + z      mad, the full product of two narrower ones mul.wide
"""

from __future__ import annotations

from nvir.ir import I64, Constant, Instruction, IntType, PointerType, Type, Value, form, integer
from nvir.passes.select.constants import signed
from nvir.passes.select.lanes import Rule, by_element
from nvir.passes.select.selector import Parts, Selector, width

_BITWISE = {"and": "and", "or": "or", "xor": "xor"}


# ---------------------------------------------------------------- extension


def zext(s: Selector, x: Value, bits: int) -> Value:
    """The register with zeros above `bits`."""
    return _extend(s, x, bits, "z")


def sext(s: Selector, x: Value, bits: int) -> Value:
    """The register with the sign above `bits`."""
    return _extend(s, x, bits, "s")


def _extend(s: Selector, x: Value, bits: int, how: str) -> Value:
    w = max(16 if bits <= 16 else 32 if bits <= 32 else 64, x.type.bits)  # 64: a highest word
    if isinstance(x, Constant):
        return integer(x.value & ((1 << bits) - 1) if how == "z" else signed(x.value, bits))
    if bits == w or s.is_known(x, how, bits):
        return x
    return s.cached((how, x, bits), lambda: s.known(_extension(s, x, bits, w, how), how, bits))


def _extension(s: Selector, x: Value, bits: int, w: int, how: str) -> Value:
    if how == "z":
        made = s.op(f"and.b{w}", x, (1 << bits) - 1)
    elif bits == 8 and w == 16:
        made = s.op("cvt.s16.s8", x)
    else:
        up = s.op(f"shl.b{w}", x, w - bits)
        made = s.op(f"shr.s{w}", up, w - bits)
    return made


def words(s: Selector, t: Type, x: Parts, how: str) -> Parts:
    """An integer of more than 64 bits with its highest word extended."""
    return *x[:-1], _extend(s, x[-1], t.bits - 64 * (len(x) - 1), how)


# --------------------------------------------------------------- arithmetic


def _add(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    return _sum(s, i, t, args, "add")


def _sub(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    return _sum(s, i, t, args, "sub")


def _sum(s: Selector, i: Instruction, t: Type, args: list[Parts], name: str) -> Parts:
    (a, b) = args
    if t.bits == 1:
        return (s.op("xor.pred", a[0], b[0]),)
    if t.bits > 64:
        from nvir.passes.select.rules.wide import total

        return total(s, name, a, b)
    if name == "add" and (fused := _mad(s, i, t)) is not None:
        return (fused,)
    return (s.op(f"{name}.s{width(t)}", a[0], b[0]),)


def chained(
    s: Selector, spelling: str, *operands: Value, carry: Value | None = None
) -> tuple[Value, Value | None]:
    """What reads or writes the carry flag: its result, and the carry that it sets."""
    f = form(spelling, ", ".join(("%s",) * (len(operands) + 1)))
    i = Instruction(f, (*operands, carry) if carry is not None else operands)
    i.set_results(f.result_types, [None] * f.n_results)
    s.b.insert(i)
    made = i.results
    return made[0], made[1] if len(made) > 1 else None


def _mad(s: Selector, i: Instruction, t: Type) -> Value | None:
    """A sum, or an or of disjoint bits, with a product that nothing else uses. The product's own
    instruction is then dead. A full product stays: ptxas fuses mul.wide, and mad.lo of 64 bits
    takes four times as much."""
    if not isinstance(i.type, IntType):
        return None
    for k in (0, 1):
        m = i.operands[k]
        if isinstance(m, Instruction) and m.form.name == "mul" and m.use_count == 1 \
                and not _is_power(m.operands[1]) and not _is_full(m, t):
            x, y = (s.one(v) for v in m.operands)
            return s.op(f"mad.lo.s{width(t)}", x, y, s.one(i.operands[1 - k]))
    return None


def _is_power(v: Value) -> bool:
    return isinstance(v, Constant) and isinstance(v.value, int) and v.value > 0 \
        and not v.value & (v.value - 1)


def _mul(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    a, b = args
    if t.bits == 1:
        return (s.op("and.pred", a[0], b[0]),)
    if t.bits > 64:
        from nvir.passes.select.rules.wide import product

        return product(s, a, b)
    if (full := _full_product(s, i, t)) is not None:
        return (full,)
    if isinstance(b[0], Constant) and _is_power(b[0]):
        return (s.op(f"shl.b{width(t)}", a[0], b[0].value.bit_length() - 1),)
    return (s.op(f"mul.lo.s{width(t)}", a[0], b[0]),)


def _full_product(s: Selector, i: Instruction, t: Type) -> Value | None:
    """The 64-bit product of two 32-bit numbers that were extended for it: mul.wide."""
    if not _is_full(i, t):
        return None
    x, y = (s.one(v.operands[0]) if isinstance(v, Instruction) else s.one(v)
            for v in i.operands)
    how = "s" if "sext" in _widened(i.operands[0]) & _widened(i.operands[1]) else "u"
    return s.op(f"mul.wide.{how}32", x, y)


def _is_full(m: Instruction, t: Type) -> bool:
    a, b = m.operands
    return (isinstance(m.type, IntType) and t.bits == 64 and isinstance(a, Instruction)
            and bool(_widened(a) & _widened(b)))


def _widened(v: Value) -> set[str]:
    """The ways in which a value of 64 bits is one of 32 extended."""
    if isinstance(v, Constant):
        return {how for how in ("sext", "zext") if _fits(v.value, how)}
    if not isinstance(v, Instruction) or v.form.name not in ("sext", "zext") \
            or v.operands[0].type.bits != 32:
        return set()
    return {"sext", "zext"} if "nneg" in v.form.mods else {v.form.name}


def _fits(value: int, kind: str) -> bool:
    return -(1 << 31) <= value < 1 << 31 if kind == "sext" else 0 <= value < 1 << 32


def _bitwise(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    name = _BITWISE[i.form.name]
    if t.bits == 1:
        if name == "xor" and isinstance(args[1][0], Constant):
            return (s.op("not.pred", args[0][0]) if args[1][0].value else args[0][0],)
        return (s.op(f"{name}.pred", args[0][0], args[1][0]),)
    if name == "or" and i.type is t and t.bits <= 64 and (
            "disjoint" in i.form.mods or s.bits.disjoint(*i.operands)) and (
            fused := _mad(s, i, t)) is not None:
        return (fused,)
    if t.bits > 64:
        return tuple(_bits_of_word(s, name, a, b) for a, b in zip(*args, strict=True))
    out = tuple(s.op(f"{name}.b{width(t)}", a, b) for a, b in zip(*args, strict=True))
    zeros = [s.is_known(p, "z", t.bits) or _is_natural(p) for p in (args[0][0], args[1][0])]
    if any(zeros) if name == "and" else all(zeros):
        s.known(out[0], "z", t.bits)
    return out


def _bits_of_word(s: Selector, name: str, a: Value, b: Value) -> Value:
    """Two words combined; a zero needs no instruction."""
    if isinstance(a, Constant):
        a, b = b, a
    if isinstance(b, Constant) and b.value == 0:
        return b if name == "and" else a
    return s.op(f"{name}.b64", a, b)


def _is_natural(v: Value) -> bool:
    return isinstance(v, Constant) and v.value >= 0


# ------------------------------------------------------------------- shifts


def amount(s: Selector, x: Value, t: Type) -> Value:
    """A shift amount in 32 bits. What does not fit is the width or more, which is poison."""
    if isinstance(x, Constant):
        return integer(x.value & ((1 << min(t.bits, 32)) - 1))
    if t.bits > 32:
        return s.op("cvt.u32.u64", x)
    if t.bits > 16:
        return zext(s, x, t.bits)
    return s.op("cvt.u32.u16", zext(s, x, t.bits))


def _shift(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    name = i.form.name
    x, by = args
    if t.bits == 1:  # by 0, else it is poison
        return x
    if t.bits > 64:
        from nvir.passes.select.rules.wide import shift

        return shift(s, t, name, x, amount(s, by[0], I64))
    w = width(t)
    n = amount(s, by[0], t)
    if name == "shl":
        return (s.op(f"shl.b{w}", x[0], n),)
    if name == "lshr":
        return (s.known(s.op(f"shr.u{w}", zext(s, x[0], t.bits), n), "z", t.bits),)
    return (s.known(s.op(f"shr.s{w}", sext(s, x[0], t.bits), n), "s", t.bits),)


def is_integer(t: Type) -> bool:
    return isinstance(t, IntType | PointerType)


RULES: dict[str, Rule] = {
    "add": by_element(_add),
    "sub": by_element(_sub),
    "mul": by_element(_mul),
    **dict.fromkeys(("and", "or", "xor"), by_element(_bitwise)),
    **dict.fromkeys(("shl", "lshr", "ashr"), by_element(_shift)),
}
