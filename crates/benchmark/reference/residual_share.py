"""The share mu of the residual energy that is an error: Rodríguez et al. 2022, section 3.3.

In a run without correction, the energy's error is regressed on the residual energy: mu = sum(zeta dE) / sum(dE^2), where
zeta is the change of the energy's error in a macro-step of an undamped oscillator. 3 s (case 3 of table 1: 1 s), H = 1 ms.
"""

import numpy as np

import rows
from double_oscillator import table_1
from star import cosimulate

H = 1e-3
RATIOS = (1, 2, 3, 5, 10, 20, 100)


def share(star, run):
    """Regression of the energy's error on the residual energy, both summed from the start."""
    energy = star.energies(run.states)
    error = energy - energy[0]
    residual = np.cumsum(np.append(run.residual, 0.0))[: len(error)]
    return (error @ residual) / (residual @ residual)


def table():
    star = table_1("1")
    for speed in ("slow", "fast"):
        for name, order in (("hold", 0), ("linear", 1)):
            for ratio in RATIOS:
                steps = (H, H / ratio) if speed == "slow" else (H / ratio, H)
                run = cosimulate(star, steps, 3.0, order)
                yield f"{speed}-{name}", f"R = {ratio}", "mu", share(star, run), ""
    for case in ("1", "3", "5", "7", "8"):
        star = table_1(case)
        run = cosimulate(star, (H, H), 1.0 if case == "3" else 3.0)
        yield "by-case", f"table 1, case {case}", "mu", share(star, run), ""


if __name__ == "__main__":
    rows.main(__file__, {"residual-share": table})
