"""Whether a call fits the signature of its intrinsic's row: a declaration may say anything.

    mismatch(row, call)             what is wrong, in words; None for what can be selected and run
    declared_mismatch(row, f)       the same of a declaration, whose literals are not known
    misfit(types, result, given)    the same of types alone
    misplaced(row, f)               what is wrong with it even where nobody calls it
    has_literals(row)               whether more than types decides that

Types are those of the row, but for what goes in one register of the same width: names of older
versions of LLVM have i16 for bfloat and i32 for two halves.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import attrs

from nvir.ir import types as ty
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.intrinsics.intrinsic import Intrinsic, is_packed
from nvir.ir.values import Constant, Value

_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "v2f16": 32, "v2bf16": 32}
_OVERLOAD = re.compile(r"(v4)?(int|fp|T)(\d?)\Z").match
# What literals may be, by operand: LLVM's verifier has these.
_BELOW = {"llvm.prefetch": {1: 2, 2: 4, 3: 2}, "llvm.is.fpclass": {1: 1 << 10}}


def mismatch(row: Intrinsic, call: Instruction) -> str | None:
    """Why a call cannot be one of the intrinsic, None where it can."""
    given = call.operands
    name = str(getattr(call.aux.callee, "name", ""))
    return _mismatch(row, name, call.type, tuple([v.type for v in given])) or (
        literals(row.types, given, _BELOW.get(row.name, {})) if has_literals(row) else None)


def declared_mismatch(row: Intrinsic, f: Function) -> str | None:
    return _mismatch(row, str(f.name), f.return_type, tuple([p.type for p in f.arguments]))


@functools.lru_cache(4096)
def _mismatch(
    row: Intrinsic, name: str, result: ty.Type, given: tuple[ty.Type, ...]
) -> str | None:
    own = row.name.startswith("llvm.nvvm.")
    spaces = own and re.search(r"\.p\d", name) is None
    wrong = misfit(row.types, result, given, loose=bool(row.rule) and not own, spaces=spaces)
    if wrong is None and row.rule == "bswap" and _element(result).bits % 16:
        return f"that gives {result}, which is no even number of bytes"
    if wrong is None and row.rule == "pointer.mask" and _element(given[1]).bits < 64 and (
            getattr(_element(given[0]), "space", 0) not in (3, 5)):
        return f"with a mask of type {given[1]} for 64 bits"
    return wrong


def literals(
    types: str, given: Sequence[Value], limits: Mapping[int, int] = MappingProxyType({})
) -> str | None:
    """Which operand must be a literal and is none, or one below its limit."""
    for k, (v, (_, fixed)) in enumerate(zip(given, _signature(types)[1], strict=False)):
        if fixed and not isinstance(v, Constant):
            return f"with operand {k} that is no literal"
        if k in limits and not 0 <= getattr(v, "value", 0) < limits[k]:
            return f"with operand {k} that is not below {limits[k]}"
    return None


def misplaced(row: Intrinsic, f: Function) -> str | None:
    """Why a declaration cannot take the attributes that LLVM gives its operands: `immarg` of
    literals, and `nocapture` of pointers, but of those that the result or a name comes from."""
    given, (results, words) = [p.type for p in f.arguments], _signature(row.types)
    if not row.name.startswith("llvm.nvvm."):
        last = max((k for k, (_, fixed) in enumerate(words) if fixed), default=-1)
        if last >= len(given) and not words[last][0].endswith("?"):
            return f"without operand {last}, a literal"
    held = results[0][:3] != "ptr" and row.name not in ("llvm.nvvm.reflect", "llvm.var.annotation")
    for k, (t, (word, _)) in enumerate(zip(given, words, strict=False)):
        if held and word[:3] == "ptr" and not isinstance(_element(t), ty.PointerType):
            return f"with operand {k} of type {t}, where a pointer stands"
    return None


@functools.cache
def has_literals(row: Intrinsic) -> bool:
    """Whether an operand must be a literal, so that the types of a call don't decide."""
    return any(fixed for _, fixed in _signature(row.types)[1])


def misfit(
    types: str, result: ty.Type, given: Sequence[ty.Type], *, loose: bool = False,
    spaces: bool = False,
) -> str | None:
    """Why types are not those of a signature (`Intrinsic.types`). `loose`: integers are of any
    width but i1 and i8; `spaces`: pointers are of the address space that is written."""
    results, words = _signature(types)
    fit = _Fit(loose, spaces)
    if words and words[-1][0] == "...":
        return None if fit.results(results, result) else f"that gives {result}"
    least = sum(not w.endswith("?") for w, _ in words)
    if not least <= len(given) <= len(words):
        return f"with {len(given)} operands"
    for k, (t, (word, fixed)) in enumerate(zip(given, words, strict=False)):
        fit.loose = loose and not fixed
        if not fit.one(word.rstrip("?"), t):
            return f"with operand {k} of type {t}"
    fit.loose = loose
    if not fit.results(results, result):
        return f"that gives {result}"
    whole = fit.seen.get("")
    if fit.mask and isinstance(whole, ty.VectorType) and whole.count != fit.mask:
        return f"with a mask of {fit.mask} lanes for {whole}"
    return None


@functools.cache
def _signature(types: str) -> tuple[list[str], list[tuple[str, bool]]]:
    """The words of the results, and those of the operands, each with whether it is a literal."""
    head, *rest = types.split()
    return _words(head), [
        (w + "?" * x.endswith("?"), "!" in x) for x in rest for w in _words(x.rstrip("!?"))
    ]


def _words(text: str) -> list[str]:
    out: list[str] = []
    for part in text.split("+"):
        count, _, word = part.rpartition("*")
        out += [word] * int(count or 1)
    return out


def _element(t: ty.Type) -> ty.Type:
    return t.element if isinstance(t, ty.VectorType) else t


@attrs.define
class _Fit:
    """Types held to words, one after the other; `seen` is what an overload's word is."""

    loose: bool
    spaces: bool
    seen: dict[str, ty.Type] = attrs.field(factory=dict)
    mask: int = 0  # lanes of a mask
    lanes: int = 0  # of vectors whose elements are worked on alone

    def results(self, words: list[str], t: ty.Type) -> bool:
        members = list(t.elements or ()) if isinstance(t, ty.StructType) else [t]
        if len(members) != len(words):
            return False
        if self.lanes and words != ["void"]:
            # What a vector's elements give is a vector as long: the truth values of is.fpclass.
            if any(not isinstance(m, ty.VectorType) or m.count != self.lanes for m in members):
                return False
            members = [m if _OVERLOAD(w) else _element(m)
                       for w, m in zip(words, members, strict=True)]
        return all(m is ty.VOID if w == "void" else self.one(w, m)
                   for w, m in zip(words, members, strict=True))

    def one(self, word: str, t: ty.Type) -> bool:
        """Whether a value of a type goes where a signature has `word`."""
        if word.startswith("ptr"):
            space = int(word[3:] or 0)
            return isinstance(t, ty.PointerType) and (not self.spaces or t.space == space)
        overload = _OVERLOAD(word)
        if overload:
            return self._overload(t, *overload.groups())
        if word == "metadata":
            return t is ty.METADATA
        if word.startswith("v4"):  # as many lanes as there are
            if not isinstance(t, ty.VectorType) or self.mask not in (0, t.count):
                return False
            self.mask = t.count
            return self.one(word[2:], t.element)
        bits = _BITS[word] if word in _BITS else ty.parse_type(word).bits
        if word in ("float", "double"):
            return isinstance(t, ty.FloatType) and t.bits == bits and t.name == word
        if self.loose and word not in ("i1", "i8"):
            return isinstance(t, ty.IntType)
        if word in ("half", "bfloat", "v2f16", "v2bf16"):
            plain = isinstance(t, ty.IntType | ty.FloatType)
            return (is_packed(t) or plain) and t.bits == bits
        return (isinstance(t, ty.IntType) or is_packed(t)) and t.bits == bits

    def _overload(self, t: ty.Type, many: str, kind: str, number: str) -> bool:
        element = _element(t)
        if many:
            if not isinstance(t, ty.VectorType):
                return False
            t = element
        if t in (ty.VOID, ty.LABEL) or self.seen.setdefault(number, t) is not t:
            return False
        if isinstance(t, ty.VectorType) and kind != "T":
            self.lanes = t.count
        classes = {"int": ty.IntType, "fp": ty.FloatType}
        return kind == "T" or isinstance(element, classes[kind])
