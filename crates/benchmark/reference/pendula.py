"""Coupled pendula: Rodríguez et al. 2022, section 4.3, table 4: two point masses on rods, their tips joined by a spring.

Each side is an index-1 augmented Lagrangian (ALI1) of its tip's coordinates with symplectic Euler; side 1 owns the spring.
Steps of 1 ms, 10 s. The printed natural length, 8.756 m, follows if the angles are those from the x axis.
"""

import math

import numpy as np

import integration
import rows

H, STOP, G = 1e-3, 10.0, 9.81
M = (1.0, 2.0)  # kg
LENGTHS = (2.5, 3.5)  # m
PIVOTS = ((0.0, 0.0), (7.0, 0.0))
ANGLES = (math.pi / 4, math.pi / 18)  # below the x axis
TIPS = [(a + l * math.cos(t), b - l * math.sin(t)) for (a, b), l, t in zip(PIVOTS, LENGTHS, ANGLES)]
REST = math.hypot(TIPS[0][0] - TIPS[1][0], TIPS[0][1] - TIPS[1][1])
STIFFNESS = {"1": 6.0, "2": 50.0}  # N/m

ALPHA, OMEGA, XI = 1e7, 100.0, 1.0  # penalty and stabilisation of ALI1: not printed, and only omega matters


class Pendulum:
    """State x, y, vx, vy of a tip."""

    def __init__(self, index):
        self.m, self.length, self.pivot = M[index], LENGTHS[index], PIVOTS[index]
        self.state = (*TIPS[index], 0.0, 0.0)

    def step(self, h, fx, fy):
        x, y, vx, vy = self.state
        dx, dy = x - self.pivot[0], y - self.pivot[1]
        jx, jy = 2 * dx, 2 * dy
        stabilised = (
            2 * (vx * vx + vy * vy)
            + 2 * XI * OMEGA * 2 * (dx * vx + dy * vy)
            + OMEGA**2 * (dx * dx + dy * dy - self.length**2)
        )
        m = self.m
        ax, ay = fx / m, fy / m - G
        for _ in range(20):
            # (M + alpha J^T J) a' = M a - alpha J^T (J' v + ...), solved by hand for one constraint.
            bx, by = m * ax - ALPHA * jx * stabilised, m * ay - ALPHA * jy * stabilised
            inner = ALPHA * (jx * bx + jy * by) / (m + ALPHA * (jx * jx + jy * jy))
            nx, ny = (bx - jx * inner) / m, (by - jy * inner) / m
            change = math.hypot(nx - ax, ny - ay)
            ax, ay = nx, ny
            if change < 1e-10:
                break
        vx, vy = vx + h * ax, vy + h * ay
        self.state = (x + h * vx, y + h * vy, vx, vy)


def force(k, tip, u):
    """Force of the spring on tip 2 at u = (x, y, ...)."""
    dx, dy = tip[0] - u[0], tip[1] - u[1]
    length = math.hypot(dx, dy)
    f = k * (length - REST) / length
    return f * dx, f * dy


def feedthrough(k, tip, u, change):
    """Derivative of the force by u, times a change of u."""
    dx, dy = tip[0] - u[0], tip[1] - u[1]
    length = math.hypot(dx, dy)
    along = (dx * change[0] + dy * change[1]) / length
    normal = k * (length - REST) / length
    return (
        -k * along * dx / length - normal * (change[0] - along * dx / length),
        -k * along * dy / length - normal * (change[1] - along * dy / length),
    )


def cosimulate(k, exchange="stale", mu=0.0, nu=0.0):
    """Tips' states (x1, y1, vx1, vy1, x2, ...) at the communication points, and the residual power at all but the first."""
    first, second = Pendulum(0), Pendulum(1)
    u = applied = second.state
    f = force(k, first.state, u)
    corrected = (0.0, 0.0)
    states, powers = [(*first.state, *second.state)], []
    zeta = uncorrected = 0.0
    for step in range(round(STOP / H)):
        if step > 0:
            old_u, old_f = u, f
            u = second.state
            f = force(k, first.state, u if exchange == "fresh" else applied)
            if exchange == "compensated":
                d = feedthrough(k, first.state, applied, (u[0] - applied[0], u[1] - applied[1]))
                f = f[0] + d[0], f[1] + d[1]
            power = old_f[0] * u[2] + old_f[1] * u[3] - (old_u[2] * f[0] + old_u[3] * f[1])
            powers.append(power)
            if mu:
                if step > 1:
                    uncorrected += zeta + (corrected[0] * u[2] + corrected[1] * u[3]) * H
                zeta = mu * H * power
                # Along the velocity: the least force that does the work; limited to 100 % of the force.
                speed = u[2] ** 2 + u[3] ** 2
                gain = -(zeta + nu * uncorrected) / (speed * H) if speed else 0.0
                size, limit = abs(gain) * math.sqrt(speed), math.hypot(*f)
                if size > limit:
                    gain *= limit / size
                corrected = gain * u[2], gain * u[3]
        reaction = force(k, first.state, u)
        applied = u
        first.step(H, -reaction[0], -reaction[1])
        second.step(H, f[0] + corrected[0], f[1] + corrected[1])
        states.append((*first.state, *second.state))
    # The residual power of the last point.
    last_f = force(k, first.state, applied)
    v = second.state
    powers.append(f[0] * v[2] + f[1] * v[3] - (u[2] * last_f[0] + u[3] * last_f[1]))
    return np.array(states), np.array(powers)


def energy(k, states):
    x1, y1, vx1, vy1, x2, y2, vx2, vy2 = states.T
    stretch = np.hypot(x1 - x2, y1 - y2) - REST
    kinetic = 0.5 * M[0] * (vx1**2 + vy1**2) + 0.5 * M[1] * (vx2**2 + vy2**2)
    return kinetic + G * (M[0] * y1 + M[1] * y2) + 0.5 * k * stretch**2


def exact(k, times):
    """By the rods' angles."""

    def tips(angles, speeds):
        out = []
        for (a, b), l, t, w in zip(PIVOTS, LENGTHS, angles, speeds):
            out += [a + l * math.cos(t), b + l * math.sin(t), -l * math.sin(t) * w, l * math.cos(t) * w]
        return out

    def rates(_, y):
        t1, t2, w1, w2 = y
        state = tips((t1, t2), (w1, w2))
        fx, fy = force(k, state[:2], state[4:6])
        a1 = (math.sin(t1) * fx - math.cos(t1) * (fy + M[0] * G)) / (M[0] * LENGTHS[0])
        a2 = (-math.sin(t2) * fx + math.cos(t2) * (fy - M[1] * G)) / (M[1] * LENGTHS[1])
        return w1, w2, a1, a2

    states = integration.solve(rates, [-ANGLES[0], -ANGLES[1], 0.0, 0.0], times, 1e-13)
    return np.array([tips(y[:2], y[2:]) for y in states])


RUNS = {
    "stale": {},
    "corrected": {"mu": 0.5, "nu": 1.0},
    "corrected, nu 0": {"mu": 0.5},
    "compensated": {"exchange": "compensated"},
    "fresh": {"exchange": "fresh"},
    "monolithic": {"exchange": "fresh"},
}


def table():
    times = np.arange(round(STOP / H) + 1) * H
    for case, k in STIFFNESS.items():
        reference = exact(k, times)
        for name, options in RUNS.items():
            states, powers = cosimulate(k, **options)
            error = energy(k, states) - energy(k, reference)
            distance = (states - reference) ** 2
            yield case, name, "E_end", error[-1], "J"
            yield case, name, "E_max", np.abs(error).max(), "J"
            yield case, name, "E_last", error[-1001:].mean(), "J"
            yield case, name, "rms tip 2", math.sqrt(np.mean(distance[:, 4] + distance[:, 5])), "m"
            yield case, name, "rms tip 1", math.sqrt(np.mean(distance[:, 0] + distance[:, 1])), "m"
            if name == "stale":
                yield case, name, "mean residual power", powers.mean(), "W"
                yield case, name, "steps with residual power > 0", 100 * np.mean(powers > 0), "%"


if __name__ == "__main__":
    rows.main(__file__, {"pendula": table})
