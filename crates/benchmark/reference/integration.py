"""Integration of ordinary differential equations to a given error: Dormand and Prince 5(4), with steps that follow the
error estimate. Kinks and square roots in the right-hand side only make the steps short."""

import numpy as np

# Dormand & Prince 1980, coefficients of the stages, and the difference of the two results.
A = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
C = [1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]
E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
A = [np.array(row) for row in A]


def solve(rates, start, times, tolerance=1e-11, scale=1.0):
    """States at `times` from `start` at times[0]; rates(t, y) is a sequence. The error of a step is kept below
    `tolerance` times max(scale, |y|), component by component."""
    y = np.array(start, float)
    scale = np.broadcast_to(np.asarray(scale, float), y.shape)
    out = [y]
    h = (times[1] - times[0]) / 10
    k = np.empty((7, len(y)))
    k[0] = rates(times[0], y)
    for t, end in zip(times[:-1], times[1:]):
        while t < end:
            step = min(h, end - t)
            for stage, (a, c) in enumerate(zip(A, C), 1):
                new = y + step * (a @ k[:stage])
                k[stage] = rates(t + c * step, new)
            error = np.abs(step * (E @ k) / np.maximum(scale, np.abs(new))).max() / tolerance
            factor = 0.9 * max(error, 1e-10) ** -0.2
            if error <= 1 or step < 1e-13:
                last = step == end - t
                t = end if last else t + step
                y = new
                k[0] = k[6]
                if step == h or error > 0.1:
                    h = step * min(5.0, max(0.2, factor))
            else:
                h = step * max(0.1, factor)
        out.append(y)
    return np.array(out)
