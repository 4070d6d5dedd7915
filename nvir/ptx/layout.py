"""PTX in a canonical layout: `nvir fmt`.

One statement a line; directives of the module and labels at the margin, what stands in a body
behind a tab, operands behind another; a space after each comma, none inside brackets. Comments stay
where they are: on a line of their own, or behind their statement. Blank lines stay, one at a time.
Nothing but white space changes: texts without it are compared, and one that differs is refused.

Cost    linear in the text.
"""

from __future__ import annotations

import re

from nvir.ir.errors import Unsupported

_PART = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|[;{}\n]|[^;{}\n\"/]+|/", re.S)
_LINE = re.compile(r"\.(version|target|address_size|file|loc)\b")  # directives that a line ends
_HEADER = re.compile(r"(\.(visible|extern|weak|common)\s+)*\.(entry|func)\b")
_LABEL = re.compile(r"\s*([\w$]+)\s*:")
_SECTION = re.compile(r"^[ \t]*\.section\b", re.M)


def laid_out(text: str) -> str:
    """The text in canonical layout. Raises Unsupported where it would be another text."""
    found = _SECTION.search(text)
    cut = found.start() if found is not None else len(text)  # debug data stays as it is
    out = _Lines().lines(text[:cut])
    made = "".join(f"{line.rstrip()}\n" for line in out) + text[cut:]
    if "".join(made.split()) != "".join(text.split()):
        raise Unsupported("the layout of this text", where="nvir fmt")
    return made


class _Lines:
    """A writer of statements: `held` is the one that has begun, `raw` its text as it stands,
    `braces` those open inside it."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.held, self.raw, self.behind = "", "", ""
        self.depth = self.braces = 0
        self.fresh = True  # nothing was written of this line of the text

    def lines(self, text: str) -> list[str]:
        for part in _PART.findall(text):
            self.raw = self.raw + part if self.held.strip() else part
            if part.startswith(("//", "/*")):
                self.comment(part)
            elif part == "\n":
                self.newline()
            elif part == "{":
                self.open()
            elif part == "}":
                self.close()
            elif part == ";":
                self.put(self.held + ";")
            else:
                self.held += part
                self.labels()
        if self.held.strip() or self.behind:
            self.put(self.held)
        return self.out

    def comment(self, text: str) -> None:
        if self.held.strip():
            self.behind += f" {text}"
        elif self.fresh or not self.out:
            self.out += ["\t" * bool(self.depth) + line.strip() for line in text.split("\n")]
            self.fresh = False
        else:
            self.out[-1] += f" {text}"

    def newline(self) -> None:
        if _LINE.match(self.held.lstrip()):
            self.put(self.held)
        elif self.held.strip():
            self.held += " "
        elif self.fresh and self.out and self.out[-1]:
            self.out.append("")
        self.fresh = True

    def labels(self) -> None:
        while not (self.braces or self.behind) and (found := _LABEL.match(self.held)) is not None:
            if self.held[found.end() : found.end() + 1] == ":":
                return
            self.held = self.raw = self.held[found.end() :]
            self.out.append(f"{found[1]}:")
            self.fresh = False

    def open(self) -> None:
        header = _HEADER.match(self.held.lstrip())
        if self.held.strip() and not header:
            self.braces += 1
            self.held += "{"
            return
        if header:
            self.put(self.held)
        self.out.append("\t" * bool(self.depth) + "{")
        self.depth += 1
        self.fresh = False

    def close(self) -> None:
        if self.braces:
            self.braces -= 1
            self.held += "}"
            return
        if self.held.strip():
            self.put(self.held)
        self.depth = max(self.depth - 1, 0)
        self.out.append("\t" * bool(self.depth) + "}")
        self.fresh = False

    def put(self, statement: str) -> None:
        """Write a statement with the comment behind it; as it stands with comments inside it."""
        text = _spaced(statement) + self.behind
        raw = self.raw.strip()
        if not statement.endswith(";") and raw.endswith(("{", "}")):
            raw = raw[:-1].rstrip()  # of a body
        if self.behind and "".join(text.split()) != "".join(raw.split()):
            text = raw
        self.out.append("\t" * bool(self.depth) + text)
        self.held = self.behind = ""
        self.braces, self.fresh = 0, False


def _spaced(statement: str) -> str:
    """One statement with single spaces; an instruction's operands behind a tab."""
    parts = re.split(r"(\"[^\"]*\")", statement)
    for k in range(0, len(parts), 2):
        text = re.sub(r"\s+", " ", parts[k])
        text = re.sub(r"\s*,\s*", ", ", text)
        text = re.sub(r"([\[({])\s+", r"\1", text)
        text = re.sub(r"\s+([\])};])", r"\1", text)
        parts[k] = re.sub(r"\s*\+\s*", "+", text)
    text = "".join(parts).strip()
    found = re.match(r"(@!?\S+\s)?([a-z][\w.:]*)\s+(?!:)(?=\S)", text)
    if found is None:
        return text
    guard = found[1] or ""
    return f"{guard}{found[2]}\t{text[found.end():]}"
