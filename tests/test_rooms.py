"""Rooms import only what the architecture allows, and nothing heavy at the start."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

NVIR = Path(__file__).resolve().parents[1] / "nvir"
ALLOWED = {
    "ir": set(),
    "analysis": {"ir"},
    "ptx": {"ir", "analysis"},
    "llvm": {"ir", "analysis"},
    "interp": {"ir", "analysis"},
    "sm": {"ir", "analysis"},
    "frontend": {"ir"},
    "assembler": {"ir", "analysis", "sm"},
    "passes": {"ir", "analysis", "sm", "assembler", "ptx"},
    "documented": {"ir", "analysis", "sm", "assembler", "passes"},
    "toolchain": {"ir", "sm"},  # decoded machine code is what sm speaks of
    "tune": {"ir", "analysis", "ptx", "sm", "assembler", "passes", "toolchain"},
    "gpu": {"ir", "ptx", "toolchain", "interp"},  # arguments mean what they mean there
    "exec": {"ir", "ptx", "toolchain", "interp", "sm", "assembler", "passes", "tune"},
    "lsp": {"ir", "analysis", "ptx", "llvm", "sm", "report", "loading"},
    "report": {
        "ir", "analysis", "ptx", "llvm", "interp", "sm", "assembler", "frontend", "passes",
        "documented", "toolchain", "gpu", "tune",
        "loading",  # a file of any language, above the rooms that read them
    },
    "explore": {
        "ir", "analysis", "ptx", "sm", "report", "tune", "loading",
    },
}


def imports(file: Path) -> set[str]:
    """The rooms of nvir that a file imports, at its top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "nvir":
                names = [f"nvir.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        for n in names:
            parts = n.split(".")
            if parts[0] == "nvir" and len(parts) > 1 and parts[1] != "__version__":
                found.add(parts[1])
    return found


@pytest.mark.parametrize("room", sorted(p.name for p in NVIR.iterdir() if p.is_dir()))
def test_a_room_imports_only_what_it_may(room):
    if room in ("cli", "__pycache__"):
        pytest.skip("the command line may import everything")
    allowed = ALLOWED[room] | {room, "exports"}  # which says when a package imports, and knows none
    for file in (NVIR / room).rglob("*.py"):
        for other in imports(file) - allowed:
            pytest.fail(f"{file} imports nvir.{other}")


def fresh(code: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=NVIR.parent
    )
    return run.stdout


def test_import_is_light():
    heavy = ("numpy", "networkx", "graphviz", "click", "rich", "ortools")
    loaded = fresh("import sys, nvir, nvir.ir; print(*sys.modules)").split()
    assert not set(heavy) & set(loaded)


def test_import_is_little_work():
    code = "from tests.effort import effort; effort(lambda: __import__('nvir'), most=5_000)"
    fresh(code)


def test_nothing_in_the_package_leans_on_files_outside():
    for file in NVIR.rglob("*"):
        if file.suffix in (".py", ".json", ".toml"):
            assert "../shared" not in file.read_text("utf-8")


@pytest.mark.parametrize(("code", "told"), [
    ("import nvir.sm.profile; print(nvir.sm.profile('sm_80').name)", "sm_80"),
    ("from nvir.sm import profile\nimport nvir.sm.profile\nprint(profile is nvir.sm.profile)",
     "True"),
    ("import nvir.sm; from nvir.sm import graph; print(graph.__name__)", "nvir.sm.graph"),
    ("import nvir.toolchain as t; print(t.ptxas.__name__, t.libnvvm.__name__)",
     "ptxas nvir.toolchain.libnvvm"),
    ("import nvir.sm\ntry: nvir.sm.nothing\nexcept AttributeError as e: print(e)",
     "module 'nvir.sm' has no attribute 'nothing'"),
])
def test_what_is_called_like_its_module_stands_in_its_place(code, told):
    assert fresh(code).strip() == told
