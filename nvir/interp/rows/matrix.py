"""Matrix operations of a warp: mma, wmma, ldmatrix, stmatrix, movmatrix.

Loading and storing wmma fragments needs no other lane, for every lane holds the matrix's address.
ldmatrix and stmatrix pass row addresses between lanes, mma passes elements: these are exchanges
(warp.py) of the whole warp.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from nvir.interp.access import LaneAccess, make_load, make_store
from nvir.interp.layout import Array, register_dtype
from nvir.interp.meaning import fragments, matrix, sparse
from nvir.interp.memory import Fault, check_alignment, locate_within
from nvir.interp.rows import unsupported
from nvir.interp.rows.memory import _SPACES, space_of
from nvir.interp.rows.warp import _EVERYONE, LaneExchange
from nvir.ir import IMM, Instruction, SymbolOffset, Variable

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")


def counts(shape: str) -> list[int]:
    """How many registers each operand of a shape such as "{%s, %s}, {%s}, %s" has."""
    out, depth, current = [], 0, ""
    for ch in shape + ",":
        depth += (ch in "{[") - (ch in "}]")
        if ch == "," and depth == 0:
            out.append(current.count("%s"))
            current = ""
        else:
            current += ch
    return out


class MatrixProduct(LaneExchange):
    """mma.sync and wmma.mma."""

    def set_up(self, i: Instruction) -> None:
        self.mask = _EVERYONE
        sizes = counts(i.form.shape)
        if len(sizes) != 4:
            raise unsupported(i)
        self.sizes = sizes[1:]
        self.types = [f"b{max(v.type.bits, 32)}" for v in self.sources]
        module = i.function.module if i.function is not None else None
        self.target = module.target if module is not None else ""

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        na, nb, _ = self.sizes
        a, b, c = operands[:na], operands[na : na + nb], operands[na + nb :]
        d = matrix.mma(self.key, np.stack(a), np.stack(b), np.stack(c), self.target)
        return tuple(d)


class SparseProduct(MatrixProduct):
    """mma.sp: metadata and the sparsity selector follow C."""

    def set_up(self, i: Instruction) -> None:
        self.mask = _EVERYONE
        self.sizes = counts(i.form.shape)[1:]
        selector = self.sources[sum(self.sizes[:4])]
        if len(self.sizes) != 5 or selector.type is not IMM:
            raise unsupported(i)
        self.selector = int(selector.value)  # type: ignore[attr-defined]
        self.sources = self.sources[: sum(self.sizes[:4])]
        self.types = [f"b{max(v.type.bits, 32)}" for v in self.sources]
        module = i.function.module if i.function is not None else None
        self.target = module.target if module is not None else ""

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        na, nb, nc, _ = self.sizes[:4]
        a, b, c = operands[:na], operands[na : na + nb], operands[na + nb : na + nb + nc]
        d = sparse.mma(
            self.key, np.stack(a), np.stack(b), np.stack(c), operands[-1], self.selector,
            self.target,
        )
        return tuple(d)


class MoveMatrix(LaneExchange):
    def set_up(self, i: Instruction) -> None:
        self.mask = _EVERYONE
        self.types = ["b32"]

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        return fragments.movmatrix(np.ascontiguousarray(operands[0]))


class _Rows(LaneExchange):
    """ldmatrix and stmatrix: addresses of rows are exchanged, then memory is touched."""

    def set_up(self, i: Instruction) -> None:
        self.mask = _EVERYONE
        form = i.form
        mods = form.mods
        if "m8n8" not in mods or "b16" not in mods:
            raise unsupported(i)
        count = next((int(m[1:]) for m in mods if m in ("x1", "x2", "x4")), 1)
        self.map = fragments.matrix_rows(count, "trans" in mods)
        base, offset = form.addresses[0]
        self.offset = int(getattr(self.sources[offset], "value", 0)) if offset >= 0 else 0
        self.space = _SPACES[form.space]
        base_value = self.sources[base]
        if isinstance(base_value, Variable | SymbolOffset):
            self.space = "shared"
        values = [v for k, v in enumerate(self.sources) if k not in (base, offset)]
        self.sources = [base_value, *values]
        self.types = ["b64", *["b32"] * len(values)]

    def offsets(self, addresses: Array, active: Array, write: bool) -> Array:
        """Byte offsets into the wave's shared memory of each piece: (warps, count, 32, pieces)."""
        wave = self.wave
        rows = addresses.astype(np.int64) + self.offset
        if not self.space:
            rows = rows - wave.windows.shared
        used = np.unique(self.map.address)
        here = rows[:, used]
        try:
            check_alignment(here.reshape(-1), here.reshape(-1), 16)
            locate_within(here.reshape(-1), wave.shared_size, 16, write, "shared")
        except Fault as fault:
            at = fault.position or 0
            warp = int(self.warps[at // len(used)])
            cta, inner = divmod(warp, wave.warps_per_cta)
            fault.lane = min(
                cta * wave.threads + inner * 32 + int(used[at % len(used)]), wave.n - 1
            )
            raise
        bases = self.warps // wave.warps_per_cta * wave.shared_step
        pieces = rows[:, self.map.address] + self.map.offset
        return np.asarray(pieces + bases[:, None, None, None])


class LoadMatrix(_Rows):
    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        at = self.offsets(operands[0], active, False)
        halves = self.wave.shared.views[2][at >> 1].astype(np.uint32)
        words = halves[..., 0] | halves[..., 1] << np.uint32(16)
        return tuple(np.moveaxis(words, 1, 0))


class StoreMatrix(_Rows):
    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        at = self.offsets(operands[0], active, True)
        words = np.stack(operands[1:], 1).astype(np.uint32)
        view = self.wave.shared.views[2]
        view[at[..., 0] >> 1] = words.astype(np.uint16)
        view[at[..., 1] >> 1] = (words >> np.uint32(16)).astype(np.uint16)
        self.wave.writes += 1
        return ()


# ---------------------------------------------------------------------- wmma


def _fragment(i: Instruction) -> tuple[Any, str, int]:
    """(fragment, layout, default stride in elements) of a wmma.load or wmma.store."""
    mods = i.form.mods
    shape = next((m for m in map(_SHAPE.match, mods) if m), None)
    role = next((m for m in mods if m in ("a", "b", "c", "d")), "")
    layout = next((m for m in mods if m in ("row", "col")), "")
    if shape is None or not role or not layout:
        raise unsupported(i)
    m, n, k = (int(x) for x in shape.groups())
    fragment = fragments.wmma(role, m, n, k, mods[-1])
    rows, columns = fragment.shape
    return fragment, layout, columns if layout == "row" else rows


def emit_wmma_load(e: Any) -> None:
    i = e.instr
    fragment, layout, stride = _fragment(i)
    base, offset = i.form.addresses[0]
    text, symbol_space = e.address(base, offset)
    space = space_of(e, i.form, symbol_space)
    k = 1 + (offset >= 0)
    step = e.source(k, "u32") if i.form.n_sources > k else e.constant(stride, np.uint32)
    f = e.bind(
        _Fragments(fragment, layout, space, tuple(register_dtype(r.type) for r in i.results))
    )
    e.results(f"{f}.load(c, {text}, {step}, {e.guard or 'None'})", multiple=len(i.results) > 1)


def emit_wmma_store(e: Any) -> None:
    i = e.instr
    fragment, layout, stride = _fragment(i)
    base, offset = i.form.addresses[0]
    text, symbol_space = e.address(base, offset)
    space = space_of(e, i.form, symbol_space)
    k = 1 + (offset >= 0)
    n = counts(i.form.shape)[1]
    values = [e.source(k + r, "b32") for r in range(n)]
    step = e.source(k + n, "u32") if i.form.n_sources > k + n else e.constant(stride, np.uint32)
    f = e.bind(_Fragments(fragment, layout, space, ()))
    e.line(f"{f}.store(c, {text}, ({', '.join(values)},), {step}, {e.guard or 'None'})")


class _Fragments:
    """Loads and stores the elements of a fragment that each lane holds."""

    def __init__(self, fragment: Any, layout: str, space: str, dtypes: tuple[Any, ...]) -> None:
        self.fragment, self.layout = fragment, layout
        self.bits = fragment.bits
        # Elements of less than a byte fill words that lie whole in memory.
        self.size = self.bits // 8 if self.bits >= 8 else 4
        self.per = fragment.row.shape[2] if self.bits >= 8 else 1
        self.dtypes = dtypes
        word = np.uint64 if self.bits == 64 else np.uint32
        self.read = make_load(LaneAccess(space, self.size, 1, False, (word,)))
        self.write = make_store(LaneAccess(space, self.size))
        self.kind: Any = word

    def place(self, c: Any, address: Array, stride: Array, r: int, i: int) -> Array:
        """The address of element i of register r in each lane."""
        lane = c.special("%laneid")
        row, column = (
            x[r, :, i].astype(np.uint64)[lane] for x in (self.fragment.row, self.fragment.column)
        )
        step = stride.astype(np.uint64)
        element = row * step + column if self.layout == "row" else column * step + row
        return np.asarray(
            address.astype(np.uint64) + element * np.uint64(self.bits) // np.uint64(8)
        )

    def load(self, c: Any, address: Array, stride: Array, guard: Any) -> Any:
        out = []
        for r, dtype in enumerate(self.dtypes):
            word: Any = None
            for i in range(self.per):
                x = self.read(c, self.place(c, address, stride, r, i), guard)
                x = x << self.kind(self.bits * i) if i else x
                word = x if word is None else word | x
            out.append(word.astype(dtype, copy=False))
        return out[0] if len(out) == 1 else tuple(out)

    def store(self, c: Any, address: Array, values: Any, stride: Array, guard: Any) -> None:
        for r, word in enumerate(values):
            for i in range(self.per):
                x = word >> self.kind(self.bits * i) if i else word
                self.write(c, self.place(c, address, stride, r, i), (x,), guard)


EMITTERS = {"wmma.load": emit_wmma_load, "wmma.store": emit_wmma_store}
SPECIALS = {
    "mma.sync": MatrixProduct, "wmma.mma": MatrixProduct, "movmatrix": MoveMatrix,
    "ldmatrix": LoadMatrix, "stmatrix": StoreMatrix, "mma.sp.sync": SparseProduct,
    "mma.sp::ordered_metadata.sync": SparseProduct,
}
