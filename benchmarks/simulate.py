"""The cycle simulator against the stall counts that the real ptxas encodes.

    python benchmarks/simulate.py [--count 200] [--seed 1] [--arch sm_80,sm_90]

Random loops of arithmetic alone, one warp, kept rolled. For each:

    encoded      cycles an iteration of ptxas's own machine code in the simulator, which waits as
                 the code says, against the sum of the stall counts in that code
    model        the same code, waiting for the latencies of what it reads: a judge of latencies,
                 pipes and the branch
    prediction   cycles of the loop as nvir reads it from PTX and orders it, against the same sum
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

import nvir
from nvir.ir.loops import natural_loops
from nvir.sm.profile import profile
from nvir.sm.simulate import loop_stream, simulate
from nvir.sm.simulate.body import code_stream, stall_sum
from nvir.toolchain import bodies, ptxas
from nvir.toolchain.errors import ToolMissing

FLOATS = [f"%f{n}" for n in range(1, 7)]
INTEGERS = [f"%r{n}" for n in range(11, 17)]
OPERATIONS = (
    "fma.rn.f32 {f}, {g}, {h}, {f};", "add.rn.f32 {f}, {f}, {g};", "mul.rn.f32 {f}, {f}, {g};",
    "min.f32 {f}, {f}, {g};", "xor.b32 {i}, {i}, {j};", "add.s32 {i}, {i}, {j};",
    "mad.lo.s32 {i}, {j}, {k}, {i};", "shl.b32 {i}, {i}, {j};", "min.s32 {i}, {i}, {j};",
)
HEAD = """.version 8.8
.target {arch}
.address_size 64
"""
KERNEL = """.visible .entry k{n}(.param .u64 p, .param .u32 n)
{{
 .reg .pred %p<9>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %rd2, %rd1;
{loads}
 mov.u32 %r2, 0;
L:
 .pragma "nounroll";
 {body}
 add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
{stores}
 ret;
}}
"""


def kernels(count: int, seed: int, arch: str) -> str:
    """A module of `count` kernels with a random arithmetic loop each."""
    rng = random.Random(seed)
    places = [*((f, "f32") for f in FLOATS), *((i, "u32") for i in INTEGERS)]
    loads = "\n".join(f" ld.global.{t} {r}, [%rd2+{4 * k}];" for k, (r, t) in enumerate(places))
    stores = "\n".join(f" st.global.{t} [%rd2+{4 * k}], {r};" for k, (r, t) in enumerate(places))
    out = [HEAD.format(arch=arch)]
    for n in range(count):
        body = []
        for _ in range(rng.randint(1, 14)):
            f, g, h = rng.sample(FLOATS, 3)
            i, j, k = rng.sample(INTEGERS, 3)
            body.append(rng.choice(OPERATIONS).format(f=f, g=g, h=h, i=i, j=j, k=k))
        text = "\n ".join(body)
        out.append(KERNEL.format(n=n, loads=loads, body=text, stores=stores))
    return "".join(out)


def compare(count: int, seed: int, arch: str) -> list[tuple[str, int, float, float, float]]:
    """(kernel, sum of stalls, cycles as encoded, model's, predicted) of loops of one block."""
    text = kernels(count, seed, arch)
    machine = profile(arch)
    code = bodies(ptxas(text, arch=arch).cubin or b"", arch)
    rows = []
    for function in nvir.read_ptx(text).functions:
        body = code[str(function.name)]
        if len(body.loops) != 1:
            continue
        loop = body.loop_instructions(body.loops[0])
        function.analyze_cfg()
        predicted = simulate(loop_stream(natural_loops(function)[0], machine))
        real, model = (
            simulate(code_stream(loop, machine, encoded=as_encoded)).cycles_per_iteration
            for as_encoded in (True, False)
        )
        rows.append((
            str(function.name), stall_sum(loop), real, model, predicted.cycles_per_iteration,
        ))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arch", default="sm_80,sm_90")
    given = parser.parse_args()
    for arch in given.arch.split(","):
        start = time.perf_counter()
        try:
            rows = compare(given.count, given.seed, arch)
        except ToolMissing as e:
            print(f"skipped: {e}")
            return 0
        seconds = time.perf_counter() - start
        as_encoded = sum(real == encoded for _, encoded, real, *_ in rows)
        same = sum(model == encoded for _, encoded, _, model, _ in rows)
        exact = sum(predicted == encoded for _, encoded, *_, predicted in rows)
        near = sum(abs(predicted - encoded) <= 0.1 * encoded for _, encoded, *_, predicted in rows)
        ratio = sum(predicted / encoded for _, encoded, *_, predicted in rows) / len(rows)
        print(f"{arch}: {len(rows)} loops, {seconds:.1f} s")
        print(f"  encoded     equal to the sum of stalls: {as_encoded / len(rows):.1%}")
        print(f"  model       equal to the encoded stalls: {same} ({same / len(rows):.1%})")
        off = Counter(model - encoded for _, encoded, _, model, _ in rows if model != encoded)
        print("              differences in cycles:", dict(sorted(off.items())) or "none")
        print(f"  prediction  equal: {exact / len(rows):.1%}, within a tenth: "
              f"{near / len(rows):.1%}, mean ratio {ratio:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
