"""Divisions of 32-bit integers as the operations that they are: others run between them.

Source   SASS of ptxas 13.0.88 at sm_80 and sm_90: the reciprocal in floats, one Newton step, the
         quotient by its high product, and corrections by what is left.
"""

from __future__ import annotations

from nvir.assembler.regalloc.code import Code, Op
from nvir.assembler.regalloc.tables import ALU, SPECIAL
from nvir.ir.instruction import Instruction

# Family, result, sources: a and b are the operands, = is the result, p, o, d predicates.
_RECIPROCAL = """
    I2F t b; MUFU u t; IADD3 v u; F2I w v; IADD3 x w; IMAD y x b; MOV z; IMAD.HI q w y z
    IMAD.HI k q a; IADD3 l k; IMAD r l b a; ISETP p r b; IADD3 s r b p"""
_QUOTIENT = "IADD3 m k p; ISETP o s b; IADD3 n m o"
_REST = "ISETP o s b; IADD3 n s b o"
_UNSIGNED = "ISETP d B; LOP3 = n d B"
_SIGNED = "ISETP d g; IADD3 i n d; LOP3 = i B"
_PREDICATES = "podg"
_SLOW = ("I2F", "MUFU", "F2I")


def _program(quotient: bool, signed: bool) -> tuple[tuple[str, ...], ...]:
    start = "IABS b B; IABS a A; LOP3 g A B" if signed and quotient else ""
    if signed and not quotient:
        start = "IABS b B; IABS a A; ISETP g A"
    middle = _QUOTIENT if quotient else _REST
    end = _SIGNED if signed else _UNSIGNED
    text = ";".join((start, _RECIPROCAL.strip().replace("\n", ";"), middle, end))
    return tuple(tuple(step.split()) for step in text.split(";") if step.strip())


_PROGRAMS = {(q, s): _program(q, s) for q in (False, True) for s in (False, True)}


def division(i: Instruction, a: int, b: int, result: int, code: Code) -> list[Op]:
    """The operations of a 32-bit `div` or `rem`; operands and result are values, -1 a literal or
    a word of the constant bank."""
    t = i.form.type
    signed = t is not None and t.kind == "s"
    known = {"a": a, "b": b, "A": a, "B": b, "=": result}
    ops = []
    for family, to, *sources in _PROGRAMS[i.form.name == "div", signed]:
        read = tuple(dict.fromkeys(k for s in sources if (k := known[s]) >= 0))
        if to != "=":
            known[to] = code.value(0 if to in _PREDICATES and family == "ISETP" else 1)
        latency = SPECIAL if family in _SLOW else ALU
        ops.append(Op((known[to],), read, i, latency=latency, family=family))
    return ops
