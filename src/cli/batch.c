#include "cli/batch.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

static int add(struct batch_wish *ret, size_t *n, const char *name, const char *value, struct err *e)
{
    if (!name[0] || !value[0])
        return err_set(e, ERR_USAGE, "a wish of the line is empty");
    if (*n == BATCH_WISHES)
        return err_set(e, ERR_USAGE, "the line has more than %d wishes", BATCH_WISHES);
    ret[(*n)++] = (struct batch_wish){ name, value };
    return 0;
}

static int read_json(const char *line, size_t n, struct arena *a, struct batch_wish *ret, size_t *ret_n, struct err *e)
{
    __attribute__((cleanup(jsonr_decref))) json_t *whole = NULL;
    int r = jsonr_parse(line, n, &whole, e);
    if (r == 0 && !json_is_object(whole))
        r = err_set(e, ERR_FORMAT, "the line is no JSON object");
    const json_t *flags = r == 0 ? jsonr_object(whole, "flags") : NULL;
    const char *key;
    json_t *value;
    json_t *from = flags ? json_object_get(whole, "flags") : whole;
    if (r < 0)
        return r;
    json_object_foreach(from, key, value) {
        const char *text = json_is_string(value)    ? arena_strdup(a, json_string_value(value))
                           : json_is_integer(value) ? arena_printf(a, "%lld", (long long)json_integer_value(value))
                                                    : NULL;
        if (!text)
            return err_set(e, ERR_FORMAT, "'%.40s' of the line is no text; write versions in quotes", key);
        r = add(ret, ret_n, arena_strdup(a, key), text, e);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A word, with single or double quotes taken off; NULL at the end. *bad: a quote is not closed. */
static char *word(const char **at, const char *end, struct arena *a, bool *bad)
{
    while (*at < end && isspace((unsigned char)**at))
        (*at)++;
    if (*at == end)
        return NULL;
    char *out = arena_alloc(a, (size_t)(end - *at) + 1);
    size_t n = 0;
    char quote = 0;
    for (; *at < end && (quote || !isspace((unsigned char)**at)); (*at)++) {
        char c = **at;
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
        else
            out[n++] = c ? c : '?';
    }
    out[n] = '\0';
    *bad = quote != 0;
    return out;
}

static int read_flags(const char *line, size_t n, struct arena *a, struct batch_wish *ret, size_t *ret_n, struct err *e)
{
    const char *at = line, *end = line + n;
    bool bad = false;
    for (char *name; (name = word(&at, end, a, &bad));) {
        if (bad)
            return err_set(e, ERR_USAGE, "a quote of the line is not closed");
        if (!str_starts(name, "--"))
            return err_set(e, ERR_USAGE, "'%.40s' of the line is no flag", name);
        char *equals = strchr(name, '=');
        char *value = equals ? equals + 1 : word(&at, end, a, &bad);
        if (equals)
            *equals = '\0';
        if (bad || !value)
            return err_set(e, ERR_USAGE, bad ? "a quote of the line is not closed" : "'%.40s' of the line wants a value", name);
        int r = add(ret, ret_n, name + 2, value, e);
        if (r < 0)
            return r;
    }
    return 0;
}

int batch_read(const char *line, size_t n, struct arena *a, struct batch_wish *ret, size_t *ret_n, struct err *e)
{
    *ret_n = 0;
    return n && line[0] == '{' ? read_json(line, n, a, ret, ret_n, e) : read_flags(line, n, a, ret, ret_n, e);
}
