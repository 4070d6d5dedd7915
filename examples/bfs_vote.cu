// One level of breadth-first search over compressed sparse rows: each thread
// expands one frontier vertex; new vertices are appended with one atomic a warp,
// counted by votes among the lanes that are active at that point.

extern "C" __global__ void bfs_vote(const int *__restrict__ row_start,
                                    const int *__restrict__ column,
                                    const int *__restrict__ frontier, int frontier_size,
                                    int *distance, int *next, int *next_size, int level) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= frontier_size)
        return;
    const int vertex = frontier[i];
    for (int e = row_start[vertex]; e < row_start[vertex + 1]; ++e) {
        const int to = column[e];
        if (atomicCAS(&distance[to], -1, level) == -1) {
            const unsigned mask = __activemask();
            const int lane = threadIdx.x % 32, leader = __ffs(mask) - 1;
            int base = 0;
            if (lane == leader)
                base = atomicAdd(next_size, __popc(mask));
            base = __shfl_sync(mask, base, leader);
            next[base + __popc(mask & ((1u << lane) - 1))] = to;
        }
    }
}
