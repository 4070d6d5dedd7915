"""Branches, switches, returns.

A switch of at least four cases that fill a tenth of their range becomes `brx.idx`; others a
tree of comparisons that halves the sorted cases, with chains of equality tests of up to
three at its leaves; of words where the number has more than 64 bits. The numbers are LLVM's.
"""

from __future__ import annotations

from nvir.ir import Block, Constant, Instruction, Type, Value, constant, form
from nvir.passes.select import abi
from nvir.passes.select.constants import signed
from nvir.passes.select.lanes import Rule
from nvir.passes.select.rules.integer import sext, words
from nvir.passes.select.rules.wide import below, equal
from nvir.passes.select.selector import Parts, Selector, width

MIN_TABLE = 4  # cases
MIN_DENSITY = 10  # percent
MAX_TABLE = 1 << 12  # entries
CHAIN = 3


def edge(s: Selector, to: Block) -> Block:
    """The ori block of a branch target; notes that the block at hand leads there."""
    assert s.here is not None
    sources = s.edges.setdefault((s.here, to), [])
    if s.b.block not in sources:
        sources.append(s.b.block)
    return s.blocks[to]


def _br(s: Selector, i: Instruction) -> Parts:
    targets = i.aux
    if not i.operands:
        s.b.br(edge(s, targets[0]))
        return ()
    condition = s.one(i.operands[0])
    if isinstance(condition, Constant):
        s.b.br(edge(s, targets[0 if condition.value else 1]))
    elif targets[0] is targets[1]:
        s.b.br(edge(s, targets[0]))
    else:
        branch(s, condition, targets[0], targets[1])
    return ()


def branch(s: Selector, condition: Value, then: Block, otherwise: Block) -> None:
    """A conditional branch to nvvm blocks; `not` goes into the branch's sign."""
    negated = False
    if isinstance(condition, Instruction) and condition.form.spelling == "not.pred":
        condition, negated = condition.operands[0], True
    s.b.cond_br(condition, edge(s, then), edge(s, otherwise), negated=negated)


def _switch(s: Selector, i: Instruction) -> Parts:
    value, *literals = i.operands
    default, *blocks = i.aux
    t = value.type
    cases = sorted(
        (signed(c.value, t.bits), b) for c, b in zip(literals, blocks, strict=True)
        if isinstance(c, Constant)
    )
    x = s.use(value)
    known = [p.value << 64 * k for k, p in enumerate(x) if isinstance(p, Constant)]
    if len(known) == len(x):
        number = signed(sum(known), t.bits)
        s.b.br(edge(s, dict(cases).get(number, default)))
        return ()
    if not cases:
        s.b.br(edge(s, default))
        return ()
    if t.bits == 1:
        taken = dict(cases)
        then, otherwise = taken.get(1, default), taken.get(0, default)
        if then is otherwise:
            s.b.br(edge(s, then))
        else:
            branch(s, x[0], then, otherwise)
        return ()
    if t.bits > 64:
        _search(s, _WordTests(s, t, x), cases, default)
        return ()
    register = sext(s, x[0], t.bits)
    if _is_dense(cases):
        _table(s, register, width(t), cases, default)
    else:
        _search(s, _Tests(s, register, width(t)), cases, default)
    return ()


def _is_dense(cases: list[tuple[int, Block]]) -> bool:
    span = cases[-1][0] - cases[0][0] + 1
    return (
        len(cases) >= MIN_TABLE and span <= MAX_TABLE and len(cases) * 100 >= span * MIN_DENSITY
        and len({b for _, b in cases}) > 1
    )


def _table(
    s: Selector, x: Value, w: int, cases: list[tuple[int, Block]], default: Block
) -> None:
    first, last = cases[0][0], cases[-1][0]
    index = s.op(f"sub.s{w}", x, first) if first else x
    outside = s.op(f"setp.gt.u{w}", index, last - first)
    table = s.new_block("table")
    s.b.cond_br(outside, edge(s, default), table)
    s.start(table)
    if w != 32:
        index = s.op(f"cvt.u32.u{w}", index)
    by_number = dict(cases)
    targets = tuple(edge(s, by_number.get(k, default)) for k in range(first, last + 1))
    s.b.insert(Instruction(form("brx.idx", "%s"), (index,), aux=targets))


class _Tests:
    """Comparisons of the number that a switch is on with those of its cases."""

    def __init__(self, s: Selector, x: Value, w: int) -> None:
        self.s, self.x, self.w = s, x, w

    def below(self, number: int) -> Value:
        return self.s.op(f"setp.lt.s{self.w}", self.x, number)

    def equal(self, number: int) -> Value:
        return self.s.op(f"setp.eq.s{self.w}", self.x, number)


class _WordTests(_Tests):
    """The same of a number of several words."""

    def __init__(self, s: Selector, t: Type, x: Parts) -> None:
        self.s, self.type, self.words = s, t, words(s, t, x, "s")

    def below(self, number: int) -> Value:
        return below(self.s, self.words, self._literal(number), "s")

    def equal(self, number: int) -> Value:
        return equal(self.s, "eq", self.words, self._literal(number))

    def _literal(self, number: int) -> Parts:
        return words(self.s, self.type, self.s.use(constant(self.type, number)), "s")


def _search(s: Selector, tests: _Tests, cases: list[tuple[int, Block]], default: Block) -> None:
    """Binary search; each entry of `work` is an ori block and the cases that may come there."""
    work: list[tuple[Block, list[tuple[int, Block]]]] = [(s.b.block, cases)]
    while work:
        at, left = work.pop()
        s.start(at)
        if len(left) > CHAIN:
            middle = len(left) // 2
            upper, lower = s.new_block("switch"), s.new_block("switch")
            s.b.cond_br(tests.below(left[middle][0]), lower, upper)
            work.append((upper, left[middle:]))
            work.append((lower, left[:middle]))
            continue
        for k, (number, block) in enumerate(left):
            same = tests.equal(number)
            if k == len(left) - 1:
                if block is default:
                    s.b.br(edge(s, default))
                else:
                    s.b.cond_br(same, edge(s, block), edge(s, default))
            else:
                following = s.new_block("switch")
                s.b.cond_br(same, edge(s, block), following)
                s.start(following)


def _ret(s: Selector, i: Instruction) -> Parts:
    if i.operands and s.target.returns:
        v = i.operands[0]
        aux = s.source.aux if isinstance(s.source.aux, dict) else {}
        abi.write(s, s.target.returns[0], s.use(v), v.type, aux.get("returns", ()))
    s.b.ret()
    return ()


def _unreachable(s: Selector, i: Instruction) -> Parts:
    before = s.b.block.last
    if before is None or before.form.name != "trap":
        s.op("trap")
    s.b.exit()
    return ()


RULES: dict[str, Rule] = {
    "br": _br,
    "switch": _switch,
    "ret": _ret,
    "unreachable": _unreachable,
}
