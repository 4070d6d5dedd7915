#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <math.h>
#include <cuda.h>
#define MAX_THREADS_PER_BLOCK 512
int no_of_nodes, edge_list_size;
FILE *fp;
struct Node { int starting; int no_of_edges; };
__global__ void Kernel(Node *g_graph_nodes, int *g_graph_edges, bool *g_graph_mask, bool *g_updating_graph_mask,
                       bool *g_graph_visited, int *g_cost, int no_of_nodes) {
    int tid = blockIdx.x * MAX_THREADS_PER_BLOCK + threadIdx.x;
    if (tid < no_of_nodes && g_graph_mask[tid]) {
        g_graph_mask[tid] = false;
        for (int i = g_graph_nodes[tid].starting; i < (g_graph_nodes[tid].no_of_edges + g_graph_nodes[tid].starting); i++) {
            int id = g_graph_edges[i];
            if (!g_graph_visited[id]) {
                g_cost[id] = g_cost[tid] + 1;
                g_updating_graph_mask[id] = true;
            }
        }
    }
}
__global__ void Kernel2(bool *g_graph_mask, bool *g_updating_graph_mask, bool *g_graph_visited, bool *g_over, int no_of_nodes) {
    int tid = blockIdx.x * MAX_THREADS_PER_BLOCK + threadIdx.x;
    if (tid < no_of_nodes && g_updating_graph_mask[tid]) {
        g_graph_mask[tid] = true;
        g_graph_visited[tid] = true;
        *g_over = true;
        g_updating_graph_mask[tid] = false;
    }
}
void BFSGraph(int argc, char **argv);
int main(int argc, char **argv) { no_of_nodes = 0; BFSGraph(argc, argv); }
void BFSGraph(int argc, char **argv) {
    fp = fopen(argv[1], "r");
    if (!fp) { printf("Error Reading graph file\n"); return; }
    fscanf(fp, "%d", &no_of_nodes);
    Node *h = (Node *)malloc(sizeof(Node) * no_of_nodes), *d;
    cudaMalloc((void **)&d, sizeof(Node) * no_of_nodes);
    bool stop;
    do {
        stop = false;
        Kernel<<<1, MAX_THREADS_PER_BLOCK, 0>>>(d, 0, 0, 0, 0, 0, no_of_nodes);
        Kernel2<<<1, MAX_THREADS_PER_BLOCK, 0>>>(0, 0, 0, &stop, no_of_nodes);
    } while (stop);
}
