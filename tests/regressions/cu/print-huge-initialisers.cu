__device__ float g[400000000000] = {1};
__global__ void k(float* p) { const float d[400000000000] = {1, 2}; p[0] = d[threadIdx.x]; }
