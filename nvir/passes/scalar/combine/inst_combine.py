"""Peepholes: instructions that cost less, or that later rules know.

    %a = mul i32 %x, 8                        %a = shl i32 %x, 3
    %b = zext i1 %c to i32           ==>
    %d = icmp ne i32 %b, 0                    br i1 %c, …
    br i1 %d, …

Method   A worklist of instructions, in reverse post-order at first. Each is folded if its operands
         are literals, put in order (literals to the right), and given to the rules: those of
         integers are a table (integer_rules.py) that z3 proves; those that look at types,
         addresses, floats or known bits are functions here and in combine/rules.py. What took
         its place, and the users, are looked at again; what has no use left is erased at once.
Needs    SSA.
Keeps    blocks and edges. Floats bit for bit, but where an instruction's own flags (nsz, arcp,
         nnan) say otherwise. Every instruction with an effect.
Leaves   equal instructions to gvn, control flow to simplify-cfg.
Skips    vectors of integers, but for folds of single elements.
Cost     Linear: each rule makes an instruction simpler by an order that the table's rules
         respect (fewer instructions, then shifts for products, literals outwards), a bound
         on looks at one instruction holds should they not.
Source   LLVM's InstCombine, for the choice of canonical forms.
"""

from __future__ import annotations

import functools
from collections import Counter

from nvir.analysis.callees import is_pure
from nvir.analysis.known_bits import KnownBits
from nvir.ir import Constant, Form, Function, Instruction, OpKind, Type, Value, nvvm_form
from nvir.ir.opcodes.evaluate import evaluate, literal_of
from nvir.passes.context import Context
from nvir.passes.remarks import passed
from nvir.passes.scalar.combine.integer_rules import LINES
from nvir.passes.scalar.combine.rule_language import Matcher, rewrite
from nvir.passes.scalar.combine.rules import RULES_BY_ROW, SWAPPED, RuleFunction

COMBINED = passed("Combined", "{rewrites} rewrites, {folded} folded, {dead} dead")
CODES = (COMBINED,)

MAX_LOOKS = 40  # at one instruction: rules that undo each other would go on for ever


@functools.cache
def matcher() -> Matcher:
    """The integer rules, ready to be matched."""
    return Matcher(LINES)


def run(function: Function, ctx: Context) -> bool:
    c = Combiner(function)
    c.run()
    if not c.counts:
        return False
    found = c.counts
    for name, n in found.items():
        ctx.count(name, n)
    ctx.remark(COMBINED, rewrites=found["rewrites"], folded=found["folded"], dead=found["dead"])
    return True


@functools.cache
def _plan(form: Form) -> tuple[bool, tuple[RuleFunction, ...], bool]:
    """Whether the table has rules for a form or it may be folded, the functions for its row, and
    whether an instruction of this form may go where nothing uses it."""
    goes = form.pure or form.is_phi or form.is_call or form.kind is OpKind.LOAD \
        or form.name == "alloca"
    return form.pure, RULES_BY_ROW.get(form.name, ()), goes and not form.terminator


class Combiner:
    """One run on a function. `work` is a stack without duplicates; `at` the instruction in hand."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.counts: Counter[str] = Counter()
        self.looks: dict[Instruction, int] = {}
        self.work: list[Instruction] = [i for b in function.rpo for i in b]
        self.work.reverse()
        self.waiting = set(self.work)
        self.at: Instruction | None = None
        self.matcher = matcher()
        self.bits = KnownBits()

    def run(self) -> None:
        work, waiting = self.work, self.waiting
        while work:
            i = work.pop()
            waiting.discard(i)
            if i.block is None:
                continue
            computes, rules, goes = _plan(i.form)
            if goes and i._uses is None and self._is_dead(i):
                self._erase(i)
                continue
            if not computes and not rules:
                continue
            self.at = i
            new = self._simplify(i, computes, rules)
            if new is not None and self._may_look_again(i):
                self._replace(i, new)

    def _may_look_again(self, i: Instruction) -> bool:
        n = self.looks[i] = self.looks.get(i, 0) + 1
        return n < MAX_LOOKS

    # -------------------------------------------------------------- rules

    def _simplify(
        self, i: Instruction, computes: bool, rules: tuple[RuleFunction, ...]
    ) -> Value | None:
        """What takes the place of an instruction; itself where it was changed; None: nothing."""
        operands = i._operands
        if computes and operands:
            if operands[0].__class__ is Constant:
                if all(v.__class__ is Constant for v in operands):
                    bits = evaluate(i)
                    if bits is not None:
                        self.counts["folded"] += 1
                        return literal_of(i.type, bits)
                elif self._swap(i):
                    return i
            matcher = self.matcher
            if i.form.name in matcher.lines and (found := matcher.candidates(i)):
                made = rewrite(found, i, self.make)
                if made is not None:
                    self.counts["rewrites"] += 1
                    return made[1]
        for rule in rules:
            new = rule(self, i)
            if new is not None:
                self.counts["rewrites"] += 1
                return new
        return None

    def _swap(self, i: Instruction) -> bool:
        """Put the literal on the right where the row lets it."""
        operands = i._operands
        if len(operands) != 2 or operands[1].__class__ is Constant:
            return False
        if i.form.name == "icmp":
            predicate, *rest = i.form.mods
            i.set_form(nvvm_form(" ".join(("icmp", SWAPPED[predicate], *rest))))
        elif not i.form.commutes:
            return False
        i.set_operands((operands[1], operands[0]))
        self.counts["rewrites"] += 1
        return True

    # -------------------------------------------------------------- edits

    def make(self, spelling: str, operands: tuple[Value, ...], type: Type,
             aux: object = None) -> Instruction:
        """Place an instruction before the one in hand."""
        at = self.at
        assert at is not None
        i = Instruction(nvvm_form(spelling), operands, type, at.name, aux, at.loc)
        i.insert_before(at)
        self.push(i)
        return i

    def push(self, i: Instruction) -> None:
        if i not in self.waiting:
            self.waiting.add(i)
            self.work.append(i)

    def discard(self, i: Instruction) -> None:
        """Erase an instruction without a result whose effect is none."""
        self._erase(i)

    def _replace(self, i: Instruction, new: Value) -> None:
        for user in i.users:
            self.push(user)
        if new is i:
            self.push(i)
            return
        i.replace_all_uses_with(new)
        if isinstance(new, Instruction):
            self.push(new)
        if self._is_dead(i):
            self._erase(i)

    def _is_dead(self, i: Instruction) -> bool:
        if i._uses is not None or (
            i._results is not None and any(r._uses is not None for r in i._results)
        ):
            return False
        form = i.form
        if form.is_call:
            return is_pure(i)
        if form.kind is OpKind.LOAD or form.name == "alloca":
            return not (form.volatile or "atomic" in form.mods)
        return form.pure or form.is_phi

    def _erase(self, i: Instruction) -> None:
        operands = i._operands
        self.function.marks.pop(i, None)
        i.erase()
        self.counts["dead"] += 1
        for v in operands:
            if v.__class__ is Instruction:
                self.push(v)
