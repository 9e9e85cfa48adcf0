"""Mechanics of the cranes of Rahikainen et al. 2020, section 3, many runs at once (the first index of all arrays).

Coordinates q = (x_P, y_P, th_1, x_R, y_R): the centre of link 1, its angle, the end of link 2. Three constraints hold
link 1 at the origin and the length of link 2. Two actuators: 1 from B to P, 2 from the origin to R / 2.
"""

import numpy as np

L, LH, M1, MP, MH, G = 1.0, 0.5, 200.0, 250.0, 100.0, 9.81
XB = 3**0.5 / 2
MASS = np.array([M1 + 4 * MP, M1 + 4 * MP, M1 * L**2 / 12, MH, MH])
GRAVITY = np.array([0, -(M1 + 2 * MP) * G, 0, 0, -MH * G])
START = np.array([XB / 2, 0.25, np.pi / 6, XB, 0.0])

ALPHA, OMEGA, XI = 1e7, 10.0, 1.0  # ALI1, table 1 of the paper
ALPHA_3 = 4e6  # ALI3-P: alpha H^2, kg; a fixed alpha breaks down at small H
# ALI3-P: end of the iteration, m. Rows of the constraints' Jacobian sum to at most 3 sqrt(2), so they hold to 4.3e-12.
UNCHANGED = 1e-12


def lengths(q, v):
    """Lengths of the actuators and their rates, each (runs, 2)."""
    s, sd = np.empty((len(q), 2)), np.empty((len(q), 2))
    dx = q[:, 0] - XB
    s[:, 0] = np.sqrt(dx**2 + q[:, 1] ** 2)
    sd[:, 0] = (dx * v[:, 0] + q[:, 1] * v[:, 1]) / s[:, 0]
    r = np.sqrt(q[:, 3] ** 2 + q[:, 4] ** 2)
    s[:, 1] = r / 2
    sd[:, 1] = (q[:, 3] * v[:, 3] + q[:, 4] * v[:, 4]) / (2 * r)
    return s, sd


def actuators(q, v):
    """Jacobian A of the lengths, (runs, 2, 5), and A' v, (runs, 2)."""
    s, sd = lengths(q, v)
    a = np.zeros((len(q), 2, 5))
    a[:, 0, 0] = (q[:, 0] - XB) / s[:, 0]
    a[:, 0, 1] = q[:, 1] / s[:, 0]
    a[:, 1, 3:] = q[:, 3:] / (4 * s[:, 1:])
    rate = np.empty((len(q), 2))
    rate[:, 0] = (v[:, 0] ** 2 + v[:, 1] ** 2 - sd[:, 0] ** 2) / s[:, 0]
    rate[:, 1] = ((v[:, 3] ** 2 + v[:, 4] ** 2) / 4 - sd[:, 1] ** 2) / s[:, 1]
    return a, rate


def constraints(q, v=None):
    """Constraints Phi, their Jacobian, and (with v) Jacobian' v."""
    sin, cos = np.sin(q[:, 2]), np.cos(q[:, 2])
    dx, dy = q[:, 3] - 2 * q[:, 0], q[:, 4] - 2 * q[:, 1]
    phi = np.stack([q[:, 0] - L / 2 * cos, q[:, 1] - L / 2 * sin, dx**2 + dy**2 - LH**2], 1)
    j = np.zeros((len(q), 3, 5))
    j[:, 0, 0] = j[:, 1, 1] = 1
    j[:, 0, 2], j[:, 1, 2] = L / 2 * sin, -L / 2 * cos
    j[:, 2, 0], j[:, 2, 1], j[:, 2, 3], j[:, 2, 4] = -4 * dx, -4 * dy, 2 * dx, 2 * dy
    if v is None:
        return phi, j
    dvx, dvy = v[:, 3] - 2 * v[:, 0], v[:, 4] - 2 * v[:, 1]
    w2 = L / 2 * v[:, 2] ** 2
    return phi, j, np.stack([cos * w2, sin * w2, 2 * (dvx**2 + dvy**2)], 1)


def times(matrix, vector):
    return (matrix @ vector[:, :, None])[:, :, 0]


def transposed(matrix, vector):
    """matrix^T vector."""
    return (vector[:, None, :] @ matrix)[:, 0, :]


def energy(q, v):
    """Mechanical energy, J."""
    return 0.5 * (v**2 @ MASS) + (M1 + 2 * MP) * G * q[:, 1] + MH * G * q[:, 4]


class Piston:
    """Friction and end dampers of the pistons, (runs, 2), which velocity-pressure coupling leaves to the mechanics."""

    C, KD, CD, LD = 1e5, 1e7, 5e3, 0.008

    def __init__(self, l1_0, l2_0, s_0, present):
        self.l1_0, self.l2_0, self.s_0 = l1_0, l2_0, s_0  # m, at the start
        self.present = present  # 0 where there is no actuator

    def of(self, places):
        """Those of some runs."""
        return Piston(self.l1_0, self.l2_0, self.s_0, self.present[places])

    def passive(self, s, sd):
        """Friction and end dampers: the force and its derivatives -c and -k."""
        l1, l2 = self.l1_0 + s - self.s_0, self.l2_0 - (s - self.s_0)
        low, high = l1 <= self.LD, l2 <= self.LD
        contact = low | high
        c = self.C + self.CD * contact
        f = -c * sd + self.KD * ((self.LD - l1) * low - (self.LD - l2) * high)
        return f * self.present, c * self.present, self.KD * contact * self.present


class Forces:
    """Input of a step: actuator forces, or the pressures' forces together with the piston's passive law."""

    def __init__(self, force, piston=None):
        self.force, self.piston = force, piston

    def generalized(self, q, v):
        """Q, and C and K of the passive law (0 without)."""
        a, _ = actuators(q, v)
        if self.piston is None:
            return GRAVITY + transposed(a, self.force), None, None
        f, c, k = self.piston.passive(*lengths(q, v))
        q_all = GRAVITY + transposed(a, self.force + f)
        return q_all, np.einsum("rik,ri,ril->rkl", a, c, a), np.einsum("rik,ri,ril->rkl", a, k, a)


def free_acceleration(q, v, generalized):
    """Constrained acceleration under generalized forces."""
    _, j, jd = constraints(q, v)
    mu = np.linalg.solve((j / MASS) @ j.transpose(0, 2, 1), (times(j, generalized / MASS) + jd)[:, :, None])
    return (generalized - transposed(j, mu[:, :, 0])) / MASS


def interface_model(q, v):
    """Inverse of M_eff (eq. 13), (runs, 2, 2), and M_eff^-1 Q_eff (eq. 14 with A' q' and A P_c q''), (runs, 2)."""
    a, rate = actuators(q, v)
    b = times(a, free_acceleration(q, v, np.broadcast_to(GRAVITY, q.shape))) + rate
    _, j = constraints(q)
    am = a / MASS
    projected = am @ j.transpose(0, 2, 1)
    inverse = am @ a.transpose(0, 2, 1)
    inverse -= projected @ np.linalg.solve((j / MASS) @ j.transpose(0, 2, 1), projected.transpose(0, 2, 1))
    return inverse, b


class IndexOne:
    """ALI1 (eqs 2a, 2b) with semi-implicit Euler."""

    def __init__(self, runs):
        self.q = np.tile(START, (runs, 1))
        self.v = np.zeros((runs, 5))
        self.multipliers = np.zeros((runs, 3))

    def step(self, h, forces):
        q, v = self.q, self.v
        phi, j, jd = constraints(q, v)
        generalized, _, _ = forces.generalized(q, v)
        stabilised = jd + 2 * XI * OMEGA * times(j, v) + OMEGA**2 * phi
        jt = j.transpose(0, 2, 1)
        inverse = np.linalg.inv(np.diag(MASS) + ALPHA * jt @ j)
        active = np.ones(len(q), bool)
        a = np.empty_like(q)
        for _ in range(10):
            right = generalized - transposed(j, self.multipliers + ALPHA * stabilised)
            new = times(inverse, right)
            a[active] = new[active]
            violation = times(j, a) + stabilised
            self.multipliers[active] += ALPHA * violation[active]
            active &= np.abs(violation).max(1) >= 1e-9
            if not active.any():
                break
        self.v = v + h * a
        self.q = q + h * self.v


class IndexThree:
    """ALI3-P (eqs 3 to 7) with the trapezoidal rule; `restart` takes the acceleration at the start of a step with the new
    input instead of that of the last step. The length h of a step is a number, or that of each run, (runs, 1)."""

    def __init__(self, runs, restart):
        self.q = np.tile(START, (runs, 1))
        self.v = np.zeros((runs, 5))
        self.a = np.zeros((runs, 5))
        self.multipliers = np.zeros((runs, 3))
        self.restart = np.array(restart)

    def step(self, h, forces):
        q_n, v_n, a_n = self.q, self.v, self.a
        if self.restart.any():
            generalized, _, _ = forces.generalized(q_n, v_n)
            fresh = free_acceleration(q_n, v_n, generalized)
            a_n = np.where(self.restart[:, None], fresh, a_n)
        alpha = ALPHA_3 / h**2
        h_matrix = np.reshape(h, (-1, 1, 1))
        q = q_n + h * v_n + h**2 / 2 * a_n
        multipliers = self.multipliers.copy()
        active = np.ones(len(q), bool)
        for _ in range(30):
            v = 2 / h * (q - q_n) - v_n
            a = 4 / h**2 * (q - q_n) - 4 / h * v_n - a_n
            phi, j = constraints(q)
            generalized, c, k = forces.generalized(q, v)
            residual = h**2 / 4 * (MASS * a + transposed(j, alpha * phi + multipliers) - generalized)
            base = np.diag(MASS) if c is None else np.diag(MASS) + h_matrix / 2 * c + h_matrix**2 / 4 * k
            tangent = base + ALPHA_3 / 4 * j.transpose(0, 2, 1) @ j
            change = -np.linalg.solve(tangent, residual[:, :, None])[:, :, 0]
            q = np.where(active[:, None], q + change, q)
            phi, _ = constraints(q)
            multipliers = np.where(active[:, None], multipliers + alpha * phi, multipliers)
            active &= np.abs(change).max(1) >= UNCHANGED
            if not active.any():
                break
        v = 2 / h * (q - q_n) - v_n
        a = 4 / h**2 * (q - q_n) - 4 / h * v_n - a_n
        # Projections of eqs 6 and 7; the factor in (7) is h^2 / 4.
        _, j = constraints(q)
        _, c, k = forces.generalized(q, v)
        base = np.diag(MASS) if c is None else np.diag(MASS) + h_matrix / 2 * c + h_matrix**2 / 4 * k
        jt = j.transpose(0, 2, 1)
        tangent = base + ALPHA_3 / 4 * jt @ j
        base = np.broadcast_to(base, tangent.shape)
        self.v = np.linalg.solve(tangent, times(base, v)[:, :, None])[:, :, 0]
        _, _, jd = constraints(q, self.v)
        right = times(base, a) - ALPHA_3 / 4 * transposed(j, jd)
        self.a = np.linalg.solve(tangent, right[:, :, None])[:, :, 0]
        self.q, self.multipliers = q, multipliers
