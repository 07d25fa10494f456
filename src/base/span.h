/* Binary input that cannot be run over: every take is checked against what is left. */
#ifndef ORTFIT_BASE_SPAN_H
#define ORTFIT_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
    const unsigned char *at;
    size_t left;
};

static inline bool span_take(struct span *s, size_t n, struct span *ret_part)
{
    if (n > s->left)
        return false;
    *ret_part = (struct span){ s->at, n };
    s->at += n;
    s->left -= n;
    return true;
}

/* The n bytes at offset, without moving; false when they do not all lie inside. */
static inline bool span_part(struct span s, size_t offset, size_t n, struct span *ret_part)
{
    if (offset > s.left || n > s.left - offset)
        return false;
    *ret_part = (struct span){ s.at + offset, n };
    return true;
}

/* Copies n bytes at offset into an object of the host's byte order. */
static inline bool span_copy(struct span s, size_t offset, void *to, size_t n)
{
    struct span part;
    if (!span_part(s, offset, n, &part))
        return false;
    memcpy(to, part.at, n);
    return true;
}

/* The NUL-ended string at offset, or NULL when it does not end inside. */
static inline const char *span_string(struct span s, size_t offset)
{
    if (offset >= s.left || !memchr(s.at + offset, '\0', s.left - offset))
        return NULL;
    return (const char *)s.at + offset;
}

#endif
