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
from typing import Any

import attrs

from nvir.ir.opcodes.form import Form


@attrs.frozen
class Weight:
    """One row. `names` are opcodes, `needs` modifiers that must be there, `lacks` that must not.

    `starts` is what the spelling must begin with, where the order of modifiers tells (the type of
    a conversion's result comes first). `arch` is the first architecture that the row holds for,
    `until` the first that it does not; a row with `literal` false holds only where the second
    source is no literal. The sequence of some holds `branches` of its own.
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
    starts: str = ""
    branches: int = 0

    def fits(self, form: Form, arch: int) -> bool:
        mods = form.mods
        return (
            form.name in self.names
            and self.arch <= arch < self.until
            and all(m in mods for m in self.needs)
            and not any(m in mods for m in self.lacks)
            and form.spelling.startswith(self.starts)
        )


ONE = Weight((), 1, 1)
TWO = Weight((), 2, 2)
FREE = Weight((), 0, 0)
HOPPER = 90
BLACKWELL = 100

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne", "ltu", "leu", "gtu", "geu", "equ", "neu")


def _each(names: str, size: int, *types: str, **more: Any) -> tuple[Weight, ...]:
    """A row for each type, of opcodes that do not fold apart from their operands."""
    rows = (Weight(tuple(names.split()), size, size, needs=(t,)) for t in types)
    return tuple(attrs.evolve(w, **more) for w in rows)


_INTEGER_MATH = (
    # The sequence around a reciprocal; what depends on a literal divisor alone folds.
    *_each("div", 21, "u32"),
    *_each("div", 27, "s32", branches=1),
    *_each("rem", 19, "u32"),
    *_each("rem", 24, "s32", branches=1),
    Weight(("mad",), 4, 4, needs=("wide", "s32")),
    Weight(("mad",), 4, 4, needs=("wide", "u32")),
    Weight(("mul24",), 6, 6, needs=("hi",), literal=False),
    Weight(("mul24",), 5, 5, needs=("hi",)),
    Weight(("mad24",), 7, 7, needs=("hi",)),
    Weight(("mul24", "mad24"), 3, 3, literal=False),
    Weight(("mul24", "mad24"), 2, 2),
    # Words of 16 bits are computed with in 32: extended before, cut after.
    Weight(("mul",), 4, 4, needs=("hi", "s16")),
    Weight(("mul",), 4, 4, needs=("hi", "u16")),
    *_each("min max", 1, "s16", "u16", arch=HOPPER),
    *_each("mul min max setp", 3, "s16", "u16", literal=False),
    *_each("mul min max setp", 2, "s16", "u16"),
    *_each("sub", 2, "s16", "u16", literal=False),
    *_each("mad", 3, "wide"),
    *_each("mad", 4, "s16", "u16", literal=False),
    *_each("mad", 3, "s16", "u16"),
    *_each("set", 4, "u16", "s16"),
    *_each("shr", 4, "u16", "s16", literal=False),
    *_each("shl", 3, "b16", literal=False),
    *_each("shr", 2, "u16", "s16"),
    *_each("cnot", 3, "b16"),
    # Words of 64 bits are two of 32.
    *_each("shl shr", 2, "b64", "u64", "s64", literal=False),
    *_each("popc brev", 5, "b64"),
    *_each("clz", 8, "b64"),
    Weight(("bfind",), 10, 10, needs=("shiftamt", "u64"), branches=1),
    *_each("bfind", 8, "u64", branches=1),
    *_each("bfind", 13, "s64", branches=2),
    *_each("cnot", 2, "b64"),
    Weight(("slct",), 1, 1, starts="slct.s32.s32"),
    Weight(("slct",), 1, 1, starts="slct.f32.f32"),
    Weight(("clz", "slct"), 2, 2),
    Weight(("addc", "addc.cc", "sub.cc", "subc", "subc.cc", "madc", "madc.cc"), 2, 2),
)
_CONVERSIONS = (
    *(Weight(("cvt",), 0, 0, starts=f"cvt.{x}16.{y}32") for x in "us" for y in "us"),
    *_each("cvt", 2, "sat", lacks=("f32", "f16", "f64", "bf16")),
    *(w for r in "zmnp" for w in _each("cvt", 2, "u8", "s8", starts=f"cvt.r{r}i.")),
    Weight(("cvt",), 2, 2, starts="cvt.s64.s8"),
    *_each("cvt", 2, "f16x2", "bf16x2"),
    Weight(("cvt",), 4, 4, needs=("tf32",)),
    Weight(("cvta",), 2, 2, needs=("shared",)),
    Weight(("cvta",), 4, 4, needs=("local",), arch=HOPPER),
    Weight(("cvta",), 2, 2, needs=("local",)),
    Weight(("cvta",), 0, 0),
    Weight(("isspacep",), 8, 8, needs=("global",), arch=HOPPER),
    Weight(("isspacep",), 6, 6, needs=("global",)),
)
_FLOAT_MATH = (
    # A sign is part of the operand that reads it.
    Weight(("neg", "abs"), 0, 0, needs=("f32",)),
    Weight(("neg", "abs"), 0, 0, needs=("f64",)),
    # Without .ftz, arguments out of the fast unit's range are scaled and scaled back.
    Weight(("ex2", "lg2", "sqrt", "rsqrt"), 6, 6, needs=("approx", "f32"), lacks=("ftz",)),
    Weight(("div",), 7, 7, needs=("approx", "f32"), lacks=("ftz",), literal=False),
    Weight(("rcp",), 7, 7, needs=("approx", "f32"), lacks=("ftz",)),
    Weight(("div",), 2, 2, needs=("approx", "ftz"), literal=False),
    Weight(("div",), 12, 12, needs=("full",), lacks=("ftz",), literal=False),
    Weight(("div",), 8, 8, needs=("full", "ftz"), literal=False),
    # The reciprocal of a literal is one.
    Weight(("div",), 2, 2, needs=("approx",), lacks=("ftz",)),
    *_each("copysign", 5, "f64", literal=False),
    *_each("copysign", 3, "f64"),
    Weight(("testp",), 4, 4, needs=("normal",)),
    Weight(("testp",), 3, 3, needs=("subnormal",)),
    Weight(("testp",), 2, 2),
    *(Weight(("set",), 2, 2, starts=f"set.{c}.f32") for c in COMPARISONS),
    # Pairs in a register.
    Weight(("neg", "abs"), 1, 1, needs=("f16x2",)),
    Weight(("setp",), 1, 1),
    Weight(("ex2", "tanh"), 3, 3, needs=("f16x2",)),
    *_each("fma add sub mul min max neg abs set", 2, "f16x2", "bf16x2"),
)
# Fields of bits: place and width known, or not.
_FIELDS = (
    Weight(("bfe",), 2, 2, needs=("u32",), literal=False),
    Weight(("bfe",), 2, 2, needs=("s32",), literal=False),
    Weight(("bfi",), 2, 2, needs=("b32",), literal=False),
    Weight(("bfe",), 6, 6, needs=("u64",), literal=False),
    Weight(("bfe",), 2, 2, needs=("u64",)),
    Weight(("bfe",), 13, 13, needs=("s64",), literal=False),
    Weight(("bfe",), 6, 6, needs=("s64",)),
    Weight(("bfi",), 11, 11, needs=("b64",), literal=False),
    Weight(("bfi",), 4, 4, needs=("b64",)),
)
# Integer atomics at one address are first combined over the warp; where the machine has no such
# operation, or does not know the space, there is more than one way through it.
_ATOMIC = ("atom", "red")
_ATOMICS = (
    Weight(_ATOMIC, 10, 10, lacks=("global", "shared", "shared::cta")),
    Weight(_ATOMIC, 1, 1, needs=("inc",)),
    Weight(_ATOMIC, 1, 1, needs=("dec",)),
    *_each("atom red", 10, "u32", "s32", "b32", lacks=("exch", "cas")),
    *_each("atom red", 10, "f32", "f64", lacks=("global",)),
    *_each("atom red", 10, "u64", "s64", "b64", lacks=("global", "exch", "cas")),
)
WEIGHTS = (
    *_INTEGER_MATH,
    *_CONVERSIONS,
    *_FLOAT_MATH,
    *_FIELDS,
    *_ATOMICS,
    Weight(("not",), 0, 0, needs=("pred",)),
    # Hopper needs no set-up of barriers and matrix operations.
    Weight(("bar.sync", "barrier.sync", "bar.arrive"), 1, 2, until=HOPPER),
    Weight(("bar.sync", "barrier.sync", "bar.arrive"), 0, 1, arch=HOPPER),
    Weight(("bar.red",), 2, 3, until=HOPPER),
    Weight(("mma.sync", "ldmatrix"), 1, 2, until=HOPPER),
    Weight(("cp.async.commit_group",), 0, 1),
    Weight(("cp.async.wait_all",), 1, 2),
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
            divides = literal and row.a >= DIVISOR_FOLDS and form.name in ("div", "rem")
            return divided_by_literal(form, False) if divides else row
    return ONE


@functools.cache
def divided_by_literal(form: Form, power_of_two: bool) -> Weight:
    """Integer division by a literal: eight instructions of the sequence are of the divisor."""
    row = weight(form, 0)
    d = row.d - (2 if power_of_two else 3) - (form.type is not None and form.type.name == "s32")
    return attrs.evolve(row, a=d - DIVISOR_FOLDS, d=d)


# --------------------------------------------------------------- whole bodies

DIVISOR_FOLDS = 8  # that much of an integer division by a literal folds in copies
CONSTANT_REGISTERS = frozenset(("ntid", "nctaid", "gridid", "nsmid", "nwarpid"))  # operands
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
))
