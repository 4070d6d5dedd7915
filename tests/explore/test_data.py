"""The figures of the page are those of the commands; the exported file holds no foreign markup."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.explore import data
from nvir.explore.data import BLOCKS, Version, everything
from nvir.explore.export import embedded, page
from nvir.explore.options import Options
from nvir.tune.assembled import numbered
from tests.explore.pages import EXAMPLES, LOOP, NASTY, SGEMM, version


def command(*args: str) -> dict:
    made = CliRunner().invoke(main, args, catch_exceptions=False)
    assert made.exit_code == 0, made.output
    return json.loads(made.stdout)


def plain(x: object) -> object:
    return json.loads(json.dumps(x))


@pytest.mark.parametrize("model", [True, pytest.param(False, marks=pytest.mark.oracle)])
def test_the_figures_are_those_of_report_explain_and_tune(model):
    v = version(model=model)
    how = ["--model"] if model else []
    reported = command("report", str(SGEMM), "--json", *how)
    assert [plain(v.kernel("sgemm", real=True)["report"])] == reported["functions"]
    assert v.summary(real=True)["by"] == reported["functions"][0]["registers"]["source"]
    lines = command("report", str(SGEMM), "--lines", "--json", *how)["functions"][0]
    k = v.kernel("sgemm", real=True)
    assert plain(k["peak"]) == lines["peak"]
    shown = dict(zip(k["rows"]["line"], zip(k["rows"]["live"], k["rows"]["asm"], strict=True),
                     strict=True))
    assert shown == {r["line"]: (r["live"], r["scheduled"]) for r in lines["lines"] if r["line"]
                     and not r["text"].endswith(":")}
    explained = command("explain", str(SGEMM), "--loop", LOOP, "--no-vary", "--json", *how)
    assert plain(v.loop("sgemm", LOOP, real=True)["explain"]) == explained

    tuned = command("tune", str(SGEMM), "--json", *how)["kernels"][0]["candidates"]
    mine = {json.dumps(c["settings"]): c
            for c in v.what_if("sgemm", LOOP, real=True)["candidates"]}
    same = [c for c in tuned if json.dumps(c["settings"]) in mine]
    assert len(same) >= 4
    for c in same:
        found = mine[json.dumps(c["settings"])]
        for key in ("registers", "spill_bytes", "blocks_per_sm", "cycles"):
            assert found[key] == c[key], (c["settings"], key)


@pytest.mark.oracle
def test_advice_is_carried_out_as_by_report_and_explain():
    path = EXAMPLES / "ptx" / "gemm_cp_async.sm_80.ptx"
    v = version(path, model=False)
    reported = command("report", str(path), "--json")["functions"]
    assert any("ptxas spills nothing" in a["text"] for f in reported for a in f["advice"])
    for f in reported:
        k = v.kernel(f["name"], real=True)
        assert plain(k["report"]) == f
        for x in k["loops"]:
            told = command("explain", str(path), "--kernel", f["name"], "--loop", x["header"],
                           "--no-vary", "--json")
            assert plain(v.loop(f["name"], x["header"], real=True)["explain"]) == told


def test_what_changed_is_what_nvir_diff_says(tmp_path):
    new = tmp_path / "new.ptx"
    new.write_text(SGEMM.read_text().replace("bar.sync", "add.f32 %f1, %f1, %f1;\n bar.sync", 1))
    mine = version(new).against(version())
    made = CliRunner().invoke(main, ["diff", str(SGEMM), str(new), "--json"])
    assert plain(mine["functions"]) == json.loads(made.stdout)["functions"]
    assert mine["ptx"] == SGEMM.read_text()
    assert dict(everything(version(new), version()))["against"]["functions"] == mine["functions"]


@pytest.mark.oracle
def test_machine_code_is_shown_as_nvdisasm_prints_it_and_advice_names_a_line():
    v = version(EXAMPLES / "ptx" / "gemm_mma.sm_80.ptx", model=False)
    code = [i for b in v.kernel("gemm_mma", real=True)["machine"]["blocks"] for i in b["code"]]
    assert any(text.startswith("HMMA.16816.F32 R") and line for text, line, _, _ in code)
    assert not any("←" in text for text, _, _, _ in code)
    written = [w for c in v.what_if("gemm_mma", "$L__BB0_8")["candidates"] for w in c["write"]]
    assert any((w["text"], w["file"]) == ("`#pragma unroll 4`", "gemm_mma.cu") for w in written)
    assert all(w["line"] for w in written if w["place"])
    labels = {b["label"] for b in v.kernel("gemm_mma", real=True)["machine"]["blocks"]}
    branches = [i[0].split()[-1] for i in code if "BRA" in i[0]]
    assert branches
    assert set(branches) <= labels


@pytest.mark.parametrize(("said", "own"), [
    ("", {}), (".maxnreg 40", {"maxnreg": 40}),
    (".maxntid 256\n.minnctapersm 2", {"minnctapersm": 2}),
])
def test_the_launch_bounds_that_a_kernel_has_are_told_beside_those_to_try(tmp_path, said, own):
    file = tmp_path / "k.ptx"
    file.write_text(SGEMM.read_text("utf-8").replace(")\n{", f")\n{said}\n{{", 1))
    assert version(file).what_if("sgemm", LOOP)["own"] == own


def test_what_ifs_at_a_block_size_are_those_of_tune_with_it():
    mine = {json.dumps(c["settings"]): c["at"][BLOCKS.index(128)]
            for c in version().what_if("sgemm", LOOP)["candidates"]}
    tuned = command("tune", str(SGEMM), "--json", "--model", "--block", "128")
    compared = 0
    for c in tuned["kernels"][0]["candidates"]:
        found = mine.get(json.dumps(c["settings"]))
        if found is not None:
            assert [found[0], found[2]] == [c["blocks_per_sm"], c["cycles"]["full"]]
            compared += 1
    assert compared >= 4


def test_factors_are_tried_with_depths_and_launch_bounds():
    v = Version(NASTY, "k.ptx", Options(model=True))
    tried = {(s["unroll"], s["depth"]) for c in v.what_if("k", "$L")["candidates"]
             for s in c["settings"]["loops"].values()}
    assert {(2, 0), (4, 0), (None, 1), (2, 2), (4, 2)} <= tried


def test_lifetimes_cover_what_the_listing_marks():
    v = version()
    k = v.kernel("sgemm")
    peak = k["rows"]["line"].index(k["peak"]["line"])
    alive = {r[0] for r in k["live"]
             if any(a <= peak < b for a, b in zip(r[5::2], r[6::2], strict=True))}
    assert {"%r35", "%rd15", "%f14"} <= alive
    assert "%f42" not in alive  # made further down
    assert k["loops"][0]["lines"][0][0] == 90


def test_a_cuda_source_is_shown_and_linked():
    v = version(EXAMPLES / "saxpy.cu")
    s = v.summary()
    assert s["language"] == "cu"
    assert "__global__" in s["sources"][0]["text"]
    k = v.kernel(s["kernels"][0]["name"])
    places = {at for p in k["places"] for f, at in p if f == s["sources"][0]["number"]}
    lines = v.text.split("\n")
    assert any("x[i]" in lines[at - 1] or "[i]" in lines[at - 1] for at in places)
    assert s["ptx"].split("\n")[k["rows"]["line"][0] - 1].strip().endswith(";")


def test_the_lines_of_a_compiled_text_are_those_of_report():
    cu = EXAMPLES / "horner.cu"
    v = version(cu)
    reported = command("report", str(cu), "--json", "--model")["functions"]
    assert any(f["loops"] for f in reported)
    assert [plain(v.kernel(f["name"])["report"]) for f in reported] == reported
    assert v.summary()["ptx"] == CliRunner().invoke(main, ["compile", str(cu)]).stdout


def test_errors_have_their_places_and_no_figures():
    text = SGEMM.read_text().replace("fma.rn.f32", "fma.rx.f32", 1)
    s = Version(text, "k.ptx", Options(model=True)).summary()
    line = text[: text.index("fma.rx.f32")].count("\n") + 1
    assert [(d["line"], d["severity"]) for d in s["diagnostics"]][:1] == [(line, "error")]
    broken = Version(text.replace(".reg", ".rug"), "k.ptx", Options(model=True)).summary()
    assert broken["diagnostics"]
    assert broken["kernels"] == []


def test_only_sources_of_the_given_folders_are_read(tmp_path):
    (tmp_path / "sgemm.cu").write_text("elsewhere\n")
    text = SGEMM.read_text()
    assert Version(text, "k.ptx", Options(model=True)).summary()["sources"] == []
    there = Version(text, "k.ptx", Options(model=True, folders=(tmp_path,)))
    assert [s["text"] for s in there.summary()["sources"]] == ["elsewhere"]
    outside = text.replace("sgemm.cu", "../secret.cu").replace("sgemm.cu", "/etc/hostname")
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.cu").write_text("secret\n")
    v = Version(outside, "k.ptx", Options(model=True, folders=(tmp_path / "in",)))
    assert v.summary()["sources"] == []


def test_no_name_of_the_input_ends_the_data_or_becomes_markup():
    v = Version(NASTY, '"><script>alert(1)</script>.ptx', Options(model=True))
    html = page(everything(v))
    block = re.search(r'<script type="application/json" id="answers">(.*?)</script>', html, re.S)
    assert block is not None
    assert not re.search("[<>&\u2028\u2029]", block[1])
    assert json.loads(block[1])["summary"]["text"] == NASTY
    rest = html.replace(block[0], "")
    assert "owned" not in rest
    assert "alert(1)" not in rest
    assert json.loads(embedded("</script>&\u2028")) == "</script>&\u2028"


def test_the_exported_page_names_no_other_place():
    html = page(everything(version()))
    head, body = html.split('id="answers"')
    assert "default-src 'none'" in head
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", head + body.split("</script>")[0])
    assert len(html) < 3_000_000


def test_the_kernel_that_an_exported_page_opens_on_comes_first(monkeypatch):
    text = NASTY + "".join(
        f".visible .entry small{n}()\n{{\n .reg .b32 %r<3>; mov.u32 %r1, 1; ret;\n}}\n"
        for n in range(9))
    v = Version(text, "k.ptx", Options(model=True))
    monkeypatch.setattr(data, "TRIED", 100)
    made = dict(everything(v))
    assert made["summary"]["opens"] == "k"
    assert "error" not in made["what_if k $L"]
    assert dict(everything(v, None, ["small3"]))["summary"]["opens"] == "small3"


def test_only_the_kernels_that_are_tuned_are_copied():
    module = nvir.read_ptx((NASTY + ".visible .entry other()\n{\n ret;\n}\n").encode())
    copy = numbered(module, module.kernels[:1])
    assert [f.name for f in copy.functions] == [f.name for f in copy.order] == ["k"]
    assert len(module.functions) == 2


def test_an_exported_page_holds_as_much_as_is_made_in_seconds(monkeypatch):
    whole = dict(everything(version()))
    assert not any("error" in made for made in whole.values())
    monkeypatch.setattr(data, "EXPLAINED", 1)
    monkeypatch.setattr(data, "TRIED", 1000)
    made = dict(everything(version()))
    assert made.keys() == whole.keys()
    told = [key for key in whole if key.startswith("loop ")]
    assert ["error" in made[key] for key in told] == [False] + [True] * (len(told) - 1)
    asked = [x for key, x in made.items() if key.startswith("what_if ")]
    assert 0 < sum(x["tried"] for x in asked) <= 1000 + 200  # the last goes beyond it
    assert any("large enough" in r["reason"] for x in asked for r in x["refused"])
    monkeypatch.setattr(data, "TRIED", 100)
    made = dict(everything(version()))
    assert all(x == {"error": data.LEFT_OUT} for key, x in made.items() if "what_if" in key)
