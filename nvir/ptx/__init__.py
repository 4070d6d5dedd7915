"""PTX text in and out: the reader makes SSA of it, the printer makes text of the IR alone.

Both are imported when first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nvir.ptx.printer import print_ptx
    from nvir.ptx.reader import read_ptx

__all__ = ["print_ptx", "read_ptx"]


def __getattr__(name: str) -> Any:
    if name == "print_ptx":
        from nvir.ptx.printer import print_ptx

        return print_ptx
    if name == "read_ptx":
        from nvir.ptx.reader import read_ptx

        return read_ptx
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
