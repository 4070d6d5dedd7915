"""Rows of the coverage list that no test can show, each with the reason."""

from __future__ import annotations

PROVENANCE: dict[str, str] = {
    "IR-10": "bit masks of the real tool's operand words. nvir's operands are values and their "
    "modifiers stand in the form, so there is no word to mask; what the masks decide is asked of "
    "the form (UNR-33, LIC-16 and LIC-25 have tests)",
    "LPI-08": "the hash of the real tool's table of rejections. nvir keeps a rejection as the "
    "remark of its loop (UNR-45 and UNR-46 have tests), in no table that is hashed by hand",
    "TYP-06": "how the real front end instantiates templates. nvir begins at a typed tree in which "
    "they are instantiated (EXP-22); by whom is the reader's affair",
    "GAP-27": "two roles under one address in the notes. nvir has no addresses: a role is a "
    "function with a name of its own, to which tests/test_roles.py holds it",
}
