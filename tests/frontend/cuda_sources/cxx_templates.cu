#include <type_traits>
template <int N> struct Factorial { static constexpr int value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr int value = 1; };
template <typename T> struct Traits { static const int width = 1; };
template <> struct Traits<float4> { static const int width = 4; };
template <typename T, int N> struct Vec {
    T data[N];
    __device__ T &operator[](int i) { return data[i]; }
    __device__ const T &operator[](int i) const { return data[i]; }
    __device__ T dot(const Vec &o) const { T s = T(0); for (int i = 0; i < N; ++i) s += data[i] * o.data[i]; return s; }
    template <typename U> __device__ Vec<U, N> as() const { Vec<U, N> r; for (int i = 0; i < N; ++i) r[i] = static_cast<U>(data[i]); return r; }
};
template <typename T> __device__ typename std::enable_if<std::is_floating_point<T>::value, T>::type half_of(T x) { return x * T(0.5); }
template <typename T> __device__ typename std::enable_if<std::is_integral<T>::value, T>::type half_of(T x) { return x >> 1; }
template <typename T, typename... Rest> __device__ T total(T first, Rest... rest) {
    if constexpr (sizeof...(rest) == 0) return first;
    else return first + total(rest...);
}
template <typename T, int UNROLL = 4> __global__ void __launch_bounds__(128) kernel(T *out, const T *in, int n) {
    const int base = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;
    Vec<T, UNROLL> v;
#pragma unroll UNROLL
    for (int k = 0; k < UNROLL; ++k) v[k] = base + k < n ? in[base + k] : T(0);
    Vec<int, UNROLL> w = v.template as<int>();
    T s = v.dot(v) + half_of(v[0]) + T(w[1]);
    if (base < n) out[base / UNROLL] = s + T(Factorial<5>::value) + T(Traits<float4>::width) + total(T(1), T(2), T(3));
}
template __global__ void kernel<float, 4>(float *, const float *, int);
template __global__ void kernel<int, 2>(int *, const int *, int);
template <> __global__ void kernel<double, 1>(double *out, const double *in, int n) { if (threadIdx.x < n) out[threadIdx.x] = -in[threadIdx.x]; }
