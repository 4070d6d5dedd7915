"""Work, counted: what a busy machine does not change. No verdict of a test hangs on a clock.

    few, many = effort(lambda: run(100)), effort(lambda: run(400))
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

MOST = 20_000_000  # steps, after which it is taken for endless


def effort(action: Callable[[], object], most: int = MOST) -> int:
    """How many lines of Python are run by it, calls and returns among them. AssertionError as soon
    as they are more than `most`."""
    count = 0

    def step(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        if count > most:
            raise AssertionError(f"more than {most} lines are run")
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        action()
    finally:
        sys.settrace(before)
    return count
