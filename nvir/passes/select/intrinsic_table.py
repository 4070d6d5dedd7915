"""The rows of NVVM's intrinsics: name → ori form. One row an intrinsic; families are spread
out here, so that a name can be looked up, and what a row says is all that selection does.

    spelling operands        $k      operand k
                             $k:r    the same, in a register: PTX takes no literal there
                             [$k]    an access through pointer k; [$k.3] as one of space 3
                             {$k+n}  n operands from k on, in braces
                             7       a literal
    @k in the spelling       the state space that pointer k is known to point to (`.shared`, or
                             nothing where it is generic)
    spelling|p               the result is a struct of a value and a predicate
    =$k                      the operand itself

Source: NVVM IR Specification; LLVM's IntrinsicsNVVM.td and NVPTX User Guide; PTX ISA.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

Row = tuple[str, str]

_KINDS = {"f": "f32", "d": "f64", "ftz.f": "ftz.f32"}
_INTEGERS = {"i": "s32", "ui": "u32", "ll": "s64", "ull": "u64"}
_SUFFIX = {"f": "f32", "d": "f64"}
_SHARED = {"": "@0", ".shared": ".shared"}


def _special_registers() -> Iterator[Row]:
    from nvir.ir.special import special_names

    for register in special_names():
        name = register[1:].replace("_", ".")
        yield f"llvm.nvvm.read.ptx.sreg.{name}", f"mov {register}"
        if name != register[1:]:
            yield f"llvm.nvvm.read.ptx.sreg.{register[1:]}", f"mov {register}"
    yield "llvm.nvvm.read.ptx.sreg.warpsize", "=32"


def _barriers() -> Iterator[Row]:
    yield "llvm.nvvm.barrier0", "bar.sync 0"
    yield "llvm.nvvm.barrier.n", "bar.sync $0"
    yield "llvm.nvvm.bar.sync", "bar.sync $0"
    yield "llvm.nvvm.barrier", "bar.sync $0, $1"
    yield "llvm.nvvm.barrier.sync", "barrier.sync $0"
    yield "llvm.nvvm.barrier.sync.cnt", "barrier.sync $0, $1"
    for aligned, name in ((".aligned", "bar"), ("", "barrier")):
        for kind in ("", ".cta"):
            yield f"llvm.nvvm.barrier{kind}.sync{aligned}.all", f"{name}.sync $0"
            yield f"llvm.nvvm.barrier{kind}.sync{aligned}.count", f"{name}.sync $0, $1"
            yield f"llvm.nvvm.barrier{kind}.arrive{aligned}.count", f"{name}.arrive $0, $1"
    yield "llvm.nvvm.bar.warp.sync", "bar.warp.sync $0"
    for level in ("cta", "gl", "sys"):
        yield f"llvm.nvvm.membar.{level}", f"membar.{level}"
    yield "llvm.nvvm.fence.sc.cluster", "fence.sc.cluster"
    for what in ("arrive", "arrive.relaxed", "wait"):
        yield f"llvm.nvvm.barrier.cluster.{what}", f"barrier.cluster.{what}"
        yield f"llvm.nvvm.barrier.cluster.{what}.aligned", f"barrier.cluster.{what}.aligned"
    yield "llvm.nvvm.griddepcontrol.wait", "griddepcontrol.wait"
    yield "llvm.nvvm.griddepcontrol.launch.dependents", "griddepcontrol.launch_dependents"
    yield "llvm.nvvm.nanosleep", "nanosleep.u32 $0"


def _warp() -> Iterator[Row]:
    for mode in ("up", "down", "bfly", "idx"):
        for kind in ("i32", "f32"):
            spelling = f"shfl.sync.{mode}.b32"
            yield f"llvm.nvvm.shfl.sync.{mode}.{kind}", f"{spelling} $1:r, $2, $3, $0"
            yield f"llvm.nvvm.shfl.sync.{mode}.{kind}p", f"{spelling}|p $1:r, $2, $3, $0"
    for kind in ("all", "any", "uni"):
        yield f"llvm.nvvm.vote.{kind}.sync", f"vote.sync.{kind}.pred $1, $0"
        yield f"llvm.nvvm.vote.{kind}", f"vote.sync.{kind}.pred $0, -1"
    yield "llvm.nvvm.vote.ballot.sync", "vote.sync.ballot.b32 $1, $0"
    yield "llvm.nvvm.vote.ballot", "vote.sync.ballot.b32 $0, -1"
    for bits in ("32", "64"):
        yield f"llvm.nvvm.match.any.sync.i{bits}", f"match.any.sync.b{bits} $1:r, $0"
        yield f"llvm.nvvm.match.all.sync.i{bits}p", f"match.all.sync.b{bits}|p $1:r, $0"
    kinds = {"add": "s32", "min": "s32", "max": "s32", "umin": "u32", "umax": "u32",
             "and": "b32", "or": "b32", "xor": "b32"}
    for what, kind in kinds.items():
        yield f"llvm.nvvm.redux.sync.{what}", f"redux.sync.{what[-3:].lstrip('u')}.{kind} $0:r, $1"
    for what in ("min", "max"):
        for absolute in ("", ".abs"):
            for nan in ("", ".NaN"):
                spelling = f"redux.sync.{what}{absolute}{nan}.f32"
                yield f"llvm.nvvm.redux.sync.f{what}{absolute}{nan}", f"{spelling} $0:r, $1"
    yield "llvm.nvvm.activemask", "activemask.b32"
    yield "llvm.nvvm.elect.sync", "elect.sync|p $0"


def _arithmetic() -> Iterator[Row]:
    for mode in ("rn", "rz", "rm", "rp"):
        for kind, type in _KINDS.items():
            name = kind.split(".")[-1]
            z = "ftz." if kind.startswith("ftz") else ""
            for what in ("add", "mul", "div"):
                row = f"{what}.{mode}.{type} $0:r, $1"
                yield f"llvm.nvvm.{what}.{mode}.{z}{name}", row
            yield f"llvm.nvvm.fma.{mode}.{z}{name}", f"fma.{mode}.{type} $0:r, $1, $2"
            for what in ("rcp", "sqrt"):
                yield f"llvm.nvvm.{what}.{mode}.{z}{name}", f"{what}.{mode}.{type} $0:r"
    for kind, type in _KINDS.items():
        for what, how in (("floor", "rmi"), ("ceil", "rpi"), ("trunc", "rzi"), ("round", "rni")):
            target = _SUFFIX[kind[-1]]
            row = f"cvt.{how}.{type}.{target} $0:r"
            yield f"llvm.nvvm.{what}.{kind}", row
        yield f"llvm.nvvm.fabs.{kind}", f"abs.{type} $0:r"
        yield f"llvm.nvvm.saturate.{kind}", f"cvt.sat.{type}.{_SUFFIX[kind[-1]]} $0:r"
        for what in ("fmin", "fmax"):
            yield f"llvm.nvvm.{what}.{kind}", f"{what[1:]}.{type} $0:r, $1"
            if kind[-1] == "f":
                z = ".ftz" if "ftz" in kind else ""
                nan = f"{what[1:]}{z}.NaN.f32 $0:r, $1"
                yield f"llvm.nvvm.{what}{z}.nan.f", nan
    for what, ptx in (("sin", "sin"), ("cos", "cos"), ("ex2", "ex2"), ("lg2", "lg2"),
                      ("rsqrt", "rsqrt"), ("sqrt", "sqrt"), ("rcp", "rcp"),
                      ("tanh", "tanh")):
        yield f"llvm.nvvm.{what}.approx.f", f"{ptx}.approx.f32 $0:r"
        yield f"llvm.nvvm.{what}.approx.f32", f"{ptx}.approx.f32 $0:r"
        if what != "tanh":
            yield f"llvm.nvvm.{what}.approx.ftz.f", f"{ptx}.approx.ftz.f32 $0:r"
            yield f"llvm.nvvm.{what}.approx.ftz.f32", f"{ptx}.approx.ftz.f32 $0:r"
    yield "llvm.nvvm.rsqrt.approx.d", "rsqrt.approx.f64 $0:r"
    yield "llvm.nvvm.rsqrt.approx.ftz.d", "rsqrt.approx.ftz.f64 $0:r"
    yield "llvm.nvvm.rcp.approx.ftz.d", "rcp.approx.ftz.f64 $0:r"
    yield "llvm.nvvm.sqrt.f", "sqrt.rn.f32 $0:r"
    yield "llvm.nvvm.div.approx.f", "div.approx.f32 $0:r, $1"
    yield "llvm.nvvm.div.approx.ftz.f", "div.approx.ftz.f32 $0:r, $1"
    yield "llvm.nvvm.div.full", "div.full.f32 $0:r, $1"
    yield "llvm.nvvm.div.full.ftz", "div.full.ftz.f32 $0:r, $1"


def _integers() -> Iterator[Row]:
    for kind, type in _INTEGERS.items():
        yield f"llvm.nvvm.mulhi.{kind}", f"mul.hi.{type} $0:r, $1"
        if kind in ("i", "ui"):
            yield f"llvm.nvvm.mul24.{kind}", f"mul24.lo.{type} $0:r, $1"
            yield f"llvm.nvvm.sad.{kind}", f"sad.{type} $0:r, $1, $2"
    for kind, type in (("s", "s16"), ("us", "u16")):
        yield f"llvm.nvvm.mulhi.{kind}", f"mul.hi.{type} $0:r, $1"
    yield "llvm.nvvm.prmt", "prmt.b32 $0:r, $1, $2"
    yield "llvm.nvvm.fns", "fns.b32 $0:r, $1, $2"
    for a in "su":
        for b in "su":
            types = f"{'s' if a == 's' else 'u'}32.{'s' if b == 's' else 'u'}32"
            yield f"llvm.nvvm.idp4a.{a}.{b}", f"dp4a.{types} $0:r, $1:r, $2"
            for half in ("lo", "hi"):
                yield f"llvm.nvvm.idp2a.{half}.{a}.{b}", f"dp2a.{half}.{types} $0:r, $1:r, $2"
    for mode in ("wrap", "clamp"):
        for bits in ("32",):
            for sign in ("", "u"):
                yield f"llvm.nvvm.{sign}bmsk.{mode}", f"bmsk.{mode}.b{bits} $0:r, $1"


def _conversions() -> Iterator[Row]:
    for mode in ("rn", "rz", "rm", "rp"):
        yield f"llvm.nvvm.d2f.{mode}", f"cvt.{mode}.f32.f64 $0:r"
        yield f"llvm.nvvm.d2f.{mode}.ftz", f"cvt.{mode}.ftz.f32.f64 $0:r"
        for kind, type in _INTEGERS.items():
            yield f"llvm.nvvm.d2{kind}.{mode}", f"cvt.{mode}i.{type}.f64 $0:r"
            yield f"llvm.nvvm.f2{kind}.{mode}", f"cvt.{mode}i.{type}.f32 $0:r"
            yield f"llvm.nvvm.f2{kind}.{mode}.ftz", f"cvt.{mode}i.ftz.{type}.f32 $0:r"
            yield f"llvm.nvvm.{kind}2f.{mode}", f"cvt.{mode}.f32.{type} $0:r"
            yield f"llvm.nvvm.{kind}2d.{mode}", f"cvt.{mode}.f64.{type} $0:r"
    yield "llvm.nvvm.f2h.rn", "cvt.rn.f16.f32 $0:r"
    yield "llvm.nvvm.f2h.rn.ftz", "cvt.rn.ftz.f16.f32 $0:r"
    for relu in ("", ".relu"):
        for mode in ("rn", "rz"):
            yield f"llvm.nvvm.f2bf16.{mode}{relu}", f"cvt.{mode}{relu}.bf16.f32 $0:r"
            for kind in ("bf16x2", "f16x2"):
                row = f"cvt.{mode}{relu}.{kind}.f32 $0:r, $1:r"
                yield f"llvm.nvvm.ff2{kind}.{mode}{relu}", row
    yield "llvm.nvvm.f2tf32.rna", "cvt.rna.tf32.f32 $0:r"
    for source, target, type in (("f", "i", "b32"), ("i", "f", "b32"), ("ll", "d", "b64"),
                                 ("d", "ll", "b64")):
        yield f"llvm.nvvm.bitcast.{source}2{target}", f"mov.{type} $0"
    yield "llvm.nvvm.lohi.i2d", "mov.b64 {$0+2}"
    for kind in ("i16", "i32", "i64", "float", "double", "ptr"):
        yield f"llvm.nvvm.move.{kind}", "=$0"


def _pointers() -> Iterator[Row]:
    names = {"global": 1, "shared": 3, "constant": 4, "local": 5, "param": 101}
    for name in names:
        yield f"llvm.nvvm.ptr.{name}.to.gen", f"cast {name}"
        yield f"llvm.nvvm.ptr.gen.to.{name}", f"cast {name}"
    for name in ("const", "global", "local", "shared", "shared.cluster"):
        ptx = name.replace(".", "::")
        yield f"llvm.nvvm.isspacep.{name}", f"isspacep.{ptx} $0:r"
    yield "llvm.nvvm.mapa", "mapa.u64 $0:r, $1"
    yield "llvm.nvvm.mapa.shared.cluster", "mapa.shared::cluster.u64 $0:r, $1"
    yield "llvm.nvvm.getctarank", "getctarank.u64 $0:r"
    yield "llvm.nvvm.getctarank.shared.cluster", "getctarank.shared::cluster.u64 $0:r"
    for level in ("L1", "L2"):
        yield f"llvm.nvvm.prefetch.{level}", f"prefetch.{level} [$0.0]"
        yield f"llvm.nvvm.prefetch.global.{level}", f"prefetch.global.{level} [$0.1]"
        yield f"llvm.nvvm.prefetch.local.{level}", f"prefetch.local.{level} [$0.5]"
    yield "llvm.nvvm.prefetchu.L1", "prefetchu.L1 [$0.0]"


def _asynchronous() -> Iterator[Row]:
    for cache, sizes in (("ca", (4, 8, 16)), ("cg", (16,))):
        for n in sizes:
            row = f"cp.async.{cache}.shared.global [$0.3], [$1.1], {n}"
            yield f"llvm.nvvm.cp.async.{cache}.shared.global.{n}", row
            yield f"llvm.nvvm.cp.async.{cache}.shared.global.{n}.s", f"{row}, $2"
    yield "llvm.nvvm.cp.async.commit.group", "cp.async.commit_group"
    yield "llvm.nvvm.cp.async.wait.group", "cp.async.wait_group $0"
    yield "llvm.nvvm.cp.async.wait.all", "cp.async.wait_all"
    yield "llvm.nvvm.cp.async.bulk.commit.group", "cp.async.bulk.commit_group"
    yield "llvm.nvvm.cp.async.bulk.wait.group", "cp.async.bulk.wait_group $0"
    yield "llvm.nvvm.cp.async.bulk.wait.group.read", "cp.async.bulk.wait_group.read $0"
    for name, space in _SHARED.items():
        at = "[$0.3]" if name else "[$0]"
        for noinc in ("", ".noinc"):
            yield (f"llvm.nvvm.cp.async.mbarrier.arrive{noinc}{name}",
                   f"cp.async.mbarrier.arrive{noinc}{space}.b64 {at}")
        yield f"llvm.nvvm.mbarrier.init{name}", f"mbarrier.init{space}.b64 {at}, $1"
        yield f"llvm.nvvm.mbarrier.inval{name}", f"mbarrier.inval{space}.b64 {at}"
        for what in ("arrive", "arrive_drop"):
            dotted = what.replace("_", ".")
            row = f"mbarrier.{what}{space}.b64 {at}"
            yield f"llvm.nvvm.mbarrier.{dotted}{name}", row
            some = f"mbarrier.{what}.noComplete{space}.b64 {at}, $1"
            yield f"llvm.nvvm.mbarrier.{dotted}.noComplete{name}", some
        yield f"llvm.nvvm.mbarrier.test.wait{name}", f"mbarrier.test_wait{space}.b64 {at}, $1"
    yield "llvm.nvvm.mbarrier.pending.count", "mbarrier.pending_count.b64 $0"


def _matrices() -> Iterator[Row]:
    for n in (1, 2, 4):
        for trans in ("", ".trans"):
            row = f"ldmatrix.sync.aligned.m8n8.x{n}{trans}@0.b16 [$0]"
            yield f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{n}{trans}.b16", row
            row = f"stmatrix.sync.aligned.m8n8.x{n}{trans}@0.b16 [$0], {{$1+{n}}}"
            yield f"llvm.nvvm.stmatrix.sync.aligned.m8n8.x{n}{trans}.b16", row
    yield "llvm.nvvm.movmatrix.sync.aligned.m8n8.trans.b16", (
        "movmatrix.sync.aligned.m8n8.trans.b16 $0:r"
    )


def _others() -> Iterator[Row]:
    yield "llvm.trap", "trap"
    yield "llvm.debugtrap", "brkpt"
    yield "llvm.nvvm.pm.event.mask", "pmevent.mask $0"
    for level in ("L1", "L2"):
        yield f"llvm.nvvm.discard.{level}", f"discard.{level} [$0.0], 128"
    yield "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.inc.sync.aligned.u32 $0"
    yield "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32", "setmaxnreg.dec.sync.aligned.u32 $0"


@functools.cache
def table() -> dict[str, str]:
    """All rows by name."""
    families = (
        _special_registers, _barriers, _warp, _arithmetic, _integers, _conversions, _pointers,
        _asynchronous, _matrices, _others,
    )
    return {name: row for family in families for name, row in family()}
