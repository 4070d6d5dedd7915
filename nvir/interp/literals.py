"""Literals where an instruction wants another type than they are written in."""

from __future__ import annotations

import numpy as np

from nvir.ir.values import Constant


def convert(value: Constant, type: str) -> int:
    """The bits of a float literal as a value of `type`: `0d…` may stand for an f32 and so on."""
    bits = int(value.value)
    have, want = value.type.name, type
    if want in ("f32", "f64") and have in ("f32", "f64") and have != want:
        with np.errstate(all="ignore"):
            if have == "f64":
                return int(
                    np.array([bits], np.uint64)
                    .view(np.float64)
                    .astype(np.float32)
                    .view(np.uint32)[0]
                )
            return int(
                np.array([bits], np.uint32).view(np.float32).astype(np.float64).view(np.uint64)[0]
            )
    return bits
