"""Verdicts on loops of the source against what PTX and machine code show, on kernels of nvcc.

    python benchmarks/source_loops.py CORPUS [--half report|choose] [--kernels 60] [--keep FOLDER]

CORPUS is a folder of CUDA sources with an index (tests and README of the corpus say which). Each
source is compiled by `nvcc -lineinfo` twice: as it is, and with `unroll 1` before every `for`, and
before every `while` of the file itself, so that each loop of the source is one of the code with
one copy of its body. The truth:

    front end   operations on memory or floating point of one place and spelling, in the loop as
                it is over those in the loop of one copy; most of them decide
    assembler   copies of a PTX loop's own operations in one loop of the SASS (unroll_agreement.py)

A loop that the front end unrolled fully is told where its source lies beside the file or in a
folder of its headers; one that is not told counts as "left out". A loop of which the code does not
speak clearly (no operation of its own is left, fewer than six of ten agree) is counted as such.
Kernels of one file that show the same loops count once.
"""

from __future__ import annotations

import argparse
import glob
import json
import re
import shutil
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from agreement import sass_loops
from unroll_agreement import _factor_of_lines

import nvir
from nvir import toolchain
from nvir.analysis.places import SourceLines
from nvir.ir.block import Block
from nvir.ir.loops import natural_loops
from nvir.report import ModuleReport, report
from nvir.report.places import source_text

ROLLED = '-Dfor=_Pragma("unroll 1") for'
LARGEST = 250_000  # bytes of PTX
CLEAR = 0.6  # of the operations that must agree
_WHILE = re.compile(r"(?m)^(\s*)while(?=\s*\()")


def folders(corpus: Path) -> list[str]:
    """The folders of headers that all sources of a corpus are compiled with."""
    return [str(corpus / "stubs"), sysconfig.get_paths()["include"],
            *glob.glob(f"{corpus}/headers/pybind11/include"),
            *sorted(glob.glob(f"{corpus}/headers/nvidia/*/include"))]


def sources(corpus: Path, half: str) -> Iterator[tuple[Path, list[str], str]]:
    """(file, options of nvcc, name) of the corpus's sources, one of each package in turn."""
    index: dict[str, Any] = json.loads((corpus / "index.json").read_text())
    by_package: dict[str, list[tuple[Path, list[str], str]]] = {}
    for key, e in sorted(index.items()):
        if e["half"] != half or (corpus / "ptx" / e["ptx"]).stat().st_size > LARGEST:
            continue
        root = corpus / "src" / f"{e['package']}-{e['version']}"
        flags = [f for f in e["flags"] if f != "-ptx" and not f.startswith("-arch")]
        flags += [f"-I{root / i}" for i in e["includes"]] + [f"-I{i}" for i in folders(corpus)]
        by_package.setdefault(e["package"], []).append((root / key.split("/", 1)[1], flags, key))
    while any(by_package.values()):
        for found in by_package.values():
            if found:
                yield found.pop(0)


def kept(
    folder: Path | None, name: str, path: Path, flags: list[str], arch: str, rolled: bool
) -> bytes | None:
    """As `compiled`; what lies in `folder` from an earlier run is taken."""
    lines, flags = (rolled_lines(path), [*flags, ROLLED]) if rolled else (None, flags)
    if folder is None:
        return compiled(path, flags, arch, lines)
    file = folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', name)}.{arch}{'.rolled' * rolled}.ptx"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(compiled(path, flags, arch, lines) or b"")
    return file.read_bytes() or None


def rolled_lines(path: Path) -> list[str]:
    """The lines of a source with `unroll 1` before each `while`."""
    lines = path.read_text("utf-8", "replace").splitlines(keepends=True)
    for k, line in enumerate(lines):
        if k and not lines[k - 1].rstrip().endswith("}"):
            lines[k] = _WHILE.sub(r'\1_Pragma("unroll 1") while', line)
    return lines


def compiled(
    path: Path, flags: list[str], arch: str, lines: list[str] | None = None
) -> bytes | None:
    """The PTX that nvcc makes of a source, or of other lines in its place."""
    options = ["-lineinfo", *flags, f"-I{path.parent}"]
    with tempfile.TemporaryDirectory() as folder:
        source = path
        if lines is not None:
            source = Path(folder) / path.name
            source.write_text("".join(lines))
        try:
            # As the corpus was made: a toolkit in PATH has headers that the wheels lack.
            made = toolchain.nvcc_ptx(source, arch, options, program=shutil.which("nvcc"))
        except toolchain.ToolError:
            return None
    return made.ptx.encode() if made.ptx is not None else None


# ------------------------------------------------------------------- the front end


Found = tuple[Counter[Any], Counter[Any]]


def operations(blocks: Iterable[Block], source: SourceLines) -> Found:
    """Operations by place and spelling: those on memory or floating point, and the others."""
    found: Found = Counter(), Counter()
    for b in blocks:
        for i in b:
            f = i.form
            if f.op.pseudo or f.is_phi or f.terminator or i.loc is None or not i.loc.line:
                continue
            light = not (f.reads or f.writes or (f.type is not None and f.type.is_float))
            found[light][tuple(source.places(i)), f.name, f.type, f.space] += 1
    return found


Statement = tuple[tuple[str, int], ...]
WHOLE: Statement = (("", 0),)  # of a function: each of its loops, and what is in none
Bodies = dict[Statement, list[tuple[Found, Found]]]


def by_statement(made: ModuleReport, module: nvir.Module, name: str
                 ) -> tuple[Bodies, dict[Statement, Statement]]:
    """Of each statement the operations of the loops that it became, those within them apart; of
    one that left no loop, those of the function. And the statement that each stands in."""
    f = next(f for f in module.functions if str(f.name) == name)
    f.analyze_cfg()
    source, loops = SourceLines(f, module), {x.header.name: x for x in natural_loops(f)}
    shown = next(x for x in made.functions if x.name == name)
    out: Bodies = {}
    within: dict[Statement, Statement] = {}
    statement = {h: told.places for told in shown.source_loops for h in told.roles}
    for told in shown.source_loops:
        for header in told.roles:
            if (parent := loops[header].parent) is not None:
                within[told.places] = statement[parent.header.name]
            inner = [b for c in loops[header].children for b in c.blocks]
            own = operations(loops[header].own, source)
            out.setdefault(told.places, []).append((own, operations(inner, source)))
    outside = set(f.blocks).difference(*(x.blocks for x in loops.values()))
    bodies = [[b for b in f.blocks if b in outside], *(x.own for x in loops.values())]
    out[WHOLE] = [(operations(b, source), (Counter(), Counter())) for b in bodies]
    return out, within


def factor(as_is: list[tuple[Found, Found]], rolled: list[tuple[Found, Found]]) -> int | None:
    """The front end's factor, None where the code does not say. What is not on memory or floating
    point is asked where the loop has nothing of these left."""
    base, within = min(rolled, key=lambda x: x[0][0].total() or x[0][1].total())
    for light in (0, 1):
        best = 0
        for found, _ in as_is:
            asked = (k for k in base[light] if light or k not in within[light])
            votes = Counter(round(found[light][k] / base[light][k]) for k in asked)
            votes.pop(0, None)
            if not votes:
                continue
            n = max(votes, key=lambda r: (votes[r], r))
            if votes[n] < CLEAR * votes.total():
                return None
            best = max(best, n)
        if best:
            return best
    return None


def straight(
    as_is: Bodies, rolled: Bodies, within: dict[Statement, Statement], places: Statement
) -> int | None:
    """The copies of a loop's body in straight lines, in that part of the function that has most
    of its operations, for each copy of the loop around it where that is straight as well."""
    base, outer = rolled[places], within.get(places)
    keys = [k for side in base[0][0] for k in side]
    most = max(as_is[WHOLE], key=lambda x: sum(k in side for side in x[0] for k in keys))
    copies = factor([most], base)
    if copies is None or outer is None or outer in as_is:
        return copies
    around = straight(as_is, rolled, within, outer)
    return copies // around if around and copies % around == 0 else None


# ------------------------------------------------------------------------ verdicts


def judged(
    text: bytes, rolled: bytes, folders: list[Path], arch: str
) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Of each kernel with loops: its name and ("right"|"wrong"|"not told", what) of each."""
    module, plain = nvir.read_ptx(text), nvir.read_ptx(rolled)
    made, base = (report(m, source_root=folders) for m in (module, plain))
    names = {n: name for n, name, _ in module.debug.files}
    at_hand = {names[n].rsplit("/", 1)[-1] for n in source_text(names, folders)}
    assembled = toolchain.ptxas(text, arch, options=("-lineinfo",))
    assert assembled.cubin is not None, assembled.error
    code = toolchain.disassemble(assembled.cubin, live=False, lines="ptx")
    there = {f.name for f in base.functions}
    for shown in made.functions:
        if shown.kind != "entry" or not shown.source_loops or shown.name not in there:
            continue
        mine, _ = by_statement(made, module, shown.name)
        theirs, within = by_statement(base, plain, shown.name)
        f = next(f for f in module.functions if str(f.name) == shown.name)
        loops = {x.header.name: x for x in natural_loops(f)}
        sass = code.get(shown.name, [])
        places = sass_loops(sass)
        at = [(i.name, i.line[1] if i.line else 0) for i in sass]
        rows = []
        for told in shown.source_loops:
            base_loops = theirs.get(told.places)
            there_are = mine.get(told.places)
            truth = None
            if base_loops:
                truth = factor(there_are, base_loops) if there_are else straight(
                    mine, theirs, within, told.places)
            real = {h: _factor_of_lines(loops[h], at, places)
                    or _factor_of_lines(loops[h], at, places, every=True) for h in told.roles}
            said = {h: ("full", 0) if a == "full" else ("none" if a == 1 else "partial", a)
                    for h, a in told.actions.items()}
            wrong = [h for h in real if real[h] is not None and real[h] != said[h]]
            silent = truth is None or any(a is None for a in real.values())
            bad = bool(wrong) or (truth is not None and truth != told.copies)
            verdict = "wrong" if bad else "not told" if silent else "right"
            what = (told.place, f"nvcc {truth} said {told.copies}",
                    ", ".join(f"{h}: ptxas {real[h]} said {said[h]}" for h in real
                              if real[h] != said[h]))
            rows.append((verdict, what))
        for places in theirs:  # what left no loop and is not told
            known = places and places not in mine and places[0][0] in at_hand
            n = straight(mine, theirs, within, places) if known else None
            if n is not None and n > 1 and places not in {x.places for x in shown.source_loops}:
                rows.append(("left out", (f"{places[0][0]}:{places[0][1]}", f"nvcc {n}, fully",
                                          f"{len(places) - 1} calls")))
        yield shown.name, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--half", default="report", choices=("report", "choose"))
    parser.add_argument("--kernels", type=int, default=60, metavar="N")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the PTX there")
    parser.add_argument("--misses", action="store_true", help="list the loops that differ")
    given = parser.parse_args()
    count: Counter[str] = Counter()
    kernels = whole = 0
    for path, flags, name in sources(given.corpus, given.half):
        if kernels >= given.kernels:
            break
        text, rolled = (
            kept(given.keep, name, path, flags, given.arch, r) for r in (False, True)
        )
        if text is None or rolled is None:
            print(f"{name}: nvcc refuses it", file=sys.stderr)
            continue
        roots = [path.parent, *(Path(f[2:]) for f in flags if f.startswith("-I"))]
        seen: set[str] = set()
        for kernel, rows in judged(text, rolled, roots, given.arch):
            shape = str([(v, w[0], w[1]) for v, w in rows])
            if shape in seen or kernels >= given.kernels:
                continue
            seen.add(shape)
            kernels += 1
            whole += all(v != "wrong" for v, _ in rows)
            count.update(v for v, _ in rows)
            for verdict, what in rows if given.misses else ():
                if verdict != "right":
                    print(verdict, name, kernel, *what, flush=True)
    told = max(count["right"] + count["wrong"], 1)
    print(f"{kernels} kernels of the half {given.half}: of {count.total()} loops of the source "
          f"{count['right']} right, {count['wrong']} wrong, {count['not told']} not told by the "
          f"code, {count['left out']} fully unrolled ones left out; {count['right'] / told:.1%} "
          f"right of what is told, {whole} kernels without a wrong one")


if __name__ == "__main__":
    main()
