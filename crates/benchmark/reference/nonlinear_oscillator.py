"""Nonlinear oscillator: Rodríguez et al. 2022, table 3: square-root springs, quadratic dampers; steps of 1 ms, 10 s."""

import numpy as np

import integration
import rows
from star import Correction, Mass, Star, cosimulate, errors

H, STOP = 1e-3, 10.0


def table_3(case):
    """Case 1: springs k sign(e) sqrt|e|, undamped. Case 2: linear springs, dampers c v|v| with c = 0.001 N s2/m2."""
    c = 0.0 if case == "1" else 0.001
    return Star(
        [(Mass(1, 10, c, 100.0), (100, c))], Mass(1, 1000, c, -100.0), is_root=case == "1", is_quadratic=case == "2"
    )


RUNS = {
    "stale": {},
    "corrected": {"correction": Correction(0.5)},
    "corrected, nu 0.25": {"correction": Correction(0.5, 0.25)},
    "corrected, mu 1": {"correction": Correction(1.0)},
    "compensated": {"exchange": "compensated"},
    "fresh": {"exchange": "fresh"},
}


def exact(star, times):
    return integration.solve(lambda _, state: star.rates(state.tolist()), star.start(), times, 1e-14)


def table():
    times = np.arange(round(STOP / H) + 1) * H
    units = {"E_end": "J", "E_max": "J", "E_last": "J", "rms x2": "m", "rms x1": "m"}
    for case in ("1", "2"):
        star = table_3(case)
        reference = exact(star, times)
        results = {name: cosimulate(star, (H, H), STOP, **options).states for name, options in RUNS.items()}
        results["monolithic"] = star.monolithic(H, STOP)
        for name, states in results.items():
            for (metric, unit), value in zip(units.items(), errors(star, states, reference, H)):
                yield case, name, metric, value, unit


if __name__ == "__main__":
    rows.main(__file__, {"nonlinear-oscillator": table})
