// A tour of the language: what kernels use of C++, a line each.
#include <cstdio>
#include <cooperative_groups.h>
#define FOR(i,n) for (int i = 0; i < (n); ++i)
#define SQ(x) ((x)*(x))
struct Mat { float m[3][3]; __device__ float* operator[](int i) { return m[i]; } __device__ const float* operator[](int i) const { return m[i]; } };
__device__ Mat operator*(const Mat& a, const Mat& b) { Mat r; FOR(i,3) FOR(j,3) { r[i][j] = 0; FOR(k,3) r[i][j] += a[i][k]*b[k][j]; } return r; }
struct Stack { int data[8]; int n = 0; __device__ void push(int v) { data[n++] = v; } __device__ int pop() { return data[--n]; } __device__ bool empty() const { return n == 0; } };
class Rng { unsigned s; public: __device__ explicit Rng(unsigned seed) : s(seed) {} __device__ unsigned next() { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; } __device__ float uniform() { return next() * 2.3283064365386963e-10f; } };
template <typename T> struct Tensor { T* data; int rows, cols; __host__ __device__ Tensor(T* d, int r, int c) : data(d), rows(r), cols(c) {} __device__ T& operator()(int i, int j) { return data[i * cols + j]; } __device__ T operator()(int i, int j) const { return data[i * cols + j]; } };
template <typename T> using Ptr = T*;
struct Base { int b; __device__ int get() const { return b; } };
template <class D> struct Crtp { __device__ int call() { return static_cast<D*>(this)->impl(); } };
struct Impl : Crtp<Impl>, Base { int v; __device__ int impl() { return v * 2; } };
__device__ const char* name_of(int k) { return k ? "one" : "zero"; }
__device__ __constant__ const int primes[] = {2, 3, 5, 7};
static __device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x+b.x, a.y+b.y, a.z+b.z, a.w+b.w); }
enum Color { RED, GREEN = 5, BLUE };
__device__ Color next(Color c) { switch (c) { case RED: return GREEN; case GREEN: return BLUE; default: return RED; } }
__global__ void k(Tensor<float> t, Ptr<int> out, float4* v, const Tensor<const float> ct) {
  int i = threadIdx.x;
  Mat a, b; FOR(x,3) FOR(y,3) { a[x][y] = x + y; b.m[x][y] = x * y; }
  Mat c = a * b; t(i, 0) = c[1][2] + SQ(t(i, 1));
  Stack s; s.push(3); s.push(4); out[0] = s.pop() + s.pop() + s.empty();
  Rng r(i + 1); t(i, 1) = r.uniform();
  Impl im; im.v = 4; im.b = 3; out[1] = im.call() + im.get();
  v[i] = v[i] + v[i + 1]; 
  Color col = RED; col = next(col); out[2] = col; 
  printf("%s %d %c\n", name_of(i), primes[i & 3], 'x');
  for (int a = 0, b = 10; a < b; a++, b--) out[3] += a ^ b;
  for (auto p = out; p != out + 4; ++p) *p += 1;
  int arr[2][3] = {1, 2, 3, 4, 5}; out[4] = arr[1][1];
  int *q = &out[5]; *q++ = 1; *q-- = 2; (*q)++; q[0] <<= 2; 
  unsigned long long big = 1ULL << 40; out[6] = (int)(big >> 38); long l = -5; out[7] = (int)(l / 2) + (l % 3);
  float f = 1e-3f; double d = .5; f += d; f = -f; out[8] = (int)(f * 1000); bool flag = f; out[9] = flag ? sizeof(Mat) : alignof(float4);
  char ch = 'a' + 1; ch += 2; out[10] = ch; short sh = 32767; sh++; out[11] = sh;
  while (true) { if (out[12]++ > 3) break; else continue; }
  auto lam = [&](int x) -> float { if (x > 3) return 1.0f; return t(0, 0) * x; }; out[13] = lam(2) + lam(5);
  struct Local { int a, b; } loc = {1, 2}; auto [p0, p1] = loc; out[14] = p0 + p1;
  int z = ({ int y = 3; y + 1; }); out[15] = z;
  const float (&row)[3] = c.m[1]; out[16] = row[1]; volatile int *vp = out; out[17] = vp[0];
  out[18] = __popc(i) + __clz(i) + min(i, 3) + max(3u, (unsigned)i) + abs(-3) + (int)fabsf(-2.5f) + (int)floor(2.5);
  float2 uv = {1.f, 2.f}; float3 w3 = make_float3(uv.x, uv.y, 0); out[19] = w3.y; dim3 dd(2, 3); out[20] = dd.x + dd.y + dd.z; uint3 tt = threadIdx; out[21] = tt.x;
  if (int n = out[0]; n > 2) out[22] = n; else out[22] = -n;
  out[23] = ct(0, 1); 
}
