"""The form of statements: regular expressions, and the raw code that comes of them."""

from __future__ import annotations

import functools
import re
from typing import Any

from nvir.ir import Form, Location, Type
from nvir.ptx.literals import constant_expression

MODIFIERS = re.compile(r"(?:\s*\.[A-Za-z]\w*(?:::\w+)*)+")  # behind a blank
CLOSED = re.compile(r"((?:^|,)\s*\[[^\]]*\]|\{[^}]*\})")  # an address, or a vector
# `symbol + number` or `array[index + number]`; 1: the name, 2 and 4: the number, 3: the index.
SYMBOL_OFFSET = re.compile(
    r"(?<![\w%$])([A-Za-z_$%][\w$]*)\s*"
    r"(?:(\+[^,\[\]{}|]+)|\[\s*(%[\w$]+|[A-Za-z_$][\w$]*)?\s*(\+?[^,\[\]{}|]*)\])"
)
STATEMENT = re.compile(
    r"""\s*(?:
      (?:@\s*+(!?)\s*+([%\w$.]++)\s++)?                    # 1 2  guard
      ([a-z_]\w*+(?:(?:\.|::)\w++)*+)(?![\w.:$]|\s*:)\s*+  # 3    opcode
      ([^;{}"]*+(?:\{[^{};"]*+\}[^;{}"]*+)*+);             # 4    operands
    | ([A-Za-z_$%][\w$]*+)\s*+:(?!:)                       # 5    label
    | (\.[a-z]\w*+)                                        # 6    directive
    | ([{}])                                               # 7    scope
    )""",
    re.VERBOSE,
)
ATOM = re.compile(  # the selector `.b0` of a video operand is punctuation
    r"((?<![.\w])%?[A-Za-z_$][\w$]*(?:\.(?![bh][0-3]+\b)[A-Za-z]\w*)*"
    r"|(?:-|(?<!\w))(?:0[xX][0-9a-fA-F]+U?|\.?\d[\w.]*(?:(?<=[eE])[+-]\d+)?))"
)
_ONE = r"[!-]?%s(?:\.[bh][0-3]+)?"
_MANY = rf"\{{{_ONE}(?:,{_ONE})*\}}"
_PART = rf"(?:(?:{_ONE}|{_MANY})(?:\|{_ONE})?|\[%s(?:\+?%s)*(?:,(?:{_ONE}|{_MANY}))*\])"
PUNCTUATION = re.compile(rf"(?:{_PART}(?:,{_PART})*)?$")
LABEL_ROW = re.compile(r"\s*\.(callprototype|calltargets|branchtargets)\b([^;]*+);")
LOC = re.compile(r"\.loc\s+(\d{1,10})\s+(\d{1,10})(?:\s+(\d{1,10}))?(?!\d)([^\n;]*)")
LOC_NUMBERS = re.compile(r"\.loc(?:\s+\d{1,10}(?![\w.]))*\s+")  # up to what should be a number
LOC_REST = re.compile(
    r"\s*(?:,\s*function_name\s+[\w$]+(?:\s*[-+]\s*\d+)?\s*"
    r",\s*inlined_at\s+\d{1,10}\s+\d{1,10}\s+\d{1,10}\s*)?$"
)
_FORMAL = (
    r"\s*(?:\.(?:param|reg)\s*(?:\.align\s+\d+\s*)?(?:\.\w+\s*)+[A-Za-z_$%][\w$]*\s*"
    r"(?:\[\s*\w*\s*\])?\s*)"
)
PROTOTYPE = re.compile(
    rf"\s*(?:\({_FORMAL}?\))?\s*_\s*(?:\((?:{_FORMAL}(?:,{_FORMAL})*|\s*)\))?"
    r"\s*(?:\.noreturn|\.abi_preserve(?:_control)?\s+\d+|\s)*$"
)
PRAGMA_TEXT = re.compile(r'\.pragma\s*((?:"[^"\n]*"\s*,?\s*)+);')
REG = re.compile(r"\.reg\b([^;]*);")
_TARGETS = re.compile(r"\bbra(?:\.uni)?\s+([\w$%]+)\s*;|\.branchtargets\b([^;]*+)(?:;|\Z)")
NEXT_FUNCTION = re.compile(r"\.(?:entry|func)\b")
FUNCTION_HEAD = re.compile(r"(?:\.(?:visible|extern|weak)\s+)*\.(?:entry|func)\b")
DIRECTIVE_END = re.compile(r"[;\n]")
REG_NAME = re.compile(r"\s*(%[\w$]+|[A-Za-z_$][\w$]*)\s*(?:<\s*(\d+)\s*>)?\s*$")

SINK = -1
MAX_REGISTERS = 1 << 24  # of a declaration; each is made when it is first named


class OperandShape:
    """What an opcode with this punctuation needs to know of its atoms."""

    __slots__ = ("form", "n_results", "plain", "refused", "signs", "single", "zero_offsets")

    def __init__(self, f: Form, zero_offsets: tuple[int, ...]) -> None:
        self.form = f
        self.refused = ""  # why ptxas takes no such operands
        self.signs = False  # '-' or '!' stands before an atom
        self.single = False  # one result, behind which ptxas passes over "|_"
        self.zero_offsets = zero_offsets  # atoms that are address offsets
        n = f.n_results - f.carry_out
        self.n_results = n
        self.plain = (
            f.n_results >= 0
            and not f.carry_out
            and f.n_operands == f.n_sources
            and f.slots[:n] == tuple(range(n))
        )


# (form, result registers, operands, aux, loc, line); read apart, the offset instead of the line.
RawItem = tuple[Form, tuple[int, ...], tuple[Any, ...], Any, Any, int]


class RawBlock:
    """A block before SSA: `items` are raw instructions, `targets` labels or blocks to come."""

    __slots__ = (
        "falls_through", "index", "items", "line", "loc", "name", "pragmas", "scope", "targets",
        "term",
    )

    def __init__(self, name: str | None, line: int, loc: Location | None) -> None:
        self.name, self.line, self.loc = name, line, loc
        self.index = 0
        self.pragmas: tuple[str, ...] = ()
        self.items: list[RawItem] = []
        self.term: tuple[Form, tuple[Any, ...], Any, int] | None = None
        self.targets: list[Any] = []
        self.falls_through = False


class RawFunction:
    __slots__ = ("blocks", "reg_names", "reg_types")

    def __init__(self) -> None:
        self.blocks: list[RawBlock] = []
        self.reg_names: list[str | None] = []
        self.reg_types: list[Type] = []


class Restated:
    """A match whose opcode and operand text (groups 3 and 4) were rewritten."""

    __slots__ = ("groups", "m")

    def __init__(self, m: Any, opcode: str, text: str) -> None:
        self.m, self.groups = m, {3: opcode, 4: text}

    def __getitem__(self, k: int) -> Any:
        return self.groups[k] if k in self.groups else self.m[k]

    def start(self, k: int) -> int:
        return int(self.m.start(k))


def branch_targets(code: str, start: int, end: int) -> set[str]:
    """The labels that branches of the text name."""
    out: set[str] = set()
    for single, table in _TARGETS.findall(code, start, end):
        if single:
            out.add(single)
        else:
            out.update(t.strip() for t in table.split(","))
    return out


@functools.lru_cache(maxsize=1024)
def fold_piece(piece: str) -> str:
    """A constant expression without parentheses (`1+2`, `~7`) as its number."""
    braces = re.fullmatch(r"([\s{]*)([^\s{}[\]](?:[^{}[\]]*[^\s{}[\]])?)([\s}\]]*)", piece)
    if braces is not None and braces[2] != piece:
        return braces[1] + fold_piece(braces[2]) + braces[3]
    text = piece.strip()
    m = re.match(r"(.*\[\s*(?:%?[A-Za-z_$][\w$.]*\s*\+)?)([^\]]+)(\].*)$", text)
    if m is not None:
        value = constant_expression(m[2])
        return f"{m[1]}{value}{m[3]}" if value is not None and m[2].strip() != str(value) else piece
    value = constant_expression(text)
    return str(value) if value is not None and text != str(value) else piece
