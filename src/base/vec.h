/* Growing arrays of a type: struct { VEC(const char *); } names; vec_push(&names, "x");
 * names.at[0]. Zero-initialised is empty; vec_done frees the array, never what its elements point
 * to. */
#ifndef ORTFIT_BASE_VEC_H
#define ORTFIT_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/xalloc.h"

#define VEC(type) \
    type *at;     \
    size_t n, cap

#define vec_push(v, ...)                                                  \
    do {                                                                  \
        if ((v)->n == (v)->cap) {                                         \
            (v)->cap = (v)->cap ? (v)->cap * 2 : 8;                       \
            (v)->at = xreallocarray((v)->at, (v)->cap, sizeof(*(v)->at)); \
        }                                                                 \
        (v)->at[(v)->n++] = (__VA_ARGS__);                                \
    } while (0)

#define vec_done(v)            \
    do {                       \
        free((v)->at);         \
        (v)->at = NULL;        \
        (v)->n = (v)->cap = 0; \
    } while (0)

struct names {
    VEC(const char *);
};

static inline bool names_has(const struct names *names, const char *text)
{
    for (size_t i = 0; i < names->n; i++)
        if (__builtin_strcmp(names->at[i], text) == 0)
            return true;
    return false;
}

#endif
