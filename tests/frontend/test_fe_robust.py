"""Wrong trees give errors with places, never a traceback; deep ones are no problem."""

from __future__ import annotations

import copy
import json
import random

import pytest
from fe_judges import module_of
from fe_random import Program

from nvir.frontend import build as b
from nvir.frontend.check import check
from nvir.frontend.irgen import generate
from nvir.frontend.tree import types as t
from nvir.frontend.tree.json_form import from_json, to_json
from nvir.frontend.tree.layout import size_of
from nvir.ir.errors import NvirError

i, out = b.names("i out")


def nodes_of(data):
    """Every dict and list in JSON data, with the key that leads to it."""
    found, work = [], [data]
    while work:
        at = work.pop()
        items = at.items() if isinstance(at, dict) else enumerate(at)
        for key, value in list(items):
            found.append((at, key, value))
            if isinstance(value, dict | list):
                work.append(value)
    return found


WORDS = ["+", "<<", "%", "!", "x", "int", "float", "void", "", "shared", "<", "&&", "="]


def mutate(data, rng):
    places = nodes_of(data)
    at, key, value = rng.choice(places)
    r = rng.random()
    if r < 0.3:
        other = rng.choice(places)[2]
        at[key] = copy.deepcopy(other)
    elif r < 0.5 and isinstance(at, dict):
        del at[key]
    elif r < 0.7 and isinstance(value, str):
        at[key] = rng.choice(WORDS)
    elif r < 0.8 and isinstance(value, int):
        at[key] = rng.choice([0, 1, -1, 3, 1 << 40, -(1 << 70)])
    elif isinstance(value, list) and value:
        rng.choice([value.pop, value.reverse, lambda: value.append(value[0])])()


def attempt(data):
    try:
        generate(check(from_json(data)))
    except NvirError:
        return False
    return True


def mutated(seeds, trusted=False):
    good = 0
    for seed in seeds:
        rng = random.Random(seed)
        data = to_json(Program(seed % 40).unit)
        if trusted:
            data["trusted"] = True
        for _ in range(rng.randint(1, 3)):
            mutate(data, rng)
        good += attempt(json.loads(json.dumps(data)))
    return good


@pytest.mark.parametrize("trusted", [False, True])
def test_mutated_trees_give_errors_of_nvir_alone(trusted):
    assert mutated(range(15), trusted) > 0


@pytest.mark.parametrize("bits", [-1, 0, 32, 33, 1 << 40])
def test_a_bit_field_is_no_wider_than_its_type(bits):
    record = t.Record("Pixel")
    record.set_fields([t.Field("", t.UINT, bits), t.Field("red", t.UINT, 8)])
    if 0 <= bits <= 32:
        assert size_of(record) == (8 if bits == 32 else 4)
    else:
        with pytest.raises(NvirError, match=f"bit-field '' has {bits} bits: .* has 32"):
            size_of(record)


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [False, True])
def test_many_mutated_trees(trusted):
    mutated(range(1000, 5000), trusted)


def test_deep_trees_generate():
    e = i
    for _ in range(2000):
        e = e + i
    nested = b.assign(out[0], e)
    body = b.stmt(nested)
    for _ in range(400):
        body = b.if_(i, body)
    module = module_of(b.unit(b.kernel("k", "int *out, int i", body)))
    assert sum(x.form.name == "add" for x in module["k"].instructions()) == 2000


def test_unchecked_trees_are_told():
    tree = b.unit(b.kernel("k", "int *out, int i", b.assign(out[0], i)))
    with pytest.raises(NvirError):
        generate(tree)
