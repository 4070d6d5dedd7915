"""Control flow. Labels are successors of the instruction, not operands; so are jump tables.

`trap` ends no block: the debugger may resume after it. What a call names, the
reader parses and `CallInfo` holds.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K

op = ORI.op

op("bra", "", K.BRANCH, "terminator", targets=1, latency="1", since="1.0", doc="jump")
op("brx.idx", "a:b32", K.SWITCH, "terminator", targets=-1, latency="1", since="6.0 sm_30",
   doc="jump to entry a of a table of labels")
op("call", "", K.OTHER, "reads writes convergent is_call", lanes="apart", latency="1", since="1.0",
   doc="call by name, or through a register with a prototype")
op("ret", "", K.RETURN, "terminator", latency="1", since="1.0", doc="return")
op("exit", "", K.RETURN, "terminator", latency="1", since="1.0", doc="end the thread")
