/* Times the steps of an FMU for co-simulation that has no inputs: CPU time a step, without and with reading real outputs.
 *
 *   cc -O2 tests/importers/packed_step.c -ldl -o packed_step
 *   ./packed_step UNPACKED_FOLDER LIBRARY GUID STEPS STEP_SIZE OUTPUTS
 *
 * OUTPUTS is how many reals are read after each step, by the value references 0, 1, ...; at most 64. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;

static void logger(void *environment, const char *name, int status, const char *category, const char *message, ...)
{
    va_list arguments;
    (void)environment;
    va_start(arguments, message);
    fprintf(stderr, "%s: status %d, %s: ", name, status, category);
    vfprintf(stderr, message, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **words)
{
    static const Callbacks callbacks = {logger, calloc, free, NULL, NULL};
    char location[4096];
    unsigned references[64];
    double values[64];
    if (count != 7) {
        fprintf(stderr, "usage: packed_step UNPACKED_FOLDER LIBRARY GUID STEPS STEP_SIZE OUTPUTS\n");
        return 2;
    }
    long steps = atol(words[4]);
    double size = atof(words[5]);
    size_t outputs = (size_t)atol(words[6]) < 64 ? (size_t)atol(words[6]) : 64;
    for (unsigned i = 0; i < 64; i++) references[i] = i;
    snprintf(location, sizeof location, "file://%s/resources", words[1]);
    void *library = dlopen(words[2], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *(*instantiate)(const char *, int, const char *, const char *, const Callbacks *, int, int) =
        dlsym(library, "fmi2Instantiate");
    int (*set_up)(void *, int, double, double, int, double) = dlsym(library, "fmi2SetupExperiment");
    int (*enter)(void *) = dlsym(library, "fmi2EnterInitializationMode");
    int (*leave)(void *) = dlsym(library, "fmi2ExitInitializationMode");
    int (*step)(void *, double, double, int) = dlsym(library, "fmi2DoStep");
    int (*read)(void *, const unsigned *, size_t, double *) = dlsym(library, "fmi2GetReal");
    void *fmu = instantiate("packed", 1, words[3], location, &callbacks, 0, 0);
    if (!fmu || set_up(fmu, 0, 0.0, 0.0, 0, 0.0) || enter(fmu) || leave(fmu)) return 1;
    for (long part = 0; part < 6; part++) {
        size_t reads = part % 2 ? outputs : 0;
        double start = seconds();
        for (long k = 0; k < steps; k++) {
            if (step(fmu, (double)(part * steps + k) * size, size, 1)) return 1;
            if (reads && read(fmu, references, reads, values)) return 1;
        }
        printf("%zu reads: %.1f ns a step\n", reads, 1e9 * (seconds() - start) / (double)steps);
    }
    return 0;
}
