"""The sources that PTX names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nvir.ir.document import read_file

LARGEST_SOURCE = 16 << 20  # bytes


def source_text(paths: dict[int, str], folders: Sequence[Path]) -> dict[int, list[str]]:
    """The lines of the `.file`s that are found, by number.

    PTX comes from anywhere and may name any file of this machine, so only regular files within
    `folders` are opened: by the name as it stands, then by its last part alone.
    """
    out: dict[int, list[str]] = {}
    for number, name in paths.items():
        for folder in folders:
            found = _within(folder, name) or _within(folder, name.rsplit("/", 1)[-1])
            if found is not None:
                out[number] = found.decode("utf-8", "replace").splitlines()
                break
    return out


def _within(folder: Path, name: str) -> bytes | None:
    """The content of a file in a folder or below; None where there is none, or one too large."""
    try:
        root = folder.resolve()
        path = (root / name).resolve()  # links are followed before it is asked where it lies
        return read_file(path, LARGEST_SOURCE, regular=True) if root in path.parents else None
    except (OSError, ValueError, RuntimeError):  # a name with a NUL, links in a circle
        return None
