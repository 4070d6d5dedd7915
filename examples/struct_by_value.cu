// Structs by value: a kernel parameter of 48 bytes, a function that stays a call
// and takes and returns structs, and a copy into an array indexed at run time.

struct Particle {
    float3 position, velocity;
    float mass;
    int kind;
};

struct Box {
    float3 low, high;
    float damping[4];
    double step;
};

__device__ __noinline__ Particle advance(Particle p, const Box box) {
    const float dt = float(box.step);
    p.position.x += p.velocity.x * dt;
    p.position.y += p.velocity.y * dt;
    p.position.z += p.velocity.z * dt;
    if (p.position.x < box.low.x || p.position.x > box.high.x)
        p.velocity.x *= -box.damping[p.kind & 3];
    if (p.position.y < box.low.y || p.position.y > box.high.y)
        p.velocity.y *= -box.damping[p.kind & 3];
    if (p.position.z < box.low.z || p.position.z > box.high.z)
        p.velocity.z *= -box.damping[p.kind & 3];
    return p;
}

extern "C" __global__ void struct_by_value(Particle *particles, Box box, int n, int steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Particle p = particles[i];
    Particle history[4] = {p, p, p, p};
    for (int s = 0; s < steps; ++s) {
        p = advance(p, box);
        history[s & 3] = p;
    }
    p.position.x = 0.5f * (p.position.x + history[(steps + p.kind) & 3].position.x);
    particles[i] = p;
}
