;;; names
@"\01foo" = global i32 0
@"a b\22c" = global i32 1
%"s t" = type { i32 }
@x.y-z$ = global %"s t" zeroinitializer
@-a = global i8 0
@_ = global i8 0
define void @"f g"(%"s t" %"a b") {
"entry 1":
  br label %"b-c"
"b-c":
  br label %-x
-x:
  ret void
}
;;; numbers
@0 = global i32 0
@1 = global i32 1
%0 = type { i32 }
%1 = type opaque
define i32 @2(i32, %0 %s) {
  %2 = add i32 %0, 1
  br label %3
3:
  %4 = load i32, ptr @0
  %5 = add i32 %4, %2
  ret i32 %5
}
;;; labels
define void @f(i1 %c) {
  br i1 %c, label %7, label %9
7:                ; preds = %0
  br label %9
9:
  ret void
}
;;; ints
@a = global [6 x i32] [i32 u0xFF, i32 s0xF, i32 -2147483648, i32 4294967295, i32 0, i32 -0]
@b = global i128 -170141183460469231731687303715884105728
@c = global i1 -1
@d = global [2 x i1] [i1 true, i1 0]
@e = global i64 s0x8000000000000000
;;; floats
@a = global [8 x double] [double 1.0, double -1.0e10, double 1.e5, double 1.0E-3, double 0x7FF0000000000000, double 0xFFF8000000000000, double +1.5, double 0.1]
@b = global [3 x float] [float 0x3FB99999A0000000, float 1.5, float -0.0]
@c = global half 0xH7C00
@d = global bfloat 0xR7F80
@e = global fp128 0xL00000000000000003FFF000000000000
;;; strings
@a = constant [5 x i8] c"a\00\FF\22\5C"
@b = constant [0 x i8] c""
@c = constant [3 x i8] c"\0A;)"
;;; aggregates
@a = global { i32, { i8, [2 x i16] }, <2 x float> } { i32 1, { i8, [2 x i16] } { i8 2, [2 x i16] [i16 3, i16 4] }, <2 x float> <float 1.0, float 2.0> }
@b = global <{ i8, i32 }> <{ i8 1, i32 2 }>
@c = global {} zeroinitializer
@d = global [0 x i32] []
@e = global <4 x i1> <i1 1, i1 0, i1 true, i1 false>
@f = global {} {}
@g = global [2 x {}] [{} {}, {} zeroinitializer]
@h = global <2 x ptr> zeroinitializer
@i = global <4 x i32> splat (i32 7)
@j = global { ptr, i64 } { ptr @a, i64 ptrtoint (ptr @b to i64) }
;;; constexprs
@a = global [4 x i32] zeroinitializer
@b = global ptr getelementptr inbounds ([4 x i32], ptr @a, i64 0, i64 2)
@c = global ptr getelementptr (i8, ptr @a, i64 -4)
@d = global i64 sub (i64 ptrtoint (ptr @b to i64), i64 ptrtoint (ptr @a to i64))
@e = global ptr inttoptr (i64 16 to ptr)
@f = global ptr addrspace(1) addrspacecast (ptr @a to ptr addrspace(1))
@g = global i32 trunc (i64 ptrtoint (ptr @a to i64) to i32)
@h = global i64 add nuw nsw (i64 ptrtoint (ptr @a to i64), i64 1)
@i = global i64 xor (i64 ptrtoint (ptr @a to i64), i64 -1)
@j = global ptr getelementptr inrange(-4, 8) ([4 x i32], ptr @a, i64 0, i64 1)
@k = global <2 x i32> bitcast (i64 5 to <2 x i32>)
@l = global i64 mul (i64 ptrtoint (ptr @a to i64), i64 2)
;;; linkages
@a = private unnamed_addr constant i8 0
@b = internal global i8 0
@c = linkonce global i8 0
@d = linkonce_odr hidden global i8 0
@e = weak protected global i8 0
@f = weak_odr dso_local local_unnamed_addr global i8 0
@g = common global i8 0
@h = extern_weak global i8
@i = external dso_local global i8, align 16
@j = available_externally global i8 0
@k = global i8 0, section "s", align 8
@l = dllexport global i8 0
@m = external dllimport global i8
@n = default global i8 0
@o = external externally_initialized global i8
@p = addrspace(1) externally_initialized constant i8 3, align 2
@q = dso_preemptable global i8 0
;;; flags
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c, ptr addrspace(1) %g, half %h, double %d) {
  %a = add nuw nsw i32 %n, 1
  %b = sub nsw i32 %a, 2
  %c1 = mul nuw i32 %b, 3
  %d1 = shl nuw nsw i32 %c1, 1
  %e = lshr exact i32 %d1, 1
  %g1 = sdiv exact i32 %e, 2
  %h1 = or disjoint i32 %g1, 1
  %i = zext nneg i32 %h1 to i64
  %j = trunc nuw nsw i64 %i to i32
  %k = uitofp nneg i32 %j to float
  %l1 = fadd fast float %k, %x
  %m = fmul nnan ninf nsz arcp contract afn reassoc float %l1, %x
  %o = fneg nsz float %m
  %q = fcmp fast olt float %o, %x
  %r = select nnan i1 %q, float %o, float %x
  %s = getelementptr inbounds nuw i8, ptr %p, i64 4
  %t = getelementptr nusw nuw i8, ptr %s, i64 4
  store float %r, ptr %t
  %u = call fast float @llvm.sqrt.f32(float %r)
  store float %u, ptr %p
  ret void
}
declare float @llvm.sqrt.f32(float)
;;; phis
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c, ptr addrspace(1) %g, half %h, double %d) {
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  %r = phi fast float [ %x, %0 ], [ 1.0, %a ]
  %s = phi ptr [ null, %0 ], [ %p, %a ]
  %t = phi <4 x i32> [ %v, %0 ], [ zeroinitializer, %a ]
  store float %r, ptr %p
  ret void
}
;;; memory
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c, ptr addrspace(1) %g, half %h, double %d) {
  %a = alloca i32, i32 4, align 8
  %a0 = load volatile i32, ptr %a, align 4, !nontemporal !0
  %c1 = load atomic volatile i32, ptr %p syncscope("agent") acquire, align 4
  store atomic i32 %c1, ptr %p release, align 4
  %d1 = cmpxchg weak volatile ptr %p, i32 1, i32 2 syncscope("block") acq_rel monotonic, align 4
  %e = extractvalue { i32, i1 } %d1, 0
  %f1 = atomicrmw volatile umax ptr %p, i32 %e syncscope("device") monotonic, align 4
  %g1 = atomicrmw fadd ptr %p, float %x seq_cst
  %h1 = atomicrmw xchg ptr %p, ptr %p acquire
  %i = load i32, ptr %p, align 1, !range !1, !noundef !2
  %j = load ptr, ptr %p, !nonnull !2, !align !3, !dereferenceable !3, !invariant.load !2
  fence syncscope("singlethread") seq_cst
  fence acquire
  store i32 %i, ptr %j, align 4
  ret void
}
!0 = !{i32 1}
!1 = !{i32 0, i32 5, i32 9, i32 12}
!2 = !{}
!3 = !{i64 8}
;;; vectors
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c, ptr addrspace(1) %g, half %h, double %d) {
  %a = extractelement <4 x i32> %v, i64 1
  %b = insertelement <4 x i32> poison, i32 %a, i8 2
  %c1 = shufflevector <4 x i32> %v, <4 x i32> %b, <2 x i32> <i32 0, i32 poison>
  %d1 = shufflevector <4 x i32> %v, <4 x i32> undef, <8 x i32> zeroinitializer
  %e = icmp ult <4 x i32> %v, %b
  %f1 = select <4 x i1> %e, <4 x i32> %v, <4 x i32> splat (i32 3)
  %g1 = sext <4 x i1> %e to <4 x i32>
  %h1 = bitcast <4 x i32> %f1 to <2 x i64>
  %i = bitcast <4 x i1> %e to i4
  %j = shl <4 x i32> %f1, %g1
  store <4 x i32> %j, ptr %p
  store <2 x i32> %c1, ptr %p
  store i4 %i, ptr %p
  store <2 x i64> %h1, ptr %p
  store <8 x i32> %d1, ptr %p
  ret void
}
;;; aggs
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c, ptr addrspace(1) %g, half %h, double %d) {
  %a = insertvalue { i32, [2 x { i8, float }] } undef, float %x, 1, 1, 1
  %b = extractvalue { i32, [2 x { i8, float }] } %a, 1, 1
  %c1 = insertvalue { i8, float } %b, i8 3, 0
  store { i8, float } %c1, ptr %p
  %d1 = freeze { i32, [2 x { i8, float }] } %a
  store { i32, [2 x { i8, float }] } %d1, ptr %p
  ret void
}
;;; switches
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c, ptr addrspace(1) %g, half %h, double %d) {
  switch i32 %n, label %a [ ]
a:
  switch i64 %l, label %b [ i64 -1, label %b
  i64 5, label %e ]
b:
  switch i1 %c, label %e [ i1 true, label %e ]
e:
  ret void
}
;;; calls
define void @f(ptr %p, i32 %n, float %x, i64 %l, <4 x i32> %v, i1 %c, ptr addrspace(1) %g, half %h, double %d) !dbg !10 {
  %a = call i32 @g(i32 %n, i32 noundef 3) #0, !dbg !9
  %b = tail call fastcc i32 @h(ptr null)
  call void (i32, ...) @v(i32 1, double %d, ptr %p)
  %c1 = notail call i32 %p(i32 %n)
  %d1 = call i32 (i32) %p(i32 %a) nounwind
  %e = call addrspace(0) i32 @h(ptr nonnull align 8 dereferenceable(4) %p)
  call void asm sideeffect alignstack "x", "~{memory}"()
  %f1 = call { i32, float } asm "y", "=r,=f,r,0"(i32 %n, i32 %b), !srcloc !8
  call void asm sideeffect inteldialect "z", ""()
  call void @llvm.assume(i1 %c) [ "align"(ptr %p, i64 16), "nonnull"(ptr %p) ]
  ret void
}
declare i32 @g(i32, i32)
declare fastcc i32 @h(ptr)
declare void @v(i32, ...)
declare void @llvm.assume(i1)
attributes #0 = { nounwind }
!8 = !{i64 5}
!9 = !DILocation(line: 1, scope: !10)
!10 = distinct !DISubprogram(name: "f", scope: !11, file: !11, line: 1, unit: !12, spFlags: DISPFlagDefinition)
!11 = !DIFile(filename: "a", directory: "b")
!12 = distinct !DICompileUnit(language: DW_LANG_C99, file: !11)
!llvm.dbg.cu = !{!12}
!llvm.module.flags = !{!13}
!13 = !{i32 2, !"Debug Info Version", i32 3}
;;; debug
define i32 @f(i32 %a) !dbg !4 {
    #dbg_value(i32 %a, !8, !DIExpression(), !9)
    #dbg_declare(ptr poison, !8, !DIExpression(DW_OP_plus_uconst, 4, DW_OP_LLVM_fragment, 0, 16), !9)
    #dbg_label(!14, !9)
  %b = add i32 %a, 1, !dbg !9
  ret i32 %b, !dbg !DILocation(line: 3, column: 7, scope: !10, inlinedAt: !12)
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "x", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, enums: !13, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "a.cu", directory: "/b", checksumkind: CSK_MD5, checksum: "00000000000000000000000000000000")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 2}
!4 = distinct !DISubprogram(name: "f", linkageName: "_Z1fi", scope: !1, file: !1, line: 1, type: !5, scopeLine: 2, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0, retainedNodes: !13)
!5 = !DISubroutineType(types: !6)
!6 = !{!7, !7}
!7 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!8 = !DILocalVariable(name: "a", arg: 1, scope: !4, file: !1, line: 1, type: !7)
!9 = !DILocation(line: 2, column: 3, scope: !4)
!10 = distinct !DILexicalBlock(scope: !4, file: !1, line: 3, column: 5)
!12 = distinct !DILocation(line: 9, scope: !4)
!13 = !{}
!14 = !DILabel(scope: !4, name: "l", file: !1, line: 3)
;;; md
!a = !{!0, !1, !2}
!b.c-d = !{}
!0 = !{null, !"s\22", i32 1, !{!"inner"}, ptr @g, <2 x i32> <i32 1, i32 2>, float 1.0}
!1 = distinct !{!1, !0}
!2 = distinct !{}
!3 = !{!4}
!4 = !{!3}
@g = global i32 0, !x !0, !y !2
;;; misc
; ModuleID = 'a'
source_filename = "x\22y"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

module asm "// a"
module asm "// b"
$c = comdat largest
$d = comdat nodeduplicate
@c = global i32 0, comdat
@e = global i32 1, comdat($d), align 4
^0 = module: (path: "", hash: (0, 0, 0, 0, 0))
;;; alias
@b = global i32 0
@a = alias i32, ptr @b
@c = weak unnamed_addr alias i8, getelementptr (i8, ptr @b, i64 1)
@d = internal alias i32, ptr @a
define ptr @f() {
  ret ptr @a
}
;;; order
define i32 @f(i32 %a, i32 %b) {
  %c = add i32 %a, %b
  %d = add i32 %a, %c
  %e = add i32 %d, %c
  ret i32 %e
  uselistorder i32 %a, { 1, 0 }
}
;;; blocks
define void @f() {
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  br label %loop, !llvm.loop !0
}
!0 = distinct !{!0, !1, !2}
!1 = !{!"llvm.loop.mustprogress"}
!2 = !{!"llvm.loop.unroll.count", i32 4}
;;; unreach
define i32 @f(i1 %c) {
  br i1 %c, label %a, label %b
a:
  call void @llvm.trap()
  unreachable
b:
  ret i32 undef
dead:
  %x = add i32 %x, 1
  br label %dead
}
declare void @llvm.trap()
;;; varargs
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
declare void @llvm.va_copy.p0(ptr, ptr)
define i32 @f(i32 %n, ...) {
  %ap = alloca ptr
  call void @llvm.va_start.p0(ptr %ap)
  %x = va_arg ptr %ap, i32
  %y = va_arg ptr %ap, double
  call void @llvm.va_end.p0(ptr %ap)
  ret i32 %x
}
;;; used
@a = global i32 0
@llvm.used = appending global [1 x ptr] [ptr @a], section "llvm.metadata"
@llvm.compiler.used = appending global [1 x ptr] [ptr @a], section "llvm.metadata"
@llvm.global_ctors = appending global [0 x { i32, ptr, ptr }] zeroinitializer
;;; asm names
define void @f() {
  call void asm sideeffect "a $$ $(x$|y$) %q{", "~{cc},~{memory}"()
  %1 = call i32 asm "b ${0:x}", "=r"()
  call void asm "c $0", "imr"(i32 %1)
  %2 = call i64 asm "d", "=&l,l|r,n"(i64 1, i32 5)
  call void asm "e", "*m"(ptr elementtype(i32) null)
  ret void
}
;;; intr
declare i32 @llvm.ctpop(i32)
define i32 @f(i32 %a) {
  %b = call i32 @llvm.ctpop(i32 %a)
  ret i32 %b
}
;;; implicit
define i32 @f(i32 %a) {
  %b = call i32 @llvm.umin.i32(i32 %a, i32 1)
  %c = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %b
}
;;; scalars
define void @f(ptr %p, i1 %c) {
  %a = select i1 %c, i128 1, i128 -1
  store i128 %a, ptr %p
  %b = frem double 1.0, 2.0
  %d = fptoui double %b to i16
  %e = sitofp i16 %d to half
  %f = fpext half %e to double
  %g = fptrunc double %f to bfloat
  store bfloat %g, ptr %p
  %h = ptrtoint ptr %p to i32
  %i = inttoptr i32 %h to ptr addrspace(3)
  %j = addrspacecast ptr addrspace(3) %i to ptr
  %k = icmp eq ptr %j, null
  %l = icmp ne ptr addrspace(3) %i, null
  %m = xor i1 %k, %l
  store i1 %m, ptr %p
  ret void
}
;;; odd spacing
define	void@f(ptr%p,i32%n){%a=add i32%n,1 store i32%a,ptr%p ret void}
;;; comments
define void @f() { ; c
 ; d
  ret ; e
  void ; f
} ; g
;h
;;; fnmd
define void @f() !prof !0 !kcfi_type !1 {
  ret void
}
declare !x !1 void @g()
!0 = !{!"function_entry_count", i64 3}
!1 = !{i32 5}
;;; tbaa
define i32 @f(ptr %p) {
  %a = load i32, ptr %p, !tbaa !0, !alias.scope !4, !noalias !4
  %b = load i32, ptr %p, !llvm.access.group !8, !invariant.group !8
  call void @llvm.experimental.noalias.scope.decl(metadata !4)
  ret i32 %a
}
declare void @llvm.experimental.noalias.scope.decl(metadata)
!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2, i64 0}
!2 = !{!"omnipotent char", !3, i64 0}
!3 = !{!"root"}
!4 = !{!5}
!5 = distinct !{!5, !6, !"s"}
!6 = distinct !{!6, !"d"}
!7 = !{i64 0, i64 4, !0}
!8 = distinct !{}
;;; brweights
define void @f(i1 %c, i32 %n) {
  br i1 %c, label %a, label %b, !prof !0, !unpredictable !2
a:
  switch i32 %n, label %b [ i32 1, label %a ], !prof !1
b:
  ret void
}
!0 = !{!"branch_weights", i32 1, i32 99}
!1 = !{!"branch_weights", !"expected", i32 1, i32 2}
!2 = !{}
;;; musttail cc
define fastcc void @g(i32 %x) { ret void }
define fastcc void @f(i32 %x) {
  musttail call fastcc void @g(i32 %x)
  ret void
}
;;; musttail cc num
define fastcc void @g(i32 %x) { ret void }
define cc 8 void @f(i32 %x) {
  musttail call fastcc void @g(i32 %x)
  ret void
}
;;; musttail abi
declare void @g(ptr byval(i32) %x)
define void @f(ptr byval(i32) %x) {
  musttail call void @g(ptr byval(i32) %x)
  ret void
}
;;; alias weak_odr
@g = global i32 0
@a = weak_odr alias i32, ptr @g
@b = alias i32, ptr @a
;;; ptx_kernel sret
define ptx_kernel void @f(ptr sret(i32) %x) {
 ret void
}
;;; jumptable
define void @f() unnamed_addr jumptable {
 ret void
}
;;; allocsize
declare ptr @m(ptr, i64) allocsize(1)
;;; summary
^0 = module: (path: "a.o", hash: (0, 0, 0, 0, 0))
^1 = flags: 8
^2 = blockcount: 5
;;; ulo bb
define void @f(i1 %c) {
b:
  br i1 %c, label %x, label %y
x:
  br label %z
y:
  br label %z
z:
  ret void
}
uselistorder_bb @f, %z, { 1, 0 }
;;; ulo bb in
define void @f(i1 %c) {
b:
  br i1 %c, label %x, label %y
x:
  br label %z
y:
  br label %z
z:
  ret void
  uselistorder label %z, { 1, 0 }
}
;;; params
define void @f(i32 %3, i32 %5, i32, i32 %x, i32 %9) {
  ret void
}
;;; fcmp
define i1 @f(float %x) {
  %r = fcmp nnan fast oeq float %x, 1.0
  ret i1 %r
}
;;; gdbg node
@g = global i32 0, !foo !0, align 4
!0 = !{}
;;; fma 1
declare float @llvm.fma.f32(float)
;;; alias nodes 0
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes 3
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes 6
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!"int", !8, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes 9
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9, i64 0}
!7 = !{!"int", !8, i64 0}
!6 = !{!7, i64 0}
;;; alias nodes 12
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!7, !7, i64 0}
!9 = !{!"root"}
!8 = !{!"char", !9}
!7 = !{!"int", !8, i64 0}
!6 = !{!"S", !7, i64 0, !7, i64 4, !8, i64 8}
;;; alias nodes 15
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 4, i64 4}
!9 = !{!"root"}
!8 = !{!9, i64 1, !"char"}
!7 = !{!8, i64 4, !"int"}
!6 = !{!8, i64 8, !"S", !7, i64 0, i64 4, !7, i64 4, i64 4}
;;; alias nodes 18
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !tbaa !5
  ret i32 %x
}
!5 = !{!6, !7, i64 0, i64 4}
!9 = !{!"root"}
!8 = !{!9, i64 1, !"char"}
!7 = !{!8, i64 4, !"int"}
!6 = !{!8, i64 8, !7, !7, i64 0, i64 4}
;;; alias nodes 21
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !alias.scope !0
  ret i32 %x
}
!0 = !{!1}
!1 = !{!"a", !2, !"s"}
!2 = !{!"d"}
;;; alias nodes 24
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}
;;; alias nodes 27
define i32 @f(ptr %p) {
  %x = load i32, ptr %p, !noalias !0
  ret i32 %x
}
!0 = !{}
;;; uselistorder: as many as there are uses
@a = global i32 7
@b = global ptr @a
@c = global ptr @a
define i32 @f(i32 %p) {
  %x = add i32 %p, 7
  %1 = mul i32 %x, %x
  ret i32 %1
  uselistorder i32 %x, { 1, 0 }
}
define i32 @one() {
  %m = alloca i32
  %n = alloca i32
  store i32 4, ptr %m
  store i32 4, ptr %n
  ret i32 0
}
uselistorder ptr @a, { 1, 0 }
uselistorder i32 7, { 1, 0 }
uselistorder i32 1, { 1, 0 }
;;; conventions: a number without a space, and one of another machine
define cc1023 void @f() {
  call cc10 void @g()
  ret void
}
define x86_stdcallcc void @g() {
  ret void
}
