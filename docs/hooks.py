"""What mkdocs runs: adds the pages that are generated from nvir's own tables.

Generated pages are never checked in: `reference.pages()` makes them at every build, so they
cannot fall behind the code.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

import reference  # noqa: E402  (the folder is no package)

KERNEL = "examples/ptx/sgemm.sm_80.ptx"  # of the page that is embedded
EXPLORED = "explore-sgemm.html"
_TEXT = re.compile(r"^```text\n(.*?)^```$", re.M | re.S)
_PTX = re.compile(r"^\s*(?:@!?%\w+\s+)?[a-z]\w*(?:\.\w+)+\s[^=\n]*;$", re.M)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages, and a page of `nvir explore` where there is that command."""
    from mkdocs.structure.files import File

    for path, text in reference.pages().items():
        files.append(File.generated(config, path, content=text))
    if "explore" in reference.COMMANDS:
        made = Path(tempfile.mkdtemp()) / "explore.html"
        command = [sys.executable, "-m", "nvir", "explore", KERNEL, "--export", str(made)]
        subprocess.run(command, cwd=DOCS.parent, check=True, capture_output=True)
        files.append(File.generated(config, EXPLORED, content=made.read_text("utf-8")))
    return files


def _marked(m: re.Match[str]) -> str:
    """A block of plain text that is PTX, as PTX: the tests of the pages know it as output."""
    return f"```ptx\n{m[1]}```" if len(_PTX.findall(m[1])) > 1 else m[0]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """PTX gets its colours; links out of docs/ into the checkout lead nowhere on the site: keep
    their text; the page of `nvir explore` stands in the front page."""
    markdown = _TEXT.sub(_marked, markdown)
    if "<!-- explore -->" in markdown and files.get_file_from_path(EXPLORED) is not None:
        markdown = markdown.replace("<!-- explore -->", (
            f"The same kernel in `nvir explore`, to look around in ([alone]({EXPLORED})):\n\n"
            f'<iframe class="page" title="nvir explore of a matrix product" src="{EXPLORED}" '
            'loading="lazy"></iframe>\n'))
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", markdown)
