"""Operands of inline assembly as libnvvm takes them: integers of 8 to 64 bits, float, double.

    call i32 asm "@$1 ld.b32 $0, [$2];", "=r,b,l"(i1 %p, ptr %a)
        ==>
    call i32 asm "{ .reg .pred nvir_p1; setp.ne.u32 nvir_p1, $1, 0; @nvir_p1 ld.b32 $0, [$2]; }",
        "=r,r,l"(i32 (zext %p), i64 (ptrtoint %a))

Vectors and halves pass as integers of their bits in both dialects; pointers as integers and
predicates as words in that of LLVM 7, whose results become what they were behind the call.

Source   libnvvm 13.0: "Invalid type in inline assembly, must be i8, i16, …".
"""

from __future__ import annotations

import re

import attrs

from nvir.ir import CallInfo, Instruction, Value, undef
from nvir.ir import types as ty
from nvir.ir.nvvm import Builder
from nvir.ir.nvvm_values import InlineAsm, NvvmCall


def fit(i: Instruction, asm: InlineAsm, dialect: str) -> bool:
    """Rewrite a call of inline assembly whose operands or results libnvvm does not take."""
    constraints = asm.constraints.split(",")
    outputs = [c for c in constraints if c.startswith("=")]
    given = [v.type for v in i.operands]
    made = list(i.type.elements or ()) if isinstance(i.type, ty.StructType) else [i.type]
    if i.type is ty.VOID:
        made = []
    if len(made) != len(outputs) or all(_taken(t, c, dialect) is t for t, c in zip(
        made + given, constraints, strict=False
    )):
        return False
    b = Builder.ahead_of(i)
    operands = [
        _passed(b, v, _taken(v.type, c, dialect))
        for v, c in zip(i.operands, constraints[len(outputs) :], strict=False)
    ]
    results = [_taken(t, c, dialect) for t, c in zip(made, outputs, strict=True)]
    predicates = [k for k, t in enumerate(made + given) if t is ty.I1 and dialect == "llvm7"]
    new_asm = _with_words(asm, constraints, predicates, len(outputs))
    whole = ty.VOID if not results else results[0] if len(results) == 1 else ty.struct(results)
    assert isinstance(i.aux, CallInfo)
    info = attrs.evolve(i.aux, callee=new_asm)
    if isinstance(info, NvvmCall) and info.arguments:  # a number is not `nonnull`
        info.arguments = tuple(
            a if v.type is old.type else ()
            for a, v, old in zip(info.arguments, operands, i.operands, strict=False)
        )
    new = b.insert(i.form.spelling, tuple(operands), whole, i.name or "", info)
    _give_back(b, i, new, made)
    return True


def _taken(t: ty.Type, constraint: str, dialect: str) -> ty.Type:
    """The type that an operand of type `t` has for libnvvm."""
    if isinstance(t, ty.VectorType) and t.bits in (8, 16, 32, 64):
        return ty.int_type(t.bits)
    if isinstance(t, ty.FloatType) and t.bits == 16:
        return ty.I16
    if dialect == "llvm7" and isinstance(t, ty.PointerType):
        return ty.I32 if "r" in constraint else ty.I64
    return ty.I32 if dialect == "llvm7" and t is ty.I1 else t


def _passed(b: Builder, v: Value, t: ty.Type) -> Value:
    if v.type is t:
        return v
    if isinstance(v.type, ty.PointerType):
        return b.ptrtoint(v, t)
    return b.zext(v, t) if v.type is ty.I1 else b.bitcast(v, t)


def _back(b: Builder, v: Value, t: ty.Type) -> Value:
    if v.type is t:
        return v
    if isinstance(t, ty.PointerType):
        return b.inttoptr(v, t)
    return b.trunc(v, t) if t is ty.I1 else b.bitcast(v, t)


def _give_back(b: Builder, old: Instruction, new: Value, made: list[ty.Type]) -> None:
    if not made:
        old.erase()
        return
    if len(made) == 1:
        old.replace_with(_back(b, new, made[0]))
        return
    whole: Value = undef(old.type)
    for k, t in enumerate(made):
        whole = b.insert_value(whole, _back(b, b.extract_value(new, (k,)), t), (k,))
    old.replace_with(whole)


def _with_words(asm: InlineAsm, constraints: list[str], predicates: list[int],
                outputs: int) -> InlineAsm:
    """The assembly with words for its predicates, which it makes itself."""
    text, constraints = asm.template, list(constraints)
    before, after = "", ""
    for k in predicates:
        name = f"nvir_p{k}"
        text = re.sub(rf"\$(?:{k}(?!\d)|\{{{k}(?::\w+)?\}})", name, text)
        before += f".reg .pred {name}; "
        if k < outputs:
            after += f" selp.u32 ${k}, 1, 0, {name};"
        else:
            before += f"setp.ne.u32 {name}, ${k}, 0; "
        constraints[k] = constraints[k].replace("b", "r")
    if predicates:
        text = f"{{ {before}{text}{after} }}"
    return InlineAsm(text, ",".join(constraints), asm.flags)
