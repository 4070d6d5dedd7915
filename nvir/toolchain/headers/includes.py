"""What a CUDA source includes: its own files are read, headers of others are named.

    Own(text, name, options)   the source, and what it includes beside it or in folders of -I
    Own.reached(...)           the headers of others that clang will read for certain, in order
    Own.refuse()               where one means no regular file

Nothing is preprocessed: of `#if` only what macros tell that are known is, and what hangs on others
is left out. Who takes a header as read must let clang say that it was.
"""

from __future__ import annotations

import functools
import operator
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from nvir.ir.errors import Diagnostic, ParseError

_COMMENT = re.compile(  # or a literal, in which none begins
    r"//[^\n]*|/\*.*?\*/|(R\"(?P<end>\w*)\(.*?\)(?P=end)\"|"
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])')", re.S)
_SPLICED = re.compile(r"\\[ \t]*\r?\n")  # a line that goes on, which clang joins first
_DIRECTIVE = re.compile(
    r"^[ \t\f\v]*(?:#|%:|\?\?=)[ \t\f\v]*(include_next|__include_macros|include|import|embed|"
    r"ifn?def|if|elif|else|endif|define|undef|pragma)\b"
    r"((?:[^\\\n]|\\\r?\n|\\.)*)", re.M)
_HEADER = re.compile(r"\s*(<[^>\n]+>|\"[^\"\n]+\")")
_ANY_HEADER = re.compile(r"<[^>\n]+>|\"[^\"\n]+\"|[\w./-]+")  # bare, as `#` makes a text of it
_DEPENDENCY = re.compile(r"\bGCC\s+dependency\b\s*([^\n]*)")
# these read a file, too, whose headers are not followed: `odd` alone asks for them
_ALSO_READ = ("include_next", "__include_macros", "import", "embed")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_WORD = re.compile(r"[A-Za-z_]\w*")
PARTS = {  # parts of CUDA's headers that clang reads before a source and few name
    "TEXTURES": re.compile(r"\b(?:tex|surf)(?:[123]D|Cube|(?:ture|ace)_ind|\s*##)"),
    "CURAND": re.compile("curand"),
}
_INNERMOST = re.compile(r"(\w*)\s*\(([^()]*)\)")
_COMPARED = re.compile(r"(\w+)\s*([<>]=?|[!=]=)\s*(\w+)")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
            "==": operator.eq, "!=": operator.ne}
_MOST, _DEEPEST = 500, 100  # files that are read, and that include each other
_NO, _PERHAPS, _YES = 0, 1, 2


@attrs.frozen
class Reached:
    """Headers of others as a source names them, `<vector>`, each with its number in their order.
    Macros that are defined, and words in conditions and of `#undef`: how many headers come first.
    `plain`: which of the macros stand for something without parentheses behind."""

    headers: dict[str, int]
    defined: dict[str, int]
    tested: dict[str, int]
    plain: set[str]


class Own:
    """A source and its own headers. `named`: the others that these include, whatever `#if` they
    stand in; `wants`: of the PARTS those that are mentioned."""

    def __init__(self, text: str, name: str, options: Sequence[str]) -> None:
        self.text, self.name = text, name
        self.top = Path(name)
        self.before = [x for option, x in pairs(options) if option == "-include"]
        given = [Path(f) for option, f in pairs(options) if option == "-I"]
        # CUDA's headers are no project's, though its options name their folder
        self.cuda = [f for f in given if os.path.isfile(f / "cuda_runtime.h")]
        self.folders = [f for f in given if f not in self.cuda]
        self.others = [Path(f) for option, f in pairs(options)
                       if option in ("-iquote", "-isystem", "-idirafter")]
        self.named: dict[str, None] = {}
        self.macros: dict[str, list[tuple[Path, str]]] = {}  # where, and what they stand for
        self.computed: list[tuple[Path, str]] = []  # where, and what stands behind `#include`
        for option, x in pairs(options):
            if option == "-D":
                self._note("define", x.replace("=", " ", 1), self.top)
        self.held: dict[Path, frozenset[str]] = {}  # what is in the folders that were asked
        self.files: dict[Path, list[tuple[str, str]]] = {}
        self.odd: list[tuple[Path, str]] = []  # files, and what they include that is no regular one
        self.files[self.top], self.wants = _directives(text)
        self.odd += [(self.top, f'"{x}"') for x in self.before if self._is_odd(f'"{x}"', self.top)]
        todo = [self.top, *filter(None, (self.find(f'"{x}"', self.top) for x in self.before))]
        seen = set(todo)
        while todo:
            path = todo.pop()
            if path not in self.files:
                known = path.stat()
                self.files[path], wants = _of_file(path, known.st_mtime_ns, known.st_size)
                self.wants |= wants
            for word, rest in self.files[path]:
                header = _HEADER.match(rest) if word == "include" else None
                if header is None:
                    self._note(word, rest, path)
                    continue
                own = self.find(header[1], path)
                if own is None:
                    if self._is_odd(header[1], path):
                        self.odd.append((path, header[1]))
                    self.named[header[1][1:-1]] = None
                elif own not in seen and len(seen) < _MOST:
                    seen.add(own)
                    todo.append(own)
        self._of_macros()

    def _note(self, word: str, rest: str, path: Path) -> None:
        """What macros are defined as, and what names a file in another way than an include."""
        if word == "define" and (m := _WORD.match(rest.lstrip())):
            self.macros.setdefault(m[0], []).append((path, rest.lstrip()[m.end() :]))
            return
        if word == "pragma":
            rest = m[1].replace("\\", "") if (m := _DEPENDENCY.search(rest)) else ""
        elif word not in ("include", *_ALSO_READ) or (word == "embed" and "limit" in rest):
            return
        if not (m := _HEADER.match(rest)):
            self.computed.append((path, rest))
        elif self._is_odd(m[1], path):
            self.odd.append((path, m[1]))

    def _of_macros(self) -> None:
        """Where an include names a macro, any header may be meant that is in what it and those in
        it were defined as, ever."""
        for path, rest in self.computed:
            todo, seen = [(path, rest)], set[str]()
            while todo:
                where, text = todo.pop()
                self.odd += [(where, name) for name in _ANY_HEADER.findall(text)
                             if self._is_odd(name if name[0] in '<"' else f'"{name}"', path)]
                words = set(_WORD.findall(text)) & self.macros.keys() - seen
                seen |= words
                todo += [place for name in sorted(words) for place in self.macros[name]]

    def find(self, header: str, where: Path) -> Path | None:
        """The own file that an include in another means, if it is one."""
        return next((p for p in self._places(header, where) if stat.S_ISREG(_mode(p))), None)

    def _is_odd(self, header: str, where: Path) -> bool:
        name = header[1:-1]
        further = [f / name for f in (*self.others, *self.cuda)] + [Path(name)] * (name[:1] == "/")
        modes = map(_mode, (*self._places(header, where), *further))
        return any(m and not stat.S_ISREG(m) and not stat.S_ISDIR(m) for m in modes)

    def refuse(self) -> None:
        """Raise ParseError where an include means a device or a pipe, which may have no end."""
        for path, header in self.odd:
            text = self.text if path == self.top else path.read_text("utf-8", "replace")
            lines = text.split("\n")
            spelled = header if header in text else header.strip('<>"')  # `\\"` in a _Pragma
            rows = [k for k, line in enumerate(lines) if spelled in line]
            row = next((k for k in rows if "include" in lines[k]), rows[0] if rows else None)
            at = (0, 0, "") if row is None else (row + 1, lines[row].index(spelled) + 1, lines[row])
            raise ParseError(Diagnostic(f"{header} is not a regular file", str(path), *at))

    def _places(self, header: str, where: Path) -> Iterator[Path]:
        """Where a header of the project may be, in order."""
        near = [where.parent, self.top.parent] if header[0] == '"' else []
        name = header[1:-1]
        return (f / name for f in (*near, *self.folders) if self._may_hold(f, name))

    def _may_hold(self, folder: Path, name: str) -> bool:
        """Whether a look is worth it: most folders hold nothing of what a header's name begins
        with."""
        if folder not in self.held:
            try:
                self.held[folder] = frozenset(os.listdir(folder))
            except OSError:
                self.held[folder] = frozenset()
        first = name.partition("/")[0]
        return first in self.held[folder] or first in ("", ".", "..")

    def reached(self, options: Sequence[str], macros: Mapping[str, str]) -> Reached:
        """The headers that are included for certain. `macros`: those that are there before, with
        their text; what no file here defines and is not among these is taken as undefined."""
        return _Reading(self, options, macros).made


def _mode(path: Path) -> int:
    """What kind of file is there; 0 where none is."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


@functools.lru_cache(1000)
def _of_file(path: Path, _time: int, _size: int) -> tuple[list[tuple[str, str]], frozenset[str]]:
    return _directives(path.read_text("utf-8", "replace"))


def _directives(text: str) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """The directives of a text, and the parts that it mentions."""
    bare = _COMMENT.sub(lambda m: m[1] or " ", _SPLICED.sub("", text))
    told = [("pragma", m[0]) for m in _DEPENDENCY.finditer(bare)] if "_Pragma" in bare else []
    return ([(m[1], m[2]) for m in _DIRECTIVE.finditer(bare)] + told,
            frozenset(part for part, named in PARTS.items() if named.search(text)))


class _Reading:
    """One way through the directives of a source, as clang takes it."""

    def __init__(self, own: Own, options: Sequence[str], macros: Mapping[str, str]) -> None:
        self.own = own
        self.state = dict.fromkeys(macros, _YES)
        self.number = {**macros}
        for option, text in pairs(options):
            if option in ("-D", "-U"):
                name, _, value = text.partition("=")
                self.state[name] = _YES if option == "-D" else _NO
                self.number[name] = value if "=" in text else "1"
        self.made = Reached({}, {}, {}, set())
        self.once: set[Path] = set()
        self.certain = _YES
        for name in own.before:
            self._include(f'"{name}"', own.top, _YES, 0)
        self._file(own.top, _YES, 0)

    def _file(self, path: Path, sure: int, depth: int) -> None:
        if path in self.once or depth > _DEEPEST:
            return
        branches: list[tuple[int, int]] = []  # of each `#if`: is this one taken, was one up to here
        for word, rest in self.own.files.get(path, ()):
            outer = min([sure, *(b[0] for b in branches[:-1])])
            live = min(outer, branches[-1][0] if branches else _YES)
            if word.startswith("if"):
                test = self._test(word, rest, live)
                branches.append((test, test))
            elif word in ("elif", "else"):
                if branches:
                    taken = branches[-1][1]
                    test = _YES if word == "else" else self._test("if", rest, min(outer, 2 - taken))
                    branches[-1] = min(2 - taken, test), max(taken, test)
            elif word == "endif":
                del branches[-1:]
            elif live != _NO:
                self._do(word, rest, path, live, depth)

    def _do(self, word: str, rest: str, path: Path, live: int, depth: int) -> None:
        if word == "include":
            if header := _HEADER.match(rest):
                self._include(header[1], path, live, depth)
        elif word in ("define", "undef"):
            if m := _WORD.search(rest):
                self._macro(m[0], rest[m.end() :], word == "define", live)
        elif word != "pragma":
            self.certain = _PERHAPS
        elif "once" in rest:
            self.once.add(path)
        elif "pack" in rest:  # headers behind it mean something else
            self.certain = _PERHAPS
        elif "_macro" in rest:
            for m in _WORD.finditer(rest):
                self._macro(m[0], "", False, _PERHAPS)

    def _macro(self, name: str, rest: str, defined: bool, live: int) -> None:
        if defined or self.state.get(name, _NO) != _NO:
            self._event(self.made.defined, name)
        if not defined:
            self._event(self.made.tested, name)
        if not rest.startswith("("):
            self.made.plain.add(name)
        self.state[name] = (_YES if defined else _NO) if live == _YES else _PERHAPS
        self.number[name] = rest.strip()

    def _include(self, header: str, path: Path, live: int, depth: int) -> None:
        own = self.own.find(header, path)
        if own is not None:
            self._file(own, live, depth + 1)
        elif min(live, self.certain) == _YES:
            self.made.headers.setdefault(header, len(self.made.headers))

    def _event(self, events: dict[str, int], name: str) -> None:
        events.setdefault(name, len(self.made.headers))

    def _test(self, word: str, rest: str, live: int) -> int:
        if live == _NO:
            return _NO
        for name in _WORD.finditer(rest):
            self._event(self.made.tested, name[0])
        if word == "if":
            plain = _DEFINED.sub(lambda m: f"@{m[1] or m[2]}", rest)
            while "(" in plain:
                before, plain = plain, _INNERMOST.sub(self._inner, plain)
                if plain == before:
                    return _PERHAPS
            return self._condition(plain)
        asked = self._defined(rest.strip().partition(" ")[0])
        return asked if word == "ifdef" else 2 - asked

    def _inner(self, m: re.Match[str]) -> str:
        """What stands in parentheses, evaluated; of a macro's call nothing is known."""
        return f"?{_PERHAPS if m[1] else self._condition(m[2])}"

    def _condition(self, text: str) -> int:
        return max(min(map(self._atom, both.split("&&"))) for both in text.split("||"))

    def _defined(self, name: str) -> int:
        return _PERHAPS if name.startswith("__has_") else self.state.get(name, _NO)

    def _atom(self, text: str) -> int:
        atom = text.strip()
        if compared := _COMPARED.fullmatch(atom):
            left, right = self._number(compared[1]), self._number(compared[3])
            if left is None or right is None:
                return _PERHAPS
            return _YES if _COMPARE[compared[2]](left, right) else _NO
        if atom.startswith("!"):
            return 2 - self._atom(atom[1:])
        if atom.startswith(("@", "?")):
            return self._defined(atom[1:]) if atom[0] == "@" else int(atom[1])
        number = self._number(atom)
        return _PERHAPS if number is None else _YES if number else _NO

    def _number(self, text: str) -> int | None:
        """The value of a number or of a macro that is one; 0 of what is no macro."""
        text = text.rstrip("uUlL") if text[:1].isdecimal() else text
        if not text.isdecimal():
            if not _WORD.fullmatch(text) or (known := self._defined(text)) == _PERHAPS:
                return None
            text = self.number.get(text, "").rstrip("uUlL") if known else "0"
        return int(text) if text.isdecimal() else None


def pairs(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options with a value among some, `-Dx` as `-D x`."""
    for option, after in zip(options, [*options[1:], ""], strict=False):
        for word in ("-D", "-U", "-I", "-iquote", "-isystem", "-idirafter", "-include"):
            if option.startswith(word):
                yield word, option[len(word) :] or after
                break
