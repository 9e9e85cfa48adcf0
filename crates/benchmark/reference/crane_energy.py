"""Hydraulic crane: Rodríguez et al. 2022, section 4.4, table 5, with and without the energy correction; and without it where
the links' equations of motion are those of ALI1.

The links, in their two angles, step by symplectic Euler; the cylinder 40 or 115 times as often by forward Euler, with
its inputs extrapolated by lines. The printed frequency, "omega = 2 rad/s" in sin(2 pi omega t), is one of 2 Hz.
"""

import math

import numpy as np

import crane_mechanics
import integration
import rows

L1, L2, L3, M1, MP, MH, G = 1.0, 0.5, 0.442, 200.0, 250.0, 100.0, 9.81
C, AREA, A, B = 1e5, 65e-4, 6.53e-10, -1.19e-18
DISCHARGE, DENSITY, PUMP, TANK, S0 = 0.67, 850.0, 7.6e6, 1e5, 0.5
M11, M22, COUPLING = L1**2 * (M1 / 3 + MP + MH), L2**2 * MH, L1 * L2 * MH
WEIGHT1, WEIGHT2 = L1 * G * (M1 / 2 + MP + MH), MH * L2 * G

# Equilibrium: the load, pressures of equal sum, and the spool that lets nothing through on balance.
LOAD = (M1 + 2 * MP + 2 * MH) * G
P1, P2 = ((PUMP + TANK - LOAD / AREA) / 2, (PUMP + TANK + LOAD / AREA) / 2)
RATIO = math.sqrt((P1 - TANK) / (PUMP - P1))
GAMMA = RATIO / (1 + RATIO)

CASES = {"10ms": (10e-3, 40, 1000), "11.5ms": (11.5e-3, 115, 869)}  # H, s; ratio; macro-steps


def spool(t):
    amplitude = 0.1 * t if t < 1 else 0.1 if t < 8 else 0.1 * (9 - t) if t < 9 else 0.0
    return GAMMA * (1 - amplitude * math.sin(4 * math.pi * t))


def length(th1):
    return math.sqrt(1 - math.sqrt(3) / 2 * math.cos(th1))


def rate(th1, w1):
    return math.sqrt(3) * math.sin(th1) / (4 * length(th1)) * w1


def accelerations(th1, th2, w1, w2, f):
    c, s = COUPLING * math.cos(th1 - th2), COUPLING * math.sin(th1 - th2)
    b1 = -s * w2 * w2 - WEIGHT1 * math.cos(th1) + f * rate(th1, 1.0)
    b2 = s * w1 * w1 - WEIGHT2 * math.cos(th2)
    d = M11 * M22 - c * c
    return (b1 * M22 - c * b2) / d, (M11 * b2 - c * b1) / d


def pressure_rates(t, p1, p2, s, v):
    inlet = 5e-4 * spool(t)
    outlet = 5e-4 - inlet

    def flow(area, drop):
        return area * DISCHARGE * math.sqrt(2 * drop / DENSITY) if drop > 0 else 0.0

    def bulk(p):
        return (1 + A * p + B * p * p) / (A + 2 * B * p)

    q1 = AREA * v + flow(inlet, PUMP - p1) - flow(outlet, p1 - TANK)
    q2 = -AREA * v + flow(outlet, PUMP - p2) - flow(inlet, p2 - TANK)
    return bulk(p1) / (AREA * (L3 / 2 + S0 - s)) * q1, bulk(p2) / (AREA * (L3 / 2 + s - S0)) * q2


def energy(states):
    """Mechanical energy of rows (th1, th2, w1, w2), J."""
    th1, th2, w1, w2 = states[:, :4].T
    kinetic = 0.5 * M11 * w1**2 + 0.5 * M22 * w2**2 + COUPLING * np.cos(th1 - th2) * w1 * w2
    return kinetic + WEIGHT1 * np.sin(th1) + WEIGHT2 * np.sin(th2)


def exact(times):
    def rates(t, y):
        th1, th2, w1, w2, p1, p2 = y.tolist()
        s, v = length(th1), rate(th1, w1)
        a1, a2 = accelerations(th1, th2, w1, w2, AREA * (p2 - p1) - C * v)
        return w1, w2, a1, a2, *pressure_rates(t, p1, p2, s, v)

    scale = [1, 1, 1, 1, 1e7, 1e7]
    return integration.solve(rates, [math.pi / 6, 1.5 * math.pi, 0, 0, P1, P2], times, 1e-12, scale)


def cosimulate(case, order=1, exchange="stale", mu=0.0, limits=(math.inf, math.inf)):
    """States of the links at the communication points, and the residual power at all but the first. `limits` of the
    correcting force: relative to the force, and N."""
    H, ratio, steps = CASES[case]
    h = H / ratio
    th1, th2, w1, w2 = math.pi / 6, 1.5 * math.pi, 0.0, 0.0
    p1, p2 = P1, P2
    u = applied = (length(th1), rate(th1, w1))
    past = [u, u]
    f = AREA * (p2 - p1) - C * u[1]
    correction = 0.0
    states, powers = [(th1, th2, w1, w2)], []
    for step in range(steps):
        if step > 0:
            old_u, old_f = u, f
            u = (length(th1), rate(th1, w1))
            past = [u, old_u]
            # Compensated and fresh are the same, as the force is linear in its inputs.
            f = AREA * (p2 - p1) - C * (applied[1] if exchange == "stale" else u[1])
            power = old_f * u[1] - old_u[1] * f
            powers.append(power)
            if mu:
                correction = -mu * power / u[1] if u[1] else 0.0
                limit = min(limits[0] * abs(f), limits[1])
                correction = max(-limit, min(limit, correction))
        a1, a2 = accelerations(th1, th2, w1, w2, f + correction)
        w1, w2 = w1 + H * a1, w2 + H * a2
        th1, th2 = th1 + H * w1, th2 + H * w2
        for j in range(ratio):
            x = j / ratio if order else 0.0
            s, v = (a + x * (a - b) for a, b in zip(*past))
            applied = (s, v)
            d1, d2 = pressure_rates(step * H + j * h, p1, p2, s, v)
            p1, p2 = p1 + h * d1, p2 + h * d2
        states.append((th1, th2, w1, w2))
        if not math.isfinite(th1) or abs(w1) > 1e3:
            break
    v = rate(th1, w1)
    last = AREA * (p2 - p1) - C * (applied[1] if exchange == "stale" else v)
    powers.append(f * v - u[1] * last)
    return np.array(states), np.array(powers)


def spline(values, H):
    """Coefficients of the natural cubic spline through equidistant values: each piece by powers of t - t_k."""
    # Second derivatives: second[k - 1] + 4 second[k] + second[k + 1] = right[k], zero at both ends.
    right = np.concatenate([[0.0], 6 / H**2 * (values[2:] - 2 * values[1:-1] + values[:-2]), [0.0]])
    factor, second = np.zeros(len(values)), right.copy()
    for k in range(1, len(values) - 1):
        factor[k] = 1 / (4 - factor[k - 1])
        second[k] = (right[k] - second[k - 1]) * factor[k]
    for k in range(len(values) - 2, 0, -1):
        second[k] -= factor[k] * second[k + 1]
    slope = np.diff(values) / H - H / 6 * (2 * second[:-1] + second[1:])
    return values[:-1], slope, second[:-1] / 2, np.diff(second) / (6 * H)


def converged(case):
    """The same solvers without coupling error: the cylinder's inputs follow splines through the communication points of
    the run itself, found by iteration, and its force is fresh."""
    H, ratio, steps = CASES[case]
    h = H / ratio
    pressures = np.full(steps + 1, AREA * (P2 - P1))
    before = None
    for _ in range(40):
        th1, th2, w1, w2 = math.pi / 6, 1.5 * math.pi, 0.0, 0.0
        states, inputs = [(th1, th2, w1, w2)], [(length(th1), 0.0)]
        for k in range(steps):
            a1, a2 = accelerations(th1, th2, w1, w2, pressures[k] - C * inputs[-1][1])
            w1, w2 = w1 + H * a1, w2 + H * a2
            th1, th2 = th1 + H * w1, th2 + H * w2
            states.append((th1, th2, w1, w2))
            inputs.append((length(th1), rate(th1, w1)))
        inputs = np.array(inputs)
        s_pieces, v_pieces = (np.array(spline(inputs[:, i], H)).T.tolist() for i in range(2))
        p1, p2 = P1, P2
        for k in range(steps):
            (a, b, c, d), (e, f, g, i) = s_pieces[k], v_pieces[k]
            for j in range(ratio):
                x = j * h
                s, v = a + x * (b + x * (c + x * d)), e + x * (f + x * (g + x * i))
                d1, d2 = pressure_rates(k * H + x, p1, p2, s, v)
                p1, p2 = p1 + h * d1, p2 + h * d2
            pressures[k + 1] = AREA * (p2 - p1)
        states = np.array(states)
        if before is not None and np.abs(states - before).max() < 1e-10:
            return states
        before = states
    raise ArithmeticError("the iteration does not converge")


def augmented(H, micro):
    """Length and rate of the cylinder at the communication points of 10 s. The links in absolute coordinates with the
    augmented Lagrangian formulation ALI1; the force is that under the inputs predicted for the end of a step. Ends where
    it diverges."""
    ratio = round(H / micro)
    links = crane_mechanics.IndexOne(1)

    def motion():
        s, v = crane_mechanics.lengths(links.q, links.v)
        return float(s[0, 0]), float(v[0, 0])

    p1, p2 = P1, P2
    new = old = motion()
    states, f = [new], AREA * (p2 - p1)
    for step in range(math.floor(10 / H + 1e-9)):
        links.step(H, crane_mechanics.Forces(np.array([[f, 0.0]])))
        for j in range(ratio):
            s, v = (a + j / ratio * (a - b) for a, b in zip(new, old))
            d1, d2 = pressure_rates(step * H + j * micro, p1, p2, s, v)
            p1, p2 = p1 + micro * d1, p2 + micro * d2
        f = AREA * (p2 - p1) - C * (2 * new[1] - old[1])
        new, old = motion(), new
        states.append(new)
        if not abs(new[1]) < 1e3:
            break
    return np.array(states)


def variations(H, states):
    """Total variation of the rate in each second, m/s; a step counts where it ends."""
    seconds = np.minimum((np.arange(1, len(states)) * H).astype(int), 9)
    return np.bincount(seconds, np.abs(np.diff(states[:, 1])), 10)


def augmented_table():
    states = augmented(10e-3, 0.25e-3)
    whole = exact(np.arange(len(states)) * 10e-3)
    errors = [s - length(th1) for s, th1 in zip(states[:, 0], whole[:, 0])]
    yield "rodriguez", "ALI1, 10 ms", "s_max", 1e3 * np.abs(errors).max(), "mm"
    found = {H: variations(H, augmented(H, 0.1e-3)) for H in (11e-3, 11.5e-3, 12e-3)}
    for number, variation in enumerate(found[11.5e-3], 1):
        yield "rodriguez", "ALI1, 11.5 ms", f"variation of v, second {number}", variation, "m/s"
    yield "rodriguez", "ALI1, 11 ms", "greatest variation of v in a second", found[11e-3].max(), "m/s"
    yield "rodriguez", "ALI1, 12 ms", "diverges", "no" if found[12e-3].max() <= 100 else "yes", ""


RUNS = {
    "10ms": {
        "stale": {},
        "corrected": {"mu": 0.0125, "limits": (0.1, 100.0)},
        "corrected, limit 10 %": {"mu": 0.0125, "limits": (0.1, math.inf)},
        "corrected, sign reversed": {"mu": -0.0125, "limits": (0.1, 100.0)},
        "stale, hold": {"order": 0},
        "compensated": {"exchange": "fresh"},
        "fresh": {"exchange": "fresh"},
    },
    "11.5ms": {"stale": {}, "compensated": {"exchange": "fresh"}, "fresh": {"exchange": "fresh"}},
}


def table():
    for case, runs in RUNS.items():
        H, _, steps = CASES[case]
        times = np.arange(steps + 1) * H
        reference = exact(times)

        def lengths(states):
            return 1e3 * np.sqrt(1 - math.sqrt(3) / 2 * np.cos(states[:, 0]))

        def errors(states, of):
            difference = lengths(states) - lengths(of)
            return (energy(states) - energy(of))[-1], math.sqrt(np.mean(difference**2)), np.abs(difference).max()

        def row(name, states):
            for metric, value, unit in zip(("E_end", "rms s", "s_max"), errors(states, reference), ("J", "mm", "mm")):
                yield case, name, metric, value, unit

        whole = converged(case) if case == "10ms" else None
        for name, options in runs.items():
            states, powers = cosimulate(case, **options)
            yield from row(name, states)
            if whole is not None:
                end, rms, _ = errors(states, whole)
                yield case, name, "E_end of the coupling", end, "J"
                yield case, name, "rms s of the coupling", rms, "mm"
            else:
                yield case, name, "greatest residual power", np.abs(powers).max(), "W"
        if whole is not None:
            yield from row("monolithic", whole)


if __name__ == "__main__":
    rows.main(__file__, {"crane-energy": table, "crane": augmented_table})
