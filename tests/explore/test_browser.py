"""The page in a real browser: the system's Chromium, driven by playwright.

Run by `pytest --browser tests/explore`, a step of its own; where playwright or a Chromium lacks,
each test is skipped and says which.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from nvir.explore.data import Version, everything
from nvir.explore.export import page as exported
from nvir.explore.options import Options
from tests.explore.pages import LOOP, NASTY, SGEMM, version

playwright = pytest.importorskip(
    "playwright.sync_api", reason="no playwright: pip install 'nvir[test-browser]'"
)
pytest.importorskip("uvicorn", reason="needs pip install 'nvir[explore]'")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium among the system's packages"),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        made = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def address():
    """The address that `nvir explore` prints."""
    command = [sys.executable, "-m", "nvir", "explore", str(SGEMM), "--no-open", "--model"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                               env=os.environ | {"PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait(10)


class Opened:
    """A page that counts what a user does, and every request and error."""

    def __init__(self, browser, url, **options):
        self.context = browser.new_context(viewport={"width": 1440, "height": 900}, **options)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.actions = 0
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.goto(url)
        self.page.wait_for_selector("body[data-ready]")

    def click(self, selector):
        self.actions += 1
        self.page.click(selector)

    def slide(self, name, value):
        """Move a slider as the arrow keys do: an action a step."""
        self.page.focus(f"#slide-{name}")
        while self.page.inner_text(f"label:has(#slide-{name}) output") != value:
            self.actions += 1
            self.page.keyboard.press("ArrowRight")
            assert self.actions < 30

    def linked(self, pane):
        return [x.inner_text() for x in self.page.query_selector_all(f"#{pane} .linked")]

    def state(self):
        return self.page.evaluate("location.hash")


@pytest.fixture
def opened(browser, address):
    made = Opened(browser, address)
    yield made
    assert not made.errors
    host = address.split("/#")[0]
    assert all(r.startswith((host, "data:")) for r in made.requests)
    made.context.close()


@pytest.fixture
def file(browser, tmp_path):
    """An exported page, opened from disk with the network off."""
    def open_(
        v: Version, fragment: str = "", older: Version | None = None, **options
    ) -> Opened:
        path = tmp_path / "page.html"
        path.write_text(exported(everything(v, older)), "utf-8")
        return Opened(browser, f"{path.as_uri()}{fragment}", offline=True, **options)

    return open_


def wide(p, tab):
    """By how many pixels each table of a tab is wider than what is seen of it."""
    p.click(f"#tab-{tab}")
    p.wait_for_selector("#view .wide table")
    return p.evaluate("""[...document.querySelectorAll('#view .wide')]
        .map(x => x.scrollWidth - x.clientWidth)""")


def test_lines_are_linked_both_ways(opened):
    p = opened.page
    opened.click("#source .cm-line:has-text('sum += a_tile')")
    assert any("fma.rn.f32" in t for t in opened.linked("ptx"))
    opened.click("#ptx .cm-line:has-text('bar.sync') >> nth=0")
    p.wait_for_function("document.querySelector('#source .linked')?.innerText.includes('sync')")
    assert "line=117" in opened.state()
    assert "token" not in opened.state()


def test_the_line_that_costs_the_registers_of_the_peak_is_one_click_away(opened):
    opened.click("#peak")
    opened.page.wait_for_selector("#live")
    k = version().kernel("sgemm")
    assert f"line {k['peak']['line']}" in opened.page.inner_text("#view h3")
    shown = opened.page.inner_text("#live")
    assert all(v["name"] in shown and v["why"] in shown for v in k["peak"]["values"])
    assert opened.actions < 10


def test_the_slider_of_launch_bounds_begins_at_the_kernels_own(file, tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(SGEMM.read_text("utf-8").replace(")\n{", ")\n.maxnreg 40\n{", 1))
    made = file(version(path), "#tab=whatif")
    row = made.page.inner_text("label:has(#slide-bounds)")
    assert "its own: at most 40 registers" in row
    plain = file(version(), "#tab=whatif").page.inner_text("label:has(#slide-bounds)")
    assert "its own" not in plain


def test_a_text_pasted_over_all_others_breaks_no_policy(opened):
    p = opened.page
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    p.click("#ptx .cm-line >> nth=3")
    p.keyboard.press("Control+a")
    p.evaluate("text => navigator.clipboard.writeText(text)",
               SGEMM.read_text("utf-8").replace("fma.rn.f32", "fma.f32"))
    p.keyboard.press("Control+v")
    p.wait_for_selector("#ptx .cm-lintRange-error")


def test_what_to_write_to_have_the_loop_unrolled_and_its_cost(opened):
    opened.click("#tab-whatif")
    opened.page.wait_for_selector("#result .figures")
    opened.slide("unroll", "×4")
    assert "#pragma unroll 4 at sgemm.cu:21" in opened.page.inner_text("#result")
    found = next(c for c in version().what_if("sgemm", LOOP)["candidates"]
                 if list(c["settings"]["loops"].values()) == [
                     {"unroll": 4, "depth": 0, "free": False, "apart": False}]
                 and not c["settings"]["launch"])
    shown = opened.page.inner_text("#result").replace(",", "")
    assert f"{found['registers']} registers" in re.sub(r"\s+", " ", shown)
    assert f"{found['cycles']['one_warp']:.0f}" in shown
    assert "predicted" in shown
    assert opened.actions < 10


def test_a_smaller_block_changes_the_table_at_once(opened):
    opened.click("#tab-whatif")
    opened.page.wait_for_selector("#result .figures")
    before = opened.page.inner_text("#candidates")
    asked = len(opened.requests)
    opened.page.focus("#slide-block")
    opened.page.keyboard.press("Home")
    assert opened.page.inner_text("#candidates") != before
    assert len(opened.requests) == asked
    assert "block=32" in opened.state()


def test_an_edit_is_analysed_and_an_error_underlined(opened):
    p = opened.page
    p.click("#ptx .cm-line:has-text('bar.sync') >> nth=0")
    p.keyboard.press("Home")
    p.keyboard.type("add.f32 %f1, %f1, %f1; ")
    p.wait_for_selector("#status:has-text('analysed in')")
    assert "130 instructions" in p.inner_text("#figures")
    p.keyboard.type("add.q32 %f1, %f1, %f1; ")
    p.wait_for_selector("#ptx .cm-lintRange-error")
    assert "Problems (" in p.inner_text("#tab-problems")
    p.click("#tab-problems")
    assert re.search(r"117:\d+ error", p.inner_text("#view"))
    p.click("#tab-diff")
    p.wait_for_selector("#view:has-text('instructions')")


def test_an_undo_takes_back_edits_alone(opened):
    p = opened.page
    p.click("#ptx .cm-line:has-text('bar.sync') >> nth=0")
    p.keyboard.press("Control+z")
    assert "bar.sync" in p.inner_text("#ptx .cm-content")  # the text as it was opened is no edit
    p.keyboard.press("Home")
    p.keyboard.insert_text(".reg .nothing; ")
    p.wait_for_selector("#status.bad")
    p.click("#tab-schedule")  # asks about the text that the figures are still of
    p.wait_for_selector("#cycle")
    p.click("#ptx .cm-line:has-text('.nothing')")
    p.keyboard.press("Control+z")
    p.wait_for_selector("#status:has-text('analysed in')")
    assert ".nothing" not in p.inner_text("#ptx .cm-content")


def test_the_state_is_in_the_address(browser, address):
    base = address.split("#")[0]
    one = Opened(browser, f"{address}&tab=whatif&unroll=8&block=64")
    one.page.wait_for_selector("#result .figures")
    assert one.page.inner_text("label:has(#slide-unroll) output") == "×8"
    assert one.page.inner_text("label:has(#slide-block) output") == "64"
    copied = one.context.new_page()  # the token is not in the address any more
    copied.goto(one.page.url)
    copied.wait_for_selector("#result .figures")
    assert copied.inner_text("label:has(#slide-unroll) output") == "×8"
    false = one.context.new_page()  # a false token is not kept in the place of the true one
    false.goto(f"{base}#token=false")
    false.wait_for_selector("#notice:not([hidden])")
    copied.reload()
    copied.wait_for_selector("#result .figures")
    one.context.close()
    other = browser.new_page()
    other.goto(base)  # without the token there is nothing
    other.wait_for_selector("#notice:not([hidden])")
    assert "sgemm" not in other.content()
    other.close()


def test_the_keyboard_reaches_everything(opened):
    p = opened.page
    p.keyboard.press("Alt+3")
    p.wait_for_selector("#result .figures")
    assert p.evaluate("document.activeElement.id") == "tab-whatif"
    p.keyboard.press("ArrowRight")
    p.wait_for_selector("#cycle")
    p.keyboard.press("Alt+p")
    p.wait_for_selector("#live")
    p.keyboard.press("Alt+h")
    assert p.is_visible("dialog[open] kbd >> nth=0")
    p.keyboard.press("Escape")
    p.wait_for_selector("dialog[open]", state="detached")
    p.keyboard.press("?")
    p.wait_for_selector("dialog[open]")
    p.keyboard.press("Escape")
    roles = p.evaluate("[...document.querySelectorAll('[role]')].map(x => x.role)")
    assert {"tablist", "tab", "tabpanel", "status"} <= set(roles)
    unnamed = p.evaluate("""[...document.querySelectorAll('button, select, input')].filter(x =>
        !(x.textContent.trim() || x.ariaLabel || x.labels?.length)).length""")
    assert unnamed == 0


def test_the_timeline_can_be_scrubbed(opened):
    p = opened.page
    p.click("#tab-schedule")
    p.wait_for_selector("#cycle")
    before = p.inner_text(".issues")
    p.focus("#cycle")
    p.keyboard.press("End")
    assert p.inner_text(".issues") != before
    assert "cycle=" in opened.state()


def test_the_exported_page_works_without_a_network(file):
    one = file(version(), "#tab=whatif&unroll=4")
    p = one.page
    p.wait_for_selector("#result .figures")
    assert "#pragma unroll 4" in p.inner_text("#result")
    before = p.inner_text("#result")
    p.focus("#slide-unroll")
    p.keyboard.press("ArrowRight")
    assert p.inner_text("#result") != before
    for tab in ("loops", "registers", "schedule", "flow"):
        p.click(f"#tab-{tab}")
        p.wait_for_function("!document.querySelector('#view [aria-busy]')")
        assert len(p.inner_text("#view")) > 100 or tab == "flow"
    assert len(one.requests) == 1 + sum(r.startswith("data:") for r in one.requests)
    assert not one.errors


def test_a_large_exported_page_unpacks_itself(file, monkeypatch):
    monkeypatch.setattr("nvir.explore.export.LARGE", 1000)
    one = file(version())
    assert "32 registers" in one.page.inner_text("#figures")
    assert one.page.get_attribute("#answers", "type") == "text/plain"
    assert not one.errors


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1024, "light"), (1920, "dark")])
def test_nothing_is_cut_off(file, width, scheme):
    text = SGEMM.read_text("utf-8").replace("bar.sync", "membar.cta;\n bar.sync", 1)
    old = Version(text, "o.ptx", Options(model=True))
    one = file(version(), color_scheme=scheme, older=old)
    p = one.page
    p.set_viewport_size({"width": width, "height": 900})
    for tab in ("loops", "registers", "whatif", "schedule", "flow", "problems"):
        p.click(f"#tab-{tab}")
        p.wait_for_function("!document.querySelector('#view [aria-busy]')")
        assert p.evaluate("document.documentElement.scrollWidth") <= width
    for tab in ("loops", "registers", "whatif", "diff"):  # what one compares is seen at once
        assert not any(wide(p, tab)), tab
    assert p.locator("[role=tablist]").evaluate("x => x.scrollWidth - x.clientWidth") == 0
    panes = [x for x in ("source", "ptx", "machine") if p.is_visible(f"#{x}")]
    assert panes == (["ptx"] if width == 390 else ["source", "ptx"])
    dark = p.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(20, 23, 27)") == (scheme == "dark")


@pytest.mark.oracle
def test_ptx_stands_before_its_machine_code(file):
    """Machine code of a text without a source, at the width of a tablet."""
    text = re.sub(r"^\s*\.(file|loc)\b.*$", "", SGEMM.read_text("utf-8"), flags=re.M)
    p = file(Version(text, "k.ptx", Options())).page
    p.set_viewport_size({"width": 1024, "height": 900})
    left = [p.locator(f"#{x}").bounding_box()["x"] for x in ("ptx", "machine")]
    assert left == sorted(left)
    counted = p.locator("#ptx .heat").count()
    assert 0 < counted < p.locator("#ptx .cm-line:has-text(';')").count()  # .reg has no registers


def test_markup_in_names_is_inert(file):
    one = file(Version(NASTY, "<b id=owned>.ptx", Options(model=True)))
    for tab in ("loops", "registers", "whatif", "schedule", "flow", "problems"):
        one.page.click(f"#tab-{tab}")
        one.page.wait_for_function("!document.querySelector('#view [aria-busy]')")
    assert one.page.query_selector("#owned, img") is None
    assert one.page.title().startswith("<b id=owned>.ptx")
    assert not one.errors


def test_a_setting_that_is_not_there_leaves_the_address(file):
    """By its form at once, by its value where the panel shows what there is."""
    v = version()
    p = file(v, "#tab=whatif&unroll=x&depth=-1&bounds=maxnreg&apart=9").page
    p.wait_for_selector("#result .figures")
    assert not re.search("unroll|depth|bounds|apart", p.evaluate("location.hash"))
    p = file(v, "#tab=whatif&unroll=12345&depth=0").page
    p.wait_for_selector("#result .figures")
    assert re.findall("unroll|depth=0", p.evaluate("location.hash")) == ["depth=0"]


def test_figures_are_rounded_as_the_command_line_does_it(opened):
    """Halves go to the even digit; what only looks like one goes to the nearer."""
    asked = [(x / 8, d) for x in range(-40, 200, 3) for d in (0, 1, 2)]
    asked += [(0.15, 1), (2.675, 2), (1234.5, 0), (1235.5, 0), (0.05, 1)]
    made = opened.page.evaluate("""asked => import("/static/data.js")
        .then(m => asked.map(x => m.rounded(...x)))""", asked)
    assert made == [float(f"{x:.{d}f}") for x, d in asked]


def test_a_long_name_stays_in_the_problems_panel(file):
    name = "k" * 300
    p = file(Version(NASTY.replace(".entry k", f".entry {name}").replace(
        "fma.rn.f32 %f1", f"call {name}; fma.rn.f32 %f1"), "k.ptx", Options(model=True)),
        "#tab=problems").page
    p.set_viewport_size({"width": 390, "height": 844})
    assert name in p.inner_text("#view")
    assert p.evaluate("document.documentElement.scrollWidth") <= 390
    assert p.evaluate("(x => x.scrollWidth - x.clientWidth)(document.querySelector('#view'))") <= 0


def test_a_note_without_a_place_and_a_tab_that_is_not_there(file):
    text = re.sub(r"\.(reqntid|maxntid).*", "", SGEMM.read_text("utf-8"))
    p = file(Version(text, "k.ptx", Options(model=True)), "#tab=nonsense&block=-3").page
    assert p.get_attribute("#tab-loops", "aria-selected") == "true"
    assert not re.search("nonsense|block", p.evaluate("location.hash"))
    p.click("#tab-problems")
    shown = p.inner_text("#view")
    assert "is assumed" in shown
    assert "null" not in shown


def test_an_unreadable_text_has_its_own_problems_alone(opened):
    p = opened.page
    p.click("#ptx .cm-line:has-text('bar.sync') >> nth=0")
    p.keyboard.press("Home")
    p.keyboard.type(".reg .nothing; ")
    p.wait_for_selector("#status.bad")
    p.click("#tab-problems")
    rows = p.locator("#view li").all_inner_texts()
    assert rows
    assert all(r.startswith("117:") for r in rows)


def test_of_a_long_line_only_its_beginning_is_drawn(file):
    table = f".global .align 4 .b32 t[40000] = {{{', '.join(['123456'] * 40000)}}};"
    text = SGEMM.read_text("utf-8").replace(".visible .entry", f"{table}\n.visible .entry", 1)
    p = file(Version(text, "k.ptx", Options(model=True)), "#line=1").page
    p.click("#ptx .cm-content")
    p.keyboard.press("Control+Home")
    shown = p.inner_text("#ptx .cm-line:has-text('.b32 t[')")
    assert len(shown) < 3100
    assert f"{len(table) - 3000:,} characters that are not drawn" in shown


def test_the_page_opens_on_the_largest_kernel(file):
    head, _, rest = SGEMM.read_text("utf-8").partition(".visible .entry")
    text = f"{head}.visible .entry empty()\n{{\n ret;\n}}\n.visible .entry{rest}"
    p = file(Version(text, "two.ptx", Options(model=True))).page
    assert p.input_value("#kernel") == "sgemm"
    assert p.locator("#kernel option").all_inner_texts() == ["empty", "sgemm"]
