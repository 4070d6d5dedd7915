"""PTX text in and out: the reader makes SSA of it, the printer makes text of the IR alone."""

from nvir.ptx.printer import print_ptx
from nvir.ptx.reader import read_ptx

__all__ = ["print_ptx", "read_ptx"]
