/* Shared by the text renderers: marks, colour, shortened paths. */
#ifndef ORTFIT_REPORT_TEXT_H
#define ORTFIT_REPORT_TEXT_H

#include "report/report.h"

enum text_mark { MARK_GOOD, MARK_BAD, MARK_WARN, MARK_NOTE };

struct text_out {
    FILE *out;
    const struct report_style *style;
    const struct report *r;
    struct arena a;
};

void text_mark(const struct text_out *t, enum text_mark m);
void text_bold(const struct text_out *t, const char *s);
/* Control characters would let a hostile file name write to the terminal: they are shown as '?'. */
void text_put(const struct text_out *t, const char *s);
/* Relative to the working folder, or with ~ for the home folder, where that is shorter. */
const char *text_path(struct text_out *t, const char *path);

/* "Python 3.11", or "Python" where the version is not known. */
const char *text_python(struct text_out *t, const struct pyenv *env);

void text_check(struct text_out *t);
void text_show(struct text_out *t);
void text_loads(struct text_out *t);
void text_match(struct text_out *t);

#endif
