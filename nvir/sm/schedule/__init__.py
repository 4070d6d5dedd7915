"""Modulo scheduling of dependence graphs.

driver        `modulo_schedule`: the best schedule that a budget allows, with its proof
loops         the same for the graphs of machine loops, whose operations keep pipes busy
intervals     the climb from MII upwards and the verdict on each interval
reservations  the table of one interval: who issues in a slot, who holds a pipe
ims           iterative modulo scheduling, forwards and backwards
swing         swing modulo scheduling
core          the few operations that decide whether an interval works, and the way back
bounds        what resources force between them; quick proofs that an interval cannot work
exact         branch and bound on the core
cpsat         one interval as a model for OR-tools (extra `solve`)
shorten       shorter lifetimes at the same interval
anneal        fewer registers where operations can only trade places
deal          another start for it: the slots dealt out anew, chain by chain
stages        the iterations in which operations start, slots kept: the least sum of lives
lifetimes     MaxLive, its lower bounds, modulo variable expansion
live_bound    lower bounds: what is live around an operation; lives with slots and pipes (OR-tools)
check         the judge of every schedule, which shares no code with the rest
"""
