"""What selection may be told."""

from __future__ import annotations

from typing import Literal

import attrs


@attrs.frozen
class Options:
    """The options of `select`, as nvcc has them.

    fp_contract  products and sums become fma: "off" never, "on" where the instructions' flags
                 allow it, "fast" everywhere (nvcc's default)
    ftz          subnormal floats are flushed to zero
    prec_div     division of floats rounds right
    prec_sqrt    square roots of floats round right
    fast_math    approximations will do everywhere else
    """

    fp_contract: Literal["off", "on", "fast"] = "on"
    ftz: bool = False
    prec_div: bool = True
    prec_sqrt: bool = True
    fast_math: bool = False
