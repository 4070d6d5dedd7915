"""Pipeline text: `copy-prop,gvn<loads=false>,dce`.

    pipeline = [element {"," element}]
    element  = NAME ["<" option {";" option} ">"]
             | "default<O" ("0" | "1" | "2" | "3") ">"
             | ("module" | "cgscc" | "function" | "loop" | "loop-mssa") "(" pipeline ")"
    option   = KEY | "no-" KEY | KEY "=" VALUE

Wrappers are read for the sake of LLVM's habits and printed flat: a pass knows
its own unit. The whole may stand after `-passes=`, quoted or not, and after
`-Xcicc`. Printing leaves out options that have their default, and reading what
was printed gives the same pipeline.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NoReturn

import attrs

from nvir.ir.errors import Diagnostic, ParseError
from nvir.passes import presets_loops
from nvir.passes.presets import preset
from nvir.passes.registry import Pass, Registry, all_passes

WRAPPERS = ("module", "cgscc", "function", "loop", "loop-mssa")

# Named pipelines, accepted wherever a pass is.
PRESETS = {
    "clean": "copy-prop,gvn,dce",
    **presets_loops.PRESETS,
}

# (earlier, later, why): `later` profits from, or needs, what `earlier` leaves.
# Checked for the presets by a test and for any other pipeline as a warning.
ORDER: tuple[tuple[str, str, str], ...] = (
    ("copy-prop", "gvn", "a copy hides that two operands are one value"),
    ("sroa", "mem2reg", "an aggregate in pieces is several variables"),
    ("mem2reg", "inline", "a body's size in memory says nothing of its size in registers"),
    ("vectorize-memory", "select", "it works on accesses of the nvvm level"),
    ("loop-simplify", "loop-rotate", "rotation wants one way in and one way round"),
    ("loop-simplify", "loop-peel", "peeling wants one way in and one way round"),
    ("lower-struct-args", "lower-aggr-copies", "the copies of parameters are to be lowered too"),
)


@attrs.frozen
class Step:
    """A pass with its options. One of a preset is left out on a level that it is not for."""

    pass_: Pass
    options: Any
    of_preset: bool = attrs.field(default=False, eq=False)

    def __str__(self) -> str:
        shown = []
        for option in self.pass_.option_table().values():
            value = getattr(self.options, option.field)
            if value == option.default:
                continue
            if isinstance(value, bool):
                shown.append(option.key if value else f"no-{option.key}")
            else:
                shown.append(f"{option.key}={value}")
        return self.pass_.name + (f"<{';'.join(shown)}>" if shown else "")


@attrs.frozen
class Pipeline:
    """Passes in order. `str()` is its text."""

    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return ",".join(map(str, self.steps))

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)


def parse_pipeline(
    pipeline: str | Pipeline | Iterable[str | Step | Pass], passes: Registry | None = None
) -> Pipeline:
    """Read pipeline text, or a list of texts, steps and passes (with their default options).

    `passes` are those that text may name, the registered ones by default. Raises
    ParseError at the column of the fault, TypeError for anything else in a list.
    """
    if isinstance(pipeline, Pipeline):
        return pipeline
    if isinstance(pipeline, str):
        if passes is None:
            return _registered(pipeline)
        return _PipelineReader(pipeline, passes).read()
    steps: list[Step] = []
    for item in pipeline:
        if isinstance(item, Pass):
            steps.append(Step(item, item.options()))
        elif isinstance(item, Step):
            steps.append(item)
        elif isinstance(item, str):
            steps += parse_pipeline(item, passes).steps
        else:
            raise TypeError(f"a pipeline holds text, Step and Pass, not {type(item).__name__}")
    return Pipeline(tuple(steps))


@functools.lru_cache(maxsize=64)
def _registered(text: str) -> Pipeline:
    """The same text gives the same pipeline: nothing in one is ever changed."""
    return _PipelineReader(text, all_passes()).read()


def check_order(
    pipeline: Pipeline, order: Iterable[tuple[str, str, str]] = ORDER
) -> list[str]:
    """What stands in the wrong order, as sentences; [] where nothing does.

    A pair is violated where both are there and the first `later` precedes the
    first `earlier`.
    """
    first: dict[str, int] = {}
    for k, step in enumerate(pipeline):
        first.setdefault(step.pass_.name, k)
    return [
        f"'{earlier}' should precede '{later}': {why}"
        for earlier, later, why in order
        if earlier in first and later in first and first[later] < first[earlier]
    ]


LISTED = 100  # names of which the nearest is told
_LEAD = re.compile(r"\s*(?:-Xcicc\s+)?(?P<open>[\"']?)(?:--?passes?=)(?P<inner>[\"']?)|\s*")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_VALUE = re.compile(r"[^;>,<\s]*")
_SPACE = re.compile(r"\s*")


class _PipelineReader:
    """Recursive descent without the recursion: wrappers only count parentheses."""

    def __init__(self, text: str, passes: Registry) -> None:
        self.source, self.passes = text, passes
        lead = _LEAD.match(text)
        self.at = lead.end() if lead is not None else 0
        self.text = text.rstrip()
        quotes = (lead["open"] or "") + (lead["inner"] or "") if lead is not None else ""
        for quote in quotes:
            if not self.text.endswith(quote):
                self.fail(f"the closing {quote} is missing", len(self.text))
            self.text = self.text[:-1].rstrip()

    def read(self) -> Pipeline:
        steps: list[Step] = []
        depth = 0
        if not self.peek():
            return Pipeline()
        while True:
            at, name = self.name("a pass")
            if name in WRAPPERS and self.peek() == "(":
                self.at += 1
                depth += 1
                if self.peek() != ")":
                    continue
            else:
                steps += self.element(name, at)
            while self.peek() == ")" and depth:
                self.at += 1
                depth -= 1
            if not self.peek():
                break
            self.expect(",")
        if depth:
            self.fail("a ')' is missing", self.at)
        return Pipeline(tuple(steps))

    def element(self, name: str, at: int) -> Iterable[Step]:
        if name == "default" and self.peek() == "<":
            return self.default()
        if name in PRESETS and name not in self.passes:
            return _PipelineReader(PRESETS[name], self.passes).read().steps
        found = self.passes.get(name)
        if found is None:
            self.fail(f"unknown pass '{name}'{nearest(name, [*self.passes, *PRESETS])}", at)
        values: dict[str, Any] = {}
        if self.peek() == "<":
            self.at += 1
            self.options(found, values)
        try:
            options = found.options(**values)
        except (ValueError, TypeError) as e:
            self.fail(f"pass '{name}': {e}", at)
        return (Step(found, options),)

    def default(self) -> Iterable[Step]:
        """`default<O2>`: a preset; on level ori what of it is for that level."""
        self.expect("<")
        at, level = self.name("a level such as O2")
        self.expect(">")
        try:
            steps = _PipelineReader(preset(level), self.passes).read().steps
            return [attrs.evolve(s, of_preset=True) for s in steps]
        except ValueError as e:
            self.fail(str(e), at)

    def options(self, pass_: Pass, values: dict[str, Any]) -> None:
        table = pass_.option_table()
        while self.peek() != ">":
            at, key = self.name("an option")
            text: str | None = None
            if key not in table and key.startswith("no-") and key[3:] in table:
                key, text = key[3:], "false"
            elif self.peek() == "=":
                self.at += 1
                self.peek()
                m = _VALUE.match(self.text, self.at)
                text = m[0] if m is not None else ""
                self.at += len(text)
            option = table.get(key)
            if option is None:
                known = nearest(key, table) if table else "; it has none"
                self.fail(f"pass '{pass_.name}' has no option '{key}'{known}", at)
            if option.field in values:
                self.fail(f"option '{key}' is given twice", at)
            try:
                values[option.field] = option.read(text)
            except ValueError as e:
                self.fail(f"option '{key}' of pass '{pass_.name}' takes {e}", at)
            if self.peek() != ">":
                self.expect(";")
        self.at += 1

    # ------------------------------------------------------------ scanning

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        m = _SPACE.match(self.text, self.at)
        self.at = m.end() if m is not None else self.at
        return self.text[self.at : self.at + 1]

    def name(self, what: str) -> tuple[int, str]:
        self.peek()
        m = _NAME.match(self.text, self.at)
        if m is None:
            self.fail(f"{what} is expected here", self.at)
        self.at = m.end()
        return m.start(), m[0]

    def expect(self, char: str) -> None:
        if self.peek() != char:
            self.fail(f"'{char}' is expected here", self.at)
        self.at += 1

    def fail(self, message: str, at: int) -> NoReturn:
        raise ParseError(Diagnostic(message, "<pipeline>", 1, at + 1, self.source))


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean …?` with the closest names, else what there is; "" where nothing is. Of many
    names the first alone are looked at."""
    names = sorted(islice(known, LISTED))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return "; did you mean " + " or ".join(f"'{n}'" for n in near) + "?"
    return f"; there are {', '.join(names)}" if names else ""
