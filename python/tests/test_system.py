"""Systems that are described in Python and step in this process."""

import math
import runpy
import signal
import sys
import threading
import time
import tomllib
from pathlib import Path
from types import MappingProxyType

import gyrator
import numpy as np
import pytest

from conftest import ROOT


class Mass:
    """A mass on a spring, by the semi-implicit Euler method."""

    inputs = {"f": 0.0, "push": 0.0}
    outputs = {"x": 0.0, "v": -100.0}

    def __init__(self) -> None:
        self.x, self.v = 0.0, -100.0
        self.ended = False

    def step(self, call: gyrator.Call) -> None:
        self.v += call.step * (call.inputs[0] + call.inputs[1] - 1000.0 * self.x)
        self.x += call.step * self.v
        call.outputs[:] = self.x, self.v

    def terminate(self) -> None:
        self.ended = True


def alone() -> gyrator.System:
    """The mass, which nothing is connected to."""
    system = gyrator.System(1e-3)
    system.add("mass", Mass())
    return system


def test_a_python_object_steps_as_its_own_loop() -> None:
    run = alone().start()
    x, v = 0.0, -100.0
    for step in range(100):
        push = 5.0 if step < 10 else 0.0
        run.write("mass.push", push)
        assert run.step()
        v += 1e-3 * (0.0 + push - 1000.0 * x)
        x += 1e-3 * v
        assert (run.read("mass.x"), run.read("mass.v")) == (x, v)
    result = run.stop()
    assert result["mass.x"][-1] == x
    assert len(result.time) == 101
    assert result.summary["stop_reason"] == "stopped"
    assert np.shares_memory(result["mass.x"], result["mass.x"])


def test_handles_and_arrays_have_the_same_values() -> None:
    run = alone().start(record=False)
    push, x, v = run.input("mass.push"), run.output("mass.x"), run.output("mass.v")
    out = np.empty(2)
    for step in range(10):
        run.write(push, step)
        run.step()
        assert run.read([x, v], out=out) is out
        assert list(out) == [run.read("mass.x"), run.read(v)]
        assert list(run.read(["mass.x", x])) == [out[0], out[0]]
    with pytest.raises(gyrator.UsageError, match="3 elements for 2"):
        run.read([x, v], out=np.empty(3))
    with pytest.raises(gyrator.UsageError, match="the run that has given it"):
        alone().start().read(x)


def test_the_bench_agrees_with_the_run_of_the_file(oscillator: Path, fmus: Path) -> None:
    system = gyrator.System.from_file(oscillator)
    system.stop_time(1.0)
    result = system.start(record=["right.*"]).run()
    expected = gyrator.run(oscillator, stop_time=1.0)
    assert result.columns == ["time", "right.x", "right.v", "right.f"]
    assert (result["right.x"] == expected["right.x"]).all()
    bond, other = result.summary["bonds"][0], expected.summary["bonds"][0]
    assert bond["residual_energy"] == other["residual_energy"]


def test_words_take_settings(oscillator: Path) -> None:
    energies = []
    for mu in (0.25, 0.5):
        system = gyrator.System(1e-3)
        fmus = oscillator.read_text(encoding="utf-8").split('fmu = "')
        for name, text in (("left", fmus[1]), ("right", fmus[2])):
            speed = 100.0 if name == "left" else -100.0
            system.add_fmu(name, text.split('"')[0], start={"v_start": speed})
        system.connect("right.x", "left.x2")
        system.bond("coupling", ("left.f", "right.f"), ("right.v", "left.v2"))
        system.exchange("stale")
        system.correction("residual-power", mu=mu)
        system.extrapolation("linear")
        system.method("jacobi")
        system.stop_time(0.5)
        energies.append(system.start().run().summary["bonds"][0]["correction_energy"])
    assert energies[0] != energies[1] != 0.0
    system.method("jacob")
    assert any("jacob" in problem for problem in system.check())
    with pytest.raises(gyrator.InvalidInputError, match="there is no method `jacob`"):
        system.start()


def test_an_exception_ends_the_run_as_its_cause() -> None:
    def step(call: gyrator.Call) -> None:
        if call.time > 0.25:
            raise LookupError("the sensor is gone")

    system = gyrator.System(0.1)
    system.add("sensor", gyrator.ClosureUnit({}, {"y": 0.0}, step))
    run = system.start()
    with pytest.raises(gyrator.SimulationError, match="sensor: step at t = 0.3") as failed:
        run.run_until(1.0)
    assert isinstance(failed.value.__cause__, LookupError)
    assert failed.value.exit_code == 1
    assert run.has_ended
    assert len(run.result().time) == 4
    with pytest.raises(gyrator.UsageError, match="has ended"):
        run.step()


def test_outputs_go_into_the_call() -> None:
    system = gyrator.System(0.1)
    system.add("wrong", gyrator.ClosureUnit({}, {"y": 0.0}, lambda call: [1.0]))  # type: ignore[arg-type, return-value]
    with pytest.raises(gyrator.SimulationError, match="call.outputs"):
        system.start()


def test_a_unit_cannot_use_its_own_run() -> None:
    runs: list[gyrator.Run] = []

    def step(call: gyrator.Call) -> None:
        if runs:
            runs[0].read("a.y")

    system = gyrator.System(0.1)
    system.add("a", gyrator.ClosureUnit({}, {"y": 0.0}, step))
    runs.append(system.start())
    with pytest.raises(gyrator.SimulationError, match="within a step"):
        runs[0].step()


def test_units_are_terminated() -> None:
    mass = Mass()
    system = gyrator.System(0.1)
    system.add("mass", mass)
    system.start().stop()
    assert mass.ended


def test_an_input_that_is_fed_can_be_overridden(oscillator: Path) -> None:
    run = gyrator.System.from_file(oscillator).start()
    with pytest.raises(gyrator.UsageError, match="fed by a connection"):
        run.write("left.v2", 0.0)
    run.override_value("left.v2", 0)
    run.run_until(0.1)
    run.release("left.v2")
    assert run.run_until(0.2)
    assert run.time == pytest.approx(0.2)


def test_mistakes_are_named() -> None:
    system = alone()
    with pytest.raises(gyrator.UsageError, match="no setting `stepsize`"):
        system.add("b", Mass(), stepsize=0.1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="`inputs`, `outputs` and `step`"):
        system.add("b", object())  # type: ignore[arg-type]
    with pytest.raises(gyrator.UsageError, match="input `u` is NaN"):
        system.add("b", gyrator.ClosureUnit({"u": math.nan}, {}, lambda call: None))
    with pytest.raises(TypeError, match="maps names of variables to values"):
        system.add("b", Mass(), start=[("push", 1.0)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a list of such pairs"):
        system.bond("bond", "mass.x", "mass.f")  # type: ignore[arg-type]
    with pytest.raises(gyrator.UsageError, match="`record_interval` is -1"):
        system.start(record_interval=-1.0)
    with pytest.raises(gyrator.UsageError, match="no variable mess.x to record"):
        system.start(record="mess.x")
    with pytest.raises(TypeError, match="`record` is a bool"):
        system.start(record=5)  # type: ignore[arg-type]
    with pytest.raises(gyrator.InvalidInputError, match=r"`System\.add_fmu` takes it"):
        gyrator.System.from_file("part.fmu")
    run = system.start()
    with pytest.raises(TypeError, match="array of float64"):
        run.read(["mass.x"], out=np.zeros(1, dtype=np.float32))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a name or a handle"):
        run.read(5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="the handle of `Run.input`"):
        run.write(run.output("mass.x"), 1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a number, not True"):
        run.write(run.input("mass.push"), True)
    with pytest.raises(gyrator.UsageError, match="did you mean `mass.x`"):
        run.read("mas.x")
    with pytest.raises(gyrator.UsageError, match="NaN"):
        run.run_until(float("nan"))


def test_arrays_of_a_call_keep_their_length() -> None:
    def grow(call: gyrator.Call) -> None:
        call.outputs.resize(4, refcheck=False)

    system = gyrator.System(1e-3)
    system.add("part", gyrator.ClosureUnit({}, {"x": 0.0}, grow))
    with pytest.raises(gyrator.SimulationError, match="resized from 1 to 4") as failed:
        system.start()
    assert isinstance(failed.value.__cause__, TypeError)


def test_names_and_settings_are_mappings_of_any_kind(fmus: Path) -> None:
    system = gyrator.System(1e-3)
    start = MappingProxyType({"k_c": np.float32(2.0)})
    system.add_fmu("left", fmus / "OscillatorForce.fmu", start=start, extrapolation=("hold", MappingProxyType({})))
    run = system.start(record="left.x")
    assert run.read("left.k_c") == 2.0
    assert run.result().columns == ["time", "left.x"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused(value: float) -> None:
    run = alone().start()
    run.step()
    for variable in ("mass.push", run.input("mass.push")):
        with pytest.raises(gyrator.UsageError, match=r"mass.push cannot be set to (NaN|inf|-inf) at t = "):
            run.write(variable, value)
    run.step()


def test_other_threads_run_meanwhile_and_ctrl_c_comes_through(oscillator: Path) -> None:
    system = gyrator.System.from_file(oscillator)
    system.stop_time(None)
    # Held, stale inputs end it after some seconds: its values grow beyond all doubles.
    system.exchange("fresh")
    run = system.start(record=False)
    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        time.sleep(0.2)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        run.run_until(1e9)
    assert run.time > 0.0
    assert run.step()


def decay() -> gyrator.System:
    """dx/dt = u - x from 1 on, y = x."""
    system = gyrator.System(0.125)
    unit = gyrator.LinearUnit([1.0], ["u"], ["y"], a=[[-1.0]], b=np.ones((1, 1)), c=[[1.0]], d=np.zeros((1, 1)))
    system.add("decay", unit, start={"u": 0.0})
    return system


def test_a_linear_unit_is_exact() -> None:
    system = decay()
    system.stop_time(2.0)
    for _ in range(2):
        result = system.start().run()
        assert result["decay.y"] == pytest.approx(np.exp(-result.time), rel=1e-12)
    with pytest.raises(gyrator.UsageError, match="the matrix B has 2 elements; 1 rows of 1 are needed"):
        gyrator.LinearUnit([1.0], ["u"], ["y"], [[1.0]], [[1.0, 2.0]], [[1.0]], [[0.0]])


class Sum:
    """Sums its input, and can go back."""

    inputs = {"u": 0.0}
    outputs = {"y": 0.0}
    total = 0.0

    def step(self, call: gyrator.Call) -> None:
        self.total += call.inputs[0] * call.step
        # Its output stays where the input is nothing.
        if call.inputs[0]:
            call.outputs[0] = self.total

    def save(self) -> float:
        return self.total

    def restore(self, state: float) -> None:
        self.total = state


def test_a_linear_unit_has_rows_of_one_length_and_finite_numbers() -> None:
    def unit(a: list[list[float]]) -> gyrator.LinearUnit:
        return gyrator.LinearUnit([0.0, 0.0], ["u"], ["y"], a, [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]])

    with pytest.raises(gyrator.UsageError, match="rows of the matrix A have different lengths"):
        unit([[0.0, 1.0, 2.0], [3.0]])
    with pytest.raises(gyrator.UsageError, match="finite numbers, and NaN is given"):
        unit([[0.0, 1.0], [math.nan, 0.0]])


def test_a_run_goes_back_to_a_saved_state() -> None:
    system = decay()
    system.add("sum", Sum())
    system.connect("decay.y", "sum.u")
    run = system.start()
    run.run_until(0.5)
    saved = run.save()
    assert saved.time == 0.5
    names = ["decay.y", "sum.y"]
    ends = []
    for _ in range(3):
        run.write("decay.u", 0.25)
        run.run_until(1.0)
        ends.append(run.read(names).tolist())
        # All that happens in between is forgotten.
        run.write("decay.u", -7.0)
        run.run_until(1.5)
        assert run.read(names).tolist() != ends[0]
        run.restore(saved)
        assert run.time == 0.5
    assert ends[0] == ends[1] == ends[2]
    with pytest.raises(gyrator.UsageError, match="a snapshot belongs to the run"):
        system.start().restore(saved)
    with pytest.raises(gyrator.UsageError, match="mass cannot save a state"):
        alone().start().save()


def test_a_bond_has_several_axes() -> None:
    """A mass in a plane on a spring that is an object: each axis swings as the other one."""

    class Spring:
        inputs = {"vx": 0.0, "vy": 0.0}
        outputs = {"fx": 0.0, "fy": 0.0}

        def step(self, call: gyrator.Call) -> None:
            call.outputs[:] += call.step * 100.0 * call.inputs

    planes = []
    for axes in (1, 2):
        system = gyrator.System(1e-3)
        zero, one = np.zeros((2, 2)), np.eye(2)
        mass = gyrator.LinearUnit([1.0, 1.0], ["fx", "fy"], ["vx", "vy"], zero, -one, one, zero)
        system.add("mass", mass)
        system.add("spring", Spring())
        efforts = [("spring.fx", "mass.fx"), ("spring.fy", "mass.fy")]
        flows = [("mass.vx", "spring.vx"), ("mass.vy", "spring.vy")]
        if axes == 2:
            system.bond("plane", efforts, flows)
        else:
            for name, effort, flow in zip("xy", efforts, flows, strict=True):
                system.bond(name, effort, flow)
        system.stop_time(0.5)
        planes.append(system.start().run().summary["bonds"])
    (x, y), (plane,) = planes
    assert x["residual_energy"] == y["residual_energy"] != 0.0
    assert plane["residual_energy"] == pytest.approx(2.0 * x["residual_energy"], rel=1e-12)
    with pytest.raises(gyrator.UsageError, match="as many efforts as flows, and 2 and 1"):
        system.bond("wrong", efforts, flows[:1])


def test_an_interface_model_is_that_of_a_file(fmus: Path, tmp_path: Path) -> None:
    text = (ROOT / "examples/single-crane.toml").read_text(encoding="utf-8").replace("../target/fmus", str(fmus))
    file = tmp_path / "crane.toml"
    file.write_text(text, encoding="utf-8")
    from_file = gyrator.System.from_file(file)
    described = tomllib.loads(text)
    models = described.pop("interface_models")
    assert models
    bare = tmp_path / "bare.toml"
    begin = text.index("[[interface_models]]")
    assert "\n[" not in text[begin + 1 :], "the interface model is the last section of the file"
    bare.write_text(text[:begin], encoding="utf-8")
    in_code = gyrator.System.from_file(bare)
    for model in models:
        in_code.interface_model(model.pop("name"), model.pop("component"), model.pop("exchange_step"), **model)
    expected, found = (system.start() for system in (from_file, in_code))
    for run in (expected, found):
        run.run_until(1.0)
    expected, found = expected.stop(), found.stop()
    assert expected.columns == found.columns and len(expected.time) > 10
    for name in expected.columns:
        assert np.array_equal(expected[name], found[name]), name
    with pytest.raises(gyrator.InvalidInputError, match="there is no .*`fats-first`"):
        in_code.interface_model("other", "mechanics", 1e-3, bonds=[], order="fats-first")
        in_code.start()


def test_values_are_converted(fmus: Path) -> None:
    system = gyrator.System(0.25)
    system.add("source", gyrator.ClosureUnit({}, {"y": 2.5}, lambda call: None))
    system.add_fmu("all", fmus / "AllTypes.fmu")
    system.connect("source.y", "all.real_in", gain=2.0, offset=0.5)
    system.connect("source.y", "all.integer_in", convert="ceiling")
    run = system.start()
    run.step()
    assert (run.read("all.real_in"), run.read("all.integer_in")) == (5.5, 3)
    with pytest.raises(gyrator.UsageError, match="no conversion `up`; known: round, floor"):
        system.connect("source.y", "all.integer_in", convert="up")


def test_scenarios_act(tmp_path: Path) -> None:
    system = decay()
    system.stop_time(2.0)
    system.act("decay.u", "override", time=0.5, until=1.0, value=4.0)
    acted = system.start().run()
    assert [action["event"] for action in acted.summary["actions"]] == ["begin", "end"]
    file = tmp_path / "scenario.toml"
    file.write_text('[[actions]]\ntime = 0.5\nuntil = 1.0\nvariable = "decay.u"\naction = { name = "override", value = 4.0 }\n')
    system.scenario(file)
    again = system.start().run()
    assert (again["decay.y"] == acted["decay.y"]).all()
    assert acted["decay.y"][8] == pytest.approx(4.0 + (np.exp(-0.5) - 4.0) * np.exp(-0.5), rel=1e-12)
    # An action is added to those of the scenario that a file names.
    text = """
[experiment]
step_size = 0.5
stop_time = 2.0
scenario = "of-file.toml"
[components]
u = { block = { name = "constant", value = 1.0 } }
g = { block = "gain" }
[[connections]]
from = "u.y"
to = "g.u"
"""
    (tmp_path / "system.toml").write_text(text)
    (tmp_path / "of-file.toml").write_text('[[actions]]\ntime = 1.0\nvariable = "u.y"\naction = { name = "bias", value = 1.0 }\n')
    of_file = gyrator.System.from_file(tmp_path / "system.toml")
    of_file.act("u.y", "scale", time=1.5, factor=10.0)
    assert of_file.start().run()["g.y"].tolist() == [1.0, 1.0, 2.0, 20.0, 20.0]
    with pytest.raises(gyrator.InvalidInputError, match="cannot read the scenario"):
        system.scenario(tmp_path / "none.toml")
    with pytest.raises(gyrator.InvalidInputError, match="none.csv"):
        system.feed_forward(tmp_path / "none.csv")
    system.act("decay.u", "overide", time=0.5)
    with pytest.raises(gyrator.InvalidInputError, match="overide"):
        system.start()


def test_a_run_keeps_step_with_the_clock() -> None:
    run = alone().start(real_time=10.0, overruns="skip")
    begin = time.monotonic()
    run.run_until(0.5)
    assert time.monotonic() - begin >= 0.049
    assert run.result().summary["real_time"] is None
    timing = run.stop().summary["real_time"]
    assert (timing["factor"], timing["overrun_policy"], timing["points"]) == (10.0, "skip", 500)
    run = alone().start(real_time=False)
    run.step()
    assert run.stop().summary["real_time"] is None
    with pytest.raises(gyrator.UsageError, match="no policy `late`; known: warn, stop, skip"):
        alone().start(real_time=True, overruns="late")
    with pytest.raises(gyrator.UsageError, match="`real_time` is -1; it must be"):
        alone().start(real_time=-1.0)


def test_the_example(fmus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["test_bench.py", str(fmus / "OscillatorForce.fmu")])
    runpy.run_path(str(ROOT / "python/examples/test_bench.py"))
    assert "1001 rows" in capsys.readouterr().out
