"""Pipelined loops do what the loops did: every depth, every number of iterations.

The interpreter runs each loop before and after, with trip counts around the stages of the
pipeline and around where the loop's variable wraps.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nvir
from nvir import toolchain
from nvir.analysis.induction import trip_count
from nvir.ir.clone import clone_module
from nvir.ir.errors import LaunchError
from nvir.ir.loops import natural_loops
from nvir.ir.module import Module
from nvir.passes.loop.pipeline.body import Body, StageLayout, by_delays
from nvir.passes.loop.pipeline.choice import body_of, expand_stages, staged
from nvir.passes.loop.pipeline.expand import PIPELINED, ExpandedLoop, expand
from nvir.passes.loop.unroll.prepare import Refusals, regions
from tests.pipeline_loops import trial

HEADER = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n, .param .u32 m) {
.reg .pred %p<20>; .reg .b32 %r<40>; .reg .f32 %f<19>; .reg .b64 %rd<30>; .reg .f64 %fd<9>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u32 %r1, [n]; ld.param.u32 %r6, [m];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; mov.u32 %r20, %tid.x;
mad.wide.u32 %rd20, %r20, 4096, %rd2; mul.lo.u32 %r21, %r20, %r6; add.u32 %r22, %r1, %r21;
mov.u32 %r3, 7; mov.u32 %r8, 1; mov.u32 %r12, 2; mov.f32 %f1, 0f3F800000; mov.u32 %r9, 5;
mov.u64 %rd9, %rd1; mov.f32 %f9, 0f00000000; mov.u32 %r13, 0;
"""
END = """
X: st.global.u32 [%rd20+2048], %r3; st.global.u32 [%rd20+2052], %r8;
st.global.u32 [%rd20+2056], %r12;
st.global.f32 [%rd20+2060], %f1; st.global.u32 [%rd20+2064], %r2; st.global.u32 [%rd20+2068], %r9;
ret; }
"""
INDEX = "and.b32 %r30, %r2, 255; mul.wide.u32 %rd3, %r30, 4; add.s64 %rd4, %rd1, %rd3;\n"
OUT = "and.b32 %r31, %r2, 127; mul.wide.u32 %rd5, %r31, 4; add.s64 %rd6, %rd20, %rd5;\n"
BODIES = {
    "sum": INDEX + "ld.global.nc.u32 %r10, [%rd4]; mad.lo.s32 %r3, %r3, 3, %r10;\n",
    "store": INDEX + OUT + "ld.global.nc.u32 %r10, [%rd4]; add.u32 %r3, %r3, %r10; "
    "st.global.u32 [%rd6], %r3;\n",
    "in place": OUT + "ld.global.u32 %r10, [%rd6]; add.u32 %r3, %r3, %r10; "
    "st.global.u32 [%rd6], %r3;\n",
    "gather": INDEX + "ld.global.nc.u32 %r10, [%rd4]; and.b32 %r10, %r10, 255; "
    "mul.wide.u32 %rd7, %r10, 4; add.s64 %rd8, %rd1, %rd7; ld.global.nc.u32 %r11, [%rd8]; "
    "mad.lo.s32 %r3, %r3, 5, %r11;\n",
    "carried": INDEX + "ld.global.nc.u32 %r10, [%rd4]; mov.u32 %r12, %r8; mov.u32 %r8, %r9; "
    "mad.lo.s32 %r3, %r3, 3, %r12; mov.u32 %r9, %r10;\n",
    "pointer": "ld.global.nc.u32 %r10, [%rd9]; add.s64 %rd9, %rd9, 4; and.b32 %r11, %r10, 511; "
    "xor.b32 %r3, %r3, %r11; mad.lo.s32 %r8, %r3, 7, %r8;\n",
    "predicated": INDEX + "ld.global.nc.u32 %r10, [%rd4]; setp.gt.s32 %p4, %r10, 0; "
    "@%p4 mad.lo.u32 %r8, %r8, 3, %r10; @!%p4 mov.u32 %r12, %r2;\n",
    "guarded load": INDEX + "mov.u32 %r9, 3; and.b32 %r11, %r2, 1; setp.eq.u32 %p4, %r11, 0; "
    "@%p4 ld.global.nc.u32 %r9, [%rd4]; mad.lo.u32 %r8, %r8, 3, %r9;\n",
    "kept load": INDEX + "and.b32 %r11, %r2, 1; setp.eq.u32 %p4, %r11, 0; "
    "@%p4 ld.global.nc.u32 %r9, [%rd4]; mad.lo.u32 %r8, %r8, 3, %r9;\n",
    "two loads": INDEX.replace("255", "254") + OUT + "ld.global.nc.v2.u32 {%r10, %r11}, [%rd4]; "
    "ld.global.nc.u32 %r14, [%rd4+8]; mad.lo.u32 %r3, %r10, %r11, %r3; "
    "sub.u32 %r8, %r14, %r8; st.global.u32 [%rd6], %r8;\n",
    "float": INDEX + "ld.global.nc.f32 %f2, [%rd4]; mul.rn.f32 %f3, %f2, 0f3DCCCCCD; "
    "add.rn.f32 %f1, %f1, %f3; mov.b32 %r8, %f3;\n",
    "distance 2": INDEX + "ld.global.nc.u32 %r10, [%rd4]; add.u32 %r3, %r12, %r10; "
    "mov.u32 %r12, %r9; mov.u32 %r9, %r10;\n",
}
COUNTED = [  # comparison, step, start, bounds
    ("lt.s32", 1, 0, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 30)),
    ("lt.s32", 3, -5, (0, 1, 5, 20, 2**31 - 40)),
    ("le.s32", 2, 0, (-3, 0, 1, 9, 20)),
    ("gt.s32", -1, 20, (20, 19, 18, 17, 3, 0)),
    ("ne.s32", 1, 0, (1, 2, 3, 4, 5, 8, 17)),
    ("ne.s32", -2, 20, (18, 16, 0, 4)),
    ("lo.u32", 5, 2**32 - 30, (2**32 - 1, 2**32 - 4, 9)),
    ("lt.s32", 2**28, 7 * 2**28, (2**31 - 1, 2**31 - 2**27, -5)),
]


def text_of(
    body: str, form: str = "new", compare: str = "lt.s32", step: str = "1", start: int = 0,
    bound: str = "%r22",
) -> str:
    """A loop that tests after its step ("new") or before it ("old")."""
    bump = f"add.s32 %r2, %r2, {step};\n"
    test = f"setp.{compare} %p1, %r2, {bound};\n"
    tail = test + bump if form == "old" else bump + test
    return HEADER + f"mov.u32 %r2, {start};\nL:\n" + body + tail + "@%p1 bra L;\n" + END


def pipelined(text: str, depth: int, remake: bool = True) -> tuple[Module, ExpandedLoop | None]:
    """The module with its loop pipelined at a depth; None where that depth cannot be."""
    module = nvir.read_ptx(text)
    f = module.functions[0]
    f.analyze_cfg()
    header = natural_loops(f)[0].header
    refusals = Refusals(f)
    region = regions(f, {header}, refusals.held)[header]
    loop = next(x for x in natural_loops(f) if x.header is header)
    body = Body(loop, region.preheader)
    found = staged(body, depth)
    if found is None:
        return module, None
    layout = StageLayout(found, remake)
    trip = trip_count(loop)
    if trip is not None and trip.count is not None and trip.count < found.count + layout.factor - 1:
        return module, None
    made = expand(layout, region, trip=trip)
    f.analyze_cfg()
    nvir.verify(module)
    return module, made


def outcome(module: Module, n: int, threads: int = 2, m: int = 0) -> tuple[object, ...]:
    data = np.arange(1024, dtype=np.uint32) * np.uint32(2654435761)
    data[::3] >>= np.uint32(20)
    out = np.zeros(1024 * threads, np.uint32)
    try:
        nvir.launch(
            module, "k", 1, threads, [data, out, np.uint32(n & 0xFFFFFFFF), np.uint32(m)],
            max_steps=6000,
        )
    except LaunchError as e:
        return ("error", str(e).partition(":")[0])
    return (data.tobytes(), out.tobytes())


def check(
    text: str, bounds: tuple[int, ...], depth: int, *, remake: bool = True, threads: int = 2,
    m: int = 0,
) -> bool:
    """Whether the loop can be pipelined; it does the same for all bounds.

    Thread t has the bound n + t·m.
    """
    before = nvir.read_ptx(text)
    after, made = pipelined(text, depth, remake)
    if made is None:
        return False
    again = nvir.read_ptx(nvir.print_ptx(after))
    for n in bounds:
        expected = outcome(before, n, threads, m)
        if expected[0] == "error":
            continue  # runs for ever, or out of bounds
        assert outcome(after, n, threads, m) == expected, (n, depth)
        if n == bounds[0]:
            assert outcome(again, n, threads, m) == expected, (n, depth, "printed")
    return True


def check_trips(text: str, depth: int, *, remake: bool = True) -> bool:
    """As `check`, for 0 to 11 iterations in lanes of one warp, and for 37."""
    return check(text, (0,), depth, remake=remake, threads=12, m=1) and check(
        text, (37,), depth, remake=remake)


@pytest.mark.seed("SWP-15", "SWP-18")
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("name", BODIES)
def test_every_body_does_the_same(name: str, depth: int) -> None:
    done = check_trips(text_of(BODIES[name]), depth)
    assert done == (name not in ("in place", "kept load") or depth == 1)


@pytest.mark.parametrize("name", ["sum", "store", "predicated", "two loads"])
def test_without_making_addresses_again(name: str) -> None:
    assert check_trips(text_of(BODIES[name]), 2, remake=False)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("name", ["sum", "store", "gather", "pointer", "predicated", "two loads"])
def test_the_kernel_alone_does_the_same(name: str, depth: int) -> None:
    text = text_of(BODIES[name])
    before, after = nvir.read_ptx(text), nvir.read_ptx(text)
    f = after.functions[0]
    f.analyze_cfg()
    body, _ = body_of(f, "L", words=True)
    found = staged(body, depth)
    assert found is not None
    made = expand_stages(body, found.stages, kernel_only=True)
    nvir.verify(after)
    assert made.rest is None
    for n, threads, m in ((0, 12, 1), (37, 2, 0), (3, 8, 3)):
        assert outcome(after, n, threads, m) == outcome(before, n, threads, m)
    again = nvir.read_ptx(nvir.print_ptx(after))
    assert outcome(again, 0, 12, 1) == outcome(before, 0, 12, 1)


@pytest.mark.seed("SWP-16")
@pytest.mark.parametrize("depth", [1, 3])
def test_lanes_of_different_trip_counts(depth: int) -> None:
    assert check(text_of(BODIES["store"]), (0, 3), depth, threads=32, m=3)
    assert check(text_of(BODIES["store"], bound="%r1"), (0, 1, 2, 4, 5, 9), depth)


@pytest.mark.parametrize(("compare", "step", "start", "bounds"), COUNTED)
@pytest.mark.parametrize("form", ["new", "old"])
def test_every_kind_of_count(
    form: str, compare: str, step: int, start: int, bounds: tuple[int, ...]
) -> None:
    text = text_of(BODIES["store"], form, compare, str(step), start)
    assert check(text, bounds, 2)


@pytest.mark.parametrize("form", ["new", "old"])
def test_a_step_known_at_run_time(form: str) -> None:
    text = text_of(BODIES["store"], form, step="%r6")
    assert check(text, (0, 40), 2, threads=9, m=5)
    assert check(text, (3, 7, 18), 2, m=3)


@pytest.mark.parametrize("trips", [3, 4, 5, 6, 7, 8, 20])
@pytest.mark.parametrize("depth", [1, 2])
def test_known_counts(trips: int, depth: int) -> None:
    text = text_of(BODIES["sum"], bound=str(trips))
    done = check(text, (0,), depth)
    assert done == (trips >= 2 * depth)


def test_a_while_loop_whose_test_is_no_count() -> None:
    """The number of iterations follows from arithmetic: the tests are made ahead, exactly."""
    test = "mad.lo.u32 %r13, %r13, 5, 1; and.b32 %r15, %r13, 63; setp.ne.u32 %p1, %r15, %r1;\n"
    bump = "add.u32 %r2, %r2, 1;\n"
    text = HEADER + "mov.u32 %r2, 0;\nL:\n" + BODIES["store"] + bump + test + "@%p1 bra L;\n" + END
    for depth in (1, 2, 3):
        assert check(text, (1, 6, 31, 28, 13, 40), depth)


@pytest.mark.seed("SWP-15")
def test_the_kernel_overlaps_iterations() -> None:
    """In the steady state a load is used `depth` steps later, and no move carries its value."""
    for depth in (1, 2, 3):
        module, made = pipelined(text_of(BODIES["store"]), depth)
        assert made is not None
        assert (made.stages, made.factor) == (depth + 1, depth)
        kernel = made.kernel
        assert kernel.flags == {PIPELINED}
        assert kernel.pragmas == ("nounroll",)
        names = [i.form.spelling for i in kernel]
        assert names.count("ld.global.nc.u32") == depth
        for load in [i for i in kernel if i.form.reads]:
            users = [u for u in load.users if u.block is kernel]
            assert len(users) == 1
            assert users[0].form.is_phi  # the next round reads it; the phi is its register
            assert next(v for v, b in users[0].incoming if b is kernel) is load
        printed = nvir.print_ptx(module)
        inside = printed[printed.index("kernel:") : printed.index("bra \t$L_L_kernel")]
        assert "mov" not in inside


def test_loads_do_not_pass_stores_that_may_touch_the_same() -> None:
    text = text_of(OUT + "ld.global.u32 %r10, [%rd6]; add.u32 %r3, %r3, %r10; "
                   "st.global.u32 [%rd6+4], %r3;\n")
    module, made = pipelined(text, 2)
    assert made is None
    assert "prologue" not in nvir.print_ptx(module)


def test_stages_are_refused_where_the_exit_test_needs_a_load() -> None:
    body = INDEX + "ld.global.nc.u32 %r10, [%rd4]; add.u32 %r13, %r13, %r10;\n"
    text = HEADER + "mov.u32 %r2, 0;\nL:\n" + body + (
        "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r13, %r1; @%p1 bra L;\n" + END)
    module = nvir.read_ptx(text)
    f = module.functions[0]
    f.analyze_cfg()
    loop = natural_loops(f)[0]
    entry = next(b for b in loop.header.preds if b is not loop.header)
    b = Body(loop, entry)
    assert b.test_loads is not None
    assert by_delays(b, dict.fromkeys(b.long_loads, 1)) is None


@pytest.mark.oracle
def test_what_is_printed_assembles() -> None:
    texts = []
    for (name, body), depth in itertools.product(BODIES.items(), (1, 3)):
        module, made = pipelined(text_of(body), depth)
        if made is not None:
            texts.append((name, nvir.print_ptx(clone_module(module))))
    for name, text in texts:
        assert toolchain.ptxas(text, arch="sm_80").ok, name


def test_random_loops() -> None:
    made = 0
    for seed in range(40):
        failure, stages = trial(seed)
        assert failure is None, f"seed {seed}: {failure}"
        made += stages > 0
    assert made > 20


@pytest.mark.slow
def test_many_random_loops() -> None:
    for seed in range(100_000, 101_500):
        failure, _ = trial(seed)
        assert failure is None, f"seed {seed}: {failure}"
