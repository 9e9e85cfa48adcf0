"""Quarter car, coupled in other ways than with NEPCE, ECCO and held inputs: inputs that follow lines, parabolas or the
polynomial that has predicted best, outputs read again after the inputs were set, a learnt correction, steps made again.

Cars, cuts and metrics of Sadjina & Pedersen 2019, section 5. The steps are as long as their ECCO (eqs 13 and 14) allows with
the magnitudes of both coupling errors in place of the signed residual power; the last one ends at the stop time. The halves
make 256 steps of forward Euler in a macro-step or, where only the coupling is to be in error, 32 of Runge-Kutta 4.
"""

import math

import numpy as np

import integration
import rows
from quarter_car import CASES, ENERGY, K_C, K_W, M_C, M_W, ROAD, AboveSuspension, damper

SECOND_STEP, SECOND_TIME = -0.05, 2.0  # m, s: the road falls when the steps have grown
FIRST = 1e-5  # s, the first and the smallest step


class Halves:
    """Both halves of a car. One has the suspension, receives the velocity at the cut and gives the force, which follows that
    velocity at once; the other receives the force and gives the velocity. The state is v_c, z_w, v_w and the stretch."""

    def __init__(self, case, is_euler, has_second_step):
        self.is_above = CASES[case][0] is AboveSuspension
        self.is_linear = CASES[case][1]
        self.is_euler, self.has_second_step = is_euler, has_second_step
        self.sense = -1.0 if self.is_above else 1.0
        self.state = (0.0, 0.0, 0.0, 0.0)

    def force(self, v, state=None):
        v_c, _, v_w, s = state or self.state
        return K_C * s + damper(self.is_linear, v_w - v if self.is_above else v - v_c)

    def outputs(self, v):
        """Force under the velocity received, and velocity."""
        return self.force(v), self.state[0 if self.is_above else 2]

    def rates(self, state, f, v, road):
        v_c, z_w, v_w, _ = state
        own = self.force(v, state)
        on_chassis, on_wheel = (f, own) if self.is_above else (own, f)
        stretching = v_w - v if self.is_above else v - v_c
        return on_chassis / M_C, v_w, (K_W * (road - z_w) - on_wheel) / M_W, stretching

    def step(self, start, dt, force, velocity):
        """A macro-step under inputs that are polynomials of the time since its start. The road falls between two
        micro-steps. Returns the residual energy, by the trapezoidal rule over the micro-steps, J."""
        micro = 256 if self.is_euler else 32
        h = dt / micro
        y = self.state
        energy, power = 0.0, self.residual(y, value(force, 0.0), value(velocity, 0.0))
        for j in range(micro):
            before = power
            has_fallen = self.has_second_step and start + (j + 0.5) * h >= SECOND_TIME
            road = ROAD + SECOND_STEP if has_fallen else ROAD

            def rates(part, state):
                x = (j + part) * h
                return self.rates(state, value(force, x), value(velocity, x), road)

            k1 = rates(0, y)
            if self.is_euler:
                y = tuple(a + h * b for a, b in zip(y, k1))
                power = self.residual(y, value(force, (j + 1) * h), value(velocity, (j + 1) * h))
                energy += 0.5 * h * (before + power)
                continue
            k2 = rates(0.5, tuple(a + h / 2 * b for a, b in zip(y, k1)))
            k3 = rates(0.5, tuple(a + h / 2 * b for a, b in zip(y, k2)))
            k4 = rates(1, tuple(a + h * b for a, b in zip(y, k3)))
            y = tuple(a + h / 6 * (b + 2 * (c + d) + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4))
            power = self.residual(y, value(force, (j + 1) * h), value(velocity, (j + 1) * h))
            energy += 0.5 * h * (before + power)
        self.state = y
        return energy

    def residual(self, state, f, v):
        """Residual power under the inputs f and v: received less given, W."""
        return self.sense * (v * self.force(v, state) - f * state[0 if self.is_above else 2])


def value(polynomial, x):
    result = 0.0
    for c in reversed(polynomial):
        result = result * x + c
    return result


def mean(polynomial, x):
    return sum(c * x**i / (i + 1) for i, c in enumerate(polynomial))


class Signal:
    """Past of a signal and its prediction over the next step. `word` is a polynomial, "hold", "linear", "quadratic" or
    "auto", or the constant or the line that keeps its mean ("mean of …"), or mean and end value ("secant of …")."""

    DEGREES = {"hold": 0, "linear": 1, "quadratic": 2}

    def __init__(self, word):
        self.shape, _, of = word.partition(" of ")
        self.is_auto = "auto" in word
        self.degree = self.DEGREES.get(of or word, 0)
        self.past = []  # times and values, newest first
        self.values = 0
        self.errors = [None] * 4  # averaged squares of the errors that each degree made

    def through(self, degree, now):
        """The polynomial through the newest values, by divided differences, in powers of the time since `now`."""
        degree = min(degree, len(self.past) - 1)
        times = [t for t, _ in self.past[: degree + 1]]
        differences = [y for _, y in self.past[: degree + 1]]
        for order in range(1, degree + 1):
            for i in range(degree, order - 1, -1):
                differences[i] = (differences[i - 1] - differences[i]) / (times[i - order] - times[i])
        polynomial = differences[degree:]
        for i in range(degree - 1, -1, -1):
            shifted = [(now - times[i]) * c for c in polynomial] + [0.0]
            polynomial = [a + b for a, b in zip(shifted, [differences[i]] + polynomial)]
        return polynomial

    def observe(self, t, y):
        if self.is_auto and self.past:
            for degree in range(len(self.past)):
                square = (y - self.through(degree, t)[0]) ** 2
                before = self.errors[degree]
                self.errors[degree] = square if before is None else 0.6 * before + 0.4 * square
            self.choose()
        self.values += 1
        self.past = ([(t, y)] + self.past)[:4]
        if self.is_auto:
            self.try_next()

    def choose(self):
        """Down to the nearest lower degree that is as good; else up by one, where that has less than 0.9 of the squared error."""
        present = self.errors[self.degree]
        for lower in reversed(range(self.degree)):
            if self.errors[lower] <= present:
                self.degree = lower
                return
        higher = self.errors[self.degree + 1] if self.degree < 3 else None
        if higher is not None and higher < 0.9 * present:
            self.degree += 1

    def try_next(self):
        """Up by one with a value that makes a new degree possible, unless the degree below has shown that it is no better."""
        next_degree = len(self.past) - 1
        if next_degree != self.degree + 1 or self.errors[next_degree] is not None:
            return
        if next_degree < 2 or self.errors[next_degree - 1] < 0.9 * self.errors[next_degree - 2]:
            self.degree = next_degree

    def missed(self):
        """Impulse of the first two steps that a constant and a line have missed, by the step, once there are three values."""
        if not self.is_auto or self.values != 3:
            return 0.0
        (t2, y2), (t1, y1), (t0, y0) = self.past
        on_line = (y1 - y0) / (t1 - t0) * (t2 - t1)
        if abs(y2 - y1 - on_line) > 0.5 * abs(y2 - y1):
            return 0.0
        passed = mean(self.through(2, t0), t2 - t0) * (t2 - t0)
        given = y0 * (t1 - t0) + (y1 + 0.5 * on_line) * (t2 - t1)
        return (passed - given) / (t2 - t1)

    def order(self):
        return 0 if self.shape == "mean" else min(self.degree, len(self.past) - 1)

    def course(self, dt):
        predicted = self.through(self.degree, self.past[0][0])
        predicted[0] += self.missed()
        if self.shape == "mean":
            return [mean(predicted, dt)]
        if self.shape == "secant":
            middle, end = mean(predicted, dt), value(predicted, dt)
            return [2 * middle - end, 2 * (end - middle) / dt]
        return predicted


class Nepce:
    """NEPCE (eq. 11) with a given alpha: the trapezoid of the errors at both ends of the step."""

    def __init__(self, alpha):
        self.alpha, self.last = alpha, 0.0

    def correction(self, error, added, dt, new):
        average = 0.5 * (error + self.last)
        self.last = error
        return self.alpha * average * dt / new


class LearntNepce:
    """NEPCE whose alpha is the share of a step's error that returned in past steps. The error is that of the prediction
    without correction, which grows with the power degree + 1 of the time since the start of the step."""

    def __init__(self, degree):
        self.degree = degree
        self.mean, self.step = 0.0, None
        self.products = self.squares = 0.0

    def correction(self, error, added, dt, new):
        found = (error + added) / (self.degree + 2)
        if self.step:
            expected = self.mean * (dt / self.step) ** (self.degree + 1)
            self.products = 0.9 * self.products + expected * found
            self.squares = 0.9 * self.squares + expected**2
        self.mean, self.step = found, dt
        alpha = min(1.0, max(0.0, self.products / self.squares)) if self.squares else 0.0
        return alpha * found * (new / dt) ** (self.degree + 1)


def run(case, word="hold", is_fresh=False, alpha=None, tolerance=None, step=FIRST, stop=None, greatest=None,
        is_euler=True, has_second_step=False, reject_above=math.inf):  # fmt: skip
    """Times, steps' sizes, forces, velocities, residual energies of the steps, and residual powers at their ends; the
    number of steps made again. `alpha` is that of NEPCE or "learnt"; without the tolerance of ECCO all steps are `step` long."""
    car = Halves(case, is_euler, has_second_step)
    stop, greatest = stop or CASES[case][2], greatest or CASES[case][3]
    signals = Signal(word), Signal(word)  # force and velocity
    if alpha == "learnt":
        corrections = [LearntNepce(signals[0].degree) for _ in signals]
    else:
        corrections = [Nepce(alpha or 0.0) for _ in signals]
    added = [0.0, 0.0]
    t, dt = 0.0, step
    for signal, y in zip(signals, car.outputs(0.0)):
        signal.observe(t, y)
    out, repeated = [], 0
    while stop - t > 1e-9:
        dt = min(dt, stop - t)
        before = car.state
        courses = [signal.course(dt) for signal in signals]
        for course, more in zip(courses, added):
            course[0] += more
        energy = car.step(t, dt, *courses)
        f, v = value(courses[0], dt), value(courses[1], dt)
        y = car.outputs(v)
        if is_fresh:
            y = car.outputs(y[1])
        errors = y[0] - f, y[1] - v
        new = dt
        if tolerance:
            error = abs(errors[0] * y[1]) + abs(errors[1] * y[0])
            indicator = error * dt / (tolerance * (ENERGY + abs(y[0] * y[1] * dt)))
            order = min(signal.order() for signal in signals)
            factor = min(1.5, max(0.2, 0.8 * indicator ** (-0.3 / (order + 2)))) if indicator else 1.5
            if indicator > reject_above and dt > FIRST:
                car.state = before
                dt = max(FIRST, dt * min(0.5, factor))
                repeated += 1
                continue
            new = min(greatest, max(FIRST, dt * factor))
        t += dt
        out.append((t, dt, *y, energy, car.sense * (v * y[0] - f * y[1])))
        for signal, published in zip(signals, y):
            signal.observe(t, published)
        new = min(new, stop - t) or new
        added = [c.correction(e, a, dt, new) for c, e, a in zip(corrections, errors, added)]
        dt = new
    return np.array(out).T, repeated


def exact_power(case, times, has_second_step=False):
    """Power through the cut."""
    is_linear = CASES[case][1]

    def force(y):
        return K_C * (y[2] - y[0]) + damper(is_linear, y[3] - y[1])

    def solve(start, times, road):
        def rates(_, y):
            y = y.tolist()
            f = force(y)
            return y[1], f / M_C, y[3], (K_W * (road - y[2]) - f) / M_W

        return integration.solve(rates, start, times, 1e-12)

    last = SECOND_TIME if has_second_step else math.inf
    early, late = times[times <= last], times[times > last]
    states = solve([0.0] * 4, np.concatenate([[0.0], early, [last][: len(late)]]), ROAD)
    if len(late):
        later = solve(states[-1], np.concatenate([[last], late]), ROAD + SECOND_STEP)
        states = np.concatenate([states[:-1], later[1:]])
    side = 1 if CASES[case][0] is AboveSuspension else 3
    return np.array([-force(y) * y[side] for y in states[1:].tolist()])


def power_error(case, times, steps, forces, velocities, has_second_step=False):
    """dP (eq. 15a), W."""
    exact = exact_power(case, times, has_second_step)
    return np.abs(-forces * velocities - exact) @ steps / CASES[case][2]


# Extrapolation, whether outputs are fresh, alpha of NEPCE, tolerances r of ECCO for lin1, lin2, nl1 and nl2, with which
# there are about as many steps as in the paper.
WAYS = {
    "ecco, linear": ("linear", False, None, (4.6e-8, 8.463e-8, 4.0e-7, 3.7e-6)),
    "ecco, linear, fresh": ("linear", True, None, (4.6e-8, 8.463e-8, 4.0e-7, 3.7e-6)),
    "ecco, linear, fresh, nepce auto": ("linear", True, "learnt", (3.098e-8, 5.74e-8, 2.983e-7, 2.286e-6)),
    "ecco, secant-linear of quadratic, fresh": (
        "secant of quadratic", True, None, (1.3e-9, 1.776e-9, 4.179e-8, 2.9e-7)),
    "ecco, secant-linear of auto, fresh": ("secant of auto", True, None, (6.3e-11, 1.35e-10, 3.4e-8, 3.1e-7)),
    "ecco, auto, fresh": ("auto", True, None, (6.3e-11, 1.35e-10, 3.4e-8, 3.1e-7)),
    "ecco, values only, nepce auto": ("hold", False, "learnt", (1.632e-6, 2.639e-6, 4.462e-6, 3.077e-5)),
    "ecco, values only, mean-hold, fresh": ("mean of linear", True, None, (1.626e-6, 2.626e-6, 4.391e-6, 3.02e-5)),
}  # fmt: skip

# Extrapolation, whether outputs are fresh, whether NEPCE corrects, tolerance r of ECCO.
METHODS = {
    "hold": ("hold", False, False, 2.6e-6),
    "hold, nepce": ("hold", False, True, 2.6e-6),
    "linear": ("linear", False, False, 8.4e-8),
    "linear, fresh": ("linear", True, False, 8.4e-8),
}
# Greatest step, s, and the indicator above which a step is made again.
LIMITS = {"": (1e-2, math.inf), ", at most 1 ms": (1e-3, math.inf), ", steps made again": (1e-2, 5.0)}
GRID = (5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30)  # ms


def largest_stable_step(case, word, is_fresh, alpha):
    """The last step of the grid before the force in the last quarter of 8 s is not below what it was before."""
    stable = math.nan
    for milliseconds in GRID:
        step = 1e-3 * milliseconds
        stop = round(8 / step) * step
        (_, _, forces, *_), _ = run(case, word, is_fresh, alpha, step=step, stop=stop, is_euler=False)
        early, late = np.split(np.abs(forces), [len(forces) // 4 * 3])
        if not late.max() < early.max():
            break
        stable = float(milliseconds)
    return stable


def table():
    for number, case in enumerate(CASES):
        for name, (word, is_fresh, alpha, tolerances) in WAYS.items():
            (times, steps, forces, velocities, energies, ends), _ = run(
                case, word, is_fresh, alpha, tolerances[number]
            )
            yield case, name, "dP", power_error(case, times, steps, forces, velocities), "W"
            yield case, name, "|dE| integrated", abs(energies.sum()), "J"
            yield case, name, "|dE|", abs(ends @ steps), "J"
            yield case, name, "steps", float(len(steps)), ""
    for case in ("lin2", "nl2"):
        for name, (word, is_fresh, is_corrected, _) in METHODS.items():
            alpha = CASES[case][4] if is_corrected else None
            yield case, name, "largest stable step", largest_stable_step(case, word, is_fresh, alpha), "ms"
    case = "lin2"
    for suffix, (greatest, reject_above) in LIMITS.items():
        for name, (word, is_fresh, is_corrected, tolerance) in METHODS.items():
            alpha = CASES[case][4] if is_corrected else None
            (times, steps, forces, velocities, *_), repeated = run(
                case, word, is_fresh, alpha, tolerance, greatest=greatest,
                is_euler=False, has_second_step=True, reject_above=reject_above)  # fmt: skip
            name = f"second road step, {name}{suffix}"
            yield case, name, "dP", power_error(case, times, steps, forces, velocities, True), "W"
            yield case, name, "steps", float(len(steps)), ""
            if reject_above < math.inf:
                yield case, name, "steps made again", float(repeated), ""


if __name__ == "__main__":
    rows.main(__file__, {"quarter-car": table})
