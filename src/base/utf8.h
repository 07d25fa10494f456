/* UTF-8 as RFC 3629 has it: shortest forms only, no surrogates. */
#ifndef ORTFIT_BASE_UTF8_H
#define ORTFIT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the sequence at s, of which left (at least 1) bytes are there; 0: it is none. */
size_t utf8_len(const void *s, size_t left);
/* Is the sequence of len bytes at s a control character (C0, DEL, C1)? A terminal would act on it. */
bool utf8_is_control(const void *s, size_t len);

#endif
