"""A third crane with two actuators, of the kind of Rahikainen et al. 2020 with less friction and heavier loads: the macro-steps
that an interface model with impulses holds with displacement corrections of 0.5 and 1; and with a sixth of that friction the
greatest speed with 0.5 and with the correction that the friction allows.

Masses of 400 and 180 kg, friction of 60 kN s/m, a throttle of 4 mm, hoses of 15 and 18 ml before it, and the spools' programs
exchanged; restarted ALI3-P and pressures, exchanges each millisecond, 30 s. A macro-step holds where neither length is
off by more than 0.2 mm in the root mean square. The parameters are of this project.
"""

import numpy as np

import crane_mechanics as mechanics
import cranes
import hydraulics
import rows

CRANE = (2, "c")
FRICTION = {"double-c": 6e4, "double-d": 1e4}  # N s/m
CALM = (10, 12, 14, 17, 20, 24, 30)  # ms
LIMIT = 2e-4  # m
FIRST, LAST, GRID = 10, 60, 2  # ms


def choose_crane():
    """Gives the modules the parameters of this crane, but for the friction."""
    mp, mh = 400.0, 180.0
    mechanics.MP, mechanics.MH = mp, mh
    at_p = mechanics.M1 + 4 * mp
    mechanics.MASS = np.array([at_p, at_p, mechanics.M1 * mechanics.L**2 / 12, mh, mh])
    mechanics.GRAVITY = np.array([0, -(mechanics.M1 + 2 * mp) * mechanics.G, 0, 0, -mh * mechanics.G])
    hydraulics.VARIANTS["c"] = (4e-3, np.array([1.5e-5, 1.8e-5]))
    hydraulics.PROGRAMS = hydraulics.PROGRAMS[::-1]
    # Statics: the first actuator is vertical to the lever of half of link 1, at 30 degrees.
    hydraulics.LOAD = np.array([2 * (mechanics.M1 / 2 + mp + mh) * mechanics.G, 0.0])


def outcomes(gains, steps):
    """Root mean square errors of both lengths, m, and the greatest rate over the true one, by gain and macro-step in ms;
    infinite where a run breaks off."""
    exact = cranes.reference(CRANE)
    runs = [(CRANE, "restarted ALI3-P", "pressure", step, gain) for gain in gains for step in steps]
    true_rate = np.abs(exact[:, [2, 5]]).max()
    found = {}
    for (*_, step, gain), states in zip(runs, cranes.impulses(runs)):
        expected = exact[::step]
        is_whole = len(states) == len(expected)
        errors = [cranes.rms(states[:, i] - expected[:, i]) if is_whole else np.inf for i in (0, 1)]
        found[gain, step] = *errors, np.abs(states[:, 2:]).max() / true_rate if is_whole else np.inf
    return found


def table():
    choose_crane()
    mechanics.Piston.C = FRICTION["double-c"]
    steps, gains = range(FIRST, LAST + 1, GRID), (0.5, 1.0)
    found = outcomes(gains, steps)
    for gain in gains:
        case, name = "double-c", f"impulse, displacement correction {gain:g}"
        fails = [step for step in steps if max(found[gain, step][:2]) > LIMIT]
        yield case, name, "every H holds up to", float(min(fails, default=LAST + GRID) - GRID), "ms"
        yield case, name, "largest H that does not hold", float(max(fails, default=0)), "ms"
        yield case, name, "macro-steps that hold", float(len(steps) - len(fails)), ""
        for step in (10, 50):
            yield case, f"{name}, {step} ms", "rms s1", found[gain, step][0], "m"
            yield case, f"{name}, {step} ms", "rms s2", found[gain, step][1], "m"
    mechanics.Piston.C = FRICTION["double-d"]
    gains = (0.5, "auto")
    found = outcomes(gains, CALM)
    for gain in gains:
        name = f"impulse, displacement correction {gain}"
        yield "double-d", name, "greatest rate of a length over the true one", max(found[gain, h][2] for h in CALM), ""


if __name__ == "__main__":
    np.seterr(all="ignore")  # runs may diverge
    rows.main(__file__, {"crane": table})
