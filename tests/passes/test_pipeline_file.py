"""Schedules out of `nvir schedule --json` and into loop-pipeline, and hand-written ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nvir
from nvir.ir.errors import ParseError
from nvir.ir.loops import natural_loops
from nvir.report.schedule.figures import schedule_json
from nvir.sm import profile
from nvir.sm.loopgraph import loop_graph
from nvir.sm.schedule.loops import schedule_loop
from tests.equivalence import same_behaviour

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n) {
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; mov.u32 %r2, 0; mov.u32 %r3, 0;
L: ld.global.nc.u32 %r5, [%rd1]; add.u32 %r6, %r5, %r2; xor.b32 %r3, %r3, %r6;
st.global.u32 [%rd2+64], %r3; add.s64 %rd1, %rd1, 4; add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;
st.global.u32 [%rd2], %r3; ret; }
"""
HAND = [  # number, spelling, time: the load two stages ahead of its use
    (0, "ld.global.nc.u32", 0), (1, "add.u32", 20), (2, "xor.b32", 24), (3, "st.global.u32", 28),
    (4, "add.s64", 1), (5, "add.u32", 2),
]


def document(entries: list[tuple[int, str, int]], **more: Any) -> dict[str, Any]:
    return {
        "schema": "nvir.schedule/1", "function": "k", "loop": "L", "ii": 10,
        "operations": [{"instruction": i, "ptx": p, "time": t} for i, p, t in entries], **more,
    }


def apply(tmp_path: Path, made: Any) -> tuple[nvir.Module, list[Any]]:
    file = tmp_path / "s.json"
    file.write_text(made if isinstance(made, str) else json.dumps(made))
    module = nvir.read_ptx(TEXT)
    found = nvir.run_passes(module, f"loop-pipeline<schedule={file}>", verify=True)
    return module, list(found)


def test_a_hand_written_schedule_is_applied(tmp_path: Path) -> None:
    module, remarks = apply(tmp_path, document(HAND))
    assert [r.name for r in remarks] == ["Scheduled"]
    assert remarks[0].args["stages"] == 3
    assert same_behaviour(nvir.read_ptx(TEXT), module, "k", 1)


def test_our_own_schedules_are_applied(tmp_path: Path) -> None:
    module = nvir.read_ptx(TEXT)
    f = module.functions[0]
    f.analyze_cfg()
    made = schedule_loop(loop_graph(natural_loops(f)[0], profile("sm_80"), level="l2"))
    after, remarks = apply(tmp_path, schedule_json(made, "k"))
    assert remarks[0].args["ii"] == made.ii
    assert remarks[0].args["stages"] >= 3
    assert same_behaviour(nvir.read_ptx(TEXT), after, "k", 2)


def test_all_stages_of_the_modulo_schedule() -> None:
    module = nvir.read_ptx(TEXT)
    (remark,) = nvir.run_passes(module, "loop-pipeline<stages=all>", verify=True)
    assert remark.name == "Scheduled"
    assert same_behaviour(nvir.read_ptx(TEXT), module, "k", 3)


def changed(k: int, entry: tuple[int, str, int]) -> dict[str, Any]:
    return document([*HAND[:k], entry, *HAND[k + 1 :]])


WRONG = {
    "not JSON": ("{", "not JSON"),
    "schema": ({"schema": "other"}, "a schedule is an object"),
    "none": ([], "the list holds no schedule"),
    "no interval": (document(HAND, ii="x"), '"ii" has to be an integer'),
    "interval 0": (document(HAND, ii=0), "1 or more"),
    "no loop": (document(HAND, loop="M"), "k has no loop M"),
    "no function": (document(HAND, function="q"), "there is no function q with a body"),
    "number": (changed(0, (40, "ld.global.nc.u32", 0)), "none of number 40"),
    "spelling": (changed(0, (0, "ld.global.u32", 0)), "is ld.global.nc.u32, not ld.global.u32"),
    "negative": (changed(0, (0, "ld.global.nc.u32", -1)), "before cycle 0"),
    "too early": (changed(1, (1, "add.u32", -0)), None),
    "before its operand": (
        changed(0, (0, "ld.global.nc.u32", 25)), r"instruction 1 \(add.u32\) .* starts at 20, "
        r"before instruction 0 \(ld.global.nc.u32\), which starts at 25",
    ),
    "before the last iteration": (
        changed(2, (2, "xor.b32", 24)) | {"operations": [
            {"instruction": 2, "ptx": "xor.b32", "time": 5},
            {"instruction": 3, "ptx": "st.global.u32", "time": 2}]}, "before instruction 2",
    ),
    "late test": (changed(5, (5, "add.u32", 15)), None),
    "one stage": (document([]), "one stage"),
    "a typo of zeros": (changed(3, (3, "st.global.u32", 2_800_000)), "operations are too many"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_schedule_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, message = WRONG[name]
    if message is None:  # harmless: moved to where it can be
        module, _ = apply(tmp_path, made)
        assert same_behaviour(nvir.read_ptx(TEXT), module, "k", 1)
        return
    monkeypatch.setenv("NVIR_CRASH_DIR", str(tmp_path / "crashes"))
    with pytest.raises(ParseError, match=message) as caught:
        apply(tmp_path, made)
    assert str(caught.value).startswith(f"{tmp_path / 's.json'}:")
    assert not (tmp_path / "crashes").exists()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="No such file"):
        nvir.run_passes(nvir.read_ptx(TEXT), f"loop-pipeline<schedule={tmp_path}/none>")
