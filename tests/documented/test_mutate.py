"""The mutation check itself: what is changed and what is left alone; a sample as a campaign."""

from __future__ import annotations

import ast

import pytest

from tests import mutate
from tests.mutate import FILES, main, mutated, mutations, source_of


@pytest.mark.parametrize(("text", "changed"), [
    ("3", "4"), ("True", "False"), ("a < b", "a <= b"), ("a == b", "a != b"),
    ("a in b", "a not in b"),
    ("a and b", "a or b"), ("a + b", "a - b"), ("not a", "a"), ("f(x)", None), ("'text'", None),
])
def test_what_a_mutation_is(text, changed):
    found = mutated(ast.parse(text, mode="eval").body)
    assert (None if found is None else ast.unparse(found)) == changed


def test_a_mutation_changes_one_place_and_no_annotation():
    every = mutations("UNR", "nvir/documented/unroll/steps.py")
    assert len(every) > 100
    first = every[0]
    lines = zip(ast.unparse(ast.parse((mutate.ROOT / first.file).read_text())).splitlines(),
                source_of(first).splitlines(), strict=True)
    assert sum(a != b for a, b in lines) == 1
    assert not any("@step" in m.text for m in every)


def test_the_command_counts_and_knows_its_rows(capsys):
    assert main(["--list", "--rows", "SET"]) == 0
    assert "mutations of 1 files" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--rows", "XYZ"])
    assert set(FILES) == {
        "UNR", "LIC", "SET", "SWP", "LAT", "PRA", "P18", "FUS", "FN", "MEM", "STR", "CAL", "ASM"}
    assert "nvir/documented/hoist/prepare.py" in FILES["LIC"]


@pytest.mark.slow
def test_a_sample_of_mutations_is_noticed(capsys):
    main(["--count", "20", "--seed", "3"])
    told = capsys.readouterr().out.splitlines()[-1]
    assert int(told.split()[0]) >= 17, told
