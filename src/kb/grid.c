#include "kb/grid.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

void kb_grid_init(struct kb_grid *g, struct arena *a, const char *name, const char *title,
                  const struct kb_field *fields, size_t n_fields, size_t room)
{
    *g = (struct kb_grid){ .name = name, .title = title, .n_fields = n_fields, .room = room };
    g->fields = arena_zalloc(a, n_fields * sizeof(*g->fields));
    memcpy(g->fields, fields, n_fields * sizeof(*fields));
    g->rows = arena_zalloc(a, (room ? room : 1) * sizeof(*g->rows));
}

struct kb_grid_row *kb_grid_add(struct kb_grid *g, struct arena *a)
{
    struct kb_grid_row *row = &g->rows[g->n_rows++];
    row->cells = arena_zalloc(a, g->n_fields * sizeof(*row->cells));
    return row;
}

void kb_sources_add(struct kb_sources *s, const struct kb_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i] == source)
            return;
    if (s->n < ARRAY_LEN(s->at))
        s->at[s->n++] = source;
}

static bool is_provenance(const char *column)
{
    return str_eq(column, "source") || str_eq(column, "as_of") || str_eq(column, "confidence");
}

const struct kb_source *kb_table_source(const struct kb_table *t, size_t row)
{
    const char *id = kb_table_get(t, row, "source");
    return id ? kb_source_find(id) : NULL;
}

void kb_grid_of_table(struct kb_grid *g, struct arena *a, const struct kb_table *t)
{
    struct kb_field *fields = arena_zalloc(a, t->n_columns * sizeof(*fields));
    size_t n = 0;
    for (size_t i = 0; i < t->n_columns; i++)
        if (!is_provenance(t->columns[i].name))
            fields[n++] = (struct kb_field){ .name = t->columns[i].name,
                                             .title = t->columns[i].name,
                                             .kind = t->columns[i].kind };
    kb_grid_init(g, a, t->name, arena_printf(a, "%s: %s", t->name, t->holds), fields, n, t->n_rows);
}

void kb_grid_add_table_row(struct kb_grid *g, struct arena *a, const struct kb_table *t, size_t row)
{
    struct kb_grid_row *r = kb_grid_add(g, a);
    for (size_t i = 0, n = 0; i < t->n_columns; i++)
        if (!is_provenance(t->columns[i].name))
            r->cells[n++].text = kb_table_cell(t, row, i);
    kb_sources_add(&r->sources, kb_table_source(t, row));
    r->as_of = kb_table_get(t, row, "as_of");
    r->confidence = kb_table_get(t, row, "confidence");
}

void kb_view_list(struct arena *a, struct kb_view *ret)
{
    static const struct kb_field fields[] = {
        { "name", "table", KB_CELL_TEXT, false },
        { "rows", "rows", KB_CELL_NUMBER, false },
        { "newest", "newest row", KB_CELL_TEXT, false },
        { "holds", "a row is of", KB_CELL_TEXT, false },
    };
    size_t n = 0;
    while (kb_table_at(n))
        n++;
    *ret = (struct kb_view){ .what = "list", .grids = arena_new(a, struct kb_grid), .n_grids = 1 };
    kb_grid_init(ret->grids, a, "tables", NULL, fields, ARRAY_LEN(fields), n);
    for (size_t i = 0; i < n; i++) {
        const struct kb_table *t = kb_table_at(i);
        struct kb_cell *cells = kb_grid_add(ret->grids, a)->cells;
        cells[0].text = t->name;
        cells[1].text = arena_printf(a, "%zu", t->n_rows);
        cells[2].text = t->newest;
        cells[3].text = t->holds;
    }
}

/* The rows that a claim was decided by, as the table has them: "ort/1.17.0/cuda=11.8". */
void kb_view_claims(struct arena *a, struct kb_view *ret)
{
    const struct kb_table *t = kb_table_find("claims");
    *ret = (struct kb_view){
        .what = "claims",
        .title = "Claims of common tables and advice, checked",
        .intro =
            "decided_by names the rows of the knowledge base that decide: table/key/column=value.",
        .grids = arena_new(a, struct kb_grid),
        .n_grids = 1,
    };
    kb_grid_of_table(ret->grids, a, t);
    ret->grids->title = NULL;
    for (size_t i = 0; i < t->n_rows; i++)
        kb_grid_add_table_row(ret->grids, a, t, i);
}
