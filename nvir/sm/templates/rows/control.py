"""Control flow, and what stops, sleeps or reconfigures."""

from __future__ import annotations

from nvir.sm.templates.table import Shape, fixed, rule

fixed({
    "bra": "BRA",
    "brx.idx": "BRX , a",
    "ret exit": "EXIT",
    "trap": "BPT",
    "brkpt": "BPT",
    "nanosleep": "NANOSLEEP , a",
    "pmevent": "PMTRIG",
    "setmaxnreg": "USETMAXREG",
    "stacksave": "MOV d",
    "stackrestore": "MOV , a",
})


@rule("call")
def call(s: Shape) -> str | None:
    return "MOV t0; CALL D, A t0"


@rule("griddepcontrol.launch_dependents griddepcontrol.wait")
def griddepcontrol(s: Shape) -> str | None:
    return "PREEXIT" if s.name.endswith("dependents") else "ACQBULK"
