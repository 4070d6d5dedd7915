"""How fast the interpreter runs: `python benchmarks/interp.py`.

Prints, for each kernel, the time, the thread instructions a second (lane operations), and the goal
where there is one: sgemm 128 x 128 x 128 within 10 s, 20 million lane operations a second on wide
CTAs, 50 checks of random kernels a second of CPU time (read, launch, launch again).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import nvir  # noqa: E402

PTX = ROOT / "examples" / "ptx"


def operations(module: Any, result: Any) -> int:
    """Thread instructions that a launch executed."""
    total = 0
    for f in module.functions:
        counts = result.block_counts.get(str(f.name), {})
        for b in f.blocks:
            size = sum(not (i.form.is_phi or i.form.op.pseudo) for i in b)
            total += size * counts.get(b.name, 0)
    return total


def timed(name: str, file: str, kernel: str, grid: Any, block: Any, args: list[Any],
          smem: int = 0) -> None:
    module = nvir.read_ptx(PTX / f"{file}.ptx")
    start = time.perf_counter()
    result = nvir.launch(module, kernel, grid, block, args, smem)
    seconds = time.perf_counter() - start
    count = operations(module, result)
    print(f"{name:<34} {seconds:7.2f} s {count / 1e6:9.2f} M ops {count / seconds / 1e6:8.1f} M/s")


def kernels() -> None:
    rng = np.random.default_rng(1)
    n = 128
    a, b = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    c = np.zeros((n, n), np.float32)
    timed("sgemm 128^3 (goal 10 s)", "sgemm.sm_80", "sgemm", (8, 8), (16, 16),
          [a, b, c, n, n, n, 1.0, 0.0])
    x, y = rng.random(1 << 20, np.float32), rng.random(1 << 20, np.float32)
    timed("saxpy 2^20", "saxpy.sm_80", "saxpy", 256, 1024, [1 << 20, 2.0, x, y])
    data, bins = rng.integers(0, 256, 1 << 20).astype(np.uint8), np.zeros(256, np.uint32)
    timed("histogram 2^20", "histogram.sm_80", "histogram", 64, 256, [data, bins, 1 << 20])
    out = np.zeros((256, 256), np.uint16)
    timed("mandelbrot 256^2, limit 200", "mandelbrot.sm_80", "mandelbrot", (16, 32), (16, 8),
          [out, 256, 256, -2.0, -1.5, 3 / 256, 200])
    bodies, force = rng.random((1024, 4), np.float32), np.zeros((1024, 3), np.float32)
    timed("nbody 1024", "nbody.sm_80", "nbody", 4, 256, [bodies, force, 1024, 0.1], 256 * 16)
    image, blurred = rng.random((256, 256), np.float32), np.zeros((256, 256), np.float32)
    timed("stencil 256^2", "stencil.sm_80", "stencil", (8, 32), (32, 8), [image, blurred, 256, 256])


WIDE = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 o) {{ .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<4>;
.reg .pred %p;
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r0, %r1, %r2;
mov.u32 %r4, 0; cvt.rn.f32.u32 %f0, %r3;
ld.param.u64 %d0, [o]; mul.wide.u32 %d1, %r3, 4; add.u64 %d0, %d0, %d1;
L: {body} add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 200; @%p bra L;
st.global.u32 [%d0], %r3;
st.global.f32 [%d0], %f0; ret; }}"""
BODIES = {
    "integer (mad, xor, shr, add)": "mad.lo.u32 %r3, %r3, 1664525, %r4; shr.u32 %r5, %r3, 7; "
    "xor.b32 %r3, %r3, %r5; add.u32 %r3, %r3, %r4;",
    "float (add, mul)": "add.f32 %f0, %f0, 0f3F800000; mul.f32 %f0, %f0, 0f3F000000;",
    "fma.rn.f32": "fma.rn.f32 %f0, %f0, 0f3F000000, 0f3F800000;",
}


def wide() -> None:
    """Straight-line work in a loop on 32 CTAs of 512 threads (goal: 20 M/s)."""
    for name, body in BODIES.items():
        module = nvir.read_ptx(WIDE.format(body=body))
        out = np.zeros(1 << 14, np.uint32)
        start = time.perf_counter()
        result = nvir.launch(module, "k", 32, 512, [out])
        seconds = time.perf_counter() - start
        count = operations(module, result)
        print(f"{'wide: ' + name:<34} {seconds:7.2f} s {count / 1e6:9.2f} M ops "
              f"{count / seconds / 1e6:8.1f} M/s")


def checks(count: int = 60) -> None:
    """Random kernels read and launched twice, as a fuzz job does for a pass (goal: 50 a second)."""
    from tests.equivalence import again, behaviour, check_same
    from tests.kernels import random_kernel

    start = time.process_time()
    for seed in range(count):
        module = nvir.read_ptx(random_kernel(seed, 20))
        before = behaviour(module, "k", seed, grid=(1,), block=(32,))
        check_same(before, again(module, before))
    seconds = time.process_time() - start
    print(f"{'random kernels, checked twice':<34} {seconds:7.2f} s {count / seconds:9.1f} checks/s")


if __name__ == "__main__":
    kernels()
    wide()
    checks()
