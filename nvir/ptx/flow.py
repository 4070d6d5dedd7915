"""Branches, calls and unknown mnemonics: instructions whose form does not fix their layout."""

from __future__ import annotations

import re
from typing import Any

from nvir.ir import SCALARS, UNKNOWN, CallInfo, Form, Function, Loose, form, undef
from nvir.ptx.names import LabelScope
from nvir.ptx.operands import Operands
from nvir.ptx.source import PtxText

_CALL = re.compile(
    r"\s*(?:\([^()]*\)\s*,\s*)?[^\s,()]+\s*(?:,\s*\([^()]*\)\s*)?(?:,\s*[\w$%]+\s*)?$"
)


class Flow(Operands):
    """Ends blocks, and lays out calls. `tables` are `.branchtargets` by label."""

    def __init__(self, source: PtxText, module: Any, function: Any) -> None:
        super().__init__(source, module, function)
        self.tables: dict[str, tuple[list[str], LabelScope]] = {}

    def _end_block(self, raw: Any, targets: list[Any], falls_through: bool) -> None:
        block = self._block()
        block.term, block.targets, block.falls_through = raw, targets, falls_through
        self.current = None
        if falls_through:
            self._begin_block(None)

    def _special(self, m: re.Match[str], f: Form, parts: list[str], guard: str | None) -> None:
        name = f.name
        line = self._line_at(m.start(3))
        p: tuple[Any, ...] = ()
        if guard is not None:
            g = self._guard(m[2], m)
            if g is None:
                return
            p = (g,)
        if f.is_call:
            self._call(m, f, p, line)
        elif f.op is UNKNOWN:
            self._unknown(m, f, parts, p, line)
        elif name == "bra":
            atoms = parts[1::2]
            if len(atoms) != 1 or not re.match(r"\s*[\w$%]+\s*$", m[4]):
                self.source.error("expected one label to branch to", m.start(4))
                return
            target = (atoms[0], self.scope, m.start(4))
            self._end_block((f, p, self.loc, line), [target], guard is not None)
        elif name == "brx.idx":
            self._indexed_branch(m, f, parts, p, line)
        else:  # ret, exit
            if m[4].strip():
                self.source.error(f"'{name}' takes no operands", m.start(4))
                return
            self._end_block((f, p, self.loc, line), [], guard is not None)

    def _indexed_branch(
        self, m: re.Match[str], f: Form, parts: list[str], p: tuple[Any, ...], line: int
    ) -> None:
        atoms = parts[1::2]
        table = self.tables.get(atoms[1]) if len(atoms) == 2 else None
        if table is None:
            self.source.error("expected an index and the label of a .branchtargets", m.start(4))
            return
        index = self.names.get(atoms[0])
        if index is None:
            index = self._resolve(atoms[0], f, m)
        if index is None:
            return
        target = (table[0], table[1], m.start(4))
        self._end_block((f, (index, *p), self.loc, line), [target], bool(p))

    def _unknown(
        self, m: re.Match[str], f: Form, parts: list[str], p: tuple[Any, ...], line: int
    ) -> None:
        values = []
        for atom in parts[1::2]:
            v = self.names.get(atom)
            if v is None:
                v = self._resolve(atom, f, m)
                if v is None:
                    return
            values.append(v)
        registers = list(dict.fromkeys(v for v in values if v.__class__ is int and v >= 0))
        n = len(values)
        ties = [(k, values.index(r)) for k, r in enumerate(registers)]
        operands = tuple(
            v if v.__class__ is not int or v >= 0 else undef(SCALARS["b32"]) for v in values
        )
        if p:
            ties += [(k, n + 1 + k) for k in range(len(registers))]
            operands += (*p, *registers)
        aux = Loose(n, n if p else -1, tuple(ties))
        block = self._block()
        block.items.append((f, tuple(registers), operands, aux, self.loc, line))

    def _call(self, m: re.Match[str], f: Form, p: tuple[Any, ...], line: int) -> None:
        """`call (results), target, (arguments), prototype`, all but the target optional."""
        if not _CALL.match(m[4]):
            self.source.refuse("expected 'call (RESULTS), TARGET, (ARGUMENTS), PROTOTYPE' with "
                               "commas between them", m.start(4))
        groups = re.findall(r"\(([^()]*)\)|([^\s,()]+)", m[4])
        fields = [(g, None) if not name else (None, name) for g, name in groups]
        results: list[Any] = []
        if fields and fields[0][1] is None:
            results = self._list(fields.pop(0)[0] or "", f, m)
        if not fields or fields[0][1] is None:
            self.source.error("expected a function to call", m.start(4))
            return
        target_name = fields.pop(0)[1] or ""
        target = self._atom(target_name, f, m)
        arguments: list[Any] = []
        if fields and fields[0][1] is None:
            arguments = self._list(fields.pop(0)[0] or "", f, m)
        prototype = fields.pop(0)[1] if fields else None
        if target is None or None in results or None in arguments:
            return
        if prototype is not None and prototype not in self.function.prototypes:
            self.source.error(f"undeclared prototype '{prototype}'", m.start(4))
            return
        indirect = target.__class__ is int
        if not indirect and not isinstance(target, Function):
            self.source.error(f"'{target_name}' is no function to call", m.start(4))
            return
        in_registers = [r for r in results if r.__class__ is int]
        info = CallInfo(
            callee=None if indirect else target,
            return_params=tuple(r for r in results if r.__class__ is not int),
            prototype=prototype,
        )
        operands = ((target,) if indirect else ()) + tuple(arguments)
        info.n_sources = len(operands)
        if p:
            info.guard_index = len(operands)
            n = len(operands) + 1
            info.ties = tuple((k, n + k) for k in range(len(in_registers)))
            operands += (*p, *in_registers)
        block = self._block()
        call = form(f.spelling, "", f.guard)
        block.items.append((call, tuple(in_registers), operands, info, self.loc, line))

    def _atom(self, atom: str, f: Form, m: re.Match[str]) -> Any:
        v = self.names.get(atom)
        return v if v is not None else self._resolve(atom, f, m)

    def _list(self, text: str, f: Form, m: re.Match[str]) -> list[Any]:
        atoms = [a.strip(" \t\n\r{}") for a in text.split(",")]  # braces: of a vector register
        if len(atoms) > 1 and "" in atoms:
            self.source.refuse("expected an operand between ','", m.start(4))
        return [self._atom(a, f, m) for a in atoms if a]
