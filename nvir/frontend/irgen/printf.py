"""printf, lowered to vprintf with its arguments packed in a buffer.

Contract, for whoever fills it: `emit_printf(g, call)` is asked by `calls.emit_call` for a direct
call of a function named printf; `g.printf_buffer` is the function's buffer, an alloca named
"tmp" that grows. The result is vprintf's, an i32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.tree.expressions import Call
from nvir.ir.errors import Unsupported
from nvir.ir.values import Value

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def emit_printf(g: IRGenState, e: Call) -> Value:
    raise Unsupported("printf", where=str(e.place))
