"""What the cursors do not tell and the source text does.

    for_parts(...)    which of a for's three parts are there
    unroll(...)       the pragma in front of a loop
    asm_text(...)     template, constraints and clobbers of inline assembly
    too_long(text)    where a statement has more tokens than libclang's stack may hold in each other
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import attrs

MOST_TOKENS = 10_000  # of a statement, that in brackets of its own and in other elements aside
_SKIP = re.compile(r"R\"(\w*)\(.*?\)\1\"|//[^\n]*|/\*.*?\*/|"
                   r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.S)
_PRAGMA = re.compile(r"#?\s*(?:pragma\s+|_Pragma\s*\(\s*\")(?:GCC\s+|clang\s+)?(unroll|nounroll)\b"
                     r"[ \t]*\(?([^\n\"]*)")


def blanked(text: str) -> str:
    """The text with comments and literals overwritten by blanks, offsets kept."""
    return _SKIP.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)
_MACRO = re.compile(r"\s*#\s*define\s+(\w+)(?!\w|\()(.*)", re.S)


def too_long(text: str, most: int = MOST_TOKENS) -> int | None:
    """The offset at which a statement, or an element of a list, has more than `most` tokens. How
    deep operators, casts, members, `? :`, `else if` and templates nest is bounded by that."""
    clean, length = blanked(text), dict[str, int]()
    for m in _DIRECTIVE.finditer(clean):  # a macro is as long as what it stands for
        if macro := _MACRO.match(m[0]):
            length[macro[1]] = sum(length.get(t, 1) for t in _TOKEN.findall(macro[2]))
    clean = _DIRECTIVE.sub(lambda m: " " * len(m[0]), clean)
    levels, last = [(0, 0, True)], ""  # of the brackets around: tokens, open `<`, is it a list
    for m in _TOKEN.finditer(clean):
        t = m[0]
        count, angles, listed = levels[-1]
        if t != "else" and (last == ";" or (last == "}" and (t.isidentifier() or t == "}"))):
            count, angles = 0, 0
        count, angles = count + length.get(t, 1), max(angles + (t == "<") - (t == ">"), 0)
        if count > most:
            return m.start()
        levels[-1] = (angles if t == "," and listed else count, angles, listed)
        if t in "([{":
            named = last.isidentifier() or last in ("=", ",", "(", "]", ">")
            levels.append((0, 0, t == "{" and (listed if last == "{" else named)))
        elif t in ")]}" and len(levels) > 1:
            levels.pop()
        last = t
    return None


def for_header(text: str, start: int) -> tuple[int, int, int] | None:
    """Offsets of the two semicolons and the closing parenthesis of the `for` that starts at
    `start`; None where no `for` stands there (a macro)."""
    found = header(text, start, "for")
    return (found[0], found[1], found[2]) if found is not None and len(found) == 3 else None


def header(text: str, start: int, keyword: str) -> list[int] | None:
    """Offsets of the semicolons between a statement's parentheses and of the closing one; None
    where the keyword does not stand at `start` (a macro)."""
    clean = blanked(text[start : start + 20000])
    m = re.match(rf"{keyword}\s*\(", clean)
    if m is None:
        return None
    depth = 0
    found: list[int] = []
    for k in range(m.end(), len(clean)):
        c = clean[k]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return [start + at for at in (*found, k)]
            depth -= 1
        elif c == ";" and depth == 0:
            found.append(k)
    return None


def pragma(text: str) -> tuple[str, str] | None:
    """("unroll" or "nounroll", its argument) of a text that holds such a pragma."""
    m = _PRAGMA.search(text)
    if m is None:
        return None
    argument = re.sub(r"//.*|/\*.*?\*/", "", m[2]).strip()
    if argument.endswith(")") and argument.count(")") > argument.count("("):
        argument = argument[:-1].strip()
    return m[1], argument


# ------------------------------------------------------------------- inline asm


@attrs.frozen
class AsmText:
    template: str
    outputs: tuple[tuple[str, str], ...]  # (constraint, name)
    inputs: tuple[tuple[str, str], ...]
    clobbers: tuple[str, ...]
    volatile: bool


def string_value(token: str) -> str:
    """The value of a string literal as it is spelled; raw strings too."""
    m = re.match(r'(?:u8|u|U|L)?R"([^(]*)\((.*)\)\1"$', token, re.S)
    if m is not None:
        return m[2]
    token = token[token.index('"') :]
    try:
        return str(ast.literal_eval(token.replace("\n", "\\n")))
    except (ValueError, SyntaxError):
        return token[1:-1]


def parse_asm(tokens: list[str]) -> AsmText | None:
    """The parts of `asm volatile ("…" : outputs : inputs : clobbers)` as a list of tokens."""
    start = next((k for k, t in enumerate(tokens) if t in ("asm", "__asm__", "__asm")), None)
    if start is None:
        return None
    at, volatile = start + 1, False
    while at < len(tokens) and tokens[at] != "(":
        volatile = volatile or tokens[at] in ("volatile", "__volatile__", "__volatile")
        at += 1
    sections: list[list[list[str]]] = [[[]]]
    depth = 0
    for token in _split_colons(tokens[at + 1 :]):
        if token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            if depth == 0:
                break
            depth -= 1
        if depth == 0 and token == ":":
            sections.append([[]])
        elif depth == 0 and token == ",":
            sections[-1].append([])
        else:
            sections[-1][-1].append(token)
    template = "".join(string_value(t) for t in sections[0][0] if '"' in t)
    sections += [[[]]] * 4
    outputs, inputs = (tuple(_operand(o) for o in s if o) for s in sections[1:3])
    clobbers = tuple(string_value(o[0]) for o in sections[3] if o and '"' in o[0])
    return AsmText(template, outputs, inputs, clobbers, volatile)


def _split_colons(tokens: list[str]) -> list[str]:
    out: list[str] = []
    for t in tokens:
        out += [":", ":"] if t == "::" else [t]
    return out


def _operand(tokens: list[str]) -> tuple[str, str]:
    name = ""
    if tokens[0] == "[" and len(tokens) > 2:
        name, tokens = tokens[1], tokens[3:]
    text = ""
    for t in tokens:
        if '"' not in t:
            break
        text += string_value(t)
    return text, name


def substituted(body: list[str], call: list[str]) -> list[str]:
    """The body of a macro with its parameters replaced by what a call gives; `#p` by its text."""
    if body[:1] != ["("] or ")" not in body or call[1:2] != ["("]:
        return body
    close = body.index(")")
    names = [t for t in body[1:close] if t != ","]
    if not all(re.match(r"\w+$|\.\.\.$", n) for n in names):
        return body
    given = dict(zip(names, _arguments(call[2:]), strict=False))
    out: list[str] = []
    rest = iter(body[close + 1 :])
    for t in rest:
        if t == "#":
            word = next(rest, "")
            out.append('"' + " ".join(given.get(word, [word])).replace('"', '\\"') + '"')
        else:
            out += given.get(t, [t])
    return out


_TOKEN = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\w+|\S")


def call_tokens(text: str) -> list[str]:
    """The tokens of the macro call that a text begins with."""
    made: list[str] = []
    depth = 0
    for m in _TOKEN.finditer(text):
        made.append(m[0])
        depth += (m[0] == "(") - (m[0] == ")")
        if (depth == 0 and m[0] == ")") or (depth == 0 and len(made) == 2):
            break
    return made


def _arguments(tokens: list[str]) -> list[list[str]]:
    made: list[list[str]] = [[]]
    depth = 0
    for t in tokens:
        depth += (t in ("(", "[", "{")) - (t in (")", "]", "}"))
        if depth < 0:
            break
        if t == "," and depth == 0:
            made.append([])
        else:
            made[-1].append(t)
    return made


_INSTANCE = re.compile(
    r"(?:^|(?<=[;}]))[ \t]*(?:extern\s+)?template\s+(?!<)(?!class\b|struct\b|union\b)"
    r"(?P<result>[\w:\s*&<>,()]*?[\s*&])(?P<name>[\w:]+)\s*(?P<args><[^;{}()]*>)?\s*"
    r"\((?P<params>[^;{}]*)\)\s*;", re.M)
_LAUNCH = re.compile(r"([A-Za-z_][\w:]*)\s*(<[^;{}()<>]*(?:<[^;{}()<>]*>[^;{}()<>]*)*>)\s*<<<")
_QUALIFIERS = re.compile(
    r"__(?:global|device|host|forceinline|inline|noinline)__|__launch_bounds__\s*\([^()]*\)"
    r"|\binline\b|\bstatic\b|\bextern\b"
)


def instances(text: str) -> list[str]:
    """Values in C++ that name the template instances which a source asks for: explicit
    instantiations, which libclang does not show, and launches with template arguments."""
    clean = blanked(text)
    made: list[str] = []
    for m in _INSTANCE.finditer(clean):
        result = _QUALIFIERS.sub(" ", m["result"])
        name = f"{m['name']}{m['args'] or ''}"
        made.append(f"static_cast<{result} (*)({m['params']})>(&{name})")
    made += [f"(void *)&{name}{args}" for name, args in dict.fromkeys(_LAUNCH.findall(clean))]
    return made


def cast_target(tokens: Iterable[str]) -> str:
    """The last token of the type that a cast names."""
    pair, depth, last = "", 0, ""
    for t in tokens:
        pair = pair or ("()" if t == "(" else "<>")
        depth += t == pair[0]
        if set(t) == {pair[1]}:
            depth -= len(t)
            if depth <= 0:
                return last
        last = t
    return ""
