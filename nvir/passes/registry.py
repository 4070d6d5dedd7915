"""The passes that exist, one row each.

A pass is a function `run(unit, ctx) -> bool` that tells whether it changed
anything. Everything that the driver has to know of it is in its row; adding a
pass is one file, one row, one test.
"""

from __future__ import annotations

import functools
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
    run       of a Function or a Module (`unit`)
    codes     what it may remark
    options   an attrs class whose fields have defaults
    level     where it works
    cfg       it may change blocks and edges: annotations are renewed after it
    required  correctness needs it: bisecting and skipping keep it
    phases    numbers of the real tool's phases that it models
    makes     the level that the module has after it, where that is another
    plan      of a pass whose decisions are cheaper than carrying them out: what it would do; a unit
              that stays as it is has equal outcomes under equal plans
    """

    name: str
    run: Callable[[Any, Context], bool]
    summary: str
    codes: tuple[Code, ...] = ()
    options: type = NoOptions
    level: Level = "both"
    unit: Unit = "function"
    cfg: bool = False
    required: bool = False
    phases: tuple[int, ...] = ()
    makes: Level | None = None
    plan: Callable[[Any, Context], Hashable] | None = None

    def option_table(self) -> dict[str, Option]:
        """The options by their key in pipeline text."""
        return _option_table(self.options)


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
        if text in (None, "true", "1"):
            return True
        if text in ("false", "0"):
            return False
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
    from nvir.passes.aggregate import lower_aggr_copies, lower_struct_args, split_structs
    from nvir.passes.llvm import legalize, link_libdevice
    from nvir.passes.loop import (
        hot_cold_in_loop,
        licm,
        split_live_ranges,
        stage_and_fence,
        strength_reduce,
    )
    from nvir.passes.loop.fuse import loop_fuse
    from nvir.passes.loop.pipeline import loop_pipeline
    from nvir.passes.loop.simplify import loop_peel, loop_rotate, loop_simplify
    from nvir.passes.loop.tiles import gemm_pipeline
    from nvir.passes.loop.unroll import loop_unroll, unroll_decision
    from nvir.passes.scalar import (
        const_fold,
        copy_prop,
        dce,
        gvn,
        if_convert,
        inline,
        mem2reg,
        memory_space_opt,
        phi_moves,
        simplify_cfg,
        sroa,
    )
    from nvir.passes.scalar.combine import inst_combine
    from nvir.passes.select import select, vectorize_memory
    from nvir.passes.select.options import Options as SelectOptions

    rows = (
        Pass("copy-prop", copy_prop.run, "uses of a copy name its source", copy_prop.CODES,
             phases=(13,)),
        Pass("const-fold", const_fold.run, "works out what follows from literals, branches too",
             const_fold.CODES, options=const_fold.Options, cfg=True, phases=(13, 29, 58, 65)),
        Pass("gvn", gvn.run, "one of several equal computations remains", gvn.CODES,
             options=gvn.Options, phases=(29,)),
        Pass("link-libdevice", link_libdevice.run, "links what is called of libdevice",
             link_libdevice.CODES, level="nvvm", unit="module"),
        Pass("legalize", legalize.run, "rewrites what a dialect of NVVM IR lacks", legalize.CODES,
             options=legalize.Options, level="nvvm", unit="module", cfg=True, required=True),
        Pass("dce", dce.run, "removes what nobody uses", dce.CODES, phases=(16,)),
        Pass("mem2reg", mem2reg.run, "allocas that are loaded and stored whole become values",
             mem2reg.CODES, level="nvvm"),
        Pass("sroa", sroa.run, "allocas of aggregates become one for each of their pieces",
             sroa.CODES, level="nvvm"),
        Pass("simplify-cfg", simplify_cfg.run, "merges blocks, folds branches, makes selects",
             simplify_cfg.CODES, level="nvvm", cfg=True),
        Pass("inst-combine", inst_combine.run, "peepholes: proved rules over integers, and others",
             inst_combine.CODES, level="nvvm"),
        Pass("inline", inline.run, "calls replaced by the bodies that they call", inline.CODES,
             options=inline.Options, level="nvvm", unit="module", cfg=True),
        Pass("memory-space-opt", memory_space_opt.run, "generic pointers become specific ones",
             memory_space_opt.CODES, options=memory_space_opt.Options, level="nvvm"),
        Pass("loop-simplify", loop_simplify.run, "gives loops one latch, a preheader, own exits",
             loop_simplify.CODES, options=loop_simplify.Options, cfg=True, phases=(18,)),
        Pass("loop-rotate", loop_rotate.run, "turns while loops into guarded do-while loops",
             loop_rotate.CODES, cfg=True, phases=(18,)),
        Pass("loop-peel", loop_peel.run, "takes the first iteration out of innermost loops",
             loop_peel.CODES, options=loop_peel.Options, cfg=True, phases=(18,)),
        Pass("licm", licm.run, "computes once before a loop what does not change in it", licm.CODES,
             options=licm.Options, level="ori", cfg=True, phases=(35, 66, 79, 88)),
        Pass("loop-unroll", loop_unroll.run, "copies bodies of loops, fully or by a factor",
             loop_unroll.CODES, options=loop_unroll.Options, level="ori", cfg=True, phases=(22,),
             plan=loop_unroll.plan),
        Pass("loop-pipeline", loop_pipeline.run, "overlaps iterations, loads of later ones first",
             loop_pipeline.CODES, options=loop_pipeline.Options, level="ori", cfg=True,
             phases=(24,)),
        Pass("gemm-pipeline", gemm_pipeline.run, "tile loops copy stages ahead, asynchronously",
             gemm_pipeline.CODES, options=gemm_pipeline.Options, level="ori", cfg=True,
             phases=(24,)),
        Pass("stage-and-fence", stage_and_fence.run, "puts in waits that asynchronous copies lack",
             stage_and_fence.CODES, level="ori", phases=(25,)),
        Pass("loop-fuse", loop_fuse.run, "neighbouring loops that count alike become one",
             loop_fuse.CODES, options=loop_fuse.Options, level="ori", cfg=True, phases=(59,)),
        Pass("strength-reduce", strength_reduce.run, "products of loop variables become sums",
             strength_reduce.CODES, options=strength_reduce.Options, level="ori", phases=(21,)),
        Pass("if-convert", if_convert.run, "small branches become predicated code and selects",
             if_convert.CODES, options=if_convert.Options, level="ori", cfg=True, phases=(63,)),
        Pass("phi-moves", phi_moves.run, "phis merge registers of their own",
             phi_moves.CODES, level="ori", phases=(23,)),
        Pass("split-live-ranges", split_live_ranges.run, "values get other registers in loops",
             split_live_ranges.CODES, options=split_live_ranges.Options, level="ori",
             phases=(19,)),
        Pass("hot-cold-in-loop", hot_cold_in_loop.run, "puts what a loop seldom runs behind it",
             hot_cold_in_loop.CODES, cfg=True, phases=(108,)),
        Pass("unroll-decision", unroll_decision.run, "says what the assembler will unroll",
             unroll_decision.CODES, level="ori"),
        Pass("vectorize-memory", vectorize_memory.run, "merges neighbouring loads, stores",
             vectorize_memory.CODES, level="nvvm"),
        Pass("lower-struct-args", lower_struct_args.run, "struct parameters become scalars, copies",
             lower_struct_args.CODES, options=lower_struct_args.Options, level="nvvm",
             unit="module"),
        Pass("split-structs", split_structs.run, "struct values become scalars",
             split_structs.CODES, level="nvvm"),
        Pass("lower-aggr-copies", lower_aggr_copies.run, "copies and struct values become scalars",
             lower_aggr_copies.CODES, options=lower_aggr_copies.Options, level="nvvm",
             unit="module", cfg=True),
        Pass("select", select.run, "turns LLVM-like code into operations of PTX", select.CODES,
             options=SelectOptions, level="nvvm", unit="module", cfg=True, required=True,
             makes="ori"),
    )
    return {p.name: p for p in rows}
