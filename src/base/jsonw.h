/* A streaming JSON writer: valid JSON whatever strings come (bytes that are no UTF-8 become U+FFFD).
 * Two-space indented when pretty. Objects and arrays nest; a key comes before each value inside an object. */
#ifndef ORTFIT_BASE_JSONW_H
#define ORTFIT_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* jansson has functions of these two names, and would call ours instead of its own if the program exported them.
 * A file that uses both includes <jansson.h> before this header. */
#define json_object jsonw_object
#define json_array jsonw_array

struct json {
    FILE *out;      /* borrowed */
    bool pretty;
    unsigned depth; /* at most JSON_DEPTH; more is a bug of ours */
    bool first[32], inline_[32];
    bool after_key;
};

void json_begin(struct json *j, FILE *out, bool pretty);
void json_end(struct json *j); /* final newline */
void json_object(struct json *j);
void json_object_inline(struct json *j); /* on one line though pretty */
void json_object_end(struct json *j);
void json_array(struct json *j);
void json_array_inline(struct json *j);
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);
void json_str(struct json *j, const char *s); /* NULL writes null */
void json_strn(struct json *j, const char *s, size_t n);
void json_int(struct json *j, int64_t n);
void json_uint(struct json *j, uint64_t n);
void json_num(struct json *j, double d); /* NaN and infinities write null */
void json_bool(struct json *j, bool b);
void json_null(struct json *j);
/* key + value */
void json_kstr(struct json *j, const char *key, const char *s);
void json_kint(struct json *j, const char *key, int64_t n);
void json_kbool(struct json *j, const char *key, bool b);

#endif
