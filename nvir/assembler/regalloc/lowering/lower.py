"""PTX as the code that the assembler allocates registers for, as far as that is predictable.

    constant bank   kernel parameters, literals, addresses of variables, %ntid and %nctaid are
                    operands there: they take no register, nor do copies or cvta of them
    uniform         nor does arithmetic on these alone, where the machine has a uniform datapath; on
                    some an index of the block is as they are
    moves           what a phi cannot share a register with is moved, at the end of the block before
    copies          a copy shares the register of what it copies
    addresses       a literal is added in the access itself; a 32-bit index is widened and scaled
                    by the operation that adds it (IMAD.WIDE, LEA), so that only the index lives
    calls           of a function that stands in the module take what it needs beside what lives
                    across; others follow the calling convention (`colour`)
    predication     a short branch over straight code, or two, becomes guarded code: the blocks
                    before, within and behind are one region
    unrolling       the body of a loop stands as often as the caller says; what is linear in the
                    induction is made once

Cost    linear in the instructions, those of unrolled copies included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nvir.analysis.analyses import Analyses
from nvir.analysis.liveness import Liveness, liveness
from nvir.assembler.regalloc.code import PLAIN, Code, Op, Region, pressures, width_of
from nvir.assembler.regalloc.facts import Facts, facts_of, is_zero
from nvir.assembler.regalloc.live import find_live_sets
from nvir.assembler.regalloc.lowering.borders import hint_phis, move_phis
from nvir.assembler.regalloc.lowering.constants import Constants
from nvir.assembler.regalloc.lowering.displaced import Displacements
from nvir.assembler.regalloc.lowering.folds import Folds
from nvir.assembler.regalloc.lowering.joins import Joins
from nvir.assembler.regalloc.lowering.uniform import Uniform
from nvir.assembler.regalloc.lowering.vectors import Vectors
from nvir.assembler.regalloc.regions import chain, unroll
from nvir.assembler.regalloc.steps import Divisions, LongArithmetic
from nvir.assembler.regalloc.tables import (
    ALU,
    BY_LITERAL,
    CALLEES,
    ISSUE,
    ISSUE_SLOW,
    SYSTEM,
)
from nvir.assembler.regalloc.words import low_words
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.types import VOID, Type
from nvir.ir.values import Constant, SpecialRegister, Value


def lower(
    function: Function, live: Liveness, factors: Mapping[str, int], uniform: bool,
    late: bool = False,
) -> Lowering:
    """Lower a function whose CFG annotations are fresh. `factors`: loop header → copies."""
    return Lowering(function, live, factors, uniform, late).run()


class Lowering:
    """One function's code while it is made.

    code  the result
    ids   value → its number; -1: it has no register
    """

    def __init__(
        self, function: Function, live: Liveness, factors: Mapping[str, int], uniform: bool,
        late: bool = False,
    ) -> None:
        self.function, self.live, self.factors = function, live, factors
        self.uniform = uniform
        self.code = Code()
        self.ids: dict[Value, int] = {}
        self.kernel = function.kind == "entry"
        self.needs: dict[Function, int] = {function: 0}  # a recursion has no figure
        self.asked: dict[Instruction, int] | None = None  # calls, to be asked for later
        self.root: dict[Value, Value] = {}  # copy → what of the constant bank it is
        self.late = late  # parameters are loaded into registers (LDC), literals stand anywhere
        self.inner: dict[Value, tuple[int, ...]] = {}  # operands of what its reader takes over
        self.parts: set[Value] = set()  # of these, values whose words are registers of their own
        self.place: dict[Block, int] = {}
        self.moved: dict[tuple[Instruction, Block], int] = {}  # what a phi is handed by a move
        self.calls: dict[tuple[str, Type | None], int] = {}  # of slow routines, once asked for
        self.low: set[Instruction] = set()  # only the low word is asked for
        self.dead: set[Instruction] = set()  # nothing that stays reads them
        self.long = LongArithmetic(self)
        self.divisions = Divisions(function)
        self.joins = Joins(self)
        self.folds = Folds(self)
        self.uniforms = Uniform(self)
        self.constants = Constants(self)
        self.vectors = Vectors(function).groups
        self.displaced = Displacements()
        self.half: Instruction | None = None  # a conversion that has none packed with it yet

    def run(self) -> Lowering:
        done: set[Block] = set()
        self.low = low_words(self.function)
        self.dead = _dead(self.function)
        for p in (*self.function.params, *self.function.returns):
            if isinstance(p, Value) and p.is_tracked:
                self.ids[p] = self.code.value(width_of(p.type))
        for block in self.function.rpo:
            if block not in done:
                blocks = chain(block, block.name in self.factors)
                done.update(blocks)
                self.code.regions.append(self._region(blocks))
        find_live_sets(self)
        for region in self.code.regions:
            move_phis(self, region)
        if self.moved:
            find_live_sets(self)
        for region in self.code.regions:
            hint_phis(self, region)
        for region in self.code.regions:
            factor = self.factors.get(region.blocks[0].name, 1)
            if factor > 1 and region.blocks[0] in region.blocks[-1]._succs:
                unroll(region, factor, self.code, self.ids)
        return self

    # ------------------------------------------------------------------ instructions

    def _region(self, blocks: list[Block]) -> Region:
        region, inside = Region(blocks), set(blocks)
        for block in blocks:
            self.place[block] = len(self.code.regions)
            start = len(region.ops)
            i = block.first
            while i is not None:
                f = i.form
                if f.is_phi:
                    self._phi(i, region, block is blocks[0])
                elif f.terminator or f.op.pseudo:
                    if block is blocks[-1] and i._operands:
                        self._plain(i, facts_of(f), region.ops)
                else:
                    self._instruction(i, facts_of(f), region.ops)
                i = i.next
            if block is not blocks[0] and inside.issuperset(block._preds[0]._succs):
                self._guard(block, region.ops[start:])
        return region

    def _guard(self, block: Block, ops: Iterable[Op]) -> None:
        """Accesses of a block that is guarded rather than jumped over wait for the guard."""
        branch = block._preds[0].terminator
        if len(block._preds) == 1 and branch is not None and branch.guard is not None:
            guard = self.ids.get(branch.guard, -1)
            for op in ops:
                if op.kind != PLAIN and guard >= 0 and guard not in op.sources:
                    op.sources = (*op.sources, guard)

    def _instruction(self, i: Instruction, facts: Facts, ops: list[Op]) -> None:
        if i in self.dead:
            return
        if i in self.vectors:
            self._vector(i, facts, ops)
            return
        if facts.product and self.long.multiplies(i, ops):
            return
        if facts.high and self.long.keeps_high(i):
            return
        if facts.fused is OpKind.SUM and self.long.adds_high(i, ops):
            return
        if self.joins.takes(i, ops):
            return
        if facts.fused is not None and self._joins(i, facts):
            return
        if facts.rule and self.folds.takes(i, facts.rule, ops):
            return
        if i.form.kind is OpKind.SELECT and self._keeps(i, ops):
            return
        if facts.uniform and self.uniform and self.uniforms.is_uniform(i):
            self.ids[i] = -1
        elif not (facts.sum64 and self.long.adds(i, ops)) and not (
            facts.by_words and self.long.by_words(i, ops)
        ):
            self._plain(i, facts, ops)

    def _plain(self, i: Instruction, facts: Facts, ops: list[Op]) -> None:
        """An instruction that stays an operation."""
        ids, widths = self.ids, self.code.widths
        operands = i._operands
        sources: list[int] = []
        inner = self.inner
        outside = 0
        for v in operands:
            if v in inner:
                sources += [k for k in inner[v] if k not in sources]
                continue
            k = ids.get(v, -1)  # literals and symbols are never in it
            if k < 0:
                outside += 1
            elif k not in sources:
                sources.append(k)
        family = self._family(i, facts)
        if i.form.name == "sub" and family == "IMAD":
            self._negate(i, sources, ops)
        if outside and not family and facts.rule == "offset" and (factor := self._factor(i)):
            sources.append(self.constants.load(factor, 0, 1, i, ops))
            family = "IMAD"
        elif outside and facts.operands:
            self.constants.fill(i, facts, sources, ops)
        if self.joins.defers(i):
            self.inner[i] = tuple(sources)
            return
        results: tuple[int, ...] = ()
        if i._results is None:
            t = i.type
            if t is not VOID:
                ids[i] = k = len(widths)
                results = (k,)
                widths.append(1 if i in self.low else width_of(t))
        else:
            kept = [r for r in i._results if not facts.masked or r._uses is not None]
            results = tuple(range(len(widths), len(widths) + len(kept)))
            for r, k in zip(kept, results, strict=True):
                ids[r] = k
                widths.append(width_of(r.type))
        scratch = facts.scratch[0]
        if facts.steps and isinstance(operands[1], Constant):
            scratch = BY_LITERAL
        elif facts.pairs and self._alone(i):
            uniform = [self.home(v) < 0 for v in operands[:2]]
            scratch = facts.scratch[2 if uniform[1] else int(uniform[0])]
        if i.form.is_call and isinstance(i.aux, CallInfo):
            if self.asked is None:
                scratch = self._need(i.aux.callee)
            else:
                self.asked[i] = 0
        if facts.steps and scratch != BY_LITERAL:
            a, b = (self.constants.word_of(v, i, ops) for v in operands[:2])
            ops += self.divisions.operations(i, a, b, results[0], self.code)
            return
        tuples: tuple[tuple[int, ...], ...] = ()
        if facts.groups:
            tuples = tuple(tuple(ids.get(operands[n], -1) for n in g) for g in facts.groups)
        if facts.kind != PLAIN and outside:
            self.constants.fill_access(i, facts, sources, ops)
        latency, issue = facts.latency, facts.issue
        if operands and isinstance(operands[0], SpecialRegister):
            latency, issue = SYSTEM, ISSUE_SLOW
        elif self.late and facts.packs:
            latency, issue = ALU, ISSUE
        op = Op(
            results, tuple(sources), i, latency=latency, kind=facts.kind,
            space=facts.space, scratch=scratch, grouped=facts.grouped, tuples=tuples,
            variable=facts.variable, ends=facts.ends, issue=issue,
            family=family, pairs=facts.pairs,
        )
        ops.append(op)

    def _vector(self, i: Instruction, facts: Facts, ops: list[Op]) -> None:
        """One of several loads that are made as one, where the first of them stands."""
        if i in self.ids:
            return
        self._plain(i, facts, ops)
        for x in self.vectors[i]:
            if x is not i:
                self.ids[x] = self.code.value(width_of(x.type))
        ops[-1].results, ops[-1].grouped = tuple(self.ids[x] for x in self.vectors[i]), True

    def _alone(self, i: Instruction) -> bool:
        """Whether a called routine may take uniform operands where they are: of several calls in
        branches, which may not write uniform registers, it takes all in vector registers."""
        if i.block is self.function.rpo[0]:
            return True
        if not self.calls:
            for x in self.function.instructions():
                if facts_of(x.form).pairs:
                    key = x.form.name, x.form.type
                    self.calls[key] = self.calls.get(key, 0) + 1
        return self.calls[i.form.name, i.form.type] == 1

    def _keeps(self, i: Instruction, ops: list[Op]) -> bool:
        """Whether a select is none: one of its values is made under the predicate, in the register
        of the other."""
        if i.type.bits != 32 or i.form.guard is not None:
            return False
        ids = self.ids
        for v, other in (i._operands[:2], i._operands[1::-1]):
            kept = ids.get(other, -1)
            if v.use_count != 1 or kept < 0 or ids.get(v, -1) < 0 or v in self.inner:
                continue
            if not self._ends(other, i, v):
                continue
            at = next((n for n in range(len(ops) - 1, -1, -1) if ids[v] in ops[n].results), -1)
            if at < 0 or v.definer is not ops[at].parent or ops[at].kind != PLAIN:
                continue
            old = ops[at]
            if len(old.results) != 1 or old.scratch or old.ends or old.variable:
                continue
            test = ids.get(i._operands[2], -1)
            sources = tuple(dict.fromkeys(k for k in (*old.sources, test, kept) if k >= 0))
            ops.append(old.copy(old.results, sources, old.tuples))
            del ops[at]
            self.code.hints[ids[v]] = kept
            ids[i] = ids[v]
            return True
        return False

    def _ends(self, v: Value, i: Instruction, also: Value) -> bool:
        """Whether nothing behind an instruction of its block reads a value."""
        made = v.definer
        if made is None or made.block is not i.block:
            return False
        for u in v.users:
            if u is i or u is also:
                continue
            if u.block is not i.block or u.form.is_phi or not u.form.n_results:
                return False
            if not all(r in self.ids for r in u.results):
                return False  # it stands behind
            if u.form.kind is OpKind.COPY and not self._ends(u, i, also):
                return False
        return True

    def home(self, v: Value) -> int:
        """The register that an operand is in; -1: none."""
        return self.inner[v][0] if v in self.inner else self.ids.get(v, -1)

    def _family(self, i: Instruction, facts: Facts) -> str:
        """What an operation is that took another over; "" of others."""
        if i.form.name == "cvt" and i.form.mods[-1] == "f32" and i.form.mods[-2] in _HALVES:
            return self._packed(i)
        if name := self.joins.family(i):
            return name
        wide = facts.sum64 and i not in self.low
        for v in i._operands:
            taken = v.definer
            if taken is None or v in self.parts:
                continue
            f = taken.form
            if v not in self.inner:
                signed = wide and f.kind is OpKind.CONVERT and f.mods[-1] == "s32"
                home = self.home(v) if signed else -1
                if home >= 0 and self.code.widths[home] == 1:
                    return "IADD3 LEA.HI.X"
            elif f.kind is OpKind.SHIFT:
                return "LEA LEA.HI.X" if wide else "LEA.HI" if f.name == "shr" else "LEA"
            elif f.kind is OpKind.MULTIPLY and not wide:
                return "FFMA" if f.type is not None and f.type.kind == "f" else "IMAD"
        return ""

    def _packed(self, i: Instruction) -> str:
        """A conversion to half a word, or what takes the half that the one before it made as well:
        two are packed, unless this one's operand is made behind a reader of that."""
        before, self.half = self.half, i
        if before is None or before.block is not i.block or before.form is not i.form:
            return ""
        j, is_read = before.next, False
        while j is not None and j is not i:
            is_read = is_read or before in j._operands
            if is_read and j is i._operands[0]:
                return ""
            j = j.next
        self.half = None
        return "PRMT"

    def _factor(self, i: Instruction) -> Value | None:
        """A factor of a product of words of the constant bank, which nothing scales further: each
        sum makes it anew, one factor being in a register."""
        if self.late or i.type.bits != 32:
            return None
        for v in i._operands:
            d = v.definer
            if (
                d is not None and d.form.name == "mul" and d.form.guard is None
                and self.ids.get(v, 0) == -1 and all(map(self._is_word, d._operands))
                and not any(map(_scales, d.users))
            ):
                return d._operands[0]
        return None

    def _negate(self, i: Instruction, sources: list[int], ops: list[Op]) -> None:
        """What is taken away is a product: of one of its factors, if none is a literal, the
        negation is made."""
        made = i._operands[1].definer
        if made is None or i._operands[1] not in self.inner or i.type.bits != 32:
            return
        known = [k for v in made._operands if (k := self.home(v)) >= 0]
        if known and not any(isinstance(self.root.get(v, v), Constant) for v in made._operands):
            k = self.code.value(1)
            ops.append(Op((k,), (known[0],), i, latency=ALU, family="IADD3"))
            sources[sources.index(known[0])] = k

    def _is_word(self, v: Value) -> bool:
        """Whether a value is a word of the constant bank."""
        made = self.root.get(v, v)
        return self.ids.get(v, 0) == -1 and (made is not v or made.definer is None or (
            made.definer.form.reads and made.definer.form.space == "param"))

    def is_computed(self, v: Value) -> bool:
        """Whether a value without a register is a result of the uniform datapath, no word of the
        constant bank."""
        made = self.root.get(v, v).definer
        return made is not None and made.form.op.uniform

    def _joins(self, i: Instruction, facts: Facts) -> bool:
        """Whether the only reader takes over what an instruction does (LEA, IADD3, LOP3, FFMA), or
        all sums that read a product or a multiple do, wherever they stand."""
        if i._results is not None:
            return False
        shifts = i.form.kind is OpKind.SHIFT
        if shifts and not isinstance(i._operands[1], Constant):
            return False
        if (i.use_count != 1 and not _each_makes(i)) or self.joins.keeps_shift(i):
            return False
        if not i.use_count or not all(self._takes(u, i, facts) for u in i.users):
            return False
        ids = self.ids
        found: list[int] = []
        for v in i._operands:
            for k in self.inner[v] if v in self.parts else (ids.get(v, -1),):
                if k >= 0 and k not in found:
                    found.append(k)
        if not found:
            return False
        self.inner[i] = tuple(found)
        return True

    def _takes(self, user: Instruction, i: Instruction, facts: Facts) -> bool:
        """Whether a reader has room for the operands of another instruction."""
        f = user.form
        if f.guard is not None or (user.block is not i.block and not _each_makes(i)):
            return False
        if f.kind is not facts.fused or f.n_sources > 2 or user._operands.count(i) != 1:
            return False
        if f.type is None or i.form.type is None or f.type.bits != i.form.type.bits:
            return False
        if f.type.bits == 64 and f.type.kind != "f" and f.kind is not OpKind.LOGIC and (
            not self.low.issuperset((i, user))
        ):
            return False
        if (f.type.kind == "f") != (i.form.type.kind == "f") or _ROUNDED.intersection(f.mods):
            return False
        outside = -int(i.form.kind is OpKind.SHIFT)
        for v in (*i._operands, *user._operands):
            if v is i or v in self.parts:
                continue
            if v in self.inner:
                return False
            if v.is_tracked and v not in self.ids and not self.uniforms.of_words(v):
                continue  # made further down, in a register
            outside += self.ids.get(v, -1) < 0 and not is_zero(v)
        return outside <= 1

    def _need(self, callee: Value | None) -> int:
        """Live registers within a function that is called, its callees included; 0: unknown."""
        if not isinstance(callee, Function) or not callee.blocks:
            return 0
        known = self.needs.get(callee)
        if known is None:
            self.needs[callee] = 0
            if len(self.needs) > CALLEES:
                return 0
            if callee.cfg_state != "fresh":
                callee.analyze_cfg()
            known, calls = Analyses.of(callee).get(
                f"need {self.uniform} {self.late}", self._own_need)
            for called, n in calls:
                known = max(known, n + self._need(called))
            self.needs[callee] = known
        return known

    def _own_need(self, callee: Function) -> tuple[int, list[tuple[Value | None, int]]]:
        """Live registers within a function without those of its callees, which stand beside it,
        each with what lives there: the same whoever calls it."""
        inner = Lowering(callee, liveness(callee), {}, self.uniform, self.late)
        asked = inner.asked = {}
        code = inner.run().code
        known = 1
        for region in code.regions:
            for op, n in zip(region.ops, pressures(region, region.ops, code.widths), strict=True):
                known = max(known, n + op.scratch)
                if op.ends and op.parent in asked:
                    asked[op.parent] = n
        return known, [(i.aux.callee, n) for i, n in asked.items()]

    def _phi(self, i: Instruction, region: Region, head: bool) -> None:
        """A phi at the start of a region, or within one, where it is a guarded move."""
        code = self.code
        k = self.ids[i] = code.value(1 if i in self.low else width_of(i.type))
        known = [o for v in i._operands if (o := self.ids.get(v, -1)) >= 0]
        if known:
            code.hints.setdefault(k, known[0])
        if head:
            region.heads.append(k)
        else:
            region.ops.append(Op((k,), tuple(dict.fromkeys(known)), i))

_HALVES = frozenset(("f16", "bf16"))
_ROUNDED = frozenset(("rn", "rz", "rm", "rp", "sat"))


def _dead(function: Function) -> set[Instruction]:
    """What nothing reads, or only what is dead itself."""
    found: set[Instruction] = set()
    for block in reversed(function.rpo):
        i = block.last
        while i is not None:
            f = i.form
            if i._results is None and f.n_results and not f.is_phi and all(
                u in found for u in i.users
            ) and facts_of(f).kind == PLAIN:
                found.add(i)
            i = i.prev
    return found


def _each_makes(i: Instruction) -> bool:
    """Whether each sum that reads a value makes it: a product of words, or one shifted left."""
    f = i.form
    t = f.type
    left = f.name == "shl" or (f.kind is OpKind.MULTIPLY and f.n_sources == 2)
    return left and t is not None and t.kind != "f" and i.type.bits == 32


def _scales(i: Instruction) -> bool:
    """Whether an instruction multiplies, by more than one."""
    return i.form.kind in (OpKind.MULTIPLY, OpKind.SHIFT) and not any(
        isinstance(v, Constant) and v.value in (0, 1) for v in i._operands)
