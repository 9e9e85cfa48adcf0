"""Masses on springs and dampers, arms around a hub, and their explicit co-simulation.

Rodríguez et al. 2022, section 3: mass i < n (an arm) owns the spring and damper to mass n (the hub), receives the
hub's position and velocity u = (x, v), and returns the force f on the hub. Its force depends on its input at once:
it has direct feed-through. The hub receives the forces and has none.

All solvers are symplectic Euler: v += h a, x += h v. Positions start at 0.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Mass:
    m: float  # kg
    k: float  # N/m, spring to the wall
    c: float  # N s/m, damper to the wall
    v: float  # m/s, at the start


@dataclass
class Star:
    """Arms are pairs of a mass and the (stiffness, damping) of its coupling to the hub."""

    arms: list
    hub: Mass
    is_root: bool = False  # spring forces k sign(e) sqrt|e| instead of k e
    is_quadratic: bool = False  # damper forces c v|v| instead of c v

    def spring(self, k, e):
        if self.is_root:
            return k * abs(e) ** 0.5 * (1.0 if e > 0 else -1.0)
        return k * e

    def damper(self, c, v):
        return c * v * abs(v) if self.is_quadratic else c * v

    def force(self, arm, x, v, u):
        """Force of arm number `arm`, at x and v, on a hub at u."""
        k, c = self.arms[arm][1]
        return self.spring(k, x - u[0]) + self.damper(c, v - u[1])

    def feedthrough(self, arm, x, v, u):
        """Derivatives of the force by both inputs. A square-root spring has none where it changes sign."""
        k, c = self.arms[arm][1]
        e, w = x - u[0], v - u[1]
        dk = 0.5 * k / abs(e) ** 0.5 if self.is_root else k
        dc = 2 * c * abs(w) if self.is_quadratic else c
        return -dk, -dc

    def start(self):
        masses = [mass for mass, _ in self.arms] + [self.hub]
        return np.array([0.0] * len(masses) + [mass.v for mass in masses])

    def energies(self, states):
        """Mechanical energy of each row (x_1 .. x_n, v_1 .. v_n) of `states`, J."""
        n = len(self.arms) + 1
        x, v = states[:, :n], states[:, n:]

        def potential(k, e):
            return 2 / 3 * k * np.abs(e) ** 1.5 if self.is_root else 0.5 * k * e**2

        energy = np.zeros(len(states))
        for i, mass in enumerate([mass for mass, _ in self.arms] + [self.hub]):
            energy += 0.5 * mass.m * v[:, i] ** 2 + potential(mass.k, x[:, i])
        for i, (_, (k, _)) in enumerate(self.arms):
            energy += potential(k, x[:, i] - x[:, -1])
        return energy

    def matrix(self):
        """A of d/dt (x, v) = A (x, v), of linear springs and dampers."""
        n = len(self.arms) + 1
        k, c = np.zeros((n, n)), np.zeros((n, n))
        for i, (mass, (k_c, c_c)) in enumerate(self.arms):
            for matrix, wall, coupling in ((k, mass.k, k_c), (c, mass.c, c_c)):
                matrix[i, i] += wall + coupling
                matrix[n - 1, n - 1] += coupling
                matrix[i, n - 1] -= coupling
                matrix[n - 1, i] -= coupling
        k[n - 1, n - 1] += self.hub.k
        c[n - 1, n - 1] += self.hub.c
        m = np.array([mass.m for mass, _ in self.arms] + [self.hub.m])[:, None]
        return np.block([[np.zeros((n, n)), np.eye(n)], [-k / m, -c / m]])

    def exact(self, times):
        """Exact states of a linear star, by eigenvalues."""
        values, vectors = np.linalg.eig(self.matrix())
        modes = np.linalg.solve(vectors, self.start().astype(complex))
        return ((np.exp(np.outer(times, values)) * modes) @ vectors.T).real

    def rates(self, state):
        """Time derivative of (x_1 .. x_n, v_1 .. v_n)."""
        n = len(self.arms) + 1
        x, v = state[:n], state[n:]
        hub = (x[n - 1], v[n - 1])
        accelerations = []
        total = 0.0
        for i, (mass, _) in enumerate(self.arms):
            f = self.force(i, x[i], v[i], hub)
            total += f
            accelerations.append((-self.spring(mass.k, x[i]) - self.damper(mass.c, v[i]) - f) / mass.m)
        hub_force = -self.spring(self.hub.k, hub[0]) - self.damper(self.hub.c, hub[1]) + total
        return list(v) + accelerations + [hub_force / self.hub.m]

    def monolithic(self, step, stop):
        """Symplectic Euler on the whole system."""
        n = len(self.arms) + 1
        state = list(self.start())
        states = [list(state)]
        for _ in range(round(stop / step)):
            rates = self.rates(state)
            for i in range(n):
                state[n + i] += step * rates[n + i]
                state[i] += step * state[n + i]
            states.append(list(state))
        return np.array(states)


def polynomial(past, order, s):
    """Extrapolates the newest-last values `past`, one macro-step apart, to s macro-steps after the last, through the
    last order + 1 of them, or through all while there are fewer."""
    order = min(order, len(past) - 1)
    if order == 0:
        return past[-1]
    if order == 1:
        return past[-1] + s * (past[-1] - past[-2])
    a, b, c = past[-1], past[-2], past[-3]
    return a + s * (1.5 * a - 2 * b + 0.5 * c) + s * s * (0.5 * a - b + 0.5 * c)


@dataclass
class Correction:
    """Energy correction, eqs 13 to 17: share mu of the residual energy, integral gain nu, and the limit of the
    correcting force relative to the uncorrected one."""

    mu: float
    nu: float = 0.0
    limit: float = 1.0


@dataclass
class Run:
    states: np.ndarray  # at the communication points
    residual: np.ndarray  # residual energy of each macro-step, J
    W_stale: float = 0.0  # energy that stale forces put into the hub, J
    W_corr: float = 0.0  # energy of the correction, J


def cosimulate(star, steps, stop, order=0, exchange="stale", correction=None):
    """Explicit parallel (Jacobi) co-simulation. `steps` are those of the arms and of the hub, s; the greater one is the
    macro-step H. The fast side extrapolates its inputs by polynomials of `order` at the start of each of its steps.

    `exchange` says which force is passed on at a communication point: "stale" is f of the state reached and the input of
    the last step, "fresh" is f of the new input, "compensated" is stale + D (new input - old input).
    """
    h_arm, h_hub = steps
    H = max(steps)
    arm_steps, hub_steps = round(H / h_arm), round(H / h_hub)
    arms = range(len(star.arms))
    state = [[0.0, mass.v] for mass, _ in star.arms]
    hub = [0.0, star.hub.v]
    u = tuple(hub)
    u_past, f_past = [u], [[star.force(i, *state[i], u) for i in arms]]
    applied = u  # input of the arms in their last step
    f_corr = uncorrected = 0.0
    residual = [0.0]
    W_stale = W_corr = 0.0
    owed = 0.0  # by how much the hub's force is wrong, W_stale's effort
    masses = [mass for mass, _ in star.arms]
    states = [[s[0] for s in state] + [hub[0]] + [s[1] for s in state] + [hub[1]]]
    for step in range(round(stop / H)):
        if step > 0:
            u_old, u = u, tuple(hub)
            W_corr += f_corr * u[1] * H
            W_stale += owed * u[1] * H
            stale = [star.force(i, *state[i], applied) for i in arms]
            if exchange == "stale":
                f = stale
            elif exchange == "fresh":
                f = [star.force(i, *state[i], u) for i in arms]
            else:
                f = []
                for i in arms:
                    d_x, d_v = star.feedthrough(i, *state[i], applied)
                    f.append(stale[i] + d_x * (u[0] - applied[0]) + d_v * (u[1] - applied[1]))
            u_past = (u_past + [u])[-3:]
            f_past = (f_past + [f])[-3:]
            # Residual energy, eqs 8 and 9 with inputs held: received less given.
            total, total_old = sum(f), sum(f_past[-2])
            power = total_old * u[1] - u_old[1] * total
            residual.append(H * power)
            owed = 0.0
            for i in arms:
                if exchange == "stale" and not star.is_root and not star.is_quadratic:
                    d_x, d_v = star.feedthrough(i, *state[i], applied)
                    owed -= d_x * (u[0] - applied[0]) + d_v * (u[1] - applied[1])
            if correction:
                # The part of the last correction that failed (eq. 15), whose velocity is known by now.
                if step > 1:
                    uncorrected += zeta + f_corr * u[1] * H
                zeta = correction.mu * H * power
                f_corr = 0.0
                if u[1] != 0.0:
                    f_corr = -(zeta + correction.nu * uncorrected) / (u[1] * H)
                    limit = correction.limit * abs(total)
                    f_corr = max(-limit, min(limit, f_corr))
        # Both sides advance from the data of this communication point.
        f_total = [sum(values) for values in f_past]
        for j in range(hub_steps):
            force = polynomial(f_total, order, j / hub_steps) if hub_steps > 1 else f_total[-1]
            x, v = hub
            a = (-star.spring(star.hub.k, x) - star.damper(star.hub.c, v) + force + f_corr) / star.hub.m
            v += h_hub * a
            hub = [x + h_hub * v, v]
        for j in range(arm_steps):
            if arm_steps > 1:
                xs, vs = [p[0] for p in u_past], [p[1] for p in u_past]
                applied = (polynomial(xs, order, j / arm_steps), polynomial(vs, order, j / arm_steps))
            else:
                applied = u
            for i in arms:
                x, v = state[i]
                mass = masses[i]
                f = star.force(i, x, v, applied)
                v += h_arm * (-star.spring(mass.k, x) - star.damper(mass.c, v) - f) / mass.m
                state[i] = [x + h_arm * v, v]
        states.append([s[0] for s in state] + [hub[0]] + [s[1] for s in state] + [hub[1]])
    W_corr += f_corr * hub[1] * H
    W_stale += owed * hub[1] * H
    return Run(np.array(states), np.array(residual), W_stale, W_corr)


def errors(star, states, exact, step):
    """E_end, E_max, E_last: the energy's error at the end, its greatest magnitude, its mean over the last second, J;
    root mean square errors of the hub's position and of arm 1's, m."""
    n = len(star.arms) + 1
    error = star.energies(states) - star.energies(exact)
    rms = np.sqrt(np.mean((states[:, :n] - exact[:, :n]) ** 2, axis=0))
    last = round(1 / step)
    return error[-1], np.abs(error).max(), error[-last - 1:].mean(), rms[n - 1], rms[0]
