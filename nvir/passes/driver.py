"""The driver: runs pipelines, and does for every pass what no pass does itself.

It times, verifies, dumps, bisects, names the pass in a crash, collects remarks
and counters, renews the CFG annotations where a pass did not, and holds each
pass to its row: a pass that does not declare `cfg` must leave blocks and edges
alone, one that says it changed nothing must have changed nothing (checked under
`check`), one for one level is not run on the other.

A failure leaves the module as it was before the failing pass. Rather than note
its state before each pass, which would cost more than most passes, it is noted
once, at the start; after a failure the module goes back to it, and the passes
before the failing one, which succeeded, run on it again.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TextIO

import attrs

from nvir.analysis.analyses import Analyses
from nvir.ir import Block, Function, Module, bulk, successors
from nvir.ir.errors import (
    Diagnostic,
    NvirError,
    ParseError,
    PassError,
    Unsupported,
    VerifyError,
    expect,
)
from nvir.ir.text.trace import note, within
from nvir.ir.verify import verify
from nvir.passes.context import Context
from nvir.passes.crash import save_crash
from nvir.passes.dump import Dumps, PrintChanged
from nvir.passes.knobs import Knobs, Policy
from nvir.passes.phases import pass_names
from nvir.passes.pipeline import Pipeline, Step, nearest, parse_pipeline
from nvir.passes.registry import Pass
from nvir.passes.remarks import Remarks
from nvir.passes.statistics import Timing
from nvir.passes.undo import Memento

COLLECTED = 2_000_000  # objects made since a collection, from which on passes are followed by one


@attrs.define
class Settings:
    """How to run, as opposed to what. The names are those of the command line.

    verify_each     verify before the first pass and after each
    check           compare what passes did with what they declare, at the price of printing
    print_before, print_after   names of passes; "all" is every one
    print_changed   "" no, "on", "quiet" (says nothing where nothing changed), "diff"
    filter_funcs    dump only functions that match one of these shell patterns
    opt_bisect_limit  run this many passes on functions, then no more; -1 only counts aloud
    skip            passes, or real phases by name, to leave out
    stream          where dumps and bisection lines go; standard error by default
    """

    verify_each: bool = False
    check: bool = False
    print_before: tuple[str, ...] = ()
    print_after: tuple[str, ...] = ()
    print_changed: PrintChanged = ""
    filter_funcs: tuple[str, ...] = ()
    opt_bisect_limit: int | None = None
    skip: tuple[str, ...] = ()
    stream: TextIO | None = None

    @classmethod
    def from_environment(cls, **given: Any) -> Settings:
        """NVIR_DUMP (print-after), NVIR_CHECK, NVIR_STOP_AFTER, where `given` says nothing."""
        env = os.environ
        out = cls(**given)
        if env.get("NVIR_DUMP") and not out.print_after:
            out.print_after = tuple(n.strip() for n in env["NVIR_DUMP"].split(",") if n.strip())
        if env.get("NVIR_CHECK", "0") not in ("", "0"):
            out.check = out.verify_each = True
        limit = env.get("NVIR_STOP_AFTER")
        if limit and out.opt_bisect_limit is None:
            try:
                out.opt_bisect_limit = int(limit)
            except ValueError:
                raise NvirError(f"NVIR_STOP_AFTER is a number, not {limit!r}") from None
        return out


GUARD_ROWS = {  # of passes that the notes have, whose entry asks for skips
    "loop-simplify": "P18-01", "loop-unroll": "UNR-01", "loop-pipeline": "SWP-02",
    "licm": "LIC-36", "loop-fuse": "FUS-01",
}


def run_passes(
    module: Module,
    pipeline: str | Pipeline | Sequence[str | Step | Pass],
    *,
    knobs: Mapping[str, Any] | Knobs | None = None,
    policy: Policy = "observed",
    profile: Any = None,
    verify: bool = False,
) -> Remarks:
    """Run passes on a module, in place, and return what they remark.

    pipeline  text such as "copy-prop,gvn,dce", or a list that may hold `Pass` rows of your own
    knobs     overrides by name; `NAME@BLOCK` for one block
    profile   a machine profile or its name; the target's by default
    verify    verify the module before and after each pass

    Raises ParseError for a pipeline, or a file that an option names, that cannot be read,
    NvirError for a knob that does not exist or a value that it does not take, Unsupported for
    what a pass does not do, VerifyError for a broken module on which a pass fails, and PassError
    when a pass fails by itself. After an error the module is as before the pass that met it.
    """
    driver = Driver(Settings.from_environment(verify_each=verify))
    return driver.run(module, pipeline, knobs=knobs, policy=policy, profile=profile).remarks


class Driver:
    """Runs pipelines under some settings; keeps the timings of what it ran."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings if settings is not None else Settings.from_environment()
        self.timings: list[Timing] = []
        self.executed = 0  # runs that bisection counts

    def run(
        self,
        module: Module,
        pipeline: str | Pipeline | Sequence[str | Step | Pass],
        *,
        knobs: Mapping[str, Any] | Knobs | None = None,
        policy: Policy = "observed",
        profile: Any = None,
    ) -> Context:
        """As `run_passes`; the context holds remarks and counters."""
        expect(module, Module)
        steps = parse_pipeline(pipeline)
        values = knobs if isinstance(knobs, Knobs) else Knobs(knobs, policy)
        ctx = Context(module, values, profile)
        if profile is not None:
            _ = ctx.profile  # a wrong name is told now, whether a pass asks for it or not
        if module.level == "ori":
            kept = [s for s in steps if not s.of_preset or s.pass_.level in ("both", "ori")]
            steps = attrs.evolve(steps, steps=tuple(kept))
        return _Run(self, module, steps, ctx).run()


@attrs.define
class _Done:
    """A step that ran, with the functions that it was allowed to touch."""

    step: Step
    functions: list[str]


class _Run:
    """One pipeline on one module."""

    def __init__(self, driver: Driver, module: Module, steps: Pipeline, ctx: Context) -> None:
        self.driver, self.module, self.steps, self.ctx = driver, module, steps, ctx
        self.settings = driver.settings
        s = self.settings
        self.stream = s.stream if s.stream is not None else sys.stderr
        self.dumps = Dumps(s.print_before, s.print_after, s.print_changed, self.stream)
        self.skipped = frozenset(n for name in s.skip for n in pass_names(name))
        self.done: list[_Done] = []
        # edits when a pass of some options found nothing in a function
        self.settled: dict[tuple[str, Any], dict[Function, int]] = {}
        self.begin = time.perf_counter()

    def run(self) -> Context:
        self._check_levels()
        if self.settings.verify_each:
            verify(self.module)
        if not self.steps:
            return self.ctx
        with bulk():  # what passes make mostly stays
            start = Memento(self.module)
            self.module.text = None  # from here on it is other code
            self._steps(start)
        return self.ctx

    def _steps(self, start: Memento) -> None:
        for step in self.steps:
            if gc.get_count()[0] > COLLECTED:
                gc.collect(0)
            remarks, counters = len(self.ctx.remarks), dict(self.ctx.counters)
            try:
                self._step(step)
            except Exception as e:
                self.ctx.remarks.truncate(remarks)
                self.ctx.counters.clear()
                self.ctx.counters.update(counters)
                failure = self._undo(step, e, start)
                if failure is None:
                    raise
                raise failure from e

    def _check_levels(self) -> None:
        level = self.module.level
        for step in self.steps:
            if step.pass_.level not in ("both", level):
                raise Unsupported(f"pass '{step.pass_.name}' on level {level}")
            level = step.pass_.makes or level

    # --------------------------------------------------------- one step

    def _step(self, step: Step) -> None:
        ctx, pass_ = self.ctx, step.pass_
        ctx.pass_, ctx.options, ctx.function = pass_, step.options, None
        self._find_loop(step)
        done = _Done(step, [])
        run, watched = pass_.run, self.settings.check or self.dumps.wants(pass_.name)
        always = self.settings.opt_bisect_limit is None and pass_.name not in self.skipped
        if pass_.unit == "module":
            if self._allowed(pass_, str(self.module.name)):
                self._execute(pass_, run, self.module, _bodies(self.module), watched)
                done.functions.append("")
        else:
            settled: dict[Function, int] = {}
            if pass_.settles:
                settled = self.settled.setdefault((pass_.name, step.options), settled)
            for function in _bodies(self.module):
                name = str(function.name)
                if always or self._allowed(pass_, name):
                    if watched or (settled.get(function) != function.edits
                                   and not (pass_.needs and self._lacks(pass_, function))):
                        ctx.function = function
                        self._once(pass_, run, function, watched, settled)
                    done.functions.append(name)
        if self.settings.verify_each and done.functions:
            verify(self.module)
        self.done.append(done)

    def _find_loop(self, step: Step) -> None:
        """Hold the loop that an option names to be there."""
        name = getattr(step.options, "loop", "")
        if not name:
            return
        known = []
        for f in _bodies(self.module):
            if f.cfg_state != "fresh":
                f.analyze_cfg()
            known += [str(x.header.name) for x in Analyses.of(f).loops]
        if name not in known:
            there = nearest(name, known) if known else "; there are none"
            message = f"pass '{step.pass_.name}': there is no loop '{name}'{there}"
            raise ParseError(Diagnostic(message, "<pipeline>"))

    def _allowed(self, pass_: Pass, unit: str) -> bool:
        if pass_.required:
            return True
        if pass_.name in self.skipped:
            if pass_.name in GUARD_ROWS:
                note(GUARD_ROWS[pass_.name], "entry guard", "the phase is skipped",
                     phase=pass_.name, function=unit)
            return False
        limit = self.settings.opt_bisect_limit
        if limit is None:
            return True
        self.driver.executed += 1
        n = self.driver.executed
        run = limit < 0 or n <= limit
        word = "running" if run else "NOT running"
        self.stream.write(f"BISECT: {word} pass ({n}) {pass_.name} on {unit}\n")
        return run

    @staticmethod
    def _lacks(pass_: Pass, function: Function) -> bool:
        """Whether nothing that a pass is for is in a function."""
        return bool(pass_.needs) and pass_.needs not in Analyses.of(function).rows

    def _once(
        self, pass_: Pass, run: Callable[[Any, Context], bool], function: Function, watched: bool,
        settled: dict[Function, int],
    ) -> None:
        """Run a pass on a function, and note if there is nothing to do for it."""
        ctx = self.ctx
        told = ctx.told
        idle = watched and self._lacks(pass_, function)
        found = self._execute(pass_, run, function, [function], watched)
        if pass_.settles:
            found = found or told != ctx.told
            if found and (idle or settled.get(function) == function.edits):
                raise VerifyError("it found something where there was nothing before",
                                  str(function.name))
            settled[function] = -1 if found else function.edits

    def _execute(
        self, pass_: Pass, run: Callable[[Any, Context], bool], unit: Function | Module,
        functions: list[Function], watched: bool,
    ) -> bool:
        ctx = self.ctx
        before = {}
        for f in functions:
            if f.cfg_state != "fresh":
                f.analyze_cfg()
            before[f] = f._rpo, f.blocks.copy()
        name = "" if unit is self.module else str(unit.name)
        text = self._before(pass_, unit, name) if watched else ""
        edges = _edges(functions) if self.settings.check and not pass_.cfg else {}
        start = time.perf_counter()
        within(name)  # the last pass's loop is not this one's
        changed = run(unit, ctx)
        end = time.perf_counter()
        self.driver.timings.append(Timing(pass_.name, name, start - self.begin, end - start))
        if not isinstance(changed, bool):
            raise NvirError(f"it returned {changed!r}, not whether it changed anything")
        for f in _bodies(self.module) if unit is self.module else functions:
            was = before.get(f)
            if was is not None and not pass_.cfg and (
                edges or f.cfg_state != "fresh" or f.blocks != was[1]
            ):
                self._hold_to_shape(f, was[1], edges.get(f))
            if f.cfg_state != "fresh":
                f.analyze_cfg()
            elif was is not None and pass_.cfg and changed:
                self._keep_snapshot(f, *was)
        if watched:
            self._after(pass_, unit, name, text, changed)
        return changed

    def _before(self, pass_: Pass, unit: Function | Module, name: str) -> str:
        """The code, where it is compared or shown."""
        shown = self._shown(name)
        if not self.settings.check and not (shown and self.dumps.wants(pass_.name)):
            return ""
        text = self._text(unit)
        if shown:
            self.dumps.before(pass_.name, name, text)
        return text

    def _after(
        self, pass_: Pass, unit: Function | Module, name: str, text: str, changed: bool
    ) -> None:
        """Hold `False` to its word, and dump."""
        now = self._text(unit) if text else ""
        if self.settings.check and not changed and now != text:
            raise VerifyError("it changed the code although it says that it did not", name)
        if self._shown(name):
            self.dumps.after(pass_.name, name, text, now)

    def _shown(self, function: str) -> bool:
        patterns = self.settings.filter_funcs
        return not patterns or any(fnmatchcase(function, p) for p in patterns)

    def _keep_snapshot(self, f: Function, rpo: list[Block], blocks: list[Block]) -> None:
        """After a pass that may have changed the control flow: edits note that the annotations
        are stale, so these hold if they were renewed, or no block has come, gone or moved."""
        if f._rpo is rpo and f.blocks != blocks:
            f.analyze_cfg()
        elif self.settings.check:
            told = [(b._succs, b._preds, b._idom, b._loop_depth) for b in f.blocks]
            f.analyze_cfg()
            if told != [(b._succs, b._preds, b._idom, b._loop_depth) for b in f.blocks]:
                raise VerifyError("its CFG annotations are not those of its code", str(f.name))

    @staticmethod
    def _text(unit: Function | Module) -> str:
        return str(unit)

    @staticmethod
    def _hold_to_shape(
        f: Function, blocks: list[Block], edges: list[tuple[Block, ...]] | None
    ) -> None:
        if f.blocks != blocks:
            raise VerifyError("it changed the blocks, which it does not declare", str(f.name))
        if edges is None and f.cfg_state == "stale":
            edges = [b.succs for b in blocks]
        if edges is not None and [successors(b) for b in blocks] != edges:
            raise VerifyError("it changed edges, which it does not declare", str(f.name))

    # --------------------------------------------------------- failures

    def _undo(self, step: Step, error: Exception, start: Memento) -> NvirError | None:
        """Restore the module; the error to raise, None for `error` itself.

        Only a fault of the pass is a PassError: not what it says of a file or of what it does not
        do, nor what it met because the module was broken when it was given to nvir.
        """
        given = None
        try:
            start.restore()
            given = _broken(self.module)
            self._replay()
        except Exception as again:  # two faults: tell both, and save what there is
            if isinstance(error, MemoryError):
                return None
            failure = self._failure(step, error)
            return given or PassError(
                failure.pass_name, failure.function,
                f"{failure.reason}; the module is lost, for it could not be restored ({again})",
                failure.saved,
            )
        if isinstance(error, (Unsupported, ParseError, MemoryError)):
            return None
        return given or self._failure(step, error)

    def _failure(self, step: Step, error: Exception) -> PassError:
        """The error to raise; the module is the last good IR."""
        function = self.ctx.function
        name = str(function.name if function is not None else self.module.name)
        if isinstance(error, VerifyError):
            name = error.function or name
            reason = error.invariant + (f": {error.instruction}" if error.instruction else "")
        elif isinstance(error, NvirError):
            reason = str(error)
        else:
            reason = f"{type(error).__name__}: {error}"
        saved = save_crash(str(self.module), step, name, reason, error, self.ctx)
        return PassError(step.pass_.name, name, reason, saved)

    def _replay(self) -> None:
        """Run the steps that succeeded on the module as it was at first."""
        module = self.module
        again = Context(module, self.ctx.knobs, self.ctx._profile)
        for done in self.done:
            pass_ = done.step.pass_
            again.pass_, again.options = pass_, done.step.options
            for name in done.functions:
                unit = module[name] if name else None
                for f in [unit] if unit is not None else _bodies(module):
                    if f.cfg_state != "fresh" or pass_.cfg:
                        f.analyze_cfg()
                again.function = unit
                pass_.run(unit if unit is not None else module, again)


def _broken(module: Module) -> NvirError | None:
    try:
        verify(module)
    except NvirError as e:
        return e
    return None


def _bodies(module: Module) -> list[Function]:
    return [f for f in module.functions if f.blocks]


def _edges(functions: list[Function]) -> dict[Function, list[tuple[Block, ...]]]:
    return {f: [successors(b) for b in f.blocks] for f in functions}
