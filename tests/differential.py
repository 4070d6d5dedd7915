"""Random kernels through random chains of passes and round trips, judged by the interpreter.

    case = random_case(7)                 # kernel text, chain of steps, launch; all from the seed
    failure = case.failure()              # None, or what went wrong
    print(report(shrink(failure)))        # the smallest kernel and chain that fail alike

A chain is a pipeline text of nvir's passes in which four more steps may stand: `print` (PTX and
back), `text` (nvir's own text and back), `clone`, and `shuffle` (every register under another
name, blocks in another order, so that printing leans on neither). The module is launched before the
chain and after it on the same inputs; every buffer and global must hold the same bytes.

Shrinking   Statements, then labels with all branches to them, then whole call sequences and
            functions are left out as long as the rest is read, ends, reads no register before it is
            written, and fails with the same kind at the same step; then steps of the chain. Halving
            chunks, as in Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
            Input", IEEE TSE 28(2), 2002.
"""

from __future__ import annotations

import itertools
import random
import re
import shlex
import time
import traceback
import typing
from collections.abc import Iterator
from pathlib import Path

import attrs

import nvir
from nvir.ir.clone import clone_module
from nvir.ir.errors import PassError
from nvir.ir.module import Module
from nvir.ir.values import Undef
from nvir.passes import Driver, Settings, all_passes
from tests.equivalence import FLAVOURS, Behaviour, again, check_same, inputs, run
from tests.kernels import random_kernel
from tests.wild_kernels import wild_kernel

ROUND_TRIPS = ("print", "text", "clone", "shuffle")
LAUNCHES = (((1,), (32,)), ((1,), (32,)), ((2,), (64,)), ((1,), (48,)))
MAX_STEPS = 200_000  # a random kernel of the generator's sizes ends long before


@attrs.frozen
class Case:
    """A kernel "k", what is done to its module, and how it is launched."""

    seed: int
    text: str = attrs.field(repr=False)
    chain: tuple[str, ...]
    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (32,)
    asked: tuple[str, ...] = ()  # options that fuzz.py needs beside the seed to make it again

    def failure(self) -> Failure | None:
        """Run it. None also where the kernel itself fails, so that there is nothing to compare."""
        return self.run()[0]

    def run(self) -> tuple[Failure | None, Module | None]:
        """The failure, or the module as the chain left it."""
        step = "read"
        try:
            module = nvir.read_ptx(self.text)
            step = "launch"
            before = self.before(module)
            if before.error:
                return None, None
            for step in self.steps():
                module = apply(module, step, self.seed % 4 == 0)
            step = "compare"
            after = again(module, before)
            check_same(before, after)
        except AssertionError as e:
            if step != "compare":
                return Failure(self, step, "AssertionError", _where(e)), None
            return Failure(self, step, "wrong result", str(e)), None
        except Exception as e:  # whatever a defect raises
            if isinstance(e, PassError):
                step = e.pass_name
            return Failure(self, step, _kind(e), _where(e)), None
        return None, module

    def steps(self) -> Iterator[str]:
        """The chain with neighbouring passes as one pipeline, for speed."""
        for alone, group in itertools.groupby(self.chain, key=ROUND_TRIPS.__contains__):
            steps = list(group)
            yield from steps if alone else [",".join(steps)]

    def before(self, module: Module) -> Behaviour:
        """What the kernel does before anything is done to it."""
        given = inputs(module, "k", self.seed, FLAVOURS[0], self.grid, self.block)
        return run(module, "k", given, seed=self.seed, flavour=FLAVOURS[0], max_steps=MAX_STEPS)


@attrs.frozen
class Failure:
    """What went wrong with a case: at which step, of what kind, and the message."""

    case: Case
    step: str
    kind: str
    message: str

    def like(self, other: Failure | None) -> bool:
        """Whether the other is most likely the same defect."""
        return other is not None and (self.step, self.kind) == (other.step, other.kind)


def _kind(e: BaseException) -> str:
    """The class of an error and, of one that the driver wraps, of what it wraps."""
    return type(e).__name__ + (f" of {type(e.__cause__).__name__}" if e.__cause__ else "")


def _where(e: BaseException) -> str:
    frames = traceback.extract_tb((e.__cause__ or e).__traceback__)[-3:]
    at = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))
    return f"{e}\n  at {at}"


def apply(module: Module, step: str, check: bool = True) -> Module:
    """A round trip or a pipeline; passes are verified and, under `check`, held to their word.

    That compares texts and costs more than the passes.
    """
    if step == "print":
        return nvir.read_ptx(nvir.print_ptx(module))
    if step == "text":
        return nvir.parse_ir(nvir.print_ir(module))
    if step == "clone":
        return clone_module(module)
    if step == "shuffle":
        shuffle(module)
        return module
    Driver(Settings(verify_each=True, check=check)).run(module, step)
    return module


def shuffle(module: Module) -> None:
    """Rename every register and put the blocks in another order; the entry stays first."""
    rng = random.Random(len(module.functions[-1].blocks))
    for f in module.functions:
        for k, v in enumerate(r for i in f.instructions() for r in i.results):
            if v.name != "_":
                v.name = f"%z{k}"
        rest = f.blocks[1:]
        rng.shuffle(rest)
        f.blocks[1:] = rest
        f.analyze_cfg()


# ------------------------------------------------------------------ random cases


def random_chain(rng: random.Random, length: int) -> tuple[str, ...]:
    """Steps: any passes of level ori with any options that are choices, and round trips."""
    passes = [p for p in all_passes().values() if p.level in ("ori", "both")]
    steps = []
    for _ in range(length):
        if rng.random() < 0.3:
            steps.append(rng.choice(ROUND_TRIPS))
            continue
        chosen, options = rng.choice(passes), []
        for o in chosen.option_table().values():
            values = ("true", "false") if o.type is bool else typing.get_args(o.type)
            if values and all(isinstance(v, str) for v in values) and rng.random() < 0.4:
                options.append(f"{o.key}={rng.choice(values)}")
        steps.append(chosen.name + (f"<{';'.join(options)}>" if options else ""))
    if rng.random() < 0.6:
        steps.append("print")  # leaving SSA is the hardest step
    return tuple(steps)


def random_case(seed: int, size: int = 0, chain: tuple[str, ...] = ()) -> Case:
    """A case that follows from the seed; about `size` statements, default 4 to 50."""
    rng = random.Random(f"case {seed}")
    asked = ("--size", str(size)) if size else ()
    asked += ("--chain", ",".join(chain)) if chain else ()
    size = size or rng.choice((4, 8, 8, 12, 12, 20, 20, 30, 50))
    grid, block = rng.choice(LAUNCHES)
    chain = chain or random_chain(rng, rng.randint(1, 5))
    kernel = wild_kernel if rng.random() < 0.6 else random_kernel
    return Case(seed, kernel(seed, size), chain, grid, block, asked)


# --------------------------------------------------------------------- shrinking


def report(failure: Failure) -> str:
    """The failure as a person wants it: kind, chain, seed, kernel."""
    case = failure.case
    command = shlex.join(("--seed", str(case.seed), "--count", "1", *case.asked))
    return (
        f"{failure.kind} at step '{failure.step}' of {','.join(case.chain)}: {failure.message}\n"
        f"reproduce: python benchmarks/fuzz.py {command}"
        f"   (launch: grid {case.grid}, block {case.block}, input seed {case.seed})\n"
        f"{case.text}"
    )


def shrink(failure: Failure, seconds: float = 30.0) -> Failure:
    """The smallest case found in that time that fails alike."""
    deadline = time.monotonic() + seconds
    failure = _shorter_chain(failure)
    lines = failure.case.text.split("\n")
    alive = list(range(len(lines)))
    last = None
    while alive != last:
        last = alive
        for pieces in (_functions, _chunks, _labels, _scopes):
            for piece in pieces(lines, alive):
                piece = {k for k in piece if "k_param_" not in lines[k] or "ld." in lines[k]}
                rest = [k for k in alive if k not in piece]
                if len(rest) == len(alive):
                    continue  # went with another piece
                if time.monotonic() > deadline:
                    return failure
                found = smaller(failure, "\n".join(lines[k] for k in rest))
                if found is not None:
                    failure, alive = found, rest
    return _shorter_chain(failure)


def _shorter_chain(failure: Failure) -> Failure:
    k = 0
    while k < len(failure.case.chain):
        chain = failure.case.chain[:k] + failure.case.chain[k + 1 :]
        found = attrs.evolve(failure.case, chain=chain).failure()
        if found is not None and failure.like(found):
            failure = found
        else:
            k += 1
    return failure


def smaller(failure: Failure, text: str) -> Failure | None:
    """The failure of the smaller text, if it is a fair kernel that fails alike."""
    if failure.step != "read":
        if text.count("bar.sync") != failure.case.text.count("bar.sync") and "shared" in text:
            return None  # the exchange through shared memory would race
        try:
            if _reads_undef(nvir.read_ptx(text)):
                return None
        except nvir.NvirError:
            return None
    found = attrs.evolve(failure.case, text=text).failure()
    return found if failure.like(found) else None


def _reads_undef(module: Module) -> bool:
    return any(
        isinstance(v, Undef) for f in module.functions for i in f.instructions() for v in i.operands
    )


def _chunks(lines: list[str], alive: list[int]) -> Iterator[set[int]]:
    """Halves, quarters and so on, down to single lines; those behind first, they are used less."""
    size = len(alive) // 2
    while size:
        starts = range(0, len(alive), size)
        yield from (set(alive[k : k + size]) for k in reversed(starts))
        size //= 2


def _labels(lines: list[str], alive: list[int]) -> Iterator[set[int]]:
    """Each label with all lines that name it."""
    for k in alive:
        if m := re.match(r"(\w+):", lines[k]):
            named = re.compile(rf"\b{m[1]}\b")
            yield {j for j in alive if named.search(lines[j])}


def _scopes(lines: list[str], alive: list[int]) -> Iterator[set[int]]:
    """Each `{ ... }` within a body: a call with its parameters."""
    start = None
    for at, k in enumerate(alive):
        if lines[k] == "\t{":
            start = at
        elif lines[k] == "\t}" and start is not None:
            yield set(alive[start : at + 1])


def _functions(lines: list[str], alive: list[int]) -> Iterator[set[int]]:
    """Each device function."""
    start = None
    for at, k in enumerate(alive):
        if lines[k].startswith(".func"):
            start = at
        elif lines[k] == "}" and start is not None:
            yield set(alive[start : at + 1])
            start = None
