"""The tests that say which rows of the coverage list they show, held to the list."""

from __future__ import annotations

import pytest

from tests.provenance import PROVENANCE
from tests.seeds import LIST, listed, main, marked

COMPLETE = (
    "IR", "LPI", "P18", "UNR", "LIC", "SET", "FUS", "REL", "PIP", "TYP", "LAT", "CF",
)


@pytest.fixture(scope="module")
def rows() -> dict[str, str]:
    if not LIST.is_file():
        pytest.skip("the coverage list is not beside the project")
    return listed()


@pytest.fixture(scope="module")
def tested() -> set[str]:
    return set(marked())


def test_marks_and_reasons_name_rows_of_the_list(rows, tested):
    assert tested <= set(rows)
    assert set(PROVENANCE) <= set(rows)
    assert all(len(why.split()) > 8 for why in PROVENANCE.values())


@pytest.mark.parametrize("group", COMPLETE)
def test_every_row_of_a_finished_group_has_a_test_or_a_reason(rows, tested, group):
    mine = {k for k in rows if k.startswith(f"{group}-")}
    assert mine
    assert mine - tested - set(PROVENANCE) == set()


def test_marks_are_found_in_tables_too(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "import pytest\nROWS = {'KNB-07': 1, 'other': 2}\n"
        "@pytest.mark.seed(*ROWS)\ndef test_a(): pass\n"
        "@pytest.mark.seed('IR-01', \"IR-02\")\ndef test_b(): pass\n"
        "def seed(x): return x\nseed('IR-03')\n"
    )
    assert set(marked(tmp_path)) == {"KNB-07", "IR-01", "IR-02"}


def test_the_command_counts(rows, capsys):
    assert main(["--group", "LIC"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("36 of 36 rows")
