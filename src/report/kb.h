/* Answers of `ortfit kb` as text, Markdown and JSON. */
#ifndef ORTFIT_REPORT_KB_H
#define ORTFIT_REPORT_KB_H

#include "base/jsonw.h"
#include "report/text.h"

void text_kb(struct text_out *t);
/* The members of the document behind schema, verb and kb_date. */
void json_kb(struct json *j, const struct kb_view *view);
/* Markdown; other reports than KB are not rendered (see renderer_find). */
void render_md(const struct report *r, const struct report_style *style, FILE *out);

/* Every source that a row of the view names, in the order of sources.tsv. */
struct kb_source_list {
    VEC(const struct kb_source *);
};
void kb_sources_collect(const struct kb_view *view,
                        struct kb_source_list *ret); /* free with vec_done */

#endif
