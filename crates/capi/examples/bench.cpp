// A test bench: an FMU with a lambda in the place of the physical part. bench OscillatorForce.fmu
#include <gyrator.h>

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

using Advance = std::function<void(double step, const double *inputs, double *outputs)>;

static void check(gyrator_code code) {
    if (code != GYRATOR_CODE_OK) throw std::runtime_error(gyrator_last_error());
}

// No exception may leave a callback.
static int call(void *data, double, double step, const double *inputs, double *outputs) try {
    (*static_cast<Advance *>(data))(step, inputs, outputs);
    return 0;
} catch (...) {
    return 1;
}

int main(int count, char **arguments) try {
    gyrator_system *made = nullptr;
    check(gyrator_system_new(1e-3, &made)); // macro-step, s
    std::unique_ptr<gyrator_system, decltype(&gyrator_system_free)> system(made, gyrator_system_free);
    check(gyrator_system_add_fmu(made, "left", count > 1 ? arguments[1] : "OscillatorForce.fmu"));
    using Start = std::pair<const char *, double>;
    for (auto [name, value] : {Start{"m", 1.0}, {"k", 10.0}, {"k_c", 100.0}, {"v_start", 100.0}})
        check(gyrator_component_start_real(made, "left", name, value));
    check(gyrator_component_choose(made, "left", "exchange", "stale", nullptr, 0));
    // The physical part, here another mass on a spring: a bench would talk to its actuators and sensors.
    double x = 0.0, v = -100.0;
    Advance part = [&](double step, const double *inputs, double *outputs) {
        v += step * (inputs[0] + inputs[1] - 1000.0 * x);
        x += step * v;
        outputs[0] = x, outputs[1] = v;
    };
    std::array<gyrator_variable, 2> inputs{{{"f", 0.0}, {"push", 0.0}}}, outputs{{{"x", x}, {"v", v}}};
    gyrator_unit unit{inputs.data(), inputs.size(), outputs.data(), outputs.size(), call, nullptr, &part};
    check(gyrator_system_add_unit(made, "right", &unit));
    check(gyrator_system_connect(made, "right.x", "left.x2"));
    check(gyrator_system_bond(made, "coupling", "left.f", "right.f", "right.v", "left.v2"));
    gyrator_setting mu{"mu", 0.5, nullptr};
    check(gyrator_system_choose(made, "correction", "residual-power", &mu, 1));

    gyrator_run *started = nullptr;
    check(gyrator_system_start(made, 1, &started));
    std::unique_ptr<gyrator_run, decltype(&gyrator_run_free)> run(started, gyrator_run_free);
    for (int step = 0; step < 1000; step++) {
        check(gyrator_run_write_real(started, "right.push", step < 10 ? 5.0 : 0.0));
        check(gyrator_run_step(started, nullptr));
    }
    gyrator_bond_energy energy;
    check(gyrator_run_bond_energy(started, "coupling", &energy));
    check(gyrator_run_stop(started));
    std::printf("x = %.6f m, residual energy %.6f J, correction %.6f J\n", x, energy.residual_integrated, energy.correction);
} catch (const std::exception &failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    return 1;
}
