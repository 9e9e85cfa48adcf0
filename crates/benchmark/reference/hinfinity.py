"""H-infinity coupling: Chen et al. 2021, section 3: synthesis of the compensator K1, and its discrete filters.

Time is in units of the macro-step. P = H* K2 is what follows the compensator: the hold's approximation 12 / (s^2 + 6 s + 12)
and the smoother, a Butterworth filter of order 2 (or none). The compensator minimises the greatest |W_f (1 - P K1)|, W_f a
Butterworth filter. All is feed-forward: one Riccati equation. Without a weight on the control the problem is singular;
eps = 2e-4 gives the printed compensators of eqs 13 and 14 back.

The rows: compensators of some settings, those of the paper beside them, and what a ramp becomes. Tests cite them.
"""

import numpy as np

import rows

HOLD = (12.0, 6.0)  # w^2 and damping of H*
DISC_STEP, DISC_RADIUS = 0.1, 0.97  # all poles p have |1 + DISC_STEP p| <= DISC_RADIUS


def block(w2, damping):
    """States (y, y' / w) of w^2 / (s^2 + damping s + w^2): A, B, C."""
    w = w2**0.5
    return np.array([[0, w], [-w, -damping]]), np.array([[0.0], [w]]), np.array([[1.0, 0.0]])


def series(first, second):
    (a1, b1, c1), (a2, b2, c2) = first, second
    a = np.block([[a1, np.zeros((len(a1), len(a2)))], [b2 @ c1, a2]])
    return a, np.vstack([b1, np.zeros((len(a2), 1))]), np.hstack([np.zeros((1, len(a1))), c2])


def weight(order):
    """Butterworth filter of order 1 to 3, with 0.01, 0.03 or 0.06 of the sampling frequency."""
    w = 2 * np.pi * {1: 0.01, 2: 0.03, 3: 0.06}[order]
    first = np.array([[-w]]), np.array([[w]]), np.array([[1.0]])
    if order == 1:
        return first
    second = block(w * w, 2**0.5 * w if order == 2 else w)
    return second if order == 2 else series(first, second)


def riccati(a, b1, b2, c1, gamma, eps):
    """Stabilising solution of the game's Riccati equation, or None."""
    h = np.block([[a, b1 @ b1.T / gamma**2 - b2 @ b2.T / eps**2], [-c1.T @ c1, -a.T]])
    s = h
    for _ in range(100):  # the matrix sign, by Newton's iteration with scaling
        inverse = np.linalg.inv(s)
        c = (np.linalg.norm(inverse) / np.linalg.norm(s)) ** 0.5
        new = (c * s + inverse / c) / 2
        change = np.linalg.norm(new - s) / np.linalg.norm(new)
        s = new
        if change < 1e-13:
            break
    else:
        if change > 1e-8:
            return None
    n = len(a)
    one = np.eye(n)
    x = np.linalg.lstsq(np.vstack([s[:n, n:], s[n:, n:] + one]), -np.vstack([s[:n, :n] + one, s[n:, :n]]), rcond=None)[0]
    x = (x + x.T) / 2
    closed = a + (b1 @ b1.T / gamma**2 - b2 @ b2.T / eps**2) @ x
    if np.linalg.eigvalsh(x).min() < -1e-8 * np.abs(x).max() or np.linalg.eigvals(closed).real.max() >= 0:
        return None
    return x


def synthesis(order=1, smoother=0.5, eps=2e-4, dc=1.0):
    """Zeros, poles and gain of K1, the least gamma, and the poles before they are moved into the disc. `order` is that of W_f, `smoother` the frequency of K2 or None."""
    p = block(*HOLD)
    zeros = list(np.roots([1, HOLD[1], HOLD[0]]))
    if smoother is not None:
        w = 2 * np.pi * smoother
        p = series(p, block(w * w, 2**0.5 * w))
        zeros += list(np.roots([1, 2**0.5 * w, w * w]))
    ap, bp, cp = p
    aw, bw, cw = weight(order)
    n, m = len(ap), len(aw)
    a = np.block([[ap, np.zeros((n, m))], [-bw @ cp, aw]])
    b1, b2 = np.vstack([np.zeros((n, 1)), bw]), np.vstack([bp, np.zeros((m, 1))])
    c1 = np.hstack([np.zeros((1, n)), cw])
    high = least_gamma(a, b1, b2, c1, eps)
    x = riccati(a, b1, b2, c1, 1.02 * high, eps)
    feedback = -b2.T @ x / eps**2
    closed = a + b2 @ feedback
    poles = [pole for pole in np.linalg.eigvals(closed) if abs(pole) < 50]  # a fast pole is replaced by its gain
    if order > 1:
        extra = np.roots(np.trim_zeros(np.poly(closed - b1 @ feedback) - np.poly(closed), "f"))
        known = np.linalg.eigvals(ap)
        extra = [z for z in extra if abs(z) < 50 and np.abs(known - z).min() > 1e-3 * abs(z)]
        zeros += sorted(extra, key=abs)[: order - 1]
    raw, projected = poles, []
    for pole in raw:
        z = 1 + DISC_STEP * pole
        if abs(z) > DISC_RADIUS:
            z *= DISC_RADIUS / abs(z)
        projected.append((z - 1) / DISC_STEP)
    zeros, poles = np.array(zeros), np.array(projected)
    gain = dc * (np.prod(-poles) / np.prod(-zeros)).real
    return zeros, poles, gain, high, np.array(raw)


def held(order):
    """H* of a hold of order 0 to 2: ((1 - exp(-s)) / s)^(order + 1) times 1, 1 + s or 1 + 1.5 s + s^2; A, B, C."""
    numerator, denominator = np.array([1.0]), np.array([1.0])
    for _ in range(order + 1):
        numerator = np.polymul(numerator, [HOLD[0]])
        denominator = np.polymul(denominator, [1.0, HOLD[1], HOLD[0]])
    numerator = np.polymul(numerator, [[1], [1, 1], [1, 1.5, 1]][order])
    n = len(denominator) - 1
    w = denominator[-1] ** (1 / n)  # of the states, which are derivatives over powers of it
    a = np.zeros((n, n))
    a[:-1, 1:] = w * np.eye(n - 1)
    a[-1] = [-denominator[n - i] / w ** (n - 1 - i) for i in range(n)]
    b = np.zeros((n, 1))
    b[-1] = w
    powers = numerator[::-1]
    return a, b, np.array([[powers[i] / w ** (n - i) if i < len(powers) else 0.0 for i in range(n)]])


def with_hold(hold, order, eps, smoother=0.5, frequency=0.05):
    """The least gamma with a hold of this order as H*, and |1 - H* K2 K1| at a frequency times the macro-step."""
    w = 2 * np.pi * smoother
    ap, bp, cp = series(held(hold), block(w * w, 2**0.5 * w))
    aw, bw, cw = weight(order)
    n, m = len(ap), len(aw)
    a = np.block([[ap, np.zeros((n, m))], [-bw @ cp, aw]])
    b1, b2 = np.vstack([np.zeros((n, 1)), bw]), np.vstack([bp, np.zeros((m, 1))])
    c1 = np.hstack([np.zeros((1, n)), cw])
    gamma = least_gamma(a, b1, b2, c1, eps)
    closed = a - b2 @ b2.T @ riccati(a, b1, b2, c1, 1.02 * gamma, eps) / eps**2
    s = 2j * np.pi * frequency
    passed = np.hstack([cp, np.zeros((1, m))]) @ np.linalg.solve(s * np.eye(n + m) - closed, b1)
    return gamma, abs(1 - passed[0, 0])


def least_gamma(a, b1, b2, c1, eps):
    low, high = 1e-7, 2.0
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        if riccati(a, b1, b2, c1, middle, eps) is None:
            low = middle
        else:
            high = middle
    return high


def tustin(design, macro, step):
    """Discrete filter (A, B, C, D) of a compensator for macro-steps of `macro` s, sampled every `step` s."""
    zeros, poles, gain = design[:3]
    zeros, poles = zeros / macro, poles / macro
    n = len(poles)
    scale = abs(np.prod(poles)) ** (1 / n)
    denominator = np.poly(poles / scale).real
    numerator = gain * np.poly(zeros / scale).real
    if len(numerator) < n + 1:
        numerator = np.concatenate([np.zeros(n + 1 - len(numerator)), numerator * scale ** (len(zeros) - n)])
    a = np.zeros((n, n))
    a[:-1, 1:] = np.eye(n - 1)
    a[-1] = -denominator[:0:-1]
    b = np.zeros(n)
    b[-1] = 1.0
    d = numerator[0]
    c = (numerator[1:] - d * denominator[1:])[::-1]
    h = step * scale / 2
    inverse = np.linalg.inv(np.eye(n) - h * a)
    ad = inverse @ (np.eye(n) + h * a)
    return ad, inverse @ b * 2 * h, c @ inverse, d + h * c @ inverse @ b


def exponential(a, t):
    """exp(a t), by eigenvalues."""
    values, vectors = np.linalg.eig(a)
    return (vectors * np.exp(values * t) @ np.linalg.inv(vectors)).real


def smoother(frequency, step):
    """K2 of a frequency in Hz over a step with its input held: A, B; its output is the first state."""
    w = 2 * np.pi * frequency
    a, _, _ = block(w * w, 2**0.5 * w)
    ad = exponential(a, step)
    return ad, np.array([1.0, 0.0]) - ad[:, 0]


# Order of W_f, frequency of the smoother, and eps.
SETTINGS = [
    (1, 0.5, 2e-4),
    (1, 0.3, 2e-4),
    (1, 0.5, 1e-3),
    (2, 0.5, 1e-3),
    (3, 0.5, 1e-3),
    (1, None, 3e-3),
    (2, None, 3e-3),
    (3, None, 3e-3),
    (2, None, 1e-2),
]
# Eqs 13 and 14, for macro-steps of 10 ms, as printed: numerator and denominator without a gain; frequency of the smoother.
PRINTED_STEP = 10e-3
PRINTED = {
    "eq. 13": (([1, 1942.9], [1, 6.2789], [1, 599.9, 1.2e5], [1, 444.3, 9.87e4]),
               ([1, 1924.0], [1, 6.2837], [1, 2240, 1.392e6], [1, 774.8, 7.154e5]), 0.5),
    "eq. 14": (([1, 1682.9], [1, 6.2825], [1, 600, 1.2e5], [1, 266.6, 3.553e4]),
               ([1, 1470.1], [1, 6.2833], [1, 1870, 9.674e5], [1, 617.6, 5.111e5]), 0.3),
}  # fmt: skip


def response(design, s):
    """K1(s) of zeros, poles and gain."""
    zeros, poles, gain = design[:3]
    return gain * np.prod(s[:, None] - zeros, 1) / np.prod(s[:, None] - poles, 1)


def weighted_errors(k1, s, smoother, order=1):
    """|W_f (1 - P K1)| at s."""

    def value(system):
        a, b, c = system
        return np.array([(c @ np.linalg.solve(x * np.eye(len(a)) - a, b))[0, 0] for x in s])

    w = 2 * np.pi * smoother
    p = value(series(block(*HOLD), block(w * w, 2**0.5 * w)))
    weights = value(weight(order))
    return lambda factor: np.abs(weights * (1 - factor * p * k1))


def least(f, low, high):
    """Place of the minimum of f, by the golden section."""
    golden = (5**0.5 - 1) / 2
    while high - low > 1e-9 * high:
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if f(a) < f(b) else (a, high)
    return (low + high) / 2


def compare(name):
    """Rows of a printed compensator: its missing factor, and how far the synthesis is from it."""
    *sides, smoother = PRINTED[name]
    zeros, poles = (np.concatenate([np.roots(p) for p in side]) * PRINTED_STEP for side in sides)
    frequencies = np.arange(5001) * 1e-3  # up to 5 / macro-step
    s = 2j * np.pi * frequencies
    printed = response((zeros, poles, 1.0), s)
    errors = weighted_errors(printed, s, smoother)
    unit_gain = 1 / printed[0].real
    # |W_f (1 - P K1)| is flat over a wide band, as that of an optimum is, under one factor only.
    factor = least(lambda x: errors(x).max(), 0.5 * unit_gain, 1.5 * unit_gain)
    static_gain = factor / unit_gain
    yield name, "printed", "factor for static gain 1", unit_gain, ""
    yield name, "printed", "factor of the least peak", factor, ""
    yield name, "printed", "static gain", static_gain, ""
    yield name, "printed", "peak", errors(factor).max(), ""
    design = synthesis(1, smoother, 2e-4, round(static_gain, 4))
    own = response(design, s)
    difference = np.abs(own / (factor * printed) - 1)
    yield name, "eps 0.0002", "peak", weighted_errors(own, s, smoother)(1.0).max(), ""
    for limit in (0.5, 1, 5):
        within = difference[frequencies <= limit + 1e-9].max()
        yield name, "eps 0.0002", f"greatest difference up to {limit} / macro-step", within, ""


def table():
    for order, smoother, eps in SETTINGS:
        zeros, _, gain, gamma, raw = synthesis(order, smoother, eps)
        case, name = f"order {order}", f"{'no smoother' if smoother is None else f'smoother {smoother}'}, eps {eps:g}"
        yield case, name, "gamma", gamma, ""
        yield case, name, "K1(infinity)", gain, ""
        own = zeros[2 if smoother is None else 4 :]
        for kind, roots in (("pole", raw), ("zero", own)):
            upper = sorted((root for root in roots if root.imag >= -1e-9), key=abs)
            for number, root in enumerate(upper, 1):
                yield case, name, f"{kind} {number}, real", root.real, ""
                if root.imag > 1e-9:
                    yield case, name, f"{kind} {number}, imaginary", root.imag, ""
    for name in PRINTED:
        yield from compare(name)
    # Appendix B: the hold that H* stands for. K1 makes up for it, with two states more for each order.
    for order, eps in ((1, 2e-4), (2, 1e-3), (3, 1e-3)):
        for hold in range(3):
            gamma, error = with_hold(hold, order, eps)
            name = f"H* of order {hold}, smoother 0.5, eps {eps:g}"
            yield f"order {order}", name, "gamma", gamma, ""
            yield f"order {order}", name, "error at 0.05 / macro-step", error, ""
    # A held ramp is half a macro-step late. The compensator sends it ahead of its time by its slope K1'(0), K1(0) = 1.
    zeros, poles = synthesis(1, None, 3e-3)[:2]
    lead = (np.sum(1 / poles) - np.sum(1 / zeros)).real
    yield "ramp", "no smoother, eps 0.003", "lead", lead, "macro-steps"
    yield "ramp", "no smoother, eps 0.003", "part of the hold's delay that stays", 1 - lead / 0.5, ""


if __name__ == "__main__":
    rows.main(__file__, {"hinfinity": table})
