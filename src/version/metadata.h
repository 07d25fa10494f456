/* METADATA of a distribution or wheel (core metadata: mail headers), read from memory. */
#ifndef ORTFIT_VERSION_METADATA_H
#define ORTFIT_VERSION_METADATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

#define METADATA_VALUE_MAX 16384 /* a longer header value is skipped and noted in truncated */
#define METADATA_LIST_MAX 2048   /* of each kind; further ones are skipped and noted */

struct metadata {
    const char *name, *version;          /* NULL: no such header */
    const char *requires_python;         /* NULL: none */
    const char *const *requires_dist;    /* n_requires_dist texts, as written, folding undone */
    size_t n_requires_dist;
    const char *const *provides_extra;
    size_t n_provides_extra;
    bool truncated; /* something was skipped: what is missing here is not known to be absent */
};

/* Reads the headers up to the first empty line; data need not be NUL-ended and may be any bytes.
 * Texts live in the arena; bytes that are not printable ASCII or part of UTF-8 become '?'. Never
 * fails: what is not there stays NULL. */
void metadata_parse(const char *data, size_t len, struct arena *a, struct metadata *ret);

/* One header after the other, for files of the same form (WHEEL, RECORD-less egg-info). *offset
 * starts at 0. value borrows from data and may hold folded lines as they are. False: no further
 * header. */
struct metadata_header {
    const char *name, *value;
    size_t name_len, value_len;
};
bool metadata_next(const char *data, size_t len, size_t *offset, struct metadata_header *ret);

#endif
