"""Attributes of functions, parameters and results.

In the IR an attribute is a word ("nounwind") or a pair of name and value: `("align", 16)`,
`("byval", T)`, `("memory", "argmem: read")`, and any other pair is a string
attribute: `("target-cpu", "sm_80")`. Newer spellings of old facts are read as the
old words, which both dialects take: `memory(none)` is "readnone", `captures(none)` "nocapture".
"""

from __future__ import annotations

from typing import Any

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


# What an LLVM 7 knows. Others are promises or hints that later compilers use: leaving them out
# is sound. "convergent" and the memory words are in both.
_OLD = frozenset("""
    alwaysinline argmemonly builtin cold convergent inaccessiblemem_or_argmemonly
    inaccessiblememonly inlinehint inreg jumptable minsize naked nest noalias nobuiltin nocapture
    nocf_check noduplicate noimplicitfloat noinline nonlazybind nonnull norecurse noredzone
    noreturn nounwind optforfuzzing optnone optsize readnone readonly returned returns_twice
    safestack signext speculatable ssp sspreq sspstrong strictfp uwtable writeonly zeroext
""".split())  # noqa: SIM905
_OLD_PAIRS = frozenset(("align", "alignstack", "dereferenceable", "dereferenceable_or_null"))


def known_to_llvm7(a: Any) -> bool:
    if isinstance(a, tuple):
        return a[0] in _OLD_PAIRS or a[0] in ("byval", "sret") or a[0] not in NAMES
    return a in _OLD


# Newer words that libnvvm's LLVM 20 does not know; it takes all others of the table.
_NEWER = frozenset(("coro_elide_safe", "dead_on_return", "nocreateundeforpoison", "nooutline",
                    "sanitize_alloc_token", "denormal_fpenv"))


def known_to_llvm20(a: Any) -> bool:
    return (a[0] if isinstance(a, tuple) else a) not in _NEWER


def has(attributes: tuple[Any, ...], name: str) -> bool:
    """Whether a word or a pair of that name is among the attributes."""
    return any((a[0] if isinstance(a, tuple) else a) == name for a in attributes)
