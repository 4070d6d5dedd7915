#include <stdio.h>
#define SWAP(a, b) { auto t_ = a; a = b; b = t_; }
__device__ int partition_(int *a, int lo, int hi) { int p = a[hi], i = lo - 1; for (int j = lo; j < hi; j++) if (a[j] <= p) { ++i; SWAP(a[i], a[j]) } SWAP(a[i + 1], a[hi]) return i + 1; }
__device__ void quick(int *a, int lo, int hi) {
    int stack[64], top = -1;
    stack[++top] = lo; stack[++top] = hi;
    while (top >= 0) {
        hi = stack[top--]; lo = stack[top--];
        int p = partition_(a, lo, hi);
        if (p - 1 > lo) { stack[++top] = lo; stack[++top] = p - 1; }
        if (p + 1 < hi) { stack[++top] = p + 1; stack[++top] = hi; }
    }
}
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
typedef int (*op_t)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int mul(int a, int b) { return a * b; }
__device__ op_t ops[2] = {add, mul};
__global__ void sorts(int *a, int n, int *f) {
    int *mine = a + threadIdx.x * n;
    quick(mine, 0, n - 1);
    f[threadIdx.x] = fib(threadIdx.x % 8) + ops[threadIdx.x & 1](threadIdx.x, 3);
    if (threadIdx.x == 0) printf("sorted %d of %d: %f %s\n", mine[0], n, 1.5f, "done");
    assert_ok: ;
}
