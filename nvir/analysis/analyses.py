"""What is known of a function: worked out when it is asked for, kept until the function is edited.

    known = Analyses.of(function)
    known.loops, known.alias, known.divergence

Every edit of instructions and control flow counts up `function.edits`; what was made at another
count is dropped. A pass that edits while it asks keeps the object that it was given, if what it
holds is still right for the questions that follow; who asks `Analyses` again gets a new one.

With checking on (`NVIR_CHECK=1`) each reuse is compared with the text of the function that the
analysis was made of, so that an edit that is not counted is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from nvir.ir import Block, Function, Loop, VerifyError, block, natural_loops

if TYPE_CHECKING:  # who asks for one analysis need not load the others
    from nvir.analysis.affine import AffineForms
    from nvir.analysis.alias import AliasAnalysis
    from nvir.analysis.divergence import Divergence
    from nvir.analysis.liveness import Liveness

T = TypeVar("T")


class Analyses:
    """The analyses of one function. Use `of`, which gives everybody the same."""

    __slots__ = ("_edits", "_kept", "_text", "function")

    def __init__(self, function: Function) -> None:
        self.function = function
        self._edits = -1
        self._kept: dict[str, Any] = {}
        self._text = ""

    @classmethod
    def of(cls, function: Function) -> Analyses:
        """What is known of a function, shared by all who ask."""
        known: Analyses | None = function.known
        if known is None:
            known = function.known = cls(function)
        return known

    @property
    def loops(self) -> list[Loop]:
        """The natural loops, outer before inner; of the last snapshot of the control flow."""
        return natural_loops(self.function)

    def loop(self, header: Block) -> Loop | None:
        """The loop with this header, None where there is none any more."""
        return next((x for x in self.loops if x.header is header), None)

    @property
    def rows(self) -> frozenset[str]:
        """The names of all rows that it has an instruction of."""
        return self.get("rows", _rows)

    @property
    def affine(self) -> AffineForms:
        from nvir.analysis.affine import AffineForms

        return self.get("affine", AffineForms)

    @property
    def alias(self) -> AliasAnalysis:
        from nvir.analysis.alias import AliasAnalysis

        return self.get("alias", lambda _: AliasAnalysis(self.affine))

    @property
    def divergence(self) -> Divergence:
        from nvir.analysis.divergence import divergence

        return self.get("divergence", divergence)

    @property
    def liveness(self) -> Liveness:
        from nvir.analysis.liveness import liveness

        return self.get("liveness", liveness)

    def get(self, name: str, make: Callable[[Function], T]) -> T:
        """What `make` finds, under a name of its own."""
        function = self.function
        if self._edits != function.edits:
            self._kept.clear()
            self._edits = function.edits
            self._text = str(function) if block.CHECK else ""
        elif block.CHECK and self._text != str(function):
            raise VerifyError("an edit was not counted in `edits`", str(function.name))
        found: T | None = self._kept.get(name)
        if found is None:
            found = self._kept[name] = make(function)
        return found

    def carry_over(self, edits: int) -> None:
        """Keep what was made at a count of edits: those since then have undone each other."""
        if self._edits == edits:
            self._edits = self.function.edits


def _rows(function: Function) -> frozenset[str]:
    return frozenset([i.form.name for i in function.instructions()])
