"""Makes the tables of machine words (nvir/toolchain/words) from nvdisasm's own listings.

    python benchmarks/sass_table.py FOLDER --arch sm_80 [--half] [--flips SECONDS] [-o FILE]
                                    [--mend FILE]

FOLDER holds PTX, or cubins. Each is assembled for the architecture and listed; a sample is a word
without its control bits, with the text beside it. Samples with other registers, and with single
bits of modifiers turned over, are added, and of each opcode the forms that no sample has (another
operand a literal, a constant or a uniform register): nvdisasm says what they are (`-b`), at most
SECONDS long, for it stops at each word that is none. Of each opcode (bits 0 to 11 and 91) is then
learned

  - its slots: where a field's value is the number of a register that the text names, in all
    samples in which it is none of the zero registers, or in those that a few other bits tell;
  - its names: each part of the opcode's text, and each count of registers, is a function of the
    fewest bits that decide it in all samples (dropped one by one, those least likely first);
  - what was never seen otherwise: such a word is not known to the table. A bit that changes only
    together with deciding bits counts as one of them.

With --half the table is learned on every second file and judged on the others: the share of
words, and of functions, that it knows, and how many of them it gets wrong. With --mend the rows of
that table stay but where a sample shows them to be wrong or to lack something, if what is learned
instead is better.
"""

from __future__ import annotations

import argparse
import functools
import random
import re
import subprocess
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from nvir.sm.body import Span
from nvir.toolchain import ToolError, find, ptxas
from nvir.toolchain.nvdisasm import disassemble
from nvir.toolchain.sass import split_operands
from nvir.toolchain.sass_operands import operands_of
from nvir.toolchain.sass_words import _WHERE, WordTable, _cut, _facts, decoded

CONTROL = ((1 << 21) - 1) << 105
MODIFIERS = range(72, 105)
RARE = 16  # words of an opcode below which a register may have had one number in all of them
MOST, FEW = 7, 3  # bits that one thing, and the presence of a register, may depend on
FACTS = range(128, 133)
REGISTERS = (16, 24, 32, 40, 48, 56, 64, 72)  # where the number of one may begin
PREDICATES = (24, *range(64, 103))
USUAL = {16: 0, 24: 1, 32: 2, 64: 3, 81: 0, 84: 1, 87: 2, 77: 3, 68: 4}
Sample = tuple[str, tuple[Span, ...], tuple[Span, ...], Span | None]
Samples = dict[int, Sample]


def key_of(word: int) -> int:
    return word & 0xFFF | word >> 79 & 0x1000


@functools.lru_cache(1 << 18)
def parse(text: str) -> Sample:
    """Opcode, written, read and guard of an instruction's text."""
    guard, rest = "", text
    if text.startswith("@"):
        guard, _, rest = text.partition(" ")
    opcode, _, operands = rest.partition(" ")
    return opcode, *operands_of(opcode, tuple(split_operands(operands)), guard)


# ------------------------------------------------------------------------- samples


class Listing:
    """The words of many cubins: their texts, the functions that hold them, their branches."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self.functions: dict[tuple[str, str], set[int]] = {}  # (file, function) → words
        self.where: dict[int, set[str]] = {}

    def add(self, path: Path, arch: str) -> None:
        cubin = path.read_bytes() if path.suffix == ".cubin" else ptxas(path, arch).cubin
        try:
            listed = disassemble(cubin, live=False) if cubin else {}
        except ToolError as e:
            print(f"{path.name}: {e}")
            return
        for name, code in listed.items():
            words = self.functions.setdefault((path.name, name), set())
            for one in code:
                assert one.encoding is not None
                word = one.encoding & ~CONTROL
                words.add(word)
                operands = re.sub(r"`\([^)]*\)", "`(L)", ", ".join(one.operands))
                self.texts[word] = f"{one.guard} {one.opcode} {operands}".strip()
                if one.target is not None:
                    fits = {k for k, how in _WHERE.items()
                            if one.address + 16 + how(word) == one.target}
                    self.where[key_of(word)] = self.where.get(key_of(word), fits) & fits


def variants(words: Iterable[int], texts: dict[int, str]) -> list[tuple[int, Hashable]]:
    """Words with other registers and with a modifier's bit turned over, each with its kind."""
    rng = random.Random(1)
    groups = defaultdict(list)
    for word in sorted(words):
        groups[key_of(word)].append(word)
    predicates = 0x1FF << 81 | 1 << 90
    out: list[tuple[int, Hashable]] = []
    for key, group in groups.items():
        seen = {w >> 72 & ~(predicates >> 72): w for w in group}
        chosen = rng.sample(list(seen.items()), min(8, len(seen)))
        varied = functools.reduce(lambda a, w: a | (w ^ group[0]), group, 0)
        fields = [b for b in (16, 24, 64, *([32] if key >> 9 & 7 not in (4, 5) else []))
                  if varied >> b & 255 or len(group) < RARE]
        for bits, word in chosen:
            for turn in range(3):
                changed = word
                for at in fields:
                    changed = _put(changed, at, 8, rng.randrange(63 if turn else 250))
                for at in (81, 84, 87, 12) if turn else ():
                    changed = _put(changed, at, 3, rng.randrange(7))
                out.append((changed, (key, bits)))
            if "IMAD" in texts[word]:  # its name depends on what is zero
                for zero in range(8):
                    changed = word
                    for k, at in enumerate(fields):
                        value = 255 if zero >> k % 3 & 1 else rng.randrange(60)
                        changed = _put(changed, at, 8, value)
                    out.append((changed, (key, zero, "zero")))
                    out += [(_put(changed, 32, 32, n), (key, zero, "zero")) for n in (1, 32)
                            if key >> 9 & 7 == 4]
        out += [(word ^ 1 << b, (key, b, "bit")) for _, word in chosen[:5] for b in MODIFIERS
                if b != 91 and (varied >> b & 1 or b < 81)]
    rng.shuffle(out)
    return out


def other_forms(words: Iterable[int]) -> list[tuple[int, Hashable]]:
    """Words of the same opcodes (bits 0 to 8) in forms (bits 9 to 11, and 91) that none of them
    has, each with its kind."""
    rng = random.Random(1)
    groups = defaultdict(list)
    for word in sorted(words):
        groups[word & 0x1FF].append(word)
    known = {key_of(w) for w in words}
    form = 0xE00 | 1 << 91
    out: list[tuple[int, Hashable]] = []
    for base, group in groups.items():
        for bits in (f << 9 | u << 91 for f in range(8) for u in range(2)):
            if key_of(base | bits) not in known:
                for word in rng.sample(group, min(6, len(group))):
                    register = _put(word & ~form | bits, 32, 32, rng.randrange(60))
                    out.append((register, key_of(base | bits)))
    return out


def _put(word: int, at: int, bits: int, value: int) -> int:
    return word & ~((1 << bits) - 1 << at) | value << at


_CODE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?([^;]*?)\s*;\s*/\* 0x([0-9a-f]{16})")
_REST = re.compile(r"^\s*/\* 0x([0-9a-f]{16})")


def named(words: Sequence[tuple[int, Hashable]], arch: str, seconds: float) -> dict[int, str]:
    """What nvdisasm calls such words; where it refuses one, its kind is left out."""
    start, refused, out = time.monotonic(), set[Hashable](), dict[int, str]()
    machine = arch.upper().replace("_", "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.bin"
        for at in range(0, len(words), 250):
            rest = [x for x in words[at : at + 250] if x[1] not in refused]
            while rest and time.monotonic() - start < seconds:
                path.write_bytes(b"".join(w.to_bytes(16, "little") for w, _ in rest))
                command = [str(find("nvdisasm")), "-b", machine, "-hex", "-ndf", str(path)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                bad = re.search(r"address 0x([0-9a-f]+)", done.stderr)
                if bad is None:
                    out |= _read(done.stdout)
                    break
                refused.add(rest[int(bad[1], 16) // 16][1])
                rest = [x for x in rest if x[1] not in refused]
    return {w: t for w, t in out.items() if "INVALID" not in t and "?" not in t}


def _read(text: str) -> dict[int, str]:
    out, code = {}, None
    for line in text.splitlines():
        if found := _CODE.match(line):
            code = re.sub(r"`\([^)]*\)", "`(L)", found[1]).replace(".reuse", ""), int(found[2], 16)
        elif code is not None and (found := _REST.match(line)):
            out[code[1] | int(found[1], 16) << 64] = code[0]
            code = None
    return out


# ------------------------------------------------------------------------- learning


def decide(words: Sequence[int], values: Sequence[Hashable], bits: Iterable[int]
           ) -> tuple[int, ...] | None:
    """The fewest of `bits` (most wanted first) that decide the values; None if all do not."""
    rows = list(set(zip(words, values, strict=True)))
    if len({v for _, v in rows}) == 1:
        return ()
    varied = functools.reduce(lambda a, r: a | (r[0] ^ rows[0][0]), rows, 0)
    chosen = [b for b in bits if varied >> b & 1]

    def suffice(some: Sequence[int]) -> bool:
        mask = sum(1 << b for b in some)
        seen: dict[int, Hashable] = {}
        return all(seen.setdefault(w & mask, v) == v for w, v in rows)

    if not suffice(chosen):
        return None
    for b in reversed(chosen):
        fewer = [x for x in chosen if x != b]
        if suffice(fewer):
            chosen = fewer
    return tuple(sorted(chosen))


class NoField(ValueError):
    """A register of a sample is in no field of its word."""

    def __init__(self, word: int, text: str) -> None:
        super().__init__(text)
        self.word = word & (1 << 128) - 1


class Slot:
    """A field that names registers; `words` by sample, None where it names a zero register."""

    def __init__(self, role: str, file: str, at: int | str, size: int, words: list[int | None]
                 ) -> None:
        self.role, self.file, self.at, self.size, self.words = role, file, at, size, words
        self.bits: tuple[int, ...] = ()

    def first(self, word: int) -> int:
        if isinstance(self.at, str):
            return int(self.at[1:] or -1)
        return word >> self.at & (1 << self.size) - 1

    def fields(self) -> range:
        return range(self.at, self.at + self.size) if isinstance(self.at, int) else range(0)


class Learned:
    """What the samples of one opcode say. Raises ValueError where they cannot be told apart."""

    def __init__(self, samples: Samples, uniform: int,
                 behind: Callable[[str], dict[str, set[str]]], labelled: set[int]) -> None:
        self.labels = [w in labelled for w in samples]
        self.samples = {_facts(w): s for w, s in samples.items()}
        self.words, self.uniform, self.behind = list(self.samples), uniform, behind
        reads = {w: list(s[2][: -1 if s[3] else None]) for w, s in self.samples.items()}
        guards = {w: [s[3]] if s[3] else [] for w, s in self.samples.items()}
        self.slots = [
            *(self._slots("g", guards) or [self._usual_guard()]),
            *self._slots("w", {w: list(s[1]) for w, s in self.samples.items()}),
            *self._slots("r", reads),
        ]
        used = {b for s in self.slots for b in s.fields()}
        free = [b for b in MODIFIERS if b not in used and b != 91]
        others = [b for b in range(12, 72) if b not in used]
        self.pools = [free, [*free, *FACTS], [*free, *FACTS, *others]]
        self.names = self._names()
        for slot in self.slots:
            known = [(w, n) for w, n in zip(self.words, slot.words, strict=True) if n is not None]
            slot.bits = self._decide([w for w, _ in known], [n for _, n in known])
        self.check = self._close(used)

    def _usual_guard(self) -> Slot:
        """Of an opcode that was never seen with one."""
        uniform = all(s[0].startswith("U") for s in self.samples.values())
        return Slot("g", "UP" if uniform else "P", 12, 3, [1] * len(self.words))

    def _decide(self, words: Sequence[int], values: Sequence[Hashable]) -> tuple[int, ...]:
        for pool in self.pools:
            found = decide(words, values, pool)
            if found is not None and len(found) <= MOST:
                return found
        raise ValueError(f"nothing decides {sorted(map(str, set(values)))[:6]}")

    # -- slots

    def _slots(self, role: str, lists: dict[int, list[Span]]) -> list[Slot]:
        found = []
        for file in sorted({s.file for spans in lists.values() for s in spans}):
            found += self._slots_of(role, file, {
                w: [s for s in spans if s.file == file] for w, spans in lists.items()
            })
        before: Counter[tuple[int, int]] = Counter()
        for k, word in enumerate(self.words):
            places = {}
            for n, slot in enumerate(found):
                at = [i for i, s in enumerate(lists[word])
                      if slot.words[k] and (s.file, s.first) == (slot.file, slot.first(word))]
                if len(at) == 1:
                    places[n] = at[0]
            before.update((a, b) for a in places for b in places if places[a] < places[b])
        behind = {n: sum(before[m, n] > before[n, m] for m in range(len(found)))
                  for n in range(len(found))}
        return [found[n] for n in sorted(behind, key=behind.__getitem__)]

    def _slots_of(self, role: str, file: str, left: dict[int, list[Span]]) -> list[Slot]:
        size = {"R": 8, "UR": self.uniform.bit_length()}.get(file, 3)
        places: Iterable[int] = REGISTERS if file in ("R", "UR") else PREDICATES
        places = [12] if role == "g" else places
        numbers = {w: {s.first for s in spans} for w, spans in left.items()}
        found: list[Slot] = []
        while any(left.values()):
            slot = self._next_slot(role, file, size, places, left, numbers, found)
            found.append(slot)
            if isinstance(slot.at, str):
                for spans in left.values():
                    spans[:] = spans[1:] if slot.at != "^" else []
                continue
            for word, n in zip(self.words, slot.words, strict=True):
                if n:
                    spans = left[word]
                    first = slot.first(word)
                    spans.pop(next(k for k, s in enumerate(spans) if s.first == first))
        return found

    def _next_slot(
        self, role: str, file: str, size: int, places: Iterable[int],
        left: dict[int, list[Span]], numbers: dict[int, set[int]], found: list[Slot],
    ) -> Slot:
        used = {b for s in found for b in s.fields()}
        choices = []
        for at in places:
            if used.isdisjoint(range(at, at + size)):
                words, absent, hits = self._count(at, size, left, numbers)
                if hits:
                    rank = -hits if absent else USUAL.get(at, 10 + at)
                    choices.append((absent > 0, rank, at, words))
        for some, _, at, words in sorted(choices, key=lambda c: c[:3]):
            slot = Slot(role, file, at, size, words)
            known = [(w, n) for w, n in zip(self.words, words, strict=True) if n is not None]
            others = [b for b in (*MODIFIERS, *range(64, 72)) if b not in slot.fields()]
            bits = decide([w for w, _ in known], [n > 0 for _, n in known], others)
            if not some or (bits is not None and len(bits) <= FEW):
                return slot
        if all(sorted(numbers[w]) == [k for k in range(7) if w >> 32 + k & 1] for w in left):
            return Slot(role, file, "^", 0, [1] * len(self.words))
        same = {tuple(spans[:1]) for spans in left.values()}
        if len(same) == 1:
            ((only,),) = same
            return Slot(role, file, f"={only.first}", 0, [only.words] * len(self.words))
        word = next(w for w in left if left[w])
        raise NoField(word, f"no field for {left[word]} of {self.samples[word]} ({word:x})")

    def _count(self, at: int, size: int, left: dict[int, list[Span]],
               numbers: dict[int, set[int]]) -> tuple[list[int | None], int, int]:
        """Of each sample the registers that a field there names, 0 where the text has none."""
        zero = (1 << size) - 1
        words: list[int | None] = []
        absent = hits = 0
        for word in self.words:
            first = word >> at & zero
            fits = [s.words for s in left[word] if s.first == first]
            if first == zero or (not fits and first in numbers[word]):
                words.append(None)
            else:
                words.append(fits[0] if fits else 0)
                hits, absent = hits + bool(fits), absent + (not fits)
        return words, absent, hits

    # -- names

    def _names(self) -> list[tuple[tuple[int, ...], list[str]]]:
        texts = {w: s[0].split(".") for w, s in self.samples.items()}
        has = {w: set(_numbered(t)) for w, t in texts.items()}
        families = {t[0] for t in texts.values()}
        behind = self.behind(min(families)) if len(families) == 1 else {}
        parts = sorted({p for h in has.values() for p in h})
        alone = [({p}, set(self._decide(self.words, [p in h for h in has.values()])))
                 for p in parts]
        groups = None
        if len(families) == 1:
            groups = _in_order(_merged(alone, list(has.values())), behind)
            groups = groups or _in_order(alone, behind)
        if groups is None:  # parts stand in one order here and in another there: they are one name
            has = {w: {t[0], ".".join(t[1:])} for w, t in texts.items()}
            groups = [families, {".".join(t[1:]) for t in texts.values()}]
        out = []
        for group in groups:
            values = [".".join(p.partition("#")[0] for p in sorted(group & h))
                      for h in has.values()]
            out.append((self._decide(self.words, values), values))
        return out

    def _close(self, used: set[int]) -> int:
        """Bits that never vary; those that vary only with deciding bits join the nearest."""
        deciding = sum(1 << b for b in {
            *(b for bits, _ in self.names for b in bits), *(b for s in self.slots for b in s.bits)
        })
        seen: dict[int, list[int]] = {}
        for word in self.words:
            ones = seen.setdefault(word & deciding, [0, 0])
            ones[0], ones[1] = ones[0] | word, ones[1] | ~word
        apart = functools.reduce(lambda a, x: a | x[0] & x[1], seen.values(), 0)
        varied = functools.reduce(lambda a, w: a | (w ^ self.words[0]), self.words, 0)
        check = 0
        for b in MODIFIERS:
            if b in used or b == 91 or deciding >> b & 1:
                continue
            if not varied >> b & 1:
                check |= 1 << b
            elif not apart >> b & 1:
                near = [min((abs(b - x) for x in bits), default=99) for bits, _ in self.names]
                k = near.index(min(near))
                self.names[k] = tuple(sorted({*self.names[k][0], b})), self.names[k][1]
        return check

    def line(self, key: int, where: str) -> str:
        """The row of the table; see `nvir.toolchain.sass_words`."""
        how = [where if has else "" for has in self.labels]
        where = _choice(self.words, self._decide(self.words, how), how) if where else ""
        check = f"{self.check >> 72:x}={(self.words[0] & self.check) >> 72:x}"
        names = " ".join(_choice(self.words, bits, values) for bits, values in self.names)
        slots = []
        for s in self.slots:
            count = _choice(self.words, s.bits, s.words)
            slots.append(f"{s.role}{s.file}{s.at}" + ("" if count == ":1" else f"*{count}"))
        return f"{key:x}|{where}|{check}|{names}|{' '.join(slots)}"


def _numbered(parts: Sequence[str]) -> list[str]:
    """Parts, from the second of the same text on with a number."""
    return [p if p not in parts[:k] else f"{p}#{parts[:k].count(p)}" for k, p in enumerate(parts)]


def _choice(words: Sequence[int], bits: tuple[int, ...], values: Sequence[Any]) -> str:
    table = {_cut(w, bits): v for w, v in zip(words, values, strict=True) if v is not None}
    if not bits:
        return f":{table[0]}"
    return ",".join(map(str, bits)) + ":" + ",".join(f"{n}={table[n]}" for n in sorted(table))


Group = tuple[set[str], set[int]]  # parts of which each word has one at most; bits that decide


def _merged(alone: Sequence[Group], has: Sequence[set[str]]) -> list[Group]:
    """Parts that the same bits decide, and that never stand together, as one group."""
    out: list[Group] = []
    for parts, bits in alone:
        for group, known in out:
            if bits & known and all(len(h & (group | parts)) < 2 for h in has):
                group |= parts
                known |= bits
                break
        else:
            out.append((set(parts), set(bits)))
    return out


def _in_order(groups: Sequence[Group], behind: dict[str, set[str]]) -> list[set[str]] | None:
    """The groups as their parts stand in opcodes; None where there is no such order."""
    left = [parts for parts, _ in groups]
    out = []
    while left:
        first = next((x for x in left if not any(
            behind.get(p, set()) & x for other in left if other is not x for p in other
        )), None)
        if first is None:
            return None
        out.append(first)
        left.remove(first)
    return out


def orders(opcodes: Iterable[str]) -> Callable[[str], dict[str, set[str]]]:
    """Family → part of its opcodes → the parts that stand behind it somewhere."""
    found: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for opcode in set(opcodes):
        parts = _numbered(opcode.split("."))
        for k, part in enumerate(parts):
            found[parts[0]].setdefault(part, set()).update(parts[k + 1 :])
    return found.__getitem__


def learn(real: dict[int, str], more: dict[int, str], where: dict[int, set[str]], uniform: int
          ) -> str:
    """The text of a table of the opcodes that are real."""
    groups: dict[int, Samples] = defaultdict(dict)
    for word, text in real.items():
        groups[key_of(word)][word] = parse(text)
    for word in more.keys() - real.keys():
        if key_of(word) in groups:
            groups[key_of(word)][word] = parse(more[word])
    behind = orders(s[0] for g in groups.values() for s in g.values())
    labelled = {w for w, text in (more | real).items() if "`(L)" in text}
    rows = []
    for key in sorted(groups):
        own = {w: s for w, s in groups[key].items() if w in real}
        for samples in (groups[key], own):  # rather without the others than wrong
            how = min(where.get(key, ()), default="")
            row = _row(key, samples, real, uniform, behind, how, labelled)
            if row is None:
                continue
            table = WordTable(f"uniform {uniform}\n{row}")
            if not any(wrong(w, s, table)
                               for w, s in own.items()):
                rows.append(row)
                break
        else:
            print(f"{key:x} has no row")
    return "\n".join([f"uniform {uniform}", *rows]) + "\n"


def _row(
    key: int, samples: Samples, real: dict[int, str], uniform: int,
    behind: Callable[[str], dict[str, set[str]]], where: str, labelled: set[int],
) -> str | None:
    samples = dict(samples)
    while True:
        try:
            return Learned(samples, uniform, behind, labelled).line(key, where)
        except NoField as e:
            if e.word in real:
                return None
            del samples[e.word]  # no assembler makes such a word
        except ValueError:
            return None


def wrong(word: int, sample: Sample, table: WordTable) -> bool:
    """Whether the table says something else than the text, or nothing."""
    found = decoded(word, table)
    return found is None or (
        (found[0].opcode, found[0].writes, found[0].reads, found[0].guard) != sample)


def mended(
    before: str, real: dict[int, str], more: dict[int, str], where: dict[int, set[str]]
) -> str:
    """The text of a table with the rows that are better if learned anew; all, of an empty one."""
    old = WordTable(before)
    groups: dict[int, Samples] = defaultdict(dict)
    for word, text in {**more, **real}.items():
        groups[key_of(word)][word] = parse(text)

    def faults(key: int, table: WordTable) -> tuple[bool, int, int]:
        known = key in table.lines
        failed = [w for w, s in groups[key].items() if not known or wrong(w, s, table)]
        return not known, sum(w in real for w in failed), len(failed)

    worse = {k for k in groups if any(faults(k, old))}
    text = learn({w: x for w, x in real.items() if key_of(w) in worse}, more, where, old.uniform)
    new = WordTable(text)
    rows = {**old.lines, **{k: new.lines[k] for k in worse & new.lines.keys()
                            if faults(k, new) < faults(k, old)}}
    return "\n".join([f"uniform {old.uniform}", *(f"{k:x}|{rows[k]}" for k in sorted(rows))]) + "\n"


def judge(text: str, listing: Listing, chosen: Callable[[str], bool]) -> None:
    """How many words and functions of the files that were not learned from the table knows."""
    table = WordTable(text)
    unknown, wrong = Counter[str](), Counter[str]()
    state: dict[int, int] = {}
    for words in (w for (file, _), w in listing.functions.items() if not chosen(file)):
        for word in words - state.keys():
            sample, found = parse(listing.texts[word]), decoded(word, table)
            made = found and found[0]
            state[word] = 1
            if made is None:
                state[word] = 0
                unknown[f"{key_of(word):x} {sample[0]}"] += 1
            elif (made.opcode, made.writes, made.reads, made.guard) != sample:
                state[word] = -1
                wrong[f"{key_of(word):x} {listing.texts[word]} is not {made!r}"] += 1
    whole = [min(state[w] for w in words) for (file, _), words in listing.functions.items()
             if words and not chosen(file)]
    print(f"{len(state)} words: {sum(unknown.values())} unknown, {sum(wrong.values())} wrong")
    print(f"{len(whole)} functions: {whole.count(0)} with unknown words, {whole.count(-1)} wrong")
    for name, found in (("unknown", unknown), ("wrong", wrong)):
        for what, n in found.most_common(12):
            print(f"    {name} {n} × {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", help="folders of PTX or cubins")
    parser.add_argument("--arch", required=True)
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--flips", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--mend", type=Path, metavar="FILE")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    listing = Listing()
    for path in sorted(p for f in given.folders for p in f.rglob("*") if p.suffix in
                       (".ptx", ".cubin")):
        listing.add(path, given.arch)

    def chosen(file: str) -> bool:
        return not given.half or zlib.crc32(file.encode()) % 2 == 1

    words = {w for (file, _), ws in listing.functions.items() if chosen(file) for w in ws}
    texts = {w: listing.texts[w] for w in words}
    families = {(w & 0x1FF, parse(t)[0].partition(".")[0]) for w, t in texts.items()}
    texts |= {w: t for w, t in named(other_forms(words), given.arch, given.flips).items()
              if (w & 0x1FF, parse(t)[0].partition(".")[0]) in families}
    uniform = 255 if int(given.arch[3:].rstrip("af")) >= 100 else 63
    more = named(variants(texts, texts), given.arch, given.flips)
    table = mended(given.mend.read_text() if given.mend is not None else f"uniform {uniform}\n",
                   texts, more, listing.where)
    if given.output is not None:
        given.output.write_text(table)
    judge(table, listing, chosen if given.half else lambda _: False)


if __name__ == "__main__":
    main()
