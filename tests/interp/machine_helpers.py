"""Short kernels for the tests of the machine: PTX around a body, launched on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import nvir

REGISTERS = """
.reg .b16 %h<10>; .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .f32 %f<20>; .reg .f64 %e<9>;
.reg .pred %p<10>;
"""


def ptx(body: str, before: str = "", params: int = 2, target: str = "sm_90",
        directives: str = "") -> str:
    """A module with one kernel `k` of pointer parameters p0, p1 …; %d0, %d1 … hold them."""
    declared = ", ".join(f".param .u64 p{i}" for i in range(params))
    loads = "".join(f"ld.param.u64 %d{i}, [p{i}];\n" for i in range(params))
    return (
        f".version 8.6\n.target {target}\n.address_size 64\n{before}\n"
        f".visible .entry k({declared}) {directives}\n{{\n{REGISTERS}\n{loads}{body}\nret;\n}}\n"
    )


def run(body: str, *args: Any, grid: Any = 1, block: Any = 32, before: str = "",
        target: str = "sm_90", directives: str = "", **launch: Any) -> Any:
    """Launch a body on arrays."""
    text = ptx(body, before, len(args), target, directives)
    return nvir.launch(nvir.read_ptx(text), "k", grid, block, list(args), **launch)


def words(n: int, dtype: Any = np.uint32) -> Any:
    return np.zeros(n, dtype)


# Stores %r0 of each thread at out[tid] for out in %d0; uses %r38, %d18 and up.
STORE = """
mov.u32 %r38, %tid.x; mul.wide.u32 %d18, %r38, 4; add.s64 %d19, %d0, %d18;
st.global.u32 [%d19], %r0;
"""
