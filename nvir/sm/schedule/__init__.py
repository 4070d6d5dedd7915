"""Modulo scheduling of dependence graphs.

driver     `modulo_schedule`: the best schedule that a budget allows, with its proof
intervals  the climb from MII upwards and the verdict on each interval
ims        iterative modulo scheduling, forwards and backwards
swing      swing modulo scheduling
core       the few operations that decide whether an interval works, and the way back
bounds     what resources force between them; quick proofs that an interval cannot work
exact      branch and bound on the core
cpsat      the core as a model for OR-tools (extra `solve`)
shorten    shorter lifetimes at the same interval
lifetimes  MaxLive, its lower bounds, modulo variable expansion
check      the judge of every schedule, which shares no code with the rest
"""
