// A second tour: tags, packs, unions, guards, closures in closures, function templates of functions.
#include <cstdio>
#include <cassert>
#include <tuple>
#include <type_traits>
__managed__ int flag; __device__ float acc[4] = {1.f, 2.f}; __device__ volatile int lock_ = 0;
struct Params { float a; int n; float w[4]; const float *src; }; __constant__ Params P;
template <class T> struct Op { using value_type = T; static constexpr T id = T(0); static __device__ T f(T a, T b) { return a + b; } };
template <class O> __device__ typename O::value_type red(typename O::value_type x) { for (int d = 16; d; d >>= 1) x = O::f(x, __shfl_down_sync(-1, x, d)); return x + O::id; }
template <bool B, int V> __device__ int tag(std::integral_constant<bool, B>) { if constexpr (B) return V; else return -V; }
template <class... A> __device__ auto sum_all(A... a) { return (a + ...); }
template <class F, class... A> __device__ void each(F f, A... a) { (f(a), ...); }
__device__ void by_array(float a[3], const float (&b)[3], float *c) { for (int i = 0; i < 3; i++) a[i] += b[i] * c[i]; }
struct Node { int v; Node *next; union { float f; int i; }; struct { short lo, hi; } h; };
struct Acc { float s; __device__ Acc() : s(0) {} __device__ Acc &operator<<(float x) { s += x; return *this; } __device__ operator float() const { return s; } __device__ ~Acc() {} };
struct It { int i; __device__ int operator*() const { return i; } __device__ It &operator++() { ++i; return *this; } __device__ bool operator!=(It o) const { return i != o.i; } };
struct Guard { int *p; __device__ Guard(int *q) : p(q) { *p += 100; } __device__ ~Guard() { *p -= 1; } };
namespace a { namespace b { __device__ int g = 7; struct S { static constexpr int N = 3; int x[N]; }; } }
using namespace a;
typedef float (*fn)(float); __device__ float f1(float x) { return x + 1; } __device__ float f2(float x) { return x * 2; }
template <fn F> __device__ float call(float x) { return F(x); }
template <int N> struct Loop { template <class F> __device__ static void run(F f) { f(N - 1); Loop<N - 1>::run(f); } }; template <> struct Loop<0> { template <class F> __device__ static void run(F) {} };
__global__ void y(float *o, int n, a::b::S s, bool which, char c, unsigned char uc, long long ll, double d, short sh) {
  assert(n > 0); int i = threadIdx.x;
  o[0] = red<Op<float>>(P.a + P.w[i & 3]) + acc[1] + flag; 
  o[1] = tag<true, 4>(std::true_type()) + tag<false, 2>({}) + sum_all(1, 2.5f, 3);
  float t = 0; each([&t](float v) { t += v; }, 1, 2.f, 3.0); o[2] = t;
  float x[3] = {1, 2, 3}, w[3] = {1, 1, 2}; by_array(x, w, x); o[3] = x[2];
  Node m, k{3, &m, {.f = 2.0f}, {1, 2}}; m.v = 9; k.i |= 1; o[4] = k.next->v + k.h.hi + k.f;
  Acc ac; ac << 1.f << 2.f; o[5] = ac; o[6] = b::g + s.x[1] + b::S::N;
  int cnt = 0; { Guard g1(&cnt); if (which) { Guard g2(&cnt); } o[7] = cnt; } o[8] = cnt;
  fn table[2] = {f1, f2}; o[9] = table[n & 1](3) + call<f2>(5) + call<f1>(1);
  float lp = 0; Loop<4>::run([&](int q) { lp += q; }); o[10] = lp;
  o[11] = c + uc + (float)ll + d + sh; o[12] = which ? 1 : 2; o[13] = (i == 0 && n > 2) || which;
  auto outer = [=](int p) { auto inner = [=](int q) { return p * q + n; }; return inner(2); }; o[14] = outer(5);
  unsigned u = 0xffffffff; o[15] = (u >> 31) + (-1 >> 31) + (int)(u * 2ull >> 32); o[16] = 5 / 2 * 2.0 + 5 % 3 - (n ? 1.5f : 2);
  int *al = (int *)malloc(16); if (al) { al[0] = 3; o[17] = al[0]; free(al); }
  float2 *v2 = reinterpret_cast<float2 *>(o + 18); *v2 = make_float2(1, 2); v2->x += 3; float4 q4 = {1, 2, 3, 4}; q4.w *= 2; o[20] = q4.w + reinterpret_cast<float *>(&q4)[1];
  const auto &ref = s.x; o[21] = ref[0]; static const float lut[] = {1.5f, 2.5f}; o[22] = lut[n & 1]; for (auto e : lut) o[23] = e;
  do { if (n-- < 0) break; if (n == 1) continue; } while (n > 0); o[24] = n; o[25] = sizeof(s) + sizeof(o) + sizeof o[0] + alignof(double);
  if (!which) return; o[26] = __fadd_rn(1, 2) + __fmaf_rn(1, 2, 3) + __int_as_float(__float_as_int(2.f));
}
