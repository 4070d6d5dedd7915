"""Warp-level matrix operations: wmma, mma, sparse mma, and matrix moves.

All lanes of the warp take part, so all are convergent. `packed`: a fragment of
elements narrower than 32 bits lies in 32-bit registers.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K

op = ORI.op

op("wmma.load", "d, [a], s:b32?", K.MATRIX_MOVE, "reads convergent", lanes="apart", extent=-1,
   result="packed", latency="14", since="6.0 sm_70", doc="a fragment of a matrix of row stride s")
op("wmma.store", "[a], b:any, s:b32?", K.MATRIX_MOVE, "writes convergent in_registers", extent=-1,
   latency="14", since="6.0 sm_70", doc="store a fragment into a matrix of row stride s")
op("wmma.mma", "d, a:any, b:any, c:any", K.MATRIX, "convergent in_registers", lanes="apart",
   result="packed", latency="14", since="6.0 sm_70", doc="a * b + c of fragments")
op("mma.sync", "d, a:any, b:any, c:any, x:any*", K.MATRIX, "convergent in_registers grouped",
   lanes="apart", result="packed", latency="14", since="6.4 sm_70",
   doc="a * b + c of fragments; block scales and their selectors follow")
op("mma.sp.sync", "d, a:any, b:any, c:any, e:b32, f:b32, x:any*", K.MATRIX,
   "convergent in_registers", lanes="apart", result="packed", latency="14", since="7.1 sm_80",
   doc="as mma, with a half empty by metadata e and selector f")
op("mma.sp::ordered_metadata.sync", "d, a:any, b:any, c:any, e:b32, f:b32, x:any*", K.MATRIX,
   "convergent in_registers", lanes="apart", result="packed", latency="14", since="8.5 sm_80",
   doc="as mma.sp, with the indices of metadata e in order")
op("ldmatrix", "d, [a]", K.MATRIX_MOVE, "reads convergent grouped", lanes="apart", extent=-1,
   result="b32", latency="12", since="6.5 sm_75",
   doc="one to four 8x8 matrices from shared memory, a row at each lane's address")
op("stmatrix", "[a], b:b32", K.MATRIX_MOVE, "writes convergent in_registers grouped", extent=-1,
   latency="12", since="7.8 sm_90", doc="one to four 8x8 matrices to shared memory")
op("movmatrix", "d, a:b32", K.MATRIX_MOVE, "convergent", lanes="apart", result="b32", latency="12",
   since="7.8 sm_75", doc="an 8x8 matrix transposed across the warp")
