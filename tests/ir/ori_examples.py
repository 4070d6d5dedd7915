# ruff: noqa: E501  # one statement a line
"""One statement for each documented operand form, with the row and the results to expect.

A line is `statement; row results`, results counting the hidden carry. Lines
stand under the target that assembles them; `-` is for spellings newer than ptxas 13.0
and for calls. `PRELUDE` declares what they name, with `WIDE` from sm_70 on.
"""

from __future__ import annotations

PRELUDE = """\
.global .texref tex0;
.global .surfref surf0;
.global .align 128 .b8 gmem[4096];
.const .align 16 .b8 cmem[64];
.visible .entry k(.param .u64 k_param_0, .param .align 64 .b8 map0[128])
{
.reg .b8 %b<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
.reg .f32 %f<40>; .reg .f64 %fd<20>; .reg .pred %p<9>;
.shared .align 128 .b8 smem[4096];
table: .branchtargets DONE, k_end;
"""
WIDE = ".reg .b128 %q<4>;\n"  # sm_70 and later
EPILOGUE = """
DONE: ret;
k_end: ret;
}
"""

EXAMPLES = """\
== sm_80
add.s32 %r1, %r2, %r3; add 1
add.sat.s32 %r1, %r2, -1; add 1
add.rn.ftz.f32 %f1, %f2, 0f3F800000; add 1
add.f16x2 %r1, %r2, %r3; add 1
add.cc.u32 %r1, %r2, %r3; add.cc 2
addc.u32 %r1, %r2, %r3; addc 1
addc.cc.u32 %r1, %r2, %r3; addc.cc 2
sub.f64 %fd1, %fd2, %fd3; sub 1
sub.cc.u32 %r1, %r2, %r3; sub.cc 2
subc.u32 %r1, %r2, %r3; subc 1
subc.cc.s32 %r1, %r2, %r3; subc.cc 2
mul.lo.u64 %rd1, %rd2, %rd3; mul 1
mul.wide.s32 %rd1, %r2, %r3; mul 1
mul.rn.f32 %f1, %f2, %f3; mul 1
mad.lo.s32 %r1, %r2, %r3, %r4; mad 1
mad.wide.u16 %r1, %h2, %h3, %r4; mad 1
mad.rn.f32 %f1, %f2, %f3, %f4; mad 1
mad.lo.cc.u32 %r1, %r2, %r3, %r4; mad.lo.cc 2
mad.hi.cc.u32 %r1, %r2, %r3, %r4; mad.hi.cc 2
madc.lo.u32 %r1, %r2, %r3, %r4; madc.lo 1
madc.hi.u32 %r1, %r2, %r3, %r4; madc.hi 1
madc.lo.cc.u32 %r1, %r2, %r3, %r4; madc.lo.cc 2
madc.hi.cc.u32 %r1, %r2, %r3, %r4; madc.hi.cc 2
mul24.lo.s32 %r1, %r2, %r3; mul24 1
mad24.hi.u32 %r1, %r2, %r3, %r4; mad24 1
sad.u32 %r1, %r2, %r3, %r4; sad 1
div.s32 %r1, %r2, %r3; div 1
div.full.f32 %f1, %f2, %f3; div 1
rem.u64 %rd1, %rd2, %rd3; rem 1
abs.s32 %r1, %r2; abs 1
neg.f32 %f1, %f2; neg 1
min.u32 %r1, %r2, %r3; min 1
max.NaN.f16 %h1, %h2, %h3; max 1
popc.b64 %r1, %rd2; popc 1
clz.b32 %r1, %r2; clz 1
bfind.shiftamt.u32 %r1, %r2; bfind 1
bfind.s64 %r1, %rd2; bfind 1
brev.b64 %rd1, %rd2; brev 1
bfe.u32 %r1, %r2, 4, 8; bfe 1
bfi.b32 %r1, %r2, %r3, 0, 8; bfi 1
bmsk.clamp.b32 %r1, %r2, %r3; bmsk 1
szext.wrap.s32 %r1, %r2, %r3; szext 1
fns.b32 %r1, %r2, %r3, 2; fns 1
dp4a.u32.s32 %r1, %r2, %r3, %r4; dp4a 1
dp2a.lo.s32.u32 %r1, %r2, %r3, %r4; dp2a 1
fma.rn.f32 %f1, %f2, %f3, %f4; fma 1
fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4; fma 1
rcp.approx.ftz.f64 %fd1, %fd2; rcp 1
sqrt.rn.f32 %f1, %f2; sqrt 1
rsqrt.approx.f32 %f1, %f2; rsqrt 1
sin.approx.f32 %f1, %f2; sin 1
cos.approx.ftz.f32 %f1, %f2; cos 1
lg2.approx.f32 %f1, %f2; lg2 1
ex2.approx.f16x2 %r1, %r2; ex2 1
tanh.approx.f32 %f1, %f2; tanh 1
testp.subnormal.f32 %p1, %f2; testp 1
copysign.f64 %fd1, %fd2, %fd3; copysign 1
setp.lt.s32 %p1, %r2, %r3; setp 1
setp.ge.f32 %p1|%p2, %f2, %f3; setp 2
setp.eq.and.u64 %p1, %rd2, 0, !%p3; setp 1
setp.lt.f16x2 %p1|%p2, %r2, %r3; setp 2
set.lt.u32.f32 %r1, %f2, %f3; set 1
set.ne.xor.s32.s32 %r1, %r2, %r3, %p1; set 1
selp.b64 %rd1, %rd2, %rd3, %p1; selp 1
slct.f32.s32 %f1, %f2, %f3, %r4; slct 1
and.pred %p1, %p2, %p3; and 1
or.b16 %h1, %h2, %h3; or 1
xor.b64 %rd1, %rd2, -1; xor 1
not.b32 %r1, %r2; not 1
cnot.b32 %r1, %r2; cnot 1
lop3.b32 %r1, %r2, %r3, %r4, 0x80; lop3 1
lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x3f, %p2; lop3 2
lop3.and.b32 _|%p1, %r2, %r3, %r4, 0x3f, %p2; lop3 2
shl.b32 %r1, %r2, 3; shl 1
shr.s64 %rd1, %rd2, %r3; shr 1
shf.l.wrap.b32 %r1, %r2, %r3, %r4; shf 1
mov.u32 %r1, %tid.x; mov 1
mov.b64 %rd1, {%r2, %r3}; mov 1
mov.b64 {%r1, %r2}, %rd3; mov 2
mov.b32 {%h1, _}, %r3; mov 2
mov.b32 {%b1, %b2, %b3, %b4}, %r5; mov 4
mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid; mov 4
mov.u64 %rd1, gmem; mov 1
mov.u64 %rd1, gmem+16; mov 1
prmt.b32 %r1, %r2, %r3, 0x5410; prmt 1
prmt.b32.f4e %r1, %r2, %r3, %r4; prmt 1
cvt.u64.u32 %rd1, %r2; cvt 1
cvt.rzi.ftz.s32.f32 %r1, %f2; cvt 1
cvt.rn.f16x2.f32 %r1, %f2, %f3; cvt 1
cvt.rn.bf16.f32 %h1, %f2; cvt 1
cvt.rna.tf32.f32 %r1, %f2; cvt 1
cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4; cvt.pack 1
cvt.pack.sat.s16.s32 %r1, %r2, %r3; cvt.pack 1
cvta.to.global.u64 %rd1, %rd2; cvta 1
cvta.shared.u64 %rd1, smem; cvta 1
isspacep.shared %p1, %rd2; isspacep 1
istypep.texref %p1, %rd2; istypep 1
shfl.sync.down.b32 %r1, %r2, 16, 31, -1; shfl.sync 1
shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1; shfl.sync 2
vote.sync.all.pred %p1, %p2, -1; vote.sync 1
vote.sync.ballot.b32 %r1, !%p2, -1; vote.sync 1
match.any.sync.b64 %r1, %rd2, -1; match.any.sync 1
match.all.sync.b32 %r1|%p1, %r2, -1; match.all.sync 2
redux.sync.add.s32 %r1, %r2, -1; redux.sync 1
activemask.b32 %r1; activemask 1
ld.global.f32 %f1, [%rd2]; ld 1
ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2+16]; ld 4
ld.param.u64 %rd1, [k_param_0]; ld 1
ld.volatile.shared.u8 %h1, [smem+4]; ld 1
ld.acquire.gpu.global.u32 %r1, [%rd2]; ld 1
ld.global.nc.L1::no_allocate.v2.f32 {%f1, %f2}, [%rd2]; ld 2
ld.global.L2::cache_hint.u32 %r1, [%rd2], %rd3; ld 1
ld.const.u32 %r1, [cmem+8]; ld 1
ldu.global.f32 %f1, [%rd2]; ldu 1
st.shared.v2.b64 [smem+16], {%rd1, %rd2}; st 0
st.global.L2::cache_hint.u32 [%rd2], %r1, %rd3; st 0
st.global.u8 [%rd2], 0; st 0
prefetch.global.L2 [%rd2]; prefetch 0
prefetchu.L1 [%rd2]; prefetchu 0
applypriority.global.L2::evict_normal [%rd2], 128; applypriority 0
discard.global.L2 [%rd2], 128; discard 0
createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5; createpolicy.fractional 1
createpolicy.fractional.L2::evict_first.b64 %rd1; createpolicy.fractional 1
createpolicy.range.global.L2::evict_last.b64 %rd1, [%rd2], 4096, 8192; createpolicy.range 1
createpolicy.cvt.L2.b64 %rd1, %rd2; createpolicy.cvt 1
stacksave.u64 %rd1; stacksave 1
stackrestore.u64 %rd1; stackrestore 0
alloca.u64 %rd1, 64, 16; alloca 1
cp.async.ca.shared.global [%r1], [%rd2], 4; cp.async 0
cp.async.cg.shared.global [smem], [%rd2+32], 16, %r3; cp.async 0
cp.async.commit_group; cp.async.commit_group 0
cp.async.wait_group 2; cp.async.wait_group 0
cp.async.wait_all; cp.async.wait_all 0
cp.async.mbarrier.arrive.noinc.shared.b64 [smem]; cp.async.mbarrier.arrive 0
mbarrier.init.shared.b64 [smem], 12; mbarrier.init 0
mbarrier.inval.shared.b64 [smem]; mbarrier.inval 0
mbarrier.arrive.shared.b64 %rd1, [smem]; mbarrier.arrive 1
mbarrier.arrive.noComplete.shared.b64 %rd1, [smem], 2; mbarrier.arrive 1
mbarrier.arrive_drop.shared.b64 %rd1, [smem]; mbarrier.arrive_drop 1
mbarrier.test_wait.shared.b64 %p1, [smem], %rd1; mbarrier.test_wait 1
mbarrier.pending_count.b64 %r1, %rd2; mbarrier.pending_count 1
tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0, {%r1}]; tex 4
tex.2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, [tex0, {%f1, %f2}]; tex 4
tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex0, {%f5, %f6}], %f7; tex 4
tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%p1, [tex0, {%f5, %f6}], {%r1, %r2}; tex 5
tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [tex0, {%f5, %f6}], {%f1, %f2}, {%f3, %f4}; tex 4
tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex0, {%f5, %f6}]; tld4 4
txq.width.b32 %r1, [tex0]; txq 1
txq.level.width.b32 %r1, [tex0], %r2; txq 1
suld.b.1d.v2.b32.trap {%r1, %r2}, [surf0, {%r3}]; suld 2
sust.b.2d.b32.clamp [surf0, {%r1, %r2}], %r3; sust 0
sust.p.1d.v2.b32.trap [surf0, {%r1}], {%r2, %r3}; sust 0
sured.b.add.2d.u32.trap [surf0, {%r1, %r2}], %r3; sured 0
suq.height.b32 %r1, [surf0]; suq 1
bar.sync 0; bar.sync 0
bar.sync %r1, %r2; bar.sync 0
bar.arrive 1, 64; bar.arrive 0
bar.red.popc.u32 %r1, 0, %p1; bar.red 1
bar.red.and.pred %p1, 0, 64, !%p2; bar.red 1
bar.cta.sync 0; bar.cta.sync 0
bar.cta.arrive 0, 64; bar.cta.arrive 0
bar.cta.red.or.pred %p1, 0, %p2; bar.cta.red 1
barrier.sync 0; barrier.sync 0
barrier.sync.aligned 0, 64; barrier.sync 0
barrier.arrive 0, 64; barrier.arrive 0
barrier.red.popc.u32 %r1, 0, %p1; barrier.red 1
barrier.cta.sync.aligned 0; barrier.cta.sync 0
barrier.cta.arrive.aligned 0, 64; barrier.cta.arrive 0
barrier.cta.red.or.aligned.pred %p1, 0, 64, %p2; barrier.cta.red 1
bar.warp.sync 0xffffffff; bar.warp.sync 0
membar.gl; membar 0
membar.proxy.alias; membar.proxy 0
fence.acq_rel.gpu; fence 0
fence.sc.sys; fence 0
fence.proxy.alias; fence.proxy 0
atom.global.add.u32 %r1, [%rd2], 1; atom 1
atom.global.cas.b64 %rd1, [%rd2], %rd3, %rd4; atom 1
atom.acq_rel.gpu.shared.exch.b32 %r1, [smem], %r2; atom 1
atom.global.add.noftz.f16x2 %r1, [%rd2], %r3; atom 1
atom.global.add.L2::cache_hint.u32 %r1, [%rd2], %r3, %rd4; atom 1
atom.global.inc.u32 _, [%rd2], 7; atom 1
red.global.add.f32 [%rd2], %f1; red 0
wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], %r9; wmma.load 8
wmma.load.c.sync.aligned.col.m16n16k16.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%rd1]; wmma.load 8
wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd1], {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, 16; wmma.store 0
wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12}, {%r13,%r14,%r15,%r16,%r17,%r18,%r19,%r20}, {%r1,%r2,%r3,%r4}; wmma.mma 4
wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r1,%r2}, {%r3}, {%r4}, {%r5,%r6}; wmma.mma 2
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4}; mma.sync 4
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r3,%r4}, {%r5}, {%r6,%r7}; mma.sync 2
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1,%fd2}, {%fd3}, {%fd4}, {%fd1,%fd2}; mma.sync 2
mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r3,%r4}, {%r5,%r6}, {%r7,%r8}, %r9, 0x0; mma.sp.sync 2
mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r3,%r4}, {%r5,%r6}, {%r7,%r8}, %r9, 0x0; mma.sp::ordered_metadata.sync 2
ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1,%r2,%r3,%r4}, [%r5+64]; ldmatrix 4
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [smem]; ldmatrix 1
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2; movmatrix 1
vadd.s32.u32.s32.sat %r1, %r2.b0, %r3.h1; vadd 1
vsub.s32.s32.s32.add %r1, %r2, %r3, %r4; vsub 1
vabsdiff.u32.u32.u32 %r1.b0, %r2, %r3, %r4; vabsdiff 1
vmin.s32.s32.s32 %r1, %r2, %r3; vmin 1
vmax.s32.s32.s32.max %r1, %r2, %r3, %r4; vmax 1
vshl.u32.u32.u32.clamp %r1, %r2, %r3; vshl 1
vshr.u32.u32.u32.wrap %r1, %r2, %r3; vshr 1
vmad.s32.s32.u32 %r1, %r2, %r3, -%r4; vmad 1
vset.s32.u32.lt %r1, %r2, %r3; vset 1
vadd2.s32.s32.u32.sat %r1, %r2, %r3, %r4; vadd2 1
vsub2.s32.s32.u32.sat %r1.h0, %r2, %r3.h10, %r4; vsub2 1
vavrg2.s32.s32.u32 %r1, %r2, %r3, %r4; vavrg2 1
vabsdiff2.s32.s32.u32.add %r1, %r2, %r3, %r4; vabsdiff2 1
vmin2.s32.s32.u32 %r1, %r2, %r3, %r4; vmin2 1
vmax2.s32.s32.u32 %r1, %r2, %r3, %r4; vmax2 1
vset2.s32.u32.lt %r1, %r2, %r3, %r4; vset2 1
vadd4.s32.s32.u32.sat %r1, %r2, %r3, %r4; vadd4 1
vsub4.u32.u32.u32 %r1.b210, %r2, %r3, %r4; vsub4 1
vavrg4.s32.s32.u32 %r1, %r2, %r3, %r4; vavrg4 1
vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r4; vabsdiff4 1
vmin4.s32.s32.u32 %r1, %r2, %r3, %r4; vmin4 1
vmax4.s32.s32.u32 %r1, %r2, %r3, %r4; vmax4 1
vset4.u32.u32.ne %r1, %r2, %r3, %r4; vset4 1
pmevent 7; pmevent 0
pmevent.mask 0x7; pmevent 0
nanosleep.u32 %r1; nanosleep 0
brkpt; brkpt 0
trap; trap 0
bra DONE; bra 0
bra.uni DONE; bra 0
brx.idx %r1, table; brx.idx 0
brx.idx.uni %r1, table; brx.idx 0
exit; exit 0
ret; ret 0

== sm_90a
mapa.shared::cluster.u32 %r1, %r2, %r3; mapa 1
mapa.u64 %rd1, smem, 1; mapa 1
getctarank.shared::cluster.u32 %r1, %r2; getctarank 1
getctarank.u64 %r1, %rd2; getctarank 1
elect.sync %r1|%p1, -1; elect.sync 2
elect.sync _|%p1, %r2; elect.sync 2
isspacep.shared::cluster %p1, %rd2; isspacep 1
ld.shared::cluster.b32 %r1, [%r2]; ld 1
ld.global.b128 %q1, [%rd2]; ld 1
mov.b128 {%rd1, %rd2}, %q1; mov 2
mov.b128 %q1, {%rd1, %rd2}; mov 1
atom.global.cas.b128 %q1, [%rd2], %q2, %q3; atom 1
atom.global.v4.f32.add {%f1,%f2,%f3,%f4}, [%rd2], {%f5,%f6,%f7,%f8}; atom 4
atom.global.add.v2.f32 {%f1,%f2}, [%rd2], {%f5,%f6}; atom 2
red.global.add.v2.f32 [%rd2], {%f5,%f6}; red 0
cvt.rn.satfinite.e4m3x2.f32 %h1, %f2, %f3; cvt 1
cvt.rn.f16x2.e5m2x2 %r1, %h2; cvt 1
ld.param.b64 %rd1, [map0+8]; ld 1
prefetch.tensormap [%rd2]; prefetch 0
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]; st.async 0
st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%r1], {%f1, %f2}, [%r3]; st.async 0
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3]; red.async 0
multimem.ld_reduce.global.add.acc::f32.v2.f16x2 {%r1, %r2}, [%rd1]; multimem.ld_reduce 2
multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1]; multimem.ld_reduce 1
multimem.st.relaxed.sys.global.u32 [%rd1], %r1; multimem.st 0
multimem.red.relaxed.sys.global.add.v4.f32 [%rd1], {%f1, %f2, %f3, %f4}; multimem.red 0
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2], 1024, [%r3]; cp.async.bulk 0
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd2], %r5, [%r3], %h4; cp.async.bulk 0
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 256; cp.async.bulk 0
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%rd1], [%r2], 256; cp.reduce.async.bulk 0
cp.async.bulk.prefetch.L2.global [%rd2], 1024; cp.async.bulk.prefetch 0
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r3, %r4}], [%r5]; cp.async.bulk.tensor 0
cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r3, %r4, %r5, %r6}], [%r7], {%h1, %h2}; cp.async.bulk.tensor 0
cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {%r3}], [%r1]; cp.async.bulk.tensor 0
cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd2, {%r3, %r4}], [%r1]; cp.reduce.async.bulk.tensor 0
cp.async.bulk.prefetch.tensor.1d.L2.global [%rd2, {%r3}]; cp.async.bulk.prefetch.tensor 0
cp.async.bulk.commit_group; cp.async.bulk.commit_group 0
cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0
mbarrier.arrive.expect_tx.shared::cta.b64 _, [smem], %r1; mbarrier.arrive 1
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], %r2; mbarrier.arrive 1
mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r1], 64; mbarrier.arrive 1
mbarrier.arrive_drop.shared::cluster.b64 _, [%r1]; mbarrier.arrive_drop 1
mbarrier.expect_tx.relaxed.cta.shared.b64 [smem], 512; mbarrier.expect_tx 0
mbarrier.complete_tx.relaxed.cta.shared.b64 [smem], 512; mbarrier.complete_tx 0
mbarrier.test_wait.parity.acquire.cta.shared.b64 %p1, [smem], %r1; mbarrier.test_wait 1
mbarrier.try_wait.shared.b64 %p1, [smem], %rd1; mbarrier.try_wait 1
mbarrier.try_wait.parity.shared::cta.b64 %p1, [smem], %r1, 0x989680; mbarrier.try_wait 1
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [smem], %rd1; tensormap.replace 0
tensormap.replace.tile.global_dim.global.b1024.b32 [%rd2], 0, %r1; tensormap.replace 0
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r2], 128; tensormap.cp_fenceproxy 0
barrier.cluster.arrive.release.aligned; barrier.cluster.arrive 0
barrier.cluster.wait.acquire; barrier.cluster.wait 0
fence.mbarrier_init.release.cluster; fence.mbarrier_init 0
fence.proxy.async; fence.proxy 0
fence.proxy.async.shared::cta; fence.proxy 0
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128; fence.proxy.tensormap::generic.acquire 0
fence.proxy.tensormap::generic.release.cta; fence.proxy.tensormap::generic.release 0
griddepcontrol.launch_dependents; griddepcontrol.launch_dependents 0
griddepcontrol.wait; griddepcontrol.wait 0
setmaxnreg.inc.sync.aligned.u32 64; setmaxnreg 0
stmatrix.sync.aligned.m8n8.x2.shared.b16 [smem], {%r1, %r2}; stmatrix 0
wgmma.fence.sync.aligned; wgmma.fence 0
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1, 0, 0; wgmma.mma_async 4
wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1,%r2}, {%r3,%r4,%r5,%r6}, %rd2, 1, 1, -1, 0; wgmma.mma_async 2
wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r1,%r2,%r3,%r4}, %rd1, %rd2, %p1; wgmma.mma_async 4
wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %r1, 0, %p1, 1, 1, 0, 0; wgmma.mma_async.sp 4
wgmma.commit_group.sync.aligned; wgmma.commit_group 0
wgmma.wait_group.sync.aligned 0; wgmma.wait_group 0

== sm_100a
add.rn.f32x2 %rd1, %rd2, %rd3; add 1
add.rn.f32.f16 %f1, %h2, %f3; add 1
add.sat.f32.bf16 %f1, %h2, %f3; add 1
sub.f32.f16 %f1, %h2, %f3; sub 1
fma.rn.f32.bf16 %f1, %h2, %h3, %f4; fma 1
min.f32 %f1, %f2, %f3, %f4; min 1
max.NaN.abs.f32 %f1, %f2, %f3, %f4; max 1
cvt.rn.satfinite.e2m1x2.f32 %b1, %f2, %f3; cvt 1
cvt.rn.f16x2.e2m1x2 %r1, %b2; cvt 1
cvt.rs.f16x2.f32 %r1, %f2, %f3, %r4; cvt 1
cvt.rs.satfinite.e4m3x4.f32 %r1, {%f2, %f3, %f4, %f5}, %r6; cvt 1
cvt.rz.satfinite.ue8m0x2.f32 %h1, %f2, %f3; cvt 1
redux.sync.min.abs.NaN.f32 %f1, %f2, -1; redux.sync 1
ld.global.v8.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%rd1]; ld 8
st.global.v4.b64 [%rd1], {%rd2,%rd3,%rd4,%rd5}; st 0
st.bulk.weak.shared::cta [%r2], %rd1, 0; st.bulk 0
st.async.mmio.release.sys.global.b32 [%rd1], %r1; st.async 0
red.async.mmio.release.sys.global.add.u32 [%rd1], %r1; red.async 0
cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r2], 256, %h3; cp.async.bulk 0
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r3,%r4,%r5,%r6,%r7}], [%r8]; cp.async.bulk.tensor 0
fence.acquire.sync_restrict::shared::cluster.cluster; fence 0
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; fence.proxy 0
ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [smem]; ldmatrix 2
ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32 {%r1, %r2}, [smem]; ldmatrix 2
stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [smem], {%r1}; stmatrix 0
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2]; clusterlaunchcontrol.try_cancel 0
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1; clusterlaunchcontrol.query_cancel 1
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %q1; clusterlaunchcontrol.query_cancel 4
clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %q1; clusterlaunchcontrol.query_cancel 1
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32; tcgen05.alloc 0
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32; tcgen05.dealloc 0
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; tcgen05.relinquish_alloc_permit 0
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3]; tcgen05.ld 2
tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%r3], 2; tcgen05.ld 1
tcgen05.ld.sync.aligned.16x128b.x1.pack::16b.b32 {%r1, %r2}, [%r3]; tcgen05.ld 2
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r1, %r2}; tcgen05.st 0
tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r3], 2, {%r1}; tcgen05.st 0
tcgen05.wait::ld.sync.aligned; tcgen05.wait::ld 0
tcgen05.wait::st.sync.aligned; tcgen05.wait::st 0
tcgen05.cp.cta_group::1.128x256b [%r1], %rd2; tcgen05.cp 0
tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%r1], %rd2; tcgen05.cp 0
tcgen05.shift.cta_group::1.down [%r1]; tcgen05.shift 0
tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r3, %p1; tcgen05.mma 0
tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r2], %rd2, %r3, {%r4,%r5,%r6,%r7}, %p1; tcgen05.mma 0
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r1], %rd1, %rd2, %r3, [%r4], [%r5], %p1; tcgen05.mma 0
tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r4], %r3, %p1; tcgen05.mma.sp 0
tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r3, %p1; tcgen05.mma.ws 0
tcgen05.mma.ws.sp.cta_group::1.kind::tf32 [%r1], %rd1, %rd2, [%r4], %r3, %p1; tcgen05.mma.ws.sp 0
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1]; tcgen05.commit 0
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r1], %h1; tcgen05.commit 0
tcgen05.fence::before_thread_sync; tcgen05.fence::before_thread_sync 0
tcgen05.fence::after_thread_sync; tcgen05.fence::after_thread_sync 0

== sm_103a
tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r1, %r2}, %r4, [%r3]; tcgen05.ld.red 3
tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.u32 {%r1, %r2}, %r4, [%r3], 2; tcgen05.ld.red 3

== sm_120a
mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8}, %r7, {0, 1}, %r8, {0, 1}; mma.sync 4
mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8}; mma.sync 4
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f5,%f6,%f7,%f8}, %r9, 0; mma.sp::ordered_metadata.sync 4

== sm_60
shfl.down.b32 %r1|%p1, %r2, 1, 31; shfl 2
shfl.idx.b32 %r1, %r2, %r3, 31; shfl 1
vote.all.pred %p1, !%p2; vote 1
vote.ballot.b32 %r1, %p1; vote 1

== -
call.uni (%r1), f, (%r2); call -1
multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 256; multimem.cp.async.bulk 0
multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 256; multimem.cp.reduce.async.bulk 0
"""
