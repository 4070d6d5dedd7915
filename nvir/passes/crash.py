"""What a failed pass leaves behind: the last good IR, and how to fail again."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from nvir.passes.context import Context

if TYPE_CHECKING:
    from nvir.passes.pipeline import Step

PREFIX, KEPT = "nvir-crash-", 10


def save_crash(
    text: str, step: Step, function: str, reason: str, error: BaseException, ctx: Context
) -> str | None:
    """Write `text` and a report into a new folder; the path of the IR, None where that fails.

    The folder lies in NVIR_CRASH_DIR, else in the system's temporary folder. The latest `KEPT`
    stay there. Nothing of the environment is written.
    """
    name = step.pass_.name
    try:
        parent = os.environ.get("NVIR_CRASH_DIR") or None
        if parent is not None:
            os.makedirs(parent, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{_plain(name)}-", dir=parent))
        path = folder / f"before-{_plain(name)}.nvir"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        report = _report(path, step, function, reason, error, ctx)
        (folder / "report.txt").write_text(report, encoding="utf-8", errors="backslashreplace")
        _keep_latest(folder.parent)
    except OSError:
        return None
    return str(path)


def _keep_latest(parent: Path) -> None:
    """Remove what older crashes left: a loop that fails a thousand times fills no disk."""
    found = [p for p in parent.glob(f"{PREFIX}*") if os.path.isdir(p) and not p.is_symlink()]
    for old in sorted(found, key=lambda p: p.stat().st_mtime_ns)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _report(
    path: Path, step: Step, function: str, reason: str, error: BaseException, ctx: Context
) -> str:
    from nvir import __version__

    command = ["nvir", "opt", str(path), "-p", str(step), "--verify-each", "--emit", "none"]
    command += ["--policy", ctx.policy]
    for name, value in ctx.knobs.overrides().items():
        shown = ",".join(sorted(value)) if isinstance(value, frozenset) else str(value)
        command += ["--knob", f"{name}={shown}"]
    trace = "".join(traceback.format_exception(error))
    return (
        f"nvir {__version__}: pass '{step.pass_.name}' failed on @{function}\n{reason}\n\n"
        f"To fail again:\n    {shlex.join(command)}\n\n{trace}"
    )


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
