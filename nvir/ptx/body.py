"""Scanning a function body: statements into raw instructions over numbered registers.

One regular expression finds a statement; another splits its operand text into
atoms (registers, literals, symbols) and the punctuation between them. The
punctuation with the opcode is the key of a memo table whose entry (`Shape`)
says what is a result and what a source; so a statement costs two matches and a
dictionary look-up for each atom.

Quantifiers are possessive where what follows cannot match what they took: a line of
megabytes fails at once instead of backtracking through it.

The outcome, `RawFunction`, holds blocks of raw instructions that name registers
by number; ssa.py turns it into IR.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nvir.ir import Location, form
from nvir.ir.opcodes import DEBUG_LABEL, PRAGMA
from nvir.ptx.flow import Flow
from nvir.ptx.names import LabelScope, find_label
from nvir.ptx.statements import (
    DIRECTIVE_END,
    FUNCTION_HEAD,
    LABEL_ROW,
    LOC,
    LOC_NUMBERS,
    LOC_REST,
    NEXT_FUNCTION,
    PRAGMA_TEXT,
    PROTOTYPE,
    REG,
    SINK,
    STATEMENT,
    RawBlock,
    RawFunction,
    branch_targets,
)


class BodyReader(Flow):
    """Reads one function body into `raw`."""

    targeted: set[str]

    def read(self, start: int) -> int:
        """Read from the body's `{` at `start`; returns the offset behind its `}`."""
        code = self.source.code
        # Up to the next function: the body's own end is not known before it is read, and the
        # first "}" of a line may close a scope inside.
        following = NEXT_FUNCTION.search(code, start)
        self.targeted = branch_targets(code, start, following.start() if following else len(code))
        self.line = self.source.line_of(start)
        self.line_offset = start
        pos = start + 1
        opened = [start]
        match = STATEMENT.match
        self._begin_block(None)
        while True:
            m = match(code, pos)
            if m is None:
                pos = self._recover(pos)
                if pos < 0:
                    break
                continue
            kind = m.lastindex
            pos = m.end()
            if kind == 4:
                self._instruction(m)
            elif kind == 5:
                pos = self._label(m, pos)
            elif kind == 6:
                if FUNCTION_HEAD.match(code, m.start(6)):
                    pos = m.start(6)
                    at = self.source.line_of(opened[-1])
                    self.source.error(
                        f"the '{{' of line {at} is not closed: expected '}}' before '{m[6]}'", pos)
                    break
                pos = self._directive(m[6], m.start(6))
            elif m[7] == "{":
                opened.append(m.start(7))
                self.scope = LabelScope(self.scope)
            else:
                opened.pop()
                if not opened:
                    break
                self._leave_scope()
        self._finish()
        return pos if pos >= 0 else len(code)

    def _recover(self, pos: int) -> int:
        """Report the statement at `pos` and skip it; -1 at the end of the text."""
        code = self.source.code
        at = pos
        n = len(code)
        while at < n and code[at].isspace():
            at += 1
        if at >= n:
            self.source.error("the body is not closed: expected '}'", at)
            return -1
        semi = code.find(";", at)
        newline = code.find("\n", at)
        line_end = n if newline < 0 else newline
        if semi < 0:
            self.source.error("expected ';' at the end of this statement", at)
            brace = code.find("}", at)
            return brace if brace > at else -1
        if code[at] in '"\\`#' or semi > line_end:
            self.source.error("expected an instruction, a label or a directive", at)
            return max(line_end, at + 1) if semi > line_end else semi + 1
        self.source.error("expected an instruction, a label or a directive", at)
        return semi + 1

    def _label(self, m: re.Match[str], pos: int) -> int:
        name = m[5]
        row = LABEL_ROW.match(self.source.code, pos)
        if name in self.scope.declared:
            self.source.refuse(f"'{name}' is declared twice", m.start(5))
        if row is not None:
            self._check_row(name, row, m.start(5))
            if row[1] == "branchtargets":
                self.tables[name] = ([t.strip() for t in row[2].split(",")], self.scope)
            else:
                text = " ".join(row[2].split())
                self.function.prototypes[name] = f".{row[1]} {text}"
            return row.end()
        if name in self.scope.labels:
            self.source.error(f"label '{name}' is defined twice", m.start(5))
            return pos
        line = self._line_at(m.start(5))
        if name not in self.targeted:
            self.scope.labels[name] = self._block()
            if self.module.has_debug:
                self._block().items.append((_LABEL_FORM, (), (), name, self.loc, line))
            return pos
        block = self.current
        if block is None or block.items or (block.name is None and block.index == 0):
            if block is not None:
                block.falls_through = True
            block = self._begin_block(name, line)
        elif block.name is None:
            block.name, block.line = name, line
            block.pragmas = ()  # they stood where nothing arrives; ptxas passes over them as well
        self.scope.labels[name] = block
        return pos

    def _check_row(self, name: str, row: re.Match[str], start: int) -> None:
        """A table of labels or functions, or a prototype, behind its label."""
        known = (*self.scope.labels, *self.tables, *self.function.prototypes)
        if name in known:
            self.source.refuse(f"label '{name}' is defined twice", start)
        if row[1] == "callprototype":
            if not PROTOTYPE.match(row[2]):
                self.source.refuse("expected '.callprototype (RESULT) _ (PARAMETER, …)', each "
                                   "as '.param .b32 _'", row.start(1))
            return
        names = [t.strip() for t in row[2].split(",")]
        if "" in names:
            self.source.refuse(f".{row[1]} takes names with commas between them", row.start(1))
        for target in names if row[1] == "calltargets" else ():
            if target and self.module.symbol(target, self.function) is None:
                self.source.refuse(f"undeclared function '{target}'", row.start(2))

    def _directive(self, name: str, start: int) -> int:
        code = self.source.code
        if name == ".loc":
            m = LOC.match(code, start)
            if m is None:
                short = LOC_NUMBERS.match(code, start)
                at = short.end() if short else start
                self.source.error("expected '.loc FILE LINE COLUMN'", at)
                return self._statement_end(start)
            well = LOC_REST.match(m[4])
            if m[3] is None:
                short = LOC_NUMBERS.match(code, start)
                at = short.end() if short else start
                self.source.refuse("expected '.loc FILE LINE COLUMN'", at)
            elif not well:
                self.source.refuse("behind '.loc FILE LINE COLUMN' may stand ', function_name "
                                   "LABEL, inlined_at FILE LINE COLUMN'", m.start(4))
            # Other words are left out: printed again, `.entry` would begin a kernel.
            inlined = m[4].strip().lstrip(",").strip() if well else ""
            self.loc = Location(int(m[1]), int(m[2]), int(m[3] or 0), inlined)
            return m.end()
        if name == ".reg":
            m = REG.match(code, start)
            if m is None:
                self.source.error("expected ';' after a register declaration", start)
                return self._statement_end(start)
            self._registers(m[1], m.start(1))
            return m.end()
        if name == ".pragma":
            m = PRAGMA_TEXT.match(code, start)
            if m is None:
                self.source.error("expected '.pragma \"…\";'", start)
                return self._statement_end(start)
            texts = tuple(re.findall(r'"([^"]*)"', m[1]))
            block = self._block()
            if block.items:
                line = self._line_at(start)
                block.items.append((_PRAGMA_FORM, (), (), texts, self.loc, line))
            else:
                block.pragmas += texts
            return m.end()
        if name in _VARIABLE_SPACES:
            variables, end = self.module.variables(start, local=True)
            for v in variables:
                self._declare(v.name, v, start)
                self.function.locals.append(v)
            return int(end)
        self.source.error(f"unexpected directive '{name}' in a function body", start)
        return self._statement_end(start)

    def _statement_end(self, start: int) -> int:
        m = DIRECTIVE_END.search(self.source.code, start)
        return m.end() if m is not None else len(self.source.code)

    def _finish(self) -> None:
        """Resolve labels to blocks; a body that runs off its end returns."""
        blocks = self.raw.blocks
        last = blocks[-1]
        if last.term is None or last.falls_through:
            if last.term is not None:
                last = self._begin_block(None)
            last.term = (_RET_FORM, (), None, self.line)
            last.falls_through = False
        tables: dict[int, tuple[list[RawBlock], list[str]]] = {}  # found once, and what lacks
        for k, block in enumerate(blocks):
            resolved: list[RawBlock] = []
            for named, scope, offset in block.targets:
                if named.__class__ is str:
                    made = _targets([named], scope)
                else:
                    made = tables.get(id(named)) or _targets(named, scope)
                    tables[id(named)] = made
                for name in made[1]:
                    self.source.error(f"undefined label '{name}'", offset)
                resolved += made[0]
            if block.falls_through:
                resolved.append(blocks[k + 1])
            block.targets = resolved


def _targets(names: Sequence[str], scope: LabelScope) -> tuple[list[RawBlock], list[str]]:
    """The blocks of labels, and those that are no labels."""
    found = [(name, find_label(name, scope)) for name in names]
    return [b for _, b in found if b is not None], [name for name, b in found if b is None]


_LABEL_FORM = form(DEBUG_LABEL.name)
_PRAGMA_FORM = form(PRAGMA.name)
_RET_FORM = form("ret")
_VARIABLE_SPACES = frozenset(
    (".local", ".shared", ".param", ".const", ".global", ".tex", ".visible", ".extern", ".weak",
     ".common", ".sampler", ".surf")
)

__all__ = ["SINK", "BodyReader", "RawBlock", "RawFunction"]
