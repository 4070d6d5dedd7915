"""Video instructions: sums of selected, extended and saturated parts of registers.

A source may carry a selector (`%r1.b0`, `%r1.h1`), a result a selector or mask;
then c gives the other parts of the result, and c is an operand like any other.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI

op, ops = ORI.op, ORI.ops

ops("vadd vsub vabsdiff vmin vmax", "d, a:b32, b:b32, c:b32?", result="first", since="2.0 sm_20",
    doc="a scalar operation, merged into or combined with c")
ops("vshl vshr", "d, a:b32, b:b32, c:b32?", result="first", since="2.0 sm_20",
    doc="a shift, merged into or combined with c")
op("vmad", "d, a:b32, b:b32, c:b32", result="first", since="2.0 sm_20", doc="±(a * b) ± c, shifted")
op("vset", "d, a:b32, b:b32, c:b32?", result="u32", since="2.0 sm_20",
   doc="a comparison, merged into or combined with c")
ops("vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2", "d, a:b32, b:b32, c:b32", result="first",
    since="3.0 sm_30", doc="two halves at once")
ops("vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4", "d, a:b32, b:b32, c:b32", result="first",
    since="3.0 sm_30", doc="four bytes at once")
ops("vset2 vset4", "d, a:b32, b:b32, c:b32", result="u32", since="3.0 sm_30",
    doc="comparisons of two halves or four bytes")
