#include "kb/directory.h"

#include "base/str.h"
#include "kb/tables.h"

const struct kb_table *kb_table_at(size_t i)
{
    return i < kbt_directory_n ? &kbt_directory[i] : NULL;
}

const struct kb_table *kb_table_find(const char *name)
{
    for (size_t i = 0; i < kbt_directory_n; i++)
        if (str_eq(kbt_directory[i].name, name))
            return &kbt_directory[i];
    return NULL;
}

int kb_table_column(const struct kb_table *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (str_eq(t->columns[i].name, name))
            return (int)i;
    return -1;
}

const char *kb_table_cell(const struct kb_table *t, size_t row, size_t column)
{
    const char *text = kbt_text + t->cells[row * t->n_columns + column];
    return str_eq(text, "-") ? NULL : text;
}

const char *kb_table_get(const struct kb_table *t, size_t row, const char *column)
{
    int i = kb_table_column(t, column);
    return i < 0 ? NULL : kb_table_cell(t, row, (size_t)i);
}
