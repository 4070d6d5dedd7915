"""Which shared variable an address lies in, through pointers that loops carry and phis merge.

An address is a sum of symbols (`affine`). One of them, taken once, must be the variable: itself, or
a phi all of whose operands lie in it. Other symbols are offsets: an access runs within the
object that its address was made from (as `alias` has it, which follows pointers of 64 bits alone).

Cost     one visit of each phi.
"""

from __future__ import annotations

from nvir.analysis.affine import Affine, AffineForms
from nvir.analysis.alias import Access
from nvir.ir import Instruction, Value, Variable

_DEPTH = 16  # of phis made of phis


class _Number:
    """What a symbol is that no address is in; what a phi is while it is looked at; and neither."""

    def __init__(self, name: str) -> None:
        self.name = name


_NUMBER, _SELF, _MIXED = _Number("number"), _Number("self"), _Number("mixed")
_Root = Variable | _Number


class Roots:
    """Roots of addresses of one function, as it is now."""

    def __init__(self, forms: AffineForms) -> None:
        self.forms = forms
        self._phis: dict[Value, _Root] = {}

    def of(self, access: Access) -> Variable | None:
        """The variable that an access lies in, None where it is not known."""
        if isinstance(access.root, Variable):
            return access.root
        if access.root is not None or access.address is None or access.space == "global":
            return None
        found = self._of_form(access.address, _DEPTH)
        return found if isinstance(found, Variable) else None

    def _of_form(self, form: Affine, depth: int) -> _Root:
        found: _Root = _NUMBER
        for t in form.terms:
            root = self._of_symbol(t.symbol, depth)
            if root is _NUMBER:
                continue
            if t.coefficient != 1 or root is _MIXED or found is not _NUMBER:
                return _MIXED
            found = root
        return found

    def _of_symbol(self, symbol: Value, depth: int) -> _Root:
        if isinstance(symbol, Variable):
            return symbol
        d = symbol.definer
        if not isinstance(d, Instruction) or not d.is_phi or symbol.type.bits < 32:
            return _NUMBER
        known = self._phis.get(symbol)
        if known is not None:
            return known
        if depth == 0:
            return _MIXED
        self._phis[symbol] = _SELF
        found: _Root = _SELF
        for v in d.operands:
            root = self._of_form(self.forms.of(v), depth - 1)
            if root is _SELF:
                continue
            if found is not _SELF and root is not found:
                found = _MIXED
                break
            found = root
        self._phis[symbol] = found = _NUMBER if found is _SELF else found
        return found
