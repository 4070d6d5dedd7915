"""Random kernels through random chains of passes and round trips, judged by the interpreter.

    case = random_case(7)                 # kernel text, chain of steps, launch; all from the seed
    failure = case.failure()              # None, or what went wrong
    print(report(shrink(failure)))        # the smallest kernel and chain that fail alike

    for case in random_cases(7, 10):      # one kernel, ten chains: read and launched once
        for outcome in case.run(shared, each=True): ...   # judged after each step

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
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import attrs

import nvir
from nvir.ir.clone import clone_module
from nvir.ir.errors import PassError, VerifyError
from nvir.ir.module import Module
from nvir.ir.values import Undef
from nvir.ir.verify import verify
from nvir.passes import Driver, Settings
from nvir.passes.knobs import Policy
from nvir.passes.pipeline import Step, parse_pipeline
from tests.equivalence import FLAVOURS, Behaviour, again, check_same, inputs, run
from tests.kernels import random_kernel
from tests.loop_kernels import loop_kernel, theme
from tests.random_pipelines import ROUND_TRIPS, Recipe, random_chain, random_recipe
from tests.wild_kernels import wild_kernel

__all__ = ["ROUND_TRIPS", "Case", "Failure", "apply", "random_case", "random_cases",
           "random_chain", "report", "shrink", "smaller"]

LAUNCHES = (((1,), (32,)), ((1,), (32,)), ((2,), (64,)), ((1,), (48,)))
LARGE = 500  # instructions of a kernel that is changed no further
MAX_STEPS = 200_000  # a random kernel of the generator's sizes ends long before

Verdict = Literal["checked", "unchanged", "repeated", "empty", "failed"]


@attrs.define
class Watch:
    """How often each pass ran and how often it changed something, by what it was asked to be:
    `licm<id=2> notes`."""

    runs: Counter[str] = attrs.field(factory=Counter)
    changed: Counter[str] = attrs.field(factory=Counter)

    def over(self, step: Step, policy: Policy) -> Step:
        """The step, with its pass counted."""
        name, run = step.pass_.name, step.pass_.run
        if name in ("licm", "loop-unroll", "loop-fuse", "loop-pipeline"):
            name += f"<id={step.options.id}> {policy}" if name == "licm" else f" {policy}"
        self.runs[name] += 1
        seen: list[bool] = []

        def counted(unit: Any, ctx: Any) -> bool:
            changed = run(unit, ctx)
            if changed and not seen:
                seen.append(True)
                self.changed[name] += 1
            return changed

        return attrs.evolve(step, pass_=step.pass_.running(counted))


class Shared:
    """A kernel read and launched once, for all cases that begin with it; texts of modules that
    were judged already."""

    def __init__(self, case: Case) -> None:
        self.module = nvir.read_ptx(case.text)
        self.original = nvir.print_ir(self.module)
        self.before = case.before(self.module)
        self.judged = {self.original}


@attrs.frozen
class Outcome:
    """What came of a case, which may end before the chain that was asked for. "checked": both were
    launched and compared; "unchanged": the code is the same as one step before, to the letter;
    "repeated": it was judged already; "empty": the kernel itself fails. `module` is as the chain
    left it, until the next outcome is asked for."""

    verdict: Verdict
    case: Case
    failure: Failure | None = None
    module: Module | None = None


@attrs.frozen
class Case:
    """A kernel "k", what is done to its module, and how it is launched."""

    seed: int
    text: str = attrs.field(repr=False)
    chain: tuple[str, ...]
    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (32,)
    size: int = 0  # that fuzz.py was asked for
    knobs: tuple[tuple[str, Any], ...] = ()
    policy: Policy = "observed"

    def failure(self) -> Failure | None:
        """Run it. None also where the kernel itself fails, so that there is nothing to compare."""
        return next((o.failure for o in self.run() if o.failure is not None), None)

    def run(
        self, shared: Shared | None = None, watch: Watch | None = None, *, each: bool = False
    ) -> Iterator[Outcome]:
        """Judge the module at the chain's end; or after `each` step, until one fails or the code
        has become large. `shared` is that of other cases with the same kernel and launch."""
        step, done = "read", 0
        try:
            shared = Shared(self) if shared is None else shared
            if shared.before.error:
                yield Outcome("empty", self)
                return
            module, text = clone_module(shared.module), shared.original
            for step, done in self.steps(each):
                module, changed = self.apply(module, step, watch)
                if each or done == len(self.chain):
                    step, before = "compare", text
                    text = nvir.print_ir(module) if changed else before
                    verdict = self.judge(module, text, before, shared)
                    yield Outcome(verdict, self.upto(done), None, module)
                    if sum(1 for _ in module["k"].instructions()) > LARGE:
                        return
        except AssertionError as e:
            if step != "compare":
                yield self.upto(done).failed(step, "AssertionError", _where(e))
            else:
                yield self.upto(done).failed(step, "wrong result", str(e))
        except Exception as e:  # whatever a defect raises
            if isinstance(e, PassError):
                step = e.pass_name
            elif isinstance(e, VerifyError):
                step = "verify"
            yield self.upto(done).failed(step, _kind(e), _where(e))

    @staticmethod
    def judge(module: Module, text: str, before: str, shared: Shared) -> Verdict:
        """Launch and compare, unless that code was judged. AssertionError where it differs."""
        if text == before:
            return "unchanged"
        if text in shared.judged:
            return "repeated"
        check_same(shared.before, again(module, shared.before))
        shared.judged.add(text)
        return "checked"

    def upto(self, steps: int) -> Case:
        """The case that ends after so many steps of the chain."""
        return attrs.evolve(self, chain=self.chain[:steps])

    def failed(self, step: str, kind: str, message: str) -> Outcome:
        return Outcome("failed", self, Failure(self, step, kind, message))

    def steps(self, each: bool = False) -> Iterator[tuple[str, int]]:
        """The steps of the chain, with the number of those done behind each; unless `each` is
        wanted, neighbouring passes are one pipeline, for speed."""
        if each:
            yield from ((step, n + 1) for n, step in enumerate(self.chain))
            return
        done = 0
        for alone, group in itertools.groupby(self.chain, key=ROUND_TRIPS.__contains__):
            for steps in [[s] for s in group] if alone else [list(group)]:
                done += len(steps)
                yield ",".join(steps), done

    def apply(self, module: Module, step: str, watch: Watch | None = None) -> tuple[Module, bool]:
        """`apply` under the case's knobs, and whether anything changed. Each pass is verified and
        held to its word on every fourth kernel; on the others the pipeline's end is verified."""
        if step in ROUND_TRIPS:
            return apply(module, step), True
        watch = Watch() if watch is None else watch
        before = sum(watch.changed.values())
        steps = [watch.over(s, self.policy) for s in parse_pipeline(step)]
        strict = self.seed % 4 == 0
        driver = Driver(Settings(verify_each=strict, check=strict))
        driver.run(module, steps, knobs=dict(self.knobs), policy=self.policy)
        changed = sum(watch.changed.values()) > before
        if changed and not strict:
            verify(module)
        return module, changed

    def before(self, module: Module) -> Behaviour:
        """What the kernel does before anything is done to it."""
        given = inputs(module, "k", self.seed, FLAVOURS[0], self.grid, self.block)
        return run(module, "k", given, seed=self.seed, flavour=FLAVOURS[0], max_steps=MAX_STEPS)

    def command(self) -> str:
        """The options of fuzz.py that make it again."""
        words = ["--seed", str(self.seed), "--count", "1"]
        words += ["--size", str(self.size)] if self.size else []
        words += ["--chain", ",".join(self.chain)]
        for name, value in self.knobs:
            words += ["--knob", f"{name}={value}"]
        if self.policy != "observed":
            words += ["--policy", self.policy]
        return shlex.join(words)


@attrs.frozen
class Failure:
    """What went wrong with a case: at which step, of what kind, and the message. `command` are the
    options of fuzz.py that show it, where these are not the case's (which was shrunk)."""

    case: Case
    step: str
    kind: str
    message: str
    command: str = ""

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


_GENERATORS: tuple[Callable[[int, int], str], ...] = (
    loop_kernel, loop_kernel, loop_kernel, loop_kernel, wild_kernel, wild_kernel, random_kernel,
)


_FAVOURED = {"pair": "loop-fuse", "tile": "gemm-pipeline"}


def random_cases(seed: int, count: int, size: int = 0, recipe: Recipe | None = None) -> list[Case]:
    """Cases of one kernel of about `size` statements, default 4 to 30; all follow from the seed.

    The kernel and its launch do not depend on the recipe nor on how many cases are wanted.
    """
    rng = random.Random(f"case {seed}")
    statements = size or rng.choice((4, 6, 8, 8, 10, 12, 16, 30))
    grid, block = rng.choice(LAUNCHES)
    generator = rng.choice(_GENERATORS)
    text = generator(seed, statements)
    if seed % 3 == 0:
        text = with_echoes(random.Random(f"echo {seed}"), text)
    favoured = _FAVOURED.get(theme(seed), "") if generator is loop_kernel else ""
    cases = []
    for k in range(count):
        r = recipe or random_recipe(random.Random(f"recipe {seed} {k}"), favoured)
        cases.append(Case(seed, text, r.chain, grid, block, size, r.knobs, r.policy))
    return cases


_BINARY = re.compile(
    r"^\t((?:add|sub|mul\.lo|and|or|xor|min|max|shl|shr|mul\.hi|div|rem)\.[subf](32|64)) "
    r"(%[a-z]+\d*), (%[a-z]+\d*), (%[a-z]+\d*|-?\d+);$", re.M
)
_NARROW = ("shl", "shr")  # their second operand has 32 bits whatever the first has


def with_echoes(rng: random.Random, text: str) -> str:
    """The kernel with expressions said again: as they are, with operands swapped, or with a third
    one added to either first. What takes two of them for one by mistake is seen in the register
    that takes the echo in."""
    kept = {bits: sorted(set(re.findall(rf"%{pool}\d+(?=,)", text)))
            for bits, pool in (("32", "r"), ("64", "d"))}

    def echoed(m: re.Match[str]) -> str:
        op, bits, made, a, b = m.groups()
        if ".f" in op or not kept[bits] or rng.random() < 0.4:
            return m[0]
        swaps = b.startswith("%") and (bits == "32" or not op.startswith(_NARROW))
        to, echo, chance = rng.choice(kept[bits]), f"%echo{bits}", rng.random()
        if swaps and chance < 0.6:
            again = f"\t{op} {echo}, {b}, {a};"
        elif chance < 0.8 or made in (a, b) or (bits == "64" and op.startswith(_NARROW)):
            again = f"\t{op} {echo}, {a}, {b};"
        else:
            again = f"\t{op} {echo}, {a}, {to};\n\t{op} {echo}, {echo}, {b};"
        again += f"\n\txor.b{bits} {to}, {to}, {echo};"
        first = rng.random() < 0.5 or to in (a, b, made)
        return f"{again}\n{m[0]}" if first and to not in (a, b) else f"{m[0]}\n{again}"

    at = text.index("\tld.param.u64 %in")
    return text[:at] + "\t.reg .b32 %echo32;\n\t.reg .b64 %echo64;\n" + _BINARY.sub(
        echoed, text[at:])


def random_case(seed: int, size: int = 0, chain: tuple[str, ...] = ()) -> Case:
    """The first case of the seed's kernel, or that with a given chain and no knobs."""
    return random_cases(seed, 1, size, Recipe(chain) if chain else None)[0]


# --------------------------------------------------------------------- shrinking


def report(failure: Failure) -> str:
    """The failure as a person wants it: kind, chain, seed, kernel."""
    case = failure.case
    done = ",".join(case.chain) + "".join(f" {name}={value}" for name, value in case.knobs)
    done += f" policy {case.policy}" if case.policy != "observed" else ""
    return (
        f"{failure.kind} at step '{failure.step}' of {done}: {failure.message}\n"
        f"reproduce: python benchmarks/fuzz.py {failure.command or case.command()}"
        f"   (launch: grid {case.grid}, block {case.block}, input seed {case.seed})\n"
        f"{case.text}"
    )


def shrink(failure: Failure, seconds: float = 30.0) -> Failure:
    """The smallest case found in that time that fails alike."""
    small = _shrink(_shorter_chain(failure), time.process_time() + seconds)
    return attrs.evolve(small, command=failure.command or failure.case.command())


def _shrink(failure: Failure, deadline: float) -> Failure:
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
                if time.process_time() > deadline:
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
    for knob in failure.case.knobs:
        knobs = tuple(x for x in failure.case.knobs if x != knob)
        found = attrs.evolve(failure.case, knobs=knobs).failure()
        if found is not None and failure.like(found):
            failure = found
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
