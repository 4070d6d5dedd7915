"""The integer rules of inst-combine: integer_rules.txt, in the language of rule_language.py.

`LINES` is a table: tests/passes/test_integer_rules.py proves each with z3, poison and undefined
behaviour included, at several widths. A rule must not cost instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nvir.ir.opcodes import NVVM, Op, OpKind
from nvir.ir.opcodes.form import load_rows
from nvir.passes.scalar.combine.rule_language import by_row

_INVERSES = {"eq": "ne", "ult": "uge", "ule": "ugt", "slt": "sge", "sle": "sgt"}


def _rows(wanted: Callable[[Op], bool]) -> list[str]:
    load_rows()
    return [row.name for row in NVVM.rows.values() if wanted(row)]


def _spread() -> str:
    """The table's text, families written out."""
    text = Path(__file__).with_name("integer_rules.txt").read_text("utf-8")
    rules = dict(part.split("]\n", 1) for part in text.split("\n[")[1:])
    lines = [rules[name] for name in ("arithmetic", "division", "bits", "shifts", "same")]
    shifts = _rows(lambda row: row.kind is OpKind.SHIFT)
    lines += [rules["shift twice"].replace("{op}", op) for op in shifts]
    lines += [rules["equality"].replace("{p}", p) for p in ("eq", "ne")]
    for p in ("lt", "le", "gt", "ge"):
        lines.append(rules["order"].replace("{s}", f"s{p}").replace("{u}", f"u{p}"))
    for p, q in (*_INVERSES.items(), *((q, p) for p, q in _INVERSES.items())):
        lines.append(rules["inverse"].replace("{p}", p).replace("{q}", q))
    lines.append(rules["select"])
    lines += [rules["casts"].replace("{e}", e) for e in ("s", "z")]  # equal lines are one
    for op in _rows(lambda row: row.low_bits):
        for e in ("s", "z"):
            for f in ("s", "z"):
                one = rules["narrow"].replace("{op}", op)
                lines.append(one.replace("{e}", e).replace("{f}", f))
            lines.append(rules["narrow literal"].replace("{op}", op).replace("{e}", e))
    return "\n".join(dict.fromkeys(x for x in "\n".join(lines).splitlines() if x))


LINES = by_row(_spread())
