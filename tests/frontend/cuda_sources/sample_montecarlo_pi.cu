#include <curand_kernel.h>
#include <vector>
#include <numeric>
#include <stdexcept>
using std::string;
using std::vector;
template <typename Real> __device__ Real reduce_sum(Real in) {
    extern __shared__ unsigned char raw[];
    Real *sdata = reinterpret_cast<Real *>(raw);
    unsigned int ltid = threadIdx.x;
    sdata[ltid] = in;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (ltid < s) { sdata[ltid] += sdata[ltid + s]; }
        __syncthreads();
    }
    return sdata[0];
}
__global__ void initRNG(curandState *const rngStates, const unsigned int seed) {
    unsigned int tid = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, tid, 0, &rngStates[tid]);
}
__device__ inline void getPoint(float &x, float &y, curandState &state) { x = curand_uniform(&state); y = curand_uniform(&state); }
__device__ inline void getPoint(double &x, double &y, curandState &state) { x = curand_uniform_double(&state); y = curand_uniform_double(&state); }
template <typename Real> __global__ void computeValue(Real *const results, curandState *const rngStates, const unsigned int numSims) {
    unsigned int bid = blockIdx.x;
    unsigned int tid = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int step = gridDim.x * blockDim.x;
    curandState localState = rngStates[tid];
    Real pointsInside = 0;
    for (unsigned int i = tid; i < numSims; i += step) {
        Real x, y;
        getPoint(x, y, localState);
        Real l2norm2 = x * x + y * y;
        if (l2norm2 < static_cast<Real>(1)) pointsInside++;
    }
    pointsInside = reduce_sum(pointsInside);
    if (threadIdx.x == 0) results[bid] = pointsInside;
}
template <typename Real> struct PiEstimator {
    unsigned int m_seed;
    Real operator()();
};
template <typename Real> Real PiEstimator<Real>::operator()() {
    dim3 block, grid;
    block.x = 128;
    Real *d_results = 0;
    curandState *d_rngStates = 0;
    cudaError_t cudaResult = cudaMalloc((void **)&d_rngStates, grid.x * block.x * sizeof(curandState));
    if (cudaResult != cudaSuccess) { string msg("Could not allocate: "); msg += cudaGetErrorString(cudaResult); }
    initRNG<<<grid, block>>>(d_rngStates, m_seed);
    computeValue<Real><<<grid, block, block.x * sizeof(Real)>>>(d_results, d_rngStates, 1000);
    vector<Real> results(grid.x);
    return static_cast<Real>(std::accumulate(results.begin(), results.end(), Real(0)));
}
template struct PiEstimator<float>;
int main() { PiEstimator<double> d; return (int)d(); }
