"""nvir's own header, which every source begins with, precompiled: libclang takes 0.13 s for it.

    make(options, file)     the file, by libclang; what was read for it
    OwnHeader(file, options)   the macros and constants in it, which the unit of a source then lacks
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nvir.frontend.cuda.libclang import children, evaluate, initialiser, kind_of, library
from nvir.ir.errors import NvirError

HEADERS = Path(__file__).parent / "include"
FIRST = HEADERS / "nvir_cuda.h"
_DETAILED, _INCOMPLETE, _SERIALIZED = 0x01, 0x02, 0x10
_GROUPS = ("NAMESPACE", "LINKAGE_SPEC", "ENUM_DECL", "UNEXPOSED_DECL")


def _unit(options: Sequence[str]) -> Any:
    cindex = library()
    try:
        return cindex.Index.create().parse(
            str(FIRST), args=[*options], options=_DETAILED | _INCOMPLETE | _SERIALIZED)
    except cindex.TranslationUnitLoadError:
        said = next((o for o in options if o.startswith("-std=")), " ".join(options[-3:]))
        raise NvirError(f"libclang does not take the options ({said})") from None


def make(options: Sequence[str], file: Path) -> list[str]:
    """Precompile the header under clang's options; the files that were read."""
    unit = _unit(options)
    unit.save(str(file))
    return [str(FIRST), *(x.include.name for x in unit.get_includes())]


def macro_tokens(definition: Any) -> list[str]:
    """The tokens of a macro, without its name."""
    return [t.spelling for t in definition.get_tokens()][1:]


def constants(root: Any, name: str | None = None) -> Iterator[tuple[str, int]]:
    """The enumerators and the variables of a unit whose value is known, or those of a name."""
    todo = [root]
    while todo:
        for c in children(todo.pop()):
            kind = kind_of(c)
            if kind in _GROUPS:
                todo.append(c)
            elif kind not in ("ENUM_CONSTANT_DECL", "VAR_DECL") or name not in (None, c.spelling):
                continue
            elif kind == "ENUM_CONSTANT_DECL":
                yield c.spelling, int(c.enum_value)
            else:
                start = initialiser(c)
                known = None if start is None else evaluate(start)
                if known is not None:
                    yield c.spelling, int(known)


class OwnHeader:
    """The header in the file that `make` made of these options."""

    def __init__(self, file: Path, options: Sequence[str]) -> None:
        self.file, self.options = file, options

    @property
    def macros(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self._named["macros"]
        return found

    @property
    def constants(self) -> dict[str, int]:
        found: dict[str, int] = self._named["constants"]
        return found

    @functools.cached_property
    def _named(self) -> dict[str, Any]:
        """Few sources ask, so it is found out when one does, and kept beside the file."""
        note = self.file.with_suffix(".named")
        if os.path.isfile(note):
            known: dict[str, Any] = json.loads(note.read_text("utf-8"))
            return known
        unit = _unit(self.options)
        made: dict[str, Any] = {"macros": {}, "constants": {}}
        for c in children(unit.cursor):
            if kind_of(c) == "MACRO_DEFINITION":
                made["macros"][c.spelling] = macro_tokens(c)
        for name, value in constants(unit.cursor):
            made["constants"].setdefault(name, value)
        part = note.with_suffix(".part")
        part.write_text(json.dumps(made), "utf-8")
        part.rename(note)
        return made
