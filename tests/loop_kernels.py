"""Random kernels that aim at the loop passes.

    text = loop_kernel(seed, size)      # PTX with one kernel "k", as of kernels.py

To what kernels.py makes are added, so that every pass has something to do and something to refuse:

Loops     tested at the top, at the end, under a guard or in the middle; counting up, down, by
          steps that are literals or registers, by shifts; in 32 and 64 bits, floats, and pointers
          that walk to an end; trip counts that are known, the same for all threads, or not;
          conditions that load; several exits and latches, ways in from the side, nests.
Bodies    chains of operations on registers written once, some again with turned operands, whose
          inputs are invariants (literals, parameters, constants, words of memory, all loaded
          inside the loop), loop variables or both; addresses affine in the variables of a nest;
          words carried through local memory; words of memory that may or may not be the same, or
          overlap in part; accumulators; small branches, guarded loads and stores, loads that must
          not run for all, slow paths that stand behind the kernel's end, traps that nothing
          reaches; calls; exchanges through shared memory; tiles that all threads fill and read,
          round by round, some by asynchronous copies.
Pairs     neighbours that count alike, the second reading what the first wrote, at distances from
          -1 to 1, with and without code between them, which may read what a loop writes.
Pragmas   nounroll, now and then.

Loops run 0 to 8 times, inner ones fewer, so that a launch is short.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal

import attrs

from tests.kernels import _REGISTER, _Kernel

Theme = Literal["any", "loop", "pair", "tile"]


@attrs.frozen
class Index:
    """A loop variable in scope: its register, and the least and largest value that it takes in
    the body, where they are known to the generator (then `of` is what a chain may address by)."""

    register: str
    bits: int
    low: int = 0
    high: int = 1 << 20


def loop_kernel(seed: int, size: int = 40) -> str:
    """The PTX text of a kernel "k" of about `size` statements."""
    return _Loops(random.Random(f"loops {seed}"), size, theme(seed)).text()


def theme(seed: int) -> Theme:
    """What the kernel of a seed has more of than others."""
    return random.Random(f"theme {seed}").choice(("any", "any", "loop", "pair", "pair", "tile"))


class _Loops(_Kernel):
    def __init__(self, rng: random.Random, size: int, theme: Theme = "any") -> None:
        super().__init__(rng, size)
        self.fresh: dict[str, int] = dict.fromkeys(("i", "j", "y", "v", "w", "b"), 0)
        self.indices: list[Index] = []
        self.pointers: list[str] = []
        self.behind: list[str] = []
        self.theme = theme

    def text(self) -> str:
        text = super().text()
        types = {"i": "b32", "j": "b64", "y": "f32", "v": "b32", "w": "b64", "b": "pred"}
        declared = "".join(
            f"\t.reg .{types[c]} %{c}<{n + 1}>;\n" for c, n in self.fresh.items() if n
        )
        at = text.index("\tld.param.u64 %in")
        end = text.rindex("\tret;\n}")
        behind = "\n".join(("\tret;", *self.behind, "}\n"))
        return text[:at] + declared + text[at:end] + behind

    def new(self, pool: str) -> str:
        self.fresh[pool] += 1
        return f"%{pool}{self.fresh[pool]}"

    # ------------------------------------------------------------ statements

    def statement(self, depth: int) -> None:
        r = self.rng
        kinds: list[tuple[Callable[[], None], int]] = [
            (self.chain, 8), (self.wide_chain, 2), (self.accumulate, 4), (self.invariant, 3),
            (self.small_branch, 3), (self.guarded_access, 2), (self.slow_path, 1),
            (self.some_word, 5), (self.part_of_word, 3), (self.far_word, 2), (self.pick, 3),
        ]
        if self.indices:
            kinds.append((self.linear, 5))
        if self.pointers:
            kinds.append((self.through_pointer, 5))
        if self.uniform:
            kinds.append((self.tile, 3))
        if depth < 3 and self.left > 2:
            kinds += [(lambda: self.counted(depth), 12 if depth == 0 else 4)]
            if depth < 2:
                kinds += [(lambda: self.pair(depth), 6), (lambda: self.array(depth), 1)]
        if self.loops:
            kinds.append((self.leave_loop, 1))
        if depth == 0 and r.random() < 0.4 and self.theme != "any":
            if self.theme == "pair":
                self.pair(depth)
            elif self.theme == "tile" and self.uniform:
                self.tile()
            else:
                r.choice((self.counted, self.tight))(depth)
            return
        if r.random() < 0.25:
            super().statement(depth)
            return
        chosen, weights = zip(*kinds, strict=True)
        r.choices(chosen, weights)[0]()

    def results(self) -> None:
        """Mostly what no word is for goes into a register that is kept, so that nothing is dead."""
        if self.rng.random() < 0.75:
            named = set(_REGISTER.findall("\n".join(self.out)))
            for k in range(4, 8):
                if f"%r{k}" in named:
                    self.put(f"xor.b32 %r{k - 4}, %r{k - 4}, %r{k};")
            for k in range(1, 4):
                if f"%d{k}" in named:
                    self.put(f"xor.b64 %d0, %d0, %d{k};")
            for k in range(2, 5):
                if f"%f{k}" in named:
                    self.put(f"mov.b32 %t0, %f{k};")
                    self.put(f"xor.b32 %r{k - 2}, %r{k - 2}, %t0;")
        super().results()

    def atom_source(self) -> str:
        """A 32-bit input of a chain: mostly what the loop does not change or counts."""
        r = self.rng
        narrow = [x.register for x in self.indices if x.bits == 32]
        if narrow and r.random() < 0.55:
            return r.choice(narrow)
        if r.random() < 0.6:
            return r.choice(("%n", "%me", "%gid", str(r.choice((1, 2, 3, 4, 5, 8, 12, -1, 100)))))
        return self.reg("r")

    def turned(self) -> str:
        """An operation that does not commute, and again with its operands turned."""
        r = self.rng
        a, b = self.atom_register(), self.atom_register()
        first, second, both = (self.new("v") for _ in range(3))
        name = r.choice(("sub.s32", "shl.b32", "shr.u32", "shr.s32", "div.s32", "rem.u32"))
        self.put(f"{name} {first}, {a}, {b};")
        self.put(f"{name} {second}, {b}, {a};")
        self.put(f"mad.lo.s32 {both}, {first}, 3, {second};")
        return both

    def operation(self, inputs: list[str]) -> str:
        """One operation of 32 bits on some of the inputs, into a register of its own."""
        r = self.rng
        if r.random() < 0.08:
            return self.turned()
        d = self.new("v")
        a = r.choice([x for x in inputs if x.startswith("%")] or ["%me"])
        b, c = r.choice(inputs), r.choice(inputs)
        by = r.choice((str(r.randrange(9)), str(r.randrange(9, 32)), self.shift()))
        self.put(
            r.choice((
                f"add.s32 {d}, {a}, {b};", f"sub.s32 {d}, {a}, {b};", f"mul.lo.s32 {d}, {a}, {b};",
                f"mad.lo.s32 {d}, {a}, {b}, {c};", f"mad.lo.s32 {d}, {a}, {b}, {c};",
                f"shl.b32 {d}, {a}, {by};", f"xor.b32 {d}, {a}, {b};",
                f"and.b32 {d}, {a}, {b};", f"max.s32 {d}, {a}, {b};",
                f"shr.{r.choice('us')}32 {d}, {a}, {by};",
                f"add.s32 {d}, {a}, {b};",
            ))
        )
        return d

    def chain(self) -> None:
        """Operations on registers written once; the last is added up, loaded at, or kept."""
        r = self.rng
        inputs = [self.atom_source() for _ in range(3)]
        for _ in range(r.randint(1, 4)):
            inputs.append(self.operation(inputs))
            if r.random() < 0.5:
                del inputs[0]
        last = inputs[-1]
        if r.random() < 0.4:
            t, a = self.new("v"), self.new("w")
            self.put(f"and.b32 {t}, {last}, 1023;")
            self.put(f"mad.wide.u32 {a}, {t}, 4, %in;")
            last = self.new("v")
            self.put(f"ld.global{r.choice(('', '.nc'))}.u32 {last}, [{a}];")
        self.add_up(last)

    def wide_chain(self) -> None:
        """The same in 64 bits."""
        r = self.rng
        a = next((x for x in (self.atom_source() for _ in range(4)) if x.startswith("%")), "%me")
        wide = [x.register for x in self.indices if x.bits == 64]
        w = self.new("w")
        self.put(f"mul.wide.{r.choice(('u32', 's32'))} {w}, {a}, {r.choice((3, 4, 12, 1000))};")
        if wide:
            more = self.new("w")
            self.put(f"mad.lo.s64 {more}, {r.choice(wide)}, {r.choice((w, '7', '12'))}, {w};")
            w = more
        self.put(f"add.s64 {self.reg('d')}, {self.reg('d')}, {w};")

    def linear(self) -> None:
        """Operations that are affine in one loop variable: by literals of all sizes, and by what
        the loop does not change; widened now and then."""
        r = self.rng
        index = r.choice(self.indices)
        value, bits = index.register, index.bits
        for _ in range(r.randint(2, 4)):
            d, by = self.new("v" if bits == 32 else "w"), self.literal(bits)
            other = r.choice(("%n", "%me", "%gid")) if bits == 32 and r.random() < 0.4 else by
            self.put(r.choice((
                f"shl.b{bits} {d}, {value}, {r.randrange(bits)};",
                f"mul.lo.s{bits} {d}, {value}, {by};",
                f"mad.lo.s{bits} {d}, {value}, {by}, {other};",
                f"add.s{bits} {d}, {value}, {other};", f"sub.s{bits} {d}, {other}, {value};",
            )))
            value = d
            if bits == 32 and r.random() < 0.2:
                value, bits, sign = self.new("w"), 64, r.choice("su")
                self.put(r.choice((f"cvt.{sign}64.{sign}32 {value}, {d};",
                                   f"mul.wide.{sign}32 {value}, {d}, {r.randrange(99)};")))
        if bits == 32:
            self.add_up(value)
        else:
            self.put(f"add.s64 {self.reg('d')}, {self.reg('d')}, {value};")

    def literal(self, bits: int) -> int:
        """A number of any size and sign, often beside a power of two."""
        r = self.rng
        near = (1 << r.randrange(bits - 1)) + r.choice((-1, 0, 0, 0, 1))
        return r.choice((1, 1, -1)) * r.choice((near, r.randrange(1, 13)))

    def add_up(self, value: str) -> None:
        r = self.rng
        d = self.reg("r")
        self.put(
            r.choice((f"add.s32 {d}, {d}, {value};", f"xor.b32 {d}, {d}, {value};",
                      f"mad.lo.s32 {d}, {d}, 3, {value};", f"mov.b32 {d}, {value};"))
        )

    def accumulate(self) -> None:
        """A sum of floats or integers, sometimes under a guard."""
        r = self.rng
        f, x = self.reg("f"), r.choice(("%x", "0f3F000000", self.reg("f")))
        self.guarded(
            r.choice((
                f"fma.rn.f32 {f}, {x}, {self.reg('f')}, {f};", f"add.rn.f32 {f}, {f}, {x};",
                f"add.s32 {self.reg('r')}, {self.reg('r')}, {self.atom_source()};",
                f"max.s32 {self.reg('r')}, {self.reg('r')}, {self.atom_source()};",
            ))
        )

    def invariant(self) -> None:
        """What a loop need not do again: a parameter, a constant, a word of memory, arithmetic."""
        r = self.rng
        v = self.new("v")
        kind = r.randrange(5)
        if kind == 0:
            self.put(f"ld.param.u32 {v}, [k_param_2];")
        elif kind == 1:
            self.put(f"ld.const.u32 {v}, [table+{4 * r.randrange(16)}];")
        elif kind == 2:
            self.put(f"ld.global.u32 {v}, [%own+{4 * r.randrange(8)}];")
        elif kind == 3:
            self.put(f"ld.global{r.choice(('', '.nc'))}.u32 {v}, [%in+{4 * r.randrange(64)}];")
        else:
            self.put(f"mul.lo.s32 {v}, %gid, {r.randrange(3, 99)};")
            v2 = self.new("v")
            self.put(f"{r.choice(('mul.hi', 'add', 'div'))}.s32 {v2}, {v}, {r.choice((7, 12))};")
            v = v2
        self.add_up(v)

    def simple(self) -> None:
        """One operation that a guard may stand before."""
        r = self.rng
        kind = r.randrange(6)
        if kind == 5:
            self.put(f"mad.wide.s32 {self.reg('d')}, {self.reg('r')}, 7, {self.reg('d')};")
        elif kind == 0:
            self.put(f"st.global.b32 [%own+{4 * r.randrange(8)}], {self.reg('r')};")
        elif kind == 1:
            self.put(f"ld.global.b32 {self.reg('r')}, [%in+{4 * r.randrange(64)}];")
        elif kind == 2:
            self.put(f"add.rn.f32 {self.reg('f')}, {self.reg('f')}, %x;")
        else:
            self.put(f"mad.lo.s32 {self.reg('r')}, {self.reg('r')}, 5, {self.atom_source()};")

    def small_branch(self) -> None:
        """A triangle or a diamond of a few operations."""
        r = self.rng
        other, end = self.label(), self.label()
        p = self.reg("p")
        if r.random() < 0.6:
            p = self.new("b")
            self.put(f"setp.{r.choice(('lt', 'eq', 'ge'))}.s32 {p}, {self.reg('r')}, "
                     f"{self.atom_source()};")
        two = r.random() < 0.5
        self.put(f"@{r.choice(('', '!'))}{p} bra {other if two else end};")
        for _ in range(r.randint(1, 3)):
            self.simple()
        if two:
            self.put(f"bra {end};")
            self.out.append(f"{other}:")
            for _ in range(r.randint(1, 2)):
                self.simple()
        self.out.append(f"{end}:")

    def pick(self) -> None:
        """One of two values by a branch whose sides do nothing else: edges that differ in what
        they bring alone."""
        r = self.rng
        pool, t = r.choice((("r", "b32"), ("r", "b32"), ("d", "b64"), ("f", "f32")))
        d, p, other, end = self.reg(pool), self.reg("p"), self.label(), self.label()
        if r.random() < 0.5:
            self.put(f"mov.{t} {d}, {self.source(pool)};")
            self.put(f"@{p} bra {end};")
        else:
            self.put(f"@{p} bra {other};")
            self.put(f"mov.{t} {d}, {self.source(pool)};")
            self.put(f"bra {end};")
            self.out.append(f"{other}:")
        self.put(f"mov.{t} {d}, {self.source(pool)};")
        self.out.append(f"{end}:")

    def guarded_access(self) -> None:
        r = self.rng
        guard = f"@{r.choice(('', '!'))}{self.reg('p')} "
        if r.random() < 0.5:
            self.put(f"{guard}ld.global.b32 {self.reg('r')}, [%own+{4 * r.randrange(8)}];")
        else:
            self.put(f"{guard}st.global.b32 [%own+{4 * r.randrange(8)}], {self.reg('r')};")

    def far_word(self) -> None:
        """A load that must not run for threads whose address is none: behind a branch or a guard,
        its address made before or beside it."""
        r = self.rng
        p, v, a, end = self.new("b"), self.new("v"), self.new("w"), self.label()
        of = r.choice(("%me", "%gid", "%n", self.reg("r")))
        self.put(f"setp.{r.choice(('lt', 'ge', 'eq'))}.s32 {p}, {of}, {r.choice((1, 7, 16))};")
        self.put(f"selp.b64 {a}, %in, {r.choice((0, 1 << 40))}, {p};")
        to = f"ld.global{r.choice(('', '.nc'))}.u32 {v}, [{a}+{4 * r.randrange(64)}];"
        self.put(f"mov.u32 {v}, 3;")
        if r.random() < 0.5:
            self.put(f"@!{p} bra {end};")
            self.put(to)
            self.out.append(f"{end}:")
        else:
            self.put(f"@{p} {to}")
        self.add_up(v)

    def some_word(self) -> None:
        """One of the thread's words that data or a loop variable chooses, beside a fixed one: they
        are the same now and then, which no analysis can rule out."""
        r = self.rng
        v, a = self.new("v"), self.new("w")
        self.put(f"and.b32 {v}, {self.atom_register()}, {r.choice((1, 3, 7))};")
        self.put(f"mad.wide.u32 {a}, {v}, 4, %own;")
        chosen, fixed = f"[{a}]", f"[%own+{4 * r.randrange(4)}]"
        first, second = r.sample((chosen, fixed), 2)
        x, y = self.reg("r"), self.reg("r")
        store, load = f"st.global.b32 {first}, {x};", f"ld.global.b32 {y}, {second};"
        kind = r.randrange(4)
        if kind == 0:
            lines = [store, load]
        elif kind == 1:
            lines = [load, store]
        elif kind == 2:
            again = f"ld.global.b32 {x}, {second};"
            lines = [again, f"st.global.b32 {first}, {self.reg('r')};", load]
        else:
            back = f"ld.global.b32 {y}, {first};"
            lines = [store, f"st.global.b32 {second}, {self.reg('r')};", back]
        for line in lines:
            self.put(line)

    def part_of_word(self) -> None:
        """Accesses of different widths to the thread's words, which overlap from below and from
        above: what was read is read again behind a store, or a store comes between two."""
        r = self.rng
        at = 8 * r.randrange(4)
        widths = {8: ("b64", "d"), 4: ("b32", "r"), 2: ("u16", "h")}
        wide, narrow = r.choice(((8, 4), (8, 2), (4, 2), (8, 8)))
        places = [(wide, at), (narrow, at + r.choice(range(0, wide, narrow)))]
        r.shuffle(places)
        (t, x), (u, y) = (widths[n] for n, _ in places)
        first, second = (f"[%own+{offset}]" for _, offset in places)
        load = f"ld.global.{t} {self.reg(x)}, {first};"
        between = f"st.global.{u} {second}, {self.reg(y)};"
        again = r.choice((f"ld.global.{t} {self.reg(x)}, {first};",
                          f"st.global.{t} {first}, {self.reg(x)};"))
        for line in r.choice(((load, between, again), (between, load), (again, between, load))):
            self.put(line)

    def atom_register(self) -> str:
        """A source of a chain that is a register."""
        source = self.atom_source()
        return source if source.startswith("%") else self.reg("r")

    def slow_path(self) -> None:
        """A branch to code behind the kernel's end, and back; or to a trap that is not reached."""
        r = self.rng
        away, back = self.label(), self.label()
        if r.random() < 0.4:
            p = self.new("b")
            self.put(f"setp.gt.u32 {p}, %n, 1000;")
            self.put(f"@{p} bra {away};")
            self.behind += [f"{away}:", "\ttrap;", "\tret;"]
            return
        self.put(f"@{self.reg('p')} bra {away};")
        self.out.append(f"{back}:")
        code, self.out = self.out, []
        for _ in range(r.randint(1, 2)):
            self.simple()
        self.behind += [f"{away}:", *self.out, f"\tbra {back};"]
        self.out = code

    def through_pointer(self) -> None:
        r = self.rng
        v = self.new("v")
        self.put(f"ld.global.u32 {v}, [{r.choice(self.pointers)}+{4 * r.randrange(3)}];")
        self.add_up(v)

    # ----------------------------------------------------------------- loops

    def trips(self, depth: int) -> tuple[str, str]:
        """How often: (kind, literal or register)."""
        r = self.rng
        kind = r.choice(("known", "known", "uniform", "thread"))
        if kind == "known":
            return kind, str(r.choice(((1, 2, 3, 4, 5, 8), (1, 2, 3, 4), (1, 2, 2, 3))[depth]))
        v = self.new("v")
        of = "%n" if kind == "uniform" else self.reg("r")
        self.put(f"and.b32 {v}, {of}, {(7, 3, 1)[depth]};")
        return kind, v

    def counted(self, depth: int) -> None:
        """A loop of any of the shapes, around statements."""
        r = self.rng
        kind, trips = self.trips(depth)
        shape = r.choice(("end", "end", "guard", "top", "top", "middle"))
        if shape in ("end", "middle") and kind != "known":
            more = self.new("v")
            self.put(f"max.u32 {more}, {trips}, 1;")
            trips = more
        variable = r.choices(
            (self.narrow, self.wide, self.floating_count, self.pointer, self.shifted),
            (8, 3, 1, 3, 1),
        )[0]
        step, test, index = variable(trips)
        self.around(depth, shape, kind != "thread", step, test, index)

    def tight(self, depth: int) -> None:
        """A loop of one block over accesses that overlap, which is what a pipeliner takes."""
        r = self.rng
        trips, more = self.trips(depth)[1], self.new("v")
        self.put(f"max.u32 {more}, {trips}, 1;")
        step, test, _ = r.choice((self.narrow, self.wide, self.pointer))(more)
        head, go = self.label(), self.new("b")
        self.out.append(f"{head}:")
        for _ in range(r.randint(1, 3)):
            r.choice((self.part_of_word, self.part_of_word, self.chain))()
        self.put(step)
        self.put(test(go))
        self.put(f"@{go} bra {head};")

    def around(
        self, depth: int, shape: str, uniform: bool, step: str, test: Callable[[str], str],
        index: Index | str | None,
    ) -> None:
        """The blocks of a loop; `test(p)` says how predicate `p` becomes "once more"."""
        r = self.rng
        head, tail, end = self.label(), self.label(), self.label()
        go, leave = self.new("b"), r.random() < 0.3
        side = shape == "end" and r.random() < 0.08
        uniform = uniform and not leave and not side

        def check(target: str, stay: bool) -> None:
            self.put(test(go))
            self.put(f"@{'' if stay else '!'}{go} bra {target};")

        if shape == "guard":
            check(end, False)
        if side:
            middle = self.label()
            self.put(f"@{self.reg('p')} bra {middle};")
        if r.random() < 0.08:
            self.out.append('\t.pragma "nounroll";')
        self.out.append(f"{head}:")
        if shape == "top":
            if r.random() < 0.25:
                self.loaded_exit(end)
                uniform = False
            check(end, False)
        self.scope(depth, uniform, (tail, end) if leave else None, index, shape == "middle")
        if side:
            self.out.append(f"{middle}:")
            self.chain()
        if r.random() < 0.1:  # a second latch
            skip = self.label()
            self.put(f"@{self.reg('p')} bra {skip};")
            self.put(step)
            if shape != "top":
                check(end, False)
            self.put(f"bra {head};")
            self.out.append(f"{skip}:")
        self.out.append(f"{tail}:")
        self.put(step)
        if shape == "top":
            self.put(f"bra{r.choice(('', '.uni'))} {head};")
        elif shape == "middle":
            check(end, False)
            self.scope(depth, False, None, None, True)
            self.put(f"bra {head};")
        else:
            check(head, True)
        self.out.append(f"{end}:")

    def scope(
        self, depth: int, uniform: bool, leave: tuple[str, str] | None, index: Index | str | None,
        short: bool,
    ) -> None:
        """The statements of a body, with its variable in sight."""
        keep = self.loops, self.indices, self.pointers
        self.loops = [*self.loops, (*leave, False)] if leave else []
        if isinstance(index, Index):
            self.indices = [*self.indices, index]
        elif index:
            self.pointers = [*self.pointers, index]
        if short:
            self.inside(uniform, self.chain)
        else:
            self.inside(uniform, lambda: self.statements(depth + 1))
        self.loops, self.indices, self.pointers = keep

    def loaded_exit(self, end: str) -> None:
        """Leave where a word of memory says so."""
        v, p = self.new("v"), self.new("b")
        if self.pointers:
            self.put(f"ld.global.u32 {v}, [{self.rng.choice(self.pointers)}];")
        else:
            self.put(f"ld.global.u32 {v}, [%own+{4 * self.rng.randrange(8)}];")
        self.put(f"and.b32 {v}, {v}, 7;")
        self.put(f"setp.eq.s32 {p}, {v}, 5;")
        self.put(f"@{p} bra {end};")

    # Variables: each writes the start and gives (step, test, what bodies see).

    def narrow(self, trips: str) -> tuple[str, Callable[[str], str], Index]:
        r = self.rng
        i, by = self.new("i"), r.choice((1, 1, 1, 2, 3, 4, -1, -1, -2, -3))
        start = r.choice((0, 0, 0, 1, 5, -3, 30))
        step = str(by)
        self.put(f"mov.u32 {i}, {start};")
        if trips.isdigit():
            bound, high = str(start + by * int(trips)), max(start, start + by * int(trips))
        else:
            bound, high = self.new("v"), 1 << 20
            self.put(f"mad.lo.s32 {bound}, {trips}, {by}, {start};")
        if r.random() < 0.1:
            step = self.new("v")
            self.put(f"mov.u32 {step}, {by};")
            if r.random() < 0.5:  # not a literal to the eye
                self.put(f"add.s32 {step}, %n, {by};")
                self.put(f"sub.s32 {step}, {step}, %n;")
        signed = start < 0 or by < 0 or r.random() < 0.6
        return f"add.s32 {i}, {i}, {step};", self.test(i, by, bound, signed, 32), \
            Index(i, 32, 0, high)

    def test(self, i: str, by: int, bound: str, signed: bool, bits: int) -> Callable[[str], str]:
        r = self.rng
        t = f"{'s' if signed else 'u'}{bits}"
        near = "ne" if r.random() < 0.3 else "lt" if by > 0 else "gt"
        if near != "ne" and bound.lstrip("-").isdigit() and abs(by) == 1 and r.random() < 0.3 \
                and int(bound) > 1:
            near, bound = ("le", str(int(bound) - 1)) if by > 0 else ("ge", str(int(bound) + 1))
        if r.random() < 0.1 and near in ("lt", "gt"):
            return lambda p: f"setp.{'gt' if near == 'lt' else 'lt'}.{t} {p}, {bound}, {i};" \
                if bound.startswith("%") else f"setp.{near}.{t} {p}, {i}, {bound};"
        return lambda p: f"setp.{near}.{t} {p}, {i}, {bound};"

    def wide(self, trips: str) -> tuple[str, Callable[[str], str], Index]:
        r = self.rng
        j, by = self.new("j"), r.choice((1, 2, 4, -1))
        start = r.choice((0, 0, 7))
        self.put(f"mov.u64 {j}, {start};")
        if trips.isdigit():
            bound = str(start + by * int(trips))
        else:
            bound = self.new("w")
            self.put(f"cvt.s64.s32 {bound}, {trips};")
            self.put(f"mad.lo.s64 {bound}, {bound}, {by}, {start};")
        return f"add.s64 {j}, {j}, {by};", self.test(j, by, bound, by < 0, 64), Index(j, 64)

    def floating_count(self, trips: str) -> tuple[str, Callable[[str], str], None]:
        r = self.rng
        y = self.new("y")
        self.put(f"mov.f32 {y}, 0f00000000;")
        bound = self.new("y")
        self.put(f"cvt.rn.f32.u32 {bound}, {trips};")
        if r.random() < 0.5:
            self.put(f"mov.f32 {bound}, 0f40400000;")  # 3.0
        near = r.choice(("lt", "lt", "neu"))
        return f"add.rn.f32 {y}, {y}, 0f3F800000;", \
            lambda p: f"setp.{near}.f32 {p}, {y}, {bound};", None

    def pointer(self, trips: str) -> tuple[str, Callable[[str], str], str]:
        r = self.rng
        j, end = self.new("j"), self.new("w")
        by = r.choice((4, 4, 8, 16, -4))
        self.put(f"add.s64 {j}, %in, {256 + 4 * r.randrange(64)};")
        if trips.isdigit():
            self.put(f"add.s64 {end}, {j}, {by * int(trips)};")
        else:
            self.put(f"mul.wide.s32 {end}, {trips}, {by};")
            self.put(f"add.s64 {end}, {end}, {j};")
        near = "ne" if r.random() < 0.5 else "lt" if by > 0 else "gt"
        return f"add.s64 {j}, {j}, {by};", lambda p: f"setp.{near}.u64 {p}, {j}, {end};", j

    def shifted(self, trips: str) -> tuple[str, Callable[[str], str], Index]:
        i, bound = self.new("i"), self.new("v")
        self.put(f"mov.u32 {i}, 1;")
        self.put(f"mov.u32 {bound}, 1;")
        self.put(f"shl.b32 {bound}, {bound}, {trips};")
        return f"shl.b32 {i}, {i}, 1;", lambda p: f"setp.lt.u32 {p}, {i}, {bound};", \
            Index(i, 32)

    # ---------------------------------------------------------------- arrays

    def pair(self, depth: int) -> None:
        """Two or three neighbours that count alike."""
        r = self.rng
        kind, trips = self.trips(max(depth, 1))
        guard = kind != "known" or r.random() < 0.3
        again = r.random() < 0.9
        count = r.choice((2, 2, 2, 3))
        sums = [self.new("v") for _ in range(count)] if r.random() < 0.8 else []
        for v in sums:
            self.put(f"mov.u32 {v}, {r.choice(('0', '%me'))};")
        for k in range(count):
            if k and r.random() < 0.15:
                self.chain()
            if k and r.random() < 0.15:  # a word that either loop may write
                v = self.new("v")
                self.put(f"ld.local.u32 {v}, [depot+{4 * r.randrange(4, 10)}];")
                self.add_up(v)
            to = sums[k] if sums else self.reg("r")
            self.array_loop(trips if again or not k else "3", guard, to)
        for v in sums:
            self.add_up(v)

    def array(self, depth: int) -> None:
        _, trips = self.trips(max(depth, 1))
        self.array_loop(trips, True, self.reg("r"))

    def array_loop(self, trips: str, guard: bool, to: str) -> None:
        """i from 0: words of the thread's local array from words of it and of the input; sums go
        to a register."""
        r = self.rng
        self.uses.add("local")
        i, p = self.new("i"), self.new("b")
        head, end = self.label(), self.label()
        self.put(f"mov.u32 {i}, 0;")
        if guard:
            self.put(f"setp.lt.s32 {p}, {i}, {trips};")
            self.put(f"@!{p} bra {end};")
        self.out.append(f"{head}:")
        offset, at, a, base = (self.new("w") for _ in range(4))
        self.put(f"mul.wide.u32 {offset}, {i}, 4;")
        self.put(f"mov.u64 {base}, depot;")
        self.put(f"add.s64 {at}, {base}, {offset};")
        self.put(f"add.s64 {a}, %in, {offset};")
        for _ in range(r.randint(1, 3)):
            v, kind = self.new("v"), r.randrange(4)
            here = f"[{at}+{4 * r.randrange(4, 7)}]"
            if kind == 0:
                self.put(f"ld.local.u32 {v}, {here};")
                self.put(f"mad.lo.s32 {to}, {to}, 3, {v};")
            elif kind == 1:
                self.put(f"ld.global.u32 {v}, [{a}+{4 * r.randrange(32)}];")
                self.put(f"st.local.u32 {here}, {v};")
            elif kind == 2:
                self.put(f"mad.lo.s32 {v}, {i}, {r.randrange(2, 9)}, {self.atom_source()};")
                self.put(f"st.local.u32 {here}, {v};")
            else:
                self.put(f"ld.global.u32 {v}, [{a}];")
                self.put(f"add.s32 {to}, {to}, {v};")
        self.put(f"add.s32 {i}, {i}, 1;")
        self.put(f"setp.lt.s32 {p}, {i}, {trips};")
        self.put(f"@{p} bra {head};")
        self.out.append(f"{end}:")

    # ----------------------------------------------------------------- tiles

    def tile(self) -> None:
        """Where all threads are: each round words go to shared memory and neighbours take them."""
        r = self.rng
        self.uses.add("shared")
        trips = str(r.choice((1, 2, 3, 5, 8)))
        if r.random() < 0.4:
            trips = self.new("v")
            self.put(f"and.b32 {trips}, %n, 7;")
            self.put(f"max.u32 {trips}, {trips}, 1;")
        i, go, head = self.new("i"), self.new("b"), self.label()
        mine, near, v, x = (self.new("v") for _ in range(4))
        source, word = self.new("w"), self.new("w")
        self.put(f"mov.u32 {near}, arena;")
        self.put(f"shl.b32 {mine}, %me, 2;")
        self.put(f"add.s32 {mine}, {mine}, {near};")
        self.put("mov.u32 %t2, %ntid.x;")
        self.put(f"add.s32 %t0, %me, {r.randrange(1, 32)};")
        self.put("rem.u32 %t0, %t0, %t2;")
        self.put("shl.b32 %t0, %t0, 2;")
        self.put(f"add.s32 {near}, {near}, %t0;")
        self.put("and.b32 %t0, %gid, 255;")
        self.put(f"mul.wide.u32 {word}, %t0, 4;")
        self.put(f"add.s64 {source}, %in, {word};")
        self.put("bar.sync 0;")
        self.put(f"mov.u32 {i}, 0;")
        self.out.append(f"{head}:")
        if r.random() < 0.25:
            self.put(f"cp.async.ca.shared.global [{mine}], [{source}], 4;")
            self.put("cp.async.commit_group;")
            self.put("cp.async.wait_group 0;")
        else:
            self.put(f"ld.global.u32 {v}, [{source}];")
            self.put(f"st.shared.u32 [{mine}], {v};")
        self.put("bar.sync 0;")
        self.put(f"ld.shared.u32 {x}, [{near}];")
        to = self.reg("r")
        self.put(f"mad.lo.s32 {to}, {x}, {r.choice(('3', i, '%n'))}, {to};")
        if r.random() < 0.5:
            self.chain()
        self.put("bar.sync 0;")
        self.put(f"add.s64 {source}, {source}, {4 * r.choice((1, 32, 100))};")
        self.put(f"add.s32 {i}, {i}, 1;")
        self.put(f"setp.{r.choice(('lt.s32', 'ne.s32', 'lt.u32'))} {go}, {i}, {trips};")
        self.put(f"@{go} bra {head};")
