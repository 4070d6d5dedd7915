"""PTX to the operations of machine code: each by itself, joined with others, accesses together."""
