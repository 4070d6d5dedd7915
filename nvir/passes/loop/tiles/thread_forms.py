"""What each thread of a block makes of an integer: numbers of its own, times what all share.

    value(t)  =  shared part  +  own(t)  +  Σ factor(t) · symbol

The shape of the block is known, so the thread index is a list of numbers, and what is computed from
it alone is evaluated for each thread: any division, mask or shift, no pattern. The shared part and
the symbols are the same for all threads, and nothing is known of them but the power of two that
divides them. That tells which threads' addresses follow each other, and which are aligned:

    mad.lo.s32 %r2, %row, %lda, %col       row(t)·lda + col(t)
    add.s64 %p, %a, …                      and a shared part of the alignment of parameter a

Sums hold modulo the width of the value. An extension is seen through where nothing can carry into
the upper bits: own(t) alone, or below the power of two that divides the shared part.

Needs    `.reqntid`; a loop in which all threads of the block run the same iterations.
Cost     threads times the instructions asked for; one visit of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import attrs

from nvir.analysis.affine import Affine, AffineForms
from nvir.ir import SCALARS, Block, Function, Instruction, OpKind, Param, ScalarType, Variable
from nvir.ir.values import Constant, SpecialRegister, Symbol, SymbolOffset, Value

_ODD = frozenset(("sat", "hi", "relu"))
ANY = 1 << 64  # divides the shared part of a value that has none
_POINTED = re.compile(r"\.align\s+(\d+)")
Factor = tuple[Value, bool]  # a symbol, and whether its bits are read as a signed number


@attrs.frozen(eq=False)
class Lanes:
    """align    a power of two that divides the shared part
    own      a number of each thread
    terms    factors of each thread, by symbol
    """

    align: int
    own: tuple[int, ...]
    terms: dict[Factor, tuple[int, ...]] = attrs.field(factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether it is a number for each thread."""
        return self.align >= ANY and not self.terms

    @property
    def is_shared(self) -> bool:
        """Whether all threads have the same."""
        return not self.terms and len(set(self.own)) == 1

    @property
    def divisor(self) -> int:
        """A power of two that divides a shared value."""
        return min(self.align, _low(self.own[0]))


class LaneForms:
    """Forms of the values of a kernel as the threads of a block see them within one iteration of
    the loop with a header. Values that are not understood have None.

    aligned    variables whose alignment will be another than it is
    """

    def __init__(
        self, function: Function, header: Block, forms: AffineForms,
        aligned: Mapping[Variable, int],
    ) -> None:
        self.header, self.affine, self.aligned = header, forms, aligned
        size = [int(n) for n in function.directives.get("reqntid", ())]
        self.shape = (*size, *(1,) * (3 - len(size)))
        self.threads = self.shape[0] * self.shape[1] * self.shape[2] if size else 0
        self.divisors: dict[Factor, int] = {}
        self._known: dict[Value, Lanes | None] = {}

    def of(self, value: Value) -> Lanes | None:
        """The form of an integer, address or predicate."""
        stack, opened = [value], set[Value]()
        while stack:
            v = stack[-1]
            if v in self._known:
                stack.pop()
                continue
            needed = [o for o in self._parts(v) if o not in self._known]
            if needed and v not in opened:
                opened.add(v)
                stack += needed
                continue
            stack.pop()
            self._known[v] = None if needed else self._make(v)
        return self._known[value]

    def is_aligned(self, form: Lanes, thread: int, size: int) -> bool:
        """Whether a thread's value is a multiple of a power of two."""
        terms = all(
            f[thread] * self.divisors[symbol] % size == 0 for symbol, f in form.terms.items()
        )
        return form.align >= size and form.own[thread] % size == 0 and terms

    # ------------------------------------------------------------ one value

    def _parts(self, v: Value) -> Sequence[Value]:
        d = v.definer
        if d is None or d is not v:
            return ()
        if not d.is_phi:
            return d.operands
        if d.block is not self.header:
            return ()
        return (*_entering(d), *(t.symbol for t in self._step(d).terms))

    def _step(self, phi: Instruction) -> Affine:
        """The affine form of what an iteration adds to a header phi."""
        edges = zip(phi.operands, phi.aux, strict=True)
        update = next(v for v, b in edges if self.header.dominates(b))
        return self.affine.of(update) - self.affine.of(phi)

    def _make(self, v: Value) -> Lanes | None:
        if isinstance(v, Constant):
            return self._number(v.value) if isinstance(v.value, int) else self._shared(1)
        if isinstance(v, SymbolOffset):
            form = self._make(v.symbol)
            return None if form is None else attrs.evolve(form, own=(v.offset,) * self.threads)
        if isinstance(v, SpecialRegister):
            return self._special(v)
        if isinstance(v, Symbol):
            if not isinstance(v, Variable):
                return self._shared(1)
            return self._shared(self.aligned.get(v, max(v.align, 1)))
        d = v.definer
        if d is None or d is not v or d.form.guard is not None:
            return None
        return self._phi(d) if d.is_phi else self._instruction(d)

    def _number(self, n: int) -> Lanes:
        return Lanes(ANY, (n,) * self.threads)

    def _shared(self, divisor: int) -> Lanes:
        return Lanes(divisor, (0,) * self.threads)

    def _special(self, r: SpecialRegister) -> Lanes | None:
        name, x, y = str(r.name), self.shape[0], self.shape[1]
        count = range(self.threads)
        if name == "%tid.x":
            return Lanes(ANY, tuple(t % x for t in count))
        if name == "%tid.y":
            return Lanes(ANY, tuple(t // x % y for t in count))
        if name == "%tid.z":
            return Lanes(ANY, tuple(t // (x * y) for t in count))
        return self._shared(1) if r.uniform and not r.volatile else None

    def _phi(self, phi: Instruction) -> Lanes | None:
        """A value that all threads step by the same."""
        if phi.block is not self.header:
            return None
        starts = _entering(phi)
        start = self._known[starts[0]] if len(starts) == 1 else None
        step = self._step(phi)
        if start is None or step.modulus < phi.type.bits:
            return None
        align = min(start.align, _low(step.constant))
        for t in step.terms:
            form = self._known.get(t.symbol)
            if form is None or not form.is_shared:
                return None
            align = min(align, _low(t.coefficient) * form.divisor)
        return attrs.evolve(start, align=align)

    def _instruction(self, d: Instruction) -> Lanes | None:
        f = d.form
        if f.name == "ld" and f.space.startswith("param"):
            return self._shared(_alignment(d.operands[0]))
        found = [self._known[o] for o in d.operands]
        forms = [x for x in found if x is not None]
        mixes = f.reads or f.convergent or f.carry_in or f.carry_out
        if len(forms) < len(found) or not f.pure or mixes:
            return None
        made = self._sum(d, forms)
        if made is not None:
            return _wrapped(made, d.type.bits)
        return self._shared(1) if forms and all(x.is_shared for x in forms) else None

    def _sum(self, d: Instruction, x: list[Lanes]) -> Lanes | None:
        """The form of an operation of integers; None for another."""
        f, t = d.form, d.form.type
        if f.kind is OpKind.COPY and len(x) == 1:
            return x[0]
        packed = t is not None and "x" in t.name
        if t is None or t.is_float or packed or _ODD.intersection(f.mods):
            return None
        if f.name == "cvt":
            return _converted(d, x[0])
        if f.kind is OpKind.SUM:
            return _added(x[0], x[1], 1 if f.name == "add" else -1)
        if f.name == "shl" and x[1].is_known and x[1].is_shared:
            by = x[1].own[0]
            return _scaled(x[0], 1 << by) if 0 <= by < t.bits else self._number(0)
        if f.kind is OpKind.MULTIPLY:
            made = self._product(d, x[0], x[1], t)
            return made if made is None or f.name == "mul" else _added(made, x[2], 1)
        if all(form.is_known for form in x) and f.name in _EVALUATED:
            return _evaluated(_EVALUATED[f.name], t, x)
        if f.name == "or":
            return _joined(x[0], x[1]) or _joined(x[1], x[0])
        return None

    def _product(self, d: Instruction, a: Lanes, b: Lanes, t: ScalarType) -> Lanes | None:
        if "wide" in d.form.mods:
            wide = [_extended(_wrapped(x, t.bits), t.bits, t.is_signed) for x in (a, b)]
            if wide[0] is None or wide[1] is None:
                return None
            a, b = wide[0], wide[1]
        for x, y, symbol in ((a, b, d.operands[1]), (b, a, d.operands[0])):
            if y.is_known and y.is_shared:
                return _scaled(x, y.own[0])
            if y.is_shared and not x.terms:
                align = min(ANY, x.align * y.divisor)
                if x.is_shared:
                    return self._shared(min(align, _low(x.own[0]) * y.divisor))
                factor = (symbol, t.is_signed)
                self.divisors[factor] = y.divisor
                return Lanes(align, (0,) * self.threads, {factor: x.own})
        return None


# --------------------------------------------------------------------- rules


def _low(n: int) -> int:
    """The power of two that divides a number."""
    return min(n & -n, ANY) if n else ANY


def _wrap(n: int, bits: int) -> int:
    n &= (1 << bits) - 1
    return n - (1 << bits) if n >> (bits - 1) else n


def _wrapped(x: Lanes, bits: int) -> Lanes:
    if bits < 2:
        return x
    terms = {s: tuple(_wrap(n, bits) for n in f) for s, f in x.terms.items()}
    return Lanes(x.align, tuple(_wrap(n, bits) for n in x.own), terms)


def _added(a: Lanes, b: Lanes, sign: int) -> Lanes:
    terms = dict(a.terms)
    for s, f in b.terms.items():
        before = terms.get(s, (0,) * len(f))
        terms[s] = tuple(p + sign * q for p, q in zip(before, f, strict=True))
    own = tuple(p + sign * q for p, q in zip(a.own, b.own, strict=True))
    return Lanes(min(a.align, b.align), own, terms)


def _scaled(x: Lanes, c: int) -> Lanes:
    terms = {s: tuple(c * n for n in f) for s, f in x.terms.items()}
    return Lanes(min(ANY, x.align * _low(c)), tuple(c * n for n in x.own), terms)


def _joined(a: Lanes, b: Lanes) -> Lanes | None:
    """a | b where no bit of b is in a: b fits below what divides a."""
    if a.terms or not b.is_known or any(a.own) or not all(0 <= n < a.align for n in b.own):
        return None
    return _added(a, b, 1)


def _extended(x: Lanes, source: int, signed: bool) -> Lanes | None:
    """A form of `source` bits as a wider number."""
    if x.is_known:
        mask = (1 << source) - 1
        return x if signed else Lanes(ANY, tuple(n & mask for n in x.own))
    if x.is_shared:
        return Lanes(x.divisor, (0,) * len(x.own))
    if not x.terms and all(0 <= n < x.align for n in x.own):
        return x
    return None


def _converted(d: Instruction, x: Lanes) -> Lanes | None:
    types = [SCALARS[m] for m in d.form.mods if m in SCALARS]
    if len(types) != 2:
        return None
    to, source = types
    if to.is_float or source.is_float or to.bits < d.type.bits:
        return None
    x = _wrapped(x, source.bits)
    return x if to.bits <= source.bits else _extended(x, source.bits, source.is_signed)


def _evaluated(how: Callable[[int, int, int], int], t: ScalarType, x: list[Lanes]) -> Lanes:
    """An operation on numbers, thread by thread; operands are read as the type says."""
    mask = 0 if t.is_signed else (1 << t.bits) - 1

    def read(form: Lanes) -> list[int]:
        return [n & mask if mask else _wrap(n, t.bits) for n in form.own]

    a = read(x[0])
    b = read(x[1]) if len(x) > 1 else a
    return Lanes(ANY, tuple(how(p, q, t.bits) for p, q in zip(a, b, strict=True)))


def _divided(a: int, b: int, bits: int) -> int:
    """Rounded to 0; whatever the machine gives for a division by 0, no address is made of it."""
    if b == 0:
        return -1
    n = abs(a) // abs(b)
    return n if (a < 0) == (b < 0) else -n


_EVALUATED: dict[str, Callable[[int, int, int], int]] = {
    "and": lambda a, b, n: a & b, "or": lambda a, b, n: a | b, "xor": lambda a, b, n: a ^ b,
    "not": lambda a, b, n: ~a, "neg": lambda a, b, n: -a,
    "shr": lambda a, b, n: a >> min(b & 0xFFFFFFFF, n), "min": lambda a, b, n: min(a, b),
    "max": lambda a, b, n: max(a, b), "div": _divided,
    "rem": lambda a, b, n: a - b * _divided(a, b, n) if b else a,
}


def _alignment(param: Value) -> int:
    """What the declaration of a pointer parameter says of the memory it points to."""
    if not isinstance(param, Param):
        return 1
    found = _POINTED.search(str(param.attributes.get("ptr", "")))
    return _low(int(found[1])) if found is not None else 1


def _entering(phi: Instruction) -> list[Value]:
    """The values of a header phi where its loop is entered."""
    header = phi.block
    assert header is not None
    return [v for v, b in zip(phi.operands, phi.aux, strict=True) if not header.dominates(b)]
