"""What mkdocs runs: adds the pages that are generated from nvir's own tables.

Generated pages are never checked in: `reference.pages()` makes them at every build, so they
cannot fall behind the code. The front page is the README.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

import reference  # noqa: E402  (the folder is no package)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages, and the README as the front page."""
    from mkdocs.structure.files import File

    for path, text in reference.pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links out of docs/ into the checkout lead nowhere on the site: keep their text."""
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", markdown)
