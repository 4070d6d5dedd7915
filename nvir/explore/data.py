"""What the page shows, as plain JSON. Every figure is made by the functions behind `report`,
`explain`, `tune` and `simulate`; nothing is worked out here.

    version = Version(text, "kernel.ptx", options)
    version.summary()                   the file: PTX, sources, report, diagnostics
    version.kernel("sgemm", real=True)  its lines, live registers, loops and machine code
    version.loop("sgemm", "$L__BB0_2")  why the loop is as it is, and its timeline
    version.what_if(…)                  factors, depths, launch bounds and block sizes

Lines are numbers in the PTX, from 1. A figure says by "by" whether ptxas or the model gave it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import attrs

from nvir.analysis.places import SourceLines
from nvir.analysis.pressure import width
from nvir.explore.options import Options
from nvir.ir import Function, Loop, Module, NvirError, ParseError
from nvir.ir.errors import Diagnostic
from nvir.loading import Language, load_text
from nvir.ptx.check import check
from nvir.ptx.inline import check_inline
from nvir.report.diff import compare
from nvir.report.explain.loop import explain
from nvir.report.explain.trials import Trials
from nvir.report.facts import FunctionFacts
from nvir.report.findings import as_json
from nvir.report.html.pictures import control_flow
from nvir.report.lines import LineListing, line_listing
from nvir.report.model import Kept, Launch, ModuleReport, block_size, report
from nvir.report.names import spoken
from nvir.report.places import source_text
from nvir.report.real import NOTHING, RealCode, machine_loop, real_code
from nvir.report.tuning.advice import changes
from nvir.report.tuning.table import tuning_json
from nvir.sm.body import BodyInstruction, MachineBody
from nvir.sm.occupancy import occupancy
from nvir.sm.profile import PROFILES, Profile, profile_for
from nvir.tune.search import MOST, Judged, Launches, resident, tune

SCHEMA = "nvir.explore/1"
BLOCKS = tuple(range(32, 1025, 32))  # threads a block on the page's slider
WARPS, ITERATIONS = 4, 4  # of a timeline
EVENTS = 4000  # issues of a timeline
DRAWN = 400  # blocks of a picture of control flow
# of an exported page: loops, instructions of the kernels around them, and of what-ifs' candidates
LOOPS, EXPLAINED, TRIED = 16, 4_000, 16_000
_LABEL = re.compile(r"`\(\.L_\w+\)")  # as nvdisasm names a block
LEFT_OUT = ("Left out of this page, which would take minutes to make: nvir explore works it out "
            "here and now, an export with --kernel includes more.")


class Version:
    """One text of a file; what is known of it is made when it is asked for, once."""

    def __init__(self, text: str, name: str, options: Options) -> None:
        self.text, self.name, self.options = text, name, options
        self.broken: list[Diagnostic] = []
        self.language: Language = "ptx"
        self.module = Module("")
        self.ptx = text
        try:
            self._read()
        except ParseError as e:
            self.broken = [attrs.evolve(d, file=name) if d.file == "<text>" else d
                           for d in e.errors]
        except NvirError as e:
            self.broken = [Diagnostic(str(e), name)]
        self.arch = options.arch or self.module.target
        self.launch = Launch(options.block, options.dynamic_smem)
        self._reports: dict[tuple[str | None, bool], ModuleReport] = {}

    def _read(self) -> None:
        data = self.text.encode("utf-8", "surrogateescape")
        self.module, self.language = load_text(data, self.name, self.options.arch, level="ori")
        if self.language == "ori":
            from nvir.ptx.printer import print_ptx
            from nvir.ptx.reader import read_ptx

            self.module = read_ptx(print_ptx(self.module).encode("utf-8", "surrogateescape"))
        if self.language != "ptx":
            assert self.module.text is not None
            self.ptx = self.module.text
        self.module.name = self.name

    @cached_property
    def machine(self) -> Profile:
        return profile_for(self.arch)

    @cached_property
    def lines(self) -> list[str]:
        return self.ptx.split("\n")

    @cached_property
    def real(self) -> RealCode:
        """What ptxas makes of it, decoded; nothing where it is not asked."""
        if self.options.model or self.broken:
            return NOTHING
        data = self.ptx.encode("utf-8", "surrogateescape")
        made = real_code(data, self.arch, decode=True, text=True)
        if made.assembler is None and made.note is None:  # no nvdisasm: the code without its text
            made = real_code(data, self.arch, decode=True)
        return made

    def report(self, name: str | None = None, real: bool = False) -> ModuleReport:
        """The report of one function or of all; with `real` by ptxas where it is there."""
        key = name, real and self.real is not NOTHING
        if key not in self._reports:
            made = report(
                self.module, arch=self.arch, launch=self.launch, kernel=name, keep=True,
                real=self.real if key[1] else NOTHING, kept=self._kept,
            )
            self._reports[key] = self._trials.report(made) if key[1] else made
        return self._reports[key]

    @cached_property
    def _kept(self) -> Kept:
        return Kept(self.module)

    @cached_property
    def _trials(self) -> Trials:
        return Trials(self.module, self.arch, self.machine, self.options.dynamic_smem)

    # ---------------------------------------------------------------------- the file

    def summary(self, real: bool = False) -> dict[str, Any]:
        """The document that a page begins with: no figures yet, and no kernels of a broken text."""
        out: dict[str, Any] = {
            "schema": SCHEMA, "file": self.name.rsplit("/", 1)[-1], "language": self.language,
            "arch": self.arch, "by": "ptxas" if real and self.real.assembler else "model",
            "diagnostics": self.diagnostics(), "text": self.text, "kernels": [],
        }
        if self.broken:
            return out
        return out | {
            "ptx": self.ptx if self.language != "ptx" else None, "sources": self.sources(),
            "missing": self.real.missing if real else None,
            "note": self.real.note if real else None,
            "kernels": [self._place(f) for f in self.module.functions if f.blocks],
            "opens": self.largest(),
        }

    def largest(self, among: Sequence[str] = ()) -> str | None:
        """What the page opens on: the largest kernel, of all or of some functions."""
        found = [f for f in self.module.functions if f.blocks and (not among or f.name in among)]
        kernels = [f for f in found if f.kind == "entry"] or found
        return str(max(kernels, key=_size).name) if kernels else None

    def _place(self, f: Function) -> dict[str, Any]:
        lines = [i.line for i in f.instructions() if i.line > 0]
        return {"name": str(f.name), "spoken": spoken(str(f.name)), "kind": f.kind,
                "first": min(lines, default=1), "last": max(lines, default=1)}

    def diagnostics(self) -> list[dict[str, Any]]:
        """What `nvir check` says of the text as it is edited; of what cannot be read, why."""
        if self.language == "ptx":
            text = self.text.encode("utf-8", "surrogateescape")
            found = check(text, PROFILES, self.options.arch)
        elif self.name.endswith((".cu", ".cuh")):
            found = check_inline(self.text, self.name, self.options.arch)
        else:
            found = []
        if self.broken and not any(d.severity == "error" for _, d in found):
            found = [*found, *(("read", d) for d in self.broken)]
        rows: list[dict[str, Any]] = json.loads(as_json([(self.name, found)]))["diagnostics"]
        return rows

    def sources(self) -> list[dict[str, Any]]:
        """The source files that are there, by their number in the PTX; the file itself as it is
        edited."""
        paths = {n: name for n, name, _ in self.module.debug.files}
        base = self.name.rsplit("/", 1)[-1]
        found = source_text(paths, self.options.folders)
        out = [
            {"number": n, "name": paths[n].rsplit("/", 1)[-1], "text": "\n".join(lines)}
            for n, lines in found.items()
        ]
        if self.language == "ptx":
            return out
        mine = next((n for n, p in paths.items() if p.rsplit("/", 1)[-1] == base), 0)
        out = [x for x in out if x["number"] != mine]
        return [{"number": mine, "name": base, "text": self.text}, *out]

    # ---------------------------------------------------------------------- a function

    def kernel(self, name: str, real: bool = False) -> dict[str, Any]:
        """The report of a function, its lines with their live registers, CFG and machine code."""
        f, facts = self._function(name, real)
        told = self.report(name, real).to_json()
        body = self.real.bodies.get(name) if real else None
        listing = line_listing(f, self.module, self.lines, facts, arch=self.arch, body=body)
        shown = listing.to_json()
        rows = [r for r in listing.rows if r.instruction is not None and r.line]
        source = SourceLines(f, self.module, self.lines)
        places: dict[tuple[tuple[int, int], ...], int] = {}
        at = [
            places.setdefault(tuple(source.numbers(r.instruction)), len(places))
            for r in rows if r.instruction is not None
        ]
        return {
            "name": name, "report": told["functions"][0], "notes": told["diagnostics"],
            "by": listing.origin, "registers": shown["registers"],
            "peak": shown["peak"],
            "rows": {"line": [r.line for r in rows], "live": [r.live for r in rows],
                     "asm": [r.scheduled for r in rows], "place": at},
            "places": [list(p) for p in places],
            "live": _lifetimes(f, listing),
            "loops": [_band(x, f) for x in facts.loops],
            "blocks": _blocks(f),
            "cfg": control_flow(listing) if 1 < len(f.blocks) <= DRAWN else None,
            "machine": _machine_code(body) if body is not None else None,
        }

    def _function(self, name: str, real: bool) -> tuple[Function, FunctionFacts]:
        if name not in self._kept.bodies:
            raise NvirError(f"no function {name!r} in {self.name}")
        facts = self.report(name, real).functions[0].facts
        assert facts is not None
        return facts.function, facts

    # ---------------------------------------------------------------------- a loop

    def loop(self, name: str, header: str, real: bool = False) -> dict[str, Any]:
        """The document of `nvir explain` for a loop, and its timeline."""
        f, facts = self._function(name, real)
        loop = next((x for x in facts.loops if x.header.name == header), None)
        if loop is None:
            raise NvirError(f"no loop {header!r} in {spoken(name)}")
        body = self.real.bodies.get(name) if real else None
        made = explain(f, loop, self.module, self.machine, arch=self.arch, launch=self.launch,
                       vary=False, body=body)
        if real:
            made = self._trials.explained(made, f, self.options.block, self.real)
        try:
            timeline = self._timeline(loop, body)
        except NvirError as e:
            timeline = {"reason": str(e)}
        return {"explain": made.to_json(), "timeline": timeline}

    def _timeline(self, loop: Loop, body: MachineBody | None) -> dict[str, Any]:
        """Which warp issues what in which cycle, in the loop as ptxas made it or is taken to."""
        from nvir.sm.body import body_path
        from nvir.sm.simulate import loop_stream, simulate
        from nvir.sm.simulate.body import body_stream
        from nvir.sm.simulate.memory import MEMORY_LEVEL

        if not loop.is_innermost:
            return {"reason": "it holds other loops; choose an inner one"}
        found = machine_loop(body, loop, self.machine) if body is not None else None
        if body is not None and found is not None:
            stream = body_stream(body, self.machine, found[0])
            code = [i for b in body_path(body, found[0]) for i in body.blocks[b].instructions]
            slots = [(_spelled(i), i.line) for i in code]
        else:
            stream = loop_stream(loop, self.machine)
            made = [s.operation for s in stream.slots]
            slots = [(s.name, o.parent.line if o is not None else 0)
                     for s, o in zip(stream.slots, made, strict=True)]
        if len(slots) * ITERATIONS > EVENTS:
            return {"reason": f"{len(slots)} operations are too many to draw"}
        warps = max(1, min(WARPS, EVENTS // (len(slots) * ITERATIONS)))
        run = simulate(stream, warps=warps, iterations=ITERATIONS, memory=MEMORY_LEVEL,
                       timeline=True)
        return {
            "by": "ptxas" if found is not None else "model", "warps": warps,
            "copies": found[1] if found is not None else 1, "cycles": run.cycles,
            "per_iteration": run.cycles_per_iteration, "memory": MEMORY_LEVEL,
            "main_stall": run.main_stall, "slots": slots,
            "stalls": {k: n for k, n in run.stalls.items() if n},
            "utilisation": {k: round(u, 4) for k, u in run.utilisation.items()},
            "events": [[e.warp, e.slot, e.iteration, e.start, e.end, e.pipe] for e in run.events],
        }

    # ---------------------------------------------------------------------- what if

    def what_if(
        self, name: str, header: str = "", real: bool = False, most: int = MOST
    ) -> dict[str, Any]:
        """The candidates of `nvir tune` for one loop (all, where none is named), each factor with
        each depth, and blocks/SM and cycles of each at every block size."""
        sass = real and self.real.assembler is not None
        f = self._function(name, real)[0]
        request = Launches(self.options.block, self.options.dynamic_smem, loop=header, every=True,
                           most=most)
        made = tune(self.module, self.machine, self.arch, request, kernels=[name],
                    judge="sass" if sass else "model")
        found = made.kernels[0]
        shown: dict[str, Any] = tuning_json(made)["kernels"][0]
        for row, c in zip(shown["candidates"], found.candidates, strict=True):
            row["write"] = [attrs.asdict(x) for x in changes(
                self.module, name, c.settings, found.block)]
            row["at"] = self._at(c)
        return shown | {
            "loop": header, "by": "ptxas" if sass else "model", "sizes": list(BLOCKS),
            "own": {k: f.directives[k][0] for k in ("minnctapersm", "maxnreg")
                    if f.directives.get(k)},
            "fixed": "reqntid" in f.directives, "most": _most(f), "level": made.level,
            "tried": found.tried,
        }

    def _at(self, c: Judged) -> list[list[float]]:
        """[blocks/SM, warps/SM, cycles at full occupancy] at each of `BLOCKS`."""
        out = []
        for threads in BLOCKS:
            try:
                o = occupancy(self.machine, c.registers, threads, self.options.dynamic_smem,
                              static_smem=c.shared)
                blocks, warps = o.blocks_per_sm, o.warps_per_sm
            except NvirError:
                blocks = warps = 0
            cycles = c.time.cycles(resident(blocks, threads)).full
            out.append([blocks, warps, round(cycles, 1)])
        return out

    def against(self, other: Version) -> dict[str, Any]:
        """The document of `nvir diff` of another version and this one, with the other's PTX."""
        made = compare(other.report(real=True), self.report(real=True)).to_json()
        return made | {"ptx": other.ptx, "names": {x["name"]: spoken(x["name"])
                                                   for x in made["functions"]}}


def _size(f: Function) -> int:
    return sum(map(len, f.blocks))


def _most(f: Function) -> int:
    """Threads a block at most."""
    return block_size(f, None)[0] if {"reqntid", "maxntid"} & f.directives.keys() else BLOCKS[-1]


def _lifetimes(f: Function, listing: LineListing) -> list[list[Any]]:
    """[name, type, 32-bit registers, line of the definition, line of the last use, first row, row
    behind the last, …] of each register that the rows show."""
    known: dict[str, list[Any]] = {}
    for v in [*f.params, *(r for i in f.instructions() for r in i.results)]:
        if not v.name:
            continue
        d = v.definer
        at = 0 if d is None else d.line if not d.is_phi else d.block.line if d.block else 0
        used = max((u.line for u in v.users if not u.is_phi), default=0)
        old = known.setdefault(v.name, [v.name, str(v.type), width(v.type), at, used])
        old[3:5] = min(old[3] or at, at or old[3]), max(old[4], used)
    n = 0
    for r in listing.rows:
        if r.instruction is None or not r.line:
            continue
        for name in r.marks:
            row = known.get(name)
            if row is None:
                continue
            if len(row) > 5 and row[-1] == n:
                row[-1] = n + 1
            else:
                row += n, n + 1
        n += 1
    return [row for row in known.values() if len(row) > 5]


def _blocks(f: Function) -> dict[str, int]:
    """The first line of each block that has one."""
    found = {str(b.name): next((n for n in (b.line, *(i.line for i in b)) if n > 0), 0)
             for b in f.blocks}
    return {name: n for name, n in found.items() if n}


def _band(loop: Loop, f: Function) -> dict[str, Any]:
    """Where a loop stands: stretches of lines from its labels to its last instructions."""
    stretches: list[list[int]] = []
    open_ = False
    for b in f.blocks:
        lines = [n for n in (b.line, *(i.line for i in b)) if n > 0]
        if b not in loop.members or not lines:
            open_ = open_ and not lines
            continue
        if open_:
            stretches[-1][1] = max(stretches[-1][1], *lines)
        else:
            stretches.append([min(lines), max(lines)])
        open_ = True
    return {"header": loop.header.name, "depth": loop.depth, "lines": stretches,
            "parent": loop.parent.header.name if loop.parent is not None else None,
            "inner": loop.is_innermost}


def _spelled(i: BodyInstruction) -> str:
    """An instruction with the blocks that it names as the page labels them."""
    return _LABEL.sub(f"B{i.target}", str(i))


def _machine_code(body: MachineBody) -> dict[str, Any]:
    """The code: [text, line of the PTX, live vector registers, stall cycles], by block."""
    counts = body.live_counts().blocks
    return {
        "registers": body.registers, "spill_bytes": body.spill_bytes,
        "blocks": [
            {"label": f"B{b.index}", "depth": b.loop.depth if b.loop is not None else 0,
             "to": [f"B{s}" for s in b.succs],
             "code": [[_spelled(i), i.line, n[0],
                       i.control.stall if i.control else 0]
                      for i, n in zip(b.instructions, live, strict=True)]}
            for b, live in zip(body.blocks, counts, strict=True)
        ],
    }


def everything(
    version: Version, other: Version | None = None, kernels: Sequence[str] = ()
) -> Iterable[tuple[str, dict[str, Any]]]:
    """(key, document) of all that a page without a server can show: the answers to its questions,
    as many as are made in seconds; explanations of `LOOPS` loops, those of the largest kernel
    first, inner ones before outer ones."""
    opens = version.largest(kernels)
    yield "summary", version.summary(real=True) | {"opens": opens}
    loops: list[tuple[bool, bool, int, int, str, str, str]] = []
    asked: list[tuple[bool, int, str, str]] = []
    for f in version.module.functions:
        name = str(f.name)
        if not f.blocks or (kernels and name not in kernels):
            continue
        made = version.kernel(name, real=True)
        yield f"kernel {name}", made
        size = _size(f)
        loops += [(name != opens, not x["inner"], len(loops) + k, size, name, x["header"], f.kind)
                  for k, x in enumerate(made["loops"])]
        if not made["loops"] and f.kind == "entry":
            asked.append((name != opens, size, name, ""))
    room = EXPLAINED
    for other_kernel, _, _, size, name, header, kind in sorted(loops)[:LOOPS]:
        key, room = f"loop {name} {header}", room - size
        told = room >= 0 or room == EXPLAINED - size  # the first in any case
        yield key, version.loop(name, header, real=True) if told else {"error": LEFT_OUT}
        if kind == "entry":
            asked.append((other_kernel, size, name, header))
    yield from _what_ifs(version, sorted(asked, key=lambda x: x[:3]))
    if other is not None:
        yield "against", version.against(other)


def _what_ifs(
    version: Version, asked: Sequence[tuple[bool, int, str, str]]
) -> Iterable[tuple[str, dict[str, Any]]]:
    """What-ifs of (another kernel than the page opens on, instructions, kernel, loop): the first
    may use half of `TRIED`, each other one an equal part of what those before it have left."""
    room = TRIED
    for n, (_, size, name, header) in enumerate(asked):
        part = min(MOST, room // (len(asked) - n if n else min(2, len(asked))))
        made: dict[str, Any] = {"error": LEFT_OUT}
        if 3 * size <= part:  # as it is, not unrolled, and one more
            made = version.what_if(name, header, real=True, most=part)
            room = max(0, room - made["tried"])
        yield f"what_if {name} {header}", made
