/* What a verb has to say, handed over whole; the renderers are the only code that prints results. */
#ifndef ORTFIT_REPORT_REPORT_H
#define ORTFIT_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "judge/judge.h"
#include "kb/grid.h"
#include "load/load.h"
#include "match/match.h"
#include "probe/snapshot.h"

enum report_kind { REPORT_CHECK, REPORT_SHOW, REPORT_SNAPSHOT, REPORT_LOADS, REPORT_MATCH, REPORT_KB, REPORT_ERROR };

struct report {
    enum report_kind kind;
    const char *verb;               /* "check" */
    const struct snapshot *s;       /* CHECK, SHOW, SNAPSHOT */
    const struct judged *judged;    /* CHECK */
    bool redact;                    /* SNAPSHOT */
    const struct load_result *load; /* LOADS */
    const char *file;               /* LOADS: as given */
    const struct kb_view *kb;       /* KB */
    const struct match_query *query; /* MATCH */
    const struct match_answer *match; /* MATCH */
    bool compact;                   /* JSON on one line */
    const struct err *error;        /* ERROR */
};

/* How to print it. */
struct report_style {
    bool color, unicode, verbose, quiet;
    unsigned columns; /* of the terminal; 0: not a terminal */
};

struct renderer {
    const char *name; /* as --format has it */
    const char *verb; /* the only one that has this format; NULL: every */
    void (*render)(const struct report *r, const struct report_style *style, FILE *out);
};

/* NULL: this verb has no such format. */
const struct renderer *renderer_find(const char *name, const char *verb);
const char *renderer_names(const char *verb); /* "text, json" */

/* For every report: 0 nothing wrong, 1 a cause stands in the way, 2 and 3 by the error. */
int report_exit_code(const struct report *r);

void render_text(const struct report *r, const struct report_style *style, FILE *out);
void render_json(const struct report *r, const struct report_style *style, FILE *out);

/* One line of `show`: a component, its version, where it was read. */
struct show_row {
    const char *component, *version, *source;
    const char *differs; /* what disagrees with it, or NULL */
};
struct show_rows {
    VEC(struct show_row);
};
/* a: where the texts live; free the rows with vec_done. */
void show_collect(const struct snapshot *s, struct arena *a, struct show_rows *ret);

#endif
