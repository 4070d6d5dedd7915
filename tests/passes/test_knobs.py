"""The knob table and the values of a run."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import nvir
import nvir.passes
from nvir.cli import main
from nvir.ir.errors import NvirError
from nvir.passes.knobs import INT_MAX, KnobKind, Knobs, all_knobs, knob, rot13
from nvir.passes.registry import all_passes

NEST = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r4, 0;
OUT:
mov.u32 %r3, 0;
IN:
div.s32 %r5, %r1, 7;
xor.b32 %r4, %r4, %r5;
add.s32 %r3, %r3, 1;
setp.lt.s32 %p1, %r3, %r1;
@%p1 bra IN;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p2, %r2, %r1;
@%p2 bra OUT;
st.global.u32 [%rd1], %r4; ret;
}
"""

ROOT = Path(nvir.passes.__file__).parent
COVERAGE = Path(__file__).parents[2].parent / "shared" / "coverage.md"

# (row, name, type, default) of the unrolling knobs that the notes give a default for
NOTED = {
    "UnrollBudget": ("INT", 140), "UnrollFlexableFullLimit": ("FLOAT", 0.25),
    "UnrollUnknownCount": ("INT", 4), "UnrollSmallLoopLimit": ("INT", 4),
    "LoopUnrollLargePartOfShaderPct": ("DOUBLE", 0.4), "UnrollInstLimit": ("FLOAT", 20.0),
    "UnrollPregThreshold": ("INT", 50), "UnrollExtraInstPerPercentSaving": ("INT", 2),
    "UnrollFullInstLimit": ("INT", 200), "LoopUnrollNumExtraInstBase": ("INT", 46),
    "LoopUnroll": ("BOOL", True), "LoopUnrollFactor": ("INT", 0),
    "inner-nounroll-penalty-scale": ("DOUBLE", 0.5), "HoistBudget": ("FLOAT", 10.0),
    "HoistConservativeScale": ("INT", 10), "HoistTexToInstRatioHigh": ("DOUBLE", 0.045),
    "MovWeightForSinkingHoisting": ("DOUBLE", 0.25), "PerformLoopFusion": ("INT", 0),
    "GemmPipelinerEnabled": ("BOOL", False), "max-aggr-lower-size": ("INT", 128),
    "aggressive-max-aggr-lower-size": ("INT", 256), "LoopInversion": ("BOOL", True),
    "HoistCBOLoadIDOMTravseLimit": ("INT", 4), "LoopInversionBudget": ("INT", None),
}

NUMBERS = {
    487: "LoopMakeSingleEntry", 437: "LoopUnroll", 896: "LoopUnrollFactor",
    427: "LoopUnrollFactorBlocks", 429: "LoopUnrollFactorStepL", 894: "LoopUnrollNonInnermost",
    895: "EpilogueLoopUnrollCount", 897: "UnrollMultiBlockLoops", 900: "LoopUnrollNumInstTex",
    902: "UnrollVariableBounds", 903: "DisablePartialUnrollOverflowCheck", 91: "block-nounroll",
    483: "HoistBudget", 482: "HoistLoopInvBudget", 380: "HoistConservativeScale",
    381: "HoistLate", 484: "mover-enable", 499: "licm-enable", 220: "multi-depth-hoist",
    934: "UseNewLoopInvariantRoutineForHoisting", 519: "PerformLoopFusion",
    520: "PerformLoopFusionBudget", 898: "inner-nounroll-penalty-scale",
}


def test_names_and_numbers_are_unique():
    names = [k.name for k in all_knobs()]
    assert len(set(names)) == len(names)
    numbers = {k.number: k.name for k in all_knobs() if k.number is not None}
    assert numbers == NUMBERS


def test_every_coverage_row_is_entered():
    rows = {k.row for k in all_knobs()}
    assert rows == {f"KNB-{n:02d}" for n in range(1, 93)}


def test_names_agree_with_the_coverage_list():
    """Where the list gives a plain name, the table has it under that row."""
    if not COVERAGE.exists():
        pytest.skip("the coverage list is not beside the project")
    by_row: dict[str, set[str]] = {}
    for k in all_knobs():
        by_row.setdefault(k.row, set()).add(k.name)
    row_of = re.compile(r"^\| (KNB-\d+) \| \[.\] \| `([\w-]+)` \| (\w+)", re.M)
    listed = row_of.findall(COVERAGE.read_text())
    assert len(listed) > 70
    for row, name, kind in listed:
        assert name in by_row[row]
        wanted = {"DBL": "DOUBLE"}.get(kind, kind)
        if wanted in ("BOOL", "INT", "FLOAT", "DOUBLE", "STR"):
            assert knob(name).type == wanted, name


@pytest.mark.seed("UNR-03")
@pytest.mark.parametrize("name", NOTED)
def test_noted_defaults(name):
    kind, default = NOTED[name]
    assert knob(name).type == kind
    assert Knobs(policy="documented").get(name) == default


@pytest.mark.seed("GAP-58")
def test_every_default_is_a_value_that_the_knob_takes():
    for k in all_knobs():
        for value in (k.default, k.observed, k.later):
            if value is not None:
                assert k.read(value) == value, k.name


@pytest.mark.seed("GAP-58")
def test_a_knob_is_read_or_says_why_not():
    for k in all_knobs():
        assert bool(k.readers) != bool(k.inert), k.name
        assert k.meaning


@pytest.mark.seed("GAP-58")
def test_readers_really_read():
    """`readers` is what the sources of the passes show: a name in a call of `knob`, or in a table
    of a file that has such a call."""
    named: dict[str, set[str]] = {}
    policies = (ROOT / "loop" / "observed.py", ROOT.parent / "documented" / "policy.py")
    for path in (*ROOT.rglob("*.py"), policies[1]):
        text = path.read_text()
        asked_by = ("loop-unroll", "licm") if path in policies else (path.stem.replace("_", "-"),)
        for name in re.findall(r"""\.knob\(\s*["']([^"']+)["']""", text):
            assert not knob(name).inert, f"{name} is read, yet marked inert"
        if ".knob(" in text:
            for name in re.findall(r"""["']([\w-]+)["']""", text):
                named.setdefault(name, set()).update(asked_by)
    generation = (ROOT.parent / "compiler.py").read_text()
    for k in all_knobs():
        for reader in k.readers:
            if reader == "irgen":  # the front end takes options, which nvir.compiler sets
                assert f'.get("{k.name}")' in generation
                continue
            assert reader in all_passes()
            assert reader in named.get(k.name, ()), f"{reader} does not read {k.name}"


@pytest.mark.parametrize("policy", ["observed", "documented"])
def test_what_nothing_reads_under_a_policy_is_not_read(policy, monkeypatch):
    """Whatever is looked at, be it in place of another knob that is unset, acts when it is set."""
    read = set()
    get = Knobs.get

    def noted(self, name, **at):
        read.add(name)
        return get(self, name, **at)

    monkeypatch.setattr(Knobs, "get", noted)
    readers = sorted({r for k in all_knobs() if k.policy for r in k.readers})
    assert {"loop-unroll", "licm"} <= set(readers)
    nvir.run_passes(nvir.read_ptx(NEST), ",".join(["loop-simplify", *readers]), policy=policy)
    silent = {k.name for k in all_knobs() if k.is_silent(policy)}
    assert not read & silent
    assert "LoopUnrollFactor" in read


def test_a_knob_that_no_noted_step_reads_warns(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(NEST)
    for k in (k for k in all_knobs() if k.idle):
        for policy in ("documented", "observed"):
            ran = CliRunner().invoke(main, [
                "opt", str(path), "-p", "loops", "--policy", policy, "--knob", f"{k.name}=1"])
            warned = f"warning: knob {k.name} changes nothing: {k.idle}" in ran.stderr
            assert warned == (policy == "documented")
            told = json.loads(CliRunner().invoke(main, [
                "knobs", k.name, "--policy", policy, "--json"]).stdout)
            silent = policy == "documented" or k.policy == "documented"
            assert [x["silent"] for x in told["knobs"]] == [silent]
    assert sum(bool(k.idle) for k in all_knobs()) == 3


@pytest.mark.parametrize("policy", ["observed", "documented"])
def test_a_factor_that_a_knob_gives_acts(policy):
    module = nvir.read_ptx(NEST)
    remarks = nvir.run_passes(
        module, "loop-simplify,loop-unroll", knobs={"LoopUnrollFactor": 3}, policy=policy)
    assert [r.args["factor"] for r in remarks if "factor" in r.args and r.loop == "IN"] == [3]


def test_observed_defaults_differ_where_the_real_tool_does():
    assert Knobs(policy="observed").get("memmove-unroll-threshold") == 16
    assert Knobs(policy="documented").get("memmove-unroll-threshold") == 128


@pytest.mark.seed("KNB-70", "KNB-86")
def test_later_passes_have_their_own_default():
    knobs = Knobs()
    assert [knobs.get("HoistLoopInvBudget", pass_id=n) for n in range(4)] == [22, 100, 100, 100]
    assert [knobs.get("NestedHoistInnerThreshold", pass_id=n) for n in (0, 1)] == [22, 100]
    knobs.set("HoistLoopInvBudget", 7)
    assert knobs.get("HoistLoopInvBudget", pass_id=2) == 7


@pytest.mark.seed("LPI-03")
def test_a_block_beats_the_module_and_that_beats_the_default():
    knobs = Knobs({"HoistLate": 1, "HoistLate@$L__BB0_2": 3, "HoistLate@k:$L__BB0_2": 0})
    assert knobs.get("HoistLate") == 1
    assert knobs.get("HoistLate", block="$L__BB0_1", function="k") == 1
    assert knobs.get("HoistLate", block="$L__BB0_2", function="other") == 3
    assert knobs.get("HoistLate", block="$L__BB0_2", function="k") == 0
    assert Knobs().get("HoistLate", block="$L__BB0_2") is None


@pytest.mark.seed("LPI-04", "GAP-45")
def test_kinds_are_read_back_with_the_right_type():
    knobs = Knobs({"UnrollBudget": "7", "UnrollInstLimit": "0.1", "LoopUnrollLargePartOfShaderPct":
                   "0.1", "LoopUnrollFactorBlocks": "-3-", "LoopUnroll": "off"})
    names = ("UnrollBudget", "UnrollInstLimit", "LoopUnrollLargePartOfShaderPct",
             "LoopUnrollFactorBlocks", "HoistBudget")
    kinds = [knobs.kind(n) for n in names]
    assert kinds == [KnobKind.INT, KnobKind.FLOAT, KnobKind.DOUBLE, KnobKind.TEXT, 0]
    assert [int(k) for k in KnobKind][:4] == [0, 1, 2, 3]
    assert knobs.get("UnrollBudget") == 7
    assert knobs.get("LoopUnroll") is False
    assert knobs.get("LoopUnrollLargePartOfShaderPct") == 0.1
    assert knobs.get("UnrollInstLimit") == struct.unpack("<f", struct.pack("<f", 0.1))[0] != 0.1


@pytest.mark.seed("GAP-45")
def test_an_alias_is_read_while_unset():
    knobs = Knobs({"LoopUnrollFactor": 3})
    assert knobs.get("LoopUnrollFactorStepL") == 3
    knobs.set("LoopUnrollFactorStepL", 2)
    assert (knobs.get("LoopUnrollFactorStepL"), knobs.get("LoopUnrollFactor")) == (2, 3)


@pytest.mark.seed("KNB-17")
def test_a_set_of_names():
    assert Knobs().get("byval-names") == frozenset()
    assert Knobs.parse(["byval-names=f, g"]).get("byval-names") == {"f", "g"}


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(NvirError, match="did you mean UnrollBudget"):
        Knobs.parse(["UnrolBudget=3"])
    with pytest.raises(NvirError, match="did you mean UnrollBudget"):
        knob("unrollbudget")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("UnrollBudget=x", "takes an integer, not 'x'"),
        ("UnrollBudget=1.5", "takes an integer"),
        ("UnrollBudget=-1", "takes a number from 0 to"),
        (f"UnrollBudget={INT_MAX + 1}", "takes a number from 0 to 2147483647"),
        ("LoopUnroll=maybe", "takes true or false"),
        ("UnrollInstLimit=nan", "takes a finite number"),
        ("UnrollInstLimit=1e40", "takes a finite number"),
        ("HoistConservativeScale=0", "takes a number from 1"),
        ("HoistLate=4", "takes one of 0, 1, 2, 3"),
        ("UnrollBudget", "NAME=VALUE"),
        ("UnrollBudget@=3", "block after '@' is missing"),
    ],
)
def test_values_are_checked(setting, message):
    with pytest.raises(NvirError, match=re.escape(message)):
        Knobs.parse([setting])


def test_overrides_copy_the_values():
    knobs = Knobs({"UnrollBudget": 7, "HoistLate@b": 3})
    assert Knobs(knobs.overrides()).overrides() == {"UnrollBudget": 7, "HoistLate@b": 3}


def test_a_wrong_policy_is_an_error():
    with pytest.raises(NvirError, match="policy"):
        Knobs(policy="fast")  # type: ignore[arg-type]


@pytest.mark.seed("LPI-07")
def test_names_are_stored_as_rot13():
    assert knob("UnrollBudget").encoded == "HaebyyOhqtrg"
    assert rot13("HaebyyOhqtrg") == "UnrollBudget"


@given(st.integers(0, INT_MAX))
def test_integers_round_trip_in_any_base(n):
    for text in (str(n), hex(n)):
        assert Knobs.parse([f"UnrollBudget={text}"]).get("UnrollBudget") == n


READ = {
    "KNB-07": 128, "KNB-08": 256, "KNB-09": True, "KNB-31": 0.25, "KNB-39": 46, "KNB-48": 0,
    "KNB-49": 0, "KNB-50": 0, "KNB-51": 0, "KNB-52": 0, "KNB-53": 0, "KNB-77": 0, "KNB-78": None,
    "KNB-79": 1, "KNB-80": None, "KNB-82": 80, "KNB-83": 0.045, "KNB-84": 0.03, "KNB-90": 0.25,
    "KNB-10": True, "KNB-24": None, "KNB-25": None, "KNB-63": None, "KNB-64": None,
    "KNB-65": None, "KNB-66": None,
}


@pytest.mark.seed(*READ)
def test_rows_that_ask_only_for_a_default():
    by_row = {k.row: k for k in all_knobs()}
    assert {row: Knobs().get(by_row[row].name) for row in READ} == READ


OBSERVED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n, .param .u64 t) {{
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [t]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;
mov.u32 %r3, %tid.x; mov.u32 %r4, 0; mov.f32 %f5, 0f00000000;
xor.b32 %r6, %r1, 7; xor.b32 %r7, %r3, 9;
L: {}
add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
st.global.u32 [%rd1], %r4; st.global.f32 [%rd1+4], %f5; ret; }}
"""
AROUND = ("mov.u32 %r5, 0; ld.global.nc.u32 %r10, [%rd2]; IN: add.s32 %r4, %r4, %r10; "
          "add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, %r3; @%p2 bra IN;")
BETWEEN = ("setp.eq.s32 %p2, %r2, %r3; @%p2 bra M; mad.lo.s32 %r10, %r6, %r7, %r6; "
           "add.s32 %r4, %r4, %r10; st.global.u32 [%rd1+8], %r4; M:")
FETCH = ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd2, {%r2}]; add.f32 %f5, %f5, %f1;"
         + "mad.lo.s32 %r4, %r4, %r3, %r4;" * 60)


@pytest.mark.seed("KNB-38", "KNB-69", "KNB-70")
@pytest.mark.parametrize(("name", "small", "body", "acts", "stays"), [
    ("HoistBudget", 0.01, AROUND, "Hoisted", "NotProfitable"),
    ("HoistLoopInvBudget", 0.001, BETWEEN, "Hoisted", "NotProfitable"),
    ("UnrollFullInstLimit", 10, FETCH, "PartiallyUnrolled", "NotUnrolledNoFactor"),
])
def test_what_noted_budgets_decide_under_policy_observed(name, small, body, acts, stays):
    """Where their texts say: loops around others, blocks between, a body with a fetch."""
    assert not knob(name).is_silent("observed")
    run = "loop-simplify,licm<id=0>" if name.startswith("Hoist") else "loop-simplify,loop-unroll"
    for knobs, told in (({}, acts), ({name: small}, stays)):
        made = nvir.run_passes(nvir.read_ptx(OBSERVED.format(body)), run, knobs=knobs)
        assert told in [r.name for r in made]
