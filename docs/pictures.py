"""The pictures of tour.md, made from what the page shows: python docs/pictures.py

They are checked in, so that the page has them wherever it is read; a test holds them to be those
that this makes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import nvir
from nvir.compiler import compile_tree
from nvir.ir.module import Module

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


PICTURES: dict[str, Callable[[], str]] = {
    "matvec-cfg.svg": control_flow, "matvec-schedule.svg": schedule,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in PICTURES.items():
        (FOLDER / name).write_text(make(), "utf-8")
