"""Whether two memory accesses of a thread can touch the same bytes.

Decided, in this order, by

    space     shared, global, local, const, param are apart; a generic address has the
              space of what it was made from, else may be any
    writes    what `.nc`, .const and a kernel's parameters read, no store changes
    root      distinct variables are distinct objects (an access runs within the object
              that its address was made from); `extern .shared` arrays all begin at one
              place; an object of this function is not what a kernel's parameter points
              to; of `restrict` parameters each points to something of its own
    address   the difference of the two affine forms: a constant, taken modulo what
              wrapping can add, lies inside or outside of the accesses' sizes; with
              symbols left, the greatest common divisor test

`distance` asks the same across the iterations of a loop: in how many iterations at
the earliest does `later` touch what `earlier` touches now. An address moves by the
same amount each iteration where it is affine in the loop's induction variables.

Of one thread: what other lanes or asynchronous copies do is ordered by barriers and waits.

Method   Affine forms (`affine`). Congruences solved in closed form, one for each
         way in which the two accesses can overlap.
Cost     A step for each term; at most as many congruences as there are bytes.
Source   Allen, Kennedy, "Optimizing Compilers for Modern Architectures", 2001, ch. 3 (ZIV, strong
         SIV and GCD tests).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from math import gcd

import attrs

from nvir.analysis.affine import Affine, AffineForms
from nvir.analysis.induction import InductionVariable, constant_of
from nvir.ir import Block, Instruction, Loop, OpKind, Param, SymbolOffset, Value, Variable
from nvir.ir.opcodes.form import lanes

GENERIC, UNKNOWN = "", "?"


class Alias(enum.Enum):
    """NO: never a common byte. MUST: the same bytes. PARTIAL: some, not the same. MAY: unknown."""

    NO = "no"
    MAY = "may"
    PARTIAL = "partial"
    MUST = "must"


@attrs.frozen(eq=False)
class Access:
    """One address of an instruction and what is done there.

    address    affine form of the first byte, or None where there is none to be had
    size       bytes, None where unknown (matrices, bulk copies)
    space      "global", "shared", "local", "const", "param", "" for generic
    root       the variable or parameter that the address was made from, else None
    invariant  a read of what no store changes
    """

    instruction: Instruction
    address: Affine | None
    size: int | None
    space: str
    root: Value | None
    reads: bool
    writes: bool
    invariant: bool


@attrs.frozen
class Distance:
    """Between two accesses of a loop: `iterations` at the earliest, None for never.

    exact   they certainly meet after so many iterations; else they may from then on
    """

    iterations: int | None
    exact: bool = False

    @property
    def is_never(self) -> bool:
        return self.iterations is None


NEVER = Distance(None, True)


class AliasAnalysis:
    """Alias questions about one function. Renew it after changes."""

    def __init__(self, forms: AffineForms) -> None:
        self.forms = forms
        self._accesses: dict[Instruction, tuple[Access, ...]] = {}

    def accesses(self, instruction: Instruction) -> tuple[Access, ...]:
        """What an instruction touches; () where it touches nothing that has an address."""
        found = self._accesses.get(instruction)
        if found is None:
            found = self._accesses[instruction] = tuple(_accesses(instruction, self.forms))
        return found

    def alias(self, a: Instruction | Access, b: Instruction | Access) -> Alias:
        """Whether two accesses touch the same bytes in one and the same iteration of all loops.

        Of instructions with several addresses (copies) the gravest answer. An instruction that
        touches memory without an address (a call) gives MAY.
        """
        xs, ys = self._all(a), self._all(b)
        if not xs or not ys:
            return Alias.MAY if _touches(a) and _touches(b) else Alias.NO
        answers = {self._alias(x, y) for x in xs for y in ys}
        if len(answers) == 1:
            return answers.pop()
        return Alias.PARTIAL if answers & {Alias.MUST, Alias.PARTIAL} else Alias.MAY

    def depend(self, a: Instruction, b: Instruction) -> bool:
        """Whether the order of two instructions matters: one writes what the other may touch."""
        if not (a.form.writes or b.form.writes):
            return False
        xs, ys = self.accesses(a), self.accesses(b)
        if not xs or not ys:
            return _touches(a) and _touches(b)
        return any(
            (x.writes or y.writes) and self._alias(x, y) is not Alias.NO for x in xs for y in ys
        )

    def distance(
        self, earlier: Instruction | Access, later: Instruction | Access, loop: Loop,
        at_least: int = 0,
    ) -> Distance:
        """After how many iterations of `loop` at the earliest `later` touches what `earlier` does.

        Asked of `at_least` iterations and more: give 1 where `later` does not come after
        `earlier` in the same iteration. What a loop inside changes counts as unknown.
        """
        variables = self.forms.variables(loop.header)
        return self._apart_by(earlier, later, variables, loop.members, at_least)

    def is_steady(self, a: Instruction, b: Instruction, loop: Loop) -> bool:
        """Whether two accesses of a loop keep a distance that is known, so that `distance` is
        exact; so it is of any two that are steady beside a third."""
        xs, ys = self.accesses(a), self.accesses(b)
        if len(xs) != 1 or len(ys) != 1 or _shape(xs[0]) is None or _shape(xs[0]) != _shape(ys[0]):
            return False
        address = xs[0].address
        assert address is not None
        variables = self.forms.variables(loop.header)
        _, gap, rest = _motion(address, address, variables, loop.members, self.forms)
        return not rest and not gap.terms and gap.is_exact

    def lockstep(
        self, earlier: Instruction | Access, later: Instruction | Access, loops: Sequence[Loop],
        at_least: int = 0,
    ) -> Distance:
        """The same for accesses of several loops, none in another, if they counted together: an
        iteration of each, in turn. So the loops would be dependent if they were one."""
        variables: dict[Value, InductionVariable] = {}
        for loop in loops:
            variables |= self.forms.variables(loop.header)
        inside = {b for loop in loops for b in loop.blocks}
        return self._apart_by(earlier, later, variables, inside, at_least)

    def _apart_by(
        self, earlier: Instruction | Access, later: Instruction | Access,
        variables: dict[Value, InductionVariable], inside: AbstractSet[Block], at_least: int,
    ) -> Distance:
        xs, ys = self._all(earlier), self._all(later)
        if not xs or not ys:
            return Distance(at_least) if _touches(earlier) and _touches(later) else NEVER
        best = NEVER
        for x in xs:
            for y in ys:
                d = self._distance(x, y, variables, inside, at_least)
                if d.iterations is None:
                    continue
                known = best.iterations
                if known is None or (d.iterations, d.exact) < (known, best.exact):
                    best = d
        return best

    # -------------------------------------------------------------- details

    def _all(self, a: Instruction | Access) -> Sequence[Access]:
        return (a,) if isinstance(a, Access) else self.accesses(a)

    def _alias(self, a: Access, b: Access) -> Alias:
        if _apart(a, b):
            return Alias.NO
        if a.address is None or b.address is None or a.size is None or b.size is None:
            return Alias.MAY
        return _overlap(b.address - a.address, a.size, b.size)

    def _distance(
        self, a: Access, b: Access, variables: dict[Value, InductionVariable],
        inside: AbstractSet[Block], at_least: int,
    ) -> Distance:
        if _apart(a, b):
            return NEVER
        if a.address is None or b.address is None or a.size is None or b.size is None:
            return Distance(at_least)
        stride, gap, rest = _motion(a.address, b.address, variables, inside, self.forms)
        if not rest and not gap.terms:
            return _first_hit(gap, stride, at_least, a.size, b.size)
        g = gcd(rest, stride, 1 << gap.modulus, *(t.coefficient for t in gap.terms))
        if not _hits(gap.constant, g, a.size, b.size):
            return NEVER
        surely = at_least == 0 and self._alias(a, b) in (Alias.MUST, Alias.PARTIAL)
        return Distance(at_least, surely)


class Passed:
    """Instructions that have passed, asked for those that another may depend on: in few steps,
    where most are at other places of one object, or in another. Sets of them are bits."""

    def __init__(self, alias: AliasAnalysis) -> None:
        self.alias = alias
        self.instructions: list[Instruction] = []
        self.others = 0  # what has no address, or several
        self.kinds: dict[object, _Kind] = {}

    def add(self, instruction: Instruction) -> None:
        bit = 1 << len(self.instructions)
        self.instructions.append(instruction)
        accesses = self.alias.accesses(instruction)
        if len(accesses) != 1:
            self.others |= bit
            return
        x = accesses[0]
        kind = self.kinds.setdefault((x.space, x.root, x.invariant, x.reads, x.writes), _Kind(x))
        kind.all |= bit
        shape = _shape(x)
        if shape is not None:
            kind.shapes[shape] = kind.shapes.get(shape, 0) | bit
            for p in _granules(x):
                kind.places[shape, p] = kind.places.get((shape, p), 0) | bit

    def meets(self, instruction: Instruction) -> bool:
        """Whether the order of one of them and another matters."""
        left = self.before(instruction)
        while left:
            n = left.bit_length() - 1
            if self.alias.depend(self.instructions[n], instruction):
                return True
            left ^= 1 << n
        return False

    def before(self, instruction: Instruction) -> int:
        """The bits of all that it may depend on, of others as well: `depend` tells which."""
        accesses = self.alias.accesses(instruction)
        found = self.others
        for kind in self.kinds.values():
            if not accesses:
                found |= kind.all
            for x in accesses:
                if (x.writes or kind.one.writes) and not _apart(x, kind.one):
                    shape = _shape(x)
                    found |= kind.all & ~kind.shapes.get(shape, 0)
                    for p in _granules(x):
                        found |= kind.places.get((shape, p), 0)
        return found


@attrs.define(eq=False)
class _Kind:
    """Accesses of which `_apart` says the same as of `one`: by their shapes, and their places."""

    one: Access
    all: int = 0
    shapes: dict[object, int] = attrs.field(factory=dict)
    places: dict[tuple[object, int], int] = attrs.field(factory=dict)


_GRANULE = 4  # bits: places 16 bytes apart are looked up one by one
_LARGEST = 1024  # bytes of an access whose places are


def _shape(x: Access) -> tuple[object, ...] | None:
    """What addresses at a known distance from each other have in common; None: not looked up."""
    a = x.address
    if a is None or x.size is None or not 0 < x.size <= _LARGEST or a.modulus < 16:
        return None
    return a.terms, a.modulus, a.bits


def _granules(x: Access) -> Iterable[int]:
    """Which places an access touches, of those that have its shape."""
    if _shape(x) is None:
        return ()
    a, size = x.address, x.size
    assert a is not None
    assert size is not None
    first = a.constant % (1 << a.modulus)
    most = (1 << a.modulus >> _GRANULE) - 1
    return [p & most for p in range(first >> _GRANULE, (first + size - 1 >> _GRANULE) + 1)]


def _motion(
    a: Affine, b: Affine, variables: dict[Value, InductionVariable], inside: AbstractSet[Block],
    forms: AffineForms,
) -> tuple[int, Affine, int]:
    """How b moves each iteration, how far b is ahead of a, and what cannot be told.

    The first is b's stride; the second b - a with induction variables replaced by their
    starts, modulo what the variables' own wrapping can add; the third the greatest common
    divisor of all coefficients of what else changes in the loop, in either address (0: nothing
    does).
    """
    stride = rest = 0
    gap = b - a
    modulus = gap.modulus
    for form in (a, b):
        for t in form.terms:
            iv = _counter(t.symbol, variables)
            if iv is not None:
                bits = t.symbol.type.bits
                if bits < modulus and forms.range_of(t.symbol) is None:
                    modulus = min(modulus, bits + _twos(t.coefficient))
                stride += t.coefficient * int(iv.step) if form is b else 0  # type: ignore[arg-type]
                continue
            d = t.symbol.definer
            if d is not None and d.block in inside:
                rest = gcd(rest, t.coefficient)
    moved = 0
    for t in gap.terms:  # what does not cancel moves by itself
        iv = _counter(t.symbol, variables)
        if iv is None:
            continue
        moved += t.coefficient * int(iv.step)  # type: ignore[arg-type]
        start = forms.of(iv.start)
        if t.symbol.type.bits < gap.bits:
            start = forms.extended(start, t.symbol.type.bits, t.signed, gap.bits)
        gap = (gap - Affine((t,), 0, gap.modulus, gap.bits)) + start.scaled(t.coefficient)
    if moved:
        rest = gcd(rest, moved)
    return stride, gap.reduced(modulus), rest


def _counter(
    symbol: Value, variables: dict[Value, InductionVariable]
) -> InductionVariable | None:
    """The induction variable with a constant integer step that a symbol is, or None."""
    iv = variables.get(symbol)
    return iv if iv is not None and isinstance(iv.step, int) else None


def _twos(n: int) -> int:
    return (n & -n).bit_length() - 1


def _overlap(difference: Affine, size_a: int, size_b: int) -> Alias:
    """Two accesses whose addresses differ (b - a) by this."""
    g = 1 << difference.modulus
    for t in difference.terms:
        g = gcd(g, t.coefficient)
    if not _hits(difference.constant, g, size_a, size_b):
        return Alias.NO
    if difference.terms or not difference.is_exact:
        return Alias.MAY
    same = difference.constant == 0 and size_a == size_b
    return Alias.MUST if same else Alias.PARTIAL


def _hits(distance: int, modulus: int, size_a: int, size_b: int) -> bool:
    """Whether some number congruent to `distance` lies in (-size_b, size_a)."""
    return (distance + size_b - 1) % modulus < size_a + size_b - 1


def _first_hit(gap: Affine, stride: int, at_least: int, size_a: int, size_b: int) -> Distance:
    """The least n >= at_least for which gap + n·stride lies in (-size_b, size_a), modulo gap's."""
    modulus = 1 << gap.modulus
    if stride == 0:  # now or never
        hits = _hits(gap.constant, modulus, size_a, size_b)
        return Distance(at_least, gap.is_exact) if hits else NEVER
    begin = gap.constant + stride * at_least
    best: int | None = None
    for wanted in range(1 - size_b, size_a):
        n = _congruence(stride, wanted - begin, modulus)
        if n is not None and (best is None or n < best):
            best = n
    return NEVER if best is None else Distance(best + at_least, gap.is_exact)


def _congruence(step: int, distance: int, modulus: int) -> int | None:
    """The least n >= 0 with n·step ≡ distance modulo `modulus`, or None."""
    g = gcd(step, modulus)
    if distance % g:
        return None
    m = modulus // g
    return distance // g * pow(step // g, -1, m) % m if m > 1 else 0


# ----------------------------------------------------------- what is accessed


def _touches(a: Instruction | Access) -> bool:
    return isinstance(a, Access) or a.form.reads or a.form.writes


def _apart(a: Access, b: Access) -> bool:
    """Whether two accesses differ in space, or in the object that they go to."""
    if a.space and b.space and a.space != b.space:
        return True
    if (a.invariant and b.writes) or (b.invariant and a.writes):
        return True
    x, y = a.root, b.root
    if x is None or y is None or x is y:
        return False
    if _points(x) and _points(y):
        return _is_restrict(x) or _is_restrict(y)
    if _points(x) or _points(y):
        # What a kernel's parameter points to was there before; a global variable may be it.
        other = y if _points(x) else x
        return isinstance(other, Variable) and other.space not in ("global", "const")
    return not (_shares_its_place(x) and _shares_its_place(y))


def _points(root: Value) -> bool:
    """A kernel parameter as a root stands for what it points to."""
    return isinstance(root, Param)


def _is_restrict(root: Value) -> bool:
    return isinstance(root, Param) and "restrict" in root.attributes


def _shares_its_place(root: Value) -> bool:
    """`extern .shared` arrays all begin where the static ones end."""
    return isinstance(root, Variable) and root.space == "shared" and root.linkage == "extern"


def _accesses(i: Instruction, forms: AffineForms) -> list[Access]:
    f = i.form
    if not (f.reads or f.writes) or f.is_call or not f.addresses or f.op.memory:
        return []
    out = []
    for k, (base, offset) in enumerate(f.addresses):
        reads, writes = _direction(i, k)
        value = i.operands[base]
        address = forms.of_address(i, base, offset)
        root, space = _origin(value, address, f.space if k == 0 else "", forms)
        if f.name.startswith("cp.async"):
            space = ("shared", "global")[k] if f.name == "cp.async" and k < 2 else space
        out.append(Access(
            i, address, _size(i), _window(space), root, reads, writes,
            f.invariant or (not writes and root is not None and space == "const")
            or (f.name == "ld" and _is_kernel_param(i, space, root)),
        ))
    return out


def _direction(i: Instruction, k: int) -> tuple[bool, bool]:
    """(reads, writes) at the k-th address."""
    f = i.form
    if len(f.addresses) == 1 or not (f.reads and f.writes):
        return f.reads, f.writes
    if "cp" in f.name.split(".") and k < 2:
        reduces = "reduce" in f.name.split(".")
        return (reduces, True) if k == 0 else (True, False)
    return True, True


def _size(i: Instruction) -> int | None:
    f = i.form
    if f.name == "cp.async":
        size = constant_of(i.operands[2]) if len(i.operands) > 2 else None
        return size if size in (4, 8, 16) else None
    if f.op.extent:
        return max(f.op.extent, 0) or None
    if f.type is None or f.name == "unknown":
        return None
    return max(f.type.bits // 8, 1) * lanes(f)


def _window(space: str) -> str:
    """The state space without its qualifiers (`shared::cta`); a cluster's is all shared memory."""
    return space.partition("::")[0]


def _origin(
    value: Value, address: Affine, space: str, forms: AffineForms
) -> tuple[Value | None, str]:
    """The object that an address was made from, and its state space as far as known."""
    root = _root(address, forms)
    space = space or _made_in(value)
    if root is None:
        return None, space
    if isinstance(root, Param) and not _is_address_of(root, address):
        function = forms.function
        if function.kind != "entry":
            return None, space
        points = root.attributes.get("points", "") or root.attributes.get("ptr", "")
        named = points.partition(".")[0]
        # The host can pass no address of shared or local memory.
        return root, space or (named if named in ("global", "shared", "const") else "global")
    if isinstance(root, Variable):
        return root, space or root.space
    return None, space


def _is_address_of(param: Param, address: Affine) -> bool:
    """Whether the address is the parameter's own, not one that it holds."""
    return any(t.symbol is param for t in address.terms)


def _root(address: Affine, forms: AffineForms, depth: int = 8) -> Value | None:
    """The variable, or the kernel parameter, whose value the address is an offset from.

    Of the symbols with coefficient 1 exactly one may be an address; a pointer that a loop
    moves on counts as the place where it starts.
    """
    found: Value | None = None
    for t in address.terms:
        symbol, d = t.symbol, t.symbol.definer
        if isinstance(symbol, Variable):
            root: Value | None = symbol
        elif symbol.type.bits < 64 or (d is not None and d.form.op.numeric):
            continue
        else:
            root = _held_by(symbol, forms, depth)
        if t.coefficient != 1:
            if isinstance(symbol, Variable):
                return None
            continue
        if root is None or found is not None:
            return None
        found = root
    return found


def _held_by(symbol: Value, forms: AffineForms, depth: int) -> Value | None:
    """The root of a symbol that may be an address, or None."""
    d = symbol.definer
    if d is None or d.block is None:
        return None
    if d.is_phi:
        iv = forms.variables(d.block).get(symbol)
        return _root(forms.of(iv.start), forms, depth - 1) if iv is not None and depth else None
    if d.form.name != "ld" or not d.form.space.startswith("param"):
        return None
    p = d.operands[0]
    p = p.symbol if isinstance(p, SymbolOffset) else p
    return p if isinstance(p, Param) else None


_PASS_ON = (OpKind.SUM, OpKind.COPY)


def _made_in(value: Value) -> str:
    """The space that a chain of additions, copies and cvta says an address is in."""
    for _ in range(32):
        d = value.definer
        if d is None or d is not value or d.form.guard is not None or d.is_phi:
            return ""
        name = d.form.name
        if name == "cvta":
            return "" if "to" in d.form.mods else d.form.space
        if (name != "mad" and d.form.kind not in _PASS_ON) or not d.operands:
            return ""
        value = d.operands[-1] if name == "mad" else d.operands[0]
    return ""


def _is_kernel_param(i: Instruction, space: str, root: Value | None) -> bool:
    function = i.function
    return (
        space.startswith("param") and function is not None and function.kind == "entry"
        and isinstance(root, Param) and root in function.params
    )


def alias_analysis(forms: AffineForms) -> AliasAnalysis:
    """Alias questions over affine forms that may serve other analyses as well."""
    return AliasAnalysis(forms)


__all__ = ["NEVER", "Access", "Alias", "AliasAnalysis", "Distance", "alias_analysis"]
