"""Files that users name, read within bounds; JSON of profiles, schedules and trees."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import Counter
from typing import Any, BinaryIO

from nvir.ir.errors import Diagnostic, ParseError

LARGEST = 256 << 20  # bytes; PTX of the largest libraries is a tenth of it
_PIECE = 1 << 20


def read_file(
    path: str | os.PathLike[str], limit: int = LARGEST, *, regular: bool = False
) -> bytes:
    """The bytes of a file. Raises OSError where it cannot be read or holds more than `limit`
    bytes, as devices do without end; also for a pipe with a name, and with `regular` for all that
    is no regular file, without opening it, since that may wait for ever. A shell's `<(command)`
    has no name and is open already."""
    try:
        mode = os.stat(path).st_mode
        if regular and not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if stat.S_ISFIFO(mode) and os.path.lexists(os.path.realpath(path)):
            raise OSError(errno.EINVAL, "a pipe with a name, which may wait for ever")
        with open(path, "rb") as f:
            return read_stream(f, limit)
    except ValueError as e:  # a name with a NUL in it
        raise OSError(errno.EINVAL, str(e)) from None


def read_stream(stream: BinaryIO, limit: int = LARGEST) -> bytes:
    """What is left in a stream, with memory for what there is. Raises OSError as `read_file`."""
    parts, left = [], limit
    while part := stream.read(_PIECE):
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB")
    return b"".join(parts)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return made


def json_document(data: str | bytes, file: str) -> Any:
    """The data of a JSON text. Raises ParseError at the place where it is none."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError:
        raise ParseError(Diagnostic("not UTF-8 text", file)) from None
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as e:
        lines = text.splitlines()
        source = lines[e.lineno - 1] if e.lineno <= len(lines) else ""
        place = Diagnostic(f"not JSON: {e.msg}", file, e.lineno, e.colno, source)
        raise ParseError(place) from None
    except (RecursionError, ValueError) as e:  # a number of thousands of digits
        why = "nested too deeply" if isinstance(e, RecursionError) else str(e)
        raise ParseError(Diagnostic(f"not JSON that can be read: {why}", file)) from None
