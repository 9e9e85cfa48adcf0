/*
 * A co-simulation slave with the output y = k that leaves something to the runs after it, or takes something from them: what
 * LEAVES names. It gives another y where it finds what another instance has left, and refuses to begin where nothing is left
 * for it.
 *
 * Reals 0: y   1: k, a parameter
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NOTHING,
    WORKING_FILE, /* writes k to a file of the working directory, and reads it again */
    RESOURCE_FILE, /* the same among its resources */
    CHANGED_RESOURCE, /* counts in a file that it has brought along */
    DESCRIPTORS, /* keeps 30 files open, and does not begin without */
    KEYS, /* keeps 30 thread-local keys, and does not begin without */
    FEW_KEYS, /* keeps 8 thread-local keys, and gives a wrong y without */
    MEMORY, /* keeps 8 MB, and waits for ever with as many MB as k if that is more than 100 */
};

typedef struct {
    double y, k, wrong;
    char path[4096];
} slave_t;

static void write_number(const char *path, double number) {
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "%.17g", number);
    fclose(file);
}

static double read_number(const char *path) {
    double number = -1;
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    if (fscanf(file, "%lf", &number) != 1) number = -2;
    fclose(file);
    return number;
}

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources,
                      const void *callbacks, int visible, int logging) {
    slave_t *s = calloc(1, sizeof *s);
    const char *folder = strncmp(resources, "file://", 7) == 0 ? resources + 7 : resources;
    snprintf(s->path, sizeof s->path, LEAVES == WORKING_FILE ? "%.0sscratch.txt" : "%s/scratch.txt", folder);
    if (LEAVES == WORKING_FILE || LEAVES == RESOURCE_FILE) s->wrong = read_number(s->path) + 1;
    if (LEAVES == CHANGED_RESOURCE) {
        snprintf(s->path, sizeof s->path, "%s/count.txt", folder);
        double count = read_number(s->path);
        write_number(s->path, count + 1);
        s->wrong = count - 1;
    }
    for (int i = 0; LEAVES == DESCRIPTORS && i < 30; i++)
        if (open("/dev/null", O_RDONLY) < 0) return NULL;
    for (int i = 0; (LEAVES == KEYS && i < 30) || (LEAVES == FEW_KEYS && i < 8); i++) {
        pthread_key_t key;
        if (pthread_key_create(&key, NULL) == 0) continue;
        if (LEAVES == KEYS) return NULL;
        s->wrong = 1;
    }
    if (LEAVES == MEMORY) memset(malloc(8 << 20), 1, 8 << 20);
    return s;
}

void fmi2FreeInstance(slave_t *s) { free(s); }
int fmi2SetDebugLogging(slave_t *s, int on, size_t n, const char **categories) { return 0; }
int fmi2SetupExperiment(slave_t *s, int d, double t, double start, int e, double stop) { return 0; }
int fmi2EnterInitializationMode(slave_t *s) { return 0; }
int fmi2ExitInitializationMode(slave_t *s) {
    if (LEAVES == MEMORY && s->k > 100) {
        memset(malloc((size_t)s->k << 20), 1, (size_t)s->k << 20);
        pause();
    }
    if (LEAVES == WORKING_FILE || LEAVES == RESOURCE_FILE) write_number(s->path, s->k);
    return 0;
}
int fmi2Terminate(slave_t *s) { return 0; }
int fmi2Reset(slave_t *s) { return 0; }

int fmi2GetReal(slave_t *s, const unsigned *refs, size_t n, double *values) {
    for (size_t i = 0; i < n; i++) values[i] = refs[i] == 0 ? s->y : s->k;
    return 0;
}

/* k below zero is refused. */
int fmi2SetReal(slave_t *s, const unsigned *refs, size_t n, const double *values) {
    for (size_t i = 0; i < n; i++)
        if (refs[i] == 1) s->k = values[i];
    return s->k < 0 ? 3 : 0;
}

int fmi2GetInteger(slave_t *s, const unsigned *refs, size_t n, int *values) { return 0; }
int fmi2SetInteger(slave_t *s, const unsigned *refs, size_t n, const int *values) { return 0; }
int fmi2GetBoolean(slave_t *s, const unsigned *refs, size_t n, int *values) { return 0; }
int fmi2SetBoolean(slave_t *s, const unsigned *refs, size_t n, const int *values) { return 0; }
int fmi2GetString(slave_t *s, const unsigned *refs, size_t n, const char **values) { return 0; }
int fmi2SetString(slave_t *s, const unsigned *refs, size_t n, const char *const *values) { return 0; }

int fmi2DoStep(slave_t *s, double t, double h, int final) {
    double found = s->k;
    usleep(100);
    if (LEAVES == WORKING_FILE || LEAVES == RESOURCE_FILE) found = read_number(s->path);
    s->y = found + s->wrong;
    return 0;
}
