"""The targets that PTX has, and which code is for which machine."""

from __future__ import annotations

import re

from nvir.ir.module import capability

TARGET = re.compile(r"(?:sm|compute)_(\d{1,9})([af]?)$")
_SIZES = (10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87,
          88, 89, 90, 100, 101, 103, 110, 120, 121)
TARGETS = tuple(f"sm_{n}" for n in _SIZES)


def arch_problem(target: str, arch: str) -> str | None:
    """Why a module of that target cannot be assembled for an architecture."""
    own, given = target.rpartition("_")[2], arch.rpartition("_")[2]
    if capability(target) > capability(arch):
        return f"is newer than {arch}"
    if own.endswith("a") and own != given:
        return f"is for that architecture alone, not for {arch}"
    if own.endswith("f") and capability(target) // 10 != capability(arch) // 10:
        return f"is for its family alone, not for {arch}"
    return None


def is_known(target: str) -> bool:
    """Whether PTX ISA 9.0 has a target of that name."""
    match = TARGET.match(target)
    size = int(match[1]) if match is not None else 0
    least = {"": 0, "a": 90, "f": 100}[match[2]] if match is not None else 0
    return size in _SIZES and size >= least
