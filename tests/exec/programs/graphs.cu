#include "selfcheck.h"

__global__ void add(int *x, int k) { x[threadIdx.x] += k; }
int main() {
    int *x, h[32], k = 7, called = 0;
    cudaStream_t s;
    cudaGraph_t g, made;
    cudaGraphExec_t e, other;
    cudaStreamCaptureStatus status;
    CHECK(cudaMalloc(&x, 128)); CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamIsCapturing(s, &status));
    CHECK(cudaMemsetAsync(x, 0, 128, s));
    for (int i = 0; i < 5; i++) add<<<1, 32, 0, s>>>(x, i);
    CHECK(cudaMemcpyAsync(h, x, 128, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamEndCapture(s, &g));
    h[31] = -1;
    CHECK(cudaGraphInstantiate(&e, g, 0));
    bool ok = status == cudaStreamCaptureStatusActive && h[31] == -1;
    for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    ok &= h[31] == 10;

    CHECK(cudaGraphCreate(&made, 0));
    cudaGraphNode_t set, node, copy, call;
    cudaMemsetParams zero = {x, 0, 1, 4, 32, 1};
    void *args[] = {&x, &k};
    cudaKernelNodeParams kernel = {(void *)add, dim3(1), dim3(32), 0, args, nullptr};
    cudaHostNodeParams host = {[](void *p) { ++*(int *)p; }, &called};
    CHECK(cudaGraphAddMemsetNode(&set, made, nullptr, 0, &zero));
    CHECK(cudaGraphAddKernelNode(&node, made, &set, 1, &kernel));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, made, &node, 1, h, x, 128, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddHostNode(&call, made, &copy, 1, &host));
    CHECK(cudaGraphInstantiate(&other, made, 0));
    CHECK(cudaGraphLaunch(other, s)); CHECK(cudaStreamSynchronize(s));
    ok &= h[0] == 8 && called == 1;
    k = 20;
    CHECK(cudaGraphExecKernelNodeSetParams(other, node, &kernel));
    CHECK(cudaGraphLaunch(other, s)); CHECK(cudaStreamSynchronize(s));
    ok &= h[0] == 21 && called == 2;
    CHECK(cudaGraphExecDestroy(e)); CHECK(cudaGraphDestroy(g));
    return verdict(ok);
}
