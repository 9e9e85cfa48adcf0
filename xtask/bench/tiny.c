/* The smallest useful FMU for co-simulation (FMI 2.0): what a master costs shows, because the unit costs next to nothing.

   Inputs u0, u1 (value references 0, 1), outputs y0 = u0 + 1, y1 = u1 + h (2, 3), computed in fmi2DoStep only.
   In cross-coupled pairs, with the outputs exchanged once a step, y0 counts the steps: a master that skips an exchange shows.
   With WITH_STATE defined the library has a variable of its own, as most have: a master gives each instance a copy of it.
   With ROUNDS defined a step takes longer, by so many rounds of an empty loop. */
#include <stddef.h>
#include <stdlib.h>

enum { OK = 0, DISCARD = 2, ERROR = 3 };
enum { INPUTS = 2, VARIABLES = 4 };

typedef struct {
    double value[VARIABLES];
    double time;
} Tiny;

#ifndef ROUNDS
#define ROUNDS 0
#endif

#ifdef WITH_STATE
static volatile int instances;
#define COUNT_INSTANCE() (instances = instances + 1)
#else
#define COUNT_INSTANCE() ((void)0)
#endif

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }

void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources,
                      const void *callbacks, int visible, int logging) {
    (void)name; (void)guid; (void)resources; (void)callbacks; (void)visible; (void)logging;
    COUNT_INSTANCE();
    return kind == 1 ? calloc(1, sizeof(Tiny)) : NULL; /* 1 is co-simulation */
}
void fmi2FreeInstance(void *tiny) { free(tiny); }

int fmi2SetDebugLogging(void *tiny, int on, size_t n, const char *const categories[]) {
    (void)tiny; (void)on; (void)n; (void)categories;
    return OK;
}
int fmi2SetupExperiment(void *tiny, int tolerance_defined, double tolerance, double start,
                        int stop_defined, double stop) {
    (void)tolerance_defined; (void)tolerance; (void)stop_defined; (void)stop;
    ((Tiny *)tiny)->time = start;
    return OK;
}
int fmi2EnterInitializationMode(void *tiny) { (void)tiny; return OK; }
int fmi2ExitInitializationMode(void *tiny) { (void)tiny; return OK; }
int fmi2Terminate(void *tiny) { (void)tiny; return OK; }
int fmi2Reset(void *tiny) { *(Tiny *)tiny = (Tiny){{0}, 0}; return OK; }

int fmi2GetReal(void *tiny, const unsigned vr[], size_t n, double value[]) {
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= VARIABLES) return ERROR;
        value[i] = ((Tiny *)tiny)->value[vr[i]];
    }
    return OK;
}
int fmi2SetReal(void *tiny, const unsigned vr[], size_t n, const double value[]) {
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= INPUTS) return ERROR;
        ((Tiny *)tiny)->value[vr[i]] = value[i];
    }
    return OK;
}

/* There are no variables of the other types. */
#define NO_VARIABLES(type, c_type) \
    int fmi2Get##type(void *tiny, const unsigned vr[], size_t n, c_type value[]) { \
        (void)tiny; (void)vr; (void)value; \
        return n == 0 ? OK : ERROR; \
    } \
    int fmi2Set##type(void *tiny, const unsigned vr[], size_t n, const c_type value[]) { \
        (void)tiny; (void)vr; (void)value; \
        return n == 0 ? OK : ERROR; \
    }
NO_VARIABLES(Integer, int)
NO_VARIABLES(Boolean, int)
typedef const char *string;
NO_VARIABLES(String, string)

int fmi2DoStep(void *instance, double time, double h, int no_set_state_prior) {
    Tiny *tiny = instance;
    (void)no_set_state_prior;
    for (unsigned round = 0; round != ROUNDS; round++) __asm__ volatile("");
    tiny->value[2] = tiny->value[0] + 1.0;
    tiny->value[3] = tiny->value[1] + h;
    tiny->time = time + h;
    return OK;
}
int fmi2CancelStep(void *tiny) { (void)tiny; return ERROR; }

int fmi2GetRealStatus(void *tiny, int kind, double *value) {
    if (kind != 2) return DISCARD; /* 2 is fmi2LastSuccessfulTime */
    *value = ((Tiny *)tiny)->time;
    return OK;
}
#define NO_STATUS(type, c_type) \
    int fmi2Get##type(void *tiny, int kind, c_type *value) { (void)tiny; (void)kind; (void)value; return DISCARD; }
NO_STATUS(Status, int)
NO_STATUS(IntegerStatus, int)
NO_STATUS(BooleanStatus, int)
NO_STATUS(StringStatus, string)

/* Not offered by the description; some masters want all functions there. */
#define NOT_OFFERED(name, ...) \
    int fmi2##name(__VA_ARGS__) { return ERROR; }
NOT_OFFERED(GetFMUstate, void *tiny, void **state)
NOT_OFFERED(SetFMUstate, void *tiny, void *state)
NOT_OFFERED(FreeFMUstate, void *tiny, void **state)
NOT_OFFERED(SerializedFMUstateSize, void *tiny, void *state, size_t *size)
NOT_OFFERED(SerializeFMUstate, void *tiny, void *state, char bytes[], size_t size)
NOT_OFFERED(DeSerializeFMUstate, void *tiny, const char bytes[], size_t size, void **state)
NOT_OFFERED(GetDirectionalDerivative, void *tiny, const unsigned unknown[], size_t unknowns, const unsigned known[], size_t knowns,
            const double seed[], double value[])
NOT_OFFERED(SetRealInputDerivatives, void *tiny, const unsigned vr[], size_t n, const int order[], const double value[])
NOT_OFFERED(GetRealOutputDerivatives, void *tiny, const unsigned vr[], size_t n, const int order[], double value[])
