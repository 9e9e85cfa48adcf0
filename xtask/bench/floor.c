/* The least that a master can cost: one thread, set all, step all, get all, over instances of Tiny in cross-coupled pairs.

   usage: floor LIBRARY GUID INSTANCES STEPS [CSV]
   Prints the last y0 of the first instance, which is the number of steps. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIGNALS = 2, BUFFER = 1 << 20, LONGEST_NUMBER = 32 };

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*step_finished)(void *, int);
    void *environment;
} Callbacks;

static void *(*instantiate)(const char *, int, const char *, const char *, const Callbacks *, int, int);
static int (*setup)(void *, int, double, double, int, double);
static int (*enter_initialization)(void *);
static int (*exit_initialization)(void *);
static int (*set_real)(void *, const unsigned *, size_t, const double *);
static int (*get_real)(void *, const unsigned *, size_t, double *);
static int (*do_step)(void *, double, double, int);

static void fail(const char *message) {
    fprintf(stderr, "floor: %s\n", message);
    exit(1);
}

static void *symbol(void *library, const char *name) {
    void *address = dlsym(library, name);
    if (!address) fail(dlerror());
    return address;
}

static void load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    *(void **)&instantiate = symbol(library, "fmi2Instantiate");
    *(void **)&setup = symbol(library, "fmi2SetupExperiment");
    *(void **)&enter_initialization = symbol(library, "fmi2EnterInitializationMode");
    *(void **)&exit_initialization = symbol(library, "fmi2ExitInitializationMode");
    *(void **)&set_real = symbol(library, "fmi2SetReal");
    *(void **)&get_real = symbol(library, "fmi2GetReal");
    *(void **)&do_step = symbol(library, "fmi2DoStep");
}

static void ignore_log(void *environment, const char *instance, int status, const char *category,
                       const char *message, ...) {
    (void)environment; (void)instance; (void)status; (void)category; (void)message;
}

typedef struct {
    FILE *file;
    char *text;
    size_t length;
} Table;

static void write_out(Table *table) {
    if (fwrite(table->text, 1, table->length, table->file) != table->length) fail("cannot write the CSV");
    table->length = 0;
}

static Table open_table(const char *path, size_t instances) {
    Table table = {fopen(path, "wb"), NULL, 0};
    if (!table.file) fail("cannot open the CSV");
    setvbuf(table.file, NULL, _IONBF, 0);
    table.text = malloc(BUFFER + (instances * SIGNALS + 1) * LONGEST_NUMBER);
    if (!table.text) fail("out of memory");
    table.length += (size_t)sprintf(table.text, "time");
    for (size_t i = 0; i < instances; i++)
        table.length += (size_t)sprintf(table.text + table.length, ",fmu%zu.y0,fmu%zu.y1", i, i);
    table.text[table.length++] = '\n';
    return table;
}

static void write_row(Table *table, double time, const double *value, size_t count) {
    table->length += (size_t)sprintf(table->text + table->length, "%.17g", time);
    for (size_t i = 0; i < count; i++)
        table->length += (size_t)sprintf(table->text + table->length, ",%.17g", value[i]);
    table->text[table->length++] = '\n';
    if (table->length > BUFFER) write_out(table);
}

int main(int count, char **argument) {
    if (count < 5) fail("usage: floor LIBRARY GUID INSTANCES STEPS [CSV]");
    load(argument[1]);
    size_t instances = strtoul(argument[3], NULL, 10);
    long steps = strtol(argument[4], NULL, 10);
    if (instances < 2 || instances % 2 != 0) fail("INSTANCES is an even number");
    const double h = 1e-3;
    const unsigned inputs[SIGNALS] = {0, 1}, outputs[SIGNALS] = {2, 3};
    const Callbacks callbacks = {ignore_log, calloc, free, NULL, NULL};

    void **unit = malloc(instances * sizeof *unit);
    double *y = calloc(instances * SIGNALS, sizeof *y);
    if (!unit || !y) fail("out of memory");
    for (size_t i = 0; i < instances; i++) {
        unit[i] = instantiate("fmu", 1, argument[2], "file:///", &callbacks, 0, 0);
        if (!unit[i]) fail("fmi2Instantiate gave no instance");
        setup(unit[i], 0, 0.0, 0.0, 0, 0.0);
        enter_initialization(unit[i]);
        exit_initialization(unit[i]);
    }
    Table table = {NULL, NULL, 0};
    if (count > 5) table = open_table(argument[5], instances);

    for (long k = 0; k < steps; k++) {
        double time = (double)k * h;
        int bad = 0; /* above 1 is worse than a warning */
        for (size_t i = 0; i < instances; i++)
            bad |= set_real(unit[i], inputs, SIGNALS, y + (i ^ 1) * SIGNALS) > 1;
        for (size_t i = 0; i < instances; i++) bad |= do_step(unit[i], time, h, 1) > 1;
        for (size_t i = 0; i < instances; i++)
            bad |= get_real(unit[i], outputs, SIGNALS, y + i * SIGNALS) > 1;
        if (bad) fail("a call failed");
        if (table.file) write_row(&table, time + h, y, instances * SIGNALS);
    }
    if (table.file) {
        write_out(&table);
        fclose(table.file);
    }
    printf("%.17g\n", y[0]);
    return 0;
}
