"""Random pipelines of level ori: passes, options, knobs, policy.

    recipe = random_recipe(random.Random(7))
    recipe.chain       ("loop-simplify", "licm<id=2>", "print", ...)
    recipe.knobs       (("UnrollBudget", 20), ...)
    recipe.policy      "observed" or "documented"

A chain is a pipeline text, step by step, in which round trips may stand (differential.py). Half
of the chains begin with what loop passes need, and what a pass needs often stands before it.
Passes that do little unless they are told to have the option that tells them, mostly. Every
option of every pass is drawn, and every knob that a drawn pass reads.
"""

from __future__ import annotations

import random
import typing
from collections.abc import Iterator
from typing import Any

import attrs

from nvir.ir.errors import NvirError
from nvir.passes import Pass, all_passes
from nvir.passes.knobs import Knob, Policy, all_knobs
from nvir.passes.pipeline import PRESETS, parse_pipeline
from nvir.passes.presets_loops import loops

ROUND_TRIPS = ("print", "text", "clone", "shuffle")
_CANONICAL = ("loop-simplify", "loop-simplify,loop-rotate", "copy-prop,loop-simplify,loop-rotate")
_OFTEN = {  # (pass, option): values, and how often one is given
    ("loop-pipeline", "force"): (("true",), 0.8),
    ("loop-pipeline", "depth"): (("1", "2", "3", "4"), 0.97),  # else it simulates: seconds
    ("loop-fuse", "apply"): (("false",), 0.1),
    ("split-live-ranges", "limit"): (("1", "6", "12", "20"), 0.8),
    ("strength-reduce", "pressure"): (("0", "16", "1000"), 0.3),
    ("loop-unroll", "force-factor"): (("2", "3", "4", "8"), 0.3),
    ("loop-unroll", "factor"): (("0", "1", "2", "3", "4", "7"), 0.3),
    ("gemm-pipeline", "stages"): (("2", "3", "4"), 0.9),
    ("licm", "id"): (("0", "1", "2", "3"), 0.8),
}
_RANGES = ((3, 108), (18, 66), (3, 35))  # of phases
# the presets without what simulates; the whole ones are drawn now and then
_FAST = ("clean", "emission", *(loops(*r).replace(",loop-pipeline", "") for r in _RANGES))
_LEAD = {  # what often stands before a pass, for it needs what that makes
    "loop-fuse": "loop-simplify,loop-rotate,loop-simplify", "gemm-pipeline": "loop-rotate",
    "loop-pipeline": "loop-rotate", "split-live-ranges": "loop-simplify",
    "loop-peel": "loop-simplify", "loop-unroll": "loop-rotate", "strength-reduce": "loop-simplify",
}
_ENABLED = {"loop-fuse": "PerformLoopFusion", "gemm-pipeline": "GemmPipelinerEnabled"}
NOT_DRAWN = ("schedule", "dump", "loop")  # options that name files or loops, or print
_NUMBERS = ("0", "1", "2", "3", "4", "8", "20", "64", "400")
_WEIGHT = {  # else 4
    "loop-pipeline": 3, "unroll-decision": 1, "licm": 10, "loop-unroll": 9, "loop-fuse": 5,
    "stage-and-fence": 1, "gemm-pipeline": 2, "dce": 3, "loop-simplify": 2, "loop-rotate": 3,
    "copy-prop": 3, "phi-moves": 3, "loop-peel": 5,
}
_FACTORS = ("-", "+", "-2-", "+2+", "+3+", "-1-+4+")


@attrs.frozen
class Recipe:
    """What is done to a kernel."""

    chain: tuple[str, ...]
    knobs: tuple[tuple[str, Any], ...] = ()
    policy: Policy = "observed"


def random_recipe(rng: random.Random, favoured: str = "") -> Recipe:
    """A recipe that nvir takes: its pipeline reads and its knobs are in range. It begins with the
    `favoured` pass in half of the cases."""
    chain = random_chain(rng, rng.randint(1, 8))
    if favoured and rng.random() < 0.5:
        chain = (*_LEAD[favoured].split(","), random_step(rng, all_passes()[favoured]), *chain)
    names = {s.pass_.name for s in parse_pipeline(",".join(passes_of(chain)))}
    readable = [k for k in all_knobs() if not names.isdisjoint(k.readers)]
    knobs = {}
    if rng.random() < 0.5:
        for k in rng.sample(readable, min(len(readable), rng.randint(1, 4))):
            knobs[k.name] = random_value(rng, k)
    for name, knob in _ENABLED.items():
        if name in names and rng.random() < 0.8:
            knobs[knob] = 1
    return Recipe(chain, tuple(sorted(knobs.items())), rng.choice(("observed", "documented")))


def passes_of(chain: tuple[str, ...]) -> Iterator[str]:
    """The steps that are no round trips."""
    return (step for step in chain if step not in ROUND_TRIPS)


def random_chain(rng: random.Random, length: int) -> tuple[str, ...]:
    """Steps: any passes of level ori with any options, presets, and round trips."""
    passes = [p for p in all_passes().values() if p.level in ("ori", "both")]
    weights = [_WEIGHT.get(p.name, 4) for p in passes]
    steps: list[str] = []
    if rng.random() < 0.5:
        steps += rng.choice(_CANONICAL).split(",")
    for _ in range(length):
        chance = rng.random()
        if chance < 0.15:
            steps.append(rng.choice(ROUND_TRIPS))
        elif chance < 0.2:
            steps.append(rng.choice(_FAST))
        elif chance < 0.203:
            steps.append(rng.choice(sorted(PRESETS)))
        else:
            chosen = rng.choices(passes, weights)[0]
            if rng.random() < 0.6 and not any(s.startswith("loop-rotate") for s in steps[-3:]):
                steps += filter(None, _LEAD.get(chosen.name, "").split(","))
            steps.append(random_step(rng, chosen))
    if rng.random() < 0.5:
        steps.append("print")  # leaving SSA is the hardest step
    return tuple(steps)


def random_step(rng: random.Random, chosen: Pass) -> str:
    """A pass with some of its options; what it refuses is left out."""
    options: list[str] = []
    for o in chosen.option_table().values():
        if o.key in NOT_DRAWN:
            continue
        values, chance = _OFTEN.get((chosen.name, o.key), (_values(o.type), 0.25))
        if not values or rng.random() >= chance:
            continue
        option = f"{o.key}={rng.choice(values)}"
        try:
            parse_pipeline(f"{chosen.name}<{';'.join((*options, option))}>")
        except NvirError:
            continue
        options.append(option)
    return chosen.name + (f"<{';'.join(options)}>" if options else "")


def _values(type: Any) -> tuple[str, ...]:
    if type is bool:
        return ("true", "false")
    if type in (int, int | None):
        return _NUMBERS
    return tuple(v for v in typing.get_args(type) if isinstance(v, str))


def random_value(rng: random.Random, knob: Knob) -> Any:
    """A value that the knob takes."""
    if knob.choices:
        return rng.choice(knob.choices)
    if knob.type == "BOOL":
        return rng.random() < 0.5
    if knob.type == "STR":
        return rng.choice(_FACTORS)
    if knob.type == "SET":
        return ""
    numbers = (0, 1, 2, 3, 4, 8, 20, 60, 140, 1000)
    if knob.type != "INT":
        numbers = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 10.0, 100.0)  # type: ignore[assignment]
    high = min(knob.high, 60) if knob.name.endswith("Factor") else knob.high  # copies of a body
    return rng.choice([n for n in numbers if knob.low <= n <= high])
