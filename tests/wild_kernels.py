"""Random kernels that aim at what passes and printers find hard.

    text = wild_kernel(seed, size)      # PTX with one kernel "k", as of kernels.py

To what kernels.py makes are added: copies, swaps and rotations of registers (phis that trade
places), words of memory that are written and read at several widths under several names (the global
pointer, a moved base, a generic address; local memory as well), atomics on a thread's own words,
packing and unpacking, several results of which some are not wanted, longer carry chains, switches
with a case named twice, and, in every third kernel, jumps to any label at all, into loops and out
of them, as long as a thread's fuel lasts: irreducible regions, critical edges, branches to the next
line. Such a kernel has no barriers and no shuffles, for its threads meet nowhere.
"""

from __future__ import annotations

import random

from tests.kernels import _BITS, _POOLS, _Kernel

FUEL = 24


def wild_kernel(seed: int, size: int = 40) -> str:
    """The PTX text of a kernel "k" of about `size` statements."""
    return _Wild(random.Random(f"wild {seed}"), size).text()


class _Wild(_Kernel):
    def __init__(self, rng: random.Random, size: int) -> None:
        super().__init__(rng, size)
        self.jumps = rng.random() < 0.33
        self.targets: list[str] = []
        self.places: list[tuple[int, int, int]] = []  # (name, width, offset) of words used often
        if self.jumps:
            self.uniform = False

    def text(self) -> str:
        text = super().text()
        extra = ["\t.reg .b64 %own2, %gen, %dep;", "\t.reg .b32 %fuel;", "\t.reg .b16 %hh;"]
        at_head = text.index("\tld.param.u64 %in")
        setup = [f"\tmov.u32 %fuel, {FUEL};"]
        setup += [f"\tmov.u32 %c{k}, 0;" for k in range(1, self.counters + 1) if self.jumps]
        after = text.index("\tadd.s64 %own, %out, %a0;\n") + len("\tadd.s64 %own, %out, %a0;\n")
        moved = ["\tadd.s64 %own2, %own, 24;", "\tcvta.global.u64 %gen, %own;"]
        if "local" in self.uses:
            moved += ["\tmov.u64 %dep, depot;", "\tcvta.local.u64 %dep, %dep;"]
            moved += [f"\tst.local.b64 [depot+{8 * k}], {k};" for k in range(8)]
        return "\n".join((
            text[:at_head] + "\n".join((*extra, *setup)), text[at_head:after] + "\n".join(moved),
            text[after:],
        ))

    def statement(self, depth: int) -> None:
        r = self.rng
        if self.jumps and r.random() < 0.15:
            self.jump()
        if r.random() < 0.5:
            kind = r.choices(
                (self.copies, self.own_word, self.depot_word, self.own_atomic, self.pack,
                 self.several, self.carry, self.twice, self.sometimes),
                (6, 6, 4, 1, 2, 2, 1, 1, 2),
            )[0]
            kind()
        else:
            super().statement(depth)

    def jump(self) -> None:
        """A label, or a jump to one that is or will be there, or both."""
        if self.rng.random() < 0.6:
            self.targets.append(self.label())
            self.out.append(f"{self.targets[-1]}:")
        if self.targets and self.rng.random() < 0.7:
            self.put("add.s32 %fuel, %fuel, -1;")
            self.put(f"setp.gt.and.s32 %q2, %fuel, 0, {self.reg('p')};")
            self.put(f"@%q2 bra {self.rng.choice(self.targets)};")

    def results(self) -> None:
        super().results()
        if self.rng.random() < 0.3:
            self.put("st.global.b64 [%own2], %d1;")

    # ------------------------------------------------------------- registers

    def copies(self) -> None:
        """Copies, a swap, or a rotation, some of them guarded."""
        r = self.rng
        pool = r.choice("rrrdfehp")
        t = "pred" if pool == "p" else f"b{_BITS[pool]}" if pool not in "fe" else \
            {"f": "f32", "e": "f64"}[pool]
        names = [f"%{pool}{k}" for k in r.sample(range(_POOLS[pool][1]), 3)]
        kind = r.randrange(4)
        if kind == 0:
            self.guarded(f"mov.{t} {names[0]}, {names[1]};")
        elif kind == 1:
            self.guarded(f"mov.{t} {names[0]}, {names[1]};")
            self.guarded(f"mov.{t} {names[1]}, {names[2]};")
        else:
            ring = names if kind == 2 else names[:2]
            spare = {"r": "%t3", "d": "%a1", "h": "%hh", "p": "%q2", "f": "%t3", "e": "%a1"}[pool]
            t = {"f": "b32", "e": "b64"}.get(pool, t)
            for to, of in zip([spare, *ring], [*ring, spare], strict=True):
                self.put(f"mov.{t} {to}, {of};")

    def pack(self) -> None:
        """Halves and wholes."""
        r = self.rng
        a, b = r.sample(range(_POOLS["r"][1]), 2)
        g, h = r.sample(range(_POOLS["h"][1]), 2)
        self.put(
            r.choice((
                f"mov.b64 {self.reg('d')}, {{%r{a}, %r{b}}};",
                f"mov.b64 {{%r{a}, %r{b}}}, {self.reg('d')};",
                f"mov.b32 {self.reg('r')}, {{%h{g}, %h{h}}};",
                f"mov.b32 {{%h{g}, %h{h}}}, {self.reg('r')};",
                f"mov.b64 {{_, %r{b}}}, {self.reg('d')};",
                f"mov.b32 %r{a}, {self.reg('f')};",
                f"mov.b64 {self.reg('d')}, {self.reg('e')};",
                f"mov.b32 {self.reg('f')}, %r{b};",
            ))
        )

    def several(self) -> None:
        """Two results, of which one may be the operand too."""
        r = self.rng
        p, q = r.sample(range(_POOLS["p"][1]), 2)
        cmp = r.choice(("lt", "ne", "ge"))
        self.guarded(f"setp.{cmp}.s32 %p{p}|%p{q}, {self.reg('r')}, {self.source('r')};")
        if r.random() < 0.4:
            self.put(f"setp.{cmp}.xor.u32 %p{p}|%p{q}, {self.reg('r')}, 7, !%p{q};")
        if r.random() < 0.4:
            self.put(f"not.pred %p{q}, %p{p};")
        if r.random() < 0.4:
            self.put(f"set.{cmp}.u32.s32 {self.reg('r')}, {self.reg('r')}, {self.source('r')};")
            self.put(f"slct.u32.s32 {self.reg('r')}, {self.reg('r')}, {self.source('r')}, "
                     f"{self.reg('r')};")

    def carry(self) -> None:
        r = self.rng
        first, rest = r.choice((("add.cc", "addc"), ("sub.cc", "subc"), ("mad.lo.cc", "madc.hi")))
        n = r.randint(1, 3)
        for k in range(n + 1):
            op = first if k == 0 else rest + (".cc" if k < n else "")
            more = f", {self.reg('r')}" if op.startswith("mad") else ""
            self.put(f"{op}.u32 {self.reg('r')}, {self.reg('r')}, {self.source('r')}{more};")

    def twice(self) -> None:
        """A switch that names one case twice and may fall through."""
        a, b = self.label(), self.label()
        table = f"T{self.labels}"
        names = [a, b, a] if self.rng.random() < 0.5 else [b, a, a, b]
        self.put(f"rem.u32 %t0, {self.reg('r')}, {len(names)};")
        self.out.append(f"{table}: .branchtargets {', '.join(names)};")
        self.put(f"brx.idx %t0, {table};")
        self.out.append(f"{a}:")
        if self.rng.random() < 0.7:
            self.copies()
        self.out.append(f"{b}:")

    # ---------------------------------------------------------------- memory

    def own_word(self) -> None:
        """The first 16 bytes of the thread's words, at any width and under any name."""
        self.access("%own", "%own2-24", "%gen", "global", "global", "")

    def depot_word(self) -> None:
        """Local memory likewise."""
        self.uses.add("local")
        self.access("depot", "%dep", "depot", "local", "", "local")

    def access(self, *names: str) -> None:
        r = self.rng
        which, width, at = self.place()
        base, space = names[which], names[which + 3]
        space = f".{space}" if space else ""
        if "-" in base:
            base, moved = base.split("-")
            where = f"[{base}+{at - int(moved)}]"
        else:
            where = f"[{base}+{at}]" if at or r.random() < 0.5 else f"[{base}]"
        volatile = ".volatile" if space != ".local" and r.random() < 0.1 else ""
        pool = {8: "r", 16: "h", 32: r.choice("rf"), 64: r.choice("de")}[width]
        guard = f"@{r.choice(('', '!'))}{self.reg('p')} " if r.random() < 0.15 else ""
        if width == 32 and at % 8 == 0 and r.random() < 0.3:
            a, b = r.sample(range(_POOLS[pool][1]), 2)
            both = f"{{%{pool}{a}, %{pool}{b}}}"
            ld, st = f"ld{volatile}{space}.v2.b32 {both}, {where};", \
                f"st{volatile}{space}.v2.b32 {where}, {both};"
        else:
            type = r.choice(("u8", "s8", "b8")) if width == 8 else f"b{width}"
            ld = f"ld{volatile}{space}.{type} {self.reg(pool)}, {where};"
            st = f"st{volatile}{space}.{type} {where}, {self.reg(pool)};"
        self.put(guard + (ld if r.random() < 0.6 else st))

    def sometimes(self) -> None:
        """A word read before and after a path that may write it, or be left by a loop."""
        r = self.rng
        a, b, c = r.sample(range(_POOLS["r"][1]), 3)
        at, other = 4 * r.randrange(2), r.choice((0, 4, -24))
        base = "%own2" if other < 0 else "%own"
        label, p = self.label(), self.reg("p")
        self.put(f"ld.global.b32 %r{a}, [%own+{at}];")
        loop = r.random() < 0.4
        if loop:
            self.put("mov.u32 %t3, 3;")
            self.out.append(f"{label}:")
            self.put(f"ld.global.b32 %r{c}, [%own+{at}];")
            self.put(f"add.s32 %r{b}, %r{b}, %r{c};")
        else:
            self.put(f"@{p} bra {label};")
        self.put(f"st.global.b32 [{base}+{other}], %r{b};")
        if loop:
            self.put("add.s32 %t3, %t3, -1;")
            self.put("setp.ne.s32 %q2, %t3, 0;")
            self.put(f"@%q2 bra {label};")
        else:
            self.out.append(f"{label}:")
        self.put(f"ld.global.b32 %r{c}, [%own+{at}];")
        self.put(f"mad.lo.s32 %r{r.randrange(4)}, %r{a}, 5, %r{c};")

    def place(self) -> tuple[int, int, int]:
        """Mostly one of few, so that loads meet equal loads and the stores between them."""
        r = self.rng
        if self.places and r.random() < 0.75:
            return r.choice(self.places)
        width = r.choice((8, 16, 32, 32, 32, 64))
        found = (r.randrange(3), width, r.randrange(0, 16, width // 8))
        if len(self.places) < 2:
            self.places.append(found)
        return found

    def own_atomic(self) -> None:
        """On the thread's own word: the old value is certain."""
        r = self.rng
        base, space = r.choice((("%own", ".global"), ("%gen", ""), ("%own2", ".global")))
        at = 4 * r.randrange(4) - (24 if base == "%own2" else 0)
        op = r.choice(("add.u32", "exch.b32", "max.s32", "cas.b32"))
        more = f", {self.reg('r')}" if op.startswith("cas") else ""
        to = self.reg("r") if r.random() < 0.7 or more else "_"
        self.put(f"atom{space}.{op} {to}, [{base}+{at}], {self.reg('r')}{more};")
