"""Why a tile loop is not pipelined: a closed list, each with what it says to people."""

from __future__ import annotations

import enum


class TileReason(enum.Enum):
    """`text(what)` fills in the operation, variable or number that is to blame."""

    DISABLED = "knob GemmPipelinerEnabled is off"
    TARGET = "{what} has no asynchronous copies (cp.async needs sm_80)"
    MATRIX = "policy documented: no wgmma and no integer mma in the body"
    DONE = "it is pipelined already"
    PRAGMA = "pragma nounroll, and knob OkToPipelineNoUnroll is 0"
    NO_TILE = "no tile passes from global through shared memory"
    SHAPE = "not a loop of one latch that is left there alone: {what}"
    DIVERGENT = "the threads of a block may leave it apart"
    BARRIERS = "{what} barriers an iteration where a tile loop has two"
    UNROLLED = "{what} tiles an iteration, as of an unrolled loop (#pragma unroll 1 keeps it whole)"
    ORDER = "{what} is not on its side of the barriers"
    OPERATION = "{what} in the loop"
    WRITES = "{what} writes memory besides the tiles"
    ADDRESS = "{what}: not known in which shared variable"
    DYNAMIC = "{what} is dynamic shared memory"
    OUTSIDE = "{what} is used outside of the loop"
    USED = "the value of {what} is used otherwise than for the tile"
    CONVERTED = "{what} stores what is computed from a load"
    SPACE = "{what} is not a plain load of global memory"
    SIZE = "{what}: not in pieces of 4, 8 or 16 aligned bytes"
    GUARD = "{what} stores something else than 0 where its load is skipped"
    PARTIAL = "{what} runs in some iterations only, so older tiles would show"
    MOVES = "the address of {what} changes from one iteration to the next"
    CARRIED = "the next tile depends on {what}, which cannot be computed ahead"
    VALUES = "the arithmetic needs a value of the loading part: {what}"
    HELD = "{what}"
    SHORT = "{what} iterations"
    STATIC = "{what} bytes of static shared memory for the least depth, 49152 are the limit"
    NO_GAIN = "no gain predicted: {what}"
    DEPTH = "knobs ask for {what} stages"

    def text(self, what: str = "") -> str:
        return str(self.value).format(what=what)


class TileRefused(Exception):
    """A loop that is not pipelined. Internal: the pass makes a remark of it."""

    def __init__(self, reason: TileReason, what: object = "") -> None:
        super().__init__(reason.text(str(what)))
        self.reason, self.what = reason, str(what)
