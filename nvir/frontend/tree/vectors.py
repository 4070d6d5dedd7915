"""CUDA's vector types and built-in variables: `float4` is a record of four floats aligned to 16.

Source   CUDA C++ Programming Guide, Built-in Vector Types (table of alignments), Built-in
         Variables.
"""

from __future__ import annotations

from nvir.frontend.tree.declarations import Variable
from nvir.frontend.tree.types import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    LONGLONG,
    SCHAR,
    SHORT,
    UCHAR,
    UINT,
    ULONG,
    ULONGLONG,
    USHORT,
    CType,
    Field,
    Qualified,
    Record,
    Typedef,
)

_ELEMENTS: dict[str, CType] = {
    "char": SCHAR, "uchar": UCHAR, "short": SHORT, "ushort": USHORT, "int": INT, "uint": UINT,
    "long": LONG, "ulong": ULONG, "longlong": LONGLONG, "ulonglong": ULONGLONG,
    "float": FLOAT, "double": DOUBLE,
}


def _make(name: str, element: CType, count: int, bytes_each: int) -> Record:
    fields = [Field("xyzw"[k], element) for k in range(count)]
    align = bytes_each if count in (1, 3) else min(bytes_each * count, 16)
    return Record(name, "struct", align=align).set_fields(fields)


_BYTES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4}
VECTORS: dict[str, Record] = {
    f"{e}{n}": _make(f"{e}{n}", t, n, _BYTES.get(e, 8))
    for e, t in _ELEMENTS.items()
    for n in (1, 2, 3, 4)
}
VECTORS["dim3"] = _make("dim3", UINT, 3, 4)

UINT3, DIM3 = VECTORS["uint3"], VECTORS["dim3"]


def _special(name: str, t: CType) -> Variable:
    return Variable(name, Qualified(t, const=True), builtin=True)


THREAD_IDX, BLOCK_IDX = _special("threadIdx", UINT3), _special("blockIdx", UINT3)
BLOCK_DIM, GRID_DIM = _special("blockDim", DIM3), _special("gridDim", DIM3)
WARP_SIZE = _special("warpSize", INT)

SPECIAL_VARIABLES: dict[str, Variable] = {
    v.name: v for v in (THREAD_IDX, BLOCK_DIM, BLOCK_IDX, GRID_DIM, WARP_SIZE)
}

FIXED_WIDTH: dict[str, Typedef] = {
    n: Typedef(n, t)
    for n, t in {
        "int8_t": SCHAR, "uint8_t": UCHAR, "int16_t": SHORT, "uint16_t": USHORT,
        "int32_t": INT, "uint32_t": UINT, "int64_t": LONG, "uint64_t": ULONG, "size_t": ULONG,
        "ptrdiff_t": LONG, "uintptr_t": ULONG, "intptr_t": LONG,
    }.items()
}
