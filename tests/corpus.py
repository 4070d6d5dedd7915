"""PTX files for tests to read: those of examples/, and a larger collection where there is one.

The collection lies outside of the repository, for it holds files that are not ours to give
away: `../corpus` beside the repository, or the folder that NVIR_CORPUS names. Its
INDEX.tsv has a header and the columns file, origin, arch, bytes, ptxas_message.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "ptx"


@attrs.frozen
class Entry:
    """One file of the collection. `arch` is what ptxas assembles it for."""

    path: Path
    origin: str
    arch: str
    size: int
    message: str = ""


def examples(pattern: str = "*.ptx") -> list[Path]:
    """The PTX files of examples/ptx whose names fit a glob pattern, sorted."""
    return sorted(EXAMPLES.glob(pattern))


def corpus_root() -> Path | None:
    """The folder of the collection, or None where there is none."""
    root = Path(os.environ.get("NVIR_CORPUS") or ROOT.parent / "corpus")
    return root if (root / "INDEX.tsv").is_file() else None


def corpus(folder: str = "ok") -> list[Entry]:
    """The collection's files that ptxas 13.0 accepts ("ok"), rejects, or is too old for ("newer").

    In the order of the index; empty where there is no collection.
    """
    root = corpus_root()
    if root is None:
        return []
    entries = []
    for line in (root / "INDEX.tsv").read_text().splitlines()[1:]:
        file, origin, arch, size, message = (line.split("\t") + [""] * 5)[:5]
        if file.startswith(folder + "/"):
            entries.append(Entry(root / file, origin, arch, int(size), message))
    return entries


def sample(
    count: int, seed: int = 0, max_size: int = 200_000, folder: str = "ok", contains: str = ""
) -> list[Entry]:
    """At most `count` files of the collection, spread evenly over their origins.

    The same for the same arguments and collection; only files up to `max_size` bytes whose
    name holds `contains`.
    """
    by_origin: dict[str, list[Entry]] = {}
    for entry in corpus(folder):
        if entry.size <= max_size and contains in entry.path.name:
            by_origin.setdefault(entry.origin, []).append(entry)
    rng = random.Random(seed)
    for entries in by_origin.values():
        rng.shuffle(entries)
    picked: list[Entry] = []
    while len(picked) < count and any(by_origin.values()):
        for entries in by_origin.values():
            if entries and len(picked) < count:
                picked.append(entries.pop())
    return picked
