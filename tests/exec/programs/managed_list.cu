#include "selfcheck.h"

struct Node { int value; Node *next; };
__global__ void total(const Node *n, int *out) { int s = 0; for (; n; n = n->next) s += n->value; *out = s; }
__managed__ int result = -1;
int main() {
    Node *head = nullptr;
    for (int i = 0; i < 50; i++) {
        Node *n;
        CHECK(cudaMallocManaged(&n, sizeof *n));
        *n = Node{i, head};
        head = n;
    }
    bool before = result == -1;
    total<<<1, 1>>>(head, &result);
    CHECK(cudaDeviceSynchronize());
    return verdict(before && result == 49 * 50 / 2);
}
