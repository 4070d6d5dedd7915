"""Choosing what wins: candidates for a kernel, judged by machine code, the winner emitted.

candidates   what can be done to a loop or to a kernel, and copies of the kernel in which it is done
assembled    all candidates in one module, assembled at once and decoded; or predicted
weights      how often each block of a machine body runs, from trip counts and line tables
judge        cycles of one warp and at full occupancy, registers, spills, blocks an SM
search       which candidates are tried, and which is taken
advice       what to write in CUDA for it
"""
