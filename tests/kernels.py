"""Random kernels: PTX that assembles, ends, and stays in bounds, whatever its inputs are.

    text = random_kernel(seed)          # PTX with one kernel "k"
    text = random_kernel(seed, size=60) # about so many statements
    @given(kernels()) ...               # the same as a hypothesis strategy

What they are made of: assignments to registers of all integer and float types (each register is
written many times, so that SSA needs phis), nested loops with counts that are known, uniform or
different in each thread, with breaks and continues, branches on data, switches, guarded operations,
loads and stores of global, shared, local and const memory, barriers and shuffles where all threads
pass, integer atomics, early returns, and calls.

Parameters of "k": (in: pointer, out: pointer, n: u32 below 24, x: f32). Thread t of the grid stores
only to its own words of `out`, but for atomics to the last 64. Buffers hold `BUFFER_BYTES` of
equivalence.py, enough for 256 threads. A seed always gives the same text.
"""

from __future__ import annotations

import random
import re
from typing import Any

from hypothesis import strategies as st

OWN_WORDS = 12  # words of `out` that belong to one thread
IN_WORDS = 1024
TAIL_WORD = 4000  # where the words for atomics begin
SHARED_WORDS = 256
LOCAL_WORDS = 16

# register class, count, declaration, and the types that operations see it as
_POOLS: dict[str, tuple[str, int]] = {
    "r": ("b32", 8), "d": ("b64", 4), "h": ("b16", 3), "f": ("f32", 5), "e": ("f64", 3),
    "g": ("b16", 2), "p": ("pred", 4),
}
_INT = {"r": ("u32", "s32"), "d": ("u64", "s64"), "h": ("u16", "s16")}
_FLOAT = {"f": "f32", "e": "f64", "g": "f16"}
_BITS = {"r": 32, "d": 64, "h": 16, "f": 32, "e": 64, "g": 16}

_REGISTER = re.compile(r"%[rdhfegp]\d+\b")
# what the registers of a pool hold at first
_INITIAL = {
    "d": "mul.wide.s32 {to}, {of}, {c};",
    "h": "cvt.u16.u32 {to}, {of};",
    "f": "cvt.rn.f32.s32 {to}, {of};",
    "e": "cvt.rn.f64.s32 {to}, {of};",
    "g": "cvt.rn.f16.s32 {to}, {of};",
    "p": "setp.gt.s32 {to}, {of}, {t};",
}
_RESULTS = (
    *((f"st.global.b32 [%own+{4 * k}]", f"%r{k}") for k in range(4)),
    ("st.global.b64 [%own+16]", "%d0"),
    ("st.global.f32 [%own+24]", "%f0"), ("st.global.f32 [%own+28]", "%f1"),
    ("st.global.f64 [%own+32]", "%e0"),
    ("st.global.b16 [%own+40]", "%h0"), ("st.global.b16 [%own+42]", "%g0"),
)

HEADER = """\
.version 8.0
.target sm_80
.address_size 64

.const .align 4 .b32 table[16] = {1, 2, 3, 5, 8, 13, 21, 34, -1, -2, 0x80000000, 7, 0, 1, 65535, 9};

"""

FUNCTIONS = """\
.func (.param .b32 result) mix(.param .b32 a, .param .b32 b)
{
	.reg .b32 %r<8>;
	.reg .pred %p<2>;
	ld.param.b32 %r1, [a];
	ld.param.b32 %r2, [b];
	and.b32 %r3, %r2, 7;
LOOP:
	mad.lo.s32 %r1, %r1, 1103515245, %r2;
	shr.u32 %r4, %r1, 7;
	xor.b32 %r1, %r1, %r4;
	setp.eq.s32 %p1, %r3, 0;
	@%p1 bra DONE;
	add.s32 %r3, %r3, -1;
	bra LOOP;
DONE:
	st.param.b32 [result], %r1;
	ret;
}

.func (.param .b32 result) fact(.param .b32 a)
{
	.reg .b32 %r<8>;
	.reg .pred %p<2>;
	ld.param.b32 %r1, [a];
	and.b32 %r1, %r1, 7;
	setp.gt.u32 %p1, %r1, 1;
	mov.b32 %r3, 1;
	@!%p1 bra DONE;
	add.s32 %r2, %r1, -1;
	{
	.param .b32 a0;
	.param .b32 r0;
	st.param.b32 [a0], %r2;
	call.uni (r0), fact, (a0);
	ld.param.b32 %r4, [r0];
	}
	mul.lo.s32 %r3, %r1, %r4;
DONE:
	st.param.b32 [result], %r3;
	ret;
}

"""

PROLOGUE = """\
	ld.param.u64 %in, [k_param_0];
	ld.param.u64 %out, [k_param_1];
	ld.param.u32 %n, [k_param_2];
	ld.param.f32 %x, [k_param_3];
	cvta.to.global.u64 %in, %in;
	cvta.to.global.u64 %out, %out;
	mov.u32 %t0, %ctaid.x;
	mov.u32 %t1, %ntid.x;
	mov.u32 %me, %tid.x;
	mad.lo.s32 %gid, %t0, %t1, %me;
	mul.wide.u32 %a0, %gid, 48;
	add.s64 %own, %out, %a0;
"""


def random_kernel(seed: int, size: int = 40) -> str:
    """The PTX text of a kernel "k" of about `size` statements."""
    return _Kernel(random.Random(seed), size).text()


def kernels(size: int = 40) -> Any:
    """A hypothesis strategy of kernel texts."""
    return st.integers(0, 1 << 32).map(lambda seed: random_kernel(seed, size))


class _Kernel:
    """Writes one kernel. `uniform` says that all threads of the CTA are at this place together."""

    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng, self.left = rng, size
        self.out: list[str] = []
        self.labels = self.counters = self.params = 0
        self.uniform = True
        self.uses: set[str] = set()
        self.loops: list[tuple[str, str, bool]] = []  # (continue, break, uniform)

    def text(self) -> str:
        self.statements(0)
        self.results()
        code, self.out = self.out, []
        self.initialise(set(_REGISTER.findall("\n".join(code))))
        body = "\n".join((*self.out, *code))
        declared = [f"\t.reg .{t} %{c}<{n}>;" for c, (t, n) in _POOLS.items()]
        declared.append(f"\t.reg .b32 %n, %me, %gid, %t<4>, %c<{self.counters + 1}>;")
        declared.append("\t.reg .b64 %in, %out, %own, %a<3>;")
        declared.append("\t.reg .f32 %x;\n\t.reg .pred %q<3>;")
        if "shared" in self.uses:
            declared.append(f"\t.shared .align 8 .b8 arena[{4 * SHARED_WORDS}];")
        if "local" in self.uses:
            declared.append(f"\t.local .align 8 .b8 depot[{4 * LOCAL_WORDS}];")
        head = (
            ".visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u64 k_param_1,\n"
            "\t.param .u32 k_param_2,\n\t.param .f32 k_param_3\n)\n{\n"
        )
        functions = FUNCTIONS if "call" in self.uses else ""
        return f"{HEADER}{functions}{head}{chr(10).join(declared)}\n{PROLOGUE}{body}\n\tret;\n}}\n"

    # --------------------------------------------------------------- pieces

    def put(self, line: str) -> None:
        self.out.append("\t" + line)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def reg(self, pool: str) -> str:
        return f"%{pool}{self.rng.randrange(_POOLS[pool][1])}"

    def source(self, pool: str) -> str:
        """A register or a literal of the pool's width."""
        r = self.rng
        if r.random() < 0.8:
            if pool == "r" and r.random() < 0.2:
                return r.choice(("%n", "%me", "%gid"))
            return self.reg(pool)
        if pool == "f":
            return r.choice(("0f3F800000", "0f40490FDB", "0fBF000000", "0f00000000", "%x"))
        if pool == "e":
            return r.choice(("0d3FF0000000000000", "0dC008000000000000"))
        if pool == "g":
            return self.reg(pool)
        return str(r.choice((0, 1, 2, 7, 31, -1, r.randrange(-100, 100))))

    def amount(self) -> str:
        """A register, or a literal that a bit position may be."""
        return self.reg("r") if self.rng.random() < 0.5 else str(self.rng.randrange(40))

    def shift(self) -> str:
        """A shift amount: small, at the ends of widths and beyond, or known at run time."""
        if self.rng.random() < 0.4:
            return self.source("r")
        return str(self.rng.choice((0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255)))

    def initialise(self, named: set[str]) -> None:
        """Each register that is named gets a value that depends on the thread or the input."""
        words = [f"%r{k}" for k in range(_POOLS["r"][1]) if f"%r{k}" in named]
        for r in words:
            k = int(r[2:])
            self.put(f"mad.lo.s32 {r}, %gid, {2 * k + 1}, {k * 17};")
        if words:
            self.load_input("r", self.rng.choice(words), self.rng.choice(words))
        for pool, text in _INITIAL.items():
            for k in range(_POOLS[pool][1]):
                if f"%{pool}{k}" in named:
                    of = words[k % len(words)] if words else "%gid"
                    self.put(text.format(to=f"%{pool}{k}", of=of, c=1000 * k - 1500, t=40 * k))

    def results(self) -> None:
        """Everything that the code names ends in the thread's own words."""
        named = set(_REGISTER.findall("\n".join(self.out)))
        for store, register in _RESULTS:
            if register in named:
                self.put(f"{store}, {register};")

    def statements(self, depth: int) -> None:
        """A run of statements."""
        count = self.rng.randint(3, 8) if depth else 1 << 30
        while count > 0 and self.left > 0:
            count -= 1
            self.left -= 1
            self.statement(depth)

    def statement(self, depth: int) -> None:
        kinds: list[tuple[Any, int]] = [
            (self.integer, 10), (self.floating, 8), (self.compare, 4), (self.convert, 3),
            (self.memory, 6), (self.local, 2), (self.atomic, 1), (self.call, 1),
            (self.select, 3), (self.const, 1),
        ]
        if depth < 3 and self.left > 3:
            kinds += [(lambda: self.branch(depth), 4), (lambda: self.loop(depth), 4)]
            kinds += [(lambda: self.switch(depth), 1)]
        if self.loops:
            kinds.append((self.leave_loop, 2))
        if self.uniform:
            kinds += [(self.exchange, 2), (self.shuffle, 1)]
        if depth == 0 and self.rng.random() < 0.1:
            kinds.append((self.early_return, 1))
        chosen, weights = zip(*kinds, strict=True)
        self.rng.choices(chosen, weights)[0]()

    def guarded(self, text: str) -> None:
        """A pure operation, sometimes under a guard."""
        if self.rng.random() < 0.12:
            text = f"@{self.rng.choice(('', '!'))}{self.reg('p')} {text}"
        self.put(text)

    # ----------------------------------------------------------- arithmetic

    def integer(self) -> None:
        r = self.rng
        pool = r.choice("rrrdh")
        t = r.choice(_INT[pool])
        bits = _BITS[pool]
        d, a, b, c = self.reg(pool), self.reg(pool), self.source(pool), self.reg(pool)
        u32, shift = self.source("r"), self.shift()
        field = (self.amount(), self.amount())
        forms = [
            f"add.{t} {d}, {a}, {b};", f"sub.{t} {d}, {a}, {b};", f"mul.lo.{t} {d}, {a}, {b};",
            f"mad.lo.{t} {d}, {a}, {b}, {c};", f"min.{t} {d}, {a}, {b};",
            f"max.{t} {d}, {a}, {b};", f"and.b{bits} {d}, {a}, {b};", f"or.b{bits} {d}, {a}, {b};",
            f"xor.b{bits} {d}, {a}, {b};", f"not.b{bits} {d}, {a};",
            f"shl.b{bits} {d}, {a}, {shift};", f"shr.{t} {d}, {a}, {shift};",
            f"mul.hi.{t} {d}, {a}, {b};", f"div.{t} {d}, {a}, {b if b != '0' else '3'};",
            f"rem.{t} {d}, {a}, {b if b != '0' else '3'};",
        ]
        if t[0] == "s":
            forms += [f"neg.{t} {d}, {a};", f"abs.{t} {d}, {a};"]
        if bits >= 32:
            forms += [
                f"brev.b{bits} {d}, {a};", f"bfe.{t} {d}, {a}, {field[0]}, {field[1]};",
                f"bfi.b{bits} {d}, {a}, {c}, {field[0]}, {field[1]};",
                f"popc.b{bits} {self.reg('r')}, {a};", f"clz.b{bits} {self.reg('r')}, {a};",
            ]
        if pool == "r":
            forms += [
                f"mul.wide.{t} {self.reg('d')}, {a}, {b};",
                f"mad.wide.{t} {self.reg('d')}, {a}, {b}, {self.reg('d')};",
                f"lop3.b32 {d}, {a}, {c}, {self.reg('r')}, {r.randrange(256)};",
                f"prmt.b32 {d}, {a}, {c}, {r.randrange(65536)};",
                f"shf.l.wrap.b32 {d}, {a}, {c}, {u32};", f"add.sat.s32 {d}, {a}, {c};",
                f"sad.{t} {d}, {a}, {c}, {self.reg('r')};",
            ]
            if r.random() < 0.1:
                self.put(f"add.cc.u32 {d}, {a}, {c};")
                self.put(f"addc.u32 {self.reg('r')}, {a}, {c};")
                return
        self.guarded(r.choice(forms))

    def floating(self) -> None:
        r = self.rng
        pool = r.choice("fffeg")
        t = _FLOAT[pool]
        d, a, b, c = self.reg(pool), self.reg(pool), self.source(pool), self.reg(pool)
        rnd = "rn" if pool == "g" else r.choice(("rn", "rn", "rn", "rz", "rm", "rp"))
        ftz = ".ftz" if pool == "f" and r.random() < 0.2 else ""
        forms = [
            f"add.{rnd}{ftz}.{t} {d}, {a}, {b};", f"sub.{rnd}{ftz}.{t} {d}, {a}, {b};",
            f"mul.{rnd}{ftz}.{t} {d}, {a}, {b};", f"fma.{rnd}{ftz}.{t} {d}, {a}, {b}, {c};",
            f"min{ftz}.{t} {d}, {a}, {b};", f"max{ftz}.{t} {d}, {a}, {b};",
            f"neg.{t} {d}, {a};", f"abs.{t} {d}, {a};",
        ]
        if pool != "g":
            forms += [f"div.{rnd}.{t} {d}, {a}, {b};", f"sqrt.{rnd}.{t} {d}, {a};"]
        self.guarded(r.choice(forms))

    def compare(self) -> None:
        r = self.rng
        pool = r.choice("rrdhfe")
        t = r.choice(_INT[pool]) if pool in _INT else _FLOAT[pool]
        more = ("equ", "ltu", "num", "nan") if pool in _FLOAT else ()
        cmp = r.choice(("eq", "ne", "lt", "le", "gt", "ge", *more))
        a, b = self.reg(pool), self.source(pool)
        if r.random() < 0.3:
            op = r.choice(("and", "or", "xor"))
            self.put(f"setp.{cmp}.{op}.{t} {self.reg('p')}, {a}, {b}, {self.reg('p')};")
        elif r.random() < 0.3:
            op = r.choice(("and", "or", "xor"))
            self.put(f"{op}.pred {self.reg('p')}, {self.reg('p')}, {self.reg('p')};")
        else:
            self.put(f"setp.{cmp}.{t} {self.reg('p')}, {a}, {b};")

    def select(self) -> None:
        pool = self.rng.choice("rdfeh")
        t = _FLOAT.get(pool) or f"b{_BITS[pool]}"
        self.guarded(
            f"selp.{t} {self.reg(pool)}, {self.source(pool)}, {self.source(pool)}, {self.reg('p')};"
        )

    def convert(self) -> None:
        r = self.rng
        to, of = r.choice("rdhfeg"), r.choice("rdhfeg")
        tt = r.choice(_INT[to]) if to in _INT else _FLOAT[to]
        ft = r.choice(_INT[of]) if of in _INT else _FLOAT[of]
        mods = ""
        if to in _FLOAT and of in _INT:
            mods = ".rn"
        elif to in _INT and of in _FLOAT:
            mods = "." + r.choice(("rni", "rzi", "rmi", "rpi"))
        elif to in _FLOAT and of in _FLOAT and _BITS[to] < _BITS[of]:
            mods = ".rn"
        if to == of and to in _FLOAT:
            self.put(f"mov.{'b16' if to == 'g' else tt} {self.reg(to)}, {self.reg(of)};")
            return
        self.guarded(f"cvt{mods}.{tt}.{ft} {self.reg(to)}, {self.reg(of)};")

    # --------------------------------------------------------------- memory

    def load_input(self, pool: str, to: str = "", of: str = "") -> None:
        """A load of `in` at a word that a register chooses."""
        self.put(f"and.b32 %t0, {of or self.reg('r')}, {IN_WORDS - 1};")
        self.put("mad.wide.u32 %a0, %t0, 4, %in;")
        self.put(f"ld.global.{'f32' if pool == 'f' else 'u32'} {to or self.reg(pool)}, [%a0];")

    def memory(self) -> None:
        r = self.rng
        kind = r.randrange(6)
        if kind == 0:
            self.load_input(r.choice("rf"))
        elif kind == 1:
            self.put(f"st.global.b32 [%own+{4 * r.randrange(8)}], {self.reg('r')};")
        elif kind == 2:
            self.put(f"ld.global.b32 {self.reg('r')}, [%own+{4 * r.randrange(OWN_WORDS)}];")
        elif kind == 3:
            self.put(f"and.b32 %t0, {self.reg('r')}, {IN_WORDS - 2};")
            self.put("mad.wide.u32 %a0, %t0, 4, %in;")
            a, b = r.sample(range(_POOLS["r"][1]), 2)
            self.put(f"ld.global.nc.v2.u32 {{%r{a}, %r{b}}}, [%a0];")
        elif kind == 4:
            type = r.choice(("u8", "s8", "u16", "s16"))
            step = 1 if type.endswith("8") else 2
            self.put(f"and.b32 %t0, {self.reg('r')}, {4 * IN_WORDS // step - 1};")
            self.put(f"mad.wide.u32 %a0, %t0, {step}, %in;")
            self.put(f"ld.global.{type} {self.reg('r')}, [%a0];")
        else:
            guard = f"@{self.reg('p')} "
            self.put(f"{guard}st.global.f32 [%own+{24 + 4 * r.randrange(2)}], {self.reg('f')};")

    def local(self) -> None:
        """An array of the thread, at an index that data chooses."""
        self.uses.add("local")
        self.put(f"and.b32 %t0, {self.reg('r')}, {LOCAL_WORDS - 1};")
        self.put("mul.wide.u32 %a0, %t0, 4;")
        self.put("mov.u64 %a1, depot;")
        self.put("add.s64 %a1, %a1, %a0;")
        if self.rng.random() < 0.6:
            self.put(f"st.local.b32 [%a1], {self.reg('r')};")
        else:
            self.put(f"ld.local.b32 {self.reg('r')}, [%a1];")

    def const(self) -> None:
        self.put(f"and.b32 %t0, {self.reg('r')}, 15;")
        self.put("mul.wide.u32 %a0, %t0, 4;")
        self.put("mov.u64 %a1, table;")
        self.put("add.s64 %a1, %a1, %a0;")
        self.put(f"ld.const.u32 {self.reg('r')}, [%a1];")

    def atomic(self) -> None:
        """A commutative one, so that the order of threads does not show."""
        self.put(f"and.b32 %t0, {self.reg('r')}, 63;")
        self.put(f"add.s32 %t0, %t0, {TAIL_WORD};")
        self.put("mad.wide.u32 %a0, %t0, 4, %out;")
        op = self.rng.choice(("add.u32", "min.s32", "max.u32", "xor.b32", "and.b32", "or.b32"))
        # One operation a kernel and word range: mixed ones do not commute.
        op = getattr(self, "atomic_op", op)
        self.atomic_op = op
        self.put(f"red.global.{op} [%a0], {self.reg('r')};")

    def exchange(self) -> None:
        """Through shared memory between two barriers."""
        self.uses.add("shared")
        r = self.rng
        self.put("bar.sync 0;")
        self.put(f"and.b32 %t0, %me, {SHARED_WORDS - 1};")
        self.put("shl.b32 %t0, %t0, 2;")
        self.put("mov.u32 %t1, arena;")
        self.put("add.s32 %t1, %t1, %t0;")
        pool = r.choice("rf")
        self.put(f"st.shared.b32 [%t1], {self.reg(pool)};")
        self.put("bar.sync 0;")
        self.put("mov.u32 %t2, %ntid.x;")
        self.put(f"add.s32 %t0, %me, {r.randrange(1, 64)};")
        self.put("rem.u32 %t0, %t0, %t2;")
        self.put("shl.b32 %t0, %t0, 2;")
        self.put("mov.u32 %t1, arena;")
        self.put("add.s32 %t1, %t1, %t0;")
        self.put(f"ld.shared.b32 {self.reg(pool)}, [%t1];")

    def shuffle(self) -> None:
        r = self.rng
        mode = r.choice(("down", "up", "bfly", "idx"))
        clamp = 0 if mode == "up" else 31
        self.put(
            f"shfl.sync.{mode}.b32 {self.reg('r')}|{self.reg('p')}, {self.reg('r')}, "
            f"{r.randrange(32)}, {clamp}, -1;"
        )

    def call(self) -> None:
        self.uses.add("call")
        k = self.params
        self.params += 1
        if self.rng.random() < 0.6:
            self.put("{")
            self.put(f".param .b32 pa{k};\n\t.param .b32 pb{k};\n\t.param .b32 pr{k};")
            self.put(f"st.param.b32 [pa{k}], {self.reg('r')};")
            self.put(f"st.param.b32 [pb{k}], {self.reg('r')};")
            self.put(f"call (pr{k}), mix, (pa{k}, pb{k});")
        else:
            self.put("{")
            self.put(f".param .b32 pa{k};\n\t.param .b32 pr{k};")
            self.put(f"st.param.b32 [pa{k}], {self.reg('r')};")
            self.put(f"call (pr{k}), fact, (pa{k});")
        self.put(f"ld.param.b32 {self.reg('r')}, [pr{k}];")
        self.put("}")

    # -------------------------------------------------------------- control

    def inside(self, uniform: bool, body: Any) -> None:
        """Write a body that is reached by all threads or only by some."""
        before = self.uniform
        self.uniform = before and uniform
        body()
        self.uniform = before

    def branch(self, depth: int) -> None:
        r = self.rng
        uniform = r.random() < 0.25
        other, end = self.label(), self.label()
        if uniform:
            self.put(f"setp.gt.u32 %q0, %n, {r.randrange(24)};")
        p = "%q0" if uniform else self.reg("p")
        two = r.random() < 0.6
        self.put(f"@{r.choice(('', '!'))}{p} bra {other if two else end};")
        self.inside(uniform, lambda: self.statements(depth + 1))
        if two:
            self.put(f"bra{r.choice(('', '.uni'))} {end};")
            self.out.append(f"{other}:")
            self.inside(uniform, lambda: self.statements(depth + 1))
        self.out.append(f"{end}:")

    def loop(self, depth: int) -> None:
        r = self.rng
        self.counters += 1
        c = f"%c{self.counters}"
        head, tail, end = self.label(), self.label(), self.label()
        kind = r.choice(("known", "uniform", "thread"))
        if kind == "known":
            self.put(f"mov.u32 {c}, {r.randrange(1, 7)};")
        elif kind == "uniform":
            self.put(f"and.b32 {c}, %n, {r.choice((3, 7))};")
        else:
            self.put(f"and.b32 {c}, {self.reg('r')}, 7;")
        uniform = kind != "thread"
        if r.random() < 0.5:  # a guard before the loop, as compilers rotate it
            self.put(f"setp.eq.s32 %q1, {c}, 0;")
            self.put(f"@%q1 bra {end};")
        else:
            self.put(f"add.s32 {c}, {c}, 1;")
        breaks = r.random() < 0.4
        self.out.append(f"{head}:")
        self.loops.append((tail, end, uniform and not breaks))
        keep = self.loops
        if not breaks:
            self.loops = []
        self.inside(uniform and not breaks, lambda: self.statements(depth + 1))
        self.loops = keep
        self.loops.pop()
        self.out.append(f"{tail}:")
        self.put(f"add.s32 {c}, {c}, -1;")
        self.put(f"setp.gt.s32 %q1, {c}, 0;")
        self.put(f"@%q1 bra {head};")
        self.out.append(f"{end}:")

    def leave_loop(self) -> None:
        """A break or a continue, of the innermost loop or an outer one."""
        tail, end, _ = self.rng.choice(self.loops)
        inner_tail = self.loops[-1][0]
        target = self.rng.choice((end, inner_tail, tail))
        self.put(f"@{self.rng.choice(('', '!'))}{self.reg('p')} bra {target};")

    def switch(self, depth: int) -> None:
        cases = [self.label() for _ in range(self.rng.randint(2, 4))]
        end, table = self.label(), f"T{self.labels}"
        self.put(f"and.b32 %t0, {self.reg('r')}, 3;")
        self.put(f"min.u32 %t0, %t0, {len(cases) - 1};")
        self.out.append(f"{table}: .branchtargets {', '.join(cases)};")
        self.put(f"brx.idx %t0, {table};")
        for label in cases:
            self.out.append(f"{label}:")
            self.inside(False, lambda: self.statements(depth + 2))
            if self.rng.random() < 0.8:
                self.put(f"bra {end};")
        self.out.append(f"{end}:")

    def early_return(self) -> None:
        self.put(f"@{self.reg('p')} ret;")
        self.uniform = False
