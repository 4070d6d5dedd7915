"""Rows by name, and the choice among overloads.

A row's signature is C's, with a type variable `T` that stands for one of the row's types, and with
default values of trailing parameters. The choice takes the row whose parameters the arguments
fit best: the same type counts nothing, a promotion little, any other conversion more.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

from nvir.frontend import tree
from nvir.frontend.builtins import numbers
from nvir.frontend.declarators import ctype, parse_declaration, split_parameters

STRATEGIES = ("delegation", "intrinsic", "inline", "table", "gated")
_SIGNATURE = re.compile(r"(?P<result>[\w\s*]*?[\s*])(?P<name>[\w.]+)\((?P<params>.*)\)$")


@attrs.frozen
class Builtin:
    """One row.

    lowering   the text behind `->`
    strategy   one of `STRATEGIES`
    types      what T may be, in C's spelling; () for a row without T
    sm         the least architecture, 0 for any;  below: the first that no longer has it
    number     the real front end's, None outside the families that have numbers
    """

    name: str
    result: str
    params: tuple[str, ...]
    defaults: tuple[int | None, ...]
    lowering: str
    strategy: str
    family: str
    types: tuple[str, ...] = ()
    sm: int = 0
    below: int = 0
    number: int | None = None

    def parameter_types(self, t: tree.CType | None) -> list[tree.CType]:
        known = {} if t is None else {"T": t}
        return [parse_declaration(p, known)[0] for p in self.params]

    def result_type(self, t: tree.CType | None) -> tree.CType:
        return ctype(self.result, {} if t is None else {"T": t})

    @property
    def least(self) -> int:
        """How few arguments a call may give."""
        return sum(d is None for d in self.defaults)


@functools.cache
def rows() -> dict[str, tuple[Builtin, ...]]:
    """All rows (rows.txt), those of one name together."""
    found: dict[str, list[Builtin]] = {}
    free = {name: numbers.free_numbers(name) for name in numbers.RANGES}
    family, strategy = "", ""
    types: tuple[str, ...] = ()
    for line in Path(__file__).with_name("rows.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            head, _, listed = line[1:-1].partition(": ")
            family, strategy = head.split()
            types = tuple(listed.split(", ")) if listed else ()
        elif line and not line.startswith("#"):
            row = _read(line, family, strategy, types, free)
            found.setdefault(row.name, []).append(row)
    return {name: tuple(made) for name, made in found.items()}


def _read(line: str, family: str, strategy: str, types: tuple[str, ...],
          free: dict[str, Iterator[int]]) -> Builtin:
    left, _, right = line.partition("->")
    right, _, gate = right.partition("@")
    m = _SIGNATURE.match(left.strip())
    if m is None:
        raise ValueError(f"no row of a builtin: {line}")
    params, defaults = [], []
    for p in split_parameters(m["params"]):
        declared, _, value = p.partition("=")
        params.append(declared.strip())
        defaults.append(int(value, 0) if value else None)
    limits = dict(part.split("=") for part in gate.split())
    return Builtin(
        m["name"], m["result"].strip(), tuple(params), tuple(defaults), right.strip(),
        "gated" if limits else strategy, family, types if re.search(r"\bT\b", left) else (),
        int(limits.get("sm", 0)), int(limits.get("below", 0)),
        next(free[family], None) if family in free else None,
    )


# --------------------------------------------------------------------- choosing


def choose(name: str, args: tuple[tree.CType, ...]) -> tuple[Builtin, tree.CType | None] | None:
    """The row that takes such arguments best, and its T; None where none takes them."""
    best: tuple[int, Builtin, tree.CType | None] | None = None
    for row in rows().get(name, ()):
        if not row.least <= len(args) <= len(row.params):
            continue
        for t in _candidates(row, args):
            cost = _cost(row.parameter_types(t), args)
            if cost is not None and (best is None or cost < best[0]):
                best = (cost, row, t)
    return None if best is None else best[1:]


def _candidates(row: Builtin, args: tuple[tree.CType, ...]) -> list[tree.CType | None]:
    if not row.types:
        return [None]
    if row.types == ("*",):
        k = next(i for i, p in enumerate(row.params) if re.search(r"\bT\b", p))
        s = tree.strip(args[k]) if k < len(args) else None
        if isinstance(s, tree.Pointer):
            s = s.pointee
        return [_bare(s)] if s is not None and not isinstance(_bare(s), tree.Void) else []
    return [ctype(t) for t in row.types]


def _bare(t: tree.CType) -> tree.CType:
    s = tree.strip(t)
    return s if not isinstance(s, tree.Qualified) else tree.strip(s.type)


def _cost(params: list[tree.CType], args: tuple[tree.CType, ...]) -> int | None:
    total = 0
    for p, a in zip(params, args, strict=False):
        cost = _conversion(tree.strip(p), tree.strip(a))
        if cost is None:
            return None
        total += cost
    return total


def _conversion(p: tree.CType, a: tree.CType) -> int | None:
    if tree.same(p, a):
        return 0
    if isinstance(p, tree.Pointer):
        return _pointer_cost(p, a)
    if isinstance(p, tree.Record) or isinstance(a, tree.Record) or not tree.is_arithmetic(a):
        return None
    if not tree.is_arithmetic(p):
        return None
    x, y = tree.underlying(p), tree.underlying(a)
    if not isinstance(x, tree.Arithmetic) or not isinstance(y, tree.Arithmetic):
        return None
    if tree.is_float(x) != tree.is_float(y):
        return 8 if tree.is_float(x) and x.bits == 64 else 9
    if x.bits == y.bits:
        return 1 if x.signed == y.signed else 2
    return 2 + (x.bits > 32) if x.bits > y.bits else 6


def _pointer_cost(p: tree.Pointer, a: tree.CType) -> int | None:
    if not isinstance(a, tree.Pointer):
        return None if tree.is_arithmetic(a) else 1  # nullptr
    inner, given = _bare(p.pointee), _bare(a.pointee)
    if isinstance(inner, tree.Void):
        return 3
    if tree.same(inner, given) or tree.same(tree.underlying(inner), tree.underlying(given)):
        return 0 if tree.same(inner, given) else 1
    return None


def declaration(name: str, args: tuple[tree.CType, ...]) -> tree.Function | None:
    """The declared function of a builtin for such arguments."""
    found = choose(name, args)
    if found is None:
        return None
    row, t = found
    params = tuple(tree.Parameter(f"a{k}", p) for k, p in enumerate(row.parameter_types(t)))
    return tree.Function(name, row.result_type(t), params[: len(args)],
                    attributes=tree.Attributes(builtin=True))
