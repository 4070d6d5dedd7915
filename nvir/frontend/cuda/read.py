"""A CUDA source as a tree: what clang says of it, what is told to the user."""

from __future__ import annotations

from ctypes import ArgumentError
from typing import Any

from nvir.frontend.cuda.parse import Keep, Parsed, brief, parse
from nvir.frontend.cuda.reader import Reader
from nvir.frontend.cuda.source import Source, no_kernel, source_of
from nvir.frontend.depth import MAX_NESTING, Endless, on_a_large_stack, room
from nvir.frontend.tree.declarations import Unit
from nvir.ir.errors import Diagnostic, NvirError, ParseError, Unsupported

MORE = 40  # diagnostics that are told


class UnsupportedSource(Unsupported):
    """C++ that the tree cannot say, told as a compiler does: place, source line, caret."""

    def __init__(self, what: str, where: Diagnostic) -> None:
        super().__init__(what, where=f"{where.file}:{where.line}:{where.col}")
        self.diagnostic = where

    def __str__(self) -> str:
        return str(self.diagnostic)


def read_cuda(source: Any, arch: str = "sm_80", keep: Keep | None = None,
              **options: Any) -> tuple[Unit, list[Diagnostic]]:
    """The tree of a source, unchecked, and clang's warnings. `keep`: as `parse` has it.

    Raises ParseError with clang's diagnostics where a function that a kernel reaches is wrong,
    and where there is no kernel; Unsupported, with its place, for C++ that the tree cannot say;
    Endless where clang does not end with it.
    """
    s = source_of(source, **options)
    try:
        return on_a_large_stack(lambda: _read(s, arch, keep))
    except Endless as e:
        raise Endless(f"{s.name}: error: clang {e} and did not end: the source, or a header of it, "
                      "asks for too much") from None


def _read(s: Source, arch: str, keep: Keep | None) -> tuple[Unit, list[Diagnostic]]:
    parsed = parse(s.text, s.name, arch, s.include, s.define, s.std, s.fast_math, s.flags,
                   keep)
    reader = Reader(parsed, s.unroll)
    problem: NvirError | None = None
    unit = Unit()
    with room(MAX_NESTING):
        try:
            unit = reader.unit()
        except NvirError as e:
            problem = e
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError,
                RuntimeError, StopIteration, ArgumentError) as e:
            # what libclang's binding cannot name, or a shape of the tree that is not foreseen
            what = f"something that the reader of C++ does not understand ({e!r})"
            problem = Unsupported(what, where=reader.where())
    read = [*reader.cursors, *reader.bodiless, *reader.variables]
    if problem is not None and reader.at is not None:
        read.append(reader.at)
    errors, warnings = parsed.judge(read)
    errors += [] if errors else [*parsed.lost(), *reader.missing()]
    if errors:
        raise ParseError([brief(d) for d in errors[:MORE]])
    if problem is not None:
        raise _located(problem, reader, parsed)
    if not any(f.is_kernel for f in unit.functions):
        wrong = [d for d in parsed.diagnostics() if d.severity == "error"]
        raise ParseError([no_kernel(parsed.source, parsed.file), *map(brief, wrong[:MORE])])
    return unit, [brief(d) for d in warnings]


def _located(problem: NvirError, reader: Reader, parsed: Parsed) -> NvirError:
    """An Unsupported with the source line that it is about."""
    if not isinstance(problem, Unsupported) or (reader.failed or reader.at) is None:
        return problem
    place = reader.failed or reader.place(reader.at)
    lines = parsed.lines(place.file)
    line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    what = str(problem).removeprefix("unsupported: ").rpartition(" at ")[0] or str(problem)
    told = Diagnostic(f"unsupported: {what}", place.file, place.line, place.column, line, "error")
    return UnsupportedSource(what, told)
