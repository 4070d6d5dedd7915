// Classes, operator overloads, functors, lambdas, inheritance, templates with defaults.
#include <cstdio>
#include <utility>
struct Complex {
    float re, im;
    __host__ __device__ Complex(float r = 0.f, float i = 0.f) : re(r), im(i) {}
    __host__ __device__ Complex operator+(const Complex &o) const { return Complex(re + o.re, im + o.im); }
    __host__ __device__ Complex operator*(const Complex &o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    __host__ __device__ Complex &operator+=(const Complex &o) { re += o.re; im += o.im; return *this; }
    __host__ __device__ float norm() const { return re * re + im * im; }
    __host__ __device__ friend bool operator<(const Complex &a, const Complex &b) { return a.norm() < b.norm(); }
};
struct Shape { int id; float scale; __device__ Shape(int i, float s) : id(i), scale(s) {} __device__ float area() const { return scale * scale; } };
struct Circle : Shape { float r; __device__ Circle(float r_) : Shape(1, r_), r(r_) {} __device__ float area() const { return 3.0f * Shape::area() + r; } };
template <typename T, typename Op> __device__ T fold(const T *p, int n, T init, Op op) { for (int i = 0; i < n; ++i) init = op(init, p[i]); return init; }
struct Max { __device__ float operator()(float a, float b) const { return a > b ? a : b; } };
template <typename F> __global__ void apply(float *out, const float *in, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f(in[i]);
}
struct Scale { float k; __host__ __device__ float operator()(float x) const { return k * x + 1.0f; } };
enum class Mode : unsigned char { Add, Mul = 5 };
__global__ void classes(float *out, const float *in, int n, Mode mode) {
    Complex z(in[0], in[1]), c{0.5f};
    for (int i = 0; i < 3; ++i) { z = z * z + c; }
    z += Complex(1.0f, 2.0f);
    out[0] = z.re;
    out[1] = z.im;
    out[2] = z < c ? 1.0f : 2.0f;
    Circle circle(3.0f);
    out[3] = circle.area() + circle.id;
    out[4] = fold(in, n, in[0], Max());
    float bias = 2.0f;
    auto plus = [=](float a, float b) { return a + b + bias; };
    out[5] = fold(in, n, 0.0f, plus);
    auto twice = [](float a) { return 2 * a; };
    out[6] = twice(in[2]);
    int count = 0;
    auto bump = [&count](int k) { count += k; };
    bump(2);
    bump(3);
    out[7] = count;
    switch (mode) {
    case Mode::Add: out[8] = 1; break;
    case Mode::Mul: out[8] = 2; break;
    }
    Complex arr[2] = {Complex(1, 2), Complex(3, 4)};
    Complex sum;
    for (const Complex &v : arr) sum += v;
    out[9] = sum.re * 10 + sum.im;
    std::pair<int, float> p = std::make_pair(3, 4.5f);
    out[10] = p.first + p.second;
    float a = 1, b = 2;
    std::swap(a, b);
    out[11] = a * 10 + b;
}
int main() {
    float *d;
    apply<<<1, 32>>>(d, d, 32, Scale{2.0f});
    apply<Scale><<<1, 32>>>(d, d, 32, Scale{3.0f});
}
