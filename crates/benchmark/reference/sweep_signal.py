"""A sine of growing frequency, sent every 10 ms: Chen et al. 2021, section 3.4, figure 5. 20 s, steps of 1 ms."""

import numpy as np

import hinfinity
import rows
from star import polynomial

DT, H, STEPS = 10e-3, 1e-3, 20000
MICRO = round(DT / H)
SWEEPS = {"30Hz": 30.0, "10Hz": 10.0, "3Hz": 3.0}

# Eqs 13 and 14 without the pairs of poles and zeros near -1900 and -6.28 that nearly cancel. The printed ones have no
# gain; that of the least gamma gives 0.9830 and 0.9797 at frequency 0.
EQUATION_13 = (([1, 599.9, 1.2e5], [1, 444.3, 9.87e4]), ([1, 2240, 1.392e6], [1, 774.8, 7.154e5]), 0.9830, 50.0)
EQUATION_14 = (([1, 600, 1.2e5], [1, 266.6, 3.553e4]), ([1, 1870, 9.674e5], [1, 617.6, 5.111e5]), 0.9797, 30.0)


def printed(equation):
    zeros, poles = (np.concatenate([np.roots(p) for p in side]) * DT for side in equation[:2])
    return zeros, poles, equation[2] * (np.prod(-poles) / np.prod(-zeros)).real


def held(signal, order):
    past, out = [signal[0]] * (order + 1), []
    for i, y in enumerate(signal):
        if i % MICRO == 0:
            past = past[1:] + [y]
        out.append(polynomial(past, order, i % MICRO / MICRO))
    return np.array(out)


def compensated(signal, design, frequency):
    a, b, c, d = hinfinity.tustin(design, DT, H)
    ak, bk = hinfinity.smoother(frequency, H)
    x, y2, out = np.zeros(len(b)), np.zeros(2), []
    for i, y in enumerate(signal):
        if i % MICRO == 0:
            u = c @ x + d * y
        out.append(y2[0])
        x = a @ x + b * y
        y2 = ak @ y2 + bk * u
    return np.array(out)


def table():
    own = hinfinity.synthesis(1, 0.5, 2e-4, 0.983)
    t = np.arange(STEPS + 1) * H
    for case, highest in SWEEPS.items():
        signal = np.sin(2 * np.pi * (0.001 * t + (highest - 0.001) * t**2 / 40))
        received = {name: held(signal, order) for order, name in enumerate(("hold", "linear", "quadratic"))}
        received["h-infinity, eq. 13"] = compensated(signal, printed(EQUATION_13), EQUATION_13[3])
        received["h-infinity, eq. 14"] = compensated(signal, printed(EQUATION_14), EQUATION_14[3])
        received["h-infinity, own synthesis"] = compensated(signal, own, 50.0)
        for name, values in received.items():
            yield case, name, "NRMS", np.sqrt(np.mean((values - signal) ** 2)) / 2, ""


if __name__ == "__main__":
    rows.main(__file__, {"sweep-signal": table})
