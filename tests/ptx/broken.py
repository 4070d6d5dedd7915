"""Kinds of broken PTX, each a rule of PTX ISA 9.0 that a line breaks; all refused by ptxas 13.0.

A statement stands alone in a kernel of `HEAD` with the registers %p (pred), %h (b16), %r (b32), %f
(f32), %d (b64), %g (f64), %q (b128), for sm_90a unless `@` names another target, `PTX n.m;` another
version.
"""

# ruff: noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterator

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
"""


def cases() -> Iterator[tuple[str, str, str]]:
    """(statement, module, architecture) of each kind."""
    for statement in re.split(r"; ;|;\n", STATEMENTS.strip().rstrip(";")):
        found = re.match(r"\s*(?:@(sm_\w+)\s+)?(?:PTX (\d\.\d);)?(.*)", statement + ";", re.S)
        assert found is not None
        arch, version, text = found[1] or "sm_90a", found[2] or "9.0", found[3].strip()
        more = ".reg .b128 %q<4>;" if "%q" in text else ""
        yield text, HEAD.format(version=version, target=arch, statement=text, more=more), arch
