"""Running a tool: no shell, a time limit, a private folder that is gone afterwards."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from nvir.toolchain.errors import ToolError
from nvir.toolchain.find import find

TIMEOUT = 120.0  # seconds; ptxas takes 35 us a statement, so this is three million of them
MEMORY = 4 << 30  # bytes for a tool's data


@attrs.frozen
class Finished:
    """What a tool left behind. `returncode` is negative where a signal ended it."""

    returncode: int
    stdout: str
    stderr: str
    ms: float


def run(command: Sequence[str | Path], *, cwd: Path, timeout: float = TIMEOUT,
        memory: int | None = MEMORY) -> Finished:
    """Run a program in the folder `cwd` and wait for it. It gets `memory` bytes for its data at
    most, where the system can limit that.

    Raises ToolError when it does not end in `timeout` seconds or cannot be started.
    """
    name = Path(command[0]).name
    start = time.perf_counter()
    try:
        with subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            if memory is not None:
                _limit(process.pid, memory)
            try:
                told = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                process.wait()
                raise
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{name} did not end within {timeout:g} s") from error
    except OSError as error:
        raise ToolError(f"{name} could not be started: {error}") from error
    ms = (time.perf_counter() - start) * 1e3
    out, err = (text.decode("utf-8", "replace") for text in told)
    return Finished(process.returncode, out, err, ms)


def _limit(process: int, memory: int) -> None:
    """Limit what a process and those that it will start take."""
    import resource

    with contextlib.suppress(OSError, AttributeError, ValueError):  # ended; not Linux; less already
        most = resource.prlimit(process, resource.RLIMIT_DATA)[1]
        if most in (-1, resource.RLIM_INFINITY) or most > memory:
            resource.prlimit(process, resource.RLIMIT_DATA, (memory, memory))


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A folder of one's own, removed on leaving."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="nvir-") as folder:
        yield Path(folder)


def cache_folder(cache: Path | None = None) -> Path:
    """The folder of what is kept from one run to the next, by default $XDG_CACHE_HOME/nvir.
    Raises ToolError where that is another user's."""
    base = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "nvir"
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError:  # no home, or one that cannot be written to
        import tempfile

        base = Path(tempfile.gettempdir()) / f"nvir-{os.getuid()}"
        base.mkdir(mode=0o700, exist_ok=True)
        if base.stat().st_uid != os.getuid():  # what lies there is run
            raise ToolError(f"{base} is another user's; set XDG_CACHE_HOME") from None
    return base


def source_file(source: str | bytes | os.PathLike[str], folder: Path, name: str) -> Path:
    """The file of a source that is given as a path or as text.

    As everywhere in nvir: an os.PathLike is a path, bytes are content, a str with a line
    break is text and any other str is a path. Content is written to `folder / name`.
    Raises ToolError where the path does not exist.
    """
    if isinstance(source, bytes) or (isinstance(source, str) and "\n" in source):
        path = folder / name
        path.write_bytes(source if isinstance(source, bytes)
                         else source.encode("utf-8", "surrogateescape"))
        return Path(name)  # relative: the tool's messages then name no temporary folder
    path = Path(source).absolute()
    if not os.path.isfile(path):
        raise ToolError(f"no such file: {source}")
    return path


def version(tool: str) -> tuple[int, ...]:
    """The version of a program as the tool itself gives it, such as (13, 0, 88)."""
    path = find(tool)
    return _version(path, path.stat().st_mtime_ns)


@functools.cache
def _version(path: Path, stamp: int) -> tuple[int, ...]:
    with workspace() as folder:
        text = run([path, "--version"], cwd=folder, timeout=30).stdout
    found = re.search(r"\bV(\d+(?:\.\d+)+)", text)
    if not found:
        raise ToolError(f"{path.name} tells no version")
    return tuple(int(part) for part in found[1].split("."))
