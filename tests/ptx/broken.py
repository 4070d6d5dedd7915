"""Kinds of broken PTX, each a rule of PTX ISA 9.0 that a line breaks; all refused by ptxas 13.0.

A statement stands alone in a kernel of `HEAD` with the registers %p (pred), %h (b16), %r (b32), %f
(f32), %d (b64), %g (f64), %q (b128), for sm_90a unless `@` names another target, `PTX n.m;` another
version.
"""

# ruff: noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

HEAD = """.version {version}
.target {target}
.address_size 64
.global .align 16 .b8 buffer[64];
.const .align 4 .f32 table[4];
.global .texref tex;
.func (.reg .b32 out) helper(.reg .b32 in) {{ mov.b32 out, in; ret; }}
.visible .entry k(.param .u64 p, .param .align 16 .b8 s[32])
{{
    .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<4>; {more}
    .reg .f32 %f<8>; .reg .f64 %g<4>;
    .shared .align 16 .b8 tile[256]; .local .align 8 .b8 stack[64];
L:
    {statement}
    ret;
}}
"""
LINE = 14

STATEMENTS = """
cp.async.bulk.tensor.global.shared::cta.bulk_group [%d1, {%r1}], [tile];
add.u32 %r1|%p2, %r1, %r2; ; add.u32 _|%r1, %r1, %r2; ; add.u32 %r08, %r1, %r2; ; vote.sync.ballot.b32 {%r3}, %p1, -1; ; bar.sync {0}; ; atom.global.add.u32 {%r3}, [%d1], %r1; ; mbarrier.init.shared.b64 [tile], {1}; ; shfl.sync.idx.b32 %r3, {%r1}, 0, 31, -1; ; ld.shared.nc.u32 %r1, [tile];
add.s32 %r1, %r2; ; add.s32 %r1, %r2, %r3, %r4; ; add.s32 %r1, %r2, %d1; ; add.u8 %h1, %h2, %h3;
add.b32 %r1, %r2, %r3; ; add.sat.u32 %r1, %r2, %r3; ; add.sat.s64 %d1, %d2, %d3; ; add.rn.s32 %r1, %r2, %r3;
add.ftz.f64 %g1, %g2, %g3; ; add.rn.rn.f32 %f1, %f2, %f3; ; add.rz.f16 %h1, %h2, %h3; ; add.f32 %f1, %f2, %g1;
add.sat.f64 %g1, %g2, %g3; ; add.ftz.bf16 %h1, %h2, %h3; ; add 1, %r2, %r3; ; add.s32 %p1, %r2, %r3;
sub.sat.u32 %r1, %r2, %r3; ; sub.approx.f32 %f1, %f2, %f3; ; sub.f32 %d1, %f2, %f3; ; sub.s32 %r1, %p1, %r3;
mul.s32 %r1, %r2, %r3; ; mul.wide.s64 %d1, %d2, %d3; ; mul.lo.f32 %f1, %f2, %f3; ; mul.hi.sat.s32 %r1, %r2, %r3;
mul.wide.s32 %r1, %r2, %r3; ; mul.lo.s32 %d1, %r2, %r3; ; mul24.lo.s64 %d1, %d2, %d3; ; mul24.s32 %r1, %r2, %r3;
mad.s32 %r1, %r2, %r3, %r4; ; mad.lo.s32 %r1, %r2, %r3; ; mad.wide.s32 %r1, %r2, %r3, %r4; ; mad.lo.sat.s32 %r1, %r2, %r3, %r4;
mad.f32 %f1, %f2, %f3, %f4; ; mad.hi.f64 %g1, %g2, %g3, %g1; ; mad24.wide.s32 %d1, %r2, %r3, %d2; ; sad.f32 %f1, %f2, %f3, %f4;
div.f32 %f1, %f2, %f3; ; div.approx.f64 %g1, %g2, %g3; ; div.rn.s32 %r1, %r2, %r3; ; div.full.rn.f32 %f1, %f2, %f3;
rem.f32 %f1, %f2, %f3; ; rem.s32.s32 %r1, %r2, %r3; ; div.b32 %r1, %r2, %r3; ; rem.u8 %h1, %h2, %h3;
abs.u32 %r1, %r2; ; abs.f32 %f1; ; neg.u32 %r1, %r2; ; neg.rn.f32 %f1, %f2; ; abs.ftz.f64 %g1, %g2; ; neg.b32 %r1, %r2;
min.b32 %r1, %r2, %r3; ; min.abs.f32 %f1, %f2, %f3; ; min.relu.u32 %r1, %r2, %r3; ; max.ftz.f64 %g1, %g2, %g3; ; max.NaN.f64 %g1, %g2, %g3;
max.s8 %h1, %h2, %h3; ; min.rn.f32 %f1, %f2, %f3; ; max.xorsign.f32 %f1, %f2, %f3;
fma.f32 %f1, %f2, %f3, %f4; ; fma.rn.s32 %r1, %r2, %r3, %r4; ; fma.rn.f32 %f1, %f2, %f3; ; fma.rn.ftz.f64 %g1, %g2, %g3, %g1;
fma.rz.f16 %h1, %h2, %h3, %h1; ; fma.rn.sat.bf16 %h1, %h2, %h3, %h1; ; fma.rn.sat.relu.f16 %h1, %h2, %h3, %h1; ; fma.approx.f32 %f1, %f2, %f3, %f4;
rcp.f32 %f1, %f2; ; rcp.approx.f64 %g1, %g2; ; rcp.rn.s32 %r1, %r2; ; sqrt.f32 %f1, %f2; ; sqrt.approx.f64 %g1, %g2; ; sqrt.rn.ftz.f64 %g1, %g2;
rsqrt.f32 %f1, %f2; ; rsqrt.rn.f32 %f1, %f2; ; sin.f32 %f1, %f2; ; cos.rn.f32 %f1, %f2; ; sin.approx.f64 %g1, %g2; ; lg2.approx.f16 %h1, %h2;
ex2.f32 %f1, %f2; ; ex2.rn.f32 %f1, %f2; ; tanh.f32 %f1, %f2; ; tanh.approx.f64 %g1, %g2; ; tanh.approx.ftz.f32 %f1, %f2;
copysign.f16 %h1, %h2, %h3; ; testp.finite.s32 %p1, %r1; ; testp.finite.f32 %r1, %f1; ; testp.finite.infinite.f32 %p1, %f1;
and.s32 %r1, %r2, %r3; ; and.f32 %f1, %f2, %f3; ; and.b32 %r1, %r2, %d1; ; or.b32 %r1, %r2; ; xor.u32 %r1, %r2, %r3; ; not.s32 %r1, %r2;
not.b32 %r1, %r2, %r3; ; cnot.pred %p1, %p2; ; and.pred %p1, %p2, %r1; ; and.b8 %h1, %h2, %h3; ; or.pred %r1, %p2, %p3;
shl.s32 %r1, %r2, %r3; ; shl.b32 %r1, %r2, %d1; ; shl.f32 %f1, %f2, %r1; ; shr.f32 %f1, %f2, %r3; ; shr.b8 %h1, %h2, %r1; ; shr.s32 %r1, %r2;
shf.l.b32 %r1, %r2, %r3, %r4; ; shf.wrap.b32 %r1, %r2, %r3, %r4; ; shf.l.wrap.b64 %d1, %d2, %d3, %r1; ; shf.l.clamp.u32 %r1, %r2, %r3, %r4;
popc.u32 %r1, %r2; ; popc.b32 %d1, %r2; ; clz.b16 %r1, %h1; ; clz.s32 %r1, %r2; ; brev.u32 %r1, %r2; ; brev.b16 %h1, %h2;
bfind.b32 %r1, %r2; ; bfind.shiftamt.f32 %r1, %f1; ; bfe.b32 %r1, %r2, %r3, %r4; ; bfe.u32 %r1, %r2, %r3; ; bfi.u32 %r1, %r2, %r3, %r4, %r5; ; bfi.b32 %r1, %r2, %r3, %r4;
prmt.u32 %r1, %r2, %r3, %r4; ; prmt.b32.f4e.b4e %r1, %r2, %r3, %r4; ; prmt.b32 %r1, %r2, %r3; ; prmt.b64 %d1, %d2, %d3, %r1;
lop3.b32 %r1, %r2, %r3, %r4; ; lop3.b64 %d1, %d2, %d3, %d1, 4; ; bmsk.b32 %r1, %r2, %r3; ; szext.s32 %r1, %r2, %r3; ; dp4a.u32 %r1, %r2, %r3, %r4; ; dp2a.u32.u32 %r1, %r2, %r3, %r4;
setp.s32 %p1, %r1, %r2; ; setp.lo.s32 %p1, %r1, %r2; ; setp.lt.b32 %p1, %r1, %r2; ; setp.lt.s32 %r1, %r1, %r2; ; setp.equ.u32 %p1, %r1, %r2; ; setp.lt.f32 %p1, %f1, %d1;
setp.lt.and.s32 %p1, %r1, %r2; ; setp.eq.s8 %p1, %h1, %h2; ; setp.lt.s32 %p1, %r1; ; setp.lo.f32 %p1, %f1, %f2; ; setp.eq.ftz.f64 %p1, %g1, %g2;
set.lt.s32 %r1, %r2, %r3; ; set.lt.u8.s32 %h1, %r2, %r3; ; selp.pred %p1, %p2, %p3, %p1; ; selp.b32 %r1, %r2, %r3; ; selp.b32 %r1, %r2, %r3, %r4; ; selp.u8 %h1, %h2, %h3, %p1;
slct.u32 %r1, %r2, %r3, %r4; ; slct.u32.u32 %r1, %r2, %r3, %r4; ; slct.u32.f64 %r1, %r2, %r3, %g1;
cvt.u32 %r1, %r2; ; cvt.u32.f32 %r1, %f1; ; cvt.f32.u32 %f1, %r1; ; cvt.f32.f64 %f1, %g1; ; cvt.rn.f64.f32 %g1, %f1; ; cvt.rni.u32.u16 %r1, %h1; ; cvt.rn.u32.f32 %r1, %f1;
cvt.u32.b32 %r1, %r2; ; cvt.rni.f32.s32 %f1, %r1; ; cvt.sat.u16.u16 %h1, %h2; ; cvt.ftz.f64.f16 %g1, %h1; ; cvt.rn.relu.f32.f64 %f1, %g1; ; cvt.f32.pred %f1, %p1; ; cvt.rn.bf16x2.f32 %r1, %f1;
cvt.rn.f16x2.f32 %r1, %f1, %f2, %f3; ; cvt.rn.satfinite.e4m3x2.f32 %r1, %f1, %f2; ; cvt.rna.bf16.f32 %h1, %f1; ; cvt.rn.tf32.f64 %r1, %g1;
mov.s8 %h1, %h2; ; mov.b32 %r1, %d1; ; mov.b32 %r1; ; mov.f32.f32 %f1, %f2; ; mov.b64 %d1, {%r1}; ; mov.b32 %r1, {%r2, %r3}; ; mov.pred %p1, %r1; ; mov.b128 %q1, %d1;
ld.global %r1, [%d1]; ; ld.global.u32 %r1, %d1; ; ld.global.u32 [%d1], %r1; ; ld.global.v3.u32 {%r1, %r2, %r3}, [%d1]; ; ld.global.v4.u64 {%d1, %d2, %d3, %d1}, [%d1]; ; ld.global.v2.u32 %r1, [%d1];
ld.global.v2.u32 {%r1, %r2, %r3}, [%d1]; ; ld.global.u32 {%r1, %r2}, [%d1]; ; ld.shared.nc.u32 %r1, [%r2]; ; ld.foo.u32 %r1, [%d1]; ; ld.global.ca.cg.u32 %r1, [%d1];
ld.const.volatile.f32 %f1, [table]; ; ld.global.pred %p1, [%d1]; ; ld.global.u64 %r1, [%d1]; ; ld.global.acquire.u32 %r1, [%d1]; ; ld.global.f16 %h1, [%d1]; ; ld.global.u32 %r1, [%r2];
st.global %r1, [%d1]; ; st.const.u32 [table], %r1; ; st.global.u32 %r1, [%d1]; ; st.global.nc.u32 [%d1], %r1; ; st.global.v2.u32 [%d1], %r1; ; st.global.u64 [%d1], %r1; ; st.param.u32 [p], %r1; ; st.global.acquire.gpu.u32 [%d1], %r1;
st.global.ca.u32 [%d1], %r1; ; st.shared.pred [%r1], %p1; ; st.global.relaxed.u32 [%d1], %r1; ; st.global.u32 [%d1];
ldu.shared.u32 %r1, [%r2]; ; prefetch.L3 [%d1]; ; prefetch.shared.L1 [%r1]; ; cvta.u32 %r1, %r2; ; cvta.to.param.foo.u64 %d1, %d2; ; isspacep.global %r1, %d1; ; isspacep %p1, %d1;
atom.global.u32 %r1, [%d1], %r2; ; atom.global.add.b32 %r1, [%d1], %r2; ; atom.global.add.s64 %d1, [%d2], %d3; ; atom.const.add.u32 %r1, [table], %r2; ; atom.global.cas.b32 %r1, [%d1], %r2; ; atom.global.and.u32 %r1, [%d1], %r2;
atom.global.exch.u32 %r1, [%d1], %r2; ; atom.global.min.f32 %f1, [%d1], %f2; ; atom.global.add.u32 %r1, [%d1]; ; red.global.exch.b32 [%d1], %r1; ; red.global.add.u32 %r1, [%d1], %r2; ; red.global.cas.b32 [%d1], %r1, %r2; ; atom.global.inc.s32 %r1, [%d1], %r2;
bar.sync; ; bar.foo 0; ; barrier.cta.red.popc.u32 %r1, 0; ; membar.foo; ; fence.acq_rel; ; fence.foo.gpu; ; bar.red.popc.u32 %r1, 0; ; bar.arrive 0; ; bar.sync 17; ; bar.warp.sync;
shfl.sync.down.b32 %r1, %r2, %r3, %r4; ; shfl.sync.b32 %r1, %r2, %r3, %r4, -1; ; shfl.sync.idx.b64 %d1, %d2, %r3, %r4, -1; ; shfl.sync.idx.u32 %r1, %r2, %r3, %r4, -1; ; shfl.down.b32 %r1, %r2, %r3, %r4;
vote.sync.ballot.pred %p1, %p2, -1; ; vote.sync.all.b32 %r1, %p1, -1; ; vote.sync.any.pred %p1, %p2; ; vote.all.pred %p1, %p2; ; match.any.sync.u32 %r1, %r2, -1; ; redux.sync.mul.s32 %r1, %r2, -1; ; redux.sync.and.u32 %r1, %r2, -1; ; activemask.u32 %r1;
elect.sync %r1, -1; ; nanosleep.b32 %r1; ; brkpt 1; ; trap 1; ; exit 1; ; bra; ; bra %r1; ; bra NOWHERE; ; @%r1 bra L; ; @%p9 bra L; ; brx.idx %r1, L; ; call nothing; ; call (%r1), helper; ; ret %r1;
mov.u32 %r1, %tid.w2; ; mov.u32 %tid.x, %r1; ; mov.u32 %r1, nowhere; ; add.s32 %r9, %r1, %r2; ; add.s32 %r1, %r2, 1.5; ; add.f32 %f1, %f2, 1; ; add.s32 %r1 %r2, %r3; ; add.s32 %r1, %r2, %r3 ; frob.u32 %r1, %r2;
tex.2d.v4.f32.f32 {%f1, %f2, %f3}, [tex, {%f5, %f6}]; ; tex.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f5, %f6}]; ; tex.2d.v4.f32.f64 {%f1, %f2, %f3, %f4}, [tex, {%f5, %f6}];
cp.async.ca.shared.global [%r1], [%d1], 3; ; cp.async.cg.shared.global [%r1], [%d1], 4; ; cp.async.shared.global [%r1], [%d1], 16; ; cp.async.wait_group; ; cp.async.commit_group 1; ; cp.async.ca.global.shared [%d1], [%r1], 4;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3}; ; mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%r3]; ; ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r1, %r2, %r3}, [%r3]; ; ldmatrix.aligned.m8n8.x1.shared.b16 {%r1}, [%r3]; ; mbarrier.init.shared.b32 [%r1], 1; ; mbarrier.init.shared.b64 [%r1];
PTX 6.0; redux.sync.add.u32 %r1, %r2, -1; ; @sm_75 redux.sync.add.u32 %r1, %r2, -1; ; @sm_80 PTX 7.0; wgmma.fence.sync.aligned; ; @sm_80 wgmma.fence.sync.aligned; ; @sm_80 elect.sync _|%p1, -1;; ; @sm_75 cp.async.commit_group; ; @sm_75 cp.async.ca.shared.global [%r1], [%d1], 4;
@sm_75 fma.rn.bf16 %h1, %h2, %h3, %h1; ; PTX 6.4; tanh.approx.f32 %f1, %f2; ; @sm_75 min.NaN.f32 %f1, %f2, %f3; ; @sm_80 barrier.cluster.arrive; ; @sm_80 mov.u32 %r1, %clusterid.x; ; PTX 6.0; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r3]; ; PTX 6.0; tanh.approx.f32 %f1, %f2; ; PTX 7.0; fence.proxy.async;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5}, {%f1, %f2, %f3, %f4}; ; mma.sync.aligned.m16n8k16.col.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2}; ; mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
mma.sync.aligned.m16n8k32.row.col.f32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2, %r3, %r4}; ; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g1, %g2}, {%g1, %g2}, {%g3}, {%g1, %g2};
mma.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; ; mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%d1, %d2}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; ; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}; ; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {%r1, %r2};
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b8 {%r1, %r2}, [%r3]; ; ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r1}, [%d1]; ; stmatrix.sync.aligned.m8n8.x1.shared.b32 [%r3], {%r1}; ; wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1, %r2, %r3, %r4}, [%r5];
wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {%r1, %r2, %r3}, [%r5]; ; wmma.load.a.sync.aligned.row.m17n16k16.shared.f16 {%r1}, [%r5]; ; wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r5], {%f1, %f2, %f3, %f4}; ; movmatrix.sync.aligned.m8n8.b16 %r1, %r2;
mbarrier.arrive.shared.b64 %r1, [%r2]; ; mbarrier.init.global.b64 [%d1], 1; ; mbarrier.test_wait.shared.b64 %r1, [%r2], %d1; ; mbarrier.try_wait.shared.b64 %p1, [%r2]; ; mbarrier.arrive.expect_tx.shared.b64 %d1, [%r2]; ; mbarrier.inval.shared.b32 [%r2]; ; cp.async.ca.shared.global [%r1], [%d1];
cp.async.ca.shared.shared [%r1], [%r2], 4; ; cp.async.wait_group %r1; ; cp.async.bulk.shared::cluster.global [%r1], [%d1], %r2, [%r3]; ; cp.async.bulk.wait_group.foo 0; ; cp.async.bulk.prefetch.L1.global [%d1], %r1; ; cvt.rn.satfinite.e4m3x2.f32 %h1, %f1; ; cvt.e4m3x2.f32 %h1, %f1, %f2;
cvt.rn.f16x2.e4m3x2 %h1, %h2; ; cvt.rna.tf32.f32 %f1, %f2, %f3; ; cvt.rn.bf16x2.f32 %r1, %f1, %g2; ; cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3; ; cvt.rni.f16.f32 %h1, %f1; ; add.cc.s64 %d1, %d2; ; add.cc.f32 %f1, %f2, %f3; ; mad.lo.cc.f32 %f1, %f2, %f3, %f4; ; subc.cc.b32 %r1, %r2, %r3;
madc.wide.u32 %d1, %r1, %r2, %d3; ; vadd.s32.s32 %r1, %r2, %r3; ; vset.s32.s32 %r1, %r2, %r3; ; vadd4.s32.s32.s32 %r1, %r2, %r3; ; vmad.u32.u32 %r1, %r2, %r3, %r4; ; vabsdiff2.f32.u32.u32 %r1, %r2, %r3, %r4; ; add.f64 %g1, %g2, 1; ; mul.f32 %f1, %f2, 2; ; mov.f32 %f1, 3; ; mov.u32 %r1, 1.0;
fma.rn.f64 %g1, %g2, 1, %g3; ; setp.lt.f32 %p1, %f1, 0; ; selp.f32 %f1, 1, %f2, %p1; ; mad.lo.s32 %r1, %r2, 2.0, %r3; ; st.global.f32 [%d1], 1; ; st.global.u32 [%d1], 1.5; ; shl.b32 %r1, %r2, 2.0; ; cvt.rn.f32.s32 %f1, 1.5; ; abs.f32 %f1, 1; ; div.rn.f32 %f1, 1, %f2; ; max.f32 %f1, %f2, 0;
setp.eq.s32 %p1, %r1, 0.0; ; ret 1; ; exit %r1; ; trap %r1; ; bra L, L; ; call helper, (%r1); ; call (%r1), helper, (%r2, %r3); ; call (%d1), helper, (%r1); ; call (%r1, %r2), helper, (%r3); ; bra.foo L; ; brx.idx %d1, L; ; mov.u64 %d1, %tid.x; ; mov.u32 %r1, %clock64; ; mov.u32 %r1, %tid;
mov.f32 %f1, %tid.x; ; mov.u16 %h1, %laneid; ; mov.u32 %r1, %envreg33; ; add.u32 %r1, %tid, 1; ; mov.u32 %r1, %smid.x; ; mov.u64 %d1, %globaltimer_lo; ; @sm_80 mov.u32 %r1, %cluster_ctarank; ; @sm_80 mov.u32 %r1, %nclusterid.x; ; PTX 7.0; mov.u32 %r1, %cluster_ctarank;
@sm_80 mov.u32 %r1, %aggr_smem_size; ; PTX 7.0; @sm_80 mov.u32 %r1, %is_explicit_cluster; ; @sm_80 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]; ; @sm_80 mapa.u32 %r1, %r2, %r3; ; @sm_80 cp.async.bulk.commit_group; ; @sm_80 fence.proxy.async;
@sm_80 setmaxnreg.inc.sync.aligned.u32 64; ; @sm_80 mbarrier.try_wait.shared.b64 %p1, [%r2], %d1; ; @sm_80 griddepcontrol.wait; ; @sm_80 ld.shared::cluster.u32 %r1, [%r2];
@sm_75 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; ; setmaxnreg.inc.sync.aligned.u32 65; ; setmaxnreg.inc.sync.aligned.u32 300; ; bar.sync 0, 33; ; bar.arrive 0, 31; ; lop3.b32 %r1, %r2, %r3, %r4, %r5;
nanosleep.u32 %d1; ; pmevent 16; ; prefetchu.L2 [%d1]; ; shfl.sync.idx.b32 %r1|%r2, %r3, %r4, %r5, -1; ; shfl.sync.idx.b32 %p1, %r3, %r4, %r5, -1; ; vote.sync.ballot.b32 %r1, %r2, -1; ; match.all.sync.b32 %r1|%r2, %r3, -1; ; redux.sync.add.f32 %f1, %f2, -1; ; redux.sync.min.u32 %r1, %d2, -1;
activemask.b32 %d1; ; elect.sync %p1, -1; ; vote.sync.uni.pred %r1, %p1, -1; ; atom.global.add.f16 %h1, [%d1], %h2; ; atom.global.add.noftz.f32 %f1, [%d1], %f2; ; atom.shared.add.v2.f32 {%f1, %f2}, [%r1], {%f3, %f4}; ; atom.global.exch.b8 %h1, [%d1], %h2; ; red.global.add.f16x2 [%d1], %r1;
atom.global.cas.b16 %r1, [%d1], %r2, %r3; ; atom.local.add.u32 %r1, [%r2], %r3; ; atom.relaxed.global.sc.add.u32 %r1, [%d1], %r2; ; red.async.global.add.u32 [%d1], %r1; ; ld.param.u32 %r1, [nowhere]; ; ld.global.u32 %r1, [%f1]; ; ld.global.u32 %r1, [%d1+%d2];
st.shared.v4.b16 [%r1], {%h1, %h2, %h3, %r1}; ; ld.param.v2.f16 {%h1, %h2}, [s]; ; ld.global.v8.u64 {%d1, %d2, %d3, %d1, %d2, %d3, %d1, %d2}, [%d1]; ; ld.global.L1::evict_foo.u32 %r1, [%d1]; ; ld.global.L2::cache_hint.u32 %r1, [%d1]; ; st.param.b32 [s], %r1; ; st.shared.u32 [%r1], %r2, %r3;
tex.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f5, %f6}]; ; tex.2d.v2.f32.f32 {%f1, %f2}, [tex, {%f5, %f6}]; ; tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {%d1, %d2}]; ; tld4.x.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f5, %f6}]; ; txq.depth2.b32 %r1, [tex];
suld.b.2d.b32.foo {%r1}, [tex, {%r2, %r3}]; ; tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5}]; ; txq.width.f32 %f1, [tex]; ; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3}, %d1, %d2, 1, 1, 1, 0, 0;
wgmma.mma_async.sync.aligned.m64n7k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d1, %d2, 1, 1, 1, 0, 0; ; wgmma.wait_group.sync.aligned %r1; ; wgmma.fence.aligned; ; slct.f32.s32 %f1, %f2, %f3, %f4; ; bfi.b32 %r1, %r2, %r3, %r4, %d1; ; bfe.u64 %d1, %d2, %d3, %r4; ; dp4a.s32.s32 %r1, %r2, %r3, %d4;
prmt.b32 %r1, %r2, %r3, %h1; ; shf.l.wrap.b32 %r1, %r2, %r3, %d1; ; fns.b32 %r1, %r2, %r3; ; bfind.u64 %d1, %d2; ; popc.b64 %d1, %d2; ; testp.normal.f16 %p1, %h1; ; isspacep.foo %p1, %d1; ; createpolicy.fractional.L2::evict_last.b32 %r1, 1.0; ; mul.wide.u16 %h1, %h2, %h3; ; sad.u16 %h1, %h2, %h3, %r1;
copysign.f32 %f1, %f2; ; getctarank.u32 %d1, %r1; ; alloca.u64 %d1; ; szext.clamp.u32 %r1, %r2; ; applypriority.global.L2::evict_first [%d1], 128; ; discard.global.L2 [%d1], 64; ; sub.s32 %r1, %r2; ; sub.cc.f64 %g1, %g2, %g3; ; mul.lo.f64 %g1, %g2, %g3; ; mul.wide.u32 %r1, %r2, 7;
mad.hi.f32 %f1, %f2, %f3, %f4; ; fma.rn.f64 %f1, %g2, %g3, %g1; ; min.f32 %f1, %f2; ; max.u32 %r1, %f2, %r3; ; neg.s32 %f1, %r2; ; abs.s64 %d1, %r2; ; div.rn.f64 %g1, %g2, 3; ; rem.u32 %r1, %r2, 2.5; ; sqrt.rn.f32 %g1, %f1; ; rsqrt.approx.f32 %f1; ; sin.approx.ftz.f32 %f1, %f2, %f3;
ex2.approx.ftz.f64 %g1, %g2; ; lg2.f32 %f1, %f2; ; rcp.rn.f32 %f1, %f2, %f3; ; setp.gt.f64 %p1, %g1, 0; ; setp.hi.s64 %p1, %d1, %d2; ; setp.lt.u32 %p1|%p2|%p3, %r1, %r2; ; setp.eq.f32 %f1, %f2, %f3; ; selp.f64 %g1, %g2, %f3, %p1; ; selp.s32 %r1, %r2, %r3, 2.0; ; set.eq.u32.u32 %r1, %r2;
slct.s32.s32 %r1, %r2, %r3; ; and.pred %p1, %p2; ; or.b64 %d1, %d2, %r1; ; xor.b16 %h1, %h2, %r1; ; not.pred %p1, %r1; ; shr.u64 %d1, %d2, %d3; ; shl.b64 %r1, %d1, 2; ; shf.r.b32 %r1, %r2, %r3, %r4; ; lop3.or.b32 %r1, %r2, %r3, %r4, 3; ; bfe.s64 %d1, %r2, 1, 2; ; bfi.b64 %d1, %d2, %r3, 1, 2;
popc.b16 %r1, %h1; ; prmt.b32.f4f %r1, %r2, %r3, %r4; ; cvt.s32.f64 %r1, %g1; ; cvt.rn.f32.f32.f32 %f1, %f2; ; cvt.rzi.f32.f64 %f1, %g1; ; cvt.rn.f64.s64 %d1, 2.5; ; cvt.rni.sat.f16.s32 %h1, %r1; ; cvt.u64.u32 %r1, %r2; ; cvt.rn.f16.f32 %f1, %f2; ; cvt.f16.f64 %h1, %g1; ; ld.global.s16 %h1;
ld.shared.v2.f64 {%g1}, [%r1]; ; ld.const.nc.f32 %f1, [table]; ; ld.volatile.ca.global.u32 %r1, [%d1]; ; ld.global.v4.f32 {%f1, %f2, %f3, %r1, %r2}, [%d1]; ; ld.local.u32 %p1, [%r1]; ; ld.param.f32 %r1, [q]; ; ld.relaxed.global.u32 %r1, [%d1]; ; ld.global.b128 %d1, [%d1];
st.global.v2.f32 [%d1], {%f1, %f2, %f3}; ; st.local.u8 %r1, [%r2]; ; st.global.lu.u32 [%d1], %r1; ; st.release.global.u32 [%d1], %r1; ; st.shared.v4.f64 [%r1], {%g1, %g2, %g3, %g1}; ; st.global.f32 [%d1], %p1; ; st.const.f32 [table], %f1; ; atom.shared.cas.b64 %d1, [%r1], %d2;
atom.global.or.s32 %r1, [%d1], %r2; ; atom.global.dec.u64 %d1, [%d2], %d3; ; atom.global.add.f64 %f1, [%d1], %f2; ; red.shared.min.b32 [%r1], %r2; ; atom.cta.gpu.add.u32 %r1, [%d1], 1; ; atom.global.max.f64 %g1, [%d1], %g2; ; red.global.dec.s32 [%d1], %r1; ; red.add.global.u32 %r1, [%d1]; ; bar.sync 16;
bar.arrive 1; ; bar.red.or.u32 %r1, 0, %p1; ; barrier.sync.unaligned 0; ; bar.red.and.pred %r1, 0, %p1; ; membar; ; fence.sc; ; barrier.cluster.sync; ; bar.cta.sync %p1; ; fence.proxy.foo; ; shfl.sync.bfly.b32 %r1, %r2, 1, 31; ; shfl.sync.up.down.b32 %r1, %r2, 1, 31, -1; ; vote.sync.b32 %r1, %p1, -1;
vote.sync.ballot.b32 %d1, %p1, -1; ; match.all.sync.b32 %r1|%p1, %r2; ; redux.sync.xor.s32 %r1, %r2, -1; ; activemask %r1; ; match.any.sync.b64 %d1, %d2, -1; ; redux.sync.or.b32 %r1, %r2;
mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; ; mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r5, %r6}, {%r1, %r2, %r3, %r4};
mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2}, {%r3, %r4}, {%r1, %r2}; ; mma.sync.aligned.m16n8k4.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r5}, {%f1, %f2, %f3, %f4}; ; wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1, %f2}, {%r1}, {%r2}, {%f1, %f2};
mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3, %r4}, {%f1, %f2, %f3, %f4}, %r5; ; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2, %r3, %r4}, [%r5]; ; ldmatrix.sync.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];
ldmatrix.sync.aligned.x4.m8n8.shared.u16 {%r1, %r2, %r3, %r4}, [%r5]; ; stmatrix.aligned.m8n8.x1.shared.b16 [%r3], {%r1}; ; movmatrix.sync.aligned.m8n8.trans.b16 %r1, %d2; ; cp.async.ca.shared.global [%r1], [%d1], 5; ; cp.async.cg.shared.global [%r1], [%d1], %r2; ; cp.async.bulk.commit_group 0;
cp.async.wait_all 0; ; mbarrier.arrive.shared.u64 %d1, [%r2]; ; mbarrier.init.shared.b64 [%r1], %d1; ; mbarrier.test_wait.shared.b64 %p1, [%r2], %r1; ; mbarrier.try_wait.parity.shared.b64 %p1, [%r2], %d1; ; mbarrier.expect_tx.shared.b64 [%r1]; ; tex.2d.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f5, %f6}];
tex.4d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f5, %f6}]; ; tex.2d.v4.u8.f32 {%r1, %r2, %r3, %r4}, [tex, {%f5, %f6}]; ; txq.width.b64 %d1, [tex]; ; suld.b.2d.b32 {%r1}, [tex]; ; sust.b.1d.b32 [tex, {%r2}]; ; mov.u32 %r1, %tid.q; ; mov.u32 %ntid.x, 5; ; mov.f64 %g1, %globaltimer;
sub.u32 %r1, %ntid.x, %r2; ; mov.u16 %h1, %warpid; ; mov.b32 %r1, {%h1, %h2, %h3}; ; mov.b64 {%r1, %r2, %r3}, %d1; ; mov.u64 %d1, missing; ; mov.b32 %r1, %h1; ; call helper; ; call (%r1), nobody, (%r2); ; call (%r1), helper, (%d1); ; call.foo (%r1), helper, (%r2); ; bra L2; ; @%f1 bra L; ; @!%d1 exit;
bra.uni %r1; ; brx.idx %r1; ; ret.uni %r1; ; @sm_75 cp.async.wait_all; ; @sm_80 mbarrier.arrive.expect_tx.shared.b64 %d1, [%r2], 3; ; @sm_80 stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r1}; ; @sm_75 redux.sync.and.b32 %r1, %r2, -1; ; @sm_80 cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;
@sm_80 atom.global.add.noftz.bf16x2 %r1, [%d1], %r2; ; @sm_75 mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; ; @sm_90a tcgen05.wait::ld.sync.aligned; ; @sm_90 setmaxnreg.inc.sync.aligned.u32 64;
@sm_80 barrier.cluster.wait; ; @sm_75 createpolicy.fractional.L2::evict_last.b64 %d1; ; PTX 7.0; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r1}; ; PTX 6.0; mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r3, %r4}, {%r1, %r2, %r3, %r4};
PTX 7.0; @%p1 mbarrier.inval.shared.b64; ; PTX 7.0; elect.sync _|%p1, -1; ; @sm_80 multimem.ld_reduce.global.add.f32 %f1, [%d1]; ; @sm_80 add.rn.f32x2 %d1, %d2, %d3; ; add.f16 %h1, %h2, 0x3C00; ; add.f16 %h1, %h2, 1.0; ; add.f16 %h1, %h2, 0f3F800000; ; fma.rn.f16 %h1, %h2, 1.0, 2; ; add.bf16 %h1, %h2, 1;
setp.lt.f16 %p1, %h1, 0; ; mov.b32 %r1, 1.0; ; mov.b32 %r1, 0d3FF0000000000000; ; mov.b64 %d1, 0f3F800000; ; mov.u32 %r1, 0f3F800000; ; mov.s64 %d1, 0d3FF0000000000000; ; mov.b16 %h1, 1.0; ; mov.f32 %f1, 1; ; mov.f32 %f1, 0x3F800000; ; st.global.b32 [%d1], 1.0; ; st.global.b8 [%d1], 1.0;
st.global.u32 [%d1], 0f3F800000; ; st.global.v2.f32 [%d1], {1, 1.0}; ; st.param.f32 [s], 1; ; and.b32 %r1, %r2, 1.0; ; xor.b16 %h1, %h2, 1.0; ; not.b32 %r1, 1.0; ; shl.b32 %r1, 1.0, 2; ; shl.b32 %r1, %r2, 0f3F800000; ; shr.u32 %r1, 1.0, 2; ; selp.b32 %r1, 1.0, 2, %p1; ; selp.u32 %r1, 1.0, 2, %p1;
slct.b32.f32 %r1, 1.0, 2, 3; ; slct.b32.s32 %r1, 1.0, 2, 3.0; ; setp.eq.b32 %p1, %r1, 1.0; ; setp.eq.b32 %p1, 1.0, 1; ; set.lt.u32.f32 %r1, %f1, 1; ; set.lt.f32.u32 %f1, %r1, 1.0; ; cvt.f32.f64 %f1, 1; ; cvt.rzi.s32.f32 %r1, 1; ; cvt.u32.u16 %r1, 1.0; ; cvt.f64.f32 %g1, 1; ; cvt.f32.f16 %f1, 1;
cvt.f32.f16 %f1, 1.0; ; prmt.b32 %r1, 1.0, %r2, %r3; ; shf.l.wrap.b32 %r1, 1.0, 2, 3; ; shf.l.wrap.b32 %r1, 1, 2, 3.0; ; lop3.b32 %r1, 1.0, 2, %r3, 0x10; ; bfi.b32 %r1, 1.0, 2, 3, 4; ; bfi.b32 %r1, 1, 2, 3.0, 4; ; bfe.u32 %r1, 1, 2.0, 3; ; popc.b32 %r1, 1.0; ; clz.b32 %r1, 1.0;
atom.global.add.f32 %f1, [%d1], 1; ; atom.global.exch.b32 %r1, [%d1], 1.0; ; atom.global.add.u32 %r1, [%d1], 1.0; ; red.global.add.f32 [%d1], 1; ; red.global.add.f64 [%d1], 1; ; shfl.sync.idx.b32 %r1, 1.0, 2, 3, -1; ; shfl.sync.idx.b32 %r1, 1, 2.0, 3, -1; ; redux.sync.add.u32 %r1, 1.0, -1;
match.any.sync.b32 %r1, 1.0, -1; ; mov.pred %p1, 1.0; ; ex2.approx.f32 %f1, 1; ; ex2.approx.ftz.f16 %h1, 1; ; sin.approx.f32 %f1, 1; ; copysign.f32 %f1, 1, %f2; ; testp.finite.f32 %p1, 1; ; add.f32 %f1, %f2, -1; ; add.s32 %r1, %r2, 0f3F800000; ; mad.wide.u32 %d1, %r1, 2, 1.0;
dp4a.u32.u32 %r1, 1.0, 2, 3; ; min.f32 %f1, %f2, 1; ; abs.f64 %g1, 1; ; tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {1, 2}]; ; fma.rn.f16x2 %r1, %r2, 1.0, %r3; ; fma.rn.f16x2 %r1, %r2, 0x3C003C00, %r3; ; add.f16x2 %r1, %r2, 5; ; max.bf16x2 %r1, %r2, 0; ; mul24.lo.u32 %r1, %r2, 1.0;
sad.u32 %r1, %r2, 1.0, 2; ; nanosleep.u32 1.0; ; bar.sync 1.0; ; isspacep.global %p1, 1.0; ; cvta.to.global.u64 %d1, 1.0; ; mov.u16 %h1, %smid; ; mov.f64 %g1, %clock64; ; setp.eq.s32 %p1, %tid.x, 0; ; st.global.u32 [%d1], %tid.x; ; @sm_75 mov.u32 %r1, %reserved_smem_offset_begin; ; mov.u64 %d1, %pm0;
@sm_80 ld.acquire.cluster.global.u32 %r1, [%d1]; ; @sm_80 fence.acq_rel.cluster; ; @sm_80 atom.global.cluster.add.u32 %r1, [%d1], 1; ; @sm_80 mbarrier.arrive.release.cluster.shared.b64 %d1, [%r1];
@sm_75 mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r3, %r4}, {%r5}, {%r1, %r2, %r3, %r4}; ; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2};
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32 {%r1, %r2}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; ; mma.sync.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r5}, {%f1, %f2, %f3, %f4};
mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%f5, %f6}, {%r5}, {%f1, %f2, %f3, %f4}; ; mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, %r5, {%f1, %f2, %f3, %f4}; ; add.cc.b32 %r1, %r2, %r3; ; mad.wide.cc.u32 %d1, %r2, %r3, %d1;
add.cc.s16 %h1, %h2, %h3; ; cp.async.bulk.wait_group %r1; ; setmaxnreg.dec.sync.aligned.u32 16; ; barrier.sync 0, 48; ; ld.global.u32 %r1, [%g1]; ; cvt.s32.s16 %f1, %h1; ; cvt.s64.s32 %d1, %f1; ; cvt.u32.u64 %r1, %g1; ; atom.global.add.u32 %f1, [%d1], %r2; ; bfe.u32 %r1, %f1, 2, 3; ; popc.b32 %f1, %r1;
mad.wide.u32 %d1, %r1, %r2, %g1; ; dp4a.u32.u32 %r1, %f1, %r2, %r3; ; st.param.f32 [s], %r1; ; redux.sync.add.u32 %f1, %r2, -1; ; bar.sync %f1; ; set.lt.u32.f32 %f1, %f2, %f3; ; set.lt.f32.s32 %f1, %f2, %r3; ; tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {%f1, %f2}];
tex.2d.v4.s32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f1, %f2}]; ; cvta.to.global.u64 %g1, %d1; ; isspacep.global %p1, %g1; ; mul.hi.u32 %f1, %r1, %r2; ; min.s32 %f1, %r1, %r2; ; abs.s32 %f1, %r1; ; clz.b32 %f1, %r1; ; mul24.lo.u32 %f1, %r1, %r2; ; sad.u32 %f1, %r1, %r2, %r3; ; div.u32 %f1, %r1, %r2;
match.any.sync.b32 %f1, %r1, -1; ; selp.u32 %f1, %r1, %r2, %p1; ; cvt.rzi.s32.f32 %f1, %f2; ; cvt.rn.bf16x2.f32 %f1, %f2, %f3; ; cvt.rn.f16x2.f32 %f1, %f2, %f3; ; red.global.add.u32 [%d1], %f2; ; add.f16x2 %f1, %f2, %f3; ; st.shared.u32 [%f1], %r1; ; elect.sync %f1|%p1, -1; ; add.s32 %f1, %f2, %f3;
add.s32 %r1, %f2, %r3; ; mul.wide.s32 %d1, %f1, %f2; ; ld.global.u32 %f1, [%d1]; ; st.global.u32 [%d1], %f1; ; cvt.rn.f32.s32 %f1, %f2; ; mov.u32 %r1, %f1; ; setp.lt.s32 %p1, %f1, %f2; ; shl.b32 %r1, %r2, %f2;
"""

# Odd, and yet right for ptxas 13.0.
VALID = """
prefetch.L2::evict_last [%d1]; ; mapa.s64 %d1, %d2, %r1; ; getctarank.shared::cluster.s32 %r1, %r2;
add.u32 %r1|_, %r2, %r3; ; ld.global.u32 %r1|_, [%d1]; ; atom.global.add.u32 %r1|_, [%d1], %r2; ; add.u32 %r03, %r1, %r2; ; and.pred %p01, %p1, %p2; ; cvt.pack.sat.u16.s32 %r1, %d1, %d2; ; ld.global.u32 {%r1}, [%d1];
addc.s16 %h1, %h2, %h3; ; and.b32 %r1, %r2, 0f3F800000; ; call (%r1), helper, (%f1); ; bar.sync 0, 0; ; lop3.b32 %r1, %r2, %r3, %r4, 256; ; ld.shared.u32 %r1, [%h1]; ; tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f5, %f6}]; ; wgmma.wait_group.sync.aligned 8; ; st.shared.f32 [%r1], %d1;
fence.release.gpu; ; mov.b32 %r1, 0f3F800000; ; mov.b64 %d1, 0d3FF0000000000000; ; mov.f32 %f1, 0d3FF0000000000000; ; mov.f64 %g1, 0f3F800000; ; st.global.b64 [%d1], 1.0; ; or.b64 %d1, %d2, 1.0; ; selp.f32 %f1, 1.0, 2.0, 1; ; cvt.rn.f32.u32 %f1, 1; ; vote.sync.ballot.b32 %r1, 1, -1; ; mov.pred %p1, 1;
and.pred %p1, %p2, 1; ; add.f32 %f1, %f2, 1.0; ; add.f32 %f1, %f2, 0d3FF0000000000000; ; add.f64 %g1, %g2, 0f3F800000; ; tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {1, 2}]; ; cvt.u64.u32 %d1, %tid.x; ; cvt.u32.u16 %r1, %tid.x; ; mov.u16 %h1, %tid.x; ; mov.u16 %h1, %ntid.x; ; mov.u16 %h1, %ctaid.x;
mov.b32 %r1, %tid.x; ; mov.s32 %r1, %tid.x; ; mov.b64 %d1, %clock64; ; mov.s64 %d1, %clock64; ; mov.u32 %r1, %clock; ; mov.u32 %r1, %gridid; ; mov.u64 %d1, %gridid; ; mov.pred %p1, %is_explicit_cluster; ; mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid; ; mov.v4.u16 {%h1, %h2, %h3, %h0}, %tid;
mov.b64 %d1, {%tid.x, %tid.y}; ; mov.u64 %d1, %pm0_64; ; mov.u32 %r1, %pm0; ; @sm_80 fence.proxy.alias; ; @sm_80 barrier.sync.aligned 0; ; @sm_75 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r5}, {%f1, %f2, %f3, %f4};
@sm_75 mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r3}, {%r5}, {%r1, %r2}; ; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g1, %g2}, {%g1}, {%g3}, {%g1, %g2}; ; mma.sync.aligned.m8n8k4.row.col.f64.rn.f64.f64.f64 {%g1, %g2}, {%g1}, {%g3}, {%g1, %g2};
mma.sync.aligned.m8n8k4.row.col.rn.f64.f64.f64.f64 {%g1, %g2}, {%g1}, {%g3}, {%g1, %g2}; ; mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%g0, %g1, %g2, %g3}, {%g0, %g1, %g2, %g3}, {%g3, %g1}, {%g0, %g1, %g2, %g3};
mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2, %r3, %r4}; ; mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.s4.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2, %r3, %r4};
mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; ; mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r5}, {%f1, %f2, %f3, %f4};
mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16 {%r1, %r2}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2}; ; mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2}, {%r5}, {%r1, %r2};
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; ; mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r5}, {%f1, %f2, %f3, %f4};
mma.sync.aligned.row.col.m16n8k8.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r5}, {%f1, %f2, %f3, %f4}; ; mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r1, %r2}, {%r3, %r4}, {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};
mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r5}, {%f1, %f2, %f3, %f4}; ; add.cc.u32 %r1, %r2, %r3; ; add.cc.u64 %d1, %d2, %d3; ; addc.cc.s32 %r1, %r2, %r3; ; sub.cc.u32 %r1, %r2, %r3; ; subc.cc.s64 %d1, %d2, %d3; ; mad.lo.cc.u32 %r1, %r2, %r3, %r4;
mad.lo.cc.u64 %d1, %d2, %d3, %d1; ; madc.hi.cc.s32 %r1, %r2, %r3, %r4; ; madc.lo.s64 %d1, %d2, %d3, %d1; ; stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r3], {%r1, %r2, %r3, %r4}; ; stmatrix.sync.aligned.m8n8.x1.b16 [%d1], {%r1}; ; movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;
mbarrier.arrive.shared.b64 %d1, [%r2]; ; mbarrier.arrive.shared.b64 %d1, [%r2], 3; ; mbarrier.arrive.expect_tx.shared.b64 %d1, [%r2], 3; ; mbarrier.arrive.release.cta.shared::cta.b64 %d1, [%r2]; ; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
mbarrier.arrive.shared::cluster.b64 _, [%r2]; ; mbarrier.arrive.noComplete.shared.b64 %d1, [%r2], 3; ; mbarrier.arrive.b64 %d1, [%d2]; ; mbarrier.test_wait.shared.b64 %p1, [%r2], %d1; ; mbarrier.test_wait.parity.shared.b64 %p1, [%r2], %r1;
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r2], %r1, 10; ; mbarrier.inval.b64 [%d2]; ; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 3; ; mbarrier.pending_count.b64 %r1, %d1; ; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], %r2, [%r3];
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d1], %r2, [%r3]; ; cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], %r2; ; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], %r2, [%r3];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r1], [%d1], %r2, [%r3], %h1, %d2; ; cp.async.bulk.prefetch.L2.global [%d1], %r1; ; cp.async.bulk.wait_group.read 0; ; cp.async.wait_group 0; ; wgmma.wait_group.sync.aligned 0; ; wgmma.fence.sync.aligned;
wgmma.commit_group.sync.aligned; ; txq.width.b32 %r1, [tex]; ; discard.global.L2 [%d1], 128; ; applypriority.global.L2::evict_normal [%d1], 128; ; createpolicy.fractional.L2::evict_last.b64 %d1, 1.0; ; createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %d1; ; prefetchu.L1 [%d1];
setmaxnreg.inc.sync.aligned.u32 240; ; setmaxnreg.dec.sync.aligned.u32 24; ; setmaxnreg.dec.sync.aligned.u32 256; ; vadd.s32.s32.s32 %r1, %r2, %r3; ; vadd.s32.u32.u32.sat %r1, %r2.b0, %r3.h1; ; vset.s32.u32.lt %r1, %r2, %r3; ; vmad.u32.u32.u32 %r1, %r2, %r3, %r4;
vmad.u32.u32.u32.shr7 %r1, %r2, %r3, %r4; ; vabsdiff2.u32.u32.u32 %r1, %r2, %r3, %r4; ; vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r4; ; vmax.s32.s32.s32.max %r1, %r2, %r3, %r4; ; vshl.u32.u32.u32.wrap %r1, %r2, %r3; ; bar.sync 0, 64; ; bar.sync %r1, %r2; ; bar.red.popc.u32 %r1, 0, %p1;
bar.red.popc.u32 %r1, 0, 64, %p1; ; bar.red.and.pred %p1, 0, %p2; ; barrier.cta.sync.aligned 0, 96; ; { .reg .u32 %u<4>; add.s32 %u1, %u2, %r3; }; ; { .reg .u32 %u<4>; st.global.b32 [%d1], %u1; }; ; { .reg .u32 %u<4>; mov.b32 %u1, %f1; }; ; { .reg .f16 %x<4>; add.f16 %x1, %x2, %h2; };
{ .reg .s64 %x<4>; add.u64 %x1, %x2, %d2; }; ; { .reg .f16x2 %x<4>; add.f16x2 %x1, %x2, %x3; }; ; { .reg .f16x2 %x<4>; add.u32 %x1, %x2, %x3; }; ; { .reg .f32 %x<4>; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%x0, %x1, %x2, %x3}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4}; };
add.f16 %h1, %h2, %h3; ; cvt.rn.f16.f32 %h1, %f2; ; cvt.f32.f16 %f1, %h1; ; shfl.sync.idx.b32 %f1, %f2, 1, 31, -1; ; shfl.sync.idx.b32 %f1, %f2, %f3, 31, -1; ; atom.global.add.f32 %f1, [%d1], %f2; ; atom.global.exch.b32 %f1, [%d1], %f2; ; prmt.b32 %f1, %f2, %f3, %r1; ; lop3.b32 %f1, %f2, %f3, %f4, 3;
popc.b32 %r1, %f1; ; slct.f32.s32 %f1, %f2, %f3, %r4; ; mov.b64 %d1, {%f1, %f2}; ; mov.b64 {%f1, %f2}, %d1; ; mov.b64 {%f1, %f2}, %g1; ; set.lt.f32.f32 %r1, %f2, %f3; ; tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%r1, %r2}]; ; vote.sync.ballot.b32 %f1, %p1, -1; ; activemask.b32 %f1;
match.any.sync.b32 %r1, %f1, -1; ; bfi.b32 %f1, %f2, %r1, 1, 2; ; shf.l.wrap.b32 %f1, %f2, %f3, %r1; ; fma.rn.f32 %r1, %r2, %r3, %r4; ; atom.global.cas.b32 %f1, [%d1], %f2, %f3; ; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%f1}, [%r3]; ; mov.b32 %f1, {%h1, %h2}; ; add.f32 %r1, %r2, %r3;
and.b32 %f1, %f2, %f3; ; ld.global.f32 %r1, [%d1]; ; cvt.rn.f32.s32 %r1, %r2; ; mov.f32 %f1, %r1; ; selp.f32 %r1, %f1, %f2, %p1; ; shl.b32 %f1, %f2, 2;
"""


def cases(statements: str = STATEMENTS) -> Iterator[tuple[str, str, str]]:
    """(statement, module, architecture) of each kind."""
    for statement in re.split(r"; ;|;\n", statements.strip().rstrip(";")):
        found = re.match(r"\s*(?:@(sm_\w+)\s+)?(?:PTX (\d\.\d);)?(.*)", statement + ";", re.S)
        assert found is not None
        arch, version, text = found[1] or "sm_90a", found[2] or "9.0", found[3].strip()
        text = text.rstrip(";") if text.startswith("{") else text
        more = ".reg .b128 %q<4>;" if "%q" in text else ""
        yield text, HEAD.format(version=version, target=arch, statement=text, more=more), arch


_KIND = re.compile(r"(?:([MF])(?=[ :]))?\s*(?:@(sm_\w+))?\s*(?:PTX (\d\.\d))?\s*:? ?(.*)$")


def kinds() -> Iterator[tuple[str, str, str, str]]:
    r"""(what ptxas 13.0 says, text, module, architecture) of each line of kinds.txt.

    ptxas says the line that it refuses, "?" without a line, or "0": it takes the text. A text is a
    statement as in `STATEMENTS`, behind `M:` a module without its head, behind `F:` one with it;
    ` \ ` ends a line. `@` names another target than sm_90a (sm_90 of modules), `PTX n.m` a version.
    """
    for line in Path(__file__).with_name("kinds.txt").read_text("utf-8").splitlines():
        said, _, text = line.partition(" ")
        yield said, text, *_kind(text)


def _kind(text: str) -> tuple[str, str]:
    found = _KIND.match(text)
    assert found is not None
    where, target, version, body = found.groups()
    body = body if where or target or version else text
    lines = "\n".join(part.strip() for part in body.split(" \\ ")) + "\n"
    if where == "F":
        named = re.search(r"\.target (sm_\w+)", lines)
        return lines, named[1] if named is not None else "sm_90"
    arch, version = target or ("sm_90" if where else "sm_90a"), version or "9.0"
    if where:
        return f".version {version}\n.target {arch}\n.address_size 64\n{lines}", arch
    more = ".reg .b128 %q<4>;" if "%q" in body else ""
    return HEAD.format(version=version, target=arch, statement=body, more=more), arch
