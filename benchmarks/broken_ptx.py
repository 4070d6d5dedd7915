"""Broken PTX of tests/ptx/broken.py: what ptxas says of each kind and what `nvir check` says.

    python benchmarks/broken_ptx.py [--misses] [--page docs/check.md]

A kind is found where `nvir check` has an error at the line that ptxas names. `--page` writes every
tenth kind beside ptxas's words.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "ptx"))

from broken import cases

from nvir import toolchain
from nvir.ptx.check import check

Row = tuple[str, str, str, bool]  # statement, ptxas's words, nvir's, whether at ptxas's line
PAGE = """# What is said of broken PTX

`nvir check` finds without ptxas what ptxas would refuse. Every tenth of the kinds of errors of
`tests/ptx/broken.py`, as `benchmarks/broken_ptx.py` printed them; it finds {found} of {all} at the
line that ptxas 13.0 names.

| PTX | ptxas | nvir |
|---|---|---|
"""


def rows() -> Iterator[Row]:
    for statement, text, arch in cases():
        made = toolchain.ptxas(text, arch)
        if made.ok:
            print(f"ptxas takes it: {statement}", file=sys.stderr)
            continue
        told = next((m for m in made.messages if m.severity in ("error", "fatal")), None)
        line, theirs = (told.line, told.text) if told is not None else (None, made.error)
        ours = [d for _, d in check(text) if d.severity == "error"]
        hit = next((d for d in ours if line in (None, d.line)), None)
        yield statement, theirs, hit.message if hit is not None else "", hit is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--misses", action="store_true", help="list the kinds that are not found")
    parser.add_argument("--page", type=Path, help="write the page of the documentation")
    given = parser.parse_args()
    made = list(rows())
    found = sum(r[3] for r in made)
    for statement, theirs, _, hit in made if given.misses else ():
        if not hit:
            print(f"{statement}   ptxas: {theirs}")
    print(f"{found} of {len(made)} kinds of broken PTX found at ptxas's line "
          f"({found / len(made):.1%})")
    if given.page is not None:
        table = "".join(
            f"| `{s}` | {_cell(theirs)} | {_cell(ours)} |\n"
            for s, theirs, ours, hit in made[::10] if hit
        )
        given.page.write_text(PAGE.format(found=found, all=len(made)) + table)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    main()
