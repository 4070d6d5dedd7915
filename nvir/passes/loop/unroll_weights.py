"""What each PTX instruction weighs when ptxas decides on unrolling: data only.

Units are ptxas's own instructions at the time of its unroll phase, which lie
between PTX and SASS: a sign change is none, `mad.wide` is four. Three figures:

    d      in the body as it is
    a      what is left of it in one copy of a fully unrolled loop
    extra  how much it adds to the savings beside d - a

Rows are tried in order; the first whose opcode and modifiers fit holds, and what
no row names weighs one. The weights were measured on ptxas 13.0.88 by where its
decisions flip as the instruction is added to bodies of known size
(`benchmarks/unroll_agreement.py` holds them to it).
"""

from __future__ import annotations

import functools

import attrs

from nvir.ir.form import Form


@attrs.frozen
class Weight:
    """One row. `names` are opcodes, `needs` modifiers that must be there, `lacks` that must not.

    `arch` is the first architecture that the row holds for, `until` the first that it does not.
    """

    names: tuple[str, ...]
    a: int = 1
    d: int = 1
    extra: int = 0
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    arch: int = 0
    until: int = 1000

    def fits(self, form: Form, arch: int) -> bool:
        mods = form.mods
        return (
            form.name in self.names
            and self.arch <= arch < self.until
            and all(m in mods for m in self.needs)
            and not any(m in mods for m in self.lacks)
        )


ONE = Weight((), 1, 1)
FREE = Weight((), 0, 0)
HOPPER = 90

WEIGHTS = (
    # A move or a sign is part of the operand that reads it.
    Weight(("mov", "neg", "abs", "cvta"), 0, 0),
    # Without .ftz, arguments out of the fast unit's range are scaled and scaled back.
    Weight(("ex2", "lg2", "sqrt", "rsqrt"), 6, 6, needs=("approx", "f32"), lacks=("ftz",)),
    Weight(("rcp", "div"), 7, 7, needs=("approx", "f32"), lacks=("ftz",)),
    Weight(("div",), 12, 12, needs=("full",)),
    # Integer division is a sequence around a reciprocal.
    Weight(("rem", "div"), 19, 19, needs=("u32",)),
    Weight(("rem", "div"), 27, 27, needs=("s32",)),
    Weight(("mad",), 4, 4, needs=("wide",)),
    Weight(("atom",), 1, 1, needs=("exch",)),
    Weight(("red",), 1, 1, needs=("f32",)),
    Weight(("atom", "red"), 10, 10, needs=("u32",)),
    # Hopper fuses the barrier's set-up away.
    Weight(("bar.sync", "barrier.sync"), 1, 2, until=HOPPER),
    Weight(("bar.sync", "barrier.sync"), 0, 1, arch=HOPPER),
    Weight(("mma.sync", "ldmatrix", "cp.async"), 1, 2, until=HOPPER),
    Weight(("mma.sync", "ldmatrix", "cp.async"), 1, 1, arch=HOPPER),
    Weight(("cp.async.commit_group",), 0, 1),
    Weight(("cp.async.wait_group",), 1, 1),
    Weight(("tex",), 2, 2),
)  # fmt: skip


@functools.cache
def weight(form: Form, arch: int) -> Weight:
    """The row of a form on an architecture (80, 90 …)."""
    if form.op.pseudo:
        return FREE
    for row in WEIGHTS:
        if row.fits(form, arch):
            return row
    return ONE


# --------------------------------------------------------------- whole bodies

LOOP_CONTROL = 3  # induction add, compare, back branch: in every size and every saving
ADDRESS_KNOWN = 4  # saved where a shared or constant access gets a known address
FETCH_SAVING = 5  # once, where the body fetches a texture
CARRIED_BY_NEST = 1  # what an unrolled inner loop leaves beside its copies
CONTROL_OF_COPY = 2  # add and compare of each copy of an unrolled inner loop, all of which fold

PARTIAL_LIMIT = 350  # instructions of a partially unrolled loop with its remainder
PARTIAL_SAVING = 4  # percent saved that make a partial factor worth it
SMALL_WITH_LOADS = 49  # a body with global loads up to this hides latency by copies
SHARE_STEP = 20  # the share of the kernel that doubles the limit, over the percent saved
OUTSIDE_BASE = 3  # what ptxas counts outside of loops in every kernel

# Never unrolled, by opcode; a call of a slow path counts as a call.
FENCES = frozenset(("membar", "fence", "fence.proxy", "membar.proxy"))
WARP_WIDE = frozenset(
    "shfl shfl.sync vote vote.sync bar.warp.sync match.any.sync match.all.sync".split()
)
