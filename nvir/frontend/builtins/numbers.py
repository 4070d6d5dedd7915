"""The real front end's builtin numbers, as far as they are known.

The ranges overlap (memory copies lie within textures and matrices), so numbers that are known one
by one win over ranges. Members of a family that the notes do not name are numbered from its
range's start on; that is an assumption, and nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator

# family → ranges of numbers, ends included
RANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "atomic": ((0xB5, 0xCC),),
    "vote": ((0x12E, 0x135), (0x152, 0x159), (0x18B, 0x192)),
    "shuffle": ((0x15F, 0x166),),
    "texture": ((0xCF, 0x113), (0x287, 0x2A5)),
    "wmma": ((0x16E, 0x1D9), (0x2A6, 0x2E8)),
    "wgmma": ((0x2E9, 0x302),),
}
MEMCPY_ALIGN = {657: 1, 658: 2, 659: 4, 660: 8, 661: 16}
MEMSET = (410, 663, 665)
MEMCPY_OTHER = (409, 662, 664)  # alignment not known
TMA = tuple(range(0x19B, 0x1A1))
TEXTURE_HANDLER = 0x287
FENCE_GATED = 0xCB
TYPED_ATOMICS = (0xBA, 0xBB, 0xBC)
EXPLICIT: dict[int, str] = {
    **dict.fromkeys(MEMCPY_ALIGN, "memcpy"), **dict.fromkeys(MEMCPY_OTHER, "memcpy"),
    **dict.fromkeys(MEMSET, "memset"), **dict.fromkeys(TMA, "tma"),
    **{n: "vote" for first, last in RANGES["vote"] for n in range(first, last + 1)},
    **dict.fromkeys(range(351, 359), "shuffle"),
}
SHUFFLE_MODES = ("idx", "up", "down", "bfly")
SURFACE_TYPES = {0: "generic", 1: "1d", 5: "2d", 7: "3d", 8: "cube", 10: "a1d", 11: "a2d",
                 14: "buffer"}
SURFACE_BASES = {"": (3701, 3702), "a2d": (3698, 3699)}
TMA_STORES, TMA_LOADS = range(4218, 4224), range(4244, 4251)
WGMMA_TABLE = range(5304, 5448)
WGMMA_N = (16, 32, 64, 128)
MMA_MODES = 4


def family(number: int) -> str:
    """The family of a number. Raises KeyError for one that no family has."""
    found = EXPLICIT.get(number)
    if found is not None:
        return found
    for name, ranges in RANGES.items():
        if any(first <= number <= last for first, last in ranges):
            return name
    raise KeyError(f"no builtin has the number {number}")


def free_numbers(name: str) -> Iterator[int]:
    """The numbers of a family's ranges that are its own."""
    for first, last in RANGES.get(name, ()):
        for n in range(first, last + 1):
            if family(n) == name:
                yield n


def shuffle(number: int) -> tuple[str, bool]:
    """(mode, whether it is a `_sync` one) of the eight shuffles."""
    if family(number) != "shuffle":
        raise KeyError(f"{number} is no shuffle")
    k = number - 0x15F
    return SHUFFLE_MODES[k % 4], k >= 4


def mma_mode(has_bias: bool, has_scale: bool) -> int:
    """The accumulator mode of a matrix product, one of four."""
    return int(has_bias) | int(has_scale) << 1


def wgmma_index(n: int, b_shared: bool, s64: bool, flags: int, variant: int) -> int:
    """The place in the table of warpgroup products, 0 to 143.

    n        columns: 16, 32, 64, 128
    b_shared whether B comes from shared memory; s64: whether the element is 64 bits wide
    flags    scale and negation, 0 to 2;  variant: which of the three cases
    """
    if n not in WGMMA_N or not 0 <= flags < 3 or not 0 <= variant < 3:
        raise KeyError(f"no warpgroup product has n={n}, flags={flags}, variant={variant}")
    return (((WGMMA_N.index(n) * 2 + b_shared) * 2 + s64) * 3 + flags) * 3 + variant


def wgmma_intrinsic(n: int, b_shared: bool, s64: bool, flags: int, variant: int) -> int:
    """The real front end's intrinsic number of a warpgroup product."""
    return WGMMA_TABLE[wgmma_index(n, b_shared, s64, flags, variant)]


_MODE_BITS = {"accumulate": 0, "transpose": 1, "negate_c": 2, "negate_b": 3, "negate_a": 4}


def wgmma_mode(**flags: bool) -> int:
    """Mode bits packed; that of bit 3, negate_b, is assumed."""
    return sum(1 << _MODE_BITS[name] for name, on in flags.items() if on)


def wgmma_flags(mode: int) -> dict[str, bool]:
    return {name: bool(mode >> bit & 1) for name, bit in _MODE_BITS.items()}


def tma_intrinsic(store: bool, count: int) -> int:
    """The intrinsic of a bulk copy of `count` elements: stores take up to 6, loads up to 7."""
    table = TMA_STORES if store else TMA_LOADS
    if not 1 <= count <= len(table):
        raise KeyError(f"no bulk {'store' if store else 'load'} takes {count} elements")
    return table[count - 1]


def surface_intrinsics(kind: int) -> tuple[int, int]:
    """The base numbers of a surface type's read and write."""
    return SURFACE_BASES["a2d" if SURFACE_TYPES[kind] == "a2d" else ""]
