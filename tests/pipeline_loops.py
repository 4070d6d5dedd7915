"""Random loops of one block, pipelined at random and judged by the interpreter.

    failure = trial(7)      # None, or what went wrong; all follows from the seed

A loop has some loads (read-only, or of the array that it stores to, at offsets that may or may not
meet), carried registers, arithmetic, predicated instructions, stores, and one of several kinds of
exit test, at its end or, to be rotated, at its start. It is pipelined at a random depth, or with
random legal stages, with or without making addresses again, some by the pass itself. One launch
tells: each lane reads a trip count of its own, 0, 1, 2, … beyond the stages, and large ones.

    python -m tests.pipeline_loops 1000 5000     # seeds from, to
    python -m tests.pipeline_loops 1000 5000 60  # for 60 seconds at most
"""

from __future__ import annotations

import random
import sys
import time

import numpy as np

import nvir
from nvir.analysis.induction import trip_count
from nvir.ir.errors import LaunchError, NvirError
from nvir.ir.loops import natural_loops
from nvir.ir.module import Module
from nvir.passes.loop.pipeline.body import Body, Staged, StageLayout, by_times
from nvir.passes.loop.pipeline.choice import staged
from nvir.passes.loop.pipeline.expand import expand
from nvir.passes.loop.pipeline.kernel_only import expand_kernel_only, why_not
from nvir.passes.loop.pipeline.words import join_words
from nvir.passes.loop.unroll.prepare import Refusals, regions

HEADER = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o, .param .u64 c, .param .u32 m) {
.reg .pred %p<20>; .reg .b16 %rs<9>; .reg .b32 %r<60>; .reg .b64 %rd<30>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u64 %rd8, [c]; ld.param.u32 %r6, [m];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd8, %rd8;
mov.u32 %r50, %tid.x; mad.wide.u32 %rd20, %r50, 1024, %rd2; mad.wide.u32 %rd7, %r50, 4, %rd8;
ld.global.nc.u32 %r51, [%rd7]; mov.u64 %rd9, %rd1;
"""
CARRIED, TEMPORARY = range(10, 15), range(20, 28)
COUNTS = (*range(14), 17, 29)  # about the iterations of each lane
BY_THE_PASS = 0.04  # of the loops: it takes six times as long
ROTATE = "loop-simplify,loop-rotate,loop-simplify"


def random_loop(rng: random.Random, at_top: bool = False) -> str:
    """The text of a kernel "k" with one loop, which tests at its end or at its top."""
    start = rng.choice((0, 0, 1, -3))
    step = rng.choice((1, 1, 1, 2, 3))
    out = [HEADER, *(f"mov.u32 %r{c}, {rng.randrange(100)};" for c in CARRIED)]
    out += [f"mov.u32 %r{t}, {t};" for t in TEMPORARY]
    out += [f"mov.u32 %r2, {start};", "L:"]
    body = [_statement(rng) for _ in range(rng.randrange(2, 9))]
    body += [_load(rng) for _ in range(rng.randrange(1, 4))]
    rng.shuffle(body)
    out += body
    bump = f"add.s32 %r2, %r2, {step};"
    if at_top:
        negated = rng.choice(("", "!"))
        test = f"setp.{'lt' if negated else 'ge'}.s32 %p1, %r2, %r51; @{negated}%p1 bra X;"
        out.insert(out.index("L:") + 1, test)
        return "\n".join([*out, bump, "bra L;", "X:", *_results()]) + "\n"
    kind = rng.choice(("new", "old", "ne", "run time", "arithmetic", "loaded"))
    if kind == "loaded":
        out += [bump, "ld.global.nc.u32 %r52, [%rd7];", "setp.lt.s32 %p1, %r2, %r52;"]
    elif kind == "old":
        out += ["setp.lt.s32 %p1, %r2, %r51;", bump]
    elif kind == "ne":
        out += ["add.s32 %r2, %r2, 1;", f"add.s32 %r3, %r51, {start + 1};",
                "setp.ne.s32 %p1, %r2, %r3;"]
        out.insert(out.index("L:"), "")
    elif kind == "run time":
        out += ["add.s32 %r2, %r2, %r6;", "setp.lt.s32 %p1, %r2, %r51;"]
    elif kind == "arithmetic":
        out += [bump, "xor.b32 %r3, %r2, 5;", "setp.lt.u32 %p1, %r3, %r51;",
                "setp.lt.and.s32 %p1, %r2, 40, %p1;"]
    else:
        out += [bump, "setp.lt.s32 %p1, %r2, %r51;"]
    sign = rng.random() < 0.2
    if sign:
        out.append("not.pred %p1, %p1;")
    out.append(f"@{'!' if sign else ''}%p1 bra L;")
    return "\n".join([*out, *_results()]) + "\n"


def _results() -> list[str]:
    """What is behind the loop: every register is stored."""
    return [*(f"st.global.u32 [%rd20+{900 + 4 * k}], %r{c};"
              for k, c in enumerate((2, *CARRIED, *TEMPORARY))), "ret; }"]


def _register(rng: random.Random) -> str:
    return f"%r{rng.choice((*CARRIED, *TEMPORARY, 2))}"


def _load(rng: random.Random) -> str:
    t = rng.choice((*TEMPORARY, *CARRIED))
    guard = rng.choice(("", "", "", "@%p2 ", "@!%p2 "))
    if rng.random() < 0.2:
        return (f"{guard}ld.global.nc.u32 %r{t}, [%rd9+{4 * rng.randrange(4)}]; "
                "add.s64 %rd9, %rd9, 4;")
    array = rng.random()
    index = _register(rng) if rng.random() < 0.3 else "%r2"
    if array < 0.15:
        return (f"and.b32 %r40, {index}, 62; mul.wide.u32 %rd3, %r40, 4; add.s64 %rd4, %rd1, %rd3; "
                + _narrow_load(rng))
    if array < 0.7:
        two = rng.random() < 0.2
        into = f"v2.u32 {{%r{t}, %r{rng.choice([x for x in TEMPORARY if x != t])}}}"
        op = f"ld.global.nc.{into}" if two else f"ld.global.nc.u32 %r{t}"
        mask = 62 if two else 63
        return (f"and.b32 %r40, {index}, {mask}; mul.wide.u32 %rd3, %r40, 4; "
                f"add.s64 %rd4, %rd1, %rd3; {guard}{op}, [%rd4+{8 * rng.randrange(3)}];"
                )
    return (f"and.b32 %r40, {index}, 63; mul.wide.u32 %rd3, %r40, 4; "
            f"add.s64 %rd4, %rd20, %rd3; "
            f"{guard}ld.global.u32 %r{t}, [%rd4+{4 * rng.randrange(6)}];")


def _narrow_load(rng: random.Random) -> str:
    """A load of several narrow elements, into words or into halves that are then used."""
    count = rng.choice((2, 4))
    kind = rng.choice(("u8", "s8", "b8", "u16", "s16", "b16"))
    op = f"ld.global.nc.v{count}.{kind}"
    if rng.random() < 0.5:
        into = ", ".join(f"%r{t}" for t in rng.sample(TEMPORARY, count))
        return f"{op} {{{into}}}, [%rd4+{8 * rng.randrange(3)}];"
    into = ", ".join(f"%rs{k}" for k in range(count))
    used = rng.sample(range(count), 2)
    return f"{op} {{{into}}}, [%rd4+{8 * rng.randrange(3)}]; " + " ".join(
        f"cvt.{rng.choice(('u32.u16', 's32.s16'))} %r{rng.choice(TEMPORARY)}, %rs{k};"
        for k in used
    )


def _statement(rng: random.Random) -> str:
    d, a, b = _register(rng), _register(rng), _register(rng)
    if d == "%r2":
        d = f"%r{rng.choice(CARRIED)}"
    guard = rng.choice(("", "", "", "@%p2 ", "@!%p2 ", "@%p3 "))
    kind = rng.randrange(9)
    if kind < 4:
        op = rng.choice(("add.u32", "sub.u32", "xor.b32", "min.u32", "max.s32", "mul.lo.u32"))
        return f"{guard}{op} {d}, {a}, {b};"
    if kind == 4:
        return f"{guard}mad.lo.u32 {d}, {a}, 3, {b};"
    if kind == 5:
        return f"setp.lt.u32 %p{rng.choice((2, 3))}, {a}, {b};"
    if kind == 6:
        return f"selp.b32 {d}, {a}, {b}, %p{rng.choice((2, 3))};"
    if kind == 7:
        return f"{guard}mov.u32 {d}, {rng.choice((a, '17'))};"
    return (f"and.b32 %r41, {rng.choice(('%r2', a))}, 63; mul.wide.u32 %rd5, %r41, 4; "
            f"add.s64 %rd6, %rd20, %rd5; "
            f"{guard}st.global.u32 [%rd6+{4 * rng.randrange(6)}], {b};")


def pipelined(text: str, rng: random.Random, rotate: bool = False) -> tuple[Module, int]:
    """The module with its loop pipelined, and stages; 0 where it cannot be."""
    module = nvir.read_ptx(text)
    if rotate:
        nvir.run_passes(module, ROTATE)
    if rng.random() < BY_THE_PASS:
        depth, form = rng.choice((1, 2, 3)), rng.choice(("prologue", "prologue", "kernel-only"))
        stages = rng.choice(("loads", "loads", "all")) if form == "prologue" else "loads"
        options = f"<force;depth={depth};form={form};stages={stages}>"
        remarks = nvir.run_passes(module, f"loop-pipeline{options}", verify=True)
        return module, max((int(str(r.args.get("stages", 0))) for r in remarks), default=0)
    f = module.functions[0]
    f.analyze_cfg()
    header = natural_loops(f)[0].header
    refusals = Refusals(f)
    if rng.random() < 0.5:
        join_words(header)
    region = regions(f, {header}, refusals.held)[header]
    loop = next(x for x in natural_loops(f) if x.header is header)
    body = Body(loop, region.preheader)
    if body.test_loads is not None:
        return module, 0
    found = _stages(body, rng)
    if found is None or found.count < 2:
        return module, 0
    layout = StageLayout(found, rng.random() < 0.7)
    factor = rng.choice((0, 0, 0, 1, 2, layout.factor + 1))
    if rng.random() < 0.3 and why_not(body) is None:
        made = expand_kernel_only(layout, region, factor=factor)
    else:
        made = expand(layout, region, trip=trip_count(loop), factor=factor)
    f.analyze_cfg()
    nvir.verify(module)
    return module, made.stages


def _stages(body: Body, rng: random.Random) -> Staged | None:
    if rng.random() < 0.6:
        return staged(body, rng.choice((1, 1, 2, 3, 4)))
    ii = rng.choice((2, 5, 10))
    at, times = 0, {}
    for i in body.nodes:  # later nodes later, with gaps, so that dependences pull little
        at += rng.choice((0, 0, 1, ii // 2, ii))
        times[i] = min(at, 4 * ii)
    return by_times(body, times, ii)


def outcome(module: Module, m: int) -> bytes | str:
    """What the kernel leaves in memory, or the first words of the error that stops it."""
    data = np.arange(4096, dtype=np.uint32) * np.uint32(2654435761)
    data[::3] >>= np.uint32(24)
    out = np.arange(256 * len(COUNTS), dtype=np.uint32)
    counts = np.array(COUNTS, dtype=np.uint32)
    try:
        nvir.launch(module, "k", 1, len(COUNTS), [data, out, counts, np.uint32(m)],
                    max_steps=8000)
    except LaunchError as e:
        return str(e).partition(":")[0]
    return out.tobytes()


def trial(seed: int) -> tuple[str | None, int]:
    """What went wrong with a random loop, if anything, and the stages that it was given.

    0 stages also where the loop before does not come to an end, so that nothing was compared.
    """
    rng = random.Random(seed)
    at_top = rng.random() < 0.25
    text = random_loop(rng, at_top)
    try:
        after, stages = pipelined(text, rng, at_top)
    except (NvirError, AssertionError, KeyError) as e:
        return f"{type(e).__name__}: {e}\n{text}", 0
    if not stages:
        return None, 0
    if seed % 4 == 0:
        after = nvir.read_ptx(nvir.print_ptx(after))
    m = rng.choice((1, 1, 3))
    expected = outcome(nvir.read_ptx(text), m)
    if not isinstance(expected, bytes):
        return None, 0
    if outcome(after, m) != expected:
        return f"another result with m = {m}, {stages} stages\n{text}", stages
    return None, stages


def main() -> None:
    first, last = int(sys.argv[1]), int(sys.argv[2])
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else float("inf")
    start, made, failures, seen = time.monotonic(), 0, 0, 0
    for seed in range(first, last):
        if time.monotonic() - start > limit:
            break
        failure, stages = trial(seed)
        seen += 1
        made += stages > 0
        if failure:
            failures += 1
            print(f"seed {seed}: {failure}", flush=True)
            if failures > 4:
                break
        if seen % 500 == 0:
            print(f"{seen} loops, {made} pipelined, {failures} failures", flush=True)
    print(f"{seen} loops, {made} pipelined, {failures} failures")


if __name__ == "__main__":
    main()
