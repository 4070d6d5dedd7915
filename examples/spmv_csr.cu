// Sparse matrix times vector, compressed sparse rows: one warp a row, the lanes
// stride over the row's entries and a shuffle tree adds them up. Trip counts
// come from memory.

extern "C" __global__ void spmv_csr(const int *__restrict__ row_start,
                                    const int *__restrict__ column,
                                    const float *__restrict__ value, const float *__restrict__ x,
                                    float *__restrict__ y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = row_start[row] + lane; i < row_start[row + 1]; i += 32)
        sum += value[i] * x[column[i]];
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = sum;
}
