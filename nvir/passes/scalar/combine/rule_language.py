"""Rewrite rules over integers as text, which the pass compiles and a test proves.

    (mul x C) => (shl x (log2 C))  if (pow2 C)
    (trunc:a (add':b (sext:b x:a) C)) => (add:a x (trunc:a C))

    x y z            any value; the same letter is the same value
    A B C D          an integer literal
    0 -1 5           that literal, of the type that its place asks for
    (op a b)         an instruction of that row; `(op.nsw a b)` has the flag; on the right it gets
                     only the flags that are written
    op'              used by nothing else
    :a               the integer type `a`, else type `t`; `:1` is i1. The result of icmp is i1.
    #a               the width of type `a`, as a literal
    if …             conditions: (pow2 C), (< a 33) on widths, any i1 expression over literals

Operations over literals alone are worked out when the rule applies. A left side may drop
poison, as any rewrite may: flags that it does not name do not matter. Rules of commuting rows
match both orders of operands. The first rule that matches applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from nvir.ir import I1, NVVM, Constant, Instruction, IntType, OpKind, Type, Value, constant
from nvir.ir.opcodes.evaluate import fold_integers
from nvir.ir.opcodes.form import load_rows, nvvm_form

_TOKEN = re.compile(r"[()]|[^\s()]+")


def _row_kind(row: str) -> OpKind:
    """Of a row, or of a function of the language, which has none."""
    load_rows()
    return NVVM[row].kind if row in NVVM else OpKind.OTHER



@attrs.frozen
class Any_:
    """A wildcard: any value, or (upper case) any literal."""

    name: str
    type: str

    @property
    def literal(self) -> bool:
        return self.name.isupper()


@attrs.frozen
class Number:
    """A literal of a type, or (`width`) the width of another type as a literal."""

    value: int
    type: str
    width: str = ""


@attrs.frozen
class RuleOperation:
    """A row with flags over operands. `once`: used by nothing else."""

    row: str
    flags: tuple[str, ...]
    operands: tuple[Node, ...]
    type: str
    once: bool = False

    @property
    def spelling(self) -> str:
        return " ".join((self.row, *self.flags))


Node = Any_ | Number | RuleOperation


@attrs.frozen
class Rule:
    """One line. `conditions` are expressions that must all hold."""

    text: str
    left: RuleOperation
    right: Node
    conditions: tuple[Any, ...]


# --------------------------------------------------------------------- reading


def by_row(text: str) -> dict[str, list[str]]:
    """The rules of a text, one a line, `#` before a comment line, by the row of their root."""
    made: dict[str, list[str]] = {}
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith("# "):
            made.setdefault(_head(line[1:].partition(" ")[0])[0], []).append(line)
    return made


def read_rule(line: str) -> Rule:
    left, _, rest = line.partition("=>")
    right, _, conditions = rest.partition(" if ")
    tree = _trees(left)[0]
    of = _type_of(tree, "t")
    made = _node(tree, of)
    assert isinstance(made, RuleOperation)
    root = made.type
    return Rule(
        line, made, _node(_trees(right)[0], root),
        tuple(_condition(c) for c in _trees(conditions)),
    )


def _trees(text: str) -> list[Any]:
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    assert len(stack) == 1, text
    return stack[0]


def _head(token: str) -> tuple[str, tuple[str, ...], bool, str]:
    """(row, flags, once, type or "") of `add.nsw':b`."""
    name, _, type = token.partition(":")
    once = name.endswith("'")
    row, *flags = name.rstrip("'").split(".")
    return row, tuple(flags), once, type


def _type_of(tree: Any, default: str) -> str:
    """The type that a tree says it has, or `default`."""
    if isinstance(tree, str):
        return tree.partition(":")[2] or default
    row, _, _, type = _head(tree[0])
    return "1" if row == "icmp" else type or default


def _says(tree: Any) -> str:
    """The type of an operand of icmp, as far as it is written."""
    return _type_of(tree, "") if not (isinstance(tree, list) and tree[0] in FUNCTIONS) else ""


def _node(tree: Any, type: str) -> Node:
    """The node of a tree where a value of `type` is expected."""
    if isinstance(tree, str):
        name, _, said = tree.partition(":")
        type = said or type
        if name.startswith("#"):
            return Number(0, type, name[1:])
        if name.lstrip("-").isdigit():
            return Number(int(name), type)
        return Any_(name, type)
    row, flags, once, said = _head(tree[0])
    type = "1" if row == "icmp" else said or type
    rest = tree[1:]
    if row == "icmp":
        of = next((s for s in map(_says, rest) if s), "t")
        types = [of, of]
    elif row == "select":
        types = ["1", type, type]
    elif _row_kind(row) is OpKind.RESIZE:
        types = ["t"]
    else:
        types = [type] * len(rest)
    operands = tuple(_node(x, t) for x, t in zip(rest, types, strict=True))
    return RuleOperation(row, flags, operands, type, once)


def _condition(tree: Any) -> Any:
    """("<", a, b) on widths, (function, nodes…), or a node of type i1."""
    if tree[0] in ("<", "="):
        return tuple(tree)
    if tree[0] in PREDICATES:
        return (tree[0], *(_node(x, "t") for x in tree[1:]))
    return _node(tree, "1")


def _log2(bits: int, x: int) -> int:
    return x.bit_length() - 1


# What literals can be asked, on bit patterns: (width, patterns…). The proofs have their own.
FUNCTIONS: dict[str, Callable[..., int]] = {"log2": _log2}
PREDICATES: dict[str, Callable[..., bool]] = {
    "pow2": lambda bits, x: x > 0 and x & (x - 1) == 0,
    "fits-sub": lambda bits, x, y: -(1 << bits - 1) <= _signed(x, bits) - _signed(y, bits)
    < 1 << (bits - 1),
}


def _signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


# ------------------------------------------------------------------- compiling

Env = dict[str, Any]  # letters to values, ":a" to types


def variants(node: Node) -> Iterator[Node]:
    """A pattern with the operands of commuting rows in both orders."""
    if not isinstance(node, RuleOperation):
        yield node
        return

    for operands in _products([list(variants(x)) for x in node.operands]):
        yield attrs.evolve(node, operands=operands)
        equality = node.row == "icmp" and node.flags[0] in ("eq", "ne")
        if not (NVVM[node.row].commutes or equality) or operands[0] == operands[1]:
            continue
        # A literal stands on the right: the pass puts it there before it asks the rules.
        if not isinstance(operands[1], Number) and not _is_literal(operands[1]):
            yield attrs.evolve(node, operands=(operands[1], operands[0]))


def _is_literal(node: Node) -> bool:
    return isinstance(node, Any_) and node.literal


def _products(choices: list[list[Node]]) -> Iterator[tuple[Node, ...]]:
    if not choices:
        yield ()
        return
    for first in choices[0]:
        for rest in _products(choices[1:]):
            yield (first, *rest)


class _RuleCode:
    """Writes the function that matches one pattern: tests in the order in which they fail most.

    Types follow from the rows: operands of arithmetic have the type of the result, so only what
    casts, comparisons and selects join is compared.
    """

    def __init__(self, left: RuleOperation) -> None:
        self.lines: list[str] = []
        self.names: dict[str, str] = {}  # letters and types to variables
        self.late: list[str] = []
        self.count = 0
        self.row(left, "i", root=True)
        pairs = ", ".join(f"{k!r}: {v}" for k, v in self.names.items())
        self.lines += [*self.late, f"return {{{pairs}}}"]

    def function(self) -> Callable[[Instruction], Env | None]:
        body = "\n    ".join(self.lines)
        scope: dict[str, Any] = {
            "Instruction": Instruction, "Constant": Constant, "IntType": IntType, "I1": I1,
        }
        exec(f"def matches(i):\n    {body}", scope)
        return scope["matches"]  # type: ignore[no-any-return]

    def refuse(self, test: str) -> None:
        self.lines.append(f"if {test}: return None")

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def type(self, name: str, value: str, known: bool) -> None:
        """The type of a value has that name; `known`: the row that it is an operand of says so."""
        if name == "1":
            if not known:
                self.refuse(f"{value}.type is not I1")
        elif ":" + name not in self.names:
            t = self.fresh()
            self.lines.append(f"{t} = {value}.type")
            self.refuse(f"{t}.__class__ is not IntType")
            self.names[":" + name] = t
        elif not known:
            self.refuse(f"{value}.type is not {self.names[':' + name]}")

    def row(self, node: RuleOperation, value: str, root: bool = False) -> None:
        if not root:
            self.refuse(f"{value}.__class__ is not Instruction")
            self.refuse(f"{value}.form.name != {node.row!r}")
        for flag in node.flags:
            self.refuse(f"{flag!r} not in {value}.form.mods")
        if node.once:
            self.refuse(f"{value}._uses.__class__ is dict")
        operands = [self.fresh() for _ in node.operands]
        self.lines.append(f"{', '.join(operands)}, = {value}._operands")
        joined = _row_kind(node.row) in (OpKind.COMPARE, OpKind.SELECT, OpKind.RESIZE)
        if node.row != "icmp":
            self.type(node.type, value, known=False)
        inner = []
        for x, v in zip(node.operands, operands, strict=True):
            if isinstance(x, RuleOperation):
                inner.append((x, v))
            else:
                self.leaf(x, v, known=not joined)
        for x, v in inner:
            self.row(x, v)

    def leaf(self, node: Any_ | Number, value: str, known: bool) -> None:
        if isinstance(node, Number) or node.literal:
            self.refuse(f"{value}.__class__ is not Constant or {value}.value.__class__ is not int")
        self.type(node.type, value, known)
        if isinstance(node, Number):
            mask = "" if node.value == 0 else f" & (1 << {value}.type.bits) - 1"
            self.refuse(f"({value}.value - {node.value}){mask}" if mask else f"{value}.value")
        elif node.name in self.names:
            self.refuse(f"{value} is not {self.names[node.name]}")
        else:
            self.names[node.name] = value


def type_named(name: str, env: Env) -> IntType:
    return I1 if name == "1" else env[":" + name]


def holds(condition: Any, env: Env) -> bool:
    """Whether a condition of a rule holds for what was matched."""
    if isinstance(condition, tuple):
        name, *rest = condition
        if name in PREDICATES:
            literals = [_literal(x, env) for x in rest]
            if any(x is None for x in literals):
                return False
            bits = literals[0].type.bits  # type: ignore[union-attr]
            mask = (1 << bits) - 1
            return PREDICATES[name](bits, *(x.value & mask for x in literals))  # type: ignore[union-attr]
        a, b = (int(x) if x.isdigit() else type_named(x, env).bits for x in rest)
        return a < b if name == "<" else a == b
    found = _literal(condition, env)
    return found is not None and bool(found.value)


def literal(type: Type, pattern: int) -> Constant:
    """The constant of an integer type with a bit pattern."""
    bits = type.bits
    pattern &= (1 << bits) - 1
    return constant(type, pattern - (1 << bits) if bits > 1 and pattern >> bits - 1 else pattern)


def _literal(node: Node, env: Env) -> Constant | None:
    """An expression over literals worked out; None where it is poison or names a value."""
    if isinstance(node, Any_):
        found = env[node.name]
        return found if found.__class__ is Constant else None
    if isinstance(node, Number):
        type = type_named(node.type, env)
        return literal(type, type_named(node.width, env).bits if node.width else node.value)
    operands = [_literal(x, env) for x in node.operands]
    if any(x is None for x in operands):
        return None
    return fold_literals(node, [x for x in operands if x is not None], env)


def fold_literals(node: RuleOperation, operands: list[Constant], env: Env) -> Constant | None:
    """An operation on literals, None where it gives poison."""
    bits = operands[0].type.bits
    mask = (1 << bits) - 1
    patterns = [x.value & mask for x in operands]
    type = type_named(node.type, env)
    if node.row in FUNCTIONS:
        return literal(type, FUNCTIONS[node.row](bits, *patterns))
    if node.row == "select":
        return operands[1] if patterns[0] else operands[2]
    made = fold_integers(nvvm_form(node.spelling), bits, patterns, type.bits)
    return None if made is None else literal(type, made)


Make = Callable[[str, tuple[Value, ...], Type], Value]


def build(node: Node, env: Env, make: Make) -> Value | None:
    """The value of a right side; `make` places an instruction. None where literals give poison."""
    if isinstance(node, Any_):
        return env[node.name]  # type: ignore[no-any-return]
    if isinstance(node, Number):
        return _literal(node, env)
    operands: list[Value] = []
    for x in node.operands:
        v = build(x, env, make)
        if v is None:
            return None
        operands.append(v)
    if all(v.__class__ is Constant for v in operands):
        return fold_literals(node, operands, env)  # type: ignore[arg-type]
    return make(node.spelling, tuple(operands), type_named(node.type, env))


Candidates = tuple[tuple[Callable[[Instruction], Env | None], Rule], ...]


class Matcher:
    """The rules of `by_row`, found by what the root and its operands are; read when wanted."""

    def __init__(self, lines: dict[str, list[str]]) -> None:
        self.lines = lines
        self._patterns: dict[str, list[tuple[RuleOperation, Rule]]] = {}
        self._compiled: dict[RuleOperation, Callable[[Instruction], Env | None]] = {}
        self._found: dict[Any, Candidates] = {}

    def candidates(self, i: Instruction) -> Candidates:
        """The rules that may match an instruction, as far as its own operands tell."""
        operands = i._operands
        key: Any
        if len(operands) == 2:
            x, y = operands
            key = (i.form, x.form.name if x.__class__ is Instruction else _kind(x),
                   y.form.name if y.__class__ is Instruction else _kind(y), x is y)
        else:
            key = (i.form, *map(_kind, operands))
        found = self._found.get(key)
        if found is None:
            kinds = key[1 : 1 + len(operands)]
            found = self._found[key] = tuple(
                (self._compile(left), r) for left, r in self._patterns_of(i.form.name)
                if set(left.flags) <= set(i.form.mods)
                and all(_may_be(x, k) for x, k in zip(left.operands, kinds, strict=True))
                and (len(operands) != 2 or key[3] or not _same(left.operands))
            )
        return found

    def _patterns_of(self, row: str) -> list[tuple[RuleOperation, Rule]]:
        found = self._patterns.get(row)
        if found is None:
            found = self._patterns[row] = [
                (left, r) for r in map(read_rule, self.lines.get(row, ()))
                for left in variants(r.left) if isinstance(left, RuleOperation)]
        return found

    def _compile(self, left: RuleOperation) -> Callable[[Instruction], Env | None]:
        made = self._compiled.get(left)
        if made is None:
            made = self._compiled[left] = _RuleCode(left).function()
        return made


def rewrite(candidates: Candidates, i: Instruction, make: Make) -> tuple[Rule, Value] | None:
    """The first rule that applies to an instruction, and what takes its place."""
    for matches, r in candidates:
        env = matches(i)
        if env is not None and all(holds(c, env) for c in r.conditions):
            new = build(r.right, env, make)
            if new is not None:
                return r, new
    return None


def _kind(v: Value) -> str:
    """What a value is to the choice of candidates: its row, a literal that rules name, others."""
    if v.__class__ is Instruction:
        return v.form.name
    if v.__class__ is not Constant:
        return ""
    x = v.value
    if v.type is I1 or x.__class__ is not int:  # 1 is -1 there
        return "#"
    return _LITERALS.get(x, "#n")


_LITERALS = {0: "#0", 1: "#1", -1: "#-1"}


def _same(operands: tuple[Node, ...]) -> bool:
    """Whether a pattern asks for one value twice."""
    x, y = operands
    return isinstance(x, Any_) and x == y


def _may_be(node: Node, kind: str) -> bool:
    if isinstance(node, RuleOperation):
        return node.row == kind
    if isinstance(node, Number):
        named = _LITERALS.get(node.value, "#n")
        return kind in ("#", named) if not node.width else kind[:1] == "#"
    return kind[:1] == "#" if node.literal else True
