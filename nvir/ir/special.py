"""The special registers of PTX: one object for each name, made when first asked for.

`volatile` marks those of which two reads may differ although the thread, the
warp and the CTA are the same: clocks, counters, and the place where a warp runs,
which may change under preemption. `uniform` marks those that all threads of a
CTA agree on.

A whole vector (`%tid`) is a value of 128 bits, its elements `.x .y .z .w` (or
`.r .g .b .a`) values of 32.

Source: PTX ISA 9.0, chapter 10; spellings checked against ptxas 13.0.
"""

from __future__ import annotations

from nvir.ir.types import B128, PRED, U32, U64, ScalarType
from nvir.ir.values import SpecialRegister

_Facts = tuple[ScalarType, bool, bool]  # type, volatile, uniform


def _facts() -> dict[str, _Facts]:
    table: dict[str, _Facts] = {}

    def add(names: str, type: ScalarType, *, volatile: bool = False, uniform: bool = False) -> None:
        for name in names.split():
            table["%" + name] = (type, volatile, uniform)

    def add_vectors(names: str, *, uniform: bool) -> None:
        add(names, B128, uniform=uniform)
        for name in names.split():
            add(" ".join(f"{name}.{c}" for c in "xyzwrgba"), U32, uniform=uniform)

    # Place in the launch.
    add_vectors("tid", uniform=False)
    add_vectors("ntid ctaid nctaid", uniform=True)
    add_vectors("clusterid nclusterid cluster_ctaid cluster_nctaid", uniform=True)
    add("cluster_ctarank cluster_nctarank", U32, uniform=True)
    add("is_explicit_cluster", PRED, uniform=True)
    add("gridid current_graph_exec", U64, uniform=True)

    # Place in the machine.
    add("laneid", U32)
    add("lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt", U32)
    add("warpid smid", U32, volatile=True)
    add("nwarpid nsmid", U32, uniform=True)

    # Time and counters.
    add("clock clock_hi globaltimer_lo globaltimer_hi", U32, volatile=True)
    add("clock64 globaltimer", U64, volatile=True)
    add(" ".join(f"pm{i}" for i in range(8)), U32, volatile=True)
    add(" ".join(f"pm{i}_64" for i in range(8)), U64, volatile=True)

    # What the launch was given.
    add(" ".join(f"envreg{i}" for i in range(32)), U32, uniform=True)
    add("total_smem_size aggr_smem_size dynamic_smem_size", U32, uniform=True)
    add("reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap "
        "reserved_smem_offset_0 reserved_smem_offset_1", U32, uniform=True)
    return table


# How many low bits may be set, under the limits of every compute capability (CUDA Programming
# Guide, "Compute Capabilities"): blocks have 1024×1024×64 threads at most, 1024 in all.
_BITS = {
    "%tid.x": 10, "%tid.y": 10, "%tid.z": 6, "%ntid.x": 11, "%ntid.y": 11, "%ntid.z": 7,
    "%laneid": 5, "%ctaid.x": 31, "%ctaid.y": 16, "%ctaid.z": 16, "%nctaid.x": 31,
    "%nctaid.y": 16, "%nctaid.z": 16,
}
# The first PTX ISA and machine of the newer ones, by how their names begin.
_SINCE = {
    "%cluster": ((7, 8), 90), "%ncluster": ((7, 8), 90), "%is_explicit_cluster": ((7, 8), 90),
    "%aggr_smem_size": ((8, 1), 90), "%reserved_smem": ((7, 6), 80),
    "%current_graph_exec": ((8, 0), 50),
}
_FACTS = _facts()
_made: dict[str, SpecialRegister] = {}


def special_register(name: str) -> SpecialRegister | None:
    """The special register of that name (with its `%`), or None; one object for each name."""
    register = _made.get(name)
    if register is None and name in _FACTS:
        type, volatile, uniform = _FACTS[name]
        register = _made[name] = SpecialRegister(
            name, type, volatile, uniform, _BITS.get(name, 0)
        )
    return register


def first_with(name: str) -> tuple[tuple[int, int], int]:
    """The first PTX ISA version and compute capability with a special register; zeros: all."""
    return next((since for start, since in _SINCE.items() if name.startswith(start)), ((0, 0), 0))


def special_names() -> tuple[str, ...]:
    """Every name that `special_register` knows, in the order of the ISA's groups."""
    return tuple(_FACTS)
