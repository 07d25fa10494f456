/* The grids of `ortfit kb` for people: a table where it fits the width, else one block a row. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "report/kb.h"

enum { WIDTH = 100, WIDTH_LEAST = 40, GAP = 2, COLUMNS_MAX = 40, WORD_MAX = 26 };

/* A grid prepared for printing: columns that are shown, the source's ids as the last one. */
struct layout {
    const char *titles[COLUMNS_MAX];
    size_t field[COLUMNS_MAX]; /* SIZE_MAX: the sources */
    size_t n, width[COLUMNS_MAX], least[COLUMNS_MAX];
    const char ***cells; /* [row][column], never NULL */
};

/* Columns that a text takes: bytes that begin a character. */
static size_t shown_length(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

static size_t longest_word(const char *s)
{
    size_t most = 0;
    while (*s) {
        size_t n = strcspn(s, " "), shown = shown_length(s, n);
        most = shown > most ? shown : most;
        s += n + strspn(s + n, " ");
    }
    return most;
}

/* How much of s goes into so many columns: whole words, of a longer word a part. */
static size_t piece(const char *s, size_t columns)
{
    size_t end = 0;
    for (;;) {
        size_t n = end + strspn(s + end, " ");
        n += strcspn(s + n, " ");
        if (n == end || shown_length(s, n) > columns)
            break;
        end = n;
    }
    if (end == 0)
        while (s[end] &&
               (shown_length(s, end + 1) <= columns || ((unsigned char)s[end] & 0xc0) == 0x80))
            end++;
    return end;
}

static void put_n(const struct text_out *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fputc((unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i], t->out);
}

/* Wraps s, its further lines indented. */
static void put_wrapped(const struct text_out *t, const char *s, size_t indent, size_t columns)
{
    for (bool first = true; *s; first = false) {
        size_t n = piece(s, columns > indent + 20 ? columns - indent : 20);
        if (!first)
            fprintf(t->out, "%*s", (int)indent, "");
        put_n(t, s, n);
        fputc('\n', t->out);
        s += n + strspn(s + n, " ");
    }
}

static const char *sources_text(struct text_out *t, const struct kb_sources *s)
{
    struct str text = { 0 };
    for (size_t i = 0; i < s->n; i++)
        str_addf(&text, "%s%s", i ? " " : "", s->at[i]->id);
    const char *kept = arena_strdup(&t->a, str_get(&text));
    str_done(&text);
    return kept;
}

static bool is_filled(const struct kb_grid *g, size_t field)
{
    for (size_t r = 0; r < g->n_rows; r++)
        if (field == SIZE_MAX ? g->rows[r].sources.n > 0 : g->rows[r].cells[field].text != NULL)
            return true;
    return false;
}

static void layout_make(struct text_out *t, const struct kb_grid *g, struct layout *l)
{
    *l = (struct layout){ .cells = arena_zalloc(&t->a,
                                                (g->n_rows ? g->n_rows : 1) * sizeof(*l->cells)) };
    for (size_t i = 0; i < g->n_fields && l->n + 1 < COLUMNS_MAX; i++)
        if (!g->fields[i].machine_only && is_filled(g, i)) {
            l->titles[l->n] = g->fields[i].title;
            l->field[l->n++] = i;
        }
    if (is_filled(g, SIZE_MAX) &&
        g->rows[0].as_of) { /* of rows put together from several: below the table */
        l->titles[l->n] = "source";
        l->field[l->n++] = SIZE_MAX;
    }
    for (size_t r = 0; r < g->n_rows; r++)
        l->cells[r] = arena_zalloc(&t->a, l->n * sizeof(**l->cells));
    for (size_t c = 0; c < l->n; c++) {
        l->width[c] = strlen(l->titles[c]);
        l->least[c] = longest_word(l->titles[c]);
        for (size_t r = 0; r < g->n_rows; r++) {
            const struct kb_grid_row *row = &g->rows[r];
            const char *text = l->field[c] == SIZE_MAX ? sources_text(t, &row->sources)
                                                       : row->cells[l->field[c]].text;
            text = text ? text : "-";
            l->cells[r][c] = text;
            size_t n = shown_length(text, strlen(text)), word = longest_word(text);
            l->width[c] = n > l->width[c] ? n : l->width[c];
            word = word > WORD_MAX ? WORD_MAX : word;
            l->least[c] = word > l->least[c] ? word : l->least[c];
        }
    }
}

/* Narrows the widest columns until the table fits. False: it cannot. */
static bool layout_fit(struct layout *l, size_t columns)
{
    for (;;) {
        size_t sum = l->n ? (l->n - 1) * GAP : 0, widest = l->n;
        for (size_t c = 0; c < l->n; c++) {
            sum += l->width[c];
            if (l->width[c] > l->least[c] && (widest == l->n || l->width[c] > l->width[widest]))
                widest = c;
        }
        if (sum <= columns)
            return true;
        if (widest == l->n)
            return false;
        l->width[widest]--;
    }
}

/* One row, as many lines as its longest cell takes. */
static void put_row(const struct text_out *t, const struct layout *l, const char *const *cells,
                    bool bold)
{
    const char *rest[COLUMNS_MAX];
    memcpy(rest, cells, l->n * sizeof(*cells));
    for (bool more = true; more;) {
        more = false;
        size_t blanks = 0; /* owed before the next word, so that no line ends in blanks */
        if (bold && t->style->color)
            fputs("\033[1m", t->out);
        for (size_t c = 0; c < l->n; c++) {
            size_t n = piece(rest[c], l->width[c]);
            if (n) {
                fprintf(t->out, "%*s", (int)blanks, "");
                put_n(t, rest[c], n);
                blanks = 0;
            }
            blanks += l->width[c] + GAP - shown_length(rest[c], n);
            rest[c] += n + strspn(rest[c] + n, " ");
            more |= rest[c][0] != '\0';
        }
        if (bold && t->style->color)
            fputs("\033[0m", t->out);
        fputc('\n', t->out);
    }
}

static void put_blocks(struct text_out *t, const struct layout *l, const struct kb_grid *g,
                       size_t columns)
{
    size_t wide = 6;
    for (size_t c = 0; c < l->n; c++)
        wide = strlen(l->titles[c]) > wide ? strlen(l->titles[c]) : wide;
    for (size_t r = 0; r < g->n_rows; r++) {
        if (r)
            fputc('\n', t->out);
        for (size_t c = 0; c < l->n; c++) {
            if (l->field[c] != SIZE_MAX && !g->rows[r].cells[l->field[c]].text)
                continue;
            fprintf(t->out, "  %-*s  ", (int)wide, l->titles[c]);
            const char *text = l->cells[r][c];
            if (l->field[c] == SIZE_MAX && g->rows[r].as_of)
                text = arena_printf(&t->a, "%s (%s, %s)", text, g->rows[r].as_of,
                                    g->rows[r].confidence ? g->rows[r].confidence : "-");
            put_wrapped(t, text, wide + 4, columns);
        }
    }
}

/* The sources of rows that were put together from several tables. */
static void put_from(const struct text_out *t, struct kb_grid *g, size_t columns)
{
    struct kb_source_list all = { 0 };
    struct str s = { 0 };
    kb_sources_collect(&(struct kb_view){ .grids = g, .n_grids = 1 }, &all);
    for (size_t i = 0; i < all.n; i++)
        str_addf(&s, "%s%s", i ? " " : "", all.at[i]->id);
    if (s.len) {
        fputs("  from  ", t->out);
        put_wrapped(t, str_get(&s), 8, columns);
    }
    str_done(&s);
    vec_done(&all);
}

static void put_grid(struct text_out *t, struct kb_grid *g, size_t columns)
{
    if (g->title) {
        text_bold(t, g->title);
        fputc('\n', t->out);
    }
    if (g->brief && !t->style->verbose) {
        fputs("  ", t->out);
        put_wrapped(t, g->brief, 2, columns);
        return;
    }
    struct layout l;
    layout_make(t, g, &l);
    if ((g->n_rows > 1 || !g->rows[0].as_of) && layout_fit(&l, columns)) {
        put_row(t, &l, l.titles, true);
        for (size_t r = 0; r < g->n_rows; r++)
            put_row(t, &l, l.cells[r], false);
    } else {
        put_blocks(t, &l, g, columns);
    }
    if (!g->rows[0].as_of)
        put_from(t, g, columns);
}

void text_kb(struct text_out *t)
{
    const struct kb_view *v = t->r->kb;
    size_t columns = t->style->columns ? t->style->columns : WIDTH;
    columns = columns < WIDTH_LEAST ? WIDTH_LEAST : columns;
    if (v->title && !t->style->quiet) {
        text_bold(t, v->title);
        fputs("\n\n", t->out);
    }
    if (v->intro && !t->style->quiet) {
        put_wrapped(t, v->intro, 0, columns);
        fputc('\n', t->out);
    }
    bool begun = false;
    for (size_t g = 0; g < v->n_grids; g++) {
        if (!v->grids[g].n_rows)
            continue;
        if (begun)
            fputc('\n', t->out);
        begun = true;
        put_grid(t, &v->grids[g], columns);
    }
    struct kb_source_list sources = { 0 };
    kb_sources_collect(v, &sources);
    if (sources.n && !t->style->quiet) {
        fprintf(t->out, "\nsources (knowledge base of %s)\n", kb_date());
        for (size_t i = 0; i < sources.n; i++) {
            const struct kb_source *s = sources.at[i];
            fprintf(t->out, "  %-20s  ", s->id);
            put_wrapped(t,
                        arena_printf(&t->a, "%s (%s, %04d-%02d-%02d)", s->text, s->kind,
                                     s->date / 10000, s->date / 100 % 100, s->date % 100),
                        24, columns);
        }
    }
    vec_done(&sources);
}
