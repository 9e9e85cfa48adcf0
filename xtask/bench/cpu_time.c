/* Runs a program and writes the CPU time (user and system, s) of it and of every process that comes from it to a file.

   usage: cpu_time FILE PROGRAM [ARGUMENT…]
   Exits as the program does. Processes that outlive their parents are waited for here, so that none is left out. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *action) {
    perror(action);
    exit(127);
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

int main(int count, char **argument) {
    if (count < 3) {
        fprintf(stderr, "usage: cpu_time FILE PROGRAM [ARGUMENT...]\n");
        return 127;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1)) fail("prctl");
    pid_t program = fork();
    if (program < 0) fail("fork");
    if (program == 0) {
        execvp(argument[2], argument + 2);
        fail(argument[2]);
    }
    int status = 0, other;
    for (pid_t ended; (ended = wait(&other)) > 0;)
        if (ended == program) status = other;
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used)) fail("getrusage");
    FILE *file = fopen(argument[1], "w");
    if (!file) fail(argument[1]);
    fprintf(file, "%.6f\n", seconds(used.ru_utime) + seconds(used.ru_stime));
    if (fclose(file)) fail(argument[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
