"""The HTML page: well formed, self-contained, with the pictures of each loop."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.ir.loops import natural_loops
from nvir.report.html.pictures import pressure, stretches
from nvir.report.lines import line_listing

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "ptx"
VOID = {"meta"}


class _Balance(HTMLParser):
    """Checks that tags are closed in order; collects attributes that could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.seen: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.loads += [v for k, v in attrs if k in ("src", "href", "xlink:href", "data")]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def test_the_page(tmp_path: Path):
    page = tmp_path / "x.html"
    run = CliRunner().invoke(
        main,
        ["report", str(EXAMPLES / "horner.sm_80.ptx"), "--html", "--schedule", "-o", str(page)],
    )
    assert run.exit_code == 0, run.output
    text = page.read_text()
    parsed = _Balance()
    parsed.feed(text)
    assert parsed.stack == []
    assert all(x.startswith("#f") for x in parsed.loads)
    assert not re.search(r"https?://|@import|url\(|<script", text)
    assert "prefers-color-scheme:dark" in text
    assert parsed.seen.count("section") == 2
    assert text.count("Schedule of loop") == 3
    assert text.count('class="hot"') == 2
    assert text.count('class="written"') == 2
    assert text.count('class="loop"') == 3
    assert text.count('href="#f') == 2  # a page of several functions starts with their names
    assert "Live at the peak: line" in text
    assert "%fd1" in text


def test_it_goes_with_nothing_else():
    for more in ("--lines", "--json"):
        file = str(EXAMPLES / "horner.sm_80.ptx")
        assert CliRunner().invoke(main, ["report", file, "--html", more]).exit_code == 2


def test_values_that_are_alive_for_the_same_reason_share_a_row():
    file = str(EXAMPLES / "gemm_mma.sm_80.ptx")
    text = CliRunner().invoke(main, ["report", file, "--html"]).stdout
    carried = re.findall(r"<tr><td>carried around loop [^<]*</td>(.*?)</tr>", text)
    assert len(carried) == 1
    assert '<td class="n">33</td>' in carried[0]  # the accumulators and the counter
    assert carried[0].count("%f") == 32


def test_stretches():
    assert stretches([]) == ""
    assert stretches([3]) == "3"
    assert stretches([3, 4, 5, 9, 11, 12]) == "3-5, 9, 11-12"


def test_a_loop_that_is_left_and_entered_again_has_two_brackets():
    ptx = (EXAMPLES / "nested_break.sm_80.ptx").read_text()
    module = nvir.read_ptx(ptx)
    f = next(f for f in module.functions if f.blocks)
    picture = pressure(line_listing(f, module))
    loops = natural_loops(f)
    assert len(re.findall('class="loop"', picture)) >= len(loops)
    for x in loops:
        assert f"loop {x.header.name}, depth {x.depth}" in picture
