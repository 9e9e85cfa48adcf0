/* A slave that keeps everything outside of its instances, in variables of all sorts. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry { double value; struct entry *next; };
struct slave { double input, sum; };

static int steps;
static struct slave slave;           /* the component */
static char text[24];                /* given by fmi2GetString */
static double past[2];
static double *latest = &past[1];    /* an address of the library */
static double (*law)(double) = sin;  /* an address of another library */
static struct entry *list;           /* memory */
static char odd;

#ifdef LARGE
static char many[4096];
#endif

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void start(void) { steps = 1; }
#endif

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }

void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources, const void *callbacks,
                      int visible, int logging) {
    (void)kind; (void)guid; (void)resources; (void)callbacks; (void)visible; (void)logging;
    if (text[0] != 0) return NULL; /* bears one instance */
    snprintf(text, sizeof text, "%s", name);
    return &slave;
}
void fmi2FreeInstance(void *c) {
    (void)c;
    while (list != NULL) {
        struct entry *next = list->next;
        free(list);
        list = next;
    }
    text[0] = 0;
}
int fmi2SetupExperiment(void *c, int d, double tolerance, double start, int e, double stop) {
    (void)c; (void)d; (void)tolerance; (void)start; (void)e; (void)stop;
    return 0;
}
int fmi2EnterInitializationMode(void *c) { (void)c; return 0; }
int fmi2ExitInitializationMode(void *c) { (void)c; return 0; }
int fmi2Terminate(void *c) { (void)c; return 0; }

int fmi2DoStep(void *c, double time, double h, int no_state) {
    struct slave *s = c;
    (void)time; (void)no_state;
    struct entry *entry = malloc(sizeof *entry);
    *entry = (struct entry){law(s->input), list};
    list = entry;
    past[0] = *latest;
    *latest = s->input * h;
    if (steps == 3) law = cos;
    if (steps == 4) latest = &past[0];
    steps++;
    odd ^= (char)steps;
#ifdef LARGE
    odd ^= ++many[(steps * 64) % sizeof many];
#endif
    s->sum = past[0] + steps + odd;
    for (entry = list; entry != NULL; entry = entry->next) s->sum += entry->value;
    return 0;
}

int fmi2SetReal(void *c, const unsigned vr[], size_t n, const double v[]) {
    for (size_t i = 0; i < n; i++) {
        if (vr[i] != 1) return 3;
        ((struct slave *)c)->input = v[i];
    }
    return 0;
}
int fmi2GetReal(void *c, const unsigned vr[], size_t n, double v[]) {
    for (size_t i = 0; i < n; i++) v[i] = vr[i] == 0 ? ((struct slave *)c)->sum : *latest;
    return 0;
}
int fmi2GetString(void *c, const unsigned vr[], size_t n, const char *v[]) {
    (void)c; (void)vr;
    for (size_t i = 0; i < n; i++) v[i] = text;
    return 0;
}
int fmi2GetInteger(void *c, const unsigned vr[], size_t n, int v[]) {
    (void)c; (void)vr;
    for (size_t i = 0; i < n; i++) v[i] = steps;
    return 0;
}
int fmi2SetInteger(void *c, const unsigned vr[], size_t n, const int v[]) {
    (void)c; (void)vr; (void)n; (void)v;
    return 0;
}
int fmi2GetBoolean(void *c, const unsigned vr[], size_t n, int v[]) {
    (void)c; (void)vr; (void)n; (void)v;
    return 0;
}
int fmi2SetBoolean(void *c, const unsigned vr[], size_t n, const int v[]) {
    (void)c; (void)vr; (void)n; (void)v;
    return 0;
}
int fmi2SetString(void *c, const unsigned vr[], size_t n, const char *const v[]) {
    (void)c; (void)vr; (void)n; (void)v;
    return 0;
}

int fmi2GetFMUstate(void *c, void **state) {
    if (*state == NULL) *state = malloc(sizeof(struct slave));
    memcpy(*state, c, sizeof(struct slave));
    return 0;
}
int fmi2SetFMUstate(void *c, void *state) {
    memcpy(c, state, sizeof(struct slave));
    return 0;
}
int fmi2FreeFMUstate(void *c, void **state) {
    (void)c;
    free(*state);
    *state = NULL;
    return 0;
}
