/* Reading JSON from outside: jansson behind caps, and look-ups that take a missing or wrong-typed
 * member as absent. */
#ifndef ORTFIT_BASE_JSON_H
#define ORTFIT_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { JSONR_DEPTH = 64, JSONR_VALUES = 4 * 1000 * 1000 };

/* ERR_FORMAT with line and reason, also for more nesting or values than these. Caller:
 * json_decref(*ret). */
int jsonr_parse(const char *text, size_t len, json_t **ret, struct err *e);
/* Of a regular file of at most max_bytes; also ERR_READ and ERR_LIMIT as io_read_file. */
int jsonr_read_file(const char *path, size_t max_bytes, json_t **ret, struct err *e);

/* Before the first object is made, by whoever makes one: jansson's own way to a seed opens
 * /dev/urandom. */
void jsonr_seed(void);

/* from may be NULL or no object. Results are borrowed. */
const char *jsonr_str(const json_t *from, const char *key); /* NULL unless a string */
int64_t jsonr_int(const json_t *from, const char *key, int64_t otherwise);
bool jsonr_bool(const json_t *from, const char *key);            /* false unless true */
const json_t *jsonr_object(const json_t *from, const char *key); /* NULL unless an object */
const json_t *jsonr_array(const json_t *from,
                          const char *key); /* NULL (size 0 for jansson) unless an array */

static inline void jsonr_decref(json_t **j)
{
    json_decref(*j);
}

#endif
