"""Two Triton kernels, compiled to PTX without a GPU: a row softmax and a matrix product.

    python triton_kernels.py        (needs: pip install triton)

Writes ptx/triton_softmax.sm_80.ptx and ptx/triton_matmul.sm_80.ptx. Triton's PTX
differs from nvcc's: inline assembly for every memory access, registers by number,
shared memory as one dynamic array, software pipelining done already.
"""

import pathlib
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(out, inp, stride, n, BLOCK: tl.constexpr):
    """One program a row; BLOCK is a power of two, at least n."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(inp + row * stride + columns, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * stride + columns, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A * B, half precision in and single precision out, row-major."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_at = a + rows[:, None] * k + inner[None, :]
    b_at = b + inner[:, None] * n + columns[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(tl.cdiv(k, BK)):
        left = k - i * BK
        a_tile = tl.load(a_at, mask=inner[None, :] < left, other=0.0)
        b_tile = tl.load(b_at, mask=inner[:, None] < left, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
        a_at += BK
        b_at += BK * n
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], acc, mask=mask)


KERNELS = {
    "triton_softmax": (
        softmax,
        {"out": "*fp32", "inp": "*fp32", "stride": "i32", "n": "i32"},
        {"BLOCK": 1024},
        {"num_warps": 4},
    ),
    "triton_matmul": (
        matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"},
        {"BM": 64, "BN": 64, "BK": 32},
        {"num_warps": 4, "num_stages": 3},
    ),
}


def main() -> None:
    here = pathlib.Path(__file__).resolve().parent
    for name, (kernel, signature, constants, options) in KERNELS.items():
        signature = signature | dict.fromkeys(constants, "constexpr")
        runtime = [i for i, kind in enumerate(signature.values()) if kind != "constexpr"]
        aligned = {(i,): [["tt.divisibility", 16]] for i in runtime}
        source = ASTSource(kernel, signature, constants, aligned)
        compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)
        (here / "ptx" / f"{name}.sm_80.ptx").write_text(without_paths(compiled.asm["ptx"]))


def without_paths(ptx: str) -> str:
    """PTX without places of this machine: `.debug_info` spells out the folder byte by byte."""
    sections = re.compile(r"^\s*\.section\s+\.debug_(?:info|abbrev)\s*\{.*?^\s*\}\n", re.M | re.S)
    ptx = sections.sub("", ptx)
    return re.sub(r'"/[^"\n]*/([^"/\n]+)"', r'"\1"', ptx)


if __name__ == "__main__":
    main()
