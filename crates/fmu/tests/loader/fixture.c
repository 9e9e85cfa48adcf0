/*
 * A co-simulation slave that misbehaves on demand, for the tests of the loader.
 *
 * Reals     0: state, grows by its input in each step   1: input   2: number of instances that
 *           share the data of this library   3: last successful time
 * Integers  0: status that the next fmi2DoStep returns   1: which message to log in the next step
 *           2: how often the next step is still pending when it is asked for   3: status that it
 *           ends with   4: 1 to tell its end by stepFinished before fmi2DoStep returns, 2 from
 *           another thread   5: 1 to round upwards from the next step on   6: visible
 *           7: logging on   77: cannot be read   8: ANSWER, by a function that all copies of this library export
 * Booleans  0: whether the slave wants to end   1: hands the logger a wrong pointer
 *           2: always reads as 2
 * Strings   0: always NULL   1: resource location   2: a text   3: bytes that are no UTF-8
 *
 * An instance whose name starts with "no state" returns OK and no state, one of "huge state" says that
 * its state is enormous; an empty state becomes none. One whose name starts with "trace" appends the name of each function that is called to
 * trace.txt in its resources.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*logger_t)(void *, const char *, int, const char *, const char *, ...);
typedef struct {
    logger_t logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} callbacks_t;

typedef struct {
    const callbacks_t *callbacks; /* not copied, as many FMUs do */
    char name[64], resources[1024], text[256];
    double real[4];
    int integer[9], boolean[3];
} slave_t;

static int instances = 0;

#ifndef ANSWER
#define ANSWER 0
#endif
int answer(void) { return ANSWER; }

static void trace(slave_t *s, const char *function) {
    char path[1100];
    if (strncmp(s->name, "trace", 5) != 0) return;
    snprintf(path, sizeof path, "%s/trace.txt", s->resources + strlen("file://"));
    FILE *file = fopen(path, "a");
    if (file == NULL) return;
    fprintf(file, "%s\n", function);
    fclose(file);
}

static void *environment(slave_t *s) {
    return s->boolean[1] ? (void *)s : s->callbacks->environment;
}

#define LOG(s, status, ...) \
    (s)->callbacks->logger(environment(s), (s)->name, status, "fixture", __VA_ARGS__)

static void log_message(slave_t *s) {
    static char endless[100001];
    switch (s->integer[1]) {
    case 1: LOG(s, 1, "%s is %d of %5.1f%% %-3s| %.*s %lld", "x", 7, 50.0, "a", 2, "bcd", 1LL << 40);
            break;
    case 2: LOG(s, 1, "100% sure, 5%"); break;
    case 3: LOG(s, 1, "writes %n here", (int *)8); break;
    case 4: LOG(s, 1, "caf\xe9"); break;
    case 5: LOG(s, 1, "#r1# is not #i9# nor ## nor #x"); break;
    case 6: memset(endless, 'e', sizeof endless - 1); LOG(s, 1, endless); break;
    case 7: LOG(s, 1, "reads %s there", (const char *)8); break;
    case 8: s->callbacks->logger(NULL, NULL, 77, NULL, NULL); break;
    case 9: LOG(s, 3, "bad"); break;
    case 10: LOG(s, 1, "%.*s|%*d|%-*d|%.*d", -1, "whole", 4, 7, 4, 7, -1, 7); break;
    case 11: LOG(s, 1, "%999999999d", 7); break;
    case 12: LOG(s, 1, "%*d", 999999999, 7); break;
    case 13: LOG(s, 1, "%.999999999f", 7.0); break;
    case 14: memset(endless, 'e', sizeof endless - 1);
             s->callbacks->logger(environment(s), endless, 1, endless, "short"); break;
    default: break;
    }
    s->integer[1] = 0;
}

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return NULL; }

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources,
                      const callbacks_t *callbacks, int visible, int logging) {
    (void)type;
    if (strcmp(guid, "{right}") != 0) {
        callbacks->logger(callbacks->environment, name, 3, NULL, "expected %s, got %s", "{right}",
                          guid);
        return NULL;
    }
    if (strcmp(name, "silent refusal") == 0) return NULL;
    if (strcmp(name, "fmu4j") == 0) {
        /* Takes a slash too much off, and is of no use any more once that has failed. */
        static int has_failed = 0;
        char path[1100];
        snprintf(path, sizeof path, "%s/note.txt", resources + strlen("file:///"));
        FILE *file = fopen(path, "r");
        has_failed |= file == NULL;
        if (has_failed) return NULL;
        fclose(file);
    }
    slave_t *s = callbacks->allocate(1, sizeof *s);
    s->callbacks = callbacks;
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(s->resources, sizeof s->resources, "%s", resources);
    s->real[2] = ++instances;
    s->integer[6] = visible;
    s->integer[7] = logging;
    s->integer[8] = answer();
    callbacks->release(NULL);
    return s;
}

void fmi2FreeInstance(void *c) {
    slave_t *s = c;
    trace(s, "free");
    LOG(s, 0, "freed");
    s->callbacks->release(s);
}

int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *categories) {
    char line[128];
    snprintf(line, sizeof line, "logging %d %d %s", on, (int)n, n > 0 ? categories[0] : "all");
    trace(c, line);
    return 0;
}
int fmi2SetupExperiment(void *c, int a, double b, double d, int e, double f) {
    (void)b, (void)d, (void)e, (void)f;
    trace(c, a ? "setup with tolerance" : "setup");
    return 0;
}
int fmi2EnterInitializationMode(void *c) { trace(c, "enter"); return 0; }
int fmi2ExitInitializationMode(void *c) { trace(c, "exit"); return 0; }
int fmi2Terminate(void *c) { trace(c, "terminate"); return 0; }
#ifndef WITHOUT_RESET
int fmi2Reset(void *c) { trace(c, "reset"); return 0; }
#endif

#if defined(__x86_64__)
static void set_sse_control(unsigned word) { __builtin_ia32_ldmxcsr(word); }
#endif
int fmi2SetReal(void *c, const unsigned *r, size_t n, const double *v) {
    slave_t *s = c;
    trace(s, "set");
    for (size_t i = 0; i < n; ++i) {
        if (r[i] > 3) return 3;
        if (r[i] == 1 && v[i] < 0) return 2;
        s->real[r[i]] = v[i];
    }
#if defined(__x86_64__)
    if (s->integer[5] == 2) {
        unsigned short rounds_upwards = 0x0b7f;
        __asm__ volatile("fldcw %0" : : "m"(rounds_upwards));
        s->integer[5] = 0;
    }
    if (s->integer[5] == 3) {
        set_sse_control(0x9fc0);
        s->integer[5] = 0;
    }
#endif
    return 0;
}
int fmi2GetReal(void *c, const unsigned *r, size_t n, double *v) {
    slave_t *s = c;
    trace(s, "get");
    for (size_t i = 0; i < n; ++i) v[i] = s->real[r[i]];
    return 0;
}
int fmi2SetInteger(void *c, const unsigned *r, size_t n, const int *v) {
    for (size_t i = 0; i < n; ++i) ((slave_t *)c)->integer[r[i]] = v[i];
    return 0;
}
int fmi2GetInteger(void *c, const unsigned *r, size_t n, int *v) {
    for (size_t i = 0; i < n; ++i) {
        if (r[i] == 77) return 3;
        v[i] = ((slave_t *)c)->integer[r[i]];
    }
    return 0;
}
int fmi2SetBoolean(void *c, const unsigned *r, size_t n, const int *v) {
    for (size_t i = 0; i < n; ++i) {
        if (v[i] != 0 && v[i] != 1) return 3;
        ((slave_t *)c)->boolean[r[i]] = v[i];
    }
    return 0;
}
int fmi2GetBoolean(void *c, const unsigned *r, size_t n, int *v) {
    for (size_t i = 0; i < n; ++i) v[i] = r[i] == 2 ? 2 : ((slave_t *)c)->boolean[r[i]];
    return 0;
}
int fmi2SetString(void *c, const unsigned *r, size_t n, const char *const *v) {
    slave_t *s = c;
    for (size_t i = 0; i < n; ++i) if (r[i] == 2) snprintf(s->text, sizeof s->text, "%s", v[i]);
    return 0;
}
int fmi2GetString(void *c, const unsigned *r, size_t n, const char **v) {
    slave_t *s = c;
    for (size_t i = 0; i < n; ++i) {
        v[i] = r[i] == 1 ? s->resources : r[i] == 2 ? s->text : r[i] == 3 ? "\xff!" : NULL;
    }
    return 0;
}

#ifdef CALLS_BACK
static void *finish_step(void *c) {
    slave_t *s = c;
    usleep(5000);
    s->callbacks->finished(s->callbacks->environment, s->integer[3]);
    return NULL;
}
static void call_back(slave_t *s) {
    pthread_t thread;
    if (s->integer[4] == 1) s->callbacks->finished(s->callbacks->environment, s->integer[3]);
    if (s->integer[4] == 2 && pthread_create(&thread, NULL, finish_step, s) == 0) {
        pthread_detach(thread);
    }
}
#endif
#ifdef IS_ASKED
int fmi2GetStatus(void *c, int kind, int *status) {
    slave_t *s = c;
    trace(s, "status");
    if (kind != 0) return 2;
    *status = s->integer[2]-- > 0 ? 5 : s->integer[3];
    return 0;
}
int fmi2GetStringStatus(void *c, int kind, const char **text) {
    (void)c;
    if (kind != 1) return 2;
    *text = "still thinking";
    return 0;
}
#endif
#if defined(__x86_64__)
#ifdef FAST_MATH
__attribute__((constructor)) static void as_fast_math_does(void) { set_sse_control(0x9fc0); }
#endif
#endif

#ifndef WITHOUT_STEP
int fmi2DoStep(void *c, double time, double step, int no_set_state) {
    slave_t *s = c;
    (void)time, (void)no_set_state;
    trace(s, "step");
    log_message(s);
#if defined(__x86_64__)
    if (s->integer[5] == 1) set_sse_control(0x5f80);
#endif
#ifdef CALLS_BACK
    call_back(s);
#endif
    int status = s->integer[0];
    s->integer[0] = 0;
    if (status <= 1) s->real[0] += s->real[1] * step;
    return status;
}
#endif
#ifdef LONELY
int PyLonely(void);
int lonely(void) { return PyLonely(); }
#endif
int fmi2CancelStep(void *c) { trace(c, "cancel"); return 0; }
int fmi2GetRealStatus(void *c, int kind, double *v) {
    if (kind != 2) return 2;
    *v = ((slave_t *)c)->real[3];
    return 0;
}
int fmi2GetBooleanStatus(void *c, int kind, int *v) {
    if (kind != 3) return 2;
    *v = ((slave_t *)c)->boolean[0];
    return 0;
}

#ifdef DENIES
int fmi2GetDirectionalDerivative(void *c, const unsigned *u, size_t nu, const unsigned *k, size_t nk,
                                 const double *seed, double *values) { return DENIES; }
int fmi2SetRealInputDerivatives(void *c, const unsigned *r, size_t n, const int *orders,
                                const double *values) { return DENIES; }
int fmi2GetRealOutputDerivatives(void *c, const unsigned *r, size_t n, const int *orders,
                                 double *values) { return DENIES; }
#endif

int fmi2GetFMUstate(void *c, void **state) {
    slave_t *s = c;
    if (strncmp(s->name, "no state", 8) == 0) return 0;
    trace(s, *state == NULL ? "save" : "save again");
    if (*state == NULL) *state = malloc(sizeof *s);
    memcpy(*state, s, sizeof *s);
    return 0;
}
int fmi2SetFMUstate(void *c, void *state) {
    trace(c, "restore");
    memcpy(c, state, sizeof(slave_t));
    return 0;
}
int fmi2FreeFMUstate(void *c, void **state) {
    trace(c, "free state");
#ifdef KEEPS_STATES
    return 3;
#endif
    free(*state);
    *state = NULL;
    return 0;
}
int fmi2SerializedFMUstateSize(void *c, void *state, size_t *size) {
    (void)state;
    int is_huge = strncmp(((slave_t *)c)->name, "huge state", 10) == 0;
    *size = is_huge ? (size_t)-1 / 2 + 1 : sizeof(slave_t);
    return 0;
}
int fmi2SerializeFMUstate(void *c, void *state, char *bytes, size_t size) {
    (void)c;
    memcpy(bytes, state, size);
    return 0;
}
int fmi2DeSerializeFMUstate(void *c, const char *bytes, size_t size, void **state) {
    (void)c;
    if (size == 0) return 0;
    if (size != sizeof(slave_t)) return 2;
    *state = malloc(size);
    memcpy(*state, bytes, size);
    return 0;
}
