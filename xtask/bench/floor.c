/* The least that a master can cost: one thread, set all, step all, get all, over instances in cross-coupled pairs. The second of
   each pair may be of another FMU. The first outputs of one are the inputs of the other.

   usage: floor INSTANCES STEPS CSV PASS FMU [FMU]
   FMU is LIBRARY GUID INPUTS OUTPUTS, with value references, as 0,1. CSV is a file, or - for none.
   PASS is what follows each step, for the first output of the first of each pair: `none`; `fresh` sets the new inputs and reads
   it again; `derivative` asks for its change under the new inputs, and leaves it as it is.
   Prints the last value of the first output of all. Tiny counts the steps with it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNALS = 8, BUFFER = 1 << 20, LONGEST_NUMBER = 32, OF_FMU = 4 };

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*step_finished)(void *, int);
    void *environment;
} Callbacks;

typedef enum { NONE, FRESH, DERIVATIVE } Pass;

typedef struct {
    void *(*instantiate)(const char *, int, const char *, const char *, const Callbacks *, int, int);
    int (*setup)(void *, int, double, double, int, double);
    int (*enter_initialization)(void *);
    int (*exit_initialization)(void *);
    int (*set_real)(void *, const unsigned *, size_t, const double *);
    int (*get_real)(void *, const unsigned *, size_t, double *);
    int (*do_step)(void *, double, double, int);
    int (*derivative)(void *, const unsigned *, size_t, const unsigned *, size_t, const double *, double *);
    const char *guid;
    unsigned inputs[SIGNALS], outputs[SIGNALS];
    size_t input_count, output_count;
} Fmu;

static void fail(const char *message) {
    fprintf(stderr, "floor: %s\n", message);
    exit(1);
}

static void *symbol(void *library, const char *name) {
    void *address = dlsym(library, name);
    if (!address) fail(dlerror());
    return address;
}

static size_t parse_references(const char *text, unsigned *reference) {
    for (size_t count = 0; count < SIGNALS;) {
        char *end;
        reference[count++] = (unsigned)strtoul(text, &end, 10);
        if (end == text) fail("a value reference is a number");
        if (*end == '\0') return count;
        text = end + 1;
    }
    fail("too many value references");
    return 0;
}

static Pass parse_pass(const char *word) {
    if (strcmp(word, "fresh") == 0) return FRESH;
    if (strcmp(word, "derivative") == 0) return DERIVATIVE;
    if (strcmp(word, "none") != 0) fail("PASS is none, fresh or derivative");
    return NONE;
}

static Fmu load(char **argument) {
    Fmu fmu = {.guid = argument[1]};
    fmu.input_count = parse_references(argument[2], fmu.inputs);
    fmu.output_count = parse_references(argument[3], fmu.outputs);
    void *library = dlopen(argument[0], RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    *(void **)&fmu.instantiate = symbol(library, "fmi2Instantiate");
    *(void **)&fmu.setup = symbol(library, "fmi2SetupExperiment");
    *(void **)&fmu.enter_initialization = symbol(library, "fmi2EnterInitializationMode");
    *(void **)&fmu.exit_initialization = symbol(library, "fmi2ExitInitializationMode");
    *(void **)&fmu.set_real = symbol(library, "fmi2SetReal");
    *(void **)&fmu.get_real = symbol(library, "fmi2GetReal");
    *(void **)&fmu.do_step = symbol(library, "fmi2DoStep");
    *(void **)&fmu.derivative = symbol(library, "fmi2GetDirectionalDerivative");
    return fmu;
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

static Table open_table(const char *path, size_t instances, size_t signals) {
    Table table = {fopen(path, "wb"), NULL, 0};
    if (!table.file) fail("cannot open the CSV");
    setvbuf(table.file, NULL, _IONBF, 0);
    table.text = malloc(BUFFER + (instances * signals + 1) * LONGEST_NUMBER);
    if (!table.text) fail("out of memory");
    table.length += (size_t)sprintf(table.text, "time");
    for (size_t i = 0; i < instances; i++)
        for (size_t signal = 0; signal < signals; signal++)
            table.length += (size_t)sprintf(table.text + table.length, ",fmu%zu.y%zu", i, signal);
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

/* Returns the worse status. `used` are the inputs of the step; it gets those of the next one. */
static int make_pass(Pass pass, const Fmu *fmu, void *unit, const double *input, double *used, double *output) {
    if (pass == FRESH) {
        int status = fmu->set_real(unit, fmu->inputs, fmu->input_count, input);
        int read = fmu->get_real(unit, fmu->outputs, 1, output);
        return status > read ? status : read;
    }
    double change[SIGNALS], response;
    for (size_t k = 0; k < fmu->input_count; k++) {
        change[k] = input[k] - used[k];
        used[k] = input[k];
    }
    return fmu->derivative(unit, fmu->outputs, 1, fmu->inputs, fmu->input_count, change, &response);
}

int main(int count, char **argument) {
    if (count != 5 + OF_FMU && count != 5 + 2 * OF_FMU) fail("usage: floor INSTANCES STEPS CSV PASS FMU [FMU]");
    size_t instances = strtoul(argument[1], NULL, 10);
    long steps = strtol(argument[2], NULL, 10);
    if (instances < 2 || instances % 2 != 0) fail("INSTANCES is an even number");
    const Pass pass = parse_pass(argument[4]);
    const Fmu fmu[2] = {load(argument + 5), load(argument + count - OF_FMU)};
    for (int i = 0; i < 2; i++)
        if (fmu[i].input_count > fmu[i ^ 1].output_count) fail("an input has no output");
    const size_t signals = fmu[0].output_count > fmu[1].output_count ? fmu[0].output_count : fmu[1].output_count;
    const double h = 1e-3;
    const Callbacks callbacks = {ignore_log, calloc, free, NULL, NULL};

    void **unit = malloc(instances * sizeof *unit);
    double *y = calloc(instances * signals, sizeof *y), *used = calloc(instances * SIGNALS, sizeof *used);
    if (!unit || !y || !used) fail("out of memory");
    for (size_t i = 0; i < instances; i++) {
        const Fmu *own = fmu + i % 2;
        unit[i] = own->instantiate("fmu", 1, own->guid, "file:///", &callbacks, 0, 0);
        if (!unit[i]) fail("fmi2Instantiate gave no instance");
        own->setup(unit[i], 0, 0.0, 0.0, 0, 0.0);
        own->enter_initialization(unit[i]);
        own->exit_initialization(unit[i]);
        if (own->get_real(unit[i], own->outputs, own->output_count, y + i * signals) > 1) fail("a call failed");
    }
    Table table = {NULL, NULL, 0};
    if (strcmp(argument[3], "-") != 0) table = open_table(argument[3], instances, signals);

    for (long k = 0; k < steps; k++) {
        double time = (double)k * h;
        int bad = 0; /* above 1 is worse than a warning */
        for (size_t i = 0; i < instances; i += 2) {
            double *a = y + i * signals, *b = a + signals;
            bad |= fmu[0].set_real(unit[i], fmu[0].inputs, fmu[0].input_count, b) > 1;
            bad |= fmu[1].set_real(unit[i + 1], fmu[1].inputs, fmu[1].input_count, a) > 1;
        }
        for (size_t i = 0; i < instances; i += 2) {
            bad |= fmu[0].do_step(unit[i], time, h, 1) > 1;
            bad |= fmu[1].do_step(unit[i + 1], time, h, 1) > 1;
        }
        for (size_t i = 0; i < instances; i += 2) {
            double *a = y + i * signals, *b = a + signals;
            bad |= fmu[0].get_real(unit[i], fmu[0].outputs, fmu[0].output_count, a) > 1;
            bad |= fmu[1].get_real(unit[i + 1], fmu[1].outputs, fmu[1].output_count, b) > 1;
        }
        for (size_t i = 0; pass != NONE && i < instances; i += 2) {
            double *a = y + i * signals, *b = a + signals;
            bad |= make_pass(pass, fmu, unit[i], b, used + i * SIGNALS, a) > 1;
        }
        if (bad) fail("a call failed");
        if (table.file) write_row(&table, time + h, y, instances * signals);
    }
    if (table.file) {
        write_out(&table);
        fclose(table.file);
    }
    printf("%.17g\n", y[0]);
    return 0;
}
