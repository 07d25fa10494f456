#include "version/driver.h"

#include <stdio.h>
#include <string.h>

bool driver_parse(const char *text, struct driver_version *ret)
{
    *ret = (struct driver_version){ 0 };
    for (const char *p = text;; p++) {
        const char *start = p;
        unsigned n = 0;
        for (; *p >= '0' && *p <= '9'; p++) {
            if (n > 9999999)
                return false;
            n = n * 10 + (unsigned)(*p - '0');
        }
        if (p == start || ret->n == DRIVER_PARTS)
            return false;
        ret->part[ret->n++] = n;
        if (*p == '\0')
            return true;
        if (*p != '.')
            return false;
    }
}

int driver_compare(const struct driver_version *a, const struct driver_version *b)
{
    for (size_t i = 0; i < DRIVER_PARTS; i++)
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

int driver_compare_text(const char *a, const char *b)
{
    struct driver_version va, vb;
    bool ok_a = driver_parse(a, &va), ok_b = driver_parse(b, &vb);
    if (ok_a && ok_b)
        return driver_compare(&va, &vb);
    return ok_a - ok_b;
}

int driver_branch(const char *text)
{
    struct driver_version v;
    return driver_parse(text, &v) ? (int)v.part[0] : 0;
}

int cuda_parse(const char *text)
{
    struct driver_version v;
    if (!driver_parse(text, &v) || v.part[0] == 0 || v.part[0] > 999 || v.part[1] > 99)
        return 0;
    return (int)(v.part[0] * 1000 + v.part[1] * 10);
}

const char *cuda_text(int cuda, char *buf, size_t room)
{
    (void)snprintf(buf, room, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    return buf;
}
