"""`nvir machine`: a profile, the list of them, the difference of two, a profile of one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import main
from nvir.sm.profile import profile

MINE = {"title": "mine", "extends": "sm_80_notes", "classes": {"6": "ALU"},
        "pipes": {"LSU": {"units": 3, "src": "a guess"}}}


def nvir_(*words: str):
    return CliRunner().invoke(main, ["machine", *words])


def test_the_list_names_every_profile():
    assert [x.split()[0] for x in nvir_().output.splitlines()][-1] == "sm_80_notes"
    assert {"name", "title"} == set(json.loads(nvir_("--json").output)["profiles"][0])


@pytest.mark.seed("SWP-12", "SWP-13", "LAT-02", "LAT-03")
def test_a_profile_shows_pipes_classes_and_sources():
    text = nvir_("sm_80_notes").output
    rows = [" ".join(x.split()) for x in text.splitlines()]
    assert "LSU 2 NOTES: width 2" in rows
    assert "26 LSU 33 global loads" in rows
    assert "4 DFMA – a pipe without a class" in rows
    assert "0x49 atomic" in rows
    assert any(r.startswith("occupancy.max_blocks_per_sm 32 OCC") for r in rows)
    assert "classes by opcode number" not in nvir_("sm_90").output  # the notes' alone
    body = json.loads(nvir_("sm_80_notes", "--json").output)
    assert body["schema"] == "nvir.machine/1"
    assert body["pipes"]["ALU"]["units"] == 4
    assert {"first": 35, "last": 35, "operations": "integer multiply", "assumed": ""} in body[
        "opcodes"]
    assert body["classes"]["8"] == "SFU"


def test_two_profiles_are_compared_key_by_key(tmp_path: Path):
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(MINE))
    body = json.loads(nvir_("sm_80_notes", str(mine), "--json").output)
    assert {d["key"]: d["values"] for d in body["differences"]} == {
        "name": ["sm_80_notes", "mine"], "pipes.LSU.units": [2, 3], "classes.6": ["TEX", "ALU"],
        "title": [body["differences"][1]["values"][0], "mine"],
    }
    assert "pipes.LSU.units" in nvir_("sm_80_notes", str(mine)).output
    assert nvir_("sm_80", "sm_80").output == "sm_80 and sm_80 are equal\n"
    assert json.loads(nvir_("sm_80", "sm_80", "--json").output)["differences"] == []


def test_a_profile_is_called_by_the_name_that_its_file_says(tmp_path: Path):
    mine = tmp_path / "mine.json"
    for said, name in ((None, "mine"), ("my chip", "my chip")):
        mine.write_text(json.dumps(MINE | ({"name": said} if said else {})))
        assert nvir_("sm_80_notes", str(mine)).output.splitlines()[0].split() == [
            "key", "sm_80_notes", *name.split()]
        assert nvir_(str(mine)).output.startswith(f"{name}: mine\n")
        assert json.loads(nvir_(str(mine), "--json").output)["name"] == name
    mine.write_text(json.dumps(MINE | {"name": 7}))
    assert "name: not a name: 7" in nvir_(str(mine)).output


@pytest.mark.parametrize(("own", "apart"), [
    ({"units": {"fma": {"interval": 9}}}, ["units.fma.interval"]),
    ({"latency": {"fma": {"to": {"any": 9}}}}, ["latency.fma.to.any"]),
    ({"units": {"hmma_k16": {"interval": 9}}}, ["units.hmma_k16.rate", "units.hmma_k16.interval"]),
    ({"machine": {"max_stall": 7}}, ["machine.max_stall"]),
])
def test_a_derived_profile_changes_one_field_and_is_its_source(tmp_path: Path, own, apart):
    """An interval stands for the rate that the base gives it by."""
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"extends": "sm_80", **own}))
    rows = nvir_("sm_80", str(mine)).output.splitlines()[1:]
    assert [r.split()[0] for r in rows] == apart
    assert profile(str(mine)).units["fma"].src == (
        str(mine) if "fma" in own.get("units", {}) else profile("sm_80").units["fma"].src)


def test_what_a_profile_leaves_out_is_told_as_it_is_read(tmp_path: Path):
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(MINE | {"banks": {"tensor_mode": 1}}))
    rows = [r.split() for r in nvir_("sm_80_notes", str(mine)).output.splitlines()]
    assert ["banks.tensor_mode", "0", "1"] in rows
    rows = [r.split() for r in nvir_("sm_80", "sm_80_notes").output.splitlines()]
    assert ["pipes.ALU.units", "1", "4"] in rows
    assert ["pipes.LSU.shared", "True", "False"] in rows


def test_a_profile_extends_the_file_beside_it(tmp_path: Path):
    mine, more = tmp_path / "mine.json", tmp_path / "deeper" / "more.json"
    more.parent.mkdir()
    mine.write_text(json.dumps(MINE))
    more.write_text(json.dumps({"extends": "../mine.json", "banks": {"tensor_mode": 2}}))
    made = profile(str(more))
    assert (made.banks.tensor_mode, made.pipes["LSU"].units) == (2, 3)
    rows = nvir_(str(mine), str(more)).output.splitlines()[1:]
    assert [r.split()[0] for r in rows] == ["banks.tensor_mode"]
    mine.write_text(json.dumps(MINE | {"extends": "deeper/more.json"}))
    assert "extends: deeper/more.json extends this file" in nvir_(str(more)).output
    mine.write_text(json.dumps(MINE | {"extends": "none.json"}))
    assert "cannot read profile" in nvir_(str(more)).output


@pytest.mark.parametrize(("name", "near"), [
    ("nonsense", "'nonsense' (all: "), ("notes", "'notes'; nearest: sm_80_notes (all: "),
    ("sm_81", "'sm_81'; nearest: sm_80, sm_86, sm_89 (all: "),
])
def test_only_names_alike_are_near(name: str, near: str):
    run = nvir_(name)
    assert run.exit_code == 2
    assert f"no machine profile for {near}" in run.output


@pytest.mark.parametrize("name", ["sm_80", "sm_80_notes", "sm_100", "mine"])
def test_what_json_prints_is_a_profile(tmp_path: Path, name: str):
    mine, whole = tmp_path / "mine.json", tmp_path / "whole.json"
    mine.write_text(json.dumps(MINE))
    named = str(mine) if name == "mine" else name
    whole.write_text(nvir_(named, "--json").output)
    body = json.loads(nvir_(named, str(whole), "--json").output)
    assert body["differences"] == []
    changed = json.loads(whole.read_text())
    changed["pipes"]["LSU"]["units"] = 9
    whole.write_text(json.dumps(changed))
    body = json.loads(nvir_(named, str(whole), "--json").output)
    assert body["differences"][0]["key"] == "pipes.LSU.units"


def test_sources_of_the_noted_profile_name_the_classes_that_units_have():
    machine = profile("sm_80_notes")
    for name, unit in machine.units.items():
        for code in re.findall(r"NOTES: (?:class|classes) (\d+)(?: and (\d+))?", unit.src):
            said = [int(c) for c in code if c]
            if len(said) == 1:
                assert unit.latency_class in said, name


@pytest.mark.parametrize(("classes", "message"), [
    ({"6": "ALUU"}, "classes.6: no pipe 'ALUU', did you mean 'ALU'?"),
    ({"6": {"pipe": "ALU"}}, "classes.6: no pipe {'pipe': 'ALU'}"),
    ({"x": "ALU"}, "classes.x: no number of a latency class"),
    ({"99": "ALU"}, "classes.99: no latency class (known: 1, 4, 6, 7, 8, 9, 10, 11, 12, 14, 16, "),
    ({"5": "ALU"}, "classes.5: no latency class (known: 1, 4, 6, "),
])
def test_a_wrong_table_of_classes_is_told(tmp_path: Path, classes: dict, message: str):
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(MINE | {"classes": classes}))
    run = nvir_(str(mine))
    assert run.exit_code == 1
    assert message in run.output
    assert nvir_("sm_99999").exit_code == 2


@pytest.mark.parametrize(("text", "message"), [
    ('{"extends": "sm_80", "units": {"alu": null}}',
     "units.alu: missing key, needed by latency class 6"),
    ('{"extends": "sm_90", "units": {"xu": null}}',
     "units.xu: missing key, needed by latency class 8"),
    ('{"extends": "sm_80_notes", "opcodes": []}',
     "opcodes: the families of the notes are rules, no figures of a profile"),
    ('{"extends": "sm_80", "schema": "foo"}', "schema: not 'nvir.machine/1': 'foo'"),
    ('{"extends": "sm_80", "title": 5}', "title: not a name: 5"),
    ('{"extends": "sm_80", "kinds": {"alu": {"class": 99}}}',
     "kinds.alu.class: no latency class 99"),
    ('{"extends": "sm_80", "title": "a", "title": "b"}',
     "the key 'title' stands twice in one object"),
])
def test_a_wrong_profile_is_told(tmp_path: Path, text: str, message: str):
    mine = tmp_path / "mine.json"
    mine.write_text(text)
    run = nvir_(str(mine))
    assert run.exit_code == 1
    assert message in run.output


def test_phase_24_follows_a_profile_of_ones_own(tmp_path: Path):
    """Three simple operations on a pipe of width 1, or on one of width 4."""
    from nvir.sm.latency import class_resource_bound
    from nvir.sm.profile import profile

    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(MINE))
    assert class_resource_bound([6, 6, 6], profile("sm_80_notes")) == 3
    assert class_resource_bound([6, 6, 6], profile(str(mine))) == 1
    assert class_resource_bound([26] * 3, profile(str(mine))) == 1
