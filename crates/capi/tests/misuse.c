/* Each way of using gyrator.h wrongly has its code and a message, and leaves the objects whole. misuse OscillatorForce.fmu */
#include <gyrator.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int line_failed;
#define EXPECT(holds)                                                          \
    do {                                                                       \
        if (!(holds)) {                                                        \
            fprintf(stderr, "%s:%d: %s; the last error is \"%s\"\n", __FILE__, \
                    __LINE__, #holds, gyrator_last_error());                   \
            line_failed = 1;                                                   \
        }                                                                      \
    } while (0)
#define REFUSED(call, expected, part)                                          \
    do {                                                                       \
        EXPECT((call) == (expected));                                          \
        EXPECT(strstr(gyrator_last_error(), part) != NULL);                    \
    } while (0)

struct part {
    gyrator_run *run;
    int calls, released;
    int fails_at;
    gyrator_code inner;
};

static int step(void *data, double time, double step, const double *inputs, double *outputs) {
    struct part *part = data;
    (void)time, (void)step;
    outputs[0] = inputs[0] + 1.0;
    part->calls++;
    /* The run is within a step: it refuses to be used. */
    if (part->run) part->inner = gyrator_run_step(part->run, NULL);
    return part->calls == part->fails_at ? 7 : 0;
}

static void release(void *data) { ((struct part *)data)->released++; }

int main(int count, char **arguments) {
    const char *fmu = count > 1 ? arguments[1] : "OscillatorForce.fmu";
    struct part part = {NULL, 0, 0, 0, GYRATOR_CODE_OK};
    gyrator_variable input = {"u", 0.5}, output = {"y", 0.0}, nameless = {NULL, 0.0}, latin = {"\xe4", 0.0};
    gyrator_unit unit = {&input, 1, &output, 1, step, release, &part};
    gyrator_system *system = NULL;
    gyrator_run *run = NULL, *again = NULL;
    gyrator_output *y = NULL;
    gyrator_input *u = NULL;
    gyrator_snapshot *snapshot = NULL, *unsaved = NULL;
    gyrator_bond_energy energy;
    bool goes_on = true;
    double value = 0.0, first = 0.0;
    const char *json = NULL;

    EXPECT(strlen(gyrator_version()) > 0 && strlen(gyrator_last_error()) == 0);
    REFUSED(gyrator_system_new(0.1, NULL), GYRATOR_CODE_USAGE, "NULL");
    REFUSED(gyrator_system_from_file("nothing.toml", &system), GYRATOR_CODE_INVALID_INPUT, "nothing.toml");
    EXPECT(gyrator_system_new(0.1, &system) == GYRATOR_CODE_OK);
    REFUSED(gyrator_system_stop_time(NULL, 1.0), GYRATOR_CODE_USAGE, "the system is NULL");
    EXPECT(gyrator_system_stop_time(system, 1.0) == GYRATOR_CODE_OK);
    REFUSED(gyrator_system_tolerance(NULL, 1e-6), GYRATOR_CODE_USAGE, "the system is NULL");
    EXPECT(gyrator_system_tolerance(system, 1e-6) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_tolerance(system, 0.0) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_start_time(system, 0.0) == GYRATOR_CODE_OK);

    /* Units. */
    REFUSED(gyrator_system_add_unit(system, "part", NULL), GYRATOR_CODE_USAGE, "the unit is NULL");
    REFUSED(gyrator_system_add_unit(system, NULL, &unit), GYRATOR_CODE_USAGE, "the name is NULL");
    unit.inputs = &nameless;
    REFUSED(gyrator_system_add_unit(system, "part", &unit), GYRATOR_CODE_USAGE, "the name of a variable is NULL");
    unit.inputs = &latin;
    REFUSED(gyrator_system_add_unit(system, "part", &unit), GYRATOR_CODE_USAGE, "UTF-8");
    unit.inputs = NULL;
    REFUSED(gyrator_system_add_unit(system, "part", &unit), GYRATOR_CODE_USAGE, "the inputs of the unit is NULL");
    unit.inputs = &input, unit.step = NULL;
    REFUSED(gyrator_system_add_unit(system, "part", &unit), GYRATOR_CODE_USAGE, "the step");
    EXPECT(part.released == 0);
    unit.step = step;
    EXPECT(gyrator_system_add_unit(system, "part", &unit) == GYRATOR_CODE_OK);
    REFUSED(gyrator_system_add_fmu(system, "left", "nothing.fmu"), GYRATOR_CODE_NOT_LOADED, "nothing.fmu");
    EXPECT(gyrator_system_add_fmu(system, "left", fmu) == GYRATOR_CODE_OK);
    REFUSED(gyrator_component_step_size(system, "middle", 0.1), GYRATOR_CODE_USAGE, "middle");
    REFUSED(gyrator_component_choose(system, "left", "method", "jacobi", NULL, 0), GYRATOR_CODE_USAGE, "no method");
    REFUSED(gyrator_system_choose(system, "colour", "jacobi", NULL, 0), GYRATOR_CODE_USAGE, "no colour");
    REFUSED(gyrator_system_choose(system, "method", "jacobi", NULL, 2), GYRATOR_CODE_USAGE, "the settings");

    /* Connections are checked when the system starts. */
    EXPECT(gyrator_system_connect(system, "left.f", "part.nothing") == GYRATOR_CODE_OK);
    REFUSED(gyrator_system_start(system, 1, &run), GYRATOR_CODE_INVALID_INPUT, "no variable `nothing`");
    gyrator_system_free(system);
    EXPECT(part.released == 1);

    EXPECT(gyrator_system_new(0.1, &system) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_add_unit(system, "part", &unit) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_add_fmu(system, "left", fmu) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_connect_scaled(system, "part.y", "left.x2", 0.0, 0.0) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_start(system, 2, &run) == GYRATOR_CODE_OK);
    REFUSED(gyrator_system_start(system, 1, &again), GYRATOR_CODE_INVALID_INPUT, "part");
    gyrator_system_free(system);

    REFUSED(gyrator_run_save(run, &unsaved), GYRATOR_CODE_USAGE, "part cannot save a state");
    REFUSED(gyrator_run_output(run, "part.z", &y), GYRATOR_CODE_USAGE, "part.z");
    EXPECT(gyrator_run_output(run, "part.y", &y) == GYRATOR_CODE_OK);
    EXPECT(gyrator_run_input(run, "part.u", &u) == GYRATOR_CODE_OK);
    REFUSED(gyrator_run_read(run, NULL, &value), GYRATOR_CODE_USAGE, "the output is NULL");
    REFUSED(gyrator_run_write(run, NULL, 2.0), GYRATOR_CODE_USAGE, "the input is NULL");
    REFUSED(gyrator_run_write(run, u, NAN), GYRATOR_CODE_USAGE, "part.u cannot be set to NaN at t = 0 s");
    REFUSED(gyrator_run_write_real(run, "part.u", INFINITY), GYRATOR_CODE_USAGE, "part.u cannot be set to inf");
    EXPECT(gyrator_run_write(run, u, 2.0) == GYRATOR_CODE_OK);
    part.run = run;
    EXPECT(gyrator_run_step(run, &goes_on) == GYRATOR_CODE_OK && goes_on);
    EXPECT(part.inner == GYRATOR_CODE_USAGE);
    part.run = NULL;
    EXPECT(gyrator_run_read(run, y, &value) == GYRATOR_CODE_OK && value == 3.0);
    EXPECT(gyrator_run_read_real(run, "part.u", &value) == GYRATOR_CODE_OK && value == 2.0);
    REFUSED(gyrator_run_bond_energy(run, "none", &energy), GYRATOR_CODE_USAGE, "none");
    REFUSED(gyrator_run_until(run, NAN, NULL), GYRATOR_CODE_USAGE, "NaN");
    REFUSED(gyrator_run_record(run, "nowhere/rows.csv"), GYRATOR_CODE_FAILED, "nowhere");
    EXPECT(gyrator_run_until(run, 0.5, &goes_on) == GYRATOR_CODE_OK && goes_on);
    EXPECT(gyrator_run_time(run, &value) == GYRATOR_CODE_OK && fabs(value - 0.5) < 1e-12);
    part.fails_at = part.calls + 1;
    REFUSED(gyrator_run_step(run, NULL), GYRATOR_CODE_FAILED, "the callback returned 7");
    REFUSED(gyrator_run_step(run, NULL), GYRATOR_CODE_USAGE, "ended");
    EXPECT(gyrator_run_summary(run, &json) == GYRATOR_CODE_OK && json[0] == '{');
    REFUSED(gyrator_run_save(run, &unsaved), GYRATOR_CODE_USAGE, "ended");
    EXPECT(unsaved == NULL);
    gyrator_input_free(u);
    gyrator_output_free(y);
    gyrator_run_free(run);
    gyrator_run_free(NULL);

    /* A run of FMUs goes back to a saved state, and has the same values again. */
    EXPECT(gyrator_system_new(0.01, &system) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_add_fmu(system, "left", fmu) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_start(system, 1, &run) == GYRATOR_CODE_OK);
    EXPECT(gyrator_system_start(system, 1, &again) == GYRATOR_CODE_OK);
    gyrator_system_free(system);
    REFUSED(gyrator_run_save(run, NULL), GYRATOR_CODE_USAGE, "NULL");
    REFUSED(gyrator_run_save(NULL, &snapshot), GYRATOR_CODE_USAGE, "the run is NULL");
    EXPECT(gyrator_run_until(run, 0.1, NULL) == GYRATOR_CODE_OK);
    EXPECT(gyrator_run_save(run, &snapshot) == GYRATOR_CODE_OK);
    REFUSED(gyrator_run_restore(run, NULL), GYRATOR_CODE_USAGE, "the snapshot is NULL");
    REFUSED(gyrator_run_restore(again, snapshot), GYRATOR_CODE_USAGE, "belongs to the run");
    EXPECT(gyrator_run_until(run, 0.2, NULL) == GYRATOR_CODE_OK);
    EXPECT(gyrator_run_read_real(run, "left.x", &first) == GYRATOR_CODE_OK);
    EXPECT(gyrator_run_restore(run, snapshot) == GYRATOR_CODE_OK);
    EXPECT(gyrator_run_time(run, &value) == GYRATOR_CODE_OK && fabs(value - 0.1) < 1e-12);
    EXPECT(gyrator_run_read_real(run, "left.x", &value) == GYRATOR_CODE_OK && value != first);
    EXPECT(gyrator_run_until(run, 0.2, NULL) == GYRATOR_CODE_OK);
    EXPECT(gyrator_run_read_real(run, "left.x", &value) == GYRATOR_CODE_OK && value == first);
    gyrator_run_free(run);
    gyrator_snapshot_free(snapshot);
    gyrator_snapshot_free(NULL);
    gyrator_run_free(again);
    gyrator_system_free(NULL);
    EXPECT(part.released == 2);
    return line_failed;
}
