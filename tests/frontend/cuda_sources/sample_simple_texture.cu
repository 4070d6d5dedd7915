#include <cuda_runtime.h>
#include <helper_cuda.h>
const float angle = 0.5f;
__global__ void transformKernel(float *outputData, int width, int height, float theta, cudaTextureObject_t tex) {
    unsigned int x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = (float)x - (float)width / 2;
    float v = (float)y - (float)height / 2;
    float tu = u * cosf(theta) - v * sinf(theta);
    float tv = v * cosf(theta) + u * sinf(theta);
    tu /= (float)width;
    tv /= (float)height;
    outputData[y * width + x] = tex2D<float>(tex, tu + 0.5f, tv + 0.5f);
}
void runTest(int argc, char **argv) {
    unsigned int width = 16, height = 16, size = width * height * sizeof(float);
    float *dData = NULL;
    cudaChannelFormatDesc channelDesc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaArray *cuArray;
    checkCudaErrors(cudaMallocArray(&cuArray, &channelDesc, width, height));
    cudaTextureObject_t tex;
    cudaResourceDesc texRes;
    memset(&texRes, 0, sizeof(cudaResourceDesc));
    texRes.resType = cudaResourceTypeArray;
    texRes.res.array.array = cuArray;
    cudaTextureDesc texDescr;
    texDescr.normalizedCoords = true;
    texDescr.filterMode = cudaFilterModeLinear;
    texDescr.addressMode[0] = cudaAddressModeWrap;
    checkCudaErrors(cudaCreateTextureObject(&tex, &texRes, &texDescr, NULL));
    dim3 dimBlock(8, 8, 1), dimGrid(width / dimBlock.x, height / dimBlock.y, 1);
    transformKernel<<<dimGrid, dimBlock, 0>>>(dData, width, height, angle, tex);
}
