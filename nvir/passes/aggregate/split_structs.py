"""Splitting of struct values by itself: the first of the real tool's two instances.

What `lower-aggr-copies` does to values (split.py), without its lowering of copies; so running
this before that changes nothing in the result.
"""

from __future__ import annotations

from nvir.ir.function import Function
from nvir.passes.aggregate.lower_aggr_copies import split_limits
from nvir.passes.aggregate.split import CODES, split_values
from nvir.passes.context import Context

__all__ = ["CODES", "run"]


def run(function: Function, ctx: Context) -> bool:
    return split_values(function, split_limits(ctx), ctx)
