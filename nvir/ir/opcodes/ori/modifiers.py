"""The modifiers of PTX ISA 9.0, so that a newer one can be told from a known one.

Reading does not depend on this table: an unknown modifier keeps the operand
roles of its row, and is reported. Types are in `types.SCALARS`.
"""

from __future__ import annotations

import re

from nvir.ir.opcodes import UNKNOWN
from nvir.ir.opcodes.form import Form
from nvir.ir.types import SCALARS

_FAMILIES = {
    "rounding": "rn rz rm rp rna rs rni rzi rmi rpi",
    "arithmetic": "oob mask "
    "ftz sat satfinite relu lo hi wide cc approx full noftz NaN nan xorsign abs x "
    "clamp wrap shiftamt po pos l r f4e b4e rc8 ecl ecr rc16 scaled::n2::relu add mul "
    "pack::16b unpack::16b",
    "comparison": "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor",
    "classes": "finite infinite number notanumber normal subnormal",
    "spaces": "global shared shared::cta shared::cluster local const param param::entry "
    "param::func reg generic tensormap::generic proxy::tensormap::generic to",
    "ordering": "weak volatile relaxed acquire release acq_rel sc mmio",
    "scopes": "cta cluster gpu sys gl",
    "caching": "ca cg cs lu cv wb wt nc L1 L2 L2::64B L2::128B L2::256B L2::cache_hint "
    "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::evict_normal L2::evict_unchanged L2::evict_first L2::evict_last fractional range "
    "level::eviction_priority uniform cvt",
    "atomics": "exch cas inc dec min max add and or xor acc::f16 acc::f32 popc safeadd noftz all "
    "any uni async",
    "warp": "up down bfly idx ballot all any uni sync aligned red arrive wait cluster_warp",
    "matrix": "row col trans num a b c d sp sp::ordered_metadata kind::f8f6f4 kind::mxf8f6f4 "
    "kind::mxf4 kind::mxf4nvf4 kind::f16 kind::tf32 kind::i8 block_scale scale_vec::1X "
    "scale_vec::2X scale_vec::4X block16 block32 scale_vectorsize xor.popc and.popc mma_async "
    "b8x16.b6x16_p32 b8x16.b4x16_p64 b6x16_p32 b4x16_p64 b8x16 spformat::thread ws cg1 cg2 "
    "ashift collector::a::fill collector::a::use collector::a::lastuse collector::a::discard "
    "warpx2::02_13 warpx2::01_23 warpx4 32x128b 4x256b 128x256b 64x128b 128x128b",
    "tensor memory": "cta_group::1 cta_group::2 32x32b 16x64b 16x128b 16x256b 16x32bx2 "
    "mbarrier::arrive::one multicast::cluster ld st",
    "asynchronous": "bulk bulk_group tensor mbarrier mbarrier::complete_tx::bytes noinc read "
    "noComplete expect_tx parity phaseChk try_wait test_wait ignore_oob cp_mask multimem "
    "tile tile::gather4 tile::scatter4 im2col im2col::w im2col::w::128 im2col_no_offs proxy "
    "alias sync_restrict::shared::cta sync_restrict::shared::cluster "
    "sync_restrict::shared::cta::cluster sync_restrict::shared::cluster::cluster "
    "async::generic async.global async.shared::cta async.shared::cluster mbarrier_init "
    "op_restrict::mbarrier_init warpgroup wait_group commit_group",
    "tensor maps": "replace global_address rank box_dim global_dim global_stride element_stride "
    "elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode tensormap",
    "textures": "1d 2d 3d a1d a2d cube acube 2dms a2dms base level grad r g b a unified trap "
    "clamp zero p width height depth channel_data_type channel_order normalized_coords "
    "force_unnormalized_coords filter_mode addr_mode_0 addr_mode_1 addr_mode_2 array_size "
    "num_mipmap_levels num_samples memory_layout",
    "video": "b0 b1 b2 b3 h0 h1 shr7 shr15",
    "others": "texref samplerref surfref launch_dependents wait enter exit is_canceled "
    "get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z get_first_ctaid "
    "before_thread_sync after_thread_sync",
}
_KNOWN = frozenset(word for text in _FAMILIES.values() for word in text.split())
_SHAPES = re.compile(
    r"(?:v(?:2|4|8|16)|x\d{1,3}|m(?:8|16|32|64|128|256)n(?:8|16|24|[1-9]\d\d?)(?:k(?:4|8|16|32|64|96|128|256))?|[1-5]d|a[12]d|\d+x\d+b(?:x\d)?"
    r"|b1024|b1|s4|u4|s2|u2|level::\w+|L[12]::\w+)$"
)


def unknown_modifiers(f: Form) -> list[str]:
    """The modifiers of a form that neither this table nor the types know."""
    if f.op is UNKNOWN:
        return []
    return [
        m for m in f.mods if m not in SCALARS and m not in _KNOWN and not _SHAPES.match(m)
    ]
