/* What `ortfit kb` has to say, as grids of rows and cells that any format can print: the list of
 * tables, a table or the rows that speak of one thing, the compatibility table, the claims.
 *
 * Everything lives in the arena given, or is constant. A cell's text is for people; words, where it
 * is not NULL, is the same as a list separated by blanks, for machines. */
#ifndef ORTFIT_KB_GRID_H
#define ORTFIT_KB_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "kb/directory.h"

struct kb_cell {
    const char *text;  /* NULL: not known, or none */
    const char *words; /* NULL: the text is it */
};

struct kb_field {
    const char *name;  /* for machines: "driver_windows" */
    const char *title; /* for people */
    enum kb_cell_kind kind;
    bool machine_only; /* people are told in another field */
};

struct kb_sources {
    const struct kb_source *at[12]; /* in order of first use; more are dropped */
    size_t n;
};

struct kb_grid_row {
    struct kb_cell *cells; /* one a field */
    struct kb_sources sources;
    const char *as_of,
        *confidence; /* of a row of one table; NULL: the row is put together from several */
};

struct kb_grid {
    const char *name, *title;
    struct kb_field *fields;
    size_t n_fields;
    struct kb_grid_row *rows;
    size_t n_rows, room; /* room: rows that were allocated */
    const char *brief; /* people get this instead of many rows, that of a look-up; NULL: the rows */
};

struct kb_view {
    const char *what; /* "list", "show", "table", "claims" */
    const char *title, *intro;
    struct kb_grid *grids;
    size_t n_grids;
};

void kb_view_list(struct arena *a, struct kb_view *ret);
/* name: a table, or anything that the tables speak of: a version, a package, a soname, sm_89, a
 * GPU, a driver. key: a row of the table, or NULL. The error names the nearest that is known. */
int kb_view_show(struct arena *a, const char *name, const char *key, struct kb_view *ret,
                 struct err *e);
/* ONNX Runtime, release line by release line; equal releases are one row. */
void kb_view_table(struct arena *a, struct kb_view *ret);
void kb_view_claims(struct arena *a, struct kb_view *ret);

/* --- for the files that make views --- */

/* A grid with room for so many rows; fields are copied. */
void kb_grid_init(struct kb_grid *g, struct arena *a, const char *name, const char *title,
                  const struct kb_field *fields, size_t n_fields, size_t room);
/* A new row with empty cells, valid until the arena goes. */
struct kb_grid_row *kb_grid_add(struct kb_grid *g, struct arena *a);
void kb_sources_add(struct kb_sources *s, const struct kb_source *source);
/* A grid with the fields of a table, without its provenance, and room for all its rows. */
void kb_grid_of_table(struct kb_grid *g, struct arena *a, const struct kb_table *t);
void kb_grid_add_table_row(struct kb_grid *g, struct arena *a, const struct kb_table *t,
                           size_t row);
/* Source of a row of a table; NULL for the tables of the tables. */
const struct kb_source *kb_table_source(const struct kb_table *t, size_t row);

#endif
