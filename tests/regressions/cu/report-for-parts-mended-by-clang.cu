extern"C" __global__ void standardise(){;
#pragma unroll 1
    for(threadIdx.yint 0;;+)