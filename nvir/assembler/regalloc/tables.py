"""The constants of the register prediction, each with its origin.

"measured" are figures of `ptxas -v` 13.0.88 for kernels written for the question. "chosen" are
values picked on one half (by file) of a corpus of real CUDA packages, at sm_80 and sm_90;
benchmarks/registers.py says what they come to on the other half. "assumed" were not varied.
"""

from __future__ import annotations

import attrs

# Cycles until a result can be used, coarse and relative: what counts is the order they give.
# Chosen on ptxas's own instructions (benchmarks/register_stages.py), as all of this group; MATRIX,
# of which those have none, is the machine's.
GLOBAL, SHARED, MATRIX, DOUBLE, SPECIAL, ALU = 45, 20, 33, 7, 15, 2
CONSTANT = 20  # a word of the constant bank at an address that is not known
SYSTEM = 15  # a special register into a register (S2R)
LOADED = 7  # a word of the constant bank into a register (LDC)
# Cycles that an operation holds the issue of its warp: an access to memory, a slow one, a word of
# the constant bank, any other.
ISSUE_ACCESS, ISSUE_SLOW, ISSUE_CONSTANT, ISSUE = 36, 8, 4, 12
RESERVED = 2  # measured: `ptxas -v` prints two more than the highest register and one (753 of 790)
LEAST = 4  # measured: what an empty kernel takes
STACK_POINTER = 1  # measured: R1, in every kernel
CALL_CLOBBERED = 16  # R0 to R15 are the callee's under the calling convention (R16 … the caller's)
CALL_LEAST = 24  # measured: what a kernel with a call takes
# Instructions of a block that is guarded rather than jumped over. Measured: of 2,380 such blocks of
# the corpus's half, 89 % of those without a load are guarded up to 24, of the others up to 7.
PREDICATED, PREDICATED_PLAIN = 7, 24
# … and where both ways are guarded, which shares what they load: chosen
PREDICATED_BOTH = 16
# What a loop loads of the constant bank leaves it if it has so few instructions (measured: 46 of 56
# such loops of the corpus's half) and adds so few parameters to addresses (chosen).
SHORT_LOOP, LOOP_WORDS = 40, 3
WINDOW = 40  # chosen: cycles by which an operation may run before the critical path asks for it …
RELAXED = 8  # chosen: … once so many registers are live
TIGHTER = (0, 2, 4, 8)  # chosen: registers that a schedule aims lower after one that did not fit
SQUEEZE = 2  # chosen: registers above a target that ptxas still gets rid of
OFFSETS = 1 << 23  # an address takes a signed literal of 24 bits
CALLEES = 32  # functions below a call whose registers are asked for
COPIES = 4096  # operations of an unrolled body to model: pressure is settled by then


@attrs.frozen
class Generation:
    """What differs between generations of the machine.

    first    compute capability from which it holds
    uniform  arithmetic on parameters and literals runs on the uniform datapath
    late     parameters that a register holds are loaded (LDC)
    cool     operations for which a register that a load, store or other slow operation reads is
             not written again, while others are free (it would have to wait)
    """

    first: int
    uniform: bool
    cool: int
    late: bool = False


# uniform: observed in SASS, its range chosen; cool: chosen
GENERATIONS = (
    Generation(90, True, 14, True),
    Generation(75, True, 10),
    Generation(0, False, 8),
)


def generation(capability: int) -> Generation:
    """The row for a compute capability."""
    return next(g for g in GENERATIONS if capability >= g.first)


_ROUND = frozenset(("rn", "rz", "rm", "rp"))

# Registers that an operation of many steps takes while it runs, its operands' included: (rows,
# types, one of these modifiers or none, registers, those where its dividend is no vector register,
# those where its divisor is none). Measured: one such operation with 0 to 14 values that live
# across it, at sm_80 and sm_90.
_Scratch = tuple[frozenset[str], frozenset[str], frozenset[str], tuple[int, int, int]]
SCRATCH: tuple[_Scratch, ...] = tuple(
    (frozenset(rows.split()), frozenset(types.split()), mods, n)
    for rows, types, mods, n in (
        ("div", "f32", _ROUND, (11, 11, 11)),
        ("rcp", "f32", _ROUND, (10, 10, 10)),
        ("sqrt", "f32", _ROUND, (7, 7, 7)),
        ("div", "f64", frozenset(), (20, 20, 20)),
        ("sqrt", "f64", _ROUND, (16, 16, 16)),
        ("rcp", "f64", _ROUND, (11, 11, 11)),
        ("rsqrt", "f64", frozenset(), (12, 12, 12)),
        ("div", "u64", frozenset(), (15, 15, 13)),
        ("rem", "u64", frozenset(), (15, 13, 13)),
        ("div", "s64", frozenset(), (19, 17, 13)),
        ("rem", "s64", frozenset(), (17, 15, 13)),
        ("div rem", "u32", frozenset(), (7, 7, 7)),
        ("div rem", "s32", frozenset(), (8, 8, 8)),
    )
)
IN_FRONT = 1  # measured: in front of a called 64-bit division, beside its operands
ROUTINE = 2  # measured: what such a routine has live beyond the registers that it adds
BY_LITERAL = 2  # measured: of a division by a literal, which is a multiplication
