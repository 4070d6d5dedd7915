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

from nvir.ir import Constant, Instruction, SpecialRegister, Value, undef
from nvir.ir.intrinsics import Intrinsic, find, written
from nvir.ir.nvvm import Builder, const_like
from nvir.ir.nvvm_values import InlineAsm, NvvmCall
from nvir.ir.types import (
    ADDRESS_SPACES,
    IMM,
    VOID,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    struct,
)
from nvir.passes.llvm import asm_operands

_ROUNDED = r"r[nzmp]\.(d|(ftz\.)?f)"
_NAMES = rf"""
    (add|mul|fma|div|sqrt|rcp)\.{_ROUNDED} (ceil|floor|round|trunc|saturate|fabs)\.(d|(ftz\.)?f)
    (fmin|fmax)\.(d|(ftz\.)?f) (sin|cos|ex2|lg2|sqrt|rsqrt|div)\.approx\.(ftz\.)?f rsqrt\.approx\.d
    tanh\.approx\.f sqrt\.f rcp\.approx\.(f|ftz\.d) (d|f|u?i|u?ll)2(d|f|h|u?i|u?ll)\..* h2f
    lohi\.i2d bitcast\..* (min|max)\.(i|s|ll|ui|ull) (mul24|mulhi|sad)\..* prmt fns
    (isspacep|istypep|match)\..* shfl\..* vote\.\w+\.sync bar\.(warp\.)?sync
    barrier(0.*|\.n|\.sync(\.cnt)?) membar\..* setmaxnreg\..* (tex|tld4|suld|sust|txq|suq)\..*
    read\.ptx\.sreg\.(clock(64)?|n?(ctaid|tid)\.\w|envreg\d+|gridid|laneid|lanemask\.\w+)
    read\.ptx\.sreg\.(n?(smid|warpid)|pm[0-3])
""".split()
_NEWER_NAMES = r"""
    (abs|neg)\.bf16(x2)? (fmin|fmax|ex2\.approx)\.(?!f32|ftz\.(f32|bf)).*
    fma\.rn\.(?!(ftz\.)?sat\.f$).* div\.full(\.ftz)? (e4m3x2|e5m2x2|f16x2|ff)\.to\..*
    (ff2b?f16x2|f2bf16|f2tf32)\..* (min|max)\.us rcp\.approx\.ftz\.f rsqrt\.approx\.ftz\.d
    idp[24]a\.[su]\.[su] fsh[lr]\.clamp redux\.sync\.(?!fm).* elect\.sync
    (cp\.async|mbarrier|barrier\.cluster|ldmatrix|stmatrix|wmma|prefetchu?)\..*
    mma\.(?!.*e[45]m|m16.*f64).* griddepcontrol\..* (applypriority|discard)\..*
    fence\.sc\.cluster is_explicit_cluster
    (mapa|getctarank)\.shared\.cluster read\.ptx\.sreg\.(n?clusterid|cluster\.n?ctaid)\.\w
    read\.ptx\.sreg\.(cluster\.n?ctarank|globaltimer)
"""
# The names of NVVM intrinsics that each dialect knows, found by giving each to libnvvm 13.0.
_KNOWN = {
    "llvm7": re.compile("|".join(_NAMES)),
    "llvm20": re.compile("|".join(_NAMES + _NEWER_NAMES.split())),
}
_CLOCKS = frozenset(("llvm.readcyclecounter", "llvm.readsteadycounter"))
_OWN = {"llvm7": _CLOCKS | {"llvm.ubsantrap"}, "llvm20": _CLOCKS}  # LLVM's that neither has
_CONSTRAINTS = {1: "b", 8: "h", 16: "h", 32: "r", 64: "l"}


def statement(name: str, dialect: str) -> Intrinsic | None:
    """The row of an intrinsic that libnvvm does not know."""
    row = find(name)
    if row is None or not row.ori:
        return None
    own = row.name.removeprefix("llvm.nvvm.")
    unknown = name in _OWN[dialect] if own == row.name else not _KNOWN[dialect].fullmatch(own)
    return row if unknown else None


@attrs.frozen
class _AsmOperands:
    """The operands of a call as they are, for a pattern (nvir.ir.intrinsics.Operands)."""

    values: tuple[Value, ...]
    held: set[Value] = attrs.field(factory=set)  # constants that go in a register

    def registers(self, k: int, literal: bool) -> list[Value]:
        v = self.values[k]
        if not literal or not isinstance(v.type, IntType):
            self.held.add(v)
        return [v]

    def place(self, k: int, space: int | None) -> tuple[Value, int]:
        self.held.add(self.values[k])
        return self.values[k], 0

    def modifier(self, k: int) -> str:
        t = self.values[k].type
        space = t.space if isinstance(t, PointerType) else 0
        return f".{ADDRESS_SPACES[space]}" if space else ""

    def number(self, k: int) -> int:
        return int(getattr(self.values[k], "value", 0))


def as_assembly(i: Instruction, row: Intrinsic, dialect: str) -> None:
    """Replace a call by its statement, with operands and results that the dialect takes."""
    filled = _AsmOperands(i._operands)
    spelling, operands = row.pattern.fill(filled)
    members: list[Type] = [*(i.type.elements or ())] if isinstance(i.type, StructType) else [i.type]
    if i.type is VOID:
        members = []
    shape, wanted = row.pattern.results(len(members))
    shift = shape.count("%s")
    made_types = members if shift == len(members) else members * shift
    words = [shape % tuple(f"${k}" for k in range(shift))] if shape else []
    shapes, values = written(operands)
    given: list[Value] = []
    fill = iter(values)
    for s in shapes:
        words.append(s % tuple(_word(next(fill), given, shift) for _ in range(s.count("%s"))))
    template = f"{spelling} {', '.join(words)};" if words else f"{spelling};"
    codes = [f"={_constraint(t)}" for t in made_types]
    codes += ["n" if isinstance(v, Constant) and v not in filled.held else _constraint(v.type)
              for v in given]
    if not row.is_pure:
        codes.append("~{memory}")
    b = Builder.ahead_of(i)
    whole = VOID if not shift else made_types[0] if shift == 1 else struct(made_types)
    made = _assembly(b, whole, template, ",".join(codes), tuple(given), row.is_pure)
    _give_back(b, i, made, wanted)
    asm_operands.fit(made, made.aux.callee, dialect)


def _give_back(b: Builder, i: Instruction, made: Instruction, wanted: slice) -> None:
    """Put what the statement makes, or the one of two results that is wanted, for a call."""
    if i.type is VOID:
        i.erase()
    elif made.type is i.type:
        i.replace_with(made)
    elif isinstance(i.type, StructType):  # of one member
        i.replace_with(b.insert_value(undef(i.type), made, 0))
    else:
        i.replace_with(b.extract_value(made, (wanted.start,)))


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
