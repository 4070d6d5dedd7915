"""SSA: made from variables that are written anywhere, and kept when code is copied or replaced.

construct   phis and values for variables (PTX registers, allocas) by their reads and writes
repair      a value that has several definitions since code was copied
rewrite     many values replaced at once
"""
