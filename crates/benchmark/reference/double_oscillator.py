"""Double oscillator: Rodríguez et al. 2022, table 1, at a single rate and with rates of 1 : 10.

Steps of 1 ms (and 0.1 ms), 10 s, against the exact solution.
"""

import numpy as np

import rows
from star import Correction, Mass, Star, cosimulate, errors

H, STOP = 1e-3, 10.0

# Table 1: masses, kg; stiffnesses k_1, k_c, k_2, N/m; all dampings, N s/m.
TABLE_1 = {
    "1": ((1, 1), (10, 100, 1000), 0),
    "2": ((1, 1), (10, 100, 1000), 0.1),
    "3": ((1, 1), (10, 1000, 100), 0),
    "4": ((1, 1), (10, 1000, 100), 0.1),
    "5": ((1, 1), (1000, 100, 10), 0),
    "6": ((1, 1), (1000, 100, 10), 0.1),
    "7": ((10, 1), (10, 100, 1000), 0),
    "8": ((1, 10), (10, 100, 1000), 0),
}
ORDERS = {"hold": 0, "linear": 1, "quadratic": 2}


def table_1(case):
    (m1, m2), (k1, kc, k2), c = TABLE_1[case]
    return Star([(Mass(m1, k1, c, 100.0), (kc, c))], Mass(m2, k2, c, -100.0))


def share(speed, order, ratio):
    """mu by eqs 20 and 21; `ratio` >= 1 is that of the slow step to the fast one."""
    if speed == "slow":  # the side with direct feed-through is the slow one
        return 0.5 * (1.5 - 0.5 / ratio) if order == 0 else 0.5
    return 0.5 if order == 0 else 0.5 / ratio


def table():
    times = np.arange(round(STOP / H) + 1) * H
    for case in TABLE_1:
        star = table_1(case)
        exact = star.exact(times)
        runs = {
            "stale": {},
            "corrected": {"correction": Correction(0.5)},
            "compensated": {"exchange": "compensated"},
            "fresh": {"exchange": "fresh"},
        }
        if case == "7":
            runs["corrected, nu 0.25"] = {"correction": Correction(0.5, 0.25)}
        for name, options in runs.items():
            run = cosimulate(star, (H, H), STOP, **options)
            yield from metrics(case, name, star, run.states, exact)
            if TABLE_1[case][2] == 0:
                yield from audit(case, name, run)
        yield from metrics(case, "monolithic", star, star.monolithic(H, STOP), exact)
    star = table_1("1")
    exact = star.exact(times)
    for speed, steps in (("slow", (H, H / 10)), ("fast", (H / 10, H))):
        for extrapolation, order in ORDERS.items():
            runs = {
                "stale": {},
                "corrected": {"correction": Correction(share(speed, order, 10))},
                "compensated": {"exchange": "compensated"},
                "fresh": {"exchange": "fresh"},
            }
            for name, options in runs.items():
                run = cosimulate(star, steps, STOP, order, **options)
                yield from metrics(f"{speed}-{extrapolation}", name, star, run.states, exact)


def metrics(case, name, star, states, exact):
    units = {"E_end": "J", "E_max": "J", "E_last": "J", "rms x2": "m", "rms x1": "m"}
    for (metric, unit), value in zip(units.items(), errors(star, states, exact, H)):
        yield case, name, metric, value, unit


def audit(case, name, run):
    """Energies that the staleness of the force and the correction really put into the hub, and the share of the residual
    energy that the former was."""
    if name not in ("stale", "corrected"):
        return
    yield case, name, "W_stale", run.W_stale, "J"
    if name == "corrected":
        yield case, name, "W_corr", run.W_corr, "J"
        yield case, name, "mu in hindsight", run.W_stale / run.residual.sum(), ""
        left = abs(run.W_stale + run.W_corr) / abs(run.W_stale)
        yield case, name, "verdict", "harmed" if left >= 1 else "helped" if left < 0.6 else "uncertain", ""


if __name__ == "__main__":
    rows.main(__file__, {"double-oscillator": table})
