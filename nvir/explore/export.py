"""The page with all that it can show in one file, which needs no server and no network.

The page's own modules become one script, their imports of each other dropped, and the answers to
its questions one block of JSON in which no character can end the block. What may run is said by the
hash of the script: markup that a file's names spell would not run even if it were markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

STATIC = Path(__file__).with_name("static")
LARGE = 2_000_000  # characters of answers beyond which they are compressed
MODULES = ("data", "code", "panels", "charts", "main")  # an importer behind what it imports
_IMPORT = re.compile(r"^import [^;]*;\n", re.M)
_EXPORT = re.compile(r"^export ", re.M)
_UNSAFE = {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(answers: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """The file; `answers` are those of `nvir.explore.data.everything`."""
    def read(name: str) -> str:
        return (STATIC / name).read_text("utf-8")

    own = "".join(_EXPORT.sub("", _IMPORT.sub("", read(f"{m}.js"))) for m in MODULES)
    script = f"{read('vendor/editor.js')}\n{{{own}}}".replace("</script", "<\\/script")
    style = read("vendor/uplot.css") + read("page.css")
    nonce = _hash(own + style)
    policy = (f"default-src 'none'; img-src data:; script-src 'sha256-{_hash(script)}'; "
              f"style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'")
    head = (f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            f'<style nonce="{nonce}">{style}</style>')
    text = read("index.html").replace("NONCE", nonce)
    text = re.sub(r"<link rel=\"stylesheet\"[^>]*>\n", "", text)
    text = re.sub(r"<script[^>]*></script>\n", "", text)
    before, after = text.split("</head>")
    body, end = after.split("</body>")
    block = _block(embedded(dict(answers)))
    return f"{before}{head}</head>{body}{block}\n<script>{script}</script>\n</body>{end}"


def embedded(value: Any) -> str:
    """JSON that may stand within a script element, whatever its texts hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda m: _UNSAFE[m[0]], text)


def _block(text: str) -> str:
    """The answers as an element that nothing runs; compressed where they are large."""
    kind = "application/json"
    if len(text) > LARGE:
        kind, text = "text/plain", base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return f'<script type="{kind}" id="answers">{text}</script>'


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
