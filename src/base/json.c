#include "base/json.h"

#include <sys/random.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"

/* jansson's own limit (2048) is deep for a recursive parser, and a value of two bytes costs it
 * about a hundred: both are checked before it starts. NULL: fine. */
static const char *too_much(const char *text, size_t len)
{
    int depth = 0;
    size_t values = 0;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            values++;
            if (++depth > JSONR_DEPTH)
                return "nested too deep";
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c == ',') {
            values++;
        }
        if (values > JSONR_VALUES)
            return "too many values";
    }
    return NULL;
}

void jsonr_seed(void)
{
    size_t seed = 0;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
        json_object_seed(seed);
}

int jsonr_parse(const char *text, size_t len, json_t **ret, struct err *e)
{
    const char *limit = too_much(text, len);
    if (limit)
        return err_set(e, ERR_FORMAT, "JSON refused: %s", limit);
    jsonr_seed();
    json_error_t why;
    json_t *j = json_loadb(text, len, 0, &why);
    if (!j)
        return err_set(e, ERR_FORMAT, "line %d: %s", why.line, why.text);
    *ret = j;
    return 0;
}

int jsonr_read_file(const char *path, size_t max_bytes, json_t **ret, struct err *e)
{
    struct str text = { 0 };
    int r = io_read_file(path, max_bytes, &text, e);
    if (r == 0)
        r = jsonr_parse(str_get(&text), text.len, ret, e);
    str_done(&text);
    if (r == -(int)ERR_FORMAT)
        err_while(e, "reading '%s'", path);
    return r;
}

const char *jsonr_str(const json_t *from, const char *key)
{
    return json_string_value(json_object_get(from, key));
}

int64_t jsonr_int(const json_t *from, const char *key, int64_t otherwise)
{
    const json_t *v = json_object_get(from, key);
    return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

bool jsonr_bool(const json_t *from, const char *key)
{
    return json_is_true(json_object_get(from, key));
}

const json_t *jsonr_object(const json_t *from, const char *key)
{
    const json_t *v = json_object_get(from, key);
    return json_is_object(v) ? v : NULL;
}

const json_t *jsonr_array(const json_t *from, const char *key)
{
    const json_t *v = json_object_get(from, key);
    return json_is_array(v) ? v : NULL;
}
