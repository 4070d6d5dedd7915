// Escape times of the Mandelbrot set: a while loop with a data-dependent exit,
// so the threads of a warp leave it at different times.

extern "C" __global__ void mandelbrot(unsigned short *__restrict__ out, int width, int height,
                                      double x0, double y0, double step, int limit) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x;
    const int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    const double cx = x0 + px * step, cy = y0 + py * step;
    double x = 0, y = 0, xx = 0, yy = 0;
    int i = 0;
    while (i < limit && xx + yy <= 4.0) {
        y = 2 * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        ++i;
    }
    out[py * width + px] = static_cast<unsigned short>(i);
}
