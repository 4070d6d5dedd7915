"""Builtins: the registry and its numbers, every row down to PTX, results, gates, the fallback."""

from __future__ import annotations

import random

import numpy as np
import pytest
from fe_builtins import all_rows, program
from fe_judges import accepted, calculated, module_of, run

import nvir
from nvir.compiler import compile_tree
from nvir.frontend import build as b
from nvir.frontend.builtins import intrinsic_names, numbers, texture_names
from nvir.frontend.builtins.registry import STRATEGIES, choose, rows
from nvir.frontend.check import TreeError, check
from nvir.frontend.irgen import IRGenError
from nvir.frontend.tree import types as t
from nvir.passes.knobs import Knobs

out, x, n, i, p = b.names("out x n i p")
ROWS = all_rows()


def arch_of(row):
    return "sm_90a" if row.sm >= 89 else "sm_60" if row.below else "sm_80"


# ------------------------------------------------------------------ the registry


@pytest.mark.seed("BLT-02")
def test_every_row_has_one_of_five_strategies():
    assert len(ROWS) > 700
    assert {row.strategy for row in ROWS} == set(STRATEGIES)
    gated = {row.name for row in ROWS if row.strategy == "gated"}
    assert {"__reduce_add_sync", "__mbarrier_try_wait", "__wgmma_fence"} <= gated


@pytest.mark.seed("BLT-03", "BLT-07", "BLT-09", "BLT-10", "BLT-13", "BLT-14", "GAP-30")
def test_numbers_lie_in_their_families_ranges():
    for row in ROWS:
        if row.number is not None:
            assert numbers.family(row.number) == row.family
    taken = [row.number for row in ROWS if row.number is not None]
    assert len(taken) == len(set(taken))
    assert numbers.MEMCPY_ALIGN == {657: 1, 658: 2, 659: 4, 660: 8, 661: 16}
    assert [numbers.family(k) for k in (410, 663, 665)] == ["memset"] * 3
    assert [numbers.family(k) for k in range(411, 417)] == ["tma"] * 6
    assert numbers.family(0x2E9) == "wgmma"
    assert numbers.TYPED_ATOMICS == (0xBA, 0xBB, 0xBC)


@pytest.mark.seed("BLT-16", "GAP-30")
def test_numbers_that_are_known_win_over_ranges():
    assert numbers.family(658) == "memcpy"
    assert numbers.family(656) == "texture"
    assert numbers.family(395) == "vote"
    assert numbers.family(394 + 9) == "wmma"
    with pytest.raises(KeyError):
        numbers.family(5)


@pytest.mark.seed("BLT-05", "BLT-06")
def test_shuffles_and_votes():
    modes = [numbers.shuffle(k) for k in range(0x15F, 0x167)]
    assert len(set(modes)) == 8
    assert [row.number for row in ROWS if row.family == "shuffle"] == list(range(0x15F, 0x167))
    votes = [k for k in range(1000) if _family(k) == "vote"]
    assert len(votes) == 24


def _family(k):
    try:
        return numbers.family(k)
    except KeyError:
        return ""


@pytest.mark.seed("BLT-07")
def test_surface_types():
    assert numbers.SURFACE_TYPES == {0: "generic", 1: "1d", 5: "2d", 7: "3d", 8: "cube",
                                     10: "a1d", 11: "a2d", 14: "buffer"}
    assert numbers.surface_intrinsics(5) == (3701, 3702)
    assert numbers.surface_intrinsics(11) == (3698, 3699)


@pytest.mark.seed("BLT-08")
def test_names_of_textures():
    assert texture_names.texture_name("tex2D", 0) == "tex2D_schar"
    assert texture_names.texture_name("tex2D", 0, signed_char=False) == "tex2D_uchar"
    assert texture_names.texture_name("tex1D", 10) == "tex1D_ulonglong"
    assert [texture_names.type_name(k) for k in (2, 5)] == ["uchar", "int"]


@pytest.mark.seed("BLT-11", "BLT-12")
def test_the_table_of_warpgroup_products():
    found = [numbers.wgmma_index(c, shared, s64, flags, variant)
             for c in numbers.WGMMA_N for shared in (False, True) for s64 in (False, True)
             for flags in range(3) for variant in range(3)]
    assert sorted(found) == list(range(144))
    assert numbers.wgmma_intrinsic(16, False, False, 0, 0) == 5304
    assert numbers.wgmma_intrinsic(128, True, True, 2, 2) == 5447
    assert numbers.wgmma_mode(accumulate=True, negate_a=True) == 0b10001
    for mode in range(32):
        assert numbers.wgmma_mode(**numbers.wgmma_flags(mode)) == mode
    with pytest.raises(KeyError):
        numbers.wgmma_index(24, True, True, 0, 0)


@pytest.mark.seed("BLT-14")
def test_bulk_copies_by_count():
    assert [numbers.tma_intrinsic(True, k) for k in (1, 6)] == [4218, 4223]
    assert [numbers.tma_intrinsic(False, k) for k in (1, 7)] == [4244, 4250]
    for store, count in ((True, 0), (True, 7), (False, 8)):
        with pytest.raises(KeyError):
            numbers.tma_intrinsic(store, count)


@pytest.mark.seed("BLT-09")
def test_matrix_functions_come_in_triplets_of_shapes():
    for shape in ("m16n16k16", "m32n8k16", "m8n32k16"):
        for part in ("ld_a", "ld_b", "mma_f32f32", "st_c_f32"):
            assert f"__hmma_{shape}_{part}" in rows()
    assert [numbers.mma_mode(*v) for v in ((0, 0), (1, 0), (0, 1), (1, 1))] == [0, 1, 2, 3]


def test_overloads_are_chosen_by_type():
    def result(name, *types):
        row, of = choose(name, types)
        return row.result_type(of)

    assert result("min", t.INT, t.INT) is t.INT
    assert result("min", t.FLOAT, t.FLOAT) is t.FLOAT
    assert result("sin", t.FLOAT) is t.FLOAT
    assert result("sin", t.INT) is t.DOUBLE
    assert result("__shfl_sync", t.UINT, t.DOUBLE, t.INT) is t.DOUBLE
    assert result("__hadd", t.HALF, t.HALF) is t.HALF
    assert result("__hadd", t.INT, t.INT) is t.INT
    assert choose("atomicAdd", (t.Pointer(t.SHORT), t.SHORT)) is None


# --------------------------------------------------------------------- every row


def lowered(row):
    module = module_of(program(row), arch=arch_of(row))
    nvir.run_passes(module, "select", verify=True)
    return nvir.print_ptx(module)


FOREIGN = [row for row in ROWS if row.lowering.startswith("libdevice ")]
OWN = [row for row in ROWS if row not in FOREIGN]
SAMPLE = random.Random(3).sample(OWN, 25)


@pytest.mark.parametrize("row", SAMPLE, ids=lambda r: f"{r.name}:{r.params}")
def test_rows_become_ptx(row):
    assert ".entry k" in lowered(row)


@pytest.mark.parametrize("row", FOREIGN, ids=lambda r: r.name)
def test_rows_of_libdevice_call_it_or_say_so(row):
    with pytest.raises(nvir.Unsupported, match=f"'{row.name}', which libdevice has.*:\\d+:1$"):
        lowered(row)
    text = nvir.print_ll(module_of(program(row), arch="sm_80", libdevice=True))
    assert f" @__nv_{row.name}(" in text


@pytest.mark.oracle
def test_libdevice_has_every_function_that_is_declared_of_it():
    from nvir.compiler import ptx_by_libnvvm

    merged = b.unit()
    for k, row in enumerate(FOREIGN):
        one = program(row).declarations[0]
        one.name = f"k{k}"
        merged.declarations.append(one)
    assert "__nv_" not in ptx_by_libnvvm(merged)


@pytest.mark.slow
@pytest.mark.oracle
def test_ptxas_takes_every_row():
    from nvir.toolchain.ptxas import ptxas

    for row in OWN:
        if row.below:
            continue  # this ptxas has no target so old
        result = ptxas(lowered(row), arch=arch_of(row))
        assert result.ok, f"{row.name}: {result.log}"


@pytest.mark.oracle
def test_libnvvm_knows_the_intrinsics_of_rows():
    for row in random.Random(5).sample([r for r in ROWS if r.lowering.startswith("llvm")
                                        and not r.below and r.sm < 90], 6):
        accepted(module_of(program(row)))


# ----------------------------------------------------------------------- results


@pytest.mark.seed("BLT-03")
@pytest.mark.parametrize("suffix", ["", "_block", "_system"])
def test_atomics(suffix):
    tree = b.unit(b.kernel(
        "k", "int *out, unsigned *u, float *f",
        b.let("int old", b.call(f"atomicAdd{suffix}", out, 1)),
        b.call(f"atomicSub{suffix}", out + 1, 2), b.call(f"atomicMin{suffix}", out + 2, -5),
        b.call(f"atomicMax{suffix}", b.name("u"), b.u32(0x90000000)),
        b.call(f"atomicInc{suffix}", b.name("u") + 1, b.u32(5)),
        b.call(f"atomicXor{suffix}", out + 3, 3), b.call(f"atomicAdd{suffix}", b.name("f"), 0.5),
        b.call(f"atomicExch{suffix}", out + 4, 7),
        b.call(f"atomicCAS{suffix}", out + 5, 0, 9),
    ))
    module = module_of(tree)
    for select in (False, True):
        if select:
            nvir.run_passes(module, "select", verify=True)
        o, u, f = np.zeros(8, np.int32), np.zeros(4, np.uint32), np.zeros(1, np.float32)
        run(module, "k", [o, u, f], block=32)
        assert o.tolist() == [32, -64, -5, 0, 7, 9, 0, 0]
        assert u.tolist() == [0x90000000, 32 % 6, 0, 0]
        assert f.tolist() == [16.0]
    accepted(module_of(tree))


def test_words_and_scopes_of_atomics():
    tree = b.unit(b.kernel("k", "int *out", *(b.call(f"atomicAdd{s}", out, 1) for s in (
        "", "_block", "_system"))))
    found = [x_.aux for x_ in module_of(tree)["k"].instructions() if x_.form.name == "atomicrmw"]
    assert [a[1] for a in found] == ["agent", "workgroup", ""]
    assert {a[0] for a in found} == {"monotonic"}


@pytest.mark.seed("BLT-03", "BLT-05", "BLT-06")
def test_warps_exchange_values():
    lane = b.threadIdx.x
    full = b.u32(0xFFFFFFFF)
    tree = b.unit(b.kernel(
        "k", "int *out, double *d",
        b.let("int i", lane), b.call("__syncthreads"),
        b.assign(out[i], b.call("__shfl_sync", full, i * 2, i ^ 1)),
        b.assign(out[32 + i], b.call("__shfl_up_sync", full, i, 3, 8)),
        b.assign(b.name("d")[i], b.call("__shfl_xor_sync", full, i * 0.5, 16)),
        b.assign(out[64 + i], b.call("__ballot_sync", full, i > 20)),
        b.assign(out[96 + i], b.call("__any_sync", full, i == 5)
                 + b.call("__all_sync", full, i > 5) * 10),
        b.assign(out[128 + i], b.call("__match_any_sync", full, i / 8)),
        b.assign(out[160 + i], b.call("__reduce_add_sync", full, i)),
    ))
    k = np.arange(32)
    for select in (False, True):
        module = module_of(tree)
        if select:
            nvir.run_passes(module, "select", verify=True)
        o, d = np.zeros(192, np.int32), np.zeros(32)
        run(module, "k", [o, d])
        assert o[:32].tolist() == ((k ^ 1) * 2).tolist()
        assert o[32:64].tolist() == np.where(k % 8 < 3, k, k - 3).tolist()
        assert d.tolist() == ((k ^ 16) * 0.5).tolist()
        assert set(o[64:96].view(np.uint32).tolist()) == {0xFFE00000}
        assert set(o[96:128].tolist()) == {1}
        assert o[128:160].view(np.uint32).tolist() == [0xFF << (j // 8 * 8) for j in range(32)]
        assert set(o[160:].tolist()) == {496}


BITS = [
    ("__popc(255 << 20)", lambda: b.call("__popc", b.u32(255 << 20)), 8),
    ("__clz(1)", lambda: b.call("__clz", n), 30), ("__ffs(8)", lambda: b.call("__ffs", n * 4), 4),
    ("__ffs(0)", lambda: b.call("__ffs", n - 2), 0),
    ("__brev", lambda: b.call("__brev", b.u32(6)) >> 29, 3),
    ("__byte_perm", lambda: b.call("__byte_perm", b.u32(0x03020100), b.u32(0x07060504),
                                   b.u32(0x0246)), 0x00020406),
    ("__mulhi", lambda: b.call("__mulhi", n << 30, 8), -4),
    ("__umulhi", lambda: b.call("__umulhi", b.u32(1 << 31), 8), 4),
    ("__hadd", lambda: b.call("__hadd", 2**31 - 1, 2**31 - 3), 2**31 - 2),
    ("__rhadd", lambda: b.call("__rhadd", -3, n * 0), -1),
    ("__dp4a", lambda: b.call("__dp4a", 0x01020304, 0x01010101, n), 12),
    ("__vadd4", lambda: b.call("__vadd4", b.u32(0x01FF0203), b.u32(0x01010101)), 0x02000304),
    ("__vcmpgtu4", lambda: b.call("__vcmpgtu4", b.u32(0x01FF0203), b.u32(0x02020202)), 0x00FF00FF),
    ("__vmaxs2", lambda: b.call("__vmaxs2", b.u32(0x7FFF8000), b.u32(0x00010001)), 0x7FFF0001),
    ("__funnelshift_l", lambda: b.call("__funnelshift_l", b.u32(0x80000000), b.u32(1), 1), 3),
    ("__float2int_rn", lambda: b.call("__float2int_rn", b.f32(2.5)), 2),
    ("__float2int_ru", lambda: b.call("__float2int_ru", b.f32(2.5)), 3),
    ("min", lambda: b.call("min", n, -7), -7), ("max", lambda: b.call("max", n, b.u32(9)), 9),
    ("abs", lambda: b.call("abs", -n), 2), ("__isShared", lambda: b.call("__isShared", out), 0),
    ("__double2hiint", lambda: b.call("__double2hiint", b.f64(1.0)), 0x3FF00000),
    ("isinf", lambda: b.call("isinf", b.f64(1.0) / (n - 2)), 1),
    ("__float2half", lambda: b.call("__half_as_ushort", b.call("__float2half", b.f32(1.5))),
     0x3E00),
    ("__hfma", lambda: b.cast("int", b.call("__hfma", b.f16(2), b.f16(3), b.f16(4))), 10),
    ("__hlt", lambda: b.call("__hlt", b.f16(2), b.f16(3)), 1),
]


@pytest.mark.parametrize(("name", "make", "want"), BITS, ids=[r[0] for r in BITS])
def test_small_functions(name, make, want):
    def tree():
        return b.unit(b.kernel("k", "int *out, int n", b.assign(out[0], make())))

    want = want - (1 << 32) if want >= 1 << 31 else want
    module = module_of(tree())
    for select in (False, True):
        if select:
            nvir.run_passes(module, "select", verify=True)
        got = np.zeros(1, np.int32)
        run(module, "k", [got, np.int32(2)], block=1)
        assert got.tolist() == [want]


def test_copies_and_cached_accesses():
    tree = b.unit(b.kernel(
        "k", "int *out, const float4 *v",
        b.let("float4 w", b.call("__ldg", b.name("v") + 1)),
        b.assign(out[0], b.name("w").y), b.call("__stcg", out + 1, 5),
        b.assign(out[2], b.call("__ldcg", out)),
        b.call("memset", out + 3, 1, b.u64(4)), b.call("memcpy", out + 4, out + 3, b.u64(4)),
    ))
    v = np.arange(8, dtype=np.float32)
    module = module_of(tree)
    got = np.zeros(8, np.int32)
    run(module, "k", [got, v], block=1)
    assert got.tolist()[:5] == [5, 5, 5, 0x01010101, 0x01010101]
    accepted(module)


def test_asynchronous_copies():
    tile = b.let("int tile[32]", memory="shared")
    tree = b.unit(b.kernel(
        "k", "int *out, const int *v", tile, b.let("int i", b.threadIdx.x),
        b.call("__pipeline_memcpy_async", b.addr(b.name("tile")[i]), b.name("v") + i, b.u64(4)),
        b.call("__pipeline_commit"), b.call("__pipeline_wait_prior", 0), b.call("__syncthreads"),
        b.assign(out[i], b.name("tile")[31 - i])))
    got = np.zeros(32, np.int32)
    module = module_of(tree)
    run(module, "k", [got, np.arange(32, dtype=np.int32)])
    assert got.tolist() == list(range(31, -1, -1))
    accepted(module)


# ------------------------------------------------------------- gates, the fallback


@pytest.mark.seed("BLT-04", "BLT-09", "BLT-10")
@pytest.mark.parametrize(("call", "arch", "message"), [
    (lambda: b.call("__wgmma_fence"), "sm_80", "'__wgmma_fence' requires sm_90 or higher"),
    (lambda: b.call("__mma_m16n8k32_e4m3_e4m3_f32", p, x, x, p), "sm_80", "requires sm_89"),
    (lambda: b.call("__shfl", n, 0), "sm_80", "is not supported on sm_70 and higher"),
    (lambda: b.call("__nanosleep", b.u32(9)), "sm_60", "requires sm_70 or higher, not sm_60"),
])
def test_gates(call, arch, message):
    def tree():
        return b.unit(b.kernel("k", "float *p, int *x, int n", b.stmt(call())))

    with pytest.raises(IRGenError, match=message) as raised:
        module_of(tree(), arch=arch)
    assert "test_fe_builtins.py" in str(raised.value)
    module_of(tree(), arch="sm_60" if "not supported" in message else "sm_90a")


def test_numbers_that_must_be_constants():
    tree = b.unit(b.kernel("k", "int *x, int n", b.call("__wgmma_wait_group", n)))
    with pytest.raises(IRGenError, match="argument 1 of __wgmma_wait_group must be a constant"):
        module_of(tree, arch="sm_90a")


@pytest.mark.seed("BLT-01", "BLT-15")
def test_names_of_intrinsics():
    assert intrinsic_names.intrinsic_name("__nvvm_fma_rn_f") == "llvm.nvvm.fma.rn.f"
    made = calculated(b.unit(b.kernel(
        "k", "int *out",
        b.assign(out[0], b.call("__nvvm_fma_rn_f", b.f32(2), b.f32(3), b.f32(4))),
        b.assign(out[1], b.call("llvm.nvvm.mulhi.i", 1 << 30, 8)),
        # bits of an int where a float is taken: a bit cast
        b.assign(out[2], b.call("__nvvm_add_rn_f", 0x3F800000, b.f32(1))),
        b.assign(out[3], b.call("__nvvm_read_ptx_sreg_ntid_x")),
    )), count=4).tolist()
    assert made == [10, 2, 2, 1]
    with pytest.raises(TreeError, match="use of undeclared name '__no_such_builtin'"):
        check(b.unit(b.kernel("k", "int *out", b.call("__no_such_builtin", 1))))


@pytest.mark.seed("BLT-15")
def test_an_intrinsic_that_returns_a_struct():
    types: dict[str, t.CType] = {}
    b.record("both", "int v, bool p", types)
    declared = b.function("both llvm.nvvm.shfl.sync.idx.i32p".replace(".", "_"),
                          "unsigned m, int v, int l, int c", types=types, builtin=True)
    declared.name = "llvm.nvvm.shfl.sync.idx.i32p"
    unit = check(b.unit(declared, b.kernel(
        "k", "int *out", b.let("both r", b.call(b.E(b.x.Name(declared.name, declared)),
                                                b.u32(0xFFFFFFFF), b.threadIdx.x, 7, 31),
                               types=types),
        b.assign(out[b.threadIdx.x], b.name("r").v), types=types), types=types))
    from nvir.frontend.irgen import Options, generate

    module = generate(unit, Options())
    members = [i_ for i_ in module["k"].instructions() if i_.form.name == "extractvalue"]
    assert [i_.aux for i_ in members] == [(0,), (1,)]


@pytest.mark.seed("KNB-19")
@pytest.mark.parametrize(("unsigned", "letter"), [(False, "s32"), (True, "u32")])
def test_plain_char_in_names_of_textures_follows_the_knob(unsigned, letter):
    """`tex2D_char` is the intrinsic of schar, or of uchar; `tex2D_uchar` is what it says."""
    def template(name):
        tree = b.unit(b.kernel("k", "int *out, unsigned long long t", b.assign(
            b.name("out")[0], b.call(name, b.name("t"), b.f32(1), b.f32(2)))))
        knobs = Knobs({"plain-char-unsigned": unsigned})
        module = compile_tree(tree, level="nvvm", optimise=0, knobs=knobs)
        (found,) = [i.aux.callee.template for i in module["k"].instructions() if i.form.is_call]
        return found

    assert f".v4.{letter}.f32" in template("tex2D_char")
    assert ".v4.s32.f32" in template("tex2D_schar")
    assert ".v4.u32.f32" in template("tex2D_uchar")
