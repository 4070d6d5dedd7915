"""wgmma: products of a warpgroup (four warps), with matrices in shared memory.

The product is computed when it is issued, so fence, commit and wait have nothing to do; a kernel
that forgets the wait is not found out. The four warps wait for each other (warp.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.interp.meaning import wgmma
from nvir.interp.meaning.matrix import Product
from nvir.interp.memory import Fault, locate_within
from nvir.interp.rows import unsupported
from nvir.interp.rows.matrix import counts
from nvir.interp.rows.misc import nothing
from nvir.interp.rows.warp import _EVERYONE, LaneExchange
from nvir.ir.instruction import Instruction


class WarpgroupProduct(LaneExchange):
    """wgmma.mma_async."""

    unit = 4

    def set_up(self, i: Instruction) -> None:
        self.mask = _EVERYONE
        self.op = Product.parse(i.form.spelling)
        n_a = counts(i.form.shape)[1]
        n = i.form.n_sources
        self.in_registers = "{" in i.form.shape[i.form.shape.index("}") + 1 :]
        self.sizes = (n_a, n)
        flags = [getattr(v, "value", None) for v in i.operands[n_a + 2 : n]]
        if None in flags:
            raise unsupported(i, "a scale or layout that is no literal")
        self.negate_a = bool(flags) and flags[0] == -1
        self.negate_b = len(flags) > 1 and flags[1] == -1
        turns = [bool(x) for x in flags[2:]]
        self.turn_a = turns[0] if turns and not self.in_registers else False
        self.turn_b = turns[-1] if turns else False
        self.n_a = n_a
        old = i.operands[n : n + i.form.n_results]
        self.sources = [*i.operands[: n_a + 2], *old]
        self.types = ["b32" if self.in_registers else "b64"] * n_a + ["b64", "pred"]
        self.types += [f"b{max(v.type.bits, 32)}" for v in old]
        module = i.function.module if i.function is not None else None
        self.target = module.target if module is not None else ""

    def compute(self, operands: list[Array], active: Array, mask: Array) -> Any:
        if len(active) % 4:
            raise Fault("a warpgroup operation needs blocks of whole warpgroups", 0)
        groups = [x.reshape(-1, 128) for x in operands]
        n_a = self.n_a
        if self.in_registers:
            fragment, _ = wgmma.register_fragments(self.op)
            a = wgmma.unpack(fragment, np.stack(groups[:n_a]))
        else:
            a = self._matrix(groups[0], 64, self.op.types[1], not self.turn_a)
        b = self._matrix(groups[n_a], self.op.n, self.op.types[2], not self.turn_b)
        accumulate = groups[n_a + 1][:, 0].astype(bool)
        d = wgmma.mma_async(
            self.op, a, np.swapaxes(b, 1, 2), np.stack(groups[n_a + 2 :]), accumulate=accumulate,
            negate_a=self.negate_a, negate_b=self.negate_b, target=self.target,
        )
        return tuple(x.reshape(-1, 32) for x in d)

    def _matrix(self, descriptors: Array, extent: int, type: str, k_major: bool) -> Array:
        """Codes `(groups, extent, k)` of a matrix in shared memory."""
        wave = self.wave
        size = wgmma.element_size(type)
        depth = self.op.k // 8 if type == "b1" else self.op.k
        bases = self.warps[::4] // wave.warps_per_cta * wave.shared_step
        out = []
        for value, base in zip(descriptors[:, 0].tolist(), bases.tolist(), strict=True):
            at = wgmma.Descriptor.decode(value).addresses(extent, depth, size, k_major=k_major)
            at = locate_within(at.reshape(-1), wave.shared_size, size, False, "shared")
            codes = wave.shared.views[size][(at + base) // size].reshape(extent, depth)
            out.append(wgmma.bits_of_bytes(codes) if type == "b1" else codes)
        wide = np.uint64 if size == 8 else np.uint32
        return np.stack(out).astype(wide)


EMITTERS = dict.fromkeys(("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"), nothing)
SPECIALS = {"wgmma.mma_async": WarpgroupProduct}
