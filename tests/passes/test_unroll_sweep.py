"""What single instructions weigh: measured on ptxas 13.0.88 for sm_80, one row each.

Each text stood in a body of known size. Where the factor of an unknown trip count falls, and up to
which trip count the loop is unrolled fully, gives its size in the body and what is left of it in
copies; the instruction that uses the result counts with it.
"""

from __future__ import annotations

import pytest

import nvir
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.unroll.unroll_decision import decide

# Text, its size in the body, and in a copy of the fully unrolled loop.
ROWS = [
    ("div.approx.f32 %f50, %f1, 0f3FA00000; add.f32 %f1, %f1, %f50;", 3, 3),
    ("div.full.f32 %f50, %f1, 0f3FA00000; add.f32 %f1, %f1, %f50;", 2, 2),
    ("div.approx.ftz.f32 %f50, %f1, 0f3FA00000; add.f32 %f1, %f1, %f50;", 2, 2),
    ("div.full.ftz.f32 %f50, %f1, 0f3FA00000; add.f32 %f1, %f1, %f50;", 2, 2),
    ("mul24.lo.u32 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("mul24.hi.u32 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 7, 7),
    ("mul24.lo.s32 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("mul24.hi.s32 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 7, 7),
    ("div.s32 %i50, %i30, 11; xor.b32 %i30, %i30, %i50;", 24, 16),
    ("div.u32 %i50, %i30, 16; xor.b32 %i30, %i30, %i50;", 20, 12),
    ("rem.s32 %i50, %i30, 11; xor.b32 %i30, %i30, %i50;", 21, 13),
    ("rem.u32 %i50, %i30, 16; xor.b32 %i30, %i30, %i50;", 18, 10),
    ("mad24.hi.u32 %i50, %i30, %i31, %i32; xor.b32 %i30, %i30, %i50;", 8, 8),
    ("mad24.hi.s32 %i50, %i30, %i31, %i32; xor.b32 %i30, %i30, %i50;", 8, 8),
    ("slct.s32.s32 %i50, %i30, %i31, %i32; xor.b32 %i30, %i30, %i50;", 2, 2),
    ("bfe.u32 %i50, %i30, 3, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("bfe.s32 %i50, %i30, 3, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("bfi.b32 %i50, %i30, %i31, %i32, %i30; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("bfi.b32 %i50, %i30, %i31, 3, %i32; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("bfi.b32 %i50, %i30, %i31, %i32, 8; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("bfi.b64 %l50, %l30, %l31, 3, 8; xor.b64 %l30, %l30, %l50;", 5, 5),
    ("bfe.u64 %l50, %l30, 3, 8; xor.b64 %l30, %l30, %l50;", 3, 3),
    ("bfe.s64 %l50, %l30, 3, 8; xor.b64 %l30, %l30, %l50;", 7, 7),
    ("bfe.u64 %l50, %l30, %i31, %i32; xor.b64 %l30, %l30, %l50;", 7, 7),
    ("bfi.b64 %l50, %l30, %l31, %i31, %i32; xor.b64 %l30, %l30, %l50;", 12, 12),
    ("bfe.s64 %l50, %l30, %i31, %i32; xor.b64 %l30, %l30, %l50;", 14, 14),
    ("cvt.sat.u8.s32 %i50, %i30; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("cvt.sat.s8.s32 %i50, %i30; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("cvt.sat.u8.u32 %i50, %i30; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("shr.u64 %l50, %l30, %i31; xor.b64 %l30, %l30, %l50;", 3, 3),
    ("shr.s64 %l50, %l30, %i31; xor.b64 %l30, %l30, %l50;", 3, 3),
    ("brev.b64 %l50, %l30; xor.b64 %l30, %l30, %l50;", 6, 6),
    ("cnot.b64 %l50, %l30; xor.b64 %l30, %l30, %l50;", 3, 3),
    ("popc.b64 %i50, %l30; xor.b32 %i30, %i30, %i50;", 6, 6),
    ("clz.b64 %i50, %l30; xor.b32 %i30, %i30, %i50;", 9, 9),
    ("bfind.u64 %i50, %l30; xor.b32 %i30, %i30, %i50;", 9, 9),
    ("bfind.shiftamt.u64 %i50, %l30; xor.b32 %i30, %i30, %i50;", 11, 11),
    ("mov.b64 {%i50, %i51}, %l30; xor.b32 %i30, %i30, %i50; xor.b32 %i30, %i30, %i51;", 4, 4),
    ("setp.lt.u16 %p4, %h30, %h31; selp.b32 %i50, %i31, %i32, %p4; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("setp.ne.u16 %p4, %h30, %h31; selp.b32 %i50, %i31, %i32, %p4; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("setp.ge.u16 %p4, %h30, %h31; selp.b32 %i50, %i31, %i32, %p4; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("setp.lt.u16 %p4, %h30, 7; selp.b32 %i50, %i31, %i32, %p4; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("setp.lt.s16 %p4, %h30, %h31; selp.b32 %i50, %i31, %i32, %p4; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("setp.ne.s16 %p4, %h30, %h31; selp.b32 %i50, %i31, %i32, %p4; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("setp.ge.s16 %p4, %h30, %h31; selp.b32 %i50, %i31, %i32, %p4; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("setp.lt.s16 %p4, %h30, 7; selp.b32 %i50, %i31, %i32, %p4; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("slct.f32.f32 %f50, %f1, %f2, %f3; add.f32 %f1, %f1, %f50;", 2, 2),
    ("set.lt.f32.f32 %f50, %f1, %f2; add.f32 %f1, %f1, %f50;", 3, 3),
    ("set.gt.f32.s32 %f50, %i30, %i31; add.f32 %f1, %f1, %f50;", 3, 3),
    ("setp.lt.s32 %p4, %i30, %i31; not.pred %p3, %p4; selp.b32 %i50, %i31, %i32, %p3; "
     "xor.b32 %i30, %i30, %i50;", 3, 3),
    ("testp.normal.f32 %p4, %f1; selp.b32 %i50, %i31, %i32, %p4; xor.b32 %i30, %i30, %i50;", 6, 6),
    ("copysign.f64 %d10, %d1, %d2; add.f64 %d1, %d1, %d10;", 6, 6),
    ("copysign.f64 %d10, %d1, 0d4008000000000000; add.f64 %d1, %d1, %d10;", 4, 4),
    ("cvt.rzi.u8.f32 %i50, %f1; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("cvt.rni.sat.u8.f32 %i50, %f1; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("cvt.rzi.s8.f32 %i50, %f1; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("cvt.rni.sat.s8.f32 %i50, %f1; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("cvt.rn.f16x2.f32 %i50, %f1, %f2; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("cvt.rn.bf16x2.f32 %i50, %f1, %f2; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("cvt.rna.tf32.f32 %i50, %f1; xor.b32 %i30, %i30, %i50;", 5, 5),
    ("sub.s16 %h50, %h30, %h31; xor.b16 %h30, %h30, %h50;", 3, 3),
    ("mul.hi.s16 %h50, %h30, %h31; xor.b16 %h30, %h30, %h50;", 5, 5),
    ("mul.hi.u16 %h50, %h30, %h31; xor.b16 %h30, %h30, %h50;", 5, 5),
    ("min.s16 %h50, %h30, %h31; xor.b16 %h30, %h30, %h50;", 4, 4),
    ("max.u16 %h50, %h30, %h31; xor.b16 %h30, %h30, %h50;", 4, 4),
    ("mul.lo.s16 %h50, %h30, 7; xor.b16 %h30, %h30, %h50;", 3, 3),
    ("mul.lo.u16 %h50, %h30, 7; xor.b16 %h30, %h30, %h50;", 3, 3),
    ("min.s16 %h50, %h30, 7; xor.b16 %h30, %h30, %h50;", 3, 3),
    ("shr.u16 %h50, %h30, 7; xor.b16 %h30, %h30, %h50;", 3, 3),
    ("shr.s16 %h50, %h30, 7; xor.b16 %h30, %h30, %h50;", 3, 3),
    ("shl.b16 %h50, %h30, %i31; xor.b16 %h30, %h30, %h50;", 4, 4),
    ("shr.u16 %h50, %h30, %i31; xor.b16 %h30, %h30, %h50;", 5, 5),
    ("shr.s16 %h50, %h30, %i31; xor.b16 %h30, %h30, %h50;", 5, 5),
    ("cnot.b16 %h50, %h30; xor.b16 %h30, %h30, %h50;", 4, 4),
    ("mad.lo.s16 %h50, %h30, %h31, %h32; xor.b16 %h30, %h30, %h50;", 5, 5),
    ("mad.lo.u16 %h50, %h30, %h31, %h32; xor.b16 %h30, %h30, %h50;", 5, 5),
    ("mad.lo.u16 %h50, %h30, 12, %h32; xor.b16 %h30, %h30, %h50;", 4, 4),
    ("mad.wide.u16 %i50, %h30, %h31, %i30; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("mad.wide.s16 %i50, %h30, %h31, %i30; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("cvt.u16.u32 %h50, %i30; xor.b16 %h30, %h30, %h50;", 1, 1),
    ("cvt.s64.s8 %l50, %l30; xor.b64 %l30, %l30, %l50;", 3, 3),
    ("cvt.u16.u32 %h50, %i30; cvt.s32.s16 %i50, %h50; xor.b32 %i30, %i30, %i50;", 2, 2),
    ("cvt.u16.u32 %h50, %i30; cvt.u32.u16 %i50, %h50; xor.b32 %i30, %i30, %i50;", 2, 2),
    ("fma.rn.bf16x2 %i50, %i30, %i31, %i32; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("add.f16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("sub.f16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("mul.f16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("min.f16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("max.f16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("min.bf16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("max.bf16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("add.sat.f16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("mul.ftz.f16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("neg.bf16x2 %i50, %i30; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("ex2.approx.f16x2 %i50, %i30; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("tanh.approx.f16x2 %i50, %i30; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("abs.bf16x2 %i50, %i30; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("set.lt.f16x2.f16x2 %i50, %i30, %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("sub.cc.u32 %i50, %i30, %i31; subc.u32 %i51, %i32, %i31; "
     "xor.b32 %i50, %i50, %i51; xor.b32 %i30, %i30, %i50;", 6, 6),
    ("mov.u32 %i50, %ntid.x; xor.b32 %i30, %i30, %i50;", 1, 1),
    ("mov.u32 %i50, %nctaid.y; xor.b32 %i30, %i30, %i50;", 1, 1),
    ("mov.u32 %i50, %warpid; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("mov.u64 %l50, %gridid; xor.b64 %l30, %l30, %l50;", 1, 1),
    ("mov.u32 %i50, %nsmid; xor.b32 %i30, %i30, %i50;", 1, 1),
    ("mov.u32 %i50, %nwarpid; xor.b32 %i30, %i30, %i50;", 1, 1),
    ("cvta.shared.u64 %l50, %l30; xor.b64 %l30, %l30, %l50;", 3, 3),
    ("cvta.to.shared.u64 %l50, %l30; xor.b64 %l30, %l30, %l50;", 3, 3),
    ("cvta.local.u64 %l50, %l30; xor.b64 %l30, %l30, %l50;", 3, 3),
    ("isspacep.global %p4, %l30; selp.b32 %i50, %i31, %i32, %p4; xor.b32 %i30, %i30, %i50;", 8, 8),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; ld.global.u8 %i50, [%l51]; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; ld.global.u8 %i50, [%l51+32]; "
     "xor.b32 %i30, %i30, %i50;", 6, 6),
    ("add.s32 %i52, %i30, 4;ld.shared.u8 %i50, [%i52]; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("add.s32 %i52, %i30, 4;ld.shared.u8 %i50, [%i52+32]; xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; ld.global.s8 %i50, [%l51]; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; ld.global.s8 %i50, [%l51+32]; "
     "xor.b32 %i30, %i30, %i50;", 6, 6),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; ld.global.nc.s8 %i50, [%l51]; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "ld.global.nc.s8 %i50, [%l51+32]; xor.b32 %i30, %i30, %i50;", 6, 6),
    ("add.s32 %i52, %i30, 4;ld.shared.s8 %i50, [%i52]; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("add.s32 %i52, %i30, 4;ld.shared.s8 %i50, [%i52+32]; xor.b32 %i30, %i30, %i50;", 5, 5),
    ("and.b32 %i52, %i30, 127;ld.local.s8 %i50, [%i52]; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("and.b32 %i52, %i30, 127;ld.local.s8 %i50, [%i52+32]; xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "ld.volatile.global.s8 %i50, [%l51]; xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "ld.volatile.global.s8 %i50, [%l51+32]; xor.b32 %i30, %i30, %i50;", 6, 6),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "ld.relaxed.gpu.global.s8 %i50, [%l51]; xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "ld.relaxed.gpu.global.s8 %i50, [%l51+32]; xor.b32 %i30, %i30, %i50;", 6, 6),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "ld.acquire.gpu.global.s8 %i50, [%l51]; xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "ld.acquire.gpu.global.s8 %i50, [%l51+32]; xor.b32 %i30, %i30, %i50;", 6, 6),
    ("add.s32 %i52, %i30, 4;ld.volatile.shared.s8 %i50, [%i52]; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("add.s32 %i52, %i30, 4;ld.volatile.shared.s8 %i50, [%i52+32]; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; ld.s8 %i50, [%l51]; "
     "xor.b32 %i30, %i30, %i50;", 5, 5),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; ld.s8 %i50, [%l51+32]; "
     "xor.b32 %i30, %i30, %i50;", 6, 6),
    ("and.b32 %i52, %i30, 124; cvt.u64.u32 %l50, %i52; mov.u64 %l52, cmem; "
     "add.s64 %l51, %l52, %l50; ld.const.f32 %f50, [%l51]; add.f32 %f1, %f1, %f50;", 4, 4),
    ("and.b32 %i52, %i30, 124; cvt.u64.u32 %l50, %i52; mov.u64 %l52, cmem; "
     "add.s64 %l51, %l52, %l50; ld.const.f32 %f50, [%l51+16]; add.f32 %f1, %f1, %f50;", 5, 5),
    ("ld.param.f32 %f50, [px]; add.f32 %f1, %f1, %f50;", 2, 1),
    ("ld.param.f32 %f50, [parr+12]; add.f32 %f1, %f1, %f50;", 2, 1),
    ("ld.param.f32 %f50, [parr+16]; add.f32 %f1, %f1, %f50;", 2, 1),
    ("mov.u64 %l52, gmem; ld.global.f32 %f50, [%l52]; add.f32 %f1, %f1, %f50;", 3, 3),
    ("ld.global.f32 %f50, [gmem]; add.f32 %f1, %f1, %f50;", 3, 3),
    ("ld.global.f32 %f50, [gmem+16]; add.f32 %f1, %f1, %f50;", 3, 3),
    ("mov.u32 %i52, sm; ld.shared.f32 %f50, [%i52+16]; add.f32 %f1, %f1, %f50;", 3, 2),
    ("mov.u32 %i52, sm; add.s32 %i53, %i52, %i30; ld.shared.f32 %f50, [%i53]; "
     "add.f32 %f1, %f1, %f50;", 2, 2),
    ("mov.u32 %i52, sm; add.s32 %i53, %i30, %i52; ld.shared.f32 %f50, [%i53+16]; "
     "add.f32 %f1, %f1, %f50;", 3, 3),
    ("shl.b32 %i54, %i30, 2; mov.u32 %i52, sm; add.s32 %i53, %i52, %i54; "
     "ld.shared.f32 %f50, [%i53]; add.f32 %f1, %f1, %f50;", 3, 3),
    ("shl.b32 %i54, %i20, 2; mov.u32 %i52, sm; add.s32 %i53, %i52, %i54; "
     "ld.shared.f32 %f50, [%i53]; add.f32 %f1, %f1, %f50;", 3, 2),
    ("shl.b32 %i54, %i20, 2; mov.u32 %i52, sm; add.s32 %i53, %i52, %i54; "
     "ld.shared.f32 %f50, [%i53+16]; add.f32 %f1, %f1, %f50;", 4, 2),
    ("shl.b32 %i54, %i20, 2; mov.u32 %i52, sm; add.s32 %i53, %i52, %i54; "
     "add.s32 %i53, %i53, %i3; ld.shared.f32 %f50, [%i53]; add.f32 %f1, %f1, %f50;", 4, 3),
    ("mul.wide.u32 %l50, %i20, 4; mov.u64 %l52, cmem; add.s64 %l51, %l52, %l50; "
     "ld.const.f32 %f50, [%l51]; add.f32 %f1, %f1, %f50;", 3, 2),
    ("mul.wide.u32 %l50, %i20, 4; mov.u64 %l52, cmem; add.s64 %l51, %l52, %l50; "
     "ld.const.f32 %f50, [%l51+16]; add.f32 %f1, %f1, %f50;", 4, 2),
    ("cvt.s64.s32 %l53, %i20; shl.b64 %l50, %l53, 2; mov.u64 %l52, cmem; "
     "add.s64 %l51, %l52, %l50; ld.const.f32 %f50, [%l51]; add.f32 %f1, %f1, %f50;", 4, 2),
    ("mul.wide.u32 %l50, %i20, 4; mov.u64 %l52, parr; add.s64 %l51, %l52, %l50; "
     "ld.param.f32 %f50, [%l51]; add.f32 %f1, %f1, %f50;", 4, 2),
    ("mad.wide.u32 %l51, %i20, 4, %l1; ld.global.f32 %f50, [%l51]; add.f32 %f1, %f1, %f50;", 6, 3),
    ("mad.wide.s32 %l51, %i20, 4, %l1; ld.global.f32 %f50, [%l51]; add.f32 %f1, %f1, %f50;", 6, 3),
    ("shl.b32 %i54, %i20, 2; mov.u32 %i52, loc; add.s32 %i53, %i52, %i54; "
     "ld.local.f32 %f50, [%i53]; add.f32 %f1, %f1, %f50;", 5, 4),
    ("ld.local.f32 %f50, [loc+16]; add.f32 %f1, %f1, %f50;", 4, 4),
    ("and.b32 %i54, %i30, 124; mov.u32 %i52, loc; add.s32 %i53, %i52, %i54; "
     "ld.local.f32 %f50, [%i53]; add.f32 %f1, %f1, %f50;", 5, 5),
    ("and.b32 %i54, %i30, 124; mov.u32 %i52, loc; add.s32 %i53, %i52, %i54; "
     "ld.local.f32 %f50, [%i53+4]; add.f32 %f1, %f1, %f50;", 6, 6),
    ("ld.global.f32 %f50, [%l1+4]; ld.global.f32 %f51, [%l1+4]; "
     "add.f32 %f1, %f1, %f51; add.f32 %f1, %f1, %f50;", 6, 6),
    ("shl.b32 %i54, %i20, 2; mov.u32 %i52, sm; add.s32 %i53, %i52, %i54; "
     "st.shared.f32 [%i53], %f1;", 2, 1),
    ("shl.b32 %i54, %i20, 2; mov.u32 %i52, sm; add.s32 %i53, %i52, %i54; "
     "st.shared.f32 [%i53+16], %f1;", 3, 1),
    ("ld.global.f32 %f50, [%l1+4]; fma.rn.f32 %f51, %f50, %f2, %f1; "
     "st.global.f32 [%l1+4], %f51;", 5, 5),
    ("shl.b32 %i54, %i20, 2; mov.u32 %i52, loc; add.s32 %i53, %i52, %i54; "
     "st.local.f32 [%i53], %f1;", 4, 3),
    ("atom.shared.add.u32 %i50, [sm+16], %i31; xor.b32 %i30, %i30, %i50;", 12, 11),
    ("add.s32 %i52, %i30, 4;atom.shared.add.f32 %f50, [%i52], %f1; "
     "add.f32 %f1, %f1, %f50;", 12, 12),
    ("add.s32 %i52, %i30, 4;red.shared.add.f32 [%i52], %f1;", 11, 11),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.add.f32 %f50, [%l51], %f1; add.f32 %f1, %f1, %f50;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.add.f32 [%l51], %f1;", 12, 12),
    ("atom.shared.add.f32 %f50, [sm+16], %f1; add.f32 %f1, %f1, %f50;", 12, 11),
    ("add.s32 %i52, %i30, 4;atom.shared.add.u64 %l50, [%i52], %l31; "
     "xor.b64 %l30, %l30, %l50;", 12, 12),
    ("add.s32 %i52, %i30, 4;red.shared.add.u64 [%i52], %l31;", 11, 11),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.add.u64 %l50, [%l51], %l31; xor.b64 %l30, %l30, %l50;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.add.u64 [%l51], %l31;", 12, 12),
    ("atom.shared.max.u32 %i50, [sm+16], %i31; xor.b32 %i30, %i30, %i50;", 12, 11),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.exch.b32 %i50, [%l51], %i31; xor.b32 %i30, %i30, %i50;", 13, 13),
    ("atom.shared.exch.b32 %i50, [sm+16], %i31; xor.b32 %i30, %i30, %i50;", 3, 2),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.cas.b32 %i50, [%l51], %i31, %i32; xor.b32 %i30, %i30, %i50;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.global.inc.u32 %i50, [%l51], %i31; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.global.inc.u32 [%l51], %i31;", 3, 3),
    ("add.s32 %i52, %i30, 4;atom.shared.inc.u32 %i50, [%i52], %i31; "
     "xor.b32 %i30, %i30, %i50;", 3, 3),
    ("add.s32 %i52, %i30, 4;red.shared.inc.u32 [%i52], %i31;", 2, 2),
    ("atom.global.inc.u32 %i50, [%l1], %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("red.global.inc.u32 [%l1], %i31;", 2, 2),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.global.dec.u32 %i50, [%l51], %i31; xor.b32 %i30, %i30, %i50;", 4, 4),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.global.dec.u32 [%l51], %i31;", 3, 3),
    ("add.s32 %i52, %i30, 4;atom.shared.dec.u32 %i50, [%i52], %i31; "
     "xor.b32 %i30, %i30, %i50;", 3, 3),
    ("add.s32 %i52, %i30, 4;red.shared.dec.u32 [%i52], %i31;", 2, 2),
    ("atom.global.dec.u32 %i50, [%l1], %i31; xor.b32 %i30, %i30, %i50;", 3, 3),
    ("red.global.dec.u32 [%l1], %i31;", 2, 2),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.exch.b64 %l50, [%l51], %l31; xor.b64 %l30, %l30, %l50;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.cas.b64 %l50, [%l51], %l31, %l32; xor.b64 %l30, %l30, %l50;", 13, 13),
    ("add.s32 %i52, %i30, 4;atom.shared.min.s64 %l50, [%i52], %l31; "
     "xor.b64 %l30, %l30, %l50;", 12, 12),
    ("add.s32 %i52, %i30, 4;red.shared.min.s64 [%i52], %l31;", 11, 11),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.min.s64 %l50, [%l51], %l31; xor.b64 %l30, %l30, %l50;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.min.s64 [%l51], %l31;", 12, 12),
    ("add.s32 %i52, %i30, 4;atom.shared.add.f64 %d10, [%i52], %d1; "
     "add.f64 %d1, %d1, %d10;", 12, 12),
    ("add.s32 %i52, %i30, 4;red.shared.add.f64 [%i52], %d1;", 11, 11),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.add.f64 %d10, [%l51], %d1; add.f64 %d1, %d1, %d10;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.add.f64 [%l51], %d1;", 12, 12),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.add.noftz.f16x2 %i50, [%l51], %i31; xor.b32 %i30, %i30, %i50;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.add.noftz.f16x2 [%l51], %i31;", 12, 12),
    ("add.s32 %i52, %i30, 4;atom.shared.max.s64 %l50, [%i52], %l31; "
     "xor.b64 %l30, %l30, %l50;", 12, 12),
    ("add.s32 %i52, %i30, 4;red.shared.max.s64 [%i52], %l31;", 11, 11),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.max.s64 %l50, [%l51], %l31; xor.b64 %l30, %l30, %l50;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.max.s64 [%l51], %l31;", 12, 12),
    ("add.s32 %i52, %i30, 4;atom.shared.and.b64 %l50, [%i52], %l31; "
     "xor.b64 %l30, %l30, %l50;", 12, 12),
    ("add.s32 %i52, %i30, 4;red.shared.and.b64 [%i52], %l31;", 11, 11),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; "
     "atom.and.b64 %l50, [%l51], %l31; xor.b64 %l30, %l30, %l50;", 13, 13),
    ("cvt.u64.u32 %l50, %i30; add.s64 %l51, %l1, %l50; red.and.b64 [%l51], %l31;", 12, 12),
    ("bar.red.popc.u32 %i50, 0, %p5; xor.b32 %i30, %i30, %i50;", 4, 3),
    ("bar.red.and.pred %p4, 0, %p5; selp.b32 %i50, %i31, %i32, %p4; "
     "xor.b32 %i30, %i30, %i50;", 5, 4),
    ("cp.async.wait_all;", 2, 1),
    ("setp.lt.s32 %p4, %i20, 3; @%p4 st.global.f32 [%l2], %f1;", 4, 2),
    ("setp.gt.s32 %p4, %i20, 5; selp.b32 %i50, %i31, %i32, %p4; xor.b32 %i30, %i30, %i50;", 3, 1),
    ("rem.u32 %i50, %i20, 3; xor.b32 %i30, %i30, %i50;", 18, 1),
    ("div.u32 %i50, %i20, 3; xor.b32 %i30, %i30, %i50;", 20, 1),
    ("rem.u32 %i50, %i20, 8; xor.b32 %i30, %i30, %i50;", 18, 1),
    ("cvt.u16.u32 %h50, %i20; xor.b16 %h30, %h30, %h50;", 1, 1),
    ("bfe.u32 %i50, %i30, %i20, 4; xor.b32 %i30, %i30, %i50;", 3, 2),
    ("lop3.b32 %i50, %i20, 7, 9, 0x96; xor.b32 %i30, %i30, %i50;", 2, 2),
    ("mad.wide.s32 %l50, %i20, 4, %l31; xor.b64 %l30, %l30, %l50;", 5, 2),
    ("div.u32 %i50, %i20, 8; xor.b32 %i30, %i30, %i50;", 20, 1),
    ("slct.s32.s32 %i50, %i31, %i32, %i20; xor.b32 %i30, %i30, %i50;", 2, 1),
    ("mad24.lo.s32 %i50, %i20, 12, 7; xor.b32 %i30, %i30, %i50;", 3, 1),
]
HEAD = """.version 8.0
.target {arch}
.address_size 64
.const .align 16 .b8 cmem[8192];
.global .align 16 .b8 gmem[8192];
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u32 pn, .param .u32 pm, .param .f32 px,
.param .f32 py, .param .align 4 .b8 parr[64]) {{
.local .align 16 .b8 loc[256]; .shared .align 16 .b8 sm[4096];
.reg .pred %p<9>; .reg .b32 %i<90>; .reg .b64 %l<90>; .reg .b16 %h<90>; .reg .f32 %f<99>;
.reg .f64 %d<40>;
ld.param.u64 %l40, [pa]; ld.param.u64 %l2, [pb]; ld.param.u32 %i1, [pn]; ld.param.u32 %i2, [pm];
ld.param.f32 %f2, [px]; ld.param.f32 %f3, [py]; cvta.to.global.u64 %l1, %l40;
cvta.to.global.u64 %l2, %l2; mov.u32 %i3, %tid.x;
"""
INTEGERS = "".join(f"ld.global.u32 %i{30 + n}, [%l1+{32 + 4 * n}];\n" for n in range(3))
WORDS = "".join(f"ld.global.u64 %l{30 + n}, [%l1+{48 + 8 * n}];\n" for n in range(3))
DOUBLES = "".join(f"ld.global.f64 %d{1 + n}, [%l1+{72 + 8 * n}];\n" for n in range(3))
SHORTS = "".join(f"ld.global.u16 %h{30 + n}, [%l1+{96 + 2 * n}];\n" for n in range(3))
FLOATS = "".join(f"ld.global.f32 %f{n}, [%l1+{4 * n}];\n" for n in (1, 4, 5))
FLAGS = "setp.ne.s32 %p5, %i31, 3; setp.ne.s32 %p6, %i32, 3;\n"
START = INTEGERS + WORDS + DOUBLES + SHORTS + FLOATS + FLAGS
END = """
st.global.f32 [%l2], %f1; st.global.f32 [%l2+8], %f4; st.global.f32 [%l2+16], %f5;
st.global.u32 [%l2+32], %i30; st.global.u64 [%l2+40], %l30; st.global.f64 [%l2+48], %d1;
st.global.u16 [%l2+56], %h30; ret; }
"""


def sizes(text: str, arch: str = "sm_80") -> tuple[int, int]:
    loop = (
        f"mov.u32 %i20, 0; L: fma.rz.f32 %f1, %f1, %f2, %f3; {text} "
        "add.s32 %i20, %i20, 1; setp.lt.s32 %p1, %i20, 2000; @%p1 bra L; X:"
    )
    function = (module := nvir.read_ptx(HEAD.format(arch=arch) + START + loop + END))["k"]
    function.analyze_cfg()
    made = {str(h.name): d for h, d in decide(function, Context(module, Knobs())).items()}["L"]
    return made.d - 1, made.cost - 1


@pytest.mark.parametrize(("text", "d", "a"), ROWS)
def test_an_instruction_weighs_what_ptxas_counts(text: str, d: int, a: int) -> None:
    assert sizes(text) == (d, a)


@pytest.mark.parametrize(
    ("text", "before", "hopper"),
    [
        ("min.s16 %h50, %h30, %h31; xor.b16 %h30, %h30, %h50;", 4, 2),
        ("mov.u32 %i50, %ntid.x; xor.b32 %i30, %i30, %i50;", 1, 2),
        ("mov.u32 %i52, sm; add.s32 %i53, %i52, %i30; ld.shared.f32 %f50, [%i53];"
         "add.f32 %f1, %f1, %f50;", 2, 6),
    ],
)
def test_hopper_counts_otherwise(text: str, before: int, hopper: int) -> None:
    assert sizes(text, "sm_80")[0] == before
    assert sizes(text, "sm_90")[0] == hopper
