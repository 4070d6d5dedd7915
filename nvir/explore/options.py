"""What holds for a page; the server knows it without what makes the page's figures."""

from __future__ import annotations

from pathlib import Path

import attrs


@attrs.frozen
class Options:
    """What holds for a page: as the options of `nvir report` that have these names."""

    arch: str | None = None
    block: int | None = None
    dynamic_smem: int = 0
    folders: tuple[Path, ...] = ()
    model: bool = False  # ptxas is not asked
