"""Plain instructions: operand text into registers and values under a form."""

from __future__ import annotations

import re
from typing import Any

from nvir.ir import CC, IMM, SCALARS, UNKNOWN, Function, Location, Variable
from nvir.ir.opcodes import DEF, OpKind
from nvir.ir.opcodes.form import Form, form, misfit_operands, operand_parts
from nvir.ir.opcodes.ori.modifiers import unknown_modifiers
from nvir.ir.values import Symbol, SymbolOffset, constant, undef
from nvir.ptx.literals import constant_expression
from nvir.ptx.names import Names
from nvir.ptx.source import PtxText
from nvir.ptx.statements import (
    ATOM,
    CLOSED,
    MODIFIERS,
    PUNCTUATION,
    SINK,
    SYMBOL_OFFSET,
    OperandShape,
    RawBlock,
    Restated,
    fold_piece,
)


class Operands(Names):
    """Statements that are instructions: the memo of shapes, and what falls outside of it."""

    def __init__(self, source: PtxText, module: Any, function: Any) -> None:
        super().__init__(source, module, function)
        self.current: RawBlock | None = None
        self.loc: Location | None = None
        self.line = 1
        self.line_offset = 0
        self.carry = -1

    def _line_at(self, offset: int) -> int:
        """The line of an offset; where statements are read apart the offset itself."""
        if self.module.apart:
            return offset
        if offset >= self.line_offset:
            self.line += self.source.code.count("\n", self.line_offset, offset)
        else:
            self.line = self.source.line_of(offset)
        self.line_offset = offset
        return self.line

    def _begin_block(self, name: str | None, line: int = 0) -> RawBlock:
        block = RawBlock(name, line, self.loc)
        block.index = len(self.raw.blocks)
        self.raw.blocks.append(block)
        self.current = block
        return block

    def _block(self) -> RawBlock:
        return self.current if self.current is not None else self._begin_block(None)

    def _instruction(self, m: re.Match[str]) -> None:
        sign, pred, spelling, text = m[1], m[2], m[3], m[4]
        parts = ATOM.split(text)
        if (self.vectors or self.ranges) and self._expand_vectors(m, parts):
            return
        guard = None if pred is None else sign
        shape: OperandShape | None
        try:
            shape = _shapes[spelling, "%s".join(parts[::2]), guard]
        except KeyError:
            shape = self._new_shape(m, parts, guard)
            if shape is None:
                return
        f = shape.form
        if shape.signs:
            joined = _SIGNED.sub(_signed, text)
            if joined != text:
                self._reread(m, joined)
                return
        if shape.refused:
            if shape.single and parts[2].strip() == "|" and parts[3] == "_":
                self._reread(m, parts[0] + parts[1] + "".join(parts[4:]))
                return
            self.source.refuse(shape.refused, m.start(4))
        if f.terminator or f.is_call or f.op is UNKNOWN:
            self._special(m, f, parts, guard)
            return
        names = self.names
        self.volatile = False
        values = []
        for atom in parts[1::2]:
            v = names.get(atom)
            if v is None:
                v = self._resolve(atom, f, m)
                if v is None:
                    return
            values.append(v)
        if shape.zero_offsets:
            f, values = self._drop_zero_offsets(shape, values)
        if self.volatile:
            f = form(f.spelling, f.shape, f.guard, True)
        n = shape.n_results
        if shape.plain:
            results, operands = tuple(values[:n]), tuple(values[n:])
        else:
            laid = self._lay_out(f, values, pred, m)
            if laid is None:
                return
            results, operands = laid
        for r in results:
            if r.__class__ is not int:
                self.source.error(
                    f"'{spelling}' writes its operand '{getattr(r, 'name', r)}', "
                    "which is no register", m.start(3)
                )
                return
        if SINK in operands:
            self.source.error("'_' can only stand for a result", m.start(4))
            return
        block = self.current or self._begin_block(None)
        block.items.append((f, results, operands, None, self.loc, self._line_at(m.start(3))))

    def _lay_out(
        self, f: Form, values: list[Any], pred: str | None, m: re.Match[str]
    ) -> tuple[tuple[int, ...], tuple[Any, ...]] | None:
        """Results and operands of a form with a guard, tied operands, or carry."""
        n = f.n_results - f.carry_out
        results: list[Any] = [None] * n
        sources = []
        for slot, v in zip(f.slots, values, strict=True):
            if slot >= 0:
                results[slot] = v
            else:
                sources.append(v)
        guard_ties = f.guard_index
        for r, k in f.ties:  # tied sources come first, fallbacks after the guard
            if guard_ties < 0 or k < guard_ties:
                sources.append(results[r])
        if f.carry_out or f.carry_in:
            if self.carry < 0:
                self.carry = self.new_register(None, CC)
            if f.carry_in:
                sources.append(self.carry)
            if f.carry_out:
                results.append(self.carry)
        if f.guard is not None:
            p = self._guard(pred, m)
            if p is None:
                return None
            sources.append(p)
            sources.extend(
                r if r != SINK else undef(f.result_types[k]) for k, r in enumerate(results)
            )
        return tuple(results), tuple(sources)

    def _guard(self, pred: str | None, m: re.Match[str]) -> Any:
        v = self.names.get(pred or "")
        if v is None:
            v = self._resolve(pred or "", None, m)
        if v is not None and (v.__class__ is not int or self.raw.reg_types[v].name != "pred"):
            self.source.error(f"the guard '{pred}' is no predicate register", m.start(2))
            return None
        return v

    def _drop_zero_offsets(self, shape: OperandShape, values: list[Any]) -> tuple[Form, list[Any]]:
        """`[a+0]` is `[a]`: one spelling for one meaning."""
        zero = [k for k in shape.zero_offsets if values[k] is _ZERO]
        if not zero:
            return shape.form, values
        f = shape.form
        pieces = f.shape.split("%s")
        keep = []
        text = pieces[0]
        for k, v in enumerate(values):
            if k in zero:
                text = text[:-1] + pieces[k + 1]  # without the '+'
            else:
                text += "%s" + pieces[k + 1]
                keep.append(v)
        return form(f.spelling, text, f.guard, f.volatile), keep

    def _new_shape(
        self, m: re.Match[str], parts: list[str], guard: str | None
    ) -> OperandShape | None:
        """The memo entry for an opcode and punctuation seen first, or None after an error."""
        spelling = m[3]
        apart = MODIFIERS.match(m[4])
        if apart is not None:
            joined = spelling + "".join(apart[0].split())
            self._instruction(Restated(m, joined, m[4][apart.end() :]))  # type: ignore[arg-type]
            return None
        raw = "%s".join(parts[::2])
        found = form(spelling, "", guard)
        if found.op.name == "call" or found.is_call:
            shape = OperandShape(found, ())
            _shapes[spelling, raw, guard] = shape
            return shape
        punctuation = "".join(raw.split())
        if "(" in punctuation or not PUNCTUATION.match(punctuation):
            self._odd_operands(m)
            return None
        canonical = re.sub("%s(?=%s)", "%s+", punctuation).replace(",", ", ")
        if found.terminator:
            f = form(spelling, "%s" if found.name == "brx.idx" else "", guard)
        else:
            f = form(spelling, canonical, guard)
            problem = misfit_operands(f)
            if problem:
                self.source.error(problem, m.start(3))
                return None
        if f.op is UNKNOWN:
            self.source.warn_once(
                spelling, f"unknown instruction '{spelling}': taken to read and write "
                "all registers it names", m.start(3)
            )
        for word in unknown_modifiers(f):
            self.source.warn_once(
                f"{f.name}.{word}",
                f"unknown modifier '.{word}' of '{f.name}': its operands are taken as ever",
                m.start(3),
            )
        zero = []
        if "+" in canonical:
            slot = -1
            for k, c in enumerate(canonical):
                if c == "%":
                    slot += 1
                    if canonical[k - 1] == "+":
                        zero.append(slot)
        shape = OperandShape(f, tuple(zero))
        shape.signs = "-%s" in punctuation or "!%s" in punctuation
        if f.op is not UNKNOWN and any("|" in x for x in operand_parts(punctuation)[1:]):
            self.source.error("'|' stands between two results", m.start(3))
            return None
        first = next(iter(f.op.operands), None)
        if "|" in punctuation and f.op is not UNKNOWN and not (first and first.paired):
            shape.single = first is not None and first.role == DEF
            shape.refused = f"{spelling} has one result, not two with '|'"
        if "[%s%s" in punctuation:
            shape.refused = "an offset stands behind '+': [register+-4]"
        if len(_shapes) > _MAX_SHAPES:
            _shapes.clear()
        _shapes[spelling, raw, guard] = shape
        return shape

    def _odd_operands(self, m: re.Match[str]) -> None:
        """Constant expressions in operands are folded and the statement read again."""
        text = ",".join(fold_piece(p) for p in _fold_parentheses(m[4]).split(","))
        pieces = CLOSED.split(text)  # every second one is in brackets or braces
        pieces[::2] = [SYMBOL_OFFSET.sub(lambda x: self._offset(x, m), p) for p in pieces[::2]]
        text = "".join(pieces)
        if text != m[4]:
            self._reread(m, text)
            return
        run_on = re.search(r"\n\s*(?=@?!?[%\w$.]+(?:[\s;]|$))", m[4].rstrip())
        if run_on is not None:
            word = m[4][run_on.end():].split()[0].rstrip(";")
            self.source.error(f"expected ';' before '{word}'", m.start(4) + run_on.end())
            return
        self.source.error(f"cannot read the operands of '{m[3]}'", m.start(4))

    def _offset(self, m: re.Match[str], whole: re.Match[str]) -> str:
        """`symbol+4`, `array[1]` or `register+4` outside of an address: a name for what is meant.

        The assembler adds the number to the bits of a register, of whatever type. A load or store
        takes `array[1]` and `array[register]` as addresses.
        """
        symbol = self._named(m[1], whole)
        number = constant_expression(m[2] or m[4] or "0")
        if number is None or (m[3] and m[4] and m[4][0] != "+"):
            return m[0]
        if symbol.__class__ is int:
            sums = m[2] and self.raw.reg_types[symbol].bits in (16, 32, 64)
            return self._sum(symbol, number, whole) if sums else m[0]
        symbol = symbol or self.module.symbol(m[1], self.function)
        if not isinstance(symbol, Symbol) or isinstance(symbol, Function):
            return m[0]
        name, held = f"$address_{len(self.names)}", number
        if not m[2]:
            if not isinstance(symbol, Variable) or not symbol.dimensions:
                return m[0]
            held *= symbol.element_type.bits // 8
            f = form(whole[3], "", None)
            if m[3]:
                index = self._named(m[3], whole)
                bits = f.type.bits if f.name == "mov" and f.type is not None else 64
                if index.__class__ is not int or bits not in (32, 64):
                    return m[0]
                name = self._element(symbol, index, held, bits, whole)
            elif held:
                self.names[name] = SymbolOffset(symbol, held)
            else:
                self.names[name] = symbol
            return f"[{name}]" if f.kind in (OpKind.LOAD, OpKind.STORE) else name
        self.names[name] = SymbolOffset(symbol, held)
        return name

    def _named(self, name: str, whole: re.Match[str]) -> Any:
        """What a name met before or a register of a declared range stands for, or None."""
        found = self.names.get(name)
        if found is None and name.rstrip("0123456789") in self.prefixes:
            found = self._resolve(name, None, whole)
        return found

    def _sum(self, number: int, added: int, whole: re.Match[str]) -> str:
        """A register's bits and a number."""
        type = self.raw.reg_types[number]
        name = f"$sum_{len(self.names)}"
        bits = SCALARS[f"b{type.bits}"]
        if getattr(type, "is_float", False):
            number = self._made(whole, f"mov.{bits}", bits, number)
        added_bits = constant(IMM, added)
        self.names[name] = self._made(whole, f"add.s{type.bits}", bits, number, added_bits)
        return name

    def _element(
        self, array: Variable, index: int, offset: int, bits: int, whole: re.Match[str]
    ) -> str:
        """The address of an array's element: what is lacking of an index are zeros."""
        own = self.raw.reg_types[index].bits
        at = SCALARS[f"b{bits}"]
        if own != bits:
            index = self._made(whole, f"cvt.u{bits}.u{own}", at, index)
        first = SymbolOffset(array, offset) if offset else array
        start = self._made(whole, f"mov.u{bits}", at, first)
        size = constant(IMM, array.element_type.bits // 8)
        name = f"$element_{len(self.names)}"
        self.names[name] = self._made(whole, f"mad.lo.s{bits}", at, index, size, start)
        return name

    def _made(self, whole: re.Match[str], spelling: str, type: Any, *operands: Any) -> int:
        """The register of an instruction that a statement's operand stands for."""
        made = self.new_register(f"$made_{len(self.raw.reg_names)}", type)
        block = self.current or self._begin_block(None)
        shape = ", ".join(["%s"] * (len(operands) + 1))
        line = self._line_at(whole.start(3))
        block.items.append((form(spelling, shape, None), (made,), operands, None, self.loc, line))
        return made

    def _reread(self, m: re.Match[str], operands: str) -> None:
        """Read a statement again with other operand text; errors keep the old place."""
        self._instruction(Restated(m, m[3], operands))  # type: ignore[arg-type]

    def _expand_vectors(self, m: re.Match[str], parts: list[str]) -> bool:
        """A vector register as an operand stands for the tuple of its elements."""
        changed = False
        for k in range(1, len(parts), 2):
            n = self._vector(parts[k])
            if n:
                parts[k] = "{" + ",".join(f"{parts[k]}.{c}" for c in "xyzw"[:n]) + "}"
                changed = True
        if changed:
            self._reread(m, "".join(parts))
        return changed

    def _special(self, m: re.Match[str], f: Form, parts: list[str], guard: str | None) -> None:
        """Branches, calls and unknown mnemonics: see flow.py."""
        raise NotImplementedError


_SIGNED = re.compile(r"([-!])\s*(0[xX][0-9a-fA-F]+U?|\.?\d[\w.]*)")


def _signed(m: re.Match[str]) -> str:
    """A literal with the sign before it: `- 1`, `!0`."""
    value = constant_expression(m[0])
    return str(value) if value is not None else f"{m[1]}{m[2]}"


def _fold_parentheses(text: str) -> str:
    """Expressions in parentheses as their numbers, up to one that has none."""
    out, done = [], 0
    while (at := text.find("(", done)) >= 0:
        depth, end = 0, at
        for end in range(at, len(text)):
            depth += (text[end] == "(") - (text[end] == ")")
            if depth == 0:
                break
        value = constant_expression(text[at : end + 1]) if depth == 0 else None
        if value is None:
            break
        out.append(f"{text[done:at]}{value}")
        done = end + 1
    return "".join(out) + text[done:]


_shapes: dict[tuple[str, str, str | None], OperandShape] = {}
_MAX_SHAPES = 1 << 16
_ZERO = constant(IMM, 0)
