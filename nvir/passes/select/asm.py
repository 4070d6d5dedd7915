"""Inline assembly: its statements become ori instructions.

The template is read by the PTX reader itself, as the body of a function whose registers are the
operands (`$0` … stand for `$asm0` …), and the instructions are moved to the place of the call:

    call i32 asm "add.s32 $0, $1, 7;", "=r,r"(i32 %x)   ==>   add.s32 %r2, %r1, 7;

What that takes: any statements with registers of their own in braces, predicates, guards and
labels, constraints c h r l q f d (and b, a predicate), literals n and i, tied operands, several
outputs. An i128 (q) or a vector is put together before the statements and taken apart behind them.
A volatile block or one that clobbers memory keeps its place by what its statements are: stores,
barriers and unknown mnemonics do not move; a volatile one of pure arithmetic may. Each instruction
is marked `asm` in `function.marks`, the first and last also `asm begin` and `asm end`.

What it does not take is an Unsupported that names it: memory operands (`m`), variables that the
template declares, calls.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from nvir.ir import Argument, Constant, Function, Instruction, ParseError, Value
from nvir.ir.clone import clone_function
from nvir.ir.module import capability
from nvir.ir.nvvm_values import InlineAsm
from nvir.ir.symbols import Variable
from nvir.ir.types import (
    B16,
    B32,
    B64,
    B128,
    F32,
    F64,
    PRED,
    VOID,
    IntType,
    PointerType,
    ScalarType,
    StructType,
    Type,
    VectorType,
    int_type,
)
from nvir.passes.select.lanes import element
from nvir.passes.select.parts import parts
from nvir.passes.select.rules.convert import extended, recast, resize
from nvir.passes.select.selector import Parts, Selector

_CLASSES: dict[str, ScalarType] = {
    "c": B16, "h": B16, "r": B32, "l": B64, "N": B64, "q": B128, "f": F32, "d": F64, "b": PRED,
}
_WIDE_VERSION, _WIDE_CAPABILITY = (8, 3), 70  # the first with registers of 128 bits
_LITERALS = "nis"
_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_PLACE = re.compile(r"\$\$|\$\{(\d+)(?::(\w+))?\}|\$(\d+)|\$\{:uid\}|\$\(|\$\||\$\)")
_HEAD = ".version {}.{}\n.target {}\n.address_size 64\n"


def inline(s: Selector, i: Instruction, asm: InlineAsm) -> Parts:
    """The parts of the results of an inline assembly call."""
    outputs, inputs = _constraints(s, asm, i.operands)
    made_of = () if i.type is VOID else (
        i.type.elements or () if isinstance(i.type, StructType) else (i.type,))
    if len(made_of) != len(outputs) or len(inputs) != len(i.operands):
        raise s.fail(f'inline assembly with constraints "{asm.constraints}"')
    if B128 in outputs or "q" in inputs:
        _need_wide(s)
    names: dict[int, str] = {k: f"%asm{k}" for k in range(len(outputs))}
    given: list[tuple[str, ScalarType, Value]] = []
    copies: list[str] = []
    for j, (letter, v) in enumerate(zip(inputs, i.operands, strict=True)):
        k = len(outputs) + j
        tied = outputs[int(letter)] if letter.isdigit() else None
        if B128 in (tied, _CLASSES.get(letter)):
            x: Value = _joined(s, v)
        else:
            x = s.pointer(v) if isinstance(v.type, PointerType) else _one(s, v)
        if tied is not None:
            type, names[k] = tied, f"%asm{int(letter)}"
            incoming = f"%asmin{k}"
            copies.append(f"mov.{_mov(type)} {names[k]}, {incoming};")
        elif letter in _LITERALS:
            if not isinstance(x, Constant):
                raise s.fail("a literal operand of inline assembly that is none")
            names[k] = x.name
            continue
        else:
            type = _CLASSES[letter]
            names[k] = incoming = f"%asm{k}"
        given.append((incoming, type, s.reg(_fitted(s, x, v, type), _mov(type))))
    text = _PLACE.sub(lambda m: _replacement(m, names), asm.template)
    body = _read(s, asm, text, outputs, given, copies)
    made = _splice(s, body, [v for _, _, v in given], i)
    return tuple(x for v, t, of in zip(made, outputs, made_of, strict=True)
                 for x in _result(s, v, t, of))


def _need_wide(s: Selector) -> None:
    """The module is to have registers of 128 bits."""
    target = s.module.target
    if capability(target.target) < _WIDE_CAPABILITY:
        raise s.fail(f"operands of 128 bits in inline assembly before sm_{_WIDE_CAPABILITY}")
    target.version = max(target.version, _WIDE_VERSION)


def _result(s: Selector, x: Value, t: ScalarType, of: Type) -> Parts:
    """The parts of a result of type `of`, of the register that the statements leave."""
    shape = parts(of)
    if t is B128:
        if [p.bits for p in shape] != [64, 64]:
            raise s.fail('a result of inline assembly with the constraint "=q" that is no i128')
        return tuple(s.ops("mov.b128", x, shape="{%s, %s}"))
    if len(shape) == 1:
        return (resize(s, x, t.bits, shape[0].reg.bits) if _differ(t, shape[0].reg) else x,)
    if not isinstance(of, VectorType) or sum(p.bits for p in shape) != t.bits:
        raise s.fail(f"a result of inline assembly of type {of} in {t.bits} bits")
    return recast(s, (x,), int_type(t.bits), of)


def _one(s: Selector, v: Value) -> Value:
    """An operand in one register: the elements of a vector together."""
    bits = element(v.type).bits * getattr(v.type, "count", 1)
    if len(parts(v.type)) == 1 or not isinstance(v.type, VectorType) or bits not in (16, 32, 64):
        return s.one(v)
    return recast(s, s.use(v), v.type, int_type(bits))[0]


def _joined(s: Selector, v: Value) -> Value:
    """A number of 128 bits in one register."""
    if not (isinstance(v.type, IntType) and v.type.bits == B128.bits):
        raise s.fail('an operand of inline assembly with the constraint "q" that is no i128')
    return s.op("mov.b128", [s.reg(x, "b64") for x in s.use(v)])


def _fitted(s: Selector, x: Value, v: Value, t: ScalarType) -> Value:
    """An integer in a register as wide as its constraint says."""
    if t is B128:
        return x
    if len(parts(v.type)) > 1:
        if x.type.bits != t.bits and not isinstance(x, Constant):
            raise s.fail(f"an operand of inline assembly of type {v.type} in {t.bits} bits")
        return x
    return extended(s, x, v.type, t.bits, "z") if _differ(t, parts(v.type)[0].reg) else x


def _differ(a: ScalarType, b: ScalarType) -> bool:
    return a.cls is not b.cls and PRED not in (a, b)


def _mov(t: ScalarType) -> str:
    return t.name


def _constraints(s: Selector, asm: InlineAsm,
                 given: Sequence[Value]) -> tuple[list[ScalarType], list[str]]:
    """The classes of the outputs, the letters of the inputs: of the alternative (`=r|=r,0|n`) that
    takes the most literals, the first of such."""
    texts = [c for c in asm.constraints.split(",") if c and not c.startswith("~{")]
    kinds = [[c.lstrip("=&%") for c in text.split("|")] for text in texts]
    first = sum(c.startswith("=") for c in texts)
    operands = [None] * first + list(given)
    count = max(map(len, kinds), default=1)
    best: list[str] = []
    for k in range(count):
        chosen = [_letter(c[min(k, len(c) - 1)], v) for c, v in zip(kinds, operands, strict=False)]
        if len(chosen) == len(kinds) and all(chosen) and (
                not best or _literals(chosen) > _literals(best)):
            best = chosen
    if not best and texts:
        wrong = next((text for text, codes, v in zip(texts, kinds, operands, strict=False)
                      if not any(_letter(c, v) for c in codes)), asm.constraints)
        raise s.fail(f'the constraint "{wrong}" of inline assembly')
    return [_CLASSES[c] for c in best[:first]], best[first:]


def _letter(codes: str, v: Value | None) -> str:
    """The one of a constraint's letters that an operand takes, None an output; "" for none."""
    if v is not None and codes.isdigit():
        return codes
    if any(c not in _CLASSES and c not in _LITERALS for c in codes):
        return ""
    if isinstance(v, Constant) and (literals := [c for c in codes if c in _LITERALS]):
        return literals[0]
    return next((c for c in codes if c in _CLASSES), "")


def _literals(letters: list[str]) -> int:
    return sum(c in _LITERALS for c in letters)


def _replacement(m: re.Match[str], names: dict[int, str]) -> str:
    number = m[1] or m[3]
    if number is not None:
        name = names.get(int(number), m[0])
        if m[2] != "n":
            return name
        return name.removeprefix("-") if name.startswith("-") else f"-{name}"  # of a literal
    return {"$$": "$", "${:uid}": "0"}.get(m[0], "")


@functools.lru_cache(maxsize=256)  # JIT compilers write the same ones in every module
def _template(source: str, copies: int) -> tuple[Function, bool]:
    """The function that a template was written as, not to be changed; whether it has more than
    statements of its own registers. The copies at its head are names: what they copy may be in
    use by operations under way, which no copy may read."""
    from nvir.ptx.reader import read_ptx

    f = read_ptx(source)["$asm"]
    for _ in range(copies):
        mov = f.entry.first
        assert mov is not None
        mov.replace_with(mov.operands[0])
    return f, bool(f.locals) or any(i.form.is_call for i in f.instructions())


def _read(
    s: Selector, asm: InlineAsm, text: str, outputs: list[ScalarType],
    given: list[tuple[str, ScalarType, Value]], copies: list[str],
) -> Function:
    """The template as a function: inputs are parameters in registers, outputs are returned."""
    target = s.module.target
    returned = ", ".join(f".reg .{t.name} %asm{k}" for k, t in enumerate(outputs))
    taken = ", ".join(f".reg .{t.name} {name}" for name, t, _ in given)
    symbols = "".join(
        f".extern .{v.space} .b8 {v.name}[];\n" for v in target.globals
        if str(v.name) in text and re.search(rf"(?<![\w$%]){re.escape(str(v.name))}(?![\w$])", text)
    )
    major, minor = target.version
    head = _HEAD.format(major, minor, target.target)
    results = f"({returned}) " if returned else ""
    body = "\n".join([*copies, _statements(text)])
    source = f"{head}{symbols}.func {results}$asm({taken})\n{{\n{{\n{body}\n}}\nret;\n}}\n"
    try:
        function, more = _template(source, len(copies))
    except ParseError as e:
        raise s.fail(f'inline assembly "{asm.template}": {e.errors[0].message}') from e
    if more:
        raise s.fail(f'variables or calls in inline assembly "{asm.template}"')
    return clone_function(function)


def _statements(text: str) -> str:
    """A template without comments; what is left may be nothing, or lack its last semicolon."""
    text = _COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else " ", text).strip()
    if not text.strip("; \t\n"):
        return ""
    return text if text.endswith((";", "}")) else f"{text};"


def _splice(s: Selector, body: Function, given: list[Value], i: Instruction) -> Parts:
    """Put the body's blocks at the place at hand; its `ret`s lead on."""
    arguments = [p for p in body.params if isinstance(p, Argument)]
    mapping: dict[Value, Value] = dict(zip(arguments, given, strict=True))
    blocks = body.blocks
    if len(blocks) != 1:
        return _splice_blocks(s, body, mapping)
    end = blocks[0].last
    assert end is not None
    moved = [x for x in blocks[0] if x is not end]
    returned = end.operands
    end.set_operands(())
    for x in moved:
        x.remove()
        x.set_operands(tuple(_mapped(s, v, mapping) for v in x.operands))
        x.loc = i.loc
        s.b.insert(x)
    out = tuple(_mapped(s, v, mapping) for v in returned)
    _mark(s, moved)
    return out


def _splice_blocks(s: Selector, body: Function, mapping: dict[Value, Value]) -> Parts:
    """A template with branches: its blocks go between the one at hand and a new one."""
    from nvir.ir.opcodes.form import form

    body.analyze_cfg()
    here = s.b.block
    copies = {}
    for b in body.blocks:
        copies[b] = s.target.block("asm", after=s.b.block)
        s.start(copies[b])
    done = s.target.block("asm.end", after=s.b.block)
    exits: list[tuple[object, tuple[Value, ...]]] = []
    moved: list[Instruction] = []
    for b in body.blocks:
        for x in list(b):
            x.remove()
            x.set_operands(tuple(_mapped(s, v, mapping) for v in x.operands))
            if x.form.is_phi:
                x.aux = tuple(copies[p] for p in x.aux)
            elif x.form.name == "ret" and x.form.guard is None:
                exits.append((copies[b], x.operands))
                x.set_operands(())
                x = Instruction(form("bra"), aux=(done,))
            elif x.form.name == "ret":
                raise s.fail("a guarded ret in inline assembly")
            elif x.form.terminator:
                x.aux = tuple(copies[t] for t in x.aux)
            copies[b].append(x)
            moved.append(x)
    s.start(here)
    s.b.br(copies[body.blocks[0]])
    s.start(done)
    out: list[Value] = []
    for k in range(len(exits[0][1]) if exits else 0):
        phi = s.b.phi(exits[0][1][k].type)
        phi.set_incoming([values[k] for _, values in exits], [b for b, _ in exits])  # type: ignore[misc]
        out.append(phi)
    _mark(s, [x for x in moved if not x.form.is_phi and not x.form.terminator])
    return tuple(out)


def _mapped(s: Selector, v: Value, mapping: dict[Value, Value]) -> Value:
    found = mapping.get(v)
    if found is None and isinstance(v, Variable):
        found = next((g for g in s.module.target.globals if g.name == v.name), None)
    return v if found is None else found


def _mark(s: Selector, moved: list[Instruction]) -> None:
    for x in moved:
        s.target.marks.setdefault(x, set()).add("asm")
    if moved:
        s.target.marks.setdefault(moved[0], set()).add("asm begin")
        s.target.marks.setdefault(moved[-1], set()).add("asm end")
