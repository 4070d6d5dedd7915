"""Each knob of the aggregate passes changes what its row says, and nothing on the near side."""

from __future__ import annotations

import pytest

import nvir
from nvir.ir import Function
from nvir.passes.knobs import Knobs
from tests.selection import read

COPIES, ARGUMENTS = "lower-aggr-copies", "lower-struct-args<opt-byval>"
MOVE = """define ptx_kernel void @k(ptr %p, ptr %q) {{
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 {}, i1 false)
  ret void
}}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""
FILL = """define ptx_kernel void @k(ptr addrspace(1) %p) {{
  store [{} x i32] zeroinitializer, ptr addrspace(1) %p, align 4
  ret void
}}
"""
COPY = """define ptx_kernel void @k(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q) {{
  %v = load [8 x i32], ptr addrspace(1) %p, align 4{}
  store [8 x i32] %v, ptr addrspace(1) %q, align 4
  ret void
}}
"""
DEVICE = """define i32 @k(ptr byval({ i32, i8, i32 }) align 4 %p) {
  %a = getelementptr i8, ptr %p, i64 8
  br label %next
next:
  %v = load i32, ptr %a, align 4
  ret i32 %v
}
"""


def lowered(text: str, pipeline: str = COPIES, **knobs: object) -> Function:
    module = read(text)
    settings = {name.replace("_", "-"): value for name, value in knobs.items()}
    nvir.run_passes(module, pipeline, knobs=settings, verify=True)
    return module["k"]


def count(f: Function, name: str) -> int:
    return sum(i.form.name == name for i in f.instructions())


@pytest.mark.seed("KNB-01", "KNB-02", "GAP-04")
@pytest.mark.parametrize("knob", ["memmove_unroll_threshold", "lower_aggr_unrolled_stores_limit"])
@pytest.mark.parametrize("limit", [3, 4])
def test_more_elements_than_the_limit_are_a_loop(knob, limit):
    """Elements of four bytes, by the alignment; the smaller of the two limits holds."""
    at, over = (lowered(MOVE.format(4 * n), **{knob: limit}) for n in (limit, limit + 1))
    assert count(at, "phi") == 0
    assert count(at, "store") == 2 * limit  # a way down and a way up
    assert count(over, "phi") == 2


@pytest.mark.seed("KNB-03")
def test_a_constant_of_more_elements_is_a_fill():
    at, over = lowered(FILL.format(20), large_aggr_store_limit=20), lowered(
        FILL.format(21), large_aggr_store_limit=20)
    assert (count(at, "store"), count(at, "phi")) == (20, 0)
    assert (count(over, "store"), count(over, "phi")) == (1, 2)  # the address and a counter


@pytest.mark.seed("KNB-04")
def test_a_larger_value_is_copied_as_memory():
    at, over = (lowered(COPY.format(""), max_aggr_copy_size=n) for n in (32, 31))
    assert not any("unroll" in i.name for i in at.instructions() if i.results)
    assert any("unroll" in i.name for i in over.instructions() if i.results)


@pytest.mark.seed("KNB-05")
def test_a_store_between_load_and_store_is_seen_unless_unchecked():
    """What is loaded before the store between is written after it: no copy of memory."""
    between = COPY.format("\n  store i32 9, ptr addrspace(1) %p, align 4")
    assert not any("unroll" in i.name for i in
                   lowered(between, max_aggr_copy_size=4).instructions() if i.results)
    unchecked = lowered(between, max_aggr_copy_size=4, skiploweraggcopysafechk=True)
    assert any("unroll" in i.name for i in unchecked.instructions() if i.results)


@pytest.mark.seed("KNB-06", "KNB-11")
@pytest.mark.parametrize(
    ("local", "read_only", "copied"),
    [(True, False, True), (True, True, False), (False, False, False)],
)
def test_parameters_of_device_functions_are_local_memory(local, read_only, copied):
    f = lowered(DEVICE, ARGUMENTS, devicefn_param_always_local=local,
                lower_read_only_devicefn_byval=read_only)
    assert count(f, "alloca") == copied
    assert count(f, "call") == copied


@pytest.mark.seed("KNB-12")
@pytest.mark.parametrize("hoist", [False, True])
def test_loads_of_parameters_go_to_the_entry(hoist):
    f = lowered(DEVICE, ARGUMENTS, lower_read_only_devicefn_byval=True, hoist_load_param=hoist)
    (load,) = (i for i in f.instructions() if i.form.name == "load")
    assert (load.block is f.entry) == hoist


@pytest.mark.seed("KNB-13")
@pytest.mark.parametrize("force", [False, True])
def test_byval_parameters_of_four_bytes_alignment(force):
    text = "define void @k(ptr byval([6 x i16]) align 2 %p) {\n  ret void\n}\n"
    f = lowered(text, ARGUMENTS, nvptx_force_min_byval_param_align=force)
    assert ("align", 4 if force else 2) in f.arguments[0].attributes


@pytest.mark.seed("KNB-14")
@pytest.mark.parametrize("early", [False, True])
def test_calls_pass_a_copy_of_their_own(early):
    caller = DEVICE.replace("@k", "@callee") + """
define void @k(ptr %q) {
  %v = call i32 @callee(ptr byval({ i32, i8, i32 }) align 4 %q)
  ret void
}
"""
    f = lowered(caller, "lower-struct-args", nvptx_early_byval_copy=early)
    assert count(f, "alloca") == early


@pytest.mark.seed("KNB-15", "KNB-16")
@pytest.mark.parametrize(
    ("knob", "plain", "option"),
    [("opt-byval", "lower-struct-args", ARGUMENTS),
     ("lower-aggr-func-args", COPIES, "lower-aggr-copies<lower-aggr-func-args>")],
)
def test_options_of_a_pass_can_be_knobs_too(knob, plain, option):
    """Off by default; in angle brackets, or as a knob for every such pass."""
    assert Knobs().get(knob) is False
    text = DEVICE if knob == "opt-byval" else """
define internal i32 @f({ i32, i32 } %s) noinline {
  %a = extractvalue { i32, i32 } %s, 0
  ret i32 %a
}
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %v = load { i32, i32 }, ptr addrspace(1) %p, align 4
  %r = call i32 @f({ i32, i32 } %v)
  store i32 %r, ptr addrspace(1) %p, align 4
  ret void
}
"""
    off = str(lowered(text, plain).module)
    asked = str(lowered(text, option).module)
    assert asked != off
    assert str(lowered(text, plain, **{knob: True}).module) == asked
