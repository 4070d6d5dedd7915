"""Hints, symbols, folds, definitions, references and renaming, on offsets of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import attrs

from nvir.ir import Instruction, NvirError
from nvir.lsp.document import Document, RoutineFacts, TextView
from nvir.lsp.hover import function_words, loop_of, loop_words, peak_of
from nvir.lsp.outline import DeclaredName, Mention, Routine, Scope
from nvir.ptx.registers import is_register_name
from nvir.report.names import spoken
from nvir.report.source_loops import decision_text

Span = tuple[int, int]
HintStyle = Literal["loops", "lines", "none"]
_LL_NAME = re.compile(r"[-\w$.]+$")


# ------------------------------------------------------------------ hints


@attrs.frozen
class Hint:
    """A text behind the line of an offset of the document."""

    offset: int
    text: str
    tip: str = ""


def hints(doc: Document, span: Span, style: HintStyle = "loops") -> Iterator[Hint]:
    """Registers of each function and at its peak, trip counts of its loops; with "lines" the live
    registers of every instruction. Only functions that the span touches are looked at."""
    for view in doc.views:
        for r in view.outline.routines:
            where = (r.start, r.end) if view.asm is None else _of_asm(view)
            if style != "none" and where[0] <= span[1] and where[1] >= span[0]:
                facts = doc.facts(view, r)
                if facts is not None:
                    yield from _of_routine(view, view.outline.body(r), facts, style)


def _of_asm(view: TextView) -> Span:
    assert view.asm is not None
    return view.asm.start, view.asm.end


def _of_routine(
    view: TextView, r: Routine, facts: RoutineFacts, style: HintStyle
) -> Iterator[Hint]:
    told: list[tuple[int, str, str]] = []
    if view.asm is None:  # the kernel around an asm statement is nvir's own
        told.append((r.name_at[1], " · ".join(function_words(facts)), ""))
    for name in r.labels:
        text = name.block
        loop = loop_of(facts, text)
        if loop is not None:
            d = facts.facts.unroll.get(text) if facts.facts is not None else None
            words = ["loop", *loop_words(loop, facts)]
            if d is not None and d.action != "none":
                words.append("ptxas unrolls " + ("fully" if d.action == "full" else f"{d.factor}×"))
            told.append((name.at[1], " · ".join(words), decision_text(d) if d else ""))
    peak = peak_of(facts)
    starts = view.lines.starts
    if view.asm is None:
        for i, n in zip(facts.pressure.instructions, facts.pressure.counts, strict=True):
            if (i is peak or style == "lines") and 0 < i.line <= len(starts) and not i.is_phi:
                told.append((starts[i.line - 1], _count(i, n, facts, i is peak), ""))
    for offset, text, tip in told:
        outward = view.outward(offset - 1, offset) if view.asm is not None else (offset, offset)
        if outward is not None:
            yield Hint(outward[1], text, tip)


def _count(i: Instruction, written: int, facts: RoutineFacts, is_peak: bool) -> str:
    text = f"{'peak · ' * is_peak}live {written}"
    scheduled = facts.facts.estimate.counts.get(i) if facts.facts is not None else None
    return text if scheduled in (None, written) else f"{text} · asm {scheduled}"


# ------------------------------------------------------------------ symbols and folds


@attrs.define
class SymbolNode:
    """A node of the document's tree: `whole` is what it covers, `name_at` its name."""

    name: str
    kind: Literal["kernel", "function", "variable", "label", "loop", "asm"]
    whole: Span
    name_at: Span
    detail: str = ""
    children: list[SymbolNode] = attrs.Factory(list)


def symbols(doc: Document) -> list[SymbolNode]:
    """Kernels, functions and variables; in them labels, those of loops around what they hold."""
    out: list[SymbolNode] = []
    for view in doc.views:
        if view.asm is not None:
            out.append(_asm_symbol(view))
            continue
        for name in view.outline.module.names.values():
            if name.kind == "variable" and name.text[0] not in "!#":
                out.append(SymbolNode(name.text, "variable", name.at, name.at, name.type))
        out += [_routine_symbol(doc, view, r) for r in view.outline.routines]
    return sorted(out, key=lambda s: s.whole)


def _asm_symbol(view: TextView) -> SymbolNode:
    span = _of_asm(view)
    body = view.outline.body(view.outline.routines[0]).statements[:-1]  # the last is our own ret
    first = view.text[body[0].start : body[0].end].replace("%asm", "%") if body else "asm"
    more = " …" if len(body) > 1 else ""
    return SymbolNode(" ".join(first.split()) + more, "asm", span, span)


def _routine_symbol(doc: Document, view: TextView, r: Routine) -> SymbolNode:
    kind: Literal["kernel", "function"] = "kernel" if r.kind == "kernel" else "function"
    made = SymbolNode(spoken(r.name.removeprefix("@")), kind, (r.start, r.end), r.name_at)
    facts = doc.facts(view, r)
    if facts is not None:
        made.detail = " · ".join(function_words(facts))
    stack = [made]
    for name, end in _blocks(view, view.outline.body(r), facts):
        while stack[-1] is not made and name.at[0] >= stack[-1].whole[1]:
            stack.pop()
        text = name.text.removeprefix("%")
        node = SymbolNode(text, "label", (name.at[0], end), name.at)
        found = loop_of(facts, name.block)
        if facts is not None and found is not None:
            node.kind, node.detail = "loop", " · ".join(loop_words(found, facts))
        whole = stack[-1].whole
        node.whole = (node.whole[0], max(min(node.whole[1], whole[1]), node.name_at[1]))
        stack[-1].children.append(node)
        if node.kind == "loop":
            stack.append(node)
    return made


def _blocks(
    view: TextView, r: Routine, facts: RoutineFacts | None
) -> Iterator[tuple[DeclaredName, int]]:
    """Each label with the end of its block, or of the loop that it heads."""
    labels = sorted(r.labels, key=lambda n: n.at)
    close = max(r.end - 1, r.start)
    bounds = [*(n.at[0] for n in labels[1:]), close]
    ends = {n.block: b for n, b in zip(labels, bounds, strict=False)}
    for name in labels:
        text = name.block
        loop = loop_of(facts, text)
        if loop is None:
            yield name, ends[text]
        else:  # blocks without a label lie before the next one that has one
            inside = [ends.get(b.name, 0) for b in loop.blocks]
            yield name, max(*inside, ends[text])


def folds(doc: Document) -> Iterator[tuple[Span, str]]:
    """What may be folded: bodies, scopes, loops and blocks, and asm statements."""
    for view in doc.views:
        if view.asm is not None:
            yield _of_asm(view), "region"
            continue
        for r in view.outline.routines:
            if r.body < 0:
                continue
            body = view.outline.body(r)
            yield (r.body, r.end), "region"
            for s in body.scopes:
                if s.end:
                    yield (s.start, s.end), "region"
            for name, end in _blocks(view, body, doc.facts(view, r)):
                yield (name.at[0], len(view.text[:end].rstrip())), "region"


# ------------------------------------------------------------------ colours

TOKENS = ("keyword", "variable", "parameter", "function", "macro", "type", "comment", "number",
          "string")
_OF_KIND = {"register": "variable", "value": "variable", "parameter": "parameter",
            "kernel": "function", "function": "function", "label": "macro", "variable": "variable"}
_PLAIN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>\"[^\"\n]*\")|(?<![\w%$.\]])(?P<type>\.[a-z]\w*)"
    r"|(?<![\w%$.])(?P<number>0[xXfFdD][0-9a-fA-F]+U?|\d[\w.]*)", re.S)
_LL_PLAIN = re.compile(
    r"(?P<comment>;[^\n]*)|(?P<string>c?\"[^\"\n]*\")|(?<![-\w%@$.!#])(?:(?P<number>-?\d[\w.+]*)"
    r"|(?P<type>i\d+|ptr|float|double|half|bfloat|void)\b)")


def tokens(doc: Document) -> list[tuple[Span, str]]:
    """What is coloured, in the text's order and each within a line: spans and names of `TOKENS`.
    Of CUDA sources that is what stands in `asm` strings, for the rest has its own server."""
    found: list[tuple[Span, str]] = []
    for view in doc.views:
        plain = _LL_PLAIN if view.language == "ll" else _PLAIN
        for m in plain.finditer(view.text) if view.asm is None else ():
            at = m.start()
            for part in m[0].split("\n"):
                found.append(((at, at + len(part)), str(m.lastgroup)))
                at += len(part) + 1
        for r in map(view.outline.body, view.outline.routines):
            spans = [((s.start, s.start + len(s.opcode)), "keyword") for s in r.statements]
            for n in r.mentions:
                name = n.scope.find(n.text)
                kind = _OF_KIND[name.kind] if name is not None else "variable"
                spans.append(((n.start, n.end), kind))
            found += [(o, k) for s, k in spans if (o := view.outward(*s)) is not None]
    out: list[tuple[Span, str]] = []
    for span, kind in sorted(found):
        if span[1] > span[0] and (not out or span[0] >= out[-1][0][1]):
            out.append((span, kind))
    return out


# ------------------------------------------------------------------ names


def definitions(doc: Document, offset: int) -> list[Span]:
    """Where a name's value comes from: the writes that reach a register here, else where the name
    is declared."""
    found = _named(doc, offset)
    if found is None:
        return []
    view, mention, name = found
    if name.kind == "register" and mention.role != "declare":
        writes = [m for m in view.outline.mentions_of(name) if m.role in ("write", "both")]
        reaching = _reaching(doc, view, mention, name)
        if reaching and mention.role == "read":
            writes = [m for m in writes if view.line(m.start) in reaching] or writes
        spans = [view.outward(m.start, m.end) for m in writes]
        if any(spans):
            return [s for s in spans if s is not None]
    return declarations(doc, offset)


def _reaching(doc: Document, view: TextView, mention: Mention, name: DeclaredName) -> set[int]:
    """The lines of the definitions of what an instruction reads under a name, through phis."""
    facts = doc.facts(view, name.owner) if name.owner is not None else None
    if facts is None or mention.statement is None:
        return set()
    lines: set[int] = set()
    for i in facts.at_line(view.line(mention.statement.start), mention.statement.opcode)[:1]:
        left = [v for v in i.operands if v.is_tracked and v.name == mention.text]
        seen = set(left)
        while left:
            d = left.pop().definer
            if d is not None and d.is_phi:
                new = [v for v in d.operands if v.is_tracked and v not in seen]
                seen.update(new)
                left += new
            elif d is not None:
                lines.add(d.line)
    return lines


def declarations(doc: Document, offset: int) -> list[Span]:
    """Where a name is declared: the `.reg`, label, parameter, variable, operand or function."""
    found = _named(doc, offset)
    if found is None:
        return []
    view, _, name = found
    span = view.outward(*name.at) or view.operand(name.text)
    return [span] if span is not None else []


def references(doc: Document, offset: int, declared: bool = True) -> list[tuple[Span, str]]:
    """Every place of the name at an offset, with what is done there."""
    found = _named(doc, offset)
    if found is None:
        return []
    view, _, name = found
    out: list[tuple[Span, str]] = []
    for m in view.outline.mentions_of(name):
        span = view.outward(m.start, m.end)
        if span is not None and (declared or m.role != "declare"):
            out.append((span, m.role))
    return out


def _named(doc: Document, offset: int) -> tuple[TextView, Mention, DeclaredName] | None:
    place = doc.locate(offset)
    named = place[0].outline.name_at(place[1]) if place is not None else None
    return (place[0], *named) if place is not None and named is not None else None


def renamable(doc: Document, offset: int) -> Span | None:
    """The span of a name that can be renamed: of a PTX or LLVM text, not of an asm operand."""
    found = _named(doc, offset)
    if found is None:
        return None
    view, mention, name = found
    if name.text[0] in "!#" or (view.language == "ptx" and "." in mention.text):
        return None  # a metadata node, the element of a vector
    if view.asm is not None and (_is_ranged(view, name) or view.outward(*name.at) is None):
        return None
    return view.outward(mention.start, mention.end)


def _is_ranged(view: TextView, name: DeclaredName) -> bool:
    """Whether a register is one of several that `%r<8>` declares."""
    return name.kind == "register" and view.text[slice(*name.at)] != name.text


def rename(doc: Document, offset: int, new: str) -> list[tuple[Span, str]]:
    """The edits that give a name another spelling. A register of a range (`%r<8>`) gets a
    declaration of its own. Raises NvirError where the new name will not do."""
    found = _named(doc, offset)
    if found is None or renamable(doc, offset) is None:
        raise NvirError("nothing here has a name that can be changed")
    view, mention, name = found
    if view.language == "ll":
        new = new.lstrip("%@")
        if _LL_NAME.match(new) is None:
            raise NvirError(f"'{new}' is no name in LLVM text")
    elif not is_register_name(new):
        raise NvirError(f"'{new}' is no name in PTX, or one that PTX keeps")
    sigil = name.text[0] if view.language == "ll" else ""
    _check_free(view, mention.scope, name, sigil + new)
    edits = []
    for m in view.outline.mentions_of(name):
        span = view.outward(m.start, m.end)
        if span is not None:
            text = view.text[m.start : m.end]
            plain = sigil + new if text[:1] == sigil else new
            edits.append((span, plain + m.text[len(name.text):]))
    if _is_ranged(view, name):
        end = view.text.find(";", name.at[1]) + 1
        edits.append(((end, end), f"\n\t.reg .{name.type}\t{new};"))
    return edits


def _check_free(view: TextView, scope: Scope, name: DeclaredName, new: str) -> None:
    among = [name.owner] if name.owner is not None else view.outline.routines
    taken = scope.find(new) is not None or any(
        m.text == new for r in among for m in view.outline.body(r).mentions)
    if taken:
        raise NvirError(f"'{new}' stands for something else here")
