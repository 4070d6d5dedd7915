"""What became of each loop of the source, in words: what the front end did, what ptxas will do.

`SourceLoopReport` is an entry of `source_loops` of `nvir.report/1`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from nvir.analysis.macros import macros_of
from nvir.analysis.places import SourceLines
from nvir.analysis.source_loops import SourceLoop, source_loops
from nvir.analysis.straight import LoopStatement, quiet, statements, straight_loops
from nvir.assembler.unroll.decision import UnrollCode, UnrollDecision
from nvir.ir.loops import Loop
from nvir.ir.module import Module
from nvir.report.places import source_text

if TYPE_CHECKING:
    from nvir.passes.knobs import Policy
    from nvir.report.facts import FunctionFacts

FRONT_ENDS = {"NVIDIA NVVM Compiler": "nvcc", "LLVM NVPTX Back-End": "LLVM", "nvir": "nvir"}
MARKED = 'it is marked .pragma "nounroll"'


@attrs.frozen
class SourceLoopReport:
    """One loop of the source.

    places   ("file.cu", line) of its statement and of the calls around it, innermost first
    statement  "for", "while", "do-while"; "loop" where the source is not at hand or has another
    copies   of the body in an iteration of the main loop: the front end's factor
    roles    header → "whole", "main", "remainder" or "version", most copies first; none of a loop
             that the front end unrolled fully
    actions  header → what ptxas does: "full", or the factor
    compiler   the front end, "nvcc" or another
    front_end, assembler   sentences; the first is empty where the loop is as in the source
    """

    places: tuple[tuple[str, int], ...]
    copies: int
    roles: Mapping[str, str]
    actions: Mapping[str, str | int | None]
    front_end: str
    assembler: str
    statement: str = "loop"
    compiler: str = ""

    @property
    def place(self) -> str:
        """ "file.cu:12", with the call that it was inlined at; the label where there is none."""
        if not self.places:
            return next(iter(self.roles))
        (file, line), *calls = self.places
        at = f", called at {calls[-1][0]}:{calls[-1][1]}" if calls else ""
        return f"{file}:{line}{at}"

    def text(self) -> str:
        """The whole of it: "for at k.cu:22: nvcc unrolled it by 4 (…); ptxas keeps it …"."""
        where = f"{self.statement} at {self.place}" if self.places else f"loop {self.place}"
        label = f" ({next(iter(self.roles))})" if self.places and not self.front_end else ""
        said = "; ".join(x for x in (self.front_end, self.assembler) if x)
        return f"{where}{label}: {said}"

    def to_json(self, advice: Sequence[str] = ()) -> dict[str, Any]:
        """Its entry of `source_loops`, with the advice on it."""
        file, line = self.places[0] if self.places else (None, None)
        return {
            "file": file, "line": line, "statement": self.statement,
            "called_at": [f"{f}:{n}" for f, n in self.places[1:]],
            "loops": list(self.roles),
            "front_end": {"factor": self.copies, "roles": list(self.roles.values()),
                          "text": self.front_end or None},
            "assembler": {"factors": list(self.actions.values()), "text": self.assembler},
            "advice": list(advice),
        }


def written_loops(module: Module, roots: Sequence[Path] = ()) -> dict[int, list[LoopStatement]]:
    """The statements of a module's sources by number, which are looked for in the module's own
    folder and in `roots`."""
    own = [Path(module.name).parent] if "." in module.name else []
    texts = source_text({n: name for n, name, _ in module.debug.files}, [*own, *roots])
    plain = {n: quiet(lines) for n, lines in texts.items()}
    macros = macros_of(plain.values())
    return {n: statements(text, macros) for n, text in plain.items()}


def of_function(
    facts: FunctionFacts, source: SourceLines, producer: str,
    written: Mapping[int, Sequence[LoopStatement]] = {},
) -> tuple[SourceLoopReport, ...]:
    """The entries of a function; `producer` is what its PTX says of where it comes from. With the
    statements of its sources by number, loops that left straight lines alone are told."""
    front_end = FRONT_ENDS.get(producer, "the front end")
    at = {(n, line): s for n, found in written.items() for s in reversed(found)
          for line in (*s.head, s.tail)}
    at = {(n, line): s for n, found in written.items() for s in found for line in s.breaks} | at
    trips = {place: s.trips for place, s in at.items() if s.trips}
    heads = Counter((n, s.head.start) for n, found in written.items() for s in found)
    made = source_loops(facts.loops, source.numbers, trips, heads)
    told = [g.places for g in made for p in g.parts if p.role != "remainder"]
    gone = straight_loops(facts.function, facts.loops, told, source.numbers, written)
    return tuple(
        _told(g, source, facts, front_end, s)
        for g, s in zip(made, _written_of(made, at, written), strict=True)
    ) + tuple(
        SourceLoopReport(
            tuple((source.file(f), n) for f, n in x.places), x.copies, {}, {},
            f"{front_end} unrolled it fully: {x.copies} copies of its body, no loop is left", "",
            at[x.places[0]].word,
        ) for x in gone
    )


def _written_of(
    made: Sequence[SourceLoop], at: Mapping[tuple[int, int], LoopStatement],
    written: Mapping[int, Sequence[LoopStatement]],
) -> Iterator[LoopStatement | None]:
    """The statement of each loop; of a line with as many of both, in their order."""
    each = Counter(g.places for g in made)
    before: Counter[tuple[tuple[int, int], ...]] = Counter()
    for g in made:
        found = at.get(g.places[0]) if g.places else None
        if found is not None and each[g.places] > 1:
            number, line = g.places[0]
            here = [s for s in written[number] if s.stands_at(line)]
            found = here[before[g.places]] if len(here) == each[g.places] else found
            before[g.places] += 1
        yield found


def _told(
    g: SourceLoop, source: SourceLines, facts: FunctionFacts, front_end: str,
    written: LoopStatement | None,
) -> SourceLoopReport:
    places = g.places
    if written is not None:  # the line information has the end of a do-while
        places = (places[0][0], written.head.start), *places[1:]
    g = attrs.evolve(g, parts=tuple(sorted(g.parts, key=lambda p: -p.copies)))  # as it is told
    decided = {p.loop.header.name: facts.unroll.get(p.loop.header.name) for p in g.parts}
    return SourceLoopReport(
        tuple((source.file(f), n) for f, n in places), g.copies,
        {p.loop.header.name: p.role for p in g.parts},
        {name: "full" if d is not None and d.action == "full" else d.factor if d else None
         for name, d in decided.items()},
        _front_end(g, front_end, written.unroll if written is not None else None),
        _assembler(g, decided, front_end, facts.policy),
        written.word if written is not None else "loop", front_end,
    )


def _front_end(g: SourceLoop, name: str, pragma: str | None) -> str:
    """What the front end did; "" of a loop that it left as it is. nvcc marks each loop that it has
    dealt with, so only the source says what its `pragma` asked for."""
    here = pragma and (not pragma.isdigit() or int(pragma) == g.copies)
    asked = f", as `#pragma unroll {pragma}` asks" if here else ""
    by_role: dict[str, list[Loop]] = {}
    for p in g.parts:
        by_role.setdefault(p.role, []).append(p.loop)
    parts = ", ".join(
        _headers(found) if role == "version" and len(by_role) == 1 else
        f"{_ROLES[role]}{'s' * (len(found) > 1)} {_headers(found)}"
        for role, found in by_role.items()
    )
    if g.copies > 1:
        rest = "" if "remainder" in by_role or "version" in by_role else "; no loop for a remainder"
        loops = f", in {len(g.parts)} loops" if "version" in by_role else ""
        return f"{name} unrolled it by {g.copies}{loops} ({parts}{rest}){asked}"
    if len(g.parts) > 1:
        return f"{name} made {len(g.parts)} loops of it ({parts})"
    return f"{name} marks it nounroll{asked}" if g.nounroll and name == "nvcc" else ""


_ROLES = {"whole": "loop", "main": "main loop", "remainder": "remainder", "version": "version"}


def _headers(loops: Sequence[Loop]) -> str:
    return ", ".join(x.header.name for x in loops)


def _assembler(
    g: SourceLoop, decided: Mapping[str, UnrollDecision | None], front_end: str, policy: Policy
) -> str:
    """What ptxas, or the policy, does with the parts: those of one fate and reason together."""
    who = next((_decider(d, policy) for d in decided.values() if d is not None), "ptxas")
    fates: dict[tuple[str, str], list[str]] = {}
    roles = [p.role for p in g.parts]
    for p in g.parts:
        d = decided[p.loop.header.name]
        if d is None or d.reason == "pass not available":
            return ""
        marked = d.code is UnrollCode.NOUNROLL and "pragma" in d.reason
        why = because(d)
        if marked and (front_end == "nvcc" or g.copies > 1):
            why = f"because {front_end} marks it nounroll"
        alone = roles.count(p.role) == 1 and p.role in ("main", "remainder")
        what = f"the {_ROLES[p.role]}" if alone else p.loop.header.name
        fates.setdefault((_fate(d), why), []).append(what)
    if len(fates) == 1:
        (does, why), names = next(iter(fates.items()))
        if why.endswith("marks it nounroll") and g.copies == 1 == len(g.parts):
            return f"{who} keeps it so"
        why = why if len(names) == 1 else why.replace("marks it", "marks them")
        them = "it" if len(names) == 1 else "both" if len(names) == 2 else "all of them"
        return f"{who} {does.replace('#', them)} {why}"
    if len({does for does, _ in fates}) == 1:
        does = next(iter(fates))[0].replace("#", "both" if len(g.parts) == 2 else "all of them")
        reasons = "; ".join(f"{' and '.join(n)} {why}" for (_, why), n in fates.items())
        return f"{who} {does}: {reasons}"
    return f"{who} " + "; ".join(
        f"{does.replace('#', ' and '.join(names))} "
        f"{why if len(names) == 1 else why.replace('marks it', 'marks them')}"
        for (does, why), names in fates.items()
    )


def _fate(d: UnrollDecision) -> str:
    if d.action == "full":
        return "unrolls # fully"
    return f"unrolls # by {d.factor}" if d.action == "partial" else "keeps #"


def _decider(d: UnrollDecision, policy: Policy) -> str:
    """Whose decision it is: the notes' under policy `documented`, but where machine code shows
    what ptxas did."""
    return "ptxas" if policy == "observed" or d.step == "code" else f"policy {policy}"


def decision_text(d: UnrollDecision, front_end: str = "", policy: Policy = "observed") -> str:
    """What ptxas, or the policy, does with one loop, and why; of a loop that its front end marks,
    as that did."""
    why = because(d)
    if front_end:
        why = why.replace(MARKED, f"{front_end} marks it nounroll")
    return f"{_decider(d, policy)} {_fate(d).replace('#', 'it')} {why}"


def because(d: UnrollDecision) -> str:
    """The reason of a decision as the end of a sentence."""
    return "as its machine code shows" if d.step == "code" else f"because {_reason(d)}"


def _reason(d: UnrollDecision) -> str:
    if d.step or not d.reason:  # of the documented steps
        return d.reason or "no reason is known"
    if d.action == "full":
        return f"{_iterations(d)} are few enough as straight-line code"
    if d.action == "partial":
        if d.T is not None:
            return f"{_iterations(d)} are too many as straight-line code, {d.factor} copies are not"
        loads = " with loads" if "with a load" in d.reason else ""
        return f"the trip count is not known and the body is small{loads}"
    if d.code is UnrollCode.NO_FACTOR and d.T is not None:
        also = next((text for mark, text in _NO_FACTOR.items() if mark in d.reason), "")
        return f"{_iterations(d)} are too many as straight-line code{also}"
    if d.code is UnrollCode.NO_FACTOR:
        return "the trip count is not known and the body is too large"
    if d.code is UnrollCode.DEGENERATE and "2³¹" in d.reason:
        return "iterations times instructions are 2³¹ or more"
    for pattern, sentence in _SENTENCES.items():
        if (found := re.fullmatch(pattern, d.reason)) is not None:
            return found.expand(sentence)
    return d.reason


def _iterations(d: UnrollDecision) -> str:
    return f"{d.T} iterations"


_NO_FACTOR = {
    "a branch in the body": " and the body has a branch",
    "copies save": " and copies would save too little",
    "; 2·": " and so are two copies",
}
_SENTENCES = {
    r'\.pragma "nounroll"': MARKED,
    r"(.*) in the body of an unknown trip count":
        r"the trip count is not known and the body has \1",
    r"the bound is made in the body": "its bound changes in the body",
    r"(.*) in the body is a call": r"the body has \1, which is a call",
    r"(.*) in the body(.*)": r"the body has \1\2",
    r"unknown trip count and a stride(.*)": r"the trip count is not known and the stride is\1",
    r"a branch between (.*)": r"a branch stands between \1",
    r"lanes leave apart, and a store .*":
        "its lanes may leave in different iterations, and a store follows a load of global memory",
    r"lanes leave apart, and (.*)": r"its lanes may leave in different iterations, and \1",
}
