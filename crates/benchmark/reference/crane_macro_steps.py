"""Largest macro-steps of the cranes of Rahikainen et al. 2020 (figs 9 and 15), on a grid of 0.1 ms.

The magnitudes of the residual energy, summed over 30 s, grow with the macro-step H: linearly at first, and by ten to a
hundred times within 0.2 to 0.4 ms where the coupling becomes unstable. The largest H is the last one of the grid before
they exceed three times the linear growth from H = 1 ms, where the grid begins.

Runs with many H go together: all make their macro-step number k at once, each in as many micro-steps of 0.1 ms as it has.
"""

import types

import numpy as np

import crane_mechanics as mechanics
import hydraulics
import rows
from cranes import CRANES, MICRO, NAMES, STOP

FIRST = 10  # tenths of a millisecond
TAKE_OFF = 3.0
UNSTABLE = 1e3  # J, the limit while the magnitudes at H = 1 ms are not known, which are 1 to 5 J
LAST = 100
BATCHES = [range(FIRST, 46), range(46, LAST + 1)]  # few cells come to the second
SOLVERS = {"ALI1": mechanics.IndexOne, "ALI3-P": lambda runs: mechanics.IndexThree(runs, [False] * runs)}
CELLS = [
    (crane, formulation, coupling, prediction)
    for formulation in SOLVERS
    for prediction in (0, 1, 2, "IM")  # polynomials by their order, and the interface model
    for crane in CRANES
    for coupling in ("force", "pressure")
]


def label(cell):
    """Case and configuration of a cell."""
    crane, formulation, coupling, prediction = cell
    shown = prediction if prediction == "IM" else f"p{prediction}"
    return f"max-step-{NAMES[crane]}", f"{formulation}, {coupling}, {shown}"


def keep(thing, chosen):
    """Drops the other runs from all arrays of an object."""
    for name, values in vars(thing).items():
        setattr(thing, name, values[chosen])


def start(cells, macro_steps, limits):
    """Runs of all cells at all macro-steps, those with interface models last, with their circuits and mechanics."""
    pairs = [(i, j) for i in range(len(cells)) for j in range(len(macro_steps))]
    pairs.sort(key=lambda pair: cells[pair[0]][3] == "IM")
    chosen = [cells[i] for i, _ in pairs]
    run = types.SimpleNamespace(
        cell=np.array([i for i, _ in pairs]),
        place=np.array([j for _, j in pairs]),
        n=np.array([[macro_steps[j]] for _, j in pairs]),
        limit=np.array([limits[i][j] for i, j in pairs]),
        order=np.array([[9 if cell[3] == "IM" else cell[3]] for cell in chosen]),
        is_pressure=np.array([[cell[2] == "pressure"] for cell in chosen]),
        present=np.array([[1.0, float(cell[0][0] == 2)] for cell in chosen]),
        total=np.zeros(len(chosen)),
        power=np.zeros((len(chosen), 2)),
    )
    circuits = hydraulics.Circuits([cell[0][1] for cell in chosen], run.present)
    solver = SOLVERS[chosen[0][1]](len(chosen))
    run.s, run.sd = mechanics.lengths(solver.q, solver.v)
    # At rest the first polynomials are constant, as long as there are no earlier points.
    run.s1, run.sd1, run.s2, run.sd2 = run.s, run.sd, run.s, run.sd
    run.y = circuits.pressure_force()  # no friction at rest
    return run, circuits, solver


def pistons(run):
    """All pistons, those whose friction the mechanics have themselves, and the place of the interface models."""
    both = (run.present, run.present * run.is_pressure)
    first = np.count_nonzero(run.order < 9)
    return *(mechanics.Piston(hydraulics.L1_0, hydraulics.L2_0, hydraulics.S_0, p) for p in both), slice(first, None)


def polynomial(order, a, b, c):
    """Coefficients c0 + c1 x + c2 x^2, x = 0 .. 1 over the step, through the last points, the newest first."""
    is_curved = order == 2
    c1 = np.where(is_curved, 1.5 * a - 2 * b + 0.5 * c, np.where(order == 1, a - b, 0.0))
    return a, c1, np.where(is_curved, 0.5 * a - b + 0.5 * c, 0.0)


def magnitudes(cells, macro_steps, limits):
    """Magnitudes of the residual energy, J, of cells of one formulation at the macro-steps of a batch, in tenths of a
    millisecond: (cells, macro-steps). They end at the limit, J: (cells, macro-steps); the cell's larger macro-steps too."""
    run, circuits, solver = start(cells, macro_steps, limits)
    piston, own_piston, model = pistons(run)
    u_ref = hydraulics.programs(np.arange(round(STOP / MICRO) + 1) * MICRO)
    results = np.full((len(cells), len(macro_steps)), np.inf)
    k = 0
    while len(run.n):
        n, h, s, sd = run.n, run.n * MICRO, run.s, run.sd
        a, b, c = polynomial(run.order, s, run.s1, run.s2)
        d, e, f = polynomial(run.order, sd, run.sd1, run.sd2)
        inverse, free = mechanics.interface_model(solver.q[model], solver.v[model])
        s_m, w_m = s[model], sd[model]
        model_piston = piston.of(model)
        for j in range(int(n.max())):
            micro = np.where(j < n, MICRO, 0.0)  # shorter macro-steps are at their end
            x = j / n
            s_in, v_in = a + x * (b + x * c), d + x * (e + x * f)
            s_in[model], v_in[model] = s_m, w_m
            force = (circuits.p1[model] * hydraulics.A1 - circuits.p2[model] * hydraulics.A2) * run.present[model]
            force += model_piston.passive(s_m, w_m)[0]
            w_m = w_m + micro[model] * (free + mechanics.times(inverse, force))
            s_m = s_m + micro[model] * w_m
            circuits.euler(micro, u_ref[np.minimum(k * n[:, 0] + j, len(u_ref) - 1)], s_in, v_in)
        s_end, v_end = a + b + c, d + e + f
        s_end[model], v_end[model] = s_m, w_m
        solver.step(h, mechanics.Forces(run.y, own_piston))
        run.s2, run.sd2, run.s1, run.sd1 = run.s1, run.sd1, s, sd
        run.s, run.sd = mechanics.lengths(solver.q, solver.v)
        used, pressure = run.y, circuits.pressure_force()
        run.y = np.where(run.is_pressure, pressure, pressure + piston.passive(s_end, v_end)[0])
        # Eqs 21 to 24.
        power = (run.y * v_end - used * run.sd) * run.present
        energy = np.where(run.order == 0, h * power, h / 2 * (run.power + power))
        run.power = power
        run.total = run.total + np.abs(energy.sum(1))
        k += 1
        is_over = ~(run.total <= run.limit)
        is_done = (k + 1) * n[:, 0] > round(STOP / MICRO)
        if not (is_over.any() or is_done.any()):
            continue
        finished = is_done & ~is_over
        results[run.cell[finished], run.place[finished]] = run.total[finished]
        edges = np.full(len(cells), len(macro_steps))
        np.minimum.at(edges, run.cell[is_over], run.place[is_over])
        remaining = ~is_done & (run.place < edges[run.cell])
        for thing in (run, circuits, solver):
            keep(thing, remaining)
        piston, own_piston, model = pistons(run)
    return results


def largest(cells):
    """Largest macro-step, ms, of each of some cells of one formulation."""
    found, base = {}, {}
    for batch in BATCHES:
        left = [cell for cell in cells if cell not in found]
        if not left:
            break
        growth = TAKE_OFF * np.array(batch) / FIRST
        limits = [growth * base[cell] if base else np.full(len(batch), UNSTABLE) for cell in left]
        for cell, energies in zip(left, magnitudes(left, batch, limits)):
            base.setdefault(cell, energies[0])
            is_over = ~(energies <= growth * base[cell]) | np.isinf(energies)
            if is_over.any():
                found[cell] = max(FIRST, batch[int(is_over.argmax())] - 1) / 10
    return [found.get(cell, LAST / 10) for cell in cells]


def table(wanted):
    for formulation in SOLVERS:
        cells = [cell for cell in CELLS if cell[1] == formulation and wanted in "/".join(label(cell))]
        for cell, value in zip(cells, largest(cells)):
            yield *label(cell), "largest H", value, "ms"


if __name__ == "__main__":
    np.seterr(all="ignore")  # runs may diverge
    rows.main(__file__, {"crane": table}, has_cells=True)
