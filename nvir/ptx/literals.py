"""PTX's literals and constant expressions as values."""

from __future__ import annotations

import re
import struct

from nvir.ir import F32, F64, IMM, Constant, constant

_FLOAT_HEX = re.compile(r"0[fF]([0-9a-fA-F]{8})$|0[dD]([0-9a-fA-F]{16})$")
_INTEGER = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|(0[0-7]*)|([1-9]\d*))U?$")
_DECIMAL = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?$")
_memo: dict[str, Constant | None] = {"WARP_SZ": constant(IMM, 32)}
_MEMO_LIMIT = 1 << 16


def literal(text: str) -> Constant | None:
    """The constant that a literal spells, or None where it is none.

    Integers have type `imm`; `0f` and `0d` forms and decimal fractions hold
    their bits (a decimal fraction is a double, as PTX has it).
    """
    try:
        return _memo[text]
    except KeyError:
        if len(_memo) > _MEMO_LIMIT:
            _memo.clear()
            _memo["WARP_SZ"] = constant(IMM, 32)
        c = _memo[text] = _parse(text)
        return c


def _parse(text: str) -> Constant | None:
    m = _INTEGER.match(text)
    if m is not None:
        sign, hexa, binary, octal, decimal = m.groups()
        if hexa is not None:
            value = int(hexa, 16)
        elif binary is not None:
            value = int(binary, 2)
        elif octal is not None:
            value = int(octal, 8)
        else:
            value = int(decimal[:40])
        if value >= 1 << 64:
            return None
        return constant(IMM, -value if sign else value)
    m = _FLOAT_HEX.match(text)
    if m is not None:
        if m[1] is not None:
            return constant(F32, int(m[1], 16))
        return constant(F64, int(m[2], 16))
    if _DECIMAL.match(text):
        return constant(F64, struct.unpack("<Q", struct.pack("<d", float(text)))[0])
    return None


def to_f32(c: Constant) -> Constant:
    """A double literal under an `.f32` instruction, rounded to nearest even."""
    value = struct.unpack("<d", struct.pack("<Q", c.value))[0]
    try:
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        bits = 0x7F800000 if value > 0 else 0xFF800000
    return constant(F32, bits)


def to_f64(c: Constant) -> Constant:
    """A single literal under an `.f64` instruction."""
    value = struct.unpack("<f", struct.pack("<I", c.value))[0]
    return constant(F64, struct.unpack("<Q", struct.pack("<d", value))[0])


_TOKEN = re.compile(
    r"\s*(?:(0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|\d+(?:\.\d*)?"
    r"(?:[eE][+-]?\d+)?U?|WARP_SZ)|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%~!&|^<>?:()])"
    r"|(\.[su]64))"
)
_BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}
_M64 = (1 << 64) - 1


_TERNARY, _UNARY = 0, 11  # how tightly they bind
PARTS = 10_000  # numbers and operators of an expression


def constant_expression(text: str) -> int | None:
    """The value of an integer constant expression such as "(1 << 4) | 3", or None: for what is
    none, and for one of more than PARTS."""
    tokens: list[str] = []
    pos = 0
    text = text.rstrip()
    while pos < len(text):
        m = _TOKEN.match(text, pos)
        if m is None or len(tokens) == PARTS:
            return None
        tokens.append(m[1] or m[2] or m[3])
        pos = m.end()
    try:
        return _value(tokens)
    except (LookupError, ValueError, ZeroDivisionError):
        return None


def _value(tokens: list[str]) -> int:
    """Operator precedence with two stacks (Dijkstra's shunting yard). Raises ValueError,
    LookupError or ZeroDivisionError for what is no expression."""
    values: list[int] = []
    waiting: list[tuple[int, str]] = []  # how tightly it binds, and which; -1 for what is open
    operand, i = True, 0  # whether one is expected
    while i < len(tokens):
        t = tokens[i]
        i += 1
        if operand and t == "(" and tokens[i] in (".s64", ".u64"):
            if tokens[i + 1] != ")":
                raise ValueError("expected ')'")
            waiting.append((_UNARY, tokens[i]))
            i += 2
        elif operand and t == "(":
            waiting.append((-1, "("))
        elif operand and t in "-+~!":
            waiting.append((_UNARY, t))
        elif operand:
            values.append(_integer(t))
            operand = False
        elif t == ")":
            _reduce(values, waiting, _TERNARY)
            if waiting.pop() != (-1, "("):
                raise ValueError("expected ':'")
        elif t == ":":
            _reduce(values, waiting, _TERNARY)
            if waiting.pop() != (-1, "?"):
                raise ValueError("expected no ':'")
            waiting.append((_TERNARY, ":"))
            operand = True
        else:
            _reduce(values, waiting, 1 if t == "?" else _BINARY[t])
            waiting.append((-1, "?") if t == "?" else (_BINARY[t], t))
            operand = True
    _reduce(values, waiting, _TERNARY)
    if operand or waiting:
        raise ValueError("expected an operand or ')'")
    return values[0]


def _integer(token: str) -> int:
    c = literal(token)
    if c is None or c.type is not IMM:
        raise ValueError("expected an integer")
    return int(c.value)


def _reduce(values: list[int], waiting: list[tuple[int, str]], least: int) -> None:
    """Do what waits and binds at least so tightly."""
    while waiting and waiting[-1][0] >= least:
        binds, o = waiting.pop()
        a = values.pop()
        if binds == _UNARY:
            values.append(_of_one(o, a))
        elif binds == _TERNARY:
            yes, condition = values.pop(), values.pop()
            values.append(yes if condition else a)
        else:
            values.append(_apply(o, values.pop(), a))


def _of_one(o: str, a: int) -> int:
    if o in (".s64", ".u64"):
        a &= _M64
        return a - (1 << 64) if o == ".s64" and a >> 63 else a
    return {"-": -a, "+": a, "~": ~a, "!": int(not a)}[o]


def _apply(o: str, a: int, b: int) -> int:
    if o in ("<<", ">>"):
        b &= 63
        return (a << b) & _M64 if o == "<<" else a >> b
    if o in ("/", "%"):
        q = abs(a) // abs(b)
        q = -q if (a < 0) != (b < 0) else q
        return q if o == "/" else a - q * b
    return int({
        "||": bool(a or b), "&&": bool(a and b), "|": a | b, "^": a ^ b, "&": a & b,
        "==": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b,
        "+": a + b, "-": a - b, "*": a * b,
    }[o])
