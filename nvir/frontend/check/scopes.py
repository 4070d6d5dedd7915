"""Names and where they are visible: one dictionary a scope, innermost last."""

from __future__ import annotations

from nvir.frontend.tree.declarations import Declaration, Enumerator, Function, Unit, Variable
from nvir.frontend.tree.types import Enum
from nvir.frontend.tree.vectors import SPECIAL_VARIABLES


class DeclarationScopes:
    """The scopes that are open; the outermost holds CUDA's built-in variables."""

    def __init__(self, unit: Unit) -> None:
        self.open: list[dict[str, Declaration]] = [dict(SPECIAL_VARIABLES), {}]
        for t in unit.types:
            if isinstance(t, Enum):
                for name, value in t.constants:
                    self.open[1][name] = Enumerator(name, value, t)

    def push(self) -> None:
        self.open.append({})

    def pop(self) -> None:
        self.open.pop()

    def find(self, name: str) -> Declaration | None:
        for scope in reversed(self.open):
            if name in scope:
                return scope[name]
        return None

    def declare(self, d: Declaration) -> Declaration | None:
        """Make a declaration visible; the one of that name in the same scope that forbids it, or
        None. A function or an extern variable may be declared again."""
        scope = self.open[-1]
        old = scope.get(d.name)
        if old is not None and old is not d and not _may_follow(old, d):
            return old
        if not (isinstance(d, Function) and d.body is None and old is not None):
            scope[d.name] = d
        return None


def _may_follow(old: Declaration, new: Declaration) -> bool:
    if isinstance(old, Function) and isinstance(new, Function):
        return old.body is None or new.body is None or old.symbol != new.symbol
    if isinstance(old, Variable) and isinstance(new, Variable):
        return "extern" in (old.storage, new.storage)
    return False
