"""CUDA programs without a GPU: `nvir exec` runs an nvcc-built program on the interpreter.

    standin.c and *.h     libcudart and libcuda for the program: memory there, kernels here
    build.py              compiles them once, into the user's cache
    server.py             what the program talks to: modules, memory, launches
    link.py               the modules of a program built with -rdc=true, as one
    facts.py              the device that it sees: attributes, properties, errors
    profile.py            `--stats`: what each source line costs
"""
