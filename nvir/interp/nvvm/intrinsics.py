"""Intrinsics: from names of llvm.nvvm.* and llvm.* to rows of ori.

    @llvm.nvvm.shfl.sync.bfly.i32p(mask, a, b, c)   shfl.sync.bfly.b32 d|p, a, b, c, mask

`ROWS` holds, for each pattern of names, the row's spelling, the shape of its operands and the order
in which it takes them; whether the row is emitted or a special follows from the row. What is no
row of ori is a function in generic.py. Vectors of 32 bits (<2 x half>) go as one register.

A name that no pattern knows is Unsupported when it is reached.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from nvir.interp.leaves import Register, Step, Temp, View
from nvir.interp.nvvm.asm import emit_asm
from nvir.interp.nvvm.asm import special as asm_special
from nvir.interp.nvvm.constants import scalars
from nvir.interp.nvvm.lower import expression, leaves, run
from nvir.interp.nvvm.pieces import regroup
from nvir.interp.rows import ori, unsupported
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.nvvm_values import InlineAsm
from nvir.ir.opcodes.form import form
from nvir.ir.types import B32, StructType, Type, VectorType
from nvir.ir.values import SpecialRegister, Value, integer

_LETTER = {"f": "f32", "d": "f64", "i": "s32", "ui": "u32", "ll": "s64", "ull": "u64", "s": "s16",
           "us": "u16", "h": "f16", "i32": "b32", "i64": "b64"}


@attrs.frozen
class Row:
    """A row of ori: spelling, shape ("" is results and sources in a row), order of the sources
    (numbers of arguments, or negative ~k for the literal k)."""

    spelling: str
    shape: str = ""
    order: tuple[int, ...] | None = None


_found: list[tuple[re.Pattern[str], Callable[[re.Match[str]], Row] | Row]] = []


def _row(pattern: str, make: Callable[[re.Match[str]], Row] | Row) -> None:
    _found.append((re.compile(pattern + r"\Z"), make))


def _t(letter: str) -> str:
    return _LETTER.get(letter, letter)


def _ftz(m: re.Match[str]) -> str:
    return ".ftz" if "ftz" in m[0] else ""


# Arithmetic of the level's own: llvm.nvvm.add.rn.f and the like.
_F = r"(f16x2|bf16x2|f16|bf16|f|d)"
_row(rf"(add|mul|div|sub)\.(rn|rz|rm|rp)(?:\.ftz)?(\.sat)?\.{_F}",
     lambda m: Row(f"{m[1]}.{m[2]}{_ftz(m)}{m[3] or ''}.{_t(m[4])}"))
_row(rf"fma\.(rn|rz|rm|rp)(?:\.ftz)?((?:\.sat|\.relu)?)\.{_F}",
     lambda m: Row(f"fma.{m[1]}{_ftz(m)}{m[2]}.{_t(m[3])}"))
_row(r"(sqrt|rcp)\.(rn|rz|rm|rp)(?:\.ftz)?\.([fd])",
     lambda m: Row(f"{m[1]}.{m[2]}{_ftz(m)}.{_t(m[3])}"))
_row(r"sqrt\.f", Row("sqrt.rn.f32"))
_row(r"(sqrt|rcp|rsqrt|ex2|lg2|sin|cos|div|tanh)\.approx(?:\.ftz)?\.([fd]|f16x2|f16|bf16x2|bf16)",
     lambda m: Row(f"{m[1]}.approx{_ftz(m)}.{_t(m[2])}"))
_row(r"div\.full(?:\.ftz)?", lambda m: Row(f"div.full{_ftz(m)}.f32"))
_row(rf"f(min|max)(?:\.ftz)?(\.nan)?(\.xorsign\.abs)?\.{_F}",
     lambda m: Row(f"{m[1]}{_ftz(m)}{'.NaN' if m[2] else ''}{m[3] or ''}.{_t(m[4])}"))
_row(r"fabs(?:\.ftz)?\.([fd])", lambda m: Row(f"abs{_ftz(m)}.{_t(m[1])}"))
_row(r"neg\.(bf16x2|bf16)", lambda m: Row(f"neg.{m[1]}"))
_row(r"saturate(?:\.ftz)?\.([fd])", lambda m: Row(f"cvt.sat{_ftz(m)}.{_t(m[1])}.{_t(m[1])}"))
_MODES = {"floor": "rmi", "ceil": "rpi", "trunc": "rzi", "round": "rni"}
_row(r"(floor|ceil|trunc|round)(?:\.ftz)?\.([fd])",
     lambda m: Row(f"cvt.{_MODES[m[1]]}{_ftz(m)}.{_t(m[2])}.{_t(m[2])}"))
_row(r"mulhi\.(i|ui|ll|ull|s|us)", lambda m: Row(f"mul.hi.{_t(m[1])}"))
_row(r"mul24\.(i|ui)", lambda m: Row(f"mul24.lo.{_t(m[1])}"))
_row(r"sad\.(i|ui|ll|ull|s|us)", lambda m: Row(f"sad.{_t(m[1])}"))
_row(r"(min|max)\.(i|ui|ll|ull|s|us)", lambda m: Row(f"{m[1]}.{_t(m[2])}"))
_row(r"prmt", Row("prmt.b32"))
_row(r"prmt\.(f4e|b4e|rc8|ecl|ecr|rc16)", lambda m: Row(f"prmt.b32.{m[1]}"))
_row(r"fns", Row("fns.b32"))
_row(r"idp4a\.([su])\.([su])", lambda m: Row(f"dp4a.{m[1]}32.{m[2]}32"))
_row(r"szext\.(clamp|wrap)\.([su])", lambda m: Row(f"szext.{m[1]}.{m[2]}32"))
_row(r"bmsk\.(clamp|wrap)", lambda m: Row(f"bmsk.{m[1]}.b32"))

# Conversions: llvm.nvvm.f2i.rz.ftz.
_row(r"(f|d)2(i|ui|ll|ull)\.(rn|rz|rm|rp)(?:\.ftz)?",
     lambda m: Row(f"cvt.{m[3]}i{_ftz(m)}.{_t(m[2])}.{_t(m[1])}"))
_row(r"(i|ui|ll|ull)2(f|d)\.(rn|rz|rm|rp)",
     lambda m: Row(f"cvt.{m[3]}.{_t(m[2])}.{_t(m[1])}"))
_row(r"d2f\.(rn|rz|rm|rp)(?:\.ftz)?", lambda m: Row(f"cvt.{m[1]}{_ftz(m)}.f32.f64"))
_row(r"f2h\.rn(?:\.ftz)?", lambda m: Row(f"cvt.rn{_ftz(m)}.f16.f32"))
_row(r"h2f", Row("cvt.f32.f16"))
_row(r"f2bf16\.(rn|rz)((?:\.relu)?)", lambda m: Row(f"cvt.{m[1]}{m[2]}.bf16.f32"))
_row(r"ff2(f16x2|bf16x2)\.(rn|rz)((?:\.relu)?)", lambda m: Row(f"cvt.{m[2]}{m[3]}.{m[1]}.f32"))
_row(r"f2tf32\.rna", Row("cvt.rna.tf32.f32"))
_row(r"ff\.to\.(e4m3x2|e5m2x2)\.rn((?:\.relu)?)",
     lambda m: Row(f"cvt.rn.satfinite{m[2]}.{m[1]}.f32"))
_row(r"(e4m3x2|e5m2x2)\.to\.f16x2\.rn((?:\.relu)?)", lambda m: Row(f"cvt.rn{m[2]}.f16x2.{m[1]}"))

# Across a warp. The mask comes first in LLVM, last in PTX.
_row(r"shfl\.sync\.(up|down|bfly|idx)\.(?:i32|f32)",
     lambda m: Row(f"shfl.sync.{m[1]}.b32", "", (1, 2, 3, 0)))
_row(r"shfl\.sync\.(up|down|bfly|idx)\.(?:i32|f32)p",
     lambda m: Row(f"shfl.sync.{m[1]}.b32", "%s|%s, %s, %s, %s, %s", (1, 2, 3, 0)))
_row(r"vote\.(any|all|uni)\.sync", lambda m: Row(f"vote.sync.{m[1]}.pred", "", (1, 0)))
_row(r"vote\.ballot\.sync", Row("vote.sync.ballot.b32", "", (1, 0)))
_row(r"match\.any\.sync\.i(32|64)", lambda m: Row(f"match.any.sync.b{m[1]}", "", (1, 0)))
_row(r"match\.all\.sync\.i(32|64)p",
     lambda m: Row(f"match.all.sync.b{m[1]}", "%s|%s, %s, %s", (1, 0)))
_row(r"redux\.sync\.(u?)(add|min|max)",
     lambda m: Row(f"redux.sync.{m[2]}.{'u' if m[1] else 's'}32"))
_row(r"redux\.sync\.(and|or|xor)", lambda m: Row(f"redux.sync.{m[1]}.b32"))
_row(r"redux\.sync\.f(min|max)((?:\.abs)?)((?:\.NaN)?)",
     lambda m: Row(f"redux.sync.{m[1]}{m[2]}{m[3]}.f32"))
_row(r"activemask", Row("activemask.b32"))
_row(r"elect\.sync", Row("elect.sync", "%s|%s, %s"))
_row(r"bar\.warp\.sync", Row("bar.warp.sync"))

# Barriers.
_row(r"barrier0", Row("barrier.sync.aligned", "%s", (~0,)))
_row(r"barrier\.(?:n|sync)", Row("barrier.sync"))
_row(r"barrier(?:\.sync\.cnt)?", Row("barrier.sync", "%s, %s"))
_row(r"bar\.sync", Row("barrier.sync"))
_row(r"barrier\.cta\.(sync|arrive)((?:\.aligned)?)\.(?:all|count)",
     lambda m: Row(f"barrier.cta.{m[1]}{m[2]}"))
_row(r"barrier\.cluster\.(arrive|wait)((?:\.relaxed)?)((?:\.aligned)?)",
     lambda m: Row(f"barrier.cluster.{m[1]}{m[2]}{m[3]}"))
_row(r"nanosleep", Row("nanosleep.u32", "%s"))

# Address spaces and clusters.
_row(r"isspacep\.(const|global|local|shared)", lambda m: Row(f"isspacep.{m[1]}"))
_row(r"isspacep\.shared\.cluster", Row("isspacep.shared::cluster"))
_row(r"mapa", Row("mapa.u64"))
_row(r"mapa\.shared\.cluster", Row("mapa.shared::cluster.u64"))
_row(r"getctarank", Row("getctarank.u64"))
_row(r"getctarank\.shared\.cluster", Row("getctarank.shared::cluster.u64"))

# Asynchronous copies and barrier objects.
_row(r"cp\.async\.(ca|cg)\.shared\.global\.(4|8|16)",
     lambda m: Row(f"cp.async.{m[1]}.shared.global", "[%s], [%s], %s",
                   (0, 1, ~int(m[2]))))
_row(r"cp\.async\.(ca|cg)\.shared\.global\.(4|8|16)\.s",
     lambda m: Row(f"cp.async.{m[1]}.shared.global", "[%s], [%s], %s, %s",
                   (0, 1, ~int(m[2]), 2)))
_row(r"cp\.async\.commit\.group", Row("cp.async.commit_group"))
_row(r"cp\.async\.wait\.group", Row("cp.async.wait_group"))
_row(r"cp\.async\.wait\.all", Row("cp.async.wait_all"))
_row(r"cp\.async\.mbarrier\.arrive((?:\.noinc)?)((?:\.shared)?)",
     lambda m: Row(f"cp.async.mbarrier.arrive{m[1]}{m[2]}.b64", "[%s]"))
_row(r"mbarrier\.init((?:\.shared)?)", lambda m: Row(f"mbarrier.init{m[1]}.b64", "[%s], %s"))
_row(r"mbarrier\.inval((?:\.shared)?)", lambda m: Row(f"mbarrier.inval{m[1]}.b64", "[%s]"))
_row(r"mbarrier\.(arrive|arrive\.drop)((?:\.shared)?)",
     lambda m: Row(f"mbarrier.{m[1].replace('.', '_')}{m[2]}.b64", "%s, [%s]"))
_row(r"mbarrier\.(arrive|arrive\.drop)\.noComplete((?:\.shared)?)",
     lambda m: Row(f"mbarrier.{m[1].replace('.', '_')}.noComplete{m[2]}.b64",
                   "%s, [%s], %s"))
_row(r"mbarrier\.test\.wait((?:\.shared)?)",
     lambda m: Row(f"mbarrier.test_wait{m[1]}.b64", "%s, [%s], %s"))
_row(r"mbarrier\.pending\.count", Row("mbarrier.pending_count.b64"))

# Matrices.
_row(r"ldmatrix\.sync\.aligned\.m8n8\.x([124])((?:\.trans)?)\.b16(?:\.p\d+)?",
     lambda m: Row(f"ldmatrix.sync.aligned.m8n8.x{m[1]}{m[2]}.shared.b16",
                   f"{{{', '.join(['%s'] * int(m[1]))}}}, [%s]"))
_row(r"stmatrix\.sync\.aligned\.m8n8\.x([124])((?:\.trans)?)\.b16(?:\.p\d+)?",
     lambda m: Row(f"stmatrix.sync.aligned.m8n8.x{m[1]}{m[2]}.shared.b16",
                   f"[%s], {{{', '.join(['%s'] * int(m[1]))}}}"))
_INPUTS = {"tf32": (4, "tf32"), "bf16": (2, "bf16"), "f64": (8, "f64")}


def _mma(m: re.Match[str]) -> Row:
    """llvm.nvvm.mma.m16n8k16.row.col.TYPES: the types of D and C for f16, else those of A and B."""
    rows, columns, depth = int(m[2]), int(m[3]), int(m[4])
    types = m[6].strip(".").split(".")
    saturate = ".satfinite" if "satfinite" in types else ""
    types = [t for t in types if t not in ("satfinite", "popc", "xor", "and")]
    first = types[0]
    if first in ("f16", "f32"):
        a = b = "f16"
        d, c = first, types[-1]
    elif first == "f64":
        a = b = c = d = "f64"
    elif first in ("s8", "u8", "s4", "u4"):
        a, b, c, d = first, types[-1], "s32", "s32"
    elif first in ("bf16", "tf32"):
        a = b = first
        c = d = "f32"
    else:
        raise ValueError(first)
    size = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4}[a]
    per = max(32 // size, 1)
    counts = [rows * columns // 32 // (2 if d == "f16" else 1),
              rows * depth // 32 // per, columns * depth // 32 // per,
              rows * columns // 32 // (2 if c == "f16" else 1)]
    groups = ", ".join(f"{{{', '.join(['%s'] * n)}}}" for n in counts)
    return Row(f"mma.sync.aligned.{m[1]}.{m[5]}{saturate}.{d}.{a}.{b}.{c}", groups)


_row(r"mma\.(m(\d+)n(\d+)k(\d+))\.((?:row|col)\.(?:row|col))((?:\.\w+)+)", _mma)


# Functions of libdevice whose body is one instruction; the others need libdevice linked in.
LIBDEVICE = {
    f"__nv_{name}": Row(spelling)
    for name, spelling in {
        "sqrtf": "sqrt.rn.f32", "sqrt": "sqrt.rn.f64", "rsqrtf": "rsqrt.approx.f32",
        "fabsf": "abs.f32", "fabs": "abs.f64", "fmaf": "fma.rn.f32", "fma": "fma.rn.f64",
        "fminf": "min.f32", "fmaxf": "max.f32", "fmin": "min.f64", "fmax": "max.f64",
        "floorf": "cvt.rmi.f32.f32", "floor": "cvt.rmi.f64.f64", "ceilf": "cvt.rpi.f32.f32",
        "ceil": "cvt.rpi.f64.f64", "truncf": "cvt.rzi.f32.f32", "trunc": "cvt.rzi.f64.f64",
        "rintf": "cvt.rni.f32.f32", "rint": "cvt.rni.f64.f64", "saturatef": "cvt.sat.f32.f32",
        "exp2f": "ex2.approx.f32", "fast_sinf": "sin.approx.f32", "fast_cosf": "cos.approx.f32",
        "fast_log2f": "lg2.approx.f32", "fast_fdividef": "div.approx.f32",
        "frsqrt_rn": "rsqrt.approx.f32", "popc": "popc.b32", "popcll": "popc.b64",
        "clz": "clz.b32", "clzll": "clz.b64", "brev": "brev.b32", "brevll": "brev.b64",
        "mulhi": "mul.hi.s32", "umulhi": "mul.hi.u32", "mul64hi": "mul.hi.s64",
        "umul64hi": "mul.hi.u64", "mul24": "mul24.lo.s32", "umul24": "mul24.lo.u32",
        "sad": "sad.s32", "usad": "sad.u32", "byte_perm": "prmt.b32", "abs": "abs.s32",
        "llabs": "abs.s64", "min": "min.s32", "max": "max.s32", "umin": "min.u32",
        "umax": "max.u32", "llmin": "min.s64", "llmax": "max.s64", "ullmin": "min.u64",
        "ullmax": "max.u64",
        **{f"{p}{op}_{r}": f"{row}.{r}.{t}"
           for p, t in (("f", "f32"), ("d", "f64")) for r in ("rn", "rz", "rm", "rp")
           for op, row in (("add", "add"), ("mul", "mul"), ("div", "div"), ("rcp", "rcp"),
                           ("sqrt", "sqrt"), ("sub", "sub"))},
        **{f"fma{f}_{r}": f"fma.{r}.{t}"
           for f, t in (("f", "f32"), ("", "f64")) for r in ("rn", "rz", "rm", "rp")},
    }.items()
}


# -------------------------------------------------------------------- finding


@functools.lru_cache(maxsize=4096)
def find(name: str) -> Row | None:
    """The row of ori that an intrinsic is, by its name without `llvm.nvvm.`."""
    for pattern, make in _found:
        m = pattern.match(name)
        if m is not None:
            try:
                return make if isinstance(make, Row) else make(m)
            except (ValueError, KeyError):
                return None
    return None


_REGISTERS = {
    "warpsize": "", "lanemask.eq": "%lanemask_eq", "lanemask.le": "%lanemask_le",
    "lanemask.lt": "%lanemask_lt", "lanemask.ge": "%lanemask_ge", "lanemask.gt": "%lanemask_gt",
    "cluster.ctarank": "%cluster_ctarank", "cluster.nctarank": "%cluster_nctarank",
    "is_explicit_cluster": "%is_explicit_cluster", "is.explicit.cluster": "%is_explicit_cluster",
}


def special_register(name: str) -> str | None:
    """The PTX register that read.ptx.sreg.NAME reads; "" is the warp size."""
    known = _REGISTERS.get(name)
    if known is not None:
        return known
    return "%" + re.sub(r"^cluster\.(n?ctaid)", r"cluster_\1", name)


# ------------------------------------------------------------------- running


def arguments(e: Any, i: Instruction) -> list[Value]:
    """The scalars of a call's arguments; a vector of 32 bits or more in registers of 32."""
    out: list[Value] = []
    for v in i.operands:
        parts = leaves(e, v)
        t = v.type
        if _narrow(t):
            registers = [Temp(B32) for _ in range(t.bits // 32)]
            _packed(e, parts, t, registers)
            out.extend(registers)
        else:
            out.extend(parts)
    return out


def _packed(e: Any, parts: Sequence[Value], t: Any, registers: Sequence[Value]) -> None:
    """Define registers of 32 bits by a vector's elements."""
    each = t.element.bits
    texts = ", ".join(str(e.value(p, "pred" if each == 1 else "b16")) for p in parts)
    group = e.bind(regroup)
    dtypes = e.bind(("u4",) * len(registers))
    names = [f"x{e.plan.slot(r)}" for r in registers]
    e.line(f"{', '.join(names)}, = {group}(({texts},), {each}, 32, {dtypes})")
    for r, name in zip(registers, names, strict=True):
        e.define(r, name)


def emit_row(e: Any, row: Row) -> None:
    """A row that is emitted."""
    i = e.instr
    given = arguments(e, i)
    sources = _ordered(row, given)
    results, unpack = _results(e, i)
    run(e, View(_form(row, len(results), len(sources)), sources, results, i))
    if unpack is not None:
        unpack()


def _ordered(row: Row, given: Sequence[Value]) -> list[Value]:
    if row.order is None:
        return list(given)
    return [given[k] if k >= 0 else integer(~k) for k in row.order]


def _form(row: Row, results: int, sources: int) -> Any:
    shape = row.shape or ", ".join(["%s"] * (results + sources))
    return form(row.spelling, shape)


def _results(e: Any, i: Instruction) -> tuple[list[Value], Any]:
    """What the row defines, and how to take packed registers apart afterwards."""
    members = (i.type.elements or ()) if isinstance(i.type, StructType) else (i.type,)
    if not any(_narrow(m) for m in members):
        return list(leaves(e, i)), None
    registers = [Temp(B32) for _ in members]
    return list(registers), lambda: _take_apart(e, i, members, registers)


def _take_apart(e: Any, i: Instruction, members: Any, registers: Sequence[Value]) -> None:
    """Define the results by the packed registers that hold them."""
    parts = leaves(e, i)
    at = 0
    for register, m in zip(registers, members, strict=True):
        n = len(scalars(m))
        for k in range(n):
            if n == 1:
                expression(e, parts[at], str(e.value(register)))
                continue
            shifted = f"({e.value(register)} >> {e.constant(k * m.element.bits, 'u4')})"
            expression(e, parts[at + k], f"{shifted}.astype(u2)")
        at += n


def callee_name(i: Instruction) -> str:
    """The name of the function that a call names; "" of other calls."""
    callee = getattr(i.aux, "callee", None)
    return str(callee.name) if isinstance(callee, Function) else ""


def special(plan: Any, i: Instruction) -> Any:
    """What ends a segment: a call of a function, or an intrinsic that looks beyond its group."""
    from nvir.interp.nvvm import generic
    from nvir.interp.nvvm.control import NvvmCall

    name = callee_name(i)
    callee = getattr(i.aux, "callee", None)
    if isinstance(callee, InlineAsm):
        return asm_special(plan, i, callee)
    if not name.startswith("llvm."):
        known = (name in generic.LIBRARY or name in LIBDEVICE) and i.aux.callee.is_declaration
        return None if known else NvvmCall(plan, i)
    if name in generic.SPECIALS:
        return generic.SPECIALS[name](plan, i)
    if not name.startswith("llvm.nvvm."):
        return None
    row = find(name[len("llvm.nvvm.") :])
    if row is None:
        return None
    maker = ori().specials.get(_form(row, 1, 1).name)
    if maker is None:
        return None
    return _packed_special(plan, i, row, maker)


def _narrow(t: Type) -> bool:
    """Whether a vector goes in registers of 32 bits."""
    return isinstance(t, VectorType) and t.element.bits < 32 and t.bits % 32 == 0


def _packed_special(plan: Any, i: Instruction, row: Row, maker: Any) -> Any:
    """A special over an intrinsic's scalars; vectors are packed before it, and apart behind."""
    members = (i.type.elements or ()) if isinstance(i.type, StructType) else (i.type,)
    packs = any(_narrow(v.type) for v in i.operands)
    unpacks = any(_narrow(m) for m in members)
    given: list[Value] = []
    for v in i.operands:
        if _narrow(v.type):
            given.extend(Register(B32, i) for _ in range(v.type.bits // 32))
        else:
            given.extend(plan.leaves(v))
    results = [Register(B32, i) for _ in members] if unpacks else plan.leaves(i)
    sources = _ordered(row, given)
    view = View(_form(row, len(results), len(sources)), sources, results, i)
    made = maker(plan, view)
    if packs:
        made.before = Step(i, lambda e: _pack_into(e, i, given))
    if unpacks:
        made.behind = Step(i, lambda e: _take_apart(e, i, members, results))
    return made


def _pack_into(e: Any, i: Instruction, registers: Sequence[Value]) -> None:
    """Define the packed registers among a special's arguments."""
    at = 0
    for v in i.operands:
        if _narrow(v.type):
            n = v.type.bits // 32
            _packed(e, leaves(e, v), v.type, registers[at : at + n])
            at += n
        else:
            at += len(leaves(e, v))


def emit_call(e: Any) -> None:
    """A call of an intrinsic that is emitted."""
    from nvir.interp.nvvm import generic

    i = e.instr
    callee = i.aux.callee
    if isinstance(callee, InlineAsm):
        emit_asm(e, callee)
        return
    name = callee_name(i)
    if name.startswith("llvm.nvvm.read.ptx.sreg."):
        _read_register(e, special_register(name[len("llvm.nvvm.read.ptx.sreg.") :]) or "")
        return
    if generic.emit(e, name):
        return
    row = LIBDEVICE.get(name)
    if name.startswith("llvm.nvvm."):
        row = find(name[len("llvm.nvvm.") :])
    if row is None:
        raise unsupported(i, f"the intrinsic {name}" if name else "")
    emit_row(e, row)


def _read_register(e: Any, name: str) -> None:
    from nvir.ir.special import special_register as register

    (r,) = leaves(e, e.instr)
    if not name:
        expression(e, r, e.constant(32, "u4"))
        return
    found: SpecialRegister | None = register(name)
    if found is None:
        raise unsupported(e.instr, f"the special register {name}")
    expression(e, r, f"c.special({name!r})")


EMITTERS = {"call": emit_call}
