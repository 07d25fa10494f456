/* Scope-bound resources: cleanup_(fn) runs fn when the variable goes out of scope. */
#ifndef ORTFIT_BASE_CLEANUP_H
#define ORTFIT_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup_(fn) __attribute__((cleanup(fn)))
#define STEAL(p)                     \
    __extension__({                  \
        __typeof__(p) stolen_ = (p); \
        (p) = NULL;                  \
        stolen_;                     \
    })
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline void freep(char **p)
{
    free(*p);
}

static inline void fclosep(FILE **f)
{
    if (*f)
        (void)fclose(*f);
}

static inline void closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

/* For descriptors: negative means none. */
static inline void closep(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

#endif
