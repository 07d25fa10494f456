#include "base/cleanup.h"
#include "place/internal.h"

/* Length of the UTF-8 sequence at s (RFC 3629: shortest form, no surrogates), 0 when there is none. */
static size_t sequence(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80)
        return s[0] != 0;
    static const struct {
        unsigned char lo, hi;
        size_t len;
        uint32_t min;
    } forms[] = { { 0xc2, 0xdf, 2, 0x80 }, { 0xe0, 0xef, 3, 0x800 }, { 0xf0, 0xf4, 4, 0x10000 } };
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (s[0] < forms[i].lo || s[0] > forms[i].hi)
            continue;
        if (forms[i].len > left)
            return 0;
        uint32_t c = s[0] & (0x7fu >> forms[i].len);
        for (size_t k = 1; k < forms[i].len; k++) {
            if ((s[k] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | (s[k] & 0x3f);
        }
        bool fine = c >= forms[i].min && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
        return fine ? forms[i].len : 0;
    }
    return 0;
}

bool escape_needed(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = sequence((const unsigned char *)s + i, n - i);
        if (len == 0)
            return true;
        i += len;
    }
    return false;
}

void escape_add(struct str *to, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = sequence((const unsigned char *)s + i, n - i);
        if (len == 0)
            str_addf(to, "\\x%02x", (unsigned char)s[i++]);
        else if (s[i] == '\\')
            str_add(to, "\\\\"), i++;
        else
            str_addn(to, s + i, len), i += len;
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool escape_read(struct str *to, const char *text, size_t n)
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
