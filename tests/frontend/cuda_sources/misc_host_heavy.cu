// Host code with much that is not here: thrust, unknown libraries, C++ that no stub knows.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <boost/program_options.hpp>
#include <iostream>
#include <chrono>
#include <vector>
#include <string>
#include <random>
#include <algorithm>
#include "timer.hpp"
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { std::cerr << cudaGetErrorString(e_) << std::endl; std::exit(1); } } while (0)
__global__ void vectorAdd(const float *a, const float *b, float *c, int n) { int i = blockDim.x * blockIdx.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }
template <typename T> __global__ void axpy(T a, const T *x, T *y, size_t n) { for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) y[i] = a * x[i] + y[i]; }
class Runner {
public:
    Runner(int n) : n_(n), data_(n) { std::generate(data_.begin(), data_.end(), [&]() { return dist_(gen_); }); }
    virtual ~Runner() { cudaFree(d_); }
    virtual void run() { axpy<float><<<grid_, 256>>>(2.0f, d_, d_, n_); axpy<double><<<grid_, 256>>>(2.0, nullptr, nullptr, n_); }
private:
    int n_, grid_ = 4;
    std::vector<float> data_;
    std::mt19937 gen_;
    std::uniform_real_distribution<float> dist_;
    float *d_ = nullptr;
};
int main(int argc, char **argv) {
    namespace po = boost::program_options;
    po::options_description desc("Allowed options");
    thrust::device_vector<float> dv(100, 1.0f);
    thrust::sort(dv.begin(), dv.end());
    auto t0 = std::chrono::high_resolution_clock::now();
    std::vector<float> h(1024);
    for (auto &v : h) v = rand() / (float)RAND_MAX;
    CHECK(cudaMalloc(&h, 3));
    vectorAdd<<<(1024 + 255) / 256, 256>>>(thrust::raw_pointer_cast(dv.data()), nullptr, nullptr, 1024);
    auto t1 = std::chrono::high_resolution_clock::now();
    std::cout << std::chrono::duration<double, std::milli>(t1 - t0).count() << " ms" << std::endl;
    Runner *r = new Runner(3);
    r->run();
    return 0;
}
