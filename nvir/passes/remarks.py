"""Remarks: what a pass decided, where, and the numbers that decided it.

A remark is data first. Its message is a template of the pass filled with the
arguments, so text, JSON and YAML cannot disagree. Each pass has a closed set of
`Code`s, named in its row of the registry; the driver refuses any other.

    NOT_HOISTED = missed("NotHoisted", "{what} stays: {reason} at line {line}")
    ctx.remark(NOT_HOISTED, instruction, what="ld.global.f32", reason="a store", line=101)

`{count:stays|stay}` is the first word where count is 1, else the second.

YAML is LLVM's remark format (`--- !Missed` … `...`), which opt-viewer and
opt-stats read. Strings are quoted always, so no value can be taken for a
number, a date or a tag.
"""

from __future__ import annotations

import functools
import json
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import attrs

if TYPE_CHECKING:
    from nvir.ir import Function, Instruction, Location

Kind = Literal["passed", "missed", "analysis", "failure"]
KINDS: tuple[Kind, ...] = ("passed", "missed", "analysis", "failure")
Scalar = bool | int | float | str | None

_NUMBERED = re.compile(r"\{\w+:[^|{}]*\|([^|{}]*)\}")


class _Formatter(string.Formatter):
    """Also fields of the form `{count:one|many}`; None is what is not known."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if value is None:
            return "unknown"
        one, bar, many = format_spec.partition("|")
        return (one if value == 1 else many) if bar else super().format_field(value, format_spec)


_FORMATTER = _Formatter()


@attrs.frozen
class Code:
    """One thing that a pass can say. `name` is the key; `number` a code of the real tool ("11")."""

    name: str
    kind: Kind
    template: str
    number: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the arguments that the template takes, in order."""
        return _fields(self.template)

    @property
    def text(self) -> str:
        """The template as a reference shows it: words in the plural."""
        return _NUMBERED.sub(r"\1", self.template)


@functools.cache
def _fields(template: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f for _, f, _, _ in _FORMATTER.parse(template) if f))


def passed(name: str, template: str, number: str = "") -> Code:
    """The code of a transformation that was made."""
    return Code(name, "passed", template, number)


def missed(name: str, template: str, number: str = "") -> Code:
    """The code of a transformation that was not made, with the reason."""
    return Code(name, "missed", template, number)


def analysis(name: str, template: str, number: str = "") -> Code:
    """The code of a fact that was found out."""
    return Code(name, "analysis", template, number)


def failure(name: str, template: str, number: str = "") -> Code:
    """The code of a transformation that the user demanded and that could not be made."""
    return Code(name, "failure", template, number)


@attrs.frozen
class Remark:
    """One decision.

    loop        label of the loop's header, "" where it concerns none
    file, line, column   source place; "" and 0 where the input has none
    args        names and values of the template's fields, in their order
    """

    code: Code
    pass_name: str
    function: str
    args: Mapping[str, Scalar]
    loop: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    @property
    def kind(self) -> Kind:
        return self.code.kind

    @property
    def name(self) -> str:
        return self.code.name

    @property
    def message(self) -> str:
        return _FORMATTER.vformat(self.code.template, (), self.args)

    def __str__(self) -> str:
        """`file:line:col: remark: message [pass, function, loop]`, as compilers print it."""
        where = f"{self.file or '<unknown>'}:{self.line}:{self.column}: " if self.line else ""
        number = f"code {self.code.number}: " if self.code.number else ""
        loop = f", loop {self.loop}" if self.loop else ""
        label = "" if self.kind == "passed" else f"{self.kind}: "
        return (
            f"{where}remark: {label}{number}{self.message} "
            f"[{self.pass_name}, {self.function}{loop}]"
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of the remark; absent places are null."""
        return {
            "kind": self.kind,
            "pass": self.pass_name,
            "name": self.name,
            "code": self.code.number or None,
            "function": self.function,
            "loop": self.loop or None,
            "file": self.file or None,
            "line": self.line or None,
            "column": self.column or None,
            "args": dict(self.args),
            "message": self.message,
        }

    def to_yaml(self) -> str:
        """One document of LLVM's remark format, with its closing `...`."""
        out = [f"--- !{self.kind.capitalize()}"]
        out += [f"{'Pass:':<16} {quote(self.pass_name)}", f"{'Name:':<16} {quote(self.name)}"]
        if self.line:
            place = f"File: {quote(self.file)}, Line: {self.line}, Column: {self.column}"
            out.append(f"{'DebugLoc:':<16} {{ {place} }}")
        out += [f"{'Function:':<16} {quote(self.function)}", "Args:"]
        out += [f"  - {_key(key)}: {quote(text)}" for key, text in self._pieces()]
        if self.loop:
            out.append(f"  - Loop: {quote(f' (loop {self.loop})')}")
        return "\n".join([*out, "...", ""])

    def _pieces(self) -> Iterator[tuple[str, str]]:
        """The message cut at its arguments: viewers join the values again."""
        if self.code.number:
            yield "Code", self.code.number
            yield "String", ": "
        for text, name, spec, conversion in _FORMATTER.parse(self.code.template):
            if text:
                yield "String", text
            if name:
                value = _FORMATTER.convert_field(self.args[name], conversion)
                yield "String" if "|" in (spec or "") else name, _FORMATTER.format_field(
                    value, spec or ""
                )


class Remarks(Sequence[Remark]):
    """Remarks in the order in which they were made."""

    def __init__(self, items: Iterable[Remark] = ()) -> None:
        self._items = list(items)

    @overload
    def __getitem__(self, index: int) -> Remark: ...
    @overload
    def __getitem__(self, index: slice) -> Remarks: ...
    def __getitem__(self, index: int | slice) -> Remark | Remarks:
        return Remarks(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remarks) and self._items == other._items

    __hash__ = None  # type: ignore[assignment]  # it can grow

    def __repr__(self) -> str:
        return f"<Remarks: {len(self)}>"

    def add(self, remark: Remark) -> None:
        self._items.append(remark)

    def truncate(self, length: int) -> None:
        """Drop what was added beyond `length`: a failed pass has decided nothing."""
        del self._items[length:]

    def filter(
        self, passes: str | re.Pattern[str] = "", *, kind: Kind | None = None,
        function: str | None = None, loop: str | None = None,
    ) -> Remarks:
        """Those of passes whose name holds the regular expression `passes`, and so on."""
        wanted = re.compile(passes)
        return Remarks(
            r for r in self._items
            if wanted.search(r.pass_name)
            and (kind is None or r.kind == kind)
            and (function is None or r.function == function)
            and (loop is None or r.loop == loop)
        )

    def to_text(self) -> str:
        """One line a remark."""
        return "".join(f"{r}\n" for r in self._items)

    def to_json(self, indent: int | None = 2) -> str:
        body = {"schema": "nvir.remarks/1", "remarks": [r.to_dict() for r in self._items]}
        return json.dumps(body, indent=indent, ensure_ascii=False)

    def to_yaml(self) -> str:
        """LLVM's remark file: one document a remark."""
        return "".join(r.to_yaml() for r in self._items)


# ---------------------------------------------------------------- spelling

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_PRINTABLE = r"[\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])


def quote(text: str) -> str:
    """A YAML scalar that every reader takes as exactly this string."""
    if re.fullmatch(_PRINTABLE, text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(_escape(c) for c in text) + '"'


def _escape(c: str) -> str:
    if c in _ESCAPES:
        return _ESCAPES[c]
    if re.fullmatch(_PRINTABLE, c):
        return c
    n = ord(c)
    return f"\\x{n:02x}" if n < 0x100 else f"\\u{n:04x}" if n < 0x10000 else f"\\U{n:08x}"


def _key(text: str) -> str:
    plain = _PLAIN_KEY.fullmatch(text) and text.lower() not in _RESERVED
    return text if plain else quote(text)


# ------------------------------------------------------------------ places

# Where a block has no places at all, many remarks on it would look for one up to its head each.
LOOK_BACK = 64


def locate(function: Function, where: Any) -> tuple[str, str, int, int]:
    """(loop header, file, line, column) of an instruction, block, loop or None (the function).

    The source place that `.loc` gives, else the line of the text that was read.
    An instruction that has neither takes the nearest before it in its block; a
    block takes its first instruction's.
    """
    header = getattr(where, "header", None)  # a Loop
    label = header.name if header is not None else ""
    loc, line = _place(function, where if header is None else header)
    if loc is not None:
        return label, file_name(function, loc.file), loc.line, loc.col
    module = function.module
    return label, (module.name if line and module is not None else ""), line, 0


def _place(function: Function, where: Any) -> tuple[Location | None, int]:
    if where is None:
        return None, function.loc if isinstance(function.loc, int) else 0
    line = 0
    i = where
    if hasattr(where, "first"):  # a Block
        if where.loc is not None:
            return where.loc, 0
        line, i = where.line, where.first
        while i is not None and i.loc is None:
            line = line or i.line
            i = i.next
    else:
        for _ in range(LOOK_BACK):
            if i is None or i.loc is not None:
                break
            line = line or i.line
            i = i.prev
    return (i.loc if i is not None else None), line


def line_of(i: Instruction) -> int:
    """The source line of an instruction, else its line in the text that was read; 0: neither."""
    return i.loc.line if i.loc is not None else i.line


def place_of(i: Instruction) -> str:
    """The place of an instruction in words: "sgemm.cu:26", else "line 93" of the text."""
    function = i.block.function if i.block is not None else None
    if i.loc is not None and function is not None:
        name = file_name(function, i.loc.file).rpartition("/")[2]
        if name:
            return f"{name}:{i.loc.line}"
    return f"line {line_of(i)}"


def file_name(function: Function, number: int) -> str:
    """The name that `.file` gives to a number, "" where it gives none."""
    if function.module is None:
        return ""
    return next((name for n, name, _ in function.module.debug.files if n == number), "")
