"""Micro-operation templates against the real assembler, one kernel for each form of use.

    python benchmarks/templates.py [--arch sm_80 --arch sm_90a …] [--show N] [FILE.ptx …]

Every operation that the PTX files use (default: examples/ptx) is put into a kernel of its own:
its register operands are loaded from memory, its results stored. What nvdisasm shows of the
kernel up to its EXIT is counted by operation family, and so is what `nvir.sm.machine` predicts
of the same text. Operations that ptxas takes one for another count as one family (`FAMILY`), and
what a kernel needs around the operation (reading parameters, returning) is left out.

Prints, for each architecture, how many uses and spellings have a template and how many of their
kernels agree exactly, weighted by how often the files use them and not.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import attrs

from nvir.ir.errors import NvirError
from nvir.ir.values import SpecialRegister, Symbol, SymbolOffset, Value
from nvir.ptx.reader import read_ptx
from nvir.sm.machine import literal_of, machine
from nvir.sm.profile import profile_for
from nvir.toolchain import SassInstruction, disassemble, ptxas

ROOT = Path(__file__).resolve().parent.parent
BATCH = 250  # kernels in one call of the assembler

# What control flow and calls are made of is no single operation.
SKIPPED = frozenset(
    ("bra", "ret", "exit", "call", "brx.idx", "trap", "brkpt", "unknown", "alloca", "stacksave",
     "stackrestore")
)


@attrs.frozen
class Use:
    """One way to use an operation. `kinds` and `results` are register classes b32, pred …;
    a source may also be a literal ("=4"), a special register ("%tid.x") or a symbol ("&")."""

    spelling: str
    shape: str
    kinds: tuple[str, ...]
    results: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.spelling} {self.shape} ({', '.join((*self.results, *self.kinds))})"


def kind_of(v: Value) -> str:
    literal = literal_of(v)
    if literal is not None:
        return f"={literal.name}"
    if isinstance(v, SpecialRegister):
        return v.name
    if isinstance(v, Symbol | SymbolOffset):
        return "&"
    return class_of(v)


def class_of(v: Value) -> str:
    """The name of a value's register class."""
    cls = getattr(v.type, "cls", None)
    return cls.name if cls is not None else v.type.name


def trimmed(uses: Counter[Use], literals: int = 2) -> Counter[Use]:
    """The most common literals of each form stand for all, so that there are fewer kernels."""
    groups: dict[Use, list[Use]] = {}
    for use, _ in uses.most_common():
        kinds = tuple("=" if k.startswith("=") else k for k in use.kinds)
        groups.setdefault(attrs.evolve(use, kinds=kinds), []).append(use)
    out: Counter[Use] = Counter()
    for group in groups.values():
        for n, use in enumerate(group):
            out[group[n % literals]] += uses[use]
    return out


def uses_of(paths: Iterable[Path]) -> Counter[Use]:
    """How often the files use each operation in each way. Literals in addresses count as one."""
    found: Counter[Use] = Counter()
    for path in paths:
        try:
            module = read_ptx(path)
        except NvirError:
            continue
        for function in module.functions:
            for i in function.instructions():
                f = i.form
                if f.op.pseudo or f.name in SKIPPED or f.n_sources < 0:
                    continue
                kinds = [kind_of(v) for v in i.sources]
                for _, offset in f.addresses:
                    if offset >= 0:
                        kinds[offset] = "=16"
                carry = f.carry_out
                results = tuple(class_of(r) for r in i.results[: len(i.results) - carry])
                found[Use(f.spelling, f.shape, tuple(kinds), results)] += 1
    return found


# --------------------------------------------------------------------------- the kernels

_PREFIX = {"b8": "%c", "b16": "%h", "b32": "%r", "b64": "%d", "b128": "%q", "pred": "%p"}
_SYMBOL = {"shared": "sm", "global": "gl", "const": "co", "local": "lo", "param": "q"}
_BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b128": 16, "pred": 4}


def header(arch: str) -> str:
    return (
        f".version 8.7\n.target {arch}\n.address_size 64\n"
        ".global .align 16 .b8 gl[4096];\n.const .align 16 .b8 co[4096];\n"
        ".shared .align 16 .b8 sm[4096];\n"
    )


def kernel(use: Use, name: str) -> str | None:
    """A kernel that loads the operands, does the operation once, and stores its results."""
    regs: dict[str, int] = dict.fromkeys(_PREFIX, 1)
    body: list[str] = []
    place = 0

    def register(cls: str) -> str:
        regs[cls] += 1
        return f"{_PREFIX[cls]}{regs[cls]}"

    def loaded(cls: str) -> str:
        nonlocal place
        place += 64
        r = register(cls)
        if cls == "pred":
            v = register("b32")
            body.append(f"ld.volatile.global.u32 {v}, [%d1+{place}]; setp.ne.s32 {r}, {v}, 0;")
        elif cls == "b128":
            a, b = register("b64"), register("b64")
            body.append(f"ld.volatile.global.v2.b64 {{{a},{b}}}, [%d1+{place}];")
            body.append(f"mov.b128 {r}, {{{a},{b}}};")
        else:
            body.append(f"ld.volatile.global.b{8 * _BYTES[cls]} {r}, [%d1+{place}];")
        return r

    space = next((s for s in _SYMBOL if re.search(rf"\.{s}\b", use.spelling)), "shared")
    sources = []
    for kind in use.kinds:
        if kind.startswith("="):
            sources.append(kind[1:])
        elif kind.startswith("%"):
            sources.append(kind)
        elif kind == "&":
            sources.append(_SYMBOL[space])
        elif kind in _PREFIX:
            sources.append(loaded(kind))
        else:
            return None
    results = []
    for cls in use.results:
        if cls not in _PREFIX:
            return None
        results.append(register(cls))
    filled = _fill(use, sources, results, body, loaded)
    if filled is None:
        return None
    body.append(filled)
    for r, cls in zip(results, use.results, strict=True):
        place += 64
        if cls == "pred":
            v = register("b32")
            body.append(f"selp.u32 {v}, 1, 0, {r}; st.global.u32 [%d1+{place}], {v};")
        elif cls == "b128":
            a, b = register("b64"), register("b64")
            body.append(f"mov.b128 {{{a},{b}}}, {r}; st.global.v2.b64 [%d1+{place}], {{{a},{b}}};")
        else:
            body.append(f"st.global.b{8 * _BYTES[cls]} [%d1+{place}], {r};")
    declared = " ".join(
        f".reg .{c} {p}<{regs[c] + 1}>;" for c, p in _PREFIX.items() if c != "b128" or regs[c] > 1
    )
    local = ".local .align 16 .b8 lo[256];" if space == "local" else ""
    return (
        f".visible .entry {name}(.param .u64 p, .param .align 16 .b8 q[256]) {{\n"
        f"{declared} {local}\n"
        "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.z; mad.wide.u32 %d1, %r1, 5000, %d1;\n"
        + "\n".join(body) + "\nret;\n}\n"
    )


def _fill(
    use: Use, sources: list[str], results: list[str], body: list[str], loaded: object
) -> str | None:
    """The operation's text: results and sources put into the slots of its shape."""
    from nvir.ir.opcodes.form import form

    f = form(use.spelling, use.shape)
    if f.n_sources != len(sources) or f.n_results - f.carry_out != len(results):
        return None
    for r, _ in f.ties:
        old = loaded(use.results[r])  # type: ignore[operator]
        body.append(f"mov.b{8 * _BYTES[use.results[r]]} {results[r]}, {old};")
    text = use.shape
    for slot in f.slots:
        value = results[slot] if slot >= 0 else sources[~slot]
        text = text.replace("%s", value.replace("%", "\0"), 1)
    return f"{use.spelling} {text};".replace("\0", "%").replace("+-", "-")


# ------------------------------------------------------------------------- the assembler


def assembled(uses: Sequence[Use], arch: str) -> dict[Use, list[SassInstruction]]:
    """What ptxas makes of each use; those that the architecture refuses are left out."""
    found: dict[Use, list[SassInstruction]] = {}
    for start in range(0, len(uses), BATCH):
        found.update(_batch(uses[start : start + BATCH], arch))
    return found


def _batch(uses: Sequence[Use], arch: str) -> dict[Use, list[SassInstruction]]:
    rest = {f"k{n}": (use, text) for n, use in enumerate(uses) if (text := kernel(use, f"k{n}"))}
    while rest:
        text, first = header(arch), {}
        for name, (_, one) in rest.items():
            first[text.count("\n") + 1] = name
            text += one
        result = ptxas(text, arch, timeout=300)
        if result.ok:
            assert result.cubin is not None
            code = disassemble(result.cubin, live=False)
            return {use: code[name] for name, (use, _) in rest.items() if name in code}
        lines = sorted(first)
        bad = set()
        for message in result.messages:
            if message.severity == "error" and message.line:
                bad.add(first[max((n for n in lines if n <= message.line), default=lines[0])])
        if not bad:
            if len(rest) == 1:
                return {}
            half = [use for use, _ in rest.values()]
            middle = len(half) // 2
            return {**_batch(half[:middle], arch), **_batch(half[middle:], arch)}
        for name in bad:
            del rest[name]
    return {}


# ---------------------------------------------------------------------------- comparison

# What ptxas takes one for another, and what differs between architectures in name alone.
FAMILY = {
    "IMAD.MOV": "MOV", "IMAD.U32": "MOV", "MOV32I": "MOV", "UMOV": "MOV", "CS2R": "MOV",
    "IADD3": "IADD", "VIADD": "IADD", "IMAD.IADD": "IADD", "IADD32I": "IADD", "IADD.64": "IADD64",
    "IADD3.X": "IADD.X", "IMAD.X": "IADD.X", "IMAD.SHL": "SHF", "SHL": "SHF", "SHR": "SHF",
    "LOP": "LOP3", "LOP32I": "LOP3", "HFMA2.MMA": "HFMA2", "HADD2.MMA": "HADD2",
    "HMUL2.MMA": "HMUL2", "FMUL32I": "FMUL", "FADD32I": "FADD", "FFMA32I": "FFMA",
    "IMAD.X.MOV": "MOV", "REDG": "RED", "ATOMG": "ATOM", "IMAD32I": "IMAD", "VIMNMX": "IMNMX",
    "IMNMX": "IMNMX", "UIADD3": "IADD", "ULOP3": "LOP3", "USHF": "SHF", "USEL": "SEL",
    "UISETP": "ISETP",
}
_KEPT = ("MOV", "IADD", "X", "SHL", "WIDE", "HI", "U32", "MMA", "64")
_AROUND = frozenset(["EXIT", "NOP", "RET", "ULDC", "LDCU", "S2UR"])


def family(operation: str) -> str:
    """The family of a SASS operation: its opcode and the modifiers that make another of it."""
    name, *modifiers = operation.split(".")
    if name == "IMAD" and modifiers[:1] == ["U32"]:
        return "MOV"
    kept = [m for m in modifiers[:1] if m in _KEPT and m not in ("U32",)]
    if name not in ("IMAD", "IADD3", "IADD", "HFMA2", "HADD2", "HMUL2"):
        kept = []
    full = ".".join([name, *kept])
    return FAMILY.get(full, full)


def observed(code: Sequence[SassInstruction]) -> Counter[str]:
    """Operations of a kernel by family, up to where it ends."""
    counts: Counter[str] = Counter()
    for i in code:
        if i.name == "EXIT" and not i.guard:
            break
        parameter = any("c[0x0]" in o for o in i.operands[1:])
        if i.name in _AROUND or (parameter and (i.name == "LDC" or family(i.opcode) == "MOV")):
            continue
        if i.guard == "@!UPT":  # never runs: a gap that the matrix unit needs
            continue
        made = family(i.opcode)
        if made in ("HFMA2", "HADD2") and "RZ" in i.operands[1] and "RZ" in i.operands[2:3]:
            made = "MOV"
        counts[made] += 1
    return counts


def predicted(use: Use, arch: str) -> Counter[str] | None:
    """The same of what nvir expects; None where a template is missing."""
    text = kernel(use, "k")
    assert text is not None
    function = read_ptx(header(arch) + text).functions[0]
    around = set(list(function.instructions())[:3])  # the pointer that the operands are behind
    counts: Counter[str] = Counter()
    for op in machine(function, profile_for(arch)):
        if op.family is None:
            return None
        made = family(op.family)
        if made not in _AROUND and op.parent not in around:
            counts[made] += 1
    return counts


POINTER = Use("mov.b32", "%s, %s", ("b32",), ("b32",))  # a copy: all but its LDG and STG


def comparable(counts: Counter[str]) -> Counter[str]:
    """Counts without what a call of a slow path has around it."""
    if not counts["CALL"]:
        return counts
    around = ("MOV", "BSSY", "BSYNC", "BRA")
    return Counter({k: n for k, n in counts.items() if k not in around})


@attrs.frozen
class Outcome:
    use: Use
    weight: int
    seen: Counter[str]
    expected: Counter[str] | None

    @property
    def exact(self) -> bool:
        return self.expected is not None and comparable(self.expected) == comparable(self.seen)

    @property
    def difference(self) -> str:
        if self.expected is None:
            return "no template; seen " + " ".join(f"{k}*{n}" for k, n in self.seen.items())
        more, less = self.seen - self.expected, self.expected - self.seen
        return " ".join([*(f"+{k}*{n}" for k, n in more.items()),
                         *(f"-{k}*{n}" for k, n in less.items())])


def outcomes(uses: Counter[Use], arch: str) -> Iterator[Outcome]:
    """Each use that the architecture has, with what was seen and what was expected."""
    base = re.sub(r"[af]$", "", arch)
    made = assembled(list(dict.fromkeys([*uses, POINTER])), arch)
    pointer = observed(made[POINTER]) - Counter(LDG=1, STG=1)
    for use, code in made.items():
        if uses[use]:
            seen = observed(code)
            seen = seen - pointer if seen["IMAD.WIDE"] and seen["S2R"] else seen
            yield Outcome(use, uses[use], seen, predicted(use, base))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="PTX files; default: examples/ptx")
    parser.add_argument("--arch", action="append", help="sm_80, sm_90a and sm_100a by default")
    parser.add_argument("--show", type=int, default=20, help="differences to list")
    options = parser.parse_args()
    paths = options.files or sorted((ROOT / "examples" / "ptx").glob("*.ptx"))
    uses = uses_of(paths)
    for arch in options.arch or ("sm_80", "sm_90a", "sm_100a"):
        show(list(outcomes(uses, arch)), arch, options.show)


def show(found: list[Outcome], arch: str, count: int) -> None:
    spellings: dict[str, list[Outcome]] = {}
    for o in found:
        spellings.setdefault(o.use.spelling, []).append(o)
    known = [o for o in found if o.expected is not None]
    exact = [o for o in known if o.exact]
    weight = sum(o.weight for o in found) or 1
    whole = sum(all(o.expected is not None for o in group) for group in spellings.values())
    good = sum(all(o.exact for o in group) for group in spellings.values())
    print(f"{arch}: {len(found)} uses of {len(spellings)} spellings, {weight} instructions")
    for title, some, n in (("with a template", known, whole), ("exact counts", exact, good)):
        print(
            f"  {title:16} {len(some):5} uses ({len(some) / len(found):.1%}), "
            f"{sum(o.weight for o in some) / weight:.1%} weighted, "
            f"{n} spellings ({n / len(spellings):.1%})"
        )
    wrong = sorted((o for o in found if not o.exact), key=lambda o: -o.weight)
    for o in wrong[:count]:
        print(f"  {o.weight:7} {o.use}: {o.difference}")


if __name__ == "__main__":
    main()
