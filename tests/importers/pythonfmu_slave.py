"""A slave for pythonfmu: x' = u - k x, one forward Euler step per communication step."""

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real


class Decay(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.u, self.k, self.x = 0.0, 2.0, 1.0
        self.register_variable(Real("u", causality=Fmi2Causality.input))
        self.register_variable(
            Real("k", causality=Fmi2Causality.parameter, variability=Fmi2Variability.tunable)
        )
        self.register_variable(Real("x", causality=Fmi2Causality.output))

    def do_step(self, current_time, step_size):
        self.x += step_size * (self.u - self.k * self.x)
        return True
