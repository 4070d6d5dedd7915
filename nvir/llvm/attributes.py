"""Attributes of functions, parameters and results.

In the IR an attribute is a word ("nounwind") or a pair of name and value: `("align", 16)`,
`("byval", T)`, `("memory", "argmem: read")`, and any other pair is a string
attribute: `("target-cpu", "sm_80")`. Newer spellings of old facts are read as the
old words, which both dialects take: `memory(none)` is "readnone", `captures(none)` "nocapture".
"""

from __future__ import annotations

import functools
import re
from typing import Any

from nvir.ir import types as ty

WORDS = frozenset("""
    allocalign allocptr alwaysinline argmemonly builtin cold convergent coro_elide_safe
    coro_only_destroy_when_complete dead_on_return dead_on_unwind disable_sanitizer_instrumentation
    fn_ret_thunk_extern hot hybrid_patchable immarg inaccessiblemem_or_argmemonly
    inaccessiblememonly inlinehint inreg jumptable minsize mustprogress naked nest
    no_sanitize_address
    noalias nobuiltin nocallback nocapture nocf_check nocreateundeforpoison nodivergencesource
    noduplicate noext nofree noimplicitfloat noinline nomerge nonlazybind nonnull noprofile
    norecurse noredzone noreturn nosanitize_bounds nosanitize_coverage nosync noundef
    nounwind
    null_pointer_is_valid nooutline optdebug optforfuzzing optnone optsize presplitcoroutine
    readnone readonly returned returns_twice safestack sanitize_address sanitize_alloc_token
    sanitize_hwaddress sanitize_memory sanitize_memtag sanitize_numerical_stability
    sanitize_realtime sanitize_realtime_blocking sanitize_thread sanitize_type shadowcallstack
    signext skipprofile speculatable speculative_load_hardening ssp sspreq sspstrong strictfp
    swiftasync swifterror swiftself uwtable willreturn writable writeonly zeroext
""".split())  # noqa: SIM905
OF_TYPE = frozenset(("byval", "byref", "sret", "elementtype", "inalloca", "preallocated"))
OF_NUMBER = frozenset(("align", "alignstack", "dereferenceable", "dereferenceable_or_null"))
OF_TEXT = frozenset((
    "memory", "captures", "range", "nofpclass", "initializes", "allockind", "allocsize",
    "vscale_range", "uwtable", "denormal_fpenv",
))
NAMES = WORDS | OF_TYPE | OF_NUMBER | OF_TEXT

_MEMORY = {
    "none": ("readnone",), "read": ("readonly",), "write": ("writeonly",), "readwrite": (),
    "argmem: read": ("argmemonly", "readonly"), "argmem: readwrite": ("argmemonly",),
    "argmem: write": ("argmemonly", "writeonly"),
    "inaccessiblemem: readwrite": ("inaccessiblememonly",),
    "argmem: readwrite, inaccessiblemem: readwrite": ("inaccessiblemem_or_argmemonly",),
}


def canonical(name: str, text: str) -> tuple[Any, ...]:
    """The attributes that `name(text)` stands for."""
    if name == "memory" and text in _MEMORY:
        return _MEMORY[text]
    if name == "captures" and text == "none":
        return ("nocapture",)
    return ((name, text),)


# Where an attribute may stand, if not in both places, and what it is of.
_OF_POINTERS = frozenset("""
    noalias nocapture captures byval sret byref inalloca preallocated nest nonnull dereferenceable
    dereferenceable_or_null swifterror readnone readonly writeonly initializes writable
    dead_on_unwind dead_on_return allocptr elementtype
""".split())  # noqa: SIM905
_OF_INTEGERS = frozenset(("zeroext", "signext", "noext", "range"))
_OF_BOTH = frozenset(("readnone", "readonly", "writeonly", "nofree", "align", "alignstack"))
_OF_PARAMETERS = (_OF_POINTERS - _OF_BOTH - {"allocptr"}) | _OF_INTEGERS | frozenset((
    "returned", "immarg", "swiftself", "swiftasync", "noundef", "inreg", "nofpclass", "allocalign",
))
OF_FUNCTIONS = NAMES - _OF_PARAMETERS - _OF_BOTH - {"allocptr"}
# Of parameters alone, not of results; and those that one parameter of a function can have.
_NOT_OF_RESULTS = frozenset("""
    byval sret byref inalloca preallocated nest nocapture captures immarg returned readnone readonly
    writeonly swiftself swiftasync swifterror elementtype initializes writable dead_on_unwind
    dead_on_return allocalign allocptr nofree alignstack
""".split())  # noqa: SIM905
ONCE = ("returned", "sret", "nest", "swiftself", "swiftasync", "swifterror")
_MEMORY_KINDS = ("byval", "sret", "byref", "inalloca", "preallocated", "nest", "inreg")
_EXCLUSIVE = (
    ("zeroext", "signext"), ("readnone", "readonly"), ("readnone", "writeonly"),
    ("readonly", "writeonly"), ("inalloca", "readonly"), ("sret", "returned"),
    ("writable", "readnone"), ("writable", "readonly"), ("noinline", "alwaysinline"),
    ("optnone", "optsize"), ("optnone", "minsize"), ("optnone", "optdebug"),
    ("optdebug", "optsize"), ("optdebug", "minsize"),
)
_CLASSES = frozenset("""
    all nan snan qnan inf ninf pinf norm nnorm pnorm sub nsub psub zero nzero pzero
""".split())  # noqa: SIM905
_ALLOCATES, _ALLOCATED = ("alloc", "realloc", "free"), ("uninitialized", "zeroed", "aligned")
_YES_OR_NO = frozenset("""
    less-precise-fpmad no-infs-fp-math no-inline-line-tables no-jump-tables no-nans-fp-math
    no-signed-zeros-fp-math approx-func-fp-math profile-sample-accurate unsafe-fp-math
    use-sample-profile
""".split())  # noqa: SIM905
_VALUES = {
    **dict.fromkeys(_YES_OR_NO, ("", "true", "false")),
    "frame-pointer": ("all", "non-leaf", "none", "reserved"),
}
_PLACES = re.compile(
    r"(?:(?:argmem|inaccessiblemem|errnomem|target_mem\d*|default): ?)?"
    r"(?:none|read|write|readwrite)\Z"
)


@functools.lru_cache(maxsize=4096)
def parameter_problem(
    attributes: tuple[Any, ...], t: ty.Type, result: bool = False
) -> str | None:
    """Why a parameter or result of type `t` cannot have these attributes, or None."""
    names = {a[0] if isinstance(a, tuple) else a for a in attributes}
    of = t.element if isinstance(t, ty.VectorType) else t
    while isinstance(of, ty.ArrayType):
        of = of.element
    for name in names:
        if name in OF_FUNCTIONS:
            return f"'{name}' is no attribute of parameters"
        if result and name in _NOT_OF_RESULTS:
            return f"'{name}' is no attribute of results"
        if name == "noundef" and t is ty.VOID:
            return f"'{name}' is of values, not of {t}"
        if (name in _OF_POINTERS or name == "align") and not isinstance(of, ty.PointerType):
            return f"'{name}' is of pointers, not of {t}"
        if name in _OF_INTEGERS and not isinstance(of, ty.IntType):
            return f"'{name}' is of integers, not of {t}"
        if name == "nofpclass" and not isinstance(of, ty.FloatType | ty.StructType):
            return f"'{name}' is of floats, not of {t}"
    if sum(k in names for k in _MEMORY_KINDS) > 1 + ({"sret", "inreg"} <= names):
        return "of " + ", ".join(k for k in _MEMORY_KINDS if k in names) + " there can be one"
    wrong = _excluded(names)
    if wrong:
        return wrong
    for a in attributes:
        if isinstance(a, tuple) and a[0] == "range" and not str(a[1]).startswith(f"{of} "):
            return f"a range of {str(a[1]).split()[0]} for {t}"
    return None


@functools.lru_cache(maxsize=4096)
def function_problem(attributes: tuple[Any, ...], params: int) -> str | None:
    """Why a function of so many parameters cannot have these attributes, or None."""
    names = {a[0] if isinstance(a, tuple) else a for a in attributes}
    for name in names:
        if name in _OF_PARAMETERS and name not in ("elementtype", "returned"):
            return f"'{name}' is no attribute of functions"
    wrong = _excluded(names)
    if wrong:
        return wrong
    if "optnone" in names and "noinline" not in names:
        return "'optnone' goes with 'noinline'"
    if "builtin" in names:
        return "'builtin' is of calls"
    for a in attributes:
        if isinstance(a, tuple) and a[1] not in _VALUES.get(a[0], (a[1],)):
            return f"'{a[0]}' has no value '{str(a[1])[:60]}'"
        if isinstance(a, tuple) and a[0] == "allocsize":
            beyond = [n for n in str(a[1]).split(", ") if not n.isdigit() or int(n) >= params]
            if beyond:
                return f"allocsize names parameter {beyond[0]}, of {params}"
    return None


def _excluded(names: set[str]) -> str | None:
    for a, b in _EXCLUSIVE:
        if a in names and b in names:
            return f"'{a}' and '{b}' exclude each other"
    return None


@functools.lru_cache(maxsize=4096)
def call_problem(attributes: tuple[Any, ...]) -> str | None:
    """Why what stands behind a call's arguments cannot stand there, or None."""
    names = {a[0] if isinstance(a, tuple) else a for a in attributes}
    wrong = names & (_OF_PARAMETERS - {"elementtype", "returned"})
    return f"'{min(wrong)}' is no attribute of calls" if wrong else None


_RANGE = re.compile(r"i\d+ -?\d+ -?\d+")


@functools.lru_cache(maxsize=4096)
def text_problem(name: str, text: str) -> str | None:
    """What is wrong inside of the brackets of `memory(…)` and its like, or None."""
    words = text.strip('"').replace(",", " ").split()
    numbers = [int(w) for w in re.findall(r"-?\d+", text)]
    if name == "memory":
        parts = text.split(", ")
        if not all(map(_PLACES.match, parts)):
            return f"'{text[:60]}' is no effect on memory"
        if any(":" not in p for p in parts[1:]):
            return "the effect on all memory stands before those on places"
    if name == "uwtable" and text not in ("sync", "async"):
        return "uwtable is 'sync' or 'async'"
    if name == "initializes" and (
        len(numbers) % 2 or not numbers or numbers != sorted(numbers)
        or any(a == b for a, b in zip(numbers[::2], numbers[1::2], strict=True))
    ):
        return "initializes names ranges of bytes in their order"
    if name == "allockind" and (
        not {*words} <= {*_ALLOCATES, *_ALLOCATED} or sum(w in _ALLOCATES for w in words) != 1
    ):
        return f"allockind is one of {', '.join(_ALLOCATES)}, and what it leaves"
    if name == "vscale_range":
        least, most = numbers[0], numbers[-1]
        if any(n and n & (n - 1) for n in numbers) or not least or 0 < most < least:
            return "vscale_range is two powers of two, the smaller one first"
    if name == "range":
        parts = text.replace(",", " ").split()
        if not _RANGE.fullmatch(" ".join(parts)) or parts[1] == parts[2]:
            return "a range has a type and two different bounds"
    if name == "nofpclass" and not ({*words} <= _CLASSES and words) and not (
            text.isdigit() and 0 < int(text) < 1 << 10):
        return f"'{text[:60]}' is no class of floats" if text else "nofpclass names no class"
    return None


# What an LLVM 7 knows. Others are promises or hints that later compilers use: leaving them out
# is sound. "convergent" and the memory words are in both.
_OLD = frozenset("""
    alwaysinline argmemonly builtin cold convergent inaccessiblemem_or_argmemonly
    inaccessiblememonly inlinehint inreg minsize naked nest noalias nobuiltin nocapture nocf_check
    noduplicate noimplicitfloat noinline nonlazybind nonnull norecurse noredzone
    noreturn nounwind optforfuzzing optnone optsize readnone readonly returned returns_twice
    safestack signext speculatable ssp sspreq sspstrong strictfp writeonly zeroext
""".split())  # noqa: SIM905
_OLD_PAIRS = frozenset(("align", "alignstack", "dereferenceable", "dereferenceable_or_null"))


def known_to_llvm7(a: Any) -> bool:
    if isinstance(a, tuple):
        return a[0] in _OLD_PAIRS or a[0] in ("byval", "sret") or a[0] not in NAMES
    return a in _OLD


# Words that libnvvm's LLVM 20 or `opt` of LLVM 19 refuses, most as too new; both take all others of
# the table. `jumptable` goes with `unnamed_addr`, which functions do not keep.
_NEWER = frozenset((
    "coro_elide_safe", "dead_on_return", "nocreateundeforpoison", "nooutline", "captures",
    "sanitize_alloc_token", "denormal_fpenv", "initializes", "noext", "nodivergencesource",
    "sanitize_realtime", "sanitize_realtime_blocking", "sanitize_type",
    "coro_only_destroy_when_complete", "uwtable", "jumptable",
))


def known_to_llvm20(a: Any) -> bool:
    return (a[0] if isinstance(a, tuple) else a) not in _NEWER


def has(attributes: tuple[Any, ...], name: str) -> bool:
    """Whether a word or a pair of that name is among the attributes."""
    return name in attributes or any(a.__class__ is tuple and a[0] == name for a in attributes)
