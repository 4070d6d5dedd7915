"""The pictures of tour.md and the front page, made from what they show: python docs/pictures.py

They are checked in, so that the page has them wherever it is read; a test holds them to be those
that this makes.
"""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Callable
from pathlib import Path

import nvir
from nvir.compiler import compile_tree
from nvir.ir.module import Module
from nvir.report.table import Line, print_lines

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"


def matvec() -> Module:
    """The kernel of the tour, as it is printed and read back."""
    file = ROOT / "examples" / "trees" / "matvec.py"
    spec = importlib.util.spec_from_file_location("matvec", file)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    compiled = compile_tree(program.tree(), lines=False)
    module = nvir.read_ptx(nvir.print_ptx(compiled).encode())
    for f in module.functions:
        f.analyze_cfg()
    return module


def control_flow() -> str:
    """Needs something that draws DOT."""
    from nvir.report.pictures import svg

    return svg(nvir.cfg_dot(matvec()["matvec"]))


def schedule() -> str:
    from nvir.ir.loops import natural_loops
    from nvir.report.schedule.svg import schedule_svg
    from nvir.sm.loopgraph import loop_graph
    from nvir.sm.profile import profile
    from nvir.sm.schedule.loops import schedule_loop

    loop = natural_loops(matvec()["matvec"])[0]
    return schedule_svg(schedule_loop(loop_graph(loop, profile("sm_80"))), "matvec")


def terminal(lines: list[Line], title: str) -> str:
    """Lines as a terminal shows them, without the fonts that rich would fetch."""
    from rich.console import Console

    console = Console(record=True, width=108, file=io.StringIO(), color_system="truecolor",
                      force_terminal=True, highlight=False)
    print_lines(lines, console)
    made = console.export_svg(title=title, unique_id="nvir")
    made = re.sub(r"<!-- .*? -->\s*", "", made)
    return re.sub(r"@font-face \{.*?\}\s*", "", made, flags=re.S).replace("\xa0", "&#160;")


def registers() -> str:
    """What `nvir report sgemm.ptx --lines --model` prints, where it needs most registers."""
    from nvir.report.lines import line_listing
    from nvir.report.listing import listing_lines

    file = ROOT / "examples" / "ptx" / "sgemm.sm_80.ptx"
    module = nvir.read_ptx(file)
    text = file.read_text("utf-8").splitlines()
    lines = listing_lines(line_listing(module["sgemm"], module, text), 104, None)
    peak = next(k for k, (line, _) in enumerate(lines) if "◀ peak" in line)
    who = next(k for k, (line, _) in enumerate(lines) if line.startswith("live at the peak"))
    gap = [("     …", "dim")]
    shown = [lines[0], lines[4], *lines[peak - 5 : peak + 8], *gap, *lines[who : who + 9], *gap]
    return terminal(shown, "nvir report sgemm.ptx --lines")


def decisions() -> str:
    """What `nvir explain horner.ptx --model` prints, up to who is alive."""
    from click.testing import CliRunner

    from nvir.cli import main

    words = ["explain", str(ROOT / "examples" / "ptx" / "horner.sm_80.ptx"), "--model"]
    page = CliRunner().invoke(main, words, env={"COLUMNS": "106"}).stdout.split("\n\n")[0]
    lines = [(x, "bold" if k < 2 or x.startswith("→") else "") for k, x in
             enumerate(page.splitlines())]
    return terminal(lines, "nvir explain horner.ptx")


PICTURES: dict[str, Callable[[], str]] = {
    "matvec-cfg.svg": control_flow, "matvec-schedule.svg": schedule,
    "sgemm-registers.svg": registers, "horner-explain.svg": decisions,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in PICTURES.items():
        (FOLDER / name).write_text(make(), "utf-8")
