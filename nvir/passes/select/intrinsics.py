"""Calls of `llvm.*`: the table's rows, LLVM's own intrinsics, and what selects to nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from nvir.ir.instruction import Instruction
from nvir.ir.layout import align_of
from nvir.ir.opcodes.form import form
from nvir.ir.special import special_register
from nvir.ir.types import PRED, StructType, Type, VectorType
from nvir.ir.values import Constant, Value, integer
from nvir.passes.select.intrinsic_table import table
from nvir.passes.select.lanes import Rule, by_element, element
from nvir.passes.select.parts import parts
from nvir.passes.select.rules import bits, copies, mathematics
from nvir.passes.select.selector import Address, Operand, Parts, Selector
from nvir.passes.select.spaces import GLOBAL, SPACE_NUMBERS

_TOKEN = re.compile(
    r"\s*(?:\[\$(?P<at>\d+)(?:\.(?P<space>\d+))?\]|\{\$(?P<first>\d+)\+(?P<count>\d+)\}"
    r"|\$(?P<value>\d+)(?P<reg>:r)?|(?P<number>-?\d+))\s*(?:,|$)"
)
# Said for analyses; nothing is left of them.
_NOTHING = frozenset((
    "llvm.lifetime", "llvm.assume", "llvm.dbg", "llvm.donothing", "llvm.sideeffect",
    "llvm.invariant.end", "llvm.experimental.noalias", "llvm.pseudoprobe", "llvm.var",
    "llvm.prefetch", "llvm.nvvm.annotation", "llvm.stackrestore", "llvm.codeview",
    "llvm.fake.use",
))
# Their first operand is their result.
_ITSELF = frozenset((
    "llvm.expect", "llvm.expect.with.probability", "llvm.annotation", "llvm.ptr.annotation",
    "llvm.ssa.copy", "llvm.launder.invariant.group", "llvm.strip.invariant.group",
    "llvm.arithmetic.fence", "llvm.preserve.array.access.index",
    "llvm.preserve.struct.access.index", "llvm.nvvm.texsurf.handle.internal",
))


def intrinsic(s: Selector, i: Instruction, name: str) -> Parts:
    """The parts of the result of a call of an intrinsic."""
    return _find(name)(s, i)


@functools.lru_cache(maxsize=4096)
def _find(name: str) -> Rule:
    """The rule of the longest name that this one is, or is an overload of (`….i32`)."""
    rows, own = table(), _own()
    words = name.split(".")
    for n in range(len(words), 1, -1):
        prefix = ".".join(words[:n])
        if prefix in rows:
            return functools.partial(_apply, rows[prefix])
        if prefix in own:
            return own[prefix]
    from nvir.passes.select.rules import tensor

    found = tensor.find(name)
    return found if found is not None else _unknown


def _unknown(s: Selector, i: Instruction) -> Parts:
    raise s.fail(f"the intrinsic {i.aux.callee.name}")


@functools.cache
def _own() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for name, scalar in {**bits.SCALARS, **mathematics.SCALARS}.items():
        rules[name] = by_element(scalar)
    rules.update(dict.fromkeys(_NOTHING, lambda s, i: tuple(
        s.undefined(p) for p in parts(i.type))))
    rules.update(dict.fromkeys(_ITSELF, _itself))
    rules.update({f"llvm.{sign}{what}.with.overflow": bits.overflow
                  for sign in "su" for what in ("add", "sub", "mul")})
    rules.update(_SPECIAL)
    return rules


def _itself(s: Selector, i: Instruction) -> Parts:
    from nvir.passes.select.rules.convert import RULES

    return RULES["bitcast"](s, i)


# --------------------------------------------------------------------- rows


def _apply(row: str, s: Selector, i: Instruction) -> Parts:
    spelling, _, text = row.partition(" ")
    if spelling == "mov" and text.startswith("%"):
        return (_special(s, text),)
    if spelling == "cast":
        return _cast(s, i, text)
    if spelling.startswith("="):
        return _itself(s, i) if spelling[1] == "$" else (integer(int(spelling[1:])),)
    operands: list[Operand] = []
    for m in _TOKEN.finditer(text):
        operands.extend(_operand(s, i, m))
    spelling = re.sub(
        r"@(\d)", lambda m: s.address(i.operands[int(m[1])]).modifier, spelling
    )
    pair = spelling.endswith("|p")
    return emit(s, spelling.removesuffix("|p"), tuple(operands), i.type, pair)


def _operand(s: Selector, i: Instruction, m: re.Match[str]) -> list[Operand]:
    if m["number"] is not None:
        return [int(m["number"])]
    if m["at"] is not None:
        a = s.address(i.operands[int(m["at"])])
        if m["space"] is not None:
            a = Address(s.into(a, int(m["space"])), 0, int(m["space"]))
        return [s.fitting(a).operand]
    if m["first"] is not None:
        first, n = int(m["first"]), int(m["count"])
        return [[v for k in range(first, first + n) for v in packed(s, i.operands[k], True)]]
    return list(packed(s, i.operands[int(m["value"])], m["reg"] is not None))


def packed(s: Selector, v: Value, registers: bool) -> list[Value]:
    """The registers of an operand as PTX has them: two halves in one of 32 bits."""
    shape, values = parts(v.type), s.use(v)
    if isinstance(v.type, VectorType) and all(p.bits == 16 for p in shape):
        pairs = zip(values[::2], values[1::2], strict=True)
        return [s.op("mov.b32", [s.reg(lo, "b16"), s.reg(hi, "b16")]) for lo, hi in pairs]
    out = []
    for x, p in zip(values, shape, strict=True):
        literal = isinstance(x, Constant) and p.reg is not PRED
        if literal and (registers or p.reg.is_float):
            x = s.reg(x, p.reg.name)
        out.append(x)
    return out


def emit(
    s: Selector, spelling: str, operands: tuple[Operand, ...], t: Type, pair: bool = False
) -> Parts:
    """One ori instruction whose results make up a value of type `t`."""
    shape = _registers(t)
    n = len(shape)
    if pair:
        result = "%s|%s"
    else:
        result = "" if not n else "%s" if n == 1 and not _is_list(spelling) else \
            "{" + ", ".join(["%s"] * n) + "}"
    made = s.emit(spelling, operands, result).results
    out: list[Value] = []
    for v, halves in zip(made, shape, strict=False):
        out.extend(s.ops("mov.b32", v, shape="{%s, %s}") if halves else (v,))
    return tuple(out)


def _is_list(spelling: str) -> bool:
    """Whether even a single result stands in braces."""
    return spelling.startswith(("ldmatrix", "mma", "wmma"))


def _registers(t: Type) -> list[bool]:
    """The registers of a result: True for two halves in one."""
    if isinstance(t, StructType):
        return [r for e in t.elements or () for r in _registers(e)]
    if isinstance(t, VectorType) and t.element.bits == 16 and t.count % 2 == 0:
        return [True] * (t.count // 2)
    return [False] * len(parts(t))


def _special(s: Selector, name: str) -> Value:
    register = special_register(name)
    assert register is not None
    if not register.volatile:
        return s.cached(register, lambda: s.op(f"mov.{register.type.name}", register))
    f = form(f"mov.{register.type.name}", "%s, %s", None, True)
    return s.b.insert(Instruction(f, (register,), register.type))


def _cast(s: Selector, i: Instruction, name: str) -> Parts:
    from nvir.passes.select.rules.convert import RULES

    space = SPACE_NUMBERS["const" if name == "constant" else name]
    if space in (getattr(v.type, "space", -1) for v in (i, i.operands[0])):
        return RULES["addrspacecast"](s, i)
    raise s.fail(f"the intrinsic {i.aux.callee.name}")


# ------------------------------------------------------------ rules of their own


def _barrier_reduction(what: str) -> Rule:
    def rule(s: Selector, i: Instruction) -> Parts:
        x = s.reg(s.one(i.operands[-1]), "b32")
        p = x if x.type is PRED else s.op("setp.ne.s32", x, 0)
        number = s.one(i.operands[0]) if len(i.operands) > 1 else integer(0)
        if what == "popc":
            return (s.op("bar.red.popc.u32", number, p),)
        q = s.op(f"bar.red.{what}.pred", number, p)
        return (q if i.type.bits == 1 else s.op("selp.b32", 1, 0, q),)

    return rule


def _read_only(mnemonic: str) -> Rule:
    """llvm.nvvm.ldg.global.{i,f,p} and ldu: the pointer, and its alignment as a number."""

    def rule(s: Selector, i: Instruction) -> Parts:
        from nvir.passes.select.rules.memory import load_value

        a = s.address(i.operands[0])
        if a.space != GLOBAL:
            a = Address(s.into(a, GLOBAL), 0, GLOBAL)
        given = i.operands[1] if len(i.operands) > 1 else None
        align = int(given.value or 0) if isinstance(given, Constant) else 0
        if mnemonic == "ldg":
            return load_value(s, a, i.type, align or align_of(i.type), nc=True)
        return load_value(s, a, i.type, align or align_of(i.type), name="ldu")

    return rule


def _constant_answer(answer: int) -> Rule:
    def rule(s: Selector, i: Instruction) -> Parts:
        from nvir.passes.select.constants import literal

        return tuple(literal(p, answer) for p in parts(i.type))

    return rule


def _object_size(s: Selector, i: Instruction) -> Parts:
    least = i.operands[1]
    unknown = 0 if isinstance(least, Constant) and least.value else -1
    return _constant_answer(unknown)(s, i)


def _pointer_mask(s: Selector, i: Instruction) -> Parts:
    a = s.address(i.operands[0])
    return (s.op("and.b64", s.register(a), s.one(i.operands[1])),)


def _stack_save(s: Selector, i: Instruction) -> Parts:
    return (integer(0),)


def _reduce(s: Selector, i: Instruction) -> Parts:
    """llvm.vector.reduce.*: by pairs of elements, from the first on (floats in their order)."""
    what = str(i.aux.callee.name).split(".")[3]
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
        raise s.fail(f"{i.aux.callee.name}")
    if what == "mul":
        w = 16 if t.bits <= 16 else 32 if t.bits <= 32 else 64
        return (s.op(f"mul.lo.s{w}", a[0], b[0]),)
    llvm = what[1:] if what in ("smin", "smax") else what
    return (combined(s, llvm, t, a[0], b[0]),)


def _atomic(what: str, order: str = "relaxed.gpu") -> Rule:
    """NVVM's older atomic intrinsics: atomic.load.inc.32 and the like."""

    def rule(s: Selector, i: Instruction) -> Parts:
        from nvir.passes.select.rules.atomics import modify

        v = i.operands[1]
        return modify(s, s.address(i.operands[0]), what, v.type, s.one(v), order)

    return rule


_SPECIAL: dict[str, Callable[[Selector, Instruction], Parts]] = {
    "llvm.memcpy": lambda s, i: copies.copy(s, i, move=False),
    "llvm.memcpy.inline": lambda s, i: copies.copy(s, i, move=False),
    "llvm.memmove": lambda s, i: copies.copy(s, i, move=True),
    "llvm.memset": copies.fill,
    "llvm.memset.inline": copies.fill,
    "llvm.objectsize": _object_size,
    "llvm.is.constant": _constant_answer(0),
    "llvm.nvvm.reflect": _constant_answer(0),
    "llvm.invariant.start": _stack_save,
    "llvm.stacksave": _stack_save,
    "llvm.ptrmask": _pointer_mask,
    "llvm.vector.reduce": _reduce,
    "llvm.nvvm.ldg.global": _read_only("ldg"),
    "llvm.nvvm.ldu.global": _read_only("ldu"),
    "llvm.nvvm.atomic.load.inc.32": _atomic("uinc_wrap"),
    "llvm.nvvm.atomic.load.dec.32": _atomic("udec_wrap"),
    "llvm.nvvm.atomic.load.add.f32": _atomic("fadd"),
    "llvm.nvvm.atomic.load.add.f64": _atomic("fadd"),
    **{f"llvm.nvvm.barrier0.{what}": _barrier_reduction(what) for what in ("popc", "and", "or")},
    **{
        f"llvm.nvvm.barrier.cta.red.{what}.aligned.all": _barrier_reduction(what)
        for what in ("popc", "and", "or")
    },
}
