#include "base/bytes.h"

#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/utf8.h"

/* Length of what JSON can carry at s, 0: nothing there. */
static size_t carried(const char *s, size_t left)
{
    return s[0] ? utf8_len(s, left) : 0;
}

bool bytes_need_escape(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = carried(s + i, n - i);
        if (len == 0)
            return true;
        i += len;
    }
    return false;
}

void bytes_escape(struct str *to, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = carried(s + i, n - i);
        if (len == 0)
            str_addf(to, "\\x%02x", (unsigned char)s[i]);
        else if (s[i] == '\\')
            str_add(to, "\\\\");
        else
            str_addn(to, s + i, len);
        i += len ? len : 1;
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool bytes_unescape(struct str *to, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (text[i] != '\\') {
            str_addc(to, text[i++]);
        } else if (n - i >= 2 && text[i + 1] == '\\') {
            str_addc(to, '\\');
            i += 2;
        } else if (n - i >= 4 && text[i + 1] == 'x') {
            int hi = hex_digit(text[i + 2]), lo = hex_digit(text[i + 3]);
            if (hi < 0 || lo < 0)
                return false;
            str_addc(to, (char)(unsigned char)(hi << 4 | lo));
            i += 4;
        } else {
            return false;
        }
    }
    return true;
}

void json_bytes(struct json *j, const char *s, size_t n)
{
    if (!bytes_need_escape(s, n)) {
        json_strn(j, s, n);
        return;
    }
    struct str text = { 0 };
    bytes_escape(&text, s, n);
    json_obj_inline(j);
    json_key(j, "raw");
    json_strn(j, str_get(&text), text.len);
    json_obj_end(j);
    str_done(&text);
}

void json_text(struct json *j, const char *s)
{
    if (s)
        json_bytes(j, s, strlen(s));
    else
        json_nil(j);
}

bool jsonr_bytes(const json_t *v, struct str *to)
{
    if (json_is_string(v)) {
        str_addn(to, json_string_value(v), json_string_length(v));
        return true;
    }
    const json_t *raw = json_object_get(v, "raw");
    return json_is_string(raw) && bytes_unescape(to, json_string_value(raw), json_string_length(raw));
}
