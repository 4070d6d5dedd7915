"""Strongly connected components: who reaches each other in a directed graph.

Cost    linear in nodes and edges; not recursive, so depth is no limit.
Source  R. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def strong_components(succs: Sequence[Sequence[int]], order: Iterable[int]) -> list[list[int]]:
    """The strongly connected components of the graph in which node u leads to `succs[u]`.

    They come in topological order, sources first, their members sorted; `order` lists all nodes
    and decides ties.
    """
    index = [0] * len(succs)  # 0: not seen; else the visit number
    low = [0] * len(succs)
    done = len(succs) + 1  # a visit number that no open node has
    stack: list[int] = []
    found: list[list[int]] = []
    count = 0
    for root in order:
        if index[root]:
            continue
        count += 1
        index[root] = low[root] = count
        stack.append(root)
        work = [(root, iter(succs[root]))]
        while work:
            u, out = work[-1]
            for v in out:
                if not index[v]:
                    count += 1
                    index[v] = low[v] = count
                    stack.append(v)
                    work.append((v, iter(succs[v])))
                    break
                if index[v] < low[u]:
                    low[u] = index[v]
            else:
                work.pop()
                if work and low[u] < low[work[-1][0]]:
                    low[work[-1][0]] = low[u]
                if low[u] == index[u]:
                    member: list[int] = []
                    while not member or member[-1] != u:
                        member.append(stack.pop())
                        index[member[-1]] = done
                    member.sort()
                    found.append(member)
    found.reverse()
    return found
