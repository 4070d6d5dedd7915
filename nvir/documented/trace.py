"""What the documented steps did: an event for each, in the order in which they ran.

    trace = Trace()
    documented_decisions(function, rules, trace=trace)
    trace.of("UNR-54")      the events of one row of the notes
"""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class TraceEvent:
    """row: of the coverage list; step: what ran; outcome: what the next step reads of it."""

    row: str
    step: str
    outcome: Any


class Trace(list[TraceEvent]):
    """Events in their order."""

    def note(self, row: str, step: str, outcome: Any) -> None:
        self.append(TraceEvent(row, step, outcome))

    def of(self, row: str) -> list[TraceEvent]:
        return [e for e in self if e.row == row]
