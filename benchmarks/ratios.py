"""Two figures of two compilers, row by row: collected, told, and their means at the end."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import attrs


def geomean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def compare(rows: Iterable[Any], show: Callable[[Any], str], other: str, what: str,
            out: str | None) -> None:
    """Print each row (`show`; a str is why something was not compared) and the geometric means of
    registers and SASS instructions, `row.nvir` by the other compiler's; write all to `out`.

    Ends the program where no row was compared; `what` names what the rows are.
    """
    found: list[Any] = []
    for row in rows:
        if isinstance(row, str):
            print(f"not compared: {row}")
            continue
        found.append(row)
        print(show(row))
    if not found:
        raise SystemExit(f"no {what} was compared")
    means = [geomean([r.nvir[k] / getattr(r, other)[k] for r in found]) for k in (0, 1)]
    print(f"geometric mean of {len(found)}: registers {means[0]:.3f}, SASS {means[1]:.3f}")
    if out:
        data: Any = {"rows": [attrs.asdict(r) for r in found], "geomean": means}
        pathlib.Path(out).write_text(json.dumps(data, indent=1))
