"""Hydraulic circuits of the cranes of Rahikainen et al. 2020, section 3.2, many at once: arrays (runs, 2 actuators).

States: spool voltage U, pressures p1, p2 of the cylinder's chambers and p3 before the throttle. Orifices are laminar
below 2 bar.
"""

import numpy as np

A1 = np.pi / 4 * 0.08**2
A2 = A1 - np.pi / 4 * 0.035**2
BO, BC, BH = 1500e6, 31500e6, 150e6  # bulk moduli of oil, cylinder and hoses, Pa
CV, P_PUMP, P_TANK = 1.0690e-8, 7.6e6, 1e5
TAU = 1 / (2 * np.pi * 35)  # s, of the spool
LAMINAR = 2e5  # Pa
L1_0, L2_0 = np.array([0.05, 0.12]), np.array([0.25, 0.18])
S_0 = np.array([0.5, 3**0.5 / 4])
VH1, VH2 = np.array([3.14e-5, 3.93e-5]), np.array([7.85e-5, 9.42e-5])
LOAD = np.array([8829.0, 0.0])

# The paper's volume of hose 3 cannot be integrated by forward Euler at 0.1 ms. Variant b has ten times that and a narrow
# throttle, which keeps the actuators as stiff; a has the throttle and hoses of Project Chrono's translation.
VARIANTS = {
    "b": (2.5e-3, np.array([7.85e-6, 9.42e-6])),
    "a": (6e-3, np.array([4.71e-5, 5.50e-5])),
}

# Voltages over time, s, of both spools.
PROGRAMS = (
    [(0, 0), (1, 0), (1.2, 10), (9.2, 10), (9.4, 0), (10.4, 0), (10.6, -10), (19.0, -10), (19.2, 0), (20.2, 0),
     (20.4, 6), (22.4, 6), (22.6, -4), (24.1, -4), (24.3, 8), (26.3, 8), (26.5, 0), (30, 0)],
    [(0, 0), (2, 0), (2.2, 6), (5.2, 6), (5.4, -5), (8.4, -5), (8.6, 0), (11.0, 0), (11.2, -6), (14.2, -6),
     (14.4, 7), (17.4, 7), (17.6, 0), (21.0, 0), (21.2, -8), (23.2, -8), (23.4, 5), (27.4, 5), (27.6, 0), (30, 0)],
)  # fmt: skip


def programs(times):
    """Voltages of both spools at times, (times, 2)."""
    return np.stack([np.interp(times, *zip(*program)) for program in PROGRAMS], 1)


def throttle(diameter):
    """Coefficient of the throttle, C_d A sqrt(2 / rho)."""
    return 0.8 * np.pi / 4 * diameter**2 * (2 / 850) ** 0.5


class Circuits:
    """`variants` names that of each run; `present` is (runs, 2), 0 where there is no actuator."""

    def __init__(self, variants, present):
        self.ct = np.array([[throttle(VARIANTS[name][0])] * 2 for name in variants])
        self.vh3 = np.array([VARIANTS[name][1] for name in variants])
        self.stiffness3 = 1 / (self.vh3 * (1 / BO + 1 / BH))
        self.present = present
        runs = len(variants)
        self.u = np.zeros((runs, 2))
        self.p2 = np.full((runs, 2), 3.5e6)
        self.p1 = np.broadcast_to((LOAD + 3.5e6 * A2) / A1, (runs, 2)).copy()
        self.p3 = self.p1.copy()

    def pressure_force(self):
        return (self.p1 * A1 - self.p2 * A2) * self.present

    def euler(self, h, u_ref, s, sd):
        """A step of forward Euler with the inputs and the spool's reference at its start."""
        p1, p2, p3, u = self.p1, self.p2, self.p3, self.u
        travel = s - S_0
        l1 = A1 * np.maximum(L1_0 + travel, 2e-4)
        l2 = A2 * np.maximum(L2_0 - travel, 2e-4)
        # V / B_e of the chambers: sum of the volumes over their moduli.
        stiffness1 = 1 / ((VH1 + l1) / BO + l1 / BC + VH1 / BH)
        stiffness2 = 1 / ((VH2 + l2) / BO + l2 / BC + VH2 / BH)
        drop = p3 - p1
        q31 = self.ct * drop / np.sqrt(np.maximum(np.abs(drop), LAMINAR))
        raises = u > 0
        valve = CV * np.abs(u) * (np.abs(u) > 1e-5)
        drop = np.where(raises, P_PUMP, P_TANK) - p3
        qv3 = valve * drop / np.sqrt(np.maximum(np.abs(drop), LAMINAR))
        drop = p2 - np.where(raises, P_TANK, P_PUMP)
        q2v = valve * drop / np.sqrt(np.maximum(np.abs(drop), LAMINAR))
        self.p1 = p1 + h * stiffness1 * (q31 - A1 * sd)
        self.p2 = p2 + h * stiffness2 * (A2 * sd - q2v)
        self.p3 = p3 + h * self.stiffness3 * (qv3 - q31)
        self.u = u + h / TAU * (u_ref - u)
