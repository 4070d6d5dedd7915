"""Splitting of struct values by itself: the first of the real tool's two instances.

    %s = load {i32, float}, ptr %p             %s.0 = load i32, ptr %p
    %x = extractvalue {i32, float} %s, 1  ==>  %q = getelementptr i8, ptr %p, 4
    ret float %x                               %s.1 = load float, ptr %q
                                               ret float %s.1

Method   What `lower-aggr-copies` does to values (split.py), without its lowering of copies; so
         running this before that changes nothing in the result.
Keeps    blocks; structs at the edges of functions.
Cost     linear in instructions and leaves.
Source   the notes on splitting structs.
"""

from __future__ import annotations

from nvir.ir.function import Function
from nvir.passes.aggregate.lower_aggr_copies import split_limits
from nvir.passes.aggregate.split import CODES, split_values
from nvir.passes.context import Context

__all__ = ["CODES", "run"]


def run(function: Function, ctx: Context) -> bool:
    return split_values(function, split_limits(ctx), ctx)
