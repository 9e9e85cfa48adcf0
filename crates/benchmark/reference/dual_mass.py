"""Dual mass: Chen et al. 2021, section 4.1, on the four systems of figures 7 to 10 and on 2000 random ones.

Two masses, steps of 1 ms of forward Euler, exchanges every 50 ms, 5 s. Mass 1 owns the spring to mass 2, integrates the
received velocity, and sends the force. The ranges of the random parameters are a stand-in: the paper's are not public.
"""

import numpy as np

import hinfinity
import rows
from star import polynomial

H, MICRO, STEPS = 1e-3, 50, 5000
DT = H * MICRO

# Figures 7 to 10: m1, m2, k1, k2, kc, dc, d1, d2.
FIGURES = np.array([
    [8.6856, 6.7863, 176.6611, 895.8553, 171.7, 0.0857, 3.6585, 16.4162],
    [3.2365, 8.9549, 120.5520, 995.0490, 701.9907, 12.5715, 20.2187, 231.6654],
    [0.0901, 2.8877, 871.8076, 712.9230, 654.9675, 0.5438, 8.6864, 86.5947],
    [9.9049, 0.3935, 586.9352, 956.6108, 741.3214, 40.3909, 50.9125, 20.1711],
])  # fmt: skip


def random_systems(count=2000, seed=2021):
    """SplitMix64, in the order m1, m2, k1, k2, kc, dc, zeta1, zeta2; systems that forward Euler cannot step are left out."""
    mask, state, systems = 2**64 - 1, seed, []
    scales = (10, 10, 1000, 1000, 1000, 50, 2, 2)
    while len(systems) < count:
        draws = []
        for scale in scales:
            state = (state + 0x9E3779B97F4A7C15) & mask
            z = state
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
            z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
            draws.append(((z ^ (z >> 31)) >> 11) * 2.0**-53 * scale)
        m1, m2, k1, k2, kc, dc, zeta1, zeta2 = draws
        system = [m1, m2, k1, k2, kc, dc, zeta1 * (m1 * k1) ** 0.5, zeta2 * (m2 * k2) ** 0.5]
        if is_steppable(system):
            systems.append(system)
    return np.array(systems)


def is_steppable(system):
    m1, m2, k1, k2, kc, dc, d1, d2 = system
    whole = [
        [-(d1 + dc) / m1, -(k1 + kc) / m1, dc / m1, kc / m1],
        [1, 0, 0, 0],
        [dc / m2, kc / m2, -(d2 + dc) / m2, -(k2 + kc) / m2],
        [0, 0, 1, 0],
    ]
    first = [[-(d1 + dc) / m1, -(k1 + kc) / m1], [1, 0]]
    second = [[-d2 / m2, -k2 / m2], [1, 0]]
    return all(np.abs(np.linalg.eigvals(np.eye(len(a)) + H * np.array(a))).max() < 1 for a in (whole, first, second))


class Polynomial:
    """Extrapolation of an order from the values that were sent."""

    def __init__(self, order, shape):
        self.order, self.past = order, [np.zeros(shape) for _ in range(order + 1)]

    def memory(self):
        return self.past

    def send(self, y):
        self.past = self.past[1:] + [y]

    def value(self, j):
        return polynomial(self.past, self.order, j / MICRO)

    def observe(self, y, received):
        pass


class Compensated:
    """H-infinity: the sender's compensator, the receiver's smoother (or a hold), and NEPCE of a gain."""

    def __init__(self, design, smoother, nepce, shape):
        self.a, self.b, self.c, self.d = hinfinity.tustin(design, DT, H)
        self.x = np.zeros((len(self.b), *shape))
        self.k2 = hinfinity.smoother(smoother, H) if smoother else None
        self.y, self.u = np.zeros((2, *shape)), np.zeros(shape)
        self.nepce, self.error = nepce, np.zeros(shape)

    def memory(self):
        return [*self.x, *(self.y if self.k2 else []), self.u, *([self.error] if self.nepce else [])]

    def send(self, y):
        self.u = np.tensordot(self.c, self.x, 1) + self.d * y
        if self.nepce:
            self.u = self.u + self.nepce * self.error / DT

    def value(self, j):
        return self.y[0] if self.k2 else self.u

    def observe(self, y, received):
        self.x = np.tensordot(self.a, self.x, 1) + np.multiply.outer(self.b, y)
        if self.nepce:
            self.error = self.error + H * (y - received)
        if self.k2:
            a, b = self.k2
            self.y = np.tensordot(a, self.y, 1) + np.multiply.outer(b, self.u)


BOTH = hinfinity.synthesis(1, 0.5, 2e-4, 0.983)
ONE_SIDED = hinfinity.synthesis(1, None, 3e-3, 1.0)


def channels(method, shape):
    """Those of the velocity and of the force."""
    nepce = 0.1 if "nepce" in method else 0.0
    if method.startswith("h-infinity"):
        return [Compensated(BOTH, 0.5 / DT, nepce, shape) for _ in range(2)]
    if method.startswith("one-sided"):
        return [Compensated(ONE_SIDED, None, nepce, shape), Polynomial(0, shape)]
    order = ("hold", "linear", "quadratic").index(method.split(",")[0])
    return [Polynomial(order, shape) for _ in range(2)]


METHODS = [
    "hold, stale",
    "linear, stale",
    "quadratic, stale",
    "h-infinity, stale",
    "h-infinity with nepce, stale",
    "hold, fresh",
    "linear, fresh",
    "quadratic, fresh",
    "one-sided, fresh",
    "one-sided with nepce, fresh",
]


class Pair:
    """The two masses; arrays of any shape that broadcasts with the parameters'."""

    def __init__(self, parameters, method, shape):
        self.parameters = parameters
        self.is_fresh = method.endswith("fresh")
        self.of_v, self.of_f = channels(method, shape)
        self.state = [np.zeros(shape) for _ in range(5)]  # v1, x1, xc, v2, x2
        self.received = np.zeros(shape)  # velocity that mass 1 used last

    def force(self, received):
        _, _, _, _, kc, dc, _, _ = self.parameters
        v1, x1, xc, _, _ = self.state
        return kc * (x1 - xc) + dc * (v1 - received)

    def exchange(self):
        stale = None if self.is_fresh else self.force(self.of_v.value(MICRO))
        self.of_v.send(self.state[3])
        self.of_f.send(self.force(self.of_v.value(0)) if self.is_fresh else stale)

    def micro_step(self, j, external):
        """Returns the velocity and the force of its start."""
        m1, m2, k1, k2, kc, dc, d1, d2 = self.parameters
        v1, x1, xc, v2, x2 = self.state
        received = self.of_v.value(j)
        into = self.of_f.value(j)
        f = self.force(received)
        self.of_v.observe(v2, received)
        self.of_f.observe(f, into)
        self.state = [
            v1 + H / m1 * (-k1 * x1 - d1 * v1 - f),
            x1 + H * v1,
            xc + H * received,
            v2 + H / m2 * (-k2 * x2 - d2 * v2 + into + external),
            x2 + H * v2,
        ]
        return v2, f


def spectral_radii(systems, method):
    """Of a macro-step's matrix, without one eigenvalue of 1, the drift of the integrated velocity."""
    count = len(systems)
    probe = Pair(None, method, (1, 1))
    n = 5 + sum(len(channel.memory()) for channel in (probe.of_v, probe.of_f))
    pair = Pair([p[:, None] for p in systems.T], method, (count, n))
    cells = iter(range(n))

    def basis():
        a = np.zeros((count, n))
        a[:, next(cells)] = 1
        return a

    pair.state = [basis() for _ in range(5)]
    for channel in (pair.of_v, pair.of_f):
        if isinstance(channel, Polynomial):
            channel.past = [basis() for _ in channel.past]
        else:
            channel.x = np.array([basis() for _ in channel.x])
            if channel.k2:
                channel.y = np.array([basis(), basis()])
            channel.u = basis()
            if channel.nepce:
                channel.error = basis()
    pair.exchange()
    for j in range(MICRO):
        pair.micro_step(j, 0.0)
    matrix = np.stack([*pair.state, *pair.of_v.memory(), *pair.of_f.memory()], 1)
    values = np.linalg.eigvals(matrix)
    nearest = np.abs(values - 1).argmin(1)
    values[np.arange(count), nearest] = 0
    return np.abs(values).max(1)


def courses(systems, method, pulses):
    """Velocity of mass 2 and force of the coupling at the start of each micro-step, after pulses of 1 N and so many
    milliseconds at 1 s and 4 s; and the same of the whole system (method None)."""
    pulses = np.asarray(pulses)[None, :]
    shape = (len(systems), pulses.shape[1])
    parameters = [p[:, None] for p in systems.T]
    pair = Pair(parameters, method or "hold, fresh", shape)
    for i in range(STEPS):
        external = 1.0 * ((i >= 1000) & (i < 1000 + pulses) | (i >= 4000) & (i < 4000 + pulses))
        if method is None:
            m1, m2, k1, k2, kc, dc, d1, d2 = parameters
            v1, x1, _, v2, x2 = pair.state
            f = kc * (x1 - x2) + dc * (v1 - v2)
            yield v2, f
            pair.state = [
                v1 + H / m1 * (-k1 * x1 - d1 * v1 - f),
                x1 + H * v1,
                None,
                v2 + H / m2 * (-k2 * x2 - d2 * v2 + f + external),
                x2 + H * v2,
            ]
            continue
        if i % MICRO == 0:
            pair.exchange()
        yield pair.micro_step(i % MICRO, external)


def errors(systems, methods, pulses):
    """Root mean square errors of velocity and force over the range of the whole system's, per method."""
    shape = (2, len(systems), len(pulses))
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    sums = {method: np.zeros(shape) for method in methods}
    with np.errstate(over="ignore", invalid="ignore"):
        for values in zip(courses(systems, None, pulses), *(courses(systems, method, pulses) for method in methods)):
            exact = np.array(values[0])
            low, high = np.minimum(low, exact), np.maximum(high, exact)
            for method, found in zip(methods, values[1:]):
                sums[method] += (np.array(found) - exact) ** 2
        return {method: np.sqrt(total / STEPS) / (high - low) for method, total in sums.items()}


def table():
    found = errors(FIGURES, METHODS, [200])
    for method in METHODS:
        radii = spectral_radii(FIGURES, method)
        for i in range(len(FIGURES)):
            yield str(i + 1), method, "spectral radius", radii[i], ""
            yield str(i + 1), method, "NRMS of v, 200 ms", found[method][0, i, 0], ""
            yield str(i + 1), method, "NRMS of F, 200 ms", found[method][1, i, 0], ""
    systems = random_systems()
    pulses = (1, 50, 200)
    for method in METHODS:
        unstable = int((spectral_radii(systems, method) > 1 + 1e-7).sum())
        yield "random", method, "unstable systems", float(unstable), ""
        if method == "one-sided, fresh":  # the same systems as FMUs
            yield "one-sided", method, "unstable systems", float(unstable), ""
    for group in (METHODS[:5], METHODS[5:]):
        for method, both in errors(systems, group, pulses).items():
            greatest = np.nan_to_num(both.max(0), nan=np.inf)
            for i, pulse in enumerate(pulses):
                for limit in ("0.05", "0.1", "0.2", "0.3", "0.5"):
                    count = float((greatest[:, i] > float(limit)).sum())
                    yield "random", method, f"error > {limit}, {pulse} ms", count, ""
                    if (method, limit, pulse) == ("one-sided, fresh", "0.2", 200):
                        yield "one-sided", method, f"error > {limit}, {pulse} ms", count, ""


if __name__ == "__main__":
    rows.main(__file__, {"dual-mass": table})
