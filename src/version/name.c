/* Distribution names (PEP 503). */
#include <string.h>

#include "version/pep508.h"

static char normal(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c + 32);
    return c == '_' || c == '.' ? '-' : c;
}

/* Steps to the next character of the normalised name; 0 at the end. */
static char step(const char **at, const char *end)
{
    if (*at == end)
        return 0;
    char c = normal(*(*at)++);
    while (c == '-' && *at < end && normal(**at) == '-')
        (*at)++;
    return c;
}

const char *name_normalise_n(const char *name, size_t len, char *buf, size_t room)
{
    const char *end = name + len;
    size_t n = 0;
    for (char c; n + 1 < room && (c = step(&name, end)) != 0;)
        buf[n++] = c;
    if (room)
        buf[n] = '\0';
    return buf;
}

const char *name_normalise(const char *name, char *buf, size_t room)
{
    return name_normalise_n(name, strlen(name), buf, room);
}

bool name_same_n(struct slice a, const char *b)
{
    const char *at = a.at, *end = a.at + a.len, *end_b = b + strlen(b);
    for (;;) {
        char x = step(&at, end), y = step(&b, end_b);
        if (x != y)
            return false;
        if (!x)
            return true;
    }
}

bool name_same(const char *a, const char *b)
{
    return name_same_n((struct slice){ a, strlen(a) }, b);
}
