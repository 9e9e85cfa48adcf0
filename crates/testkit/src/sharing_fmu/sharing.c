/*
 * A co-simulation slave whose output y (real 0) depends on something that a process has once: KIND says on what.
 * Alone, y is the same in every run. WEIGHT distinguishes two FMUs of one kind.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIQUE 1
#define COMPANION 2
#define DLOPEN 3
#define RAND 4
#define RANDOM 5
#define DRAND48 6
#define STRTOK 7
#define LOCALE 8
#define TLS 9
#define STATIC_FILE 10
#define HASH_TABLE 11
#define DIRECTORY 12
#define ENVIRONMENT 13
#define OWN_RANDOM 14
#define MASK 15
#define STATIC_TLS 16
#define CONSTRUCTOR 17
#define LOCALE_ONCE 18
#define LOCALE_STEP 19

typedef struct {
    double y;
    int steps;
} slave_t;

#if KIND == UNIQUE
/* What a C++ compiler makes of the static variable of a template or an inline function. */
__asm__(".data\n.weak a_unique_counter\n.type a_unique_counter, @gnu_unique_object\n.size a_unique_counter, 4\n"
        ".balign 4\na_unique_counter:\n.long 0\n.text\n");
extern int a_unique_counter;
static void born(void) {}
static double tick(int steps) { return WEIGHT * ++a_unique_counter; }
#elif KIND == COMPANION
int companion_tick(void);
static void born(void) {}
static double tick(int steps) { return companion_tick(); }
#elif KIND == DLOPEN
static int (*plugin)(void);
static void born(void) {
    Dl_info own;
    char path[4096];
    dladdr((void *)born, &own);
    snprintf(path, sizeof path, "%s", own.dli_fname);
    strcpy(strrchr(path, '/'), "/libcompanion.so");
    void *library = dlopen(path, RTLD_NOW);
    plugin = library == NULL ? NULL : dlsym(library, "companion_tick");
}
static double tick(int steps) { return plugin == NULL ? -1 : plugin(); }
#elif KIND == RAND
static void born(void) {}
static double tick(int steps) { return WEIGHT * rand(); }
#elif KIND == RANDOM
static void born(void) { srandom(WEIGHT); }
static double tick(int steps) { return random(); }
#elif KIND == OWN_RANDOM
static char state[64];
static void born(void) { initstate(WEIGHT, state, sizeof state); }
static double tick(int steps) { return random(); }
#elif KIND == DRAND48
static void born(void) {}
static double tick(int steps) { return WEIGHT * drand48(); }
#elif KIND == STRTOK
static void born(void) {}
static double tick(int steps) {
    char text[4096] = "";
    for (int i = 0; i < 900; i++) strcat(text, "1 ");
    double sum = 0;
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) sum += WEIGHT * atof(word);
    return sum;
}
#elif KIND == LOCALE || KIND == LOCALE_ONCE || KIND == LOCALE_STEP
/* Changes the locale, once, in every call or in steps alone, and gives the one that is in force. */
static void set(void) { if (WEIGHT > 1) setlocale(LC_CTYPE, "C.UTF-8"); }
static void born(void) { if (KIND != LOCALE_STEP) set(); }
static double tick(int steps) {
    double seen = strlen(setlocale(LC_CTYPE, NULL));
    if (KIND != LOCALE_ONCE) set();
    return seen;
}
#elif KIND == DIRECTORY
static void born(void) { if (WEIGHT > 1) chdir("/"); }
static double tick(int steps) {
    char path[4096];
    double length = strlen(getcwd(path, sizeof path));
    if (WEIGHT > 1) chdir("/usr");
    return length;
}
#elif KIND == ENVIRONMENT
static void born(void) { if (WEIGHT > 1) setenv("SHARING_TEST", "some", 1); }
static double tick(int steps) { return getenv("SHARING_TEST") == NULL ? 0 : 1; }
#elif KIND == MASK
static void born(void) { if (WEIGHT > 1) umask(0777); }
static double tick(int steps) { mode_t mask = umask(022); umask(mask); return mask; }
#elif KIND == TLS
static __thread int counter;
static void born(void) {}
static double tick(int steps) {
    volatile double x = 1;
    for (int i = 0; i < 20000; i++) x *= 1.0000001;
    return WEIGHT * ++counter;
}
#elif KIND == STATIC_TLS
static __thread char room[900] __attribute__((tls_model("initial-exec")));
static void born(void) {}
static double tick(int steps) { return WEIGHT * ++room[steps % 900]; }
#elif KIND == STATIC_FILE
static FILE *file;
static void born(void) { file = tmpfile(); }
static double tick(int steps) { fputs("x", file); return WEIGHT * ftell(file); }
#elif KIND == HASH_TABLE
static void born(void) { hcreate(64); }
static double tick(int steps) {
    ENTRY entry = {"key", (void *)(long)(WEIGHT * 10)};
    return (double)(long)hsearch(entry, ENTER)->data;
}
#elif KIND == CONSTRUCTOR
static int drawn;
__attribute__((constructor)) static void draw(void) { drawn = rand(); }
static void born(void) {}
static double tick(int steps) { return WEIGHT * (drawn % 1000 + steps); }
#endif

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks,
                      int visible, int logging) {
    slave_t *s = calloc(1, sizeof *s);
    born();
    return s;
}
void fmi2FreeInstance(slave_t *s) { free(s); }
int fmi2SetupExperiment(slave_t *s, int d, double t, double start, int e, double stop) { return 0; }
int fmi2EnterInitializationMode(slave_t *s) { return 0; }
int fmi2ExitInitializationMode(slave_t *s) { return 0; }
int fmi2Terminate(slave_t *s) { return 0; }
int fmi2DoStep(slave_t *s, double time, double step, int never_back) {
    s->y = tick(s->steps++);
    return 0;
}
int fmi2GetReal(slave_t *s, const unsigned *refs, size_t n, double *values) {
    for (size_t i = 0; i < n; i++) values[i] = s->y;
    return 0;
}
int fmi2SetReal(slave_t *s, const unsigned *refs, size_t n, const double *values) { return 0; }
int fmi2GetInteger(slave_t *s, const unsigned *refs, size_t n, int *values) { return 0; }
int fmi2SetInteger(slave_t *s, const unsigned *refs, size_t n, const int *values) { return 0; }
int fmi2GetBoolean(slave_t *s, const unsigned *refs, size_t n, int *values) { return 0; }
int fmi2SetBoolean(slave_t *s, const unsigned *refs, size_t n, const int *values) { return 0; }
int fmi2GetString(slave_t *s, const unsigned *refs, size_t n, const char **values) { return 0; }
int fmi2SetString(slave_t *s, const unsigned *refs, size_t n, const char *const *values) { return 0; }
