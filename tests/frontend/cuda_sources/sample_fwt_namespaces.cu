namespace util { namespace detail { __device__ __forceinline__ void butterfly(float &a, float &b) { float t = a; a = t + b; b = t - b; } }
inline __device__ int ceil_div(int a, int b) { return (a + b - 1) / b; } }
using util::detail::butterfly;
static __global__ void fwtBatch1Kernel(float *d_Output, float *d_Input, int log2N) {
    const int N = 1 << log2N;
    const int base = blockIdx.x << log2N;
    extern __shared__ float s_data[];
    float *d_Src = d_Input + base, *d_Dst = d_Output + base;
    for (int pos = threadIdx.x; pos < N; pos += blockDim.x) s_data[pos] = d_Src[pos];
    for (int stride = N >> 1; stride >= 1; stride >>= 1) {
        __syncthreads();
        for (int k = threadIdx.x; k < N / 2; k += blockDim.x) { int lo = k & (stride - 1); int i0 = ((k - lo) << 1) + lo; butterfly(s_data[i0], s_data[i0 + stride]); }
    }
    __syncthreads();
    for (int pos = threadIdx.x; pos < N; pos += blockDim.x) d_Dst[pos] = s_data[pos];
}
namespace { __global__ void modulate(float *a, float *b, int n) { for (int i = threadIdx.x; i < n; i += util::ceil_div(blockDim.x, 1)) a[i] *= b[i] / (float)n; } }
void run(float *a, float *b) { fwtBatch1Kernel<<<1, 32, 1024>>>(a, b, 5); modulate<<<1, 32>>>(a, b, 32); }
