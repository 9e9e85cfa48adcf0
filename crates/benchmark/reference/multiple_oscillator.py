"""Multiple oscillator: Rodríguez et al. 2022, table 2: two or four masses around one; steps of 1 ms, 10 s."""

import numpy as np

import rows
from star import Correction, Mass, Star, cosimulate, errors

H, STOP = 1e-3, 10.0

# Table 2: number of masses, damping of all dampers, N s/m.
TABLE_2 = {"1": (3, 0.0), "2": (3, 0.1), "3": (5, 0.0), "4": (5, 0.1)}

RUNS = {
    "stale": {},
    # The limit of the paper for this system: 25 % of the uncorrected force.
    "corrected": {"correction": Correction(0.5, limit=0.25)},
    "compensated": {"exchange": "compensated"},
    "fresh": {"exchange": "fresh"},
}


def table():
    times = np.arange(round(STOP / H) + 1) * H
    units = {"E_end": "J", "E_max": "J", "E_last": "J", "rms xn": "m", "rms x1": "m"}
    for case, (n, c) in TABLE_2.items():
        star = Star([(Mass(1, 10, c, 100.0), (100, c))] * (n - 1), Mass(1, 1000, c, -100.0))
        exact = star.exact(times)
        results = {name: cosimulate(star, (H, H), STOP, **options).states for name, options in RUNS.items()}
        results["monolithic"] = star.monolithic(H, STOP)
        for name, states in results.items():
            for (metric, unit), value in zip(units.items(), errors(star, states, exact, H)):
                yield case, name, metric, value, unit


if __name__ == "__main__":
    rows.main(__file__, {"multiple-oscillator": table})
