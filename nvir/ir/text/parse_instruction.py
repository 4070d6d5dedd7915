"""Reading one instruction of nvir's own text: operands, results' shapes, targets, callees.

What stands right of the ` = `. Tokens are looked up in the body that the instruction
stands in, which also knows its blocks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nvir.ir.block import Block
from nvir.ir.instruction import CallInfo, Instruction, Loose
from nvir.ir.opcodes import DEF, TIED, UNKNOWN, Op
from nvir.ir.opcodes.form import Form, assign_operands, form, operand_parts
from nvir.ir.text.datum import BadDatum, Cursor
from nvir.ir.values import Value

if TYPE_CHECKING:
    from nvir.ir.text.parse_body import BodyParser

ATOM = re.compile(
    r'(%(?:[\w$]+(?:\.[xyzwrgba]\b)?|"[^"]*")(?:~\d+)?'
    r'|@(?:[\w$]+|"[^"]*")(?:~\d+)?|&\([^)]*\)'
    r"|\b0f[0-9A-Fa-f]{8}\b|\b0d[0-9A-Fa-f]{16}\b|\b[a-z]\w* (?:undef\b|-?\d+\b)"
    r"|(?<![\w.])-?\d+\b)",
    re.ASCII,
)
SHAPE = re.compile(r"(?:%s(?:\.[a-z][0-9]+)?(?! *[%.!\-({\[])|[\[\]{}|+,! \-()])*\Z")
EMPTY = re.compile(  # a comma with nothing on one side, or a sign before nothing
    r"(?:^|[\[{(,|+]) ?,|, ?(?:$|[\]}),|+])|[-!+](?![-!%(\[{])"
)


class InstructionReader:
    """Reads instructions of one body. Its methods raise BadDatum at a column of the line."""

    def __init__(self, body: BodyParser) -> None:
        self.body = body

    def _atoms(self, text: str, offset: int) -> tuple[str, list[Value]]:
        """The punctuation between the operands of a text, in canonical spacing, and the values."""
        parts = ATOM.split(text)
        for k in range(2, len(parts) - 1, 2):
            if not parts[k].strip() and parts[k + 1].startswith("-"):
                parts[k] = "+"  # [%a-4] is written [%a+-4] in a form
        shape = "".join("%s".join(parts[::2]).split()).replace(",", ", ")
        bad = None if SHAPE.match(shape) else shape.replace("%s", "")
        if bad is not None or not _is_balanced(shape) or EMPTY.search(shape):
            at = next((k for k, p in enumerate(parts[::2]) if not SHAPE.match(p)), 0)
            col = sum(len(p) for p in parts[: 2 * at])
            raise BadDatum("cannot read the operands", offset + col)
        return shape, [self.body.values[a] for a in parts[1::2]]

    def plain(
        self, op: Op, spelling: str, rest: str, guard: tuple[str, Value] | None, volatile: bool,
        results: tuple[str, int], offset: int,
    ) -> Instruction:
        """An instruction that is no call, terminator or phi.

        Of its results the punctuation and number are known; they come later.
        """
        lead, n_results = results
        rest, has_ties, ties = f" {rest}".partition(" ties ")  # there may be no operands
        rest = rest[1:]
        if has_ties:
            ties, sep, fallback_text = ties.partition(" else ")
        else:
            rest, sep, fallback_text = rest.partition(" else ")
        rest, has_carry, carry = rest.partition(" carry ")
        shape, sources = self._atoms(rest, offset)
        fallbacks = self._atoms(fallback_text, offset)[1] if sep else []
        sign = None if guard is None else guard[0]
        own = lead.partition("+")[0].rstrip(", ")
        if own and op is not UNKNOWN:
            shape = f"{own}, {shape}" if shape else own
        try:
            f = form(spelling, shape, sign, volatile)
        except (ValueError, LookupError):
            raise BadDatum(f"'{spelling}' does not take these operands", offset) from None
        tail = ([guard[1]] if guard is not None else []) + fallbacks
        if f.n_operands < 0:
            n = len(sources)
            tied = self._ties(ties, offset, n_results, n + len(tail)) if has_ties else ()
            aux = Loose(n, n if guard is not None else -1, tied)
            return Instruction(f, (*sources, *tail), aux=aux)
        if has_ties:
            raise BadDatum(f"'{spelling}' has no ties of its own", offset)
        operands = self._laid_out(f, shape, own, sources, offset)
        if has_carry:
            operands += self._atoms(carry, offset)[1]
        operands += tail
        if len(operands) != f.n_operands:
            raise BadDatum(
                f"'{spelling}' takes {f.n_operands} operands in all, not {len(operands)}", offset
            )
        return Instruction(f, tuple(operands))

    def _laid_out(
        self, f: Form, shape: str, own: str, atoms: list[Value], offset: int
    ) -> list[Value]:
        """Sources and then tied operands, from the atoms of the slots right of the `=`."""
        slots = f.slots[own.count("%s") :]
        parts = operand_parts(shape)
        roles = [o.role for o in assign_operands(parts, f.op.operands)]
        n = len(operand_parts(own)) if own else 0
        if len(slots) != len(atoms) or roles[:n] != [DEF] * n or DEF in roles[n:]:
            raise BadDatum(f"'{f.spelling}' does not have these results and operands", offset)
        if TIED not in roles:
            return list(atoms)
        tied = dict(f.ties)
        out: list[Any] = [None] * (f.n_sources + sum(s >= 0 for s in slots))
        for s, v in zip(slots, atoms, strict=True):
            out[~s if s < 0 else tied[s]] = v
        return out

    def _ties(self, text: str, offset: int, n: int, m: int) -> tuple[tuple[int, int], ...]:
        c = Cursor(text, self.body)
        ties = c.datum()
        good = isinstance(ties, tuple) and all(
            isinstance(t, tuple) and len(t) == 2 and all(isinstance(x, int) for x in t)
            and 0 <= t[0] < n and 0 <= t[1] < m for t in ties
        )
        if not good:
            raise BadDatum("ties are (result, operand) pairs", offset)
        c.end()
        return ties  # type: ignore[no-any-return]

    def phi(self, f: Form, rest: str, offset: int) -> Instruction:
        """`[value, block], …`."""
        c = Cursor(self.body.text, self.body, offset)
        values, blocks = [], []
        while c.accept("["):
            values.append(c.value())
            c.expect(",")
            blocks.append(self.body.target(c.label()))
            c.expect("]")
            if not c.accept(","):
                break
        if c.kind != "end" and not c.at("!"):
            raise c.fail("'[value, block]'")
        return Instruction(f, tuple(values), aux=tuple(blocks))

    def call(
        self, spelling: str, rest: str, offset: int, guard: tuple[str, Value] | None, n: int
    ) -> Instruction:
        """`@f (arguments) -> (return parameters) prototype "p" ties (…) else fallbacks`."""
        c = Cursor(self.body.text, self.body, offset)
        callee = None if c.accept("indirect") else c.value()
        operands = self._list(c)
        info = CallInfo(len(operands), callee=callee)
        if c.accept("->"):
            info.return_params = tuple(self._list(c))
        if c.accept("prototype"):
            info.prototype = c.string()
        if guard is not None:
            g = info.guard_index = len(operands)
            operands.append(guard[1])
            info.ties = tuple((k, g + 1 + k) for k in range(n))
        if c.accept("ties"):
            start = c.start
            info.ties = c.datum()
            if not isinstance(info.ties, tuple):
                raise BadDatum("ties are (result, operand) pairs", start)
        if c.accept("else"):
            operands += self._values(c)
        if c.kind != "end" and not c.at("!"):
            raise c.fail("the end of the call")
        f = form(spelling, "", None if guard is None else guard[0])
        return Instruction(f, tuple(operands), aux=info)

    def _list(self, c: Cursor) -> list[Value]:
        out: list[Value] = []
        c.expect("(")
        while not c.accept(")"):
            if out:
                c.expect(",")
            out.append(c.value())
        return out

    def terminator(
        self, op: Op, spelling: str, rest: str, guard: tuple[str, Value] | None, offset: int
    ) -> Instruction:
        c = Cursor(self.body.text, self.body, offset)
        targets: list[Block] = []
        operands: list[Value] = []
        if op.name == "bra" and (c.kind in ("word", "string")):
            targets.append(self.body.target(c.label()))
            if c.accept("else"):
                targets.append(self.body.target(c.label()))
        while c.kind != "end" and not c.at("->", "!", "with"):
            operands.append(c.value())
            if not c.accept(","):
                break
        handed_back = self._values(c) if c.accept("with") else []
        if c.accept("->"):
            targets += self._labels(c)
        if c.kind != "end" and not c.at("!"):
            raise c.fail("the end of the instruction")
        shape = ", ".join(["%s"] * len(operands))
        f = form(spelling, shape, None if guard is None else guard[0])
        if guard is not None:
            operands.append(guard[1])
        if f.n_operands not in (-1, len(operands)):
            raise BadDatum(f"'{spelling}' takes {f.n_operands} operands in all", offset)
        return Instruction(f, (*operands, *handed_back), aux=tuple(targets))

    def _values(self, c: Cursor) -> list[Value]:
        out = [c.value()]
        while c.accept(","):
            out.append(c.value())
        return out

    def _labels(self, c: Cursor) -> list[Block]:
        out = [self.body.target(c.label())]
        while c.accept(","):
            out.append(self.body.target(c.label()))
        return out

    def nvvm(self, f: Form, c: Cursor) -> Instruction:
        operands: list[Value] = []
        while c.kind != "end" and not c.at("->"):
            if operands:
                c.expect(",")
            operands.append(c.value())
        targets = tuple(self._labels(c)) if c.accept("->") else ()
        c.end()
        return Instruction(f, tuple(operands), aux=targets if f.terminator else None)


def _is_balanced(shape: str) -> bool:
    depth = 0
    for c in shape:
        depth += (c in "[{(") - (c in "]})")
        if depth < 0:
            return False
    return depth == 0
