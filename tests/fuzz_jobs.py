"""What broken input is made of and given to, job by job: fuzz_inputs.py mutates, judges, shrinks.

    ptx        PTX of random kernels and of examples/ptx: read, verified, printed, read again; then
               one of the ways below
    ll         LLVM text of the examples in both dialects, likewise
    ir         nvir's own text of both levels, likewise
    cu         CUDA C++ of examples/, compiled
    json       typed trees as JSON, compiled
    schedule   files of loop-pipeline<schedule=FILE>, applied to a small loop
    profile    machine profiles, read and used for a report
    pipelines  pipeline texts and knob settings, run on a small module
    cli        command lines with wrong options, values, files and contents, in an empty folder

Ways       of a module that was taken: "print" alone; "passes", a random pipeline; "report";
           "run", its first kernel for some thousand steps on small buffers.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import random
import re
import runpy
import shlex
import tempfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import click
import numpy as np
from click.testing import CliRunner

import nvir
from nvir.cli import COMMANDS, main
from nvir.compiler import compile_tree
from nvir.frontend.tree.json_form import from_json, to_json
from nvir.ir.clone import clone_module
from nvir.ir.document import json_document
from nvir.ir.errors import NvirError, PassError, Unsupported
from nvir.ir.loops import natural_loops
from nvir.ir.module import Module
from nvir.ir.verify import verify
from nvir.passes.knobs import Knobs, all_knobs
from nvir.report import report
from nvir.report.schedule.figures import schedule_json
from nvir.sm import profile
from nvir.sm.loopgraph import loop_graph
from nvir.sm.schedule.loops import schedule_loop
from tests.kernels import random_kernel
from tests.loop_kernels import loop_kernel
from tests.mutations import mutate
from tests.random_pipelines import passes_of, random_recipe, random_value
from tests.wild_kernels import wild_kernel

TREE = Path(__file__).resolve().parent.parent
EXAMPLES = TREE / "examples"
WAYS = ("print", "passes", "report", "run")
POOL = 400  # inputs to begin with, of each kind that is generated


@attrs.frozen
class Job:
    """`first` makes an input, `attempt` tries it in one of the ways: True where nvir took it, False
    where it said what is wrong."""

    first: Callable[[Texts, random.Random], str]
    attempt: Callable[[str, str], bool]
    mutated: bool = True
    suffix: str = ".txt"


class Texts:
    """Inputs to begin with, by job; those of a corpus folder beside nvir's own."""

    def __init__(self, corpus: Path | None = None, name: str = "") -> None:
        suffix = JOBS[name].suffix if name else ""
        self.mended = sorted((TREE / "tests" / "regressions" / name).glob("*")) if name else []
        self.examples = sorted((EXAMPLES / "ptx").glob("*.ptx"))
        self.trees = sorted((EXAMPLES / "trees").glob("*.py"))
        self.sources = sorted(EXAMPLES.glob("*.cu"))
        self.given = sorted(corpus.glob(f"**/*{suffix}")) if corpus is not None and suffix else []

    def of(self, job: Job, rng: random.Random) -> str:
        if self.given and rng.random() < 0.5:
            return rng.choice(self.given).read_text("utf-8", "replace")
        if self.mended and rng.random() < 0.1:
            return rng.choice(self.mended).read_bytes().decode("utf-8", "surrogatepass")
        return job.first(self, rng)

    def ptx(self, rng: random.Random) -> str:
        if self.examples and rng.random() < 0.4:
            return _thin(rng.choice(self.examples), rng.randrange(POOL // 10))
        return _kernel(rng.randrange(3), rng.randrange(POOL), rng.choice((2, 6, 20)))

    def ir(self, rng: random.Random) -> str:
        if self.trees and rng.random() < 0.5:
            return _nvvm_text(rng.choice(self.trees))
        return _own_text(self.ptx(rng))

    def ll(self, rng: random.Random) -> str:
        return _llvm(rng.choice(self.trees), rng.choice(("llvm7", "llvm20")))

    def cu(self, rng: random.Random) -> str:
        return _text(rng.choice(self.sources))

    def json(self, rng: random.Random) -> str:
        return changed_json(rng, _tree(rng.choice(self.trees)))

    def schedule(self, rng: random.Random) -> str:
        return changed_json(rng, _schedule())

    def profile(self, rng: random.Random) -> str:
        made = {"extends": rng.choice(("sm_80", "sm_90", "common", "sm_1"))}
        if rng.random() < 0.7:
            made = json.loads(_text(TREE / "nvir" / "sm" / "profiles" / "sm_90.json"))
        return changed_json(rng, json.dumps(made))


_INSTRUCTION = re.compile(r"^[ \t]+[@a-z](?:[^:;{}]|::|\{[^{};]*\})*;[ \t]*\n", re.M)


def thinned(rng: random.Random, text: str) -> str:
    """PTX with most of its instructions left out: small texts are tried many times as often, and
    more of them are taken."""
    keep = rng.choice((0.03, 0.1, 0.3, 1.0))
    return _INSTRUCTION.sub(lambda m: m[0] if rng.random() < keep else "", text)


@functools.lru_cache(256)
def _text(path: Path) -> str:
    return path.read_text("utf-8")


@functools.lru_cache(4096)
def _thin(path: Path, seed: int) -> str:
    return thinned(random.Random(seed), _text(path))


@functools.lru_cache(4096)
def _kernel(kind: int, seed: int, size: int) -> str:
    text = (random_kernel, wild_kernel, loop_kernel)[kind](seed, size)
    return thinned(random.Random(seed), text)


@functools.lru_cache(8192)
def _own_text(ptx: str) -> str:
    return nvir.print_ir(nvir.read_ptx(ptx))


@functools.cache
def _unit(path: Path) -> Any:
    return runpy.run_path(str(path))["tree"]()


@functools.cache
def _tree(path: Path) -> str:
    return json.dumps(to_json(_unit(path)))


@functools.cache
def _nvvm(path: Path) -> Module:
    """A typed tree of the examples at level nvvm."""
    return compile_tree(_unit(path), optimise=0, level="nvvm")


@functools.cache
def _nvvm_text(path: Path) -> str:
    return nvir.print_ir(_nvvm(path))


@functools.cache
def _llvm(path: Path, dialect: str) -> str:
    try:
        return nvir.print_ll(_nvvm(path), dialect=dialect)
    except Unsupported:  # LLVM 7 lacks some instructions
        return nvir.print_ll(_nvvm(path), dialect="llvm20")


_LOOP = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n) {
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; mov.u32 %r2, 0; mov.u32 %r3, 0;
L: ld.global.nc.u32 %r5, [%rd1]; add.u32 %r6, %r5, %r2; xor.b32 %r3, %r3, %r6;
st.global.u32 [%rd2+64], %r3; add.s64 %rd1, %rd1, 4; add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, %r1; @%p1 bra L; st.global.u32 [%rd2], %r3; ret; }
"""


@functools.cache
def _loop() -> Module:
    return nvir.read_ptx(_LOOP)


@functools.cache
def _schedule() -> str:
    function = _loop().functions[0]
    function.analyze_cfg()
    made = schedule_loop(loop_graph(natural_loops(function)[0], profile("sm_80"), level="l2"))
    return json.dumps(schedule_json(made, "k"))


_VALUES = (None, True, 0, -1, 1, 10**6, 10**30, -0.5, 1e308, "", "x", "é" * 40, "sm_80", [], {},
           [[]], [None], {"": None}, float("nan"))


def changed_json(rng: random.Random, text: str) -> str:
    """The document with some values exchanged, left out or doubled, in half of the cases."""
    if rng.random() < 0.5:
        return text
    data = json.loads(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(_places(data))
        if not places:
            break
        holder, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.6:
            holder[key] = copy.deepcopy(rng.choice(_VALUES))
        elif kind < 0.75:
            del holder[key]
        elif kind < 0.9:
            other, name = rng.choice(places)
            holder[key] = copy.deepcopy(other[name])
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[str(key) + rng.choice(("", "x", " "))] = copy.deepcopy(holder[key])
    return json.dumps(data)


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """(list or dict, index or key) of every value in a document."""
    work = [data]
    while work:
        x = work.pop()
        keys: Any = x if isinstance(x, dict) else range(len(x)) if isinstance(x, list) else ()
        for k in keys:
            yield x, k
            work.append(x[k])


# ------------------------------------------------------------------------ modules


def go_on(module: Module, text: str, way: str) -> None:
    """What else is done with a module that was taken. NvirErrors that are answers are none."""
    rng = random.Random(text.encode("utf-8", "surrogatepass"))
    if way == "passes":
        _pipeline(module, rng)
    elif way == "report" and module.level == "ori":
        report(module)
    elif way == "run":
        _launch(module)


def _pipeline(module: Module, rng: random.Random) -> None:
    if module.level == "nvvm":
        nvir.run_passes(module, rng.choice(("default<O1>", "default<O2>", "default<O3>")))
        return
    recipe = random_recipe(rng)
    steps = [s for s in passes_of(recipe.chain) if not s.startswith("loop-pipeline")]
    knobs = dict(recipe.knobs)
    nvir.run_passes(module, ",".join(steps), knobs=knobs, policy=recipe.policy, verify=True)


def _launch(module: Module) -> None:
    kernel = next((f for f in module.functions if f.blocks and f.kind == "entry"), None)
    if kernel is None or module.level != "ori" or sum(p.size for p in kernel.params) > 1 << 20:
        return  # of gigabytes no argument can be made here
    arguments: list[Any] = []
    for p in kernel.params:
        if p.size == 8:
            arguments.append(np.arange(256, dtype=np.uint32))
        else:
            arguments.append(bytes([3, *[0] * p.size])[: p.size])  # an array may be empty
    nvir.launch(module, str(kernel.name), 1, 32, arguments, max_steps=4000)


def answered(action: Callable[[], Any]) -> bool:
    """Whether it went well; False where nvir said what is wrong. A crash of a pass is raised."""
    try:
        action()
    except PassError:
        raise
    except NvirError:
        return False
    return True


def try_ptx(text: str, way: str) -> bool:
    """Read, verify, print, read again; whether the reader took it."""
    try:
        module = nvir.read_ptx(text.encode("utf-8", "surrogatepass"))
        verify(module)
    except NvirError:
        return False
    verify(nvir.read_ptx(nvir.print_ptx(module)))
    answered(lambda: go_on(module, text, way))
    return True


def try_ll(text: str, way: str) -> bool:
    try:
        module = nvir.read_ll(text.encode("utf-8", "surrogatepass"))
        verify(module)
    except NvirError:
        return False
    if answered(lambda: nvir.print_ll(module)):
        verify(nvir.read_ll(nvir.print_ll(module).encode("utf-8", "surrogatepass")))
    answered(lambda: go_on(module, text, way))
    return True


def try_ir(text: str, way: str) -> bool:
    """Parse and, if the module is sound, print and parse again: the text stays."""
    try:
        module = nvir.parse_ir(text + "\n")
        verify(module)
    except NvirError:
        return False
    printed = nvir.print_ir(module)
    if nvir.print_ir(nvir.parse_ir(printed)) != printed:
        raise AssertionError("printed and read again it is another text")
    answered(lambda: go_on(module, text, way))
    return True


def try_cu(text: str, way: str) -> bool:
    source = text.encode("utf-8", "surrogatepass")
    return answered(lambda: nvir.compile_cuda(source, front_end="libclang"))


def try_json(text: str, way: str) -> bool:
    return answered(
        lambda: compile_tree(from_json(json_document(text, "tree.json")), optimise=1)
    )


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _file(text: str) -> str:
    path = Path(_folder().name) / "input.json"
    path.write_text(text, "utf-8", "surrogatepass")
    return str(path)


def try_schedule(text: str, way: str) -> bool:
    module = clone_module(_loop())
    path = _file(text)
    return answered(
        lambda: nvir.run_passes(module, f"loop-pipeline<schedule={path}>", verify=True)
    )


def try_profile(text: str, way: str) -> bool:
    return answered(lambda: report(clone_module(_loop()), profile=_file(text)))


@functools.cache
def _small() -> Module:
    return nvir.read_ptx(loop_kernel(1, 8))


def try_pipeline(text: str, way: str) -> bool:
    """A pipeline and, behind a newline each, knob settings; run on a small module."""
    pipeline, *settings = text.split("\n")
    module = clone_module(_small())
    return answered(
        lambda: nvir.run_passes(module, pipeline, knobs=Knobs.parse(settings), verify=True)
    )


def pipeline_text(texts: Texts, rng: random.Random) -> str:
    chain = ",".join(passes_of(random_recipe(rng).chain)) or "dce"
    knobs = [f"{k.name}={random_value(rng, k)}" for k in rng.sample(all_knobs(), rng.randrange(3))]
    return "\n".join((re.sub(r"loop-pipeline(<[^>]*>)?", "dce", chain), *knobs))


# ----------------------------------------------------------------- command lines

_FILES = ("good.ptx", "good.ir", "broken.ptx", "broken.ir", "empty.ptx", "bytes.ptx", "missing.ptx",
          "folder", "broken.json", "list.json", "kernel.cu", "-", "", "out/none/x",
          "/dev/zero", "/dev/full", "/proc/self/mem", "/proc/none", "good.ptx/x", "deep.json",
          "numbers.json", "long.ptx", "nul.ptx", "wide.ptx", "latin.ptx", "x" * 300)
_WORDS = ("k", "sm_80", "sm_90a", "sm_1", "0", "-1", "4", "1,2", "1e9", "nan", "dce", "loops",
          "UnrollBudget=3", "UnrollBudget=x", "=", "a=b=c", "é", "0..3", "3..0", "1,,2", "L1",
          "-99999999999999999999", "1" + "0" * 400, "1e400", "-inf", "\udcff", "0x", "1_0", " ",
          "99999999", "1,-1,1", "a" * 20_000,
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
            if p.name == "jobs":  # no processes: they would outlive the folder
                words += ["-j", "1"]
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


@functools.lru_cache(64)
def _contents(seed: int) -> dict[str, bytes]:
    """Files by name."""
    rng = random.Random(seed)
    good, other = loop_kernel(seed, 2), Texts().ir(rng)
    of = {
        "good.ptx": good, "good.ir": nvir.print_ir(nvir.read_ptx(good)), "empty.ptx": "",
        "broken.ptx": mutate(rng, good, other), "broken.ir": mutate(rng, other, good),
        "broken.json": '{"name": [1, ', "list.json": "[1, {}]", "deep.json": "[" * 100_000,
        "numbers.json": '{"extends": NaN, "name": 1e999, "k": ' + "1" + "0" * 5000 + "}",
        "long.ptx": good + "// " + "x" * 1_000_000, "nul.ptx": good.replace(" ", "\0", 1),
        "kernel.cu": "__global__ void k(float *p) { p[threadIdx.x] = 1.0f; }\n",
    }
    made = {name: text.encode("utf-8", "surrogatepass") for name, text in of.items()}
    return {**made, "bytes.ptx": rng.randbytes(300), "wide.ptx": good.encode("utf-16"),
            "latin.ptx": b"// \xe9\n" + made["good.ptx"]}


def files(seed: int) -> None:
    """What the command lines name, in the current directory."""
    for name, data in _contents(seed).items():
        Path(name).write_bytes(data)
    Path("folder").mkdir()


def _serve(*args: Any, ready: Callable[[str], None], **more: Any) -> None:
    """In place of the server, which ends when someone ends it."""


class _Here:
    """In place of a pool of processes, which take a second each to start: the work, done here."""

    def __init__(self, count: int) -> None:
        self.executor = self

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done

    def close(self, at_once: bool) -> None:
        """There is nothing to stop."""


def try_command(line: str, way: str) -> bool:
    """Run it among the files; what it raises is raised, a traceback in its output too."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            files(zlib.crc32(line.encode("utf-8", "surrogatepass")) % 64)
            with (mock.patch("nvir.explore.server.serve", _serve),
                  mock.patch("nvir.report.workers._Pool", _Here)):
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
    "ptx": Job(Texts.ptx, try_ptx, suffix=".ptx"),
    "ll": Job(Texts.ll, try_ll, suffix=".ll"),
    "ir": Job(Texts.ir, try_ir, suffix=".nvir"),
    "cu": Job(Texts.cu, try_cu, suffix=".cu"),
    "json": Job(Texts.json, try_json, suffix=".json"),
    "schedule": Job(Texts.schedule, try_schedule, suffix=".json"),
    "profile": Job(Texts.profile, try_profile, suffix=".json"),
    "pipelines": Job(pipeline_text, try_pipeline),
    "cli": Job(command_line, try_command, mutated=False),
}
