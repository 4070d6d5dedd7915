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
from collections.abc import Iterator
from pathlib import Path

from nvir.ir.intrinsics.fit import (
    declared_mismatch,
    has_literals,
    literals,
    misfit,
    mismatch,
    misplaced,
)
from nvir.ir.intrinsics.intrinsic import (
    CallOperands,
    Intrinsic,
    Pattern,
    is_packed,
    registers_of,
    written,
)
from nvir.ir.special import special_names, special_register
from nvir.ir.types import U32

# What an overloaded name ends in: `.i32`, `.v4f32`, `.p3`, and `.sl_…`, `.s_…` of structs.
_OVERLOAD = re.compile(r"\.(?:(?:v\d+)?(?:i\d+|f\d+|bf16|p\d+)|sl?_\w+)$")


@functools.cache
def table() -> dict[str, Intrinsic]:
    """All rows (rows.txt, and those of special registers) by name."""
    found = {row.name: row for row in _special_registers()}
    for line in Path(__file__).with_name("rows.txt").read_text("utf-8").splitlines():
        if line and line[0] != "#":
            name, types, made, *more = line.split(" | ")
            if name in found:
                raise ValueError(f"two intrinsics are called {name}")
            ori, rule = ("", made[3:]) if made.startswith("by ") else (made, "")
            effect, bits = (*more, *("", "0")[len(more):])
            found[name] = Intrinsic(name, types, ori, rule, effect, int(bits))
    return found | {row.name: row for row in _with_samplers(found)}


def _with_samplers(rows: dict[str, Intrinsic]) -> Iterator[Intrinsic]:
    """The fetches that take a sampler beside their texture: of each `.unified`, which takes one
    handle for both, the name without that word. Cubes with gradients have one handle alone."""
    for name, row in rows.items():
        if ".unified." in name and ".cube.grad" not in name and ".cube.array.grad" not in name:
            later = re.sub(r"\$([1-9])", lambda m: f"${int(m[1]) + 1}", row.ori)
            yield Intrinsic(name.replace(".unified", ""), row.types.replace("i64", "i64 i64"),
                            later.replace("[$0, ", "[$0, $1, "))


def _special_registers() -> Iterator[Intrinsic]:
    for name in special_names():
        register = special_register(name)
        assert register is not None
        t = U32 if name == "%gridid" else register.type  # LLVM reads the lower half
        if t.bits > 64 or name[-2:] in (".r", ".g", ".b", ".a"):
            continue  # whole vectors, and PTX's other names of their elements
        word = name[1:]
        types = "i1" if t.bits == 1 else f"i{t.bits}"
        for spelled in {word.replace("_", "."), word, word.replace("cluster_", "cluster.")}:
            yield Intrinsic(f"llvm.nvvm.read.ptx.sreg.{spelled}", types, f"mov.{t.name} {name}",
                            bits=register.bits)
    yield Intrinsic("llvm.nvvm.is_explicit_cluster", "i1", "mov.pred %is_explicit_cluster")
    yield Intrinsic("llvm.nvvm.read.ptx.sreg.warpsize", "i32", rule="number 32", bits=6)


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
    "declared_mismatch",
    "find",
    "has_literals",
    "is_packed",
    "literals",
    "misfit",
    "mismatch",
    "misplaced",
    "registers_of",
    "table",
    "written",
]
