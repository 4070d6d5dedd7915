"""Vectors by element: rules are written for scalars.

A scalar rule gets the parts of one element of each operand, and the type of one element of the
result; `by_element` makes of it a rule for an instruction.
"""

from __future__ import annotations

from collections.abc import Callable

from nvir.ir import Instruction, Type, VectorType
from nvir.passes.select.parts import count
from nvir.passes.select.selector import Parts, Selector

Rule = Callable[[Selector, Instruction], Parts]
# (selector, instruction, type of an element of operand 0, of the result, parts of the operands,
# words of the rule)
Scalar = Callable[..., Parts]


def element(t: Type) -> Type:
    return t.element if isinstance(t, VectorType) else t


def by_element(scalar: Scalar) -> Rule:
    def rule(s: Selector, i: Instruction) -> Parts:
        operands = i.operands
        given = [s.use(v) for v in operands]
        source, result = operands[0].type, i.type
        if not isinstance(result, VectorType):
            return scalar(s, i, source, result, given)
        sizes = [
            count(v.type.element) if isinstance(v.type, VectorType) else 0 for v in operands
        ]
        out: list[object] = []
        for k in range(result.count):
            lane = [
                p[k * n : (k + 1) * n] if n else p for p, n in zip(given, sizes, strict=True)
            ]
            out.extend(scalar(s, i, element(source), result.element, lane))
        return tuple(out)  # type: ignore[arg-type]

    return rule
