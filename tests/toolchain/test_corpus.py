"""The helper that hands PTX files to other tests."""

from __future__ import annotations

import corpus
import pytest


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A collection of three origins, one of them much larger than the others."""
    rows = ["file\torigin\tarch\tbytes\tptxas_message"]
    for origin, count in (("a", 20), ("b", 2), ("c", 1)):
        rows += [f"ok/{origin}{i}.ptx\t{origin}\tsm_80\t{100 * i}\t" for i in range(count)]
    rows.append("rejected/x.ptx\ta\tsm_75\t7\tline 3; error : no")
    (tmp_path / "INDEX.tsv").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("NVIR_CORPUS", str(tmp_path))
    return tmp_path


def test_the_index_is_read_by_folder(small):
    assert len(corpus.corpus()) == 23
    (bad,) = corpus.corpus("rejected")
    assert bad == corpus.Entry(small / "rejected/x.ptx", "a", "sm_75", 7, "line 3; error : no")


def test_a_sample_is_spread_and_repeatable(small):
    picked = corpus.sample(6)
    assert [e.origin for e in picked].count("a") == 3
    assert {e.origin for e in picked} == {"a", "b", "c"}
    assert picked == corpus.sample(6)
    assert picked != corpus.sample(6, seed=1)
    assert len(corpus.sample(100)) == 23
    assert all(e.size <= 300 for e in corpus.sample(100, max_size=300))


def test_no_collection_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("NVIR_CORPUS", str(tmp_path))
    assert corpus.corpus_root() is None
    assert corpus.sample(5) == []


def test_examples_are_found():
    assert [p.name for p in corpus.examples("sgemm.sm_80.ptx")] == ["sgemm.sm_80.ptx"]
    assert len(corpus.examples()) >= 40
