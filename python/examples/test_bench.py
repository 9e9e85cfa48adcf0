"""A test bench: an FMU with Python in the place of the physical part. python test_bench.py OscillatorForce.fmu"""

import sys

import gyrator


class Part:
    """The physical part, here another mass on a spring: a bench would talk to its actuators and sensors."""

    inputs = {"f": 0.0, "push": 0.0}
    outputs = {"x": 0.0, "v": -100.0}
    x, v = 0.0, -100.0

    def step(self, call: gyrator.Call) -> None:
        force = call.inputs.sum()
        self.v += call.step * (force - 1000.0 * self.x)
        self.x += call.step * self.v
        call.outputs[:] = self.x, self.v


system = gyrator.System(step_size=1e-3)
system.add_fmu("left", sys.argv[1], start={"m": 1.0, "k": 10.0, "k_c": 100.0, "v_start": 100.0}, exchange="stale")
system.add("right", Part())
system.connect("right.x", "left.x2")
system.bond("coupling", ("left.f", "right.f"), ("right.v", "left.v2"), correction=("residual-power", {"mu": 0.5}))

run = system.start()
for step in range(1000):
    run.write("right.push", 5.0 if step < 10 else 0.0)
    run.step()
result = run.stop()
print(f"x = {run.read('right.x'):.6f} m at t = {run.time} s, verdict {result.verdict}")
print(f"{len(result.time)} rows, at most {abs(result['right.x']).max():.6f} m")
