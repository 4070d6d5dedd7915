// A spin lock that the threads of one warp contend for. The critical section is
// inside the retry loop, so the thread that holds the lock is not held up by
// those that spin: it also ends on machines that run a warp in lockstep.
// `lock` is zero at launch.

extern "C" __global__ void spin_lock(int *lock, int *counter, int *order, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            const int ticket = *(volatile int *)counter;
            order[ticket] = i;
            *(volatile int *)counter = ticket + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
