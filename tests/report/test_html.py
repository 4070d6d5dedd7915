"""The HTML page: well formed, self-contained, with the pictures of each loop."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from click.testing import CliRunner

from nvir.cli import main

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
        main, ["report", str(EXAMPLES / "horner.sm_80.ptx"), "--html", "-o", str(page)]
    )
    assert run.exit_code == 0, run.output
    text = page.read_text()
    parsed = _Balance()
    parsed.feed(text)
    assert parsed.stack == []
    assert parsed.loads == []
    assert not re.search(r"https?://|@import|url\(|<script", text)
    assert "prefers-color-scheme:dark" in text
    assert parsed.seen.count("section") == 2
    assert text.count("Schedule of loop") == 3
    assert text.count('class="hot"') == 2
    assert "Live at the peak: line" in text
    assert "%fd1" in text


def test_it_goes_with_nothing_else():
    for more in ("--lines", "--json"):
        file = str(EXAMPLES / "horner.sm_80.ptx")
        assert CliRunner().invoke(main, ["report", file, "--html", more]).exit_code == 2
