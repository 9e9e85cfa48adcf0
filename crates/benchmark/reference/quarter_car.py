"""Quarter car, NEPCE and ECCO: Sadjina & Pedersen 2019, tables 4 to 9; beside them the error of the power over time (figs 4 to
6), and the displacement passed on as a signal (footnote 7).

A chassis and a wheel that meets a step of the road, linear or with a square-root damper, cut above (case ...1) or below
(...2) its suspension. Both sides make 256 steps of forward Euler in each macro-step and hand over outputs that were
evaluated under the input held in it (eq. 5b); inputs are held.
"""

import math

import numpy as np

import integration
import rows

M_C, M_W, K_C, K_W, ROAD = 400.0, 40.0, 15000.0, 150000.0, 0.1
MICRO = 256
CAP = 2000.0  # N s/m, of the square-root damper's slope, which has no bound at rest


def damper(is_linear, v):
    return 1000.0 * v if is_linear else math.copysign(900.0 * abs(v) ** 0.5, v)


def slope(is_linear, v):
    return 1000.0 if is_linear else min(CAP, 450.0 * abs(v) ** -0.5 if v else math.inf)


class AboveSuspension:
    """Side 1 is the chassis, side 2 spring, damper and wheel, whose force depends on the chassis' velocity at once."""

    sense = -1.0  # of the power P12 = sense y1 y2

    def __init__(self, is_linear):
        self.is_linear = is_linear
        self.v_c = self.z_w = self.v_w = self.s = 0.0

    def inputs(self, y1, y2):
        return -y2, y1

    def outputs(self, a):
        relative = self.v_w - a[1]
        return self.v_c, K_C * self.s + damper(self.is_linear, relative)

    def step(self, dt, a):
        h = dt / MICRO
        u1, u2 = a
        v_c, z_w, v_w, s, is_linear = self.v_c, self.z_w, self.v_w, self.s, self.is_linear
        for _ in range(MICRO):
            f = K_C * s + damper(is_linear, v_w - u2)
            v_c -= h * u1 / M_C
            s, z_w, v_w = s + h * (v_w - u2), z_w + h * v_w, v_w + h * (K_W * (ROAD - z_w) - f) / M_W
        self.v_c, self.z_w, self.v_w, self.s = v_c, z_w, v_w, s

    def with_feedthrough(self, e, a):
        """(1 - L J)^-1 e, J the outputs' derivatives by the inputs."""
        return e[0] + slope(self.is_linear, self.v_w - a[1]) * e[1], e[1]


class BelowSuspension:
    """Side 1 is chassis, spring and damper, whose force depends on the wheel's velocity at once, side 2 the wheel."""

    sense = 1.0

    def __init__(self, is_linear):
        self.is_linear = is_linear
        self.v_c = self.z_w = self.v_w = self.s = 0.0

    def inputs(self, y1, y2):
        return y2, -y1

    def outputs(self, a):
        return -(K_C * self.s + damper(self.is_linear, a[0] - self.v_c)), self.v_w

    def step(self, dt, a):
        h = dt / MICRO
        u1, u2 = a
        v_c, z_w, v_w, s, is_linear = self.v_c, self.z_w, self.v_w, self.s, self.is_linear
        for _ in range(MICRO):
            f = K_C * s + damper(is_linear, u1 - v_c)
            s, v_c = s + h * (u1 - v_c), v_c + h * f / M_C
            z_w, v_w = z_w + h * v_w, v_w + h * (K_W * (ROAD - z_w) - u2) / M_W
        self.v_c, self.z_w, self.v_w, self.s = v_c, z_w, v_w, s

    def with_feedthrough(self, e, a):
        return e[0], e[1] + slope(self.is_linear, a[0] - self.v_c) * e[0]


class AboveWithSignal(AboveSuspension):
    """Footnote 7: side 1 passes its displacement on, too, and side 2 holds it over a step."""

    def __init__(self, is_linear):
        super().__init__(is_linear)
        self.z_c = 0.0

    def step(self, dt, a):
        h = dt / MICRO
        z = self.z_c  # held
        v_c, z_w, v_w, z_c = self.v_c, self.z_w, self.v_w, self.z_c
        for _ in range(MICRO):
            f = K_C * (z_w - z) + damper(self.is_linear, v_w - a[1])
            z_c, v_c = z_c + h * v_c, v_c - h * a[0] / M_C
            z_w, v_w = z_w + h * v_w, v_w + h * (K_W * (ROAD - z_w) - f) / M_W
        self.v_c, self.z_w, self.v_w, self.z_c, self.s = v_c, z_w, v_w, z_c, z_w - z


class BelowWithSignal(BelowSuspension):
    """The same: side 2 passes its displacement on, and side 1 holds it."""

    def __init__(self, is_linear):
        super().__init__(is_linear)
        self.z_c = 0.0

    def step(self, dt, a):
        h = dt / MICRO
        z = self.z_w  # held
        v_c, z_w, v_w, z_c = self.v_c, self.z_w, self.v_w, self.z_c
        for _ in range(MICRO):
            f = K_C * (z - z_c) + damper(self.is_linear, a[0] - v_c)
            z_c, v_c = z_c + h * v_c, v_c + h * f / M_C
            z_w, v_w = z_w + h * v_w, v_w + h * (K_W * (ROAD - z_w) - a[1]) / M_W
        self.v_c, self.z_w, self.v_w, self.z_c, self.s = v_c, z_w, v_w, z_c, z - z_c


# Cut, linearity, stop time, greatest step of ECCO, alpha of NEPCE, ECCO's tolerances with NEPCE and its modification.
CASES = {
    "lin1": (AboveSuspension, True, 4.0, 1e-2, 0.95, 1.6e-6, 1.6e-6),
    "lin2": (BelowSuspension, True, 4.0, 1e-2, 0.85, 1.4e-6, 1.4e-6),
    "nl1": (AboveSuspension, False, 2.0, 1e-2, 0.6, 4.7e-6, 4.6e-6),
    "nl2": (BelowSuspension, False, 2.0, 2.5e-3, 0.4, 2.6e-5, 2.7e-5),
}
ENERGY = 750.0  # J, of the tyre at the start: E0 of ECCO


def exact_power(case):
    """A function from time to the exact power through the cut."""
    cut, is_linear, stop = CASES[case][:3]

    def force(y):
        z_c, v_c, z_w, v_w = y
        return K_C * (z_w - z_c) + damper(is_linear, v_w - v_c)

    def rates(_, y):
        y = y.tolist()
        f = force(y)
        return y[1], f / M_C, y[3], (K_W * (ROAD - y[2]) - f) / M_W

    def at(times):
        times = np.concatenate([[0.0], times])
        states = integration.solve(rates, [0.0] * 4, times, 1e-12)
        side = 1 if issubclass(cut, AboveSuspension) else 3
        return np.array([-force(y) * y[side] for y in states[1:].tolist()])

    return at


def run(case, alpha=0.0, is_modified=False, tolerance=None, with_signal=None):
    """Times, steps' sizes, powers, and residual powers at both ends of each step, from outputs under the inputs as they
    are."""
    cut, is_linear, stop, greatest = CASES[case][:4]
    car = (with_signal or cut)(is_linear)
    u, du, before = (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)
    dt = 1e-5 if tolerance else 1e-3
    t, out, number = 0.0, [], 0
    while (t < stop - 1e-12) if tolerance else (number < round(stop / dt)):
        a = u[0] + du[0], u[1] + du[1]
        y = car.outputs(a)
        start = -(a[0] * y[0] + a[1] * y[1])
        car.step(dt, a)
        y = car.outputs(a)
        number += 1
        t = t + dt if tolerance else number * dt
        n = car.inputs(*y)
        residual = -(a[0] * y[0] + a[1] * y[1])
        power = cut.sense * y[0] * y[1]
        out.append((t, dt, power, start, residual))
        # Coupling error of the step: the trapezoid of the inputs' errors at its ends (eqs 9 to 12).
        error = n[0] - a[0], n[1] - a[1]
        e = 0.5 * (error[0] + before[0]), 0.5 * (error[1] + before[1])
        before = error
        if is_modified:
            e = car.with_feedthrough(e, a)
        new = dt
        if tolerance:
            epsilon = abs(residual * dt) / (tolerance * (ENERGY + abs(power * dt)))
            factor = 0.8 * epsilon**-0.15 if epsilon else 1.5
            new = min(greatest, max(1e-5, dt * min(1.5, max(0.2, factor))))
        du = alpha * e[0] * dt / new, alpha * e[1] * dt / new
        u, dt = n, new
    return np.array(out).T


def runs_of(case, **options):
    *_, alpha, with_nepce, with_modified = CASES[case]
    return {
        "stale": run(case, **options),
        "nepce": run(case, alpha, **options),
        "nepce-feedthrough": run(case, alpha, True, **options),
        "ecco": run(case, tolerance=with_nepce, **options),
        "ecco, nepce": run(case, alpha, tolerance=with_nepce, **options),
        "ecco, nepce-feedthrough": run(case, alpha, True, with_modified, **options),
    }


def table():
    for case, (_, _, stop, *_) in CASES.items():
        exact = exact_power(case)
        runs = runs_of(case)
        for name, (times, steps, powers, starts, ends) in runs.items():
            yield case, name, "dP", np.abs(powers - exact(times)) @ steps / stop, "W"
            yield case, name, "|dE|", abs(ends @ steps), "J"
            yield case, name, "|dE| integrated", abs((starts + ends) @ steps) / 2, "J"
            yield case, name, "steps", float(len(steps)), ""
            yield case, name, "P mean", powers @ steps / times[-1], "W"


def variants():
    """Figures that no benchmark has: dP by seconds of the linear car, and dP and |dE| with the displacement as a signal."""
    for case, signal in (("lin1", AboveWithSignal), ("lin2", BelowWithSignal)):
        exact, stop = exact_power(case), CASES[case][2]
        for name, (times, steps, powers, *_) in runs_of(case).items():
            errors = np.abs(powers - exact(times)) * steps
            for second in range(round(stop)):
                part = (times > second) & (times <= second + 1)
                yield case, name, f"dP from {second} to {second + 1} s", errors[part].sum(), "W"
        for name, (times, steps, powers, _, ends) in runs_of(case, with_signal=signal).items():
            yield case, f"{name}, signal", "dP", np.abs(powers - exact(times)) @ steps / stop, "W"
            yield case, f"{name}, signal", "|dE|", abs(ends @ steps), "J"


if __name__ == "__main__":
    rows.main(__file__, {"quarter-car": table, "quarter-car-variants": variants})
