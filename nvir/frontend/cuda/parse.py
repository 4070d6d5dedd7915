"""Parsing a CUDA source with libclang, and what clang says of it.

    parse(text, file, arch, ...) -> Parsed

Clang compiles for the device alone, against nvir's own headers: no CUDA toolkit and no C++
library is needed. An include that is not found is dropped with a warning, and clang goes on
after errors, so that host code which needs what is not there does no harm: what is wrong
outside the functions that a kernel reaches becomes a warning (`Parsed.judge`).
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from nvir.frontend.cuda.libclang import (
    attributes_of,
    children,
    is_preprocessing,
    kind_of,
    library,
    position,
)
from nvir.frontend.cuda.own_header import FIRST, HEADERS, OwnHeader, macro_tokens, make
from nvir.frontend.cuda.text import MOST_TOKENS, instances, too_long
from nvir.frontend.depth import bounded
from nvir.ir.document import read_file
from nvir.ir.errors import NOTES, Diagnostic, NvirError, ParseError

MAX_STATEMENT = 12  # lines of a statement that a diagnostic may be part of
_DETAILED, _KEEP_GOING = 0x01, 0x200
_FATAL = 4
# libclang's file, options of all projects and of this one, what makes the file -> it, its options
Keep = Callable[[str, list[str], list[str], Callable[[Sequence[str], Path], list[str]]],
                tuple[Path, list[str]] | None]
_SYNTAX = re.compile(
    r"^(expected(?! namespace name)|extraneous|unterminated|missing terminating|"
    r"unknown type name '__|"
    r"unbalanced|invalid token|function definition is not allowed)"
)
_LAUNCH = re.compile(
    r"^reference to __global__ function ('.*') in (?:__device__|__global__|__host__ __device__) .*"
)
_USE = re.compile(r"'(\w+)(<.*>)' is deprecated: nvir: a kernel$")
_UNSPELLED = ("(lambda", "(anonymous", "(unnamed")
_INSTANCE = re.compile(r"\btemplate\s+(?!<)")
_KERNELS = ("FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD")
_GROUPS = ("NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL", "STRUCT_DECL", "CLASS_DECL",
           "CLASS_TEMPLATE", "FRIEND_DECL")
_CONTEXT = re.compile(r"^(?:in|while|during) |\brequired here$")  # "in instantiation of … here"
_LENIENT = ("invalid % escape in inline assembly string",)  # `%tid.x`, which nvcc takes as text
_LAUNCHES = r"unsupported: \1 is launched by device code (dynamic parallelism)"


class _Unfit(Exception):
    """The file of the precompiled header does not serve."""


@attrs.define
class Parsed:
    """A translation unit with its source and diagnostics."""

    cindex: Any
    unit: Any
    file: str
    source: str
    texts: dict[str, str] = attrs.Factory(dict)
    split: dict[str, list[str]] = attrs.Factory(dict)
    last_line: int = 0
    own: OwnHeader | None = None  # whose declarations are not the unit's
    files: dict[str, bool] = attrs.Factory(dict)

    @property
    def cursor(self) -> Any:
        return self.unit.cursor

    @functools.cached_property
    def declarations(self) -> list[Any]:
        """The unit's as they are written, those of nvir's own headers aside."""
        return [c for c in children(self.cursor) if not is_preprocessing(c)
                and (file := position(c)[0]) and not self.is_own(file)
                and (self.own is None or self._is_written(c))]

    def _is_written(self, c: Any) -> bool:
        """No instance of a template: among what is not precompiled, clang lists these, too."""
        if kind_of(c.lexical_parent) != "TRANSLATION_UNIT":
            return False
        template = self.cindex.conf.lib.clang_getSpecializedCursorTemplate(c)
        return template is None or position(template) != position(c)

    def is_own(self, name: str) -> bool:
        found = self.files.get(name)
        if found is None:
            own = str(HEADERS) + os.sep
            found = self.files[name] = os.path.abspath(name).startswith(own)
        return found

    def text(self, name: str) -> str:
        """The text of a file of the unit; "" where it cannot be read. One byte is one
        character, so that clang's offsets index it."""
        found = self.texts.get(name)
        if found is None:
            try:
                found = read_file(name, regular=True).decode("latin-1")
            except OSError:
                found = ""
            self.texts[name] = found
        return found

    def lines(self, name: str) -> list[str]:
        """The lines of a file as clang counts them, split once: thousands of diagnostics of one
        long line share it. No other end of a line counts: in Latin-1 each is a byte of a letter."""
        if name not in self.split:
            self.split[name] = [line.rstrip("\r") for line in self.text(name).split("\n")]
        return self.split[name]

    @functools.cached_property
    def macros(self) -> dict[str, Any]:
        return {c.spelling: c for c in children(self.cursor) if kind_of(c) == "MACRO_DEFINITION"}

    def macro(self, name: str) -> list[str] | None:
        """The tokens of a macro, without its name."""
        found = self.macros.get(name)
        if found is None:
            return None if self.own is None else self.own.macros.get(name)
        return macro_tokens(found)

    # --------------------------------------------------------- diagnostics

    def diagnostics(self) -> list[Diagnostic]:
        """What clang says of the user's files, in order, with the source line and all notes."""
        made = [self._diagnostic(d) for d in self.unit.diagnostics
                if d.severity >= 2 and not d.spelling.endswith("deprecated: nvir: a kernel")
                and d.spelling not in _LENIENT]
        added = (self.file, self.last_line)  # behind it stands what `parse` appended
        return [d for d in made if not (self.is_own(d.file) and not _asked(d))
                and not (d.file == added[0] and d.line > added[1])]

    def _diagnostic(self, d: Any) -> Diagnostic:
        severity = "error" if d.severity >= 3 else "warning"
        made = self._at(d.location, _LAUNCH.sub(_LAUNCHES, d.spelling), severity)
        notes = [self._at(n.location, n.spelling, "note")
                 for n in (d.children if d.severity >= 3 else ())]
        return attrs.evolve(made, notes=tuple(n for n in notes if not self.is_own(n.file)))

    def _at(self, where: Any, text: str, severity: str) -> Diagnostic:
        name = where.file.name if where.file is not None else self.file
        lines = self.lines(name)
        line = lines[where.line - 1] if 0 < where.line <= len(lines) else ""
        return Diagnostic(text, name, where.line, where.column, line, severity)

    def judge(self, reached: Iterable[Any]) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """(errors, warnings): an error counts where it lies in a function that is reached or in
        a kernel template that the source uses, or in an instance of a template that one of them
        asks for (clang leaves out the statement that needs it), and syntax errors of the source
        itself outside of all functions do. Those of headers are mostly host code that misses its
        own library; what is lost by them is told by `lost`."""
        told = self.diagnostics()
        if not told:
            return [], []
        kernels = self._used_kernel_templates()
        spans = [_span(c) for c in reached] + kernels
        hosts = _functions(self.declarations)
        errors, warnings = [], []
        for d in told:
            if d.severity == "error" and not d.message.endswith("file not found"):
                asked = _asked(d)
                inside = any(_within(at, s) for at in (d, *asked[-1:]) for s in spans) or any(
                    _within(at, s) for at in asked for s in kernels)
                alone = d.file == self.file and _SYNTAX.match(d.message) and not any(
                    _within(d, s) for s in hosts)
                if inside or alone:
                    errors.append(d)
                    continue
            warnings.append(attrs.evolve(d, severity="warning"))
        return errors, warnings

    def lost(self) -> list[Diagnostic]:
        """What clang says where `__global__` stands and it made no kernel of what follows, and
        where host code names a kernel template, or a template that leads to one: that instance is
        not seen."""
        kernels = [c for c in _walk(self.declarations) if kind_of(c) in _KERNELS and is_kernel(c)]
        spans = [_span(c) for c in kernels]
        errors = [d for d in self.diagnostics() if d.severity == "error"]
        made = []
        for c in children(self.cursor):
            if kind_of(c) == "MACRO_INSTANTIATION" and c.spelling == "__global__":
                if self.is_own(position(c)[0]):
                    continue
                d = self._at(c.location, "this is no kernel to clang", "error")
                asked = _INSTANCE.search(d.source[: d.col])  # `template __global__ void k<int>(…)`
                if not (asked or any(_within(d, s) for s in spans)):
                    made += [e for e in errors if (e.file, e.line) == (d.file, d.line)] or [d]
        names = {c.spelling for c in kernels if kind_of(c) == "FUNCTION_TEMPLATE"}
        outside = [e for e in errors if not any(_within(e, s) for s in spans)]
        if not names or not outside:
            return made
        named = _any_of(names | self._leading(names))
        return made + [e for e in outside if named.search(self._statement(e))]

    def _leading(self, kernels: set[str]) -> set[str]:
        """The names of function templates that name kernel templates, or others of these."""
        texts: dict[str, str] = {}
        for c in _walk(self.declarations):
            name = c.spelling
            if kind_of(c) == "FUNCTION_TEMPLATE" and name not in kernels and c.is_definition():
                file, first, last = _span(c)
                lines = self.lines(file)[first - 1 : last]
                texts[name] = "\n".join([texts.get(name, ""), *lines])
        found: set[str] = set()
        new = kernels
        while new:
            named = _any_of(new)
            new = {name for name, text in texts.items() if name not in found and named.search(text)}
            found |= new
        return found

    def _statement(self, d: Diagnostic) -> str:
        """The line of a diagnostic, and those before it back to the end of another statement."""
        lines = self.lines(d.file)[max(d.line - MAX_STATEMENT, 0) : d.line]
        start = next((k for k in range(len(lines) - 1, 0, -1)
                      if lines[k - 1].rstrip().endswith((";", "{", "}"))), 0)
        return " ".join(lines[start:])

    def kernel_uses(self) -> list[tuple[Any, dict[str, Diagnostic]]]:
        """Each kernel template, and the instances of it in use, as they are written. libclang
        shows no instance by itself, not those in instances of host code either; but clang warns at
        each use, for to it kernels are deprecated."""
        uses: dict[str, list[tuple[str, Any, Diagnostic]]] = {}
        for d in self.unit.diagnostics:
            m = _USE.match(d.spelling)
            note = next((c.location for c in d.children if "marked" in c.spelling), None)
            if m is not None and note is not None:
                told = self._at(d.location, f"no kernel '{m[1]}{m[2]}' could be made", "error")
                uses.setdefault(m[1], []).append((m[1] + m[2], note, told))
        return [
            (c, {text: told for text, note, told in uses[c.spelling] if _holds(_span(c), note)})
            for c in self._kernel_templates() if c.spelling in uses
        ]

    def kernel_instances(self) -> list[str]:
        """The instances of kernel templates in use whose names a program can say."""
        return ["::".join([*_scopes(c), text]) for c, uses in self.kernel_uses() for text in uses
                if not any(word in text for word in _UNSPELLED)]

    def _used_kernel_templates(self) -> list[tuple[str, int, int]]:
        """The extents of the kernel templates that the source names with `<` behind. One that is
        wrong has no instance that could be reached: left out in silence, it would be missed."""
        return [_span(c) for c in self._kernel_templates()
                if re.search(rf"\b{re.escape(c.spelling)}\s*<", self.source)]

    def _kernel_templates(self) -> list[Any]:
        return [c for c in _walk(self.declarations)
                if kind_of(c) == "FUNCTION_TEMPLATE" and is_kernel(c)]


def _asked(d: Diagnostic) -> list[Diagnostic]:
    """The notes that say who asked for the instance in which an error lies, the first asker at
    the end."""
    return [n for n in d.notes if _CONTEXT.search(n.message)]


def brief(d: Diagnostic) -> Diagnostic:
    """A diagnostic with as many notes as are told, the first asker's among them."""
    last = _asked(d)[-1:]
    rest = [n for n in d.notes if n not in last]
    return attrs.evolve(d, notes=(*rest[: NOTES - len(last)], *last))


def _holds(span: tuple[str, int, int], where: Any) -> bool:
    return bool(where.file) and where.file.name == span[0] and span[1] <= where.line <= span[2]


def _walk(declarations: list[Any]) -> Iterator[Any]:
    """Declarations and those that they group."""
    todo = [*declarations]
    while todo:
        c = todo.pop()
        yield c
        if kind_of(c) in _GROUPS:
            todo += children(c)


def is_kernel(c: Any) -> bool:
    return any(kind_of(k) == "CUDAGLOBAL_ATTR" for k in attributes_of(c))


def _any_of(names: set[str]) -> re.Pattern[str]:
    """Any of some names as a word."""
    return re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, names)))})\b")


def _scopes(c: Any) -> list[str]:
    """The namespaces around a declaration, the outermost first; "" before them."""
    names: list[str] = []
    while (c := c.semantic_parent) is not None and kind_of(c) != "TRANSLATION_UNIT":
        if kind_of(c) == "NAMESPACE" and c.spelling:
            names.insert(0, c.spelling)
    return ["", *names]


def _span(c: Any) -> tuple[str, int, int]:
    e = c.extent
    file = e.start.file
    return (file.name if file is not None else "", e.start.line, e.end.line)


def _within(d: Diagnostic, span: tuple[str, int, int]) -> bool:
    return d.file == span[0] and span[1] <= d.line <= span[2]


def _functions(declarations: list[Any]) -> list[tuple[str, int, int]]:
    """The extents of all functions with bodies among declarations and in what groups them."""
    spans, todo = [], [declarations]
    while todo:
        for c in todo.pop():
            if kind_of(c) in ("NAMESPACE", "LINKAGE_SPEC", "STRUCT_DECL", "CLASS_DECL",
                               "CLASS_TEMPLATE", "UNEXPOSED_DECL"):
                todo.append(children(c))
            elif kind_of(c) in ("FUNCTION_DECL", "CXX_METHOD", "FUNCTION_TEMPLATE", "CONSTRUCTOR",
                                 "VAR_DECL"):
                spans.append(_span(c))
    return spans


def arguments(arch: str, std: str = "c++17", fast_math: bool = False) -> list[str]:
    """Clang's command line for a device target, as far as it is the same for every project."""
    m = re.match(r"(?:sm|compute)_(\d+)[af]?$", arch)
    if m is None:
        raise NvirError(f"'{arch}' is no architecture: sm_80, sm_90a …")
    number = int(m[1])
    known = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90]
    nearest = max([k for k in known if k <= number], default=50)
    made = ["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-nostdinc",
            "-nostdinc++", f"--cuda-gpu-arch=sm_{nearest}", f"-std={std}", "-ferror-limit=0",
            "-Wno-unknown-cuda-version", "-Wno-pass-failed",
            "-Wno-error=c++11-narrowing", "-Xclang", "-fnative-half-type",
            "-Xclang", "-fnative-half-arguments-and-returns", "-fno-exceptions",
            "-U__CUDA_ARCH__", f"-D__CUDA_ARCH__={number}0", "-D__NVCC__", "-D__CUDACC__",
            "-isystem", str(HEADERS)]
    return [*made, "-DNVIR_FAST_MATH=1"] if fast_math else made


def parse(text: str, file: str, arch: str, include: Sequence[str] = (),
          define: Sequence[str] = (), std: str = "c++17",
          fast_math: bool = False, flags: Sequence[str] = (), keep: Keep | None = None) -> Parsed:
    """Parse a source text; `file` names it, and its folder is searched for includes. `flags` stand
    at the end of clang's command line as they are, `keep` knows where nvir's header is kept."""
    if (at := too_long(text)) is not None:
        said = f"unsupported: more than {MOST_TOKENS:,} tokens in one statement"
        above = text[:at].splitlines() or [""]
        line = text.splitlines()[len(above) - 1]
        raise ParseError([Diagnostic(said, file, len(above), len(above[-1]) + 1, line)])
    given = arguments(arch, std, fast_math)
    project = [*(f"-I{path}" for path in include), *(f"-D{text}" for text in define), *flags]
    for word in (file, *given, *project):
        if any("\ud800" <= c <= "\udfff" for c in word):  # bytes of a name that are no UTF-8
            raise NvirError(f"{word}: clang takes names and words in UTF-8 alone")
    kept = keep(library().conf.lib._name, given, project, make) if keep is not None else None
    if kept is not None:
        try:
            return _with_instances(text, file, given, project, OwnHeader(*kept))
        except _Unfit:
            kept[0].unlink(missing_ok=True)
    return _with_instances(text, file, given, project, None)


def _with_instances(text: str, file: str, given: list[str], project: list[str],
                    own: OwnHeader | None) -> Parsed:
    made = _parsed(text, file, given, project, asked := instances(text), own)
    told = {"".join(text.split()) for text in asked}
    more = [f"(void *)&{name}" for name in made.kernel_instances()]
    more = [x for x in more if "".join(x.replace("&::", "&").split()) not in told]
    return _parsed(text, file, given, project, [*asked, *more], own) if more else made


def _parsed(text: str, file: str, given: list[str], project: list[str], asked: list[str],
            own: OwnHeader | None) -> Parsed:
    """A translation unit of a text, and behind it the values that ask for instances."""
    cindex = library()
    index = cindex.Index.create(excludeDecls=own is not None)
    first = ["-include", str(FIRST)] if own is None else ["-include-pch", str(own.file)]
    lines = [" ".join(f"auto __nvir_instance{k} = {v};".split()) for k, v in enumerate(asked)]
    data = text.encode("utf-8", "surrogateescape")
    whole = data + "\n".join(["", "namespace {", *lines, "}", ""]).encode() if asked else data
    try:
        unit = bounded(lambda: index.parse(
            file, args=[*given, *first, *project], unsaved_files=[(file, whole)],
            options=_DETAILED | _KEEP_GOING))
    except cindex.TranslationUnitLoadError:
        if own is not None:
            raise _Unfit from None
        said = " ".join([*given, *first, *project][-6:])
        raise NvirError(f"{file}: libclang cannot read it ({said})") from None
    if own is not None and any(d.severity == _FATAL and own.file.name in d.spelling
                               for d in unit.diagnostics):
        raise _Unfit
    made = Parsed(cindex, unit, file, text, own=own)
    made.last_line = text.count("\n") + 1
    made.texts[file] = data.decode("latin-1")
    return made
