"""Attributes of functions: the three stages, annotations in both dialects, PTX's directives;
variables in their memories."""

from __future__ import annotations

import numpy as np
import pytest
from fe_judges import accepted, module_of

import nvir
from nvir.frontend import build as b
from nvir.frontend.irgen import metadata
from nvir.frontend.irgen.metadata import CUSTOM_ABI, Bundles, reencoded
from nvir.frontend.tree import declarations as d
from nvir.frontend.tree import types as t

out = b.name("out")


def kernel(**attributes):
    types: dict[str, t.CType] = {}
    p = b.record("P", "int a[4]", types)
    params = ["int *out", d.Parameter("p", p, grid_constant=True), "int n"]
    return b.kernel("k", params, b.assign(out[0], b.name("p").a[1]), types=types, **attributes)


@pytest.mark.seed("ATT-01")
def test_what_is_preserved_is_unset_by_default():
    assert d.Attributes().preserve == (-1, -1, -1)
    assert kernel(preserve=(3, 0, -1)).attributes.preserve == (3, 0, -1)


@pytest.mark.seed("ATT-02", "ATT-03", "ATT-04", "ATT-05", "GAP-33")
def test_the_second_stage_emits_once():
    f = kernel(preserve=(3, -1, 0), custom_abi=True)
    bundles = Bundles()
    first = bundles.emit(f)
    assert first == [("kernel", 1), ("grid_constant", 2), ("full_custom_abi", 0xFFFFFFFF),
                     ("preserve_n_data", 3), ("preserve_n_after", 0)]
    again = bundles.emit(f)
    assert not any(key.startswith("preserve") for key, _ in again)
    assert f.attributes.preserve == (3, -1, 0)  # the tree is not touched
    device = b.function("int f", "int a", b.ret(b.name("a")))
    assert bundles.emit(device) == []


@pytest.mark.seed("ATT-06", "GAP-33")
def test_the_third_stage_groups():
    pairs = [("kernel", 1), ("grid_constant", 1), ("grid_constant", 3), ("preserve_n_data", 4),
             ("preserve_n_control", 2), ("preserve_n_after", 0)]
    kept = ("preserve_n_data", 4, "preserve_n_control", 2, "preserve_n_after", 0)
    assert reencoded(pairs, 3) == ("kernel", 1, "grid_constant", (1, 3), "preserve_reg_abi", kept,
                                   "numParams", (3,))
    custom = [*pairs, ("full_custom_abi", CUSTOM_ABI)]
    assert reencoded(custom, 3)[-2:] == ("full_custom_abi", -1)
    assert "numParams" not in reencoded(custom, 3)
    assert reencoded([], 3) == ()


@pytest.mark.seed("ATT-07", "ATT-12", "ATT-15")
def test_the_layout_of_kernel_attrs_and_who_reads_it():
    module = module_of(b.unit(kernel(preserve=(3, -1, 0))), kernel_attrs=True)
    text = nvir.print_ll(module, "llvm20")
    node = next(line for line in text.splitlines() if '"preserve_reg_abi"' in line)
    order = [node.index(f'"{key}"') for key in ("kernel", "grid_constant", "preserve_reg_abi")]
    assert order == sorted(order)
    assert metadata.grid_constants(module, module["k"]) == (1,)
    assert metadata.preserved(module, module["k"]) == {"preserve_n_data": 3,
                                                       "preserve_n_after": 0}
    again = nvir.read_ll(text)
    assert metadata.grid_constants(again, again["k"]) == (1,)
    plain = module_of(b.unit(kernel()))
    assert metadata.grid_constants(plain, plain["k"]) == ()
    accepted(module)


@pytest.mark.seed("ATT-08", "ATT-09", "ATT-10", "ATT-14")
def test_launch_bounds_in_both_dialects_and_ptx():
    f = kernel(launch_bounds=d.LaunchBounds(128, 2), max_registers=64, cluster_dims=(2, 1, 1))
    module = module_of(b.unit(f), arch="sm_90")
    new = nvir.print_ll(module, "llvm20")
    assert '"nvvm.maxntid"="128' in new
    assert '"nvvm.minctasm"="2"' in new
    assert '"nvvm.maxnreg"="64"' in new
    assert '"nvvm.cluster_dim"="2' in new
    nvir.run_passes(module, "select", verify=True)
    ptx = nvir.print_ptx(module)
    for directive in (".maxntid 128", ".minnctapersm 2", ".maxnreg 64", ".reqnctapercluster 2",
                      ".explicitcluster"):
        assert directive in ptx, directive
    assert ".reqntid 32, 2, 1" in _ptx(kernel(required_block=(32, 2, 1)))


def _ptx(f):
    module = module_of(b.unit(f))
    nvir.run_passes(module, "select", verify=True)
    return nvir.print_ptx(module)


@pytest.mark.seed("ATT-13")
def test_what_a_module_says_of_itself():
    table = b.variable("int table[2]", b.init(1, 2), memory="device")
    text = nvir.print_ll(module_of(b.unit(table, kernel())), "llvm7")
    assert "!nvvmir.version = " in text
    assert '!"Debug Info Version", i32 3' in text
    assert "!nvvm.annotations = " in text


@pytest.mark.parametrize(("inline", "word"), [("always", "alwaysinline"), ("never", "noinline"),
                                              ("inline", "inlinehint")])
def test_inlining_words(inline, word):
    f = b.function("int f", "int a", b.ret(b.name("a")), inline=inline)
    module = module_of(b.unit(f, b.kernel("k", "int *out", b.assign(out[0], b.call("f", 1)))))
    assert word in module["f"].aux["attributes"]
    assert module["f"].linkage == "internal"


@pytest.mark.seed("GLB-01", "GLB-02")
def test_variables_in_ptx():
    made = [b.variable(f"int {m}_v[2]", *([b.init(1, 2)] if m != "shared" else []), memory=m)
            for m in ("device", "constant", "shared", "managed")]
    body = [b.assign(out[k], b.name(v.name)[0]) for k, v in enumerate(made)]
    text = _ptx_of(b.unit(*made, b.kernel("k", "int *out", *body)))
    for word in (".global .align 4", ".const .align 4", ".shared .align 4"):
        assert word in text
    assert ".attribute(.managed)" in text
    assert np.int32 is not None


def _ptx_of(unit):
    module = module_of(unit)
    nvir.run_passes(module, "select", verify=True)
    return nvir.print_ptx(module)
