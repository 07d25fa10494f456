#include "report/kb.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

void kb_sources_collect(const struct kb_view *view, struct kb_source_list *ret)
{
    for (size_t s = 0; kb_source_at(s); s++) {
        bool used = false;
        for (size_t g = 0; g < view->n_grids; g++)
            for (size_t r = 0; r < view->grids[g].n_rows; r++)
                for (size_t i = 0; i < view->grids[g].rows[r].sources.n; i++)
                    used |= view->grids[g].rows[r].sources.at[i] == kb_source_at(s);
        if (used)
            vec_push(ret, kb_source_at(s));
    }
}

/* --- JSON --- */

static void json_words(struct json *j, const char *list)
{
    json_arr_inline(j);
    while (list && *list) {
        size_t n = strcspn(list, " ");
        json_strn(j, list, n);
        list += n + strspn(list + n, " ");
    }
    json_arr_end(j);
}

static void json_cell(struct json *j, const struct kb_field *f, const struct kb_cell *c)
{
    const char *value = c->words ? c->words : c->text;
    json_key(j, f->name);
    switch (f->kind) {
    case KB_CELL_LIST:
    case KB_CELL_SMS:
        json_words(j, value);
        return;
    case KB_CELL_NUMBER:
        if (value)
            json_int(j, strtoll(value, NULL, 10));
        else
            json_nil(j);
        return;
    case KB_CELL_KNOWN:
        if (value)
            json_bool(j, str_eq(value, "yes"));
        else
            json_nil(j);
        return;
    case KB_CELL_TEXT:
    case KB_CELL_CC:
        break;
    }
    json_str(j, value);
}

static void json_row(struct json *j, const struct kb_grid *g, const struct kb_grid_row *r)
{
    json_obj_inline(j);
    for (size_t i = 0; i < g->n_fields; i++)
        json_cell(j, &g->fields[i], &r->cells[i]);
    json_key(j, "sources");
    json_arr_inline(j);
    for (size_t i = 0; i < r->sources.n; i++)
        json_str(j, r->sources.at[i]->id);
    json_arr_end(j);
    if (r->as_of)
        json_kstr(j, "as_of", r->as_of);
    if (r->confidence)
        json_kstr(j, "confidence", r->confidence);
    json_obj_end(j);
}

void json_kb(struct json *j, const struct kb_view *view)
{
    json_kstr(j, "what", view->what);
    json_key(j, "tables");
    json_arr(j);
    for (size_t g = 0; g < view->n_grids; g++) {
        const struct kb_grid *grid = &view->grids[g];
        json_obj(j);
        json_kstr(j, "name", grid->name);
        json_key(j, "rows");
        json_arr(j);
        for (size_t r = 0; r < grid->n_rows; r++)
            json_row(j, grid, &grid->rows[r]);
        json_arr_end(j);
        json_obj_end(j);
    }
    json_arr_end(j);
    struct kb_source_list sources = { 0 };
    kb_sources_collect(view, &sources);
    json_key(j, "sources");
    json_arr(j);
    for (size_t i = 0; i < sources.n; i++) {
        const struct kb_source *s = sources.at[i];
        char date[16];
        (void)snprintf(date, sizeof(date), "%04d-%02d-%02d", s->date / 10000, s->date / 100 % 100,
                       s->date % 100);
        json_obj_inline(j);
        json_kstr(j, "id", s->id);
        json_kstr(j, "kind", s->kind);
        json_kstr(j, "date", date);
        json_kstr(j, "text", s->text);
        json_obj_end(j);
    }
    json_arr_end(j);
    vec_done(&sources);
}

/* --- Markdown --- */

/* What Markdown would take for its own: within words '_' is none of it. */
static void md_put(FILE *out, const char *s)
{
    bool in_word = false;
    for (; *s; s++) {
        if (strchr("|<*\\", *s) || (*s == '_' && !(in_word && isalnum((unsigned char)s[1]))))
            fputc('\\', out);
        in_word = isalnum((unsigned char)*s) || *s == '_';
        fputc(*s, out);
    }
}

static void md_sources(FILE *out, const struct kb_sources *s)
{
    for (size_t i = 0; i < s->n; i++)
        fprintf(out, "%s%s", i ? ", " : "", s->at[i]->id);
}

/* A column that no row fills is left out. */
static bool is_shown(const struct kb_grid *g, size_t field)
{
    if (g->fields[field].machine_only)
        return false;
    for (size_t r = 0; r < g->n_rows; r++)
        if (g->rows[r].cells[field].text)
            return true;
    return false;
}

static bool has_sources(const struct kb_grid *g)
{
    for (size_t r = 0; r < g->n_rows; r++)
        if (g->rows[r].sources.n)
            return true;
    return false;
}

static void md_grid(FILE *out, const struct kb_grid *g)
{
    bool sources = has_sources(g);
    if (g->title) {
        fputs("\n## ", out);
        md_put(out, g->title);
        fputc('\n', out);
    }
    fputs("\n|", out);
    for (size_t i = 0; i < g->n_fields; i++)
        if (is_shown(g, i)) {
            fputc(' ', out);
            md_put(out, g->fields[i].title);
            fputs(" |", out);
        }
    fputs(sources ? " source |\n|" : "\n|", out);
    for (size_t i = 0; i < g->n_fields; i++)
        if (is_shown(g, i))
            fputs("---|", out);
    fputs(sources ? "---|\n" : "\n", out);
    for (size_t r = 0; r < g->n_rows; r++) {
        fputc('|', out);
        for (size_t i = 0; i < g->n_fields; i++)
            if (is_shown(g, i)) {
                fputc(' ', out);
                md_put(out, g->rows[r].cells[i].text ? g->rows[r].cells[i].text : "-");
                fputs(" |", out);
            }
        if (sources) {
            fputc(' ', out);
            md_sources(out, &g->rows[r].sources);
            fputs(" |", out);
        }
        fputc('\n', out);
    }
}

void render_md(const struct report *r, const struct report_style *style, FILE *out)
{
    (void)style;
    if (r->kind != REPORT_KB)
        return;
    const struct kb_view *v = r->kb;
    if (v->title) {
        fputs("# ", out);
        md_put(out, v->title);
        fputc('\n', out);
    }
    fprintf(out, "\n<!-- Made by: ortfit kb %s --format md -->\n", v->what);
    if (v->intro) {
        fputc('\n', out);
        md_put(out, v->intro);
        fputc('\n', out);
    }
    for (size_t g = 0; g < v->n_grids; g++)
        if (v->grids[g].n_rows)
            md_grid(out, &v->grids[g]);
    struct kb_source_list sources = { 0 };
    kb_sources_collect(v, &sources);
    if (sources.n)
        fprintf(out, "\n## Sources\n\nThe knowledge base is of %s.\n\n", kb_date());
    for (size_t i = 0; i < sources.n; i++) {
        const struct kb_source *s = sources.at[i];
        fprintf(out, "- %s (%s, %04d-%02d-%02d): ", s->id, s->kind, s->date / 10000,
                s->date / 100 % 100, s->date % 100);
        md_put(out, s->text);
        fputc('\n', out);
    }
    vec_done(&sources);
}
