"""The `nvvm` level on the same machine.

    leaves      a struct, array or vector is its scalars, each with a slot of its own; a constant is
                the bit patterns of its scalars (constants.py)
    rows        an instruction says what it does by rows of ori over these scalars (lower.py), so an
                `add i32` and an `add.u32` are one meaning; integers.py, floats.py, pieces.py,
                memory.py, control.py
    intrinsics  one table from names of llvm.* and llvm.nvvm.* to rows of ori (intrinsics.py), and
                functions for what is no row (generic.py, maths.py)
    asm         straight-line inline assembly, statement by statement (asm.py)

How scalars lie in registers: i1 as bool; iN of 2 to 64 bits in the next wider register of 16, 32
or 64, extended by zeros; up to 128 bits as pairs of 64. Pointers have 64 bits: of spaces 0, 1, 4
and 101 generic addresses, of 3 and 5 offsets in shared and local memory.

Choices where LLVM leaves one
    undef, poison     read as zero; so does an argument that a call does not pass
    shifts            by the width or more give 0, or signs (as PTX clamps)
    division by zero  as PTX: all ones
    fptosi, fptoui    NaN and out of range as PTX's cvt.rzi; narrower results are cut
    alloca            uninitialised memory reads as zero or as what an earlier frame left
    frem              C's fmod, exact
    flags             nsw, nuw, exact, inbounds and fast-math flags change nothing
"""

from __future__ import annotations

from nvir.interp.rows import Rows


def nvvm_rows() -> Rows:
    """The rows of level `nvvm`."""
    from nvir.interp.nvvm import control, floats, integers, intrinsics, memory, pieces
    from nvir.interp.nvvm.constants import leaves
    from nvir.interp.nvvm.storage import NvvmStorage

    emitters = {
        **integers.EMITTERS, **floats.EMITTERS, **memory.EMITTERS, **pieces.EMITTERS,
        **intrinsics.EMITTERS, **control.EMITTERS,
    }
    return Rows(
        "nvvm", emitters, {"call": intrinsics.special}, control.choice, None, leaves, NvvmStorage()
    )
