"""One comparison that makes sure of several exit tests in a row.

A counted loop goes on while `x + j·s` compares with N, for copies j = 0 .. m − 1
(x counted on by one step where the test reads the variable after its step). All
hold if the farthest does and the variable does not wrap on the way there:

    lt, le   x < L,  L = N − K     K = (m − 1 + d)·|s|, d = 1 where the step is first
    gt, ge   x > L,  L = N + K
    ne       |N − x| > K           as an unsigned number, taken in the direction of the step

L itself must not have wrapped: `is_right` makes that test, which is the same for all
rounds. A stride that run time brings (a grid's size, mostly) is tested to lead up and to be small
enough for its multiple not to wrap. A guard that is false although the tests would hold costs
speed, never the result.
"""

from __future__ import annotations

import attrs

from nvir.analysis.induction import TripCount, constant_of
from nvir.ir import SCALARS, Builder, Value, integer

_SIGN = {"lt": 1, "le": 1, "lo": 1, "ls": 1, "gt": -1, "ge": -1, "hi": -1, "hs": -1}
MOST_STRIDES = 128  # of which a multiple is taken
_BACK = {1: "le", -1: "ge"}


@attrs.frozen(eq=False)
class Guard:
    """The guard of a loop with `tests` tests left out; see the module docstring."""

    compare: str
    type: str  # of the comparison, e.g. "s32"
    bits: int
    direction: int  # 1 up, -1 down
    distance: int  # K; of a run-time stride, how many of them
    bound: Value
    stride: Value | None = None

    @classmethod
    def of(cls, trip: TripCount, tests: int) -> Guard | None:
        """The guard, None where there is none: floats, run-time strides down, `eq`, K too large."""
        variable = trip.variable
        compare, _, type = trip.compare.partition(".")
        t = SCALARS.get(type)
        if variable.kind == "float" or t is None:
            return None
        bits = variable.bits
        if t.bits != bits or t.is_float or bits not in (16, 32, 64):
            return None
        step = variable.step
        strides = max(tests - 1 + trip.tests_update, 0)
        if isinstance(step, Value):
            if _SIGN.get(compare) != 1 or bits == 16 or strides >= MOST_STRIDES:
                return None
            return cls(compare, type, bits, 1, strides, trip.bound, step)
        if not isinstance(step, int):
            return None
        distance = strides * abs(step)
        if compare == "ne":
            if step == 0 or distance.bit_length() > bits:
                return None
            return cls("ne", f"u{bits}", bits, 1 if step > 0 else -1, distance, trip.bound)
        direction = _SIGN.get(compare, 0)
        unsigned = type[0] != "s" or compare in ("lo", "ls", "hi", "hs")
        if direction * step <= 0 or distance.bit_length() > bits - (not unsigned):
            return None
        made = cls(compare, type, bits, direction, distance, trip.bound)
        return None if made._constant_limit() == "wraps" else made

    def limit(self, b: Builder) -> Value | None:
        """L, worked out before the loop; None where the guard needs none."""
        if self.compare == "ne":
            return None
        if self.stride is not None:
            far = b.compute(f"mul.lo.s{self.bits}", self.stride, integer(self.distance))
            return b.compute(f"sub.s{self.bits}", self.bound, far)
        known = self._constant_limit()
        if isinstance(known, int):
            return integer(known)
        if self.distance == 0:
            return self.bound
        name = "sub" if self.direction > 0 else "add"
        return b.compute(
            f"{name}.{self._arithmetic()}", self.bound, integer(self.distance)
        )

    def is_right(self, b: Builder, limit: Value | None) -> Value | None:
        """A predicate: L did not wrap. None where it is certain."""
        if limit is None or limit.is_constant or limit is self.bound:
            return None
        t = self._arithmetic()
        right = b.compute(f"setp.{_BACK[self.direction]}.{t}", limit, self.bound)
        if self.stride is None:
            return right
        less = b.compute(f"sub.s{self.bits}", self.stride, integer(1))
        most = (1 << self.bits) // (2 * MOST_STRIDES) - 1
        return b.compute("and.pred", right, b.compute(
            f"setp.lt.u{self.bits}", less, integer(most)))

    def holds(self, b: Builder, x: Value, limit: Value | None) -> Value:
        """A predicate: from x on, all the tests hold."""
        if self.compare != "ne":
            assert limit is not None
            return b.compute(f"setp.{self.compare}.{self.type}", x, limit)
        high, low = (self.bound, x) if self.direction > 0 else (x, self.bound)
        left = b.op(f"sub.{self.type}", high, low)
        return b.compute(f"setp.gt.{self.type}", left, integer(self.distance))

    def said(self, limit: Value | None) -> Value | str | None:
        """What stands for all the tests: L, or the distance of `ne`."""
        return limit if self.compare != "ne" else f"more than {self.distance} from the bound"

    @property
    def sense(self) -> str:
        """The real tool's code of the comparison that its copies get."""
        if self.compare == "ne":
            return "by distance"
        return "LT (0x5ffffffd)" if self.direction > 0 else "GT (0x5ffffffc)"

    def _arithmetic(self) -> str:
        unsigned = self.type[0] != "s" or self.compare in ("lo", "ls", "hi", "hs")
        return f"{'u' if unsigned else 's'}{self.bits}"

    def _constant_limit(self) -> int | str | None:
        """L where the bound is a literal, "wraps" where it does, None where it is none."""
        n = constant_of(self.bound)
        if n is None:
            return None
        t = SCALARS[self._arithmetic()]
        n &= (1 << t.bits) - 1
        if t.kind == "s" and n >> (t.bits - 1):
            n -= 1 << t.bits
        limit = n - self.direction * self.distance
        low, high = (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.kind == "s" else (
            0, (1 << t.bits) - 1)
        return limit if low <= limit <= high else "wraps"
