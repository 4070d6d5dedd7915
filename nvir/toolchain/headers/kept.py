"""Files of precompiled headers: how one is made and called, and which of CUDA's serves a project.

    made(command, kept, needs)          make one of the source that `wished` wrote
    of_all(command, project, folder)    the one of what every command line includes
    HeaderFacts.of(kept)                      what is in its headers: macros, words, files
    hung_on(project, facts)             which options of a project change what its headers mean
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import attrs

from nvir.toolchain.errors import ToolError
from nvir.toolchain.headers.includes import pairs
from nvir.toolchain.process import cache_folder, run

HEADERS = Path(__file__).parents[1] / "clang_include"  # what clang asks for and CUDA no longer has
FIRST = HEADERS / "first"  # what is found before all others
_ROOM = 1 << 30
_FORM = "3"  # of what is kept
_EMIT = ("-Xclang", "-emit-pch", "-fpch-instantiate-templates")
LISTED = ("-H", "-fshow-skipped-includes")  # clang tells each include, of what it has read, too
_ENTERED = re.compile(r"^(\.+) (.*)$", re.M)
_FOLDERS = ("-I", "-isystem", "-iquote")
_HEADER = ("h", "hh", "hpp", "cuh", "inl", "inc", "hxx")
_DEFINE = re.compile(r"#define (\w+)(?:\(.*| ?(.*))")
_VARIABLES = tuple(map(re.compile, (
    rb"__constant__|__managed__", rb"static\s+__device__\s[\w\s:<>,*&]*[\[=;]",
    rb"__device__\s+static\s[\w\s:<>,*&]*[\[=;]")))
_BLANK = re.sub(rb"\W", b" ", bytes(range(256)))  # what no word has


@attrs.frozen
class HeaderFacts:
    """What is in some headers: how they and their folders are called, all words, and the macros
    that there are behind them."""

    called: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    macros: dict[str, str] = attrs.field(factory=dict)

    @staticmethod
    def of(kept: Path) -> HeaderFacts:
        """Those of a kept file."""
        called, words, macros = json.loads(kept.with_suffix(".names").read_text("utf-8"))
        return HeaderFacts(frozenset(called), frozenset(words), macros)

    @staticmethod
    def read(command: Sequence[str], listed: str, below: HeaderFacts) -> HeaderFacts:
        """Those of the files in clang's list, and others. The command takes the kept file."""
        done = run([*command, "-dM", "-E", os.devnull], cwd=Path.cwd())
        macros = {m[1]: m[2] or "" for m in _DEFINE.finditer(done.stdout)}
        return HeaderFacts.of_files((path for _, path in entered(listed)), macros, below)

    @staticmethod
    def of_files(paths: Iterable[str], macros: dict[str, str], below: HeaderFacts) -> HeaderFacts:
        """Those of files, and others; with these macros."""
        called, words = set[str](), set[bytes]()
        for path in map(Path, dict.fromkeys(paths)):
            if not path.is_relative_to(FIRST):  # which nothing hides
                called |= {path.name, path.parent.name}
            words.update(path.read_bytes().translate(_BLANK).split())
        named = {x for word in words if not (x := word.decode())[0].isdigit()}
        return HeaderFacts(below.called | (called - {"include"}), below.words | named, macros)

    def __str__(self) -> str:
        return json.dumps([[*self.called], [*self.words], self.macros])


def hung_on(project: Sequence[str], facts: HeaderFacts) -> list[str]:
    """The options of a project that change what headers mean: macros that they name, folders that
    could hide one of them. Each with what in that folder could."""
    found = []
    for option, value in pairs(project):
        if option in ("-D", "-U"):
            if value.partition("=")[0].partition("(")[0] in facts.words:
                found.append(option + value)
        elif option != "-include" and (hiding := facts.called.intersection(names(value))):
            found.append("\0".join([option, os.path.abspath(value), *sorted(hiding)]))
    return found


def on(kept: Path | None, command: Sequence[str]) -> list[str]:
    """nvir's command with a kept file in place of what it includes, where there is one."""
    return [*without("-include", command), "-include-pch", str(kept)] if kept else [*command]


def of_all(command: Sequence[str], project: Sequence[str], folder: Path) -> Path | None:
    """The kept file of what `command` includes that serves a project, where there is one."""
    def one(command: Sequence[str], place: str) -> Path | None:
        kept = folder / f"{key(command, place)}.pch"
        first = [x for option, x in pairs(command) if option == "-include"]
        wished(kept, "".join(f'#include "{x}"\n' for x in first))  # as clang lists these alone
        there = made(without("-include", command), kept, trusted=True, notes=lambda file, listed: {
            ".names": str(HeaderFacts.read(on(file, command), listed, HeaderFacts()))})
        return kept if there else None

    return _serving(command, project, one)[0]


def of_library(library: str, command: Sequence[str], project: Sequence[str],
               make: Callable[[Sequence[str], Path], list[str]]) -> tuple[Path, list[str]] | None:
    """The same where a library makes the file, with its options: `make` does it of these and its
    path, and tells what was read. The times of these headers are in its key."""
    if os.environ.get("NVIR_PRECOMPILED") == "0":
        return None

    def one(command: Sequence[str], place: str) -> Path | None:
        kept = folder / f"{key([library, *command], place + times)}.pch"
        if os.path.isfile(kept):
            kept.with_suffix(".used").touch()
            return kept
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            file = Path(aside) / kept.name
            facts = HeaderFacts.of_files(make(command, file), {}, HeaderFacts())
            replace(kept.with_suffix(".names"), str(facts))
            file.rename(kept)
        _tidy(folder)
        return kept

    try:
        folder = cache_folder() / "headers"
        folder.mkdir(exist_ok=True)
        times = _times(command)
        kept, given = _serving(command, project, one)
    except (OSError, ToolError):
        return None
    return (kept, given) if kept is not None else None


def _times(command: Sequence[str]) -> str:
    """The times and sizes of all files in the folders of `-isystem`."""
    folders = [value for option, value in pairs(command) if option == "-isystem"]
    files = sorted(os.path.join(at, name) for folder in folders
                   for at, _, names in os.walk(folder) for name in names)
    return str([(x.st_mtime_ns, x.st_size) for x in map(os.stat, files)])


def _serving(command: Sequence[str], project: Sequence[str],
             one: Callable[[Sequence[str], str], Path | None]) -> tuple[Path | None, list[str]]:
    """The file of a command or, where options of a project change what its headers mean, of these
    as well, and all of them; `one` makes it of options and a folder."""
    kept = one(command, "")
    hung = hung_on(project, HeaderFacts.of(kept)) if kept else []
    whole = [*command, *(x for h in hung for x in h.split("\0")[:2])]
    return one(whole, os.getcwd()) if hung else kept, whole


def wished(kept: Path, start: str) -> bool:
    """Was this file wished for before? Its source is there from the first time on."""
    source = kept.with_suffix(".cu")
    if os.path.exists(source):
        return True
    source.write_bytes(start.encode("utf-8", "surrogateescape"))
    return False


def made(command: Sequence[str], kept: Path, needs: frozenset[str] = frozenset(),
         notes: Callable[[Path, str], dict[str, str]] | None = None, *,
         trusted: bool = False) -> bool:
    """Is the file there, or can it be made of the source that `wished` wrote? Where that failed
    there is a mark. `needs`: headers that it must meet. `notes` makes texts to be kept beside it,
    by suffix, of the file and clang's list of what it read. `trusted` headers have no variables."""
    source = kept.with_suffix(".cu")
    if os.path.isfile(kept):
        kept.with_suffix(".used").touch()  # to its own time, a file made on top is held
        return True
    if os.path.exists(_failed(kept)):
        return False
    with tempfile.TemporaryDirectory(dir=kept.parent) as place:
        file = Path(place) / kept.name
        listed = LISTED if needs else LISTED[:1]
        done = run([*command, *_EMIT, *listed, source, "-o", file], cwd=Path.cwd())
        read = {path for _, path in entered(done.stderr)}
        if done.returncode or not os.path.isfile(file):
            _failed(kept).touch()
            return False
        if (not trusted and hopeless(kept, read)) or not needs <= read:
            return False
        for suffix, text in (notes(file, done.stderr) if notes else {}).items():
            replace(kept.with_suffix(suffix), text)
        file.rename(kept)
    _tidy(kept.parent)
    return True


def _failed(kept: Path) -> Path:
    return kept.with_suffix(".failed")


def hopeless(kept: Path, read: Iterable[str]) -> bool:
    """Do headers that were read have variables? Then no file is to be made of them."""
    if os.path.exists(_failed(kept)):
        return True
    if found := any(map(_has_variables, read)):
        _failed(kept).touch()
    return found


def _has_variables(path: str) -> bool:
    """Are there static variables of the device in a file? Where host code names one, clang gives it
    to the host, but forgets that of a kept file."""
    data = Path(path).read_bytes()
    return any(pattern.search(data) for pattern in _VARIABLES)


def replace(file: Path, text: str) -> None:
    """Write a file that others may be reading."""
    with tempfile.TemporaryDirectory(dir=file.parent) as place:
        made = Path(place) / file.name
        made.write_text(text, "utf-8")
        made.rename(file)


def entered(listed: str) -> list[tuple[int, str]]:
    """The files of clang's list of includes, each with its depth."""
    return [(len(m[1]), m[2]) for m in _ENTERED.finditer(listed)]


def _tidy(folder: Path) -> None:
    """Remove what was not used for longest, beyond the room that there is."""
    files: defaultdict[str, list[tuple[Path, os.stat_result]]] = defaultdict(list)
    for p in folder.glob("*.*"):
        with contextlib.suppress(FileNotFoundError):  # others tidy, too
            files[p.stem].append((p, p.stat()))
    total = 0
    for those in sorted(files.values(), key=lambda x: -max(stat.st_mtime for _, stat in x)):
        total += sum(stat.st_size for _, stat in those)
        for p, _ in those if total > _ROOM else ():
            p.unlink(missing_ok=True)


def key(command: Sequence[str], start: str) -> str:
    """One word for all that the kept file depends on, the times of its headers apart."""
    program = os.stat(command[0])
    parts = [_FORM, *command, start, str((program.st_size, program.st_mtime_ns))]
    for option, value in zip(command, [*command[1:], ""], strict=True):
        place = value if option in _FOLDERS else option[2:] if option.startswith("-I") else ""
        parts += [x for x in names(place) if x.rpartition(".")[2] in _HEADER or "." not in x]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def names(folder: str) -> list[str]:
    """What is in a folder of headers, by name."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder or os.devnull))
    return []


def without(option: str, command: Sequence[str]) -> list[str]:
    """A command without an option that takes a value."""
    pairs = zip(command, ["", *command], strict=False)
    return [word for word, before in pairs if option not in (word, before)]
