"""What is put into the source together, and how often its loops run then."""

from __future__ import annotations

import attrs
import pytest

from nvir.ir.errors import NvirError
from nvir.ptx import read_ptx
from nvir.report.explain.trials import Trials
from nvir.report.tuning.written import rounds, same_code, sharing, tried, turn
from nvir.tune.candidates import Choices, LoopSetting
from nvir.tune.judge import Cycles
from nvir.tune.search import Judged, KernelTuning, Launches, Tuning
from nvir.tune.weights import KernelLoop
from tests.analysis.test_source_loops import HEAD, body
from tests.tune.test_tune import SM_80, UNKNOWN, judged

TEXT = UNKNOWN.replace(".address_size 64", ".address_size 64\n.file 1 \"dir/k.cu\"").replace(
    "  ld.global.f32 %f2", "  .loc 1 17 3\n  ld.global.f32 %f2")
OTHER = TEXT[TEXT.index(".visible .entry"):].replace("entry k(", "entry other(")


@pytest.mark.parametrize(("line", "mine", "theirs", "first"), [
    (17, LoopSetting(4), LoopSetting(2), ["k"]),  # the same loop: one after the other
    (17, LoopSetting(4), LoopSetting(4), ["k", "other"]),
    (17, LoopSetting(4), LoopSetting(4, apart=True), ["k"]),
    (30, LoopSetting(4), LoopSetting(2), ["k", "other"]),
])
def test_kernels_that_share_a_loop_say_one_thing_at_a_time(
    line: int, mine: LoopSetting, theirs: LoopSetting, first: list[str]
):
    module = read_ptx(TEXT + OTHER.replace(".loc 1 17", f".loc 1 {line}"))
    for f in module.functions:
        f.analyze_cfg()
    kernels = [KernelTuning(name, [], 256, True) for name in ("k", "other")]
    left = {"k": [Choices((("LOOP", mine),))], "other": [Choices((("LOOP", theirs),))]}
    assert list(turn(kernels, module, left)) == first
    assert [name for name in left if left[name]] == [n for n in left if n not in first]


@pytest.mark.parametrize(("source", "n", "copies", "expected"), [
    ("given", 64, 1, {"LOOP": 64}), ("given", 64, 4, {"LOOP": 16}),
    ("given", 90, 4, {"LOOP": 22.5}),  # no loop does the rest
    ("assumed", 64, 4, {}),  # as it then is again
])
def test_a_loop_of_the_source_runs_as_often_in_other_code(
    source: str, n: int, copies: int, expected: dict[str, float]
):
    def text(copies: int) -> str:
        load = "ld.global.f32 %f2, [%rd1]; add.f32 %f1, %f1, %f2;\n"
        return f""".version 8.0
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u64 a, .param .u32 n) {{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<19>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r2, [n]; mov.f32 %f1, 0f00000000; mov.u32 %r1, 0;
LOOP: .loc 1 21 5
{load * copies}.loc 1 20 3
add.s32 %r1, %r1, {copies}; setp.lt.s32 %p1, %r1, {96 if copies > 1 else "%r2"}; @%p1 bra LOOP;
st.global.f32 [%rd1], %f1; ret; }}
"""

    loop = KernelLoop("LOOP", None, [n], source, 1, *[frozenset[int]()] * 2, True, frozenset())
    k = KernelTuning("k", [loop], 256, True)
    assert rounds(k, read_ptx(text(1)), read_ptx(text(copies)), source == "given") == expected


@pytest.mark.parametrize(("trips", "expected"), [(64, 64.0), (16, 16.0)])
def test_a_version_runs_as_often_as_it_did_not_as_the_loop_of_copies(trips: int, expected: float):
    """A is the loop four times where I has nothing to do, B the loop around I."""
    text = HEAD + body("A", 4, "%r1", 4, 20) + body("B", 1, "%r4", 1, 20).replace(
        "add.f32 %f1", f"{body('I', 1, '%r3', 1, 40)}add.f32 %f1", 1)
    module = read_ptx(f"{text}st.global.f32 [%rd1], %f1; ret; }}\n")
    none = frozenset[int]()
    loops = [KernelLoop(name, None, [n], "given", copies, none, none, True, none)
             for name, n, copies in (("A", 64, 4), ("B", trips, 1), ("I", 8, 1))]
    k = KernelTuning("k", loops, 256, True)
    assert rounds(k, module, module, True) == {"A": 64.0, "B": expected, "I": 8.0}
    assert not rounds(k, module, module, False)


@pytest.mark.parametrize("fails", [False, True])
def test_a_round_that_ptxas_does_not_end_says_nothing(
    fails: bool, monkeypatch: pytest.MonkeyPatch
):
    module, asked = read_ptx(TEXT), []
    module["k"].analyze_cfg()
    fast = judged(1, 1, 90.0, settings=Choices((("LOOP", LoopSetting(4)),)))
    k = KernelTuning("k", [], 256, True, [judged(0, 1, 100.0), fast])
    found = Tuning("sass", "sm_80", "l2", [k], 0)
    source = ["for (;;)"] * 30
    trials = Trials(module, "sm_80", SM_80, 0, "k.cu", source, lambda x: asked.append(x) or module)

    def judge(*args: object) -> dict[str, Judged]:
        if fails:
            raise NvirError("ptxas did not end within 120 s")
        return {"k": fast}

    monkeypatch.setattr("nvir.report.tuning.written.as_written", judge)
    assert list(tried(found, trials, Launches())) == ([] if fails else ["k"])
    assert asked


@pytest.mark.parametrize(("store", "winner", "expected"), [
    ("%rd1", None, ["apart"]),
    ("%rd1", LoopSetting(4), ["apart", "apart, 4"]),
    ("%rd1", LoopSetting(4, apart=True), ["apart"]),  # a winner has it with its words
    ("%rd2", None, []),  # what is loaded is of the same operand
])
def test_restrict_is_tried_where_one_pointer_is_stored_by_and_another_loaded_by(
    store: str, winner: LoopSetting | None, expected: list[str]
):
    from nvir.report.tuning.wishes import _promised

    module = read_ptx(scaled().replace("%rd4, %rd1,", f"%rd4, {store},"))
    module["k"].analyze_cfg()
    winners = [Choices((("L", winner),))] if winner is not None else []
    trials = Trials(module, "sm_80", SM_80, 0, "k.cu")
    made = _promised(KernelTuning("k", [], 256, True), trials, winners)
    settings = {"apart": LoopSetting(apart=True), "apart, 4": LoopSetting(4, apart=True)}
    assert made == [Choices((("L", settings[x]),)) for x in expected]


@pytest.mark.parametrize(("store", "expected"), [("%rd1", ["k.cu:0"]), ("%rd2", [])])
def test_restrict_is_tried_where_no_loop_is_left(store: str, expected: list[str]):
    from nvir.report.tuning.wishes import _promised

    text = scaled().replace("%rd4, %rd1,", f"%rd4, {store},").replace("@%p bra L;", "")
    module = read_ptx(text)
    module["k"].analyze_cfg()
    trials = Trials(module, "sm_80", SM_80, 0, "k.cu")
    made = _promised(KernelTuning("k", [], 256, True), trials, [])
    assert made == [Choices(((x, LoopSetting(apart=True)),)) for x in expected]


def scaled(step: str = "1", address: str = "%r1", places: str = "") -> str:
    """y[i] = x[i] * 2 for i from 0 on."""
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y, .param .u64 x, .param .u32 n, .param .u32 d) {{
.reg .pred %p; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x]; ld.param.u32 %r2, [n]; ld.param.u32 %r3, [d];
mov.u32 %r1, 0;
L: {places}
mul.lo.s32 %r4, {address}, %r3; mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3;
mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd2, %rd5;
ld.global.f32 %f1, [%rd6]; add.f32 %f2, %f1, %f1; st.global.f32 [%rd4], %f2;
add.s32 %r1, %r1, {step}; setp.lt.s32 %p, %r1, %r2; @%p bra L;
ret; }}
"""


def test_code_is_the_same_but_for_places():
    placed = scaled(places=".loc 1 3 4").replace(".visible", '.file 1 "k.cu"\n.visible', 1)
    assert same_code(read_ptx(scaled()), read_ptx(placed))
    assert not same_code(read_ptx(scaled()), read_ptx(scaled(step="2")))
    bounded = scaled().replace("u32 d)", "u32 d) .maxntid 64, 1, 1")
    assert not same_code(read_ptx(scaled()), read_ptx(bounded))


@pytest.mark.parametrize(("alone", "full", "said"), [
    (70.0, 100.0, True), (70.0, 101.5, False), (99.0, 100.0, False), (100.0, 90.0, True),
    (104.0, 90.0, False),
])
def test_words_that_only_one_warp_gains_by_are_said(
    alone: float, full: float, said: bool, monkeypatch: pytest.MonkeyPatch
):
    """As the arrow stands at such a candidate."""
    module = read_ptx(TEXT)
    module["k"].analyze_cfg()
    base, fast = judged(0, 1, 100.0), judged(1, 1, 90.0, settings=Choices((
        ("LOOP", LoopSetting(4)),)))
    k = KernelTuning("k", [], 256, True, [base, fast])
    trials = Trials(module, "sm_80", SM_80, 0, "k.cu", ["for (;;)"] * 30, lambda x: module)
    made = attrs.evolve(fast, cycles=Cycles(alone * base.cycles.one_warp / 100, full))
    monkeypatch.setattr("nvir.report.tuning.written.as_written", lambda *_: {"k": made})
    found = Tuning("sass", "sm_80", "l2", [k], 0)
    assert bool(tried(found, trials, Launches())) == said


@pytest.mark.parametrize(("line", "theirs", "said"), [
    (17, 100.0, ["k", "other"]), (17, 104.0, []),  # the other loses
    (30, 104.0, ["k"]),  # another line
])
def test_what_is_said_of_a_line_is_said_of_all_kernels_that_have_it(
    line: int, theirs: float, said: list[str], monkeypatch: pytest.MonkeyPatch
):
    module = read_ptx(TEXT + OTHER.replace(".loc 1 17", f".loc 1 {line}"))
    for f in module.functions:
        f.analyze_cfg()
    fast = judged(1, 1, 90.0, settings=Choices((("LOOP", LoopSetting(4)),)))
    base = judged(0, 1, 100.0)
    kernels = [KernelTuning("k", [], 256, True, [base, fast]),
               KernelTuning("other", [], 256, True, [base])]
    groups = [[k.name for k in g] for g in sharing(kernels, module)]
    assert groups == ([["k", "other"]] if line == 17 else [["k"], ["other"]])
    trials = Trials(module, "sm_80", SM_80, 0, "k.cu", ["for (;;)"] * 30, lambda x: module)
    made = {"k": fast, "other": judged(0, 1, theirs)}
    monkeypatch.setattr("nvir.report.tuning.written.as_written",
                        lambda some, *_: {k.name: made[k.name] for k in some})
    found = tried(Tuning("sass", "sm_80", "l2", kernels, 0), trials, Launches())
    assert list(found) == said
    assert all(x.texts == ["#pragma unroll 4 at k.cu:17"] for x in found.values())


@pytest.mark.parametrize(("source", "factors", "said"), [
    ("assumed", {"unroll 8": 90.0, "unroll 16": 80.0, "unroll 32": 80.0}, "16"),
    ("assumed", {"unroll 8": 90.0, "unroll 16": 90.0}, "8"),
    ("assumed", {"unroll 8": 98.0, "unroll 4": 98.0, "unroll 2": 99.0, "unroll 16": 80.0}, ""),
    ("assumed", {"unroll 8": 120.0, "unroll 4": 90.0}, "4"),
    ("rest", {"unroll 8": 90.0}, ""),  # it has no more than three
])
def test_more_copies_are_tried_of_the_loop_that_takes_most(
    source: str, factors: dict[str, float], said: str, monkeypatch: pytest.MonkeyPatch
):
    """No candidate gains by what is done to the PTX."""
    module, asked = read_ptx(TEXT), []
    module["k"].analyze_cfg()
    none = frozenset[int]()
    counts = range(4) if source == "rest" else [95.5]
    loop = KernelLoop("LOOP", None, counts, source, 1, none, none, True, none)
    base = attrs.evolve(judged(0, 1, 100.0), loops={"LOOP": 90.0})
    k = KernelTuning("k", [loop], 256, True, [base])

    def compiled(lines: list[str]) -> object:
        asked.append(next((x for x in factors if any(f'"{x}"' in line for line in lines)), ""))
        return module

    trials = Trials(module, "sm_80", SM_80, 0, "k.cu", ["for (;;)"] * 30, compiled)
    monkeypatch.setattr("nvir.report.tuning.written.as_written",
                        lambda *_: {"k": judged(1, 1, factors.get(asked[-1], 101.0))})
    found = tried(Tuning("sass", "sm_80", "l2", [k], 0), trials, Launches())
    assert [x.texts for x in found.values()] == (
        [[f"#pragma unroll {said} at k.cu:17"]] if said else [])
    some = [x for x in asked if x]
    assert len(some) == len(set(some))


def loop(
    name: str, parent: KernelLoop | None, count: float, source: str = "known", size: int = 10
) -> KernelLoop:
    none = frozenset[int]()
    return KernelLoop(name, parent, [count], source, 1, none, none, True, frozenset(range(size)))


@pytest.mark.parametrize(("outer", "inner", "size", "share", "found"), [
    ("known", "known", 10, 90.0, True),
    ("known", "assumed", 10, 90.0, False), ("block", "known", 10, 90.0, False),
    ("known", "known", 900, 90.0, False),  # more code than STRAIGHT
    ("known", "known", 10, 1.0, False),  # of no account
])
def test_a_nest_of_known_counts_is_tried_as_straight_code(
    outer: str, inner: str, size: int, share: float, found: bool
):
    from nvir.report.tuning.wishes import _straight

    nest = loop("A", None, 3, outer)
    base = attrs.evolve(judged(0, 1, 100.0), loops={"A": 2.0, "B": share})
    loops = [nest, loop("B", nest, 2, inner, size), loop("C", None, 95.5, "assumed")]
    k = KernelTuning("k", loops, 256, True, [base])
    before = Choices((("B", LoopSetting(4)), ("C", LoopSetting(2))))
    wanted = Choices((("C", LoopSetting(2)), ("A", LoopSetting(0))))  # none of B is left
    assert _straight(k, {"A": 1, "B": 1}, before) == (wanted if found else None)
    assert _straight(k, {"A": 0, "B": 1}, before) is None  # no pragma reaches it


@pytest.mark.parametrize(("trips", "copies", "setting", "found"), [
    (95.5, 1, LoopSetting(), [8, 4, 2]), (95.5, 4, LoopSetting(), [8, 2, 1]),
    (95.5, 4, LoopSetting(2), [16, 4, 2, 1]),
    (95.5, 1, LoopSetting(source=8), [16]),  # more copies were best so far
    (3.5, 4, LoopSetting(), [2, 1]), (3.5, 1, LoopSetting(), [2]),
    (95.5, 0, LoopSetting(), []),  # no pragma reaches it
    (95.5, 1, LoopSetting(0), []),  # all are there already
])
def test_other_copies_of_the_loop_that_takes_most(
    trips: float, copies: int, setting: LoopSetting, found: list[int]
):
    from nvir.report.tuning.wishes import _other_copies

    base = attrs.evolve(judged(0, 1, 100.0), loops={"A": 50.0, "B": 1.0})
    k = KernelTuning("k", [loop("A", None, trips, "block"), loop("B", None, 9)], 256, True, [base])
    made = _other_copies(k, {"A": copies, "B": 1}, Choices((("A", setting),)), [])
    assert [*made] == [Choices((("A", LoopSetting(source=n)),)) for n in found]


def test_a_loop_that_nvcc_leaves_as_it_is_is_left():
    from nvir.report.tuning.wishes import Round, _other_copies

    base = attrs.evolve(judged(0, 1, 100.0), loops={"A": 50.0})
    k = KernelTuning("k", [loop("A", None, 95.5, "assumed")], 256, True, [base])
    wanted = Choices((("A", LoopSetting(source=8)),))
    for full, found in ((100.0, [8]), (103.0, [8, 4, 2])):
        done = [Round({"k": wanted}, {"k": judged(1, 1, full)})]
        made = _other_copies(k, {"A": 1}, Choices(()), done)
        assert [c.loops[0][1].source for c in made] == found


@pytest.mark.parametrize(("outer", "found"), [
    ("for (int j = 0; j < 6; ++j) {", True), ("for (int j = 0; j < n; ++j) {", False),
    ("for (int j = 0; j < 6000; ++j) {", False), ("{", False),
])
def test_loops_of_the_source_around_those_of_the_code_are_tried_as_straight_code(
    outer: str, found: bool
):
    from nvir.report.tuning.wishes import _enclosing

    module = read_ptx(TEXT)
    module["k"].analyze_cfg()
    source = ["__global__ void k() {", *[""] * 13, outer, "// twice", "for (;;) x();", "}", "}"]
    trials = Trials(module, "sm_80", SM_80, 0, "k.cu", source)
    k = KernelTuning("k", [], 256, True)
    before = Choices((("LOOP", LoopSetting(4)),))
    made = [*_enclosing(k, trials, before)]
    assert made == [Choices((("k.cu:15", LoopSetting(0)),))] * found
    assert not [*_enclosing(k, trials, Choices((("k.cu:15", LoopSetting(0)),)))]


def test_restrict_is_tried_beside_copies_though_alone_it_gained_nothing():
    from nvir.report.tuning.wishes import _apart_too

    alone = Choices((("L", LoopSetting(apart=True)),))
    some = Choices((("M", LoopSetting(source=8)),))
    both = Choices((("M", LoopSetting(source=8)), ("L", LoopSetting(apart=True))))
    assert _apart_too(some, [alone]) == both
    assert _apart_too(some, [some]) is None
    assert _apart_too(both, [alone]) is None
    assert _apart_too(Choices(()), [alone]) is None


@pytest.mark.parametrize(("alone", "said"), [
    (60.0, True), (99.0, False),  # nothing gained by it, so it is not gone on from
])
def test_with_restrict_registers_for_fewer_blocks_are_tried(
    alone: float, said: bool, monkeypatch: pytest.MonkeyPatch
):
    """`__restrict__` is as fast at full occupancy and faster alone."""
    module = read_ptx(TEXT)
    module["k"].analyze_cfg()
    base = judged(0, 8, 100.0)
    k = KernelTuning("k", [], 256, True, [base])
    apart = Choices((("LOOP", LoopSetting(apart=True)),))
    monkeypatch.setattr("nvir.report.tuning.written.first", lambda *_: [apart])
    monkeypatch.setattr("nvir.report.tuning.written.with_restrict", lambda lines, _: list(lines))
    monkeypatch.setattr("nvir.report.tuning.written.with_attribute",
                        lambda lines, _, text: [*lines, text])
    asked: list[list[str]] = []
    trials = Trials(module, "sm_80", SM_80, 0, "k.cu", ["for (;;)"] * 30,
                    lambda x: asked.append(x) or module)

    def made(*_: object) -> dict[str, Judged]:
        full, warp = (93.0, 40.0) if "__launch_bounds__(256, 4)" in asked[-1] else (101.5, alone)
        return {"k": judged(1, 4, full, one_warp=warp * base.cycles.one_warp / 100)}

    monkeypatch.setattr("nvir.report.tuning.written.as_written", made)
    found = tried(Tuning("sass", "sm_80", "l2", [k], 0), trials, Launches())
    texts = [] if not found else found["k"].texts
    assert any("__launch_bounds__(256, 4)" in x for x in texts) == said


@pytest.mark.parametrize(("source", "after", "line", "fits"), [
    ("assumed", [95.5], 17, True), ("assumed", [32.0], 17, False), ("assumed", [], 17, False),
    ("assumed", [95.5], 16, True), ("assumed", [32.0], 16, False),  # nvcc tells another line
    ("known", [], 17, True),  # nothing of it is left
    ("known", [95.0], 17, True), ("known", [64.0], 17, False),  # it runs as often as it did
])
def test_code_that_can_run_less_often_is_not_compared(
    source: str, after: list[float], line: int, fits: bool
):
    """nvcc knows that ten digits are divided away: ten copies are no gain over 95.5 rounds."""
    from nvir.report.tuning.written import _is_as_long

    module, changed = read_ptx(TEXT), read_ptx(TEXT.replace(".loc 1 17", f".loc 1 {line}"))
    for m in (module, changed):
        m["k"].analyze_cfg()
    none = frozenset[int]()
    k, new = (KernelTuning("k", [KernelLoop("LOOP", None, [n], how, 1, none, none, True, none)
                                 for n in counts], 256, True)
              for counts, how in (([95.5], source), (after, "known")))
    assert _is_as_long(k, module, new, changed) == fits


@pytest.mark.parametrize(("one_warp", "full", "space", "found"), [
    (100.0, 13.0, "global", True), (100.0, 40.0, "global", False),  # what counts is the issue
    (100.0, 13.0, "shared", False),
])
def test_fewer_blocks_are_tried_where_warps_wait_for_loads(
    one_warp: float, full: float, space: str, found: bool
):
    from nvir.report.tuning.wishes import _fewer_blocks

    module = read_ptx(TEXT.replace("ld.global", f"ld.{space}"))
    module["k"].analyze_cfg()
    base = attrs.evolve(judged(0, 1, full), cycles=Cycles(one_warp, full), blocks_per_sm=4)
    k = KernelTuning("k", [], 256, True, [base])
    made = _fewer_blocks(k, module, Choices(()))
    assert made == (Choices((), ("minnctapersm", 2)) if found else None)
    assert _fewer_blocks(k, module, Choices((), ("minnctapersm", 2))) is None


@pytest.mark.parametrize(("written", "said"), [
    ((100.0, 60.0), "faster than the arrow: write it"), ((100.0, 95.0), "(-o) is faster than that"),
    ((101.0, 80.5), "about as fast as the arrow"),
    ((50.0, 80.5), "faster than the arrow: write it"),  # of one warp
])
def test_it_is_said_which_of_two_to_take(written: tuple[float, float], said: str):
    from nvir.report.tuning.table import _faster

    assert said in _faster(Cycles(*written), Cycles(100.0, 80.0))
