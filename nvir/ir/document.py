"""JSON documents that users write: machine profiles, schedules, trees."""

from __future__ import annotations

import json
from typing import Any

from nvir.ir.errors import Diagnostic, ParseError


def json_document(data: str | bytes, file: str) -> Any:
    """The data of a JSON text. Raises ParseError at the place where it is none."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError:
        raise ParseError(Diagnostic("not UTF-8 text", file)) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        lines = text.splitlines()
        source = lines[e.lineno - 1] if e.lineno <= len(lines) else ""
        place = Diagnostic(f"not JSON: {e.msg}", file, e.lineno, e.colno, source)
        raise ParseError(place) from None
    except (RecursionError, ValueError) as e:  # a number of thousands of digits
        why = "nested too deeply" if isinstance(e, RecursionError) else str(e)
        raise ParseError(Diagnostic(f"not JSON that can be read: {why}", file)) from None
