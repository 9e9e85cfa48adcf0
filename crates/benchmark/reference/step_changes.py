"""Drift by steps that change: two units integrate one flow. Kyllingstad 2025, arXiv 2512.13845.

Unit 1 is x1' = v, unit 2 is v' = -(x1 + v) + sin t and x2' = v, both exact within a step with the inputs that they receive;
x1 = x2 = 1, v = 0 at first, 200 s. Steps of 10 ms, or of 7.5 + 2.5 sin(t + pi/2) ms. The figure is the greatest |x1 - x2|.

The case quarter-car is the linear quarter car of Sadjina & Pedersen 2019, cut below its suspension, under ECCO (quarter_car.py): the
chassis' side integrates the wheel's velocity, and the figure is the greatest distance of that from the wheel's height.

The paper's term, held flows: (1/2) v (h_before - h) / h, added to the applied flow where the step changes. Equal displacement: the
sum of all that the applied flow was ahead of the published one, divided by h and subtracted where the step changes; the
published flow's integral is that of the parabola through the last three values.
"""

import numpy as np

import rows
from quarter_car import ENERGY, BelowSuspension

STOP = 200.0
PAPER, EQUAL = "paper's term", "equal-displacement"


# Masters count time in whole ticks; where the steps turn, two of them are equal, and nothing is corrected between them.
TICK, CAR_TICK = 1e-2 / 2**20, 1e-3 / 2**20


def swinging(t):
    return TICK * round((7.5e-3 + 2.5e-3 * np.sin(t + np.pi / 2)) / TICK)


def predict(word, past, h):
    """Coefficients, ascending, of an input over the coming step of length h; past: (time, value), newest first."""
    (t0, y0), *older = past
    if word == "hold" or not older:
        return [y0]
    (t1, y1) = older[0]
    first = (y0 - y1) / (t0 - t1)
    if word == "mean-hold":
        return [y0 + first * h / 2]
    if word == "linear" or len(older) < 2:
        return [y0, first]
    (t2, y2) = older[1]
    second = (first - (y1 - y2) / (t1 - t2)) / (t0 - t2)
    return [y0, first + second * (t0 - t1), second]


def integral(f, h):
    return sum(c * h ** (n + 1) / (n + 1) for n, c in enumerate(f))


def advance_second(v, x2, f, t, h):
    """Unit 2 with the force f(s): v = C e^-s + q(s) + (sin - cos)/2, q' + q = -f."""
    f = np.array(list(f) + [0.0] * (3 - len(f)))
    rates = np.array([f[1], 2 * f[2], 0.0])
    bends = np.array([2 * f[2], 0.0, 0.0])
    q = -(f - rates + bends)
    c = v - q[0] - (np.sin(t) - np.cos(t)) / 2
    end = c * np.exp(-h) + q @ h ** np.arange(3) + (np.sin(t + h) - np.cos(t + h)) / 2
    way = -c * np.expm1(-h) + integral(q, h)
    way += (np.cos(t) - np.cos(t + h) + np.sin(t) - np.sin(t + h)) / 2
    return end, x2 + way


def published_way(flows):
    """Integral over the last step of the parabola through the last three points (time, value), newest first."""
    (t0, y0), (t1, y1), *older = flows
    h = t0 - t1
    bend = ((y0 - y1) / h - (y1 - older[0][1]) / (t1 - older[0][0])) / (t0 - older[0][0]) if older else 0.0
    return h * (y0 + y1) / 2 - bend * h**3 / 6


def drift(word, step, remedy):
    t, v, x1, x2 = 0.0, 0.0, 1.0, 1.0
    flows, forces = [(0.0, v)], [(0.0, x1)]
    before, ahead, greatest = None, 0.0, 0.0
    while t < STOP - 1e-9:
        h = min(step(t), STOP - t)
        flow = predict(word, flows, h)
        if before is not None and abs(h - before) > 1e-9 * before:
            if remedy == PAPER:
                flow[0] += 0.5 * v * (before - h) / h
            if remedy == EQUAL:
                flow[0] -= ahead / h
        v, x2 = advance_second(v, x2, predict(word, forces, h), t, h)
        applied = integral(flow, h)
        x1 += applied
        t += h
        flows, forces = [(t, v)] + flows[:2], [(t, x1)] + forces[:2]
        ahead += applied - published_way(flows)
        before = h
        greatest = max(greatest, abs(x1 - x2))
    return greatest


def quarter_car(is_corrected, stop=4.0, tolerance=1.4e-6, longest=1e-2):
    """Greatest distance of the wheel's height from what the chassis' side has made of its velocity, m."""
    car = BelowSuspension(True)
    velocity, force, dt, t, ahead = 0.0, 0.0, 1e-5, 0.0, 0.0
    added, flows, height, greatest = 0.0, [(0.0, 0.0)], 0.0, 0.0
    while t < stop - 1e-12:
        a, v_c = (velocity + added, force), car.v_c
        car.step(dt, a)
        y = car.outputs(a)
        t += dt
        height += dt * (v_c + car.v_c) / 2
        greatest = max(greatest, abs(car.s + height - car.z_w))
        flows = [(t, y[1])] + flows[:2]
        ahead += a[0] * dt - published_way(flows)
        residual, power = -(a[0] * y[0] + a[1] * y[1]), y[0] * y[1]
        epsilon = abs(residual * dt) / (tolerance * (ENERGY + abs(power * dt)))
        factor = 0.8 * epsilon**-0.15 if epsilon else 1.5
        new = min(longest, max(1e-5, dt * min(1.5, max(0.2, factor))))
        has_changed = abs(new - dt) > 1e-9 * dt
        added = -ahead / new if is_corrected and has_changed else 0.0
        velocity, force = car.inputs(*y)
        dt = CAR_TICK * round(new / CAR_TICK)
    return greatest


def table():
    yield "quarter-car", "ecco", "drift", quarter_car(False), "m"
    yield "quarter-car", "ecco, equal-displacement", "drift", quarter_car(True), "m"
    for word in ("hold", "mean-hold", "linear", "quadratic"):
        yield word, "steps of 10 ms", "drift", drift(word, lambda t: 1e-2, None), "m"
        yield word, "swinging steps", "drift", drift(word, swinging, None), "m"
        if word == "hold":
            yield word, "swinging steps, paper's term", "drift", drift(word, swinging, PAPER), "m"
        yield word, "swinging steps, equal-displacement", "drift", drift(word, swinging, EQUAL), "m"


if __name__ == "__main__":
    rows.main(__file__, {"step-changes": table})
