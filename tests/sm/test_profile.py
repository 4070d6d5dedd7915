"""Profiles: complete, sourced, and what they say of pipes, latencies and resource bounds."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvir.ir.document import json_place
from nvir.ir.errors import NvirError, ParseError, Unsupported
from nvir.sm.profile import (
    PROFILES,
    RegisterBanks,
    multiply_adds,
    profile,
    profile_for,
    resource_bound,
)

REAL = PROFILES[:8]
FOLDER = Path(__file__).parents[2] / "nvir" / "sm" / "profiles"
DATA = Path(__file__).parents[2].parent / "shared" / "data" / "sm_data.json"


# -- the built-in ones


@pytest.mark.parametrize("name", PROFILES)
def test_every_figure_has_a_source_that_is_spelled_out(name):
    """A source starts with a key of `sources`, so that nobody has to guess what it means."""
    machine = profile(name)
    sections = {at.split(".")[0] for at in machine.figure_sources}
    assert sections == {"pipes", "units", "latency", "machine", "memory", "occupancy", "banks"}
    for at, source in machine.figure_sources.items():
        key = source.replace(":", " ").replace(";", " ").replace(",", " ").split()[0]
        assert key in machine.sources, f"{name}: {at}: {source}"


@pytest.mark.parametrize("name", PROFILES)
def test_every_unit_is_reachable_and_every_family_has_a_pipe(name):
    machine = profile(name)
    for family, unit in machine.families.items():
        if unit in machine.units:
            operation = machine.operation(family)
            assert operation.unit == unit
            assert operation.pipes or unit == "nothing"
            assert machine.latency(family) >= 1
        else:
            with pytest.raises(Unsupported, match=family.split(".")[0]):
                machine.operation(family)
    assert set(machine.units) <= set(machine.families.values())
    used = {pipe for unit in machine.units.values() for pipe in unit.pipes}
    assert used == set(machine.pipes)


@pytest.mark.parametrize("name", REAL)
def test_real_machines_issue_one_warp_instruction_a_cycle(name):
    machine = profile(name)
    assert machine.issue_width == 1
    assert machine.operation("MOV").pipes == ("ALU", "FMA")
    assert machine.operation("IADD").pipes == ("ALU", "FMA")
    assert machine.operation("MUFU.RCP").pipes == ("SFU",)
    assert machine.pipes["LSU"].shared
    assert machine.operation("LDG.E").interval == 4
    assert machine.operation("LDG.E").variable
    assert not machine.operation("FFMA").variable


def test_slow_fp64_is_shared_by_the_sm():
    """Two lanes an SM: a warp takes 16 cycles, four sub-partitions wait for each other."""
    for name in ("sm_75", "sm_86", "sm_89", "sm_120"):
        assert profile(name).pipes["DFMA"].shared
        assert profile(name).operation("DFMA").interval == 64
    for name, interval in (("sm_70", 4), ("sm_80", 4), ("sm_90", 2), ("sm_100", 2)):
        assert not profile(name).pipes["DFMA"].shared
        assert profile(name).operation("DFMA").interval == interval


@pytest.mark.parametrize(
    ("producer", "consumer", "guard", "cycles"),
    [
        ("IADD3", "LOP3.LUT", False, 4),
        ("FFMA", "FFMA", False, 4),
        ("IADD3", "FFMA", False, 5),
        ("FFMA", "IADD3", False, 5),
        ("IMAD.HI.U32", "IADD3", False, 5),
        ("IMAD.HI.U32", "IMAD.HI.U32", False, 6),
        ("IMAD.WIDE", "LDG.E", False, 5),
        ("IMAD.WIDE", "IMAD", False, 4),
        ("MOV", "LDC", False, 4),
        ("UIADD3", "STG.E", False, 9),
        ("ISETP.GE.AND", "BRA", True, 13),
        ("ISETP.GE.AND", "SEL", False, 4),
        ("IADD3", "LDG.E", False, 5),
        ("IADD3", "MUFU.RCP", False, 4),
    ],
)
def test_fixed_latencies_of_ampere(producer, consumer, guard, cycles):
    assert profile("sm_80").latency(producer, consumer, guard=guard) == cycles


def test_latencies_that_differ_between_architectures():
    assert profile("sm_75").latency("ISETP", guard=True) == 12
    assert profile("sm_90").latency("DFMA", "DFMA") == 8
    assert profile("sm_120").latency("ISETP", "SEL") == 5
    assert profile("sm_80").latency("LDG.E", level="l2") == 200
    assert profile("sm_90").latency("LDG.E", level="dram") == 690
    with pytest.raises(NvirError, match="l3"):
        profile("sm_80").latency("LDG.E", level="l3")


def test_intervals_agree_with_the_measured_data():
    """What ptxas was seen to leave between independent instructions of one warp.

    Left out are those where the machine, and not ptxas's idea of it, decides: FP64 on two lanes an
    SM, and queues that sm_120 has before its special-function units.
    """
    if not DATA.exists():
        pytest.skip(f"{DATA} is not there")
    measured = json.loads(DATA.read_text())["ptxas13_issue_interval"]
    family = {"F2F.f16": "F2FP", "LDS.32": "LDS", "HFMA2.BF16": "HFMA2.BF16_V2"}
    compared = 0
    for name, by_arch in measured.items():
        for arch, entry in by_arch.items():
            if entry is None or entry["interval"] is None or name == "FFMA2":
                continue
            machine = profile(arch)
            operation = machine.operation(family.get(name, name))
            if operation.interval == 64 or (operation.variable and arch == "sm_120"):
                continue
            if name == "I2F" and not entry["scoreboarded"]:
                operation = machine.operation("I2FP")
            if name == "F2F.f16" and entry["scoreboarded"]:
                operation = machine.operation("F2F.F16.F32")
            rate = operation.interval / len(operation.pipes)
            if name.startswith("HFMA2"):  # ptxas alternates two instructions on two pipes
                rate = operation.interval
            assert rate == entry["interval"], (name, arch)
            compared += 1
    assert compared > 120


def test_matrix_intervals_follow_the_shape():
    """A100: 8 cycles for 16816, 4 for TF32 1684, 16 for DMMA; a GeForce needs more for f32 sums."""
    ampere = profile("sm_80")
    assert ampere.operation("HMMA.16816.F32").interval == 8
    assert ampere.operation("HMMA.1688.F16").interval == 4
    assert ampere.operation("HMMA.1684.F32.TF32").interval == 4
    assert ampere.operation("HMMA.1688.F32.TF32").interval == 8
    assert ampere.operation("IMMA.16816.U8.U8").interval == 4
    assert ampere.operation("DMMA.884").interval == 16
    assert profile("sm_86").operation("HMMA.16816.F16").interval == 16
    assert profile("sm_86").operation("HMMA.16816.F32").interval == 32
    hopper = profile("sm_90")
    assert hopper.operation("HGMMA.64x256x16.F32").interval == 128
    assert hopper.operation("HGMMA.64x64x16.F32").interval == 32
    assert multiply_adds("HMMA.88128") == 8 * 8 * 128
    assert multiply_adds("FFMA") == 0


def test_what_a_machine_lacks_is_unsupported_by_name():
    with pytest.raises(Unsupported, match=r"HGMMA.*sm_80"):
        profile("sm_80").operation("HGMMA.64x64x16")
    with pytest.raises(Unsupported, match="FROB"):
        profile("sm_80").operation("FROB.X")
    assert not profile("sm_70").has("UIADD3")
    assert profile("sm_75").has("UIADD3")


def test_modifiers_choose_the_family_in_any_order():
    machine = profile("sm_80")
    assert machine.operation("IMAD.WIDE.U32").unit == "imad_wide"
    assert machine.operation("IMAD.MOV.U32").unit == "imad"
    assert machine.operation("IADD3.X").unit == "alu"
    assert machine.operation("HFMA2.MMA").unit == "fp16_mma"


# -- names


@pytest.mark.parametrize("alias", ["sm_90", "sm_90a", "compute_90", "sm_90f"])
def test_targets_share_one_cached_profile(alias):
    assert profile(alias) is profile("sm_90")


@pytest.mark.parametrize(
    ("name", "near"),
    [("sm_81", "sm_80"), ("sm_87", "sm_86"), ("sm80", "sm_80"), ("sm_103", "sm_100"),
     ("notes", "sm_80_notes")],
)
def test_an_unknown_name_is_refused_with_near_ones(name, near):
    with pytest.raises(NvirError, match=f"nearest: {near}"):
        profile(name)


@pytest.mark.parametrize(
    ("target", "stands_in"),
    [
        ("sm_87", "sm_86"),
        ("sm_103a", "sm_100"),
        ("sm_121", "sm_120"),
        ("sm_52", "sm_70"),
        ("sm_72", "sm_70"),
        ("sm_110", "sm_100"),
        ("sm_80", "sm_80"),
        ("sm_80_notes", "sm_80_notes"),
    ],
)
def test_a_target_without_profile_has_a_stand_in(target, stands_in):
    assert profile_for(target).name == stands_in


# -- resource bounds


@pytest.mark.seed("SWP-11", "SWP-13", "GAP-22", "GAP-57")
def test_the_worked_example_of_the_notes():
    """8 FP32 and 3 global loads: 8/4 = 2 and 3/2, so 2; the real machine needs 16 and 12."""
    body = ["FFMA"] * 8 + ["LDG.E"] * 3
    notes = resource_bound(profile("sm_80_notes"), body)
    assert (notes.cycles, notes.exact, notes.pipe) == (2, 2, "FMA")
    assert resource_bound(profile("sm_80_notes"), body[8:]).exact == Fraction(3, 2)
    assert (resource_bound(profile("sm_80"), body).cycles) == 16
    hopper = resource_bound(profile("sm_90"), body)
    assert (hopper.cycles, hopper.pipe) == (12, "LSU")


@pytest.mark.seed("SWP-13", "GAP-24")
def test_the_widths_of_the_notes():
    machine = profile("sm_80_notes")
    widths = {name: pipe.units for name, pipe in machine.pipes.items()}
    assert widths == {
        "ALU": 4, "FMA": 4, "DFMA": 1, "MMA": 1, "LSU": 2, "TEX": 1, "BRA/SMEM": 1, "SFU": 1,
    }
    assert machine.issue_width is None
    assert all(unit.interval == 1 for unit in machine.units.values())
    assert machine.operation("HMMA.16816.F32").pipes == ("MMA",)


def test_alternatives_share_the_load():
    """Four adds and four moves on two pipes of interval 2: 8 cycles, not 16."""
    machine = profile("sm_80")
    bound = resource_bound(machine, ["MOV"] * 8)
    assert (bound.cycles, bound.pipe) == (8, "ALU+FMA")
    assert resource_bound(machine, ["MOV"] * 4 + ["LOP3"] * 4).cycles == 8
    assert resource_bound(machine, ["MOV"] * 2 + ["LOP3"] * 6).pipe == "ALU"


def test_issue_binds_where_no_pipe_does():
    bound = resource_bound(profile("sm_86"), ["FFMA", "FFMA", "BRA", "LOP3", "NOP"])
    assert (bound.cycles, bound.pipe) == (5, "issue")
    assert resource_bound(profile("sm_80"), []).cycles == 1


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["MOV", "LOP3", "IMAD", "FFMA", "LDS", "MUFU"]), max_size=7))
def test_the_bound_is_the_best_assignment_up_to_whole_operations(body):
    """Against all assignments: never above the best one, and within one operation of it."""
    machine = profile("sm_86")
    operations = [machine.operation(name) for name in body]

    def longest(choice):
        load = dict.fromkeys(machine.pipes, 0)
        for operation, pipe in zip(operations, choice, strict=True):
            load[pipe] += operation.interval
        return max(len(body), *load.values())

    best = min(map(longest, product(*(operation.pipes for operation in operations))))
    bound = resource_bound(machine, body)
    assert bound.exact <= max(best, 1)
    assert best <= bound.cycles + 2


# -- register banks


@pytest.mark.seed("PRA-05", "GAP-28")
def test_bank_cascade_at_its_bounds():
    """r = B[k] - 1 and r = B[k] fall into neighbouring classes."""
    banks = profile("sm_80_notes").banks
    for k in range(1, 7):
        below, there = banks.classify(banks.bounds[k] - 1), banks.classify(banks.bounds[k])
        assert below == (k - 1, banks.bounds[k] - 1 - banks.bounds[k - 1])
        assert there == (k, 0)
    assert banks.classify(0) == (0, 0)
    assert banks.classify(255)[0] == 6


@pytest.mark.seed("PRA-06")
def test_the_tensor_gate_is_a_key_of_the_profile(tmp_path):
    mine = write(tmp_path, {"extends": "sm_80_notes", "title": "gate",
                            "banks": {"tensor_mode": 1, "tensor_blocked": True}})
    known, made = profile("sm_80_notes").banks, profile(mine).banks
    assert (known.tensor_mode, known.tensor_blocked) == (0, False)
    assert (made.tensor_mode, made.tensor_blocked, made.bounds) == (1, True, known.bounds)
    wrong = write(tmp_path, {"extends": "sm_80", "title": "gate", "banks": {"tensor_mode": -1}})
    with pytest.raises(ParseError, match=r"banks\.tensor_mode"):
        profile(wrong)


@pytest.mark.seed("GAP-28")
def test_pipe_widths_cannot_be_bank_bounds():
    with pytest.raises(NvirError, match="rising"):
        RegisterBanks((4, 4, 1, 1, 2, 1, 1))


# -- users' files


def write(tmp_path, data):
    path = tmp_path / "mine.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_a_file_states_only_what_differs(tmp_path):
    path = write(
        tmp_path,
        {
            "title": "wide",
            "extends": "sm_80",
            "pipes": {"SFU": {"units": 2, "src": "a guess"}},
            "occupancy": {"max_blocks_per_sm": 7},
        },
    )
    machine = profile(path)
    assert (machine.name, machine.title) == ("mine", "wide")
    assert machine.pipes["SFU"].units == 2
    assert machine.limits.max_blocks_per_sm == 7
    assert machine.figure_sources["occupancy.max_blocks_per_sm"] == str(path)
    assert machine.latency("FFMA") == profile("sm_80").latency("FFMA")
    assert profile(str(path)).title == "wide"


def test_a_file_may_stand_alone(tmp_path):
    def merged(name):
        data = json.loads((FOLDER / f"{name}.json").read_text())
        if "extends" not in data:
            return data
        base = merged(data.pop("extends"))
        return {
            k: {**base[k], **data.get(k, {})} if isinstance(base[k], dict) else data.get(k, base[k])
            for k in {**base, **data}
            if k in base
        } | {k: v for k, v in data.items() if k not in base}

    machine = profile(write(tmp_path, merged("sm_90")))
    assert machine.limits == profile("sm_90").limits
    assert machine.units == profile("sm_90").units


BASE = {"title": "t", "extends": "sm_80"}


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"title": "t"}, "capability: missing key; what differs from another profile stands"),
        ({"title": "t"}, "banks: missing key\n"),
        ({**BASE, "extends": "sm_8"}, "no profile 'sm_8'; nearest: sm_"),
        ({**BASE, "extends": ["sm_80"]}, "extends"),
        ({**BASE, "ocupancy": {}}, "unknown key, did you mean 'occupancy'"),
        ({**BASE, "occupancy": {"warp_size": None}}, "occupancy.warp_size: missing key"),
        ({**BASE, "occupancy": {"warp_size": "32"}}, "occupancy.warp_size: not an integer: '32'"),
        ({**BASE, "occupancy": {"warp_size": True}}, "occupancy.warp_size: not an integer"),
        ({**BASE, "occupancy": {"warp_size": 0}}, "occupancy.warp_size: less than 1: 0"),
        ({**BASE, "occupancy": {"warp_size": 33}}, "max_threads_per_sm: 2048 is no multiple"),
        ({**BASE, "occupancy": {"warps": 3}}, "occupancy.warps: unknown key"),
        ({**BASE, "occupancy": {"shared_carveouts": 5}}, "shared_carveouts: not a list"),
        ({**BASE, "occupancy": []}, "occupancy: not an object"),
        ({**BASE, "pipes": {"ALU": {"units": -1}}}, "pipes.ALU.units: less than 1: -1"),
        ({**BASE, "pipes": {"ALU": {"units": 1025}}}, "pipes.ALU.units: more than 1,024: 1025"),
        ({**BASE, "pipes": {"ALU": None}}, "no pipe 'ALU'"),
        ({**BASE, "units": {"fma": {"pipes": ["FMX"], "interval": 2}}}, "did you mean 'FMA'"),
        ({**BASE, "pipes": None}, "pipes: every profile needs it, and it is taken"),
        ({**BASE, "capability": None}, "capability: every profile needs it, and it is taken"),
        ({**BASE, "units": {"fma": {"class": 7}}}, "units.fma.class: unknown key, it is kinds"),
        ({**BASE, "kinds": {"fma": {"interval": 7}}}, "kinds.fma.interval: unknown key, it is"),
        ({**BASE, "pipes": {"FMA": {"class": 7}}}, "pipes.FMA.class: unknown key\n"),
        ({**BASE, "units": {"new": {"pipes": ["FMA"]}}}, "units.new.interval: missing key"),
        ({**BASE, "units": {"fma": {"pipes": None}}}, "units.fma.pipes: missing key"),
        ({**BASE, "units": {"fma": 3}}, "units.fma: not an object"),
        ({**BASE, "latency": {"new": {"to": {}}}}, "latency.new.to.any: missing key"),
        ({**BASE, "latency": {"fma": None}}, "latency.fma: missing key, needed by units"),
        ({**BASE, "latency": {"new": {"levels": {"l1": 3}, "to": {"any": 3}}}}, "levels.l2"),
        ({**BASE, "families": {"more": ["FFMA"]}}, "families.more: FFMA is also in fma"),
        ({**BASE, "memory": {"l1_kib": -3}}, "memory.l1_kib: not a positive number"),
        ({**BASE, "banks": {"bounds": [1, 2]}}, "banks.bounds"),
        ("[1, 2]", "no JSON object"),
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_file_is_refused_by_key(tmp_path, data, named):
    path = write(tmp_path, data)
    with pytest.raises(ParseError) as caught:
        profile(path)
    assert named in str(caught.value)
    assert str(path) in str(caught.value)


def test_all_errors_of_a_file_are_reported(tmp_path):
    data = {
        **BASE,
        "occupancy": {"warp_size": 0, "max_blocks_per_sm": "x"},
        "memory": {"l1_kib": 0},
    }
    with pytest.raises(ParseError) as caught:
        profile(write(tmp_path, data))
    assert len(caught.value.errors) == 3


def test_a_syntax_error_has_its_place(tmp_path):
    with pytest.raises(ParseError) as caught:
        profile(write(tmp_path, '{"title": "t",\n "extends" "sm_80"}'))
    assert (caught.value.line, caught.value.column) == (2, 12)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(NvirError, match="cannot read"):
        profile(tmp_path / "none.json")
    with pytest.raises(NvirError, match="cannot read"):
        profile(tmp_path)
    binary = tmp_path / "b.json"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParseError, match="UTF-8"):
        profile(binary)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(
        [
            "pipes",
            "units",
            "latency",
            "machine",
            "memory",
            "occupancy",
            "banks",
            "families",
            "sources",
            "title",
            "capability",
            "extends",
        ]
    ),
    st.sampled_from(["ALU", "fma", "issue_width", "l1_kib", "warp_size", "bounds", "src"]),
    values,
    st.booleans(),
)
def test_any_json_is_a_profile_or_an_nvir_error(tmp_path_factory, section, key, value, nested):
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    path.write_text(json.dumps({**BASE, section: {key: value} if nested else value}))
    try:
        machine = profile(path)
    except NvirError:
        return
    assert machine.limits.max_warps_per_sm >= 1


def test_errors_of_a_file_are_told_at_their_keys(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"extends": "sm_80", "title": "a \\" {",\n'
                    ' "pipes": {"ALU": {"units": 0}, "A.B": {"units": 1.5}},\n'
                    ' "units": {"int": {"interval": 2, "pipes": ["ALU",\n   3]}},\n'
                    ' "occupancy": {"max_blocks_per_sm": -1}}')
    with pytest.raises(ParseError) as e:
        profile(str(file))
    assert [(d.line, d.col, d.message.split(":")[0]) for d in e.value.errors] == [
        (2, 20, "profile key pipes.ALU.units"), (2, 41, "profile key pipes.A.B.units"),
        (4, 4, "profile key units.int.pipes[1]"),
        (5, 16, "profile key occupancy.max_blocks_per_sm"),
    ]
    assert e.value.errors[2].source == "   3]}},"


def test_a_key_that_is_missing_is_told_where_it_belongs() -> None:
    text = '{"a": [\n  {"b": 1}]}'
    found = json_place(text, "a[0].c.d", "no", "f")
    assert (found.line, found.col) == (2, 3)
    assert json_place(text, "z", "no", "f").line == 0
