"""What is known of a loop's values once its induction variables are constants, as ptxas folds.

Known are literals, the induction variables, addresses of shared and constant memory, and the
results of what folds.

Method   Header phis that start from a known value are taken for known; values over them are
         worked out on demand; phis whose next value turns out unknown are struck, until nothing
         changes.
Cost     one visit a value that is asked for, another for each phi struck.
Source   measured, see unroll/weights.py.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

from nvir.analysis.induction import TripCount, is_invariant
from nvir.assembler.unroll.weights import HOPPER, SHARED_SYMBOL
from nvir.ir import Constant, Form, Instruction, Loop, Param, SymbolOffset, Undef, Value, Variable


@attrs.frozen(eq=False)
class Counted:
    """A loop with its trip count and those of its inner loops that are unrolled fully."""

    loop: Loop
    trip: TripCount | None
    inner: tuple[Counted, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """Which loops it is of: equal keys of one function have equal figures."""
        return self.loop.header, *[x.key for x in self.inner]

    def nest(self) -> Iterator[Counted]:
        yield self
        for x in self.inner:
            yield from x.nest()


class Known:
    """Whether a value is known once the loop's induction variables are."""

    def __init__(
        self, counted: Counted, arch: int = 0, dead: AbstractSet[Instruction] = frozenset()
    ) -> None:
        self._shared = arch < HOPPER
        self._header = counted.loop.header
        self._zero: frozenset[Value] | None = None
        self._phis: set[Instruction] = set()
        self._cache: dict[Value, bool] = {}
        phis = [p for x in counted.nest() for p in x.loop.header.phis if p not in dead]
        inside = counted.loop.members
        self._phis = {
            p for p in phis if all(self(v) for v in p.operands if is_invariant(v, inside))
        }
        outside = self._cache.copy()  # values from outside read no phi of the nest
        while True:  # a phi that is struck may have others fall
            unknown = {x for x in self._phis if not all(self(v) for v in x.operands)}
            if not unknown:
                break
            self._phis -= unknown
            self._cache = outside.copy()

    def __call__(self, v: Value) -> bool:
        """Iterative, because chains of values can be long."""
        cache = self._cache
        known = cache.get(v)
        if known is not None:
            return known
        work = [v]
        while work:
            x = work[-1]
            if x in cache:
                work.pop()
                continue
            needed = self._needs(x)
            if needed.__class__ is bool:
                cache[x] = needed
                work.pop()
                continue
            value: bool | None = True
            for y in needed:
                found = cache.get(y)
                if found is None:
                    work.append(y)
                    value = None
                elif value and not found:
                    value = False
            if value is not None:
                cache[x] = value
                work.pop()
        return cache[v]

    def _needs(self, v: Value) -> Any:
        """Whether a value is known; a tuple: if these all are."""
        if type(v) is Instruction:
            if v.form.is_phi:
                return v in self._phis
            return (v._operands or False) if _foldable(v.form) else False
        if type(v) is Constant:
            return True
        if isinstance(v, Undef):
            return False
        if isinstance(v, SymbolOffset):
            return self._needs(v.symbol)
        if isinstance(v, Variable):
            return v.space in ("const", "param") or (v.space == "shared" and self._shared)
        d = v.definer
        if d is None:
            return False
        if d.form.is_phi:
            return d in self._phis
        return d.operands if _foldable(d.form) and d.operands else False

    def address_addition(self, i: Instruction) -> int:
        """What an addition of a symbol's address weighs more than another: the stack's is one more
        instruction, and where the only variable of its space lies, at 0, there is none."""
        for v in i.operands:
            s = without_moves(v)
            if s.__class__ is Variable:
                if s.space == "local":
                    return 1
                if s.space == "shared" and not self._shared:
                    return SHARED_SYMBOL
                if s in self._at_zero():
                    return -1
        return 0

    def _at_zero(self) -> frozenset[Value]:
        if self._zero is None:
            f = self._header.function
            module = f.module if f is not None else None
            symbols = [*(f.locals if f is not None else ()), *(module.globals if module else ())]
            found: list[Value] = []
            for space in ("shared", "const") if self._shared else ("const",):
                near = [v for v in symbols if v.space == space]
                found += near if len(near) == 1 else ()
            self._zero = frozenset(found)
        return self._zero

    def folds(self, i: Instruction) -> bool:
        operands = i._operands
        return bool(operands) and _foldable(i.form) and all(map(self, operands))


@functools.cache
def _foldable(f: Form) -> bool:
    if f.name == "lop3" or f.reads or f.is_phi:
        return False
    return f.pure and not f.convergent and not f.is_call


def is_symbol(v: Value) -> bool:
    return isinstance(v, (Variable, SymbolOffset)) and not isinstance(v, Param)


def without_moves(v: Value) -> Value:
    """The symbol that a register was set to; else the value itself."""
    d = v.definer
    if d is not None and d.form.name == "mov" and d.form.guard is None and is_symbol(d.operands[0]):
        return d.operands[0]
    return v
