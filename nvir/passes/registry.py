"""The passes that exist, one row each.

A pass is a function `run(unit, ctx) -> bool` that tells whether it changed
anything. Everything that the driver has to know of it is in its row; adding a
pass is one file, one row, one test.
"""

from __future__ import annotations

import functools
import importlib
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal

import attrs

from nvir.passes.context import Context
from nvir.passes.remarks import Code

Level = Literal["ori", "nvvm", "both"]
Unit = Literal["function", "module"]


@attrs.frozen
class NoOptions:
    """The options of a pass that has none."""


@attrs.frozen
class Option:
    """A field of an options class as pipeline text sees it: `key=value`."""

    key: str
    field: str
    type: Any
    default: Any

    def read(self, text: str | None) -> Any:
        """The value that `text` spells; None is the bare key. Raises ValueError."""
        return _read(self.type, text)


@attrs.frozen
class Pass:
    """One pass.

    name      kebab case; also the file's name and the pipeline's
    run       the module below nvir.passes with `run`, `CODES` and maybe `Options`, imported when it
              is first asked for; or the function itself, with codes and options given
    level     where it works
    cfg       it may change blocks and edges: annotations are renewed after it
    required  correctness needs it: bisecting and skipping keep it
    phases    numbers of the real tool's phases that it models
    makes     the level that the module has after it, where that is another
    plans     its module also has `plan`
    needs     the name of a row: a function without one of it leaves it nothing to do
    settles   where it found nothing it finds nothing again until the function is edited: it reads
              the code alone, and a pipeline that names it often runs it where something was done
    """

    name: str
    _run: Callable[[Any, Context], bool] | str
    summary: str
    _codes: tuple[Code, ...] = ()
    _options: type = NoOptions
    level: Level = "both"
    unit: Unit = "function"
    cfg: bool = False
    required: bool = False
    phases: tuple[int, ...] = ()
    makes: Level | None = None
    plans: bool = False
    settles: bool = False
    needs: str = ""
    _home: str = ""

    @property
    def home(self) -> str:
        """The name of the module that holds the pass."""
        if isinstance(self._run, str):
            return f"nvir.passes.{self._run}"
        return self._home or self._run.__module__

    @property
    def run(self) -> Callable[[Any, Context], bool]:
        """Does the pass on a Function or a Module (`unit`); tells whether anything changed."""
        if not isinstance(self._run, str):
            return self._run
        run: Callable[[Any, Context], bool] = self._of("run", None)
        return run

    def running(self, run: Callable[[Any, Context], bool]) -> Pass:
        """The same pass, done by another function."""
        return attrs.evolve(self, run=run, home=self.home if isinstance(self._run, str) else "")

    @property
    def codes(self) -> tuple[Code, ...]:
        """What it may remark."""
        codes: tuple[Code, ...] = self._of("CODES", self._codes)
        return codes

    @property
    def options(self) -> type:
        """An attrs class whose fields have defaults."""
        options: type = self._of("Options", self._options)
        return options

    @property
    def plan(self) -> Callable[[Any, Context], Hashable] | None:
        """What the pass would do: a unit that stays as it is has equal outcomes under equal plans.
        Only of passes whose decisions are cheaper than carrying them out."""
        plan: Callable[[Any, Context], Hashable] | None = self._of("plan", None)
        return plan if self.plans else None

    def _of(self, name: str, given: Any) -> Any:
        """A name of the pass's module; `given` where it has none, or the row names no module."""
        if not isinstance(self._run, str) and not self._home:
            return given
        return getattr(_module(self.home), name, given)

    def option_table(self) -> dict[str, Option]:
        """The options by their key in pipeline text."""
        return _option_table(self.options)


_module = functools.cache(importlib.import_module)


@functools.cache
def _option_table(options: type) -> dict[str, Option]:
    hints = typing.get_type_hints(options)
    table = {}
    for field in attrs.fields(options):
        if field.default is attrs.NOTHING:
            raise TypeError(f"{options.__name__}.{field.name} has no default")
        key = field.name.replace("_", "-")
        table[key] = Option(key, field.name, hints[field.name], field.default)
    return table


def _read(type: Any, text: str | None) -> Any:
    origin, members = typing.get_origin(type), typing.get_args(type)
    if origin is Literal:
        if text not in members:
            raise ValueError("one of " + ", ".join(map(str, members)))
        return text
    if origin in (typing.Union, types.UnionType):  # X | None
        return _read(next(m for m in members if m is not types.NoneType), text)
    if type is bool:
        known = {None: True, "true": True, "1": True, "false": False, "0": False}
        found = known.get(text and text.lower())
        if found is not None:
            return found
        raise ValueError("true or false")
    if text is None:
        raise ValueError(f"a value of type {type.__name__}")
    try:
        value = int(text, 0) if type is int else type(text)
    except ValueError:
        raise ValueError("an integer" if type is int else "a number") from None
    if type is int and value < 0:  # every one counts something
        raise ValueError("0 or more")
    return value


Registry = Mapping[str, Pass]


@functools.cache
def all_passes() -> dict[str, Pass]:
    """The passes by name."""
    rows = (
        Pass("copy-prop", "scalar.copy_prop", "uses of a copy name its source", phases=(13,),
             settles=True),
        Pass("const-fold", "scalar.const_fold",
             "works out what follows from literals, branches too", cfg=True,
             phases=(13, 29, 58, 65), settles=True),
        Pass("gvn", "scalar.gvn", "one of several equal computations remains", phases=(29,),
             settles=True),
        Pass("link-libdevice", "llvm.link_libdevice", "links what is called of libdevice",
             level="nvvm", unit="module"),
        Pass("legalize", "llvm.legalize", "rewrites what a dialect of NVVM IR lacks",
             level="nvvm", unit="module", cfg=True, required=True),
        Pass("dce", "scalar.dce", "removes what nobody uses", phases=(16,), settles=True),
        Pass("mem2reg", "scalar.mem2reg", "allocas that are loaded and stored whole become values",
             level="nvvm", settles=True, needs="alloca"),
        Pass("sroa", "scalar.sroa", "allocas of aggregates become one for each of their pieces",
             level="nvvm", settles=True, needs="alloca"),
        Pass("speculate-loads", "scalar.speculate_loads",
             "a load from one of several addresses becomes one of several values", level="nvvm",
             settles=True),
        Pass("simplify-cfg", "scalar.simplify_cfg", "merges blocks, folds branches, makes selects",
             level="nvvm", cfg=True, settles=True),
        Pass("inst-combine", "scalar.combine.inst_combine",
             "peepholes: proved rules over integers, and others", level="nvvm", settles=True),
        Pass("inline", "scalar.inline", "calls replaced by the bodies that they call",
             level="nvvm", unit="module", cfg=True),
        Pass("memory-space-opt", "scalar.memory_space_opt", "generic pointers become specific ones",
             level="nvvm"),
        Pass("loop-simplify", "loop.simplify.loop_simplify",
             "gives loops one latch, a preheader, own exits", cfg=True, phases=(18,),
             settles=True),
        Pass("loop-rotate", "loop.simplify.loop_rotate",
             "turns while loops into guarded do-while loops", cfg=True, phases=(18,)),
        Pass("loop-peel", "loop.simplify.loop_peel",
             "takes the first iteration out of innermost loops", cfg=True, phases=(18,)),
        Pass("licm", "loop.licm", "computes once before a loop what does not change in it",
             level="ori", cfg=True, phases=(35, 66, 79, 88)),
        Pass("loop-unroll", "loop.unroll.loop_unroll",
             "copies bodies of loops, fully or by a factor", level="ori", cfg=True, phases=(22,),
             plans=True),
        Pass("keep-rolled", "loop.unroll.keep_rolled",
             "marks loops whose copies ptxas would run too often or seldom", level="ori"),
        Pass("loop-pipeline", "loop.pipeline.loop_pipeline",
             "overlaps iterations, loads of later ones first", level="ori", cfg=True, phases=(24,)),
        Pass("loop-version", "loop.version.loop_version",
             "a second version of loops for operands that do not overlap", level="ori", cfg=True),
        Pass("loop-vectorize-memory", "loop.version.loop_vectorize_memory",
             "neighbouring accesses of loops become vectors where addresses are aligned",
             level="ori", cfg=True),
        Pass("gemm-pipeline", "loop.tiles.gemm_pipeline",
             "tile loops copy stages ahead, asynchronously", level="ori", cfg=True, phases=(24,)),
        Pass("stage-and-fence", "loop.stage_and_fence",
             "puts in waits that asynchronous copies lack", level="ori", phases=(25,)),
        Pass("loop-fuse", "loop.fuse.loop_fuse", "neighbouring loops that count alike become one",
             level="ori", cfg=True, phases=(59,)),
        Pass("strength-reduce", "loop.strength_reduce", "products of loop variables become sums",
             level="ori", phases=(21,)),
        Pass("if-convert", "scalar.if_convert", "small branches become predicated code and selects",
             level="ori", cfg=True, phases=(63,)),
        Pass("phi-moves", "scalar.phi_moves", "phis merge registers of their own",
             level="ori", phases=(23,)),
        Pass("split-live-ranges", "loop.split_live_ranges", "values get other registers in loops",
             level="ori", phases=(19,)),
        Pass("hot-cold-in-loop", "loop.hot_cold_in_loop", "puts what a loop seldom runs behind it",
             cfg=True, phases=(108,)),
        Pass("unroll-decision", "loop.unroll.unroll_decision",
             "says what the assembler will unroll", level="ori"),
        Pass("vectorize-memory", "select.vectorize_memory", "merges neighbouring loads, stores",
             level="nvvm"),
        Pass("lower-struct-args", "aggregate.lower_struct_args",
             "struct parameters become scalars, copies", level="nvvm", unit="module"),
        Pass("param-memory", "aggregate.param_memory",
             "struct parameters that are indexed stay parameters", level="nvvm", unit="module"),
        Pass("split-structs", "aggregate.split_structs", "struct values become scalars",
             level="nvvm"),
        Pass("lower-aggr-copies", "aggregate.lower_aggr_copies",
             "copies and struct values become scalars", level="nvvm", unit="module", cfg=True),
        Pass("select", "select.select", "turns LLVM-like code into operations of PTX",
             level="nvvm", unit="module", cfg=True, required=True, makes="ori"),
    )
    return {p.name: p for p in rows}
