"""Printing the code around passes: before, after, only what changed, as a diff."""

from __future__ import annotations

import difflib
from typing import Literal, TextIO

PrintChanged = Literal["", "on", "quiet", "diff"]


class Dumps:
    """Which dumps are wanted, and how they look. "all" stands for every pass."""

    def __init__(
        self, before: tuple[str, ...], after: tuple[str, ...], changed: PrintChanged,
        stream: TextIO,
    ) -> None:
        self._before, self._after = frozenset(before), frozenset(after)
        self.changed, self.stream = changed, stream

    def wants(self, name: str) -> bool:
        """Whether any dump around this pass needs the text."""
        return bool(self.changed) or _named(name, self._before) or _named(name, self._after)

    def before(self, name: str, function: str, text: str) -> None:
        if _named(name, self._before):
            self._show(f"Dump Before {name}", function, text)

    def after(self, name: str, function: str, old: str, new: str) -> None:
        if _named(name, self._after):
            self._show(f"Dump After {name}", function, new)
        if not self.changed:
            return
        if old == new:
            if self.changed == "on":
                self._banner(f"Dump After {name}", function, " omitted because no change")
        elif self.changed == "diff":
            self._show(f"Dump After {name}", function, diff(old, new))
        else:
            self._show(f"Dump After {name}", function, new)

    def _banner(self, what: str, function: str, note: str = "") -> None:
        on = function or "[module]"
        self.stream.write(f"; *** IR {what} on {on}{note} ***\n")

    def _show(self, what: str, function: str, text: str) -> None:
        self._banner(what, function)
        self.stream.write(text if text.endswith("\n") else text + "\n")


def _named(name: str, names: frozenset[str]) -> bool:
    return name in names or "all" in names


def diff(old: str, new: str) -> str:
    """The whole of both, lines marked " ", "-", "+", as LLVM's -print-changed=diff has it."""
    matcher = difflib.SequenceMatcher(None, a := old.splitlines(), b := new.splitlines(), False)
    out: list[str] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            out += [f" {line}" for line in a[i1:i2]]
        else:
            out += [f"-{line}" for line in a[i1:i2]]
            out += [f"+{line}" for line in b[j1:j2]]
    return "\n".join(out) + "\n"
