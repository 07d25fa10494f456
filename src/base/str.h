/* A growing string, always NUL-ended once something was added. Zero-initialised is empty. */
#ifndef ORTFIT_BASE_STR_H
#define ORTFIT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

struct str {
    char *at; /* NULL while empty; owned */
    size_t len, cap;
};

void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_addc(struct str *s, char c);
__attribute__((format(printf, 2, 3))) void str_addf(struct str *s, const char *fmt, ...);
void str_cut(struct str *s, size_t len);  /* shortens to len; longer is a bug */
const char *str_get(const struct str *s); /* "" while empty; valid until the next change */
char *str_take(struct str *s);            /* caller frees; s is empty afterwards; never NULL */
void str_done(struct str *s);

/* Lists joined by ':', as LD_LIBRARY_PATH has them: each element once. */
bool str_list_has(const char *joined, const char *element, size_t n);
void str_list_add(struct str *joined, const char *element);
void str_list_addn(struct str *joined, const char *element, size_t n);

/* Plain helpers on C strings. */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Letters that differ between two short words, at most 31 long, else 9: enough to tell a slip from
 * another word. */
unsigned str_distance(const char *a, const char *b);
static inline bool str_eq(const char *a, const char *b)
{
    return __builtin_strcmp(a, b) == 0;
}

#endif
