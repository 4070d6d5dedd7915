#include <stdio.h>
#define fp float
#define NUMBER_THREADS 512
__global__ void extract(long d_Ne, fp *d_I) {
    int bx = blockIdx.x, tx = threadIdx.x;
    int ei = (bx * NUMBER_THREADS) + tx;
    if (ei < d_Ne) d_I[ei] = exp(d_I[ei] / 255);
}
__global__ void compress(long d_Ne, fp *d_I) {
    int ei = blockIdx.x * NUMBER_THREADS + threadIdx.x;
    if (ei < d_Ne) d_I[ei] = log(d_I[ei]) * 255;
}
__global__ void srad(fp d_lambda, int d_Nr, int d_Nc, long d_Ne, int *d_iN, int *d_iS, int *d_jE, int *d_jW,
                     fp *d_dN, fp *d_dS, fp *d_dE, fp *d_dW, fp d_q0sqr, fp *d_c, fp *d_I) {
    int ei = blockIdx.x * NUMBER_THREADS + threadIdx.x;
    int row, col;
    fp d_Jc, d_dN_loc, d_dS_loc, d_dW_loc, d_dE_loc, d_c_loc, d_G2, d_L, d_num, d_den, d_qsqr;
    row = (ei + 1) % d_Nr - 1;
    col = (ei + 1) / d_Nr + 1 - 1;
    if ((ei + 1) % d_Nr == 0) { row = d_Nr - 1; col = col - 1; }
    if (ei < d_Ne) {
        d_Jc = d_I[ei];
        d_dN_loc = d_I[d_iN[row] + d_Nr * col] - d_Jc;
        d_dS_loc = d_I[d_iS[row] + d_Nr * col] - d_Jc;
        d_dW_loc = d_I[row + d_Nr * d_jW[col]] - d_Jc;
        d_dE_loc = d_I[row + d_Nr * d_jE[col]] - d_Jc;
        d_G2 = (d_dN_loc * d_dN_loc + d_dS_loc * d_dS_loc + d_dW_loc * d_dW_loc + d_dE_loc * d_dE_loc) / (d_Jc * d_Jc);
        d_L = (d_dN_loc + d_dS_loc + d_dW_loc + d_dE_loc) / d_Jc;
        d_num = (0.5 * d_G2) - ((1.0 / 16.0) * (d_L * d_L));
        d_den = 1 + (0.25 * d_L);
        d_qsqr = d_num / (d_den * d_den);
        d_den = (d_qsqr - d_q0sqr) / (d_q0sqr * (1 + d_q0sqr));
        d_c_loc = 1.0 / (1.0 + d_den);
        if (d_c_loc < 0) { d_c_loc = 0; }
        else if (d_c_loc > 1) { d_c_loc = 1; }
        d_dN[ei] = d_dN_loc; d_dS[ei] = d_dS_loc; d_dW[ei] = d_dW_loc; d_dE[ei] = d_dE_loc; d_c[ei] = d_c_loc;
    }
}
