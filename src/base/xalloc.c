#include "base/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void out_of_memory(void)
{
    fputs("ortfit: out of memory; free some and try again\n", stderr);
    exit(3);
}

void *xmalloc(size_t size_bytes)
{
    void *p = malloc(size_bytes ? size_bytes : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *xcalloc(size_t n, size_t size_bytes)
{
    void *p = calloc(n ? n : 1, size_bytes ? size_bytes : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *xreallocarray(void *p, size_t n, size_t size_bytes)
{
    void *grown = reallocarray(p, n ? n : 1, size_bytes ? size_bytes : 1);
    if (!grown)
        out_of_memory();
    return grown;
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = xmalloc(len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = NULL;
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        out_of_memory();
    return text;
}
