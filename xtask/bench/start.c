/* The least that a start costs: unzips the archives with libzip into a folder, loads the libraries, makes a run and removes all again.

   usage: start GUID STEPS FMU [FMU…]
   Each FMU is one instance of Tiny, with a load of its own where it is named again. In a pair they are fed by each other's outputs.
   Prints the last y0 of the first instance, which is the number of steps. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

enum { SIGNALS = 2, PATH = 4096 };
static const char LIBRARY[] = "binaries/linux64/Tiny.so";

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*step_finished)(void *, int);
    void *environment;
} Callbacks;

typedef struct {
    void *component;
    int (*set_real)(void *, const unsigned *, size_t, const double *);
    int (*get_real)(void *, const unsigned *, size_t, double *);
    int (*do_step)(void *, double, double, int);
    int (*terminate)(void *);
    void (*free_instance)(void *);
    double y[SIGNALS];
} Unit;

static void fail(const char *message) {
    fprintf(stderr, "start: %s\n", message);
    exit(1);
}

static void *symbol(void *library, const char *name) {
    void *address = dlsym(library, name);
    if (!address) fail(dlerror());
    return address;
}

static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

static void unzip(const char *archive, const char *folder) {
    int error;
    zip_t *zip = zip_open(archive, ZIP_RDONLY, &error);
    if (!zip) fail("cannot open the archive");
    zip_int64_t entries = zip_get_num_entries(zip, 0);
    for (zip_int64_t i = 0; i < entries; i++) {
        zip_stat_t entry;
        char path[PATH];
        if (zip_stat_index(zip, i, 0, &entry)) fail("cannot read the archive");
        snprintf(path, sizeof path, "%s/%s", folder, entry.name);
        make_folders(path);
        if (path[strlen(path) - 1] == '/') continue;
        char *content = malloc(entry.size + 1);
        zip_file_t *packed = zip_fopen_index(zip, i, 0);
        FILE *file = fopen(path, "wb");
        if (!content || !packed || !file) fail("cannot unpack a file");
        if (zip_fread(packed, content, entry.size) != (zip_int64_t)entry.size) fail("cannot unpack a file");
        if (fwrite(content, 1, entry.size, file) != entry.size || fclose(file)) fail("cannot write a file");
        zip_fclose(packed);
        free(content);
    }
    zip_discard(zip);
}

static void ignore_log(void *environment, const char *instance, int status, const char *category, const char *message, ...) {
    (void)environment; (void)instance; (void)status; (void)category; (void)message;
}
static const Callbacks callbacks = {ignore_log, calloc, free, NULL, NULL};

static Unit start(const char *folder, const char *guid) {
    char path[PATH], resources[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, LIBRARY);
    snprintf(resources, sizeof resources, "file://%s/resources", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    void *(*instantiate)(const char *, int, const char *, const char *, const Callbacks *, int, int) = symbol(library, "fmi2Instantiate");
    int (*setup)(void *, int, double, double, int, double) = symbol(library, "fmi2SetupExperiment");
    int (*enter)(void *) = symbol(library, "fmi2EnterInitializationMode");
    int (*leave)(void *) = symbol(library, "fmi2ExitInitializationMode");
    Unit unit = {instantiate("fmu", 1, guid, resources, &callbacks, 0, 0),
                 symbol(library, "fmi2SetReal"), symbol(library, "fmi2GetReal"), symbol(library, "fmi2DoStep"),
                 symbol(library, "fmi2Terminate"), symbol(library, "fmi2FreeInstance"), {0, 0}};
    if (!unit.component) fail("fmi2Instantiate gave no instance");
    if (setup(unit.component, 0, 0.0, 0.0, 0, 0.0) || enter(unit.component) || leave(unit.component)) fail("no start");
    return unit;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status; (void)kind; (void)place;
    return remove(path);
}

int main(int count, char **argument) {
    if (count < 4) fail("usage: start GUID STEPS FMU [FMU...]");
    long steps = strtol(argument[2], NULL, 10);
    size_t units = (size_t)count - 3;
    const unsigned inputs[SIGNALS] = {0, 1}, outputs[SIGNALS] = {2, 3};
    const double h = 1e-3;
    char root[] = P_tmpdir "/start-XXXXXX";
    if (!mkdtemp(root)) fail("no temporary folder");
    Unit *unit = malloc(units * sizeof *unit);
    if (!unit) fail("out of memory");
    for (size_t i = 0; i < units; i++) {
        char folder[PATH];
        snprintf(folder, sizeof folder, "%s/%zu", root, i);
        unzip(argument[3 + i], folder);
        unit[i] = start(folder, argument[1]);
    }
    for (long k = 0; k < steps; k++) {
        int bad = 0;
        for (size_t i = 0; i < units; i++)
            bad |= unit[i].set_real(unit[i].component, inputs, SIGNALS, unit[(i ^ 1) < units ? i ^ 1 : i].y);
        for (size_t i = 0; i < units; i++) bad |= unit[i].do_step(unit[i].component, (double)k * h, h, 1);
        for (size_t i = 0; i < units; i++) bad |= unit[i].get_real(unit[i].component, outputs, SIGNALS, unit[i].y);
        if (bad) fail("a call failed");
    }
    printf("%.17g\n", unit[0].y[0]);
    for (size_t i = 0; i < units; i++) {
        unit[i].terminate(unit[i].component);
        unit[i].free_instance(unit[i].component);
    }
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0;
}
