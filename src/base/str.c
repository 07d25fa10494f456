#include "base/str.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

static void str_room(struct str *s, size_t more)
{
    if (s->at && s->cap - s->len > more)
        return;
    size_t want = s->len + more + 1;
    size_t cap = s->cap ? s->cap : 32;
    while (cap < want)
        cap *= 2;
    s->at = xreallocarray(s->at, cap, 1);
    s->cap = cap;
}

void str_addn(struct str *s, const char *text, size_t n)
{
    str_room(s, n);
    memcpy(s->at + s->len, text, n);
    s->len += n;
    s->at[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_addn(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
    str_addn(s, &c, 1);
}

void str_addf(struct str *s, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    str_room(s, (size_t)n);
    (void)vsnprintf(s->at + s->len, (size_t)n + 1, fmt, again);
    va_end(again);
    s->len += (size_t)n;
}

void str_cut(struct str *s, size_t len)
{
    assert(len <= s->len);
    s->len = len;
    if (s->at)
        s->at[len] = '\0';
}

const char *str_get(const struct str *s)
{
    return s->at ? s->at : "";
}

char *str_take(struct str *s)
{
    char *text = s->at ? s->at : xstrdup("");
    *s = (struct str){ 0 };
    return text;
}

bool str_list_has(const char *joined, const char *element, size_t n)
{
    for (const char *p = joined; *p;) {
        size_t len = strcspn(p, ":");
        if (len == n && memcmp(p, element, n) == 0)
            return true;
        p += len + (p[len] == ':');
    }
    return false;
}

void str_list_addn(struct str *joined, const char *element, size_t n)
{
    if (str_list_has(str_get(joined), element, n))
        return;
    if (joined->len)
        str_addc(joined, ':');
    str_addn(joined, element, n);
}

void str_list_add(struct str *joined, const char *element)
{
    str_list_addn(joined, element, strlen(element));
}

void str_done(struct str *s)
{
    free(s->at);
    *s = (struct str){ 0 };
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

unsigned str_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned row[32], diagonal, above;
    if (n >= sizeof(row) / sizeof(row[0]) || m >= sizeof(row) / sizeof(row[0]))
        return 9;
    for (size_t k = 0; k <= m; k++)
        row[k] = (unsigned)k;
    for (size_t i = 1; i <= n; i++) {
        diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= m; k++) {
            above = row[k];
            unsigned best = diagonal + (a[i - 1] != b[k - 1]);
            if (row[k - 1] + 1 < best)
                best = row[k - 1] + 1;
            if (above + 1 < best)
                best = above + 1;
            row[k] = best;
            diagonal = above;
        }
    }
    return row[m];
}
