"""The interval around a predicted register count that covers 80 % of kernels like it.

Kinds are told apart by whether an operation with a slow path (a division, a root, a call) is in
the kernel, and by the predicted count. Each row has how far `ptxas -v` was below and above the
prediction at the ends of a calibration set, 8 % of it (4 % of the slow ones, which are few) being
left out on either side. That covers 86 % of packages that are left out of the calibration, a margin
for kernels of other authors.

Source   the half of a corpus of real CUDA packages that the constants were chosen on, 599 kernels
         at sm_80 and sm_90; `benchmarks/registers.py` says what is covered of the other half.
"""

from __future__ import annotations

from nvir.assembler.regalloc.predict import Prediction
from nvir.assembler.regalloc.tables import LEAST

# (up to this prediction, registers below, registers above)
_PLAIN = ((16, 2, 3), (24, 2, 6), (31, 3, 4), (40, 4, 10), (64, 10, 8), (255, 8, 32))
_SLOW = ((24, 2, 5), (31, 3, 3), (40, 4, 8), (64, 12, 4), (255, 16, 2))


def interval(prediction: Prediction) -> tuple[int, int]:
    """The lowest and the highest register count that `ptxas -v` is expected to print."""
    slow = any(op.ends for order in prediction.orders for op in order)
    n = prediction.registers
    for most, below, above in _SLOW if slow else _PLAIN:
        if n <= most:
            return max(LEAST, n - below), min(n + above, prediction.limit)
    return max(LEAST, n - 16), prediction.limit
