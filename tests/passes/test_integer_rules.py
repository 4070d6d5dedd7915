"""Each integer rule of inst-combine, proved by z3 at several widths.

What is proved is LLVM's refinement: where the left side is neither undefined behaviour nor poison,
the right side is neither, and equal. Values may be poison on the way in. Literals are any that
meet the rule's conditions. The meaning of rows here is written anew, not taken from their folds.
"""

from __future__ import annotations

import itertools

import attrs
import pytest

from nvir.passes.scalar.combine.integer_rules import LINES
from nvir.passes.scalar.combine.rule_language import Any_, Number, Rule, RuleOperation, read_rule

z3 = pytest.importorskip("z3", reason="z3-solver proves the rules (extra `test`)")

RULES = [read_rule(line) for lines in LINES.values() for line in lines]
HARD = {"mul", "udiv", "sdiv", "urem", "srem"}


@attrs.frozen
class Term:
    """A value, whether it is poison, whether making it is undefined behaviour."""

    value: object
    poison: object
    ub: object


class Meaning:
    """What the letters of one rule stand for at some widths."""

    def __init__(self, widths: dict[str, int]) -> None:
        self.widths = {**widths, "1": 1}
        self.letters: dict[str, Term] = {}

    def term(self, node) -> Term:
        if isinstance(node, Any_):
            if node.name not in self.letters:
                bits = self.widths[node.type]
                poison = z3.BoolVal(False) if node.literal else z3.Bool(f"{node.name}.poison")
                value = z3.BitVec(node.name, bits)
                self.letters[node.name] = Term(value, poison, z3.BoolVal(False))
            return self.letters[node.name]
        if isinstance(node, Number):
            n = self.widths[node.width] if node.width else node.value
            return Term(z3.BitVecVal(n, self.widths[node.type]), z3.BoolVal(False),
                        z3.BoolVal(False))
        operands = [self.term(x) for x in node.operands]
        if node.row == "select":
            return self.choice(*operands)
        value, poison, ub = operation(node, [x.value for x in operands], self.widths[node.type])
        if node.row in HARD - {"mul"}:  # division by poison is undefined behaviour
            ub = z3.Or(ub, operands[1].poison)
        poison = z3.Or(poison, *(x.poison for x in operands))
        return Term(value, poison, z3.Or(ub, *(x.ub for x in operands)))

    def choice(self, c: Term, x: Term, y: Term) -> Term:
        picked = c.value == 1
        poison = z3.Or(c.poison, z3.If(picked, x.poison, y.poison))
        return Term(z3.If(picked, x.value, y.value), poison, z3.Or(c.ub, x.ub, y.ub))

    def condition(self, c):
        if not isinstance(c, tuple):
            t = self.term(c)
            return z3.And(t.value == 1, z3.Not(t.poison))
        name, *rest = c
        if name in ("<", "="):
            a, b = (int(x) if x.isdigit() else self.widths[x] for x in rest)
            return z3.BoolVal(a < b if name == "<" else a == b)
        values = [self.term(x).value for x in rest]
        if name == "pow2":
            return z3.And(values[0] != 0, values[0] & (values[0] - 1) == 0)
        assert name == "fits-sub"
        return z3.And(z3.BVSubNoOverflow(*values), z3.BVSubNoUnderflow(*values, True))


def operation(node: RuleOperation, v: list, bits: int):
    """(value, poison, undefined behaviour) of a row on values that are not poison."""
    no = z3.BoolVal(False)
    row, flags = node.row, node.flags
    if row == "icmp":
        compare = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "ult": z3.ULT,
                   "ule": z3.ULE, "ugt": z3.UGT, "uge": z3.UGE, "slt": lambda a, b: a < b,
                   "sle": lambda a, b: a <= b, "sgt": lambda a, b: a > b,
                   "sge": lambda a, b: a >= b}[flags[0]]
        return z3.If(compare(*v), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)), no, no
    if row == "log2":
        value = z3.BitVecVal(0, bits)
        for k in range(bits):
            value = z3.If(z3.LShR(v[0], k) & 1 == 1, z3.BitVecVal(k, bits), value)
        return value, no, no
    if row in ("zext", "sext"):
        extend = z3.ZeroExt if row == "zext" else z3.SignExt
        return extend(bits - v[0].size(), v[0]), no, no
    if row == "trunc":
        value = z3.Extract(bits - 1, 0, v[0])
        poison = []
        if "nuw" in flags:
            poison.append(z3.ZeroExt(v[0].size() - bits, value) != v[0])
        if "nsw" in flags:
            poison.append(z3.SignExt(v[0].size() - bits, value) != v[0])
        return value, z3.Or(no, *poison), no
    a, b = v
    if row in ("add", "sub", "mul"):
        return wrapping(row, flags, a, b)
    if row in ("udiv", "sdiv", "urem", "srem"):
        return division(row, flags, a, b)
    if row in ("shl", "lshr", "ashr"):
        value = {"shl": a << b, "lshr": z3.LShR(a, b), "ashr": a >> b}[row]
        poison = [z3.UGE(b, bits) if bits > 1 else b != 0]
        if bits > 1 and bits >= 1 << bits:
            poison = [no]
        if "nuw" in flags:
            poison.append(z3.LShR(value, b) != a)
        if "nsw" in flags:
            poison.append(value >> b != a)
        if "exact" in flags:
            poison.append(value << b != a)
        return value, z3.Or(*poison), no
    return {"and": a & b, "or": a | b, "xor": a ^ b}[row], no, no


def wrapping(row, flags, a, b):
    n = a.size()
    compute = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}[row]
    value = compute(a, b)
    poison = [z3.BoolVal(False)]
    for flag, extend in (("nuw", z3.ZeroExt), ("nsw", z3.SignExt)):
        if flag in flags:
            poison.append(extend(n, value) != compute(extend(n, a), extend(n, b)))
    return value, z3.Or(*poison), z3.BoolVal(False)


def division(row, flags, a, b):
    n = a.size()
    signed = row[0] == "s"
    ub = b == 0
    if signed:
        ub = z3.Or(ub, z3.And(a == 1 << (n - 1), b == -1))
    value = {"udiv": z3.UDiv(a, b), "sdiv": a / b, "urem": z3.URem(a, b), "srem": z3.SRem(a, b)}
    rest = z3.SRem(a, b) if signed else z3.URem(a, b)
    poison = rest != 0 if "exact" in flags else z3.BoolVal(False)
    return value[row], poison, ub


def types_of(node) -> set[str]:
    found = {node.type}
    if isinstance(node, Number) and node.width:
        found.add(node.width)
    if isinstance(node, RuleOperation):
        for x in node.operands:
            found |= types_of(x)
    return found


def rows_of(node) -> set[str]:
    if not isinstance(node, RuleOperation):
        return set()
    return {node.row}.union(*map(rows_of, node.operands))


def fits(node, widths) -> bool:
    """Whether casts go the right way."""
    if not isinstance(node, RuleOperation):
        return True
    if node.row in ("trunc", "zext", "sext"):
        a, b = widths[node.operands[0].type], widths[node.type]
        if not (a > b if node.row == "trunc" else a < b):
            return False
    return all(fits(x, widths) for x in node.operands)


def all_widths(rule: Rule):
    """Widths of the rule's types: odd and small ones, and those of the machine where z3 can."""
    names = sorted(types_of(rule.left) - {"1"})
    easy = not HARD & (rows_of(rule.left) | rows_of(rule.right))
    sizes = (1, 3, 8, 32) if easy else (1, 3, 5)
    if len(names) > 1:
        sizes = (1, 3, 8, 16) if easy else (1, 2, 4)
    for chosen in itertools.product(sizes, repeat=len(names)):
        widths = {**dict(zip(names, chosen, strict=True)), "1": 1}
        if fits(rule.left, widths):
            yield widths


def counterexample(rule: Rule) -> str | None:
    """Where the rule is wrong, or None; each width is a query of its own."""
    proved = 0
    for widths in all_widths(rule):
        m = Meaning(widths)
        left = m.term(rule.left)
        conditions = [m.condition(c) for c in rule.conditions]
        solver = z3.Solver()
        solver.set("timeout", 60_000)
        solver.add(*conditions)
        if solver.check() == z3.unsat:
            continue
        proved += 1
        try:
            right = m.term(rule.right)
        except KeyError as e:
            return f"{e} is not bound on the left"
        fine = z3.And(z3.Not(left.ub), z3.Not(left.poison))
        solver.add(z3.Or(
            z3.And(z3.Not(left.ub), right.ub),
            z3.And(fine, z3.Or(right.poison, left.value != right.value)),
        ))
        found = solver.check()
        if found != z3.unsat:
            return f"{widths}: {found} {solver.model() if found == z3.sat else ''}"
    return None if proved else "no widths meet its conditions"


@pytest.mark.parametrize("rule", RULES, ids=[r.text for r in RULES])
def test_rule_is_proved(rule):
    assert counterexample(rule) is None


@pytest.mark.parametrize(
    "line",
    [
        "(add x 1) => x",
        "(mul x C) => (shl x (log2 C))",  # not only of powers of two
        "(sdiv x C) => (ashr x (log2 C))  if (pow2 C)",  # rounds down, not towards 0
        "(add.nsw (add.nsw x C) D) => (add.nsw x (add C D))",  # C + D may overflow
        "(icmp.slt (add x C) D) => (icmp.slt x (sub D C))  if (fits-sub D C)",  # x + C may wrap
        "(select:1 c:1 x:1 0) => (and c x)",  # x may be poison where it is not chosen
        "(shl (shl x C) D) => (shl x (add C D))",
        "(zext:c (sext:b x:a)) => (sext:c x)",
    ],
)
def test_wrong_rules_are_found(line):
    """The proof is no formality: each of these has a counterexample."""
    assert counterexample(read_rule(line)) is not None
