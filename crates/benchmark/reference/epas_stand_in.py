"""A power steering and a vehicle that exchange velocity and force every 20 ms, a stand-in for Chen et al. 2021, section
4.2: the paper's vehicle, control unit and table 5 are not public. 20 s; the driver's torque sweeps from 0 to 1 or 3 Hz.

All runs go together: the last index of all arrays.
"""

import numpy as np

import hinfinity
import rows

DT, STOP = 20e-3, 20.0
FINE, COARSE = 0.25e-3, 1e-3  # steps of the steering, and of the vehicle and the control unit, s

# Steering: inertias of column and motor, mass of the rack, torsion bar, pinion, belt and ball screw.
J_COLUMN, J_MOTOR, M_RACK, K_BAR, C_BAR, PINION = 0.035, 5e-5, 3.0, 115.0, 0.35, 0.00875
K_BELT, C_BELT, SCREW = 3.0, 6e-4, 0.007 / (2 * np.pi) / 2.75
# LuGre friction of the column and of the rack: Coulomb, sigma 0, 1, 2.
COLUMN_FRICTION, RACK_FRICTION = (0.15, 30.0, 0.05, 0.08), (150.0, 1.5e5, 400.0, 300.0)
# Vehicle.
M, IZ, A, B, CF, CR, V, RELAXATION = 1800.0, 3000.0, 1.25, 1.55, 1.2e5, 1.5e5, 20.0, 0.5
TRAIL, ARM, J_WHEEL, C_WHEEL = 0.045, 0.14, 1.6, 40.0
# Stiffness and damping of the tie rod.
VARIANTS = {"A": (7e5, 800.0), "R": (7.4e5, 800.0), "S": (8e5, 700.0)}
CASES = [(variant, highest) for variant in VARIANTS for highest in (1, 3)]

# Compensators: order of W_f, smoother, eps, gain at frequency 0.
DESIGNS = {
    "h-infinity, W1": (1, 0.5, 2e-4, 0.983),
    "h-infinity, W2": (2, 0.5, 1e-3, 1.0),
    "h-infinity, W3": (3, 0.5, 1e-3, 1.0),
    "h-infinity, W2 without smoother": (2, None, 1e-2, 1.0),
}
# Compensates the velocity alone, sampled every millisecond; the force is held, and fresh: of the new velocity.
ONE_SIDED = "FMUs, one-sided, fresh"
METHODS = ["hold", "linear", "quadratic", *DESIGNS, ONE_SIDED]


def friction(law, z, v):
    coulomb, s0, s1, s2 = law
    rate = v - s0 * z * np.abs(v) / coulomb
    return s0 * z + s1 * rate + s2 * v, rate


def bar_torque(y):
    return K_BAR * (y[0] - y[4] / PINION) + C_BAR * (y[1] - y[5] / PINION)


def steering(y, torque, motor, force):
    """States: column angle and rate, motor angle and rate, rack position and rate, bristles of column and rack."""
    ds, dds, dm, ddm, xr, vr, zc, zr = y
    tp = bar_torque(y)
    tb = K_BELT * (dm - xr / SCREW) + C_BELT * (ddm - vr / SCREW)
    column, dzc = friction(COLUMN_FRICTION, zc, dds)
    rack, dzr = friction(RACK_FRICTION, zr, vr)
    rack_force = tp / PINION + tb / SCREW - force - rack
    return np.array(
        [dds, (torque - tp - column) / J_COLUMN, ddm, (motor - tb) / J_MOTOR, vr, rack_force / M_RACK, dzc, dzr]
    )


def rod_force(y, velocity, kt, ct):
    return kt * (y[0] - ARM * y[1]) + ct * (velocity - ARM * y[2])


def vehicle(y, velocity, kt, ct):
    """States: received rack position, wheel angle and rate, lateral velocity, yaw rate, forces of the axles."""
    xv, dw, ddw, vy, r, ff, fr = y
    force = rod_force(y, velocity, kt, ct)
    slip_f, slip_r = dw - (vy + A * r) / V, -(vy - B * r) / V
    return np.array(
        [
            velocity,
            ddw,
            (ARM * force - TRAIL * ff - C_WHEEL * ddw) / J_WHEEL,
            (ff + fr - M * V * r) / M,
            (A * ff - B * fr) / IZ,
            V / RELAXATION * (CF * slip_f - ff),
            V / RELAXATION * (CR * slip_r - fr),
        ]
    )


class Control:
    """The control unit, sampled every millisecond."""

    def __init__(self, runs):
        self.filtered = np.zeros(runs)

    def torque(self, y):
        old = self.filtered
        self.filtered = old + 0.2 * (bar_torque(y) - old)  # 0.001 / (0.004 + 0.001)
        rate = (self.filtered - old) / COARSE
        return np.clip(SCREW * (250 * self.filtered + 3 * rate) - 0.004 * y[3], -4, 4)


def runge_kutta(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * (k2 + k3) + k4)


def driver(highest):
    return lambda t: 2.5 * np.sin(np.pi * highest * t * t / 20)


def shown(steer, car):
    """Column angle, rack velocity, yaw rate, lateral velocity."""
    return np.array([steer[0], steer[5], car[4], car[3]])


def reference(cases):
    """Everything in one, each millisecond."""
    kt, ct = np.array([VARIANTS[variant] for variant, _ in cases]).T
    torque = driver(np.array([highest for _, highest in cases]))
    y, control = np.zeros((15, len(cases))), Control(len(cases))
    out = [shown(y[:8], y[8:])]
    for k in range(round(STOP / COARSE)):
        motor = control.torque(y[:8])

        def rates(t, y):
            force = rod_force(y[8:], y[5], kt, ct)
            return np.concatenate([steering(y[:8], torque(t), motor, force), vehicle(y[8:], y[5], kt, ct)])

        for j in range(4):
            y = runge_kutta(rates, y, k * COARSE + j * FINE, FINE)
        out.append(shown(y[:8], y[8:]))
    return np.array(out)


class Channel:
    """A signal of all runs: polynomials of the orders of the first three methods, compensators of the others; each run's
    input over a macro-step is c0 + c1 x + c2 x^2, with x = 0 .. 1."""

    def __init__(self, methods, sending, receiving, is_velocity):
        runs = len(methods)
        self.order = np.array([METHODS.index(method) if method in METHODS[:3] else 0 for method in methods])
        designs = dict(DESIGNS)
        if is_velocity:
            designs[ONE_SIDED] = (1, None, 3e-3, 1.0)
        self.is_filtered = np.array([method in designs for method in methods])
        self.past = np.zeros((3, runs))
        self.coefficients = np.zeros((3, runs))
        states = 6
        self.a, self.b, self.c = np.zeros((runs, states, states)), np.zeros((runs, states)), np.zeros((runs, states))
        self.d = np.zeros(runs)
        self.ak, self.bk = np.zeros((runs, 2, 2)), np.zeros((runs, 2))
        self.has_smoother = np.zeros(runs, bool)
        for i, method in enumerate(methods):
            if method in designs:
                order, smoother, eps, dc = designs[method]
                step = COARSE if method == ONE_SIDED else sending
                a, b, c, d = hinfinity.tustin(hinfinity.synthesis(order, smoother, eps, dc), DT, step)
                n = len(b)
                self.a[i, :n, :n], self.b[i, :n], self.c[i, :n], self.d[i] = a, b, c, d
                if smoother:
                    self.has_smoother[i] = True
                    self.ak[i], self.bk[i] = hinfinity.smoother(smoother / DT, receiving)
        self.x, self.y, self.u = np.zeros((runs, states)), np.zeros((runs, 2)), np.zeros(runs)

    def send(self, value):
        self.past = np.array([value, *self.past[:2]])
        a, b, c = self.past
        self.u = np.einsum("ri,ri->r", self.c, self.x) + self.d * value
        zero = np.zeros_like(value)
        linear = np.where(self.order == 1, a - b, np.where(self.order == 2, 1.5 * a - 2 * b + 0.5 * c, zero))
        square = np.where(self.order == 2, 0.5 * a - b + 0.5 * c, zero)
        self.coefficients = np.array([np.where(self.is_filtered, self.filtered(), value), linear, square])

    def filtered(self):
        return np.where(self.has_smoother, self.y[:, 0], self.u)

    def value(self, x):
        c0, c1, c2 = self.coefficients
        return c0 + x * (c1 + x * c2)

    def observe(self, value, is_due=True):
        """A sample of the sender, of the runs where it is due."""
        new = np.einsum("rij,rj->ri", self.a, self.x) + self.b * value[:, None]
        self.x = new if is_due is True else np.where(is_due[:, None], new, self.x)

    def advance(self):
        """A step of the receiver."""
        self.y = np.einsum("rij,rj->ri", self.ak, self.y) + self.bk * self.u[:, None]
        self.coefficients[0] = np.where(self.is_filtered, self.filtered(), self.coefficients[0])


def cosimulate(cases, methods):
    """Runs of a case and a method each, both sides from the data of the last exchange."""
    kt, ct = np.array([VARIANTS[variant] for variant, _ in cases]).T
    torque = driver(np.array([highest for _, highest in cases]))
    runs = len(cases)
    steer, car, control = np.zeros((8, runs)), np.zeros((7, runs)), Control(runs)
    velocity, force = Channel(methods, FINE, COARSE, True), Channel(methods, COARSE, FINE, False)
    is_fresh = np.array([method == ONE_SIDED for method in methods])
    ratio = round(DT / COARSE)
    out = [shown(steer, car)]
    for k in range(round(STOP / COARSE)):
        inside = k % ratio
        if inside == 0:
            # Stale: the force under the velocity that was predicted for this point.
            stale = rod_force(car, velocity.value(1.0 if k else 0.0), kt, ct)
            velocity.send(steer[5])
            force.send(np.where(is_fresh, rod_force(car, velocity.value(0.0), kt, ct), stale))
        start = (k - inside) * COARSE
        motor = control.torque(steer)
        held = velocity.value(inside / ratio)
        sample = rod_force(car, held, kt, ct)

        def of_car(t, y):
            return vehicle(y, velocity.value((t - start) / DT), kt, ct)

        def of_steering(t, y):
            return steering(y, torque(t), motor, force.value((t - start) / DT))

        new_car = runge_kutta(of_car, car, k * COARSE, COARSE)
        for j in range(4):
            velocity_sample = steer[5]
            steer = runge_kutta(of_steering, steer, k * COARSE + j * FINE, FINE)
            velocity.observe(velocity_sample, True if j == 0 else ~is_fresh)
            force.advance()
        force.observe(sample)
        velocity.advance()
        car = new_car
        out.append(shown(steer, car))
    return np.array(out)


NAMES = ["column angle", "rack velocity", "yaw rate", "lateral velocity"]


def table():
    exact = reference(CASES)
    runs = [(case, method) for method in METHODS for case in CASES]
    with np.errstate(over="ignore", invalid="ignore"):
        found = cosimulate([case for case, _ in runs], [method for _, method in runs])
    for i, (case, method) in enumerate(runs):
        truth = exact[:, :, CASES.index(case)]
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.sqrt(np.mean((found[:, :, i] - truth) ** 2, 0)) / np.ptp(truth, 0)
        for name, error in zip(NAMES[:2] if method == ONE_SIDED else NAMES, errors):
            error = error if np.isfinite(error) else np.inf
            yield f"{case[0]}-{case[1]}Hz", method, f"NRMS of the {name}", error, ""


if __name__ == "__main__":
    rows.main(__file__, {"epas-stand-in": table})
