"""What docs/extending.md promises, done to a copy of the package: an opcode in four files that is
read, verified, folded, run, priced and printed, and an architecture in one JSON file."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NVIR = Path(__file__).resolve().parents[1] / "nvir"

# File -> what is added at its end (or put before the mark).
ROW = '''
op("bsel", "d, a, b, c", K.LOGIC, "bits cheap uniform", since="9.0 sm_80",
   fold=lambda form, a, b, c: (a & c | b & ~c) & (1 << form.type.bits) - 1,
   doc="the bits of a where c has ones, else those of b")
'''
MEANING = '''

def bsel(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """The bits of a where c has ones, else those of b."""
    x, y, mask = (low(v, WIDTH[mods.type]) for v in (a, b, c))
    return (x & mask) | (y & ~mask)
'''
LISTED = '    "bsel": _row(f"{_I32} {_I64}", bits.bsel),\n'
TEMPLATE = '''

@rule("bsel")
def bsel(s: Shape) -> str | None:
    halves = ("LOP3 d.l, a.l b.l c.l", "LOP3 d.h, a.h b.h c.h")
    return "; ".join(halves) if s.bits == 64 else "LOP3 d, a b c"
'''
ADDED = {
    "ir/opcodes/ori/arithmetic.py": ("", ROW),
    "interp/meaning/bits.py": ("", MEANING),
    "interp/meaning/__init__.py": ('    "brev": _row(', LISTED),
    "sm/templates/rows/logic.py": ("", TEMPLATE),
}
MACHINE = {"title": "a machine of tomorrow", "extends": "sm_100", "capability": 130}

PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 .ptr .global p)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.b32 %r2, 0x0f0f0f0f;
    mov.b32 %r3, 0x12345678;
    bsel.b32 %r4, %r1, %r3, %r2;
    bsel.b32 %r5, %r3, 0xffffffff, %r2;
    add.u32 %r6, %r4, %r5;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;
    ret;
}
"""

USE = """
import sys
import numpy as np
import nvir

text = sys.stdin.read()
module = nvir.read_ptx(text)
assert str(next(iter(module.functions)).name) == "k"
nvir.verify(module)  # verified
assert "bsel.b32" in nvir.print_ptx(nvir.read_ptx(nvir.print_ptx(module)))  # read and printed
try:
    nvir.verify(nvir.read_ptx(text.replace("bsel.b32 %r4, %r1", "bsel.b32 %r4, %rd1")))
except nvir.VerifyError as e:
    assert "takes b32" in str(e), e  # of a wrong type: refused
else:
    raise AssertionError("a source of 64 bits verified")

out = np.zeros(32, np.uint32)
nvir.launch(module, "k", 1, 32, [out])  # run
lanes = np.arange(32, dtype=np.uint32)
mask, x = np.uint32(0x0F0F0F0F), np.uint32(0x12345678)
assert (out == ((lanes & mask | x & ~mask) + (x & mask | ~mask))).all(), out

f = next(iter(module.functions))
price = nvir.sm.machine(f, nvir.sm.profile("sm_90"))  # priced
families = [op.family for op in price if op.parent.form.name == "bsel"]
assert families == ["LOP3", "LOP3"], families

nvir.run_passes(module, "const-fold,dce")  # folded
rows = [i.form.name for i in f.instructions()]
assert rows.count("bsel") == 1, rows

name = "sm_130"  # the machine
assert name in nvir.sm.PROFILES
assert nvir.sm.profile(name + "a").title == "a machine of tomorrow"
assert nvir.sm.occupancy(name, 64, 256).blocks_per_sm > 0
nvir.verify(nvir.read_ptx(text.replace("sm_90", name)))
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the opcode and the machine."""
    root = tmp_path_factory.mktemp("extended")
    shutil.copytree(NVIR, root / "nvir", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (mark, text) in ADDED.items():
        file = root / "nvir" / name
        old = file.read_text("utf-8")
        at = old.index(mark) if mark else len(old)
        file.write_text(old[:at] + text + old[at:], "utf-8")
    (root / "nvir/sm/profiles/sm_130.json").write_text(json.dumps(MACHINE), "utf-8")
    return root


def run(root: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], input=given, capture_output=True, text=True, cwd=root,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
    )


def test_an_opcode_takes_four_files_and_a_machine_one(copied):
    assert len(ADDED) <= 4
    done = run(copied, "-c", USE, given=PTX)
    assert done.returncode == 0, done.stderr


def test_the_commands_know_both(copied):
    (copied / "k.ptx").write_text(PTX, "utf-8")
    report = run(copied, "-m", "nvir", "report", "k.ptx", "--arch", "sm_130", "--json")
    assert report.returncode == 0, report.stderr
    assert json.loads(report.stdout)["arch"] == "sm_130"
    words = ("occupancy", "--arch", "sm_130", "--regs", "64", "--block", "256")
    fitting = run(copied, "-m", "nvir", *words)
    assert fitting.returncode == 0, fitting.stderr
    assert "block" in fitting.stdout


def test_without_the_row_the_opcode_is_unknown(copied):
    """The near miss: the file that the copy was made of takes it for an unknown operation."""
    code = """if True:
        import nvir, sys
        f = next(iter(nvir.read_ptx(sys.stdin.read()).functions))
        print(*(i.form.name for i in f.instructions()))
    """
    done = run(NVIR.parent, "-c", code, given=PTX)
    assert done.returncode == 0, done.stderr
    assert "bsel" not in done.stdout
    assert done.stdout.split().count("unknown") == 2
