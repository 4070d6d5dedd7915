"""The tree checker: C's typing rules, so that IR generation sees a fully typed tree.

    check(unit) -> unit     binds names, computes types, makes every conversion a Cast

The tree is changed in place: types are set, operands that are converted are wrapped in casts,
initialiser lists are put in order. Checking a checked tree changes nothing. A wrong tree raises
`TreeError` with every mistake and its place.

    errors.py        TreeError; how mistakes are collected
    conversions.py   promotion, the usual arithmetic conversions, which cast leads where
    evaluate.py      constant expressions
    scopes.py        names and where they are visible
    initialisers.py  initialiser lists against types
    base.py          what every rule asks: values, conversions, lvalues
    operators.py     operators, assignments, casts
    expressions.py   the other expressions, and the table of rules
    statements.py    statements, functions, the unit
"""

from nvir.frontend.check.errors import TreeError
from nvir.frontend.check.statements import check

__all__ = ["TreeError", "check"]
