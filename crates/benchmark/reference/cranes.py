"""Cranes with hydraulic circuits: Rahikainen et al. 2020, with one and with two actuators, circuits of variants a and b.

At macro-steps of 1 ms: residual energy, errors of lengths and force, energy of the mechanics, with polynomials or an
interface model, velocity-force or velocity-pressure coupling, ALI1, ALI3-P and restarted ALI3-P. At macro-steps of 10 to
50 ms: interface models that pass on impulses. The circuits make forward Euler steps of 0.1 ms; 30 s, against Runge-Kutta
4 on the whole system in minimal coordinates.
"""

import math

import numpy as np

import crane_mechanics as mechanics
import hydraulics
import rows

STOP, MICRO = 30.0, 1e-4
CRANES = [(actuators, variant) for actuators in (1, 2) for variant in ("a", "b")]
NAMES = {crane: f"{'single' if crane[0] == 1 else 'double'}-{crane[1]}" for crane in CRANES}


def rates(crane):
    """Right-hand side of the whole crane: two angles, their rates, and U, p1, p2, p3 of each actuator."""
    actuators, variant = crane
    diameter, vh3s = hydraulics.VARIANTS[variant]
    ct = hydraulics.throttle(diameter)
    a1, a2, cv, laminar = hydraulics.A1, hydraulics.A2, hydraulics.CV, hydraulics.LAMINAR
    pump, tank, tau = hydraulics.P_PUMP, hydraulics.P_TANK, hydraulics.TAU
    bo, bc, bh = hydraulics.BO, hydraulics.BC, hydraulics.BH
    piston = mechanics.Piston
    constants = [
        (float(hydraulics.L1_0[i]), float(hydraulics.L2_0[i]), float(hydraulics.S_0[i]),
         float(hydraulics.VH1[i]), float(hydraulics.VH2[i]), 1 / (float(vh3s[i]) * (1 / bo + 1 / bh)))
        for i in range(actuators)
    ]  # fmt: skip
    g, big, small = mechanics.G, mechanics.L, mechanics.LH
    load = mechanics.MP + mechanics.MH
    inertia1 = mechanics.M1 * big**2 / 3 + load * big**2
    inertia2 = mechanics.MH * small**2
    coupling = mechanics.MH * big * small
    weight1 = g * (mechanics.M1 * big / 2 + load * big)
    weight2 = mechanics.MH * g * small
    xb = mechanics.XB
    sqrt, sin, cos = math.sqrt, math.sin, math.cos

    def flow(c, dp):
        return c * dp / sqrt(max(abs(dp), laminar))

    def geometry(th1, th2):
        """Lengths and their derivatives by the angles."""
        x, y = big / 2 * cos(th1), big / 2 * sin(th1)
        s1 = sqrt((x - xb) ** 2 + y * y)
        ds1 = (-(x - xb) * y + y * x) / s1
        xr, yr = big * cos(th1) + small * cos(th2), big * sin(th1) + small * sin(th2)
        r = sqrt(xr * xr + yr * yr)
        s2 = r / 2
        d21 = (-xr * big * sin(th1) + yr * big * cos(th1)) / (2 * r)
        d22 = (-xr * small * sin(th2) + yr * small * cos(th2)) / (2 * r)
        return (s1, ds1, 0.0), (s2, d21, d22)

    def f(u_ref, y):
        th1, th2, w1, w2 = y[:4]
        torque1 = torque2 = 0.0
        out = []
        forces = []
        geometries = geometry(th1, th2)
        for i, (l10, l20, s0, vh1, vh2, stiffness3) in enumerate(constants):
            s, d1, d2 = geometries[i]
            sd = d1 * w1 + d2 * w2
            u, p1, p2, p3 = y[4 + 4 * i : 8 + 4 * i]
            l1, l2 = max(l10 + s - s0, 2e-4), max(l20 - s + s0, 2e-4)
            q31 = flow(ct, p3 - p1)
            if abs(u) <= 1e-5:
                qv3 = q2v = 0.0
            elif u > 0:
                qv3, q2v = flow(cv * u, pump - p3), flow(cv * u, p2 - tank)
            else:
                qv3, q2v = -flow(-cv * u, p3 - tank), -flow(-cv * u, pump - p2)
            stiffness1 = 1 / ((vh1 + a1 * l1) / bo + a1 * l1 / bc + vh1 / bh)
            stiffness2 = 1 / ((vh2 + a2 * l2) / bo + a2 * l2 / bc + vh2 / bh)
            out += [
                (u_ref[i] - u) / tau,
                stiffness1 * (q31 - a1 * sd),
                stiffness2 * (a2 * sd - q2v),
                stiffness3 * (qv3 - q31),
            ]
            force = p1 * a1 - p2 * a2 - piston.C * sd
            if l10 + s - s0 <= piston.LD:
                force += piston.KD * (piston.LD - l10 - s + s0) - piston.CD * sd
            elif l20 - s + s0 <= piston.LD:
                force += -piston.KD * (piston.LD - l20 + s - s0) - piston.CD * sd
            forces.append(force)
            torque1 += force * d1
            torque2 += force * d2
        c, d = coupling * cos(th1 - th2), coupling * sin(th1 - th2)
        b1 = -d * w2 * w2 - weight1 * cos(th1) + torque1
        b2 = d * w1 * w1 - weight2 * cos(th2) + torque2
        determinant = inertia1 * inertia2 - c * c
        return [w1, w2, (b1 * inertia2 - c * b2) / determinant, (inertia1 * b2 - c * b1) / determinant] + out, forces

    def observe(y):
        """Lengths, rate of length 1, force 1, mechanical energy and rate of length 2."""
        (s1, d1, _), (s2, d21, d22) = geometry(y[0], y[1])
        th1, th2, w1, w2 = y[:4]
        kinetic = 0.5 * inertia1 * w1**2 + 0.5 * inertia2 * w2**2 + coupling * cos(th1 - th2) * w1 * w2
        energy = kinetic + weight1 * sin(th1) + weight2 * sin(th2)
        return s1, s2, d1 * w1, f((0.0, 0.0), y)[1][0], energy, d21 * w1 + d22 * w2

    return f, observe


def reference(crane, h=1e-4):
    """Lengths, rate of length 1, force 1, mechanical energy and rate of length 2 each millisecond, by Runge-Kutta 4."""
    f, observe = rates(crane)
    actuators = crane[0]
    y = [math.pi / 6, 1.5 * math.pi, 0.0, 0.0]
    for i in range(actuators):
        p = (hydraulics.LOAD[i] + 3.5e6 * hydraulics.A2) / hydraulics.A1
        y += [0.0, p, 3.5e6, p]
    steps = round(1e-3 / h)
    u_ref = hydraulics.programs(np.arange(2 * round(STOP / h) + 1) * h / 2).tolist()
    out = [observe(y)]
    number = 0
    for _ in range(round(STOP / 1e-3)):
        for _ in range(steps):
            start, middle, end = u_ref[2 * number : 2 * number + 3]
            k1, _ = f(start, y)
            k2, _ = f(middle, [a + h / 2 * b for a, b in zip(y, k1)])
            k3, _ = f(middle, [a + h / 2 * b for a, b in zip(y, k2)])
            k4, _ = f(end, [a + h * b for a, b in zip(y, k3)])
            y = [a + h / 6 * (b + 2 * (c + d) + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4)]
            number += 1
        out.append(observe(y))
    return np.array(out)


class Fleet:
    """Runs at once: for each a crane, a formulation ("ALI1", "ALI3-P", "restarted ALI3-P") and a coupling ("force" or
    "pressure")."""

    def __init__(self, runs):
        self.present = np.array([[1.0, float(crane[0] == 2)] for crane, *_ in runs])
        self.circuits = hydraulics.Circuits([crane[1] for crane, *_ in runs], self.present)
        self.pistons = mechanics.Piston(hydraulics.L1_0, hydraulics.L2_0, hydraulics.S_0, self.present)
        self.is_pressure = np.array([run[2] == "pressure" for run in runs])
        self.runs = len(runs)
        self.groups = []
        for formulation in ("ALI1", "ALI3-P"):
            for coupling in ("force", "pressure"):
                kind = formulation, coupling
                members = [i for i, run in enumerate(runs) if (run[1].removeprefix("restarted "), run[2]) == kind]
                if not members:
                    continue
                piston = self.pistons.of(members) if coupling == "pressure" else None
                if formulation == "ALI1":
                    solver = mechanics.IndexOne(len(members))
                else:
                    solver = mechanics.IndexThree(len(members), [runs[i][1].startswith("restarted") for i in members])
                self.groups.append((np.array(members), solver, piston))

    def gather(self):
        """Coordinates and velocities of all runs."""
        q, v = np.empty((self.runs, 5)), np.empty((self.runs, 5))
        for members, solver, _ in self.groups:
            q[members], v[members] = solver.q, solver.v
        return q, v

    def step(self, h, forces):
        """Steps the mechanics with actuator or pressures' forces, (runs, 2)."""
        for members, solver, piston in self.groups:
            solver.step(h, mechanics.Forces(forces[members], piston))

    def share(self, members, s, sd, inverse, H):
        """The displacement correction that friction C allows, (members, 1), with pressures: H / 2 over the greatest sum of a
        column of (W C)^-1, at most 0.5."""
        friction = self.pistons.of(members).passive(s, sd)[1]
        is_absent = (friction == 0)[:, :, None] * np.eye(2)
        columns = np.linalg.inv(inverse * friction[:, None, :] + is_absent) - is_absent
        return np.minimum(0.5, H / 2 / np.abs(columns).sum(1).max(1)[:, None])

    def full_force(self, s, sd):
        return self.circuits.pressure_force() + self.pistons.passive(s, sd)[0]


def fine(runs, stop=STOP):
    """Runs (crane, formulation, coupling, prediction) at H = 1 ms; prediction is 0 to 2, the order of the polynomials, or
    "IM". Returns, each millisecond: lengths, rates, force of the circuits, energies of the residual, mechanics' energy,
    violation of the constraints, work of the actuators."""
    H = 1e-3
    fleet = Fleet(runs)
    order = np.array([9 if run[3] == "IM" else run[3] for run in runs])
    is_model = (order == 9)[:, None]
    micro = round(H / MICRO)
    u_ref = hydraulics.programs(np.arange(round(stop / MICRO) + 1) * MICRO)
    is_pressure = fleet.is_pressure[:, None]
    q, v = fleet.gather()
    s, sd = mechanics.lengths(q, v)
    past = []
    y_full = fleet.full_force(s, sd)
    count = round(stop / H)
    shape = (count + 1, fleet.runs)
    out = {name: np.zeros(shape) for name in ("s1", "s2", "v1", "f1", "energy", "violation", "work")}
    residual = np.zeros((count + 1, fleet.runs, 2))
    power_before = np.zeros((fleet.runs, 2))

    def record(k):
        out["s1"][k], out["s2"][k], out["v1"][k], out["f1"][k] = s[:, 0], s[:, 1], sd[:, 0], y_full[:, 0]
        out["energy"][k] = mechanics.energy(q, v)
        out["violation"][k] = np.abs(mechanics.constraints(q)[0]).max(1)

    y = np.where(is_pressure, fleet.circuits.pressure_force(), y_full)
    record(0)
    for k in range(count):
        past = ([(s, sd)] + past)[:3]
        known = np.minimum(order, len(past) - 1)[:, None]
        # Polynomials through the last points, c0 + c1 x + c2 x^2 with x = 0 .. 1 over the step.
        coefficients = []
        for i in range(2):
            a = past[0][i]
            b = past[min(1, len(past) - 1)][i]
            c = past[min(2, len(past) - 1)][i]
            c1 = np.where(known >= 2, 1.5 * a - 2 * b + 0.5 * c, np.where(known == 1, a - b, 0.0))
            c2 = np.where(known >= 2, 0.5 * a - b + 0.5 * c, 0.0)
            coefficients.append((a, c1, c2))
        inverse, free = mechanics.interface_model(q, v)
        s_m, w_m = s, sd
        for j in range(micro):
            x = j / micro
            (a, b, c), (d, e, f) = coefficients
            s_in = np.where(is_model, s_m, a + x * (b + x * c))
            v_in = np.where(is_model, w_m, d + x * (e + x * f))
            force = fleet.full_force(s_m, w_m)
            w_new = w_m + MICRO * (free + mechanics.times(inverse, force))
            s_m, w_m = s_m + MICRO * w_new, w_new
            fleet.circuits.euler(MICRO, u_ref[k * micro + j], s_in, v_in)
        (a, b, c), (d, e, f) = coefficients
        s_end = np.where(is_model, s_m, a + b + c)
        v_end = np.where(is_model, w_m, d + e + f)
        used = y
        s_before = s
        fleet.step(H, used)
        q, v = fleet.gather()
        s, sd = mechanics.lengths(q, v)
        y_full = fleet.full_force(s_end, v_end)
        y = np.where(is_pressure, fleet.circuits.pressure_force(), y_full)
        power = (y * v_end - used * sd) * fleet.present
        residual[k + 1] = np.where((order == 0)[:, None], H * power, H / 2 * (power_before + power))
        power_before = power
        out["work"][k + 1] = out["work"][k] + (used * (s - s_before) * fleet.present).sum(1)
        record(k + 1)
    out["residual"] = residual
    return out


def impulses(runs, stop=STOP, exchange=1e-3):
    """Runs (crane, formulation, coupling, H in ms, displacement correction) with interface models that pass on impulses:
    from M_eff and Q_eff of the start of a macro-step, the model and the circuits exchange every `exchange` s, inputs held
    at the model's new values; the mechanics then step with the mean of the force or of the pressures. A correction "auto" is
    chosen by the friction. Returns lengths and their rates of each run, at its communication points: fewer of them where
    it leaves the limits of 5 m/s and 1e9 Pa."""
    fleet = Fleet(runs)
    macro = np.array([run[3] for run in runs])
    gain = np.array([np.nan if run[4] == "auto" else float(run[4]) for run in runs])[:, None]
    micro = round(exchange / MICRO)
    u_ref = hydraulics.programs(np.arange(round(stop / MICRO) + 1) * MICRO)
    is_pressure = fleet.is_pressure[:, None]
    q, v = fleet.gather()
    s, sd = mechanics.lengths(q, v)
    inverse, free = mechanics.interface_model(q, v)
    s_circuit = s.copy()  # integral of the rate given to the circuits
    extra = np.zeros_like(s)  # rate that corrects it
    s_m, w_m = s.copy(), sd.copy()
    mean = np.zeros_like(s)
    out = [[(*s[i], *sd[i])] for i in range(fleet.runs)]
    holds = np.ones(fleet.runs, bool)

    def efforts():
        # The force under the velocity of the model: the correction is no motion of the piston.
        full = fleet.full_force(s_m, w_m) * fleet.present
        return full, np.where(is_pressure, fleet.circuits.pressure_force(), full)

    full, before = efforts()
    for k in range(round(stop / exchange)):
        w_m = w_m + exchange * (free + mechanics.times(inverse, full))
        s_m = s_m + exchange * w_m
        given = w_m + extra
        for j in range(micro):
            fleet.circuits.euler(MICRO, u_ref[k * micro + j], s_m, given)
        s_circuit += exchange * given
        full, after = efforts()
        mean += (before + after) / 2
        before = after
        holds &= (np.abs(fleet.circuits.p1) < 1e9).all(1) & (np.abs(w_m) < 5).all(1)
        due = np.flatnonzero(((k + 1) % macro == 0) & holds)
        if len(due) == 0:
            continue
        force = mean / macro[:, None]
        for members, solver, piston in fleet.groups:
            step_some(members, solver, piston, np.isin(members, due), macro * exchange, force)
        mean[due] = 0.0
        q, v = fleet.gather()
        s, sd = mechanics.lengths(q[due], v[due])
        inverse[due], free[due] = mechanics.interface_model(q[due], v[due])
        s_m[due], w_m[due] = s, sd
        H = macro[due, None] * exchange
        shares = np.where(np.isnan(gain[due]), fleet.share(due, s, sd, inverse[due], H), gain[due])
        extra[due] = shares * (s - s_circuit[due]) / H
        for place, i in enumerate(due):
            out[i].append((*s[place], *sd[place]))
        # The circuits' efforts under the inputs that the mechanics have now.
        full, before = efforts()
    return [np.array(states) for states in out]


def pipelined(cranes, milliseconds, stop=STOP, exchange=1e-3):
    """The same in a pipeline, on restarted ALI3-P and by pressures: while the model and the circuits make a macro-step, the
    mechanics make the one before. So the model has the M_eff and Q_eff of a macro-step ago, and hears at the end of a
    macro-step how far it was off at its start. Returns the lengths at the communication points, (points, cranes, 2)."""
    fleet = Fleet([(crane, "restarted ALI3-P", "pressure") for crane in cranes])
    micro = round(exchange / MICRO)
    u_ref = hydraulics.programs(np.arange(round(stop / MICRO) + 1) * MICRO)
    state = fleet.gather()
    s, w = mechanics.lengths(*state)
    inverse, free = mechanics.interface_model(*state)
    out = [s]
    before = fleet.circuits.pressure_force()
    for number in range(round(stop / exchange) // milliseconds):
        s_start, w_start = s, w
        mean = np.zeros_like(s)
        for k in range(number * milliseconds, (number + 1) * milliseconds):
            force = fleet.full_force(s, w) * fleet.present
            w = w + exchange * (free + mechanics.times(inverse, force))
            s = s + exchange * w
            for j in range(micro):
                fleet.circuits.euler(MICRO, u_ref[k * micro + j], s, w)
            after = fleet.circuits.pressure_force()
            mean += (before + after) / 2
            before = after
        s_known, w_known = mechanics.lengths(*state)
        inverse, free = mechanics.interface_model(*state)
        s, w = s + s_known - s_start, w + w_known - w_start
        fleet.step(milliseconds * exchange, mean / milliseconds)
        state = fleet.gather()
        out.append(mechanics.lengths(*state)[0])
    return np.array(out)


def step_some(members, solver, piston, chosen, macro, force):
    """Steps those of a group that are due, all with equal macro-steps together."""
    for h in np.unique(macro[members[chosen]]):
        places = np.flatnonzero(chosen & (macro[members] == h))
        part = object.__new__(type(solver))
        names = list(vars(solver))
        for name in names:
            setattr(part, name, getattr(solver, name)[places])
        some = piston.of(places) if piston else None
        part.step(h, mechanics.Forces(force[members[places]], some))
        for name in names:
            getattr(solver, name)[places] = getattr(part, name)


FINE = [
    ("ALI1", "force", 1),
    ("ALI1", "force", 2),
    ("ALI1", "force", "IM"),
    ("ALI1", "pressure", 2),
    ("ALI1", "pressure", "IM"),
    ("ALI3-P", "force", 2),
    ("ALI3-P", "force", "IM"),
    ("ALI3-P", "pressure", 2),
    ("ALI3-P", "pressure", "IM"),
    ("restarted ALI3-P", "pressure", "IM"),
    ("restarted ALI3-P", "force", 2),
]
IMPULSES = {
    "impulse": ("restarted ALI3-P", "pressure", 0.0),
    "impulse, displacement correction": ("restarted ALI3-P", "pressure", 1.0),
    "impulse, ALI1, force": ("ALI1", "force", 0.0),
}


def rms(errors):
    return math.sqrt(np.mean(errors**2))


def table():
    references = {crane: reference(crane) for crane in CRANES}
    runs = [(crane, *run) for crane in CRANES for run in FINE]
    out = fine(runs)
    for i, (crane, formulation, coupling, prediction) in enumerate(runs):
        exact = references[crane].T
        case = NAMES[crane]
        shown = prediction if prediction == "IM" else f"p{prediction}"
        if (formulation, coupling) != ("restarted ALI3-P", "force"):
            name = f"{formulation}, {coupling}, {shown}, 1 ms"
            residual = out["residual"][:, i].sum(1)
            yield case, name, "residual energy", residual.sum(), "J"
            yield case, name, "residual energy, magnitudes", np.abs(residual).sum(), "J"
            yield case, name, "rms s1", rms(out["s1"][:, i] - exact[0]), "m"
            yield case, name, "rms f1", rms(out["f1"][:, i] - exact[3]), "N"
            if crane[0] == 2:
                yield case, name, "rms s2", rms(out["s2"][:, i] - exact[1]), "m"
        if (formulation, coupling, prediction) == ("ALI1", "force", 2):
            yield case, "stale", "rms s1", rms(out["s1"][:, i] - exact[0]), "m"
        if (coupling, prediction) == ("force", 2):
            name = f"{formulation}, energy, 1 ms"
            error = out["energy"][:, i] - exact[4]
            made = out["energy"][-1, i] - out["energy"][0, i] - out["work"][-1, i]
            yield case, name, "rms of the energy", rms(error), "J"
            yield case, name, "greatest error of the energy", np.abs(error).max(), "J"
            yield case, name, "energy made by the mechanics", made, "J"
            yield case, name, "greatest violation of the constraints", out["violation"][:, i].max(), ""
    runs = [
        (crane, formulation, coupling, milliseconds, correction)
        for crane in CRANES
        for formulation, coupling, correction in IMPULSES.values()
        for milliseconds in (10, 20, 30, 50)
    ]
    names = [f"{name}, {milliseconds} ms" for _ in CRANES for name in IMPULSES for milliseconds in (10, 20, 30, 50)]
    for (crane, _, _, milliseconds, _), name, states in zip(runs, names, impulses(runs)):
        exact = references[crane][::milliseconds]
        case = NAMES[crane]
        yield case, name, "rms s1", rms(states[:, 0] - exact[:, 0]), "m"
        if crane[0] == 2:
            yield case, name, "rms s2", rms(states[:, 1] - exact[:, 1]), "m"
        yield case, name, "rms v1", rms(states[:, 2] - exact[:, 2]), "m/s"
    lengths = pipelined(CRANES, 20)
    for i, crane in enumerate(CRANES):
        yield NAMES[crane], "impulse, pipelined, 20 ms", "rms s1", rms(lengths[:, i, 0] - references[crane][::20, 0]), "m"


if __name__ == "__main__":
    rows.main(__file__, {"crane": table})
