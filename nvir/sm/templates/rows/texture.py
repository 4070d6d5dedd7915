"""Textures and surfaces."""

from __future__ import annotations

from nvir.sm.templates.table import Shape, fixed, rule


def _handle(s: Shape) -> str:
    """From sm_90 on the handle is brought to uniform registers, which differ from lane to lane."""
    return "R2UR t8, a.l; R2UR t9, a.h; " if s.on("uniform_handles") else "MOV t8; "


@rule("tex")
def tex(s: Shape) -> str | None:
    family = "TLD" if s.types and s.types[-1].kind in "su" and s.has("level") else "TEX"
    return f"{_handle(s)}{family} D, A t8"


@rule("tld4")
def tld4(s: Shape) -> str | None:
    return f"{_handle(s)}TLD4 D, A t8"


fixed(
    {
        "txq": "TXQ D, A",
        "suld": "SULD D, A",
        "sust": "SUST , A",
        "sured": "SURED , A",
        "suq": "SUQ D, A",
    }
)
