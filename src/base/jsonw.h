/* A streaming JSON writer: valid JSON whatever strings come (bytes that are no UTF-8 become
 * U+FFFD). Two-space indented when pretty. Objects and arrays nest; a key comes before each value
 * inside an object. (json_obj rather than json_object: jansson has that name.) */
#ifndef ORTFIT_BASE_JSONW_H
#define ORTFIT_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out; /* borrowed */
    bool pretty;
    unsigned depth; /* at most JSON_DEPTH; more is a bug of ours */
    bool first[32], inline_[32];
    bool after_key;
};

void json_begin(struct json *j, FILE *out, bool pretty);
void json_end(struct json *j); /* final newline */
void json_obj(struct json *j);
void json_obj_inline(struct json *j); /* on one line though pretty */
void json_obj_end(struct json *j);
void json_arr(struct json *j);
void json_arr_inline(struct json *j);
void json_arr_end(struct json *j);
void json_key(struct json *j, const char *key);
void json_str(struct json *j, const char *s); /* NULL writes null */
void json_strn(struct json *j, const char *s, size_t n);
void json_int(struct json *j, int64_t n);
void json_uint(struct json *j, uint64_t n);
void json_num(struct json *j, double d); /* NaN and infinities write null */
void json_bool(struct json *j, bool b);
void json_nil(struct json *j);
/* key + value */
void json_kstr(struct json *j, const char *key, const char *s);
void json_kint(struct json *j, const char *key, int64_t n);
void json_kbool(struct json *j, const char *key, bool b);

#endif
