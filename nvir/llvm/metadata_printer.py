"""Metadata as text: numbered nodes, made as they are asked for.

Annotations of kernels (LLVM 7), named metadata, loops, and line tables: a compile unit, files, a
subprogram for each function with places, and the places themselves.
"""

from __future__ import annotations

from typing import Any

from nvir.ir import Block, Function, Instruction, Location, Module, Symbol, Unsupported, Value
from nvir.ir.nvvm_values import DEBUG_DECLARE
from nvir.llvm.lexer import quoted
from nvir.llvm.metadata import LAUNCH, VARIABLE_MARKS
from nvir.llvm.spell import Speller

_LAUNCH_NAMES = {place: name for name, place in LAUNCH.items()}


class MetadataPrinter:
    """The nodes of one module."""

    def __init__(self, module: Module, spell: Speller) -> None:
        self.module, self.spell = module, spell
        self.inline = False
        self.nodes: list[str] = []
        self.named: dict[str, list[str]] = {}
        self._known: dict[str, str] = {}
        self._loops: dict[tuple[Any, ...], str] = {}
        self._scopes: dict[tuple[Function, int], str] = {}
        self._places: dict[tuple[Function, Location], str] = {}
        self._files: dict[int, str] = {}
        self._unit = ""

    def add(self, content: str) -> str:
        """The number of a node of that content, as `!5`; `inline`, the node where it is named."""
        if self.inline:
            return content
        known = self._known.get(content)
        if known is None:
            known = self._known[content] = self._new(content)
        return known

    def _new(self, content: str) -> str:
        self.nodes.append(content)
        return f"!{len(self.nodes) - 1}"

    def element(self, x: Any, depth: int = 0) -> str:
        """What a tuple of metadata holds: `null`, `!"text"`, `i32 5`, `!7`."""
        if depth > 64:
            raise Unsupported("metadata nested deeper than 64", "nvvm")
        if x is None:
            return "null"
        if isinstance(x, str):
            return f"!{quoted(x)}"
        if isinstance(x, int):
            return f"i32 {x}"
        if isinstance(x, Symbol):
            return f"{self.spell.symbol_type(x)} {self.spell.symbol(x)}"
        if isinstance(x, Value):
            return self.spell.typed_constant(x)
        if isinstance(x, tuple | list):
            return self.add(f"!{{{', '.join(self.element(y, depth + 1) for y in x)}}}")
        raise Unsupported(f"metadata of class {x.__class__.__name__}", "nvvm")

    # -------------------------------------------------------- the module's

    def declare(self) -> None:
        """Version, annotations and what the module keeps."""
        self.named["nvvmir.version"] = [self.add("!{i32 2, i32 0}")]
        annotations = self.named.setdefault("nvvm.annotations", [])
        for f in self.module.functions:
            pairs = self._launch(f)  # beside the attributes: LLVM 19 reads these alone
            if pairs:
                annotations.append(self._annotation(f, pairs))
            mark = ("nvvm.grid_constant", "")
            constants = [k + 1 for k, a in enumerate(f.arguments) if mark in a.attributes]
            if constants and self.spell.typed:
                node = self.add(f"!{{{', '.join(f'i32 {k}' for k in constants)}}}")
                annotations.append(self._annotation(f, [f'!"grid_constant", {node}']))
        for v in self.module.globals:
            marks = [f'!"{m}", i32 1' for m in VARIABLE_MARKS if m in v.attributes]
            if marks:
                annotations.append(self._annotation(v, marks))
        kept = self.module.aux.get("metadata", {}) if isinstance(self.module.aux, dict) else {}
        for name, nodes in kept.items():
            self.named.setdefault(name, []).extend(self.element(n) for n in nodes)
        if not annotations:
            del self.named["nvvm.annotations"]

    def _annotation(self, s: Symbol, pairs: list[str]) -> str:
        head = f"{self.spell.symbol_type(s)} {self.spell.symbol(s)}"
        return self.add(f"!{{{', '.join((head, *pairs))}}}")

    def _launch(self, f: Function) -> list[str]:
        pairs = ['!"kernel", i32 1'] if self.spell.typed and f.kind == "entry" else []
        for directive, sizes in f.directives.items():
            for k, n in enumerate(sizes):
                name = _LAUNCH_NAMES.get((directive, k))
                if name:
                    pairs.append(f'!"{name}", i32 {n}')
        return pairs

    # --------------------------------------------------------------- loops

    def loop(self, latch: Block, properties: tuple[Any, ...]) -> str:
        """The node of a latch's loop; latches of one header and properties share it."""
        order = latch.function.blocks
        last = latch.terminator
        before = set(order[: order.index(latch) + 1])
        back = [b for b in (last.aux if last is not None else ()) if b in before]
        key = (latch.function, back[0] if back else latch, properties)
        known = self._loops.get(key)
        if known is None:
            known = self._loops[key] = self._new("")
            inner = "".join(f", {self.element(p)}" for p in properties)
            self.nodes[int(known[1:])] = f"distinct !{{{known}{inner}}}"
        return known

    # --------------------------------------------------------------- places

    def place(self, i: Instruction, f: Function) -> str:
        """`, !dbg !5` of an instruction. A call without a place in a function that has some gets
        line 0, as LLVM asks."""
        if i.loc is None:
            if not (i.form.is_call and (f, 0) in self._scopes):
                return ""
            return f", !dbg {self._location(f, Location(0, 0, 0))}"
        return f", !dbg {self._location(f, i.loc)}"

    def _location(self, f: Function, loc: Location) -> str:
        known = self._places.get((f, loc))
        if known is None:
            scope = self._scope(f, loc.file)
            known = self._places[f, loc] = self.add(
                f"!DILocation(line: {loc.line}, column: {min(loc.col, 65535)}, scope: {scope})"
            )
        return known

    def subprogram(self, f: Function) -> str:
        """` !dbg !3` behind a function's head, if places of it are known."""
        first = next((i.loc for i in f.instructions() if i.loc is not None), None)
        if first is None:
            return ""
        file = self._file(first.file)
        empty = self.add("!{}")
        kind = self.add(f"!DISubroutineType(types: {empty})")
        node = self._new(
            f"distinct !DISubprogram(name: {quoted(f.name)}, scope: {file}, file: {file}, "
            f"line: {first.line}, type: {kind}, isLocal: false, isDefinition: true, "
            f"scopeLine: {first.line}, isOptimized: true, unit: {self._compile_unit(first.file)})"
        )
        self._scopes[f, 0] = self._scopes[f, first.file] = node
        return f" !dbg {node}"

    def parameter(self, f: Function, loc: Location, name: str, number: int, type: str, bits: int,
                  encoding: str) -> str:
        """The variable that a parameter is to a debugger; `encoding` "" is an aggregate's, whose
        members are left out."""
        kind = (f"DIBasicType(name: {quoted(type)}, size: {bits}, encoding: DW_ATE_{encoding})"
                if encoding else "DICompositeType(tag: DW_TAG_structure_type, "
                f"name: {quoted(type)}, size: {bits})")
        return self.add(
            f"!DILocalVariable(name: {quoted(name)}, arg: {number}, scope: {self._scopes[f, 0]}, "
            f"file: {self._file(loc.file)}, line: {loc.line}, type: {self.add(f'!{kind}')})"
        )

    def _scope(self, f: Function, file: int) -> str:
        known = self._scopes.get((f, file))
        if known is None:
            known = self._scopes[f, file] = self.add(
                f"!DILexicalBlockFile(scope: {self._scopes[f, 0]}, file: {self._file(file)}, "
                "discriminator: 0)"
            )
        return known

    def _file(self, number: int) -> str:
        known = self._files.get(number)
        if known is None:
            path = next((n for k, n, _ in self.module.debug.files if k == number), "<unknown>")
            directory, _, name = path.rpartition("/")
            known = self._files[number] = self.add(
                f"!DIFile(filename: {quoted(name)}, directory: {quoted(directory)})"
            )
        return known

    def _compile_unit(self, file: int) -> str:
        if not self._unit:
            self._unit = self._new(
                f"distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: {self._file(file)}, "
                'producer: "nvir", isOptimized: true, runtimeVersion: 0, '
                f"emissionKind: {self._emission()})"
            )
            self.named["llvm.dbg.cu"] = [self._unit]
            flags = self.named.setdefault("llvm.module.flags", [])
            flags.append(self.add('!{i32 2, !"Debug Info Version", i32 3}'))
        return self._unit

    def _emission(self) -> str:
        kept = self.module.aux if isinstance(self.module.aux, dict) else {}
        if any(f.name == DEBUG_DECLARE for f in self.module.functions):
            return "FullDebug"
        return "LineTablesOnly" if self.spell.typed else kept.get("emission", "LineTablesOnly")

    def lines(self) -> list[str]:
        out = [f"!{name} = !{{{', '.join(items)}}}" for name, items in self.named.items()]
        return out + [f"!{k} = {content}" for k, content in enumerate(self.nodes)]


