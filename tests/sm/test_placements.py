"""Where the scheduler behind allocation puts the operations of small bodies, on what it was given.

Bodies of random operations on few registers, an interval and a stage for each operation, on a
machine that issues one a cycle, on the noted one, and with the tensor gate open. The file beside
has cycles, stages, pipes, routes, records and what is live in which stage;
`python -m tests.sm.test_placements` prints it.
"""

from __future__ import annotations

import difflib
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from nvir.assembler.postra import LoopCode, PhysicalOp
from nvir.assembler.postra.code import reg_name
from nvir.assembler.postra.dependences import Dependence, dependences, register_carried
from nvir.assembler.postra.place import Placement, place
from nvir.assembler.postra.schedule import in_order
from nvir.sm.profile import Profile, profile
from tests.sm.test_post_ra import code, op

GOLDEN = Path(__file__).with_name("placements.txt")
READS = {"LDG.E": 1, "LDS": 1, "FFMA": 3, "IADD3": 2, "IMAD": 3, "MUFU.RCP": 1, "STG.E": 2}
BODIES = 60


def machines() -> list[Profile]:
    plain, noted = profile("sm_80"), profile("sm_80_notes")
    banks = attrs.evolve(noted.banks, bounds=(-5, -4, -3, 2, 3, 4, 12), tensor_mode=1)
    return [plain, noted, attrs.evolve(noted, banks=banks)]


def random_body(rng: random.Random, machine: Profile) -> LoopCode:
    """Up to seven operations on eight registers, or on those and one each for their results, a
    chain; some are read behind the loop."""
    own, found = rng.random() < 0.6, list[PhysicalOp]()
    for n in range(rng.randint(2, 7)):
        family = rng.choice(list(READS))
        numbers = [rng.randint(2, 9) for _ in range(READS[family])]
        if own and n and rng.random() < 0.8:  # a chain
            numbers[rng.randrange(len(numbers))] = 9 + n
        reads = " ".join(f"R{k}" for k in numbers)
        writes = f"R{10 + n if own else rng.randint(2, 9)}"
        found.append(op(family, "" if family == "STG.E" else writes, reads))
    counted = rng.random() < 0.6
    if not counted:
        found.append(op("BRA", "", "", f"P{rng.randint(0, 1)}", "branch"))
    behind = frozenset(("R", rng.randint(2, 12)) for _ in range(rng.randint(0, 2)))
    order = ((0, len(found) - 1, 2, rng.randint(0, 1)),) if rng.random() < 0.3 else ()
    return code(*found, profile=machine, live_out=behind, counted=counted, order=order)


def starts(c: LoopCode, found: list[Dependence], ii: int) -> list[int] | None:
    """The earliest cycles that all dependences allow, None where there are none."""
    times = [0] * len(c.operations)
    for _ in range(len(times) + 1):
        before = list(times)
        for d in found:
            ready = times[d.source] + d.cycles - d.distance * ii
            times[d.target] = max(times[d.target], ready)
        if times == before:
            return times
    return None


def cases() -> Iterator[tuple[str, LoopCode, list[Dependence], list[int], Placement | None]]:
    for k in range(BODIES):
        rng = random.Random(k)
        machine = machines()[k % 3]
        c = random_body(rng, machine)
        found = dependences(c)
        ii, at = next((n, at) for n in range(1, 999) if (at := starts(c, found, n)) is not None)
        ii += rng.choice((-1, 0, 0, 1, 1, 4))  # too small, as it has to be, and larger
        ii = max(ii, 1)
        at = starts(c, found, ii) or at
        stages = [t // ii for t in at]
        mask = (1 << max(stages) + 1) - 1 if k % 5 else 1
        slots = [t % ii for t in at] if k % 4 else None
        made = place(c, found, ii, stages, mask, slots=slots)
        yield f"body {k}, II {ii}, mask {mask:b}", c, found, stages, made


def told() -> Iterator[str]:
    for name, c, found, stages, made in cases():
        yield f"== {name}"
        yield from (f"  {d.text(c)}" for d in found)
        alone = in_order(c, found)
        yield f"  in order: II {alone.ii}, mask {alone.mask:b}, " + ", ".join(
            f"{r.cycle} on {r.pipe or 'none'}" for _, r in sorted(alone.records.items()))
        for rows in register_carried(found, stages, 0, max(stages)).values():
            yield from (f"  carried {row}" for row in rows)
        if made is None:
            yield "  does not fit"
            continue
        for n, r in sorted(made.records.items()):
            yield f"  {c.operations[n]}: {', '.join(map(str, attrs.astuple(r)))}"
        for what, live in (("live", made.liveness), ("behind", made.behind)):
            yield from (f"  {what} {reg_name(r)} {row.live_in:b} {row.live_out:b}"
                        for r, row in sorted(live.items()))
        yield from (f"  stage {s.stage}: {list(s.operations)}" for s in made.slots)


@pytest.mark.seed("PRA-02", "PRA-03", "PRA-04", "PRA-05", "PRA-06", "PRA-07", "PRA-08", "PRA-10")
def test_where_operations_of_small_bodies_are_put():
    was, now = GOLDEN.read_text("utf-8").splitlines(), list(told())
    assert list(difflib.unified_diff(was, now, "was", "now", n=1, lineterm="")) == []
    assert any("does not fit" in x for x in now)
    for route in ("MODULO", "BANK", "TENSOR"):
        assert any(f"Route.{route}" in x for x in now)


@pytest.mark.seed("PRA-10")
def test_what_is_put_keeps_its_dependences_and_its_stage():
    """Also what the judge of whole schedules does not see: a mask of a single stage."""
    for _, _, found, stages, made in cases():
        if made is None:
            continue
        at = {n: r.cycle for n, r in made.records.items()}
        assert all(made.mask >> stages[n] & 1 and t // made.ii == stages[n] for n, t in at.items())
        for d in found:
            if d.source in at and d.target in at and d.source != d.target:
                assert at[d.target] + d.distance * made.ii >= at[d.source] + d.cycles


if __name__ == "__main__":
    sys.stdout.write("\n".join(told()) + "\n")
