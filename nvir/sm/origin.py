"""Where a figure comes from: every table of numbers says it of each row."""

from __future__ import annotations

from typing import Literal

# noted: in the notes on the real tool; observed: measured on it; assumed: where neither says
Origin = Literal["noted", "observed", "assumed"]
