"""The functions that rows name by `py`: each family's, gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.frontend.builtins import atomics, inline, memory, tensor, warp

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **atomics.FUNCTIONS, **inline.FUNCTIONS, **memory.FUNCTIONS, **tensor.FUNCTIONS,
    **warp.FUNCTIONS,
}
