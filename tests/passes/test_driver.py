"""The driver: what it does for every pass, and what it holds passes to."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import attrs
import pytest

import nvir
from nvir.ir.errors import NvirError, ParseError, PassError, Unsupported, VerifyError
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes.form import form
from nvir.passes.context import Context
from nvir.passes.driver import Driver, Settings, run_passes
from nvir.passes.registry import Pass
from nvir.passes.remarks import Remarks, analysis, passed
from nvir.passes.statistics import chrome_trace, stats_json, stats_table, time_table
from tests.passes.conftest import body, numbered

TWO = """.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 a)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;
ld.param.u64 %rd1, [a];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %r1;
add.s32 %r3, %r2, 5;
setp.eq.s32 %p1, %r1, 7;
@%p1 bra DONE;
st.global.u32 [%rd1], %r2;
DONE:
ret;
}
.visible .entry second(.param .u64 a)
{
.reg .b32 %r<9>;
mov.u32 %r1, %tid.x;
ret;
}
.visible .entry empty()
{
ret;
}
"""
SAW = analysis("Saw", "saw {blocks} blocks")


def two():
    return nvir.read_ptx(TWO)


def drive(pipeline, module=None, **settings) -> tuple[str, Context, Driver]:
    """What the driver wrote, the context, and the driver."""
    stream = io.StringIO()
    driver = Driver(Settings(stream=stream, **settings))
    ctx = driver.run(module or two(), pipeline)
    return stream.getvalue(), ctx, driver


def look(function: Function, ctx: Context) -> bool:
    """A pass that only looks."""
    ctx.count("blocks", len(function.blocks))
    ctx.remark(SAW, function.entry, blocks=len(function.blocks))
    return False


LOOK = Pass("look", look, "looks", codes=(SAW,))


# ------------------------------------------------------------------ running


def test_run_passes_changes_the_module_and_returns_remarks():
    module = two()
    remarks = nvir.run_passes(module, "copy-prop,gvn,dce", verify=True)
    assert isinstance(remarks, Remarks)
    assert [(r.pass_name, r.function, r.name) for r in remarks] == [
        ("copy-prop", "first", "Propagated"), ("dce", "first", "Removed"),
        ("dce", "second", "Removed"),
    ]
    assert "add.s32" not in nvir.print_ptx(module)


def test_an_empty_pipeline_changes_nothing():
    module = two()
    before = str(module)
    assert list(run_passes(module, "")) == []
    assert str(module) == before


def test_declarations_have_nothing_to_run_on():
    module = nvir.read_ptx(TWO.replace(".visible .entry empty()",
                           ".extern .func ext();\n.visible .entry empty()"))
    assert {r.function for r in run_passes(module, [LOOK])} == {"first", "second", "empty"}


def test_faults_in_the_request_are_found_before_anything_runs():
    module = two()
    before = str(module)
    with pytest.raises(ParseError, match="unknown pass"):
        run_passes(module, "dce,gvm")
    with pytest.raises(NvirError, match="no knob is named"):
        run_passes(module, "dce", knobs={"nope": 1})
    with pytest.raises(NvirError, match="policy"):
        run_passes(module, "dce", policy="fast")
    with pytest.raises(Unsupported, match="pass 'high' on level ori"):
        run_passes(module, ["dce", Pass("high", look, "", level="nvvm")])
    assert str(module) == before


def test_a_pass_reads_knobs_options_policy_and_profile():
    @attrs.frozen
    class Options:
        factor: int = 1

    seen = {}

    def ask(function, ctx):
        seen[function.name] = (
            ctx.knob("UnrollBudget"), ctx.knob("UnrollBudget", function.entry),
            ctx.options.factor, ctx.policy, ctx.level, ctx.profile.name,
        )
        return False

    row = Pass("ask", ask, "", options=Options)
    module = two()
    entry = module["first"].entry.name
    run_passes(module, [row], knobs={"UnrollBudget": 9, f"UnrollBudget@first:{entry}": 8},
               policy="documented", profile="sm_90")
    assert seen["first"] == (9, 8, 1, "documented", "ori", "sm_90")
    assert seen["second"][1] == 9


def test_the_profile_is_that_of_the_target_or_of_the_policy():
    names = []

    def ask(function, ctx):
        names.append(ctx.profile.name)
        return False

    for policy in ("observed", "documented"):
        run_passes(two(), [Pass("ask", ask, "")], policy=policy)
    assert names[0] == "sm_80"
    assert names[-1] == "sm_80_notes"


def test_a_module_pass_sees_the_module_once():
    units = []

    def ask(module, ctx):
        units.append(module)
        ctx.remark(SAW, blocks=0)
        return False

    module = two()
    (remark,) = run_passes(module, [Pass("ask", ask, "", codes=(SAW,), unit="module")])
    assert units == [module]
    assert remark.function == module.name


# ------------------------------------------------------------------ remarks


def test_a_remark_has_the_place_of_what_it_is_about():
    located = TWO.replace(".address_size 64", '.address_size 64\n.file 1 "x.cu"').replace(
        "mov.u32 %r2, %r1;", ".loc 1 12 3\nmov.u32 %r2, %r1;"
    )
    places = {}

    def ask(function, ctx):
        for i in function.instructions():
            ctx.remark(SAW, i, blocks=0)
            remark = ctx.remarks[-1]
            places[i.form.spelling] = (remark.file, remark.line, remark.column)
        return False

    module = nvir.read_ptx(located)
    module.name = "two.ptx"
    run_passes(module, [Pass("ask", ask, "", codes=(SAW,))])
    assert places["mov.u32"] == ("two.ptx", 22, 0)  # of `second`: no .loc, so the PTX line
    assert places["add.s32"] == ("x.cu", 12, 3)


def test_remarks_must_be_declared_and_complete():
    other = passed("Other", "{x}")

    def undeclared(function, ctx):
        ctx.remark(other, x=1)
        return False

    def incomplete(function, ctx):
        ctx.remark(SAW)
        return False

    with pytest.raises(PassError, match="does not declare remark Other"):
        run_passes(two(), [Pass("bad", undeclared, "")])
    with pytest.raises(PassError, match="remark Saw takes"):
        run_passes(two(), [Pass("bad", incomplete, "", codes=(SAW,))])


# ----------------------------------------------------------------- promises


def split(function: Function, ctx: Context) -> bool:
    """Split the first edge; changes the control flow."""
    from nvir.ir.cfg import split_edge

    if len(function.blocks) < 2:
        return False
    split_edge(function.entry, function.entry.succs[0])
    return True


def swap(function: Function, ctx: Context) -> bool:
    """Swap the two ways of a branch; no block is made."""
    last = function.entry.terminator
    if last is None or len(last.aux or ()) < 2:
        return False
    last.aux = last.aux[::-1]
    function.cfg_changed()
    return True


def clear(function: Function, ctx: Context) -> bool:
    """Changes something and denies it."""
    for i in function.instructions():
        if i.form.name == "st":
            i.erase()
    return False


@pytest.mark.parametrize(
    ("run", "message"),
    [(split, "it changed the blocks"), (swap, "it changed edges")],
)
def test_control_flow_may_change_only_where_declared(run, message):
    module = two()
    before = str(module)
    with pytest.raises(PassError, match=message):
        run_passes(module, [Pass("bad", run, "")])
    assert str(module) == before
    run_passes(module, [Pass("good", run, "", cfg=True)])
    assert str(module) != before


def test_annotations_are_renewed_after_a_pass_that_may_change_blocks():
    module = two()
    run_passes(module, [Pass("good", split, "", cfg=True), LOOK])
    f = module["first"]
    assert f.cfg_state == "fresh"
    assert set(f.rpo) == set(f.blocks)


def test_false_must_mean_unchanged_under_check():
    run_passes(two(), [Pass("bad", clear, "")])  # unchecked: the price is printing
    with pytest.raises(PassError, match="although it says that it did not"):
        drive([Pass("bad", clear, "")], check=True)


BRANCHES = body("""
    ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra B;
    st.global.u32 [%rd1], %r1;
B:  ret;
""")


def test_annotations_are_renewed_where_blocks_moved_and_kept_where_none_did():
    """Nothing notes that blocks changed places, and predecessors are listed in their order."""
    def swap(function, ctx):
        a, b, c = function.blocks
        function.blocks = [a, c, b]
        return True

    module = nvir.read_ptx(BRANCHES)
    drive([LOOK], module)
    f = module["k"]
    last = f.blocks[-1]
    assert last.preds == f.blocks[:2]
    rpo = f.rpo
    drive([Pass("same", lambda f, ctx: True, "", cfg=True)], module, check=False)
    assert f.rpo is rpo
    drive([Pass("swap", swap, "", cfg=True)], module)
    assert f.rpo is not rpo
    assert [b for b in f.blocks if b is not last] == last.preds


def test_edges_changed_behind_the_back_are_found_under_check():
    def cheat(function, ctx):
        function.entry.terminator.aux = function.entry.terminator.aux[::-1]
        return True

    with pytest.raises(PassError, match="annotations are not those of its code"):
        drive([Pass("cheat", cheat, "", cfg=True)], nvir.read_ptx(BRANCHES), check=True)


def test_the_answer_must_be_a_bool():
    with pytest.raises(PassError, match="it returned None"):
        run_passes(two(), [Pass("bad", lambda f, ctx: None, "")])


def test_broken_ir_is_found_after_the_pass_that_broke_it():
    def break_(function, ctx):
        function.entry.append(Instruction(form("ret")))  # a second terminator
        return True

    with pytest.raises(PassError) as caught:
        run_passes(two(), [LOOK, Pass("breaks", break_, "", cfg=True)], verify=True)
    assert (caught.value.pass_name, caught.value.function) == ("breaks", "first")


# ------------------------------------------------------------------ crashes


def boom(function: Function, ctx: Context) -> bool:
    for i in function.instructions():
        if i.form.name == "ret" and function.name == "second":
            raise KeyError("boom")
    clear(function, ctx)
    ctx.count("removed")
    return True


BOOM = Pass("boom", boom, "fails on the second kernel")


@pytest.fixture
def crashes(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("NVIR_CRASH_DIR", str(tmp_path / "crashes"))
    return tmp_path / "crashes"


def test_a_crash_leaves_the_module_as_before_that_pass(crashes):
    """The passes before it keep their effect, on every function."""
    module, expected = two(), two()
    run_passes(expected, "copy-prop")
    with pytest.raises(PassError) as caught:
        run_passes(module, ["copy-prop", BOOM, "dce"])
    assert str(module) == str(expected)
    assert all(f.module is module for f in module.functions)
    assert (caught.value.pass_name, caught.value.function) == ("boom", "second")
    assert "KeyError: 'boom'" in caught.value.reason
    run_passes(module, "dce", verify=True)  # and it is of use


def spoil(module: nvir.Module, ctx: Context) -> bool:
    """Change whatever a module holds, then fail."""
    f = module.functions.pop(0)
    module.target, module.aux = "sm_90", {"asm": "x"}
    module.debug.files.append((1, "x.cu", ""))
    f.flags.add("x")
    f.params[0].align = 64
    f.blocks[0].name = "other"
    for b in reversed(f.blocks):
        for i in reversed(list(b)):
            i.set_operands(())
            f.marks[i] = {"x"}
            i.remove()
    f.blocks.pop()
    raise KeyError("spoilt")


def test_after_a_crash_the_objects_are_those_of_before(crashes):
    module = two()
    text = str(module)
    f = module.functions[0]
    held = f, *f.blocks, *f.instructions()
    uses = [[str(u) for u in i.users] for i in f.instructions()]
    edits = f.edits
    with pytest.raises(PassError, match="spoilt"):
        run_passes(module, [Pass("spoil", spoil, "fails", unit="module")])
    assert str(module) == text
    now = module.functions[0]
    assert (now, *now.blocks, *now.instructions()) == held
    assert [[str(u) for u in i.users] for i in f.instructions()] == uses
    assert f.edits > edits  # what was found out meanwhile holds no more
    run_passes(module, "gvn,dce", verify=True)


def test_what_has_settled_is_left_out_until_an_edit():
    source = "define i32 @f(i32 %x, i32 %y) {{\n  %a = add i32 %x, %y\n{}  ret i32 %a\n}}\n"
    twin = "  %b = add i32 %x, %y\n  %c = mul i32 %a, %b\n  call void @g(i32 %c)\n"
    declared = "declare void @g(i32)\n"
    pipeline = "inst-combine,simplify-cfg,gvn,inst-combine,simplify-cfg"
    for text, again in ((source.format(""), []), (source.format(twin) + declared,
                                                 ["inst-combine", "simplify-cfg"])):
        driver = Driver(Settings())
        driver.run(nvir.read_ll(text), pipeline)
        ran = [t.pass_name for t in driver.timings]
        assert ran == ["inst-combine", "simplify-cfg", "gvn", *again]


def test_a_pass_is_left_out_where_nothing_that_it_is_for_is():
    source = "define void @f() {{\n{}  ret void\n}}\n"
    pipeline = "sroa,mem2reg,dce"
    for line, ran in (("", ["dce"]), ("  %a = alloca i32\n", ["sroa", "mem2reg", "dce"])):
        driver = Driver(Settings())
        driver.run(nvir.read_ll(source.format(line)), pipeline)
        assert [t.pass_name for t in driver.timings] == ran
    watching = Driver(Settings(check=True))
    watching.run(nvir.read_ll(source.format("")), pipeline)
    assert len(watching.timings) == 3


def test_a_crash_saves_the_last_good_ir_and_how_to_fail_again(crashes):
    expected = two()
    run_passes(expected, "copy-prop")
    with pytest.raises(PassError) as caught:
        run_passes(two(), ["copy-prop", BOOM], knobs={"UnrollBudget": 3})
    saved = Path(caught.value.saved)
    assert saved.is_relative_to(crashes)
    assert str(saved) in str(caught.value)
    assert numbered(nvir.parse_ir(saved.read_text())) == numbered(expected)
    report = (saved.parent / "report.txt").read_text()
    assert f"nvir opt {saved} -p boom --verify-each" in report
    assert "--knob UnrollBudget=3" in report
    assert "KeyError" in report


def test_a_failed_pass_has_said_and_counted_nothing(crashes):
    driver = Driver(Settings())
    module = two()
    with pytest.raises(PassError):
        driver.run(module, [LOOK, BOOM])
    ctx = driver.run(module, [LOOK])
    assert len(ctx.remarks) == 3


def test_unsupported_is_told_as_it_is_and_undone(crashes):
    def refuse(function, ctx):
        clear(function, ctx)
        raise Unsupported("tcgen05.mma", "sm_80")

    module = two()
    before = str(module)
    with pytest.raises(Unsupported, match=r"tcgen05\.mma on sm_80"):
        run_passes(module, [Pass("refuse", refuse, "")])
    assert str(module) == before
    assert not crashes.exists()


EMPTY_BLOCK = """module ori target sm_80
kernel @k() {
entry:
  bra L
M:
L:
  ret
}
"""


def test_a_broken_module_is_no_fault_of_the_pass(crashes):
    """It is said what is broken, and no crash folder is left."""
    module = nvir.parse_ir(EMPTY_BLOCK)
    before = str(module)
    with pytest.raises(VerifyError, match="block M is empty"):
        run_passes(module, [Pass("last", lambda f, _: f.blocks[1].last.form.is_phi, "")])
    assert str(module) == before
    assert not crashes.exists()


def test_ten_crashes_are_kept(crashes):
    for _ in range(12):
        with pytest.raises(PassError) as caught:
            run_passes(two(), [BOOM])
    kept = sorted(crashes.iterdir(), key=lambda p: p.stat().st_mtime_ns)
    assert len(kept) == 10
    assert Path(caught.value.saved).parent == kept[-1]


def test_a_folder_that_cannot_be_written_is_no_second_failure(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("NVIR_CRASH_DIR", str(blocked))
    with pytest.raises(PassError) as caught:
        run_passes(two(), [BOOM])
    assert caught.value.saved is None


# ------------------------------------------------------ bisection, skipping


def test_bisection_counts_runs_in_llvms_words():
    text, ctx, _ = drive("copy-prop,dce", opt_bisect_limit=4)
    assert text.splitlines() == [
        "BISECT: running pass (1) copy-prop on first",
        "BISECT: running pass (2) copy-prop on second",
        "BISECT: running pass (3) copy-prop on empty",
        "BISECT: running pass (4) dce on first",
        "BISECT: NOT running pass (5) dce on second",
        "BISECT: NOT running pass (6) dce on empty",
    ]
    assert {r.function for r in ctx.remarks.filter("dce")} == {"first"}


def test_bisection_without_a_limit_only_counts():
    text, ctx, _ = drive("dce", opt_bisect_limit=-1)
    assert text.count("BISECT: running") == 3
    assert len(ctx.remarks) == 2


def test_required_passes_are_neither_counted_nor_skipped():
    needed = attrs.evolve(LOOK, required=True)
    text, ctx, _ = drive([needed, "dce"], opt_bisect_limit=0, skip=("dce",))
    assert len(ctx.remarks.filter("look")) == 3
    assert "look" not in text


@pytest.mark.seed("LPI-05")
@pytest.mark.parametrize("name", ["dce", "OriPerformLiveDeadFirst"])
def test_naming_a_phase_skips_it(name):
    _, ctx, driver = drive("copy-prop,dce", skip=(name,))
    assert {t.pass_name for t in driver.timings} == {"copy-prop"}
    assert not ctx.remarks.filter("dce")


def test_an_unknown_phase_is_an_error():
    with pytest.raises(NvirError, match="no phase is named"):
        drive("dce", skip=("nothing",))


# -------------------------------------------------------------------- dumps


def test_print_after_shows_each_function_after_that_pass():
    text, _, _ = drive("copy-prop,dce", print_after=("dce",))
    assert re.findall(r"^; \*\*\* IR (.*) \*\*\*$", text, re.M) == [
        "Dump After dce on first", "Dump After dce on second", "Dump After dce on empty"
    ]
    assert "add.s32" not in text
    assert "st.global.u32" in text


def test_print_before_all_and_a_filter():
    text, _, _ = drive("copy-prop,dce", print_before=("all",), filter_funcs=("f*",))
    assert re.findall(r"^; \*\*\* IR (.*) \*\*\*$", text, re.M) == [
        "Dump Before copy-prop on first", "Dump Before dce on first"
    ]
    assert "add.s32" in text


def test_print_changed_tells_what_did_not_change():
    text, _, _ = drive("copy-prop", print_changed="on")
    heads = re.findall(r"^; \*\*\* IR (.*) \*\*\*$", text, re.M)
    assert heads == ["Dump After copy-prop on first",
                     "Dump After copy-prop on second omitted because no change",
                     "Dump After copy-prop on empty omitted because no change"]
    quiet, _, _ = drive("copy-prop", print_changed="quiet")
    assert "omitted" not in quiet
    assert quiet in text


def test_print_changed_diff_marks_lines():
    text, _, _ = drive("dce", print_changed="diff", filter_funcs=("first",))
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("-") and "add.s32" in line]
    assert not [line for line in lines if line.startswith("+")]
    assert [line for line in lines if line.startswith(" ") and "st.global" in line]


def test_the_environment_mirrors_the_settings(monkeypatch):
    monkeypatch.setenv("NVIR_DUMP", "gvn, dce")
    monkeypatch.setenv("NVIR_CHECK", "1")
    monkeypatch.setenv("NVIR_STOP_AFTER", "2")
    s = Settings.from_environment()
    assert s.print_after == ("gvn", "dce")
    assert s.check
    assert s.verify_each
    assert s.opt_bisect_limit == 2
    assert Settings.from_environment(opt_bisect_limit=7).opt_bisect_limit == 7
    monkeypatch.setenv("NVIR_STOP_AFTER", "x")
    with pytest.raises(NvirError, match="NVIR_STOP_AFTER"):
        Settings.from_environment()


# --------------------------------------------------------------- statistics


def test_statistics_and_timings():
    _, ctx, driver = drive("copy-prop,dce")
    assert dict(ctx.counters) == {"copy-prop.copies": 1, "copy-prop.phis": 0, "dce.removed": 2}
    assert json.loads(stats_json(ctx.counters)) == {"schema": "nvir.stats/1", **ctx.counters}
    assert stats_table(ctx.counters).splitlines()[0] == "1  copy-prop  copies"
    assert [(t.pass_name, t.function) for t in driver.timings] == [
        (p, f) for p in ("copy-prop", "dce") for f in ("first", "second", "empty")
    ]
    rows = time_table(driver.timings).splitlines()
    assert len(rows) == 4
    assert rows[-1].endswith("6  total")
    events = json.loads(chrome_trace(driver.timings))["traceEvents"]
    assert len(events) == 7
    assert {e["ph"] for e in events} == {"M", "X"}


def test_a_module_that_cannot_be_restored_is_said_to_be_lost(crashes, monkeypatch):
    """A pass that fails only the second time it runs cannot be replayed."""
    runs = []

    def once(function, ctx):
        runs.append(function.name)
        if len(runs) > 3:
            raise RuntimeError("not again")
        return False

    with pytest.raises(PassError, match=r"KeyError: 'boom'; the module is lost.*not again") as e:
        run_passes(two(), [Pass("once", once, ""), BOOM])
    assert e.value.pass_name == "boom"
    assert e.value.saved


def test_verify_each_without_a_pass_verifies() -> None:
    module = nvir.Module(target="sm_80")
    module.kernel("k", params=[]).block("a")  # a block without an end
    Driver(Settings()).run(module, "")
    with pytest.raises(VerifyError):
        Driver(Settings(verify_each=True)).run(module, "")
