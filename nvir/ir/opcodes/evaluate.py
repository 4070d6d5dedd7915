"""The evaluator of constants: the result of one instruction from the values of its operands.

    evaluate(i, known)              of an instruction, at both levels
    fold(form, patterns)            of an `ori` form on patterns of its written sources
    fold_integers(form, …)          of an `nvvm` form on integers
    literal_of(type, bits)          the literal of a result

The arithmetic is that of the rows' folds, which give what the machine gives, bit for bit; nobody
else calls them. What may be folded where is for each pass to say. The approximate functions have
no such result. The real assembler evaluates them with the host's mathematics (`HOST`) where their
operand is constant; so does `evaluate(…, approximate=True)`, within the error that PTX promises.

Keeps    undefined values, NaNs and poison: what cannot be told is None.
Cost     that of the fold.
Source   the notes' evaluator of pipelined bodies for HOST.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import attrs

from nvir.ir import floats
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.evaluate_calls import folded, nan, nan_in, plain_name, saturated
from nvir.ir.opcodes.form import Form
from nvir.ir.types import IMM, FloatType, IntType, ScalarType, Type
from nvir.ir.values import Constant, Value, constant, integer


@attrs.frozen
class HostRow:
    """A row of the notes' evaluator: the assembler's opcode number, and what it computes.

    `function` is of the host; None where the row's own fold is exact.
    """

    number: tuple[int, ...]
    spelling: str
    function: Callable[[float], float | None] | None
    what: str


def _log2(x: float) -> float | None:
    return math.log2(x) if x > 0 else None


def _exp2(x: float) -> float:
    try:
        return float(2.0**x)
    except OverflowError:
        return math.inf


def _wave(function: Callable[[float], float]) -> Callable[[float], float | None]:
    """PTX bounds the error of sin and cos up to 100 pi."""
    return lambda x: function(x) if abs(x) <= 100 * math.pi else None


def _reciprocal(x: float) -> float:
    return 1.0 / x if x != 0 else math.copysign(math.inf, x)


def _root(x: float) -> float | None:
    return math.sqrt(x) if x >= 0 else None


def _inverse_root(x: float) -> float | None:
    if x == 0:
        return math.copysign(math.inf, x)
    return 1.0 / math.sqrt(x) if x > 0 else None


HOST = (
    HostRow((38,), "cos.approx", _wave(math.cos), "cos x"),
    HostRow((215,), "sin.approx", _wave(math.sin), "sin x"),
    HostRow((59,), "ex2.approx", _exp2, "2 to the power x"),
    HostRow((106,), "lg2.approx", _log2, "logarithm to base 2, of x > 0 alone"),
    HostRow((221,), "sqrt.approx", _root, "square root"),
    HostRow((192,), "rsqrt.approx", _inverse_root, "1 / square root; of 0 infinity"),
    HostRow((180,), "rcp.approx", _reciprocal, "1 / x; of 0 infinity with its sign"),
    HostRow((33,), "cvt.rpi", None, "the next whole number above, with the sign of x"),
    HostRow((68,), "cvt.rmi", None, "the next whole number below, with the sign of x"),
    HostRow((199,), "cvt.rn.f32.f64", None, "f64 to f32"),
    HostRow((130,), "mov", None, "a literal"),
    HostRow((133, 137), "mad", None, "several operands: any row's own fold"),
)
APPROXIMATE = {h.spelling.split(".")[0]: h.function for h in HOST if h.function is not None}


def fold_approximate(f: Form, x: int) -> int | None:
    """An approximate function of a constant, as the host computes it, rounded to nearest.

    Declined: NaN, f64, and subnormals, which the hardware scales in ways of its own.
    """
    function = APPROXIMATE.get(f.name)
    known = {"approx", "ftz", "f32", "f16", "bf16"}
    if function is None or "approx" not in f.mods or not known.issuperset(f.mods):
        return None
    t = floats.FORMATS.get(f.type.name) if f.type is not None else None
    if t is None or "!" in f.shape or floats.is_tiny(t, x):
        return None
    value = floats.number(t, x)
    try:
        y = function(value) if value == value else None
    except ValueError:  # the sine of an infinity
        return None
    bits = floats.pattern(t, y) if y is not None else None
    return None if bits is None or floats.is_tiny(t, bits) else bits


def evaluate(
    i: Instruction, known: Mapping[Value, int] | None = None, *, approximate: bool = False
) -> int | None:
    """The bit pattern of an instruction's only result, or None where it is not known.

    `known` holds the bit patterns of operands that are no literals. A guard that is known decides
    between the result and its fallback. Never raises for any instruction.
    """
    f = i.form
    if f.op.level == "nvvm":
        return _evaluate_nvvm(i, known or {})
    if i._results is not None or not f.pure or f.carry_in or f.carry_out:
        return None
    sources = i.operands
    if f.guard is not None:
        if f.guard_index < 0:
            return None
        guard = bits_of(i.operands[f.guard_index], known, None)
        if guard is None:
            return None
        if (guard & 1) == (f.guard == "!"):
            return bits_of(i.operands[f.guard_index + 1], known, f)
        sources = i.operands[: f.n_sources]
    values = []
    for v in sources:
        c = bits_of(v, known, f)
        if c is None:
            return None
        values.append(c)
    return fold(f, values, approximate=approximate)


def fold(f: Form, values: Sequence[int], *, approximate: bool = False) -> int | None:
    """The fold of an `ori` form's row on bit patterns of its written sources, or None."""
    made = None
    if f.op.fold is not None and values:
        try:
            made = f.op.fold(f, *values)
        except (ValueError, ZeroDivisionError, TypeError):  # a shape that the fold does not know
            return None
    if made is None and approximate and len(values) == 1:
        made = fold_approximate(f, values[0])
    return made if isinstance(made, int) else None


def bits_of(v: Value, known: Mapping[Value, int] | None, f: Form | None) -> int | None:
    """The bit pattern of an operand of an instruction of form `f`: of a literal, or as known."""
    if v.__class__ is Constant:
        c = v.value
        if c.__class__ is not int:
            return None
        return None if f is not None and _is_converted(v, f) else int(c)
    return known.get(v) if known is not None else None


def _is_converted(literal: Constant, f: Form) -> bool:
    """Whether the assembler converts a floating literal to the width of the instruction."""
    t = literal.type
    if t is IMM or t.name not in ("f32", "f64"):
        return False
    return t.name not in f.mods and f.type is not None and f.type.bits != t.bits


_NVVM_FORMATS = {
    "half": floats.F16, "bfloat": floats.BF16, "float": floats.F32, "double": floats.F64,
}
_ARITHMETIC: dict[str, Callable[..., int | None]] = {
    "fadd": floats.add, "fsub": floats.sub, "fmul": floats.mul, "fdiv": floats.div,
    "frem": floats.rem,
}
_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "ne": lambda a, b: a < b or a > b,
}


def _evaluate_nvvm(i: Instruction, known: Mapping[Value, int]) -> int | None:
    name, to = i.form.name, i.type
    if name == "select":
        return _select(i, known)
    if not isinstance(to, IntType | FloatType) or not i.operands or not (
            i.form.pure or i.form.is_call):
        return None
    values = []
    for v in i.operands:
        c = bits_of(v, known, None)
        if c is None or not isinstance(v.type, IntType | FloatType):
            return None
        values.append(c & ((1 << v.type.bits) - 1))
    of = i.operands[0].type
    if i.form.is_call:
        return _call(i, of, to, values)
    if isinstance(of, IntType) and isinstance(to, IntType):
        return fold_integers(i.form, of.bits, values, to.bits)
    if _keeps_bits(i.form):
        return values[0]
    return _fold_floats(i.form, of, to, values)


def _select(i: Instruction, known: Mapping[Value, int]) -> int | None:
    condition, a, b = i.operands
    c = bits_of(condition, known, None)
    if c is None or not isinstance(i.type, IntType | FloatType):
        return None
    chosen = bits_of(a if c & 1 else b, known, None)
    return None if chosen is None else chosen & ((1 << i.type.bits) - 1)


def _call(i: Instruction, of: Type, to: Type, values: list[int]) -> int | None:
    """An intrinsic of floats."""
    name = str(getattr(i.aux.callee, "name", ""))
    source = _NVVM_FORMATS.get(of.name)
    if source is None or not name.startswith("llvm.") or "afn" in i.form.mods:
        return None
    if name.startswith(("llvm.fptosi.sat.", "llvm.fptoui.sat.")) and isinstance(to, IntType):
        return saturated(floats.number(source, values[0]), name[9] == "s", to.bits)
    return folded(plain_name(name), source, values) if of is to else None


def _keeps_bits(f: Form) -> bool:
    return f.kind in (OpKind.COPY, OpKind.FREEZE)


def fold_integers(
    f: Form, bits: int, values: Sequence[int], result: int, *, poison: bool = True
) -> int | None:
    """The fold of an `nvvm` form's row on patterns of `bits` bits, to one of `result` bits. None
    where it has none, and for poison; with `poison` False flags such as nsw make none."""
    if _keeps_bits(f):
        return values[0]
    if f.op.fold is None:
        return None
    width = (result,) if f.kind is OpKind.RESIZE else ()
    made = f.op.fold(f if poison else _Plain(f), bits, *values, *width)
    return made if isinstance(made, int) else None


class _Plain:
    """A form without the flags that make results poison."""

    def __init__(self, form: Form) -> None:
        drop = ("nsw", "nuw", "exact", "disjoint", "nneg", "samesign", "inbounds")
        self.mods = tuple(m for m in form.mods if m not in drop)


def _fold_floats(f: Form, of: Type, to: Type, values: list[int]) -> int | None:
    """Rows whose operands or results are floats; what is poison is left alone."""
    name, source, result = f.name, _NVVM_FORMATS.get(of.name), _NVVM_FORMATS.get(to.name)
    if source is None:
        if result is None or f.kind is not OpKind.CONVERT:
            return None
        n = values[0]
        if f.op.signed and n >> (of.bits - 1):
            n -= 1 << of.bits
        return floats.rounded(n, result) if n else 0
    x = floats.number(source, values[0])
    if f.kind is OpKind.CONVERT and result is not None:
        return floats.pattern(result, x) if x == x else nan_in(source, values[0], result)
    if name == "fneg":
        return values[0] ^ source.sign
    if name in _ARITHMETIC:
        made = _ARITHMETIC[name](source, *values)
        return nan(source, values) if made is None else made
    if name == "fcmp":
        return _compare(f, x, floats.number(source, values[1]))
    if f.kind is OpKind.CONVERT and isinstance(to, IntType) and math.isfinite(x):
        n, low = int(x), -(1 << to.bits - 1) if f.op.signed else 0
        return n & ((1 << to.bits) - 1) if low <= n < low + (1 << to.bits) else None
    return None


def _compare(f: Form, x: float, y: float) -> int | None:
    unordered = x != x or y != y
    for m in f.mods:
        if m in ("true", "false"):
            return int(m == "true")
        if m in ("ord", "uno"):
            return int(unordered == (m == "uno"))
        if m[1:] in _ORDERED and m[0] in "ou" and len(m) == 3:
            return int(m[0] == "u") if unordered else int(_ORDERED[m[1:]](x, y))
    return None


def literal_of(type: Type, bits: int) -> Constant:
    """The literal of that bit pattern, of a value's type at either level."""
    bits &= (1 << type.bits) - 1
    if isinstance(type, ScalarType):
        return constant(type, bits) if type.name in ("f32", "f64") else integer(bits)
    if isinstance(type, IntType) and type.bits > 1 and bits >> (type.bits - 1):
        bits -= 1 << type.bits
    return constant(type, bits)
