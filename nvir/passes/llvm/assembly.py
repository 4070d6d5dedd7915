"""Intrinsics that libnvvm's older dialect has no name for, as inline assembly, and roundings.

    %m = call i32 @llvm.nvvm.activemask()   ==>   %m = call i32 asm sideeffect "activemask.b32 $0;"
    %y = call float @llvm.rint.f32(float %x)  ==>  %y = call float asm "cvt.rni.f32.f32 $0, $1;"

The statement is that of the table of intrinsics (nvir.ir.intrinsics), with a constraint for each
operand: `l` for a pointer, `n` for what PTX takes as a literal only.

Source   libnvvm 13.0 leaves these calls as they are in its PTX, or refuses them.
"""

from __future__ import annotations

import re

import attrs

from nvir.ir import Constant, Instruction, SpecialRegister, Value
from nvir.ir.intrinsics import Intrinsic, find, written
from nvir.ir.nvvm import Builder, const_like
from nvir.ir.nvvm_values import InlineAsm, NvvmCall
from nvir.ir.types import ADDRESS_SPACES, IMM, FloatType, PointerType, Type
from nvir.passes.llvm import asm_operands

_UNKNOWN = re.compile(
    r"llvm\.nvvm\.(redux\.sync\.(add|and|x?or|u?min|u?max)|activemask|nanosleep|idp[24]a\..*|"
    r"cp\.async\.(ca|cg)\.shared\.global\.\d+(\.s)?|"
    r"cp\.async\.(commit\.group|wait\.group|wait\.all|bulk\..*)|stmatrix\..*|"
    r"f(min|max)\.(?!d$|(ftz\.)?f$).*|fma\.rn\..*f16(x2)?|(neg|abs|ex2\.approx.*)\.b?f16(x2)?|"
    r"ff2b?f16x2\..*|f2(tf32|bf16)\..*|rcp\.approx\.ftz\.f|barrier\.cluster\..*|"
    r"is_explicit_cluster|(cp\.async\.)?mbarrier\..*|getctarank.*)|llvm\.readsteadycounter"
)
_NEVER = frozenset(("llvm.nvvm.activemask", "llvm.nvvm.nanosleep"))  # in neither dialect
_TIMER = "llvm.nvvm.read.ptx.sreg.globaltimer"
_CONSTRAINTS = {1: "b", 8: "h", 16: "h", 32: "r", 64: "l"}


def statement(name: str, dialect: str) -> Intrinsic | None:
    """The row of an intrinsic that libnvvm does not know."""
    unknown = name in _NEVER
    if dialect == "llvm7":
        unknown = name == _TIMER or _UNKNOWN.fullmatch(name) is not None
    row = find(name) if unknown else None
    return row if row is not None and row.ori else None


@attrs.frozen
class _AsmOperands:
    """The operands of a call as they are, for a pattern (nvir.ir.intrinsics.Operands)."""

    values: tuple[Value, ...]

    def registers(self, k: int, literal: bool) -> list[Value]:
        return [self.values[k]]

    def place(self, k: int, space: int | None) -> tuple[Value, int]:
        return self.values[k], 0

    def modifier(self, k: int) -> str:
        t = self.values[k].type
        space = t.space if isinstance(t, PointerType) else 0
        return f".{ADDRESS_SPACES[space]}" if space else ""

    def number(self, k: int) -> int:
        return int(getattr(self.values[k], "value", 0))


def as_assembly(i: Instruction, row: Intrinsic, dialect: str) -> None:
    """Replace a call by its statement, with operands that the dialect takes."""
    spelling, operands = row.pattern.fill(_AsmOperands(i._operands))
    shapes, values = written(operands)
    given: list[Value] = []
    shift = int(i.type.bits > 0)
    words = ["$0"] * shift
    fill = iter(values)
    for shape in shapes:
        texts = tuple(_word(next(fill), given, shift) for _ in range(shape.count("%s")))
        words.append(shape % texts)
    template = f"{spelling} {', '.join(words)};" if words else f"{spelling};"
    codes = [f"={_constraint(i.type)}"] if shift else []
    codes += ["n" if isinstance(v, Constant) else _constraint(v.type) for v in given]
    if not row.is_pure:
        codes.append("~{memory}")
    b = Builder.ahead_of(i)
    made = _assembly(b, i.type, template, ",".join(codes), tuple(given), row.is_pure)
    if shift:
        i.replace_with(made)
    else:
        i.erase()
    asm_operands.fit(made, made.aux.callee, dialect)


def _word(v: Value, given: list[Value], shift: int) -> str:
    """How a value is written: a number, a register of the machine, the next operand."""
    if isinstance(v, SpecialRegister):
        return v.name
    if isinstance(v, Constant) and v.type is IMM:
        return str(v.value)
    given.append(v)
    return f"${len(given) - 1 + shift}"


def _constraint(t: Type) -> str:
    if isinstance(t, FloatType):
        return {"float": "f", "double": "d"}.get(t.name, "h")
    return "l" if isinstance(t, PointerType) else _CONSTRAINTS[t.bits]


# ------------------------------------------------------------------- roundings

MODES = {"rint": "rni", "nearbyint": "rni", "trunc": "rzi", "round": "rzi"}


def rounding(b: Builder, x: Value, what: str) -> Value:
    """A float or double to an integer, as a float. `round`, half away from zero: cut off, and one
    more, with the sign of the argument, where a half or more was cut."""
    if what != "round":
        return _converted(b, x, MODES.get(what, "rni"))
    cut = _converted(b, x, "rzi")
    rest = b.fsub(x, cut)
    far = b.or_(b.fcmp_ordered(">=", rest, const_like(x, 0.5)),
                b.fcmp_ordered("<=", rest, const_like(x, -0.5)))
    away = b.select(b.fcmp_ordered("<", x, const_like(x, 0.0)), const_like(x, -1.0),
                    const_like(x, 1.0))
    return b.select(far, b.fadd(cut, away), cut)


def _converted(b: Builder, x: Value, mode: str) -> Value:
    kind, code = ("f32", "f") if x.type.bits == 32 else ("f64", "d")
    text = f"cvt.{mode}.{kind}.{kind} $0, $1;"
    return _assembly(b, x.type, text, f"={code},{code}", (x,), pure=True)


def _assembly(b: Builder, t: Type, text: str, constraints: str, operands: tuple[Value, ...],
              pure: bool) -> Instruction:
    asm = InlineAsm(text, constraints, () if pure else ("sideeffect",))
    attributes = ("nounwind", ("memory", "none")) if pure else ("convergent", "nounwind")
    info = NvvmCall(len(operands), callee=asm, attributes=attributes)
    return b.insert("call", operands, t, aux=info)
