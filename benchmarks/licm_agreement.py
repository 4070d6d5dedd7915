"""How often nvir hoists what the real ptxas hoists: generated loops, and loops of compilers.

    python benchmarks/licm_agreement.py [--count 400] [--seed 1] [--arch sm_80,sm_90]
                                        [--files DIR ...] [--sink] [--misses] [--json out.json]

Generated: kernels of one loop, with or without a branch, or of two or three nested ones, all under
`.pragma "nounroll"`. Each invariant carries a mark that survives assembly: a literal, an address
offset or an operation that nothing else has. In how many loops the mark lies in the machine
code says what ptxas did; in how many the instruction lies after `licm<id=0>,licm<id=1>`, what nvir
expects. A mark that is gone, or stands at several depths, is counted as unclear.

Compiled: loops of real PTX. ptxas notes the PTX line of each instruction (-lineinfo); what nvir
calls invariant is looked up by its line. Clear are the marks whose line has instructions at one
depth only, one of them that of the operation and of nothing else. Since compilers hoist before
they write PTX, `--sink` first puts invariants back into the loops (licm_sink.py).
"""

from __future__ import annotations

import functools
import random
import re
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parent))

import agreement
import licm_sink
from agreement import sass_loops

import nvir
from nvir import toolchain
from nvir.analysis.hoisting.nest import Nest
from nvir.analysis.hoisting.region import survey
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.values import SpecialRegister
from nvir.toolchain import SassInstruction

CHUNK = 100  # kernels of one assembly
PIPELINE = "copy-prop,dce,licm<id=0>,licm<id=1>"
HEADER = """.version 8.0
.target {arch}
.address_size 64
.const .align 4 .b8 cbuf[4096];
"""
PROLOGUE = """.visible .entry NAME(.param .u64 a, .param .u64 o, .param .u64 t, .param .u32 n,
    .param .u32 m, .param .f32 x, .param .f32 y)
{
.reg .pred %p<100>; .reg .b32 %r<900>; .reg .f32 %f<1900>; .reg .b64 %rd<400>;
.shared .align 4 .b8 NAME_s[4096];
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u64 %rd3, [t];
ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m]; ld.param.f32 %f1, [x]; ld.param.f32 %f2, [y];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r3, %tid.x; mul.wide.u32 %rd4, %r3, 4;
add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4; shl.b32 %r4, %r3, 2;
mov.u32 %r50, NAME_s; add.s32 %r50, %r50, %r4; mov.u64 %rd50, cbuf; add.s64 %rd50, %rd50, %rd4;
add.s64 %rd6, %rd2, 65536;
ld.global.f32 %f10, [%rd1]; ld.global.f32 %f11, [%rd1+4]; ld.global.f32 %f12, [%rd1+8];
ld.global.f32 %f13, [%rd1+12]; ld.global.f32 %f14, [%rd1+16]; ld.global.f32 %f15, [%rd1+20];
"""
EPILOGUE = """st.global.f32 [%rd2+1024], %f10; st.global.f32 [%rd2+1028], %f11;
st.global.f32 [%rd2+1032], %f12; st.global.f32 [%rd2+1036], %f13;
ret;
}
"""

Matcher = Callable[[SassInstruction], bool]


def literal(value: float) -> Matcher:
    """Machine instructions that name this number."""

    def matches(i: SassInstruction) -> bool:
        for o in i.operands:
            try:
                if float(o) == value:
                    return True
            except ValueError:
                continue
        return False

    return matches


def mentions(text: str, opcode: str = "") -> Matcher:
    """Machine instructions of an opcode that have this text in an operand."""
    return lambda i: i.opcode.startswith(opcode) and any(text in o for o in i.operands)


@attrs.frozen
class Mark:
    """An invariant: the register that nvir knows it by, and how the machine code shows it."""

    kind: str
    register: str
    matches: Matcher


@attrs.frozen
class Specimen:
    name: str
    kind: str
    text: str
    marks: tuple[Mark, ...]
    note: str


class Writer:
    """Writes one kernel of random loops."""

    def __init__(self, name: str, seed: int) -> None:
        self.rnd = random.Random(seed)
        self.name = name
        self.marks: list[Mark] = []
        self.once: set[str] = set()

    def invariant(self) -> list[str]:
        """One invariant and the use of its result."""
        rnd, k = self.rnd, len(self.marks)
        kind = rnd.choice(("mul", "mul", "add3", "xor", "ldg", "ldg", "ldnc", "lds", "ldc", "ex2",
                           "sin", "rcp", "imad", "tex", "min", "fma2"))
        if kind in ("ex2", "sin", "rcp", "tex") and kind in self.once:
            kind = "mul"
        self.once.add(kind)
        f, r, value, offset = f"%f{100 + 10 * k}", f"%r{100 + k}", 2 + (k + 1) / 64, 2064 + 16 * k
        bits = f"0f{struct.unpack('>I', struct.pack('>f', value))[0]:08X}"
        word = 4660 + k
        text, marked, how = {
            "mul": (f"mul.rz.f32 {f}, %f14, {bits};", f, literal(value)),
            "min": (f"min.f32 {f}, %f14, {bits};", f, literal(value)),
            "add3": (f"add.rz.f32 {f}, %f14, {bits}; mul.f32 %f{101 + 10 * k}, {f}, %f15; "
                     f"add.f32 {f}, %f{101 + 10 * k}, %f14;", f"%f{101 + 10 * k}", literal(value)),
            "fma2": (f"fma.rp.f32 {f}, %f14, {bits}, %f15; fma.rp.f32 {f}, {f}, {f}, %f2;", f,
                     literal(value)),
            "xor": (f"xor.b32 {r}, %r4, {word}; cvt.rn.f32.s32 {f}, {r};", r, mentions(hex(word))),
            "imad": (f"mad.lo.s32 {r}, %r4, {word}, %r2; cvt.rn.f32.s32 {f}, {r};", r,
                     mentions(hex(word))),
            "ldg": (f"ld.global.f32 {f}, [%rd2+{offset}];", f, mentions(f"+{offset:#x}]", "LDG")),
            "ldnc": (f"ld.global.nc.f32 {f}, [%rd2+{offset}];", f,
                     mentions(f"+{offset:#x}]", "LDG")),
            "lds": (f"ld.shared.f32 {f}, [%r50+{offset}];", f, mentions(f"+{offset:#x}]", "LDS")),
            "ldc": (f"ld.const.f32 {f}, [%rd50+{offset}];", f, mentions(f"[{offset:#x}]", "LDC")),
            "ex2": (f"ex2.approx.ftz.f32 {f}, %f14;", f, mentions("", "MUFU.EX2")),
            "sin": (f"sin.approx.f32 {f}, %f14;", f, mentions("", "MUFU.SIN")),
            "rcp": (f"rcp.approx.ftz.f32 {f}, %f15;", f, mentions("", "MUFU.RCP")),
            "tex": (f"tex.2d.v4.f32.f32 {{{f}, %f{101 + 10 * k}, %f{102 + 10 * k}, "
                    f"%f{103 + 10 * k}}}, [%rd3, {{%f14, %f15}}];", f, mentions("", "TEX")),
        }[kind]
        self.marks.append(Mark(kind, marked, how))
        a = self.rnd.randint(10, 13)
        return [text, f"fma.rn.f32 %f{a}, %f{a}, {f}, %f2;"]

    def noise(self, n: int) -> list[str]:
        return [f"fma.rn.f32 %f1{k % 4}, %f1{k % 4}, %f1, %f2;" for k in range(n)]

    def section(self, size: int, most: int) -> list[str]:
        """Noise with up to `most` invariants strewn in."""
        parts = [[x] for x in self.noise(size)]
        for _ in range(self.rnd.randint(0, most)):
            parts.insert(self.rnd.randint(0, len(parts)), self.invariant())
        return [x for p in parts for x in p]

    def memory(self, level: int) -> list[str]:
        """What else a body does: accesses that vary, barriers, warp-wide operations."""
        p = f"%rd{60 + level}"
        return self.rnd.choice((
            [], [], [], [],
            [f"ld.global.f32 %f50, [{p}]; add.f32 %f10, %f10, %f50; add.s64 {p}, {p}, 128;"],
            [f"ld.global.f32 %f50, [{p}]; add.f32 %f10, %f10, %f50; add.s64 {p}, {p}, 128;"],
            [f"ld.global.nc.f32 %f50, [{p}]; add.f32 %f11, %f11, %f50; add.s64 {p}, {p}, 64;"],
            [f"st.global.f32 [{p}], %f10; add.s64 {p}, {p}, 128;"],
            ["st.shared.f32 [%r50], %f11;"],
            ["st.shared.f32 [%r50], %f11; bar.sync 0; ld.shared.f32 %f51, [%r50+4]; bar.sync 0;"
             "add.f32 %f12, %f12, %f51;"],
            ["shfl.sync.bfly.b32 %f52, %f10, 1, 31, -1; add.f32 %f11, %f11, %f52;"],
            ["red.global.add.f32 [%rd6], %f10;"],
            ["membar.gl;"],
            ["div.rn.f32 %f12, %f12, %f2;"],
        ))

    def size(self) -> int:
        return self.rnd.choice((2, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100, 150, 200, 300))

    def loop(self, label: str, level: int, body: list[str]) -> list[str]:
        i, p, limit = f"%r{10 + level}", f"%p{1 + level}", f"%r{1 + level % 2}"
        test = f"add.s32 {i}, {i}, 1; setp.lt.s32 {p}, {i}, {limit}; @{p} bra {label};"
        return [f"mov.u32 {i}, 0;", f"{label}:", '.pragma "nounroll";', *body, test]

    def branchy(self) -> list[str]:
        then = self.section(self.rnd.choice((3, 12, 25)), 1)
        return [*self.section(self.size() // 2, 2), "setp.gt.f32 %p5, %f10, %f11; @%p5 bra SKIP;",
                *then, "SKIP:", *self.memory(0), *self.section(self.size() // 2, 2)]

    def kernel(self) -> Specimen:
        shape = self.rnd.choice(("single", "single", "single", "branch", "nest", "deep"))
        pointers = ["add.s64 %rd60, %rd1, 4096; add.s64 %rd61, %rd1, 8192;"]
        if shape == "single":
            body = [*self.memory(0), *self.section(self.size(), 4)]
        elif shape == "branch":
            body = self.branchy()
        else:
            inner = self.loop("M", 1, [*self.memory(1), *self.section(self.size(), 3)])
            if shape == "deep":
                around = self.section(self.rnd.choice((0, 2, 5, 20, 60)), 2)
                inner = [*around, *inner, *self.noise(self.rnd.choice((0, 2, 10)))]
                inner = self.loop("N", 2, inner)
            before = self.section(self.rnd.choice((0, 2, 5, 20, 60, 120)), 2)
            body = [*before, *inner, *self.noise(self.rnd.choice((0, 2, 10)))]
        if not self.marks:
            body = [*self.invariant(), *body]
        lines = [PROLOGUE.replace("NAME", self.name), *pointers, *self.loop("L", 0, body), EPILOGUE]
        note = " ".join(m.kind for m in self.marks)
        return Specimen(self.name, shape, "\n".join(lines), tuple(self.marks), note)


@attrs.frozen
class Judged:
    """One invariant: in how many loops it lies for ptxas (None: unclear) and for nvir."""

    name: str
    shape: str
    kind: str
    ptxas: int | None
    nvir: int
    written: int


def depths(code: Sequence[SassInstruction]) -> list[int]:
    loops = sass_loops(code)
    return [sum(k in x for x in loops) for k in range(len(code))]


def observed_depth(code: Sequence[SassInstruction], deep: list[int], mark: Mark) -> int | None:
    found = {d for i, d in zip(code, deep, strict=True) if mark.matches(i)}
    return found.pop() if len(found) == 1 else None


def judge_generated(count: int, seed: int, arch: str) -> list[Judged]:
    """One entry a mark."""
    out: list[Judged] = []
    specimens = [Writer(f"k{n}", seed * 1_000_000 + n).kernel() for n in range(count)]
    for k in range(0, count, CHUNK):
        part = specimens[k : k + CHUNK]
        text = HEADER.format(arch=arch) + "\n".join(s.text for s in part)
        made = toolchain.ptxas(text, arch)
        if not made.ok or made.cubin is None:
            raise RuntimeError(made.error)
        code = toolchain.disassemble(made.cubin, live=False)
        module = nvir.read_ptx(text)
        before = {s.name: _written(module, s) for s in part}
        nvir.run_passes(module, PIPELINE)
        for s in part:
            after, deep = _written(module, s), depths(code[s.name])
            out += [
                Judged(s.name, s.kind, m.kind, observed_depth(code[s.name], deep, m),
                       after.get(m.register, 0), before[s.name].get(m.register, 0))
                for m in s.marks
            ]
    return out


def _written(module: nvir.Module, s: Specimen) -> dict[str, int]:
    """The loop depth of each marked register's first definition."""
    function = next(f for f in module.functions if f.name == s.name)
    function.analyze_cfg()
    wanted = {m.register for m in s.marks}
    out: dict[str, int] = {}
    for b in function.rpo:
        for i in b:
            for r in i.results:
                if r.name in wanted:
                    out.setdefault(str(r.name), b.loop_depth)
    return out


# ---------------------------------------------------------- loops of compilers

# Machine instructions that an operation becomes, where it is one or the same at both halves.
_INTEGER = ("IADD3", "IADD", "VIADD", "IMAD")
_MINIMUM = ("IMNMX", "VIMNMX", "FMNMX")
_LOGIC, _SPECIAL = ("LOP3",), ("MUFU",)
MACHINE = {
    "ld.global": ("LDG",), "ld.shared": ("LDS",), "ld.const": ("LDC",), "ld": ("LD",),
    "ex2": _SPECIAL, "lg2": _SPECIAL, "rcp": _SPECIAL, "rsqrt": _SPECIAL, "sqrt": _SPECIAL,
    "sin": _SPECIAL, "cos": _SPECIAL, "tex": ("TEX",), "popc": ("POPC",),
    "cvt": ("I2F", "I2FP", "F2I", "F2F", "F2FP"), "fma": ("FFMA", "DFMA", "HFMA2"),
    "add": (*_INTEGER, "FADD", "DADD", "HADD2"), "sub": (*_INTEGER, "FADD", "DADD", "HADD2"),
    "mul": ("IMAD", "SHF", "FMUL", "DMUL", "HMUL2"), "mad": ("IMAD",), "shl": ("SHF", "IMAD"),
    "shr": ("SHF",), "and": _LOGIC, "or": _LOGIC, "xor": _LOGIC, "not": _LOGIC,
    "setp": ("ISETP", "FSETP", "DSETP"), "selp": ("SEL", "FSEL"), "min": _MINIMUM,
    "max": _MINIMUM, "mov": ("S2R", "S2UR"), "prmt": ("PRMT",), "bfe": ("SHF", "SGXT"),
}


def judge_compiled(path: Path, arch: str, sink: int | None = None) -> list[Judged]:
    """The instructions of one file's loops whose operands are invariant and that may move.

    `sink`: the seed by which invariants are put back first.
    """
    text = path.read_text(errors="replace")
    if sink is not None:
        text = licm_sink.sunk(text, f"{sink} {path.name}")
        text = re.sub(r"(?m)^(\s*\.target\s+)sm_\d+[a-z]?", rf"\g<1>{arch}", text, count=1)
    module = nvir.read_ptx(text)
    nvir.run_passes(module, "copy-prop,dce")
    candidates = {f.name: _candidates(f) for f in module.functions if f.kind == "entry"}
    if not any(candidates.values()):
        return []
    made = toolchain.ptxas(text, arch, options=("-lineinfo",))
    if not made.ok or made.cubin is None:
        return []
    nvir.run_passes(module, "licm<id=0>,licm<id=1>")
    code = toolchain.disassemble(made.cubin, live=False, lines="ptx")
    out: list[Judged] = []
    for f in module.functions:
        lines = candidates.get(f.name)
        if not lines:
            continue
        f.analyze_cfg()
        sass = code.get(str(f.name), [])
        seen: dict[int, list[tuple[SassInstruction, int]]] = {}
        for s, d in zip(sass, depths(sass), strict=True):
            if s.line:
                seen.setdefault(s.line[1], []).append((s, d))
        for b in f.rpo:
            for i in b:
                if i.line in lines:
                    written = lines.pop(i.line)
                    depth = _depth(i, seen.get(i.line, ()))
                    name = f"{path.name}:{f.name}:{i.line}"
                    out.append(Judged(name, "compiled", i.form.name,
                                      None if depth is None or depth > written else depth,
                                      b.loop_depth, written))
    return out


def _candidates(f: Function) -> dict[int, int]:
    """Lines of the invariants that can be found again, and their depth."""
    if not f.blocks or not f.back_edges:
        return {}
    nest = Nest(f)
    found = (i for x in nest.loops for i in survey(x, nest).invariant)
    return {i.line: i.block.loop_depth for i in found if i.line and i.block and _machine(i)}


def _depth(i: Instruction, seen: Sequence[tuple[SassInstruction, int]]) -> int | None:
    """Where an invariant lies in the machine code, if that is clear."""
    found = {d for _, d in seen}
    own = any(_name(s) in _machine(i) and not _fused(s) for s, _ in seen)
    return found.pop() if own and len(found) == 1 else None


def _machine(i: Instruction) -> tuple[str, ...]:
    f = i.form
    if f.name == "mov" and not isinstance(i.operands[0], SpecialRegister):
        return ()
    return MACHINE.get(f"{f.name}.{f.space}" if f.space else f.name, ())


def _name(s: SassInstruction) -> str:
    """The opcode, that of the uniform pipe too."""
    return s.name.removeprefix("U")


def _fused(s: SassInstruction) -> bool:
    """Whether an instruction of three inputs uses them all: it may be two operations in one."""
    if s.opcode.removeprefix("U").startswith(("IMAD.IADD", "IMAD.SHL")):
        return False
    if _name(s) not in ("IADD3", "LOP3", "IMAD"):
        return False
    return not any(o.lstrip("-~").startswith(("RZ", "URZ")) for o in s.operands[1:])


# ------------------------------------------------------------------------ tables


def table(judged: Iterable[Judged], misses: bool = False, by: str = "shape") -> str:
    rows: dict[str, list[Judged]] = {}
    every = list(judged)
    for j in every:
        rows.setdefault(getattr(j, by), []).append(j)
    head = ("marks", 7), ("unclear", 9), ("agree", 7), ("percent", 9), ("hoisted by ptxas", 18)
    out = [f"  {by:<14}" + "".join(f"{title:>{width}}" for title, width in head)]
    for name, js in [*sorted(rows.items()), ("all", every)]:
        clear = [j for j in js if j.ptxas is not None]
        agree = sum(j.ptxas == j.nvir for j in clear)
        share = f"{100 * agree / len(clear):.1f}" if clear else "–"
        moved = sum(j.ptxas is not None and j.ptxas < j.written for j in clear)
        unclear = len(js) - len(clear)
        out.append(f"  {name:<14}{len(clear):>7}{unclear:>9}{agree:>7}{share:>9}{moved:>18}")
    if misses:
        out += [
            f"  {j.name} {j.shape} {j.kind}: depth {j.written}, ptxas {j.ptxas}, nvir {j.nvir}"
            for j in every if j.ptxas is not None and j.ptxas != j.nvir
        ]
    return "\n".join(out)


def main(argv: Sequence[str] | None = None) -> int:
    parser = agreement.parser(__doc__, count=400, missed="marks")
    parser.add_argument("--sink", action="store_true", help="put invariants back into the files")
    args = parser.parse_args(argv)
    seed = args.seed if args.sink else None
    return agreement.compare(
        args,
        judge_generated,
        functools.partial(judge_compiled, sink=seed),
        lambda judged: [table(judged, args.misses), table(judged, by="kind")],
    )


if __name__ == "__main__":
    sys.exit(main())
