// For each row of a matrix, the number of leading entries, over all of the
// row's segments, that lie before the first negative one: a loop nest whose
// inner loop leaves early and whose outer loop is skipped for empty segments.

extern "C" __global__ void nested_break(const float *__restrict__ rows, int *__restrict__ count,
                                        int height, int segments, int length, float limit) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height)
        return;

    const float *p = rows + (long long)row * segments * length;
    int seen = 0;
    for (int s = 0; s < segments; ++s, p += length) {
        if (p[0] > limit)
            continue;
        for (int i = 0; i < length; ++i) {
            if (p[i] < 0.0f)
                break;
            ++seen;
        }
        if (seen > 1000)
            break;
    }
    count[row] = seen;
}
