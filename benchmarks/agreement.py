"""What the comparisons with the real ptxas share: arguments, files, tables, loops of machine code.

A comparison judges loops of two kinds: generated, for each architecture, and of compilers, from
PTX files that it is given. It prints a table of how often nvir and the real tool agree.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

import nvir
from nvir import toolchain
from nvir.toolchain import SassInstruction


def parser(doc: str | None, count: int, missed: str) -> argparse.ArgumentParser:
    """The arguments that all comparisons take."""
    out = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    out.add_argument(
        "--count", type=int, default=count, help="generated kernels an architecture"
    )
    out.add_argument("--seed", type=int, default=1)
    out.add_argument("--arch", default="sm_80,sm_90")
    out.add_argument("--files", nargs="*", default=[], help="PTX files or folders of them")
    out.add_argument("--sample", type=int, default=0, help="so many of the files, by the seed")
    out.add_argument("--misses", action="store_true", help=f"list the {missed} that differ")
    out.add_argument("--json", type=Path)
    return out


def compare(
    args: argparse.Namespace,
    generated: Callable[[int, int, str], list[Any]],
    compiled: Callable[[Path, str], list[Any]],
    tables: Callable[[list[Any]], list[str]],
    largest: int = 0,
) -> int:
    """Run a comparison and print its tables. `generated` takes a count, a seed and an architecture,
    `compiled` a file and an architecture; both give one attrs object a judgement. `largest`: files
    of more bytes are passed over; 0: none."""
    if not toolchain.available("ptxas"):
        print("ptxas is not there: nothing to compare with")
        return 1
    results: dict[str, list[Any]] = {}
    for arch in args.arch.split(",") if args.count else ():
        results[f"generated, {arch}"] = generated(args.count, args.seed, arch)
    if args.files:
        found = results["compiled"] = []
        for path in ptx_files(args.files, args.sample, args.seed, largest):
            try:
                found += compiled(path, arch_of(path))
            except (nvir.NvirError, toolchain.ToolError) as e:
                print(f"{path}: {e}", file=sys.stderr)
    for name, judged in results.items():
        print(name, *tables(judged), "", sep="\n")
    if args.json:
        body = {name: [attrs.asdict(j) for j in js] for name, js in results.items()}
        args.json.write_text(json.dumps(body, indent=1))
    return 0


def ptx_files(files: Sequence[str], sample: int, seed: int, largest: int = 0) -> list[Path]:
    """The files, and those in the folders; of these `sample`, by the seed, 0: all."""
    missing = [f for f in files if not Path(f).exists()]
    if missing:
        raise SystemExit(f"error: no such file or folder: {', '.join(missing)}")
    paths = [p for f in map(Path, files) for p in (sorted(f.rglob("*.ptx")) if f.is_dir() else [f])]
    if largest:
        paths = [p for p in paths if p.stat().st_size <= largest]
    if sample and sample < len(paths):
        paths = random.Random(seed).sample(paths, sample)
    if not paths:
        raise SystemExit(f"error: no PTX files in {', '.join(files) or 'no --files'}")
    return paths


def architectures(named: str) -> list[str]:
    """Those of `--arch`, which ptxas has to take."""
    found = [a for a in named.split(",") if a]
    for a in found:
        made = toolchain.ptxas(f".version 8.8\n.target {a}\n.address_size 64\n", a)
        if not made.ok:
            raise SystemExit(f"error: ptxas has no architecture {a!r}: {made.error}")
    return found


def arch_of(path: Path) -> str:
    """The architecture that a file names, sm_80 for older ones and for none."""
    named = re.search(r"^\s*\.target\s+(sm_(\d+)\w*)", path.read_text(errors="replace"), re.M)
    return "sm_80" if named is None or int(named[2]) < 80 else named[1]


# ------------------------------------------------------------ loops of machine code


def sass_loops(code: Sequence[SassInstruction]) -> list[frozenset[int]]:
    """The natural loops of machine code as sets of instruction numbers, one a header."""
    at = {i.address: k for k, i in enumerate(code)}
    leaders = {0}
    for k, i in enumerate(code):
        if i.name in ("BRA", "EXIT", "RET", "BRX", "JMP") or (i.name == "CALL" and i.target in at):
            leaders.add(k + 1)
            if i.target in at:
                leaders.add(at[i.target])
    starts = sorted(x for x in leaders if x < len(code))
    block = {}
    for b, (s, e) in enumerate(zip(starts, [*starts[1:], len(code)], strict=True)):
        block.update(dict.fromkeys(range(s, e), b))
    succs = _successors(code, starts, block, at)
    preds: list[list[int]] = [[] for _ in starts]
    for b, following in enumerate(succs):
        for s in following:
            preds[s].append(b)
    loops: dict[int, set[int]] = {}
    dominates = _dominators(succs, preds)
    for b, following in enumerate(succs):
        for h in following:
            if h == b or dominates(h, b):  # a block may be reached by a computed return alone
                body = loops.setdefault(h, {h})
                work = [b]
                while work:
                    x = work.pop()
                    if x not in body:
                        body.add(x)
                        work += preds[x]
    return [frozenset(k for k in range(len(code)) if block[k] in body) for body in loops.values()]


def _successors(
    code: Sequence[SassInstruction], starts: list[int], block: dict[int, int], at: dict[int, int]
) -> list[list[int]]:
    out: list[list[int]] = []
    for e in [*starts[1:], len(code)]:
        i = code[e - 1]
        guarded = bool(i.guard) or any(re.match(r"!?U?P\d", o) for o in i.operands[:-1])
        following = [block[e]] if e < len(code) else []
        if i.name in ("BRA", "JMP") and i.target is not None:
            following = [block[at[i.target]], *(following if guarded else [])]
        elif i.name == "CALL" and i.target in at:  # a far branch, or a call that comes back
            following = [block[at[i.target]], *following]
        elif i.name in ("EXIT", "RET", "BRX") and not guarded:
            following = []
        out.append(following)
    return out


def _dominators(succs: list[list[int]], preds: list[list[int]]) -> Any:
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node(0)
    graph.add_edges_from((b, s) for b, following in enumerate(succs) for s in following)
    idom = nx.immediate_dominators(graph, 0)

    def dominates(a: int, b: int) -> bool:
        if b not in graph or (b and b not in idom):
            return False  # unreachable
        while b != a and b:
            b = idom[b]
        return a == b

    return dominates
