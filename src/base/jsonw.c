#include "base/jsonw.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

void json_begin(struct json *j, FILE *out, bool pretty)
{
    *j = (struct json){ .out = out, .pretty = pretty };
    j->first[0] = true;
}

void json_end(struct json *j)
{
    assert(j->depth == 0);
    fputc('\n', j->out);
}

static void newline(struct json *j, unsigned depth)
{
    if (!j->pretty || j->inline_[j->depth])
        return;
    fputc('\n', j->out);
    for (unsigned i = 0; i < depth; i++)
        fputs("  ", j->out);
}

/* Comma and indentation in front of a value or key. */
static void separate(struct json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (!j->first[j->depth])
        fputc(',', j->out);
    if (j->depth > 0) {
        if (!j->first[j->depth] && j->pretty && j->inline_[j->depth])
            fputc(' ', j->out);
        newline(j, j->depth);
    }
    j->first[j->depth] = false;
}

static void open_(struct json *j, char c, bool inlined)
{
    separate(j);
    assert(j->depth + 1 < ARRAY_LEN(j->first));
    bool inherit = j->inline_[j->depth];
    fputc(c, j->out);
    j->depth++;
    j->first[j->depth] = true;
    j->inline_[j->depth] = inlined || inherit;
}

static void close_(struct json *j, char c)
{
    assert(j->depth > 0 && !j->after_key);
    if (!j->first[j->depth])
        newline(j, j->depth - 1);
    j->depth--;
    fputc(c, j->out);
}

void json_obj(struct json *j)
{
    open_(j, '{', false);
}

void json_obj_inline(struct json *j)
{
    open_(j, '{', true);
}

void json_obj_end(struct json *j)
{
    close_(j, '}');
}

void json_arr(struct json *j)
{
    open_(j, '[', false);
}

void json_arr_inline(struct json *j)
{
    open_(j, '[', true);
}

void json_arr_end(struct json *j)
{
    close_(j, ']');
}

static void write_string(struct json *j, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', j->out);
    for (size_t i = 0; i < n;) {
        size_t len = utf8_len(s + i, n - i);
        if (len == 0) {
            fputs("\xef\xbf\xbd", j->out);
            i++;
        } else if (len > 1) {
            for (; len > 0; len--)
                fputc(s[i++], j->out);
        } else {
            unsigned char c = s[i++];
            if (c == '"' || c == '\\')
                fprintf(j->out, "\\%c", c);
            else if (c == '\n')
                fputs("\\n", j->out);
            else if (c == '\t')
                fputs("\\t", j->out);
            else if (c < 0x20 || c == 0x7f)
                fprintf(j->out, "\\u%04x", c);
            else
                fputc(c, j->out);
        }
    }
    fputc('"', j->out);
}

void json_key(struct json *j, const char *key)
{
    separate(j);
    write_string(j, key, strlen(key));
    fputc(':', j->out);
    if (j->pretty)
        fputc(' ', j->out);
    j->after_key = true;
}

void json_strn(struct json *j, const char *s, size_t n)
{
    separate(j);
    write_string(j, s, n);
}

void json_str(struct json *j, const char *s)
{
    if (s)
        json_strn(j, s, strlen(s));
    else
        json_nil(j);
}

void json_int(struct json *j, int64_t n)
{
    separate(j);
    fprintf(j->out, "%lld", (long long)n);
}

void json_uint(struct json *j, uint64_t n)
{
    separate(j);
    fprintf(j->out, "%llu", (unsigned long long)n);
}

void json_num(struct json *j, double d)
{
    separate(j);
    if (isfinite(d))
        fprintf(j->out, "%.10g", d);
    else
        fputs("null", j->out);
}

void json_bool(struct json *j, bool b)
{
    separate(j);
    fputs(b ? "true" : "false", j->out);
}

void json_nil(struct json *j)
{
    separate(j);
    fputs("null", j->out);
}

void json_kstr(struct json *j, const char *key, const char *s)
{
    json_key(j, key);
    json_str(j, s);
}

void json_kint(struct json *j, const char *key, int64_t n)
{
    json_key(j, key);
    json_int(j, n);
}

void json_kbool(struct json *j, const char *key, bool b)
{
    json_key(j, key);
    json_bool(j, b);
}
