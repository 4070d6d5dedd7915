"""PTX as the code that the assembler allocates registers for, as far as that is predictable.

    constant bank   kernel parameters, literals, addresses of variables, %ntid and %nctaid are
                    operands there: they take no register, nor do copies or cvta of them
    uniform         nor does arithmetic on these alone, where the machine has a uniform datapath
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

from collections.abc import Mapping

from nvir.analysis.liveness import Liveness, liveness
from nvir.assembler.regalloc.code import Code, Op, Region, pressures
from nvir.assembler.regalloc.facts import Facts, facts_of
from nvir.assembler.regalloc.tables import BY_LITERAL, CALLEES, COPIES, OFFSETS, PREDICATED
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.types import VOID, Type
from nvir.ir.values import Constant, SpecialRegister, Value


def lower(
    function: Function, live: Liveness, factors: Mapping[str, int], uniform: bool
) -> Lowering:
    """Lower a function whose CFG annotations are fresh. `factors`: loop header → copies."""
    return Lowering(function, live, factors, uniform).run()


class Lowering:
    """One function's code while it is made.

    code  the result
    ids   value → its number; -1: it has no register
    """

    def __init__(
        self, function: Function, live: Liveness, factors: Mapping[str, int], uniform: bool
    ) -> None:
        self.function, self.live, self.factors = function, live, factors
        self.uniform = uniform
        self.code = Code()
        self.ids: dict[Value, int] = {}
        self.kernel = function.kind == "entry"
        self.needs: dict[Function, int] = {function: 0}  # a recursion has no figure

    def run(self) -> Lowering:
        done: set[Block] = set()
        for p in (*self.function.params, *self.function.returns):
            if isinstance(p, Value) and p.is_tracked:
                self.ids[p] = self.code.value(width_of(p.type))
        for block in self.function.rpo:
            if block not in done:
                blocks = chain(block, block.name in self.factors)
                done.update(blocks)
                self.code.regions.append(self._region(blocks))
        for region in self.code.regions:
            self._borders(region)
        for region in self.code.regions:
            factor = self.factors.get(region.blocks[0].name, 1)
            if factor > 1 and region.blocks[0] in region.blocks[-1]._succs:
                self._unroll(region, factor)
        return self

    # ------------------------------------------------------------------ instructions

    def _region(self, blocks: list[Block]) -> Region:
        region = Region(blocks)
        for block in blocks:
            i = block.first
            while i is not None:
                f = i.form
                if f.is_phi:
                    self._phi(i, region, block is blocks[0])
                elif f.terminator or f.op.pseudo:
                    if block is blocks[-1] and i._operands:
                        self._plain(i, facts_of(f), region.ops)
                else:
                    facts = facts_of(f)
                    if not (facts.rule and self._folds(i, facts.rule)):
                        if facts.uniform and self.uniform and self._is_uniform(i):
                            self.ids[i] = -1
                        else:
                            self._plain(i, facts, region.ops)
                i = i.next
        return region

    def _plain(self, i: Instruction, facts: Facts, ops: list[Op]) -> None:
        """An instruction that stays an operation."""
        ids, widths = self.ids, self.code.widths
        operands = i._operands
        sources = []
        for v in operands:
            k = ids.get(v, -1)  # literals and symbols are never in it
            if k >= 0 and k not in sources:
                sources.append(k)
        results: tuple[int, ...] = ()
        if i._results is None:
            t = i.type
            if t is not VOID:
                ids[i] = k = len(widths)
                results = (k,)
                widths.append(width_of(t))
        else:
            kept = [r for r in i._results if not facts.masked or r._uses is not None]
            results = tuple(range(len(widths), len(widths) + len(kept)))
            for r, k in zip(kept, results, strict=True):
                ids[r] = k
                widths.append(width_of(r.type))
        scratch = facts.scratch
        if scratch and len(operands) > 1 and isinstance(operands[1], Constant):
            scratch = BY_LITERAL
        if i.form.is_call and isinstance(i.aux, CallInfo):
            scratch = self._need(i.aux.callee)
        tuples: tuple[tuple[int, ...], ...] = ()
        if facts.groups:
            tuples = tuple(tuple(ids.get(operands[n], -1) for n in g) for g in facts.groups)
        known = False
        if facts.global_access:
            for base, _ in i.form.addresses:
                if ids.get(operands[base], -1) < 0:
                    known = True
        op = Op(
            results, tuple(sources), i, latency=facts.latency, kind=facts.kind,
            space=facts.space, scratch=scratch, grouped=facts.grouped, tuples=tuples,
            variable=facts.variable, address=known,
        )
        ops.append(op)

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
            inner = Lowering(callee, liveness(callee), {}, self.uniform)
            inner.needs = self.needs
            code = inner.run().code
            known = 1
            for region in code.regions:
                for op, n in zip(
                    region.ops, pressures(region, region.ops, code.widths), strict=True
                ):
                    known = max(known, n + op.scratch)
            self.needs[callee] = known
        return known

    def _phi(self, i: Instruction, region: Region, head: bool) -> None:
        """A phi at the start of a region, or within one, where it is a guarded move."""
        code = self.code
        k = self.ids[i] = code.value(width_of(i.type))
        known = [o for v in i._operands if (o := self.ids.get(v, -1)) >= 0]
        if known:
            code.hints.setdefault(k, known[0])
        if head:
            region.heads.append(k)
        else:
            region.ops.append(Op((k,), tuple(dict.fromkeys(known)), i))

    # ------------------------------------------------------------------ what takes no register

    def _folds(self, i: Instruction, rule: str) -> bool:
        """Whether an instruction makes nothing that needs a register of its own."""
        ids = self.ids
        v = i._operands[0]
        if rule == "parameter":
            if self.kernel:
                ids[i] = -1
            return self.kernel
        if rule == "copy":
            return len(i._operands) == 1 and self._copies(i, v)
        home = ids.get(v, -1)
        if home < 0:
            return False
        if rule == "wide":
            fits = only_sums(i)
        else:
            literal = i._operands[1]
            fits = (
                isinstance(literal, Constant) and isinstance(literal.value, int)
                and -OFFSETS <= literal.value < OFFSETS and only_addresses(i)
            )
        if fits:
            ids[i] = home
        return fits

    def _copies(self, i: Instruction, v: Value) -> bool:
        """A copy: of a constant, of what is in the constant bank, or of a register as wide."""
        ids = self.ids
        if v.is_tracked:
            home = ids.get(v)
            if home is None or (home >= 0 and self.code.widths[home] != width_of(i.type)):
                return False
            ids[i] = home
            return True
        if isinstance(v, SpecialRegister):
            name = str(v.name)
            if not name.startswith(("%ntid", "%nctaid")):
                return self.uniform and name.startswith("%ctaid") and self._feeds_uniform(i)
        ids[i] = -1
        return True

    def _is_uniform(self, i: Instruction) -> bool:
        """Whether all that an integer operation reads is the same in every thread."""
        ids = self.ids
        return not any(v.is_tracked and ids.get(v, 0) >= 0 for v in i._operands)

    def _feeds_uniform(self, i: Instruction) -> bool:
        """Whether all readers are integer operations on what is the same in every thread."""
        ids = self.ids
        for user in i.users:
            if not facts_of(user.form).uniform:
                return False
            if any(v is not i and v.is_tracked and ids.get(v, 0) >= 0 for v in user._operands):
                return False
        ids[i] = -1
        return True

    # ------------------------------------------------------------------ borders

    def _borders(self, region: Region) -> None:
        """What lives into and out of a region, and which values its phis would share."""
        ids, live = self.ids, self.live
        inside = set(region.blocks)
        out = region.live_out
        for b in region.blocks:
            if b is region.blocks[-1] or any(s not in inside for s in b._succs):
                out.update(k for v in live.live_out[b] if (k := ids.get(v, -1)) >= 0)
        first = region.blocks[0]
        region.live_in.update(k for v in live.live_in[first] if (k := ids.get(v, -1)) >= 0)
        region.live_in.difference_update(region.heads)
        hints = self.code.hints
        for i in first:
            if not i.form.is_phi:
                break
            k = ids[i]
            for v in i._operands:
                o = ids.get(v, -1)
                if o >= 0 and o != k:
                    hints.setdefault(o, k)

    # ------------------------------------------------------------------ unrolling

    def _unroll(self, region: Region, factor: int) -> None:
        """Repeat the body: each copy starts with what the one before hands to the phis."""
        code = self.code
        carried = self._carried(region)
        body = list(region.ops)
        last = body.pop() if body and body[-1].parent.form.terminator else None
        once = _linear(body, region)
        made = list(body)
        now: dict[int, int] = {}
        for _ in range(min(factor - 1, COPIES // max(1, len(body)))):
            now = {p: now.get(o, o) for p, o in carried.items()}
            for op in body:
                if op.results and once.issuperset(op.results):
                    now.update((r, r) for r in op.results)
                    continue
                sources = tuple(dict.fromkeys(k for s in op.sources if (k := now.get(s, s)) >= 0))
                for r in op.results:
                    now[r] = code.value(code.widths[r])
                tuples = tuple(tuple(now.get(s, s) for s in t) for t in op.tuples)
                made.append(op.copy(tuple(now[r] for r in op.results), sources, tuples))
        if last is not None:
            made.append(last)
        region.ops = made
        region.live_out = {now.get(k, k) if k not in carried else k for k in region.live_out}
        for p, o in carried.items():
            if o >= 0:
                code.hints.setdefault(now.get(o, o), p)

    def _carried(self, region: Region) -> dict[int, int]:
        """For each phi of a loop what the latch hands it; -1: a literal."""
        carried: dict[int, int] = {}
        for i in region.blocks[0]:
            if not i.form.is_phi:
                break
            for v, b in zip(i._operands, i.aux, strict=True):
                if b is region.blocks[-1]:
                    carried[self.ids[i]] = self.ids.get(v, -1)
        return carried


def width_of(t: Type) -> int:
    """32-bit registers of a value; 0 for predicates and the carry."""
    bits = t.bits
    return 0 if bits == 1 or t.name == "cc" else (bits + 31) >> 5


def _linear(ops: list[Op], region: Region) -> set[int]:
    """Values that are linear in an induction or compare one: copies add to the first's offset."""
    made = {r for op in ops for r in op.results}
    known: set[int] = set(region.heads)
    found: set[int] = set()
    for op in ops:
        f = op.parent.form
        if f.name == "setp":
            found.update(op.results)
        elif (
            f.op.linear and f.type is not None and f.type.kind in "usb"
            and all(s in known or s not in made for s in op.sources)
        ):
            known.update(op.results)
            found.update(op.results)
    return found


def only_sums(value: Instruction) -> bool:
    """Whether all readers add a wide value to another, or scale it and are themselves added."""
    for user in value.users:
        f = user.form
        if f.guard is not None or f.type is None or f.type.bits != 64:
            return False
        if f.name == "mad" or (f.kind is OpKind.SUM and f.commutes):
            continue
        if f.name != "shl" or value.form.name == "shl" or not only_sums(user):
            return False
    return True


def only_addresses(value: Instruction) -> bool:
    """Whether all readers are accesses that have this value as their address."""
    for user in value.users:
        f = user.form
        accesses = f.kind in (OpKind.LOAD, OpKind.STORE) or f.name == "ldmatrix"
        if not f.addresses or not accesses:
            return False
        bases = {base for base, _ in f.addresses}
        for k, v in enumerate(user._operands):
            if v is value and k not in bases:
                return False
    return True


# ---------------------------------------------------------------------------- predication


def chain(block: Block, unrolled: bool = False) -> list[Block]:
    """The blocks that become one with `block`, itself first; `unrolled`: ways out may be within."""
    blocks = [block]
    while True:
        more = _follow(blocks[-1], block, unrolled)
        if not more or more[-1] in blocks:
            return blocks
        blocks += more


def _follow(last: Block, head: Block, unrolled: bool) -> list[Block]:
    """What joins a region behind its last block; nothing where it ends."""
    succs = last._succs
    if len(succs) == 1:
        join = _joined(succs[0], {last}, head)
        return [join] if join is not None else []
    if len(succs) != 2:
        return []
    if unrolled and head not in succs:
        inner = [s for s in succs if s._loop_depth == head._loop_depth]
        if len(inner) == 1 and len(inner[0]._preds) == 1:
            return inner
    sides = [s for s in succs if len(s._preds) == 1 and is_short(s)]
    if len(sides) == 2 and sides[0]._succs == sides[1]._succs:
        join = _joined(sides[0]._succs[0], set(sides), head)
    else:
        sides = [s for s in sides if s._succs[0] in succs][:1]
        if not sides:
            return []
        join = _joined(sides[0]._succs[0], {last, sides[0]}, head)
    return [*sides, join] if join is not None else []


def _joined(block: Block, preds: set[Block], head: Block) -> Block | None:
    """A block into which only the given ones lead, at the loop depth of the region."""
    if block is head or len(block._preds) != len(preds) or not preds.issuperset(block._preds):
        return None
    return block if block._loop_depth == head._loop_depth else None


def is_short(block: Block) -> bool:
    """Whether a block of one way out is guarded rather than jumped over."""
    if len(block._succs) != 1:
        return False
    n = 0
    i = block.first
    while i is not None:
        f = i.form
        if f.is_call or f.sync or f.convergent or f.is_phi:
            return False
        n += not f.op.pseudo and not f.terminator
        i = i.next
    return n <= PREDICATED
