"""Names and texts that the notes list, as the passes write them; knobs of the pipeliner."""

from __future__ import annotations

import pytest

import nvir
from nvir.ir import Module
from nvir.passes.knobs import knob
from tests.passes.test_pipeline_pass import REFUSED, remarks_of, text_of
from tests.selection import read

LISTED = {
    "split", "forward.for", "reverse.for", "nonzerotrip", "src.memmove.gep.unroll",
    "dst.memmove.gep,unroll", "splitStruct", "srcptr", "dstptr", "remsrc", "remdst", "i8dst",
    "ptr", "vld",
}
TEXT = """
define ptx_kernel void @moves(ptr %p, ptr %q, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 %n, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 16 %p, ptr align 16 %q, i64 27, i1 false)
  ret void
}
define ptx_kernel void @structs(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q) {
  %v = load { i32, float }, ptr addrspace(1) %p, align 4
  store { i32, float } %v, ptr addrspace(1) %q, align 4
  %w = load { i32, float }, ptr addrspace(1) %p, align 4
  %x = extractvalue { i32, float } %w, 1
  %r = call { i32, float } @f()
  %y = extractvalue { i32, float } %r, 1
  %z = fadd float %x, %y
  store float %z, ptr addrspace(1) %q, align 4
  ret void
}
declare { i32, float } @f()
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""


def names_of(module: Module) -> set[str]:
    """Names of blocks, values and operations, without the numbers that make them unique."""
    found: set[str] = set()
    for f in module.functions:
        found.update(str(b.name).partition("~")[0] for b in f.blocks)
        for i in f.instructions():
            found.add(i.form.name)
            found.update(str(r.name).partition("~")[0] for r in i.results)
    return found


@pytest.mark.seed("DIA-11")
def test_the_listed_names_are_the_passes_own():
    module = read(TEXT)
    assert not LISTED & names_of(module)
    nvir.run_passes(module, "lower-aggr-copies", verify=True)
    assert names_of(module) >= LISTED
    plain = read(TEXT)
    nvir.run_passes(plain, "lower-aggr-copies<plain-names>", verify=True)
    assert LISTED - names_of(plain) == {"dst.memmove.gep,unroll"}


@pytest.mark.seed("KNB-67")
def test_fetches_of_several_results_are_pipelined_where_asked():
    fetch = "tex.1d.v4.u32.s32 {%r5, %r6, %r7, %r8}, [t, {%r2}]; add.u32 %r3, %r3, %r5;\n"
    text = text_of(fetch).replace(".visible .entry", ".global .texref t;\n.visible .entry", 1)
    assert [r.name for r in remarks_of(text)] == ["NotPipelinedNoLoad"]
    assert [r.name for r in remarks_of(text, knobs={"PipelineMultiOutputTex": 1})] == ["Pipelined"]
    noted = {asked: [(r.name, r.message) for r in nvir.run_passes(
        nvir.read_ptx(text), "loop-pipeline", policy="documented",
        knobs={"PipelineMultiOutputTex": asked})] for asked in (0, 1)}
    ((name, message),) = noted[0]
    assert name == "NotPipelinedLimit"
    assert "PipelineMultiOutputTex is 0" in message
    assert noted[1][0][0] != "NotPipelinedLimit"


@pytest.mark.seed("KNB-68")
def test_nothing_is_speculated_so_there_is_nothing_to_restrict():
    """The knob restricts speculative uses; no policy has any, and the table says so."""
    assert "nothing is speculated" in knob("PipelineSpecUsesInHeadOnly").inert
    for text in REFUSED.values():
        plain, set_ = (remarks_of(text, knobs=k)
                       for k in ({}, {"PipelineSpecUsesInHeadOnly": 1}))
        assert [r.message for r in plain] == [r.message for r in set_]
