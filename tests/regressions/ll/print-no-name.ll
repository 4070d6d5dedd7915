target triple = "nvptx64-nvidia-cuda"
define void @k() {
%= add i32 1, 2
ret void
}
