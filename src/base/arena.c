#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define ALIGN _Alignof(max_align_t)
#define BLOCK_BYTES ((size_t)32 * 1024)

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    max_align_t data[];
};

void *arena_alloc(struct arena *a, size_t size_bytes)
{
    assert(size_bytes < SIZE_MAX / 2);
    size_t want = (size_bytes + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *b = a->block;
    if (!b || b->size - b->used < want) {
        size_t size = want > BLOCK_BYTES ? want : BLOCK_BYTES;
        b = xmalloc(sizeof(*b) + size);
        b->used = 0;
        b->size = size;
        a->total_bytes += size;
        /* A big piece must not hide the room left in the current block. */
        if (want > BLOCK_BYTES && a->block) {
            b->next = a->block->next;
            a->block->next = b;
        } else {
            b->next = a->block;
            a->block = b;
        }
    }
    void *p = (char *)b->data + b->used;
    b->used += want;
    return p;
}

void *arena_zalloc(struct arena *a, size_t size_bytes)
{
    void *p = arena_alloc(a, size_bytes);
    memset(p, 0, size_bytes);
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = arena_alloc(a, len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    char *text = arena_alloc(a, (size_t)n + 1);
    (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

char *arena_concat(struct arena *arena, const char *a, const char *b, const char *c)
{
    size_t x = strlen(a), y = strlen(b), z = strlen(c);
    char *text = arena_alloc(arena, x + y + z + 1);
    memcpy(text, a, x);
    memcpy(text + x, b, y);
    memcpy(text + x + y, c, z + 1);
    return text;
}

void arena_done(struct arena *a)
{
    for (struct arena_block *b = a->block, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (struct arena){ 0 };
}
