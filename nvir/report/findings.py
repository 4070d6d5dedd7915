"""What `nvir check` finds in a text of any language, as text, JSON, SARIF or GitHub annotations."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from urllib.parse import quote

import attrs

from nvir.ir.errors import Diagnostic, ParseError, Unsupported, VerifyError
from nvir.loading import STDIO, language_of
from nvir.ptx.check import check
from nvir.ptx.inline import check_inline
from nvir.sm.profile import PROFILES

_PROPERTY = "%\r\n:,"  # what is escaped in a property of a workflow command
Findings = Sequence[tuple[str, Diagnostic]]
Files = Sequence[tuple[str, Findings]]


def find(data: bytes, file: str, arch: str | None = None) -> Findings:
    """Code and diagnostic of everything wrong in a text, in the order of the lines.

    The language is that of `nvir.loading.language_of`. Of PTX that is what ptxas would refuse for
    `arch`, of CUDA C++ the same of its `asm` statements, of LLVM text and nvir's own what cannot
    be read or breaks a rule of its level.
    """
    language = language_of(data, file)
    shown = "<stdin>" if file == STDIO else file
    if language == "cu":
        if b"\0" in data:
            return [("syntax", Diagnostic("this is a binary file, not CUDA C++", shown, 1, 1))]
        return check_inline(data.decode("utf-8", "replace"), shown, arch)
    try:
        found = check(data, PROFILES, arch) if language == "ptx" else _other(data, language == "ll")
    except ParseError as e:
        found = [("syntax", d) for d in e.errors]
    return [(code, attrs.evolve(d, file=shown)) for code, d in found]


def _other(data: bytes, llvm: bool) -> Findings:
    from nvir.ir.text.parse import parse_ir
    from nvir.ir.verify import verify
    from nvir.llvm.reader import read_ll

    try:
        verify(read_ll(data) if llvm else parse_ir(data))
    except Unsupported as e:
        place = e.place or Diagnostic("")
        return [("unsupported", attrs.evolve(place, message=f"unsupported: {e.what}",
                                             severity="warning"))]
    except VerifyError as e:
        broken = f"in @{e.function}: {e.invariant}" if e.place else str(e)
        return [("invariant", attrs.evolve(e.place or Diagnostic(""), message=broken))]
    return []


def as_text(files: Files) -> str:
    """A line for each finding; of several files also what was found in all."""
    lines = "".join(f"{d}\n" for _, found in files for _, d in found)
    if len(files) == 1:
        where = " in asm statements" if files[0][0].endswith((".cu", ".cuh")) else ""
        return lines or f"{files[0][0]}: no errors{where}\n"
    counts = [sum(d.severity == "error" for _, d in found) for _, found in files]
    all = _many(len(files), "file")
    if not any(counts):
        return f"{lines}{all}: no errors\n"
    return f"{lines}{_many(sum(counts), 'error')} in {sum(map(bool, counts))} of {all}\n"


def _many(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def as_json(files: Files, several: bool = False) -> str:
    """`nvir.check/1` of one file, `nvir.checks/1` of several."""
    rows = [{"file": file, "diagnostics": [
        {"severity": d.severity, "line": d.line, "column": d.col, "code": code,
         "message": d.message}
        for code, d in found
    ]} for file, found in files]
    document = {"schema": "nvir.checks/1", "files": rows} if several else \
        {"schema": "nvir.check/1", **rows[0]}
    return json.dumps(document, indent=2) + "\n"


def as_sarif(files: Files) -> str:
    """SARIF 2.1.0, as code scanning takes it; a finding without a line stands at the first."""
    results = [
        {
            "ruleId": code,
            "level": d.severity,
            "message": {"text": d.message},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": quote(os.fsencode(file))},
                "region": {"startLine": max(d.line, 1), "startColumn": max(d.col, 1)},
            }}],
        }
        for file, found in files for code, d in found
    ]
    rules = [{"id": code} for code in dict.fromkeys(r["ruleId"] for r in results)]
    run = {"tool": {"driver": {"name": "nvir", "rules": rules}}, "results": results}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2) + "\n"


def as_github(files: Files) -> str:
    """Workflow commands that put each finding beside its line of a pull request."""
    return "".join(
        annotation(d.severity, d.message, file=file, line=max(d.line, 1), col=max(d.col, 1),
                   title=code) for file, found in files for code, d in found
    )


def annotation(severity: str, text: str, **properties: object) -> str:
    """One workflow command of GitHub, escaped as its toolkit does it."""
    def escaped(x: object, marks: str = "%\r\n") -> str:
        return "".join(f"%{ord(c):02X}" if c in marks else c for c in str(x))

    at = ",".join(f"{k}={escaped(v, _PROPERTY)}" for k, v in properties.items())
    return f"::{severity} {at}::{escaped(text)}\n"
