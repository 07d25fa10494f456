#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* File names reach messages: control characters would let a hostile name write to the terminal. */
static void make_printable(char *text)
{
    for (char *c = text, *end = text + strlen(text); c < end;) {
        size_t len = utf8_len(c, (size_t)(end - c));
        unsigned char first = (unsigned char)*c; /* no UTF-8: 8-bit terminals know C1 as one byte */
        bool control = len > 0 ? utf8_is_control(c, len) : first < 0xa0;
        for (size_t step = len ? len : 1; step > 0; step--, c++)
            *c = control ? '?' : *c;
    }
}

void err_fill(struct err *e, enum err_code code, const char *fmt, ...)
{
    if (!e)
        return;
    va_list ap;
    va_start(ap, fmt);
    e->code = code;
    (void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    make_printable(e->text);
}

void err_while(struct err *e, const char *fmt, ...)
{
    if (!e)
        return;
    size_t used = strlen(e->text);
    va_list ap;
    va_start(ap, fmt);
    int n = snprintf(e->text + used, sizeof(e->text) - used, ", while ");
    if (n > 0 && used + (size_t)n < sizeof(e->text))
        (void)vsnprintf(e->text + used + n, sizeof(e->text) - used - (size_t)n, fmt, ap);
    va_end(ap);
    make_printable(e->text);
}

const char *err_code_text(enum err_code code)
{
    switch (code) {
#define X(name, num, text, exit_code) \
    case name:                        \
        return text;
        ERR_TABLE(X)
#undef X
    case ERR_NONE:
        break;
    }
    return "none";
}

int err_exit_code(enum err_code code)
{
    switch (code) {
#define X(name, num, text, exit_code) \
    case name:                        \
        return exit_code;
        ERR_TABLE(X)
#undef X
    case ERR_NONE:
        break;
    }
    return 3;
}
