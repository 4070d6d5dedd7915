"""Broken input of all kinds: whatever nvir is given, it answers or says what is wrong.

    python benchmarks/fuzz.py --job ptx --seconds 60       # and ir, pipelines, cli

    ptx        PTX of random kernels and of examples/ptx, mutated, through reader, verifier and
               printer; what was printed is read again
    ir         nvir's own text of both levels, mutated likewise
    pipelines  mutated pipeline texts and knob settings, run on a small module
    cli        command lines with wrong options, values, files and file contents, in an empty
               directory

Mutations   cut out, repeat, swap and move pieces (tokens or lines), put one input's piece into
            another, exchange numbers for those at the ends of ranges, names for other names, insert
            stray characters, nest brackets deep, cut the text off.
Verdict     An NvirError (of the command line: status 1 to 3 and no traceback) is an answer. Any
            other exception is a defect, as is more than `LIMIT` seconds of processor time, or
            a module that reader and verifier let pass and that, printed, is refused.
Failures    are shrunk piece by piece and told once by exception and place, with the seed.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import re
import runpy
import shlex
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import click
from click.testing import CliRunner

import nvir
from nvir.cli import COMMANDS, main
from nvir.compiler import compile_tree
from nvir.ir.clone import clone_module
from nvir.ir.errors import NvirError, PassError
from nvir.ir.verify import verify
from nvir.passes.knobs import Knobs, all_knobs
from tests.kernels import random_kernel
from tests.loop_kernels import loop_kernel
from tests.random_pipelines import passes_of, random_recipe, random_value
from tests.wild_kernels import wild_kernel

LIMIT = 20.0  # seconds of the processor for one input
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
_TOKEN = re.compile(r"[\w.$%]+|\s+|.", re.S)
_NUMBERS = (
    "0", "1", "-1", "2147483647", "4294967296", "18446744073709551616", "1" * 400, "0x", "08",
    "1e999", "0f7fc00000", "0d7ff", "-0", "0b2", "1.5", "nan",
)
_STRAY = ("\0", "\ufeff", "é", "\\", '"', "'", "{", "}", "(", ")", "<", ">", "[", "]", ";", ",",
          "%", "@", "!", "/*", "//", "\r", "\x1b", "\ud800", "|", "...")


class TooLong(BaseException):
    """The time for one input is over. No subclass of Exception, so that nothing swallows it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong after that much time of the processor."""

    def over(signum: int, frame: FrameType | None) -> None:
        raise TooLong(f"more than {seconds:g} s")

    old = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)


# --------------------------------------------------------------------- mutations


def mutate(rng: random.Random, text: str, other: str) -> str:
    """The text with one to four changes; `other` gives pieces."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        text = rng.choice(_MUTATIONS)(rng, text, other)
    return text


def pieces_of(rng: random.Random, text: str) -> list[str]:
    """Tokens, or lines."""
    return text.splitlines(keepends=True) if rng.random() < 0.4 else _TOKEN.findall(text)


def _cut(rng: random.Random, text: str, other: str) -> str:
    pieces = pieces_of(rng, text)
    at, n = rng.randrange(len(pieces) + 1), rng.choice((1, 1, 1, 2, 5, 20))
    return "".join(pieces[:at] + pieces[at + n :])


def _repeat(rng: random.Random, text: str, other: str) -> str:
    pieces = pieces_of(rng, text)
    at, n = rng.randrange(len(pieces) + 1), rng.choice((1, 1, 2, 5))
    return "".join(pieces[:at] + pieces[at : at + n] * rng.choice((2, 2, 3, 50)) + pieces[at + n :])


def _swap(rng: random.Random, text: str, other: str) -> str:
    pieces = pieces_of(rng, text)
    if len(pieces) > 1:
        a, b = rng.sample(range(len(pieces)), 2)
        pieces[a], pieces[b] = pieces[b], pieces[a]
    return "".join(pieces)


def _splice(rng: random.Random, text: str, other: str) -> str:
    pieces, more = pieces_of(rng, text), pieces_of(rng, other)
    at, of = rng.randrange(len(pieces) + 1), rng.randrange(len(more) + 1)
    skip = rng.choice((0, 1))
    return "".join(pieces[:at] + more[of : of + rng.choice((1, 1, 2, 6))] + pieces[at + skip :])


def _number(rng: random.Random, text: str, other: str) -> str:
    return _exchange(rng, text, r"(?<![\w.])-?\d[\w.]*", _NUMBERS)


def _name(rng: random.Random, text: str, other: str) -> str:
    return _exchange(rng, text, r"[%@$.]?[A-Za-z_][\w.$]*", re.findall(r"[%@$.]?[\w.$]+", text))


def _exchange(rng: random.Random, text: str, pattern: str, values: Any) -> str:
    found = list(re.finditer(pattern, text))
    if not found or not values:
        return text
    m = rng.choice(found)
    return f"{text[: m.start()]}{rng.choice(values)}{text[m.end() :]}"


def _stray(rng: random.Random, text: str, other: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_STRAY) * rng.choice((1, 1, 1, 3)) + text[at:]


def _nest(rng: random.Random, text: str, other: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice("({[<-!~") * 20_000 + text[at:]


def _truncate(rng: random.Random, text: str, other: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


_MUTATIONS: tuple[Callable[[random.Random, str, str], str], ...] = (
    _cut, _cut, _repeat, _swap, _splice, _splice, _number, _name, _name, _stray, _truncate,
    _cut, _repeat, _swap, _splice, _number, _name, _stray, _name, _nest,
)


# ------------------------------------------------------------------------- jobs


class Texts:
    """Inputs to begin with, by job."""

    def __init__(self) -> None:
        self.examples = sorted((EXAMPLES / "ptx").glob("*.ptx"))
        self.trees = sorted((EXAMPLES / "trees").glob("*.py"))

    def ptx(self, rng: random.Random) -> str:
        if self.examples and rng.random() < 0.4:
            return rng.choice(self.examples).read_text("utf-8")
        make = rng.choice((random_kernel, wild_kernel, loop_kernel))
        return make(rng.randrange(1 << 30), rng.choice((2, 6, 20)))

    def ir(self, rng: random.Random) -> str:
        if self.trees and rng.random() < 0.5:
            return nvvm_text(rng.choice(self.trees))
        return nvir.print_ir(nvir.read_ptx(self.ptx(rng)))


@functools.cache
def nvvm_text(path: Path) -> str:
    """A typed tree of the examples at level nvvm."""
    unit = runpy.run_path(str(path))["tree"]()
    return nvir.print_ir(compile_tree(unit, optimise=0, level="nvvm"))


def try_ptx(text: str) -> bool:
    """Read, verify, print, read again; whether the reader took it."""
    try:
        module = nvir.read_ptx(text)
        verify(module)
    except NvirError:
        return False
    again = nvir.read_ptx(nvir.print_ptx(module))
    verify(again)
    return True


def try_ir(text: str) -> bool:
    """Parse and, if the module is sound, print and parse again: the text stays."""
    try:
        module = nvir.parse_ir(text)
        verify(module)
    except NvirError:
        return False
    printed = nvir.print_ir(module)
    if nvir.print_ir(nvir.parse_ir(printed)) != printed:
        raise AssertionError("printed and read again it is another text")
    return True


_SMALL = nvir.read_ptx(loop_kernel(1, 8))


def try_pipeline(text: str) -> bool:
    """A pipeline and, behind a newline each, knob settings; run on a small module."""
    pipeline, *settings = text.split("\n")
    module = clone_module(_SMALL)
    try:
        nvir.run_passes(module, pipeline, knobs=Knobs.parse(settings), verify=True)
    except PassError:
        raise
    except NvirError:
        return False
    return True


@attrs.frozen
class Job:
    """`first` makes an input, `attempt` tries it: True where nvir took it, False where it said
    what is wrong."""

    first: Callable[[Texts, random.Random], str]
    attempt: Callable[[str], bool]
    mutated: bool = True


def pipeline_text(texts: Texts, rng: random.Random) -> str:
    chain = ",".join(passes_of(random_recipe(rng).chain)) or "dce"
    knobs = [f"{k.name}={random_value(rng, k)}" for k in rng.sample(all_knobs(), rng.randrange(3))]
    return "\n".join((re.sub(r"loop-pipeline(<[^>]*>)?", "dce", chain), *knobs))


# ----------------------------------------------------------------- command lines

_FILES = ("good.ptx", "good.ir", "broken.ptx", "broken.ir", "empty.ptx", "bytes.ptx", "missing.ptx",
          "folder", "broken.json", "list.json", "kernel.cu", "-", "", "out/none/x")
_WORDS = ("k", "sm_80", "sm_90a", "sm_1", "0", "-1", "4", "1,2", "1e9", "nan", "dce", "loops",
          "UnrollBudget=3", "UnrollBudget=x", "=", "a=b=c", "é", "0..3", "3..0", "1,,2", "L1",
          "zeros:f32[64]", "zeros:f32[-1]", "range:i32[8]", "random:f32[4]@x",
          "x" * 5000)
_LEFT_OUT = ("scheduler", "jobs", "workers", "help", "version")


def command_line(texts: Texts, rng: random.Random) -> str:
    """A command with options of its own and values that may be wrong."""
    group = click.Context(main)
    name = rng.choice(list(COMMANDS))
    command = main.get_command(group, name)
    assert command is not None
    words = [name if rng.random() < 0.97 else rng.choice(_WORDS)]
    for p in command.params:
        if p.name in _LEFT_OUT:
            continue
        if isinstance(p, click.Argument):
            words += [rng.choice(_FILES) for _ in range(rng.choice((1, 1, 1, 0, 2)))]
        elif rng.random() < 0.2:
            words.append(rng.choice(p.opts))
            if not getattr(p, "is_flag", False) and rng.random() < 0.95:
                words.append(_value(rng, p))
    if rng.random() < 0.1:
        words.insert(rng.randrange(len(words) + 1), rng.choice(("--nope", "-z", "--", *_WORDS)))
    return shlex.join(words)


def _value(rng: random.Random, p: click.Parameter) -> str:
    if isinstance(p.type, click.Choice) and rng.random() < 0.7:
        return str(rng.choice(list(p.type.choices)))
    return rng.choice(_WORDS if rng.random() < 0.7 else _FILES)


def files(rng: random.Random) -> None:
    """What the command lines name, in the current directory."""
    texts = Texts()
    good, other = loop_kernel(rng.randrange(1 << 30), 6), texts.ir(rng)
    Path("good.ptx").write_text(good)
    Path("good.ir").write_text(nvir.print_ir(nvir.read_ptx(good)))
    Path("broken.ptx").write_text(mutate(rng, good, other), "utf-8", "surrogatepass")
    Path("broken.ir").write_text(mutate(rng, other, good), "utf-8", "surrogatepass")
    Path("empty.ptx").write_text("")
    Path("bytes.ptx").write_bytes(rng.randbytes(300))
    Path("folder").mkdir()
    Path("broken.json").write_text('{"name": [1, ')
    Path("list.json").write_text("[1, {}]")
    Path("kernel.cu").write_text("__global__ void k(float *p) { p[threadIdx.x] = 1.0f; }\n")


def try_command(line: str) -> bool:
    """Run it among the files; what it raises is raised, a traceback in its output too."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            files(random.Random(line))
            result = CliRunner().invoke(main, shlex.split(line), input="\0broken")
        finally:
            os.chdir(before)
    if isinstance(result.exception, Exception):
        raise result.exception
    if "Traceback (most recent" in result.output:
        raise AssertionError(result.output[-400:])
    if result.exit_code not in (0, 1, 2, 3):
        raise AssertionError(f"status {result.exit_code}")
    return result.exit_code == 0


JOBS = {
    "ptx": Job(Texts.ptx, try_ptx),
    "ir": Job(Texts.ir, try_ir),
    "pipelines": Job(pipeline_text, try_pipeline),
    "cli": Job(command_line, try_command, mutated=False),
}


def made(job: Job, texts: Texts, seed: int) -> str:
    """The input of a seed. Every eighth one is not broken."""
    rng = random.Random(f"input {seed}")
    text = job.first(texts, rng)
    if not job.mutated or rng.random() < 0.125:
        return text
    return mutate(rng, text, job.first(texts, rng))


def fault(job: Job, text: str) -> tuple[str, str] | None:
    """(kind and place, message) of what the input brings to light, or None."""
    try:
        with limited(LIMIT), contextlib.redirect_stderr(io.StringIO()):
            job.attempt(text)
    except (Exception, TooLong) as e:
        cause = e.__cause__ or e
        frames = traceback.extract_tb(cause.__traceback__)
        inside = [f for f in frames if f"{os.sep}nvir{os.sep}" in f.filename]
        at = (inside or frames)[-1]
        place = "" if isinstance(e, TooLong) else f" at {Path(at.filename).name}:{at.name}"
        return f"{type(cause).__name__}{place}", f"{e}"[:400]
    return None


def shrunk(job: Job, text: str, kind: str, seconds: float) -> str:
    """The smallest text found in that time with the same kind of fault: halves, quarters … of its
    tokens are left out as long as that stays so."""
    deadline = time.monotonic() + seconds
    pieces = shlex.split(text) if not job.mutated else _TOKEN.findall(text)
    join = shlex.join if not job.mutated else "".join
    size = len(pieces) // 2
    while size:
        at = len(pieces) - size
        while at > -size:
            rest = pieces[: max(at, 0)] + pieces[at + size :]
            if time.monotonic() > deadline:
                return join(pieces)
            found = fault(job, join(rest))
            if found is not None and found[0] == kind:
                pieces = rest
            at -= size
        size //= 2
    return join(pieces)


def job(name: str, seed: int, count: int, seconds: float) -> bool:
    """Try inputs until the time is over; whether nothing was found."""
    this, texts = JOBS[name], Texts()
    sys.setrecursionlimit(1000)  # as users have it
    end, start = time.monotonic() + seconds, time.process_time()
    tried = 0
    defects: Counter[str] = Counter()
    slowest = (0.0, 0)
    while tried < count and time.monotonic() < end:
        text, begin = made(this, texts, seed + tried), time.process_time()
        found = fault(this, text)
        slowest = max(slowest, (time.process_time() - begin, seed + tried))
        if found is not None:
            defects[found[0]] += 1
            if defects[found[0]] == 1:
                small = shrunk(this, text, found[0], 30)
                print(f"\n{name}: {found[0]}: {found[1]}\n"
                      f"reproduce: python benchmarks/fuzz.py --job {name} --seed {seed + tried} "
                      f"--count 1\n{small[:3000]!r}", flush=True)
        tried += 1
    print(f"{name}: {tried} inputs in {time.process_time() - start:.1f} s of a core, the slowest "
          f"{slowest[0]:.2f} s (seed {slowest[1]}); {sum(defects.values())} failed")
    for kind, n in defects.most_common():
        print(f"DEFECT {n:5} x {kind}")
    return not defects
