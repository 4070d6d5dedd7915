"""gemm-pipeline: which tile loops are taken, why others are not, how deep, and what is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nvir
from nvir.ir.module import Module
from nvir.passes.loop.tiles.gemm_pipeline import NOT_MADE
from nvir.passes.loop.tiles.multistage import PIPELINED
from nvir.passes.loop.tiles.reasons import TileReason
from nvir.passes.loop.tiles.stages import ROOM, StageDescriptor, StageTable, pending_groups
from tests.gemm_kernels import Shape, tile_kernel

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
ON = {"GemmPipelinerEnabled": True}
PLAIN = Shape()
SGEMM = (EXAMPLES / "sgemm.sm_90.ptx").read_text()
WITH_FIGURES = (
    "test_settings_say_why", "test_the_knob_turns_it_on", "test_the_depth_can_be_calculated",
    "test_no_loop_is_made_slower_unless_a_depth_is_asked_for",
)


@pytest.fixture(autouse=True)
def unsimulated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests are about what is done, not about the cycles predicted of it, which take time."""
    if request.function.__name__ not in WITH_FIGURES:
        monkeypatch.setattr("nvir.passes.loop.tiles.gemm_pipeline.cycles", lambda *_: None)


def applied(text: str, pipeline: str = "gemm-pipeline<stages=3>", **kw):
    """The module behind the pipeline, and the remarks."""
    module = nvir.read_ptx(text)
    return module, nvir.run_passes(module, pipeline, verify=True, **kw)


def made(remarks):
    return [r for r in remarks if r.name == "GemmPipelined"]


def missed(remarks):
    return {r.name for r in remarks if r.name.startswith("NotGemm")}


def names(module: Module, name: str) -> list[str]:
    return [i.form.name for i in module[name].instructions() if i.form.name.startswith("cp.async")]


def edited(*edits: tuple[str, str], shape: Shape = PLAIN) -> str:
    text = tile_kernel(shape)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


GAINS = tile_kernel(Shape(copies=2))  # the simulator predicts a gain
FIRST = "ld.global.nc.u32 %r40, [%rd5+0];"
STORE = "st.shared.u32 [%r6+0], %r40;"
BODY = "mad.lo.s32 %r9, %r80, %r81, %r9;"
TEST = "add.s32 %r22, %r22, 1;"

# reason -> the edits that lead to it, from a kernel that is pipelined
REASONS = {
    TileReason.TARGET: [(".target sm_80", ".target sm_75")],
    TileReason.PRAGMA: [("LOOP:", 'LOOP: .pragma "nounroll";')],
    TileReason.NO_TILE: [(STORE, ""), ("st.shared.u32 [%r8+0], %r60;", "")],
    TileReason.SHAPE: [(TEST, f"setp.gt.u32 %p9, %r22, 77; @%p9 bra DONE; {TEST}")],
    TileReason.DIVERGENT: [("setp.lt.s32 %p2, %r22, %r1;", "setp.lt.s32 %p2, %r22, %r3;")],
    TileReason.BARRIERS: [(TEST, f"bar.sync 0; {TEST}")],
    TileReason.ORDER: [(FIRST, f"{FIRST} ld.shared.u32 %r95, [%r13]; add.s32 %r9, %r9, %r95;")],
    TileReason.OPERATION: [(FIRST, "ld.volatile.global.u32 %r40, [%rd5+0];")],
    TileReason.WRITES: [(TEST, f"st.global.u32 [%rd3], %r9; {TEST}")],
    TileReason.ADDRESS: [
        ("mov.u32 %r9, 0;", "mov.u32 %r9, 0; ld.global.u32 %r96, [%rd3];"),
        (TEST, f"ld.shared.u32 %r97, [%r96]; add.s32 %r9, %r9, %r97; {TEST}"),
    ],
    TileReason.DYNAMIC: [
        (".visible .entry", ".extern .shared .align 16 .b8 ta[];\n.visible .entry"),
        (".shared .align 16 .b8 ta[128];", ""),
    ],
    TileReason.OUTSIDE: [("DONE:", "DONE: ld.shared.u32 %r98, [%r13]; add.s32 %r9, %r9, %r98;")],
    TileReason.USED: [(BODY, f"add.s32 %r9, %r9, %r40; {BODY}")],
    TileReason.CONVERTED: [(STORE, f"add.s32 %r40, %r40, 1; {STORE}")],
    TileReason.SPACE: [(FIRST, "ld.global.cv.u32 %r40, [%rd5+0];")],
    TileReason.SIZE: [
        (".reg .pred", ".reg .b16 %rs<4>; .reg .pred"),
        (FIRST, "ld.global.u16 %rs1, [%rd5+0];"), (STORE, "st.shared.u16 [%r6+0], %rs1;"),
    ],
    TileReason.GUARD: [
        (FIRST, f"mov.u32 %r40, 1; setp.lt.s32 %p5, %r20, %r2; @!%p5 bra J; {FIRST}\nJ:"),
    ],
    TileReason.PARTIAL: [(STORE, f"setp.lt.s32 %p5, %r20, %r2; @%p5 {STORE}")],
    TileReason.MOVES: [(TEST, f"add.s32 %r6, %r6, 64; {TEST}")],
    TileReason.CARRIED: [(TEST, f"ld.global.u64 %rd5, [%rd3]; {TEST}")],
    TileReason.VALUES: [
        (FIRST, f"{FIRST} ld.global.u32 %r71, [%rd7];"), (BODY, f"add.s32 %r9, %r9, %r71; {BODY}"),
    ],
    TileReason.HELD: [(TEST, f"mystery.s32 %r9, %r9; {TEST}")],
    TileReason.SHORT: [("setp.lt.s32 %p2, %r22, %r1;", "setp.lt.s32 %p2, %r22, 1;")],
    TileReason.STATIC: [(".shared .align 16 .b8 ta[128];", ".shared .align 16 .b8 ta[30000];")],
}
BY_SETTINGS = {
    TileReason.DISABLED: ("gemm-pipeline", {}),
    TileReason.MATRIX: ("gemm-pipeline", {"policy": "documented", "knobs": ON}),
    TileReason.NO_GAIN: ("gemm-pipeline", {"knobs": ON}),
    TileReason.DEPTH: (
        "gemm-pipeline", {"knobs": {**ON, "GemmPipelinerPipelineDepthEnforceDeltaFull": -2}},
    ),
    TileReason.UNROLLED: ("gemm-pipeline<stages=3>", {}),
    TileReason.DONE: ("gemm-pipeline<stages=3>,gemm-pipeline<stages=3>", {}),
}


def test_every_reason_has_a_test():
    assert set(REASONS) | set(BY_SETTINGS) == set(TileReason)


def test_the_kernel_that_the_reasons_start_from_is_pipelined():
    assert made(applied(edited())[1])


@pytest.mark.parametrize("reason", REASONS, ids=lambda r: r.name)
def test_a_loop_that_is_left_alone_says_why(reason):
    text = edited(*REASONS[reason])
    before = nvir.print_ir(nvir.read_ptx(text))
    module, remarks = applied(text)
    assert not made(remarks)
    assert NOT_MADE[reason].name in missed(remarks)
    assert nvir.print_ir(module) == before


@pytest.mark.seed("KNB-56")
@pytest.mark.parametrize("reason", BY_SETTINGS, ids=lambda r: r.name)
def test_settings_say_why(reason):
    pipeline, kw = BY_SETTINGS[reason]
    arch = "sm_100" if reason is TileReason.UNROLLED else "sm_90"  # nvcc unrolls by two for sm_100
    text = (EXAMPLES / f"sgemm.{arch}.ptx").read_text()
    _, remarks = applied(text, pipeline, **kw)
    assert NOT_MADE[reason].name in missed(remarks)
    if reason is TileReason.UNROLLED:
        assert any("2 tiles an iteration" in r.message for r in remarks)


@pytest.mark.seed("GEM-01")
def test_the_knob_turns_it_on():
    assert not made(applied(GAINS, "gemm-pipeline")[1])
    module, remarks = applied(GAINS, "gemm-pipeline", knobs=ON)
    (remark,) = made(remarks)
    assert remark.args["stages"] == 3
    kernel = next(b for b in module["k"].blocks if PIPELINED in b.flags)
    assert "nounroll" in kernel.pragmas
    assert [i.form.name for i in kernel if i.form.sync] == ["cp.async.wait_group", "bar.sync"]


# ------------------------------------------------------------- near misses


def test_a_zero_on_the_other_way_is_a_copy_of_no_byte():
    module, remarks = applied(edited(shape=Shape(guard="phi")))
    assert made(remarks)
    copies = [i for i in module["k"].instructions() if i.form.name == "cp.async"]
    assert {i.form.n_sources - len(i.form.addresses) for i in copies} >= {2, 1}


def test_stores_on_either_way_stay_complete():
    """A guarded store alone would let older tiles show; one on either way does not."""
    module, remarks = applied(edited(shape=Shape(guard="arms")))
    assert made(remarks)
    assert any(
        i.form.name == "st" and i.form.space == "shared" for i in module["k"].instructions()
    )


def test_a_guard_that_never_changes_is_kept():
    guard = "mov.u32 %r40, 0; setp.lt.s32 %p5, %r3, 30; @%p5"
    module, remarks = applied(
        edited((FIRST, f"{guard} {FIRST}"), (STORE, f"@%p5 {STORE}"))
    )
    assert made(remarks)
    assert any(i.form.guard is not None and i.form.name == "cp.async"
               for i in module["k"].instructions())


@pytest.mark.parametrize(("vector", "sizes"), [(1, {4}), (2, {4, 8}), (4, {4, 16})])
def test_a_copy_moves_what_load_and_store_moved(vector, sizes):
    module, _ = applied(edited(shape=Shape(vector=vector)))
    copies = [i for i in module["k"].instructions() if i.form.name == "cp.async"]
    assert {i.operands[i.form.n_sources - 1].value for i in copies} == sizes
    assert {("cg" in i.form.mods) == (i.operands[i.form.n_sources - 1].value == 16)
            for i in copies} == {True}


def test_words_of_a_vector_that_are_stored_apart_are_copied_apart():
    """Alignment is what load and store both prove: here 4 bytes of a store."""
    shape = Shape(vector=4)
    store = "st.shared.v4.u32 [%r6+0], {%r40, %r41, %r42, %r43};"
    apart = " ".join(f"st.shared.u32 [%r6+{4 * k}], %r{40 + k};" for k in range(4))
    _, remarks = applied(edited((store, apart), shape=shape))
    assert made(remarks)[0].args["copies"] == 5
    backwards = "st.shared.v4.u32 [%r6+0], {%r43, %r42, %r41, %r40};"
    assert made(applied(edited((store, backwards), shape=shape))[1])[0].args["copies"] == 5


def test_a_store_of_no_load_remains_a_store():
    text = edited((STORE, f"{STORE} st.shared.u32 [%r6+128], %r22;"),
                  ("ta[128]", "ta[256]"))
    module, remarks = applied(text)
    assert made(remarks)
    stores = [i for i in module["k"].instructions() if i.form.name == "st"]
    assert sum(i.form.space == "shared" for i in stores) == 3  # two stages of prologue, kernel


def test_the_variables_grow_and_nothing_else_of_the_launch_changes():
    before = nvir.read_ptx(edited())
    module, _ = applied(edited())
    assert [(p.name, p.size) for p in module["k"].params] == [
        (p.name, p.size) for p in before["k"].params
    ]
    sizes = {v.name: v.size for v in module["k"].locals}
    assert sizes == {"ta": 3 * 128, "tb": 3 * 128}
    assert module["k"].directives == before["k"].directives


def test_no_barrier_behind_a_loop_after_which_shared_memory_rests():
    def barriers(shape: Shape) -> int:
        module, remarks = applied(edited(shape=shape))
        assert made(remarks)
        return sum(i.form.name == "bar.sync" for i in module["k"].instructions())

    assert barriers(Shape()) == 1
    assert barriers(Shape(nested=True)) == 2


# ---------------------------------------------------------------- the depth


def depth(knobs=None, pipeline="gemm-pipeline", text=None):
    _, remarks = applied(text or GAINS, pipeline, knobs={**ON, **(knobs or {})})
    (remark,) = made(remarks)
    return remark.args["stages"]


BIG = [("ta[256]", "ta[12000]"), ("limit)\n{", "limit) .maxntid 1024, 1, 1\n{")]
FULL, PARTIAL = (f"GemmPipelinerPipelineDepthEnforceDelta{x}" for x in ("Full", "Partial"))


@pytest.mark.seed("KNB-57")
def test_full_enforcement_adds_and_insists():
    assert depth({FULL: 1}) == depth() + 1
    big = edited(*BIG, shape=Shape(copies=2))
    assert depth(text=big) == 3
    _, remarks = applied(big, "gemm-pipeline", knobs={**ON, FULL: 2})
    assert missed(remarks) >= {NOT_MADE[TileReason.STATIC].name}


@pytest.mark.seed("KNB-58")
def test_partial_enforcement_adds_what_fits():
    assert depth({PARTIAL: 1}) == depth() + 1
    big = edited(*BIG, shape=Shape(copies=2))
    assert depth({PARTIAL: 5}, text=big) == 4
    assert depth({PARTIAL: -9}) == 2


@pytest.mark.seed("GEM-03")
def test_at_most_eight_stages_are_under_way():
    assert depth({PARTIAL: 50}) == 9
    _, remarks = applied(edited(), "gemm-pipeline", knobs={**ON, FULL: 50})
    assert NOT_MADE[TileReason.DEPTH].name in missed(remarks)


def test_no_loop_is_made_slower_unless_a_depth_is_asked_for():
    """What people get by the knob alone is what the simulator thinks better, with its figures."""
    _, remarks = applied(edited(), "gemm-pipeline", knobs=ON)
    why = next(r for r in remarks if r.name == NOT_MADE[TileReason.NO_GAIN].name)
    found = re.search(r"predicted: ([\d.]+) → ([\d.]+) cycles a tile at 3 stages", why.message)
    assert found is not None
    assert float(found[1]) <= float(found[2])
    (remark,) = made(applied(edited(), "gemm-pipeline<stages=3>")[1])
    assert (remark.args["before"], remark.args["after"]) == (float(found[1]), float(found[2]))
    for asked in (FULL, PARTIAL):
        assert made(applied(edited(), "gemm-pipeline", knobs={**ON, asked: 1})[1])


@pytest.mark.seed("KNB-61")
def test_the_depth_can_be_calculated():
    """From the registers follow the warps, from these how long memory is waited for."""
    calculated = {**ON, "GemmPipelinerUseRegisterCalculation": 1}
    text = (EXAMPLES / "gemm_tile.sm_90.ptx").read_text()
    (remark,) = made(applied(text, "gemm-pipeline", knobs=calculated)[1])
    assert remark.args["after"] < remark.args["before"]
    assert remark.args["stages"] == 2  # where 3 are fixed


@pytest.mark.seed("KNB-59")
def test_copies_can_wait_for_the_arithmetic():
    def first_copy_before_reads(knobs):
        module, remarks = applied(GAINS, "gemm-pipeline", knobs={**ON, **knobs})
        assert made(remarks)
        blocks = module["k"].blocks
        kernel = next(k for k, b in enumerate(blocks) if PIPELINED in b.flags)
        order: list[str] = []
        block, seen = blocks[kernel], set()
        while block not in seen:
            seen.add(block)
            order += [i.form.name if i.form.name != "ld" else f"ld.{i.form.space}" for i in block]
            block = next(s for s in block.succs if s not in seen or s is blocks[kernel])
        return order.index("cp.async.commit_group") < order.index("ld.shared")

    assert first_copy_before_reads({})
    assert not first_copy_before_reads({"GemmPipelinerDependenciesPopbl": True})


@pytest.mark.seed("KNB-60")
def test_hashed_scoreboards_leave_fewer_under_way():
    def pending(knobs):
        knobs = {**ON, PARTIAL: 50, **knobs}
        module, _ = applied(edited(), "gemm-pipeline", knobs=knobs)
        (wait,) = [i for i in module["k"].instructions() if i.form.name == "cp.async.wait_group"]
        return wait.operands[0].value

    assert pending({}) == 7
    assert pending({"GemmPipelinerScoreboardHashPopbl": True}) == 5
    assert [pending_groups(s, True) for s in (2, 7, 8, 9)] == [0, 5, 5, 5]


@pytest.mark.seed("KNB-62")
def test_a_loop_with_a_pragma_is_pipelined_where_a_knob_says_so():
    text = edited(*REASONS[TileReason.PRAGMA])
    assert made(applied(text, knobs={"OkToPipelineNoUnroll": 1})[1])


def test_no_more_stages_than_iterations():
    text = edited(("setp.lt.s32 %p2, %r22, %r1;", "setp.lt.s32 %p2, %r22, 2;"))
    assert depth(text=text) == 2


# -------------------------------------------------------------------- stages


@pytest.mark.seed("GEM-02")
def test_descriptors_have_masks_and_the_table_grows():
    table = StageTable()
    for k in range(9):
        table.add(StageDescriptor(k, 1 << k, (), (16,), 0, 1, 0, 7, (k + 8) % 9, (k - 1) % 9))
    assert [r.mask for r in table] == [1 << k for k in range(9)]
    assert (ROOM, table.room, table.mask) == (8, 16, 0x1FF)
    with pytest.raises(ValueError, match="stage 4"):
        table.add(table[4])


@pytest.mark.seed("GEM-04", "DIA-05")
def test_the_dump_has_both_sections(capsys):
    applied(edited(shape=Shape(vector=4)), "gemm-pipeline<stages=4;dump>")
    text = capsys.readouterr().err
    assert text.index("For Dma Loop") < text.index("For Math Loop")
    assert "stage 3  mask 0x8  ta+1536, tb+384  copies 1 x 16 + 1 x 4 bytes" in text
    assert "stage 0  mask 0x1  ta+0, tb+0  reads 8  waits for stage 0, 2 pending" in text


@pytest.mark.seed("GEM-05")
def test_the_notes_take_integer_products_only():
    text = (EXAMPLES / "gemm_mma.sm_80.ptx").read_text()
    assert not made(applied(text, "gemm-pipeline", policy="documented", knobs=ON)[1])
    # of 8-bit integers the same fragments: a byte for each half
    whole = text.replace("m16n8k16.row.col.f32.f16.f16.f32", "m16n8k32.row.col.s32.s8.s8.s32")
    whole = whole.replace(".reg .f32 ", ".reg .b32 ")
    assert made(applied(whole, "gemm-pipeline", policy="documented", knobs=ON)[1])


# ------------------------------------------- loops that are pipelined already


def test_a_multistage_loop_is_recognised():
    text = (EXAMPLES / "gemm_cp_async.sm_80.ptx").read_text()
    before = nvir.print_ir(nvir.read_ptx(text))
    module, remarks = applied(text, "gemm-pipeline", knobs=ON)
    (found,) = [r for r in remarks if r.name == "GemmAsync"]
    assert (found.args["stages"], found.args["bytes"], found.args["copies"]) == (3, 12288, 2)
    assert nvir.print_ir(module) == before


def test_more_stages_than_its_buffers_are_refused():
    text = (EXAMPLES / "gemm_cp_async.sm_80.ptx").read_text()
    before = nvir.print_ir(nvir.read_ptx(text))
    module, remarks = applied(text, "gemm-pipeline<stages=4>")
    (why,) = [r for r in remarks if r.name == "GemmBuffers"]
    assert "buffers for 4" in why.message
    assert nvir.print_ir(module) == before


def test_fewer_stages_are_a_stricter_wait():
    text = (EXAMPLES / "gemm_cp_async.sm_80.ptx").read_text()
    module, remarks = applied(text, "gemm-pipeline<stages=2>")
    assert [r.args["stages"] for r in remarks if r.name == "GemmShortened"] == [2]
    waits = [i for i in module["gemm_cp_async"].instructions()
             if i.form.name == "cp.async.wait_group"]
    assert {w.operands[0].value for w in waits} == {0}


def test_copies_that_count_on_barriers_are_left_alone():
    text = (EXAMPLES / "warp_specialised.sm_90.ptx").read_text()
    before = nvir.print_ir(nvir.read_ptx(text))
    module, remarks = applied(text)
    found = [r for r in remarks if r.name == "GemmAsync"]
    assert found
    assert found[0].args["bulk"] > 0
    assert any("count on barriers" in r.message for r in remarks)
    assert nvir.print_ir(module) == before


def test_a_loop_with_one_barrier_is_left_alone():
    """A reduction tree: each turn halves the threads that add, and waits once."""
    text = """.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 s[1024];
.visible .entry k(.param .u64 p) {
.reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<4>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s;
add.s32 %r3, %r3, %r2; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;
ld.global.u32 %r8, [%rd2]; st.shared.u32 [%r3], %r8; mov.u32 %r4, 128; bar.sync 0;
L: setp.ge.u32 %p1, %r1, %r4; @%p1 bra M;
shl.b32 %r5, %r4, 2; add.s32 %r6, %r3, %r5; ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r9, [%r3];
add.s32 %r9, %r9, %r7; st.shared.u32 [%r3], %r9;
M: bar.sync 0; shr.u32 %r4, %r4, 1; setp.ne.s32 %p2, %r4, 0; @%p2 bra L;
ld.shared.u32 %r10, [s]; st.global.u32 [%rd2], %r10; ret; }
"""
    before = nvir.print_ir(nvir.read_ptx(text))
    module, remarks = applied(text)
    assert missed(remarks) == {"NotGemmBarriers"}
    assert nvir.print_ir(module) == before
