"""Schedules in files: what `nvir schedule --json` writes, and what a person writes by hand.

    {"schema": "nvir.schedule/1", "function": "saxpy", "loop": "$L__BB0_2", "ii": 12,
     "operations": [{"instruction": 2, "ptx": "ld.global.nc.f32", "time": 0}, …]}

`instruction` counts the loop's instructions from 0, phis aside; `time` is the cycle in which it
starts, iteration 0's first at 0 or later. An instruction of several operations starts with the
first. What is not listed goes where its operands are. A file may hold one schedule or a list.

A schedule is checked before anything is changed: each entry must name the instruction that stands
there, and no instruction may start before what it depends on.
"""

from __future__ import annotations

from typing import Any

import attrs

from nvir.ir.document import json_document, read_file
from nvir.ir.errors import Diagnostic, ParseError
from nvir.passes.loop.pipeline.body import Body, Staged, by_times

SCHEMA = "nvir.schedule/1"


class ScheduleFileError(ParseError):
    """A file that holds no schedule, or one that does not fit its loop."""

    def __init__(self, file: str, message: str) -> None:
        super().__init__(Diagnostic(message, file))


@attrs.frozen
class ScheduleEntry:
    """The start of an instruction: its number in the loop, its spelling, the cycle."""

    instruction: int
    ptx: str
    time: int


@attrs.frozen
class FileSchedule:
    """One schedule of a file."""

    function: str
    loop: str
    ii: int
    entries: tuple[ScheduleEntry, ...]
    file: str

    def wrong(self, message: str) -> ScheduleFileError:
        return ScheduleFileError(self.file, message)


def read_schedules(path: str) -> list[FileSchedule]:
    """The schedules of a file. Raises ParseError for anything else."""
    try:
        made = json_document(read_file(path), path)
    except OSError as e:
        raise ScheduleFileError(path, str(e.strerror or e)) from None
    items = made if isinstance(made, list) else [made]
    if not items:
        raise ScheduleFileError(path, "the list holds no schedule")
    return [_schedule(x, path) for x in items]


def _schedule(x: Any, path: str) -> FileSchedule:
    if not isinstance(x, dict) or x.get("schema") != SCHEMA:
        raise ScheduleFileError(path, f'a schedule is an object with "schema": "{SCHEMA}"')
    entries = _field(x, "operations", list, path)
    ii = _field(x, "ii", int, path)
    if ii < 1:
        raise ScheduleFileError(path, f"ii is {ii}, and has to be 1 or more")
    return FileSchedule(
        _field(x, "function", str, path), _field(x, "loop", str, path), ii,
        tuple(_entry(e, k, path) for k, e in enumerate(entries)), path,
    )


def _entry(x: Any, k: int, path: str) -> ScheduleEntry:
    where = f"operation {k}: "
    if not isinstance(x, dict):
        raise ScheduleFileError(path, f"{where}not an object")
    made = ScheduleEntry(
        _field(x, "instruction", int, path, where), _field(x, "ptx", str, path, where),
        _field(x, "time", int, path, where),
    )
    if made.time < 0:
        raise ScheduleFileError(path, f"{where}starts at {made.time}, before cycle 0")
    return made


def _field(x: dict[str, Any], key: str, type: type, path: str, where: str = "") -> Any:
    value = x.get(key)
    if not isinstance(value, type) or isinstance(value, bool):
        kinds = {int: "an integer", str: "a string", list: "a list"}
        raise ScheduleFileError(path, f'{where}"{key}" has to be {kinds[type]}, not {value!r}')
    return value


def staged_by(body: Body, given: FileSchedule) -> Staged:
    """The stages of a body by a file's schedule. Raises ParseError where it does not fit."""
    every = [i for i in body.block if not i.form.is_phi]
    times: dict[Any, int] = {}
    for e in given.entries:
        if not 0 <= e.instruction < len(every):
            raise given.wrong(
                f"loop {given.loop} has {len(every)} instructions, and none of number "
                f"{e.instruction}"
            )
        i = every[e.instruction]
        if i.form.spelling != e.ptx:
            raise given.wrong(
                f"instruction {e.instruction} of loop {given.loop} is {i.form.spelling}, "
                f"not {e.ptx}"
            )
        times[i] = min(e.time, times.get(i, e.time))
    for a, b, distance in body.deps:
        first, second = body.nodes[a], body.nodes[b]
        if first not in times or second not in times:
            continue
        if times[second] + distance * given.ii < times[first]:
            behind = f" of {distance} iterations before" if distance else ""
            raise given.wrong(
                f"instruction {every.index(second)} ({second.form.spelling}) of loop {given.loop} "
                f"starts at {times[second]}, before instruction {every.index(first)} "
                f"({first.form.spelling}){behind}, which starts at {times[first]}"
            )
    found = by_times(body, times, given.ii)
    if found is None:
        raise given.wrong(
            f"loop {given.loop}: what the exit test is made of has to be in stage 0"
        )
    return found
