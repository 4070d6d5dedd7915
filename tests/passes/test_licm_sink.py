"""Invariants put back into loops, for the comparison of licm with the real assembler."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import nvir

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import licm_agreement
import licm_sink

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .f32 x, .param .u32 n)
{
.reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<19>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.f32 %f1, [x]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; mov.u32 %r2, 0; mov.f32 %f3, 0f00000000;
BEFORE
L:
INSIDE
add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
AFTER
st.global.f32 [%rd1+64], %f3;
ret;
}
"""
PRODUCT = "mul.f32 %f4, %f1, %f1;"
LOAD = "ld.global.f32 %f4, [%rd1];"
READ = "add.f32 %f3, %f3, %f4;"


def put_back(before: str, inside: str, after: str = "") -> nvir.Module:
    text = TEXT.replace("BEFORE", before).replace("INSIDE", inside).replace("AFTER", after)
    module = nvir.read_ptx(text)
    module["k"].analyze_cfg()
    licm_sink.sink(module["k"], Always())
    nvir.verify(module)
    return module


class Always(random.Random):
    """Takes everything that may go back."""

    def random(self) -> float:
        return 0.0


def depth(module: nvir.Module, spelling: str) -> int:
    f = module["k"]
    f.analyze_cfg()
    return next(b.loop_depth for b in f.rpo for i in b if i.form.spelling == spelling)


def test_what_only_the_loop_reads_goes_back():
    assert depth(put_back(PRODUCT, READ), "mul.f32") == 1
    assert depth(put_back(PRODUCT, READ, READ), "mul.f32") == 0  # read behind the loop too


def test_what_a_phi_takes_in_stays():
    assert depth(put_back("mul.f32 %f3, %f1, %f1;", "add.f32 %f3, %f3, %f1;"), "mul.f32") == 0


def test_loads_go_back_where_nothing_writes():
    store = "st.global.f32 [%rd1+4], %f3;"
    assert depth(put_back(LOAD, READ), "ld.global.f32") == 1
    assert depth(put_back(LOAD, READ + store), "ld.global.f32") == 0
    assert depth(put_back(LOAD + store, READ), "ld.global.f32") == 0
    assert depth(put_back(store + LOAD, READ), "ld.global.f32") == 1


def test_no_loop_is_unrolled():
    assert put_back(PRODUCT, READ)["k"].blocks[1].pragmas == ("nounroll",)


def test_the_text_is_the_same_for_the_same_seed():
    text = TEXT.replace("BEFORE", PRODUCT).replace("INSIDE", READ).replace("AFTER", "")
    assert licm_sink.sunk(text, 1) == licm_sink.sunk(text, 1)
    assert len({licm_sink.sunk(text, k) for k in range(12)}) == 2  # put back or not


@pytest.mark.oracle
def test_compiled_loops_agree_with_the_real_assembler():
    folder = Path(__file__).resolve().parents[2] / "examples" / "ptx"
    names = ("conv3d.sm_80", "gemm_mma.sm_90", "grid_barrier.sm_80", "sgemm.sm_80")
    judged = [
        j for name in names
        for j in licm_agreement.judge_compiled(folder / f"{name}.ptx", name[-5:], sink=1)
        if j.ptxas is not None
    ]
    assert len(judged) >= 30
    assert sum(j.ptxas == j.nvir for j in judged) / len(judged) >= 0.9
