"""Implicit coupling of linear units: the states that waveform iteration converges to, and how fast the plain iteration does.

A unit is x' = A x + B u, y = C x + D u, solved exactly over a macro-step H (or by symplectic Euler in inner steps), with its
inputs u = L y either held at the values of the step's end ("held"), or on the line from the values at its start to those
at its end ("lines"). Converged, y(t+H) = C x(t+H) + D u(t+H) closes the loop, so that a step is the solution of linear
equations.

Pairs: the double oscillator of Rodríguez et al. 2022 (table 1), coupled by force and motion; the same with a light mass 2
and a strong damper, and an integrator against a gain, on which the plain iteration diverges.
"""

from dataclasses import dataclass

import numpy as np

import rows
from double_oscillator import table_1
from star import Mass, Star


@dataclass
class Unit:
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray


@dataclass
class Step:
    """x(t+H) = Phi x + G0 u(t) + G1 u(t+H)."""

    Phi: np.ndarray
    G0: np.ndarray
    G1: np.ndarray


def exponential(matrix):
    """e^matrix, by halving and the Taylor series."""
    halvings = max(0, int(np.ceil(np.log2(max(np.abs(matrix).sum(axis=1).max(), 1e-300)))) + 4)
    matrix = matrix / 2.0**halvings
    term, total = np.eye(len(matrix)), np.eye(len(matrix))
    for n in range(1, 17):
        term = term @ matrix / n
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def exact_step(unit, H, inputs):
    """Of the integrals of e^(A (H - s)) B and of e^(A (H - s)) B s/H over 0 … H."""
    n, m = unit.B.shape
    block = np.zeros((n + 2 * m, n + 2 * m))
    block[:n, :n] = unit.A * H
    block[:n, n : n + m] = unit.B * H
    block[n : n + m, n + m :] = np.eye(m)
    block = exponential(block)
    held, risen = block[:n, n : n + m], block[:n, n + m :]
    if inputs == "held":
        return Step(block[:n, :n], 0 * held, held)
    return Step(block[:n, :n], held - risen, risen)


def euler_step(unit, H, inputs, inner):
    """Of symplectic Euler, for the state (x, v): v += h a, x += h v, with the inputs at the start of each inner step."""
    count = round(H / inner)
    kick, drift = np.eye(2), np.eye(2)
    kick[1] += inner * unit.A[1]
    drift[0, 1] = inner
    one, force = drift @ kick, drift @ np.vstack([0 * unit.B[1], inner * unit.B[1]])
    step = Step(np.eye(2), 0 * unit.B, 0 * unit.B)
    for j in range(count):
        share = 1.0 if inputs == "held" else j / count
        step = Step(one @ step.Phi, one @ step.G0 + (1 - share) * force, one @ step.G1 + share * force)
    return step


def diagonal(blocks):
    out = np.zeros(np.sum([block.shape for block in blocks], axis=0))
    i = j = 0
    for block in blocks:
        out[i : i + block.shape[0], j : j + block.shape[1]] = block
        i, j = i + block.shape[0], j + block.shape[1]
    return out


@dataclass
class Pair:
    units: list
    L: np.ndarray  # inputs of both units from the outputs of both
    start: np.ndarray  # states of both units

    def stacked(self, name):
        return diagonal([getattr(unit, name) for unit in self.units])

    def inputs(self):
        """K of u = K x, which closes the loop at a communication point."""
        return np.linalg.solve(np.eye(len(self.L)) - self.L @ self.stacked("D"), self.L @ self.stacked("C"))

    def implicit(self, steps):
        """The matrix of a converged macro-step of both units."""
        K = self.inputs()
        Phi, G0, G1 = (diagonal([getattr(step, name) for step in steps]) for name in ("Phi", "G0", "G1"))
        return np.linalg.solve(np.eye(len(Phi)) - G1 @ K, Phi + G0 @ K)

    def after(self, steps, count):
        return np.linalg.matrix_power(self.implicit(steps), count) @ self.start

    def monolithic(self, time):
        K = self.inputs()
        return exponential((self.stacked("A") + self.stacked("B") @ K) * time) @ self.start

    def radius(self, steps):
        """Spectral radius of the plain iteration u(t+H) -> L y(t+H), both units at once (Jacobi). Of two units in a
        ring, one after the other (Gauss–Seidel) has its square."""
        G1 = diagonal([step.G1 for step in steps])
        return np.abs(np.linalg.eigvals(self.L @ (self.stacked("C") @ G1 + self.stacked("D")))).max()


def oscillator(star):
    """Outputs: x1, v1, f of the unit with mass 1, x2, v2 of the one with mass 2. Inputs: x2, v2; f."""
    (one, (k, c)), two = star.arms[0], star.hub
    A1 = np.array([[0, 1], [-(one.k + k) / one.m, -(one.c + c) / one.m]])
    B1 = np.array([[0, 0], [k / one.m, c / one.m]])
    C1, D1 = np.array([[1, 0], [0, 1], [k, c]]), np.array([[0, 0], [0, 0], [-k, -c]])
    A2, B2 = np.array([[0, 1], [-two.k / two.m, -two.c / two.m]]), np.array([[0], [1 / two.m]])
    L = np.zeros((3, 5))
    L[0, 3] = L[1, 4] = L[2, 2] = 1
    units = [Unit(A1, B1, C1, D1), Unit(A2, B2, np.eye(2), np.zeros((2, 1)))]
    return Pair(units, L, np.array([0.0, one.v, 0.0, two.v]))


def integrator(g):
    """x' = u with y1 = x, and y2 = -g u: x' = -g x, from 1. Converged, a step divides by 1 + g H if held, and multiplies
    by (1 - g H/2) / (1 + g H/2) with lines."""
    gain = Unit(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.array([[-g]]))
    units = [Unit(np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1))), gain]
    return Pair(units, np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0]))


def stiff_oscillator(damper):
    return oscillator(Star([(Mass(10.0, 10.0, 0.0, 1.0), (100.0, damper))], Mass(0.1, 1000.0, 0.0, -1.0)))


# Units of the state of an oscillator.
STATE = {"x1": "m", "v1": "m/s", "x2": "m", "v2": "m/s"}


def table():
    for case in "12":
        pair = oscillator(table_1(case))
        yield from states(f"oscillator {case}", "monolithic, 1 s", pair.monolithic(1.0))
        for inputs in ("held", "lines"):
            solved = [exact_step(unit, 1 / 128, inputs) for unit in pair.units]
            yield from states(f"oscillator {case}", f"{inputs}, H 1/128 s, 1 s", pair.after(solved, 128))
            inner = [euler_step(unit, 0.01, inputs, 0.001) for unit in pair.units]
            yield from states(f"oscillator {case}", f"{inputs}, symplectic Euler, H 10 ms, 1 s", pair.after(inner, 100))
            yield from orders(f"oscillator {case}", inputs, pair)
    for damper in (30.0, 100.0):
        pair = stiff_oscillator(damper)
        case = f"stiff oscillator, {damper:g} N s/m"
        yield from states(case, "monolithic, 0.1 s", pair.monolithic(0.1))
        for inputs in ("held", "lines"):
            solved = [exact_step(unit, 0.01, inputs) for unit in pair.units]
            yield from states(case, f"{inputs}, H 10 ms, 0.1 s", pair.after(solved, 10))
            yield from radii(case, f"{inputs}, H 10 ms", pair, solved)
            inner = [euler_step(unit, 0.01, inputs, 0.001) for unit in pair.units]
            configuration = f"{inputs}, symplectic Euler, H 10 ms"
            yield from states(case, configuration + ", 0.1 s", pair.after(inner, 10))
            yield from radii(case, configuration, pair, inner)
    for g in (30.0, 100.0):
        pair = integrator(g)
        for inputs in ("held", "lines"):
            solved = [exact_step(unit, 0.1, inputs) for unit in pair.units]
            configuration = f"{inputs}, H 0.1 s"
            yield f"integrator, {g:g} 1/s", configuration, "x after 1 step", pair.after(solved, 1)[0], ""
            yield f"integrator, {g:g} 1/s", configuration, "x after 10 steps", pair.after(solved, 10)[0], ""
            yield from radii(f"integrator, {g:g} 1/s", configuration, pair, solved)


def states(case, configuration, state):
    for (name, unit), value in zip(STATE.items(), state):
        yield case, configuration, name, value, unit


def radii(case, configuration, pair, steps):
    radius = pair.radius(steps)
    yield case, configuration, "spectral radius, Jacobi", radius, ""
    yield case, configuration, "spectral radius, Gauss-Seidel", radius**2, ""


def orders(case, inputs, pair):
    """Errors of the state after 1 s against the monolithic solution, velocities in m/s and positions in m alike."""
    exact = pair.monolithic(1.0)
    errors = {}
    for k in range(6, 13):
        solved = [exact_step(unit, 2.0**-k, inputs) for unit in pair.units]
        errors[k] = np.linalg.norm(pair.after(solved, 2**k) - exact)
        yield case, f"{inputs}, H 1/{2**k} s, 1 s", "error of the state", errors[k], ""
    for k in range(7, 13):
        yield case, f"{inputs}, H 1/{2**k} s, 1 s", "order", np.log2(errors[k - 1] / errors[k]), ""


if __name__ == "__main__":
    rows.main(__file__, {"iteration": table}, digits=15)
