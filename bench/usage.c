/* Run a program and write what it used to a file: "CPU-seconds peak-KiB exit-code\n".
 * A small parent on purpose: what a child of a big one is charged for its fork and holds before its
 * exec would be charged to it. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: usage FILE PROGRAM [ARG...]\n");
        return 2;
    }
    pid_t pid;
    int rc = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
    if (rc) {
        fprintf(stderr, "usage: %s: %s\n", argv[2], strerror(rc));
        return 3;
    }
    int status;
    struct rusage u;
    while (wait4(pid, &status, 0, &u) < 0)
        if (errno != EINTR)
            return 3;
    FILE *f = fopen(argv[1], "we");
    if (!f)
        return 3;
    double cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                 (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
    fprintf(f, "%.6f %ld %d\n", cpu, u.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
    return fclose(f) ? 3 : 0;
}
