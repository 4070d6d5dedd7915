"""The hard core at one II as a constraint model for OR-tools CP-SAT (extra `solve`).

A contended operation has a slot (one Boolean for each) and a stage; its start is
`slot + II * stage`. Each slot of a resource has room for its units; gaps join the starts.
Everything else of the graph is left out, as `core` explains, so models stay small.

One worker, a fixed seed and a limit in CP-SAT's deterministic time make the answer the
same on every run. Callers check the schedule that comes of it.
"""

from __future__ import annotations

import importlib.util

from nvir.sm.schedule.core import Group

LARGEST = 200_000
"""Slot Booleans beyond which building the model costs more than it can earn."""


def available() -> bool:
    """Whether OR-tools is installed; does not import it."""
    return importlib.util.find_spec("ortools") is not None


def solve(
    group: Group, ii: int, limit_s: float, seed: int = 0
) -> tuple[bool | None, dict[int, int]]:
    """(True, slots by node), (False, {}) where none exist, (None, {}) when the limit was hit."""
    count = sum(len(component.nodes) for component in group.components)
    if count * ii > LARGEST or limit_s <= 0:
        return None, {}
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    slots: dict[int, list[cp_model.IntVar]] = {}
    users: dict[int, list[int]] = {}
    for component in group.components:
        starts = []
        for j, node in enumerate(component.nodes):
            slots[node] = [model.new_bool_var("") for _ in range(ii)]
            model.add_exactly_one(slots[node])
            users.setdefault(component.resources[j], []).append(node)
            first = component.gap[0][j] // ii - 1
            last = -component.gap[j][0] // ii + 2
            stage = model.new_int_var(first if j else 0, last if j else 0, "")
            slot = sum(s * chosen for s, chosen in enumerate(slots[node]))
            starts.append(slot + ii * stage)
        for i, start in enumerate(starts):
            for j, other in enumerate(starts):
                if i != j:
                    model.add(other - start >= component.gap[i][j])
    model.add(slots[group.components[0].nodes[0]][0] == 1)  # turning changes nothing
    for resource, nodes in users.items():
        for s in range(ii):
            model.add(sum(slots[node][s] for node in nodes) <= group.units[resource])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed & 0x7FFFFFFF
    solver.parameters.max_deterministic_time = limit_s
    solver.parameters.max_time_in_seconds = 1.5 * limit_s  # outer safety
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        chosen = {
            node: next(s for s, var in enumerate(vars_) if solver.boolean_value(var))
            for node, vars_ in slots.items()
        }
        return True, chosen
    return (False if status == cp_model.INFEASIBLE else None), {}
