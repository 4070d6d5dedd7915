#include <math.h>
#define fp double
#define NUMBER_PAR_PER_BOX 100
#define NUMBER_THREADS 128
#define DOT(A, B) ((A.x) * (B.x) + (A.y) * (B.y) + (A.z) * (B.z))
typedef struct { fp x, y, z; } THREE_VECTOR;
typedef struct { fp v, x, y, z; } FOUR_VECTOR;
typedef struct nei_str { int x, y, z; int number; long offset; } nei_str;
typedef struct box_str { int x, y, z; int number; long offset; int nn; nei_str nei[26]; } box_str;
typedef struct par_str { fp alpha; } par_str;
typedef struct dim_str { int cur_arg; int arch_arg; long number_boxes; } dim_str;
__global__ void kernel_gpu_cuda(par_str d_par_gpu, dim_str d_dim_gpu, box_str *d_box_gpu, FOUR_VECTOR *d_rv_gpu, fp *d_qv_gpu, FOUR_VECTOR *d_fv_gpu) {
    int bx = blockIdx.x;
    int tx = threadIdx.x;
    int wtx = tx;
    if (bx < d_dim_gpu.number_boxes) {
        fp a2 = 2.0 * d_par_gpu.alpha * d_par_gpu.alpha;
        int first_i;
        FOUR_VECTOR *rA;
        FOUR_VECTOR *fA;
        __shared__ FOUR_VECTOR rA_shared[100];
        int pointer, k = 0, first_j, j = 0;
        FOUR_VECTOR *rB;
        fp *qB;
        __shared__ FOUR_VECTOR rB_shared[100];
        __shared__ double qB_shared[100];
        fp r2, u2, vij, fs, fxij, fyij, fzij;
        THREE_VECTOR d;
        first_i = d_box_gpu[bx].offset;
        rA = &d_rv_gpu[first_i];
        fA = &d_fv_gpu[first_i];
        while (wtx < NUMBER_PAR_PER_BOX) { rA_shared[wtx] = rA[wtx]; wtx = wtx + NUMBER_THREADS; }
        wtx = tx;
        __syncthreads();
        for (k = 0; k < (1 + d_box_gpu[bx].nn); k++) {
            if (k == 0) { pointer = bx; }
            else { pointer = d_box_gpu[bx].nei[k - 1].number; }
            first_j = d_box_gpu[pointer].offset;
            rB = &d_rv_gpu[first_j];
            qB = &d_qv_gpu[first_j];
            while (wtx < NUMBER_PAR_PER_BOX) { rB_shared[wtx] = rB[wtx]; qB_shared[wtx] = qB[wtx]; wtx = wtx + NUMBER_THREADS; }
            wtx = tx;
            __syncthreads();
            while (wtx < NUMBER_PAR_PER_BOX) {
                for (j = 0; j < NUMBER_PAR_PER_BOX; j++) {
                    r2 = (fp)rA_shared[wtx].v + (fp)rB_shared[j].v - DOT((fp)rA_shared[wtx], (fp)rB_shared[j]);
                    u2 = a2 * r2;
                    vij = exp(-u2);
                    fs = 2 * vij;
                    d.x = (fp)rA_shared[wtx].x - (fp)rB_shared[j].x;
                    fxij = fs * d.x;
                    d.y = (fp)rA_shared[wtx].y - (fp)rB_shared[j].y;
                    fyij = fs * d.y;
                    d.z = (fp)rA_shared[wtx].z - (fp)rB_shared[j].z;
                    fzij = fs * d.z;
                    fA[wtx].v += (double)((fp)qB_shared[j] * vij);
                    fA[wtx].x += (double)((fp)qB_shared[j] * fxij);
                    fA[wtx].y += (double)((fp)qB_shared[j] * fyij);
                    fA[wtx].z += (double)((fp)qB_shared[j] * fzij);
                }
                wtx = wtx + NUMBER_THREADS;
            }
            wtx = tx;
            __syncthreads();
        }
    }
}
