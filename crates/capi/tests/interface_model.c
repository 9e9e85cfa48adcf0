/* An interface model that is described in C is that of the system file, bit for bit. interface_model crane.toml bare.toml */
#include <gyrator.h>
#include <stdio.h>
#include <string.h>

#define LIST(names) {names, sizeof(names) / sizeof *(names)}

static int failed(const char *what) {
    fprintf(stderr, "%s; the last error is \"%s\"\n", what, gyrator_last_error());
    return 1;
}

/* Position and pressure when the crane has begun to move. */
static int run(gyrator_system *system, double values[2]) {
    gyrator_run *run = NULL;
    int trouble = gyrator_system_start(system, 1, &run) || gyrator_run_until(run, 1.2, NULL) ||
                  gyrator_run_read_real(run, "mechanics.s1", &values[0]) ||
                  gyrator_run_read_real(run, "circuit1.p1", &values[1]) || gyrator_run_stop(run);
    gyrator_run_free(run);
    return trouble;
}

int main(int count, char **arguments) {
    static const gyrator_text bonds[] = {"actuator1"}, positions[] = {"s1"}, mass[] = {"inverse_mass_11"},
                              acceleration[] = {"free_acceleration_1"}, forces[] = {"circuit1.f"}, nothing[] = {NULL};
    gyrator_setting settings[] = {{"displacement_correction", 0.5, NULL}};
    gyrator_interface_model model = {
        .name = "actuators",
        .component = "mechanics",
        .exchange_step = 1e-3,
        .bonds = LIST(bonds),
        .positions = LIST(positions),
        .inverse_mass = LIST(mass),
        .free_acceleration = LIST(acceleration),
        .forces = LIST(forces),
        .order = "fast-first",
        .settings = settings,
        .setting_count = 1,
    };
    gyrator_names none = {NULL, 0}, absent = {NULL, 1}, of_null = LIST(nothing);
    gyrator_system *from_file = NULL, *in_code = NULL, *bare = NULL;
    gyrator_run *unmade = NULL;
    double expected[2], found[2], without[2];

    if (count != 3) return failed("interface_model FILE.toml FILE-WITHOUT.toml");
    if (gyrator_system_from_file(arguments[1], &from_file) || gyrator_system_from_file(arguments[2], &in_code) ||
        gyrator_system_from_file(arguments[2], &bare))
        return failed("the systems are read");
    if (!gyrator_system_interface_model(in_code, NULL) || !gyrator_system_interface_model(NULL, &model))
        return failed("NULL is refused");
    model.bonds = absent;
    if (gyrator_system_interface_model(in_code, &model) != GYRATOR_CODE_USAGE || !strstr(gyrator_last_error(), "the bonds is NULL"))
        return failed("a list that is not there is refused");
    model.bonds = of_null;
    if (gyrator_system_interface_model(in_code, &model) != GYRATOR_CODE_USAGE || !strstr(gyrator_last_error(), "a name of the bonds"))
        return failed("a name that is NULL is refused");
    /* What was refused has changed nothing. */
    model.bonds.first = bonds;
    if (gyrator_system_interface_model(in_code, &model)) return failed("the interface model is added");
    if (run(from_file, expected) || run(in_code, found) || run(bare, without)) return failed("the systems run");
    if (memcmp(expected, found, sizeof expected) || expected[1] == without[1]) {
        fprintf(stderr, "from the file %.17g %.17g, in C %.17g %.17g, without %.17g %.17g\n", expected[0], expected[1],
                found[0], found[1], without[0], without[1]);
        return 1;
    }
    model.name = "other", model.order = "fats-first", model.bonds = none;
    if (gyrator_system_interface_model(bare, &model)) return failed("a model is checked at the start");
    if (gyrator_system_start(bare, 1, &unmade) != GYRATOR_CODE_INVALID_INPUT || !strstr(gyrator_last_error(), "fats-first"))
        return failed("an unknown order is refused");
    gyrator_system_free(from_file);
    gyrator_system_free(in_code);
    gyrator_system_free(bare);
    return 0;
}
