"""Atomic accesses as inline assembly of one statement, for compilers without their rows, and back.

    AtomicAccess("ld", "acquire", "sys", 1, "b32").written()
        ("ld.acquire.sys.global.b32 $0, [$1];", "=r,l,~{memory}")
    parsed(template, constraints)    the AtomicAccess of such a text, or None

`fence` is whether a sequentially consistent fence of the scope stands in front.

Source: PTX ISA, "Memory Consistency Model", `ld`, `st`, `atom`.
"""

from __future__ import annotations

import functools
import re

import attrs

SCOPES = {
    "": "sys", "system": "sys", "agent": "gpu", "device": "gpu", "gpu": "gpu", "workgroup": "cta",
    "block": "cta", "cta": "cta", "cluster": "cluster", "singlethread": "cta", "wavefront": "cta",
}
ORDERS = {  # PTX's by LLVM's; in front of the last stands a fence
    "unordered": "relaxed", "monotonic": "relaxed", "acquire": "acquire", "release": "release",
    "acq_rel": "acq_rel", "seq_cst": "acq_rel",
}
_LETTERS = {"b8": "h", "b16": "h", "f16": "h", "b32": "r", "u32": "r", "b64": "l", "f32": "f",
            "f64": "d"}
_SPACES = {0: "", 1: ".global", 3: ".shared"}
_FORMS = {  # the operands, and their constraints where # is a value's letter
    "ld": ("$0, [$1]", "=#,l"), "st": ("[$0], $1", "l,#"), "add": ("$0, [$1], $2", "=#,l,#"),
    "inc": ("$0, [$1], $2", "=#,l,#"), "dec": ("$0, [$1], $2", "=#,l,#"),
    "cas": ("$0, [$1], $2, $3", "=#,l,#,#"),
}
_TEXT = re.compile(
    r"(fence\.sc\.(?P<same>\w+); )?(?:(?P<word>ld|st)|atom)\.(?P<order>\w+)\."
    r"(?P<scope>sys|gpu|cta|cluster)(?P<space>\.global|\.shared|)(?:\.(?P<what>add|inc|dec|cas))?"
    r"(?:\.noftz)?\.(?P<kind>[bfu]\d+) [^;]*;")


@attrs.frozen
class AtomicAccess:
    """`what` is ld, st, add, inc, dec or cas; order, scope and the memory's type are PTX's."""

    what: str
    order: str
    scope: str
    space: int
    kind: str
    fence: bool = False

    def written(self) -> tuple[str, str]:
        """The template and the constraints."""
        operands, constraints = _FORMS[self.what]
        name = self.what if self.what in ("ld", "st") else "atom"
        operation = "" if name == self.what else f".{self.what}"
        operation += ".noftz" if self.kind == "f16" else ""
        fence = f"fence.sc.{self.scope}; " if self.fence else ""
        text = (f"{fence}{name}.{self.order}.{self.scope}{_SPACES[self.space]}{operation}."
                f"{self.kind} {operands};")
        return text, constraints.replace("#", _LETTERS[self.kind]) + ",~{memory}"


def stronger(success: str, failure: str) -> str:
    """The one order of LLVM's for both outcomes of a compare-and-exchange."""
    if "seq_cst" in (success, failure):
        return "seq_cst"
    if failure == "acquire":
        return {"monotonic": "acquire", "release": "acq_rel"}.get(success, success)
    return success


def of_failure(order: str) -> str:
    """What an order asks of a compare-and-exchange that fails, and so stores nothing."""
    return {"acq_rel": "acquire", "release": "monotonic"}.get(order, order)


@functools.lru_cache(1024)
def parsed(template: str, constraints: str) -> AtomicAccess | None:
    m = _TEXT.fullmatch(template)
    if m is None or m["kind"] not in _LETTERS or m["order"] not in ORDERS.values():
        return None
    space = next(k for k, word in _SPACES.items() if word == m["space"])
    what = m["word"] or m["what"] or ""
    found = AtomicAccess(what, m["order"], m["scope"], space, m["kind"], m["same"] is not None)
    same = what in _FORMS and found.written() == (template, constraints)
    return found if same else None
