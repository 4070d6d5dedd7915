"""Floating-point arithmetic: half, bfloat, float, double.

Rounding    `add.rn.f32` is never fused by ptxas, `add.f32` may be; so `.rn` is written unless the
            instruction may contract (`contract` or `fast`, or fp-contract=fast).
Contraction a product and each sum of its block that it is part of become `fma.rn` where both may
            contract.
half        division, square root and remainder go through float, which rounds right:
            its 24 bits are at least 2·11 + 2.
bfloat      before sm_90 there is fma alone: a + b = a·1 + b, a·b = a·b - 0, and what
            fma is not for goes through float. Before sm_80 all does, and is rounded by integers.
frem        LLVM means C's fmod, exact however large the quotient; PTX has no such instruction.
            Under `afn`, or where fast-math is on, a - b·trunc(a/b); else a loop that subtracts b
            times powers of two.
"""

from __future__ import annotations

from nvir.ir import F32, F64, Constant, Instruction, Type, Unsupported, Value, VectorType, integer
from nvir.ir.builder.literals import float_constant
from nvir.passes.select.lanes import Rule, by_element, element
from nvir.passes.select.selector import Parts, Selector

KINDS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
_NAMES = {"fadd": "add", "fsub": "sub", "fmul": "mul"}
_ONE, _MINUS_ONE, _MINUS_ZERO = 0x3F80, 0xBF80, 0x8000  # of bfloat


def kind_of(t: Type) -> str:
    kind = KINDS.get(t.name)
    if kind is None:
        raise Unsupported(f"arithmetic of type {t}: run 'legalize' first")
    return kind


def ftz(s: Selector, kind: str) -> str:
    return ".ftz" if s.options.ftz and kind == "f32" else ""


def operand(s: Selector, kind: str, x: Value) -> Value:
    """A literal where PTX takes one: there are none of 16 bits."""
    return s.reg(x, "b16") if kind in ("f16", "bf16") else x


def has_bfloat(s: Selector) -> bool:
    """Whether the target adds, multiplies, compares and converts bfloat itself."""
    return s.sm >= 90


def lacks_bfloat(s: Selector, t: Type) -> bool:
    """Whether the target has no operation on bfloat at all, and t is it."""
    return t.name == "bfloat" and s.sm < 80


def to_float(s: Selector, t: Type, x: Value) -> Value:
    """A half or bfloat as a float; exact."""
    x = s.reg(x, "b16")
    if t.name == "half":
        return s.op("cvt.f32.f16", x)
    if has_bfloat(s):
        return s.op("cvt.f32.bf16", x)
    return s.op("mov.b32", [integer(0), x])


def from_float(s: Selector, t: Type, x: Value) -> Value:
    """A float rounded to half or bfloat."""
    if lacks_bfloat(s, t):
        return _rounded_by_integers(s, x)
    return s.op(f"cvt.rn.{kind_of(t)}.f32", x)


def _rounded_by_integers(s: Selector, x: Value) -> Value:
    """The upper half of a float, rounded to nearest, ties to even; of a NaN a quiet one."""
    bits = s.op("mov.b32", s.reg(x, "f32"))
    last = s.op("bfe.u32", bits, 16, 1)
    up = s.op("add.s32", s.op("add.s32", bits, last), 0x7FFF)
    is_nan = s.op("setp.nan.f32", x, x)
    return s.op("cvt.u16.u32", s.op("shr.u32", s.op(
        "selp.b32", s.op("or.b32", bits, 1 << 22), up, is_nan), 16))


def as_float(s: Selector, t: Type, x: Value) -> tuple[str, Value]:
    """A value and the type that the target computes with it in."""
    kind = kind_of(t)
    if kind == "bf16" and not has_bfloat(s):
        return "f32", to_float(s, t, x)
    return kind, operand(s, kind, x)


def through_float(s: Selector, t: Type, spelling: str, *args: Value) -> Value:
    """An operation of float on half or bfloat, rounded once more."""
    made = s.op(spelling, *(to_float(s, t, a) for a in args))
    return from_float(s, t, made)


# --------------------------------------------------------------- contraction


def may_contract(s: Selector, i: Instruction) -> bool:
    how = s.options.fp_contract
    if how == "off":
        return False
    return how == "fast" or bool({"contract", "fast"}.intersection(i.form.mods))


def _rounding(s: Selector, i: Instruction) -> str:
    return "" if may_contract(s, i) else ".rn"


def _product(s: Selector, i: Instruction) -> int | None:
    """Which operand of a sum is the product that goes into it: one of the sum's block; of two the
    one of fewer uses, else the first. That is LLVM's choice, so sums round as llc's do."""
    found = [k for k in (0, 1) if _may_join(s, i, i.operands[k])]
    return min(found, key=lambda k: i.operands[k].use_count, default=None)


def _may_join(s: Selector, i: Instruction, m: Value) -> bool:
    return isinstance(m, Instruction) and m.form.name == "fmul" and may_contract(s, m) \
        and m.block is i.block


def _fused(s: Selector, i: Instruction, kind: str, k: int, lane: int) -> Value:
    """fma for a sum or difference with a product, operand k, in one lane; the product's instruction
    is then dead."""
    m = i.operands[k]
    assert isinstance(m, Instruction)
    values = [s.use(v)[lane] for v in (*m.operands, i.operands[1 - k])]
    t = element(i.type)
    if lacks_bfloat(s, t):
        x, y, z = (to_float(s, t, v) for v in values)
        if i.form.name == "fsub":
            x, z = (x, negative(s, "f32", z)) if k == 0 else (negative(s, "f32", x), z)
        return from_float(s, t, s.op("fma.rn.f32", x, y, z))
    x, y, z = (operand(s, kind, v) for v in values)
    if i.form.name == "fsub":
        if kind in ("f16", "bf16"):
            z, x = (s.op(f"neg.{kind}", z), x) if k == 0 else (z, s.op(f"neg.{kind}", x))
        elif k == 0:
            z = negative(s, kind, z)
        else:
            x = negative(s, kind, s.reg(x, kind))
    return s.op(f"fma.rn{ftz(s, kind)}.{kind}", x, y, z)


def negative(s: Selector, kind: str, x: Value) -> Value:
    """-x of f32 or f64; of a literal a literal."""
    if isinstance(x, Constant):
        from nvir.ir.values import constant

        return constant(x.type, x.value ^ (1 << (x.type.bits - 1)))
    return s.op(f"neg{ftz(s, kind)}.{kind}", x)


# ---------------------------------------------------------------- arithmetic


def _sum(s: Selector, i: Instruction) -> Parts:
    kind = KINDS.get(element(i.type).name)
    k = _product(s, i) if kind and may_contract(s, i) else None
    if k is None or kind is None:
        return _by_element(s, i)
    lanes = i.type.count if isinstance(i.type, VectorType) else 1
    return tuple(_fused(s, i, kind, k, lane) for lane in range(lanes))


def _arithmetic(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind, name = kind_of(t), _NAMES[i.form.name]
    if lacks_bfloat(s, t):
        return (through_float(s, t, f"{name}.rn.f32", args[0][0], args[1][0]),)
    a, b = (operand(s, kind, x[0]) for x in args)
    if kind == "bf16" and not has_bfloat(s):
        return (_bfloat_by_fma(s, name, a, b),)
    a = s.reg(a, kind) if isinstance(b, Constant) else a
    return (s.op(f"{name}{_rounding(s, i)}{ftz(s, kind)}.{kind}", a, b),)


_by_element = by_element(_arithmetic)


def _bfloat_by_fma(s: Selector, name: str, a: Value, b: Value) -> Value:
    factor = {"add": _ONE, "sub": _MINUS_ONE, "mul": _MINUS_ZERO}[name]
    c = s.reg(integer(factor), "b16")
    if name == "mul":
        return s.op("fma.rn.bf16", a, b, c)
    return s.op("fma.rn.bf16", b, c, a)


def is_approximate(s: Selector, i: Instruction, exact: bool = False) -> bool:
    """Whether an approximation will do; `exact` where an option of this operation's asks for what
    rounds right, which comes before fast-math."""
    fast = s.options.fast_math and not exact
    return bool({"afn", "fast"}.intersection(i.form.mods)) or fast


def _fdiv(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind = kind_of(t)
    a, b = args[0][0], args[1][0]
    if kind in ("f16", "bf16"):
        spelling = "div.full.f32" if is_approximate(s, i) else "div.rn.f32"
        return (through_float(s, t, spelling, a, b),)
    approximate = is_approximate(s, i, s.options.prec_div)
    if kind == "f32" and (approximate or not s.options.prec_div):
        if isinstance(a, Constant) and a.value == 0x3F800000:
            return (s.op(f"rcp.approx{ftz(s, kind)}.f32", b),)
        how = "approx" if approximate else "full"
        return (s.op(f"div.{how}{ftz(s, kind)}.f32", s.reg(a, kind), b),)
    if isinstance(a, Constant) and a is float_constant(1.0, a.type):
        return (s.op(f"rcp.rn{ftz(s, kind)}.{kind}", b),)
    return (s.op(f"div.rn{ftz(s, kind)}.{kind}", s.reg(a, kind), b),)


def _fneg(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind = kind_of(t)
    x = args[0][0]
    if kind in ("f16", "bf16"):
        x = s.reg(x, "b16")
        return (s.op(f"neg.{kind}", x) if kind == "f16" else s.op("xor.b16", x, 0x8000),)
    return (negative(s, kind, x),)


# ----------------------------------------------------------------- remainder


def _frem(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind = kind_of(t)
    a, b = args[0][0], args[1][0]
    if kind in ("f16", "bf16"):
        x, y = to_float(s, t, a), to_float(s, t, b)
        return (from_float(s, t, _remainder(s, i, "f32", x, y)),)
    return (_remainder(s, i, kind, s.reg(a, kind), s.reg(b, kind)),)


def _remainder(s: Selector, i: Instruction, kind: str, a: Value, b: Value) -> Value:
    if is_approximate(s, i):
        how = "approx" if kind == "f32" else "rn"
        quotient = s.op(f"cvt.rzi.{kind}.{kind}", s.op(f"div.{how}.{kind}", a, b))
        return s.op(f"fma.rn.{kind}", s.op(f"neg.{kind}", quotient), b, a)
    return exact_remainder(s, kind, a, b)


def exact_remainder(s: Selector, kind: str, a: Value, b: Value) -> Value:
    """fmod by long division: |b| is doubled up to |a|, then halved down again, and subtracted where
    it fits. All of this is exact: each is a multiple of the last place of b, or smaller than a.
    There are as many turns as the exponents differ; NaN where a is infinite or b is 0."""
    type = F32 if kind == "f32" else F64
    x, y = s.op(f"abs.{kind}", a), s.op(f"abs.{kind}", b)
    before = s.b.block
    up, down, done = (s.new_block("fmod") for _ in range(3))
    _in_order(s, before, (up, down, done))
    finite = s.op(f"setp.lt.{kind}", x, float_constant(float("inf"), type))
    proper = s.op(f"setp.gt.{kind}", y, float_constant(0.0, type))
    defined = s.op("and.pred", finite, proper)
    at_once = s.op(f"selp.{kind}", x, quiet_nan(type), defined)
    reaches = s.op(f"setp.ge.{kind}", x, y)  # else |b| may be infinite, which no halving ends
    s.b.cond_br(s.op("and.pred", defined, reaches), up, done)
    s.start(up)
    step = s.b.phi(type)
    double = s.op(f"add.rn.{kind}", step, step)
    s.b.cond_br(s.op(f"setp.le.{kind}", double, x), up, down)
    step.set_incoming((y, double), (before, up))
    s.start(down)
    part, rest = s.b.phi(type), s.b.phi(type)
    fits = s.op(f"setp.ge.{kind}", rest, part)
    left = s.op(f"selp.{kind}", s.op(f"sub.rn.{kind}", rest, part), rest, fits)
    half = s.op(f"mul.rn.{kind}", part, float_constant(0.5, type))
    s.b.cond_br(s.op(f"setp.ge.{kind}", half, y), down, done)
    part.set_incoming((step, half), (up, down))
    rest.set_incoming((x, left), (up, down))
    s.start(done)
    found = s.b.phi(type)
    found.set_incoming((left, at_once), (down, before))
    return s.op(f"copysign.{kind}", a, found)


def quiet_nan(type: Type) -> Constant:
    """The quiet NaN that the machine makes."""
    from nvir.ir.values import constant

    return constant(type, 0x7FFFFFFF if type is F32 else 0x7FF8000000000000)


def _in_order(s: Selector, before: object, blocks: tuple[object, ...]) -> None:
    """Lay blocks out in the order given, behind `before`."""
    layout = s.target.blocks
    for b in blocks:
        layout.remove(b)  # type: ignore[arg-type]
    at = layout.index(before) + 1  # type: ignore[arg-type]
    layout[at:at] = blocks  # type: ignore[assignment]


RULES: dict[str, Rule] = {
    "fadd": _sum, "fsub": _sum, "fmul": _by_element,
    "fdiv": by_element(_fdiv),
    "fneg": by_element(_fneg),
    "frem": by_element(_frem),
}
