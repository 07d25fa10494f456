/* Bytes in JSON that must come back as they were. What JSON can carry is a string; anything else (no UTF-8, or a NUL
 * inside) is {"raw": text}, where a backslash is doubled and each byte that is no part of UTF-8 is \xHH. */
#ifndef ORTFIT_BASE_BYTES_H
#define ORTFIT_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct json;
struct json_t;

bool bytes_need_escape(const char *s, size_t n);
void bytes_escape(struct str *to, const char *s, size_t n);
bool bytes_unescape(struct str *to, const char *text, size_t n); /* false: not as bytes_escape writes it */

void json_bytes(struct json *j, const char *s, size_t n);
void json_text(struct json *j, const char *s); /* the same for a C string; NULL writes null */
/* Appends what json_bytes wrote; false when v is neither of the two forms. v may be NULL. */
bool jsonr_bytes(const struct json_t *v, struct str *to);

#endif
