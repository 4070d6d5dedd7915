"""The opcode rows of `nvvm`: LLVM's instructions.

Operands are values alone; what else an instruction says is `aux`, or a flag in
its spelling ("add nsw", "icmp slt", "load volatile", "call tail"):

    row              operands                     aux
    ret              value or none                ()
    br               condition or none            successor blocks (taken, else)
    switch           value, case constants        (default, one block for each case)
    unreachable                                   ()
    icmp, fcmp       a, b                         none; the predicate is the first flag
    load             pointer                      alignment in bytes, 0 for the type's own; the
                                                  element type is the result's; flags "volatile",
                                                  "atomic", "invariant" (nothing ever stores there)
    store            value, pointer               alignment
    load atomic, store atomic                     (ordering, scope, alignment)
    getelementptr    base, indices                the source element type; flags "inbounds",
                                                  "nusw", "nuw"
    alloca           count                        (allocated type, alignment)
    call             as CallInfo says             CallInfo; the callee, a Function or InlineAsm, is
                                                  no operand unless indirect
    extractvalue     aggregate                    tuple of indices
    insertvalue      aggregate, element           tuple of indices
    splitStruct      aggregate                    (its type, the struct of the results' types); the
                                                  results are its leaves (`layout.fields`); NVVM's
                                                  own, number 32, and in no LLVM text
    shufflevector    a, b                         tuple of lanes, -1 for an undefined one
    atomicrmw        pointer, value               (ordering, scope, alignment); the operation is
                                                  the first flag, another one "volatile"
    cmpxchg          pointer, expected, new       (success ordering, failure ordering, scope,
                                                  alignment); the result is {T, i1}
    fence                                         (ordering, scope)
    phi              incoming values              predecessor blocks
    the rest         as in LLVM                   none

A form of this level has no type, so folds take the form, the operands' width in bits, the
operands' bit patterns, and for trunc, zext and sext the result's width. They give the
result's pattern, or None where it is poison or undefined: LLVM may choose there, a
constant may not.

Source: LLVM Language Reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.ir.opcodes import NVVM
from nvir.ir.opcodes import OpKind as K

op, ops = NVVM.op, NVVM.ops

# What the first flag of icmp and of fcmp may be.
INT_TESTS = frozenset(("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"))
FLOAT_TESTS = frozenset((
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule",
    "une", "uno", "true",
))


def signed(value: int, bits: int) -> int:
    """The number that a two's complement pattern stands for."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def _wrapping(compute: Callable[[int, int], int]) -> Callable[..., Any]:
    """A fold of add, sub, mul: None where `nsw` or `nuw` makes the result poison."""

    def fold(form: Any, bits: int, a: int, b: int) -> int | None:
        mask = (1 << bits) - 1
        result = compute(a, b) & mask
        if "nuw" in form.mods and compute(a, b) != result:
            return None
        if "nsw" in form.mods and compute(signed(a, bits), signed(b, bits)) != signed(result, bits):
            return None
        return result

    return fold


def _udiv(form: Any, bits: int, a: int, b: int) -> int | None:
    if b == 0 or ("exact" in form.mods and a % b):
        return None
    return a // b


def _urem(form: Any, bits: int, a: int, b: int) -> int | None:
    return a % b if b else None


def _sdiv(form: Any, bits: int, a: int, b: int) -> int | None:
    x, y = signed(a, bits), signed(b, bits)
    if y == 0 or (y == -1 and x == -(1 << (bits - 1))):
        return None
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if "exact" in form.mods and quotient * y != x:
        return None
    return quotient & ((1 << bits) - 1)


def _srem(form: Any, bits: int, a: int, b: int) -> int | None:
    x, y = signed(a, bits), signed(b, bits)
    if y == 0 or (y == -1 and x == -(1 << (bits - 1))):
        return None
    rest = abs(x) % abs(y) * (-1 if x < 0 else 1)
    return rest & ((1 << bits) - 1)


def _shl(form: Any, bits: int, a: int, b: int) -> int | None:
    if b >= bits:
        return None
    result = (a << b) & ((1 << bits) - 1)
    if "nuw" in form.mods and result >> b != a:
        return None
    if "nsw" in form.mods and signed(result, bits) >> b != signed(a, bits):
        return None
    return result


def _lshr(form: Any, bits: int, a: int, b: int) -> int | None:
    if b >= bits or ("exact" in form.mods and a & ((1 << b) - 1)):
        return None
    return a >> b


def _ashr(form: Any, bits: int, a: int, b: int) -> int | None:
    if b >= bits or ("exact" in form.mods and a & ((1 << b) - 1)):
        return None
    return signed(a, bits) >> b & ((1 << bits) - 1)


_PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}


def _icmp(form: Any, bits: int, a: int, b: int) -> int | None:
    predicate = next((m for m in form.mods if m != "samesign"), "")
    if predicate[:1] == "s" and len(predicate) == 3:
        a, b = signed(a, bits), signed(b, bits)
    compare = _PREDICATES.get(predicate[-2:])
    return None if compare is None else int(compare(a, b))


def _trunc(form: Any, bits: int, a: int, to: int) -> int | None:
    result = a & ((1 << to) - 1)
    if "nuw" in form.mods and result != a:
        return None
    if "nsw" in form.mods and signed(result, to) != signed(a, bits):
        return None
    return result


def _zext(form: Any, bits: int, a: int, to: int) -> int | None:
    return None if "nneg" in form.mods and a >> (bits - 1) else a


def _sext(form: Any, bits: int, a: int, to: int) -> int | None:
    return signed(a, bits) & ((1 << to) - 1)


# Control flow.
op("ret", "a?", K.RETURN, "terminator", doc="return, with a value or without")
op("br", "c?", K.BRANCH, "terminator", targets=-1, doc="jump, or branch on an i1")
op("switch", "a, c*", K.SWITCH, "terminator", targets=-1, doc="jump by value")
op("unreachable", "", K.OTHER, "terminator", doc="never executed")

# Integers; operands and result have one type, and vectors work by element.
op("add", "d:int, a:int, b:int", K.SUM, "commutes low_bits", fold=_wrapping(lambda a, b: a + b),
   doc="sum")
op("sub", "d:int, a:int, b:int", K.SUM, "low_bits", fold=_wrapping(lambda a, b: a - b),
   doc="difference")
op("mul", "d:int, a:int, b:int", K.MULTIPLY, "commutes low_bits",
   fold=_wrapping(lambda a, b: a * b), doc="product, low half")
op("udiv", "d:int, a:int, b:int", K.DIVIDE, fold=_udiv, doc="unsigned quotient; by 0 is undefined")
op("sdiv", "d:int, a:int, b:int", K.DIVIDE, "signed", fold=_sdiv,
   doc="signed quotient, towards 0; by 0 is undefined")
op("urem", "d:int, a:int, b:int", K.DIVIDE, fold=_urem, doc="unsigned remainder")
op("srem", "d:int, a:int, b:int", K.DIVIDE, "signed", fold=_srem,
   doc="signed remainder, with the dividend's sign")
op("shl", "d:int, a:int, b:int", K.SHIFT, fold=_shl,
   doc="shift left; by the width or more is poison")
op("lshr", "d:int, a:int, b:int", K.SHIFT, fold=_lshr, doc="shift right, zeros in")
op("ashr", "d:int, a:int, b:int", K.SHIFT, "signed", fold=_ashr, doc="shift right, signs in")
op("and", "d:int, a:int, b:int", K.LOGIC, "commutes low_bits", fold=lambda form, bits, a, b: a & b,
   doc="bitwise and")
op("or", "d:int, a:int, b:int", K.LOGIC, "commutes low_bits",
   fold=lambda form, bits, a, b: None if "disjoint" in form.mods and a & b else a | b,
   doc="bitwise or")
op("xor", "d:int, a:int, b:int", K.LOGIC, "commutes low_bits", fold=lambda form, bits, a, b: a ^ b,
   doc="exclusive or")
op("icmp", "d, a, b", K.COMPARE, fold=_icmp, doc="compare integers or pointers: i1")

# Floating point.
op("fadd", "d:float, a:float, b:float", K.SUM, "commutes", doc="floating sum")
op("fsub", "d:float, a:float, b:float", K.SUM, doc="floating difference")
op("fmul", "d:float, a:float, b:float", K.MULTIPLY, "commutes", doc="floating product")
ops("fdiv frem", "d:float, a:float, b:float", K.DIVIDE, doc="floating quotient, remainder")
op("fneg", "d:float, a:float", K.SIGN, doc="the sign bit flipped")
op("fcmp", "d:i1, a:float, b:float", K.COMPARE, doc="compare floats: i1")

# Memory.
op("load", "d, [a]", K.LOAD, "reads", doc="read a value")
op("store", "a, [b]", K.STORE, "writes", doc="write a value")
op("getelementptr", "d, a, b*", K.ADDRESS, doc="address of an element")
op("alloca", "d, a", K.OTHER, "pinned", lanes="apart",
   doc="memory on the stack, in address space 0 or 5")
op("atomicrmw", "d, [a], b", K.ATOMIC, "reads writes sync", doc="read, modify, write")
op("cmpxchg", "d, [a], b, c", K.ATOMIC, "reads writes sync", doc="compare and exchange")
op("fence", "", K.FENCE, "sync pinned", doc="order memory accesses")

# Calls. What a callee does its declaration's attributes narrow.
op("call", "d?, a*", K.OTHER, "reads writes convergent is_call", lanes="apart", doc="call")

# Values in pieces.
op("select", "d, c, a, b", K.SELECT, doc="a where c, else b")
op("extractvalue", "d, a", doc="a member of a struct or array")
op("insertvalue", "d, a, b", doc="with a member replaced")
op("splitStruct", "d*, a", doc="all scalars and vectors of a struct or array, in order")
op("extractelement", "d, a, b", doc="an element of a vector")
op("insertelement", "d, a, b, c", doc="with an element replaced")
op("shufflevector", "d, a, b", doc="elements of two vectors in a new order")
op("freeze", "d, a", K.FREEZE, doc="some fixed value where a is undef or poison")

# Conversions.
op("trunc", "d:int, a:int", K.RESIZE, width="narrower", fold=_trunc, doc="the low bits")
op("zext", "d:int, a:int", K.RESIZE, width="wider", fold=_zext, doc="zeros above")
op("sext", "d:int, a:int", K.RESIZE, "signed", width="wider", fold=_sext, doc="signs above")
op("fptrunc", "d:float, a:float", K.CONVERT, width="narrower",
   doc="the nearest float of fewer bits")
op("fpext", "d:float, a:float", K.CONVERT, width="wider", doc="the same float in more bits")
op("fptoui", "d:int, a:float", K.CONVERT,
   doc="float to unsigned integer, towards 0; out of range is poison")
op("fptosi", "d:int, a:float", K.CONVERT, "signed",
   doc="float to signed integer, towards 0; out of range is poison")
op("uitofp", "d:float, a:int", K.CONVERT, doc="unsigned integer to float, to nearest even")
op("sitofp", "d:float, a:int", K.CONVERT, "signed", doc="signed integer to float, to nearest even")
op("ptrtoint", "d:int, a:ptr", K.CONVERT, doc="the number of an address")
op("inttoptr", "d:ptr, a:int", K.CONVERT, doc="the address of a number")
op("bitcast", "d, a", K.COPY, doc="the same bits as another type")
op("addrspacecast", "d, a", K.COPY, doc="the same place in another address space")
