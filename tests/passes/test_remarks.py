"""Remarks: one record, four spellings."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvir.passes.remarks import (
    KINDS,
    Code,
    Remark,
    Remarks,
    analysis,
    failure,
    missed,
    passed,
    quote,
)

yaml = pytest.importorskip("yaml")

UNROLLED = passed("Unrolled", "unrolled by {factor} with {share:.1%} of {what}")
BARRIER = missed("Barrier", "not pipelined: {what} in the body", number="60")


def remark(code: Code = UNROLLED, **fields: Any) -> Remark:
    args = {"factor": 4, "share": 0.25, "what": "a: 'b'"}
    given = {f: args[f] for f in code.fields}
    base = Remark(code, "loop-unroll", "sgemm", given, "$L__BB0_2", "sgemm.cu", 58, 9)
    return attrs.evolve(base, **fields)


class Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Takes LLVM's tags, as opt-viewer does."""


for _kind in KINDS:
    Loader.add_constructor(
        f"!{_kind.capitalize()}",
        lambda loader, node: (node.tag[1:], loader.construct_mapping(node, deep=True)),
    )


def load(text: str) -> list[tuple[str, dict[str, Any]]]:
    return list(yaml.load_all(text, Loader))


def test_message_is_the_template_filled():
    assert remark().message == "unrolled by 4 with 25.0% of a: 'b'"


def test_text_is_what_compilers_print():
    assert str(remark()) == (
        "sgemm.cu:58:9: remark: unrolled by 4 with 25.0% of a: 'b' "
        "[loop-unroll, sgemm, loop $L__BB0_2]"
    )
    assert str(remark(BARRIER, line=0, loop="")) == (
        "remark: missed: code 60: not pipelined: a: 'b' in the body [loop-unroll, sgemm]"
    )


def test_json_holds_raw_numbers_and_null_for_no_place():
    item = json.loads(Remarks([remark(line=0, column=0, file="", loop="")]).to_json())
    assert item["schema"] == "nvir.remarks/1"
    (only,) = item["remarks"]
    assert only["args"] == {"factor": 4, "share": 0.25, "what": "a: 'b'"}
    assert only["line"] is only["file"] is only["loop"] is only["code"] is None
    assert (only["kind"], only["pass"], only["name"]) == ("passed", "loop-unroll", "Unrolled")


def test_yaml_has_llvms_keys_and_the_message_in_pieces():
    kind, body = load(remark().to_yaml())[0]
    assert kind == "Passed"
    assert list(body) == ["Pass", "Name", "DebugLoc", "Function", "Args"]
    assert body["DebugLoc"] == {"File": "sgemm.cu", "Line": 58, "Column": 9}
    pieces = [next(iter(a.values())) for a in body["Args"]]
    assert "".join(pieces[:-1]) == remark().message  # opt-viewer joins the values
    assert body["Args"][1] == {"factor": "4"}
    assert body["Args"][-1] == {"Loop": " (loop $L__BB0_2)"}


def test_yaml_without_a_place_has_no_debugloc():
    _, body = load(remark(BARRIER, line=0).to_yaml())[0]
    assert "DebugLoc" not in body
    assert body["Args"][:2] == [{"Code": "60"}, {"String": ": "}]


@pytest.mark.parametrize(
    ("make", "tag"),
    [(passed, "Passed"), (missed, "Missed"), (analysis, "Analysis"), (failure, "Failure")],
)
def test_each_kind_has_its_tag(make, tag):
    text = remark(make("N", "m")).to_yaml()
    assert text.startswith(f"--- !{tag}\n")
    assert text.endswith("\n...\n")


@given(st.text())
def test_quoting_survives_any_text(text):
    """Control characters, quotes, colons, numbers, `yes`: what is read is what was written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert yaml.safe_load(quote(text)) == text


@given(st.lists(st.tuples(st.text(max_size=20), st.integers(), st.floats(allow_nan=False))))
def test_yaml_round_trip(rows):
    """Many documents in one file, each with its own function name and arguments."""
    code = missed("Name", "{text}: {n} and {x}")
    items = [
        Remark(code, "p", text, {"text": text, "n": n, "x": x}) for text, n, x in rows
    ]
    read = load(Remarks(items).to_yaml())
    assert [body["Function"] for _, body in read] == [r.function for r in items]
    joined = ["".join(v for a in body["Args"] for v in a.values()) for _, body in read]
    assert joined == [r.message for r in items]


def test_filter_by_pass_kind_function_and_loop():
    rows = Remarks([remark(), remark(BARRIER), remark(pass_name="licm", function="f", loop="")])
    assert len(rows.filter("unroll")) == 2
    assert len(rows.filter("^un")) == 0
    assert list(rows.filter(kind="missed")) == [rows[1]]
    assert list(rows.filter(function="f")) == [rows[2]]
    assert len(rows.filter(loop="$L__BB0_2")) == 2


def test_collection_is_a_list_in_order():
    rows = Remarks([remark(), remark(BARRIER)])
    assert [r.name for r in rows] == ["Unrolled", "Barrier"]
    assert list(rows[1:]) == [rows[1]]
    assert rows.to_text().count("\n") == 2
    rows.truncate(1)
    assert len(rows) == 1


def test_words_follow_their_number_and_what_is_unknown_says_so():
    code = missed("Stay", "{count} {count:value stays|values stay}, T = {T}")
    assert code.fields == ("count", "T")
    assert code.text == "{count} values stay, T = {T}"
    one = Remark(code, "p", "f", {"count": 1, "T": None})
    assert one.message == "1 value stays, T = unknown"
    assert Remark(code, "p", "f", {"count": 0, "T": 3}).message == "0 values stay, T = 3"
    assert "  - String: 'value stays'" in one.to_yaml()
    assert one.to_yaml().count("- count:") == 1
