"""What `nvir check` found, as text, JSON, SARIF or GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nvir.ir.errors import Diagnostic

Findings = Sequence[tuple[str, Diagnostic]]


def as_text(file: str, found: Findings) -> str:
    return "".join(f"{d}\n" for _, d in found) or f"{file}: no errors\n"


def as_json(file: str, found: Findings) -> str:
    rows = [
        {"severity": d.severity, "line": d.line, "column": d.col, "code": code,
         "message": d.message}
        for code, d in found
    ]
    document = {"schema": "nvir.check/1", "file": file, "diagnostics": rows}
    return json.dumps(document, indent=2) + "\n"


def as_sarif(file: str, found: Findings) -> str:
    """SARIF 2.1.0, as code scanning takes it; a finding without a line stands at the first."""
    results = [
        {
            "ruleId": code,
            "level": d.severity,
            "message": {"text": d.message},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": file},
                "region": {"startLine": max(d.line, 1), "startColumn": max(d.col, 1)},
            }}],
        }
        for code, d in found
    ]
    rules = [{"id": code} for code in dict.fromkeys(code for code, _ in found)]
    run = {"tool": {"driver": {"name": "nvir", "rules": rules}}, "results": results}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2) + "\n"


def as_github(file: str, found: Findings) -> str:
    """Workflow commands that put each finding beside its line of a pull request."""
    lines = []
    for code, d in found:
        text = d.message.replace("%", "%25").replace("\n", "%0A")
        at = f"file={file},line={max(d.line, 1)},col={max(d.col, 1)},title={code}"
        lines.append(f"::{d.severity} {at}::{text}\n")
    return "".join(lines)
