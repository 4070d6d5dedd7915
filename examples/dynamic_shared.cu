// Two arrays of different types carved out of one dynamic shared allocation:
// bitonic sort of blockDim.x (key, value) pairs a block. blockDim.x is a power
// of two; shared memory: 6 bytes a thread.

extern __shared__ __align__(16) unsigned char arena[];

extern "C" __global__ void dynamic_shared(float *keys, unsigned short *values) {
    float *key = reinterpret_cast<float *>(arena);
    unsigned short *value = reinterpret_cast<unsigned short *>(key + blockDim.x);
    const int t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    key[t] = keys[g];
    value[t] = values[g];
    __syncthreads();

    for (int size = 2; size <= blockDim.x; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            const int other = t ^ stride;
            if (other > t) {
                const bool ascending = (t & size) == 0;
                if ((key[t] > key[other]) == ascending) {
                    const float k = key[t];
                    key[t] = key[other];
                    key[other] = k;
                    const unsigned short v = value[t];
                    value[t] = value[other];
                    value[other] = v;
                }
            }
            __syncthreads();
        }
    keys[g] = key[t];
    values[g] = value[t];
}
