#include "base/utf8.h"

#include "base/cleanup.h"

size_t utf8_len(const void *text, size_t left)
{
    static const struct {
        unsigned char lo, hi, second_lo, second_hi;
        size_t len;
    } forms[] = {
        { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
        { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    const unsigned char *s = text;
    if (s[0] < 0x80)
        return 1;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (s[0] < forms[i].lo || s[0] > forms[i].hi)
            continue;
        if (forms[i].len > left || s[1] < forms[i].second_lo || s[1] > forms[i].second_hi)
            return 0;
        for (size_t k = 2; k < forms[i].len; k++)
            if (s[k] < 0x80 || s[k] > 0xbf)
                return 0;
        return forms[i].len;
    }
    return 0;
}

bool utf8_is_control(const void *text, size_t len)
{
    const unsigned char *s = text;
    return len == 1 ? s[0] < 0x20 || s[0] == 0x7f : len == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}
