"""The functions that rows name by `py`: each family's, gathered."""

from __future__ import annotations

from collections.abc import Callable

from nvir.frontend.builtins import atomics, inline, memory, tensor, warp
from nvir.ir.values import Value

FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    **atomics.FUNCTIONS, **inline.FUNCTIONS, **memory.FUNCTIONS, **tensor.FUNCTIONS,
    **warp.FUNCTIONS,
}  # fmt: skip
