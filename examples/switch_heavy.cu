// An interpreter of a small stack machine: a loop around a dense switch, one
// thread a data item. Programs end with HALT; stacks hold eight values.

enum Op { PUSH, ADD, SUB, MUL, AND, OR, XOR, SHL, DUP, SWAP, DROP, LOAD, JUMP, JZ, NEG, HALT };

extern "C" __global__ void switch_heavy(const int *__restrict__ program,
                                        const int *__restrict__ input, int *__restrict__ output,
                                        int n, int max_steps) {
    const int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= n)
        return;
    int stack[8] = {};
    int top = 0, pc = 0;
    for (int step = 0; step < max_steps; ++step) {
        const int op = program[pc++];
        int &a = stack[(top - 1) & 7], &b = stack[(top - 2) & 7];
        switch (op) {
        case PUSH: stack[top++ & 7] = program[pc++]; break;
        case ADD: b += a; --top; break;
        case SUB: b -= a; --top; break;
        case MUL: b *= a; --top; break;
        case AND: b &= a; --top; break;
        case OR: b |= a; --top; break;
        case XOR: b ^= a; --top; break;
        case SHL: b <<= a & 31; --top; break;
        case DUP: stack[top & 7] = a; ++top; break;
        case SWAP: { const int t = a; a = b; b = t; break; }
        case DROP: --top; break;
        case LOAD: stack[top++ & 7] = input[item]; break;
        case JUMP: pc = program[pc]; break;
        case JZ: pc = a == 0 ? program[pc] : pc + 1; --top; break;
        case NEG: a = -a; break;
        default: step = max_steps; break;
        }
    }
    output[item] = stack[(top - 1) & 7];
}
