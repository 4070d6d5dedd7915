"""Files that users name, read within bounds; JSON of profiles, schedules and trees."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections import Counter
from typing import Any, BinaryIO

from nvir.ir.errors import Diagnostic, ParseError

LARGEST = 256 << 20  # bytes; PTX of the largest libraries is a tenth of it
_PIECE = 1 << 20
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # an escape for half of a character beyond 16 bits
_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


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


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python's own words would be about its settings
        raise ValueError(f"a number of {len(digits):,} digits") from None


def json_document(data: str | bytes, file: str) -> Any:
    """The data of a JSON text. Raises ParseError at the place where it is none."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError:
        raise ParseError(Diagnostic("not UTF-8 text", file)) from None
    try:
        made = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
        half = _HALF.search(text)
        if half is not None:  # of a pair, or alone: no text then, and nothing can print it
            try:
                json.dumps(made, ensure_ascii=False).encode("utf-8")
            except UnicodeEncodeError:
                raise json.JSONDecodeError("half of a character", text, half.start()) from None
        return made
    except json.JSONDecodeError as e:
        lines = text.splitlines()
        source = lines[e.lineno - 1] if e.lineno <= len(lines) else ""
        place = Diagnostic(f"not JSON: {e.msg}", file, e.lineno, e.colno, source)
        raise ParseError(place) from None
    except (RecursionError, ValueError) as e:
        why = "nested too deeply" if isinstance(e, RecursionError) else str(e)
        raise ParseError(Diagnostic(f"not JSON that can be read: {why}", file)) from None


def json_place(text: str, path: str, message: str, file: str) -> Diagnostic:
    """What is wrong of a key of a JSON text that could be read, `a.b[2].c`, at the key, else at the
    nearest one around it that is there, else without a place."""
    places = _places(text)
    while path not in places and path:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    if not path:
        return Diagnostic(message, file)
    at = places[path]
    start = text.rfind("\n", 0, at) + 1
    line = text.count("\n", 0, at) + 1
    return Diagnostic(message, file, line, at - start + 1, text[start:].partition("\n")[0])


def _places(text: str) -> dict[str, int]:
    """The offset of each key and element, by its path."""
    found: dict[str, int] = {}
    inside: list[tuple[str, int]] = []  # the path of what is open; of a list the element, else -1
    here = ""
    is_key = False
    for m in _JSON.finditer(text):
        token = m[0]
        if inside and token == ",":
            path, k = inside[-1]
            inside[-1] = path, k + (k >= 0)
            is_key = k < 0
            continue
        if token in "}]" and inside:
            inside.pop()
        elif is_key and token[0] == '"':
            here = f"{inside[-1][0]}.{json.loads(token)}".lstrip(".")
            found.setdefault(here, m.start())
            is_key = False
        elif token not in ":}]":
            if inside and inside[-1][1] >= 0:
                here = "{}[{}]".format(*inside[-1])
                found[here] = m.start()
            if token in "{[":
                inside.append((here, -1 if token == "{" else 0))
                is_key = token == "{"
    return found
