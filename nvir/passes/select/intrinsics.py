"""Calls of intrinsics by their rows in nvir.ir.intrinsics: an instruction, or a rule's several."""

from __future__ import annotations

import functools
from collections.abc import Callable

import attrs

from nvir.ir import PRED, Constant, Instruction, SpecialRegister, Type, Value, form
from nvir.ir.intrinsics import Intrinsic, find, is_packed, mismatch, registers_of
from nvir.ir.layout import align_of
from nvir.passes.aggregate.objects import bytes_left
from nvir.passes.select.lanes import Rule, Scalar, by_element, element
from nvir.passes.select.parts import count, parts
from nvir.passes.select.rules import bits, copies, mathematics, wide
from nvir.passes.select.selector import AddressParts, Parts, Selector
from nvir.passes.select.spaces import GLOBAL, POINTER_MASK


@functools.lru_cache(maxsize=4096)
def rule_of(name: str) -> Rule | None:
    """How a call of an intrinsic of this name is selected; None where the table has no such."""
    row = find(name)
    return None if row is None else functools.partial(_checked, row, _rule_of_row(row))


def _checked(row: Intrinsic, rule: Rule, s: Selector, i: Instruction) -> Parts:
    why = mismatch(row, i)
    if why is not None:
        raise s.fail(f"a call of {i.aux.callee.name} {why}")
    return rule(s, i)


def _rule_of_row(row: Intrinsic) -> Rule:
    if row.ori:
        return functools.partial(_apply, row)
    word, *arguments = row.rule.split()
    if word in SCALARS:
        scalar = SCALARS[word]
        return by_element(lambda s, i, t, r, a: scalar(s, i, t, r, a, *arguments))
    return RULES[word](*arguments)


# --------------------------------------------------------------------- rows


@attrs.frozen
class _SelectedOperands:
    """The operands of a call, for a pattern (nvir.ir.intrinsics.Operands)."""

    s: Selector
    i: Instruction

    def registers(self, k: int, literal: bool) -> list[Value]:
        return packed(self.s, self.i.operands[k], not literal)

    def place(self, k: int, space: int | None) -> tuple[Value, int]:
        s = self.s
        a = s.address(self.i.operands[k])
        if space is not None:
            a = AddressParts(s.into(a, space), 0, space)
        return s.fitting(a).operand

    def modifier(self, k: int) -> str:
        return self.s.address(self.i.operands[k]).modifier

    def number(self, k: int) -> int:
        if k >= len(self.i.operands):  # a flag that an older version lacks
            return 0
        v = self.i.operands[k]
        if not isinstance(v, Constant):
            raise self.s.fail(f"{self.i.aux.callee.name} without a literal operand {k}")
        return int(v.value)


def _apply(row: Intrinsic, s: Selector, i: Instruction) -> Parts:
    """The one instruction that a row is."""
    pattern = row.pattern
    if pattern.register is not None:
        return (_special(s, pattern.register, str(pattern.form.mods[-1])),)
    spelling, operands = pattern.fill(_SelectedOperands(s, i))
    shape = registers_of(i.type, count)
    result, wanted = pattern.results(len(shape))
    made = s.emit(spelling, tuple(operands), result).results[wanted]
    out: list[Value] = []
    for v, halves in zip(made, shape, strict=False):
        out.extend(s.ops("mov.b32", v, shape="{%s, %s}") if halves else (v,))
    return tuple(out)


def packed(s: Selector, v: Value, registers: bool) -> list[Value]:
    """The registers of an operand as PTX has them: two halves in one of 32 bits."""
    shape, values = parts(v.type), s.use(v)
    if is_packed(v.type):
        pairs = zip(values[::2], values[1::2], strict=True)
        return [s.op("mov.b32", [s.reg(lo, "b16"), s.reg(hi, "b16")]) for lo, hi in pairs]
    out = []
    for x, p in zip(values, shape, strict=True):
        literal = isinstance(x, Constant) and p.reg is not PRED
        if literal and (registers or p.reg.is_float):
            x = s.reg(x, p.reg.name)
        out.append(x)
    return out


def _special(s: Selector, register: SpecialRegister, kind: str) -> Value:
    """A register as the row's type: LLVM reads the lower half of %gridid."""
    if not register.volatile:
        return s.cached(register, lambda: s.op(f"mov.{kind}", register))
    f = form(f"mov.{kind}", "%s, %s", None, True)
    return s.b.insert(Instruction(f, (register,), register.type))


def _itself() -> Rule:
    from nvir.passes.select.rules.convert import RULES as CONVERSIONS

    return CONVERSIONS["bitcast"]


def _cast(source: str, target: str) -> Rule:
    """From and to the address spaces of these numbers; older names say them, types need not."""
    from nvir.passes.select.rules.convert import RULES as CONVERSIONS

    def rule(s: Selector, i: Instruction) -> Parts:
        spaces = {getattr(v.type, "space", -1) for v in (i, i.operands[0])}
        if not spaces <= {int(source), int(target)} or len(spaces) < 2:
            raise s.fail(f"the intrinsic {i.aux.callee.name}")
        return CONVERSIONS["addrspacecast"](s, i)

    return rule


# ------------------------------------------------------------ rules of their own


def _nothing() -> Rule:
    return lambda s, i: tuple(s.undefined(p) for p in parts(i.type))


def _exit() -> Rule:
    """The thread ends; what follows in the block is not reached."""

    def rule(s: Selector, i: Instruction) -> Parts:
        s.b.exit()
        s.start(s.new_block("exited"))
        return ()

    return rule


def _leading_one(sign: str) -> Rule:
    """llvm.nvvm.flo: where the highest bit is that is no sign bit, or how far to shift it up."""

    def rule(s: Selector, i: Instruction) -> Parts:
        shift = ".shiftamt" if _SelectedOperands(s, i).number(1) else ""
        x = i.operands[0]
        if x.type.bits not in (32, 64):
            raise s.fail(f"{i.aux.callee.name} of {x.type}")
        return (s.op(f"bfind{shift}.{sign}{x.type.bits}", s.reg(s.one(x), f"b{x.type.bits}")),)

    return rule


def _barrier_reduction(what: str) -> Rule:
    """The older intrinsics, which take an i32 for a truth value and give one."""

    def rule(s: Selector, i: Instruction) -> Parts:
        p = s.op("setp.ne.s32", s.reg(s.one(i.operands[0]), "b32"), 0)
        if what == "popc":
            return (s.op("bar.red.popc.u32", 0, p),)
        return (s.op("selp.b32", 1, 0, s.op(f"bar.red.{what}.pred", 0, p)),)

    return rule


def _read_only(mnemonic: str) -> Rule:
    """llvm.nvvm.ldg.global.{i,f,p} and ldu: the pointer, and its alignment as a number."""

    def rule(s: Selector, i: Instruction) -> Parts:
        from nvir.passes.select.rules.memory import load_value

        a = s.address(i.operands[0])
        if a.space != GLOBAL:
            a = AddressParts(s.into(a, GLOBAL), 0, GLOBAL)
        given = i.operands[1] if len(i.operands) > 1 else None
        align = int(given.value or 0) if isinstance(given, Constant) else 0
        if mnemonic == "ldg":
            return load_value(s, a, i.type, align or align_of(i.type), nc=True)
        return load_value(s, a, i.type, align or align_of(i.type), name="ldu")

    return rule


def _number(answer: str) -> Rule:
    def rule(s: Selector, i: Instruction) -> Parts:
        from nvir.passes.select.constants import literal

        return tuple(literal(p, int(answer)) for p in parts(i.type))

    return rule


def _object_size() -> Rule:
    """What is left of a known object behind the address; unknown, 0 where the least is asked for,
    else all ones."""

    def rule(s: Selector, i: Instruction) -> Parts:
        known = bytes_left(i.operands[0])
        if known is not None:
            return _number(str(known))(s, i)
        least = i.operands[1]
        return _number("0" if isinstance(least, Constant) and least.value else "-1")(s, i)

    return rule


def _pointer_mask() -> Rule:
    def rule(s: Selector, i: Instruction) -> Parts:
        at = s.into(s.address(i.operands[0]), s.spaces.of(i))
        return (s.op("and.b64", at, s.one(i.operands[1])),)

    return rule


def _reduce(what: str) -> Rule:
    """llvm.vector.reduce.*: by pairs of elements, from the first on (floats in their order)."""

    def rule(s: Selector, i: Instruction) -> Parts:
        v = i.operands[-1]
        t = element(v.type)
        shape = len(parts(t))
        x = s.use(v)
        lanes = [x[k : k + shape] for k in range(0, len(x), shape)]
        if len(i.operands) > 1:
            lanes.insert(0, s.use(i.operands[0]))
        total = lanes[0]
        for lane in lanes[1:]:
            total = _combine(s, i, what, t, total, lane)
        return total

    return rule


def _combine(s: Selector, i: Instruction, what: str, t: Type, a: Parts, b: Parts) -> Parts:
    from nvir.ir.types import FloatType
    from nvir.passes.select.rules.atomics import combined
    from nvir.passes.select.rules.floating import from_float, kind_of, to_float

    if isinstance(t, FloatType):
        kind = kind_of(t)
        names = {"fadd": "add.rn", "fmul": "mul.rn", "fmin": "min", "fmax": "max"}
        if what not in names:
            raise s.fail(str(i.aux.callee.name))
        if t.bits == 16:
            made = s.op(f"{names[what]}.f32", to_float(s, t, a[0]), to_float(s, t, b[0]))
            return (from_float(s, t, made),)
        return (s.op(f"{names[what]}.{kind}", s.reg(a[0], kind), b[0]),)
    if t.bits == 1:
        name = {"and": "and", "or": "or", "xor": "xor", "add": "xor", "mul": "and", "umax": "or",
                "umin": "and", "smax": "and", "smin": "or"}[what]
        return (s.op(f"{name}.pred", a[0], b[0]),)
    if t.bits > 64:
        return wide.combined(s, t, what, a, b)
    if what == "mul":
        w = 16 if t.bits <= 16 else 32 if t.bits <= 32 else 64
        return (s.op(f"mul.lo.s{w}", a[0], b[0]),)
    llvm = what[1:] if what in ("smin", "smax") else what
    return (combined(s, llvm, t, a[0], b[0]),)


def _atomic(what: str, scope: str) -> Rule:
    """NVVM's older atomic intrinsics: atomic.load.inc.32, atomic.add.gen.i.cta and the like."""

    def rule(s: Selector, i: Instruction) -> Parts:
        from nvir.passes.select.rules.atomics import compare_and_swap, modify

        place, v = s.address(i.operands[0]), i.operands[1]
        if what == "cas":
            expected, new = (s.one(x) for x in i.operands[1:])
            return (compare_and_swap(s, place, v.type, expected, new, f"relaxed.{scope}"),)
        return modify(s, place, what, v.type, s.one(v), f"relaxed.{scope}")

    return rule


# By the name of a rule: what makes one of the words behind it.
RULES: dict[str, Callable[..., Rule]] = {
    "nothing": _nothing,
    "same": _itself,
    "number": _number,
    "cast": _cast,
    "exit": _exit,
    "flo": _leading_one,
    "barrier.red": _barrier_reduction,
    "read.only": _read_only,
    "atomic": _atomic,
    "overflow": lambda: bits.overflow,
    "reduce": _reduce,
    "copy": lambda how="": functools.partial(copies.copy, move=how == "overlapping"),
    "fill": lambda: copies.fill,
    "object.size": _object_size,
    POINTER_MASK: _pointer_mask,
    "stack.save": lambda: _number("0"),
    "stack.restore": _nothing,
}
# Of scalars, which vectors do by element.
SCALARS: dict[str, Scalar] = {**bits.SCALARS, **mathematics.SCALARS}
