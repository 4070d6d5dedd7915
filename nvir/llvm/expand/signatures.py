"""Whether an intrinsic is declared as LLVM has it: the table's by their rows, and those that the
reader writes as other code by what is said here, in the notation of `Intrinsic.types`.

Source   LLVM Language Reference; LLVM 19's Intrinsics.td and Verifier.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence

from nvir.ir import Function, Value, Variable
from nvir.ir.intrinsics import declared_mismatch, find, literals, misfit, misplaced
from nvir.llvm.expand.upgrade import BINARY, CASTS, split_name

_ROTATED = {"b32": "i32 i32 i32", "b64": "i64 i64 i32", "right.b64": "i64 i64 i32"}
_TYPES: dict[str, str] = {
    "ucmp": "int2 int int", "scmp": "int2 int int",
    **{f"{s}{what}.fix{sat}": "int int int i32!"
       for s in "su" for what in ("mul", "div") for sat in ("", ".sat")},
    "powi": "fp fp int2", "ldexp": "fp fp int2", "frexp": "fp+int2 fp",
    "vector.reverse": "T T", "vector.splice": "T T T i32!",
    **{f"{old}vector.{word}": types for old in ("", "experimental.")
       for word, types in (("insert", "T T T2 i64!"), ("extract", "T2 T i64!"))},
    "vector.interleave2": "T2 T T", "vector.deinterleave2": "T+T T2",
    "stepvector": "int", "experimental.stepvector": "int",
    "vector.reduce.fmaximum": "fp v4fp", "vector.reduce.fminimum": "fp v4fp",
    "experimental.vector.partial.reduce.add": "T T T2",
    "masked.load": "T ptr i32! v4i1 T", "masked.store": "void T ptr i32! v4i1",
    "masked.gather": "T v4ptr i32! v4i1 T", "masked.scatter": "void T v4ptr i32! v4i1",
    "masked.expandload": "T ptr v4i1 T", "masked.compressstore": "void T ptr v4i1",
    "load.relative": "ptr ptr int", "frameaddress": "ptr i32!", "returnaddress": "ptr i32!",
    "addressofreturnaddress": "ptr", "get.dynamic.area.offset": "int",
    "experimental.widenable.condition": "i1", "allow.runtime.check": "i1 metadata",
    "allow.ubsan.check": "i1 i8!", "get.rounding": "i32",
    "nvvm.shfl.sync.i32": "i32+i1 i32 i32! i32 i32 i32", "nvvm.vote.sync": "i32+i1 i32 i32! i1",
    **{f"nvvm.rotate.{word}": types for word, types in _ROTATED.items()},
    "nvvm.swap.lo.hi.b64": "i64 i64",
    **{f"nvvm.{word}": types for word, types in (
        ("popc.i", "i32 i32"), ("popc.ll", "i32 i64"), ("clz.i", "i32 i32"), ("clz.ll", "i32 i64"),
        ("brev32", "i32 i32"), ("brev64", "i64 i64"), ("abs.i", "i32 i32"), ("abs.ll", "i64 i64"))},
    "convert.from.fp16": "fp i16", "convert.to.fp16": "i16 fp",
}
_PREDICATED = {
    "select": "T v4i1 T T i32", "merge": "T v4i1 T T i32", "load": "T ptr v4i1 i32",
    "store": "void T ptr v4i1 i32", "gather": "T v4ptr v4i1 i32",
    "scatter": "void T v4ptr v4i1 i32", "icmp": "v4i1 T T metadata v4i1 i32",
    "fcmp": "v4i1 T T metadata v4i1 i32", "fneg": "T T v4i1 i32",
}


def is_known(name: str) -> bool:
    """Whether an intrinsic of that name has a row, or a signature here."""
    return find(name) is not None or bool(_types(name))


def declaration_problem(f: Function) -> str | None:
    """Why this is no declaration of the intrinsic of that name, or None."""
    if f.aux and f.aux.get("variadic"):
        return "that takes any number of operands"
    row = find(str(f.name))
    if row is not None:
        return declared_mismatch(row, f)
    types = _types(str(f.name))
    return misfit(types, f.return_type, [p.type for p in f.arguments]) if types else None


def lone_problem(f: Function) -> str | None:
    """Why LLVM refuses this declaration of an intrinsic though nobody calls it, or None."""
    row = find(str(f.name))
    return misplaced(row, f) if row is not None else None


def literal_problem(name: str, given: Sequence[Value]) -> str | None:
    """Which operand of an intrinsic without a row must be a literal, or None."""
    if asks_for_operands(name):
        local = given and isinstance(given[0], Variable) and "thread_local" in given[0].attributes
        return None if local else "takes a thread_local variable"
    types = _types(name) if find(name) is None else ""
    return literals(types, given) if types else None


def asks_for_operands(name: str) -> bool:
    """Whether more than the types of a call's operands and its literals has to be right."""
    return name.startswith("llvm.threadlocal.address")


def _types(name: str) -> str:
    """The signature of an intrinsic that has no row; "" where none is known."""
    if name.startswith("llvm.experimental.constrained."):
        return _constrained(split_name(name, "llvm.experimental.constrained.")[0])
    if name.startswith("llvm.vp."):
        return _predicated(split_name(name, "llvm.vp.")[0])
    return _TYPES.get(split_name(name, "llvm.")[0], "")


def _constrained(word: str) -> str:
    """Behind the operands stand the rounding, where there is one, and the exceptions."""
    if word in ("fcmp", "fcmps"):
        return "T2 fp fp metadata metadata"
    row = find(f"llvm.{word}")
    types = "fp fp fp" if word in BINARY else row.types if row is not None else _TYPES.get(
        word, "T2 T" if word in CASTS else "")
    return types and f"{types} metadata metadata?"


def _predicated(word: str) -> str:
    if word.startswith("reduce."):
        return "T T v4T v4i1 i32"
    row = find(f"llvm.{word}")
    types = "T T T" if word in BINARY else "T2 T" if word in CASTS else (
        row.types if row is not None else "")
    return _PREDICATED.get(word, types and f"{types} v4i1 i32")
