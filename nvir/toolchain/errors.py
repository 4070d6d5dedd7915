"""What can go wrong with a real tool, apart from its saying no.

A tool that rejects its input is no exception here: the result says so (`ok`)
and carries the log. These classes stand alone, since this package imports
nothing of the rest of nvir.
"""

from __future__ import annotations


class ToolError(Exception):
    """A tool could not do its work: no answer in time, or an answer that cannot be read."""


class ToolMissing(ToolError):
    """A tool is not installed. The message says how to install it."""

    def __init__(self, tool: str, how: str = "pip install 'nvir[oracle]'") -> None:
        self.tool = tool
        super().__init__(f"{tool} was not found; install it with: {how}")
