"""Struct and array values become their leaves.

    %v = load {i32, float}, ptr %p, align 8      ==>   %split = load i32, ptr %p, align 8
    %x = extractvalue {i32, float} %v, 1               %ptr = getelementptr i8, ptr %p, i64 4
                                                       %split~2 = load float, ptr %ptr, align 4
    %r = call {i32, float} @f()                  ==>   %r = call {i32, float} @f()
    %x = extractvalue {i32, float} %r, 1               %r.0, %r.1 = splitStruct %r

Method   In reverse post-order each aggregate value gets a list of its leaves: loads, phis, selects
         and freezes one instruction a leaf, insertvalue and extractvalue none. Values that arrive
         whole (parameters, results of calls, cmpxchg and assembly) are taken apart by splitStruct
         where they arrive; where one leaves (ret, an argument of a call) it is put together again
         by insertvalue, or named as it arrived.
         A load whose only use is a store with no write between is a copy. Small ones go by leaf, in
         the types that they have, so that stack memory can still become registers; others by
         memmove. Padding is copied too, as other members of a union may lie there; under policy
         documented only in unions.
Keeps    blocks; volatility, one access a leaf; the alignment of each leaf: what the whole's says of
         its offset.
Cost     One visit an instruction and leaf. An insertvalue into a value that nobody else names
         changes the list in place, so building a value of n leaves costs n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from nvir.ir import (
    BFLOAT,
    I1,
    I8,
    I64,
    VOID,
    Block,
    Function,
    Instruction,
    OpKind,
    PointerType,
    Type,
)
from nvir.ir.layout import align_of, size_of
from nvir.ir.nvvm import Builder, const, declare, variable
from nvir.ir.nvvm_values import InlineAsm, NvvmCall
from nvir.ir.ssa.rewrite import substitute
from nvir.ir.text.trace import Brief, is_traced, note, step
from nvir.ir.types import HALF
from nvir.ir.values import Argument, Constant, Undef, Value, undef
from nvir.passes.aggregate.copies import aligned_at
from nvir.passes.aggregate.leaves import (
    AGGREGATES,
    AggregateLeaf,
    composite,
    constant_leaf,
    decode_alignment,
    encode_alignment,
    gaps,
    holds_union,
    is_aggregate,
    leaf_range,
    leaves,
)
from nvir.passes.aggregate.plan import ELEMENTS
from nvir.passes.context import Context
from nvir.passes.remarks import analysis, passed
from nvir.passes.select.parts import parts
from nvir.ptx.registers import PREFIXES

SPLIT = passed("AggregateSplit", "{what} of {bytes} bytes becomes {count} scalars: {why}")
COPIED = passed("AggregateCopied", "{bytes} bytes are loaded and stored as a copy {how}: {why}")
EDGE = analysis("AggregateAtEdge", "{what} of {bytes} bytes stays whole: {why}")
CODES = (SPLIT, COPIED, EDGE)
SPLIT_OPCODE = 32  # of splitStruct, in the notes' numbers


@attrs.frozen
class SplitLimits:
    """copy_bytes: a larger copied value is moved as memory. store_elements: so is one of
    more elements, and a constant of more is stored as memory.
    unchecked: a load and its store are a copy, whatever lies between. padding: a copy by leaf takes
    it along; else only in unions, whose members lie in it."""

    copy_bytes: int = 128
    store_elements: int = 10000
    unchecked: bool = False
    padding: bool = True


def split_values(f: Function, limits: SplitLimits, ctx: Context) -> bool:
    """Split the aggregate values of a function; False if it has none."""
    work = _Splitter(f, limits, ctx)
    needed = work.needed()
    note("STR-02", "instance", "splits" if needed else "nothing to split",
         instance=ctx.pass_.name if ctx.pass_ is not None else "", function=f)
    if not needed:
        return False
    work.run()
    if is_traced():
        made = dict.fromkeys(v.type for leaves in work.parts.values() for v in leaves)
        note("STR-21", "register classes", {str(t): _prefixes(t) for t in made}, function=f)
    return True


def _prefixes(t: Type) -> list[str]:
    """Of the registers that a leaf lies in, as PTX has them. Halves lie in what the notes call
    `%h`, which text prints as `%rs` (GAP-11)."""
    return [("%h, printed " if p.scalar in (HALF, BFLOAT) else "") + PREFIXES[p.reg.name]
            for p in parts(t)]


class _Splitter:
    """One function. `parts` has the leaves of each aggregate value that was met."""

    def __init__(self, f: Function, limits: SplitLimits, ctx: Context) -> None:
        self.f, self.limits, self.ctx = f, limits, ctx
        self.parts: dict[Value, list[Value]] = {}
        self.whole: dict[int, Value] = {}  # by the list's identity: the value that arrived so
        self.replaced: dict[Value, Value] = {}  # scalars of extractvalue
        self.phis: list[tuple[Instruction, list[Instruction]]] = []
        self.dead: list[Instruction] = []
        self.copies: dict[Instruction, Instruction] = {}  # load → the store that copies it
        self.b = Builder(f.entry)
        self.rules: dict[str, Callable[[Instruction], None]] = {
            "load": self.load, "store": self.store, "phi": self.phi, "select": self.select,
            "freeze": self.freeze, "insertvalue": self.insert, "extractvalue": self.extract,
            "call": self.call, "cmpxchg": self.arrive, "ret": self.leave,
            "splitStruct": self.keep,
        }

    def needed(self) -> bool:
        if any(is_aggregate(a.type) and a.has_uses for a in self.f.arguments):
            return True
        return any(map(self.concerns, self.f.instructions()))

    @staticmethod
    def concerns(i: Instruction) -> bool:
        if i.type.__class__ in AGGREGATES:
            return not arrives(i) or not _Splitter.edge_only(i)
        for v in i._operands:
            if v.type.__class__ in AGGREGATES:
                return not arrives(v) if i.form.name == "splitStruct" else not _leaves(i)
        return False

    def run(self) -> None:
        f = self.f
        for block in f.blocks:
            self.find_copies(block)
        for a in f.arguments:
            if is_aggregate(a.type) and a.has_uses and not self.edge_only(a):
                first = f.entry.first
                assert first is not None
                self.b.position_before(first)
                self.arrived(a)
        reached = set(f.rpo)
        for block in [*f.rpo, *(b for b in f.blocks if b not in reached)]:
            for i in block:
                if i not in self.copies and (
                    is_aggregate(i.type) or any(is_aggregate(v.type) for v in i.operands)
                ):
                    self.rules[i.form.name](i)
        self.finish()

    @step("STR-12", "replacement", "self.f", tell=lambda made, work: Brief(
          f"{len(work.replaced)} values replaced, {len(work.dead)} aggregate operations erased",
          {"replaced": len(work.replaced), "erased": len(work.dead)}))
    def finish(self) -> None:
        """Fill the phis, let scalars take over, and remove what was split."""
        for phi, new in self.phis:
            columns = [self.leaves_of(v) for v in phi.operands]
            for k, p in enumerate(new):
                p.set_incoming([c[k] for c in columns], phi.aux)
        substitute(self.replaced)
        for i in self.dead:
            i.set_operands(())
            i.aux = None
        for i in self.dead:
            i.erase()

    # ----------------------------------------------------------- leaves

    @step("STR-03", "leaves", "v")
    def leaves_of(self, v: Value) -> list[Value]:
        """The leaves of any aggregate operand."""
        found = self.parts.get(v)
        if found is None:
            if v.is_constant:
                found = [constant_leaf(v, x.path, x.type) for x in leaves(v.type)]
            else:  # a value of a block that is never reached, used before it is made
                found = [undef(x.type) for x in leaves(v.type)]
            self.parts[v] = found
        return found

    @step("STR-05", "splitStruct", "v", tell=lambda made, work, v: _split_told(work.parts[v], v))
    def apart(self, v: Value) -> None:
        """splitStruct of a value that arrives whole, where the builder stands."""
        found = decomposed(v.type)
        if not found:
            self.parts[v] = []
            return
        i = self.b.insert("splitStruct", (v,), aux=(v.type, composite(v.type)))
        names = [f"{v.name or 'split'}.{k}" for k in range(len(found))]
        i.set_results([leaf.type for leaf in found], names)
        self.parts[v] = list(i.results)
        self.whole[id(self.parts[v])] = v

    def arrived(self, v: Value) -> None:
        """splitStruct of a value, then its elements."""
        self.apart(v)
        _elements(v, self.parts[v])

    def together(self, v: Value, where: Instruction) -> Value:
        """An aggregate for a place that takes it whole."""
        found = self.parts.get(v)
        if v.is_constant or found is None:
            return v
        known = self.whole.get(id(found))
        if known is not None:
            return known
        self.b.position_before(where)
        self.b.loc = where.loc
        out: Value = undef(v.type)
        for leaf, x in zip(leaves(v.type), found, strict=True):
            if not isinstance(x, Undef):
                out = self.b.insert_value(out, x, leaf.path, v.name or "")
        return out

    def at(self, i: Instruction) -> Builder:
        self.b.position_before(i)
        self.b.loc = i.loc
        return self.b

    @staticmethod
    def edge_only(v: Value) -> bool:
        """Whether a value that arrived whole also leaves whole, untouched."""
        return all(_leaves(u) or u.form.name == "splitStruct" for u in v.users)

    # ------------------------------------------------------------ rules

    def keep(self, i: Instruction) -> None:
        """A splitStruct that is there: of a value that arrives it says the leaves."""
        v = i.operands[0]
        known = self.parts.get(v)
        if known is not None and known[:1] == [*i.results[:1]]:
            return  # made by this pass, at the entry
        if known is not None or not arrives(v):
            self.replaced.update(zip(i.results, self.leaves_of(v), strict=True))
            self.dead.append(i)
            return
        self.parts[v] = list(i.results)
        self.whole[id(self.parts[v])] = v

    def load(self, i: Instruction) -> None:
        self.split(i, self.split_load(i))
        self.tell(i, "a load", i.type, "each leaf is loaded by itself")

    @step("STR-09", "split load", "i", tell=lambda made, work, i:
          Brief([f"{x.type} align {x.aux}" for x in made],
                [{"type": x.type, "align": x.aux} for x in made]))
    def split_load(self, i: Instruction) -> list[Value]:
        """A load of each leaf."""
        b, p = self.at(i), i.operands[0]
        out: list[Value] = []
        for leaf, align in aligned(decomposed(i.type), said_alignment(i) or align_of(i.type)):
            q = self.address(p, leaf.offset)
            out.append(b.insert(i.form.spelling, (q,), leaf.type, "split", align))
        return out

    def split(self, i: Instruction, into: list[Value]) -> None:
        """An aggregate gives way to its leaves. They are the results of its splitStruct, in the
        order of GAP-09 made before it: what would name each a second time is not made."""
        self.parts[i] = into
        self.dead.append(i)
        if is_traced():
            note("STR-05", "splitStruct", _split_told(into, i), v=i)
            _elements(i, into)

    def address(self, p: Value, offset: int, name: str = "ptr") -> Value:
        if not offset:
            return p
        return self.b.gep(p, [const(I64, offset)], I8, name=name)

    @step("STR-01", "split store", "i", tell=lambda made, work, i:
          "a copy" if work.copies.get(i.operands[0]) is i else work.parts.get(i.operands[0]))
    def store(self, i: Instruction) -> None:
        v, p = i.operands
        if isinstance(v, Instruction) and self.copies.get(v) is i:
            self.copy(v, i)
            return
        b = self.at(i)
        align = said_alignment(i) or align_of(v.type)
        if isinstance(v, Constant) and not i.form.volatile and self.as_memory(v, p, align, i):
            self.dead.append(i)
            return
        places, found = aligned(decomposed(v.type), align), self.leaves_of(v)
        for (leaf, each), x in zip(places, found, strict=True):
            if isinstance(x, Undef) and not i.form.volatile:
                continue
            q = self.address(p, leaf.offset)
            b.insert(i.form.spelling, (x, q), VOID, aux=each)
        _elements(i, found)
        self.dead.append(i)
        self.tell(i, "a store", v.type, "each leaf is stored by itself")

    def as_memory(self, v: Constant, p: Value, align: int, i: Instruction) -> bool:
        """A large constant: zeros as a fill, others copied from a variable."""
        size = size_of(v.type)
        module = self.f.module
        if len(leaves(v.type)) <= self.limits.store_elements or module is None:
            return False
        if v.value is None:
            fill(self.b, p, size, align, i.form.volatile)
            how = "filled with zeros"
        else:
            name = f"__const.{self.f.name}.{len(module.globals)}"
            source = variable(module, name, v.type, 1, v, "private", max(align, 1), True)
            move(self.b, p, source, size, align, align)
            how = "from a constant variable"
        why = f"it has more than {self.limits.store_elements} elements"
        self.ctx.remark(COPIED, i, bytes=size, how=how, why=why)
        return True

    def phi(self, i: Instruction) -> None:
        self.split(i, self.split_phi(i))
        self.tell(i, "a phi", i.type, "one phi a leaf")

    @step("STR-18", "split phi", "i")
    def split_phi(self, i: Instruction) -> list[Value]:
        """A phi of each leaf, filled at the end."""
        b = self.at(i)
        new = [
            b.insert("phi", (), leaf.type, f"{i.name or 'phi'}.{k}", ())
            for k, leaf in enumerate(decomposed(i.type))
        ]
        self.phis.append((i, new))
        return list(new)

    def select(self, i: Instruction) -> None:
        c, x, y = i.operands
        b = self.at(i)
        self.split(i, [
            p if p is q else b.select(c, p, q, i.name or "")
            for p, q in zip(self.leaves_of(x), self.leaves_of(y), strict=True)
        ])
        self.tell(i, "a select", i.type, "one select a leaf")

    def freeze(self, i: Instruction) -> None:
        b = self.at(i)
        self.split(i, [b.freeze(x, i.name or "") for x in self.leaves_of(i.operands[0])])
        self.tell(i, "a freeze", i.type, "one freeze a leaf")

    def insert(self, i: Instruction) -> None:
        whole, part = i.operands
        first, end = leaf_range(whole.type, i.aux)
        old = self.leaves_of(whole)
        shared = whole.is_constant or whole.use_count > 1 or id(old) in self.whole
        new = list(old) if shared else old
        new[first:end] = self.leaves_of(part) if is_aggregate(part.type) else [part]
        self.parts[i] = new
        self.dead.append(i)

    @step("STR-23", "extract", "i",
          tell=lambda made, work, i: work.replaced.get(i, work.parts.get(i)))
    def extract(self, i: Instruction) -> None:
        whole = i.operands[0]
        first, end = leaf_range(whole.type, i.aux)
        found = self.leaves_of(whole)
        if is_aggregate(i.type):
            self.parts[i] = found[first:end]
        else:
            self.replaced[i] = found[first]
        self.dead.append(i)

    def call(self, i: Instruction) -> None:
        self.split_call(i)
        if is_aggregate(i.type):
            self.arrive(i)

    @step("STR-19", "split call", "i", tell=lambda made, work, i: i.operands)
    def split_call(self, i: Instruction) -> None:
        """Arguments are put together again, or named as they arrived."""
        new = tuple(self.together(v, i) if is_aggregate(v.type) else v for v in i.operands)
        i.set_operands(new)

    def arrive(self, i: Instruction) -> None:
        """The result of a call or cmpxchg."""
        if not i.has_uses or self.edge_only(i):
            return
        self.b.position_after(i)
        self.b.loc = i.loc
        self.arrived(i)
        self.ctx.remark(
            EDGE, i, what=_what(i), bytes=size_of(i.type), why="splitStruct takes it apart behind"
        )

    @step("STR-19", "split return", "i", tell=lambda made, work, i: i.operands)
    def leave(self, i: Instruction) -> None:
        v = i.operands[0]
        i.set_operands((self.together(v, i),))
        if i.operands[0] is not v:
            why = "the function returns it; it is put together before"
            self.ctx.remark(EDGE, i, what="a result", bytes=size_of(v.type), why=why)

    def tell(self, i: Instruction, what: str, t: Type, why: str) -> None:
        self.ctx.count("split")
        count = len(leaves(t))
        self.ctx.remark(SPLIT, i, what=what, bytes=size_of(t), count=count, why=why)

    # ------------------------------------------------- a load and its store

    @step("STR-16", "copies", "block",
          tell=lambda made, work, b: [i for i in work.copies if i.block is b] or "none")
    def find_copies(self, block: Block) -> None:
        """Loads whose only use is a store in the same block, with no write between."""
        loads: set[Instruction] = set()
        for i in block:
            form = i.form
            if form.name == "load" and is_aggregate(i.type) and form.spelling == "load":
                if i.use_count == 1:
                    loads.add(i)
                continue
            v = i.operands[0] if form.spelling == "store" else None
            if isinstance(v, Instruction) and v in loads:
                self.copies[v] = i
            if (form.writes or form.sync) and not self.limits.unchecked:
                loads.clear()

    def copy(self, load: Instruction, store: Instruction) -> None:
        """Move the bytes where the store stands."""
        p, q = load.operands[0], store.operands[1]
        t = load.type
        size = size_of(t)
        aligns = [said_alignment(x) or align_of(t) for x in (load, store)]
        b = self.at(store)
        self.dead += [store, load]
        padded = self.limits.padding or holds_union(t)
        large = self.too_large(t)
        how, why = ("of memory", large) if large else (
            "by element", "its elements keep their types, padding " + (
                "comes along" if padded else "is left out"))
        note("STR-04", "small or large", f"{how}: {why}", bytes=size, elements=len(leaves(t)), t=t,
             copy_bytes=self.limits.copy_bytes, store_elements=self.limits.store_elements)
        if large:
            move(b, q, p, size, aligns[1], aligns[0])
        else:
            self.parts[load] = self.typed_copy(t, p, q, aligns, gaps(t) if padded else ())
        self.ctx.count("copied")
        self.ctx.remark(COPIED, store, bytes=size, how=how, why=why)

    def too_large(self, t: Type) -> str:
        """Why a type is copied as memory, or ""."""
        if size_of(t) > self.limits.copy_bytes:
            return f"more than {self.limits.copy_bytes} bytes"
        if len(leaves(t)) > self.limits.store_elements:
            return f"more than {self.limits.store_elements} elements"
        return ""

    def typed_copy(
        self, t: Type, p: Value, q: Value, aligns: list[int], padding: Sequence[tuple[int, int]]
    ) -> list[Value]:
        """All loads, then all stores: right however the two overlap. Returns what is loaded."""
        b = self.b
        places = [*decomposed(t), *(
            AggregateLeaf((), o, ELEMENTS[k]) for at, n in padding for o, k in _pieces(at, n))]
        places.sort(key=lambda leaf: leaf.offset)
        values: list[Value] = []
        for leaf, align in aligned(places, aligns[0]):
            from_ = self.address(p, leaf.offset, "srcptr")
            values.append(b.load(from_, leaf.type, "split", align))
        note("STR-09", "copied loads", values, names="split, srcptr")
        for (leaf, align), x in zip(aligned(places, aligns[1]), values, strict=True):
            b.store(x, self.address(q, leaf.offset, "dstptr"), align)
        note("STR-16", "copied stores", len(values), names="dstptr")
        return values


@step("STR-03", "decomposition", "t",
      tell=lambda made, t: Brief([f"{x.type} at {x.offset}" for x in made],
                                  [{"type": x.type, "offset": x.offset} for x in made]))
def decomposed(t: Type) -> tuple[AggregateLeaf, ...]:
    """The scalars of a copied object, however deep, by its layout."""
    return leaves(t)


def said_alignment(i: Instruction) -> int:
    """The alignment that an access says, 0 for none, as its field has it."""
    field = encode_alignment(min(int(i.aux or 0), 1 << 29), i.form.volatile)
    said = decode_alignment(field)
    note("STR-10", "alignment field", said, instruction=i, field=field)
    return said


def _split_told(results: Sequence[Value], v: Value) -> Brief:
    whole = composite(v.type)
    fields = {"results": [x.type for x in results], "type": v.type, "composite": whole,
              "align": align_of(whole), "opcode": SPLIT_OPCODE}
    return Brief(f"{len(results)} results of {v.type}, composite {whole} align {align_of(whole)}, "
                 f"opcode {SPLIT_OPCODE}", fields)


@step("STR-11", "alignment", "align",
      tell=lambda made, found, align: Brief(
          [f"{x.type} align {n}" for x, n in made],
          [{"type": x.type, "align": n} for x, n in made]))
def aligned(
    found: Sequence[AggregateLeaf], align: int
) -> list[tuple[AggregateLeaf, int]]:
    """Each leaf with what the whole's alignment says of its offset."""
    return [(leaf, aligned_at(align, leaf.offset)) for leaf in found]


def _pieces(at: int, n: int) -> list[tuple[int, int]]:
    """Padding as accesses of 1, 2 and 4 bytes at multiples of their size."""
    out = []
    end = at + n
    while at < end:
        k = next(k for k in (4, 2, 1) if at % k == 0 and at + k <= end)
        out.append((at, k))
        at += k
    return out


def _leaves(i: Instruction) -> bool:
    """Whether an instruction passes its operands on whole, to another function."""
    return i.form.is_call or i.form.kind is OpKind.RETURN


def arrives(v: Value) -> bool:
    """Whether a value comes whole from where nothing can be changed."""
    if isinstance(v, Instruction):
        return v.form.is_call or v.form.kind is OpKind.ATOMIC
    return isinstance(v, Argument)


def _what(i: Instruction) -> str:
    if i.form.name != "call":
        return f"the result of {i.form.name}"
    callee = i.aux.callee
    return "the result of " + (
        "assembly" if isinstance(callee, InlineAsm) else
        "a call" if callee is None else f"@{callee.name}"
    )


# --------------------------------------------------------- calls of intrinsics


def move(b: Builder, to: Value, source: Value, size: int, to_align: int, source_align: int) -> None:
    """A memmove, for the lowering of copies to take apart."""
    assert isinstance(to.type, PointerType)
    assert isinstance(source.type, PointerType)
    assert b.module is not None
    name = f"llvm.memmove.p{to.type.space}.p{source.type.space}.i64"
    callee = declare(b.module, name, VOID, [to.type, source.type, I64, I1])
    attributes = ((("align", to_align),), (("align", source_align),), (), ())
    info = NvvmCall(4, callee=callee, arguments=attributes)
    b.insert("call", (to, source, const(I64, size), const(I1, 0)), aux=info)


def fill(b: Builder, to: Value, size: int, align: int, volatile: bool) -> None:
    """A memset to zero."""
    assert isinstance(to.type, PointerType)
    assert b.module is not None
    name = f"llvm.memset.p{to.type.space}.i64"
    callee = declare(b.module, name, VOID, [to.type, I8, I64, I1])
    info = NvvmCall(4, callee=callee, arguments=((("align", align),), (), (), ()))
    operands = (to, const(I8, 0), const(I64, size), const(I1, int(volatile)))
    b.insert("call", operands, aux=info)


def _elements(v: Value, found: Sequence[Value]) -> None:
    """Note the scalars that a value is split into: an address `ptr` and an access for each where it
    lies in memory, else a result each."""
    if is_traced():
        access = isinstance(v, Instruction) and v.form.kind in (OpKind.LOAD, OpKind.STORE)
        note("STR-08", "elements", [str(x.type) for x in found], v=v,
             names="ptr" if access else [str(x.name) for x in found])
