"""THE table of intrinsics: what each `llvm.…` of a name is, for all who meet its calls.

    find("llvm.nvvm.shfl.sync.bfly.i32p")   the row, or None
    find("llvm.ctpop.v4i32")                the row of llvm.ctpop: types of an overload fall away

Selection makes what a row says (`ori`), the interpreter runs the same instruction by its meaning,
and the analyses take the effects from it; so none of them knows an intrinsic that another does
not. A row that no single instruction says names a rule, which both must have
(tests/ir/test_intrinsics.py). Adding an intrinsic is one row.
"""

from __future__ import annotations

import functools
import re

from nvir.ir.intrinsics.fit import mismatch
from nvir.ir.intrinsics.intrinsic import (
    CallOperands,
    Intrinsic,
    Pattern,
    is_packed,
    registers_of,
    written,
)

# What an overloaded name ends in: `.i32`, `.v4f32`, `.p3`, and `.sl_…`, `.s_…` of structs.
_OVERLOAD = re.compile(r"\.(?:(?:v\d+)?(?:i\d+|f\d+|bf16|p\d+)|sl?_\w+)$")


@functools.cache
def table() -> dict[str, Intrinsic]:
    """All rows by name."""
    from nvir.ir.intrinsics import (
        arithmetic,
        general,
        libdevice,
        matrices,
        memory,
        textures,
        threads,
    )

    found: dict[str, Intrinsic] = {}
    for family in (threads, arithmetic, memory, matrices, textures, general, libdevice):
        for row in family.rows():
            if row.name in found:
                raise ValueError(f"two intrinsics are called {row.name}")
            found[row.name] = row
    return found


@functools.lru_cache(maxsize=1 << 13)
def find(name: str) -> Intrinsic | None:
    """The row of an intrinsic's full name, or None."""
    rows = table()
    while name not in rows:
        shorter = _OVERLOAD.sub("", name)
        if shorter == name:
            return None
        name = shorter
    return rows[name]


__all__ = [
    "CallOperands",
    "Intrinsic",
    "Pattern",
    "find",
    "is_packed", "mismatch",
    "registers_of",
    "table",
    "written",
]
