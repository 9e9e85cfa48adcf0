/*
 * A co-simulation slave that keeps every rule but the one that BREAKS names, as in V-43; 0 keeps
 * them all. For the tests of `gyrator validate --dynamic`.
 *
 * Reals     0: y, the integral of u   1: u   2: p, a parameter   3: z = u
 * Integers  0: mode, an enumeration of 1 and 2
 */
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef BREAKS
#define BREAKS 0
#endif

/* Runs when the library is loaded. */
__attribute__((constructor)) static void initialise(void) {
    if (BREAKS == 60) *(volatile int *)8 = 1;
}

typedef void (*logger_t)(void *, const char *, int, const char *, const char *, ...);
typedef struct {
    logger_t logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} callbacks_t;

typedef struct {
    const callbacks_t *callbacks;
    const char *name;
    double y, u, p;
    int steps, is_running;
} slave_t;

static double shared = 0;
static char *volatile leaked;

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return BREAKS == 39 ? "2.1" : "2.0"; }

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources,
                      const callbacks_t *callbacks, int visible, int logging) {
    if (BREAKS != 38 && strcmp(guid, "{right}") != 0) return NULL;
    if (BREAKS == 53 && getenv("UNRULY") != NULL) return NULL;
    if (BREAKS == 54) return NULL;
    /* Of the whole process: an instance may have a copy of this library for itself. */
    setenv("UNRULY", "is there", 1);
    slave_t *s = calloc(1, sizeof *s);
    s->callbacks = callbacks;
    s->name = strdup(name);
    s->p = BREAKS == 42 ? 3 : 2;
    s->u = 1;
    return s;
}

void fmi2FreeInstance(slave_t *s) {
    if (BREAKS == 66 && s->is_running) abort();
    unsetenv("UNRULY");
    free(s);
}
int fmi2SetDebugLogging(slave_t *s, int on, size_t n, const char **categories) { return 0; }
int fmi2SetupExperiment(slave_t *s, int d, double t, double start, int e, double stop) {
    if (BREAKS == 55) s->p = 2;
    return 0;
}
int fmi2EnterInitializationMode(slave_t *s) {
    if (BREAKS == 56) s->p = 2;
    return BREAKS == 50 ? 3 : 0;
}
int fmi2ExitInitializationMode(slave_t *s) { s->is_running = 1; return 0; }
int fmi2Terminate(slave_t *s) { s->is_running = 0; return 0; }
int fmi2Reset(slave_t *s) { return 0; }

int fmi2GetReal(slave_t *s, const unsigned *refs, size_t n, double *values) {
    for (size_t i = 0; i < n; i++) {
#ifdef REFUSED
        if (refs[i] == REFUSED) return 3;
#endif
        double z = BREAKS == 47 ? s->u : s->p;
        double all[] = {s->y, s->u, s->p, z};
        values[i] = all[refs[i]];
    }
    return 0;
}

int fmi2SetReal(slave_t *s, const unsigned *refs, size_t n, const double *values) {
    for (size_t i = 0; i < n; i++) {
        if (refs[i] == 1) s->u = values[i];
        if (refs[i] == 2) s->p = values[i];
        if (BREAKS == 48 && values[i] != values[i]) raise(SIGSEGV);
        if (values[i] != values[i]) return 3;
    }
    return 0;
}

int fmi2GetInteger(slave_t *s, const unsigned *refs, size_t n, int *values) {
    for (size_t i = 0; i < n; i++) values[i] = BREAKS == 41 ? 7 : 1;
    return 0;
}

int fmi2SetInteger(slave_t *s, const unsigned *r, size_t n, const int *v) { return 0; }
int fmi2GetBoolean(slave_t *s, const unsigned *r, size_t n, int *v) { return 0; }
int fmi2SetBoolean(slave_t *s, const unsigned *r, size_t n, const int *v) { return 0; }
int fmi2GetString(slave_t *s, const unsigned *r, size_t n, const char **v) {
    for (size_t i = 0; i < n; i++) v[i] = BREAKS == 61 ? (const char *)8 : "text";
    return 0;
}
int fmi2SetString(slave_t *s, const unsigned *r, size_t n, const char *const *v) { return 0; }

int fmi2DoStep(slave_t *s, double t, double h, int final) {
    s->y += h * s->u;
    if (BREAKS == 43) s->y = t > 0 ? (shared += h) : 0;
    if (BREAKS == 44) s->y += (double)(size_t)s;
    if (BREAKS == 45) s->y += getpid();
    if (BREAKS == 46) {
        leaked = malloc(4000);
        memset(leaked, 1, 4000);
    }
    if (BREAKS == 49) {
        fesetround(FE_UPWARD);
        fclose(fopen("stray.txt", "w"));
    }
    if (BREAKS == 65) s->y += h * s->steps++;
    if (BREAKS == 51 && ++s->steps == 5) raise(SIGSEGV);
    if (BREAKS == 70 && ++s->steps == 5) exit(0);
    if (BREAKS == 71 && ++s->steps == 5) _exit(0);
    if (BREAKS == 72 && ++s->steps == 5) _Exit(0);
#ifdef __linux__
    if (BREAKS == 73 && ++s->steps == 5) quick_exit(0);
#endif
    if (BREAKS == 74 && ++s->steps == 5) {
        /* Of a process of its own, which is none of the run's business. */
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
        child = fork();
        if (child == 0) exit(0);
        waitpid(child, NULL, 0);
    }
    if (BREAKS == 67 && ++s->steps == 5) {
        if (fork() == 0) {
            setsid();
            for (;;) pause();
        }
        raise(SIGSEGV);
    }
    if (BREAKS == 52 && ++s->steps == 5) s->y = NAN;
    void *environment = BREAKS == 40 ? (void *)s : s->callbacks->environment;
    const char *name = BREAKS == 40 ? "somebody" : s->name;
    s->callbacks->logger(environment, name, 0, NULL, "step");
    return 0;
}

int fmi2GetFMUstate(slave_t *s, slave_t **state) {
    if (BREAKS == 75) return 3;
    if (*state == NULL) *state = malloc(sizeof **state);
    **state = *s;
    return 0;
}
int fmi2SetFMUstate(slave_t *s, slave_t *state) {
    slave_t own = *s;
    *s = *state;
    if (BREAKS < 62) return 0;
    /* Addresses of another process are none here; those below 62 keep them. */
    s->callbacks = own.callbacks;
    s->name = own.name;
    return 0;
}
int fmi2FreeFMUstate(slave_t *s, slave_t **state) { free(*state); *state = NULL; return 0; }
int fmi2SerializedFMUstateSize(slave_t *s, slave_t *state, size_t *size) {
    *size = sizeof *state;
    return BREAKS == 76 ? 3 : 0;
}
int fmi2SerializeFMUstate(slave_t *s, slave_t *state, char *bytes, size_t size) {
    memcpy(bytes, state, size);
    return BREAKS == 77 ? 2 : 0;
}
int fmi2DeSerializeFMUstate(slave_t *s, const char *bytes, size_t size, slave_t **state) {
    if (BREAKS == 63) return 3;
    if (*state == NULL) *state = malloc(sizeof **state);
    memcpy(*state, bytes, size);
    if (BREAKS == 64) (*state)->y = 0;
    if (BREAKS == 65) (*state)->steps = 0;
    return 0;
}

int fmi2GetDirectionalDerivative(void) { return 3; }
int fmi2SetRealInputDerivatives(void) { return 3; }
int fmi2GetRealOutputDerivatives(void) { return 3; }
int fmi2CancelStep(void) { return 3; }
int fmi2GetStatus(void) { return 3; }
int fmi2GetRealStatus(void) { return 3; }
int fmi2GetIntegerStatus(void) { return 3; }
int fmi2GetBooleanStatus(void) { return 3; }
int fmi2GetStringStatus(void) { return 3; }
