"""Candidates with vector accesses, and with all copies of loops whose count is carried out."""

from __future__ import annotations

import pytest

import nvir
from nvir import sm
from nvir.tune.candidates import (
    TIMES,
    Choices,
    LoopSetting,
    changed,
    context,
    known_trips,
    loop_settings,
    number,
)
from nvir.tune.search import tune
from tests.analysis.test_rounds import TEXT as HALVING
from tests.passes.test_loop_vectorize_memory import offsets
from tests.passes.test_loop_version import run
from tests.tune.test_tune import kernel_of

SM_80 = sm.profile("sm_80")
STORE = "  st.global.f32 [%rd2], %f2;\n"
SUM = offsets(0).replace("%rd3, 16", "%rd3, 4").replace(STORE, "").replace(
    "  ret;", STORE + "  ret;").replace("  mov.u32 %r5, 0;", "  mov.u32 %r5, 0;\n"
                                        "  mov.f32 %f2, 0f00000000;")  # a word an iteration


def candidate(text: str, setting: LoopSetting) -> nvir.Module:
    module = nvir.read_ptx(text)
    made, why = changed(module["k"], Choices((("L", setting),)), "k", context(module, SM_80))
    assert made is not None, why
    module.functions[0] = module.order[0] = made
    made.module = module
    return nvir.read_ptx(nvir.print_ptx(module))


@pytest.mark.parametrize("setting", [
    LoopSetting(2, vectors=True), LoopSetting(4, vectors=True), LoopSetting(8, vectors=True)])
def test_copies_of_a_loop_over_words_have_vectors_and_do_the_same(setting: LoopSetting):
    module = candidate(SUM, setting)
    width = min(setting.unroll or 1, 4)
    assert any(f"v{width}" in i.form.mods for i in module["k"].instructions())
    for n in (1, 3, 4, 5, 8, 17):
        for q in (512, 516):
            assert run(module, n, 384, q, 0) == run(nvir.read_ptx(SUM), n, 384, q, 0)


@pytest.mark.parametrize(("step", "offered"), [
    (4, {2, 4, 8}), (8, set()), (12, set()), (128, set())])
def test_vectors_are_tried_where_copies_have_neighbours(step: int, offered: set[int]):
    _, k = kernel_of(SUM.replace("%rd3, 4", f"%rd3, {step}"))
    found = loop_settings(k.loops()[0], None, None)
    assert {s.unroll for s in found if s.vectors and not s.apart} == offered


def test_an_access_counts_as_those_that_it_stands_for():
    module, k = kernel_of(SUM)
    made, _ = changed(k, Choices((("L", LoopSetting(4, vectors=True)),)), "k",
                      context(module, SM_80))
    assert made is not None
    (load,) = (i for i in made.instructions() if "v4" in i.form.mods)
    (one,) = (i for i in k.instructions() if i.form.spelling == "ld.global.f32")
    assert (number(load.line), load.line // TIMES) == (one.line, 3)
    found = tune(nvir.read_ptx(SUM), SM_80, "sm_80", judge="model").kernels[0]
    vectors = [c for c in found.candidates
               if any(s.vectors and s.unroll == 4 and not s.apart for _, s in c.settings.loops)]
    assert vectors
    assert all(c.cycles.full < found.candidates[0].cycles.full for c in vectors)


@pytest.mark.parametrize(("start", "count"), [("WARP_SZ", 5), ("%ntid.x", None)])
def test_a_halving_loop_is_unrolled_as_a_whole(start: str, count: int | None):
    module, k = kernel_of(HALVING.replace("WARP_SZ", start))
    assert known_trips(k).get("L") == count
    full = [s for s in loop_settings(k.loops()[0], count, None) if s.unroll == 0]
    assert full == ([LoopSetting(0)] if count else [])
    for setting in full:
        made, _ = changed(k, Choices((("L", setting),)), "k", context(module, SM_80))
        assert made is not None
        assert not made.loops()
        assert sum(i.form.name.startswith("shfl") for i in made.instructions()) == 5
