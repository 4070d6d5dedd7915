"""What becomes part of another operation beside sums, products and logic (`Lowering._joins`).

    setp, read by one and, or, xor of predicates   the compare combines its result with the other
    setp of logic with zero                        the logic makes the predicate as well
    not of a predicate                             whoever reads it negates it
    add of a variable to an address of shared      part of the access, before sm_90 with a shift by
    memory                                         2 to 4 bits in front of it
    logic whose high word alone is tested          a test of that word
    and with 31 of what words are shifted by       the shift takes the bits that it needs
    and of bits that are clear anyway              none: a narrow load clears them
    a conversion among integers for floats, or     one conversion; the load extends the sign
    of what was loaded
    min and max with 0 and 1                       .SAT of what made the value
    sin and cos of one value                       share their first step

Source  SASS of ptxas 13.0.88 (benchmarks/families.py), a test for each.
Cost    constant for each reader of an instruction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.assembler.regalloc.code import Op
from nvir.assembler.regalloc.tables import ALU
from nvir.assembler.taken_over import narrows_for_float, only_addresses, tests_logic
from nvir.ir.block import Block
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.symbols import Variable
from nvir.ir.values import Constant, Value

if TYPE_CHECKING:
    from nvir.assembler.regalloc.lowering.lower import Lowering

_WORD = 32
_NEAR = 64  # operations in front of a compare among which the logic is looked for
_SCALED = (2, 3, 4)  # bits by which an access shifts its register (.X4, .X8, .X16)
_ONE = 0x3F800000  # 1.0, as literals of float stand
_SATURATE = (OpKind.SUM, OpKind.MULTIPLY, OpKind.DIVIDE)  # and fma


class Joins:
    """The rules of one lowering.

    highs  logic of 64 bits that is made in its high word alone
    waves  values of which a sine or cosine was made, and where
    """

    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self.ids, self.inner = lowering, lowering.ids, lowering.inner
        self.highs: set[Value] = set()
        self.waves: dict[Value, list[Block]] = {}

    def takes(self, i: Instruction, ops: list[Op]) -> bool:
        """Whether an instruction is no operation of its own."""
        f = i.form
        if f.guard is not None or i._results is not None:
            return False
        if not i._operands:
            return False
        v = i._operands[0]
        kind = f.kind
        if kind is OpKind.COMPARE:
            return tests_logic(i) and self._tests(i, v, ops)
        if kind is OpKind.LOGIC:
            if f.name == "not":
                return i.type.bits == 1 and self._is(i, v)
            if i.type.bits == 2 * _WORD:
                return self._high_words(i, ops)
            return (_masks_a_shift(i) or _masks_nothing(i)) and self._is(i, v)
        if kind is OpKind.CONVERT:
            return (narrows_for_float(i) or _extends_a_load(i)) and self._is(i, v)
        if kind is OpKind.EXTREMUM:
            return self._saturates(i)
        return kind is OpKind.SUM and i.type.bits == _WORD and self._addresses(i)

    def _is(self, i: Instruction, v: Value) -> bool:
        """Let an instruction be one of its operands, which has a register."""
        home = self.ids.get(v, -1)
        if home < 0 or v in self.inner:
            return False
        self.ids[i] = home
        return True

    def _high_words(self, i: Instruction, ops: list[Op]) -> bool:
        """Make logic, of which the high word alone is asked whether it is zero."""
        if _tests_high(i):
            word = self.inner.get(i._operands[0])
            if word is None or len(word) != 1 or i._operands[0] not in self.highs:
                return False
            self.inner[i] = word
            self.highs.add(i)
            return True
        if i.use_count != 1 or not all(_tests_high(u) for u in i.users):
            return False
        long = self.lowering.long
        found = tuple(k for v in i._operands if (k := long.words(v)[1]) >= 0)
        if not found or any(v in self.inner and v not in self.lowering.parts for v in i._operands):
            return False
        k = self.lowering.code.value(1)
        ops.append(Op((k,), tuple(dict.fromkeys(found)), i, latency=ALU, family="LOP3"))
        self.inner[i] = (k,)
        self.highs.add(i)
        return True

    def _known(self, v: Value) -> object:
        root = self.lowering.root.get(v, v)
        return root.value if isinstance(root, Constant) else None

    def _tests(self, i: Instruction, v: Value, ops: list[Op]) -> bool:
        home = self.ids.get(v, -1)
        made = v.definer
        if home < 0 or v in self.inner or made is None or made.form.name == "xor":
            return False
        at = next((n for n in range(len(ops) - 1, max(-1, len(ops) - 1 - _NEAR), -1)
                   if ops[n].results == (home,)), -1)
        if at < 0 or ops[at].parent is not made or ops[at].family not in ("", "LOP3"):
            return False
        self.ids[i] = k = self.lowering.code.value(0)
        results = (k,) if v.use_count == 1 else (home, k)
        ops[at] = ops[at].copy(results, ops[at].sources, ops[at].tuples)
        return True

    def defers(self, i: Instruction) -> bool:
        """Whether a compare is made by the logic of predicates that alone reads it."""
        if not _may_combine(i) or i.use_count != 1:
            return False
        (user,) = i.users
        g = user.form
        if g.kind is not OpKind.LOGIC or g.guard is not None or len(user._operands) != 2:
            return False
        return user.block is i.block and not any(v in self.inner for v in user._operands)

    def _saturates(self, i: Instruction) -> bool:
        """The first of two bounds is the value, the second what made it, or a sum with nothing."""
        v, bound = self._bounded(i)
        if v is None:
            return False
        made = v.definer
        if made is not None and made.form.kind is OpKind.EXTREMUM:
            inner, other = self._bounded(made)
            if inner is not None and other != bound and made.use_count == 1:
                return self._is(i, v)
        if made is None or made.block is not i.block or v.use_count != 1 or i.use_count != 1:
            return False
        (user,) = i.users
        second = user.form.kind is OpKind.EXTREMUM and self._bounded(user) == (i, _ONE - bound)
        f = made.form
        return second and (f.kind in _SATURATE or f.name == "fma") and self._is(i, v)

    def _bounded(self, i: Instruction) -> tuple[Value | None, int]:
        """The value that is kept from below at 0 or from above at 1, and which of these."""
        bound = 0 if i.form.name == "max" else _ONE
        t = i.form.type
        if t is None or t.name != "f32" or i.form.guard is not None or len(i._operands) != 2:
            return None, bound
        for v, other in (i._operands, i._operands[::-1]):
            if self._known(other) == bound and self._known(v) is None:
                return v, bound
        return None, bound

    def _addresses(self, i: Instruction) -> bool:
        """Whether a sum adds a variable and is read as an address of shared memory alone."""
        if i.form.name != "add" or not only_addresses(i):
            return False
        roots = self.lowering.root
        for v, other in (i._operands, i._operands[::-1]):
            if not isinstance(roots.get(other, other), Variable):
                continue
            if v not in self.inner:
                return self._is(i, v)
            made = v.definer
            if made is None or self.lowering.late or made.form.name != "shl":
                return False
            if self._known(made._operands[1]) in _SCALED:
                self.inner[i] = self.inner[v]
                return True
        return False

    def keeps_shift(self, i: Instruction) -> bool:
        """Whether a shift stands for itself though a sum reads it: the sum is an address, and an
        access shifts by 2 to 4 bits."""
        if self.lowering.late or i.form.name != "shl" or self._known(i._operands[1]) in _SCALED:
            return False
        return any(
            only_addresses(u) and any(
                isinstance(self.lowering.root.get(v, v), Variable) for v in u._operands)
            for u in i.users if u.form.kind is OpKind.SUM
        )

    def family(self, i: Instruction) -> str:
        """What an operation is that takes a compare over, or that shares its first step."""
        if i.type.bits == 1 and i.form.kind is OpKind.LOGIC:
            for v in i._operands:
                made = v.definer
                if made is not None and _may_combine(made) and made.block is i.block:
                    return _compares(made)  # made anew where something else reads it
        if i.form.kind is OpKind.COMPARE and i._operands[0] in self.highs:
            return "ISETP"
        if i.form.kind is OpKind.EXTREMUM and self._bounded(i)[0] is not None and all(
            u.form.kind is OpKind.EXTREMUM and self._bounded(u)[0] is i for u in i.users
        ):
            return "FADD"
        if i.form.op.angle and i.block is not None:
            known = self.waves.setdefault(i._operands[0], [])
            if any(b.dominates(i.block) for b in known):
                return "MUFU"
            known.append(i.block)
        return ""


def _masks_a_shift(i: Instruction) -> bool:
    """Whether an instruction cuts what words are shifted by to the bits that a shift looks at."""
    f = i.form
    if f.name != "and" or i.type.bits != _WORD:
        return False
    if not any(isinstance(v, Constant) and v.value == _WORD - 1 for v in i._operands):
        return False
    return i.use_count > 0 and all(
        u.form.kind is OpKind.SHIFT and u.form.guard is None and u.type.bits == _WORD
        and u._operands[1] is i and u._operands[0] is not i for u in i.users
    )


def _may_combine(i: Instruction) -> bool:
    """Whether a compare has room for the predicate that it combines its result with."""
    f = i.form
    return f.kind is OpKind.COMPARE and f.guard is None and f.n_sources == 2 and i._results is None


def _extends_a_load(i: Instruction) -> bool:
    """Whether the load that a conversion alone reads extends the sign."""
    made = i._operands[0].definer
    if made is None or made.use_count != 1 or not made.form.reads or made.form.type is None:
        return False
    return i.form.mods[-1] in ("s8", "s16") and made.form.type.bits == int(i.form.mods[-1][1:])


def _compares(i: Instruction) -> str:
    t = i.form.type
    if t is None or t.kind != "f":
        return "ISETP ISETP" if t is not None and t.bits == 2 * _WORD else "ISETP"
    return {64: "DSETP", 16: "HSETP2"}.get(t.bits, "FSETP")


def _tests_high(i: Instruction) -> bool:
    """Whether an instruction keeps the high word for comparisons with zero."""
    if i.form.name != "and" or i.form.guard is not None or not i.use_count:
        return False
    mask, every = i._operands[1], (1 << 2 * _WORD) - 1
    if not isinstance(mask, Constant) or int(mask.value) & every != every >> _WORD << _WORD:
        return False
    return all(
        u.form.kind is OpKind.COMPARE and not {"eq", "ne"}.isdisjoint(u.form.mods)
        and isinstance(u._operands[1], Constant) and not u._operands[1].value for u in i.users
    )


def _masks_nothing(i: Instruction) -> bool:
    """Whether an instruction clears bits that are clear anyway, as of what a narrow load reads."""
    if i.form.name != "and":
        return False
    value, mask = i._operands
    if not isinstance(mask, Constant):
        return False
    return not _possible(value, 4) & ~int(mask.value)


def _possible(v: Value, depth: int) -> int:
    """Bits of a value that may be set."""
    every = (1 << max(v.type.bits, 1)) - 1
    made = v.definer
    if made is None or made._results is not None or not depth or made.form.guard is not None:
        return every
    f = made.form
    t = f.type
    if f.reads and t is not None and t.kind in "ub":
        return every & ((1 << t.bits) - 1)
    if f.kind is OpKind.COPY and len(made._operands) == 1:
        return _possible(made._operands[0], depth - 1)
    if f.name == "cvt" and f.mods[-1] in ("u8", "u16", "u32"):
        return every & _possible(made._operands[0], depth - 1) & ((1 << int(f.mods[-1][1:])) - 1)
    if f.name == "and" and isinstance(made._operands[1], Constant):
        return every & _possible(made._operands[0], depth - 1) & int(made._operands[1].value)
    return every
