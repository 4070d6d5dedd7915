"""nvir's own text: lossless, one line an instruction, results with their types on the left.

    module ori target sm_80 version 8.0 address_size 64
    global @tile: shared [1024 x b8] align 4
    visible kernel @k(param @k_param_0: u64) directives {"maxntid": (256, 1, 1)} {
    entry:
      %rd1: b64 = ld.param.u64 [@k_param_0]
      {%f1: f32, %f2: f32} = ld.global.v2.f32 [%rd1+8]  !loc 1 20 5
      %p1: pred = setp.lt.f32 %f1, %f2
      @%p1 bra L1 else L2
    L1: pragmas ("nounroll")
      %f3: f32 = phi [%f1, entry], [%f3~2, L1]
      %f3~2: f32 = @!%p1 add.f32 %f3, 0f3F800000 else %f3
      ...

What stands where:

    results     as in PTX, with types; `_` for one without uses or a name to keep. Those that
                PTX does not write on its left have a `+`: tied ones, carry, a call's
    operands    the written sources of the form's shape; tied operands stand in their slots
    suffixes    `carry %0` (the flag that is read), `else ...` (fallbacks of a guard, or the
                second target), `-> L1, L2` (successors), `!loc`, `!marks`, `!aux`
    ~2          tells values (or symbols) of one name hint apart; no part of the name
    %0          a value without a hint
    ;           a comment to the end of the line

At `nvvm` the same grammar holds with LLVM's spelling and typed constants. Numbers are
given in the order of definitions, so printing what was read gives the same text.

Cost     two walks: one names what the instructions make, one collects templates, looked up
         by form and type, and what fills them; then one join and one filling a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from nvir.ir.block import Block
from nvir.ir.bulk import bulk
from nvir.ir.errors import Unsupported, expect
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.module import Module
from nvir.ir.special import special_names
from nvir.ir.symbols import Param, Variable, address_type
from nvir.ir.text.datum import (
    PLAIN_NAME,
    constant_text,
    datum_text,
    fields_of,
    label_text,
    offset_text,
    quoted,
    quoted_name,
    type_text,
)
from nvir.ir.text.print_body import block_lines
from nvir.ir.types import B64, VOID, StructType, Type
from nvir.ir.values import (
    Argument,
    Constant,
    Result,
    SpecialRegister,
    Symbol,
    SymbolOffset,
    Undef,
    Value,
)

_SPECIAL = frozenset(special_names())
_ONE_WORD = "|".join(n[1:] for n in sorted(_SPECIAL) if "." not in n)
# A hint that is its own text: a register's name, but no number and no special register.
_ORI_HINT = re.compile(rf"%(?!\d+\Z|(?:{_ONE_WORD})\Z)[A-Za-z0-9_$]+\Z").match
_known_plain: set[str] = set()  # hints that it has matched: files share most of theirs
_MAX_KNOWN = 1_000_000
_NO_HINT = re.compile(r"(?!)").match
_DOTTED = re.compile(r"[A-Za-z0-9_$]+(?:\.[A-Za-z0-9_$]+)*\Z")


def print_ir(module: Module) -> str:
    """The whole module as text. `parse_ir` gives an equal module back."""
    expect(module, Module)
    with bulk():
        names = TextNames(module.level)
        names.enter_module(module)
        out = _header(module, names)
        out += _named_types(module)
        for item in module.order:
            if isinstance(item, Function):
                _function(item, names, out)
            else:
                out.append(variable_text(item, names, module.address_size))
        out.append("")
        return "\n".join(out)


def text_of(thing: Module | Function | Instruction) -> str:
    """A module, a function or an instruction as text."""
    if isinstance(thing, Module):
        return print_ir(thing)
    return function_text(thing) if isinstance(thing, Function) else instruction_text(thing)


def function_text(function: Function) -> str:
    """One function as it stands in its module's text."""
    module = function.module
    names = TextNames(module.level if module is not None else _level(function))
    if module is not None:
        names.enter_module(module)
    out: list[str] = []
    _function(function, names, out)
    return "\n".join(out) + "\n"


def instruction_text(instruction: Instruction) -> str:
    """One instruction, with names as if it stood alone."""
    names = TextNames(instruction.form.op.level)
    out: list[str] = []
    marks = instruction.function.marks if instruction.function is not None else {}
    block_lines((instruction,), names, marks, out)
    return out[0].strip()


def _level(f: Function) -> str:
    return next((i.form.op.level for i in f.instructions()), "ori")


class TextNames(dict[Any, str]):
    """Value → its text, made when first asked for.

    `seen` counts the values of each hint, `hints` holds how it is spelled.
    """

    __slots__ = ("hints", "level", "plain", "seen", "unnamed")

    def __init__(self, level: str) -> None:
        self.level = level
        self.plain: Any = _ORI_HINT if level == "ori" else _NO_HINT
        self.seen: dict[str, int] = {}
        self.hints: dict[str, str] = {}
        self.unnamed = 0

    def enter_module(self, module: Module) -> None:
        """Give the module's symbols their names."""
        for item in (*module.globals, *module.functions):
            self.symbol(item)

    def local(self) -> TextNames:
        """The names of one function's body."""
        inner = TextNames(self.level)
        inner.update(self)
        inner.seen = dict(self.seen)
        return inner

    def enter_body(self, function: Function) -> None:
        """Name all that the instructions make, in the order of the text.

        No hint, and one that is its own text and new, need no call: they are the common cases.
        """
        seen = self.seen
        plain = _known_plain if self.level == "ori" else frozenset[str]()
        for b in function.blocks:
            i = b.first
            while i is not None:
                if i._results is not None:
                    for r in i._results:
                        if r._uses is not None or r.name != "_":
                            self[r]
                elif i.type is not VOID:
                    hint = i.name
                    if hint is None:
                        self[i] = f"%{self.unnamed}"
                        self.unnamed += 1
                    elif hint and hint in plain and hint not in seen:
                        self[i] = hint
                        seen[hint] = 1
                    elif i._uses is not None or hint != "_":
                        self[i]
                i = i.next

    def __missing__(self, v: Value) -> str:
        cls = v.__class__
        if cls is Instruction or cls is Result or cls is Argument:
            hint = v.name
            if hint is None:
                text = f"%{self.unnamed}"
                self.unnamed += 1
            elif hint in self.seen:
                self.seen[hint] = n = self.seen[hint] + 1
                text = f"{self.hints.get(hint, hint)}~{n}"
            elif self.plain(hint):
                self.seen[hint] = 1
                text = hint
                if len(_known_plain) < _MAX_KNOWN:
                    _known_plain.add(hint)
            else:
                text = self._first(hint)
        else:
            text = self.other(v)
        self[v] = text
        return text

    def _first(self, hint: str) -> str:
        """The text of the first value of a hint that is not its own spelling."""
        if self.level == "nvvm":
            plain = _DOTTED.match(hint) and not hint.isdigit()
            text = f"%{hint}" if plain else f"%{quoted_name(hint)}"
        elif hint in _SPECIAL:
            text = hint
        else:
            text = f"%{quoted_name(hint)}"
        self.hints[hint] = text
        self.seen[hint] = 1
        if text in _SPECIAL:
            self.seen[hint] = 2
            return f"{text}~2"
        return text

    def symbol(self, v: Symbol) -> str:
        """Give a symbol its name: its own, with a number where others have the same."""
        name = str(v.name)
        text = f"@{name}" if PLAIN_NAME.match(name) else f"@{quoted_name(name)}"
        self.seen[text] = count = self.seen.get(text, 0) + 1
        if count > 1:
            text = f"{text}~{count}"
        self[v] = text
        return text

    def other(self, v: Value) -> str:
        """The text of a constant, special register, or symbol that is declared nowhere."""
        if isinstance(v, Constant):
            return constant_text(v, self.__getitem__)
        if isinstance(v, Undef):
            text = type_text(v.type)
            return f"{text} {v.name}" if text[0].isalpha() else f"type {text} {v.name}"
        if isinstance(v, SpecialRegister):
            return v.name
        if isinstance(v, SymbolOffset):
            return offset_text(v, self.__getitem__)
        fields = fields_of(v)
        if fields is not None:  # of registered classes: constant expressions, inline assembly
            inner = (self.datum(getattr(v, n)) for n in fields)
            return f"{v.__class__.__name__}({', '.join(inner)})"
        if isinstance(v, Symbol):
            return self.symbol(v)
        raise Unsupported(f"a value of class {v.__class__.__name__} in nvir's own text")

    def datum(self, x: Any) -> str:
        return datum_text(x, self.__getitem__)


# ------------------------------------------------------------- declarations


def _header(module: Module, names: TextNames) -> list[str]:
    major, minor = module.version
    target = module.target if PLAIN_NAME.match(module.target) else quoted(module.target)
    text = f"module {module.level} target {target} version {major}.{minor}"
    text += f" address_size {module.address_size}"
    if module.name != "module":
        text += f" name {quoted(module.name)}"
    if module.target_options:
        text += f" options {names.datum(module.target_options)}"
    if module.pragmas:
        text += f" pragmas {names.datum(module.pragmas)}"
    if module.aux is not None:
        text += f" aux {names.datum(module.aux)}"
    out = [text]
    for number, name, rest in module.debug.files:
        out.append(f"file {number} {quoted(name)} {quoted(rest)}")
    if module.debug.producer:
        out.append(f"producer {quoted(module.debug.producer)}")
    for name, lines in module.debug.sections:
        out.append(f"section {quoted(name)} {names.datum(lines)}")
    return out


def variable_text(v: Variable, names: TextNames, address_size: int) -> str:
    """`global @tile: shared [1024 x b8] align 4`; a call's parameter starts with `param`."""
    kind, space = ("param", "") if isinstance(v, Param) else ("global", f"{v.space} ")
    text = f"{_linkage(v.linkage)}{kind} {names[v]}: {space}{type_text(v.value_type)}"
    return text + _variable_properties(v, names, address_size, 0)


def _linkage(linkage: str) -> str:
    return f"{linkage if PLAIN_NAME.match(linkage) else quoted(linkage)} " if linkage else ""


def _variable_properties(v: Variable, names: TextNames, address_size: int, index: int) -> str:
    out = f" align {v.align}" if v.align else ""
    if v.vector != 1:
        out += f" vector {v.vector}"
    if v.attributes:
        out += f" attributes {names.datum(v.attributes)}"
    if v.type is not address_type(address_size):
        out += f" address {type_text(v.type)}"
    if isinstance(v, Param) and v.index != index:
        out += f" index {v.index}"
    if v.loc is not None:
        out += f" loc {names.datum(v.loc)}"
    if v.init is not None:
        out += f" init {names.datum(v.init)}"
    return out


def _parameter(p: Any, index: int, names: TextNames, address_size: int) -> str:
    if isinstance(p, Argument):
        text = f"reg {names[p]}: {type_text(p.type)}"
        if p.attributes:
            text += f" attributes {names.datum(p.attributes)}"
        return text + (f" index {p.index}" if p.index != index else "")
    text = f"{_linkage(p.linkage)}param {names.symbol(p)}: {type_text(p.value_type)}"
    return text + _variable_properties(p, names, address_size, index)


def _head(f: Function, names: TextNames, size: int) -> str:
    params = [_parameter(p, k, names, size) for k, p in enumerate(f.params)]
    kind = "kernel" if f.kind == "entry" else "func"
    text = f"{_linkage(f.linkage)}{kind} {names[f]}({', '.join(params)})"
    if f.returns:
        returned = [_parameter(p, k, names, size) for k, p in enumerate(f.returns)]
        text += f" returns ({', '.join(returned)})"
    for key, value in (("directives", f.directives), ("pragmas", f.pragmas), ("flags", f.flags)):
        if value:
            text += f" {key} {names.datum(value)}"
    if f.return_type is not VOID:
        text += f" returns_type {type_text(f.return_type)}"
    if f.type is not B64:
        text += f" address {type_text(f.type)}"
    for key, value in (("loc", f.loc), ("aux", f.aux)):
        if value is not None:
            text += f" {key} {names.datum(value)}"
    return text


def _function(f: Function, module_names: TextNames, out: list[str]) -> None:
    names = module_names.local()
    size = f.module.address_size if f.module is not None else 64
    head = _head(f, names, size)
    if f.is_declaration and not f.locals and not f.prototypes:
        out.append(head)
        return
    out.append(head + " {")
    for v in f.locals:
        names.symbol(v)
    out.extend(f"  {variable_text(v, names, size)}" for v in f.locals)
    out.extend(f"  prototype {quoted(k)} {quoted(v)}" for k, v in f.prototypes.items())
    names.enter_body(f)
    for b in f.blocks:
        out.append(_label(b, names))
        block_lines(b, names, f.marks, out)
    out.append("}")


def _label(b: Block, names: TextNames) -> str:
    text = f"{label_text(b.name)}:"
    for key, value in (("pragmas", b.pragmas), ("flags", b.flags)):
        if value:
            text += f" {key} {names.datum(value)}"
    for key, datum in (("loc", b.loc), ("aux", b.aux)):
        if datum is not None:
            text += f" {key} {names.datum(datum)}"
    return text


def _named_types(module: Module) -> list[str]:
    """Definitions of the named structs that the module mentions, in the order met."""
    found: dict[str, StructType] = {}
    seen: set[int] = set()
    work: list[Any] = list(reversed(_roots(module)))
    while work:
        x = work.pop()
        if x is None or isinstance(x, int | str | Block | Function | Variable) or id(x) in seen:
            continue
        seen.add(id(x))
        label = x.label if isinstance(x, StructType) else None
        if label is not None and found.setdefault(label, x) is not x:
            raise Unsupported(f"two struct types named {label!r} in one module")
        if isinstance(x, Type):
            work.extend(getattr(x, slot, None) for slot in ("element", "result"))
            members: Iterable[Any] | None = getattr(x, "elements", None) or getattr(x, "params", ())
            work.extend(members or ())
        elif isinstance(x, dict):
            work.extend((*x, *x.values()))
        elif isinstance(x, tuple | list | frozenset | set):
            work.extend(x)
        else:
            if isinstance(x, Value):
                work += [x.type, getattr(x, "value", None)]
            work.extend(getattr(x, n) for n in fields_of(x) or ())
    return [_struct_definition(t) for t in found.values()]


def _roots(module: Module) -> list[Any]:
    """All that may mention a named struct; the instructions of `ori` cannot."""
    out: list[Any] = [module.aux]
    for v in module.globals:
        out += [v.value_type, v.type, v.init]
    for f in module.functions:
        out += [f.return_type, f.aux, *(p.type for p in f.params)]
        out += [v.value_type for v in f.locals]
        out += [p.value_type for p in (*f.params, *f.returns) if isinstance(p, Param)]
        out += [p.attributes for p in f.arguments]
        if module.level == "nvvm":
            for i in f.instructions():
                out += [i.type, i.aux, *i._operands]
    return out


def _struct_definition(t: StructType) -> str:
    body = "opaque"
    if t.elements is not None:
        body = f"{{{', '.join(type_text(e) for e in t.elements)}}}"
        body = f"packed {body}" if t.packed else body
    return f"struct {type_text(t)} {body}"
