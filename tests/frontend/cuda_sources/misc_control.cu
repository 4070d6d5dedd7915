// goto, switch with ranges and fall-through, do-while, comma, ternaries, unions, bit-fields, labels.
union Bits { float f; unsigned u; struct { unsigned m : 23, e : 8, s : 1; } p; };
struct Packed { unsigned a : 3; int b : 5; unsigned long long c : 40; };
static __device__ int table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ unsigned int counter;
__constant__ int lookup[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ __noinline__ int collatz(unsigned n) {
    int steps = 0;
again:
    if (n == 1) goto done;
    n = (n & 1) ? 3 * n + 1 : n / 2;
    ++steps;
    goto again;
done:
    return steps;
}
extern "C" __global__ void control(int *out, const int *in, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    int v = in[i], r = 0;
    switch (v % 10) {
    case 0:
    case 1: r += 1;
    case 2: r += 2; break;
    case 3 ... 5: r = 30; break;
    default: r = -1; break;
    case 7: { int t = v; while (t > 0) { if (t % 3 == 0) { t /= 3; continue; } t--; r++; } }
    }
    do { r ^= v; v >>= 1; } while (v > 0 && r < 1000);
    Bits bits;
    bits.f = (float)in[i];
    Packed p = {5, -3, 77};
    p.b += 1;
    p.c |= 1ull << 35;
    r += bits.p.e + p.a + p.b + (int)(p.c >> 30) + lookup[i & 1][i % 3] + table[i & 7];
    int x = (r > 5 ? r : -r), y = (x++, x + 1);
    r = x + y, r <<= 1;
    r += collatz(in[i] + 1) + sizeof(Packed) + (in[i] > 2 && in[i] < 9) + !in[i] + ~in[i];
    short sh = (short)(r * 3);
    unsigned char uc = (unsigned char)sh;
    r += uc - (sh & 0x7f) + (-7 / 2) + (-7 % 3);
    atomicAdd(&counter, 1u);
    out[i] = r;
}
