"""Slaves for pythonfmu that behave as vendors' FMUs do on a bad day, and one with words and switches."""

import time

from pythonfmu import Boolean, Fmi2Causality, Fmi2Slave, Fmi2Variability, Integer, Real, String

BAD_DAY = 0.045  # s: the step from 0.05 s on goes wrong


class Raises(Fmi2Slave):
    """Raises an exception in the sixth step of 0.01 s."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.y = 0.0
        self.register_variable(Real("y", causality=Fmi2Causality.output))

    def do_step(self, current_time, step_size):
        if current_time > BAD_DAY:
            raise ValueError("the valve is stuck")
        self.y += step_size
        return True


class Sleeps(Fmi2Slave):
    """Does not come back from the sixth step of 0.01 s."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.y = 0.0
        self.register_variable(Real("y", causality=Fmi2Causality.output))

    def do_step(self, current_time, step_size):
        if current_time > BAD_DAY:
            time.sleep(3600)
        self.y += step_size
        return True


class Words(Fmi2Slave):
    """Counts its steps, turns a switch over, and says both in words."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.greeting, self.count, self.on, self.text = "step", 0, False, "none"
        self.register_variable(
            String("greeting", causality=Fmi2Causality.parameter, variability=Fmi2Variability.fixed)
        )
        self.register_variable(
            Integer("count", causality=Fmi2Causality.output, variability=Fmi2Variability.discrete)
        )
        self.register_variable(
            Boolean("on", causality=Fmi2Causality.output, variability=Fmi2Variability.discrete)
        )
        self.register_variable(
            String("text", causality=Fmi2Causality.output, variability=Fmi2Variability.discrete)
        )

    def do_step(self, current_time, step_size):
        self.count += 1
        self.on = not self.on
        self.text = f'{self.greeting}, "{self.count}" ä'
        return True
