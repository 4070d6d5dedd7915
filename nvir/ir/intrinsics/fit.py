"""Whether a call fits the signature of its intrinsic's row: a declaration may say anything.

    mismatch(row, call)     what is wrong, in words; None for what can be selected and run
    has_literals(row)       whether more than types decides that

Types need not be those of the row to the letter: names of older versions of LLVM have i16 for
bfloat and i32 for two halves, and what goes in one register of the same width is as good.
"""

from __future__ import annotations

import functools

from nvir.ir import types as ty
from nvir.ir.instruction import Instruction
from nvir.ir.intrinsics.intrinsic import OVERLOADED, Intrinsic, is_packed
from nvir.ir.values import Constant

_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "v2f16": 32, "v2bf16": 32}


def mismatch(row: Intrinsic, call: Instruction) -> str | None:
    """Why a call cannot be one of the intrinsic, None where it can."""
    results, words = _signature(row.types)
    if row.effect == "hint":  # operands may be metadata, and differ between versions
        return _result(row, results, call.type, [])
    given = call.operands
    least = len(words)
    while row.rule and least and words[least - 1][1]:
        least -= 1  # flags that older versions lack
    if not least <= len(given) <= len(words):
        return f"with {len(given)} operands"
    seen: list[ty.Type] = []
    for k, (v, (word, fixed)) in enumerate(zip(given, words, strict=False)):
        if not _fits(row, word, v.type, seen):
            return f"with operand {k} of type {v.type}"
        if fixed and not isinstance(v, Constant):
            return f"with operand {k} that is no literal"
    return _result(row, results, call.type, seen)


def has_literals(row: Intrinsic) -> bool:
    """Whether an operand must be a literal, so that the types of a call don't decide."""
    return any(fixed for _, fixed in _signature(row.types)[1])


@functools.cache
def _signature(types: str) -> tuple[list[str], list[tuple[str, bool]]]:
    """The words of the results, and those of the operands, each with whether it is a literal."""
    head, *rest = types.split()
    return _words(head), [(w, x.endswith("!")) for x in rest for w in _words(x.rstrip("!"))]


def _words(text: str) -> list[str]:
    out: list[str] = []
    for part in text.split("+"):
        count, _, word = part.rpartition("*")
        out += [word] * int(count or 1)
    return out


def _result(row: Intrinsic, words: list[str], t: ty.Type, seen: list[ty.Type]) -> str | None:
    members = list(t.elements or ()) if isinstance(t, ty.StructType) else [t]
    if len(members) != len(words):
        return f"that gives {t}"
    if seen and isinstance(seen[0], ty.VectorType) and not row.rule.startswith("number"):
        # What a vector's elements give is a vector as long: the truth values of is.fpclass.
        if any(not isinstance(m, ty.VectorType) or m.count != seen[0].count for m in members):
            return f"that gives {t}"
        members = [m.element if w not in OVERLOADED and isinstance(m, ty.VectorType) else m
                   for w, m in zip(words, members, strict=True)]
    fits = all(
        m is ty.VOID if w == "void" else _fits(row, w, m, seen)
        for w, m in zip(words, members, strict=True)
    )
    return None if fits else f"that gives {t}"


def _fits(row: Intrinsic, word: str, t: ty.Type, seen: list[ty.Type]) -> bool:
    """Whether a value of a type goes where the row has `word`; `seen` is what an overload is."""
    if word.startswith("ptr"):
        return isinstance(t, ty.PointerType)
    if word.removeprefix("v4") in OVERLOADED:
        return _fits_overload(word, t, seen)
    if row.rule:  # rules take integers of any width
        return isinstance(t, ty.FloatType if word in _BITS else ty.IntType)
    bits = _BITS[word] if word in _BITS else ty.parse_type(word).bits
    plain = isinstance(t, ty.IntType | ty.FloatType) or (is_packed(t) and t.bits == 32)
    return plain and t.bits == bits


def _fits_overload(word: str, t: ty.Type, seen: list[ty.Type]) -> bool:
    vector = isinstance(t, ty.VectorType)
    element = t.element if isinstance(t, ty.VectorType) else t
    if word.startswith("v4"):
        if not vector:
            return False
        t = element
    if not seen:
        seen.append(t)
    kind = {"int": ty.IntType, "fp": ty.FloatType}.get(word.removeprefix("v4"))
    return t is not ty.VOID and seen[0] is t and (kind is None or isinstance(element, kind))
