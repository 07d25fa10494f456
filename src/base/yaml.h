/* Reading YAML from outside into the same values that base/json.h reads: libfyaml behind caps. */
#ifndef ORTFIT_BASE_YAML_H
#define ORTFIT_BASE_YAML_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

/* Nesting and weight of a document: 64 for each value and one for each byte of its text. What an
 * alias repeats counts each time. */
enum { YAML_DEPTH = 48, YAML_WEIGHT = 64 * 1024 * 1024 };

/* One document; an empty one gives JSON null. Plain null, ~, true and false become JSON's own,
 * every other scalar a string: 3.10 stays "3.10", and yes stays "yes". Aliases share the value they
 * name: read only. ERR_FORMAT with line and reason, also for a key that stands twice in one
 * mapping, a key that is no scalar, a second document, and more than the caps. Caller:
 * json_decref(*ret). */
int yaml_parse(const char *text, size_t len, json_t **ret, struct err *e);
/* Of a regular file of at most max_bytes; also ERR_READ and ERR_LIMIT as io_read_file. */
int yaml_read_file(const char *path, size_t max_bytes, json_t **ret, struct err *e);

#endif
