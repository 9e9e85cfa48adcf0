"""A third crane with two actuators, of the kind of Rahikainen et al. 2020 with less friction and heavier loads: the macro-steps
that an interface model with impulses holds with displacement corrections of 0.5 and 1.

Masses of 400 and 180 kg, friction of 60 kN s/m, a throttle of 4 mm, hoses of 15 and 18 ml before it, and the spools' programs
exchanged; restarted ALI3-P and pressures, exchanges each millisecond, 30 s. A macro-step holds where neither length is
off by more than 0.2 mm in the root mean square. The parameters are of this project.
"""

import numpy as np

import crane_mechanics as mechanics
import cranes
import hydraulics
import rows

CASE = "double-c"
CRANE = (2, "c")
LIMIT = 2e-4  # m
FIRST, LAST, GRID = 10, 60, 2  # ms


def choose_crane():
    """Gives the modules the parameters of this crane."""
    mp, mh = 400.0, 180.0
    mechanics.MP, mechanics.MH = mp, mh
    at_p = mechanics.M1 + 4 * mp
    mechanics.MASS = np.array([at_p, at_p, mechanics.M1 * mechanics.L**2 / 12, mh, mh])
    mechanics.GRAVITY = np.array([0, -(mechanics.M1 + 2 * mp) * mechanics.G, 0, 0, -mh * mechanics.G])
    mechanics.Piston.C = 6e4
    hydraulics.VARIANTS["c"] = (4e-3, np.array([1.5e-5, 1.8e-5]))
    hydraulics.PROGRAMS = hydraulics.PROGRAMS[::-1]
    # Statics: the first actuator is vertical to the lever of half of link 1, at 30 degrees.
    hydraulics.LOAD = np.array([2 * (mechanics.M1 / 2 + mp + mh) * mechanics.G, 0.0])


def errors(gains, steps):
    """Root mean square errors of both lengths, m, by gain and macro-step in ms; infinite where a run breaks off."""
    exact = cranes.reference(CRANE)
    runs = [(CRANE, "restarted ALI3-P", "pressure", step, gain) for gain in gains for step in steps]
    found = {}
    for (*_, step, gain), states in zip(runs, cranes.impulses(runs)):
        expected = exact[::step]
        is_whole = len(states) == len(expected)
        found[gain, step] = [
            cranes.rms(states[:, i] - expected[:, i]) if is_whole else np.inf for i in (0, 1)
        ]
    return found


def table():
    choose_crane()
    steps = range(FIRST, LAST + 1, GRID)
    gains = (0.5, 1.0)
    found = errors(gains, steps)
    for gain in gains:
        name = f"impulse, displacement correction {gain:g}"
        fails = [step for step in steps if max(found[gain, step]) > LIMIT]
        yield CASE, name, "every H holds up to", float(min(fails, default=LAST + GRID) - GRID), "ms"
        yield CASE, name, "largest H that does not hold", float(max(fails, default=0)), "ms"
        yield CASE, name, "macro-steps that hold", float(len(steps) - len(fails)), ""
        for step in (10, 50):
            yield CASE, f"{name}, {step} ms", "rms s1", found[gain, step][0], "m"
            yield CASE, f"{name}, {step} ms", "rms s2", found[gain, step][1], "m"


if __name__ == "__main__":
    np.seterr(all="ignore")  # runs may diverge
    rows.main(__file__, {"crane": table})
