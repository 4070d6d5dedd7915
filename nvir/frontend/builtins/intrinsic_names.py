"""Names of intrinsics themselves, `__nvvm_*` and `llvm.*`, and what functions they declare."""

from __future__ import annotations

import re

from nvir.frontend.tree.declarations import Attributes, Function, Parameter
from nvir.frontend.tree.types import DOUBLE, FLOAT, INT, LONGLONG, UINT, ULONGLONG, VOID, CType

LETTERS: dict[str, CType] = {"f": FLOAT, "d": DOUBLE, "i": INT, "ui": UINT, "ll": LONGLONG,
                              "ull": ULONGLONG, "i32": INT, "i64": LONGLONG, "f32": FLOAT,
                              "f64": DOUBLE}
# Intrinsics whose names do not end in the type of what they give and take.
_SPECIAL: list[tuple[str, CType, str]] = [
    (r"read\.ptx\.sreg\.(clock64|globaltimer)", ULONGLONG, ""),
    (r"read\.ptx\.sreg\.", INT, ""),
    (r"(?:f|d)2(i|ui|ll|ull)\.", INT, "1"), (r"(?:i|ui|ll|ull|d)2(f|d)\.", FLOAT, "1"),
    (r"(barrier0|membar|bar\.|barrier|cp\.async|nanosleep|fence)", VOID, ""),
    (r"(?:vote\.ballot|match|redux|prmt|fns|sad|activemask)", INT, ""),
    (r"vote\.", INT, ""),
]


def intrinsic_name(name: str) -> str | None:
    """LLVM's name: `__nvvm_bar_sync` is llvm.nvvm.bar.sync."""
    if name.startswith("llvm."):
        return name
    if name.startswith("__nvvm_"):
        text = name.removeprefix("__nvvm_")
        text = re.sub(r"^read_ptx_sreg_", "read.ptx.sreg.", text)
        return "llvm.nvvm." + re.sub(r"_(?!ctarank|explicit)", ".", text)
    return None


def _result(name: str, args: tuple[CType, ...]) -> CType | None:
    short = name.removeprefix("llvm.nvvm.")
    for pattern, t, group in _SPECIAL:
        m = re.match(pattern, short)
        if m is not None and name != short:
            return LETTERS[m[1]] if group else t
    last = name.rsplit(".", 1)[-1]
    if last in ("min", "max") and args:
        return args[0]
    return LETTERS.get(last.removesuffix("p"), args[0] if args and name == short else None)


def declaration(name: str, args: tuple[CType, ...]) -> Function | None:
    full = intrinsic_name(name)
    if full is None:
        return None
    result = _result(full, args)
    if result is None:
        return None
    params = tuple(Parameter(f"a{k}", t) for k, t in enumerate(args))
    return Function(name, result, params, attributes=Attributes(builtin=True))
