/* `kb show`: a table, a row of it, or everything that the tables say of one thing. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kb/grid.h"

enum {
    BRIEF_FROM = 13,
    FORMS_MAX = 8
}; /* so many rows and more are told to people by their keys */

/* One way of writing what is asked for. */
struct form {
    const char *text;
    int kind; /* only cells of this kind; -1: any */
    bool
        keys_only; /* follows from what was asked: rows that are of it, not those that mention it */
};

struct forms {
    struct form at[FORMS_MAX];
    size_t n;
};

static void form_add(struct forms *f, const char *text, int kind, bool keys_only)
{
    if (f->n < ARRAY_LEN(f->at))
        f->at[f->n++] = (struct form){ text, kind, keys_only };
}

static void forms_of_cc(struct forms *f, struct arena *a, int cc, bool keys_only)
{
    form_add(f, arena_printf(a, "%d.%d", cc / 10, cc % 10), KB_CELL_CC, keys_only);
    if (!keys_only) {
        form_add(f, arena_printf(a, "%d", cc), KB_CELL_SMS, false);
        form_add(f, arena_printf(a, "%da", cc), KB_CELL_SMS, false);
    }
}

static void forms_of(struct forms *f, struct arena *a, const char *asked)
{
    *f = (struct forms){ 0 };
    form_add(f, asked, -1, false);
    if (asked[0] == 'v' && isdigit((unsigned char)asked[1]))
        form_add(f, asked + 1, -1, false);
    const char *colon = strrchr(asked, ':'); /* nvidia/cuda:TAG */
    if (colon && colon[1])
        form_add(f, colon + 1, KB_CELL_TEXT, false);
    int cc = kb_cc_parse(asked);
    if (cc > 0 && (strchr(asked, '.') || strchr(asked, '_')))
        forms_of_cc(f, a, cc, false);
    size_t digits = strspn(asked, "0123456789");
    if (digits == 3 && asked[digits] == '.') /* 550.54.14 is of branch 550 */
        form_add(f, arena_strndup(a, asked, digits), KB_CELL_NUMBER, true);
    const struct kb_gpu *gpu = isalpha((unsigned char)asked[0]) && !kb_wheel_find(asked)
                                   ? kb_gpu_find(asked)
                                   : NULL;
    if (gpu) {
        form_add(f, gpu->name, KB_CELL_TEXT, false);
        forms_of_cc(f, a, gpu->cc, true);
    }
}

/* Names are the same in any case and with '_' for '-'. */
static bool same_word(const char *cell, size_t n, const char *asked)
{
    for (size_t i = 0; i < n; i++) {
        int x = tolower((unsigned char)cell[i]), y = tolower((unsigned char)asked[i]);
        if ((x == '_' ? '-' : x) != (y == '_' ? '-' : y))
            return false; /* also at the end of asked */
    }
    return asked[n] == '\0';
}

/* Does a word of the list name it? A requirement does by its name: nvidia-cudnn-cu12~=9.0. */
static bool has_word(const char *list, const char *asked)
{
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, " ");
        if (same_word(p, n, asked) || same_word(p, strcspn(p, " ~=<>![;"), asked))
            return true;
        p += n + strspn(p + n, " ");
    }
    return false;
}

/* Rows whose key is asked for, or rows that mention it in another cell. */
static bool cell_matches(const struct kb_column *c, const char *cell, const struct forms *f,
                         bool as_key)
{
    if (!cell || c->key != as_key)
        return false;
    if (!as_key &&
        (c->kind == KB_CELL_NUMBER || c->kind == KB_CELL_KNOWN || str_eq(c->name, "source") ||
         str_eq(c->name, "as_of") || str_eq(c->name, "confidence")))
        return false;
    for (size_t i = 0; i < f->n; i++) {
        const struct form *form = &f->at[i];
        if ((form->kind >= 0 && form->kind != (int)c->kind) || (form->keys_only && !as_key))
            continue;
        bool list = c->kind == KB_CELL_LIST || c->kind == KB_CELL_SMS;
        if (list ? has_word(cell, form->text) : same_word(cell, strlen(cell), form->text))
            return true;
    }
    return false;
}

static bool row_matches(const struct kb_table *t, size_t row, const struct forms *f)
{
    for (size_t c = 0; c < t->n_columns; c++)
        if (cell_matches(&t->columns[c], kb_table_cell(t, row, c), f, true))
            return true;
    return false;
}

/* The row's key without what was asked for: of nvidia-cudnn-cu12 9.1.0.70 the version. */
static void add_key(struct str *s, const struct kb_table *t, size_t row, const struct forms *f)
{
    bool first = true;
    if (s->len)
        str_addc(s, ' ');
    for (size_t c = 0; c < t->n_columns; c++) {
        const char *cell = kb_table_cell(t, row, c);
        if (!t->columns[c].key || !cell || (f && cell_matches(&t->columns[c], cell, f, true)))
            continue;
        for (str_add(s, first ? "" : "/"); *cell; cell++)
            str_addc(s, *cell == ' ' ? '_' : *cell);
        first = false;
    }
}

static const char *take(struct arena *a, struct str *s)
{
    const char *text = arena_strdup(a, str_get(s));
    str_done(s);
    return text;
}

/* False: no row is of it. */
static bool grid_of_rows(struct kb_grid *g, struct arena *a, const struct kb_table *t,
                         const struct forms *f, bool may_brief)
{
    struct str keys = { 0 };
    bool begun = false;
    for (size_t row = 0; row < t->n_rows; row++) {
        if (!row_matches(t, row, f))
            continue;
        if (!begun)
            kb_grid_of_table(g, a, t);
        begun = true;
        kb_grid_add_table_row(g, a, t, row);
        add_key(&keys, t, row, f);
    }
    const char *brief = take(a, &keys);
    if (begun && may_brief && g->n_rows >= BRIEF_FROM)
        g->brief = arena_printf(a, "%zu rows: %s", g->n_rows, brief);
    return begun;
}

/* Adds to mentions the columns of t that speak of it, each with the keys of the rows. */
static void add_mentions(struct kb_grid *mentions, struct arena *a, const struct kb_table *t,
                         const struct forms *f)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        struct str keys = { 0 };
        struct kb_sources sources = { 0 };
        for (size_t row = 0; row < t->n_rows; row++)
            if (cell_matches(&t->columns[c], kb_table_cell(t, row, c), f, false)) {
                add_key(&keys, t, row, NULL);
                kb_sources_add(&sources, kb_table_source(t, row));
            }
        const char *words = take(a, &keys);
        if (!words[0])
            continue;
        struct kb_grid_row *r = kb_grid_add(mentions, a);
        r->cells[0].text = t->name;
        r->cells[1].text = t->columns[c].name;
        r->cells[2].text = words;
        r->sources = sources;
    }
}

/* The word that lies nearest so far. */
struct near {
    const char *word;
    unsigned distance; /* 0: none yet */
    size_t alike;      /* bytes from the beginning that are the same */
    const struct kb_table *table;
};

/* Of two that are as near the one that begins alike wins, then the earlier table, then the later
 * row: the newer release. */
static void near_try(struct near *n, const char *asked, const char *word, const struct kb_table *t)
{
    unsigned d = str_distance(asked, word);
    size_t alike = 0;
    while (asked[alike] && asked[alike] == word[alike])
        alike++;
    if (d > 3 || d >= strlen(asked))
        return;
    if (n->word &&
        (d > n->distance ||
         (d == n->distance && (alike < n->alike || (alike == n->alike && t != n->table)))))
        return;
    *n = (struct near){ word, d, alike, t };
}

/* The nearest name or key; tables first. NULL: nothing is near. */
static const char *nearest(const char *asked, const struct kb_table *only)
{
    struct near best = { 0 };
    for (size_t i = 0; !only && kb_table_at(i); i++)
        near_try(&best, asked, kb_table_at(i)->name, NULL);
    if (best.word && best.distance < 3)
        return best.word;
    for (size_t i = 0; !only && strlen(asked) > 3 && kb_table_at(i); i++)
        if (strstr(kb_table_at(i)->name, asked))
            return kb_table_at(i)->name;
    for (size_t i = 0; kb_table_at(i); i++) {
        const struct kb_table *t = kb_table_at(i);
        for (size_t row = 0; row < t->n_rows && (!only || only == t); row++)
            for (size_t c = 0; c < t->n_columns; c++) {
                const char *cell = t->columns[c].key ? kb_table_cell(t, row, c) : NULL;
                if (cell)
                    near_try(&best, asked, cell, t);
            }
    }
    return best.word;
}

static int nothing_known(const char *asked, const struct kb_table *t, struct err *e)
{
    const char *near = nearest(asked, t);
    const char *in = t ? " in table " : "", *name = t ? t->name : "";
    if (near)
        return err_set(e, ERR_UNKNOWN_RELEASE,
                       "nothing is known of '%s'%s%s; the nearest that is known: '%s'", asked, in,
                       name, near);
    return err_set(e, ERR_UNKNOWN_RELEASE, "nothing is known of '%s'%s%s; see: ortfit kb list",
                   asked, in, name);
}

static int show_table(struct arena *a, const struct kb_table *t, const char *key,
                      struct kb_view *ret, struct err *e)
{
    ret->grids = arena_new(a, struct kb_grid);
    ret->n_grids = 1;
    if (key) {
        struct forms f;
        forms_of(&f, a, key);
        return grid_of_rows(ret->grids, a, t, &f, false) ? 0 : nothing_known(key, t, e);
    }
    kb_grid_of_table(ret->grids, a, t);
    for (size_t row = 0; row < t->n_rows; row++)
        kb_grid_add_table_row(ret->grids, a, t, row);
    return 0;
}

int kb_view_show(struct arena *a, const char *name, const char *key, struct kb_view *ret,
                 struct err *e)
{
    static const struct kb_field mention_fields[] = {
        { "table", "table", KB_CELL_TEXT, false },
        { "column", "column", KB_CELL_TEXT, false },
        { "keys", "rows", KB_CELL_LIST, false },
    };
    const struct kb_table *t = kb_table_find(name);
    *ret = (struct kb_view){ .what = "show" };
    if (t)
        return show_table(a, t, key, ret, e);
    if (key) {
        const char *near = nearest(name, NULL);
        return near && kb_table_find(near)
                   ? err_set(e, ERR_USAGE, "there is no table '%s'; did you mean '%s'?", name, near)
                   : err_set(e, ERR_USAGE, "there is no table '%s'; see: ortfit kb list", name);
    }
    struct forms f;
    forms_of(&f, a, name);
    size_t tables = 0, columns = 0;
    for (; kb_table_at(tables); tables++)
        columns += kb_table_at(tables)->n_columns;
    struct kb_grid mentions;
    kb_grid_init(&mentions, a, "mentions", "mentioned in", mention_fields,
                 ARRAY_LEN(mention_fields), columns);
    ret->grids = arena_zalloc(a, (tables + 1) * sizeof(*ret->grids));
    for (size_t i = 0; i < tables; i++) {
        if (grid_of_rows(&ret->grids[ret->n_grids], a, kb_table_at(i), &f, true))
            ret->n_grids++;
        add_mentions(&mentions, a, kb_table_at(i), &f);
    }
    if (mentions.n_rows)
        ret->grids[ret->n_grids++] = mentions;
    return ret->n_grids ? 0 : nothing_known(name, NULL, e);
}
