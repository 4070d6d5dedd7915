#include <stdio.h>
#include <float.h>
#define THREADS_PER_DIM 16
#define THREADS_PER_BLOCK THREADS_PER_DIM * THREADS_PER_DIM
#define ASSUMED_NR_CLUSTERS 32
#ifndef FLT_MAX
#define FLT_MAX 3.40282347e+38
#endif
__constant__ float c_clusters[ASSUMED_NR_CLUSTERS * 34];
__global__ void invert_mapping(float *input, float *output, int npoints, int nfeatures) {
    int point_id = threadIdx.x + blockDim.x * blockIdx.x;
    int i;
    if (point_id < npoints) {
        for (i = 0; i < nfeatures; i++) output[point_id + npoints * i] = input[point_id * nfeatures + i];
    }
    return;
}
__global__ void kmeansPoint(float *features, int nfeatures, int npoints, int nclusters, int *membership, float *clusters, float *block_clusters, int *block_deltas) {
    const unsigned int block_id = gridDim.x * blockIdx.y + blockIdx.x;
    const unsigned int point_id = block_id * blockDim.x * blockDim.y + threadIdx.x;
    int index = -1;
    if (point_id < npoints) {
        int i, j;
        float min_dist = FLT_MAX;
        float dist;
        for (i = 0; i < nclusters; i++) {
            int cluster_base_index = i * nfeatures;
            float ans = 0.0;
            for (j = 0; j < nfeatures; j++) {
                int addr = point_id + j * npoints;
                float diff = features[addr] - c_clusters[cluster_base_index + j];
                ans += diff * diff;
            }
            dist = ans;
            if (dist < min_dist) { min_dist = dist; index = i; }
        }
    }
    if (point_id < npoints) membership[point_id] = index;
    __shared__ int deltas[THREADS_PER_BLOCK];
    if (threadIdx.x < THREADS_PER_BLOCK) deltas[threadIdx.x] = 0;
    __syncthreads();
    unsigned int threadids_participating = THREADS_PER_BLOCK / 2;
    for (; threadids_participating > 1; threadids_participating /= 2) {
        if (threadIdx.x < threadids_participating) deltas[threadIdx.x] += deltas[threadIdx.x + threadids_participating];
        __syncthreads();
    }
    if (threadIdx.x < 1) { deltas[threadIdx.x] += deltas[threadIdx.x + 1]; block_deltas[blockIdx.y * gridDim.x + blockIdx.x] = deltas[0]; }
}
