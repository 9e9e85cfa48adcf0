/* A test bench: an FMU with a function in the place of the physical part. bench OscillatorForce.fmu */
#include <gyrator.h>
#include <stdio.h>
#include <stdlib.h>

static void check(gyrator_code code) {
    if (code != GYRATOR_CODE_OK) {
        fprintf(stderr, "%s\n", gyrator_last_error());
        exit(code);
    }
}

/* The physical part, here another mass on a spring: a bench would talk to its actuators and sensors. */
static int part(void *data, double time, double step, const double *inputs, double *outputs) {
    double *state = data; /* position, velocity */
    (void)time;
    state[1] += step * (inputs[0] + inputs[1] - 1000.0 * state[0]);
    state[0] += step * state[1];
    outputs[0] = state[0], outputs[1] = state[1];
    return 0;
}

int main(int count, char **arguments) {
    const char *names[] = {"m", "k", "k_c", "v_start"};
    double values[] = {1.0, 10.0, 100.0, 100.0};
    double state[] = {0.0, -100.0}, x;
    gyrator_variable inputs[] = {{"f", 0.0}, {"push", 0.0}}, outputs[] = {{"x", 0.0}, {"v", -100.0}};
    gyrator_unit unit = {inputs, 2, outputs, 2, part, NULL, state};
    gyrator_setting mu = {"mu", 0.5, NULL};
    gyrator_bond_energy energy;
    gyrator_system *system;
    gyrator_run *run;
    gyrator_input *push;
    gyrator_output *position;

    check(gyrator_system_new(1e-3, &system)); /* macro-step, s */
    check(gyrator_system_add_fmu(system, "left", count > 1 ? arguments[1] : "OscillatorForce.fmu"));
    for (int i = 0; i < 4; i++) check(gyrator_component_start_real(system, "left", names[i], values[i]));
    check(gyrator_component_choose(system, "left", "exchange", "stale", NULL, 0));
    check(gyrator_system_add_unit(system, "right", &unit));
    check(gyrator_system_connect(system, "right.x", "left.x2"));
    check(gyrator_system_bond(system, "coupling", "left.f", "right.f", "right.v", "left.v2"));
    check(gyrator_system_choose(system, "correction", "residual-power", &mu, 1));

    check(gyrator_system_start(system, 1, &run));
    check(gyrator_run_record(run, "bench.csv"));
    check(gyrator_run_input(run, "right.push", &push));
    check(gyrator_run_output(run, "right.x", &position));
    for (int step = 0; step < 1000; step++) {
        check(gyrator_run_write(run, push, step < 10 ? 5.0 : 0.0));
        check(gyrator_run_step(run, NULL));
    }
    check(gyrator_run_read(run, position, &x));
    check(gyrator_run_bond_energy(run, "coupling", &energy));
    check(gyrator_run_stop(run));
    printf("x = %.6f m, residual energy %.6f J, correction %.6f J\n", x, energy.residual_integrated, energy.correction);
    gyrator_input_free(push);
    gyrator_output_free(position);
    gyrator_run_free(run);
    gyrator_system_free(system);
    return 0;
}
