"""Affine forms: an integer or an address as a sum of symbols, exact modulo a power of two.

    value  ≡  c1·s1 + c2·s2 + … + constant      (mod 2**modulus)

A symbol is a value that the analysis does not look into (a phi, a load, a special
register, the address of a variable), read as a signed or an unsigned integer.

Wrap-around needs no assumption, it is in the modulus. PTX integers wrap, so a
64-bit sum holds modulo 2**64. Extending a 32-bit sum may meet a wrapped one:
what comes out is known modulo 2**32 only, and four times that modulo 2**34. The
extension loses nothing where the sum is one symbol, or where the symbols' ranges
(a thread index is below 1024, a counter below its bound) show that it cannot wrap.
`is_exact` tells the forms that hold as plain numbers of their width.

    mul.wide.s32 %rd4, %r1, 4;     %rd4 ≡ 4·s32(%r1)          (mod 2**64)
    add.s32      %r2, %r1, 1;      %r2  ≡ %r1 + 1             (mod 2**32)
    mul.wide.s32 %rd5, %r2, 4;     %rd5 ≡ 4·s32(%r1) + 4      (mod 2**34)

so `%rd5 - %rd4` is 4 modulo 2**34: two words that never overlap, wrapped or not.

Seen through: add, sub, neg, mul and mad with a constant, shl by one, mul.wide,
cvt between integers, or of disjoint bits, copies, cvta. A cvta keeps its form: forms
of addresses tell places, and `alias` compares their state spaces as well.

Method   One demand-driven walk with a stack and a memo: each value is looked at
         once for a function. More than MAX_TERMS symbols make a symbol of the sum.
Cost     Linear in the values asked for and what they are made of.
"""

from __future__ import annotations

import attrs

from nvir.analysis.induction import InductionVariable, induction_variables, trip_count
from nvir.ir import Block, Function, Instruction, Loop, OpKind, Param, ScalarType, natural_loops
from nvir.ir.values import Constant, SpecialRegister, Symbol, SymbolOffset, Value

MAX_TERMS = 8
MAX_DEPTH = 24  # of symbols whose ranges rest on each other
Range = tuple[int, int]


@attrs.frozen
class Term:
    """`coefficient` times `symbol`, whose bits are read as a signed or an unsigned number."""

    symbol: Value = attrs.field(eq=id)
    signed: bool
    coefficient: int


@attrs.frozen
class Affine:
    """The value of width `bits` is the sum of the terms and the constant, modulo 2**modulus.

    Terms are in the order in which the symbols were met, their coefficients not 0.
    """

    terms: tuple[Term, ...]
    constant: int
    modulus: int
    bits: int

    @property
    def is_exact(self) -> bool:
        """Whether nothing was lost on the way: the form holds in the value's full width."""
        return self.modulus >= self.bits

    @property
    def is_constant(self) -> bool:
        """Whether no symbol is in it."""
        return not self.terms

    def coefficient(self, symbol: Value) -> int:
        """The coefficient of a symbol, over both its readings; 0 where it does not occur."""
        return sum(t.coefficient for t in self.terms if t.symbol is symbol)

    def __add__(self, other: Affine) -> Affine:
        return _sum(self, other, 1)

    def __sub__(self, other: Affine) -> Affine:
        return _sum(self, other, -1)

    def scaled(self, factor: int) -> Affine:
        """The form times a constant; the modulus grows by the factor's powers of two."""
        if factor == 0:
            return Affine((), 0, self.bits, self.bits)
        modulus = min(self.bits, self.modulus + _twos(factor))
        terms = {(t.symbol, t.signed): t.coefficient * factor for t in self.terms}
        return _normal(terms, self.constant * factor, modulus, self.bits)

    def reduced(self, modulus: int) -> Affine:
        """The form modulo 2**modulus, where that is less than it has."""
        if modulus >= self.modulus:
            return self
        terms = {(t.symbol, t.signed): t.coefficient for t in self.terms}
        return _normal(terms, self.constant, modulus, self.bits)

    def __str__(self) -> str:
        parts = []
        for t in self.terms:
            name = t.symbol.name or "?"
            if t.symbol.type.bits < self.bits:
                name = f"{'s' if t.signed else 'u'}{t.symbol.type.bits}({name})"
            c = t.coefficient
            parts.append(name if c == 1 else f"-{name}" if c == -1 else f"{c}·{name}")
        if self.constant or not parts:
            parts.append(str(self.constant))
        text = " + ".join(parts).replace("+ -", "- ")
        return text if self.is_exact else f"{text} (mod 2^{self.modulus})"


def _twos(n: int) -> int:
    """How often 2 divides n, which is not 0."""
    return (n & -n).bit_length() - 1


def _wrap(n: int, bits: int) -> int:
    """The representative of n modulo 2**bits that is nearest to 0."""
    n &= (1 << bits) - 1
    return n - (1 << bits) if n >> (bits - 1) else n


def _normal(
    terms: dict[tuple[Value, bool], int], constant: int, modulus: int, bits: int
) -> Affine:
    """Coefficients and constant reduced; a reading dropped where the modulus does not see it."""
    merged: dict[tuple[Value, bool], int] = {}
    for (symbol, signed), c in terms.items():
        c = _wrap(c, modulus)
        if c == 0:
            continue
        if symbol.type.bits + _twos(c) >= modulus:
            signed = False  # both readings agree modulo 2**modulus
        merged[symbol, signed] = merged.get((symbol, signed), 0) + c
    out = []
    for (symbol, signed), c in merged.items():
        c = _wrap(c, modulus)
        if c:
            out.append(Term(symbol, signed, c))
    return Affine(tuple(out), _wrap(constant, modulus), modulus, bits)


def _sum(a: Affine, b: Affine, sign: int) -> Affine:
    bits, modulus = min(a.bits, b.bits), min(a.modulus, b.modulus)
    constant = a.constant + sign * b.constant
    if sign < 0 and a.terms == b.terms:  # two places in one object
        return Affine((), _wrap(constant, modulus), modulus, bits)
    if not b.terms and modulus == a.modulus and bits == a.bits:
        return Affine(a.terms, _wrap(constant, modulus), modulus, bits)
    terms = {(t.symbol, t.signed): t.coefficient for t in a.terms}
    for t in b.terms:
        key = (t.symbol, t.signed)
        terms[key] = terms.get(key, 0) + sign * t.coefficient
    return _normal(terms, constant, modulus, bits)


# ----------------------------------------------------------------- the analysis


class AffineForms:
    """Affine forms of the values of one function, made on demand and kept.

    It sees the function as it was when first asked: renew it after changes.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self._forms: dict[Value, Affine] = {}
        self._params: dict[tuple[Value, int, str], Value] = {}
        self._ranges: dict[Value, Range | None] = {}
        self._depth = 0
        self._loops: dict[Block, Loop] | None = None
        self._variables: dict[Block, dict[Value, InductionVariable]] = {}

    def of(self, value: Value) -> Affine:
        """The form of an integer value or address."""
        form = self._leaf(value)
        if form is not None:
            return form
        stack = [value]
        opened: set[Value] = set()
        while stack:
            v = stack[-1]
            if v in self._forms:
                stack.pop()
                continue
            needed = [s for s in _parts(v) if self._leaf(s) is None]
            if needed and v not in opened:
                opened.add(v)
                stack.extend(needed)
                continue
            stack.pop()
            # Only code that is never reached can need itself without a phi between.
            self._forms[v] = self._symbol(v) if needed else self._combine(v)
        return self._forms[value]

    def of_address(self, instruction: Instruction, base: int, offset: int) -> Affine:
        """The form of an address by its operand numbers, as in `form.addresses`."""
        form = self.of(instruction.operands[base])
        if offset >= 0:
            form = form + self._known(self._ensure(instruction.operands[offset]), form.bits)
        return form

    def loop_of(self, header: Block) -> Loop | None:
        """The natural loop with this header, or None."""
        if self._loops is None:
            self._loops = {x.header: x for x in natural_loops(self.function)}
        return self._loops.get(header)

    def variables(self, header: Block) -> dict[Value, InductionVariable]:
        """The induction variables of the loop with this header, by phi."""
        found = self._variables.get(header)
        if found is None:
            loop = self.loop_of(header)
            found = {} if loop is None else {iv.phi: iv for iv in induction_variables(loop)}
            self._variables[header] = found
        return found

    # ------------------------------------------------------------- one value

    def _leaf(self, v: Value) -> Affine | None:
        """The form of what needs no look at operands, or the one known already."""
        known = self._forms.get(v)
        if known is not None:
            return known
        bits = v.type.bits or 64
        if isinstance(v, Constant):
            if isinstance(v.value, int):
                bits = v.type.bits or 128  # a literal has no width of its own
                return Affine((), v.value, bits, bits)
            return self._symbol(v)
        if isinstance(v, SymbolOffset):
            return _normal({(v.symbol, False): 1}, v.offset, bits, bits)
        if isinstance(v, Symbol | SpecialRegister) or v.definer is None:
            return self._symbol(v)
        return None

    def _symbol(self, v: Value) -> Affine:
        bits = v.type.bits or 64
        form = _normal({(v, False): 1}, 0, bits, bits)
        self._forms[v] = form
        return form

    def _combine(self, v: Value) -> Affine:
        """The form of an instruction from those of its operands, which are known."""
        d = v.definer
        assert d is not None
        if d is not v or d.form.guard is not None:
            return self._symbol(v)
        rule = _RULES.get(d.form.name)
        form = rule(self, d) if rule is not None else None
        if form is None or len(form.terms) > MAX_TERMS:
            return self._symbol(v)
        bits = v.type.bits
        return form if form.bits == bits else attrs.evolve(form.reduced(bits), bits=bits)

    def _ensure(self, v: Value) -> Value:
        self.of(v)
        return v

    def _known(self, v: Value, bits: int) -> Affine:
        """The form of an operand, a literal being given the instruction's width."""
        form = self._leaf(v)
        assert form is not None
        if form.bits != bits and isinstance(v, Constant):
            return _normal({}, form.constant, bits, bits)
        return form

    def extended(self, form: Affine, source: int, signed: bool, bits: int) -> Affine:
        """A form of `source` bits extended to `bits`: see the module's docstring."""
        if form.modulus < source:
            return attrs.evolve(form, bits=bits)
        lone = form.terms[0] if len(form.terms) == 1 and not form.constant else None
        if lone is not None and lone.coefficient == 1 and lone.symbol.type.bits == source:
            known = self.range_of(lone.symbol)
            read = signed and not (known is not None and known[0] >= 0)
            return _normal({(lone.symbol, read): 1}, 0, bits, bits)
        interval = self.interval(form)
        low, high = (-(1 << source - 1), 1 << source - 1) if signed else (0, 1 << source)
        if interval is not None and low <= interval[0] and interval[1] < high:
            terms = {}
            for t in form.terms:
                r = self.range_of(t.symbol)
                assert r is not None
                terms[t.symbol, r[0] < 0] = t.coefficient
            return _normal(terms, form.constant, bits, bits)
        return attrs.evolve(form, bits=bits)

    # --------------------------------------------------------------- ranges

    def interval(self, form: Affine) -> Range | None:
        """Between which numbers terms and constant add up, before any wrapping; None: unknown."""
        low = high = form.constant
        for t in form.terms:
            r = self.range_of(t.symbol)
            if r is None:
                return None
            a, b = t.coefficient * r[0], t.coefficient * r[1]
            low, high = low + min(a, b), high + max(a, b)
        return low, high

    def range_of(self, v: Value) -> Range | None:
        """Between which numbers a symbol lies, where something bounds it."""
        if v not in self._ranges:
            self._ranges[v] = None  # while it is being found out, and for a cycle
            if self._depth < MAX_DEPTH:
                self._depth += 1
                self._ranges[v] = self._range(v)
                self._depth -= 1
        return self._ranges[v]

    def _range(self, v: Value) -> Range | None:
        if isinstance(v, SpecialRegister):
            return self._special_range(str(v.name))
        d = v.definer
        if d is None or d is not v or d.form.guard is not None:
            return None
        f = d.form
        if f.is_phi:
            return self._phi_range(d)
        if f.name == "mov" and len(d.operands) == 1:
            return self.range_of(d.operands[0])
        if f.kind is OpKind.LOAD and f.type is not None and f.type.bits < v.type.bits:
            return _type_range(f.type)
        if f.name == "and":
            masks = [o.value for o in d.operands if isinstance(o, Constant)]
            if masks and isinstance(masks[0], int) and 0 <= masks[0] < 1 << v.type.bits - 1:
                return 0, masks[0]
        if f.name == "shr" and f.type is not None and isinstance(d.operands[1], Constant):
            by = min(d.operands[1].value & 0xFFFFFFFF, f.type.bits)
            if f.type.is_signed:
                by = min(by, f.type.bits - 1)
                half = 1 << (f.type.bits - 1 - by)
                return -half, half - 1
            return 0, (1 << (f.type.bits - by)) - 1
        if f.name == "rem" and f.type is not None and isinstance(d.operands[1], Constant):
            by = _wrap(d.operands[1].value, f.type.bits)
            if f.type.kind == "u":
                by &= (1 << f.type.bits) - 1
                return (0, by - 1) if by else None
            return (1 - abs(by), abs(by) - 1) if by else None
        return (0, 64) if f.kind is OpKind.COUNT else None

    def _special_range(self, name: str) -> Range | None:
        base, _, axis = name.partition(".")
        at = "xyz".find(axis) if axis else -1
        if base in ("%tid", "%ntid") and at >= 0:
            limit = (1024, 1024, 64)[at]
            for directive in ("reqntid", "maxntid"):
                sizes = self.function.directives.get(directive)
                if sizes:
                    exact = directive == "reqntid" and at < len(sizes)
                    limit = sizes[at] if exact else min(limit, _product(sizes))
                    break
            return (0, limit - 1) if base == "%tid" else (1, limit)
        if base in ("%ctaid", "%nctaid") and at >= 0:
            limit = 0x7FFFFFFF if at == 0 else 0xFFFF
            return (0, limit - 1) if base == "%ctaid" else (1, limit)
        return {"%laneid": (0, 31), "%warpid": (0, 63), "%nwarpid": (1, 64)}.get(name)

    def _phi_range(self, phi: Instruction) -> Range | None:
        """The range of an integer induction variable whose loop ends before it can wrap."""
        assert phi.block is not None
        iv = self.variables(phi.block).get(phi)
        loop = self.loop_of(phi.block)
        if iv is None or loop is None or iv.kind == "float" or not isinstance(iv.step, int):
            return None
        start = self.interval(self.of(iv.start))
        if start is None or not self.of(iv.start).is_exact:
            return None
        trip = trip_count(loop)
        if trip is None:
            return None
        if trip.count is not None:
            most = iv.step * max(trip.count, 1)
            low, high = min(start[0], start[0] + most), max(start[1], start[1] + most)
            fits = -(1 << iv.bits - 1) <= low and high < 1 << iv.bits - 1
            return (low, high) if fits else None
        if trip.variable.phi is not phi or iv.step not in (1, -1):
            return None  # a larger step may jump over the end of the number range
        compare, _, type = trip.compare.partition(".")
        top = (1 << iv.bits - 1) - 1 if type.startswith("s") else (1 << iv.bits) - 1
        # Tested at the bottom, every value but the first is one that has passed the test.
        at_bottom = trip.tests_update and trip.exit in loop.latches
        if iv.step == 1 and compare in ("lt", "lo") and start[0] >= 0:
            last = top - 1 if at_bottom else top
            return (start[0], last) if start[1] <= last else None
        if iv.step == -1 and compare == "gt" and type.startswith("s"):
            first = -top if at_bottom else -top - 1
            return (first, start[1]) if start[0] >= first else None
        return None


def _product(sizes: tuple[int, ...]) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


def _type_range(t: ScalarType) -> Range:
    return (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


# ------------------------------------------------------------ rules by opcode


def _parts(v: Value) -> tuple[Value, ...]:
    """The operands whose forms an instruction's form is made of."""
    d = v.definer
    if d is None or d is not v or d.form.guard is not None or d.form.name not in _RULES:
        return ()
    return () if d.form.name == "ld" else d.operands


def _integer(d: Instruction) -> ScalarType | None:
    """The type of an integer operation that wraps, else None."""
    t = d.form.type
    return None if t is None or t.is_float or t.bits < 16 or "sat" in d.form.mods else t


def _add(forms: AffineForms, d: Instruction) -> Affine | None:
    t = _integer(d)
    if t is None or len(d.operands) != 2 or "x2" in t.name:
        return None
    x, y = (forms._known(o, t.bits) for o in d.operands)
    return x + y if d.form.name == "add" else x - y


def _negation(forms: AffineForms, d: Instruction) -> Affine | None:
    t = _integer(d)
    return None if t is None else forms._known(d.operands[0], t.bits).scaled(-1)


def _product_of(forms: AffineForms, d: Instruction, x: Value, y: Value) -> Affine | None:
    """x times y of a mul or mad: low half or .wide, one of the two being constant."""
    t = _integer(d)
    if t is None or "x2" in t.name:
        return None
    wide = "wide" in d.form.mods
    if not wide and "lo" not in d.form.mods:
        return None
    a, b = forms._known(x, t.bits), forms._known(y, t.bits)
    if not b.is_constant:
        a, b = b, a
    if not b.is_constant or not b.is_exact:
        return None
    if not wide:
        return a.scaled(b.constant)
    factor = b.constant if t.is_signed else b.constant & ((1 << t.bits) - 1)
    return forms.extended(a, t.bits, t.is_signed, 2 * t.bits).scaled(factor)


def _mul(forms: AffineForms, d: Instruction) -> Affine | None:
    return _product_of(forms, d, d.operands[0], d.operands[1])


def _mad(forms: AffineForms, d: Instruction) -> Affine | None:
    product = _product_of(forms, d, d.operands[0], d.operands[1])
    return None if product is None else product + forms._known(d.operands[2], product.bits)


def _shl(forms: AffineForms, d: Instruction) -> Affine | None:
    t = _integer(d)
    if t is None:
        return None
    by = forms._known(d.operands[1], 32)
    if not by.is_constant or not by.is_exact:
        return None
    count = by.constant & 0xFFFFFFFF  # counts above the width give 0
    return forms._known(d.operands[0], t.bits).scaled(1 << min(count, t.bits))


def _or(forms: AffineForms, d: Instruction) -> Affine | None:
    """x | c is x + c where every bit of c is known to be 0 in x."""
    t = _integer(d)
    if t is None or t.bits < 16:
        return None
    a, b = (forms._known(o, t.bits) for o in d.operands)
    if not b.is_constant:
        a, b = b, a
    if not b.is_constant or a.is_constant or not 0 <= b.constant < 1 << 16:
        return None
    zeros = min(a.modulus, *(_twos(x.coefficient) for x in a.terms))
    if b.constant >> zeros or a.constant & ((1 << zeros) - 1):
        return None
    return a + b


def _copy(forms: AffineForms, d: Instruction) -> Affine | None:
    if len(d.operands) != 1 or "{" in d.form.shape:
        return None
    v = d.operands[0]
    if isinstance(v, SpecialRegister) and v.volatile:
        return None  # each read may give another value
    return forms._known(v, d.type.bits)


def _cvt(forms: AffineForms, d: Instruction) -> Affine | None:
    """Between integers: widening by the source's sign, narrowing modulo the width."""
    words = d.form.spelling.split(".")[1:]
    if len(words) != 2 or len(d.operands) != 1 or not all(w[0] in "us" for w in words):
        return None
    to, source = int(words[0][1:]), int(words[1][1:])
    form = forms._known(d.operands[0], source)
    if form.bits > source:  # reads the low part of its register
        form = attrs.evolve(form.reduced(source), bits=source)
    if to > source:
        form = forms.extended(form, source, words[1][0] == "s", to)
    if d.type.bits > to:  # a result narrower than its register is extended by its own sign
        low = attrs.evolve(form.reduced(to), bits=to)
        form = forms.extended(low, to, words[0][0] == "s", d.type.bits)
    return form


def _load(forms: AffineForms, d: Instruction) -> Affine | None:
    """All loads of one kernel parameter are one symbol."""
    p: Value = d.operands[0]
    offset = 0
    if isinstance(p, SymbolOffset):
        offset = p.offset
        p = p.symbol
    elif d.form.addresses and d.form.addresses[0][1] >= 0:
        c = d.operands[d.form.addresses[0][1]]
        if not isinstance(c, Constant):
            return None
        offset = c.value
    function = d.function
    if not isinstance(p, Param) or function is None or function.kind != "entry":
        return None
    first = forms._params.setdefault((p, offset, d.form.spelling), d)
    bits = d.type.bits
    return _normal({(first, False): 1}, 0, bits, bits)


_RULES = {
    "add": _add, "sub": _add, "neg": _negation, "mul": _mul, "mad": _mad, "shl": _shl, "or": _or,
    "mov": _copy, "cvta": _copy, "cvt": _cvt, "ld": _load,
}
