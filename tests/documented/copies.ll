; A copy whose length only a run knows: both directions are loops behind a test for zero.
define void @moved(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
