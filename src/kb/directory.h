/* Every table of the knowledge base as text, cell by cell: for showing and looking up, not for
 * deciding.
 *
 * Constant, like all of kb/; made by tools/kb-compile from the tables themselves, so that a new
 * table or column is seen here without any code. kb.h has the typed rows. */
#ifndef ORTFIT_KB_DIRECTORY_H
#define ORTFIT_KB_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "kb/kb.h"

enum kb_cell_kind {
    KB_CELL_TEXT,
    KB_CELL_LIST,   /* words separated by single blanks */
    KB_CELL_SMS,    /* the same, of sm numbers: 80 86 90a */
    KB_CELL_CC,     /* a compute capability: 8.9 */
    KB_CELL_NUMBER, /* decimal digits */
    KB_CELL_KNOWN,  /* yes or no */
};

struct kb_column {
    const char *name;
    enum kb_cell_kind kind;
    bool key; /* a row is named by its key columns together */
};

struct kb_table {
    const char *name;  /* "ort" */
    const char *holds; /* what a row is, in words */
    const struct kb_column *columns;
    size_t n_columns;
    const unsigned *cells; /* row by row; of directory.c alone */
    size_t n_rows;
    const char *newest; /* date of its newest row */
};

/* i counts from 0; NULL past the end. */
const struct kb_table *kb_table_at(size_t i);
const struct kb_table *kb_table_find(const char *name);
/* -1: no such column. */
int kb_table_column(const struct kb_table *t, const char *name);
/* NULL: not known, or none. row and column are below n_rows and n_columns. */
const char *kb_table_cell(const struct kb_table *t, size_t row, size_t column);
/* The same by the column's name; NULL also where there is no such column. */
const char *kb_table_get(const struct kb_table *t, size_t row, const char *column);

#endif
