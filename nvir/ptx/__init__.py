"""PTX text in and out: the reader makes SSA of it, the printer makes text of the IR alone."""

from nvir.ptx.reader import read_ptx

__all__ = ["read_ptx"]
