"""What attributes promise decides comparisons, narrows numbers and widens accesses; near misses."""

from __future__ import annotations

import re

import pytest

import nvir
from nvir.passes.presets import preset


def _kernel(parameters: str, body: str, attributes: str = "") -> str:
    return (f"define ptx_kernel void @k({parameters}) {attributes} {{\n{body}\n  ret void\n}}\n"
            "declare i32 @g()\n")


NULL = """  %c = icmp eq ptr %p, null
  %v = select i1 %c, i32 1, i32 2
  store i32 %v, ptr %o"""
INSIDE = NULL.replace("icmp eq ptr %p", "icmp eq ptr %q")
INBOUNDS = "  %q = getelementptr inbounds i32, ptr %p, i64 3\n" + INSIDE


def _combined(text: str) -> str:
    module = nvir.read_ll(text)
    nvir.run_passes(module, "inst-combine,dce")
    return nvir.print_ll(module, "llvm20")


@pytest.mark.parametrize(("parameters", "body", "attributes", "folds"), [
    ("ptr nonnull %p, ptr %o", NULL, "", True),
    ("ptr dereferenceable(4) %p, ptr %o", NULL, "", True),
    ("ptr nonnull %p, ptr %o", INBOUNDS, "", True),
    ("ptr nonnull %p, ptr %o", NULL.replace("ptr %p, null", "ptr null, %p"), "", True),
    ("ptr %o", "  %p = alloca i32\n" + NULL, "", True),
    ("ptr %p, ptr %o", NULL, "", False),
    ("ptr dereferenceable_or_null(4) %p, ptr %o", NULL, "", False),
    ("ptr dereferenceable(4) %p, ptr %o", NULL, "null_pointer_is_valid", False),
    ("ptr addrspace(1) dereferenceable(4) %p, ptr %o",
     NULL.replace("ptr %p", "ptr addrspace(1) %p"), "", False),
    ("ptr nonnull %p, ptr %o", INBOUNDS.replace(" inbounds", ""), "", False),
])
def test_pointers_that_are_not_null(
    parameters: str, body: str, attributes: str, folds: bool
) -> None:
    assert ("icmp" not in _combined(_kernel(parameters, body, attributes))) == folds


COMPARED = """  %c = icmp ult i32 %n, 1024
  %v = zext i1 %c to i32
  store i32 %v, ptr %o"""
CALLED = "  %n = call RANGE i32 @g()META\n" + COMPARED


@pytest.mark.parametrize(("parameters", "body", "folds"), [
    ("i32 range(i32 0, 1024) %n, ptr %o", COMPARED, True),
    ("i32 range(i32 5, 1024) %n, ptr %o", COMPARED, True),
    ("ptr %o", CALLED.replace("RANGE", "range(i32 0, 9)").replace("META", ""), True),
    ("ptr %o", CALLED.replace("RANGE", "").replace("META", ", !range !0"), True),
    ("i32 range(i32 0, 1026) %n, ptr %o", COMPARED, False),
    ("i32 range(i32 -1, 1024) %n, ptr %o", COMPARED, False),
    ("i32 range(i32 7, 0) %n, ptr %o", COMPARED, False),
    ("i32 %n, ptr %o", COMPARED, False),
    ("ptr %o", CALLED.replace("RANGE", "").replace("META", ", !range !1"), False),
])
def test_ranges_are_known_bits(parameters: str, body: str, folds: bool) -> None:
    ranges = "!0 = !{i32 0, i32 9}\n!1 = !{i32 -9, i32 -1, i32 0, i32 9}\n"
    assert ("icmp" not in _combined(_kernel(parameters, body) + ranges)) == folds


PAIR = """  %q = getelementptr float, ptr addrspace(1) %p, i64 1
  %a = load float, ptr addrspace(1) %p, align 4
  %b = load float, ptr addrspace(1) %q, align 4
  %s = fadd float %a, %b
  store float %s, ptr addrspace(1) %o, align 4"""
FURTHER = "  %r = getelementptr float, ptr addrspace(1) %p, i64 BY\n" + PAIR.replace(
    "addrspace(1) %p", "addrspace(1) %r")


@pytest.mark.parametrize(("align", "body", "wide"), [
    ("align 8", PAIR, True), ("align 16", FURTHER.replace("BY", "2"), True),
    ("align 4", PAIR, False), ("", PAIR, False), ("align 16", FURTHER.replace("BY", "3"), False),
])
def test_aligned_parameters_widen_accesses(align: str, body: str, wide: bool) -> None:
    module = nvir.read_ll(_kernel(
        f"ptr addrspace(1) {align} %p, ptr addrspace(1) %o", body))
    nvir.run_passes(module, preset(3))
    assert bool(re.search(r"ld\.global\S*\.v2\.f32", nvir.print_ptx(module))) == wide
