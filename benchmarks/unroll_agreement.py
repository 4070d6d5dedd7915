"""How often nvir's unroll decision is that of the real ptxas: generated loops and compiled code.

    python benchmarks/unroll_agreement.py [--count 600] [--seed 1] [--arch sm_80,sm_90]
                                          [--files DIR ...] [--misses] [--json out.json]

Generated: each kernel holds one loop, or two that are nested. Every loop carries one
`fma` of a rounding mode that nothing else uses, on a chain that cannot be shortened, so
the copies of it in a SASS loop are the copies of the body: none of its own loop left is
"full", n > 1 a partial factor, 1 none. Hundreds of kernels go into one call of ptxas.

Compiled: loops that no generator made. ptxas notes the PTX line of each instruction
(-lineinfo); operations that are one instruction in both worlds (memory accesses, barriers,
shuffles, floating arithmetic of one kind) are counted by their line in each SASS loop.
A loop is judged only where its own lines speak clearly; the others are counted as such.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parent))

import agreement
from agreement import sass_loops

import nvir
from nvir import toolchain
from nvir.toolchain import SassInstruction

Action = tuple[str, int]  # ("full", 0), ("partial", f), ("none", 1)
CHUNK = 120  # kernels of one assembly
MARKS = ("rz", "rm")  # rounding modes that mark the inner and the outer loop
HEADER = """.version 8.0
.target {arch}
.address_size 64
.const .align 4 .b8 cbuf[4096];
"""
PARAMS = (
    "(.param .u64 a, .param .u64 o, .param .u64 t, .param .u32 n, .param .u32 m, "
    ".param .f32 x, .param .f32 y, .param .f32 fn)"
)
PROLOGUE = """.reg .pred %p<200>; .reg .b32 %r<400>; .reg .f32 %f<900>; .reg .b64 %rd<200>;
.shared .align 4 .b8 NAME_s[4096];
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u64 %rd3, [t];
ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m];
ld.param.f32 %f1, [x]; ld.param.f32 %f2, [y]; ld.param.f32 %f3, [fn];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r3, %tid.x; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4;
cvt.u64.u32 %rd5, %r1; shl.b32 %r4, %r3, 2;
ld.global.f32 %f10, [%rd2]; ld.global.f32 %f11, [%rd2+4];
ld.global.f32 %f12, [%rd2+8]; ld.global.f32 %f13, [%rd2+12];
"""
EPILOGUE = """st.global.f32 [%rd2+1024], %f10; st.global.f32 [%rd2+1028], %f11;
st.global.f32 [%rd2+1032], %f12; st.global.f32 [%rd2+1036], %f13;
ret;
}
"""


@attrs.frozen
class Counted:
    """How one loop counts. `trip` 0 is unknown; `form` lt, le, gt, ne, while, neg or old.

    "neg" goes back where the opposite comparison does not hold.

    "old" tests the variable before its step, at the bottom. `step` 0 is known at run time
    only. `start` "tid" counts from the thread's number: lanes leave apart.
    """

    trip: int = 0
    form: str = "lt"
    iv: str = "s32"
    step: int = 1
    start: str = ""
    pragma: str = ""  # "after" the label, "before" it, or none

    def lines(self, label: str, iv: int, body: list[str]) -> list[str]:
        """The loop as PTX; its induction variable is %r{iv}, %rd{iv} or %f{iv}."""
        reg = {"s64": "%rd", "f32": "%f"}.get(self.iv, "%r") + str(iv)
        stop = {"s64": "%rd5", "f32": "%f3"}.get(self.iv, "%r1")
        start, limit, step = 0, self.trip * self.step, self.step
        if self.form == "le":
            limit -= step
        if self.form == "gt":
            start, limit, step = limit, 0, -step
            bound = self._number(limit)
            first = self._number(start) if self.trip else stop
        else:
            bound = self._number(limit) if self.trip else stop
            first = self._number(start)
        compares = {"while": "ge", "neg": "ge", "le": "le", "gt": "gt", "ne": "ne"}
        compare = compares.get(self.form, "lt")
        type = self.iv
        test = f"setp.{compare}.{type} %p{iv}, {reg}, {bound};"
        if self.form == "old":
            bound = self._number(limit - step) if self.trip else bound
        if self.start:
            first = "%r3"
        stride = self._number(step) if self.step else "%r2"
        bump = f"add.{type} {reg}, {reg}, {stride};"
        pragma = '.pragma "nounroll";'
        head = [f"mov.{'b64' if type == 's64' else type} {reg}, {first};"]
        if self.pragma == "before":
            head.append(pragma)
        head.append(f"{label}:")
        if self.pragma == "after":
            head.append(pragma)
        if self.form == "while":
            return [*head, test, f"@%p{iv} bra {label}_x;", *body, bump, f"bra {label};",
                    f"{label}_x:"]
        tail = [test, bump] if self.form == "old" else [bump, test]
        sign = "!" if self.form == "neg" else ""
        return [*head, *body, *tail, f"@{sign}%p{iv} bra {label};", f"{label}_x:"]

    def _number(self, n: int) -> str:
        if self.iv != "f32":
            return str(n)
        import struct

        return "0f" + struct.pack(">f", float(n)).hex().upper()


class Body:
    """Writes the body of one loop, piece by piece; every loaded value is used."""

    def __init__(self, rnd: random.Random, label: str, iv: int, counted: Counted, kernel: str):
        self.rnd, self.label, self.iv, self.counted, self.kernel = rnd, label, iv, counted, kernel
        self.out: list[str] = []
        self.done: set[str] = set()
        self.before: list[str] = []
        self.fresh = 100 + 100 * (iv - 20)
        self.sources = ["%f2", "%f1"]

    def new(self, kind: str = "f") -> str:
        self.fresh += 1
        return f"%{kind}{self.fresh}" if kind == "f" else f"%{kind}{self.fresh % 100 + self.iv * 4}"

    def index(self) -> str:
        """The induction variable as a 32-bit register."""
        if self.counted.iv in ("s32", "u32"):
            return f"%r{self.iv}"
        r = self.new("r")
        source = f"%rd{self.iv}" if self.counted.iv == "s64" else f"%f{self.iv}"
        spelled = "cvt.u32.u64" if self.counted.iv == "s64" else "cvt.rzi.s32.f32"
        self.out.append(f"{spelled} {r}, {source};")
        return r

    def use(self, register: str) -> None:
        a = self.rnd.choice(("%f11", "%f12", "%f13"))
        self.out.append(f"fma.rn.f32 {a}, {a}, {register}, {self.rnd.choice(self.sources)};")

    def mark(self, mode: str) -> None:
        self.out.append(f"fma.{mode}.f32 %f10, %f10, %f1, %f2;")

    def arith(self, n: int) -> None:
        for _ in range(n):
            self.use("%f1")

    def piece(self, kind: str, n: int) -> None:
        getattr(self, "_" + kind)(n)
        self.done.add(kind)

    # Each piece adds its own address arithmetic, so that the weights are all met.

    def _ldg(self, n: int) -> None:
        p = f"%rd{self.iv + 60}"
        self.before.append(f"mov.b64 {p}, %rd1;")
        for k in range(n):
            f = self.new()
            self.out.append(f"ld.global.f32 {f}, [{p}+{4096 * k}];")
            self.use(f)
        self.out.append(f"add.s64 {p}, {p}, 128;")

    def _ldgi(self, n: int) -> None:
        i, wide, p = self.index(), self.new("rd"), self.new("rd")
        self.out.append(f"mul.wide.s32 {wide}, {i}, 4; add.s64 {p}, %rd1, {wide};")
        for k in range(n):
            f = self.new()
            self.out.append(f"ld.global.f32 {f}, [{p}+{4096 * k}];")
            self.use(f)

    def _stg(self, n: int) -> None:
        p = f"%rd{self.iv + 80}"
        self.before.append(f"mov.b64 {p}, %rd2;")
        for k in range(n):
            self.out.append(f"st.global.f32 [{p}+{2048 + 4 * k}], %f1{k % 3 + 1};")
        self.out.append(f"add.s64 {p}, {p}, 64;")

    def _scatter(self, n: int) -> None:
        r, wide, p, q = self.new("r"), self.new("rd"), self.new("rd"), f"%rd{self.iv + 60}"
        self.before.append(f"mov.b64 {q}, %rd1;" if "ldg" not in self.done else "")
        self.out.append(f"ld.global.u32 {r}, [{q}]; mul.wide.s32 {wide}, {r}, 4;")
        self.out.append(f"add.s64 {p}, %rd2, {wide};")
        for k in range(n):
            op = self.rnd.choice(("st.global.f32", "red.global.add.f32"))
            self.out.append(f"{op} [{p}+{4 * k}], %f11;")

    def _lds(self, n: int) -> None:
        p = f"%r{self.iv + 20}"
        self.before.append(f"mov.u32 {p}, {self.kernel}_s;")
        for k in range(n):
            f = self.new()
            self.out.append(f"ld.shared.f32 {f}, [{p}+{4 * k}];")
            self.use(f)
        self.out.append(f"add.s32 {p}, {p}, 32;")

    def _ldsi(self, n: int) -> None:
        i, s, p, base = self.index(), self.new("r"), self.new("r"), f"%r{self.iv + 50}"
        self.before.append(f"mov.u32 {base}, {self.kernel}_s;")
        self.out.append(f"shl.b32 {s}, {i}, 2; add.s32 {p}, {base}, {s};")
        for k in range(n):
            f = self.new()
            self.out.append(f"ld.shared.f32 {f}, [{p}+{128 * k}];")
            self.use(f)

    def _ldst(self, n: int) -> None:
        """Shared loads at a run-time address."""
        p = f"%r{self.iv + 24}"
        self.before.append(f"mov.u32 {p}, {self.kernel}_s; add.s32 {p}, {p}, %r4;")
        for k in range(n):
            f = self.new()
            self.out.append(f"ld.shared.f32 {f}, [{p}+{4 * k}];")
            self.use(f)
        self.out.append(f"add.s32 {p}, {p}, 256;")

    def _ldsc(self, n: int) -> None:
        for k in range(n):
            f = self.new()
            self.out.append(f"ld.shared.f32 {f}, [{self.kernel}_s+{4 * k + 512}];")
            self.use(f)
            self.out.append(f"st.shared.f32 [{self.kernel}_s+{4 * k + 512}], %f11;")

    def _ldc(self, n: int) -> None:
        for k in range(n):
            f = self.new()
            self.out.append(f"ld.const.f32 {f}, [cbuf+{4 * k}];")
            self.use(f)

    def _ldci(self, n: int) -> None:
        i, wide, p, base = self.index(), self.new("rd"), self.new("rd"), f"%rd{self.iv + 100}"
        self.before.append(f"mov.u64 {base}, cbuf;")
        self.out.append(f"mul.wide.s32 {wide}, {i}, 4; add.s64 {p}, {base}, {wide};")
        for k in range(n):
            f = self.new()
            self.out.append(f"ld.const.f32 {f}, [{p}+{128 * k}];")
            self.use(f)

    def _sts(self, n: int) -> None:
        p = f"%r{self.iv + 28}"
        self.before.append(f"mov.u32 {p}, {self.kernel}_s;")
        for k in range(n):
            self.out.append(f"st.shared.f32 [{p}+{4 * k}], %f1{k % 3 + 1};")
        self.out.append(f"add.s32 {p}, {p}, 32;")

    def _tex(self, n: int) -> None:
        for _ in range(n):
            f = [self.new() for _ in range(4)]
            y = self.rnd.choice(self.sources)
            self.out.append(f"tex.2d.v4.f32.f32 {{{', '.join(f)}}}, [%rd3, {{%f11, {y}}}];")
            self.use(f[0])

    def _ivuse(self, n: int) -> None:
        for _ in range(n):
            i, f = self.index(), self.new()
            self.out.append(f"cvt.rn.f32.s32 {f}, {i};")
            self.use(f)

    def _ivmix(self, n: int) -> None:
        for _ in range(n):
            i, r, f = self.index(), self.new("r"), self.new()
            self.out.append(f"add.s32 {r}, {i}, %r2; cvt.rn.f32.s32 {f}, {r};")
            self.use(f)

    def _mufu(self, n: int) -> None:
        for _ in range(n):
            f = self.new()
            op = self.rnd.choice(("ex2.approx.ftz", "sin.approx", "rsqrt.approx.ftz", "ex2.approx",
                                  "rcp.approx", "lg2.approx.ftz"))
            self.out.append(f"{op}.f32 {f}, %f12;")
            self.use(f)

    def _neg(self, n: int) -> None:
        for _ in range(n):
            f = self.new()
            self.out.append(f"{self.rnd.choice(('neg', 'abs'))}.f32 {f}, %f11;")
            self.use(f)

    def _pred(self, n: int) -> None:
        for _ in range(n):
            p = self.new("p")
            self.out.append(f"setp.gt.f32 {p}, %f11, %f2; @{p} add.f32 %f12, %f12, %f1;")

    def _skip(self, n: int, test: str) -> None:
        p, label = self.new("p"), f"{self.label}_e{len(self.out)}"
        self.out.append(test.format(p=p))
        self.out.append(f"@!{p} bra {label};")
        for _ in range(n):
            self.out.append("mul.f32 %f13, %f13, %f2;")
        self.out.append(f"{label}:")

    def _if(self, n: int) -> None:
        self._skip(n, "setp.gt.f32 {p}, %f11, %f2;")

    def _ivif(self, n: int) -> None:
        self._skip(n, "setp.gt.s32 {p}, " + self.index() + ", 1;")

    def _ifelse(self, n: int) -> None:
        p, name = self.new("p"), f"{self.label}_i{len(self.out)}"
        self.out.append(f"setp.gt.f32 {p}, %f11, %f2; @!{p} bra {name}e;")
        self.out += ["mul.f32 %f13, %f13, %f2;"] * n
        self.out += [f"bra {name}j;", f"{name}e:"]
        self.out += ["add.f32 %f12, %f12, %f2;"] * (n + 1)
        self.out.append(f"{name}j:")

    def _break(self, n: int) -> None:
        p = self.new("p")
        self.out.append(f"setp.gt.f32 {p}, %f11, %f2; @{p} bra {self.label}_x;")

    def _bar(self, n: int) -> None:
        self.out += ["bar.sync 0;"] * n

    def _membar(self, n: int) -> None:
        self.out.append("membar.gl;")

    def _div(self, n: int) -> None:
        self.out.append("div.rn.f32 %f12, %f12, %f2;")

    def _shfl(self, n: int) -> None:
        f = self.new()
        self.out.append(f"shfl.sync.bfly.b32 {f}, %f11, {n}, 31, -1;")
        self.use(f)

    def _vote(self, n: int) -> None:
        r, p, f = self.new("r"), self.new("p"), self.new()
        self.out.append(f"setp.gt.f32 {p}, %f11, %f2; vote.sync.ballot.b32 {r}, {p}, -1;")
        self.out.append(f"cvt.rn.f32.u32 {f}, {r};")
        self.use(f)

    def _volatile(self, n: int) -> None:
        for k in range(n):
            self.out.append(f"st.volatile.global.f32 [%rd2+{4 * k}], %f11;")

    def _int(self, n: int) -> None:
        for _ in range(n):
            r, f = self.new("r"), self.new()
            self.out.append(f"mad.lo.s32 {r}, %r2, %r4, {self.index()}; cvt.rn.f32.s32 {f}, {r};")
            self.use(f)


MEMORY = (
    "scatter", "ldg", "ldgi", "stg", "lds", "ldsi", "ldst", "ldsc", "ldc", "ldci", "sts", "tex",
)
PLAIN = ("ivuse", "ivmix", "mufu", "neg", "pred", "int")
FLOW = ("if", "ivif", "ifelse", "break")
WARP = ("bar", "membar", "div", "shfl", "vote", "volatile")


@attrs.frozen
class Specimen:
    """A kernel of one loop or a nest: its text, and a class for the table."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...]  # of the loops, by their mark
    note: str


def specimen(name: str, seed: int) -> Specimen:
    """The kernel of a seed."""
    rnd = random.Random(seed)
    nest = rnd.random() < 0.15
    inner = _counted(rnd, nest)
    body = Body(rnd, "L", 20, inner, name)
    kinds = _pieces(rnd)
    _fill(rnd, body, kinds, MARKS[0])
    lines = [*body.before, *inner.lines("L", 20, body.out)]
    labels: tuple[str, ...] = ("L",)
    note = f"{inner} {kinds} {len(body.out)}"
    if nest:
        outer = _counted(rnd, True)
        around = Body(rnd, "M", 22, outer, name)
        more = [("arith", rnd.choice((0, 1, 3, 8)))]
        _fill(rnd, around, more, MARKS[1])
        where = rnd.choice((0, len(around.out)))
        around.out[where:where] = lines
        lines = [*around.before, *outer.lines("M", 22, around.out)]
        labels = ("L", "M")
        note += f" in {outer} {more}"
    lines = [re.sub(r"\bNAME\b", name, x) for x in lines]
    text = "\n".join([f".visible .entry {name}{PARAMS}", "{", PROLOGUE.replace("NAME", name),
                      *lines, EPILOGUE])
    return Specimen(name, _class(inner, kinds, nest), text, labels, note)


def _counted(rnd: random.Random, nest: bool) -> Counted:
    trips = (0, 2, 3, 4, 5, 7, 8) if nest else (0, 0, 0, 2, 3, 4, 5, 7, 8, 10, 13, 16, 20, 24, 32,
                                                48, 64, 100, 128, 200, 333, 512)
    pragma = rnd.choice(("after", "before")) if rnd.random() < 0.06 else ""
    iv = rnd.choice(("s32", "s32", "s32", "u32", "s64", "f32"))
    form = rnd.choice(("lt", "lt", "lt", "le", "gt", "ne", "while"))
    if iv in ("f32",) and form == "ne":
        form = "lt"
    if iv == "u32" and form == "gt":
        form = "lt"
    step = rnd.choice((1, 1, 1, 2, 4, 3))
    trip = rnd.choice(trips)
    if form == "ne" and not trip:
        step = 1
    start = ""
    if iv == "s32" and rnd.random() < 0.12:
        form = "old"
    elif form == "lt" and rnd.random() < 0.08:
        form = "neg"
    elif iv == "s32" and form == "lt" and not trip:
        start = rnd.choice(("", "tid", "tid"))
        step = rnd.choice((step, step, 0))
    return Counted(trip, form, iv, step, start, pragma)


def _pieces(rnd: random.Random) -> list[tuple[str, int]]:
    size = rnd.choice((0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 25, 30, 40, 50, 70, 100))
    kinds = [("arith", size)]
    for _ in range(rnd.choice((0, 0, 1, 1, 1, 2, 2, 3))):
        pool = rnd.choices((MEMORY, PLAIN, FLOW, WARP), (6, 4, 2, 1))[0]
        kind = rnd.choice(pool)
        n = rnd.choice((1, 1, 2)) if kind == "tex" else rnd.choice((1, 1, 2, 3, 4, 6))
        if kind not in [k for k, _ in kinds]:
            kinds.append((kind, n))
    return kinds


def _fill(rnd: random.Random, body: Body, kinds: Sequence[tuple[str, int]], mode: str) -> None:
    body.mark(mode)
    for kind, n in kinds:
        body.arith(n) if kind == "arith" else body.piece(kind, n)


def _class(counted: Counted, kinds: Sequence[tuple[str, int]], nest: bool) -> str:
    names = {k for k, _ in kinds}
    if nest:
        return "nest"
    if counted.pragma:
        return "pragma"
    if names & set(WARP):
        return "barrier, warp, call"
    if names & set(FLOW):
        return "if, break"
    if "tex" in names:
        return "texture"
    trip = "known trip" if counted.trip else "unknown trip"
    return f"{trip}, memory" if names & set(MEMORY) else trip


# ------------------------------------------------------------------ what ptxas did


def factor_of_marks(code: Sequence[SassInstruction], mode: str, others: Sequence[str]) -> Action:
    """What was done with the loop that `mode` marks; `others` mark the loops around it."""
    op = f"FFMA.{mode.upper()}"
    best = 0
    for loop in sass_loops(code):
        if any(code[k].opcode == f"FFMA.{m.upper()}" for m in others for k in loop):
            continue  # a loop around: copies in it are of a loop that is gone
        best = max(best, sum(code[k].opcode == op for k in loop))
    return ("full", 0) if best == 0 else ("none", 1) if best == 1 else ("partial", best)


def observe(specimens: Sequence[Specimen], arch: str) -> list[list[Action]]:
    """For each specimen what ptxas made of each of its loops."""
    out: list[list[Action]] = []
    for k in range(0, len(specimens), CHUNK):
        part = specimens[k : k + CHUNK]
        text = HEADER.format(arch=arch) + "\n".join(s.text for s in part)
        made = toolchain.ptxas(text, arch)
        if not made.ok or made.cubin is None:
            raise RuntimeError(made.error)
        code = toolchain.disassemble(made.cubin, live=False)
        for s in part:
            out.append([
                factor_of_marks(code[s.name], MARKS[j], MARKS[j + 1 : len(s.labels)])
                for j in range(len(s.labels))
            ])
    return out


# ---------------------------------------------------------------- what nvir says


def predict(module: nvir.Module, arch: str) -> dict[str, dict[str, Any]]:
    """The decisions by function and header."""
    from nvir.passes.context import Context
    from nvir.passes.knobs import Knobs
    from nvir.passes.loop.unroll.unroll_decision import decide

    ctx = Context(module, Knobs())
    out = {}
    for f in module.functions:
        if f.blocks:
            f.analyze_cfg()
            made = decide(f, ctx, arch)
            out[str(f.name)] = {str(header.name): d for header, d in made.items()}
    return out


def action_of(decision: Any) -> Action:
    return decision.action, 0 if decision.action == "full" else decision.factor


@attrs.frozen
class Judged:
    """One loop: what ptxas did (None: its machine code does not say) and what nvir expects."""

    name: str
    kind: str
    ptxas: Action | None
    nvir: Action
    reason: str


def judge_generated(count: int, seed: int, arch: str) -> list[Judged]:
    """One entry a kernel for single loops, two for a nest."""
    specimens = [specimen(f"k{n}", seed * 1_000_000 + n) for n in range(count)]
    seen = observe(specimens, arch)
    module = nvir.read_ptx(HEADER.format(arch=arch) + "\n".join(s.text for s in specimens))
    said = predict(module, arch)
    return [
        Judged(f"{s.name}:{label} {s.note}", s.kind, action, action_of(said[s.name][label]),
               said[s.name][label].reason)
        for s, actions in zip(specimens, seen, strict=True)
        for label, action in zip(s.labels, actions, strict=True)
    ]


# ---------------------------------------------------------- loops of compilers

# PTX operations of which each copy is one SASS instruction of these names.
MARKERS = {
    "ld.global": ("LDG",), "st.global": ("STG",), "ld.shared": ("LDS",), "st.shared": ("STS",),
    "ld.local": ("LDL",), "st.local": ("STL",), "ld": ("LD", "LDG", "LDS"), "st": ("ST", "STG"),
    "bar.sync": ("BAR",), "shfl.sync": ("SHFL",), "fma.f32": ("FFMA",), "fma.f64": ("DFMA",),
    "mma.sync": ("HMMA", "IMMA", "DMMA"), "ldmatrix": ("LDSM",), "ex2": ("MUFU",),
    "atom.global": ("ATOMG", "ATOM"), "red.global": ("RED", "REDG"), "tex": ("TEX", "TLD"),
    "cp.async": ("LDGSTS",), "fma.f16x2": ("HFMA2",), "atom.shared": ("ATOMS",),
}


def _marker(i: Any) -> tuple[str, ...]:
    form = i.form
    if form.name in ("fma",):
        return MARKERS.get(f"fma.{form.type}", ())
    if form.space:
        return MARKERS.get(f"{form.name}.{form.space}", ())
    return MARKERS.get(form.name, ())


def judge_compiled(path: Path, arch: str, done: set[str]) -> list[Judged]:
    """The loops of one PTX file; functions whose text is in `done` are passed over."""
    from nvir.ir.loops import natural_loops

    text = path.read_text(errors="replace")
    made = toolchain.ptxas(text, arch, options=("-lineinfo",))
    if not made.ok or made.cubin is None:
        return []
    module = nvir.read_ptx(text)
    said = predict(module, arch)
    code: dict[str, list[SassInstruction]] = {}
    out: list[Judged] = []
    for f in module.functions:
        loops = natural_loops(f) if f.blocks and f.kind == "entry" else []
        shape = " ".join(i.form.spelling for i in f.instructions()) if loops else ""
        if not loops or shape in done:
            continue
        done.add(shape)
        code = code or toolchain.disassemble(made.cubin, live=False, lines="ptx")
        places = sass_loops(code.get(str(f.name), []))
        at = [(i.name, i.line[1] if i.line else 0) for i in code.get(str(f.name), [])]
        for loop in loops:
            decision = said[str(f.name)][loop.header.name]
            action = _factor_of_lines(loop, at, places)
            out.append(Judged(f"{path.name}:{f.name}:{loop.header.name}", _shape_of(loop, decision),
                              action, action_of(decision), decision.reason))
    return out


def _shape_of(loop: Any, decision: Any) -> str:
    kind = "nest" if loop.parent is not None or loop.children else "single"
    blocks = "one block" if len(loop.blocks) == 1 else "branches"
    return f"{kind}, {blocks}, T {'known' if decision.T is not None else 'unknown'}"


def _own_lines(loop: Any, code: Mapping[int, tuple[str, ...]] | None) -> dict[int, tuple[str, ...]]:
    inner = {b for c in loop.children for b in c.blocks}
    own = (i for b in loop.blocks if b not in inner for i in b if i.line and not i.form.op.pseudo)
    return {i.line: names for i in own if (
        names := _marker(i) if code is None else code.get(i.line, ()))}


def _factor_of_lines(
    loop: Any, at: list[tuple[str, int]], places: list[frozenset[int]], every: bool = False
) -> Action | None:
    """What the machine code says of a loop: copies of its own operations in one SASS loop; with
    `every`, of whatever operations its lines have there, of which some may stand twice."""
    code: dict[int, tuple[str, ...]] | None = None
    if every:
        code = {}
        for name, line in at:
            code[line] = (*code.get(line, ()), name)
    own = _own_lines(loop, code)
    around: dict[int, tuple[str, ...]] = {}
    above = loop.parent
    while above is not None:
        around.update(_own_lines(above, code))
        above = above.parent
    if not own or (loop.parent is not None and not around):
        return None
    where = [k for k, (name, line) in enumerate(at) if name in own.get(line, ())]
    if not where:
        return None
    alone = [
        p for p in places if not any(at[k][0] in around.get(at[k][1], ()) for k in p)
    ]
    counts: Counter[int] = Counter()
    for line in {at[k][1] for k in where}:
        copies = [k for k in where if at[k][1] == line]
        best = 0
        for place in alone:
            inside = Counter(at[k][0] for k in copies if k in place)
            best = max(best, min(inside.values(), default=0))
        counts[best] += 1
    kept = Counter({n: c for n, c in counts.items() if n})  # the others were hoisted
    if not kept:  # gone, or its own operations have left a loop that is there
        lines = {i.line for b in loop.blocks for i in b if i.line}
        return None if any(at[k][1] in lines for p in alone for k in p) else ("full", 0)
    n, votes = kept.most_common(1)[0]
    if votes < 0.6 * kept.total():
        return None
    return ("none", 1) if n == 1 else ("partial", n)


# ------------------------------------------------------------------------ tables


def table(judged: Iterable[Judged], misses: bool = False) -> str:
    """Agreement by class and overall, as text."""
    rows: dict[str, list[Judged]] = {}
    for j in judged:
        rows.setdefault(j.kind, []).append(j)
    out = [f"  {'class':<34}{'loops':>7}{'unclear':>9}{'agree':>7}{'percent':>9}"]
    every = [j for js in rows.values() for j in js]
    for name, js in [*sorted(rows.items()), ("all", every)]:
        clear = [j for j in js if j.ptxas is not None]
        agree = sum(j.ptxas == j.nvir for j in clear)
        share = f"{100 * agree / len(clear):.1f}" if clear else "–"
        out.append(f"  {name:<34}{len(clear):>7}{len(js) - len(clear):>9}{agree:>7}{share:>9}")
    if misses:
        out += [
            f"  {j.name}: ptxas {j.ptxas}, nvir {j.nvir}: {j.reason}"
            for j in every if j.ptxas is not None and j.ptxas != j.nvir
        ]
    return "\n".join(out)


def main(argv: Sequence[str] | None = None) -> int:
    parser = agreement.parser(__doc__, count=600, missed="loops")
    parser.add_argument("--largest", type=int, default=400_000, help="bytes of a file at most")
    args = parser.parse_args(argv)
    done: set[str] = set()
    return agreement.compare(
        args,
        judge_generated,
        lambda path, arch: judge_compiled(path, arch, done),
        lambda judged: [table(judged, args.misses)],
        largest=args.largest,
    )


if __name__ == "__main__":
    sys.exit(main())
