"""Each stage of the register prediction by itself, on the code that ptxas made.

    python benchmarks/register_stages.py CORPUS CACHE [--half choose|report] [--longest N]

Real code is brought into the form that the predictor works on (`nvir.assembler.regalloc.code`):
SSA, with a phi and its wish for a common register where ptxas has one register on both ways. Then
the predictor's own stages run on it:

    allocation  its registers for ptxas's instructions in ptxas's order
    order       its order of ptxas's instructions: pairs (up to 40 apart) in ptxas's order, MaxLive
    both        its registers in its order

What is missing from these figures to those of benchmarks/registers.py is due to the instructions
that nvir predicts. Kernels with calls are left out, and equal ones are counted once.
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

import nvir
from benchmarks.registers import ARCHES, machine_code
from nvir.assembler.regalloc import tables
from nvir.assembler.regalloc.code import FENCE, LOAD, PLAIN, STORE, Code, Op, Region, pressures
from nvir.assembler.regalloc.colour import colour
from nvir.assembler.regalloc.order import dependences, schedule
from nvir.assembler.regalloc.tables import RESERVED, STACK_POINTER, generation
from nvir.assembler.regalloc.targets import block_threads, register_limit, targets
from nvir.ir import Function
from nvir.sm import profile
from nvir.sm.body import BodyBlock, BodyInstruction, MachineBody, Span, code_order, register_bits
from nvir.toolchain.sass_body import body_of

_Register = tuple[str, int]
_SPACES = {"S": 2, "L": 4}  # by the third letter: LDS, STL
_TIMES = (
    (tables.GLOBAL, "LDG LD ATOMG ATOM LDL TEX TLD TLD4 SULD"),
    (tables.SHARED, "LDS LDSM ATOMS SHFL"),
    (tables.SPECIAL, "MUFU I2F F2I F2F I2I POPC FLO BREV"),
    (tables.DOUBLE, "DADD DMUL DFMA DSETP"),
    (tables.SYSTEM, "S2R"),
    (tables.LOADED, "LDC"),
    (tables.MATRIX, "HMMA IMMA DMMA BMMA"),
)
LATENCY = {family: n for n, families in _TIMES for family in families.split()}
_ENDS = frozenset(("BRA", "EXIT", "BSSY", "BSYNC", "WARPSYNC", "BRX", "RET", "KILL"))
_FENCES = frozenset(("BAR", "MEMBAR", "DEPBAR", "LDGDEPBAR", "CCTL", "ERRBAR"))


class _Reader:
    """The code of one body while it is made."""

    def __init__(self, body: MachineBody) -> None:
        self.body, self.code = body, Code()
        self.order = code_order(body.blocks)
        self.alias: dict[int, int] = {}
        self.out: dict[int, dict[_Register, int]] = {}
        self.phis: dict[int, dict[_Register, int]] = {}
        self.live = _live_in(body)
        self.rows: list[tuple[Op, list[tuple[int, ...]], list[tuple[int, ...]]]] = []

    def value(self, register: _Register) -> int:
        return self.code.value(1 if register[0] == "R" else 0)

    def run(self) -> Code:
        place = {b: n for n, b in enumerate(self.order)}
        for b in self.order:
            self.block(self.body.blocks[b])
        self.prune()
        for b in self.order:
            self.borders(self.code.regions[place[b]], self.body.blocks[b])
        self.merge()
        return self.code

    def block(self, block: BodyBlock) -> None:
        region = Region([])
        self.code.regions.append(region)
        if len(block.preds) == 1 and block.preds[0] in self.out:
            now = dict(self.out[block.preds[0]])
        else:
            now = {r: self.value(r) for r in _registers(self.live[block.index])}
            self.phis[block.index] = dict(now)
        for i in block.instructions:
            if not any(s.file == "R" and s.first == STACK_POINTER for s in i.writes):
                region.ops.append(self.op(i, now))
        self.out[block.index] = now

    def op(self, i: BodyInstruction, now: dict[_Register, int]) -> Op:
        reads = [self.span(s, now) for s in i.reads if not _is_stack(s)]
        sources = [v for group in reads for v in group if v >= 0]
        writes = []
        for s in i.writes:
            made = []
            for k in range(s.words):
                r = (s.file, s.first + k)
                v = self.value(r)
                if i.guard is not None and r in now:
                    sources.append(now[r])
                    self.code.hints[v] = now[r]
                now[r] = v
                made.append(v)
            writes.append(tuple(made))
        results = tuple(v for group in writes for v in group)
        parent: Any = i  # of it no more than the line is asked
        made_op = Op(results, tuple(dict.fromkeys(sources)), parent, **_facts(i))
        self.rows.append((made_op, writes, reads))
        return made_op

    def span(self, s: Span, now: dict[_Register, int]) -> tuple[int, ...]:
        return tuple(now.get((s.file, s.first + k), -1) for k in range(s.words))

    def home(self, v: int) -> int:
        while v in self.alias:
            v = self.alias[v]
        return v

    def prune(self) -> None:
        """Leave out the phis of one value."""
        changed = True
        while changed:
            changed = False
            for b, phis in self.phis.items():
                for r, v in list(phis.items()):
                    given = {self.home(o) for o in self.handed(b, r)} - {v}
                    if len(given) <= 1:
                        del phis[r]
                        if given:
                            self.alias[v] = given.pop()
                        else:  # never written: a guard keeps it from being read
                            self.code.widths[v] = 0
                        changed = True

    def handed(self, b: int, r: _Register) -> Iterator[int]:
        for p in self.body.blocks[b].preds:
            v = self.out.get(p, {}).get(r, -1)
            if v >= 0:
                yield v

    def borders(self, region: Region, block: BodyBlock) -> None:
        heads = self.phis.get(block.index, {})
        known = {self.home(v) for v in self.entering(block)}
        for r, v in heads.items():
            region.heads.append(v)
            for o in map(self.home, self.handed(block.index, r)):
                self.code.hints.setdefault(v, o)
                self.code.hints.setdefault(o, v)
        region.live_in = known - set(region.heads)
        out = self.out[block.index]
        for s in block.succs:
            region.live_out |= {
                self.home(out[r]) for r in _registers(self.live[s]) if r in out}

    def entering(self, block: BodyBlock) -> Iterator[int]:
        given = self.phis.get(block.index, {})
        for r in _registers(self.live[block.index]):
            if r in given:
                yield given[r]
            for v in self.handed(block.index, r):
                if r not in given:
                    yield v

    def merge(self) -> None:
        """Two registers that are written and read together are one value."""
        code = self.code
        pairs = {g for _, writes, _ in self.rows for g in writes if len(g) == 2}
        partner = {v: g for g in pairs for v in g}
        apart = {v for p in self.phis.values() for v in p.values()} | set(code.hints)
        apart |= set(code.hints.values())
        for _, _, reads in self.rows:
            for g in reads:
                g = tuple(map(self.home, g))
                apart |= {v for v in g if v in partner and partner[v] != g}
        second = {}
        for a, b in pairs:
            if code.widths[a] and not apart.intersection((a, b)):
                code.widths[a], code.widths[b], second[b] = 2, 0, a

        def stands(g: tuple[int, ...]) -> bool:
            """Whether it is several values side by side, in vector registers."""
            return sum(code.widths[v] for v in g if v >= 0) > 0 and len(g) > 1 and (
                g[-1] not in second)

        for op, writes, reads in self.rows:
            found = [tuple(map(self.home, g)) for g in reads]
            op.tuples = tuple(g for g in found if stands(g))
            op.sources = tuple(dict.fromkeys(
                v for s in op.sources if (v := self.home(s)) not in second))
            op.results = tuple(v for v in op.results if v not in second)
            op.grouped = any(map(stands, writes))
        for region in code.regions:
            region.live_in -= second.keys()
            region.live_out -= second.keys()


def _is_stack(s: Span) -> bool:
    return s.file == "R" and s.first == STACK_POINTER and s.words == 1


def _registers(mask: int) -> Iterator[_Register]:
    for s in _SPANS:
        if mask & _BITS[s]:
            yield s.file, s.first


_SPANS = [Span(f, k, 1) for f, n in (("R", 255), ("UR", 63), ("P", 7), ("UP", 7))
          for k in range(n) if (f, k) != ("R", STACK_POINTER)]
_BITS = {s: register_bits((s,)) for s in _SPANS}


def _live_in(body: MachineBody) -> list[int]:
    reads, kills = [], []
    for block in body.blocks:
        read = kill = 0
        for i in block.instructions:
            read |= register_bits(i.reads) & ~kill
            if i.guard is None:
                kill |= register_bits(i.writes)
        reads.append(read)
        kills.append(kill)
    live = list(reads)
    changed = True
    while changed:
        changed = False
        for block in reversed(body.blocks):
            out = 0
            for s in block.succs:
                out |= live[s]
            now = reads[block.index] | out & ~kills[block.index]
            changed = changed or now != live[block.index]
            live[block.index] = now
    return live


def _facts(i: BodyInstruction) -> dict[str, Any]:
    family = i.family
    kind = PLAIN
    if family in _FENCES:
        kind = FENCE
    elif family.startswith(("ST", "ATOM", "RED")):
        kind = STORE
    elif family.startswith("LD") and family != "LDC" and "CONSTANT" not in i.opcode:
        kind = LOAD
    access = family.startswith(("LD", "ST", "ATOM", "RED")) and family not in ("LDC", "LDGDEPBAR")
    space = _SPACES.get(family[2:3], 1) if access else 0
    latency = LATENCY.get(family, tables.ALU)
    issue = tables.ISSUE_SLOW if latency > tables.ALU else tables.ISSUE
    if access:
        issue = tables.ISSUE_ACCESS
    elif family == "LDC":
        issue = tables.ISSUE_CONSTANT
    return {
        "latency": latency, "issue": issue, "kind": kind, "family": family,
        "space": space if not family.startswith("ATOMS") else 2, "variable": access,
    }


def code_of(body: MachineBody) -> Code:
    """Real code as the predictor's."""
    return _Reader(body).run()


# ---------------------------------------------------------------------------- the stages


@attrs.frozen
class Stages:
    """One kernel: registers by stage less ptxas's, and how its order is met.

    allocation, both   registers, ptxas's order and the predictor's, less `ptxas -v`'s
    live   MaxLive of the predictor's order less that of ptxas's
    pairs, agreeing   of instructions in one block: all, and those in ptxas's order
    """

    name: str
    real: int
    allocation: int
    both: int
    live: int
    pairs: int
    agreeing: int


def reordered(code: Code, budget: int) -> list[tuple[list[Op], list[int]]]:
    """The predictor's order of each region; what ends a block of the machine's stays there.

    It is given the instructions by lines, as it would get them of the PTX.
    """
    found = []
    for region in code.regions:
        real = region.ops
        region.ops = by_line([op for op in real if op.family not in _ENDS])
        order, _ = schedule(region, code.widths, budget)
        order += [op for op in real if op.family in _ENDS]
        region.ops = real
        found.append((order, pressures(region, order, code.widths)))
    return found


def by_line(ops: list[Op]) -> list[Op]:
    """Operations by the lines that they come of, as far as what they read allows."""
    below, waits = dependences(ops)
    ready = [(op.parent.line, k) for k, op in enumerate(ops) if not waits[k]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, k = heapq.heappop(ready)
        order.append(ops[k])
        for c in below[k]:
            waits[c] -= 1
            if not waits[c]:
                heapq.heappush(ready, (ops[c].parent.line, c))
    return order


def agreement(region: Region, order: list[Op]) -> tuple[int, int]:
    """Pairs that stand at most 40 apart, and how many of them an order leaves as they are."""
    place = {op: k for k, op in enumerate(order)}
    real = [place[op] for op in region.ops]
    pairs = [(a, b) for k, a in enumerate(real) for b in real[k + 1 : k + 40]]
    return len(pairs), sum(a < b for a, b in pairs)


def measure(f: Function, arch: str, real: int, instructions: Any) -> Stages:
    """The stages of one kernel."""
    machine = profile(arch)
    g = generation(machine.capability)
    code = code_of(body_of(str(f.name), instructions, arch))
    most = register_limit(f, machine.limits)
    steps = targets(block_threads(f), machine.limits)
    if most < steps[0] or "minnctapersm" in f.directives:
        steps = (most,)
    orders = [(r.ops, pressures(r, r.ops, code.widths)) for r in code.regions]
    step = next((s for s in steps if s >= real), steps[-1])
    theirs = colour(code, [o for o, _ in orders], step - RESERVED, g.cool).top + RESERVED
    mine = reordered(code, steps[0] - RESERVED)
    top = colour(code, [o for o, _ in mine], step - RESERVED, g.cool).top + RESERVED
    pairs = agreeing = 0
    for region, (order, _) in zip(code.regions, mine, strict=True):
        n, same = agreement(region, order)
        pairs, agreeing = pairs + n, agreeing + same
    live = max(max(n, default=0) for _, n in mine) - max(max(n, default=0) for _, n in orders)
    return Stages(str(f.name), real, theirs - real, top - real, live, pairs, agreeing)


def kernels(corpus: Path, half: str, cache: Path, longest: int) -> dict[str, list[Stages]]:
    """The stages of a half's kernels by architecture."""
    index = json.loads((corpus / "index.json").read_text())
    real = json.loads((corpus / "registers.json").read_text())
    found: dict[str, list[Stages]] = {arch: [] for arch in ARCHES}
    for name in sorted({Path(x["ptx"]).name for x in index.values() if x["half"] == half}):
        module = nvir.read_ptx(corpus / "ptx" / name)
        for arch in ARCHES:
            _, code = machine_code(corpus / "ptx" / name, arch, cache)
            seen = set()
            for f in module.functions:
                n = real.get(name, {}).get(str(f.name), {}).get(arch)
                if not f.blocks or n is None or len(code[str(f.name)]) > longest:
                    continue
                text = tuple((i.opcode, tuple(i.operands)) for i in code[str(f.name)])
                if text not in seen and not any(o.startswith(("CALL", "RET")) for o, _ in text):
                    seen.add(text)
                    found[arch].append(measure(f, arch, n, code[str(f.name)]))
    return found


def show(title: str, found: list[Stages]) -> None:
    def within(key: str, n: int) -> str:
        return f"{sum(abs(getattr(k, key)) <= n for k in found) / max(1, len(found)):4.0%}"

    text = f"{title:<18}{len(found):5} kernels"
    for key in ("allocation", "both", "live"):
        mean = sum(getattr(k, key) for k in found) / max(1, len(found))
        text += f"  {key} ±1 {within(key, 1)} ±2 {within(key, 2)} mean {mean:+.2f}"
    agreeing = sum(k.agreeing for k in found) / max(1, sum(k.pairs for k in found))
    print(f"{text}  pairs {agreeing:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--half", default="choose", choices=("report", "choose"))
    parser.add_argument("--longest", type=int, default=300, metavar="N", help="instructions")
    given = parser.parse_args()
    for arch, found in kernels(given.corpus, given.half, given.cache, given.longest).items():
        show(arch, found)
        show(f"{arch}, above 32", [k for k in found if k.real > 32])


if __name__ == "__main__":
    main()
