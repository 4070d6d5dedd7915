#include "selfcheck.h"

int main() {
    int count, value, least, greatest, driver, runtime;
    cudaDeviceProp p;
    size_t available, total;
    CHECK(cudaGetDeviceCount(&count)); CHECK(cudaSetDevice(0)); CHECK(cudaGetDeviceProperties(&p, 0));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    CHECK(cudaMemGetInfo(&available, &total)); CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(cudaDriverGetVersion(&driver)); CHECK(cudaRuntimeGetVersion(&runtime));
    printf("%s: %d.%d, %d SMs, %zu MiB\n", p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem >> 20);
    return verdict(count == 1 && value == 1024 && p.maxThreadsPerBlock == 1024 && p.warpSize == 32 && p.maxGridSize[1] == 65535 && p.regsPerBlock == 65536
        && p.major >= 8 && total == p.totalGlobalMem && available <= total && greatest <= least && p.cooperativeLaunch && p.sharedMemPerBlock == 49152 && driver >= 11000 && runtime >= 11000);
}
