/* Host memory that is always there: running out ends the program with a message (exit code 3).
 * Every size that comes from outside is capped before it reaches these. */
#ifndef ORTFIT_BASE_XALLOC_H
#define ORTFIT_BASE_XALLOC_H

#include <stddef.h>

_Noreturn void out_of_memory(void); /* for what allocates by itself, such as open_memstream */
__attribute__((returns_nonnull, malloc)) void *xmalloc(size_t size_bytes);
__attribute__((returns_nonnull, malloc)) void *xcalloc(size_t n, size_t size_bytes);
/* n * size_bytes, checked for overflow. */
__attribute__((returns_nonnull)) void *xreallocarray(void *p, size_t n, size_t size_bytes);
__attribute__((returns_nonnull, malloc)) char *xstrdup(const char *s);
__attribute__((returns_nonnull, malloc)) char *xstrndup(const char *s, size_t n);
__attribute__((returns_nonnull, malloc, format(printf, 1, 2))) char *xasprintf(const char *fmt,
                                                                               ...);

#endif
