/* ld.so.cache: the old format (libc5, glibc 2.0/2.1), the new one, and the new one behind the old one; entries for
 * glibc-hwcaps subfolders through the extension section. */
#ifndef ORTFIT_LOAD_CACHE_H
#define ORTFIT_LOAD_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct cache;

/* at must live as long as the cache. NULL: the loader would not use such a file. */
struct cache *cache_open(struct arena *a, const void *at, size_t len);

/* What a lookup goes by. */
struct cache_want {
    int32_t flags;             /* the value an entry must have: 0x303 on x86_64 */
    uint64_t hwcap;            /* legacy bits that this CPU has */
    uint64_t platform;         /* the platform's bit; UINT64_MAX: none */
    const char *const *levels; /* glibc-hwcaps subfolders usable here ("x86-64-v3"), best first */
    size_t n_levels;
    unsigned isa_usable;       /* bit i: x86 level i + 1 */
};

/* Returns the path (inside the cache) or NULL. */
const char *cache_find(const struct cache *c, const char *name, const struct cache_want *want);

/* The order of the table: runs of digits compare as numbers. */
int cache_compare(const char *a, const char *b);

#endif
