"""Broken PTX of tests/ptx: what ptxas says of each kind and what `nvir check` says.

    python benchmarks/broken_ptx.py [--misses] [--page docs/check.md]

A kind is found where `nvir check` has an error at the line that ptxas names. What ptxas takes must
have no error. `--page` writes every thirtieth kind beside ptxas's words.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "ptx"))

from broken import cases, kinds

from nvir import toolchain
from nvir.ptx.check import check

# Text, ptxas's words ("": it takes it), nvir's, whether they agree.
Row = tuple[str, str, str, bool]
PAGE = """# What is said of broken PTX

`nvir check` finds without ptxas what ptxas would refuse. Every thirtieth of the kinds of errors of
`tests/ptx/broken.py` and `tests/ptx/kinds.txt`, as `benchmarks/broken_ptx.py` printed them; it
finds {found} of {all} at the line that ptxas 13.0 names. Of {near} texts near them that it takes,
{wrong} are refused: {odd}

| PTX | ptxas | nvir |
|---|---|---|
"""


_OTHER = ("is not defined for option", "Unresolved extern")  # of the command, of linking


def texts() -> Iterator[tuple[str, str, str]]:
    """(what to show, module, architecture)"""
    yield from cases()
    for _, text, module, arch in kinds():
        yield text, module, arch


def rows() -> Iterator[Row]:
    for shown, text, arch in texts():
        older = re.match(r"sm_[1-7]\d$", arch) and arch != "sm_75"  # ptxas 13.0 makes none for them
        made = toolchain.ptxas(text, "sm_75" if older else arch.replace("sm_101", "sm_110"))
        ours = [d for _, d in check(text) if d.severity == "error"]
        told = next((m for m in made.messages if m.severity in ("error", "fatal")), None)
        if made.ok:
            yield shown, "", ours[0].message if ours else "", not ours
        elif not any(words in made.error for words in _OTHER):
            line, theirs = (told.line, told.text) if told is not None else (None, made.error)
            hit = next((d for d in ours if line in (None, d.line)), None)
            yield shown, theirs, hit.message if hit is not None else "", hit is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--misses", action="store_true", help="list what the two disagree on")
    parser.add_argument("--page", type=Path, help="write the page of the documentation")
    given = parser.parse_args()
    made = list(rows())
    refused = [r for r in made if r[1]]
    taken = [r for r in made if not r[1]]
    found = sum(r[3] for r in refused)
    for text, theirs, ours, agree in made if given.misses else ():
        if not agree:
            print(f"{text}   ptxas: {theirs or 'takes it'}   nvir: {ours or 'takes it'}")
    print(f"{found} of {len(refused)} kinds of broken PTX found at ptxas's line "
          f"({found / len(refused):.1%}); {sum(not r[3] for r in taken)} of {len(taken)} texts "
          "that ptxas takes are refused")
    if given.page is not None:
        odd = ", ".join(f"`{_cell(r[0])}`" for r in taken if not r[3])
        head = PAGE.format(found=found, all=len(refused), near=len(taken),
                           wrong=sum(not r[3] for r in taken), odd=odd or "none")
        table = "".join(f"| `{_cell(s)}` | {_cell(theirs)} | {_cell(ours)} |\n"
                        for s, theirs, ours, hit in refused[::30] if hit)
        given.page.write_text(head + table)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    main()
