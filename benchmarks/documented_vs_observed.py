"""On how many loops each noted step decides as the real ptxas: unrolling, hoisting, pipelining.

    python -m benchmarks.documented_vs_observed --files DIR … [--arch sm_80,sm_90] [--sample N]
                                                [--misses] [--json out.json]

Each loop of a PTX file is decided by policy `documented`, as it is written, and by ptxas. A row of
the tables is the step of the notes that settled a loop: how many loops it settled, of how many the
machine code says clearly what ptxas did, and on how many of those ptxas did the same.

    unrolling   the same action and factor, read from the copies of the loop's own operations
    hoisting    whether anything invariant left the loop; clear where the depth of an instruction
                that could leave shows in the machine code (instances 0 and 1, one after the other)
    pipelining  whether a load ahead of the machine loop brings into it what a load in it gives
                the next iteration, of loops that ptxas did not unroll; by default, and as the
                notes' table of pipes (GAP-22) and their check (GAP-23) stand

A last table says how often a step said one thing and ptxas did another, with the loop of the
shortest name that shows it.

A falsifiable account of the notes, not of nvir's own model: benchmarks/unroll_agreement.py and
licm_agreement.py hold that against ptxas.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parent))

import agreement
import licm_agreement
import unroll_agreement
from agreement import sass_loops

import nvir
from nvir import toolchain
from nvir.assembler.unroll.decision import UnrollDecision
from nvir.assembler.unroll.latch_exit import MADE
from nvir.ir.clone import clone_module
from nvir.ir.loops import Loop, natural_loops
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.unroll import loop_unroll
from nvir.passes.registry import all_passes
from nvir.passes.remarks import Remark
from nvir.report.explain.noted import loads_ahead
from nvir.sm.body import MachineBody
from nvir.toolchain import SassInstruction

CLEAN = "copy-prop,dce"
PIPELINES = {"pipelining": "loop-pipeline",
             "pipelining as it stands": "loop-pipeline<classes;noted-check>"}
HOISTED = "Hoisted"
PIPELINED = ("Pipelined", "Scheduled")
STEPS = {"B": "a mark around it", "F": "an edge leaves the body", "O": "full unrolling",
         "P": "partial unrolling", "H": "the override string"}
CODES = {("K", "12"): "a known count above two",
         ("O", "24"): "held back by a knob that the notes give no place"}


@attrs.frozen
class Judged:
    """What one step settled about a loop. noted, ptxas: the same words, or None where not clear."""

    name: str
    pass_: str
    step: str
    noted: str
    ptxas: str | None


@attrs.frozen
class Noted:
    """What the documented steps say of one loop: for each pass the step and its decision."""

    function: str
    loop: Loop
    decided: dict[str, tuple[str, str]]


def judge(path: Path, arches: Sequence[str], done: set[str]) -> dict[str, list[Judged]]:
    """The loops of one PTX file by architecture, of those for which ptxas takes it; functions whose
    text is in `done` are passed over."""
    text = path.read_text(errors="replace")
    made = {a: toolchain.ptxas(text, a, options=("-lineinfo",)) for a in arches}
    for a, m in made.items():
        if not m.ok:
            print(f"{path}: left out for {a}: {m.error}", file=sys.stderr)
    cubins = {a: m.cubin for a, m in made.items() if m.ok and m.cubin is not None}
    loops = noted(text, done) if cubins else []
    out = {}
    for arch, cubin in cubins.items() if loops else ():
        code = toolchain.disassemble(cubin, live=False, lines="ptx")
        names = {n.function for n in loops}
        real = {name: Machine(name, code.get(name, []), arch) for name in names}
        out[arch] = [j for n in loops for j in beside(n, path.name, real[n.function])]
    return out


def noted(text: str, done: set[str]) -> list[Noted]:
    """The loops of the kernels in a PTX text, each as the notes decide it."""
    module = nvir.read_ptx(text)
    nvir.run_passes(module, CLEAN)
    wanted = []
    for f in module.functions:
        loops = natural_loops(f) if f.blocks and f.kind == "entry" else []
        shape = " ".join(i.form.spelling for i in f.instructions()) if loops else ""
        if loops and shape not in done:
            done.add(shape)
            wanted.append((f, loops))
    hoists = remarks_of(module, "licm<id=0>,licm<id=1>") if wanted else {}
    pipelines = {what: remarks_of(module, how) for what, how in PIPELINES.items()} if wanted else {}
    out = []
    for f, loops in wanted:
        name, unrolls = str(f.name), unrolling(module, f)
        for loop in loops:
            at = name, str(loop.header.name)
            decided = {"unrolling": unrolls[at[1]], "hoisting": hoisting(hoists.get(at, []))}
            if loop.is_innermost:
                decided |= {what: pipelining(told.get(at, [])) for what, told in pipelines.items()}
            out.append(Noted(name, loop, decided))
    return out


class Machine:
    """The machine code of a kernel: its loops, names and lines, instructions by line.

    From sm_90 on an operation of the whole warp stands twice: out of line, before ENDCOLLECTIVE,
    for warps that arrive apart. That is no copy of the loop's body; it has no name here.
    """

    def __init__(self, name: str, sass: Sequence[SassInstruction], arch: str) -> None:
        self.body = toolchain.body_of(name, sass, arch)
        self.places = sass_loops(sass)
        apart = {k - 1 for k, i in enumerate(sass) if i.name == "ENDCOLLECTIVE"}
        self.at = [("" if k in apart else i.name, i.line[1] if i.line else 0)
                   for k, i in enumerate(sass)]
        self.seen = by_line(sass)


def beside(n: Noted, file: str, m: Machine) -> list[Judged]:
    """What is noted of a loop beside what ptxas made of it."""
    action = word(unroll_agreement._factor_of_lines(n.loop, m.at, m.places))
    real = {"unrolling": action, "hoisting": hoisted(n.loop, m.seen)}
    ahead = pipelined(n.loop, m.body) if n.loop.is_innermost and action == "none" else None
    real |= dict.fromkeys(PIPELINES, ahead)
    where = f"{file}:{n.function}:{n.loop.header.name}"
    return [Judged(where, p, step, said, real[p]) for p, (step, said) in n.decided.items()]


def remarks_of(module: nvir.Module, pipeline: str) -> dict[tuple[str, str], list[Remark]]:
    """The remarks of policy `documented` by function and header; the module stays as it is."""
    found: dict[tuple[str, str], list[Remark]] = {}
    for r in nvir.run_passes(clone_module(module), pipeline, policy="documented"):
        found.setdefault((r.function, r.loop), []).append(r)
    return found


def word(action: tuple[str, int] | None) -> str | None:
    if action is None:
        return None
    return f"{action[0]} {action[1]}" if action[0] == "partial" else action[0]


def unrolling(module: nvir.Module, f: Any) -> dict[str, tuple[str, str]]:
    """Header → the step that settled it, and what becomes of it."""
    f.analyze_cfg()
    ctx = Context(module, Knobs(policy="documented"))
    ctx.pass_, ctx.function = all_passes()["loop-unroll"], f
    ctx.options = loop_unroll.Options()
    made = loop_unroll.planned(f, ctx)
    loops = {str(x.header.name): ("entry guard", "none") for x in natural_loops(f)}
    for header, d in made.decided.items():
        refused = header in made.refused
        step = "copies refused" if refused else told(d)
        action = ("none", 1) if refused else (d.action, d.factor or 0)
        loops[str(header.name)] = step, word(action) or ""
    return loops


def told(d: UnrollDecision) -> str:
    """The step that settled a loop, with what it found and the code."""
    if d.code is None:
        return f"{d.step}: {STEPS[d.step]}" if d.step in STEPS else d.step or "pragma"
    found = MADE if d.reason == MADE else CODES.get((d.step, d.code.number), d.code.text)
    return f"{d.step}: {found[0].lower()}{found[1:]}, code {d.code.number}"


def hoisting(told: Sequence[Remark]) -> tuple[str, str]:
    names = [r.name for r in told]
    if HOISTED in names:
        return "stage 5: pays", "hoisted"
    for name, step in (
        ("NotProfitable", "stage 5: does not pay"), ("LeftAlone", "stage 5: left alone"),
        ("Boundary", "boundary analysis"), ("UnknownOperation", "unknown operation"),
        ("NoEntry", "no entry"),
    ):
        if name in names:
            return f"{step}: stays", "stays"
    return (f"{'side effects' if told else 'stages 2 to 4: nothing invariant'}: stays", "stays")


def by_line(sass: Sequence[SassInstruction]) -> dict[int, list[tuple[SassInstruction, int]]]:
    seen: dict[int, list[tuple[SassInstruction, int]]] = {}
    for s, d in zip(sass, licm_agreement.depths(sass), strict=True):
        if s.line:
            seen.setdefault(s.line[1], []).append((s, d))
    return seen


def hoisted(loop: Loop, seen: dict[int, list[tuple[SassInstruction, int]]]) -> str | None:
    """Whether ptxas moved something invariant out of the loop; None where it does not show."""
    from nvir.analysis.hoisting.nest import Nest
    from nvir.analysis.hoisting.region import survey

    nest = Nest(loop.header.function)
    mine = next(x for x in nest.loops if x.header is loop.header)
    clear = []
    for i in survey(mine, nest).invariant:
        if i.line and i.block is not None and licm_agreement._machine(i):
            depth = licm_agreement._depth(i, seen.get(i.line, ()))
            if depth is not None and depth <= i.block.loop_depth:
                clear.append(depth < loop.depth)
    return None if not clear else "hoisted" if any(clear) else "stays"


def pipelining(told: Sequence[Remark]) -> tuple[str, str]:
    for r in told:
        if r.name in PIPELINED:
            return "slots found: pipelined", "pipelined"
        if r.name.startswith("NotPipelined"):
            why = re.sub(r"\B(?=[A-Z])", " ", r.name.removeprefix("NotPipelined")).lower()
            return f"{why}: stays", "stays"
    return "not asked", "stays"


def pipelined(loop: Loop, body: MachineBody) -> str | None:
    """Whether what a load ahead of the machine loop gives is read in it; None without a load."""
    found = loads_ahead(loop, body)
    return None if found is None else "pipelined" if found[1] else "stays"


def tables(results: Mapping[str, Sequence[Judged]], misses: bool = False) -> list[str]:
    """A Markdown table a pass: steps, loops, and for each architecture agreement on clear ones."""
    out = []
    for pass_ in ("unrolling", "hoisting", *PIPELINES):
        heads = "".join(f" {arch}: same of clear | share |" for arch in results)
        out.append(f"\n| {pass_}: settled by | loops |{heads}\n|---|---:|"
                   + "---:|---:|" * len(results))
        mine = {a: [j for j in js if j.pass_ == pass_] for a, js in results.items()}
        size = Counter(j.step for j in max(mine.values(), key=len))
        for step in (*dict(size.most_common()), "all"):
            cells = []
            for js in mine.values():
                clear = [j for j in js if step in (j.step, "all") and j.ptxas is not None]
                same = sum(j.ptxas == j.noted for j in clear)
                cells += [f"{same} of {len(clear)}" if clear else "none",
                          share(same, len(clear)) if clear else "–"]
            cells = [str(size[step] if step != "all" else size.total()), *cells]
            out.append(f"| {step} | {' | '.join(cells)} |")
    out += differences(results)
    if misses:
        out += [f"{a}: {j.name}: {j.pass_}, {j.step}: noted {j.noted}, ptxas {j.ptxas}"
                for a, js in results.items() for j in js if j.ptxas not in (None, j.noted)]
    return out


def share(same: int, of: int) -> str:
    """In percent; 100 % are all."""
    return f"{min(round(100 * same / of), 99 if same < of else 100)} %"


def differences(results: Mapping[str, Sequence[Judged]]) -> list[str]:
    """A table of what the notes say and ptxas refutes: on how many loops, and one that shows it."""
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for arch, js in results.items():
        for j in js:
            if j.ptxas not in (None, j.noted):
                kind = j.pass_, j.step, j.noted, str(j.ptxas)
                found.setdefault(kind, {a: [] for a in results})[arch].append(j.name)
    order = ["unrolling", "hoisting", *PIPELINES]
    rows = sorted(found.items(), key=lambda x: (order.index(x[0][0]), -max(map(len, x[1].values())),
                                                x[0]))
    heads = "".join(f" {arch} |" for arch in results)
    out = [f"\n| where they differ | settled by | noted | ptxas |{heads} for example |\n"
           "|---|---|---|---|" + "---:|" * len(results) + "---|"] if rows else []
    for what, names in rows:
        counts = " | ".join(str(len(x)) for x in names.values())
        shown = min((n for x in names.values() for n in x), key=lambda n: (len(n), n))
        out.append(f"| {' | '.join(what)} | {counts} | `{shown}` |")
    return out


def main(argv: Sequence[str] | None = None) -> int:
    args = agreement.parser(__doc__, count=0, missed="loops").parse_args(argv)
    if not toolchain.available("ptxas"):
        print("ptxas is not there: nothing to compare with")
        return 1
    paths = agreement.ptx_files(args.files, args.sample, args.seed)
    arches, done = agreement.architectures(args.arch), set[str]()
    results: dict[str, list[Judged]] = {a: [] for a in arches}
    for path in paths:
        try:
            for arch, found in judge(path, arches, done).items():
                results[arch] += found
        except (nvir.NvirError, toolchain.ToolError) as e:
            print(f"{path}: {str(e).splitlines()[0]}", file=sys.stderr)
    print(*tables(results, args.misses), sep="\n")
    if args.json:
        import json

        body = {a: [attrs.asdict(j) for j in js] for a, js in results.items()}
        args.json.write_text(json.dumps(body, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
