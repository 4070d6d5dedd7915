// Single-pass inclusive prefix sum with decoupled look-back (Merrill, Garland,
// 2016). A block takes its tile number from a counter, so that every earlier
// tile has started; publishes its own sum, then walks back over the states of
// earlier tiles until one holds a complete prefix. A state packs a flag (high
// word: 1 sum of this tile, 2 prefix up to it) and a value into 64 bits, so one
// store publishes both. `states` and `ticket` are zero at launch; n is below
// 2^31. Blocks of 256 threads, four items a thread.

constexpr int THREADS = 256, ITEMS = 4;
constexpr unsigned long long SUM = 1ull << 32, PREFIX = 2ull << 32;

__device__ __forceinline__ unsigned long long load_state(const unsigned long long *p) {
    return *(const volatile unsigned long long *)p;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    scan_lookback(const unsigned *__restrict__ in, unsigned *__restrict__ out,
                  unsigned long long *states, unsigned *ticket, int n) {
    __shared__ unsigned warp_sums[THREADS / 32], tile_shared, before_shared;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;

    if (t == 0)
        tile_shared = atomicAdd(ticket, 1u);
    __syncthreads();
    const unsigned tile = tile_shared;
    const int first = tile * THREADS * ITEMS + t * ITEMS;

    unsigned item[ITEMS], sum = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        sum += first + i < n ? in[first + i] : 0u;
        item[i] = sum;
    }
    unsigned inclusive = sum;
#pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const unsigned up = __shfl_up_sync(0xffffffffu, inclusive, offset);
        if (lane >= offset)
            inclusive += up;
    }
    if (lane == 31)
        warp_sums[warp] = inclusive;
    __syncthreads();

    unsigned before = inclusive - sum, block_sum = 0;
#pragma unroll
    for (int w = 0; w < THREADS / 32; ++w) {
        if (w < warp)
            before += warp_sums[w];
        block_sum += warp_sums[w];
    }

    if (t == 0) {
        atomicExch(&states[tile], (tile == 0 ? PREFIX : SUM) | block_sum);
        unsigned prefix = 0;
        for (int p = int(tile) - 1; p >= 0;) {
            const unsigned long long state = load_state(&states[p]);
            const unsigned flag = unsigned(state >> 32);
            if (flag == 0)
                continue;  // that tile has not published yet
            prefix += unsigned(state);
            if (flag == 2)
                break;
            --p;
        }
        if (tile != 0)
            atomicExch(&states[tile], PREFIX | (prefix + block_sum));
        before_shared = prefix;
    }
    __syncthreads();
    before += before_shared;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (first + i < n)
            out[first + i] = before + item[i];
}
