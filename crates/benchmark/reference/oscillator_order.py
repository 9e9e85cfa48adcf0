"""Order of couplings: the partitioned oscillator of the tutorials of preCICE.

github.com/precice/tutorials, oscillator/solver-python/problemDefinition.py; Schüller, Rodenberg, Uekermann and Bungartz 2022,
A Simple Test Case for Convergence Order in Time and Energy Conservation of Black-Box Coupling Schemes.

Two masses of 1 kg between three springs; each half is x'' = -w^2 x + f with w^2 = k + k_12, and receives f = k_12 x of the
other. A half makes exact steps for the polynomial f that it receives: x(s) = q(s) + (x - q(0)) cos ws + (v - q'(0))/w sin ws
with q = f/w^2 - f''/w^4. All error is that of the coupling. Order: of the rms error at the times that both macro-steps have.
"""

import numpy as np

import rows

K, K_12 = 4 * np.pi**2, 16 * np.pi**2
W = np.sqrt(K + K_12)
START = [(1.0, 0.0), (0.0, 0.0)]
STEPS, STOP = (2.5e-3, 1.25e-3), 1.0


def exact(times):
    slow, fast = np.cos(2 * np.pi * times) / 2, np.cos(6 * np.pi * times) / 2
    return np.stack([slow + fast, slow - fast], axis=1)


def advance(state, f, step):
    """The state of a half after a step; f: coefficients of its input about the start of the step, ascending."""
    x, v = state
    f = np.array(list(f) + [0.0] * (4 - len(f)))
    second = np.array([2 * f[2], 6 * f[3], 0.0, 0.0])
    q = f / W**2 - second / W**4
    cos, sin = np.cos(W * step), np.sin(W * step)
    a, b = x - q[0], (v - q[1]) / W
    end, rate = q @ step ** np.arange(4), np.arange(1, 4) * q[1:] @ step ** np.arange(3)
    return end + a * cos + b * sin, rate + W * (b * cos - a * sin)


def predict(word, past, rate, step):
    """Coefficients of an extrapolation. past: values at the last communication points, newest first; rate: slope of the newest."""
    f = list(past)
    if word == "hold" or word == "hermite" and rate is None:
        return [f[0]]
    if word == "hermite":
        return [f[0], rate, (f[1] - f[0] + rate * step) / step**2 if len(f) > 1 else 0.0]
    if word == "linear" and len(f) > 1:
        return [f[0], (f[0] - f[1]) / step]
    if word == "quadratic" and len(f) > 1:
        if len(f) == 2:
            return predict("linear", past, rate, step)
        bend = (f[0] - 2 * f[1] + f[2]) / (2 * step**2)
        return [f[0], (1.5 * f[0] - 2 * f[1] + 0.5 * f[2]) / step, bend]
    if word in ("mean-hold", "secant-linear"):
        of = predict("linear" if word == "mean-hold" else "quadratic", past, rate, step)
        mean = sum(c * step**n / (n + 1) for n, c in enumerate(of))
        end = sum(c * step**n for n, c in enumerate(of))
        return [mean] if word == "mean-hold" else [2 * mean - end, 2 * (end - mean) / step]
    return [f[0]]


def couple(method, word, follows, step):
    """Positions at the macro-steps; `follows`: the highest derivative of inputs that the halves take."""
    states = list(START)
    pasts = [[K_12 * state[0]] for state in states]
    positions = [[state[0] for state in states]]

    def extrapolated(half):
        of = 1 - half
        return predict(word, pasts[of], K_12 * states[of][1], step)[: follows + 1]

    def line(of, end):
        """From the newest value of half `of` to `end`; the latter alone where lines cannot be followed."""
        return [pasts[of][0], (end - pasts[of][0]) / step] if follows else [end]

    for _ in range(round(STOP / step)):
        if method == "jacobi":
            states = [advance(states[half], extrapolated(half), step) for half in (0, 1)]
        elif method in ("gauss-seidel", "mean-force"):
            left = advance(states[0], extrapolated(0), step)
            end = K_12 * left[0]
            given = line(0, end) if method == "gauss-seidel" else [(pasts[0][0] + end) / 2]
            states = [left, advance(states[1], given, step)]
        else:
            ends = [past[0] for past in pasts]
            for _ in range(100):
                new = [advance(states[half], line(1 - half, ends[1 - half]), step) for half in (0, 1)]
                change = max(abs(K_12 * new[half][0] - ends[half]) for half in (0, 1))
                ends = [K_12 * half[0] for half in new]
                if change < 1e-12 * K_12:
                    break
            states = new
        pasts = [[K_12 * state[0]] + past[:2] for state, past in zip(states, pasts)]
        positions.append([state[0] for state in states])
    return np.array(positions)


WAYS = {
    "hold": ("jacobi", "hold"),
    "linear": ("jacobi", "linear"),
    "quadratic": ("jacobi", "quadratic"),
    "hermite": ("jacobi", "hermite"),
    "mean-hold": ("jacobi", "mean-hold"),
    "secant-linear of quadratic": ("jacobi", "secant-linear"),
    "gauss-seidel, hold": ("gauss-seidel", "hold"),
    "gauss-seidel, linear": ("gauss-seidel", "linear"),
    "gauss-seidel, quadratic": ("gauss-seidel", "quadratic"),
    "gauss-seidel, mean-hold": ("gauss-seidel", "mean-hold"),
    "mean-force, hold": ("mean-force", "hold"),
    "mean-force, linear": ("mean-force", "linear"),
    "mean-force, mean-hold": ("mean-force", "mean-hold"),
    "iterative": ("iterative", "hold"),
}


def table():
    times = np.arange(round(STOP / STEPS[0]) + 1) * STEPS[0]
    solution = exact(times)
    for case, follows in (("curves", 3), ("lines", 1), ("values", 0)):
        for name, (method, word) in WAYS.items():
            errors = []
            for step in STEPS:
                positions = couple(method, word, follows, step)[:: round(STEPS[0] / step)]
                errors.append(np.sqrt(np.mean((positions - solution) ** 2)))
            yield case, name, "order", np.log2(errors[0] / errors[1]), ""
            yield case, name, "rms x", errors[1], "m"


if __name__ == "__main__":
    rows.main(__file__, {"oscillator-order": table})
