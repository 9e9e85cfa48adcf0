"""H-infinity coupling: Chen et al. 2021, section 3: synthesis of the compensator K1, and its discrete filters.

Time is in units of the macro-step. P = H* K2 is what follows the compensator: the hold's approximation 12 / (s^2 + 6 s + 12)
and the smoother, a Butterworth filter of order 2 (or none). The compensator minimises the greatest |W_f (1 - P K1)|, W_f a
Butterworth filter. All is feed-forward: one Riccati equation. Without a weight on the control the problem is singular;
eps = 2e-4 gives the printed compensators of eqs 13 and 14 back.
"""

import numpy as np

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
    """Zeros, poles and gain of K1, and the least gamma. `order` is that of W_f, `smoother` the frequency of K2 or None."""
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
    low, high = 1e-7, 2.0
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        if riccati(a, b1, b2, c1, middle, eps) is None:
            low = middle
        else:
            high = middle
    x = riccati(a, b1, b2, c1, 1.02 * high, eps)
    feedback = -b2.T @ x / eps**2
    closed = a + b2 @ feedback
    poles = [pole for pole in np.linalg.eigvals(closed) if abs(pole) < 50]  # a fast pole is replaced by its gain
    if order > 1:
        extra = np.roots(np.trim_zeros(np.poly(closed - b1 @ feedback) - np.poly(closed), "f"))
        known = np.linalg.eigvals(ap)
        extra = [z for z in extra if abs(z) < 50 and np.abs(known - z).min() > 1e-3 * abs(z)]
        zeros += sorted(extra, key=abs)[: order - 1]
    projected = []
    for pole in poles:
        z = 1 + DISC_STEP * pole
        if abs(z) > DISC_RADIUS:
            z *= DISC_RADIUS / abs(z)
        projected.append((z - 1) / DISC_STEP)
    zeros, poles = np.array(zeros), np.array(projected)
    gain = dc * (np.prod(-poles) / np.prod(-zeros)).real
    return zeros, poles, gain, high


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
