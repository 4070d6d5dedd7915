"""Video instructions, which the machine has long lost: parts are taken out, then combined."""

from __future__ import annotations

from nvir.sm.templates.table import Shape, rule

_WORK = {
    "vadd": "IADD", "vsub": "IADD", "vabsdiff": "VABSDIFF", "vmin": "IMNMX", "vmax": "IMNMX",
    "vshl": "SHF", "vshr": "SHF",
}


@rule(" ".join(_WORK))
def scalar(s: Shape) -> str | None:
    family = _WORK[s.name]
    if s.has("sat") or s.form.n_sources > 3:
        return None
    combine = "; IADD d, t2 c" if s.form.n_sources == 3 else ""
    target = "t2" if combine else "d"
    return f"PRMT t0, a; PRMT t1, b; {family} {target}, t0 t1{combine}"


@rule("vabsdiff4")
def absolute_differences(s: Shape) -> str | None:
    return "VABSDIFF4 d, a b c" if s.has("add") else None
