/* Memory of one stage: taken piece by piece, freed at once. Zero-initialised is ready for use.
 * Pieces are aligned for any type and are not zeroed, except by arena_zalloc. */
#ifndef ORTFIT_BASE_ARENA_H
#define ORTFIT_BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_block *block; /* newest first; owned */
    size_t total_bytes;        /* taken from the system so far */
};

__attribute__((returns_nonnull)) void *arena_alloc(struct arena *a, size_t size_bytes);
__attribute__((returns_nonnull)) void *arena_zalloc(struct arena *a, size_t size_bytes);
__attribute__((returns_nonnull)) char *arena_strdup(struct arena *a, const char *s);
__attribute__((returns_nonnull)) char *arena_strndup(struct arena *a, const char *s, size_t n);
__attribute__((returns_nonnull, format(printf, 2, 3))) char *arena_printf(struct arena *a,
                                                                          const char *fmt, ...);
/* a, b and c one behind the other; for paths that are made by the hundred. */
__attribute__((returns_nonnull)) char *arena_concat(struct arena *arena, const char *a,
                                                    const char *b, const char *c);
void arena_done(struct arena *a);

#define arena_new(a, type) ((type *)arena_zalloc((a), sizeof(type)))

#endif
