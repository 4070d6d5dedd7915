"""Every module can be the first one that is imported: no circle through a package's own head."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import pkgutil, sys
import nvir
names = [
    m.name for m in pkgutil.walk_packages(nvir.__path__, "nvir.")
    if not m.name.endswith(("__main__", "_nvvm_worker"))
]
import importlib
wrong = []
for first in names[int(sys.argv[1])::int(sys.argv[2])]:
    for loaded in [n for n in sys.modules if n == "nvir" or n.startswith("nvir.")]:
        del sys.modules[loaded]
    try:
        importlib.import_module(first)
    except ImportError as e:
        wrong.append(f"{first}: {e}")
print("\\n".join(wrong))
"""


def test_a_module_of_each_room_can_come_first():
    """Every sixteenth module; `python tests/test_imports_alone.py` tries all."""
    assert first_of(0, 16) == ""


TEXT = """
module ori target sm_80 version 8.0 address_size 64 name ""
kernel @k(param @a: u64) {
entry:
  %a: b64 = ld.param.u64 [@a]
  st.global.u32 [%a], 3
  ret
}
"""


def test_a_text_can_be_the_first_thing_that_is_read():
    """The rows come when they are needed: nothing else in the process has loaded them."""
    code = "import sys, nvir; print(nvir.print_ir(nvir.parse_ir(sys.argv[1])))"
    run = subprocess.run(
        [sys.executable, "-c", code, TEXT], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == TEXT.strip()


def first_of(start: int, step: int) -> str:
    run = subprocess.run(
        [sys.executable, "-c", CODE, str(start), str(step)], capture_output=True, text=True,
        check=True,
    )
    return run.stdout.strip()


if __name__ == "__main__":
    print(first_of(0, 1) or "all can")
