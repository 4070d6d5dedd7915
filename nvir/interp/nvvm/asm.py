"""Inline assembly: straight-line PTX in a call of `nvvm`.

    asm("{ .reg .pred p; setp.ne.s32 p, $1, 0; selp.s32 $0, 7, 8, p; }", "=r,r")

Each statement becomes a form of ori over what its names mean here: `$k` the operands of the call,
the registers that it declares, special registers, literals, variables of the module. A name that is
written again means its new value from there on; under a guard, the old one where that is false.
Rows that look beyond their group (barriers, warp exchanges, mma) are supported where they are the
whole text. Labels and branches are Unsupported.

The PTX reader is not used: this room may not know it, and it reads files, not such fragments.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import Any

import attrs

from nvir.interp.leaves import Temp, View
from nvir.interp.nvvm.lower import rename, run
from nvir.interp.ori_level import ori
from nvir.interp.rows import unsupported
from nvir.ir import (
    CC,
    F32,
    F64,
    IMM,
    PRED,
    SCALARS,
    Constant,
    Instruction,
    Type,
    Value,
    constant,
    form,
    integer,
)
from nvir.ir.nvvm_values import InlineAsm
from nvir.ir.opcodes.form import misfit_operands
from nvir.ir.special import special_register

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_DECIMAL = r"-?(?:\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)"
_OCTAL = re.compile(r"-?0[0-7]+")
_TOKEN = re.compile(
    rf"(?P<float>0[fF][0-9a-fA-F]{{8}}|0[dD][0-9a-fA-F]{{16}}|{_DECIMAL})"
    r"|(?P<number>-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uU]?)"
    r"|(?P<name>[%$A-Za-z_][\w$]*(?:\.[xyzwrgba](?!\w))?(?:::\w+)*)"
    r"|(?P<punct>[{}\[\],+|!()-])|\s+"
)
_OPERAND = re.compile(r"\$(?:\{(\d+)(?::\w+)?\}|(\d+)|(\$))")
_REGISTERS = {"h": "b16", "r": "b32", "l": "b64", "f": "f32", "d": "f64", "q": "b128", "b": "pred",
              "c": "b16"}


@attrs.frozen
class Statement:
    """One instruction of the text: names and literals fill the slots of its shape."""

    spelling: str
    shape: str
    tokens: tuple[str, ...]
    guard: str = ""  # a name, after "!" where negated


@attrs.frozen
class TemplateText:
    """What a template says."""

    statements: tuple[Statement, ...]
    registers: dict[str, str] = attrs.field(hash=False)


class Malformed(Exception):
    """The text is not straight-line PTX."""


@lru_cache(maxsize=512)
def parse(template: str) -> TemplateText:
    """Take a template apart. Raises Malformed."""
    text = _OPERAND.sub(lambda m: "$" if m[3] else f" $op{m[1] or m[2]} ", template)
    text = _COMMENT.sub(" ", text)
    registers: dict[str, str] = {}
    statements = []
    for piece in text.split(";"):
        line = piece.strip().lstrip("{} \t\n")  # a statement begins with no brace of its own
        if not line:
            continue
        if line.startswith(".reg"):
            _declare(line, registers)
        elif line.startswith("."):
            if not line.startswith((".loc", ".pragma")):
                raise Malformed(line)
        else:
            statements.append(_statement(line))
    return TemplateText(tuple(statements), registers)


def _declare(line: str, registers: dict[str, str]) -> None:
    _, type_, names = line.split(None, 2)
    for name in names.split(","):
        name = name.strip()
        many = re.fullmatch(r"(.*)<(\d+)>", name)
        found = [name] if many is None else [f"{many[1]}{k}" for k in range(int(many[2]))]
        registers.update(dict.fromkeys(found, type_.lstrip(".")))


def _statement(line: str) -> Statement:
    guard = ""
    if line.startswith("@"):
        guard, _, line = line[1:].strip().partition(" ")
        if guard == "!":
            word, _, line = line.strip().partition(" ")
            guard += word
        line = line.strip()
    head, _, rest = line.partition(" ")
    if ":" in head.replace("::", "") or head.split(".")[0] in ("bra", "brx", "call", "ret", "exit"):
        raise Malformed(line)
    spelling = head.strip()
    shape, tokens = "", []
    at = 0
    while at < len(rest):
        m = _TOKEN.match(rest, at)
        if m is None:
            raise Malformed(line)
        at = m.end()
        kind = m.lastgroup
        if kind is None:
            continue
        if kind == "punct":
            shape += ", " if m[0] == "," else m[0]
        else:
            if kind == "number" and m[0][0] == "-" and shape.endswith("%s"):
                shape += "+"  # [a-4]
            shape += "%s"
            tokens.append(m[0])
    return Statement(spelling, shape, tuple(tokens), guard)


class AsmScope:
    """What names mean while a text runs."""

    def __init__(self, plan: Any, i: Instruction, text: TemplateText) -> None:
        self.plan, self.i, self.text = plan, i, text
        self.values: dict[str, Value] = {}
        self.types: dict[str, Type] = {n: SCALARS[t] for n, t in text.registers.items()}
        asm: Any = i.aux.callee
        self.results = list(plan.leaves(i))
        given = [leaf for v in i.operands for leaf in plan.leaves(v)]
        constraints = [c for c in asm.constraints.split(",") if c and not c.startswith("~")]
        outputs = [c for c in constraints if c.startswith("=")]
        if len(outputs) != len(self.results) or len(constraints) - len(outputs) != len(given):
            raise unsupported(i, f"inline assembly with the constraints {asm.constraints!r}")
        for k, c in enumerate(outputs):
            letter = c.lstrip("=&")[:1]
            self.types[f"$op{k}"] = SCALARS[_REGISTERS.get(letter, "b32")]
        for k, (c, value) in enumerate(zip(constraints[len(outputs) :], given, strict=True)):
            self.values[f"$op{len(outputs) + k}"] = value
            if c.isdigit():  # tied to an output, which so has a value from the start
                self.values[f"$op{c}"] = value

    def source(self, token: str) -> Value:
        """The value of a name or literal."""
        found = self.values.get(token)
        if found is not None:
            return found
        if token[0].isdigit() or token[0] == "-":
            try:
                return literal(token)
            except ValueError:  # such as 09
                raise unsupported(self.i, f"the number {token} in inline assembly") from None
        if token == "WARP_SZ":
            return integer(32)
        register = special_register(token)
        if register is not None:
            return register
        for v in self.plan.program.module.globals:
            if v.name == token:
                found = v
        if found is None and token not in self.types:
            raise unsupported(self.i, f"the name {token} in inline assembly")
        return integer(0) if found is None else found

    def define(self, token: str, type: Type) -> Value:
        """A new value for a name."""
        made = Temp(self.types.get(token, type))
        if token != "_":
            self.values[token] = made
        return made


def literal(token: str) -> Constant:
    """A literal, of the type that it is written in."""
    if token[:2] in ("0f", "0F"):
        return constant(F32, int(token[2:], 16))
    if token[:2] in ("0d", "0D"):
        return constant(F64, int(token[2:], 16))
    if re.fullmatch(_DECIMAL, token):
        return constant(F64, int.from_bytes(struct.pack("<d", float(token)), "little"))
    digits = token.rstrip("uU")
    return integer(int(digits, 8 if _OCTAL.fullmatch(digits) else 0))


def view(scope: AsmScope, s: Statement) -> View:
    """A statement over what its names mean; its results get new values."""
    f = form(s.spelling, s.shape)
    if f.name == "unknown" or f.n_results < 0 or (f.ties and not f.carry_in):
        raise unsupported(scope.i, f"{s.spelling} in inline assembly")
    if problem := misfit_operands(f):
        raise unsupported(scope.i, f"inline assembly in which {problem}")
    sources = [scope.source(t) for t, k in zip(s.tokens, f.slots, strict=True) if k < 0]
    if f.carry_in:
        sources.append(scope.values.get("cc", integer(0)))
    names = [t for t, k in zip(s.tokens, f.slots, strict=True) if k >= 0]
    old = [scope.values.get(t, integer(0)) for t in names]
    results = [scope.define(t, r) for t, r in zip(names, f.result_types, strict=False)]
    if f.carry_out:
        old.append(scope.values.get("cc", integer(0)))
        results.append(Temp(CC))
        scope.values["cc"] = results[-1]
    made = View(f, sources, results, scope.i)
    made.fallbacks = tuple(old)
    return made


def _scope(plan: Any, i: Instruction, asm: InlineAsm) -> AsmScope:
    try:
        return AsmScope(plan, i, parse(asm.template))
    except Malformed as e:
        raise unsupported(i, f"inline assembly: {e}") from None


def special(plan: Any, i: Instruction, asm: InlineAsm) -> Any:
    """A text of one statement whose row is a special; else None."""
    try:
        text = parse(asm.template)
    except Malformed:
        return None
    if len(text.statements) != 1 or text.statements[0].guard:
        return None
    (s,) = text.statements
    maker = ori().specials.get(form(s.spelling, s.shape).name)
    if maker is None:
        return None
    scope = _scope(plan, i, asm)
    made = view(scope, s)
    for k, r in enumerate(scope.results):
        now = scope.values.get(f"$op{k}")
        made.results = tuple(r if x is now else x for x in made.results)
    return maker(plan, made)  # type: ignore[arg-type]  # a View is an Instruction to its readers


def emit_asm(e: Any, asm: InlineAsm) -> None:
    """A text whose statements are all emitted."""
    i = e.instr
    scope = _scope(e.plan, i, asm)
    for s in scope.text.statements:
        guard = ""
        if s.guard:
            p = e.value(scope.source(s.guard.lstrip("!")), "pred")
            guard = f"(~{p})" if s.guard[0] == "!" else str(p)
        made = view(scope, s)
        if made.form.name in ori().specials:
            raise unsupported(i, f"{s.spelling} among other statements of inline assembly")
        e.guard = guard
        try:
            run(e, made)
        finally:
            e.guard = ""
    for k, r in enumerate(scope.results):
        _give(e, r, scope.values.get(f"$op{k}", integer(0)))


def _give(e: Any, r: Value, x: Value) -> None:
    """An output operand as the call's result, which may be of another width."""
    from nvir.interp.layout import register_dtype
    from nvir.interp.nvvm.lower import expression

    if x.type is IMM or register_dtype(x.type) == register_dtype(r.type):
        rename(e, r, x)
    elif r.type.bits == 1:
        expression(e, r, f"({e.value(x)} != 0)")
    else:
        want = e.bind(register_dtype(r.type))
        name = "pred" if x.type is PRED else "b32"
        expression(e, r, f"{e.value(x, name)}.astype({want})")
