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

    `arch` is the first architecture that the row holds for, `until` the first that it does not;
    a row with `literal` false holds only where the second source is no literal.
    """

    names: tuple[str, ...]
    a: int = 1
    d: int = 1
    extra: int = 0
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    arch: int = 0
    until: int = 1000
    literal: bool = True

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
BLACKWELL = 100

_INTEGER_MATH = (
    # The sequence around a reciprocal; what depends on a literal divisor alone folds.
    Weight(("div",), 21, 21, needs=("u32",)),
    Weight(("div",), 27, 27, needs=("s32",)),
    Weight(("rem",), 19, 19, needs=("u32",)),
    Weight(("rem",), 24, 24, needs=("s32",)),
    Weight(("mad",), 4, 4, needs=("wide", "s32")),
    Weight(("mad",), 4, 4, needs=("wide", "u32")),
    Weight(("mad24",), 3, 3),
    Weight(("mul",), 3, 3, needs=("s16",)),
    Weight(("mul",), 3, 3, needs=("u16",)),
    Weight(("shl", "shr"), 2, 2, needs=("b64",), literal=False),
    Weight(("clz", "slct", "testp", "addc", "addc.cc", "subc", "subc.cc"), 2, 2),
    Weight(("bfe",), 2, 2, literal=False),
)
_FLOAT_MATH = (
    # A sign is part of the operand that reads it.
    Weight(("neg", "abs"), 0, 0, needs=("f32",)),
    Weight(("neg", "abs"), 0, 0, needs=("f64",)),
    # Without .ftz, arguments out of the fast unit's range are scaled and scaled back.
    Weight(("ex2", "lg2", "sqrt", "rsqrt"), 6, 6, needs=("approx", "f32"), lacks=("ftz",)),
    Weight(("rcp", "div"), 7, 7, needs=("approx", "f32"), lacks=("ftz",)),
    Weight(("div",), 2, 2, needs=("approx", "ftz")),
    Weight(("div",), 12, 12, needs=("full",), lacks=("ftz",)),
    Weight(("div",), 8, 8, needs=("full", "ftz")),
    Weight(("fma",), 2, 2, needs=("f16x2",)),
)
# Integer atomics at one address are first combined over the warp.
_ATOMICS = tuple(
    Weight(("atom", "red"), 10, 10, needs=(type,), lacks=("exch", "cas"))
    for type in ("u32", "s32", "b32")
)
WEIGHTS = (
    Weight(("cvta",), 0, 0),
    *_INTEGER_MATH,
    *_FLOAT_MATH,
    *_ATOMICS,
    # Hopper needs no set-up of barriers and matrix operations.
    Weight(("bar.sync", "barrier.sync", "bar.arrive"), 1, 2, until=HOPPER),
    Weight(("bar.sync", "barrier.sync", "bar.arrive"), 0, 1, arch=HOPPER),
    Weight(("bar.red",), 1, 3, until=HOPPER),
    Weight(("mma.sync", "ldmatrix"), 1, 2, until=HOPPER),
    Weight(("cp.async.commit_group",), 0, 1),
    Weight(("tex", "tld4"), 2, 2),
)


@functools.cache
def weight(form: Form, arch: int, literal: bool = False) -> Weight:
    """The row of a form on an architecture (80, 90 …).

    `literal` says whether the second source is a literal.
    """
    if form.op.pseudo:
        return FREE
    if form.name == "mov":
        return ONE if "{" in form.shape else FREE
    for row in WEIGHTS:
        if row.fits(form, arch) and (row.literal or not literal):
            return by_literal(row) if literal and form.name in ("div", "rem") else row
    return ONE


def by_literal(row: Weight) -> Weight:
    """Integer division by a literal: eight instructions of the sequence are of the divisor."""
    if not row.needs or row.needs[0] not in ("u32", "s32"):
        return row
    d = row.d - DIVISOR_KNOWN
    return attrs.evolve(row, a=d - DIVISOR_FOLDS, d=d)


# --------------------------------------------------------------- whole bodies

DIVISOR_KNOWN = 3  # a division by a literal is that much shorter from the start
DIVISOR_FOLDS = 8  # and that much of it folds in copies
LOOP_CONTROL = 3  # induction add, compare, back branch: in every size and every saving
ADDRESS_KNOWN = 4  # saved where a shared or constant access gets a known address
FETCH_SAVING = 5  # once, where the body fetches a texture
CARRIED_BY_NEST = 1  # what an unrolled inner loop leaves beside its copies
CONTROL_OF_COPY = 2  # add and compare of each copy of an unrolled inner loop, all of which fold

PARTIAL_LIMIT = 350  # instructions of a partially unrolled loop with its remainder
PARTIAL_SAVING = 4  # percent saved that make a partial factor worth it
SMALL_WITH_LOADS = 49  # a body with global loads up to this hides latency by copies
SHARE_STEP = 20  # the share of the kernel that doubles the limit, over the percent saved
SHARED_SYMBOL = 3  # from Hopper on: the window's base, fetched and added at each access

# A kernel's size beside its loop: each carried value, each other phi, and in every kernel.
CARRIED, JOINED, OUTSIDE_BASE = 2, 1, 1

# Never unrolled, by opcode; a call of a slow path counts as a call.
FENCES = frozenset(("membar", "fence", "fence.proxy", "membar.proxy"))
WARP_WIDE = frozenset((
    "shfl", "shfl.sync", "vote", "vote.sync", "bar.warp.sync", "match.any.sync",
    "match.all.sync", "redux.sync", "barrier.sync", "barrier.red",
))  # fmt: skip
