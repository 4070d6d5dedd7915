"""Control flow. Labels are successors of the instruction, not operands; so are jump tables.

`trap` ends no block: the debugger may resume after it. What a call names, the
reader parses and `CallInfo` holds.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI

op = ORI.op

op("bra", "", terminator=True, since="1.0", doc="jump")
op("brx.idx", "a", terminator=True, since="6.0 sm_30", doc="jump to entry a of a table of labels")
op("call", "", reads=True, writes=True, convergent=True, is_call=True, since="1.0",
   doc="call by name, or through a register with a prototype")
op("ret", "", terminator=True, since="1.0", doc="return")
op("exit", "", terminator=True, since="1.0", doc="end the thread")
